"""Annotated records as columns: which terms each record has or lacks, how often, and on which evidence.

The table is a set of arrays, so that a compiled file of some 250,000 annotations loads without making an object for
each. Records and annotations as a person reads them are views, made when asked for.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isnan

import numpy as np
import numpy.typing as npt

from ...errors import ArtifactError, FingerprintMismatch, UnknownKey
from ..ontology import Ontology
from ..report import LoadReport
from ..strings import StringColumn
from .attributes import Attributes
from .columns import Arrays, Int32, Interned, strings_of, typed
from .frequency import Frequency

__all__ = ["ASPECTS", "EVIDENCE_FIELDS", "Annotation", "EvidenceRow", "Interned", "Record", "Records"]

ASPECTS = ("phenotype", "inheritance", "course", "modifier", "history")
"""Kinds of annotation. Only the first takes part in matching."""

EVIDENCE_FIELDS = (
    "reference", "evidence", "onset", "frequency", "sex", "modifier", "biocuration", "qualifier", "description",
)  # fmt: skip
"""Text columns of an evidence row; a source fills those that it has."""

Float64 = npt.NDArray[np.float64]

_ARRAYS = ("ptr", "term", "aspect", "excluded", "low", "high", "numerator", "denominator", "row_ptr", "line")


@dataclass(frozen=True)
class EvidenceRow:
    """One line of the source that supports an annotation; every text as written.

    Attributes:
        line: line number in the source, from 1; of a STIX bundle the position of the relationship in it, from 0.
    """

    line: int
    reference: str
    evidence: str
    onset: str
    frequency: str
    sex: str
    modifier: str
    biocuration: str
    qualifier: str
    description: str = ""


@dataclass(frozen=True)
class Annotation:
    """All that a record says about one term under one aspect.

    Attributes:
        term: id of the live term.
        aspect: one of ``ASPECTS``.
        excluded: the source says that the term does not occur.
        frequency: share of patients, or None where the source does not say.
        rows: distinct evidence rows in file order.
    """

    term: str
    aspect: str
    excluded: bool
    frequency: Frequency | None
    rows: tuple[EvidenceRow, ...]


@dataclass(frozen=True)
class Record:
    """One record, such as a disease.

    Attributes:
        key: its id.
        name: its name, or empty.
        annotations: ordered by aspect, then by term id.
        attributes: what the source says of it as a whole, such as its dates: by name, texts in file order.
    """

    key: str
    name: str
    annotations: tuple[Annotation, ...]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def positive(self) -> tuple[str, ...]:
        """Ids of the phenotype terms that occur, code-point order; perhaps none."""
        return tuple(a.term for a in self.annotations if a.aspect == "phenotype" and not a.excluded)

    @property
    def excluded(self) -> tuple[str, ...]:
        """Ids of the phenotype terms that the source says do not occur, code-point order."""
        return tuple(a.term for a in self.annotations if a.aspect == "phenotype" and a.excluded)

    def aspect(self, name: str) -> tuple[Annotation, ...]:
        """Returns the annotations of one aspect, by term id.

        Raises:
            ValueError: ``name`` is not in ``ASPECTS``.
        """
        if name not in ASPECTS:
            raise ValueError(f"aspect {name!r} is not one of {', '.join(ASPECTS)}")
        return tuple(a for a in self.annotations if a.aspect == name)


@dataclass(frozen=True, eq=False)
class Records:
    """All records of one annotation file, ``R`` of them with ``A`` annotations on ``E`` evidence rows; read-only.

    Attributes:
        name: short name of the collection, such as ``hpoa``.
        version: release from the header; may be empty.
        sha256: SHA-256 of the uncompressed file, hex.
        ontology_version: release of the ontology that the header says the annotations were made with; may be empty.
        ontology_sha256: SHA-256 of the ontology whose numbers ``term`` holds.
        term_ids: ids of that ontology, by number.
        keys: record keys in code-point order.
        names: name of each record, ``""`` where the file gives none.
        ptr: int32 ``[R + 1]``; annotations ``ptr[i]:ptr[i + 1]`` belong to record i, by aspect, then term.
        term: int32 ``[A]``, number of the term in the ontology.
        aspect: uint8 ``[A]``, number in ``ASPECTS``.
        excluded: bool ``[A]``.
        low: float64 ``[A]``, least share of patients in [0, 1], NaN where unknown.
        high: float64 ``[A]``, greatest share, NaN where unknown.
        numerator: int32 ``[A]``, affected summed over the rows, -1 where the share does not come from counts.
        denominator: int32 ``[A]``, examined, likewise.
        row_ptr: int32 ``[A + 1]`` into the evidence rows.
        line: int32 ``[E]``, line in the source, from 1, or position of a relationship, from 0.
        evidence: one text column ``[E]`` for each of ``EVIDENCE_FIELDS``.
        report: what the reader noticed.
        attributes: what the source says of each record as a whole, such as its dates.
    """

    name: str
    version: str
    sha256: str
    ontology_version: str
    ontology_sha256: str
    term_ids: tuple[str, ...]
    keys: tuple[str, ...]
    names: StringColumn
    ptr: Int32
    term: Int32
    aspect: npt.NDArray[np.uint8]
    excluded: npt.NDArray[np.bool_]
    low: Float64
    high: Float64
    numerator: Int32
    denominator: Int32
    row_ptr: Int32
    line: Int32
    evidence: Mapping[str, Interned]
    report: LoadReport = field(repr=False)
    attributes: Attributes = field(default_factory=Attributes, repr=False)

    def __post_init__(self) -> None:
        for array in (*(getattr(self, n) for n in _ARRAYS), *(c.codes for c in self.evidence.values())):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._find(key) >= 0

    def __repr__(self) -> str:
        return f"Records({self.label}, {len(self.keys)} records, {len(self.term)} annotations)"

    @property
    def label(self) -> str:
        """Name and version, for messages."""
        return f"{self.name} {self.version}".strip()

    def index(self, key: str) -> int:
        """Returns the number of the record with this key.

        Raises:
            UnknownKey: there is none; the message suggests the nearest keys.
        """
        found = self._find(key)
        if found >= 0:
            return found
        nearest = self._nearest(key)
        raise UnknownKey(
            f"record {key!r} of {self.label}",
            f"none of its {len(self.keys)} records has this key",
            f"Did you mean {', '.join(nearest)}?" if nearest else "Keys are case-sensitive and written with a prefix.",
        )

    def record(self, key: str) -> Record:
        """Returns the record with this key.

        Raises:
            UnknownKey: there is none; the message suggests the nearest keys.
        """
        return self.record_at(self.index(key))

    def record_at(self, index: int) -> Record:
        """Returns record number ``index``, 0 up to ``len(self) - 1``."""
        if not 0 <= index < len(self.keys):
            raise IndexError(index)
        span = range(int(self.ptr[index]), int(self.ptr[index + 1]))
        annotations = tuple(self.annotation_at(i) for i in span)
        return Record(self.keys[index], self.names[index], annotations, self.attributes.of(index))

    def annotation_at(self, index: int) -> Annotation:
        """Returns annotation number ``index`` of the table."""
        return Annotation(
            term=self.term_ids[self.term[index]],
            aspect=ASPECTS[self.aspect[index]],
            excluded=bool(self.excluded[index]),
            frequency=self.frequency_of(index),
            rows=tuple(self.row_at(r) for r in range(int(self.row_ptr[index]), int(self.row_ptr[index + 1]))),
        )

    def frequency_of(self, annotation: int) -> Frequency | None:
        """Returns the share of patients of annotation number ``annotation``, or None where it is unknown."""
        low, high = float(self.low[annotation]), float(self.high[annotation])
        numerator, denominator = int(self.numerator[annotation]), int(self.denominator[annotation])
        if isnan(low):
            return None
        return Frequency(low, high, *((numerator, denominator) if denominator >= 0 else (None, None)))

    def row_at(self, index: int) -> EvidenceRow:
        """Returns evidence row number ``index`` of the table."""
        return EvidenceRow(int(self.line[index]), **{name: self.evidence[name][index] for name in EVIDENCE_FIELDS})

    def span(self, index: int, aspect: str) -> range:
        """Returns the numbers of the annotations of record number ``index`` under one of ``ASPECTS``."""
        lo, hi = int(self.ptr[index]), int(self.ptr[index + 1])
        ends = np.searchsorted(self.aspect[lo:hi], [ASPECTS.index(aspect), ASPECTS.index(aspect) + 1])
        return range(lo + int(ends[0]), lo + int(ends[1]))

    def evidence_texts(self, annotation: int, name: str) -> list[str]:
        """Returns the distinct texts, not blank, of one of ``EVIDENCE_FIELDS`` over the rows of an annotation."""
        column = self.evidence[name]
        rows = range(int(self.row_ptr[annotation]), int(self.row_ptr[annotation + 1]))
        return sorted({column[row] for row in rows} - {""})

    def phenotypes(self, *, excluded: bool) -> tuple[npt.NDArray[np.int64], Int32]:
        """Returns the phenotype terms of every record, as they are packed for matching.

        Args:
            excluded: the terms that do not occur, instead of those that do.

        Returns:
            ``ptr``, int64 ``[R + 1]``, and ``term``, int32 ``[ptr[-1]]``: the terms of record i are
            ``term[ptr[i]:ptr[i + 1]]``, ascending, each once.
        """
        wanted = (self.aspect == 0) & (self.excluded == excluded)
        before = np.zeros(len(wanted) + 1, np.int64)
        np.cumsum(wanted, out=before[1:])
        return before[self.ptr], self.term[wanted]

    def phenotype_frequencies(self) -> Float64 | None:
        """Returns in which share of a record's instances each phenotype term holds; None where no source says so.

        A range counts with its low end: the upper one overstates what patients of a disease are seen to have.

        Returns:
            float64 beside the terms of ``phenotypes(excluded=False)``, above 0, NaN where it is not known.
        """
        low = self.low[(self.aspect == 0) & ~self.excluded]
        known = low > 0
        return np.where(known, low, np.nan) if known.any() else None

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Returns the table as plain arrays, for a compiled file; ``from_arrays`` takes them back."""
        keys = StringColumn.from_strings(self.keys)
        meta = {
            "name": self.name,
            "version": self.version,
            "sha256": self.sha256,
            "ontology_version": self.ontology_version,
            "ontology_sha256": self.ontology_sha256,
            "attributes": list(self.attributes),
            "report": self.report.to_json(),
        }
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8),
            "keys": keys.blob_array,
            "keys_ends": keys.ends,
            "names": self.names.blob_array,
            "names_ends": self.names.ends,
        }
        arrays.update({name: getattr(self, name) for name in _ARRAYS})
        for name in EVIDENCE_FIELDS:
            arrays.update(self.evidence[name].to_arrays(f"evidence_{name}"))
        return arrays | self.attributes.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Arrays, ontology: Ontology, *, path: str) -> Records:
        """Returns the table that ``to_arrays`` wrote.

        Args:
            arrays: its arrays.
            ontology: the ontology with which the table was read.
            path: today's name of the source file, for the report.

        Raises:
            FingerprintMismatch: the table was read with another ontology.
            ArtifactError: an array is missing or has another shape or type.
        """
        try:
            meta = json.loads(np.asarray(arrays["meta"], np.uint8).tobytes())
            _same_ontology(str(meta["ontology_sha256"]), ontology, path)
            return cls(
                name=str(meta["name"]),
                version=str(meta["version"]),
                sha256=str(meta["sha256"]),
                ontology_version=str(meta["ontology_version"]),
                ontology_sha256=str(meta["ontology_sha256"]),
                term_ids=ontology.ids,
                keys=tuple(strings_of(arrays, "keys", "keys_ends")),
                names=strings_of(arrays, "names", "names_ends"),
                ptr=typed(arrays["ptr"], np.int32),
                term=typed(arrays["term"], np.int32),
                aspect=typed(arrays["aspect"], np.uint8),
                excluded=typed(arrays["excluded"], np.bool_),
                low=typed(arrays["low"], np.float64),
                high=typed(arrays["high"], np.float64),
                numerator=typed(arrays["numerator"], np.int32),
                denominator=typed(arrays["denominator"], np.int32),
                row_ptr=typed(arrays["row_ptr"], np.int32),
                line=typed(arrays["line"], np.int32),
                evidence={name: Interned.from_arrays(arrays, f"evidence_{name}") for name in EVIDENCE_FIELDS},
                attributes=Attributes.from_arrays(arrays, meta["attributes"]),
                report=LoadReport.from_json(str(meta["report"]), path),
            )
        except (KeyError, TypeError, ValueError) as fault:
            raise ArtifactError(
                f"load the compiled records of {path}",
                f"its arrays are not those of this release ({fault})",
                "Delete the compiled file; it is made again from the source.",
            ) from fault

    def _find(self, key: str) -> int:
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else -1

    def _nearest(self, key: str) -> list[str]:
        folded = key.casefold()
        same = [k for k in self.keys if k.casefold() == folded or k.casefold().endswith(f":{folded}")]
        if not same:  # people know an actor by its name
            same = [k for k, name in zip(self.keys, self.names, strict=True) if folded and name.casefold() == folded]
        return same[:3] or get_close_matches(key, self.keys, n=3)


def _same_ontology(found: str, ontology: Ontology, path: str) -> None:
    if found != ontology.sha256:
        raise FingerprintMismatch(
            f"load the compiled records of {path}",
            f"they were read with another ontology (sha256 {found[:12]}, not {ontology.sha256[:12]})",
            f"Read the source again with {ontology.label}.",
            field="ontology_sha256",
        )
