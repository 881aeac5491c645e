"""How far the hits of a query rest on single terms: reruns with one term changed, and pairs that one term tells apart.

Stability looks at some reruns, drawn from a seed: with one term dropped, climbed or added (``perturbations.py``).
Separability needs no seed: it looks at the query without each of its terms in turn. The reruns of all queries are one
batch, which is bounded once; ranks in it are exact, however far down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CapacityError, QueryError, ShapeError
from ..ops.registry import AUTO
from ..retrieval import Index
from ..retrieval.mappings import check_flat
from ..retrieval.standings import standings
from .perturbations import DROP, KINDS, Perturbations, Perturbed

__all__ = ["KINDS", "MOST_PLACES", "Separability", "Stability", "check_runs", "separability_of", "stability_of"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

MOST_PLACES = 1000  # hits of a query that are held against each other, each with each
_FIRST = 5
_NO_RANK = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Separability:
    """Which hits of ``B`` queries are told apart by one term alone, if at all.

    Two hits are separable where one stands before the other by rank key, and does so still, without any one of the
    query's terms. They are not where they tie, or where without some term the lower one is a hit that ties with the
    other or stands before it. (Order by key alone tells nothing apart.) Without a term neither may be a hit any more;
    then there is no order to change.

    Attributes:
        reorders: bool ``[B, K, K]``, symmetric: the hits at these two places are not separable.
    """

    reorders: BoolArray

    @property
    def counts(self) -> LongArray:
        """With how many other hits each changes places by one term, int64 ``[B, K]``."""
        found: LongArray = self.reorders.sum(axis=2)
        return found


@dataclass(frozen=True)
class Stability:
    """How the ``K`` hits of ``B`` queries fare in reruns with one term changed.

    Ranks are exact, among all cases that can be hits. In a rerun in which a hit shares nothing informative with the
    query it has no rank.

    Attributes:
        seed: what the reruns were drawn from.
        asked: how many distinct reruns of each query were wanted.
        runs: int32 ``[B]``, how many there were: fewer where there are no more, 0 for a query without hits.
        kinds: int32 ``[B, 3]``, how many of them dropped, climbed and added a term.
        first: int32 ``[B, K]``, in how many the hit is first.
        first_five: int32 ``[B, K]``, in how many it is among the first 5.
        ranked: int32 ``[B, K]``, in how many it has a rank.
        best: int32 ``[B, K]``, its best rank; 0 where it has none in any.
        worst: int32 ``[B, K]``, its worst rank of those it has; 0 where it has none in any.
        separability: which hits are told apart by one term alone.
    """

    seed: int
    asked: int
    runs: IntArray
    kinds: IntArray
    first: IntArray
    first_five: IntArray
    ranked: IntArray
    best: IntArray
    worst: IntArray
    separability: Separability

    @property
    def first_share(self) -> npt.NDArray[np.float64]:
        """Share of the reruns in which the hit is first, float64 ``[B, K]``; 0 where there was no rerun."""
        return self._share(self.first)

    @property
    def first_five_share(self) -> npt.NDArray[np.float64]:
        """Share of the reruns in which the hit is among the first 5, likewise."""
        return self._share(self.first_five)

    @property
    def not_separable(self) -> LongArray:
        """With how many other hits each changes places by one term, int64 ``[B, K]``."""
        return self.separability.counts

    def _share(self, counts: IntArray) -> npt.NDArray[np.float64]:
        runs = self.runs[:, None]
        return np.divide(counts, runs, out=np.zeros(counts.shape), where=runs > 0)


def stability_of(
    index: Index,
    batch: CaseBatch,
    cases: IntArray,
    *,
    runs: int,
    seed: int = 0,
    among: BoolArray | None = None,
    backend: str = AUTO,
    device: str = AUTO,
) -> Stability:
    """Returns how the hits of a batch fare in reruns with one term changed, and which are told apart by one term alone.

    What is said of a query depends on it, its hits, ``runs`` and ``seed`` alone: not on the batch or the backend.

    Args:
        index: the indexed cases, flat ones.
        batch: the queries, flat ones, with what they exclude.
        cases: int32 ``[B, K]``, numbers of the hits in rank order, -1 where there is none, such as ``Hits.cases``.
        runs: distinct reruns wanted of each query, 1 or more.
        seed: what they are drawn from.
        among: bool ``[N]`` or ``[B, N]``, the only cases that can be hits; all where it is None.
        backend: which ops to use.
        device: where they are to work.

    Raises:
        QueryError: ``runs`` is no whole number above 0, or ``seed`` none of 0 or more.
        CaseError: the queries or the stored cases have structure.
        ShapeError: ``cases`` or ``among`` is of another shape.
        CapacityError: there are more than ``MOST_PLACES`` places, or a bound would reach 2^31 units.
        BackendUnavailable: ``backend`` was named and cannot serve, or not on ``device``.
    """
    if not check_runs(runs, seed):
        raise QueryError("stability by 0 reruns", "there is nothing to look at", "Give 1 or more.")
    return _looked_at(index, batch, cases, runs, seed, among, backend, device)


def separability_of(
    index: Index,
    batch: CaseBatch,
    cases: IntArray,
    *,
    among: BoolArray | None = None,
    backend: str = AUTO,
    device: str = AUTO,
) -> Separability:
    """Returns which hits of a batch are told apart by one term alone; ``Stability`` holds this too.

    It needs no ranks, so it costs the alignment of the hits with the query without each term, and nothing else.

    Args:
        index: see ``stability_of``, as for the others.
        batch: likewise.
        cases: likewise.
        among: likewise.
        backend: likewise.
        device: likewise.

    Raises:
        CaseError, ShapeError, CapacityError, BackendUnavailable: see ``stability_of``.
    """
    return _looked_at(index, batch, cases, 0, 0, among, backend, device).separability


def check_runs(runs: int, seed: int) -> int:
    """Returns the number of reruns, 0 for none.

    Raises:
        QueryError: ``runs`` or ``seed`` is no whole number of 0 or more.
    """
    for name, value in (("stability", runs), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise QueryError(f"{name} = {value!r}", "it must be a whole number, 0 or more", "Give such a number.")
    return int(runs)


@dataclass
class _Reruns:
    """Queries made from the given ones, in rows: each as it is, without each term, and with the changes drawn."""

    owner: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    functors: list[IntArray] = field(default_factory=list)
    drawn: list[bool] = field(default_factory=list)

    def add(self, query: int, present: IntArray, drops: Sequence[Perturbed], drawn: Sequence[Perturbed]) -> None:
        """Takes in a query with its changes; a drop that was drawn is one row with that which is looked at anyhow."""
        dropped = {change.term for change in drawn if change.kind == DROP}
        others = [change for change in drawn if change.kind != DROP]
        changes = [*drops, *others]
        self.owner += [query] * (1 + len(changes))
        self.kind += [_AS_IT_IS, *(change.kind for change in changes)]
        self.functors += [present, *(change.functors for change in changes)]
        self.drawn += [False, *(change.term in dropped for change in drops), *(True for _ in others)]


_AS_IT_IS = -1


def _looked_at(
    index: Index,
    batch: CaseBatch,
    cases: IntArray,
    runs: int,
    seed: int,
    among: BoolArray | None,
    backend: str,
    device: str,
) -> Stability:
    check_flat(index, batch)
    masks = len(batch) if among is None or among.ndim != 2 else len(among)
    if cases.ndim != 2 or len(cases) != len(batch) or masks != len(batch):
        found = f"hits of shape {cases.shape}" + ("" if among is None else f" among cases of shape {among.shape}")
        raise ShapeError(f"the stability of {len(batch)} queries", found, "Give arrays with a row for each query.")
    places = cases.shape[1]
    if places > MOST_PLACES:
        why = f"{MOST_PLACES} at most are held against each other"
        raise CapacityError(f"the stability of {places} hits", why, f"Ask for {MOST_PLACES} hits or fewer.")
    ways, rows = Perturbations(index), _Reruns()
    for query in np.flatnonzero((cases >= 0).any(axis=1)).tolist():
        present, excluded = batch.functors_of(query), batch.excluded_of(query)
        drawn = ways.drawn(present, excluded, runs, seed) if runs else []
        rows.add(query, present, ways.drops(present), drawn)
    owner, kind = np.array(rows.owner, np.int64), np.array(rows.kind, np.int64)
    drawn_rows = np.array(rows.drawn, np.bool_)
    standing = standings(
        index,
        CaseBatch.from_functors([""] * len(owner), rows.functors),
        cases[owner],
        ranked=drawn_rows,
        among=among[owner] if among is not None and among.ndim == 2 else among,
        backend=backend,
        device=device,
    )
    counted, ranks = owner[drawn_rows], standing.ranks[drawn_rows]

    def in_runs(held: BoolArray) -> IntArray:
        counts = np.zeros(cases.shape, np.int32)
        np.add.at(counts, counted, held)
        return counts

    best, worst = np.full(cases.shape, _NO_RANK, np.int32), np.zeros(cases.shape, np.int32)
    np.minimum.at(best, counted, np.where(ranks > 0, ranks, _NO_RANK))
    np.maximum.at(worst, counted, ranks)
    kinds = np.zeros((len(batch), len(KINDS)), np.int32)
    np.add.at(kinds, (counted, kind[drawn_rows]), 1)
    return Stability(
        seed,
        runs,
        kinds.sum(axis=1, dtype=np.int32),
        kinds,
        in_runs(ranks == 1),
        in_runs((ranks > 0) & (ranks <= _FIRST)),
        in_runs(ranks > 0),
        np.where(best == _NO_RANK, np.int32(0), best),
        worst,
        Separability(_reorders(cases, owner, kind, standing.rank_keys)),
    )


def _reorders(cases: IntArray, owner: LongArray, kind: LongArray, keys: LongArray) -> BoolArray:
    """Returns which pairs of hits are not separable, bool ``[B, K, K]``.

    Args:
        cases: int32 ``[B, K]``.
        owner: int64 ``[rows]``, the query of each row; each query as it is stands before those without a term.
        kind: int64 ``[rows]``.
        keys: int64 ``[rows, K]``, rank keys, -1 for no hit.
    """
    places = cases.shape[1]
    found = np.zeros((len(cases), places, places), np.bool_)
    ahead = np.zeros((places, places), np.bool_)
    for row in np.flatnonzero((kind == _AS_IT_IS) | (kind == DROP)).tolist():
        query, mine, other = int(owner[row]), keys[row, :, None], keys[row, None, :]
        if kind[row] == _AS_IT_IS:
            ahead = (mine > other) & (other >= 0)
            found[query] = (mine == other) & (mine >= 0)
            np.fill_diagonal(found[query], val=False)
        else:
            passed = ahead & (other >= mine) & (other >= 0)
            found[query] |= passed | passed.T
    return found
