"""Records out of a table of one's own: long or wide, in TSV, CSV, JSON lines or Parquet, with named columns.

A long table has a row for each record and term. A wide one has a row for each record, with a list of terms in one cell,
or with a column for each term. Which is which need not be said: a cell may always hold several terms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import isnan
from typing import Any

from ...errors import QueryError, SmaError
from ..ontology import Ontology
from ..readers.cpc_symbol import read_symbols
from ..report import LoadReport
from ..source import Source, SourceLike, read_source
from .frequency import FrequencyText, read_frequency
from .model import Records
from .qualifier import UNCLEAR, read_qualifier
from .structured import shown
from .tables_cells import Row, TableFile
from .tables_rows import RowCollector

__all__ = ["TableColumns", "guess_columns", "read_table_records", "why_no_table"]

_KEYS = ("key", "id", "record", "record_id", "case", "case_id", "entity", "subject", "sample", "adsh", "name")
_TERMS = (
    "terms", "term", "term_id", "term_ids", "concepts", "concept", "codes", "code", "annotations", "annotation",
    "features", "hpo_id", "hpo_terms", "go_id", "go_terms", "cpc", "techniques", "technique", "observed", "present",
)  # fmt: skip
_AFFIRMED = ("observed", "present")  # beside a column of terms
_NAMES = ("name", "label", "title")
_EXCLUDED = ("excluded", "absent")
_NEGATED = ("negated", "qualifier", "not")
_SHARES = ("frequency", "share")
_LOOKED_AT = 256  # rows by which the columns are guessed
_ROW_EVIDENCE = ("reference", "evidence", "onset", "sex", "modifier", "biocuration")
_SEPARATORS = re.compile(r"[|;,\s\[\]{}'\"]+")  # lists are also written with brackets and quotes
_YES = frozenset({"1", "1.0", "true", "yes", "y", "x", "t", "present"})
_NO = frozenset({"", "0", "0.0", "false", "no", "n", "none", "nan", "na", "n/a", "null", "f", "absent", "-"})
_STATES = _YES | _NO
_NOT = frozenset({"not", "true", "1", "yes", "y", "negated", "excluded", "absent"})
_SHARE = re.compile(r"[01]|[01]?\.\d+(?:[eE]-\d+)?|\d(?:\.\d+)?[eE]-\d+", re.ASCII)


@dataclass(frozen=True)
class TableColumns:
    """Which column of a table says what; an empty name stands for a column that is not there.

    Attributes:
        key: key of the record.
        terms: terms of the record, one or several in a cell.
        name: its name.
        excluded: terms that it does not have, or whether it does not have those of the row.
        negated: whether the row denies its terms, such as ``NOT``.
        affirmed: whether the row affirms its terms, such as ``no``, or further terms.
        share: how often it has them: a share, or whatever a phenotype.hpoa writes, such as ``3/7`` or ``5-29%``.
        term_columns: columns that are terms themselves; a cell says whether the record has it.
        attributes: columns kept as attributes.
    """

    key: str
    terms: str = ""
    name: str = ""
    excluded: str = ""
    negated: str = ""
    affirmed: str = ""
    share: str = ""
    term_columns: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


def why_no_table(head: bytes, ontology: Ontology) -> str:
    """Returns why ``head``, the uncompressed start of a file, is no table that can be read; empty where it is one."""
    if head[:4] == b"PAR1":
        return ""
    report = LoadReport("")  # its last line may be cut
    table = TableFile(Source("", head), report)
    try:
        rows = list(islice(table.rows(), _LOOKED_AT))
        if not rows and report.faults:
            return report.faults[0].message
        guess_columns(_names(table, rows), ontology)
    except SmaError as fault:
        return f"{fault.asked}: {fault.found}" if isinstance(fault, QueryError) else fault.found
    return ""


def guess_columns(
    columns: Sequence[str], ontology: Ontology, named: Mapping[str, Sequence[str]] | None = None
) -> TableColumns:
    """Returns which column says what: as ``named``, else by the names that are usual; all others are attributes.

    Columns that are ids of the ontology are columns of terms.

    Args:
        columns: names of the columns there are.
        ontology: the ontology of the terms.
        named: columns by what they say, a field of ``TableColumns``; what stands there is not guessed. No column stands
            for one that is not there.

    Raises:
        QueryError: there is no column that may hold the key, or none that may hold terms.

    >>> from sma_gpu.ontologies.builder import ontology_from_parents
    >>> guess_columns(["case", "terms", "date"], ontology_from_parents({"EX:1": []})).attributes
    ('date',)
    """
    given = dict(named or {})
    spoken = {column for field, names in given.items() if field != "attributes" for column in names}
    folded = {column.casefold().strip(): column for column in reversed(columns) if column not in spoken}

    def first(field: str, names: Iterable[str], *taken: str) -> str:
        if field in given:
            return next(iter(given[field]), "")
        return next((folded[name] for name in names if name in folded and folded[name] not in taken), "")

    found_terms = (column for column in columns if column not in spoken and ontology.resolve(column).index >= 0)
    as_terms = tuple(given.get("term_columns", found_terms))
    terms = "" if "terms" not in given and "term_columns" in given else first("terms", _TERMS)
    key = first("key", _KEYS, terms)
    if not key or not (terms or as_terms):
        what = "the key of a record" if not key else "terms"
        raise QueryError(
            f"columns {', '.join(columns[:12])}{' ...' if len(columns) > 12 else ''}",
            f"none of them is known to hold {what}",
            f"Name the column, or call it {(_KEYS if not key else _TERMS)[0]}.",
        )
    found = TableColumns(
        key=key,
        terms=terms,
        name=first("name", _NAMES, key),
        excluded=first("excluded", _EXCLUDED),
        negated=first("negated", _NEGATED),
        affirmed=first("affirmed", _AFFIRMED, terms) if terms else "",
        share=first("share", _SHARES),
        term_columns=as_terms,
    )
    used = {found.key, found.terms, found.name, found.excluded, found.negated, found.affirmed, found.share, *as_terms}
    others = given["attributes"] if "attributes" in given else (c for c in columns if c and c not in used)
    return TableColumns(**{**found.__dict__, "attributes": tuple(others)})


def read_table_records(
    source: SourceLike,
    ontology: Ontology,
    columns: TableColumns | Mapping[str, Sequence[str]] | None = None,
    *,
    strict: bool = False,
    name: str | None = None,
) -> Records:
    r"""Returns the records in a table.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the ontology of the terms.
        columns: which column says what, or some of it as ``named`` of ``guess_columns``; guessed where it is None.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: the file is damaged or empty, or ``strict`` met a fault.
        QueryError: a column that is named is not there, or the columns cannot be guessed.
        DataMissing: there is no such file, or it is Parquet and pyarrow is not installed.

    >>> from sma_gpu.ontologies.builder import ontology_from_parents
    >>> table = b"case\tterms\tdate\nA\tEX:2;EX:3\t2026-01-01\n"
    >>> records = read_table_records(table, ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"]}))
    >>> records.record("A").positive, records.record("A").attributes
    (('EX:2', 'EX:3'), {'date': ('2026-01-01',)})
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    table = TableFile(opened, report)
    rows = RowCollector("record")
    given = table.rows()
    first = list(islice(given, _LOOKED_AT))  # objects in JSON need not have the same names throughout
    if first:
        names = _names(table, first)
        chosen = columns if isinstance(columns, TableColumns) else guess_columns(names, ontology, columns)
        reading = _Reading(chosen, table, rows, report, ontology)
        for row in chain(first, given):
            reading.row(row)
    else:
        report.warn("no-rows", "there is no row below the column names")
    records = rows.records(ontology, report, name="table", version="", sha256=table.sha256, notes_copies=True)
    if strict:
        report.require_clean()
    return records


def _names(table: TableFile, rows: Sequence[Row]) -> tuple[str, ...]:
    """Returns the names of the columns; of objects in JSON those of all in ``rows``."""
    seen = tuple(dict.fromkeys(name for row in rows for name in row.cells))
    return seen if table.form == "JSON lines" else table.columns


class _Reading:
    """One table on its way to records."""

    def __init__(
        self, columns: TableColumns, table: TableFile, rows: RowCollector, report: LoadReport, ontology: Ontology
    ) -> None:
        self.columns = columns
        self.ontology = ontology
        self.split: Callable[[str], list[str]] = _symbols if ontology.name == "cpc" else _words
        self.rows = rows
        self.report = report
        self.shares: dict[str, FrequencyText] = {}
        self.evidence = {field: name for name in columns.attributes if (field := name.casefold()) in _ROW_EVIDENCE}
        named = [columns.key, columns.terms, columns.name, columns.excluded]
        named += [columns.negated, columns.affirmed, columns.share, *columns.term_columns, *columns.attributes]
        missing = [n for n in named if n and n not in table.columns]
        if missing and table.form != "JSON lines":
            raise QueryError(
                f"column {missing[0]} of {report.path}",
                f"its columns are {', '.join(table.columns[:12])}{' ...' if len(table.columns) > 12 else ''}",
                "Name one of these.",
            )

    def row(self, row: Row) -> None:
        """Adds one row."""
        columns, cells, line = self.columns, row.cells, row.line
        key = _text(cells.get(columns.key))
        if not key:
            self.report.warn("no-key", f"line {line} has no {columns.key}; left out", [line])
            return
        attributes = {name: _texts(cells.get(name)) for name in columns.attributes}
        self.rows.open(key, _text(cells.get(columns.name)) if columns.name else "", attributes)
        self._listed(key, row)
        for column in columns.term_columns:
            state = _text(cells.get(column)).casefold()
            if state in _YES:
                self.rows.add(key, column, line)
            elif state not in _NO:
                message = f"line {line}: {column} is {state!r}, neither yes nor no; left out"
                self.report.warn("bad-cell", message, [line], [column])

    def _listed(self, key: str, row: Row) -> None:
        """Adds the terms that are listed in cells."""
        columns, cells, line = self.columns, row.cells, row.line
        excluded = cells.get(columns.excluded) if columns.excluded else None
        affirmed = cells.get(columns.affirmed) if columns.affirmed else None
        says_excluded, says_affirmed = _text(excluded).casefold(), _text(affirmed).casefold()
        negated = self._is_denied(cells.get(columns.negated), line) if columns.negated else False
        text = _text(cells.get(columns.share)) if columns.share else ""
        evidence = {field: _text(cells.get(name)) for field, name in self.evidence.items()}
        if text:
            evidence["frequency"] = text
        if negated is not None:
            is_negated = negated or says_excluded in _YES or (says_affirmed != "" and says_affirmed in _NO)
            for term, kind in self._terms(cells.get(columns.terms) if columns.terms else None, line):
                told = evidence | {"evidence": kind} if kind else evidence
                self.rows.add(key, term, line, is_negated=is_negated, share=self._share(text, line), **told)
        for column, state, denies in ((excluded, says_excluded, True), (affirmed, says_affirmed, False)):
            if column is not None and (state not in _STATES or isinstance(column, (list, Mapping))):
                for term, kind in self._terms(column, line):
                    self.rows.add(key, term, line, is_negated=denies, evidence=kind)

    def _is_denied(self, cell: Any, line: int) -> bool | None:
        """Whether a cell denies what its row says; GAF and HPOA write NOT among other words. None where it may."""
        text = _text(cell)
        if _NOT & {word.strip() for word in re.split(r"[|;,\s]+", text.casefold())}:
            return True
        if text.casefold() in _NO or read_qualifier(text).sense != UNCLEAR:
            return False
        message = f"line {line}: {text!r} may be a negation but is not NOT; the terms of the row are left out"
        self.report.warn("unknown-qualifier", message, [line])
        return None

    def _terms(self, cell: Any, line: int) -> Iterator[tuple[str, str]]:
        """Yields the terms in a cell, each with the name of the list that it stands in, where there are several."""
        if isinstance(cell, str):
            for term in self.split(cell):
                yield term, ""
        elif isinstance(cell, Mapping):
            for kind, inner in cell.items():
                for term, _ in self._terms(inner, line):
                    yield term, str(kind)
        elif isinstance(cell, list):
            for inner in cell:
                asked = inner.get("id") if isinstance(inner, Mapping) else inner
                if isinstance(asked, str):
                    for part in self.split(asked) if self.split is _symbols else [asked.strip()]:
                        if part:
                            yield part, ""
                else:
                    self._refuse(inner, line)
        elif cell is not None and _text(cell):
            self._refuse(cell, line)

    def _refuse(self, cell: Any, line: int) -> None:
        self.report.warn("bad-term", f"line {line} has {shown(cell)} in the place of a term; left out", [line])

    def _share(self, text: str, line: int) -> FrequencyText:
        """Returns the share that a cell states; unknown where it states none."""
        if text not in self.shares:
            is_share = _SHARE.fullmatch(text) is not None and float(text) <= 1
            found = FrequencyText(float(text), float(text)) if is_share else read_frequency(text, self.ontology)
            self.shares[text] = found
        found = self.shares[text]
        if found.fault:
            message = f"line {line}: {text!r} is no share from 0 to 1, and cannot be read otherwise: {found.fault}"
            self.report.warn("bad-share", f"{message}; left open", [line])
        return found


def _words(cell: str) -> list[str]:
    """Returns the terms in a text, which blanks, commas, semicolons, bars, brackets or quotes part."""
    return [word for word in _SEPARATORS.split(cell) if word]


def _symbols(cell: str) -> list[str]:
    """Returns the symbols of CPC in a text, which may hold blanks themselves, and all other words, for the report."""
    found = read_symbols(cell)
    return [*found.symbols, *_words(found.rest)]


def _text(cell: Any) -> str:
    """Returns a cell as one text; a list or nothing is an empty one."""
    if cell is None or isinstance(cell, (list, Mapping)) or (isinstance(cell, float) and isnan(cell)):
        return ""
    return str(cell).lower() if isinstance(cell, bool) else str(cell).strip()


def _texts(cell: Any) -> list[str]:
    """Returns a cell as texts."""
    return [_text(inner) for inner in cell] if isinstance(cell, list) else [_text(cell)]
