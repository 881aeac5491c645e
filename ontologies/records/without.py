"""Records without what some publications say: for a trial whose cases stem from them, so that no answer is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ...errors import QueryError
from ..ontology import Ontology
from ..strings import StringColumn
from .columns import Interned
from .frequency import read_frequency
from .hpoa_attributes import hpoa_attributes
from .model import EVIDENCE_FIELDS, Records
from .pool import Rows, pool
from .qualifier import NEGATED, read_qualifier

__all__ = ["LeftOut", "without_sources"]

_TEXTS = tuple(name for name in EVIDENCE_FIELDS if name != "description")


@dataclass(frozen=True)
class LeftOut:
    """What fell away with some publications.

    Attributes:
        references: the publications, as asked for, by code point.
        rows: evidence rows that named any of them.
        annotations: annotations that rested on nothing else.
        records: records of which no row is left.
    """

    references: tuple[str, ...]
    rows: int
    annotations: int
    records: int

    @property
    def note(self) -> str:
        """What an answer says of it."""
        told = ", ".join(self.references)
        if not self.rows:
            return f"built without {told}, which no row names"
        return (
            f"built without {told}: {self.rows} rows are left out, and with them {self.annotations} annotations "
            f"and {self.records} records"
        )

    def as_dict(self) -> dict[str, list[str] | int]:
        """Returns it as it stands in an answer."""
        return {
            "references": list(self.references),
            "rows": self.rows,
            "annotations": self.annotations,
            "records": self.records,
        }


def without_sources(records: Records, ontology: Ontology, references: Iterable[str]) -> tuple[Records, LeftOut]:
    """Returns the records as they were if no row of the file named any of ``references``, and what fell away.

    A row that names several publications falls away with any of them, since nothing tells what it owes to the others.
    What is left is pooled anew, shares of patients included. Upper and lower case are alike.

    Args:
        records: annotations of diseases, read from a phenotype.hpoa.
        ontology: the ontology that they were read with.
        references: ids of publications, such as ``PMID:20301510``.

    Raises:
        QueryError: the records are of another kind, or a reference is no id.
    """
    asked = sorted(dict.fromkeys(reference.strip() for reference in references))
    if records.name != "hpoa":
        raise QueryError(
            f"{records.label} without {', '.join(asked)}",
            "only annotations of diseases (phenotype.hpoa) are built without a publication",
            "Leave the option out.",
        )
    for reference in asked:
        if not all(reference.partition(":")) or ";" in reference:
            raise QueryError(f"records without {reference!r}", "it is no id", "Give one like PMID:20301510.")
    folded = {reference.casefold() for reference in asked}
    column = records.evidence["reference"]
    names_one = [any(part.strip().casefold() in folded for part in text.split(";")) for text in column.values]
    gone = np.array(names_one, np.bool_)[column.codes]
    if not gone.any():
        return records, LeftOut(tuple(asked), 0, 0, 0)
    found = _of_rows(records, ontology, np.flatnonzero(~gone))
    count = len(records.term) - len(found.term), len(records) - len(found)
    return found, LeftOut(tuple(asked), int(gone.sum()), *count)


def _of_rows(records: Records, ontology: Ontology, kept: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Records:
    """Returns the records that the evidence rows ``kept`` make."""
    kept = kept[np.argsort(records.line[kept], kind="stable")]  # in the order of the file, as they were pooled first
    annotation = np.repeat(np.arange(len(records.term)), np.diff(records.row_ptr))[kept]
    owner = np.repeat(np.arange(len(records)), np.diff(records.ptr))[annotation]
    left, record = np.unique(owner, return_inverse=True)
    codes = {name: records.evidence[name].codes[kept] for name in _TEXTS}
    texts = {name: list(records.evidence[name].values) for name in _TEXTS}
    shares = [read_frequency(text, ontology) for text in texts["frequency"]]
    negated = [read_qualifier(text).sense == NEGATED for text in texts["qualifier"]]
    share = codes["frequency"]
    rows = Rows(
        record=record.astype(np.int32),
        aspect=records.aspect[annotation],
        term=records.term[annotation],
        negated=np.array(negated, np.bool_)[codes["qualifier"]],
        low=np.array([s.low for s in shares])[share],
        high=np.array([s.high for s in shares])[share],
        numerator=np.array([s.numerator for s in shares], np.int64)[share],
        denominator=np.array([s.denominator for s in shares], np.int64)[share],
        texts=np.column_stack([codes[name] for name in _TEXTS]),
    )
    keys = tuple(records.keys[i] for i in left.tolist())
    pooled = pool(rows, record_count=len(keys), term_count=len(ontology))
    return replace(
        records,
        keys=keys,
        names=StringColumn.from_strings(records.names[i] for i in left.tolist()),
        **pooled.columns(),
        line=records.line[kept][pooled.kept],
        evidence={
            **{name: Interned(codes[name][pooled.kept], records.evidence[name].values) for name in _TEXTS},
            "description": Interned.blank(len(pooled.kept)),
        },
        attributes=hpoa_attributes(
            keys, record.astype(np.int32), {name: column.astype(np.int32) for name, column in codes.items()}, texts
        ),
    )
