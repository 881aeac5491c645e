"""The backend of the CPU: the ops compiled by numba. Importing this module imports numba.

Results are those of the reference, bit for bit, whatever the number of threads: a thread takes a span of queries (or
pairs), and no two write the same element. Threads are started for a call and end with it, so that a process may fork
between two calls.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from ..lattice.arrays import pointers
from ..scoring import Normaliser, PairTable
from ..scoring.grid import ENTITY_VALUE
from .contract import PairBlock, PlainQueries, Tops
from .cpu_accumulate import POSTINGS, accumulate_folded_span, accumulate_postings_span
from .cpu_arrays import (
    ListArrays,
    check_length,
    check_numbers,
    check_pointers,
    mask,
    ranking,
    refusal,
    table_arrays,
    whole_numbers,
)
from .cpu_assign import assign_span
from .cpu_fold import count_lists, write_lists
from .cpu_kernels import select_span
from .cpu_mapping import map_span
from .cpu_top import top_span
from .lists import FoldedLists, Lists, PostingLists
from .reference import refuse_bound
from .structure import StructurePairs, scores_of

__all__ = ["CpuOps"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_CELLS_TO_SHARE = 1 << 20  # with less to do, starting threads takes longer than they save
_CELLS_OF_A_PAIR = 1 << 8
_BYTES_OF_A_CASE = 17  # in top: bound, key, case, and its part of a chunk's greatest key
_BYTES_OF_A_THREAD = 1 << 20  # in top: a tile of sums, and what a query and a case need
_SPANS = 4  # for each thread: spans differ in cost


class CpuOps:
    """The three ops as compiled loops. See the contract for shapes and meaning.

    Arrays may come with pointers and numbers of fewer bits than the contract says, or from files mapped read-only.

    Args:
        threads: how many to use at most; as many as numba may use where it is None.
    """

    def __init__(self, threads: int | None = None) -> None:
        settings: Any = numba.config
        self._threads = threads or int(settings.NUMBA_NUM_THREADS)

    def accumulate(
        self,
        lists: Lists,
        query_ptr: LongArray,
        query_lists: IntArray,
        query_entities: IntArray,
        among: BoolArray | None = None,
    ) -> IntArray:
        """Returns the bound of every query with every case, int32 ``[B, N]``.

        Determinism: integer sums. One that would reach 2^31 is noticed by its sign and taken again in int64.
        Cost: the entries of the lists touched, and a pass over ``[B, N]``.
        """
        op, given = "accumulate", ListArrays.of("accumulate", lists)
        starts = whole_numbers(op, "query_ptr", query_ptr, np.int64)
        numbers = whole_numbers(op, "query_lists", query_lists, np.int32)
        held = whole_numbers(op, "query_entities", query_entities, np.int32)
        queries, count = len(starts) - 1, len(given.entities)
        check_length(op, "query_entities", held, queries)
        check_pointers(op, "query_ptr", starts, len(numbers))
        check_numbers(op, "query_lists", numbers, given.lists)
        wanted = mask(op, among, queries, count)
        bounds, greatest = np.empty((queries, count), np.int32), np.empty(queries, np.int64)

        def work(start: int, stop: int) -> None:
            if given.form == POSTINGS:
                accumulate_postings_span(
                    start, stop, given.table_ptr, given.table_stored, given.table_value, given.falling, given.ptr,
                    given.cases, given.entities, starts, numbers, held, wanted, ENTITY_VALUE, bounds, greatest,
                )  # fmt: skip
            else:
                accumulate_folded_span(
                    start, stop, given.ptr, given.cases, given.best, given.entities, starts, numbers, held, wanted,
                    ENTITY_VALUE, bounds, greatest,
                )  # fmt: skip

        self._share(queries, count, work)
        if greatest.any():
            raise refuse_bound(starts, int(greatest.max()))
        return bounds

    def select(
        self, bounds: IntArray, normaliser: Normaliser, self_query: LongArray, tie_rank: IntArray, limit: int
    ) -> tuple[IntArray, LongArray]:
        """Returns ``(cases int32 [B, L], keys int64 [B, L])`` in rank order.

        Determinism: a total order.
        Cost: a pass over ``[B, N]``, and the sorting of little more than ``L`` cases a query.
        """
        op = "select"
        bounds = np.ascontiguousarray(bounds)
        if bounds.dtype != np.int32 or bounds.ndim != 2:
            raise refusal(op, "bounds", "int32 [B, N]", f"{bounds.dtype} {list(bounds.shape)}")
        queries, count = bounds.shape
        own = whole_numbers(op, "self_query", self_query, np.int64)
        rank = whole_numbers(op, "tie_rank", tie_rank, np.int32)
        mode, shift, weights = ranking(op, normaliser)
        check_length(op, "self_query", own, queries)
        check_length(op, "tie_rank", rank, count)
        check_length(op, "normaliser", weights, count)
        if limit < 1:
            raise refusal(op, "limit", "1 or more", str(limit))
        cases, keys = np.empty((queries, limit), np.int32), np.empty((queries, limit), np.int64)
        self._share(
            queries, count,
            lambda start, stop: select_span(
                start, stop, bounds, mode, shift, weights, normaliser.scale, own, rank, limit, cases, keys
            ),
        )  # fmt: skip
        return cases, keys

    def assign(self, table: PairTable, pairs: PairBlock) -> LongArray:
        """Returns the score of each pair, int64 ``[P]``.

        Determinism: the optimum is unique, whichever matching attains it.
        Cost: the statements of the cases, and for pairs in which statements compete an assignment over sparse edges;
        memory grows with the edges of one pair, not with rows times columns.
        """
        op = "assign"
        ptr, stored, value = table_arrays(op, table)
        query, case = (whole_numbers(op, f"pairs.{n}", getattr(pairs, n), np.int64) for n in ("query", "case"))
        starts = whole_numbers(op, "pairs.query_ptr", pairs.query_ptr, np.int64)
        rows = whole_numbers(op, "pairs.query_rows", pairs.query_rows, np.int64)
        case_ptr = whole_numbers(op, "pairs.case_ptr", pairs.case_ptr, np.int64)
        kinds = whole_numbers(op, "pairs.case_kinds", pairs.case_kinds, np.int32)
        check_length(op, "pairs.case", case, len(query))
        check_numbers(op, "pairs.query", query, len(starts) - 1)
        check_numbers(op, "pairs.case", case, len(case_ptr) - 1)
        check_numbers(op, "pairs.query_rows", rows, len(ptr) - 1)
        check_pointers(op, "pairs.query_ptr", starts, len(rows))
        if int(case_ptr[-1]) > len(kinds):
            raise refusal(op, "pairs.case_kinds", f"{int(case_ptr[-1])} entries", f"{len(kinds)}")
        scores = np.empty(len(query), np.int64)
        self._share(
            len(query), _CELLS_OF_A_PAIR,
            lambda start, stop: assign_span(
                start, stop, ptr, stored, value, query, case, starts, rows, case_ptr, kinds, ENTITY_VALUE, scores
            ),
        )  # fmt: skip
        return scores

    def top(self, queries: PlainQueries, k: int) -> Tops:
        """Returns the certified top ``k`` of every query, in rank order.

        Determinism: bounds, scores and order are those of the ops; which cases had to be aligned does not show.
        Cost: the entries of the lists touched, a pass over the ``N`` bounds of each query, and the assignment of little
        more than the cases that have to be aligned. A thread holds 16 bytes for each case.
        """
        op, lists = "top", queries.lists
        given, table = ListArrays.of(op, lists), queries.table
        if given.form == POSTINGS:
            table_ptr, stored, value = given.table_ptr, given.table_stored, given.table_value
        else:
            table_ptr, stored, value = table_arrays(op, table)
        starts = whole_numbers(op, "query_ptr", queries.query_ptr, np.int64)
        rows = whole_numbers(op, "query_rows", queries.query_rows, np.int64)
        own = whole_numbers(op, "self_query", queries.self_query, np.int64)
        case_ptr = whole_numbers(op, "case_ptr", queries.case_ptr, np.int64)
        kinds = whole_numbers(op, "case_kinds", queries.case_kinds, np.int32)
        rank = whole_numbers(op, "tie_rank", queries.tie_rank, np.int32)
        mode, shift, weights = ranking(op, queries.normaliser)
        size, count = len(queries), len(given.entities)
        check_pointers(op, "query_ptr", starts, len(rows))
        check_numbers(op, "query_rows", rows, min(given.lists, len(table_ptr) - 1))
        for name, array, wanted in (
            ("self_query", own, size), ("case_ptr", case_ptr, count + 1), ("tie_rank", rank, count),
            ("normaliser", weights, count),
        ):  # fmt: skip
            check_length(op, name, array, wanted)
        if int(case_ptr[-1]) > len(kinds):
            raise refusal(op, "case_kinds", f"{int(case_ptr[-1])} entries", f"{len(kinds)}")
        if not 1 <= k <= count:
            raise refusal(op, "k", f"1 to {count}", str(k))
        scale, among = queries.normaliser.scale, mask(op, queries.among, size, count)
        cases, scores, keys = (np.empty((size, k), np.int64) for _ in range(3))
        aligned, greatest = np.empty(size, np.int64), np.empty(size, np.int64)
        self._share(
            size, count,
            lambda start, stop: top_span(
                start, stop, given.form, given.ptr, given.cases, given.best, given.falling, table_ptr, stored, value,
                given.entities, among, starts, rows, own, case_ptr, kinds, mode, shift, weights, scale, rank,
                ENTITY_VALUE, k, cases, scores, keys, aligned, greatest,
            ),
        )  # fmt: skip
        if greatest.any():
            raise refuse_bound(starts, int(greatest.max()))
        return Tops(cases, scores, scores.copy(), keys, np.ones(size, np.bool_), aligned)

    def map_pairs(
        self,
        table: PairTable,
        query_ptr: LongArray,
        query_rows: LongArray,
        cases: IntArray,
        case_ptr: LongArray,
        case_kinds: IntArray,
    ) -> LongArray:
        """Returns the canonical mappings of plain queries with some cases each.

        Args:
            table: values of pairs.
            query_ptr: int64 ``[B + 1]``.
            query_rows: int64 ``[.]``, rows of ``table``, ascending within a query.
            cases: int32 ``[B, K]``, -1 where there is none.
            case_ptr: int64 ``[N + 1]``.
            case_kinds: int32 ``[.]``, stored kinds, distinct and ascending within a case.

        Returns:
            int64: for each statement of each of the ``B * K`` pairs, in this order, its entry of ``table``, or -1.

        Determinism: the mapping is the canonical one.
        Cost: that of ``assign``; where statements compete, a search for exchanges for each choice that comes before.
        """
        op = "map_pairs"
        ptr, stored, value = table_arrays(op, table)
        starts = whole_numbers(op, "query_ptr", query_ptr, np.int64)
        rows = whole_numbers(op, "query_rows", query_rows, np.int64)
        held = whole_numbers(op, "case_ptr", case_ptr, np.int64)
        kinds = whole_numbers(op, "case_kinds", case_kinds, np.int32)
        cases = np.ascontiguousarray(cases, np.int32)
        check_pointers(op, "query_ptr", starts, len(rows))
        check_numbers(op, "query_rows", rows, len(ptr) - 1)
        check_length(op, "cases", cases, len(starts) - 1)
        check_numbers(op, "cases", cases + 1, len(held))
        if int(held[-1]) > len(kinds):
            raise refusal(op, "case_kinds", f"{int(held[-1])} entries", f"{len(kinds)}")
        entries = np.empty(int(starts[-1]) * cases.shape[1], np.int64)
        self._share(
            len(cases), _CELLS_OF_A_PAIR * cases.shape[1],
            lambda start, stop: map_span(
                start, stop, ptr, stored, value, starts, rows, cases, held, kinds, entries
            ),
        )  # fmt: skip
        return entries

    def scratch_bytes(self, cases: int) -> int:
        """Returns how many bytes ``top`` works with beside its arguments and its outcome, at most."""
        return self._threads * (_BYTES_OF_A_CASE * cases + _BYTES_OF_A_THREAD)

    def fold(self, lists: PostingLists) -> FoldedLists:
        """Returns what ``lists.fold()`` does, by compiled loops.

        Determinism: a list is in the order of its cases, and greatest values are the same in any order.
        Cost: twice the entries before folding; memory for the postings and the pairs once more.
        """
        given = ListArrays.of("fold", lists)
        width = len(given.table_ptr) - 1
        order = np.argsort(given.table_stored, kind="stable")
        row = np.repeat(np.arange(width, dtype=np.int32), np.diff(given.table_ptr))[order]
        value = given.table_value[order].astype(np.int32)
        row_ptr = pointers(given.table_stored[order], len(given.ptr) - 1)
        sizes, count = np.empty(width, np.int64), len(given.entities)
        count_lists(row_ptr, row, given.ptr, given.cases, count, sizes)
        ptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        cases, best = np.empty(int(ptr[-1]), np.int32), np.empty(int(ptr[-1]), np.int32)
        write_lists(row_ptr, row, value, given.ptr, given.cases, count, ptr, cases, best)
        return FoldedLists(ptr, cases, best, lists.entities)

    def best_mappings(self, pairs: StructurePairs, node_budget: int) -> tuple[LongArray, LongArray]:
        """Returns score and limit of each pair of cases with structure, int64 ``[P]`` each.

        Determinism: the reference's search, node by node.
        Cost: see ``docs/STRUCTURE-SPEED.md``; memory grows with the hypotheses of one pair for each thread.
        """
        from .cpu_structure import outcomes  # loads compiled code that flat cases never need

        found = outcomes(pairs, node_budget, self._share)
        return scores_of(found.total, found.entity_pairs), scores_of(found.bound, found.entity_pairs)

    def _share(self, rows: int, cells: int, work: Callable[[int, int], object]) -> None:
        """Does ``work`` on all rows, of so many cells each, in spans that the threads take one after the other."""
        if self._threads == 1 or rows * cells < _CELLS_TO_SHARE:
            work(0, rows)
            return
        cuts = np.linspace(0, rows, min(rows, _SPANS * self._threads) + 1).astype(np.int64).tolist()
        with ThreadPoolExecutor(self._threads) as pool:
            for done in [pool.submit(work, a, b) for a, b in zip(cuts, cuts[1:], strict=False)]:
                done.result()
