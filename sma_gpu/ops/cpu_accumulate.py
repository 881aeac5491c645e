"""Accumulate as loops that numba compiles; ``cpu`` calls them. See ``cpu_kernels`` for what holds here too.

Cases are added up a tile at a time, so that the sums stay in a core's own cache. Sums are int32 where the greatest
values of the lists together stay below 2^31, and are taken in int64 where they do not.

Postings are read list by list and, within a list, from the stored kind of the greatest value to that of the least: the
first kind that reaches a case gives its best value. Who came last to a case stands beside its sum, in one int64.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .cpu_kernels import BOOL, INT, INTS, LONG, LONGS, array_of, compiled

__all__ = [
    "FOLDED", "POSTINGS", "SUM_LIMIT", "TILE", "accumulate_folded_span", "accumulate_postings_span", "add_folded",
    "add_postings", "exact_row", "with_entities",
]  # fmt: skip

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

FOLDED, POSTINGS = 0, 1  # the forms of lists
TILE = 1 << 16  # cases added up at a time: 256 KiB of sums, twice that for postings
SUM_LIMIT = 1 << 31
_MOST_ENTITIES = 1 << 14  # up to here their value stays below 2^30, and a sum's sign bit shows that it is too large
_LOW = (1 << 32) - 1


@compiled()
def _until(cases: IntArray, begin: int, end: int, limit: int) -> int:
    """Returns the first place from ``begin`` on whose case is ``limit`` or above; cases ascend up to ``end``."""
    while begin < end:
        middle = (begin + end) // 2
        if cases[middle] < limit:
            begin = middle + 1
        else:
            end = middle
    return begin


@compiled()
def add_folded(
    numbers: npt.NDArray[np.integer],
    ptr: LongArray,
    cases: IntArray,
    best: IntArray,
    lo: int,
    hi: int,
    cursor: LongArray,
    row: IntArray,
) -> None:
    """Adds the lists of these numbers up, for the cases from ``lo`` to below ``hi``.

    Args:
        numbers: lists, each as often as it is to be added.
        ptr: int64 ``[F + 1]``.
        cases: int32 ``[entries]``.
        best: int32 ``[entries]``.
        lo: first case; tiles come in order.
        hi: the case after the last.
        cursor: int64, where the next tile begins in each list; begun anew where ``lo`` is 0.
        row: int32 ``[N]``, written from ``lo`` to below ``hi``.
    """
    row[lo:hi] = 0
    for at in range(len(numbers)):
        begin, end = ptr[numbers[at]] if lo == 0 else cursor[at], ptr[numbers[at] + 1]
        if hi < len(row):
            end = _until(cases, begin, end, hi)
            cursor[at] = end
        part, worth = cases[begin:end], best[begin:end]
        for entry in range(len(part)):
            row[np.uint32(part[entry])] += worth[entry]  # unsigned: no need to look for places from the end


@compiled()
def add_postings(
    rows: npt.NDArray[np.integer],
    table_ptr: LongArray,
    table_stored: IntArray,
    table_value: LongArray,
    falling: LongArray,
    ptr: LongArray,
    cases: IntArray,
    lo: int,
    hi: int,
    cursor: LongArray,
    cell: LongArray,
    row: IntArray,
) -> None:
    """Adds the lists of these rows of a table up, from postings, for the cases from ``lo`` to below ``hi``.

    Args:
        rows: rows of the table, each as often as it is to be added.
        table_ptr: int64 ``[F + 1]``.
        table_stored: int32 ``[pairs]``.
        table_value: int64 ``[pairs]``.
        falling: int64 ``[pairs]``, entries of each row by falling value.
        ptr: int64 ``[K + 1]``.
        cases: int32 ``[postings]``.
        lo: first case; tiles come in order.
        hi: the case after the last.
        cursor: int64, where the next tile begins in the postings of each pair; begun anew where ``lo`` is 0.
        cell: int64, at least as long as a tile; scratch.
        row: int32 ``[N]``, written from ``lo`` to below ``hi``.
    """
    cell[: hi - lo] = 0
    stamp, pair = np.int64(0), 0
    for at in range(len(rows)):
        stamp += _LOW + 1
        for number in range(table_ptr[rows[at]], table_ptr[rows[at] + 1]):
            entry = falling[number]
            kind, value = table_stored[entry], table_value[entry]
            begin, end = ptr[kind] if lo == 0 else cursor[pair], ptr[kind + 1]
            if hi < len(row):
                end = _until(cases, begin, end, hi)
                cursor[pair] = end
            pair += 1
            part = cases[begin:end]
            for posting in range(len(part)):
                place = np.uint32(part[posting] - lo)
                held = cell[place]
                cell[place] = (stamp | (held & _LOW)) + value if held < stamp else held
    part_of_row = row[lo:hi]
    for case in range(len(part_of_row)):
        part_of_row[case] = np.int32(cell[case] & _LOW)


@compiled()
def with_entities(
    row: IntArray, lo: int, hi: int, held: int, entities: IntArray, wanted: BoolArray, entity_value: int
) -> np.int32:
    """Adds the pairs of entities to the sums from ``lo`` to below ``hi``, and leaves 0 for cases not wanted.

    Returns:
        All results or-ed: below 0 if one is.
    """
    part, theirs = row[lo:hi], entities[lo:hi]  # counted from 0, or no vector instructions come of it
    if len(wanted):
        for case in range(len(part)):
            part[case] = part[case] if wanted[lo + case] else np.int32(0)
    signs, ours, each = np.int32(0), np.int32(held), np.int32(entity_value)
    for case in range(len(part)):
        pairs = theirs[case] if theirs[case] < ours else ours
        part[case] = np.int32(part[case] + np.int32(each * pairs)) if part[case] else np.int32(0)
        signs |= part[case]
    return signs


@compiled()
def exact_row(
    form: int,
    numbers: npt.NDArray[np.integer],
    table_ptr: LongArray,
    table_stored: IntArray,
    table_value: LongArray,
    falling: LongArray,
    ptr: LongArray,
    cases: IntArray,
    best: IntArray,
    held: int,
    entities: IntArray,
    wanted: BoolArray,
    entity_value: int,
    row: IntArray,
) -> int:
    """Writes the bounds of one query by way of int64; returns the greatest if it reaches 2^31, else 0.

    ``form`` is ``POSTINGS``, and the arguments are those of ``add_postings``; or ``FOLDED``, and of ``add_folded``.
    """
    totals = np.zeros(len(row), np.int64)
    reached = np.full(len(row) if form == POSTINGS else 0, -1, np.int64)
    for at in range(len(numbers)):
        number = numbers[at]
        if form == FOLDED:
            for entry in range(ptr[number], ptr[number + 1]):
                totals[cases[entry]] += best[entry]
            continue
        for place in range(table_ptr[number], table_ptr[number + 1]):
            kind, value = table_stored[falling[place]], table_value[falling[place]]
            for posting in range(ptr[kind], ptr[kind + 1]):
                if reached[cases[posting]] != at:
                    reached[cases[posting]] = at
                    totals[cases[posting]] += value
    greatest = 0
    for case in range(len(row)):
        if len(wanted) and not wanted[case]:
            totals[case] = 0
        if totals[case]:
            totals[case] += entity_value * min(np.int64(held), np.int64(entities[case]))
        row[case] = totals[case]
        greatest = max(greatest, totals[case])
    return greatest if greatest >= SUM_LIMIT else 0


@compiled()
def _greatest_sum(rows: npt.NDArray[np.integer], table_ptr: LongArray, table_value: LongArray) -> int:
    """Returns the sum of the greatest values of these rows of a table, which no sum over a case exceeds."""
    most = 0
    for at in range(len(rows)):
        greatest = 0
        for entry in range(table_ptr[rows[at]], table_ptr[rows[at] + 1]):
            greatest = max(greatest, table_value[entry])
        most += greatest
    return most


@compiled(
    LONG, LONG, LONGS, INTS, INTS, INTS, LONGS, INTS, INTS, array_of(BOOL, 2), LONG,
    array_of(INT, 2, written=True), array_of(LONG, written=True),
)  # fmt: skip
def accumulate_folded_span(
    start: int,
    stop: int,
    ptr: LongArray,
    cases: IntArray,
    best: IntArray,
    entities: IntArray,
    query_ptr: LongArray,
    query_lists: IntArray,
    query_entities: IntArray,
    among: BoolArray,
    entity_value: int,
    bounds: IntArray,
    greatest: LongArray,
) -> None:
    """Writes the bounds of queries ``start`` to ``stop`` out of folded lists.

    Args:
        start: first query.
        stop: the query after the last.
        ptr: int64 ``[F + 1]``.
        cases: int32 ``[entries]``.
        best: int32 ``[entries]``.
        entities: int32 ``[N]``.
        query_ptr: int64 ``[B + 1]``.
        query_lists: int32 ``[.]``.
        query_entities: int32 ``[B]``.
        among: bool ``[B, N]``, or of one row for all queries, which is empty where all cases are wanted.
        entity_value: value of a pair of entities, units of 2^-16 bit.
        bounds: int32 ``[B, N]``, written.
        greatest: int64 ``[B]``, written: the greatest bound where one reaches 2^31, else 0.
    """
    no_table, no_kinds = np.zeros(0, np.int64), np.zeros(0, np.int32)
    for query in range(start, stop):
        row = bounds[query]
        row[:] = 0
        numbers, held = query_lists[query_ptr[query] : query_ptr[query + 1]], query_entities[query]
        seen = 0  # all sums together, or-ed: those below 2^31 leave the bits above alone
        for at in range(len(numbers)):
            part, worth = cases[ptr[numbers[at]] : ptr[numbers[at] + 1]], best[ptr[numbers[at]] : ptr[numbers[at] + 1]]
            for entry in range(len(part)):
                place = np.uint32(part[entry])
                total = int(row[place]) + worth[entry]
                row[place] = total
                seen |= total
        wanted = among[query if len(among) > 1 else 0]
        signs = np.int32(0)
        if held <= _MOST_ENTITIES:
            signs = with_entities(row, 0, len(row), held, entities, wanted, entity_value)
        greatest[query] = 0
        if seen >> 31 or signs < 0 or held > _MOST_ENTITIES:
            greatest[query] = exact_row(
                FOLDED, numbers, no_table, no_kinds, no_table, no_table, ptr, cases, best, held, entities, wanted,
                entity_value, row,
            )  # fmt: skip


@compiled(
    LONG, LONG, LONGS, INTS, LONGS, LONGS, LONGS, INTS, INTS, LONGS, INTS, INTS, array_of(BOOL, 2), LONG,
    array_of(INT, 2, written=True), array_of(LONG, written=True),
)  # fmt: skip
def accumulate_postings_span(
    start: int,
    stop: int,
    table_ptr: LongArray,
    table_stored: IntArray,
    table_value: LongArray,
    falling: LongArray,
    ptr: LongArray,
    cases: IntArray,
    entities: IntArray,
    query_ptr: LongArray,
    query_lists: IntArray,
    query_entities: IntArray,
    among: BoolArray,
    entity_value: int,
    bounds: IntArray,
    greatest: LongArray,
) -> None:
    """Writes the bounds of queries ``start`` to ``stop`` out of postings.

    Args:
        start: first query.
        stop: the query after the last.
        table_ptr: int64 ``[F + 1]``.
        table_stored: int32 ``[pairs]``.
        table_value: int64 ``[pairs]``.
        falling: int64 ``[pairs]``, entries of each row by falling value.
        ptr: int64 ``[K + 1]``.
        cases: int32 ``[postings]``.
        entities: int32 ``[N]``.
        query_ptr: int64 ``[B + 1]``.
        query_lists: int32 ``[.]``, rows of the table.
        query_entities: int32 ``[B]``.
        among: bool ``[B, N]``, or of one row for all queries, which is empty where all cases are wanted.
        entity_value: value of a pair of entities, units of 2^-16 bit.
        bounds: int32 ``[B, N]``, written.
        greatest: int64 ``[B]``, written: the greatest bound where one reaches 2^31, else 0.
    """
    size = bounds.shape[1]
    no_best = np.zeros(0, np.int32)
    cell, cursor = np.empty(min(size, TILE), np.int64), np.empty(0, np.int64)
    for query in range(start, stop):
        row, rows = bounds[query], query_lists[query_ptr[query] : query_ptr[query + 1]]
        held, wanted = query_entities[query], among[query if len(among) > 1 else 0]
        greatest[query] = 0
        if _greatest_sum(rows, table_ptr, table_value) + entity_value * np.int64(held) >= SUM_LIMIT:
            greatest[query] = exact_row(
                POSTINGS, rows, table_ptr, table_stored, table_value, falling, ptr, cases, no_best, held, entities,
                wanted, entity_value, row,
            )  # fmt: skip
            continue
        pairs = 0
        for at in range(len(rows)):
            pairs += table_ptr[rows[at] + 1] - table_ptr[rows[at]]
        if pairs > len(cursor):
            cursor = np.empty(2 * pairs, np.int64)
        for lo in range(0, size, TILE):
            hi = min(lo + TILE, size)
            add_postings(
                rows, table_ptr, table_stored, table_value, falling, ptr, cases, lo, hi, cursor, cell, row
            )  # fmt: skip
            with_entities(row, lo, hi, held, entities, wanted, entity_value)
