"""Reader of phenotype.hpoa, the disease annotations of the Human Phenotype Ontology, in its forms since 2018.

Columns are found by their names, never by position. Whatever is left out, repaired or contradictory is reported with
its lines; nothing is dropped in silence.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...errors import ParseError
from ..ontology import Ontology
from ..report import LoadReport
from ..source import SourceLike, decode_lines, read_source
from ..strings import StringColumn
from .branches import aspects_by_branch
from .frequency import read_frequency
from .hpoa_attributes import hpoa_attributes, undated
from .hpoa_header import REQUIRED, check_columns, describe, find_header, find_repeats, made_with, read_meta
from .model import ASPECTS, EVIDENCE_FIELDS, Interned, Records
from .notices import Notices, its_rows, join_shown
from .pool import Pooled, Rows, pool
from .qualifier import NEGATED, UNCLEAR, read_qualifier
from .tab import BrokenLine, Table, read_table

__all__ = ["can_read", "read_hpoa", "release_of"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_TEXTS = tuple(field for field in EVIDENCE_FIELDS if field != "description")
_USED = ("key", "name", "term", "aspect", *_TEXTS)
_ASPECT_LETTERS = {"P": 0, "I": 1, "C": 2, "M": 3, "H": 4}


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, has the column header of a phenotype.hpoa."""
    return find_header(decode_lines(head, LoadReport("")))[0] >= 0


def release_of(lines: Sequence[str]) -> str:
    """Returns the release that the comments above the column header state, or an empty string."""
    meta = read_meta(lines[: max(find_header(lines)[0], 0)])
    return meta.get("version") or meta.get("date", "")


def read_hpoa(source: SourceLike, ontology: Ontology, *, strict: bool = False, name: str | None = None) -> Records:
    r"""Returns the records of a phenotype.hpoa file, their terms resolved to live terms of ``ontology``.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the Human Phenotype Ontology.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: the file is no phenotype.hpoa, its compression is damaged, or ``strict`` met a fault.
        DataMissing: there is no such file.

    >>> from sma_gpu.ontologies.builder import ontology_from_parents
    >>> columns = ["database_id", "disease_name", "qualifier", "hpo_id", "frequency", "aspect"]
    >>> row = ["OMIM:1", "Toy disease", "", "HP:2", "3/7", "P"]
    >>> file = "\n".join("\t".join(cells) for cells in (columns, row)).encode()
    >>> records = read_hpoa(file, ontology_from_parents({"HP:1": [], "HP:2": ["HP:1"]}))
    >>> records.record("OMIM:1").positive
    ('HP:2',)
    """
    opened = read_source(source, name=name)
    content = opened.content()
    report = LoadReport(opened.path, strict=strict)
    lines = decode_lines(content, report)
    header, columns = find_header(lines)
    if header < 0:
        raise ParseError(
            f"read {opened.path} as phenotype.hpoa",
            describe(lines, content),
            "Give the phenotype.hpoa of an HPO release, with its column header (database_id, disease_name, ...).",
            path=opened.path,
        )
    check_columns(columns, header + 1, opened.path)
    reading = _Reading(lines, header, columns, ontology, opened.path)
    return reading.records(hashlib.sha256(content).hexdigest(), report)


