"""The contract of the three ops. Plain arrays in, plain arrays out; every backend gives the same bits.

``B`` queries, ``N`` cases, ``F`` lists, ``L`` places in a shortlist, ``P`` pairs. Scores and values are whole
numbers of 2^-16 bit. Order among equals is by ``tie_rank``, ascending; nothing depends on batch shape or threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..scoring import Normaliser, PairTable
from .lists import FoldedLists, Lists, PostingLists
from .structure.pairs import StructurePairs

__all__ = ["FoldedLists", "Ops", "PairBlock", "PlainQueries", "QuerywiseOps", "StructureOps", "Tops", "WholeOps"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


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


@dataclass(frozen=True)
class PlainQueries:
    """``B`` plain queries and ``N`` plain cases: all that a certified top k depends on. See ``PairBlock`` for plain.

    Attributes:
        lists: the lists; a query names them by the rows of ``table``.
        table: values of pairs.
        query_ptr: int64 ``[B + 1]``.
        query_rows: int64 ``[.]``, rows of ``table``, ascending within a query.
        self_query: int64 ``[B]``, self-score of each query.
        case_ptr: int64 ``[N + 1]``.
        case_kinds: int32 ``[.]``, stored kinds, distinct and ascending within a case.
        normaliser: turns a score, or a bound, into a rank key.
        tie_rank: int32 ``[N]``, a permutation.
        among: bool ``[B, N]``, the cases that each query may have as hits; all of them where it is None.
    """

    lists: Lists
    table: PairTable
    query_ptr: LongArray
    query_rows: LongArray
    self_query: LongArray
    case_ptr: LongArray
    case_kinds: IntArray
    normaliser: Normaliser
    tie_rank: IntArray
    among: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.query_ptr) - 1


@dataclass(frozen=True)
class Tops:
    """The best cases of ``B`` queries, in rank order; ``k`` places, those left over hold -1 and 0.

    Attributes:
        cases: int64 ``[B, k]``.
        scores: int64 ``[B, k]``, structural evaluation scores in units of 2^-16 bit.
        limits: int64 ``[B, k]``, no mapping of the case scores more; equal to the score where that is proved best.
        rank_keys: int64 ``[B, k]``, what the order is by.
        certified: bool ``[B]``, no case left out can enter, and the order is proved.
        aligned: int64 ``[B]``, number of cases whose bound alone does not place them after the k-th place; all that
            have a bound where there are fewer than k hits.
    """

    cases: LongArray
    scores: LongArray
    limits: LongArray
    rank_keys: LongArray
    certified: BoolArray
    aligned: LongArray


class Ops(Protocol):
    """What a backend implements."""

    def accumulate(
        self,
        lists: Lists,
        query_ptr: LongArray,
        query_lists: IntArray,
        query_entities: IntArray,
        among: BoolArray | None = None,
    ) -> IntArray:
        """Returns the admissible bound of every query with every case.

        Args:
            lists: the lists, in either form.
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


@runtime_checkable
class WholeOps(Ops, Protocol):
    """A backend that also runs the certified loop itself, over plain queries and plain cases.

    The loop over the three ops (``retrieval/block.py``) is the definition; this is the same in one piece, for a backend
    on which the way between the ops costs more than they do. It reads lists in either form as they are.
    """

    def top(self, queries: PlainQueries, k: int) -> Tops:
        """Returns the certified top ``k`` of every query, ``k`` from 1 to the number of cases.

        Raises:
            CapacityError: a bound would reach 2^31.

        Determinism: every number is one of a proved answer, so no order of work shows.
        Cost: that of the three ops, without the arrays between them.
        """
        ...


@runtime_checkable
class QuerywiseOps(WholeOps, Protocol):
    """A whole backend on the host that answers one query after the other: its memory does not grow with the batch."""

    def scratch_bytes(self, cases: int) -> int:
        """Returns how many bytes ``top`` works with beside its arguments and its outcome, at most."""
        ...

    def fold(self, lists: PostingLists) -> FoldedLists:
        """Returns what ``lists.fold()`` does, sooner."""
        ...


@runtime_checkable
class StructureOps(Ops, Protocol):
    """A backend that also aligns cases with structure, many pairs at once.

    ``structure.best_mappings`` is the definition, and what a backend without this op gets.
    """

    def best_mappings(self, pairs: StructurePairs, node_budget: int) -> tuple[LongArray, LongArray]:
        """Returns the score of each pair and the limit of it, int64 ``[P]`` each, in units of 2^-16 bit.

        Equal to each other where the best mapping is proved within ``node_budget`` nodes of the search; else the score
        is of the best mapping that this search has found by then, and no mapping scores more than the limit.

        Determinism: that of one search, node by node; neither threads nor the pairs beside a pair change it.
        Cost: see ``docs/STRUCTURE-SPEED.md``.
        """
        ...
