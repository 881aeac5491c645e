"""Signals brought to mean 0 and deviation 1, as they were in the solved cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

__all__ = ["Scaling"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scaling:
    """How ``F`` signals are scaled.

    What lies beyond all that was seen is taken for the nearest that was: a straight line says nothing out there.

    Attributes:
        mean: float64 ``[F]``.
        deviation: float64 ``[F]``, 1 for a signal that was always the same.
        least: float64 ``[F]``, least value that was seen.
        greatest: float64 ``[F]``.
    """

    mean: FloatArray
    deviation: FloatArray
    least: FloatArray
    greatest: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Returns the scaling of ``values``, float64 ``[N, F]``; of none, one that takes everything for 0."""
        if not len(values):
            zeros = np.zeros(values.shape[1])
            return cls(zeros, np.ones(values.shape[1]), zeros, zeros)
        deviation = values.std(axis=0)
        # A sum of equal numbers may miss their mean by a rounding.
        deviation[(values.min(axis=0) == values.max(axis=0)) | (deviation == 0)] = 1.0
        return cls(values.mean(axis=0), deviation, values.min(axis=0), values.max(axis=0))

    def scaled(self, values: FloatArray) -> FloatArray:
        """Returns ``values``, float64 ``[..., F]``, scaled."""
        return np.asarray((np.clip(values, self.least, self.greatest) - self.mean) / self.deviation, np.float64)
