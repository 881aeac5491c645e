"""Intervals of several statistics of the same questions, ready for JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from ..statistics import resampled_statistics

__all__ = ["Statistic", "intervals"]

FloatArray = npt.NDArray[np.float64]
Statistic = Callable[[FloatArray], FloatArray]
"""Of weights float64 ``[D, Q]``, how often each question counts in each of ``D`` draws, a value in each."""


def intervals(
    statistics: Mapping[str, Statistic], clusters: Sequence[str], seed: int
) -> dict[str, dict[str, Any] | None]:
    """Returns ``difference``, ``low``, ``high`` and ``p`` of each statistic, all on the same draws of whole clusters.

    None for one that is not defined for the questions as they are.

    Args:
        statistics: by name.
        clusters: names, ``Q`` of them.
        seed: of the draws.
    """
    if not statistics:
        return {}
    found = resampled_statistics(
        lambda weights: np.stack([one(weights) for one in statistics.values()]), clusters, seed
    )
    return {
        name: None if np.isnan(one.difference) or not len(one.draws) else asdict(one.interval())
        for name, one in zip(statistics, found, strict=True)
    }
