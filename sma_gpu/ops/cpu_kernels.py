"""Accumulate and select as loops that numba compiles; ``cpu`` calls them. Importing this module imports numba.

Each works on a span of queries and writes every element of their outputs, so that spans can be done in any order and by
any number of threads. All arithmetic is on whole numbers. Constants of other modules are handed in: compiled code is
kept on disk, and numba notices a change of the file that holds it alone.

Numbers inside the arrays index others unchecked; ``cpu`` checks those that come with a query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["CHUNK", "MAX", "MIN", "POWER", "accumulate_span", "array_of", "compiled", "select_span"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_NJIT: Any = numba.njit  # typed by some of its releases alone
Kernel = TypeVar("Kernel", bound=Callable[..., object])

POWER, MAX, MIN = 0, 1, 2  # the normalisations
CHUNK = 32  # cases whose greatest key is estimated before the cases are looked at
_PROBES = 12  # halvings in the search for a floor; it may lie too low, never too high
_MOST_ENTITIES = 1 << 14  # up to here their value stays below 2^30, and a sum's sign bit shows that it is too large
_SUM_LIMIT = 1 << 31
_ROUNDING = 1 - 2.0**-40  # further off than float64 can be after a few products


def compiled(*signature: object) -> Callable[[Kernel], Kernel]:
    """Returns the decorator that compiles a function of this signature, or, without one, for its callers."""

    def compile_it(function: Kernel) -> Kernel:
        settings = {"nogil": True, "error_model": "numpy"}  # the latter: no test for a divisor of 0 in a loop
        types = [numba.void(*signature)] if signature else []
        try:
            made: Kernel = _NJIT(*types, cache=bool(signature), **settings)(function)
        except RuntimeError:  # no folder that compiled code could be kept in
            made = _NJIT(*types, **settings)(function)
        return made

    return compile_it


def array_of(item: Any, dimensions: int = 1, *, written: bool = False) -> Any:
    """Returns the type of a C-ordered array; those that are only read may come from a file mapped read-only."""
    return numba.types.Array(item, dimensions, "C", readonly=not written)


BOOL, INT, LONG = numba.boolean, numba.int32, numba.int64
LONGS, INTS = array_of(LONG), array_of(INT)


@compiled()
def _exact_row(
    query: int,
    ptr: LongArray,
    cases: IntArray,
    best: IntArray,
    entities: IntArray,
    query_ptr: LongArray,
    query_lists: IntArray,
    held: int,
    among: BoolArray,
    entity_value: int,
    row: IntArray,
) -> int:
    """Writes the bounds of one query by way of int64; returns the greatest if it reaches 2^31, else 0."""
    totals = np.zeros(len(row), np.int64)
    for at in range(query_ptr[query], query_ptr[query + 1]):
        number = query_lists[at]
        for entry in range(ptr[number], ptr[number + 1]):
            totals[cases[entry]] += best[entry]
    greatest = 0
    for case in range(len(row)):
        if len(among) and not among[query, case]:
            totals[case] = 0
        if totals[case]:
            totals[case] += entity_value * min(np.int64(held), np.int64(entities[case]))
        row[case] = totals[case]
        greatest = max(greatest, totals[case])
    return greatest if greatest >= _SUM_LIMIT else 0


@compiled(
    LONG, LONG, LONGS, INTS, INTS, INTS, LONGS, INTS, INTS, array_of(BOOL, 2), LONG,
    array_of(INT, 2, written=True), array_of(LONG, written=True),
)  # fmt: skip
def accumulate_span(
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
    """Writes the bounds of queries ``start`` to ``stop``.

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
        among: bool ``[B, N]``, or without rows where all cases are wanted.
        entity_value: value of a pair of entities, units of 2^-16 bit.
        bounds: int32 ``[B, N]``, written.
        greatest: int64 ``[B]``, written: the greatest bound where one reaches 2^31, else 0.
    """
    for query in range(start, stop):
        row = bounds[query]
        row[:] = 0
        seen = 0  # all sums together, or-ed: those below 2^31 leave the bits above alone
        for at in range(query_ptr[query], query_ptr[query + 1]):
            number = query_lists[at]
            for entry in range(ptr[number], ptr[number + 1]):
                place = np.uint32(cases[entry])  # unsigned: compiled code need not look for places from the end
                total = int(row[place]) + best[entry]
                row[place] = total
                seen |= total
        if len(among):
            for case in range(len(row)):
                row[case] = row[case] if among[query, case] else 0
        held = query_entities[query]
        signs = np.int32(0)
        if held <= _MOST_ENTITIES:
            for case in range(len(row)):
                worth = np.int32(entity_value * min(held, entities[case]))
                row[case] = np.int32(row[case] + worth) if row[case] else np.int32(0)
                signs |= row[case]
        greatest[query] = 0
        if seen >> 31 or signs < 0 or held > _MOST_ENTITIES:
            greatest[query] = _exact_row(
                query, ptr, cases, best, entities, query_ptr, query_lists, held, among, entity_value, row
            )


@compiled()
def _key(mode: int, shift: int, bound: int, weight: int, self_query: int) -> int:
    """Returns the rank key of a bound; ``weight`` is the case's factor under ``power(p)``, else its self-score."""
    if mode == POWER:
        return (bound * weight) >> shift
    divisor = max(weight, self_query) if mode == MAX else min(weight, self_query)
    return (bound << shift) // max(divisor, 1)


