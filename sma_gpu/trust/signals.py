"""What tells right hits from wrong ones: signals of each of a query's first hits, and of the query.

Every signal of a query depends on it and on its first ``PLACES`` hits alone: not on how many hits are wanted, on the
batch or on the backend. Which there are was chosen on held-out questions of four domains (decision 0018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CaseError, ShapeError
from ..lattice import Lattice
from ..lattice.arrays import expand, member
from ..retrieval import Hits, Index
from ..scoring.grid import GRID
from .stability import Separability, Stability

__all__ = [
    "GENERALISED",
    "HIT_SIGNALS",
    "PLACES",
    "QUERY_SIGNALS",
    "STABILITY_SIGNALS",
    "Signals",
    "signals_of",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
Number = TypeVar("Number", np.int32, np.int64, np.float64)

PLACES = 10
"""How many of a query's hits are looked at, however many are wanted."""

HIT_SIGNALS = (
    "explained",  # share of the query's own value that the mapping covers
    "relative",  # rank key over that of the first hit
    "unexplained_bits",  # log of what is left of the query's own value
    "contradicted",  # log of the number of contradictions
    "tied",  # log of the number of other cases with this rank key
    "case_terms",  # log of the number of statements of the case
    "case_bits",  # log of the score of the case with itself
    "place",  # log of the place
)
"""Signals of a hit. Logarithms are of 1 more than the number, but for the place."""

STABILITY_SIGNALS = (
    "not_separable",  # log of the number of other hits with which it changes places by one term
    "first_share",  # share of the reruns with one term changed in which it is first
)
"""Further signals of a hit, where its stability is known."""

QUERY_SIGNALS = (
    "query_bits",  # log of the query's own value
    "entropy",  # of the hits, each weighed by 2 to the bits that it lacks to the first, in nats
)
"""Signals of a query."""

GENERALISED = "generalised"
"""A further signal of a query: what the best generalisation leaves unexplained, a share, where it is known."""


@dataclass(frozen=True)
class Signals:
    """Signals of ``B`` queries and of their first ``P`` hits.

    Attributes:
        held: bool ``[B, P]``, whether there is a hit at this place; ``P`` is always ``PLACES``.
        of_hits: float64 ``[B, P, F]``; 0 where there is no hit.
        of_queries: float64 ``[B, G]``.
        hit_names: names of the ``F``.
        query_names: names of the ``G``.
    """

    held: BoolArray
    of_hits: FloatArray
    of_queries: FloatArray
    hit_names: tuple[str, ...] = HIT_SIGNALS
    query_names: tuple[str, ...] = QUERY_SIGNALS

    def __post_init__(self) -> None:
        count = len(self.held)
        shapes = self.held.shape, self.of_hits.shape, self.of_queries.shape
        wanted = (count, PLACES), (count, PLACES, len(self.hit_names)), (count, len(self.query_names))
        if shapes != wanted:
            raise ShapeError(
                f"signals of {count} queries", f"arrays of the shapes {shapes}", f"Give arrays of the shapes {wanted}."
            )
        if not (np.isfinite(self.of_hits).all() and np.isfinite(self.of_queries).all()):
            raise ShapeError(f"signals of {count} queries", "one is not finite", "Give finite numbers.")

    def __len__(self) -> int:
        return len(self.held)

    @classmethod
    def concatenate(cls, parts: Sequence[Signals]) -> Signals:
        """Returns the signals of all ``parts``, one or more of the same names, in one."""
        return cls(
            np.concatenate([part.held for part in parts]),
            np.concatenate([part.of_hits for part in parts]),
            np.concatenate([part.of_queries for part in parts]),
            parts[0].hit_names,
            parts[0].query_names,
        )

    def take(self, queries: npt.NDArray[np.integer]) -> Signals:
        """Returns the signals of the given queries, in the given order."""
        return Signals(
            self.held[queries], self.of_hits[queries], self.of_queries[queries], self.hit_names, self.query_names
        )


