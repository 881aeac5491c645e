"""Pooling: all rows about one term of one record become one annotation, and every distinct row stays as evidence.

The last row must not win: a row that says 0 of 5 does not undo rows that count patients with the sign, and a row taken
over twice does not count twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .model import ASPECTS

__all__ = ["Pooled", "Rows", "pool"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

_INT32_MAX = 2**31 - 1
_COLUMNS = ("ptr", "term", "aspect", "excluded", "low", "high", "numerator", "denominator", "row_ptr")


@dataclass(frozen=True, eq=False)
class Rows:
    """Usable rows of an annotation file in file order, ``n`` of them.

    Attributes:
        record: int32 ``[n]``, number of the record.
        aspect: uint8 ``[n]``, number in ``ASPECTS``.
        term: int32 ``[n]``, number of the term.
        negated: bool ``[n]``, the row is qualified by NOT.
        low: float64 ``[n]``, least share, NaN unknown.
        high: float64 ``[n]``, greatest share, NaN unknown.
        numerator: int64 ``[n]``, affected, -1 where the row gives no counts.
        denominator: int64 ``[n]``, examined, likewise.
        texts: int32 ``[n, columns]``, codes of the text columns: rows of one pair with equal texts are copies.
    """

    record: Int32
    aspect: npt.NDArray[np.uint8]
    term: Int32
    negated: Bool
    low: Float64
    high: Float64
    numerator: Int64
    denominator: Int64
    texts: Int32


@dataclass(frozen=True, eq=False)
class Pooled:
    """Annotations made of rows; the arrays are those of ``Records``.

    Attributes:
        kept: int64 ``[E]``, the distinct rows in the order of the evidence table.
        copies: for each row with exact copies, the row and then its copies.
        conflicts: for each pair with negated and positive rows, its rows in file order.
        mixed: for each pair without negated rows that has a share of nothing beside one above it, likewise. Counts of
            nobody are no such share: they are summed with the others.
    """

    ptr: Int32
    term: Int32
    aspect: npt.NDArray[np.uint8]
    excluded: Bool
    low: Float64
    high: Float64
    numerator: Int32
    denominator: Int32
    row_ptr: Int32
    kept: Int64
    copies: list[list[int]]
    conflicts: list[list[int]]
    mixed: list[list[int]]

    def columns(self) -> dict[str, Any]:
        """Returns the arrays that ``Records`` takes under the same names."""
        return {name: getattr(self, name) for name in _COLUMNS}


def pool(rows: Rows, *, record_count: int, term_count: int, apart: bool = False) -> Pooled:
    """Returns one annotation for each record, aspect and term, ordered so.

    An annotation is positive if any row is, and excluded if all its rows are negated or give a share of 0. Counts of
    its distinct rows are summed, those of 0 affected included. Without counts the range spans all ranges given. Counts
    that sum to 0 of n beside a positive row without counts settle nothing: they pull the lower end of the range to 0,
    and leave the share unknown where nothing else is said. So a positive annotation never has a share of 0 throughout.

    Args:
        rows: the usable rows.
        record_count: number of records.
        term_count: number of terms.
        apart: what negated rows say stands as an annotation of its own before that of the others, as where both can be
            true of one thing under different circumstances. Nothing is a conflict then.
    """
    pair = (rows.record.astype(np.int64) * len(ASPECTS) + rows.aspect) * max(term_count, 1) + rows.term
    if apart:
        pair = pair * 2 + ~rows.negated
    order = np.argsort(pair, kind="stable")
    distinct, copies = _drop_copies(rows, order, _starts(pair[order]))
    kept = order[distinct]
    starts = _starts(pair[kept])
    first = kept[starts]

    counts = np.bincount(rows.record[first], minlength=record_count)
    share = _Shares.of(rows, kept, starts)
    row_ptr = np.append(starts, len(kept)).astype(np.int32)

    def rows_of(marked: Bool) -> list[list[int]]:
        return [kept[row_ptr[i] : row_ptr[i + 1]].tolist() for i in np.flatnonzero(marked).tolist()]

    return Pooled(
        ptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        term=rows.term[first],
        aspect=rows.aspect[first],
        excluded=share.excluded,
        low=share.low,
        high=share.high,
        numerator=share.numerator,
        denominator=share.denominator,
        row_ptr=row_ptr,
        kept=kept,
        copies=copies,
        conflicts=rows_of(share.conflict),
        mixed=rows_of(share.mixed),
    )


def _starts(sorted_keys: Int64) -> Int64:
    """First position of each run of equal keys."""
    if not len(sorted_keys):
        return np.zeros(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(np.diff(sorted_keys)) + 1])


def _drop_copies(rows: Rows, order: Int64, starts: Int64) -> tuple[Bool, list[list[int]]]:
    """Marks the positions of ``order`` whose row is no copy of an earlier one of its pair."""
    distinct = np.ones(len(order), np.bool_)
    copies: list[list[int]] = []
    ends = np.append(starts[1:], len(order))
    for run in np.flatnonzero(ends - starts > 1).tolist():
        seen: dict[bytes, list[int]] = {}
        for position in range(int(starts[run]), int(ends[run])):
            row = int(order[position])
            same = seen.setdefault(rows.texts[row].tobytes(), [])
            distinct[position] = not same
            same.append(row)
        copies.extend(group for group in seen.values() if len(group) > 1)
    return distinct, copies


@dataclass(frozen=True, eq=False)
class _Shares:
    """Share of patients for each annotation, ``[A]``."""

    excluded: Bool
    conflict: Bool
    mixed: Bool
    low: Float64
    high: Float64
    numerator: Int32
    denominator: Int32

    @classmethod
    def of(cls, rows: Rows, kept: Int64, starts: Int64) -> _Shares:
        if not len(starts):
            none, unknown = np.zeros(0, np.bool_), np.zeros(0)
            return cls(none, none, none, unknown, unknown, np.zeros(0, np.int32), np.zeros(0, np.int32))
        negated, low, high = rows.negated[kept], rows.low[kept], rows.high[kept]
        numerator, denominator = rows.numerator[kept], rows.denominator[kept]
        # A negated row with a share above 0 contradicts itself: NOT is believed, and its share takes part in nothing.
        believed = ~np.isnan(low) & (~negated | (high == 0))
        counted = believed & (denominator > 0)
        ranged = believed & ~counted

        positive = np.logical_or.reduceat(~negated & ~(high == 0), starts)
        conflict = positive & np.logical_or.reduceat(negated, starts)
        affirmed = np.logical_or.reduceat(~negated & (high > 0), starts)
        denied = np.logical_or.reduceat(~negated & (high == 0) & ~counted, starts)
        affected = np.add.reduceat(np.where(counted, numerator, 0), starts)
        examined = np.add.reduceat(np.where(counted, denominator, 0), starts)
        least = np.fmin.reduceat(np.where(ranged, low, np.nan), starts)
        greatest = np.fmax.reduceat(np.where(ranged, high, np.nan), starts)

        settled = (examined > 0) & ((affected > 0) | ~positive)
        least = np.where((examined > 0) & ~np.isnan(least), 0.0, least)
        # A sign that occurs has no share of 0: beside a row that leaves the share open, "0 %" leaves it open too.
        greatest = np.where(positive & (greatest == 0), np.nan, greatest)
        least = np.where(np.isnan(greatest), np.nan, least)
        share = affected / np.maximum(examined, 1)
        stored = settled & (examined <= _INT32_MAX)
        return cls(
            excluded=~positive,
            conflict=conflict,
            mixed=affirmed & denied & ~conflict,
            low=np.where(settled, share, least),
            high=np.where(settled, share, greatest),
            numerator=np.where(stored, affected, -1).astype(np.int32),
            denominator=np.where(stored, examined, -1).astype(np.int32),
        )
