"""Records out of a table of one's own: long or wide, in TSV, CSV, JSON lines or Parquet, with named columns.

A long table has a row for each record and term. A wide one has a row for each record, with a list of terms in one cell,
or with a column for each term. Which is which need not be said: a cell may always hold several terms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import isnan, nan
from typing import Any

from ...errors import QueryError, SmaError
from ..ontology import Ontology
from ..readers.cpc_symbol import read_symbols
from ..report import LoadReport
from ..source import Source, SourceLike, read_source
from .model import Records
from .tables_cells import Row, TableFile
from .tables_rows import RowCollector

__all__ = ["TableColumns", "guess_columns", "is_table", "read_table_records"]

_KEYS = ("key", "id", "record", "record_id", "case", "case_id", "entity", "subject", "sample", "adsh", "name")
_TERMS = (
    "terms", "term", "term_id", "term_ids", "concepts", "concept", "codes", "code", "annotations", "annotation",
    "observed", "present", "features", "hpo_id", "hpo_terms", "go_id", "go_terms", "cpc", "techniques", "technique",
)  # fmt: skip
_NAMES = ("name", "label", "title")
_EXCLUDED = ("excluded", "absent")
_NEGATED = ("negated", "qualifier", "not")
_SHARES = ("frequency", "share")
_LOOKED_AT = 256  # rows by which the columns are guessed
_SEPARATORS = re.compile(r"[|;,\s]+")
_YES = frozenset({"1", "1.0", "true", "yes", "y", "x", "t", "present"})
_NO = frozenset({"", "0", "0.0", "false", "no", "n", "none", "nan", "na", "n/a", "null", "f", "absent", "-"})
_NOT = frozenset({"not", "true", "1", "yes", "y", "negated", "excluded"})
_COUNTS = re.compile(r"(\d+)\s*/\s*(\d+)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True)
class TableColumns:
    """Which column of a table says what; an empty name stands for a column that is not there.

    Attributes:
        key: key of the record.
        terms: terms of the record, one or several in a cell.
        name: its name.
        excluded: terms that it does not have.
        negated: whether the row denies its terms, such as ``NOT``.
        share: how often it has them: a share, a percentage or counts like ``3/7``.
        term_columns: columns that are terms themselves; a cell says whether the record has it.
        attributes: columns kept as attributes.
    """

    key: str
    terms: str = ""
    name: str = ""
    excluded: str = ""
    negated: str = ""
    share: str = ""
    term_columns: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


def is_table(head: bytes, ontology: Ontology) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is a table whose columns can be guessed."""
    if head[:4] == b"PAR1":
        return True
    table = TableFile(Source("", head), LoadReport(""))
    try:
        next(table.rows(), None)
        guess_columns(table.columns, ontology)
    except SmaError:
        return False
    return True


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
        share=first("share", _SHARES),
        term_columns=as_terms,
    )
    used = {found.key, found.terms, found.name, found.excluded, found.negated, found.share, *as_terms}
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
        seen = tuple(dict.fromkeys(name for row in first for name in row.cells))
        names = seen if table.form == "JSON lines" else table.columns
        chosen = columns if isinstance(columns, TableColumns) else guess_columns(names, ontology, columns)
        reading = _Reading(chosen, table, rows, report, split=_symbols if ontology.name == "cpc" else _words)
        for row in chain(first, given):
            reading.row(row)
    else:
        report.warn("no-rows", "there is no row below the column names")
    records = rows.records(ontology, report, name="table", version="", sha256=table.sha256)
    if strict:
        report.require_clean()
    return records


class _Reading:
    """One table on its way to records."""

    def __init__(
        self,
        columns: TableColumns,
        table: TableFile,
        rows: RowCollector,
        report: LoadReport,
        *,
        split: Callable[[str], list[str]],
    ) -> None:
        self.columns = columns
        self.split = split
        self.rows = rows
        self.report = report
        named = [columns.key, columns.terms, columns.name, columns.excluded, columns.negated, columns.share]
        missing = [n for n in (*named, *columns.term_columns, *columns.attributes) if n and n not in table.columns]
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
        negated = bool(columns.negated) and _is_not(cells.get(columns.negated))
        share = self._share(cells.get(columns.share), line) if columns.share else nan
        for term, kind in self._terms(cells.get(columns.terms) if columns.terms else None):
            self.rows.add(key, term, line, is_negated=negated, share=share, evidence=kind)
        for term, kind in self._terms(cells.get(columns.excluded) if columns.excluded else None):
            self.rows.add(key, term, line, is_negated=True, evidence=kind)
        for column in columns.term_columns:
            state = _text(cells.get(column)).casefold()
            if state in _YES:
                self.rows.add(key, column, line)
            elif state not in _NO:
                message = f"line {line}: {column} is {state!r}, neither yes nor no; left out"
                self.report.warn("bad-cell", message, [line], [column])

    def _terms(self, cell: Any) -> Iterator[tuple[str, str]]:
        """Yields the terms in a cell, each with the name of the list that it stands in, where there are several."""
        if isinstance(cell, str):
            for term in self.split(cell):
                yield term, ""
        elif isinstance(cell, Mapping):
            for kind, inner in cell.items():
                for term, _ in self._terms(inner):
                    yield term, str(kind)
        elif isinstance(cell, list):
            for inner in cell:
                if isinstance(inner, str) and inner.strip():
                    for term in self.split(inner) if self.split is _symbols else [inner.strip()]:
                        yield term, ""

    def _share(self, cell: Any, line: int) -> float:
        """Returns the share that a cell states, NaN where it states none."""
        text = _text(cell)
        counts, percent = _COUNTS.fullmatch(text), _PERCENT.fullmatch(text)
        try:
            if counts:
                share = int(counts[1]) / int(counts[2])
            elif percent:
                share = float(percent[1]) / 100
            else:
                share = float(text) if text else nan
        except (ValueError, ZeroDivisionError, OverflowError):
            share = -1.0
        if isnan(share) or 0.0 <= share <= 1.0:
            return share
        self.report.warn("bad-share", f"line {line}: {text!r} is no share from 0 to 1; left open", [line])
        return nan


def _words(cell: str) -> list[str]:
    """Returns the terms in a text, which blanks, commas, semicolons or bars part."""
    return [word for word in _SEPARATORS.split(cell) if word]


def _symbols(cell: str) -> list[str]:
    """Returns the symbols of CPC in a text, which may hold blanks themselves, and all other words, for the report."""
    found = read_symbols(cell)
    return [*found.symbols, *_words(found.rest)]


def _text(cell: Any) -> str:
    """Returns a cell as one text; a list or nothing is an empty one."""
    if cell is None or isinstance(cell, (list, Mapping)) or (isinstance(cell, float) and isnan(cell)):
        return ""
    return str(cell).strip()


def _texts(cell: Any) -> list[str]:
    """Returns a cell as texts."""
    return [_text(inner) for inner in cell] if isinstance(cell, list) else [_text(cell)]


def _is_not(cell: Any) -> bool:
    """Whether a cell denies what its row says; GAF and HPOA write NOT among other words."""
    return bool(_NOT & set(re.split(r"[|;,\s]+", _text(cell).casefold())))
