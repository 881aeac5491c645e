"""Measures of a ranking, of confidence and of novelty, from per-query arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..trust.measures import aupr, aurc, auroc, best_f1_threshold, f1
from ..trust.places import TIES, Places, hits_at, reciprocal_ranks

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
    "weighted_aurc",
    "weighted_auroc",
    "weighted_f1",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def weighted_aurc(confidence: FloatArray, correct: FloatArray, weights: FloatArray) -> FloatArray:
    """Returns ``aurc`` with every question asked as often as each row of ``weights`` says, float64 ``[D]``.

    Of ``W`` equals behind ``A`` answered ones that lost ``L``, each losing ``r``, the risks add up to
    ``W r + (L - A r) (H(A + W) - H(A))`` with the harmonic numbers ``H``.

    Args:
        confidence: float64 ``[Q]``.
        correct: float64 ``[Q]``, in [0, 1].
        weights: float64 ``[D, Q]``, whole numbers, as of ``D`` bootstrap draws.
    """
    order = np.argsort(-confidence, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], confidence[order][1:] != confidence[order][:-1]]))
    drawn = weights[:, order]
    size, lost = (np.add.reduceat(part, starts, axis=1) for part in (drawn, drawn * (1.0 - correct[order])))
    ends = np.cumsum(size, axis=1)
    before, rate = ends - size, lost / np.maximum(size, 1.0)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1.0, ends.max() + 1.0))])
    spread = harmonic[ends.astype(np.int64)] - harmonic[before.astype(np.int64)]
    area = size * rate + (np.cumsum(lost, axis=1) - lost - before * rate) * spread
    return np.asarray(area.sum(axis=1) / ends[:, -1], np.float64)


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
