"""The reference backend: NumPy and SciPy, written to be read as the definition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import CapacityError
from ..scoring import Normaliser, PairTable
from ..scoring.grid import ENTITY_VALUE, SCORE_LIMIT
from .contract import PairBlock
from .lists import Lists, folded
from .matching import best_total

__all__ = ["ReferenceOps", "refuse_bound"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


class ReferenceOps:
    """The three ops in NumPy and SciPy. See the contract for shapes and meaning."""

    def accumulate(
        self,
        lists: Lists,
        query_ptr: LongArray,
        query_lists: IntArray,
        query_entities: IntArray,
        among: BoolArray | None = None,
    ) -> IntArray:
        """Returns the bound of every query with every case, int32 ``[B, N]``."""
        lists = folded(lists)
        bounds = np.zeros((len(query_ptr) - 1, len(lists.entities)), np.int64)
        for row, bound in enumerate(bounds):
            for number in query_lists[query_ptr[row] : query_ptr[row + 1]].tolist():
                entries = slice(lists.ptr[number], lists.ptr[number + 1])
                bound[lists.cases[entries]] += lists.best[entries]  # a list holds each case once
        if among is not None:
            bounds[~among] = 0
        bounds += ENTITY_VALUE * np.minimum(query_entities[:, None], lists.entities).astype(np.int64) * (bounds > 0)
        if bounds.size and int(bounds.max()) >= SCORE_LIMIT:
            raise refuse_bound(query_ptr, int(bounds.max()))
        return bounds.astype(np.int32)

    def select(
        self, bounds: IntArray, normaliser: Normaliser, self_query: LongArray, tie_rank: IntArray, limit: int
    ) -> tuple[IntArray, LongArray]:
        """Returns ``(cases int32 [B, L], keys int64 [B, L])`` in rank order."""
        cases = np.full((len(bounds), limit), -1, np.int32)
        keys = np.zeros((len(bounds), limit), np.int64)
        for row, bound in enumerate(bounds):
            able = np.flatnonzero(bound)
            key = normaliser.rank_keys(bound[able].astype(np.int64), int(self_query[row]), able)
            order = np.lexsort((tie_rank[able], -key))[:limit]
            cases[row, : len(order)] = able[order]
            keys[row, : len(order)] = key[order]
        return cases, keys

    def assign(self, table: PairTable, pairs: PairBlock) -> LongArray:
        """Returns the score of each pair, int64 ``[P]``."""
        scores = np.zeros(len(pairs), np.int64)
        for pair, (query, case) in enumerate(zip(pairs.query.tolist(), pairs.case.tolist(), strict=True)):
            rows = pairs.query_rows[pairs.query_ptr[query] : pairs.query_ptr[query + 1]]
            stored = pairs.case_kinds[pairs.case_ptr[case] : pairs.case_ptr[case + 1]]
            row, column, at = table.between(rows, stored)
            total = best_total(row, column, table.value[at])
            scores[pair] = ENTITY_VALUE + total if total else 0
        return scores


def refuse_bound(query_ptr: LongArray, greatest: int) -> CapacityError:
    """Returns the error for a block of queries whose greatest bound reaches 2^31; every backend raises it.

    Args:
        query_ptr: int64 ``[B + 1]``.
        greatest: the greatest bound, units of 2^-16 bit.
    """
    return CapacityError(
        f"bound of a query with up to {int(np.diff(query_ptr).max())} statements",
        f"{greatest} units of 2^-16 bit, where scores stay below 2^31",
        "Split the query, or lower the dial gamma.",
    )
