"""From a query to its certified top k: bound every case (MAC), align in bound order (FAC), stop when proved.

A case's rank key never exceeds the key of its bound. Once the next case in bound order comes after the k-th hit so far
(key descending, then tie rank), no case left can enter the top k, and the answer equals that of aligning every case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CapacityError, QueryError
from ..lattice.arrays import distinct, expand, pointers
from ..ops import FoldedLists, Ops, PairBlock, choose
from ..ops.registry import AUTO
from ..scoring import PairTable
from ..scoring.grid import SCORE_LIMIT
from .corpus import Corpus
from .hits import Hits

__all__ = ["Standing", "retrieve", "standing", "tie_counts"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_BLOCK_CELLS = 1 << 22  # bounds held at a time: 16 MiB of int32; changes memory, never an answer
_FIRST_LOOK = 16  # cases aligned before the first look at the stopping rule


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
class _Query:
    """One query with what all its alignments share."""

    corpus: Corpus
    ops: Ops
    table: PairTable
    rows: LongArray
    self_score: int
    bounds: IntArray

    def keys(self, scores: LongArray, cases: npt.NDArray[np.integer]) -> LongArray:
        return self.corpus.normaliser.rank_keys(scores, self.self_score, cases)

    def align(self, cases: npt.NDArray[np.integer]) -> LongArray:
        count = len(cases)
        owner, at = expand(self.corpus.cases.ptr, np.asarray(cases))
        pairs = PairBlock(
            np.arange(count + 1, dtype=np.int64) * len(self.rows),
            np.tile(self.rows, count),
            pointers(owner, count),
            self.corpus.cases.functors[at],
        )
        return self.ops.assign(self.table, pairs)

    def align_down_to(self, floor: int) -> tuple[LongArray, LongArray, LongArray]:
        """Returns (cases, scores, rank keys) of all cases whose bound reaches the rank key ``floor``."""
        able = np.flatnonzero(self.bounds)
        able = able[self.keys(self.bounds[able].astype(np.int64), able) >= floor]
        scores = self.align(able)
        return able, scores, self.keys(scores, able)


def retrieve(corpus: Corpus, batch: CaseBatch, k: int, *, backend: str = AUTO) -> Hits:
    """Returns the certified top ``k`` of every query in ``batch``. See ``Index.retrieve``."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise QueryError(f"the top k = {k!r}", "k must be a whole number above 0", "Ask for one hit or more.")
    name, ops = choose(backend)
    places = min(int(k), max(len(corpus), 1))
    cases = np.full((len(batch), k), -1, np.int32)
    scores = np.zeros((len(batch), k), np.int64)
    rank_keys = np.zeros((len(batch), k), np.int64)
    aligned = np.zeros(len(batch), np.int64)

    table = corpus.pairs(distinct(batch.functors))
    lists = corpus.fold(table)
    tie_rank = np.arange(len(corpus), dtype=np.int32)
    block = max(1, _BLOCK_CELLS // max(len(corpus), 1))
    for start in range(0, len(batch), block):
        rows = range(start, min(start + block, len(batch)))
        queries = _open(corpus, ops, table, lists, batch, rows)
        if not queries:
            continue
        self_scores = np.array([q.self_score for q in queries], np.int64)
        limit = min(max(len(corpus), 1), max(4 * places, 64))
        bounds = np.stack([q.bounds for q in queries])
        short, _ = ops.select(bounds, corpus.normaliser, self_scores, tie_rank, limit)
        for at, (row, query) in enumerate(zip(rows, queries, strict=True)):
            found = _certify(query, short[at], places, tie_rank)
            count = len(found[0])
            cases[row, :count], scores[row, :count], rank_keys[row, :count] = found
            full = count == places
            aligned[row] = (
                _count_aligned(query, int(found[2][-1]), int(found[0][-1])) if full else np.count_nonzero(query.bounds)
            )

    filled = cases >= 0
    keys = np.full(cases.shape, "", dtype=object)
    keys[filled] = np.array((*corpus.keys, ""), dtype=object)[cases[filled]]
    rank = np.where(filled, np.arange(1, k + 1, dtype=np.int32), 0).astype(np.int32)
    return Hits(batch.keys, keys, cases, scores, rank_keys, rank, np.ones(len(batch), np.bool_), aligned, name)


def standing(corpus: Corpus, functors: IntArray, case: int, *, backend: str = AUTO) -> Standing:
    """Returns the exact score, rank and ties of one case for one query, also outside any top k.

    Args:
        corpus: the indexed cases.
        functors: int32, functors of the query, ascending.
        case: number of the case.
        backend: which ops to use.
    """
    query = _open_one(corpus, functors, backend)
    if not query.bounds[case]:
        return Standing(0, 0, None, 0, int(np.count_nonzero(query.bounds)))
    own = np.array([case])
    score = query.align(own)
    key = int(query.keys(score, own)[0])
    cases, _, keys = query.align_down_to(key)
    before = int((keys > key).sum()) + int(((keys == key) & (cases < case)).sum())
    aligned = _count_aligned(query, key, case)
    return Standing(int(score[0]), key, 1 + before, int((keys == key).sum()) - 1, aligned)


def tie_counts(corpus: Corpus, functors: IntArray, rank_keys: LongArray, *, backend: str = AUTO) -> list[int]:
    """Returns, for each rank key that a hit of this query has, how many other cases of the whole index have it too."""
    if not len(rank_keys):
        return []
    _, _, keys = _open_one(corpus, functors, backend).align_down_to(int(rank_keys.min()))
    return [int((keys == key).sum()) - 1 for key in rank_keys]


def _open_one(corpus: Corpus, functors: IntArray, backend: str) -> _Query:
    batch = CaseBatch.from_functors([""], [functors])
    table = corpus.pairs(batch.functors)
    return _open(corpus, choose(backend)[1], table, corpus.fold(table), batch, range(1))[0]


def _open(
    corpus: Corpus, ops: Ops, table: PairTable, lists: FoldedLists, batch: CaseBatch, rows: range
) -> list[_Query]:
    ptr = batch.ptr[rows.start : rows.stop + 1]
    list_numbers = table.rows_of(batch.functors[ptr[0] : ptr[-1]])
    bounds = ops.accumulate(lists, ptr - ptr[0], list_numbers.astype(np.int32))
    queries = []
    for at, row in enumerate(rows):
        functors = batch.functors_of(row)
        self_score = corpus.self_score(functors)
        if self_score >= SCORE_LIMIT:
            raise CapacityError(
                f"query {batch.keys[row] or row} of {len(functors)} statements",
                f"its self-score is {self_score} units of 2^-16 bit, where scores stay below 2^31",
                "Split the query; no setting raises this limit.",
            )
        queries.append(_Query(corpus, ops, table, table.rows_of(functors), self_score, bounds[at]))
    return queries


def _certify(
    query: _Query, shortlist: IntArray, places: int, tie_rank: IntArray
) -> tuple[LongArray, LongArray, LongArray]:
    """Returns (cases, scores, rank keys) of the top ``places``, proved, in rank order."""
    shortlist = shortlist[shortlist >= 0]
    able = int(np.count_nonzero(query.bounds))
    bound_keys = query.keys(query.bounds[shortlist].astype(np.int64), shortlist)
    cases, scores, keys = (np.zeros(0, np.int64) for _ in range(3))
    done = 0
    while done < able:
        if done == len(shortlist):  # the shortlist is used up without proof: take all that have a bound
            everything, _ = query.ops.select(
                query.bounds[None], query.corpus.normaliser, np.array([query.self_score]), tie_rank, able
            )
            shortlist = everything[0]
            bound_keys = query.keys(query.bounds[shortlist].astype(np.int64), shortlist)
        if len(cases) == places:
            worst, following = (keys[-1], -tie_rank[cases[-1]]), (bound_keys[done], -tie_rank[shortlist[done]])
            if following < worst:
                break
        new = shortlist[done : done + max(_FIRST_LOOK, done // 2)].astype(np.int64)
        done += len(new)
        new_scores = query.align(new)
        cases = np.concatenate([cases, new])
        scores = np.concatenate([scores, new_scores])
        keys = np.concatenate([keys, query.keys(new_scores, new)])
        order = np.lexsort((tie_rank[cases], -keys))[:places]
        cases, scores, keys = cases[order], scores[order], keys[order]
    return cases, scores, keys


def _count_aligned(query: _Query, key: int, case: int) -> int:
    """Returns how many cases have a bound that alone does not place them after a hit with this key and number."""
    able = np.flatnonzero(query.bounds)
    bound_keys = query.keys(query.bounds[able].astype(np.int64), able)
    return int(((bound_keys > key) | ((bound_keys == key) & (able <= case))).sum())
