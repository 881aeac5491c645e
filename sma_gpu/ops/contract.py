"""The contract of the three ops. Plain arrays in, plain arrays out; every backend gives the same bits.

``B`` queries, ``N`` cases, ``F`` folded lists, ``L`` places in a shortlist, ``P`` pairs. Scores and values are whole
numbers of 2^-16 bit. Order among equals is by ``tie_rank``, ascending; nothing depends on batch shape or threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..scoring import Normaliser, PairTable

__all__ = ["FoldedLists", "Ops", "PairBlock"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FoldedLists:
    """Inverted lists with the lattice folded in: for each query kind, the cases that can match it, and how well.

    Attributes:
        ptr: int64 ``[F + 1]``.
        cases: int32 ``[entries]``, ascending within a list, each case once.
        best: int32 ``[entries]``, the best value any statement of the case gives the list's kind; above 0.
        entities: int32 ``[N]``, number of entities of each case.
    """

    ptr: LongArray
    cases: IntArray
    best: IntArray
    entities: IntArray


@dataclass(frozen=True)
class PairBlock:
    """``P`` pairs of a plain query and a plain stored case to be aligned.

    A case is plain when all it has are unary statements of one entity: then every hypothesis is supported by the pair
    of subjects, and the best mapping is a matching.

    Attributes:
        query: int64 ``[P]``, numbers of queries, ascending.
        case: int64 ``[P]``, numbers of cases.
        query_ptr: int64 ``[B + 1]``.
        query_rows: int64 ``[.]``, rows of the pair table, ascending within a query.
        case_ptr: int64 ``[N + 1]``.
        case_kinds: int32 ``[.]``, stored kinds, distinct and ascending within a plain case.
    """

    query: LongArray
    case: LongArray
    query_ptr: LongArray
    query_rows: LongArray
    case_ptr: LongArray
    case_kinds: IntArray

    def __len__(self) -> int:
        return len(self.query)


class Ops(Protocol):
    """What a backend implements."""

    def accumulate(
        self,
        lists: FoldedLists,
        query_ptr: LongArray,
        query_lists: IntArray,
        query_entities: IntArray,
        among: BoolArray | None = None,
    ) -> IntArray:
        """Returns the admissible bound of every query with every case.

        Args:
            lists: the folded lists.
            query_ptr: int64 ``[B + 1]``.
            query_lists: int32 ``[.]``, numbers of the lists of each query's statements; two statements of one kind
                name one list twice.
            query_entities: int32 ``[B]``, number of entities of each query.
            among: bool ``[B, N]``, the cases that each query may have as hits; all of them where it is None.

        Returns:
            ``U`` int32 ``[B, N]``: the sum of ``best`` over the query's lists that hold the case, plus 2^16 for each
            pair of entities that there can be (the smaller number of entities); 0 where no list does, and for cases
            that are not among those wanted.

        Raises:
            CapacityError: a bound would reach 2^31.

        Determinism: integer sums; any order of addition gives the same bits.
        Cost: the entries of the lists touched.
        """
        ...

    def select(
        self, bounds: IntArray, normaliser: Normaliser, self_query: LongArray, tie_rank: IntArray, limit: int
    ) -> tuple[IntArray, LongArray]:
        """Returns the cases with the greatest rank keys, for each query.

        Args:
            bounds: int32 ``[B, N]``; cases with 0 are never selected.
            normaliser: turns a bound into a rank key.
            self_query: int64 ``[B]``, self-score of each query.
            tie_rank: int32 ``[N]``, a permutation.
            limit: ``L``, at least 1.

        Returns:
            ``(cases int32 [B, L], keys int64 [B, L])``, key descending, then tie rank ascending; -1 and 0 beyond the
            last case that has a bound.

        Determinism: a total order.
        Cost: ``B * N`` key computations, and the sorting of those above 0.
        """
        ...

    def assign(self, table: PairTable, pairs: PairBlock) -> LongArray:
        """Returns the structural evaluation score of each pair of plain cases, int64 ``[P]``.

        2^16 plus the greatest total value of a one-to-one matching between the two sets of statements; 0 where nothing
        matches.

        Determinism: the optimum is unique, whichever matching attains it.
        Cost: one assignment problem a pair.
        """
        ...
