"""From a query to its certified top k: bound every case (MAC), align in bound order (FAC), stop when proved.

A case's rank key never exceeds the key of its bound. Once the next case in bound order comes after the k-th hit so far
(key descending, then tie rank), no case left can enter the top k, and the answer equals that of aligning every case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.batch import check_functors
from ..errors import CapacityError, QueryError
from ..lattice.arrays import distinct, expand, pointers
from ..ops import Ops, PairBlock, choose
from ..ops.registry import AUTO
from ..scoring import PairTable
from ..scoring.grid import SCORE_LIMIT
from .corpus import Corpus
from .hits import Hits

__all__ = ["OpenQuery", "Standing", "Top", "check_k", "open_query", "retrieve"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_BLOCK_CELLS = 1 << 22  # bounds held at a time: 16 MiB of int32; changes memory, never an answer
_FIRST_LOOK = 16  # cases aligned before the first look at the stopping rule


@dataclass(frozen=True)
class Top:
    """The best cases of one query in rank order.

    Attributes:
        cases: int64, numbers of the cases.
        scores: int64, structural evaluation scores in units of 2^-16 bit.
        rank_keys: int64, what the order is by.
        certified: no case left out can enter.
        aligned: number of cases whose bound alone does not place them after the last place asked for.
    """

    cases: LongArray
    scores: LongArray
    rank_keys: LongArray
    certified: bool
    aligned: int


@dataclass(frozen=True)
class Standing:
    """Where one case stands for one query.

    Attributes:
        score: structural evaluation score, units of 2^-16 bit; 0 if nothing matches.
        rank_key: what the order is by.
        rank: exact place among all cases, or None for a case that is no hit.
        ties: number of other cases with the same rank key; their order is by key alone.
        aligned: number of cases whose bound alone does not place them after this one.
    """

    score: int
    rank_key: int
    rank: int | None
    ties: int
    aligned: int


@dataclass(frozen=True)
class OpenQuery:
    """One query with its bounds, ready to be ranked and explained.

    Attributes:
        corpus: the stored cases.
        functors: int32, functors of the query, ascending.
        table: values of pairs; holds a row for each of ``functors``, perhaps more.
        self_score: score of the query against itself, units of 2^-16 bit.
        bounds: int32 ``[N]``, bound of every case; 0 where nothing can match.
    """

    corpus: Corpus
    functors: IntArray
    table: PairTable
    self_score: int
    bounds: IntArray
    _ops: Ops

    def top(self, k: int, shortlist: IntArray | None = None) -> Top:
        """Returns the certified top ``k``.

        Args:
            k: places wanted, from 1 to the number of cases.
            shortlist: the first cases in bound order, where they are known already.
        """
        able = int(np.count_nonzero(self.bounds))
        order = self._in_bound_order(min(max(4 * k, 64), len(self.corpus))) if shortlist is None else shortlist
        order = order[order >= 0]
        bound_keys = self._keys(self.bounds[order].astype(np.int64), order)
        cases, scores, keys = (np.zeros(0, np.int64) for _ in range(3))
        done = 0
        proved = able == 0
        while not proved:
            if done == len(order):  # the shortlist is used up without proof: go on with all that have a bound
                order = self._in_bound_order(able)
                bound_keys = self._keys(self.bounds[order].astype(np.int64), order)
            new = order[done : done + max(_FIRST_LOOK, done // 2)].astype(np.int64)
            done += len(new)
            new_scores = self._align(new)
            cases = np.concatenate([cases, new])
            scores = np.concatenate([scores, new_scores])
            keys = np.concatenate([keys, self._keys(new_scores, new)])
            best = np.lexsort((self.corpus.tie_rank[cases], -keys))[:k]
            cases, scores, keys = cases[best], scores[best], keys[best]
            proved = done == able
            if not proved and done < len(order) and len(cases) == k:
                tie_rank = self.corpus.tie_rank
                proved = (bound_keys[done], -tie_rank[order[done]]) < (keys[-1], -tie_rank[cases[-1]])
        aligned = self._count_aligned(int(keys[-1]), int(cases[-1])) if len(cases) == k else able
        return Top(cases, scores, keys, certified=bool(proved), aligned=aligned)

    def standing(self, case: int) -> Standing:
        """Returns the exact score, rank and ties of one case, also outside any top k."""
        if not self.bounds[case]:
            return Standing(0, 0, None, 0, int(np.count_nonzero(self.bounds)))
        own = np.array([case], np.int64)
        score = self._align(own)
        key = int(self._keys(score, own)[0])
        cases, keys = self._down_to(key)
        tie_rank = self.corpus.tie_rank
        before = int((keys > key).sum()) + int(((keys == key) & (tie_rank[cases] < tie_rank[case])).sum())
        aligned = self._count_aligned(key, case)
        return Standing(int(score[0]), key, 1 + before, int((keys == key).sum()) - 1, aligned)

    def ties(self, rank_keys: LongArray) -> list[int]:
        """Returns, for each rank key that a hit has, how many other cases of the whole index have it too."""
        if not len(rank_keys):
            return []
        _, keys = self._down_to(int(rank_keys.min()))
        return [int((keys == key).sum()) - 1 for key in rank_keys]

    def _keys(self, scores: LongArray, cases: npt.NDArray[np.integer]) -> LongArray:
        return self.corpus.normaliser.rank_keys(scores, self.self_score, cases)

    def _in_bound_order(self, limit: int) -> IntArray:
        own = np.array([self.self_score], np.int64)
        cases, _ = self._ops.select(self.bounds[None], self.corpus.normaliser, own, self.corpus.tie_rank, limit)
        first: IntArray = cases[0]
        return first

    def _align(self, cases: LongArray) -> LongArray:
        rows = self.table.rows_of(self.functors)
        count = len(cases)
        owner, at = expand(self.corpus.cases.ptr, cases)
        pairs = PairBlock(
            np.arange(count + 1, dtype=np.int64) * len(rows),
            np.tile(rows, count),
            pointers(owner, count),
            self.corpus.cases.functors[at],
        )
        return self._ops.assign(self.table, pairs)

    def _down_to(self, floor: int) -> tuple[LongArray, LongArray]:
        """Returns (cases, rank keys) of all cases whose bound reaches the rank key ``floor``."""
        able = np.flatnonzero(self.bounds)
        able = able[self._keys(self.bounds[able].astype(np.int64), able) >= floor]
        return able, self._keys(self._align(able), able)

    def _count_aligned(self, key: int, case: int) -> int:
        """Returns how many cases have a bound that alone does not place them after a hit with this key."""
        able = np.flatnonzero(self.bounds)
        bound_keys = self._keys(self.bounds[able].astype(np.int64), able)
        tie_rank = self.corpus.tie_rank
        return int(((bound_keys > key) | ((bound_keys == key) & (tie_rank[able] <= tie_rank[case]))).sum())


def open_query(corpus: Corpus, functors: IntArray, *, backend: str = AUTO) -> OpenQuery:
    """Returns one query, bounded against every case.

    Args:
        corpus: the stored cases.
        functors: int32, functors of the query.
        backend: which ops to use.

    Raises:
        BackendUnavailable: ``backend`` was named and cannot serve.
        CaseError: a functor that the ontology does not have.
        CapacityError: a bound or the query's self-score would reach 2^31 units.
    """
    batch = CaseBatch.from_functors([""], [functors])
    return next(_blocks(corpus, choose(backend)[1], batch))[1][0]


def retrieve(corpus: Corpus, batch: CaseBatch, k: int, *, backend: str = AUTO) -> Hits:
    """Returns the certified top ``k`` of every query in ``batch``. See ``Index.retrieve``."""
    places = min(check_k(k), len(corpus))
    name, ops = choose(backend)
    cases = np.full((len(batch), places), -1, np.int32)
    scores = np.zeros((len(batch), places), np.int64)
    rank_keys = np.zeros((len(batch), places), np.int64)
    aligned = np.zeros(len(batch), np.int64)
    certified = np.ones(len(batch), np.bool_)  # without a case there is nothing to prove
    for start, queries in _blocks(corpus, ops, batch) if places else ():
        limit = min(len(corpus), max(4 * places, 64))
        shortlists, _ = ops.select(
            np.stack([q.bounds for q in queries]),
            corpus.normaliser,
            np.array([q.self_score for q in queries], np.int64),
            corpus.tie_rank,
            limit,
        )
        for row, (query, shortlist) in enumerate(zip(queries, shortlists, strict=True), start):
            found = query.top(places, shortlist)
            count = len(found.cases)
            cases[row, :count], scores[row, :count] = found.cases, found.scores
            rank_keys[row, :count] = found.rank_keys
            aligned[row], certified[row] = found.aligned, found.certified

    filled = cases >= 0
    keys = np.full(cases.shape, "", dtype=object)
    keys[filled] = np.array((*corpus.keys, ""), dtype=object)[cases[filled]]
    rank = np.where(filled, np.arange(1, places + 1, dtype=np.int32), 0).astype(np.int32)
    return Hits(batch.keys, keys, cases, scores, rank_keys, rank, certified, aligned, name)


def check_k(k: int) -> int:
    """Returns ``k`` as an int.

    Raises:
        QueryError: it is not a whole number above 0.
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise QueryError(f"the top k = {k!r}", "k must be a whole number above 0", "Ask for one hit or more.")
    return int(k)


def _blocks(corpus: Corpus, ops: Ops, batch: CaseBatch) -> Iterator[tuple[int, list[OpenQuery]]]:
    """Yields the queries of a batch, opened, in blocks: number of the first one, and the block."""
    check_functors(batch, corpus.mounted)
    table = corpus.pairs(distinct(batch.functors))
    lists = corpus.fold(table)
    size = max(1, _BLOCK_CELLS // max(len(corpus), 1))
    for start in range(0, len(batch), size):
        ptr = batch.ptr[start : start + size + 1]
        numbers = table.rows_of(batch.functors[ptr[0] : ptr[-1]]).astype(np.int32)
        bounds = ops.accumulate(lists, ptr - ptr[0], numbers)
        queries = []
        for row, bound in enumerate(bounds, start):
            functors = batch.functors_of(row)
            own = corpus.self_score(functors)
            if own >= SCORE_LIMIT:
                raise CapacityError(
                    f"query {batch.keys[row] or row} of {len(functors)} statements",
                    f"its self-score is {own} units of 2^-16 bit, where scores stay below 2^31",
                    "Split the query, or lower the dial gamma.",
                )
            queries.append(OpenQuery(corpus, functors, table, own, bound, ops))
        yield start, queries