class _Reading:
    """One table on its way to records; entries wait until all are known, so that they come in the order of lines."""

    def __init__(self, lines: list[str], header: int, columns: list[str], ontology: Ontology, path: str) -> None:
        self.lines = lines
        self.header = header
        self.width = len(columns)
        self.ontology = ontology
        self.meta = read_meta(lines[:header])
        repeats = find_repeats(lines, header + 1, columns, path)
        rows = list(lines)
        for at in repeats:
            rows[at] = ""
        self.table: Table = read_table(rows, header + 1, columns, _USED, REQUIRED)
        self.told = Notices(self.table)
        if repeats:
            self.told.note(
                "repeated-header", "the column header stands here again; skipped", [at + 1 for at in repeats]
            )

    def records(self, sha256: str, report: LoadReport) -> Records:
        """Returns the records and writes the entries into ``report``."""
        table, codes, values = self.table, self.table.codes, self.table.values
        self._report_broken()
        keys = tuple(sorted(key for key in values["key"] if key))
        place = {key: i for i, key in enumerate(keys)}
        record = self.told.by_text("key", [place.get(key, -1) for key in values["key"]])
        names = self._names(record, keys)
        term = self.told.by_text("term", self.told.resolve("term", self.ontology))
        aspect = self.told.by_text("aspect", self._aspects())
        sense = self.told.by_text("qualifier", self._senses())
        shares = [read_frequency(text, self.ontology) for text in values["frequency"]]
        usable = np.flatnonzero((record >= 0) & (term >= 0) & (aspect >= 0) & (sense != UNCLEAR))
        usable = self._file_by_branch(usable, term, aspect)
        self._report_lost(record, usable, keys)

        frequency = codes["frequency"][usable]
        rows = Rows(
            record=record[usable],
            aspect=aspect[usable].astype(np.uint8),
            term=term[usable],
            negated=sense[usable] == NEGATED,
            low=np.array([s.low for s in shares])[frequency],
            high=np.array([s.high for s in shares])[frequency],
            numerator=np.array([s.numerator for s in shares], np.int64)[frequency],
            denominator=np.array([s.denominator for s in shares], np.int64)[frequency],
            texts=np.column_stack([codes[column][usable] for column in _TEXTS]),
        )
        pooled = pool(rows, record_count=len(keys), term_count=len(self.ontology))
        self._report_pooling(rows, pooled, usable, keys, [s.fault for s in shares])
        self._report_release()
        self._report_undated()
        self.told.tell(report)

        kept = usable[pooled.kept]
        in_order = np.sort(kept)
        return Records(
            name="hpoa",
            version=self.meta.get("version") or self.meta.get("date", ""),
            sha256=sha256,
            ontology_version=made_with(self.meta),
            ontology_sha256=self.ontology.sha256,
            term_ids=self.ontology.ids,
            keys=keys,
            names=StringColumn.from_strings(names),
            **pooled.columns(),
            line=table.line[kept],
            evidence={
                **{c: Interned(codes[c][kept], StringColumn.from_strings(values[c])) for c in _TEXTS},
                "description": Interned.blank(len(kept)),
            },
            report=report,
            attributes=hpoa_attributes(keys, record[in_order], {c: codes[c][in_order] for c in _TEXTS}, values),
        )

    def _report_broken(self) -> None:
        self._report_widths(self.table.broken, "left out")
        self._report_widths([b for b in self.table.uneven if b.found < self.width], "what is missing counts as empty")
        self._report_widths([b for b in self.table.uneven if b.found > self.width], "the columns beyond are ignored")
        for column, what in (("key", "disease id"), ("term", "term id")):
            if "" in self.table.values[column]:
                for line in self.told.lines(column, self.table.values[column].index("")):
                    self.told.warn("empty-id", f"the row has no {what}; left out", [line])

    def _report_widths(self, uneven: list[BrokenLine], what: str) -> None:
        widths: dict[int, list[int]] = defaultdict(list)
        for line in uneven:
            widths[line.found].append(line.line)
        for found, lines in widths.items():
            have = "the line has" if len(lines) == 1 else f"{len(lines)} lines have"
            self.told.warn("columns", f"{have} {found} columns, and the header has {self.width}; {what}", lines)

    def _report_lost(self, record: Int32, usable: Int64, keys: tuple[str, ...]) -> None:
        """Reports what is left without any row: diseases, all of them in one entry, or the whole file."""
        count = len(self.table) + len(self.table.broken)
        if not len(usable):
            message = f"no row can be used, of {count} there" if count else "there is no row below the column header"
            self.told.warn("no-rows", message, [self.header + 1])
        lost = np.bincount(record[usable], minlength=len(keys)) == 0
        ids = tuple(keys[i] for i in np.flatnonzero(lost).tolist())
        if ids:
            lines = self.table.line[(record >= 0) & np.append(lost, False)[record]].tolist()
            self.told.note(
                "no-usable-row", f"no row of {join_shown(ids)} can be used; no annotation is left", lines, ids
            )

    def _names(self, record: Int32, keys: tuple[str, ...]) -> list[str]:
        """Finds the first name of each record that is not blank."""
        codes, values = self.table.codes["name"], self.table.values["name"]
        pair = record.astype(np.int64) * len(values) + codes
        first = np.sort(np.unique(pair, return_index=True)[1])
        found: dict[int, list[int]] = {}
        for row in first.tolist():
            if record[row] >= 0 and values[codes[row]]:
                found.setdefault(int(record[row]), []).append(row)
        for number, rows in found.items():
            if len(rows) > 1:
                others = ", ".join(repr(values[codes[row]]) for row in rows)
                lines = self.table.line[rows].tolist()
                self.told.note(
                    "several-names", f"{keys[number]} has {len(rows)} names, {others}; the first is used", lines
                )
        return [values[codes[found[i][0]]] if i in found else "" for i in range(len(keys))]

    def _aspects(self) -> list[int]:
        numbers: list[int] = []
        for code, letter in enumerate(self.table.values["aspect"]):
            number = _ASPECT_LETTERS.get(letter.upper(), -1)
            numbers.append(number)
            if number < 0:
                lines = self.told.lines("aspect", code)
                known = ", ".join(_ASPECT_LETTERS)
                self.told.warn(
                    "unknown-aspect", f"aspect {letter!r} is not one of {known}; {its_rows(lines)} left out", lines
                )
        return numbers

    def _senses(self) -> list[int]:
        senses: list[int] = []
        for code, text in enumerate(self.table.values["qualifier"]):
            found = read_qualifier(text)
            senses.append(found.sense)
            if not found.severity:
                continue
            lines = self.told.lines("qualifier", code)
            message = f"qualifier {text!r} {found.remark}"
            if found.sense == UNCLEAR:
                message += f"; {its_rows(lines)} left out"
            kind = "qualifier" if found.sense == NEGATED else "unknown-qualifier"
            (self.told.note if found.severity == "note" else self.told.warn)(kind, message, lines)
        return senses

    def _file_by_branch(self, usable: Int64, term: Int32, aspect: Int32) -> Int64:
        """Moves rows of aspect P whose term is no phenotype to the aspect of its branch; returns the rows that stay."""
        branch = aspects_by_branch(self.ontology)
        if branch is None:
            return usable
        moved = usable[(aspect[usable] == 0) & (branch[term[usable]] != 0)]
        groups: dict[int, list[int]] = defaultdict(list)
        for row in moved.tolist():
            groups[int(term[row])].append(int(self.table.line[row]))
        for number, lines in groups.items():
            term_id, home = self.ontology.ids[number], int(branch[number])
            what = f"read under {ASPECTS[home]}, outside matching" if home >= 0 else "left out, since no aspect fits"
            message = f"{term_id} has aspect P but is no phenotypic abnormality; {its_rows(lines)} {what}"
            self.told.warn("branch", message, lines, (term_id,))
        self._warn_stray_signs(usable[(aspect[usable] > 0) & (branch[term[usable]] == 0)], term, aspect)
        aspect[moved] = branch[term[moved]]
        return usable[aspect[usable] >= 0]

    def _warn_stray_signs(self, rows: Int64, term: Int32, aspect: Int32) -> None:
        """Warns of phenotypes under another aspect than P, which take no part in matching there."""
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row in rows.tolist():
            groups[int(term[row]), int(aspect[row])].append(int(self.table.line[row]))
        for (number, kind), lines in groups.items():
            term_id = self.ontology.ids[number]
            message = f"{term_id} is a phenotypic abnormality but has the aspect of {ASPECTS[kind]}; outside matching"
            self.told.warn("branch", message, lines, (term_id,))

    def _report_pooling(
        self, rows: Rows, pooled: Pooled, usable: Int64, keys: tuple[str, ...], faults: list[str]
    ) -> None:
        line = self.table.line[usable]

        def pair(row: int) -> tuple[str, str]:
            return keys[rows.record[row]], self.ontology.ids[rows.term[row]]

        for group in pooled.copies:
            ids = pair(group[0])
            lines = line[group].tolist()
            is_equal = len({self.lines[number - 1] for number in lines}) == 1
            how = "are exactly equal" if is_equal else "say the same in different words"
            self.told.note("copied-row", f"{ids[0]} and {ids[1]}: {len(group)} rows {how}; they count once", lines, ids)
        for group in pooled.conflicts:
            ids = pair(group[0])
            lines = line[group].tolist()
            message = (
                f"{ids[0]} has {ids[1]} both with and without NOT, lines {join_shown(lines)}; it is kept as positive"
            )
            self.told.warn("conflict", message, lines, ids)
        for group in pooled.mixed:
            ids = pair(group[0])
            lines = line[group].tolist()
            message = (
                f"{ids[0]} has {ids[1]} with a share of 0 and with one above, lines {join_shown(lines)}; it occurs"
            )
            self.told.note("mixed-share", message, lines, ids)
        texts, codes = self.table.values["frequency"], self.table.codes["frequency"][usable]
        faulty = np.array([bool(fault) for fault in faults], np.bool_)[codes]
        denied = rows.negated & (rows.high > 0)
        for row in pooled.kept[(faulty | denied)[pooled.kept]].tolist():
            ids, text = pair(row), texts[codes[row]]
            if denied[row]:
                message = f"{ids[0]} has {ids[1]} with NOT and frequency {text!r}; the frequency is not used"
                self.told.warn("negated-frequency", message, [int(line[row])], ids)
            else:
                message = f"frequency {text!r} of {ids[1]} in {ids[0]} cannot be used: {faults[codes[row]]}"
                self.told.warn("frequency", message, [int(line[row])], ids)

    def _report_undated(self) -> None:
        for code, text in enumerate(self.table.values["biocuration"]):
            if undated(text):
                lines = self.told.lines("biocuration", code)
                self.told.note("date", f"biocuration {text!r} has in brackets what is no day like [2009-02-17]", lines)

    def _report_release(self) -> None:
        made, here = made_with(self.meta), self.ontology.version
        if made and here and made != here:
            self.told.note("release", f"the annotations were made with HPO {made}, not {here}", [])
