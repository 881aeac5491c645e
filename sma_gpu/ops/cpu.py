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

from ..errors import ShapeError
from ..scoring import Normaliser, PairTable
from ..scoring.grid import ENTITY_VALUE
from ..scoring.normalise import FACTOR_SHIFT, QUOTIENT_SHIFT
from . import cpu_kernels as kernels
from .contract import PairBlock
from .cpu_assign import assign_span
from .lists import Lists, folded
from .reference import refuse_bound

__all__ = ["CpuOps"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_CELLS_TO_SHARE = 1 << 20  # with less to do, starting threads takes longer than they save
_CELLS_OF_A_PAIR = 1 << 8
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
        op, lists = "accumulate", folded(lists)
        ptr = _whole(op, "lists.ptr", lists.ptr, np.int64)
        cases, best = _whole(op, "lists.cases", lists.cases, np.int32), _whole(op, "lists.best", lists.best, np.int32)
        entities = _whole(op, "lists.entities", lists.entities, np.int32)
        starts = _whole(op, "query_ptr", query_ptr, np.int64)
        numbers = _whole(op, "query_lists", query_lists, np.int32)
        held = _whole(op, "query_entities", query_entities, np.int32)
        queries, count = len(starts) - 1, len(entities)
        _check_length(op, "query_entities", held, queries)
        _check_pointers(op, "query_ptr", starts, len(numbers))
        _check_numbers(op, "query_lists", numbers, len(ptr) - 1)
        if min(len(cases), len(best)) < int(ptr[-1]):
            raise _refusal(op, "lists", f"at least {int(ptr[-1])} entries", f"{min(len(cases), len(best))}")
        if among is None:
            wanted = np.zeros((0, count), np.bool_)
        else:
            wanted = np.ascontiguousarray(among)
            if wanted.dtype != np.bool_ or wanted.shape != (queries, count):
                raise _refusal(op, "among", f"bool [{queries}, {count}]", f"{wanted.dtype} {list(wanted.shape)}")
        bounds, greatest = np.empty((queries, count), np.int32), np.empty(queries, np.int64)
        self._share(
            queries, count,
            lambda start, stop: kernels.accumulate_span(
                start, stop, ptr, cases, best, entities, starts, numbers, held, wanted, ENTITY_VALUE, bounds, greatest
            ),
        )  # fmt: skip
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
            raise _refusal(op, "bounds", "int32 [B, N]", f"{bounds.dtype} {list(bounds.shape)}")
        queries, count = bounds.shape
        own = _whole(op, "self_query", self_query, np.int64)
        rank = _whole(op, "tie_rank", tie_rank, np.int32)
        if normaliser.dials.power is None:
            mode = kernels.MAX if normaliser.dials.normalisation == "max" else kernels.MIN
            shift, weights = QUOTIENT_SHIFT, normaliser.self_scores
        else:
            mode, shift, weights = kernels.POWER, FACTOR_SHIFT, normaliser.factors
        weights = _whole(op, "normaliser", weights, np.int64)
        _check_length(op, "self_query", own, queries)
        _check_length(op, "tie_rank", rank, count)
        _check_length(op, "normaliser", weights, count)
        if limit < 1:
            raise _refusal(op, "limit", "1 or more", str(limit))
        cases, keys = np.empty((queries, limit), np.int32), np.empty((queries, limit), np.int64)
        self._share(
            queries, count,
            lambda start, stop: kernels.select_span(
                start, stop, bounds, mode, shift, weights, own, rank, limit, cases, keys
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
        ptr = _whole(op, "table.ptr", table.ptr, np.int64)
        stored = _whole(op, "table.stored", table.stored, np.int32)
        value = _whole(op, "table.value", table.value, np.int64)
        query, case = (_whole(op, f"pairs.{n}", getattr(pairs, n), np.int64) for n in ("query", "case"))
        starts = _whole(op, "pairs.query_ptr", pairs.query_ptr, np.int64)
        rows = _whole(op, "pairs.query_rows", pairs.query_rows, np.int64)
        case_ptr = _whole(op, "pairs.case_ptr", pairs.case_ptr, np.int64)
        kinds = _whole(op, "pairs.case_kinds", pairs.case_kinds, np.int32)
        _check_length(op, "pairs.case", case, len(query))
        _check_numbers(op, "pairs.query", query, len(starts) - 1)
        _check_numbers(op, "pairs.case", case, len(case_ptr) - 1)
        _check_numbers(op, "pairs.query_rows", rows, len(ptr) - 1)
        _check_pointers(op, "pairs.query_ptr", starts, len(rows))
        if int(case_ptr[-1]) > len(kinds) or int(ptr[-1]) > min(len(stored), len(value)):
            raise _refusal(op, "pairs and table", "entries for all pointers", "fewer")
        scores = np.empty(len(query), np.int64)
        self._share(
            len(query), _CELLS_OF_A_PAIR,
            lambda start, stop: assign_span(
                start, stop, ptr, stored, value, query, case, starts, rows, case_ptr, kinds, ENTITY_VALUE, scores
            ),
        )  # fmt: skip
        return scores

    def _share(self, rows: int, cells: int, work: Callable[[int, int], object]) -> None:
        """Does ``work`` on all rows, of so many cells each, in spans that the threads take one after the other."""
        if self._threads == 1 or rows * cells < _CELLS_TO_SHARE:
            work(0, rows)
            return
        cuts = np.linspace(0, rows, min(rows, _SPANS * self._threads) + 1).astype(np.int64).tolist()
        with ThreadPoolExecutor(self._threads) as pool:
            for done in [pool.submit(work, a, b) for a, b in zip(cuts, cuts[1:], strict=False)]:
                done.result()


def _whole(op: str, name: str, array: npt.NDArray[Any], wanted: type[np.integer]) -> npt.NDArray[Any]:
    """Returns a plain one-dimensional C-ordered array of whole numbers of the wanted type, without a copy if it is one.

    Raises:
        ShapeError: it has another number of dimensions, or numbers that may not fit.
    """
    if array.ndim != 1 or not np.can_cast(array.dtype, wanted):
        raise _refusal(op, name, f"one dimension of {np.dtype(wanted)}", f"{array.dtype} {list(array.shape)}")
    return np.ascontiguousarray(array, wanted)


def _check_length(op: str, name: str, array: npt.NDArray[Any], wanted: int) -> None:
    if len(array) != wanted:
        raise _refusal(op, name, f"length {wanted}", f"length {len(array)}")


def _check_numbers(op: str, name: str, array: npt.NDArray[Any], limit: int) -> None:
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < limit:
        raise _refusal(op, name, f"numbers from 0 to {limit - 1}", f"{int(array.min())} to {int(array.max())}")


def _check_pointers(op: str, name: str, array: npt.NDArray[Any], entries: int) -> None:
    if not len(array) or array[0] < 0 or (array[1:] < array[:-1]).any() or int(array[-1]) > entries:
        raise _refusal(op, name, f"ascending pointers into {entries} entries", f"{array[:1]} to {array[-1:]}")


def _refusal(op: str, name: str, wanted: str, found: str) -> ShapeError:
    return ShapeError(f"{op}: {name}", f"{found}, where {wanted} is wanted", "Give the arrays that the contract names.")
