"""A graph of phrases and items, walked at random from the phrases asked: personalised PageRank, as in HippoRAG.

Phrases are the names of terms, items are their passages (as in HippoRAG 2, Gutierrez et al. 2025). Edges, all of weight
1 and both ways: an item and each phrase that it contains, a term and each of its parents, and, in the form with
synonyms, phrases whose vectors have a cosine of 0.8 or more. The walk starts anew with probability 1/2 at one of the
phrases asked, chosen by how few items contain it (HippoRAG's node specificity). The ontology is given to the graph, in
place of the triples that a language model would extract from text.

What it can never do: use excluded terms or frequencies, or be sure: shares of a walk depend on the size of the graph,
so there is no confidence and no novelty.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..text_vectors import PACKAGED, vectors_of
from .held import Asked, Held
from .matrix import NO_HIT, MatrixArm

__all__ = ["PhraseGraph", "PhraseGraphSynonyms"]

FloatArray = npt.NDArray[np.float64]
LongArray = npt.NDArray[np.int64]

_DAMPING = 0.5  # HippoRAG's, where web search has 0.85
_STEPS = 20  # what is left after them is below 10^-11 of the whole
_ALIKE = 0.8
_ROUNDED = 1e-4  # far above what a cosine of two vectors in float32 can be off by
_ROWS, _PAIRS = 256, 1 << 14  # compared at a time; neither changes a pair
_TOGETHER = 32  # walks at a time: they fit a cache; a walk depends on no other


class PhraseGraph(MatrixArm):
    """Items by the share of a random walk that is at them; phrases are joined by is-a."""

    name = "phrase-graph"

    def fill(self, held: Held) -> None:
        """Lays out the graph: ``T`` phrases, then ``N`` items."""
        lattice = held.mounted.lattice
        size = len(lattice)
        child = np.repeat(np.arange(size), np.diff(lattice.parent_ptr))
        item = size + np.repeat(np.arange(len(held)), held.sets.sizes)
        one = np.concatenate([child, item])
        other = np.concatenate([lattice.parents, held.sets.terms])
        like, unlike = self.synonyms(held)
        one, other = np.concatenate([one, like]), np.concatenate([other, unlike])
        nodes = size + len(held)
        joined = scipy.sparse.coo_matrix((np.ones(len(one)), (one, other)), (nodes, nodes)).tocsr()
        joined = joined + joined.T
        joined.data[:] = 1.0
        joined.sort_indices()
        degrees = np.diff(joined.indptr)
        joined.data = 1.0 / degrees[joined.indices]  # a step out of a node is shared evenly among its edges
        self._steps = joined
        self._carried = np.bincount(held.sets.terms, minlength=size)

    def synonyms(self, held: Held) -> tuple[Any, Any]:
        """Returns pairs of phrases to join, as two arrays of term numbers."""
        nothing = np.zeros(0, np.int64)
        return nothing, nothing

    def scores(self, asked: Asked) -> FloatArray:
        """Returns the share of the walk at each item; an item that it does not reach is no hit."""
        size = len(self.setting.mounted.lattice)
        found = np.empty((len(asked), len(self.held)))
        for first in range(0, len(asked), _TOGETHER):
            part = range(first, min(first + _TOGETHER, len(asked)))
            start = np.zeros((self._steps.shape[0], len(part)))
            for column, row in enumerate(part):
                terms = asked.present.members(row)
                specificity = 1.0 / np.maximum(self._carried[terms], 1)
                if len(terms):
                    start[terms, column] = specificity / sum(specificity.tolist())
            found[first : first + len(part)] = self.walk(start)[size:].T
        return np.where(found > 0, found, NO_HIT)

    def walk(self, start: FloatArray) -> FloatArray:
        """Returns where the walks that begin at ``start``, float64 ``[T + N, walks]``, are in the long run.

        The power iteration with Chebyshev's weights, in a fixed number of steps, each a product of a sparse matrix and
        columns. They serve because a walk both ways along edges has real eigenvalues, in [-1, 1]; the plain iteration
        takes twice as many steps.
        """
        before, at, weight = np.zeros_like(start), (1.0 - _DAMPING) * start, 2.0
        for _ in range(_STEPS):
            weight = 1.0 / (1.0 - _DAMPING**2 * weight / 4.0)
            after = (1.0 - _DAMPING) * start + _DAMPING * (self._steps @ at)
            before, at = at, before + weight * (after - before)
        return at


class PhraseGraphSynonyms(PhraseGraph):
    """The same with edges between phrases of like meaning, by sentence vectors."""

    name = "phrase-graph-synonyms"

    def synonyms(self, held: Held) -> tuple[Any, Any]:
        """Returns the pairs of terms whose names have a cosine of 0.8 or more."""
        display = held.mounted.ontology.display
        names = tuple(display(number) for number in range(len(held.mounted.ontology)))
        if not names:
            return super().synonyms(held)
        one, other = _alike(names, self.setting.models.get("embedding", PACKAGED))
        return one, other


@lru_cache(maxsize=1)
def _alike(names: tuple[str, ...], model: str) -> LongArray:
    """Returns the pairs of places of names with a cosine of 0.8 or more, int64 ``[2, pairs]``, each once, in order."""
    vectors = vectors_of(names, model)
    short = vectors.astype(np.float32)  # finds what may be alike; the exact sum decides
    pairs = []
    for start in range(0, len(names), _ROWS):
        row, column = np.nonzero(short[start : start + _ROWS] @ short[start:].T >= _ALIKE - _ROUNDED)
        row, column = start + row[column > row], start + column[column > row]
        for first in range(0, len(row), _PAIRS):
            part = slice(first, first + _PAIRS)
            close = np.einsum("ij,ij->i", vectors[row[part]], vectors[column[part]]) >= _ALIKE
            pairs.append(np.stack([row[part][close], column[part][close]]))
    return np.concatenate([np.zeros((2, 0), np.int64), *pairs], axis=1)