@compiled()
def _may_reach(mode: int, shift: int, bound: int, weight: int, self_query: int, floor: int) -> bool:
    """Returns False only if the key is below ``floor``; without a division."""
    if mode == POWER:
        return bound * weight >= floor << shift
    divisor = max(weight, self_query) if mode == MAX else min(weight, self_query)
    return bool(np.float64(bound << shift) >= np.float64(floor) * np.float64(max(divisor, 1)) * _ROUNDING)


@compiled()
def _before(key: int, rank: int, other_key: int, other_rank: int) -> bool:
    return key > other_key or (key == other_key and rank < other_rank)


@compiled()
def _sift(keys: LongArray, cases: IntArray, tie_rank: IntArray, size: int, key: int, case: int) -> None:
    """Puts a case into a heap of ``size`` with the last in rank order on top, in place of the top."""
    rank = tie_rank[case]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(
            keys[child], tie_rank[cases[child]], keys[child + 1], tie_rank[cases[child + 1]]
        ):
            child += 1
        if not _before(key, rank, keys[child], tie_rank[cases[child]]):
            break
        keys[place], cases[place] = keys[child], cases[child]
        place = child
    keys[place], cases[place] = key, case


@compiled()
def _push(keys: LongArray, cases: IntArray, tie_rank: IntArray, size: int, key: int, case: int) -> None:
    """Adds a case to a heap of ``size`` with the last in rank order on top."""
    rank = tie_rank[case]
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if not _before(keys[parent], tie_rank[cases[parent]], key, rank):
            break
        keys[place], cases[place] = keys[parent], cases[parent]
        place = parent
    keys[place], cases[place] = key, case


@compiled()
def _floor(low: FloatArray, count: int) -> float:
    """Returns a number that at least ``count`` of ``low`` reach, near the greatest such; 0 if there is none above."""
    at_least, above = 0.0, 0.0
    for chunk in range(len(low)):
        above = max(above, low[chunk])
    for _ in range(_PROBES):
        middle = (at_least + above) / 2
        reached = 0
        for chunk in range(len(low)):
            reached += low[chunk] >= middle
        if reached >= count:
            at_least = middle
        else:
            above = middle
    return at_least


@compiled()
def _scales(mode: int, shift: int, weights: LongArray) -> FloatArray:
    """Returns about what a bound of each case is multiplied by to give its key, apart from the query's part."""
    scale = np.empty(len(weights), np.float64)
    for case in range(len(weights)):
        weight = np.float64(max(weights[case], 1))
        scale[case] = weight / (1 << shift) if mode == POWER else (1 << shift) / weight
    return scale


@compiled()
def _tops_alike(row: IntArray, chunks: int, scale: float, top: IntArray, tops: FloatArray) -> None:
    """Writes about the greatest key of each chunk, where all cases have one scale; ``top`` [chunks] is scratch."""
    top[:] = 0
    for start in range(0, len(row), chunks):
        part = row[start : start + chunks]
        for chunk in range(len(part)):
            top[chunk] = part[chunk] if part[chunk] > top[chunk] else top[chunk]
    for chunk in range(chunks):
        tops[chunk] = top[chunk] * scale


