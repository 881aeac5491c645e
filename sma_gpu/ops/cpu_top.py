"""The certified top k of plain queries, whole, as a loop that numba compiles; ``cpu`` calls it.

The steps are those of the three ops, for one query after the other, and what is between them stays in the cache: the
bounds, the greatest keys of some cases each, and the few cases whose bound may count. See ``cpu_kernels`` for what
holds here too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .cpu_accumulate import POSTINGS, SUM_LIMIT, TILE, add_folded, add_postings, exact_row, with_entities
from .cpu_assign import chain_sizes, chain_up, score_of
from .cpu_kernels import (
    BOOL,
    CHUNK,
    INTS,
    LONG,
    LONGS,
    MAX,
    MIN,
    REALS,
    ROUNDING,
    SOURCES,
    array_of,
    comes_before,
    compiled,
    floor_under,
    may_reach,
    push,
    rank_key,
    sift,
    tops_alike,
    tops_apart,
)

__all__ = ["top_span"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_TOPS_OF_TILE = TILE // CHUNK


@compiled()
def _write_tops(
    row: IntArray, mode: int, shift: int, self_query: int, scale: FloatArray, top: IntArray, tops: FloatArray
) -> None:
    """Writes about the greatest key of each chunk of cases; those of a tile are dealt out to its chunks in turn."""
    size = len(row)
    own = (1 << shift) / np.float64(max(self_query, 1))
    least, most = own if mode == MIN else 0.0, own if mode == MAX else np.inf
    for lo in range(0, size, TILE):
        hi = min(lo + TILE, size)
        chunks = (hi - lo + CHUNK - 1) // CHUNK
        part = tops[lo // CHUNK : lo // CHUNK + chunks]
        if len(scale) == 1:
            tops_alike(row[lo:hi], chunks, scale[0], top[:chunks], part)
        else:
            tops_apart(row[lo:hi], chunks, scale[lo:hi], least, most, part)


@compiled()
def _collect(
    row: IntArray,
    tops: FloatArray,
    floor: int,
    mode: int,
    shift: int,
    weights: LongArray,
    self_query: int,
    count: int,
    keys: LongArray,
    cases: IntArray,
) -> int:
    """Appends the cases whose bound is above 0 and whose key is not below ``floor``; returns how many there are then.

    Args:
        row: int32 ``[N]``; cases that are not to be found again have 0 or less.
        tops: about the greatest key of each chunk.
        floor: a key.
        mode: ``POWER``, ``MAX`` or ``MIN``.
        shift: of the key.
        weights: int64 ``[N]``.
        self_query: self-score of the query.
        count: how many there are already.
        keys: int64 ``[N]``, written from ``count`` on.
        cases: int32 ``[N]``, likewise.
    """
    size = len(row)
    for number in range(len(tops)):
        if tops[number] == 0 or tops[number] < floor * ROUNDING:
            continue
        lo = number // _TOPS_OF_TILE * TILE
        hi = min(lo + TILE, size)
        chunks = (hi - lo + CHUNK - 1) // CHUNK
        for case in range(lo + number % _TOPS_OF_TILE, hi, chunks):
            bound = int(row[case])
            if bound <= 0 or not may_reach(mode, shift, bound, weights[case], self_query, floor):
                continue
            key = rank_key(mode, shift, bound, weights[case], self_query)
            if key >= floor:
                keys[count], cases[count] = key, case
                count += 1
    return count


@compiled()
def _sink(keys: LongArray, cases: IntArray, tie_rank: IntArray, place: int, end: int) -> None:
    """Puts the case at ``place`` where it belongs in a heap, up to ``end``, with the first in rank order on top."""
    key, case = keys[place], cases[place]
    rank = tie_rank[case]
    while True:
        child = 2 * place + 1
        if child >= end:
            break
        if child + 1 < end and comes_before(
            keys[child + 1], tie_rank[cases[child + 1]], keys[child], tie_rank[cases[child]]
        ):
            child += 1
        if not comes_before(keys[child], tie_rank[cases[child]], key, rank):
            break
        keys[place], cases[place] = keys[child], cases[child]
        place = child
    keys[place], cases[place] = key, case


def _made(sources: int) -> Callable[..., None]:
    @compiled(
        LONG, LONG, LONG, LONGS, INTS, INTS, LONGS, LONGS, INTS, LONGS, INTS, array_of(BOOL, 2), LONGS, LONGS, LONGS,
        LONGS, INTS, LONG, LONG, LONGS, REALS, INTS, LONG, LONG, array_of(LONG, 2, written=True),
        array_of(LONG, 2, written=True), array_of(LONG, 2, written=True), array_of(LONG, written=True),
        array_of(LONG, written=True),
    )  # fmt: skip
    def top_span(
        start: int,
        stop: int,
        form: int,
        list_ptr: LongArray,
        list_cases: IntArray,
        list_best: IntArray,
        falling: LongArray,
        table_ptr: LongArray,
        table_stored: IntArray,
        table_value: LongArray,
        entities: IntArray,
        among: BoolArray,
        query_ptr: LongArray,
        query_rows: LongArray,
        self_query: LongArray,
        case_ptr: LongArray,
        case_kinds: IntArray,
        mode: int,
        shift: int,
        weights: LongArray,
        scale: FloatArray,
        tie_rank: IntArray,
        entity_value: int,
        k: int,
        cases: LongArray,
        scores: LongArray,
        keys: LongArray,
        aligned: LongArray,
        greatest: LongArray,
    ) -> None:
        """Writes the certified top ``k`` of queries ``start`` to ``stop``.

        The greatest keys of chunks of cases give a floor that k bounds reach. The cases above it are aligned in the
        order of their bounds, until the next comes after the k-th hit; where they do not suffice, the key of the k-th
        hit is the next floor, and the last.

        Args:
            start: first query.
            stop: the query after the last.
            form: ``FOLDED`` or ``POSTINGS``.
            list_ptr: int64 ``[F + 1]``, or ``[K + 1]`` of postings.
            list_cases: int32 ``[.]``.
            list_best: int32 ``[.]``; empty where the lists are postings.
            falling: int64 ``[pairs]``, entries of each row by falling value; empty where the lists are folded.
            table_ptr: int64 ``[F + 1]``.
            table_stored: int32 ``[pairs]``.
            table_value: int64 ``[pairs]``.
            entities: int32 ``[N]``.
            among: bool ``[B, N]``, or of one row for all queries, which is empty where all cases are wanted.
            query_ptr: int64 ``[B + 1]``.
            query_rows: int64 ``[.]``.
            self_query: int64 ``[B]``.
            case_ptr: int64 ``[N + 1]``.
            case_kinds: int32 ``[.]``.
            mode: ``POWER``, ``MAX`` or ``MIN``.
            shift: of the key.
            weights: int64 ``[N]``, factors under ``POWER``, else self-scores.
            scale: float64 ``[N]``, about what a bound is multiplied by; ``[1]`` where it is the same for all.
            tie_rank: int32 ``[N]``, a permutation.
            entity_value: value of a pair of entities, units of 2^-16 bit.
            k: places, at least 1.
            cases: int64 ``[B, k]``, written.
            scores: int64 ``[B, k]``, written.
            keys: int64 ``[B, k]``, written.
            aligned: int64 ``[B]``, written.
            greatest: int64 ``[B]``, written: the greatest bound where one reaches 2^31, else 0. Then the other outputs
                of the query hold nothing.
        """
        size = len(tie_rank)
        _ = sources  # so that it belongs to the key of the compiled code
        rows, kinds, entries = 0, 0, 0
        for query in range(start, stop):
            asked = query_rows[query_ptr[query] : query_ptr[query + 1]]
            used, most = chain_sizes(table_ptr, table_stored, asked)
            rows, kinds, entries = max(rows, len(asked)), max(kinds, most), max(entries, used)
        head, links = np.full(kinds, -1, np.int32), np.empty((5, entries), np.int64)
        best, where, row_ptr = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows + 1, np.int64)
        taken_by, edges = np.empty(0, np.int64), np.empty((3, entries), np.int64)
        scratch = np.empty((8, 0), np.int64)
        cursor = np.empty(max(rows, entries), np.int64)
        cell = np.empty(min(size, TILE) if form == POSTINGS else 0, np.int64)
        row = np.empty(size, np.int32)  # bounds; of a case that was aligned, the score below 0
        top, tops = np.empty(_TOPS_OF_TILE, np.int32), np.empty((size + CHUNK - 1) // CHUNK, np.float64)
        found_keys, found = np.empty(size, np.int64), np.empty(size, np.int32)
        used, mark = 0, 0

        for query in range(start, stop):
            asked, own = query_rows[query_ptr[query] : query_ptr[query + 1]], self_query[query]
            hits, hit_keys, hit_scores = cases[query], keys[query], scores[query]
            hits[:], hit_keys[:], hit_scores[:] = -1, 0, 0
            aligned[query], greatest[query] = 0, 0
            used = chain_up(table_ptr, table_stored, table_value, asked, used, head, links)
            most, entry = entity_value, 0
            while entry < used:  # entries of one statement stand together
                greatest_of_row, statement = 0, links[2, entry]
                while entry < used and links[2, entry] == statement:
                    greatest_of_row = max(greatest_of_row, links[3, entry])
                    entry += 1
                most += greatest_of_row
            wanted = among[query if len(among) > 1 else 0]
            if most >= SUM_LIMIT:
                greatest[query] = exact_row(
                    form, asked, table_ptr, table_stored, table_value, falling, list_ptr, list_cases, list_best,
                    1, entities, wanted, entity_value, row,
                )  # fmt: skip
                if greatest[query]:
                    continue
            else:
                for lo in range(0, size, TILE):
                    hi = min(lo + TILE, size)
                    if form == POSTINGS:
                        add_postings(
                            asked, table_ptr, table_stored, table_value, falling, list_ptr, list_cases, lo, hi,
                            cursor, cell, row,
                        )  # fmt: skip
                    else:
                        add_folded(asked, list_ptr, list_cases, list_best, lo, hi, cursor, row)
                    with_entities(row, lo, hi, 1, entities, wanted, entity_value)
            _write_tops(row, mode, shift, own, scale, top, tops)

            floor = int(floor_under(tops, k) * ROUNDING) if k < len(tops) else 0
            before, count, held = 0, 0, 0
            while True:
                count = _collect(row, tops, floor, mode, shift, weights, own, before, found_keys, found)
                heap_keys, heap = found_keys[before:count], found[before:count]
                for place in range(len(heap) // 2 - 1, -1, -1):
                    _sink(heap_keys, heap, tie_rank, place, len(heap))
                left = len(heap)
                while left:
                    key, case = heap_keys[0], heap[0]
                    if held == k and comes_before(hit_keys[0], tie_rank[hits[0]], key, tie_rank[case]):
                        break
                    left -= 1
                    heap_keys[0], heap[0] = heap_keys[left], heap[left]
                    _sink(heap_keys, heap, tie_rank, 0, left)
                    heap_keys[left], heap[left] = key, case

                    stored = case_kinds[case_ptr[case] : case_ptr[case + 1]]
                    if len(stored) > len(taken_by):
                        taken_by = np.full(2 * len(stored), -1, np.int64)
                        scratch = np.empty((8, max(rows, 2 * len(stored))), np.int64)
                    score = score_of(
                        head, links, len(asked), stored, entity_value, mark, best, where, row_ptr, taken_by, edges,
                        scratch,
                    )  # fmt: skip
                    mark += 1
                    row[case] = -score
                    key = rank_key(mode, shift, score, weights[case], own)
                    if held < k:
                        push(hit_keys, hits, tie_rank, held, key, case)
                        held += 1
                    elif comes_before(key, tie_rank[case], hit_keys[0], tie_rank[hits[0]]):
                        sift(hit_keys, hits, tie_rank, k, key, case)
                before = count
                if left or floor == 0 or (held == k and hit_keys[0] >= floor):
                    break  # what is left comes after the last hit, or there is nothing left
                floor = hit_keys[0] if held == k else 0

            aligned[query] = count
            if held == k:
                last_key, last_rank = hit_keys[0], tie_rank[hits[0]]
                for place in range(count):
                    aligned[query] -= comes_before(last_key, last_rank, found_keys[place], tie_rank[found[place]])
            for place in range(held - 1, 0, -1):  # the last of those left is on top: it goes to the end
                key, case = hit_keys[place], hits[place]
                hit_keys[place], hits[place] = hit_keys[0], hits[0]
                sift(hit_keys, hits, tie_rank, place, key, case)
            for place in range(held):
                hit_scores[place] = -row[hits[place]]

    return top_span


top_span = _made(SOURCES)
