"""Reader of GPI 1.1, 1.2 and 2.0: what the gene products of a GPAD file are called, of which kind, of which taxon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..magic import refusal
from ..report import LoadReport
from ..source import SourceLike, decode_lines, read_source
from ..stream import HashedStream, line_blocks, only_member
from .columns import Int32
from .gaf_text import read_header, release_in
from .gpad_text import PRODUCTS, has_products_version, taxon_of
from .tab import Table, TableReader

__all__ = ["Products", "can_read", "product_key", "read_products", "release_of"]

_COLUMNS = ("symbol", "name", "synonym", "type", "taxon", "parent", "encoded_by", "xref")


@dataclass(frozen=True, eq=False)
class Products:
    """Gene products of a GPI file.

    Attributes:
        path: name of the file.
        version: the day on which it was made, or empty.
        sha256: SHA-256 of its uncompressed content, hex.
        row: for each key, such as ``UniProtKB:P1``, the row of ``table`` that describes it.
        table: the columns ``symbol``, ``name``, ``synonym``, ``type``, ``taxon``, ``parent``, ``encoded_by`` and
            ``xref``; those that its version lacks are empty.
        report: what the reader noticed.
    """

    path: str
    version: str
    sha256: str
    row: Mapping[str, int]
    table: Table
    report: LoadReport = field(repr=False)

    def column(self, name: str, keys: Sequence[str]) -> tuple[Int32, list[str]]:
        """Returns the text of each of ``keys`` in a column: numbers int32 ``[len(keys)]``, and the texts they mean."""
        texts = [*self.table.values[name], ""]
        rows = np.array([self.row.get(key, -1) for key in keys], np.int64)
        codes = np.append(self.table.codes[name], np.int32(len(texts) - 1))
        return codes[rows].astype(np.int32), list(map(taxon_of, texts)) if name == "taxon" else texts


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, states that it is a GPI file."""
    return any(map(has_products_version, decode_lines(head, LoadReport(""))))


def release_of(lines: Sequence[str]) -> str:
    """Returns the day on which the file was made, as its header in the first ``lines`` says, or an empty string."""
    return release_in(read_header(line for line in lines if line[:1] == "!"))


def product_key(database: str, accession: str) -> str:
    """Returns the id of a gene product; some databases write their own name before the accession as well.

    >>> product_key("UniProtKB", "P1"), product_key("MGI", "MGI:12")
    ('UniProtKB:P1', 'MGI:12')
    """
    if not accession or not database:
        return accession
    return accession if accession.startswith(f"{database}:") else f"{database}:{accession}"


def read_products(source: SourceLike, *, strict: bool = False, name: str | None = None) -> Products:
    r"""Returns the gene products in a GPI file.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: the file is no GPI file, its compression is damaged, or ``strict`` met a fault.
        DataMissing: there is no such file.

    >>> found = read_products(b"!gpi-version: 2.0\nMGI:MGI:12\tAbc1\t\t\tPR:000000001\tNCBITaxon:10090\n")
    >>> found.row
    {'MGI:12': 0}
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    header: list[str] = []
    reader: TableReader | None = None
    with only_member(opened) as file:
        stream = HashedStream(file)
        for start, lines in line_blocks(stream, report):
            header += [line for line in lines if line[:1] == "!"]
            if reader is None:
                if not any(map(has_products_version, header)):
                    raise refusal(
                        "\n".join(lines[:1000]).encode("utf-8", "replace"),
                        asked=f"read {opened.path} as GPI",
                        path=opened.path,
                        otherwise=" and does not state a version of GPI",
                        do="Give the GPI file that its publisher offers beside the GPAD file.",
                    )
                layout = _layout(read_header(header), report)
                reader = TableReader(layout, ("id", "database", "object", *_COLUMNS), layout[:2], comment="!")
            reader.add(lines, start)
        sha256 = stream.sha256
    fields = read_header(header)
    table = (reader or TableReader(PRODUCTS["2"], ("id", "database", "object", *_COLUMNS))).table()
    found = Products(
        path=opened.path,
        version=release_in(fields),
        sha256=sha256,
        row=_rows(table, fields.get("namespace", ""), report),
        table=table,
        report=report,
    )
    if strict:
        report.require_clean()
    return found


def _layout(header: Mapping[str, str], report: LoadReport) -> tuple[str, ...]:
    version = header.get("gpi-version", "")
    if version.startswith("2"):
        return PRODUCTS["2"]
    if version not in ("1.0", "1.1", "1.2"):
        report.warn("version", f"the file states GPI version {version or 'none'}; it is read as GPI 1.2")
    return PRODUCTS["1.1" if version in ("1.0", "1.1") else "1.2"]


def _rows(table: Table, namespace: str, report: LoadReport) -> dict[str, int]:
    """Returns the row of each key; a second row of one key that says something else is told and not used."""
    values, codes = table.values, table.codes
    found: dict[str, int] = {}
    again: list[int] = []
    empty: list[int] = []
    for row in range(len(table)):
        whole = values["id"][codes["id"][row]]
        database, colon, accession = whole.partition(":")
        if not whole:
            database, accession = values["database"][codes["database"][row]], values["object"][codes["object"][row]]
        elif not colon:
            database, accession = "", whole
        key = product_key(database or namespace, accession)
        if not key:
            empty.append(row)
        elif key not in found:
            found[key] = row
        elif any(codes[column][row] != codes[column][found[key]] for column in _COLUMNS):
            again.append(row)
    for rows, kind, what in (
        (again, "second-record", "describe once more, and otherwise, what an earlier line describes; that one is used"),
        (empty, "empty-id", "name no gene product; left out"),
    ):
        if rows:
            report.warn(kind, f"{len(rows)} rows {what}", table.line[rows].tolist())
    if table.broken:
        lines = [broken.line for broken in table.broken]
        report.warn("columns", f"{len(lines)} lines have too few columns; left out", lines)
    return found
