"""Best matches by information content: each term looks for the one that is most like it on the other side.

What they can never do: match one to one (one stored term may serve every term asked), use excluded terms or
frequencies. The means in bits have no confidence and no novelty; Lin's, which end at 1, are both, uncalibrated.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...lattice.arrays import distinct
from ..term_sets import TermSets
from .held import Asked, Held, askers
from .matrix import NO_HIT, MatrixArm

__all__ = ["LinBestMatch", "Phenomizer", "ResnikOneSided"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]


class ResnikOneSided(MatrixArm):
    """Mean over the terms asked of the information content, in bits, shared with the best term of the item.

    What two terms share is the information content of their most informative common ancestor (Resnik 1995).
    """

    name = "resnik-one-sided"
    two_sided = False

    def fill(self, held: Held) -> None:
        """Lists, for each term, which of the terms that any item has are below it."""
        self._terms = distinct(held.sets.terms)
        alone = TermSets(np.arange(len(self._terms) + 1), self._terms)
        self._below = alone.closed(held.mounted).T.tocsr()
        self._at = np.searchsorted(self._terms, held.sets.terms)
        self._filled = np.flatnonzero(held.sets.sizes)
        self._mean = held.sets.rows(len(held.mounted.lattice))[:, self._terms]
        self._mean.data = np.repeat(1.0 / np.maximum(held.sets.sizes, 1), held.sets.sizes)

    def alike(self, term: int) -> FloatArray:
        """Returns how alike ``term`` and each term that any item has are, float64, 0 or more."""
        worth, lattice = self.held.information, self.setting.mounted.lattice
        above = lattice.ancestors_of(term)
        found = np.zeros(len(self._terms))
        for ancestor in above[np.argsort(worth[above], kind="stable")].tolist():  # the most informative one stays
            found[self._below.indices[self._below.indptr[ancestor] : self._below.indptr[ancestor + 1]]] = worth[
                ancestor
            ]
        return found

    def scores(self, asked: Asked) -> FloatArray:
        """Returns the mean, over both directions where it is two-sided; nothing shared is no hit."""
        total = np.zeros((len(asked), len(self.held)))
        back = np.zeros((len(asked), len(self._terms)))
        for term, rows in askers(asked.present):
            alike = self.alike(term)
            best = np.zeros(len(self.held))
            if len(self._filled):
                best[self._filled] = np.maximum.reduceat(alike[self._at], self.held.sets.ptr[self._filled])
            total[rows] += best
            if self.two_sided:
                back[rows] = np.maximum(back[rows], alike)
        total /= np.maximum(asked.present.sizes, 1)[:, None]
        if self.two_sided:
            total = (total + (self._mean @ np.ascontiguousarray(back.T)).T) / 2
        return np.where(total > 0, total, NO_HIT)


class Phenomizer(ResnikOneSided):
    """Mean of that and of the same from the item to the query (Koehler et al. 2009, without its p-values)."""

    name = "phenomizer"
    two_sided = True


class LinBestMatch(Phenomizer):
    """The same, two-sided, by Lin's measure: twice what is shared over what both are worth (Lin 1998), in [0, 1]."""

    name = "lin"
    similarity = True

    def alike(self, term: int) -> FloatArray:
        """Returns Lin's measure, in [0, 1]."""
        worth = self.held.information
        both = worth[term] + worth[self._terms]
        return 2 * super().alike(term) / np.where(both > 0, both, 1.0)
