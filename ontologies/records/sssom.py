"""Reader of SSSOM, the tab-separated form in which ontologies publish what their terms correspond to elsewhere.

The form is that of https://mapping-commons.github.io/sssom/spec-formats-tsv/: a YAML head behind ``#``, a column
header, one mapping a line. Columns are found by name. Only what says which id corresponds to which is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent

import numpy as np
import numpy.typing as npt

from ...errors import ParseError
from ..iris import IriTable
from ..report import LoadReport
from ..source import SourceLike, decode_lines, read_source
from .tab import BrokenLine, Table, read_table

__all__ = ["EXACT", "MappingSet", "can_read", "prefixes_in", "read_sssom"]

EXACT = frozenset({"skos:exactMatch", "owl:equivalentClass", "owl:equivalentProperty", "owl:sameAs"})
"""Predicates by which both ids stand for one and the same thing."""

Int32 = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

_NEEDED = ("subject_id", "predicate_id", "object_id")
_WANTED = (
    *_NEEDED, "predicate_modifier", "confidence", "subject_type", "object_type", "subject_label", "object_label"
)  # fmt: skip
_NAMESPACES = {"skos": "http://www.w3.org/2004/02/skos/core#", "owl": "http://www.w3.org/2002/07/owl#"}
_LITERALS = ("rdfs literal", "literal")
_NO_TERM = "sssom:NoTermFound"
_REPLACED_BY = "IAO:0100001"
_NEGATED, _UNCLEAR = 1, 2


@dataclass(frozen=True, eq=False)
class MappingSet:
    """The mappings of one file, ``M`` of them in file order; read-only.

    Attributes:
        path: name of the file.
        version: ``mapping_set_version`` or ``mapping_set_id`` of the head; may be empty.
        sha256: SHA-256 of the uncompressed file, hex.
        ids: distinct ids as first written; web addresses are shortened by the file's own ``curie_map``.
        predicates: distinct predicates, likewise.
        subject: int32 ``[M]``, number in ``ids``.
        object: int32 ``[M]``, likewise.
        predicate: int32 ``[M]``, number in ``predicates``.
        negated: bool ``[M]``, the row says that the mapping does not hold.
        confidence: float64 ``[M]``, in [0, 1], NaN where none is stated.
        obsolete: bool ``[len(ids)]``, ids that the file calls obsolete or replaced.
        line: int32 ``[M]``, from 1.
        report: what the reader noticed.
    """

    path: str
    version: str
    sha256: str
    ids: tuple[str, ...]
    predicates: tuple[str, ...]
    subject: Int32
    object: Int32
    predicate: Int32
    negated: BoolArray
    confidence: npt.NDArray[np.float64]
    obsolete: BoolArray
    line: Int32
    report: LoadReport = field(repr=False)

    def __len__(self) -> int:
        return len(self.line)

    @property
    def exact(self) -> BoolArray:
        """Which rows are about identity, negated ones among them, bool ``[M]``."""
        return np.array([predicate in EXACT for predicate in self.predicates], np.bool_)[self.predicate]


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, has the column header of an SSSOM file."""
    lines = decode_lines(head, LoadReport(""))
    at = _header_at(lines)
    return at >= 0 and set(_NEEDED) <= set(_cells(lines[at]))


def prefixes_in(head: bytes) -> frozenset[str] | None:
    """Returns the prefixes of the ids in ``head``, the start of a file, case-folded; None where it is no SSSOM file."""
    if not can_read(head):
        return None
    lines = decode_lines(head, LoadReport(""))
    at = _header_at(lines)
    columns = _cells(lines[at])
    places = [columns.index(name) for name in ("subject_id", "object_id")]
    rows = [_cells(line) for line in lines[at + 1 :]]
    ids = [row[place] for row in rows for place in places if place < len(row)]
    return frozenset(found.partition(":")[0].casefold() for found in ids if ":" in found)


