"""Reader of GPAD 1.1, 1.2 and 2.0, annotations with terms of the Gene Ontology, and of the GPI file that goes with it.

GPAD states what GAF states, with evidence as ids of the Evidence and Conclusion Ontology, and leaves to GPI what the
gene products are called. Rows are brought into the columns of a GAF file, so that NOT, kinds of evidence, pooling and
all checks are those of the GAF reader; evidence ids, interacting taxa and properties stay as attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import ParseError
from ..magic import refusal
from ..ontology import Ontology
from ..report import LoadReport
from ..source import Source, SourceLike, decode_lines, read_source
from ..stream import HashedStream, line_blocks, only_member
from .columns import Int32
from .gaf import GafReading
from .gaf_text import COLUMNS, read_header, release_in
from .gpad_products import Products, product_key, read_products
from .gpad_products import can_read as are_products
from .gpad_text import (
    ANNOTATIONS,
    code_of,
    day_digits,
    has_version,
    is_row,
    layout_of,
    relation_of,
    stated_code,
    taxon_of,
)
from .model import Records
from .tab import Table, TableReader

__all__ = ["can_read", "read_gpad", "release_of"]

_VERSIONS = {"1": ("1.0", "1.1", "1.2"), "2": ("2.0",)}
_ALL = tuple(dict.fromkeys(column for columns in ANNOTATIONS.values() for column in columns))
_MORE = {"eco": "eco", "interacting_taxon": "interacting", "property": "properties"}
_OF_PRODUCTS = {"parent": "parent", "encoded_by": "encoded_by", "xref": "xref"}

Column = tuple[Int32, list[str]]


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is that of a GPAD file."""
    lines = decode_lines(head, LoadReport(""))
    return any(map(has_version, lines)) or is_row(next((line for line in lines if _is_data(line)), ""))


def release_of(lines: Sequence[str]) -> str:
    """Returns the day on which the file was made, as its header in the first ``lines`` says, or an empty string."""
    return release_in(read_header(line for line in lines if line[:1] == "!"))


