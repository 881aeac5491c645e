"""A rising step function through outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Steps", "rising_steps"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """A step function that never falls.

    Attributes:
        starts: float64 ``[S]``, ascending: where each step begins.
        values: float64 ``[S]``, ascending.
    """

    starts: FloatArray
    values: FloatArray

    def __call__(self, points: FloatArray) -> FloatArray:
        """Returns the value at each point; before the first step it is that of the first."""
        at = np.searchsorted(self.starts, points, "right") - 1
        return self.values[np.maximum(at, 0)]


def rising_steps(points: FloatArray, outcomes: FloatArray) -> Steps:
    """Returns the rising step function nearest to the outcomes by squares, by pooling adjacent violators.

    (Ayer, Brunk, Ewing, Reid and Silverman 1955; for chances: Zadrozny and Elkan 2002.) Equal points have one value.

    Args:
        points: float64 ``[N]``, ``N`` above 0.
        outcomes: float64 ``[N]``.
    """
    starts, run = np.unique(points, return_inverse=True)
    sizes = np.bincount(run).tolist()
    sums = np.bincount(run, weights=outcomes).tolist()
    blocks: list[tuple[float, int, int]] = []  # sum, size, number of the first point
    for number, (total, size) in enumerate(zip(sums, sizes, strict=True)):
        block = (total, size, number)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:  # its mean is no lower
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2])
        blocks.append(block)
    return Steps(starts[[first for _, _, first in blocks]], np.array([total / size for total, size, _ in blocks]))
