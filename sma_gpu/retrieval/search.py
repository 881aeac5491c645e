"""From a query to its certified top k: bound every case (MAC), align in bound order (FAC), stop when proved.

A case's rank key never exceeds the key of its bound. Once the next case in bound order comes after the k-th hit so far
(key descending, then tie rank), no case left can enter the top k, and the answer equals that of aligning every case.

Plain cases (unary statements of one entity) are aligned by the op ``assign``; the others by branch and bound, which may
run out of its node budget. Then the score is the best found, its limit says what could not be ruled out, and the answer
is certified only if that could not change the top k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.batch import check_functors
from ..errors import QueryError
from ..lattice.arrays import distinct, expand, pointers
from ..ops import Ops, PairBlock, choose
from ..ops.registry import AUTO
from ..ops.structure import NODE_BUDGET
from ..scoring import Kinds, PairTable, kinds_of
from .corpus import Corpus, own_values, self_scores
from .hits import Hits
from .pairing import pair_up

__all__ = ["OpenQuery", "Standing", "Top", "check_k", "open_queries", "open_query", "retrieve"]

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
        limits: int64, no mapping of the case scores more; equal to the score where that is proved best.
        rank_keys: int64, what the order is by.
        certified: no case left out can enter, and the order is proved.
        aligned: number of cases whose bound alone does not place them after the last place asked for.
    """

    cases: LongArray
    scores: LongArray
    limits: LongArray
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
        batch: the cases that the query is one of; with structure if the stored cases have it.
        number: number of the query in ``batch``.
        rows: int64, row of ``table`` of each statement of the query.
        table: values of pairs; holds a row for each kind of statement in the query, perhaps more.
        own_values: int64, value of each statement of the query with itself, units of 2^-16 bit.
        self_score: score of the query against itself, units of 2^-16 bit.
        bounds: int32 ``[N]``, bound of every case; 0 where nothing can match.
        node_budget: greatest number of nodes in the search for one mapping.
    """

    corpus: Corpus
    batch: CaseBatch
    number: int
    rows: LongArray
    table: PairTable
    own_values: LongArray
    self_score: int
    bounds: IntArray
    node_budget: int
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
        tie_rank = self.corpus.tie_rank
        cases, scores, limits, keys = (np.zeros(0, np.int64) for _ in range(4))
        unproved: list[tuple[int, int]] = []  # (rank key of the limit, -tie rank) where the best mapping is not proved
        done = 0
        proved = able == 0
        while not proved:
            if done == len(order):  # the shortlist is used up without proof: go on with all that have a bound
                order = self._in_bound_order(able)
                bound_keys = self._keys(self.bounds[order].astype(np.int64), order)
            new = order[done : done + max(_FIRST_LOOK, done // 2)].astype(np.int64)
            done += len(new)
            new_scores, new_limits = self._align(new)
            loose = new[new_limits > new_scores]
            loose_keys = self._keys(new_limits[new_limits > new_scores], loose)
            unproved += zip(loose_keys.tolist(), (-tie_rank[loose]).tolist(), strict=True)
            matched = new_scores > 0  # a case with structure may have a bound and yet no mapping
            cases = np.concatenate([cases, new[matched]])
            scores = np.concatenate([scores, new_scores[matched]])
            limits = np.concatenate([limits, new_limits[matched]])
            keys = self._keys(scores, cases)
            best = np.lexsort((tie_rank[cases], -keys))[:k]
            cases, scores, limits, keys = cases[best], scores[best], limits[best], keys[best]
            proved = done == able
            if not proved and done < len(order) and len(cases) == k:
                proved = (bound_keys[done], -tie_rank[order[done]]) < (keys[-1], -tie_rank[cases[-1]])
        full = len(cases) == k
        last = (int(keys[-1]), -int(tie_rank[cases[-1]])) if full else (0, 0)
        certified = all(reach < last for reach in unproved) if full else not unproved
        aligned = self._count_aligned(int(keys[-1]), int(cases[-1])) if full else able
        return Top(cases, scores, limits, keys, certified=certified, aligned=aligned)

    def standing(self, case: int) -> Standing:
        """Returns the exact score, rank and ties of one case, also outside any top k."""
        own = np.array([case], np.int64)
        score = self._align(own)[0] if self.bounds[case] else np.zeros(1, np.int64)
        if not score[0]:
            return Standing(0, 0, None, 0, int(np.count_nonzero(self.bounds)))
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

    def _align(self, cases: LongArray) -> tuple[LongArray, LongArray]:
        """Returns the score of each case and the limit of it, which is the same where the score is proved best."""
        scores = np.zeros(len(cases), np.int64)
        limits = np.zeros(len(cases), np.int64)
        structure = self.batch.structure
        own_plain = structure is None or bool(structure.plain(self.batch.ptr)[self.number])
        plain = self.corpus.plain[cases] & own_plain
        scores[plain] = limits[plain] = self._assign(cases[plain])
        for place in np.flatnonzero(~plain).tolist():
            items = self.batch.items(self.number)
            pair = pair_up(self.corpus, self.table, self.rows, items, int(cases[place]))
            found = pair.best(self.node_budget)
            scores[place], limits[place] = pair.score(found.total), pair.score(found.bound)
        return scores, limits

    def _assign(self, cases: LongArray) -> LongArray:
        """Returns the score of each of the given plain cases with a plain query."""
        rows = np.sort(self.rows)
        count = len(cases)
        owner, at = expand(self.corpus.cases.ptr, cases)
        kinds = self.corpus.case_kinds[at]
        if self.corpus.cases.structure is not None:  # kinds of denials come last, statements by functor
            kinds = kinds[np.lexsort((kinds, owner))]
        pairs = PairBlock(
            np.arange(count + 1, dtype=np.int64) * len(rows), np.tile(rows, count), pointers(owner, count), kinds
        )
        return self._ops.assign(self.table, pairs)

    def _down_to(self, floor: int) -> tuple[LongArray, LongArray]:
        """Returns (cases, rank keys) of all cases with a mapping whose bound reaches the rank key ``floor``."""
        able = np.flatnonzero(self.bounds)
        able = able[self._keys(self.bounds[able].astype(np.int64), able) >= floor]
        scores, _ = self._align(able)
        able, scores = able[scores > 0], scores[scores > 0]
        return able, self._keys(scores, able)

    def _count_aligned(self, key: int, case: int) -> int:
        """Returns how many cases have a bound that alone does not place them after a hit with this key."""
        able = np.flatnonzero(self.bounds)
        bound_keys = self._keys(self.bounds[able].astype(np.int64), able)
        tie_rank = self.corpus.tie_rank
        return int(((bound_keys > key) | ((bound_keys == key) & (tie_rank[able] <= tie_rank[case]))).sum())


def open_query(corpus: Corpus, functors: IntArray, *, backend: str = AUTO, node_budget: int = NODE_BUDGET) -> OpenQuery:
    """Returns one flat query, bounded against every case.

    Args:
        corpus: the stored cases.
        functors: int32, functors of the query.
        backend: which ops to use.
        node_budget: greatest number of nodes in the search for one mapping.

    Raises:
        BackendUnavailable: ``backend`` was named and cannot serve.
        CaseError: a functor that the ontology does not have.
        CapacityError: a bound or the query's self-score would reach 2^31 units.
    """
    batch = CaseBatch.from_functors([""], [functors])
    return next(open_queries(corpus, batch, choose(backend)[1], node_budget))[1][0]


def retrieve(corpus: Corpus, batch: CaseBatch, k: int, *, backend: str = AUTO, node_budget: int = NODE_BUDGET) -> Hits:
    """Returns the certified top ``k`` of every query in ``batch``. See ``Index.retrieve``."""
    places = min(check_k(k), len(corpus))
    name, ops = choose(backend)
    cases = np.full((len(batch), places), -1, np.int32)
    scores, limits, rank_keys = (np.zeros((len(batch), places), np.int64) for _ in range(3))
    aligned = np.zeros(len(batch), np.int64)
    certified = np.ones(len(batch), np.bool_)  # without a case there is nothing to prove
    for start, queries in open_queries(corpus, batch, ops, node_budget) if places else ():
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
            limits[row, :count], rank_keys[row, :count] = found.limits, found.rank_keys
            aligned[row], certified[row] = found.aligned, found.certified

    filled = cases >= 0
    keys = np.full(cases.shape, "", dtype=object)
    keys[filled] = np.array((*corpus.keys, ""), dtype=object)[cases[filled]]
    rank = np.where(filled, np.arange(1, places + 1, dtype=np.int32), 0).astype(np.int32)
    return Hits(batch.keys, keys, cases, scores, limits, rank_keys, rank, certified, aligned, name)


def check_k(k: int) -> int:
    """Returns ``k`` as an int.

    Raises:
        QueryError: it is not a whole number above 0.
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise QueryError(f"the top k = {k!r}", "k must be a whole number above 0", "Ask for one hit or more.")
    return int(k)