def signals_of(
    index: Index,
    batch: CaseBatch,
    excluded: Sequence[IntArray] | None,
    hits: Hits,
    ties: LongArray,
    stability: Stability | Separability | None = None,
    generalised: FloatArray | None = None,
) -> Signals:
    """Returns the signals of a batch of flat queries.

    Args:
        index: the indexed cases.
        batch: ``B`` queries.
        excluded: what each excludes, int32, ascending; where it is None, what ``batch`` holds of that.
        hits: ``index.retrieve(batch, k, mappings=True)`` with ``k`` at least ``PLACES``.
        ties: int64 ``[B, K]``, how many other cases have the rank key of each hit.
        stability: of the first hits, in as many places as ``hits`` or more than ``PLACES``; adds its two signals, or
            the first of them where it is separability alone.
        generalised: float64 ``[B]``, share of each query that its best generalisation leaves unexplained; adds a
            signal.

    Raises:
        CaseError: the hits come without their mappings, or too few of them were asked for.
        ShapeError: the arrays are not of as many queries, or stability is of fewer hits.
    """
    count, given = hits.cases.shape
    width = min(PLACES, len(index))
    if hits.mappings is None or given < width:
        raise CaseError(
            f"signals of {count} queries",
            "their hits have no mappings" if hits.mappings is None else f"{given} hits of each are at hand",
            f"Retrieve with mappings=True and a k of {PLACES} or more.",
        )
    _check_counts(batch, hits, excluded, ties, stability, generalised, width)
    ruled_out = batch if excluded is None else _with_excluded(batch, excluded)
    cases = _first(hits.cases, -1)
    held = cases >= 0
    key = np.where(held, _first(hits.rank_keys, 0), 0).astype(np.float64)
    first = np.maximum(key[:, :1], 1.0)
    relative = key / first
    explained = _first(hits.mappings.explained, 0.0)
    own = index.query_values(batch.ptr, batch.functors)
    # Sums of whole numbers below 2^53 are exact in float64.
    bits = np.bincount(np.repeat(np.arange(count), np.diff(batch.ptr)), own, count) / GRID
    columns = [
        explained,
        relative,
        np.log1p(np.maximum((1.0 - explained) * bits[:, None], 0.0)),
        np.log1p(_contradictions(index, ruled_out, cases)),
        np.log1p(_first(ties, 0)),
        np.log1p(_of_cases(np.diff(index.cases.ptr), cases)),
        np.log1p(_of_cases(index.normaliser.self_scores, cases) / GRID),
        np.broadcast_to(np.log(np.arange(1.0, PLACES + 1)), held.shape),
    ]
    names: tuple[str, ...] = HIT_SIGNALS
    if stability is not None:
        # Among the first places alone, or it would depend on how many hits are wanted.
        reorders = _reorders(stability)[:, :PLACES, :PLACES].sum(axis=2)
        columns.append(np.log1p(_first(reorders, 0)))
        names += STABILITY_SIGNALS[:1]
        if isinstance(stability, Stability):
            columns.append(_first(stability.first_share, 0.0))
            names += STABILITY_SIGNALS[1:]
    score = np.where(held[:, :1], _first(hits.score_q, 0)[:, :1], 0) / GRID
    of_queries = [np.log1p(bits), _entropy(score * (1.0 - relative), held)]
    query_names: tuple[str, ...] = QUERY_SIGNALS
    if generalised is not None:
        of_queries.append(generalised)
        query_names += (GENERALISED,)
    of_hits = np.where(held[:, :, None], np.stack(columns, axis=2), 0.0)
    return Signals(held, of_hits, np.stack(of_queries, axis=1).astype(np.float64), names, query_names)


def _reorders(stability: Stability | Separability) -> BoolArray:
    return (stability.separability if isinstance(stability, Stability) else stability).reorders


