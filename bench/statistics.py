"""Paired comparisons of two arms over the same questions: intervals, corrected p-values, effect sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..trust.resampling import Interval, Resampled, macro_mean, resampled, resampled_statistic, resampled_statistics

__all__ = [
    "Interval",
    "Resampled",
    "cliffs_delta",
    "holm",
    "macro_mean",
    "resampled",
    "resampled_statistic",
    "resampled_statistics",
    "win_tie_loss",
]

FloatArray = npt.NDArray[np.float64]


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values corrected for all comparisons of a family (Holm 1979), in the given order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, greatest = [1.0] * len(p_values), 0.0
    for place, number in enumerate(order):
        greatest = max(greatest, min(1.0, (len(p_values) - place) * p_values[number]))
        corrected[number] = greatest
    return corrected


def cliffs_delta(first: FloatArray, second: FloatArray) -> float:
    """Returns how much oftener a value of ``first`` is above one of ``second`` than below, in [-1, 1] (Cliff 1993)."""
    if not len(first) or not len(second):
        return float("nan")
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, side="left").sum()
    above = (len(second) - np.searchsorted(ordered, first, side="right")).sum()
    return float((int(below) - int(above)) / (len(first) * len(second)))


def win_tie_loss(first: FloatArray, second: FloatArray) -> tuple[int, int, int]:
    """Returns on how many questions ``first`` is above, equal and below."""
    return int((first > second).sum()), int((first == second).sum()), int((first < second).sum())