def read_sssom(source: SourceLike, *, strict: bool = False, name: str | None = None) -> MappingSet:
    r"""Returns the mappings of an SSSOM file.

    Rows that name no id on one side are left out: literals, and ``sssom:NoTermFound``, which would otherwise join
    whatever has no counterpart. Nothing is decided here about what a predicate means.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: the file is no SSSOM table, its compression is damaged, or ``strict`` met a fault.
        DataMissing: there is no such file.

    >>> found = read_sssom(b"subject_id\tpredicate_id\tobject_id\nA:1\tskos:exactMatch\tB:1\n")
    >>> found.ids, found.exact.tolist()
    (('A:1', 'B:1'), [True])
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    lines = decode_lines(opened.content(), report)
    at = _header_at(lines)
    columns = _cells(lines[at]) if at >= 0 else []
    _check_columns(columns, at + 1, opened.path)
    meta, bases = _head(lines[:at], report)
    again = [number for number, line in enumerate(lines[at + 1 :], at + 1) if line == lines[at]]
    if again:
        report.note("repeated-header", "the column header stands here again; skipped", [n + 1 for n in again])
        lines = ["" if line == lines[at] else line for line in lines]
    table = read_table(lines, at + 1, columns, _WANTED, _NEEDED)
    found = _Rows(table, len(columns), IriTable({**_NAMESPACES, **bases}), meta, report).mappings(
        opened.path, opened.content_sha256
    )
    if bases:
        _note_undeclared(found, bases)
    report.strict = strict
    if strict:
        report.require_clean()
    return found


def _header_at(lines: Sequence[str]) -> int:
    for at, line in enumerate(lines):
        if line.strip() and not line.startswith("#"):
            return at
    return -1


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split("\t")]


def _check_columns(columns: Sequence[str], line: int, path: str) -> None:
    missing = [name for name in _NEEDED if name not in columns]
    doubled = sorted(name for name, count in Counter(columns).items() if count > 1 and name in _WANTED)
    if not missing and not doubled:
        return
    if not columns:
        found = "the file has no line beside comments"
    elif len(missing) == len(_NEEDED):
        found = f"line {line} is no column header of such a file"
        found += ", it is separated by commas" if "," in columns[0] and "subject_id" in columns[0] else ""
    else:
        parts = [f"there is no column {name}" for name in missing] + [f"there are two columns {n}" for n in doubled]
        found = f"line {line}: {' and '.join(parts)}"
    raise ParseError(
        f"read {path} as SSSOM",
        found,
        f"Give a tab-separated SSSOM file with the columns {', '.join(_NEEDED)}.",
        path=path,
        line=line or None,
    )


def _head(lines: Sequence[str], report: LoadReport) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the texts of the YAML head by name, and its base addresses by prefix."""
    import yaml  # here, so that importing the package stays light

    numbered = [(number, line[1:]) for number, line in enumerate(lines, 1) if line.startswith("#")]
    text = dedent("\n".join(line for _, line in numbered))
    try:
        # Every scalar as text: the prefix NO is no truth value, 2.10 no number, and no tag makes an object.
        found = yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as fault:
        mark = getattr(fault, "problem_mark", None)
        at = numbered[min(mark.line, len(numbered) - 1)][0] if mark is not None else numbered[0][0]
        what = getattr(fault, "problem", None) or fault
        report.warn("head", f"the head is no YAML ({what}); read without it", [at])
        return {}, {}
    if not isinstance(found, dict):
        return {}, {}
    bases = found.get("curie_map")
    return (
        {str(name): value for name, value in found.items() if isinstance(value, str)},
        {str(p): b for p, b in bases.items() if isinstance(b, str) and b} if isinstance(bases, dict) else {},
    )