def _entropy(behind: FloatArray, held: BoolArray) -> FloatArray:
    """Returns the entropy of shares that halve with every bit ``[B, P]`` behind the first, nats, float64 ``[B]``."""
    weight = np.where(held, np.exp2(-behind), 0.0)
    whole, moment = np.zeros(len(behind)), np.zeros(len(behind))
    for place in range(PLACES):  # in a fixed order: the sum of a row must not depend on its batch
        whole += weight[:, place]
        moment += weight[:, place] * behind[:, place]
    some = np.where(whole > 0, whole, 1.0)
    return np.where(whole > 0, np.log(some) + np.log(2.0) * moment / some, 0.0)


def _contradictions(index: Index, batch: CaseBatch, cases: IntArray) -> LongArray:
    """Returns how many contradictions ``explain`` lists for each hit, int64 ``[B, P]``."""
    found = np.zeros(cases.shape, np.int64)
    query, place = np.nonzero(cases >= 0)
    case = cases[query, place]
    stored, lattice = index.cases, index.mounted.lattice
    for told_ptr, told, told_by, out_ptr, out, out_by in (
        (stored.ptr, stored.functors, case, batch.excluded_ptr, batch.excluded, query),
        (batch.ptr, batch.functors, query, stored.excluded_ptr, stored.excluded, case),
    ):
        able = np.flatnonzero(out_ptr[out_by + 1] > out_ptr[out_by])  # few queries and few cases exclude anything
        broken = _broken(lattice, (told_ptr, told, told_by[able]), (out_ptr, out, out_by[able]))
        np.add.at(found, (query[able], place[able]), broken)
    return found


_Side = tuple[npt.NDArray[np.integer], IntArray, npt.NDArray[np.integer]]


def _broken(lattice: Lattice, told: _Side, out: _Side) -> LongArray:
    """Returns for each pair of a row told and a row ruled out, how often one told is, or is below, one ruled out."""
    pair, at = expand(told[0], told[2])
    one, above = expand(lattice.closure.ptr, told[1][at])
    pair, ancestor = pair[one], lattice.closure.ancestors[above]
    width = len(lattice)
    out_pair, out_at = expand(out[0], out[2])
    barred = out_pair * width + out[1][out_at]  # ascending: pair by pair, and functors ascend in a row
    return np.bincount(pair[member(pair * width + ancestor, barred)], minlength=len(told[2])).astype(np.int64)


def _of_cases(values: npt.NDArray[Number], cases: IntArray) -> npt.NDArray[Number]:
    """Returns the value of each case, 0 of none."""
    return np.append(values, values.dtype.type(0))[cases]


def _first(values: npt.NDArray[Number], empty: float) -> npt.NDArray[Number]:
    """Returns the first ``PLACES`` columns, ``empty`` where there are fewer."""
    found = np.full((len(values), PLACES), empty, values.dtype)
    found[:, : values.shape[1]] = values[:, :PLACES]
    return found


def _with_excluded(batch: CaseBatch, excluded: Sequence[IntArray]) -> CaseBatch:
    present = [batch.functors_of(query) for query in range(len(batch))]
    return CaseBatch.from_functors(batch.keys, present, excluded)


def _check_counts(
    batch: CaseBatch,
    hits: Hits,
    excluded: Sequence[IntArray] | None,
    ties: LongArray,
    stability: Stability | Separability | None,
    generalised: FloatArray | None,
    width: int,
) -> None:
    count = len(hits)
    fits = (
        len(batch) == count
        and (excluded is None or len(excluded) == count)
        and ties.shape == hits.cases.shape
        and (generalised is None or generalised.shape == (count,))
    )
    reorders = None if stability is None else _reorders(stability)
    if not fits or (reorders is not None and (len(reorders) != count or reorders.shape[1] < width)):
        raise ShapeError(
            f"signals of {len(batch)} queries",
            f"hits of {count}, ties of shape {ties.shape}, or the rest, do not belong to them",
            f"Give everything for the same queries, and for their first {PLACES} hits.",
        )