def read_gpad(
    source: SourceLike,
    ontology: Ontology,
    *,
    products: SourceLike | None = None,
    evidence: str = "all",
    strict: bool = False,
    name: str | None = None,
) -> Records:
    r"""Returns the gene products in a GPAD file, their terms resolved to live terms of ``ontology``.

    The key of a record is its database and accession. Its attributes are those of ``read_gaf``, ``eco``,
    ``interacting_taxon`` and ``property``; with a GPI file also ``parent``, ``encoded_by`` and ``xref``. An evidence id
    stands for the code that the row's properties state, else for that of the mapping of the Gene Ontology; one that
    neither knows is reported, is evidence of its own, and is not experimental.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the Gene Ontology.
        products: the GPI file, which names the gene products; None where there is none.
        evidence: which rows count, as in ``read_gaf``.
        strict: refuse a file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: a file is not of its format, its compression is damaged, or ``strict`` met a fault.
        QueryError: ``evidence`` asks for what is no evidence code.
        DataMissing: there is no such file.

    >>> from sma_gpu.ontologies.builder import ontology_from_parents
    >>> row = "MGI:MGI:12  RO:0002331 GO:2 PMID:1 ECO:0000314   2026-01-31 TOY  ".replace(" ", "\t")
    >>> ontology = ontology_from_parents({"GO:1": [], "GO:2": ["GO:1"]})
    >>> read_gpad(f"!gpad-version: 2.0\n{row}\n".encode(), ontology).record("MGI:12").attributes["evidence"]
    ('IDA',)
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    named = None if products is None else read_products(products, strict=strict)
    header, layout, table, sha256 = _read_table(opened, report)
    fields = read_header(header)
    _check_version(fields, layout, report)
    _tell_widths(table, layout, report)
    whole = _as_gaf(table, named, report)
    more = {**_MORE, **(_OF_PRODUCTS if named else {})}
    reading = GafReading(fields, whole, ontology, evidence, is_gaf=False, name="gpad", more=more)
    records = reading.records(sha256, report)
    if named is not None:
        beside = Path(named.path).name
        report.entries += [replace(entry, path=report.path, where=beside) for entry in named.report]
    if strict:
        report.require_clean()
    return records


def _is_data(line: str) -> bool:
    return bool(line.strip()) and line[0] != "!"


def _read_table(source: Source, report: LoadReport) -> tuple[list[str], str, Table, str]:
    """Returns the header lines, the number of the layout, the rows, and the SHA-256 of the content."""
    header: list[str] = []
    layout = ""
    reader: TableReader | None = None
    with only_member(source) as file:
        stream = HashedStream(file)
        for start, lines in line_blocks(stream, report):
            if not start:
                _refuse_other(lines, source)
            header += [line for line in lines if line[:1] == "!"]
            if reader is None and (layout := layout_of(filter(_is_data, lines))):
                columns = ANNOTATIONS[layout]
                reader = TableReader(columns, _ALL, columns[: columns.index("eco") + 1], comment="!")
            if reader is not None:
                reader.add(lines, start)
    reader = reader or TableReader(ANNOTATIONS["2"], _ALL, comment="!")
    return header, layout, reader.table(), stream.sha256


def _refuse_other(lines: list[str], source: Source) -> None:
    head = "\n".join(lines[:1000]).encode("utf-8", "replace")
    if can_read(head):
        return
    if are_products(head):
        raise ParseError(
            f"read {source.path} as GPAD",
            "it is a GPI file, which says what gene products are called and not what they do",
            "Give the GPAD file that its publisher offers beside it.",
            path=source.path,
        )
    raise refusal(
        head,
        asked=f"read {source.path} as GPAD",
        path=source.path,
        otherwise=" and has no row of 12 columns, parted by tabs, with an id in the fourth and an ECO id in the sixth",
        do="Give a GPAD 1.2 or 2.0 file, such as goa_human.gpa.gz.",
    )


def _check_version(header: Mapping[str, str], layout: str, report: LoadReport) -> None:
    version = header.get("gpad-version", "") or header.get("gpa-version", "")
    if layout and version not in _VERSIONS[layout]:
        stated = f"states GPAD version {version}" if version else "does not state its version"
        report.warn("version", f"the file {stated}; by its first row it is read as GPAD {_VERSIONS[layout][-1]}")


def _tell_widths(table: Table, layout: str, report: LoadReport) -> None:
    width = len(ANNOTATIONS[layout or "2"])
    short = [line.line for line in table.uneven if line.found < width - 2]  # extension and properties may be left out
    far = [line.line for line in table.uneven if line.found > width]
    for lines, what in (
        ([line.line for line in table.broken], "left out"),
        (short, "what is missing counts as empty"),
        (far, "the columns beyond are ignored"),
    ):
        if lines:
            have = "1 line has" if len(lines) == 1 else f"{len(lines)} lines have"
            report.warn("columns", f"{have} other than {width} columns; {what}", lines)


def _as_gaf(table: Table, named: Products | None, report: LoadReport) -> Table:
    """Returns the rows in the columns of a GAF file, with those that GAF lacks beside them."""

    def column(name: str, change: Callable[[str], str] = str) -> Column:
        return _recoded(table.codes[name], list(map(change, table.values[name])))

    empty = np.zeros(len(table), np.int32)
    nothing: Column = (empty, [""])
    keys = _joined(table, ("id", "database", "object"), _key)
    found = dict.fromkeys((*COLUMNS, *_MORE.values(), *_OF_PRODUCTS.values()), nothing)
    found |= {
        "database": _recoded(keys[0], [key.partition(":")[0] if ":" in key else "" for key in keys[1]]),
        "object": _recoded(keys[0], [key.partition(":")[2] if ":" in key else key for key in keys[1]]),
        "qualifier": _joined(table, ("negation", "relation"), _qualifier),
        "evidence": _joined(
            table, ("eco", "properties"), lambda eco, properties: stated_code(properties) or code_of(eco)
        ),
        "date": column("day", day_digits),
        "interacting": column("interacting", taxon_of),
    }
    found |= {
        name: column(name) for name in ("term", "reference", "with", "assigned_by", "extension", "eco", "properties")
    }
    if named is not None:
        for name in ("symbol", "name", "synonym", "type", "taxon", *_OF_PRODUCTS.values()):
            codes, texts = named.column(name, keys[1])
            found[name] = _recoded(codes[keys[0]], texts)
        lost = [key for key in keys[1] if key and key not in named.row]
        if lost:
            shown = ", ".join(lost[:3])
            report.note(
                "unnamed-product", f"{len(lost)} gene products are not in {Path(named.path).name}: {shown}", ids=lost
            )
    return Table(
        table.line,
        {name: codes for name, (codes, _) in found.items()},
        {name: texts for name, (_, texts) in found.items()},
        table.broken,
        table.uneven,
    )


def _key(whole: str, database: str, accession: str) -> str:
    if whole:
        database, colon, accession = whole.partition(":")
        if not colon:
            return whole
    return product_key(database, accession)


def _qualifier(negation: str, relation: str) -> str:
    return "|".join(filter(None, [negation, relation_of(relation)]))


def _joined(table: Table, names: Sequence[str], join: Callable[..., str]) -> Column:
    """Returns the column that ``join`` makes of the texts of several."""
    code = np.zeros(len(table), np.int64)
    parts: list[tuple[str, ...]] = [()]
    for name in names:
        values = table.values[name]
        size = max(len(values), 1)
        distinct, code = np.unique(code * size + table.codes[name], return_inverse=True)
        parts = [(*parts[d // size], values[d % size]) for d in distinct.tolist()]
    texts = [join(*part) for part in parts]
    return _recoded(code.astype(np.int32), texts)


def _recoded(codes: Int32, texts: Sequence[str]) -> Column:
    """Returns a column in which each text is held once, in the order of ``texts``."""
    number = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if not number:
        return codes, [""]
    return np.array([number[text] for text in texts], np.int32)[codes], list(number)