class _Rows:
    """One table on its way to mappings."""

    def __init__(self, table: Table, width: int, iris: IriTable, meta: Mapping[str, str], report: LoadReport) -> None:
        self.table, self.width, self.iris, self.meta, self.report = table, width, iris, meta, report

    def mappings(self, path: str, sha256: str) -> MappingSet:
        """Returns them and writes the entries into the report."""
        self._report_widths()
        ids: dict[str, int] = {}
        ends = {side: self._coded(f"{side}_id", ids) for side in ("subject", "object")}
        predicates: dict[str, int] = {}
        predicate = self._coded("predicate_id", predicates)
        sense = self._map("predicate_modifier", [self._sense(text) for text in self.table.values["predicate_modifier"]])
        confidence = np.array([self._confidence(text) for text in self.table.values["confidence"]])
        usable = (sense != _UNCLEAR) & self._named(ends, ids, predicate, predicates)
        self._report_repeats(usable, ends, predicate, sense)
        names = tuple(ids)
        return MappingSet(
            path=path,
            version=self.meta.get("mapping_set_version") or self.meta.get("mapping_set_id", ""),
            sha256=sha256,
            ids=names,
            predicates=tuple(predicates),
            subject=ends["subject"][usable],
            object=ends["object"][usable],
            predicate=predicate[usable],
            negated=sense[usable] == _NEGATED,
            confidence=confidence[self.table.codes["confidence"]][usable],
            obsolete=self._obsolete(usable, ends, predicate, predicates, len(names)),
            line=self.table.line[usable],
            report=self.report,
        )

    def _coded(self, column: str, numbers: dict[str, int]) -> Int32:
        spelled = [self._id(text) for text in self.table.values[column]]
        return self._map(column, [numbers.setdefault(text, len(numbers)) for text in spelled])

    def _map(self, column: str, numbers: Sequence[int]) -> Int32:
        return np.array(numbers, np.int32)[self.table.codes[column]] if len(self.table) else np.zeros(0, np.int32)

    def _id(self, text: str) -> str:
        text = text.strip('"').strip()
        if text.startswith("<") and text.endswith(">"):
            text = text[1:-1]
        return self.iris.id_of(text) if "://" in text else text

    def _lines(self, marked: BoolArray) -> list[int]:
        found: list[int] = self.table.line[marked].tolist()
        return found

    def _where(self, column: str, text: str) -> list[int]:
        return self._lines(self.table.codes[column] == self.table.values[column].index(text))

    def _sense(self, text: str) -> int:
        plain = text.strip('"').strip().casefold()
        if plain in ("", "not"):
            return _NEGATED if plain else 0
        lines = self._where("predicate_modifier", text)
        self.report.warn("modifier", f"predicate_modifier {text!r} is neither empty nor Not; left out", lines)
        return _UNCLEAR

    def _confidence(self, text: str) -> float:
        plain = text.strip('"').strip()
        if not plain:
            return np.nan
        try:
            value = float(plain)
        except ValueError:
            value = np.nan
        if not 0 <= value <= 1:  # what is no number neither
            lines = self._where("confidence", text)
            self.report.warn("confidence", f"confidence {text!r} is no number from 0 to 1; it counts as unknown", lines)
            return np.nan
        return value

    def _named(
        self, ends: Mapping[str, Int32], ids: Mapping[str, int], predicate: Int32, predicates: Mapping[str, int]
    ) -> BoolArray:
        """Returns which rows name an id on both sides and a predicate."""
        named = np.ones(len(self.table), np.bool_)
        literal = np.zeros_like(named)
        for side in ends:
            column = f"{side}_type"
            is_literal = [
                (text or self.meta.get(column, "")).casefold() in _LITERALS for text in self.table.values[column]
            ]
            literal |= self._map(column, is_literal).astype(np.bool_)
        if literal.any():
            self.report.note("literal", "one side is a text and no id; left out", self._lines(literal))
        empty = predicate == predicates.get("", -1)
        nothing = np.zeros_like(named)
        for end in ends.values():
            empty |= end == ids.get("", -1)
            nothing |= end == ids.get(_NO_TERM, -1)
        empty &= ~literal
        if empty.any():
            self.report.warn("empty-id", "the row has no subject, predicate or object; left out", self._lines(empty))
        if nothing.any():
            self.report.note("no-term", f"{_NO_TERM}: there is no counterpart; left out", self._lines(nothing))
        found: BoolArray = named & ~literal & ~empty & ~nothing
        return found

    def _report_widths(self) -> None:
        self._report_uneven(self.table.broken, "left out")
        self._report_uneven([b for b in self.table.uneven if b.found < self.width], "what is missing counts as empty")
        self._report_uneven([b for b in self.table.uneven if b.found > self.width], "the columns beyond are ignored")

    def _report_uneven(self, uneven: Sequence[BrokenLine], what: str) -> None:
        for found in sorted({line.found for line in uneven}):
            lines = [line.line for line in uneven if line.found == found]
            self.report.warn(
                "columns", f"{len(lines)} lines have {found} columns, and the header has {self.width}; {what}", lines
            )

    def _report_repeats(self, usable: BoolArray, ends: Mapping[str, Int32], predicate: Int32, sense: Int32) -> None:
        rows = np.column_stack([ends["subject"], predicate, ends["object"], sense])[usable]
        _, first = np.unique(rows, axis=0, return_index=True)
        again = np.ones(len(rows), np.bool_)
        again[first] = False
        if again.any():
            lines = self.table.line[usable][again].tolist()
            self.report.note("repeat", f"{len(lines)} rows say again what an earlier one says", lines)

    def _obsolete(
        self,
        usable: BoolArray,
        ends: Mapping[str, Int32],
        predicate: Int32,
        predicates: Mapping[str, int],
        count: int,
    ) -> BoolArray:
        """Returns which ids are obsolete: their label begins so, or a row names what replaces them."""
        found = np.zeros(count, np.bool_)
        marked = np.zeros(len(self.table), np.bool_)
        for side, end in ends.items():
            column = f"{side}_label"
            says = [text.strip('"').casefold().startswith("obsolete ") for text in self.table.values[column]]
            of_side = usable & self._map(column, says).astype(np.bool_)
            found[end[of_side]] = True
            marked |= of_side
        replaced = usable & (predicate == predicates.get(_REPLACED_BY, -1))
        found[ends["subject"][replaced]] = True
        marked |= replaced
        if marked.any():
            self.report.note(
                "obsolete", f"{int(found.sum())} ids are called obsolete; their mappings are kept", self._lines(marked)
            )
        return found


def _note_undeclared(found: MappingSet, bases: Mapping[str, str]) -> None:
    """Notes prefixes that the head declares nowhere; they are taken as they are written."""
    strange: dict[str, list[int]] = {}
    prefixes = [text.partition(":")[0] if ":" in text and "://" not in text else "" for text in found.ids]
    unknown = np.array([bool(prefix) and prefix not in bases for prefix in prefixes], np.bool_)
    if not len(found) or not unknown.any():
        return
    for end in (found.subject, found.object):
        for row in np.flatnonzero(unknown[end]).tolist():
            strange.setdefault(prefixes[end[row]], []).append(int(found.line[row]))
    for prefix, lines in sorted(strange.items()):
        found.report.note("prefix", f"the prefix {prefix} is not in the curie_map; taken as written", sorted(lines))
