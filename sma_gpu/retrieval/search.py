"""From a batch to its top k, and from one query to all that can be said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.batch import check_functors
from ..errors import QueryError, ShapeError
from ..ops import Lists, Ops, WholeOps, choose
from ..ops.registry import AUTO
from ..ops.structure import NODE_BUDGET
from ..scoring import PairTable, kinds_of
from .block import QueryBlock
from .budget import Plan, plan_batch
from .corpus import Corpus
from .hits import Hits
from .mappings import Mappings, check_flat, map_block, map_hits
from .self_scores import own_values, self_scores

__all__ = ["OpenQuery", "Standing", "Top", "check_k", "open_blocks", "open_query", "retrieve"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


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
        block: a block of this query alone.
    """

    block: QueryBlock

    @property
    def corpus(self) -> Corpus:
        """The stored cases."""
        return self.block.corpus

    @property
    def table(self) -> PairTable:
        """Values of pairs; it holds a row for each kind of statement in the query, perhaps more."""
        return self.block.table

    @property
    def batch(self) -> CaseBatch:
        """The cases that the query is one of; with structure if the stored cases have it."""
        return self.block.batch

    @property
    def number(self) -> int:
        """Number of the query in ``batch``."""
        return int(self.block.numbers[0])

    @property
    def bounds(self) -> IntArray:
        """Bound of every case, int32 ``[N]``; 0 where nothing can match."""
        found: IntArray = self.block.bounds[0]
        return found

    @property
    def self_score(self) -> int:
        """Score of the query against itself, units of 2^-16 bit."""
        return int(self.block.self_scores[0])

    @property
    def rows(self) -> LongArray:
        """Row of ``table`` of each statement of the query, int64."""
        return self.block.rows[self._span]

    @property
    def own_values(self) -> LongArray:
        """Value of each statement of the query with itself, int64, units of 2^-16 bit."""
        return self.block.own_values[self._span]

    @property
    def _span(self) -> slice:
        return slice(int(self.batch.ptr[self.number]), int(self.batch.ptr[self.number + 1]))

    def top(self, k: int) -> Top:
        """Returns the certified top ``k``, ``k`` from 1 to the number of cases."""
        found = self.block.top(k)
        held = int((found.cases[0] >= 0).sum())
        return Top(
            found.cases[0, :held],
            found.scores[0, :held],
            found.limits[0, :held],
            found.rank_keys[0, :held],
            bool(found.certified[0]),
            int(found.aligned[0]),
        )

    def standing(self, case: int) -> Standing:
        """Returns score, rank and ties of one case, also outside any top k.

        They are exact where every best mapping that counts was proved within the node budget, as it always is for plain
        cases.
        """
        own = np.array([case], np.int64)
        score = self._align(own) if self.bounds[case] else np.zeros(1, np.int64)
        if not score[0]:
            return Standing(0, 0, None, 0, int(np.count_nonzero(self.bounds)))
        key = int(self._keys(score, own)[0])
        cases, keys = self._down_to(key)
        tie_rank = self.corpus.tie_rank
        before = int((keys > key).sum()) + int(((keys == key) & (tie_rank[cases] < tie_rank[case])).sum())
        able = np.flatnonzero(self.bounds)
        bound_keys = self._keys(self.bounds[able].astype(np.int64), able)
        aligned = int(((bound_keys > key) | ((bound_keys == key) & (tie_rank[able] <= tie_rank[case]))).sum())
        return Standing(int(score[0]), key, 1 + before, int((keys == key).sum()) - 1, aligned)

    def _keys(self, scores: LongArray, cases: LongArray) -> LongArray:
        return self.block.keys(np.zeros(len(cases), np.int64), cases, scores)

    def _align(self, cases: LongArray) -> LongArray:
        return self.block.align(np.zeros(len(cases), np.int64), cases)[0]

    def _down_to(self, floor: int) -> tuple[LongArray, LongArray]:
        """Returns (cases, rank keys) of all cases with a mapping whose bound reaches the rank key ``floor``."""
        able = np.flatnonzero(self.bounds)
        able = able[self._keys(self.bounds[able].astype(np.int64), able) >= floor]
        scores = self._align(able)
        able, scores = able[scores > 0], scores[scores > 0]
        return able, self._keys(scores, able)


def open_query(
    corpus: Corpus,
    query: IntArray | CaseBatch,
    *,
    backend: str = AUTO,
    node_budget: int = NODE_BUDGET,
    among: BoolArray | None = None,
) -> OpenQuery:
    """Returns one query, bounded against every case.

    Args:
        corpus: the stored cases.
        query: functors of a flat query, int32, or a batch of one case.
        backend: which ops to use.
        node_budget: greatest number of nodes in the search for one mapping.
        among: bool ``[N]``, the only cases that are looked at; all where it is None.

    Raises:
        BackendUnavailable: ``backend`` was named and cannot serve.
        ShapeError: ``among`` is of another shape or kind.
        CaseError: a functor that the ontology does not have.
        CapacityError: a bound or the query's self-score would reach 2^31 units.
    """
    batch = query if isinstance(query, CaseBatch) else CaseBatch.from_functors([""], [query])
    opened = OpenQuery(next(open_blocks(corpus, batch, choose(backend)[1], node_budget, among)))
    _ = opened.bounds  # ranks, ties and explanations all need them; what cannot be bounded is refused here
    return opened


