"""The integer grid: every score is a whole number of 2^-16 bits, rounded once, when a hypothesis gets its value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ENTITY_VALUE", "GRID", "SCORE_LIMIT", "to_bits", "to_grid"]

GRID = 1 << 16  # units per bit
ENTITY_VALUE = GRID  # the value of a pair of entities
SCORE_LIMIT = 1 << 31  # scores and bounds stay below: int32 accumulators, and int64 products with a 30-bit factor


def to_grid(bits: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Returns ``bits`` in units of 2^-16 bit, int64, rounded half to even."""
    return np.rint(np.asarray(bits, dtype=np.float64) * GRID).astype(np.int64)


def to_bits(units: int) -> float:
    """Returns a number of units in bits. Exact: a float holds every score below 2^53 units."""
    return int(units) / GRID
