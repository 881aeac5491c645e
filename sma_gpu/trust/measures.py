"""How well a confidence tells right from wrong, and a score one kind from another, from per-query arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["aupr", "aurc", "auroc", "best_f1_threshold", "f1"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


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
