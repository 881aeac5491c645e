"""The floor: what is reached without looking at the query. Neither has confidence or novelty."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from .held import Asked, Held
from .matrix import NO_HIT, MatrixArm

__all__ = ["Chance", "Popularity"]

FloatArray = npt.NDArray[np.float64]


class Chance(MatrixArm):
    """A random order of all items, drawn from the seed and the query's own terms, so that it is the same each time.

    What it can never do: be right but by chance.
    """

    name = "random"

    def fill(self, held: Held) -> None:
        """Needs nothing."""

    def scores(self, asked: Asked) -> FloatArray:
        """Returns random numbers in [0, 1)."""
        found = np.zeros((len(asked), len(self.held)))
        ids = self.setting.mounted.ids
        for row in range(len(asked)):
            text = "\n".join([str(self.setting.seed), *(ids[term] for term in asked.present.members(row).tolist())])
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            found[row] = np.random.default_rng(seed).random(len(self.held))
        return found


class Popularity(MatrixArm):
    """Items with the most terms first, the same order for every query.

    What it can never do: tell one query from another.
    """

    name = "popularity"

    def fill(self, held: Held) -> None:
        """Needs nothing."""

    def scores(self, asked: Asked) -> FloatArray:
        """Returns how many terms each item has."""
        sizes = np.where(self.held.sets.sizes > 0, self.held.sets.sizes.astype(np.float64), NO_HIT)
        return np.tile(sizes, (len(asked), 1))