def retrieve(
    corpus: Corpus,
    batch: CaseBatch,
    k: int,
    *,
    backend: str = AUTO,
    device: str = AUTO,
    node_budget: int = NODE_BUDGET,
    among: BoolArray | None = None,
    max_bytes: int | None = None,
    mappings: bool = False,
) -> Hits:
    """Returns the certified top ``k`` of every query in ``batch``. See ``Index.retrieve``."""
    places = min(check_k(k), len(corpus))
    name, ops = choose(backend, device, cells=len(batch) * len(corpus))
    check_functors(batch, corpus.mounted)
    _check_budget(node_budget)
    if mappings:
        check_flat(corpus, batch)
    cases = np.full((len(batch), places), -1, np.int32)
    scores, limits, rank_keys = (np.zeros((len(batch), places), np.int64) for _ in range(3))
    aligned = np.zeros(len(batch), np.int64)
    certified = np.ones(len(batch), np.bool_)  # without a case there is nothing to prove
    plan = plan_batch(*_spelled_alike(corpus, batch), ops, places, max_bytes, mappings=mappings)
    mapped: list[Mappings] = []
    wanted = _wanted(among, len(batch), len(corpus))
    for start in range(0, len(batch), plan.part) if places else ():
        whole = plan.part >= len(batch)
        part = batch if whole else batch.take(np.arange(start, min(start + plan.part, len(batch))))
        mask = wanted if wanted is None else wanted[start : start + plan.part]
        for block in open_blocks(corpus, part, ops, node_budget, mask, plan):
            at, found = start + block.numbers, block.top(places)
            cases[at], scores[at], limits[at] = found.cases, found.scores, found.limits
            rank_keys[at], aligned[at], certified[at] = found.rank_keys, found.aligned, found.certified
            if mappings:
                mapped.append(map_block(block, cases[at], name))
    rank = np.where(cases >= 0, np.arange(1, places + 1, dtype=np.int32), np.int32(0))
    if mappings and not mapped:  # there was no block
        mapped.append(map_hits(corpus, batch, cases, compiled=False))
    return Hits(
        batch.keys, corpus.key_column[cases], cases, scores, limits, rank_keys, rank, certified, aligned, name,
        Mappings.concatenate(mapped) if mapped else None,
    )  # fmt: skip


def check_k(k: int) -> int:
    """Returns ``k`` as an int.

    Raises:
        QueryError: it is not a whole number above 0.
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise QueryError(f"the top k = {k!r}", "k must be a whole number above 0", "Ask for one hit or more.")
    return int(k)


def open_blocks(
    corpus: Corpus,
    batch: CaseBatch,
    ops: Ops,
    node_budget: int = NODE_BUDGET,
    among: BoolArray | None = None,
    plan: Plan | None = None,
) -> Iterator[QueryBlock]:
    """Yields the queries of a batch in blocks, to be ranked against every case, or every one ``among`` those wanted.

    Args:
        corpus: the stored cases.
        batch: the queries.
        ops: what bounds and aligns.
        node_budget: greatest number of nodes in the search for one mapping.
        among: bool ``[N]`` or ``[B, N]``.
        plan: the size of blocks, and what lists may take; it changes no answer. Where it is None, what is quick.
    """
    _check_budget(node_budget)
    check_functors(batch, corpus.mounted)
    wanted = _wanted(among, len(batch), len(corpus))
    corpus, batch = _spelled_alike(corpus, batch)
    plan = plan or plan_batch(corpus, batch, ops)
    lists: Lists
    if batch.structure is None:
        if corpus.dials.weighing:
            kinds, rows = corpus.query_kinds(batch.ptr, batch.functors)
            table = corpus.pairs_of(kinds)
            lists = corpus.postings(table) if isinstance(ops, WholeOps) else corpus.fold(table)
        else:
            table, lists = corpus.lists_for(batch.functors, ops, spare_bytes=plan.spare_bytes)
            every = len(table.functors) == len(corpus.costs)  # then a functor has its own number as row
            rows = batch.functors.astype(np.int64) if every else table.rows_of(batch.functors)
        own = corpus.query_values(batch.ptr, batch.functors)
    else:
        kinds, rows = kinds_of(batch, len(corpus.mounted.lattice), corpus.shapes.copy(), corpus.dials.gamma)
        own = own_values(corpus.dials, corpus.costs, kinds)[rows]
        table = corpus.pairs_of(kinds)
        lists = corpus.postings(table) if isinstance(ops, WholeOps) else corpus.fold(table)
    own_scores = self_scores(batch, own)
    for start in range(0, len(batch), plan.block):
        numbers = np.arange(start, min(start + plan.block, len(batch)))
        part = None if wanted is None else wanted[start : start + plan.block]
        yield QueryBlock(corpus, batch, numbers, table, lists, rows, own, own_scores[numbers], node_budget, part, ops)


def _check_budget(node_budget: int) -> None:
    if isinstance(node_budget, bool) or not isinstance(node_budget, int | np.integer) or node_budget < 0:
        raise QueryError(
            f"a node budget of {node_budget!r}",
            "it must be a whole number, 0 or more",
            "Give a number of search nodes.",
        )


def _spelled_alike(corpus: Corpus, batch: CaseBatch) -> tuple[Corpus, CaseBatch]:
    """Returns both with structure where one has it."""
    if batch.structure is not None:
        corpus = corpus.spelled_out
    return corpus, batch if corpus.cases.structure is None else batch.spelled_out()


def _wanted(among: BoolArray | None, queries: int, cases: int) -> BoolArray | None:
    """Returns the cases that each query may have, bool ``[B, N]``."""
    if among is None:
        return None
    if not isinstance(among, np.ndarray) or among.dtype != np.bool_ or among.shape not in ((cases,), (queries, cases)):
        found = f"{among.dtype} {among.shape}" if isinstance(among, np.ndarray) else type(among).__name__
        raise ShapeError(
            f"{queries} queries among some of {cases} cases",
            f"among is {found}",
            f"Give a bool array of shape ({cases},), or ({queries}, {cases}) for a choice of each query's own.",
        )
    return np.broadcast_to(among, (queries, cases))