def open_queries(
    corpus: Corpus, batch: CaseBatch, ops: Ops, node_budget: int = NODE_BUDGET
) -> Iterator[tuple[int, list[OpenQuery]]]:
    """Yields the queries of a batch, opened, in blocks: number of the first one, and the block."""
    check_functors(batch, corpus.mounted)
    if batch.structure is not None:
        corpus = corpus.spelled_out
    if corpus.cases.structure is None:
        functors = distinct(batch.functors)
        kinds, kind = Kinds.unary(functors, corpus.dials.gamma), np.searchsorted(functors, batch.functors)
        entities = np.ones(len(batch), np.int32)
    else:
        batch = batch.spelled_out()
        assert batch.structure is not None
        kinds, kind = kinds_of(batch, len(corpus.mounted.lattice), corpus.shapes.copy(), corpus.dials.gamma)
        entities = batch.structure.entity_counts()
    own = own_values(corpus.costs, kinds)[kind]
    own_scores = self_scores(batch, own)
    table = corpus.pairs_of(kinds)
    lists = corpus.fold(table)
    size = max(1, _BLOCK_CELLS // max(len(corpus), 1))
    for start in range(0, len(batch), size):
        ptr = batch.ptr[start : start + size + 1]
        numbers = kind[ptr[0] : ptr[-1]].astype(np.int32)
        bounds = ops.accumulate(lists, ptr - ptr[0], numbers, entities[start : start + size])
        queries = []
        for number, bound in enumerate(bounds, start):
            span = slice(int(batch.ptr[number]), int(batch.ptr[number + 1]))
            rows, score = kind[span].astype(np.int64), int(own_scores[number])
            queries.append(OpenQuery(corpus, batch, number, rows, table, own[span], score, bound, node_budget, ops))
        yield start, queries
