"""Intervals by resampling whole clusters: cases that share one entity are no independent witnesses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "DRAWS",
    "Interval",
    "Means",
    "Resampled",
    "macro_mean",
    "resampled",
    "resampled_means",
    "resampled_statistic",
    "resampled_statistics",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

DRAWS = 10_000
_DRAWS_AT_ONCE = 500  # changes memory, never a draw


@dataclass(frozen=True)
class Interval:
    """A difference of means with its bootstrap interval and p-value.

    Attributes:
        difference: of the means of all questions.
        low: lower end.
        high: upper end.
        p: two-sided, never 0: the observed case counts.
    """

    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Resampled:
    """Differences between two arms under resampling of whole clusters.

    Attributes:
        difference: observed.
        draws: float64 ``[10,000]``, sorted; fewer where the difference is not defined in every draw.
    """

    difference: float
    draws: FloatArray

    def interval(self, tests: int = 1, level: float = 0.95) -> Interval:
        """Returns the percentile interval, simultaneous over ``tests`` comparisons (Bonferroni), and its p-value.

        The p-value is that of one comparison; a family of them is corrected by ``holm``.
        """
        tail = (1.0 - level) / (2 * tests)
        low, high = np.quantile(self.draws, [tail, 1.0 - tail])
        fewer = min(int((self.draws <= 0).sum()), int((self.draws >= 0).sum()))
        p = min(1.0, 2.0 * (fewer + 1) / (len(self.draws) + 1))
        return Interval(self.difference, float(low), float(high), p)


def resampled(
    first: FloatArray, second: FloatArray, clusters: Sequence[str], seed: int, *, macro: bool = False
) -> Resampled:
    """Returns the bootstrap of the difference ``first - second`` of means over the same questions.

    Whole clusters are drawn with replacement, as many as there are (Field and Welsh 2007), and both arms are judged on
    the same draw.

    Args:
        first: float64 ``[Q]``.
        second: float64 ``[Q]``.
        clusters: names, ``Q`` of them.
        seed: of the draws.
        macro: the mean over clusters of each cluster's own mean, instead of the mean over questions.
    """
    names, where = np.unique(np.array(clusters, dtype=object).astype(str), return_inverse=True)
    size = np.bincount(where, minlength=len(names)).astype(np.float64)
    total = np.bincount(where, weights=first - second, minlength=len(names)).astype(np.float64)
    if macro:
        total, size = total / size, np.ones(len(names), np.float64)
    draws = [(taken * total).sum(axis=1) / (taken * size).sum(axis=1) for taken in _drawn(len(names), seed)]
    return Resampled(float(total.sum() / size.sum()), np.sort(np.concatenate(draws)))


@dataclass(frozen=True)
class Means:
    """Means over cases, each with the interval that the same draws of clusters give.

    Attributes:
        value: float64 ``[M]``.
        low: float64 ``[M]``, lower ends; NaN where there are fewer than two clusters.
        high: float64 ``[M]``, upper ends.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray


def resampled_means(values: FloatArray, clusters: Sequence[str], seed: int, *, level: float = 0.95) -> Means:
    """Returns means over the same cases, with percentile intervals from one bootstrap of whole clusters.

    Args:
        values: float64 ``[M, Q]``, with one case or more.
        clusters: names, ``Q`` of them.
        seed: of the draws.
        level: of the intervals, each by itself.
    """
    names, where = np.unique(np.array(clusters, dtype=object).astype(str), return_inverse=True)
    size = np.bincount(where, minlength=len(names)).astype(np.float64)
    total = np.stack([np.bincount(where, weights=row, minlength=len(names)) for row in values])
    value: FloatArray = total.sum(axis=1) / size.sum()
    if len(names) < 2:
        return Means(value, np.full(len(value), np.nan), np.full(len(value), np.nan))
    draws = [(taken @ total.T) / (taken @ size)[:, None] for taken in _drawn(len(names), seed)]
    low, high = np.quantile(np.concatenate(draws), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Means(value, low, high)


def resampled_statistic(
    difference: Callable[[FloatArray], FloatArray], clusters: Sequence[str], seed: int
) -> Resampled:
    """Returns the bootstrap of a difference that is no mean over questions, whole clusters being drawn as above.

    Args:
        difference: of weights float64 ``[D, Q]``, how often each question counts in each of ``D`` draws, the difference
            in each, float64 ``[D]``; NaN where it is not defined.
        clusters: names, ``Q`` of them.
        seed: of the draws.
    """
    return resampled_statistics(lambda weights: difference(weights)[None], clusters, seed)[0]


def resampled_statistics(
    statistics: Callable[[FloatArray], FloatArray], clusters: Sequence[str], seed: int
) -> list[Resampled]:
    """Returns the bootstrap of several statistics on the same draws of whole clusters.

    Args:
        statistics: of weights as of ``resampled_statistic``, float64 ``[S, D]``; NaN where one is not defined.
        clusters: names, ``Q`` of them.
        seed: of the draws.
    """
    names, where = np.unique(np.array(clusters, dtype=object).astype(str), return_inverse=True)
    observed = statistics(np.ones((1, len(clusters))))[:, 0]
    parts = [statistics(taken[:, where].astype(np.float64)) for taken in _drawn(len(names), seed)]
    draws = np.concatenate(parts, axis=1)
    return [Resampled(float(one), np.sort(row[~np.isnan(row)])) for one, row in zip(observed, draws, strict=True)]


def _drawn(clusters: int, seed: int) -> Iterator[IntArray]:
    """Yields how often each cluster is drawn, int64 ``[draws, clusters]``, all ``DRAWS`` in parts."""
    generator = np.random.default_rng(seed)
    for start in range(0, DRAWS, _DRAWS_AT_ONCE):
        count = min(_DRAWS_AT_ONCE, DRAWS - start)
        yield generator.multinomial(clusters, np.full(clusters, 1.0 / clusters), size=count)


def macro_mean(values: FloatArray, clusters: Sequence[str]) -> float:
    """Returns the mean over clusters of each cluster's mean."""
    names, where = np.unique(np.array(clusters, dtype=object).astype(str), return_inverse=True)
    if not len(names):
        return float("nan")
    return float((np.bincount(where, weights=values) / np.bincount(where)).mean())