@compiled()
def _tops_apart(row: IntArray, chunks: int, scale: FloatArray, least: float, most: float, tops: FloatArray) -> None:
    """Writes about the greatest key of each chunk; scales count as at least and at most so much."""
    tops[:] = 0
    for start in range(0, len(row), chunks):
        part, scales = row[start : start + chunks], scale[start : start + chunks]
        for chunk in range(len(part)):
            key = np.float64(part[chunk]) * min(max(scales[chunk], least), most)
            tops[chunk] = key if key > tops[chunk] else tops[chunk]


@compiled(
    LONG, LONG, array_of(INT, 2), LONG, LONG, LONGS, LONGS, INTS, LONG,
    array_of(INT, 2, written=True), array_of(LONG, 2, written=True),
)  # fmt: skip
def select_span(
    start: int,
    stop: int,
    bounds: IntArray,
    mode: int,
    shift: int,
    weights: LongArray,
    self_query: LongArray,
    tie_rank: IntArray,
    limit: int,
    cases: IntArray,
    keys: LongArray,
) -> None:
    """Writes the first ``limit`` cases in rank order of queries ``start`` to ``stop``.

    Cases are dealt out to chunks in turn, which lets the greatest key of each chunk be found by vector instructions, in
    float64. If there are more chunks than places, these keys give a floor under the last place; only chunks that may
    hold a case above it are looked into, in whole numbers.

    Args:
        start: first query.
        stop: the query after the last.
        bounds: int32 ``[B, N]``.
        mode: ``POWER``, ``MAX`` or ``MIN``.
        shift: of the key.
        weights: int64 ``[N]``, factors under ``POWER``, else self-scores.
        self_query: int64 ``[B]``.
        tie_rank: int32 ``[N]``, a permutation.
        limit: ``L``, at least 1.
        cases: int32 ``[B, L]``, written.
        keys: int64 ``[B, L]``, written.
    """
    size = bounds.shape[1]
    chunks = max(1, (size + CHUNK - 1) // CHUNK)
    alike = mode == POWER
    for case in range(size):
        alike &= weights[case] == weights[0]
    scale = _scales(mode, shift, weights[:1] if alike else weights)
    top, tops = np.empty(chunks, np.int32), np.empty(chunks, np.float64)

    for query in range(start, stop):
        row, chosen, chosen_keys, own = bounds[query], cases[query], keys[query], self_query[query]
        if alike:
            _tops_alike(row, chunks, scale[0] if size else 0.0, top, tops)
        else:
            own_scale = (1 << shift) / np.float64(max(own, 1))
            least, most = own_scale if mode == MIN else 0.0, own_scale if mode == MAX else np.inf
            _tops_apart(row, chunks, scale, least, most, tops)
        floor = int(_floor(tops, limit) * _ROUNDING) if limit < chunks else 0
        count = 0
        for chunk in range(chunks):
            if tops[chunk] < floor * _ROUNDING or tops[chunk] == 0:
                continue
            for case in range(chunk, size, chunks):
                if not _may_reach(mode, shift, int(row[case]), weights[case], own, floor) or not row[case]:
                    continue
                key = _key(mode, shift, int(row[case]), weights[case], own)
                if key < floor:
                    continue
                if count < limit:
                    _push(chosen_keys, chosen, tie_rank, count, key, case)
                    count += 1
                elif _before(key, tie_rank[case], chosen_keys[0], tie_rank[chosen[0]]):
                    _sift(chosen_keys, chosen, tie_rank, limit, key, case)
                if count == limit:
                    floor = chosen_keys[0]
        for place in range(count - 1, 0, -1):  # the last of those left is on top: it goes to the end
            key, case = chosen_keys[place], chosen[place]
            chosen_keys[place], chosen[place] = chosen_keys[0], chosen[0]
            _sift(chosen_keys, chosen, tie_rank, place, key, case)
        chosen[count:] = -1
        chosen_keys[count:] = 0
