"""Measures of a ranking, of confidence and of novelty, from per-query arrays.

Equal scores are resolved three ways: ``optimistic`` puts the right item first among its equals, ``pessimistic`` last,
and ``mean`` is the expectation over a random order of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "TIES",
    "Places",
    "aupr",
    "aurc",
    "auroc",
    "best_f1_threshold",
    "f1",
    "hits_at",
    "reciprocal_ranks",
    "weighted_auroc",
    "weighted_f1",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

TIES = ("optimistic", "mean", "pessimistic")


@dataclass(frozen=True)
class Places:
    """Where the right items of ``Q`` questions stand; see ``rows.Row``.

    Attributes:
        first: int64 ``[Q]``, 0 where none was found.
        tied: int64 ``[Q]``.
        right: int64 ``[Q]``.
    """

    first: IntArray
    tied: IntArray
    right: IntArray

    def __len__(self) -> int:
        return len(self.first)


def hits_at(places: Places, k: int, ties: str = "mean") -> FloatArray:
    """Returns for each question how likely a right item is among the first ``k``, float64 ``[Q]``."""
    found = places.first > 0
    room = np.clip(k - (places.first - 1), 0, places.tied)
    if ties == "optimistic":
        return (found & (room > 0)).astype(np.float64)
    if ties == "pessimistic":
        return (found & (room > places.tied - places.right)).astype(np.float64)
    # No right one among `room` drawn without replacement from `tied` of which `right` are right.
    missed = np.ones(len(places))
    for drawn in range(k):
        left = np.maximum(places.tied - drawn, 1)
        wrong = np.maximum(places.tied - places.right - drawn, 0)
        missed = np.where(found & (drawn < room), missed * wrong / left, missed)
    return 1.0 - missed


def reciprocal_ranks(places: Places, ties: str = "mean") -> FloatArray:
    """Returns one over the rank of the first right item, 0 where none was found, float64 ``[Q]``."""
    first = places.first.astype(np.float64)
    found = places.first > 0
    if ties != "mean":
        rank = first if ties == "optimistic" else first + places.tied - places.right
        return np.where(found, 1.0 / np.where(found, rank, 1.0), 0.0)
    values = [
        _expected_reciprocal(f, t, r) if f else 0.0
        for f, t, r in zip(places.first.tolist(), places.tied.tolist(), places.right.tolist(), strict=True)
    ]
    return np.array(values, np.float64)


def _expected_reciprocal(first: int, tied: int, right: int) -> float:
    # `chance` that the first right one stands `skipped` places into the run, all wrong ones before it.
    total, chance = 0.0, right / tied
    for skipped in range(tied - right + 1):
        total += chance / (first + skipped)
        chance *= (tied - right - skipped) / max(tied - 1 - skipped, 1)
    return total


def aurc(confidence: FloatArray, correct: FloatArray) -> float:
    """Returns the area under the risk-coverage curve, in [0, 1]; lower is better (Geifman and El-Yaniv 2017).

    The mean, over every number of questions answered, of the share of wrong ones among those answered, most confident
    first. Among equals the order is random, so each counts with their mean.

    Args:
        confidence: float64 ``[Q]``.
        correct: float64 ``[Q]``, how right each answer is, in [0, 1].
    """
    if not len(confidence):
        return float("nan")
    _, run = np.unique(-confidence, return_inverse=True)
    sizes = np.bincount(run)
    risk = np.bincount(run, weights=1.0 - correct) / sizes
    answered = np.arange(1, len(confidence) + 1)
    return float((np.cumsum(np.repeat(risk, sizes)) / answered).mean())


def auroc(score: FloatArray, positive: BoolArray) -> float:
    """Returns the chance that a positive scores above a negative, ties as half; NaN where one kind is missing."""
    values, run = np.unique(score, return_inverse=True)
    above = np.bincount(run[positive], minlength=len(values)).astype(np.float64)
    below = np.bincount(run[~positive], minlength=len(values)).astype(np.float64)
    pairs = above.sum() * below.sum()
    under = np.cumsum(below) - below
    return float((above * (under + below / 2)).sum() / pairs) if pairs else float("nan")


def aupr(score: FloatArray, positive: BoolArray) -> float:
    """Returns the average precision over falling score, equal scores taken at once; NaN without a positive."""
    values, run = np.unique(-score, return_inverse=True)
    found = np.cumsum(np.bincount(run[positive], minlength=len(values)))
    taken = np.cumsum(np.bincount(run, minlength=len(values)))
    total = int(positive.sum())
    gained = np.diff(np.concatenate([[0], found]))
    return float((gained * found / taken).sum() / total) if total else float("nan")


def f1(said: BoolArray, positive: BoolArray) -> float:
    """Returns the harmonic mean of precision and recall; 0 where nothing said is true."""
    true = int((said & positive).sum())
    called, real = int(said.sum()), int(positive.sum())
    return 2.0 * true / (called + real) if called + real else float("nan")


def best_f1_threshold(score: FloatArray, positive: BoolArray) -> float:
    """Returns the threshold at or above which calling positive gives the greatest F1; the highest of several.

    It is chosen on one part of the questions and judged on another.
    """
    values = np.unique(score)[::-1]
    found = [f1(score >= value, positive) for value in values.tolist()]
    return float(values[int(np.argmax(found))]) if len(values) else float("nan")


def weighted_auroc(score: FloatArray, positive: BoolArray, weights: FloatArray) -> FloatArray:
    """Returns ``auroc`` with every question counted as often as each row of ``weights`` says, float64 ``[D]``.

    Args:
        score: float64 ``[Q]``.
        positive: bool ``[Q]``.
        weights: float64 ``[D, Q]``, as of ``D`` bootstrap draws.
    """
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], score[order][1:] != score[order][:-1]]))
    above, below = (np.add.reduceat(weights[:, order] * side[order], starts, axis=1) for side in (positive, ~positive))
    under = np.cumsum(below, axis=1) - below
    pairs = above.sum(axis=1) * below.sum(axis=1)
    won = (above * (under + below / 2)).sum(axis=1)
    return np.where(pairs > 0, won / np.where(pairs > 0, pairs, 1.0), np.nan)


def weighted_f1(said: BoolArray, positive: BoolArray, weights: FloatArray) -> FloatArray:
    """Returns ``f1`` with every question counted as often as each row of ``weights`` says, float64 ``[D]``."""
    true = weights @ (said & positive)
    both = weights @ said.astype(np.float64) + weights @ positive.astype(np.float64)
    return np.where(both > 0, 2.0 * true / np.where(both > 0, both, 1.0), np.nan)
