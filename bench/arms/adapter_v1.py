"""The published adapter, peer-exact: its shortlist and its budget are part of its ranking, so they are reproduced.

Package ``structuremappingmemory`` 1.2.1, as it behaves on flat cases: a bound that favours large cases fills a list of
80, alignment stops after 40, and the order among those aligned is by score over the larger self-score. Unlike the
engine it works in float64, holds a functor that no case has to be worth 1 bit, and merges greedily above 60 kernel
mappings. Two items of equal content are one case to it, under the key of the later one.

What it can never do: prove its top k over all cases, or tell a new query from a known one. It answers a query with
nothing in it by arbitrary cases with a score of 0, as published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from blake3 import blake3
from scipy.optimize import linear_sum_assignment

from ...cases import CaseBatch, encode_stored
from ...lattice import HopTable
from ...lattice.arrays import expand, pointers
from ...memory import IndexItem, Query, Retrieved
from ...ontologies.mount import Mounted
from ...retrieval import Index, check_k
from ...scoring import Dials
from .arm import Ranking, Setting

__all__ = ["AdapterV1"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_KERNEL_LIMIT = 60
_BOUND_FACTOR = 4.0
_UNSEEN_COST = 1.0


@dataclass(frozen=True)
class _Scored:
    case_id: str
    number: int
    score: float
    normalised: float


class AdapterV1:
    """The published memory with its frozen dials.

    Args:
        setting: ontology, domain, seed and models.
        shortlist: cases kept by the bound.
        budget: cases aligned at most.
    """

    name = "adapter-v1-peer-exact"

    def __init__(self, setting: Setting, *, shortlist: int = 80, budget: int = 40) -> None:
        self._mounted = setting.mounted
        self._shortlist = shortlist
        self._budget = budget
        self.index([])

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before."""
        contents: dict[str, tuple[int, IntArray]] = {}
        for place, item in enumerate(items):
            functors, _, _ = encode_stored(self._mounted, item.term_ids)
            if len(functors):
                contents[self.case_id(functors)] = (place, functors)
        self._ids = sorted(contents)
        self._places = [contents[i][0] for i in self._ids]
        self._keys = [items[place].key for place in self._places]
        batch = CaseBatch.from_functors(self._ids, [contents[i][1] for i in self._ids])
        self._index = Index.build(batch, self._mounted, Dials.adapter_v1())
        near = self._index.near
        size = len(self._mounted.lattice)
        covered = np.zeros(size, bool)
        for functor in np.flatnonzero(np.bincount(batch.functors, minlength=size)):
            covered[near.ancestors[near.ptr[functor] : near.ptr[functor + 1]]] = True
        self._costs = np.where(covered, self._index.costs, _UNSEEN_COST)
        self._case_ptr, self._case_of, self._case_count = _inverted(near, batch)

    def case_id(self, functors: IntArray) -> str:
        """Returns the content hash that the published package orders equal scores by."""
        texts = sorted(f"({t.replace(':', '_')} subject)" for t in (self._mounted.ontology.ids[f] for f in functors))
        return blake3("\n".join(texts).encode()).hexdigest()

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """Returns the best ``k`` items of every query in its own order, by normalised score, then by content hash.

        Confidence is as published: the raw score of the first hit over the greatest one returned. Ties beyond the last
        place are not known, since cases beyond the budget were never scored.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
        """
        check_k(k)
        items, scores = np.full((len(queries), k), -1, np.int64), np.full((len(queries), k), np.nan)
        confidence, novelty = np.full(len(queries), np.nan), np.ones(len(queries))
        for row, query in enumerate(queries):
            found = self.ranking(encode_query_as_given(self._mounted, query), k)
            items[row, : len(found)] = [self._places[f.number] for f in found]
            scores[row, : len(found)] = [f.normalised for f in found]
            if found:
                confidence[row] = _confidence(found)[0]
                novelty[row] = 1.0 - found[0].normalised
        return Ranking(items, scores, np.full(len(queries), -1, np.int64), confidence, novelty)

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns at most ``k`` hits in its own order; scores are normalised, confidence as published.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
        """
        found = self.ranking(encode_query_as_given(self._mounted, query), check_k(k))
        sure = _confidence(found)
        return [Retrieved(self._keys[f.number], f.normalised, sure[i], i + 1) for i, f in enumerate(found)]

    def novelty(self, query: Query) -> float:
        """Returns one minus the best normalised score; the published pool is not reproduced here."""
        found = self.ranking(encode_query_as_given(self._mounted, query), 1)
        return 1.0 - (found[0].normalised if found else 0.0)

    def ranking(self, functors: IntArray, k: int) -> list[_Scored]:
        """Returns the hits with raw and normalised scores."""
        own = self.self_score(functors)
        scored: list[_Scored] = []
        for bound, number in self._candidates(functors):
            if len(scored) >= self._budget:
                break
            kth = sorted((s.normalised for s in scored), reverse=True)[k - 1] if len(scored) >= k else None
            if kth is not None and bound / max(own, 1e-9) < kth:
                break
            stored = self._index.cases.functors_of(number)
            score = self.score(functors, stored)
            scored.append(_Scored(self._ids[number], number, score, score / max(own, self.self_score(stored), 1e-9)))
        return sorted(scored, key=lambda s: (-s.normalised, s.case_id))[:k]

    def self_score(self, functors: IntArray) -> float:
        """Returns the raw score of a case against itself, in bits."""
        return 1.0 + self._growth * float(self._costs[functors].sum()) if len(functors) else 0.0

    def score(self, query: IntArray, stored: IntArray) -> float:
        """Returns the raw score of a pair of flat cases, in bits."""
        table = self._index.pairs(query)
        row, column, at = table.between(table.rows_of(query), stored)
        if not len(row):
            return 0.0
        worth = np.zeros((len(query), len(stored)))
        worth[row, column] = self._costs[stored[column]] * self._index.dials.rho ** table.distance[at]
        # Its merge adds kernel mappings, each of which carries the pair of subjects: one more bit a pair.
        weight = np.zeros(worth.shape)
        weight[row, column] = self._growth * worth[row, column] + 1.0
        matched = self._greedy(weight, query, stored) if len(row) > _KERNEL_LIMIT else _assign(weight)
        return 1.0 + self._growth * sum(float(worth[i, j]) for i, j in matched)

    @property
    def _growth(self) -> float:
        return 1.0 + self._index.dials.gamma

    def _greedy(self, weight: FloatArray, query: IntArray, stored: IntArray) -> list[tuple[int, int]]:
        ids = self._mounted.ontology.ids
        order = sorted(
            zip(*np.nonzero(weight), strict=True),
            key=lambda e: (-weight[e], ids[stored[e[1]]].replace(":", "_"), ids[query[e[0]]].replace(":", "_")),
        )
        rows: set[int] = set()
        columns: set[int] = set()
        taken = []
        for row, column in order:
            if row not in rows and column not in columns:
                rows.add(row)
                columns.add(column)
                taken.append((int(row), int(column)))
        return taken

    def _candidates(self, functors: IntArray) -> list[tuple[float, int]]:
        near, size = self._index.near, len(self._ids)
        asked = np.bincount(
            near.ancestors[expand(near.ptr, functors)[1]], minlength=len(self._mounted.lattice)
        )  # how many terms of the query each feature covers
        common, shares = np.zeros(size), np.zeros(size, np.bool_)
        for feature in np.flatnonzero(asked).tolist():
            span = slice(self._case_ptr[feature], self._case_ptr[feature + 1])
            cases = self._case_of[span]
            common[cases] += self._costs[feature] * np.minimum(asked[feature], self._case_count[span])
            shares[cases] = True
        stored = self._index.cases
        same = np.add.reduceat(np.append(np.isin(stored.functors, functors), [False]), stored.ptr[:-1]) if size else 0
        bounds = np.where(shares, _BOUND_FACTOR * (common + same), 0.0)
        able = np.flatnonzero(shares)
        if len(able) < min(self._shortlist, size):
            able = np.arange(size)
        order = able[np.argsort(-bounds[able], kind="stable")]  # cases are numbered in the order of their content hash
        return [(float(bounds[case]), case) for case in order[: max(self._shortlist, 1)].tolist()]


def _inverted(near: HopTable, batch: CaseBatch) -> tuple[LongArray, LongArray, LongArray]:
    """Returns for each feature, a functor or what is near above it, the cases that have it and how often (CSR)."""
    statement, at = expand(near.ptr, batch.functors)
    owner = np.repeat(np.arange(len(batch)), np.diff(batch.ptr))[statement]
    feature_and_case, count = np.unique(
        near.ancestors[at].astype(np.int64) * max(len(batch), 1) + owner, return_counts=True
    )
    feature, case = np.divmod(feature_and_case, max(len(batch), 1))
    return pointers(feature, len(near.ptr) - 1), case, count


def _confidence(found: list[_Scored]) -> list[float]:
    top = max((f.score for f in found), default=0.0)
    return [f.score / top if top else 0.0 for f in found]


def encode_query_as_given(mounted: Mounted, query: Query) -> IntArray:
    """Returns the functors of a query without reducing it to its most specific terms, as the published package does."""
    return encode_stored(mounted, query.term_ids)[0]


def _assign(weight: FloatArray) -> list[tuple[int, int]]:
    row, column = linear_sum_assignment(weight, maximize=True)
    return [(int(i), int(j)) for i, j in zip(row, column, strict=True) if weight[i, j] > 0]
