"""Similarity of whole sets: Jaccard and simGIC over terms with all their ancestors.

What they can never do: weigh how often a term holds, use excluded terms, or say which term answers which. Confidence is
the similarity of the best item and novelty what it lacks to 1; neither is calibrated.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .held import Asked, Held
from .matrix import NO_HIT, MatrixArm

__all__ = ["Jaccard", "SimGic"]

FloatArray = npt.NDArray[np.float64]


class SimGic(MatrixArm):
    """Information content of what both sets share over that of what either has (Pesquita et al. 2008)."""

    name = "simgic"
    similarity = True

    def fill(self, held: Held) -> None:
        """Weighs the terms."""
        self._weights = self.weights(held)
        self._own = held.closed @ self._weights
        self._by_term = held.closed.T.tocsr()

    def weights(self, held: Held) -> FloatArray:
        """Returns what each term counts, float64 ``[T]``."""
        return held.information

    def scores(self, asked: Asked) -> FloatArray:
        """Returns the similarity, in [0, 1]; nothing shared is no hit."""
        rows = asked.present.closed(self.setting.mounted)
        own = rows @ self._weights
        rows.data = self._weights[rows.indices]
        shared = (rows @ self._by_term).toarray()
        union = own[:, None] + self._own[None] - shared
        return np.where(shared > 0, np.minimum(shared / np.where(union > 0, union, 1.0), 1.0), NO_HIT)


class Jaccard(SimGic):
    """How many terms both sets have over how many either has."""

    name = "jaccard"

    def weights(self, held: Held) -> FloatArray:
        """Returns 1 for each term."""
        return np.ones(len(held.mounted.lattice))
