"""The tables of the SEC's Financial Statement Data Sets: sub, num, pre and tag, as they are published each quarter.

Fields are parted by tabs and nothing is quoted: a quote mark is a character like any other. A tag is known by its name
and its version together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from ...errors import ParseError
from ..ontology import Ontology
from ..report import LoadReport
from ..source import SourceLike, read_source
from ..stream import HashedStream, line_blocks, members, reading
from .model import Records
from .sec_names import concept_of, is_own_version, iso_date
from .tab import Table, TableReader
from .tables_rows import RowCollector

__all__ = ["SecTables", "SecTag", "can_read", "read_sec", "read_sec_tables"]

_KINDS = {
    "num": ({"adsh", "tag", "version", "ddate", "value"}, ("adsh", "tag", "version", "footnote")),
    "pre": ({"adsh", "tag", "version", "stmt"}, ("adsh", "tag", "version", "stmt", "plabel")),
    "tag": ({"tag", "version", "custom", "abstract"}, ("tag", "version", "custom", "abstract", "tlabel", "doc")),
    "sub": (
        {"adsh", "cik", "name", "form"},
        ("adsh", "cik", "name", "sic", "form", "period", "fy", "fp", "filed", "countryba"),
    ),
}
_NEEDED = {
    "num": ("adsh", "tag", "version"),
    "pre": ("adsh", "tag", "version"),
    "tag": ("tag", "version"),
    "sub": ("adsh",),
}
_NO_COMMENT = "\0"  # such a line cannot be: decode_lines takes the character out


class SecTag(NamedTuple):
    """What the table of tags says of one."""

    label: str
    definition: str
    is_own: bool
    is_abstract: bool


class _Use(NamedTuple):
    """One distinct use of a tag by a filing."""

    adsh: str
    tag: str
    version: str
    text: str
    line: int


@dataclass
class SecTables:
    """The tables of one or more quarters.

    Attributes:
        rows: number of rows read from each table.
        tags: by tag and version.
        filings: the tags, with versions, of each filing, in the order first met.
        numbers: distinct uses in the tables of numbers, with their footnotes.
        places: distinct uses in the tables of presentation, with their statements.
        submissions: columns of the submission of each filing.
    """

    rows: dict[str, int] = field(default_factory=dict)
    tags: dict[tuple[str, str], SecTag] = field(default_factory=dict)
    filings: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)
    numbers: list[_Use] = field(default_factory=list)
    places: list[_Use] = field(default_factory=list)
    submissions: dict[str, dict[str, str]] = field(default_factory=dict)
    sums: list[str] = field(default_factory=list)


def can_read(head: bytes) -> bool:
    r"""Returns whether ``head``, the uncompressed start of a file, begins with the column names of one of the tables.

    >>> can_read(b"tag\tversion\tcustom\tabstract\tdatatype\n")
    True
    """
    return bool(_kind(head.decode("utf-8", "replace").lstrip("\ufeff").splitlines()[:1]))


def read_sec_tables(sources: Sequence[SourceLike], report: LoadReport) -> SecTables:
    """Returns the tables in these sources, by themselves or in archives; other files in an archive are passed over.

    Each file is read a block at a time.

    Raises:
        ParseError: a file is damaged, or none is one of the tables.
        DataMissing: there is no such file.
    """
    found = SecTables()
    for source in sources:
        opened = read_source(source)
        with reading(opened):
            for member in members(opened):
                stream = HashedStream(member.stream)
                file = member.name or (PurePath(opened.path).name if len(sources) > 1 else "")
                reader: TableReader | None = None
                kind, width = "", 0
                for start, lines in line_blocks(stream, report):
                    if reader is None:
                        kind = _kind(lines[:1])
                        if not kind:
                            break
                        columns = [name.strip().lower() for name in lines[0].split("\t")]
                        width = len(columns)
                        reader = TableReader(columns, _KINDS[kind][1], _NEEDED[kind], comment=_NO_COMMENT)
                        reader.add(lines[1:], 1)
                    else:
                        reader.add(lines, start)
                if reader is not None:
                    _take(kind, reader.table(), width, file, found, report)
                    found.sums.append(stream.sha256)
    if not found.sums:
        raise ParseError(
            f"read {report.path} as SEC tables",
            "none of its files begins with the columns of sub, num, pre or tag",
            "Give the zip of a quarter of the Financial Statement Data Sets, or its files.",
            path=report.path,
        )
    return found


def read_sec(
    source: SourceLike,
    ontology: Ontology,
    *,
    more: Sequence[SourceLike] = (),
    strict: bool = False,
    name: str | None = None,
) -> Records:
    """Returns the filings in SEC tables as records of the concepts that they use.

    The key of a record is the accession number. Concepts of a company have no place in a standard taxonomy and the
    tables do not say under which concept they stand: they are kept as the attribute ``own-concepts``. Other attributes
    are ``company``, ``cik``, ``form``, ``date`` (of filing), ``period``, ``fiscal-year``, ``fiscal-period``, ``sic``.

    Args:
        source: a zip of a quarter, or one table.
        ontology: the taxonomy, such as US-GAAP.
        more: the other tables, where they are files of their own; their order plays no part.
        strict: refuse the source at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: a file is damaged or is none of the tables, or ``strict`` met a fault.
        DataMissing: there is no such file.
    """
    sources = [read_source(source, name=name), *(read_source(other) for other in more)]
    report = LoadReport(", ".join(s.path for s in sources))
    tables = read_sec_tables(sources, report)
    rows = RowCollector("filing")
    for adsh in sorted({*tables.filings, *tables.submissions}):
        mine = tables.submissions.get(adsh, {})
        own = sorted(tag for tag, version in tables.filings.get(adsh, ()) if is_own_version(version))
        rows.open(adsh, mine.get("name", ""), _attributes(mine) | {"own-concepts": own})
    for use in tables.places:
        if not is_own_version(use.version):
            rows.add(use.adsh, concept_of(use.tag, use.version), use.line, evidence=use.text)
    for use in tables.numbers:
        if not is_own_version(use.version):
            rows.add(use.adsh, concept_of(use.tag, use.version), use.line, description=use.text)
    own_count = sum(is_own_version(version) for used in tables.filings.values() for _, version in used)
    if own_count:
        report.note("own-concepts", f"{own_count} uses of concepts of a company's own are kept as attributes alone")
    sums = sorted(tables.sums)
    sha256 = sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sums).encode("ascii")).hexdigest()
    last = max((sub["filed"] for sub in tables.submissions.values()), default="")
    records = rows.records(ontology, report, name="sec", version=iso_date(last), sha256=sha256)
    if strict:
        report.require_clean()
    return records


def _attributes(submission: dict[str, str]) -> dict[str, str | list[str]]:
    """Returns the attributes that a submission gives a record."""
    if not submission:
        return {}
    return {
        "company": submission["name"],
        "cik": submission["cik"],
        "form": submission["form"],
        "date": iso_date(submission["filed"]),
        "period": iso_date(submission["period"]),
        "fiscal-year": submission["fy"],
        "fiscal-period": submission["fp"],
        "sic": submission["sic"],
    }


def _kind(lines: Sequence[str]) -> str:
    """Returns which of the tables a line of column names begins, or an empty string."""
    columns = {name.strip().lower() for name in lines[0].split("\t")} if lines else set()
    return next((kind for kind, (needed, _) in _KINDS.items() if needed <= columns), "")


def _take(kind: str, table: Table, width: int, file: str, found: SecTables, report: LoadReport) -> None:
    """Adds the rows of one table."""
    for lines, what in (
        (table.broken, "left out"),
        ([u for u in table.uneven if u.found < width], "filled up"),
        ([u for u in table.uneven if u.found > width], "cut"),
    ):
        if lines:
            count = "1 line has" if len(lines) == 1 else f"{len(lines)} lines have"
            message = f"{count} not the {width} columns of its header and was {what}"
            report.warn("columns", message, [line.line for line in lines], where=file)
    _warn_empty(kind, table, file, report)
    found.rows[kind] = found.rows.get(kind, 0) + len(table)
    columns = (
        [[table.values[c][code] for code in table.codes[c].tolist()] for c in _KINDS[kind][1]]
        if kind in ("tag", "sub")
        else []
    )
    if kind == "tag":
        mine: dict[tuple[str, str], tuple[SecTag, int]] = {}  # other quarters may say it in other words
        for line, tag, version, custom, abstract, label, definition in zip(table.line.tolist(), *columns, strict=True):
            said = SecTag(label, definition, custom == "1", abstract == "1")
            if (tag, version) not in mine:
                mine[tag, version] = said, line
                found.tags.setdefault((tag, version), said)
            elif mine[tag, version][0] != said:
                message = f"{tag} of {version} stands twice with different content; the first is used"
                report.warn("second-tag", message, [mine[tag, version][1], line], [tag], where=file)
    elif kind == "sub":
        for line, row in zip(table.line.tolist(), zip(*columns, strict=True), strict=True):
            said_of = dict(zip(_KINDS["sub"][1], row, strict=True))
            if row[0] and found.submissions.setdefault(row[0], said_of) != said_of:
                message = f"the submission {row[0]} stands twice with different content; the first is used"
                report.warn("second-submission", message, [line], [row[0]], where=file)
    else:
        uses = [use for use in _uses(table, "footnote" if kind == "num" else "stmt") if use.adsh and use.tag]
        (found.numbers if kind == "num" else found.places).extend(uses)
        for use in uses:
            found.filings.setdefault(use.adsh, {})[use.tag, use.version] = None


def _warn_empty(kind: str, table: Table, file: str, report: LoadReport) -> None:
    """Warns of rows that lack the number of their filing or their tag."""
    for column in ("adsh", "tag"):
        if column in _NEEDED[kind] and "" in table.values[column]:
            lines = table.line[table.codes[column] == table.values[column].index("")].tolist()
            have = "the row has" if len(lines) == 1 else f"{len(lines)} rows have"
            report.warn("empty-id", f"{have} no {column}; left out", lines, where=file)


def _uses(table: Table, column: str) -> list[_Use]:
    """Returns each distinct use, in the order of lines, with the first line that says so."""
    same, first = np.zeros(len(table), np.int64), np.zeros(0, np.int64)
    for name in ("adsh", "tag", "version", column):  # numbered anew each time, so that no product grows too large
        codes = table.codes[name]
        _, first, same = np.unique(
            same * max(len(table.values[name]), 1) + codes, return_index=True, return_inverse=True
        )
    found: list[_Use] = []
    for row in np.sort(first).tolist():
        adsh, tag, version, text = (
            table.values[name][table.codes[name][row]] for name in ("adsh", "tag", "version", column)
        )
        found.append(_Use(adsh, tag, version, text, int(table.line[row])))
    return found
