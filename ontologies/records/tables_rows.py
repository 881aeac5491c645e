"""Rows of any source on their way to records: which record has which term, on what evidence, and what else is known.

Readers add row after row; texts are kept once. At the end terms are resolved, and all that could not be used is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ..ontology import Ontology
from ..report import LoadReport
from ..strings import StringColumn
from .attributes import Attributes
from .columns import Interned
from .frequency import FrequencyText
from .model import EVIDENCE_FIELDS, Records
from .notices import join_shown, told_of_term
from .pool import Rows, pool

__all__ = ["RowCollector"]

_UNKNOWN = FrequencyText()


class RowCollector:
    """Rows in the making.

    Args:
        entity: word for one record, in reports.

    Example:
        >>> from sma_gpu.ontologies.builder import ontology_from_parents
        >>> rows = RowCollector("case")
        >>> rows.add("a", "EX:2", 1)
        >>> ontology = ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"]})
        >>> rows.records(ontology, LoadReport("toy"), name="toy", version="", sha256="").record("a").positive
        ('EX:2',)
    """

    def __init__(self, entity: str) -> None:
        self.entity = entity
        self.names: dict[str, str] = {}
        self.attributes: dict[str, dict[str, dict[str, None]]] = {}
        self._keys: dict[str, int] = {}
        self._terms: dict[str, int] = {}
        self._texts: dict[str, dict[str, int]] = {field: {"": 0} for field in EVIDENCE_FIELDS}
        self._record: list[int] = []
        self._term: list[int] = []
        self._line: list[int] = []
        self._negated: list[bool] = []
        self._share: list[FrequencyText] = []
        self._evidence: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def open(self, key: str, name: str = "", attributes: Mapping[str, str | Iterable[str]] | None = None) -> None:
        """Adds a record, which may have no term; of several names the first one stays."""
        self._keys.setdefault(key, len(self._keys))
        if name and key not in self.names:
            self.names[key] = name
        for attribute, given in (attributes or {}).items():
            values = [given] if isinstance(given, str) else given
            kept = self.attributes.setdefault(key, {}).setdefault(attribute, {})
            kept.update(dict.fromkeys(value for value in values if value))

    def add(
        self,
        key: str,
        term: str,
        line: int,
        *,
        is_negated: bool = False,
        share: FrequencyText = _UNKNOWN,
        **evidence: str,
    ) -> None:
        """Adds one row.

        Args:
            key: key of the record.
            term: the term as written.
            line: line of the source, from 1.
            is_negated: the record is said not to have the term.
            share: how often it has the term.
            evidence: texts by the names of ``EVIDENCE_FIELDS``.
        """
        self._record.append(self._keys.setdefault(key, len(self._keys)))
        self._term.append(self._terms.setdefault(term, len(self._terms)))
        self._line.append(line)
        self._negated.append(is_negated)
        self._share.append(share)
        if is_negated:  # rows with equal evidence are copies of one another, and these are not
            evidence.setdefault("qualifier", "NOT")
        codes = [0] * len(EVIDENCE_FIELDS)
        for field, text in evidence.items():
            codes[EVIDENCE_FIELDS.index(field)] = self._texts[field].setdefault(text, len(self._texts[field]))
        self._evidence.append(tuple(codes))

    def records(
        self,
        ontology: Ontology,
        report: LoadReport,
        *,
        name: str,
        version: str,
        sha256: str,
        notes_copies: bool = False,
    ) -> Records:
        """Returns the records; what was left out or changed goes into ``report``, on demand also rows that are copies.

        Rows of one record and term whose evidence is equal count once.
        """
        keys = tuple(sorted(self._keys))
        number = {key: i for i, key in enumerate(keys)}
        place = np.array([number[key] for key in self._keys], np.int32)
        term = np.array([*self._resolve(ontology, report), -1], np.int32)[np.array(self._term, np.int64)]
        record = place[np.array(self._record, np.int64)] if self._record else np.zeros(0, np.int32)
        usable = np.flatnonzero(term >= 0)
        shares = [self._share[row] for row in usable.tolist()]
        rows = Rows(
            record=record[usable],
            aspect=np.zeros(len(usable), np.uint8),
            term=term[usable],
            negated=np.array(self._negated, np.bool_)[usable],
            low=np.array([share.low for share in shares], np.float64),
            high=np.array([share.high for share in shares], np.float64),
            numerator=np.array([share.numerator for share in shares], np.int64),
            denominator=np.array([share.denominator for share in shares], np.int64),
            texts=np.array(self._evidence, np.int32).reshape(-1, len(EVIDENCE_FIELDS))[usable],
        )
        pooled = pool(rows, record_count=len(keys), term_count=len(ontology))
        line = np.array(self._line, np.int32)[usable]
        self._tell(report, keys, record, usable, pooled.conflicts, rows, line, ontology)
        copies = sorted(row for group in pooled.copies for row in group[1:])
        if notes_copies and copies:
            are = "1 row says" if len(copies) == 1 else f"{len(copies)} rows say"
            report.note("copied-row", f"{are} again what an earlier one says; that counts once", line[copies].tolist())
        return Records(
            name=name,
            version=version,
            sha256=sha256,
            ontology_version="",
            ontology_sha256=ontology.sha256,
            term_ids=ontology.ids,
            keys=keys,
            names=StringColumn.from_strings(self.names.get(key, "") for key in keys),
            **pooled.columns(),
            line=line[pooled.kept],
            evidence={
                field: Interned(rows.texts[pooled.kept, i], StringColumn.from_strings(self._texts[field]))
                for i, field in enumerate(EVIDENCE_FIELDS)
            },
            report=report,
            attributes=Attributes.of_rows([self.attributes.get(key, {}) for key in keys]),
        )

    def _resolve(self, ontology: Ontology, report: LoadReport) -> list[int]:
        """Returns the number of the live term of each text, -1 for none; tells what was changed or lost."""
        lines: dict[int, list[int]] = {}
        found = [ontology.resolve(asked) for asked in self._terms]
        odd = {i for i, resolution in enumerate(found) if resolution.status != "live"}
        for code, line in zip(self._term, self._line, strict=True):
            if code in odd:
                lines.setdefault(code, []).append(line)
        for code, asked in enumerate(self._terms):
            if code in odd:
                told = told_of_term(asked, found[code], ontology, lines[code])
                add = report.note if told.severity == "note" else report.warn
                add(told.kind, told.message, sorted(lines[code]), told.ids)
        return [resolution.index for resolution in found]

    def _tell(
        self,
        report: LoadReport,
        keys: tuple[str, ...],
        record: np.ndarray,
        usable: np.ndarray,
        conflicts: list[list[int]],
        rows: Rows,
        line: np.ndarray,
        ontology: Ontology,
    ) -> None:
        for conflict in conflicts:
            key, term = keys[int(rows.record[conflict[0]])], ontology.ids[int(rows.term[conflict[0]])]
            message = f"{key} has {term} both ways; it is kept as present"
            report.warn("conflict", message, line[conflict].tolist(), (key, term))
        held = np.bincount(record[usable], minlength=len(keys)) if len(usable) else np.zeros(len(keys), np.int64)
        bare = [keys[i] for i in np.flatnonzero(held == 0).tolist()]
        if bare:
            are = f"1 {self.entity} has" if len(bare) == 1 else f"{len(bare)} {self.entity}s have"
            report.note("no-term", f"{are} no usable term, so nothing can match: {join_shown(bare)}", ids=bare)
