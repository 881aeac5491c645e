"""BM25 by bm25s (Lucene's form, k1 1.5, b 0.75), over names and over terms with all their ancestors as words.

Its precomputed weights are taken as they are (float32) and summed in float64 in the order of the query's words, which
gives the scores of its own search without their rounding. A word that a query has twice counts twice.

What they can never do: use excluded terms or frequencies, or be sure: a BM25 score has no upper end, so there is no
confidence and no novelty.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .held import Asked, Held
from .matrix import NO_HIT, MatrixArm
from .texts import texts_of

__all__ = ["K1", "B", "Bm25Closure", "Bm25Names", "words_of"]

FloatArray = npt.NDArray[np.float64]

K1, B = 1.5, 0.75


class Bm25Names(MatrixArm):
    """BM25 over texts, or the names of terms where there are none; English stop words are left out, nothing stemmed."""

    name = "bm25-names"

    def fill(self, held: Held) -> None:
        """Indexes the words of all items."""
        documents = self.documents(held)
        self._number = {word: i for i, word in enumerate(sorted({word for words in documents for word in words}))}
        self._weights = _weights([[self._number[word] for word in words] for words in documents], self._number)

    def documents(self, held: Held) -> list[list[str]]:
        """Returns the words of each item."""
        return words_of(texts_of(self.setting.mounted, held.items, held.sets))

    def words(self, asked: Asked) -> list[list[str]]:
        """Returns the words of each query."""
        return words_of(texts_of(self.setting.mounted, asked.queries, asked.present))

    def askable(self, asked: Asked) -> npt.NDArray[np.bool_]:
        """Returns which queries have a word."""
        return np.array([bool(words) for words in self.words(asked)], np.bool_)

    def scores(self, asked: Asked) -> FloatArray:
        """Returns the BM25 score; no word in common is no hit."""
        known = [sorted(self._number[w] for w in words if w in self._number) for words in self.words(asked)]
        ptr = np.cumsum([0, *(len(words) for words in known)])
        words = np.array([word for of in known for word in of], np.int64)
        rows = scipy.sparse.csr_matrix((np.ones(len(words)), words, ptr), (len(asked), len(self._number)))
        found = (rows @ self._weights).toarray()
        return np.where(found > 0, found, NO_HIT)


class Bm25Closure(Bm25Names):
    """BM25 over term ids, each with all its ancestors as words."""

    name = "bm25-closure"

    def documents(self, held: Held) -> list[list[str]]:
        """Returns the ids that hold of each item."""
        return self._ids(held.closed)

    def words(self, asked: Asked) -> list[list[str]]:
        """Returns the ids that hold of each query."""
        return self._ids(asked.present.closed(self.setting.mounted))

    def _ids(self, closed: Any) -> list[list[str]]:
        ids = self.setting.mounted.ids
        terms = closed.indices.tolist()
        return [[ids[t] for t in terms[lo:hi]] for lo, hi in zip(closed.indptr, closed.indptr[1:], strict=False)]


def words_of(texts: Sequence[str]) -> list[list[str]]:
    """Returns the words of each text as bm25s cuts them: lower case, two letters or more, no English stop word."""
    import bm25s

    found: list[list[str]] = bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)
    return found


def _weights(documents: list[list[int]], words: dict[str, int]) -> Any:
    """Returns CSR ``[words, items]``, float64: what each word adds to the score of each item."""
    shape = (len(words), len(documents))
    if not words:
        return scipy.sparse.csr_matrix(shape)
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index((documents, words), show_progress=False, create_empty_token=False)
    held = index.scores
    return scipy.sparse.csr_matrix(
        (held["data"].astype(np.float64), held["indices"].astype(np.int64), held["indptr"].astype(np.int64)), shape
    )
