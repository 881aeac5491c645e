"""Where right items stand in rankings, and the measures of a ranking from that.

Equal scores are resolved three ways: ``optimistic`` puts the right item first among its equals, ``pessimistic`` last,
and ``mean`` is the expectation over a random order of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["TIES", "Places", "hits_at", "reciprocal_ranks"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TIES = ("optimistic", "mean", "pessimistic")


@dataclass(frozen=True)
class Places:
    """Where the right items of ``Q`` questions stand.

    Attributes:
        first: int64 ``[Q]``, place from 1 at which the run of equal scores begins that holds the first right item; 0
            where none was found.
        tied: int64 ``[Q]``, how many items that run holds.
        right: int64 ``[Q]``, how many of them are right.
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
