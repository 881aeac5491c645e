"""Weights and matrices over terms with all their ancestors, which several peers share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..term_sets import TermSets
from .protocol import LongArray

__all__ = ["cosine_rows", "first_of", "information", "matrix"]


def information(closed: TermSets, terms: int) -> npt.NDArray[np.float32]:
    """Returns the information content of each term in nats: that of the rarest for a term that no case has."""
    held = np.bincount(closed.terms, minlength=terms)
    return -np.log(np.maximum(held, 1) / len(closed)).astype(np.float32)


def matrix(closed: TermSets, weights: npt.NDArray[np.float32]) -> Any:
    """Returns the CSR matrix of sets by terms, each entry the weight of its term."""
    indices = closed.terms.astype(np.int32)
    ptr = closed.ptr.astype(np.int32 if len(indices) < 1 << 31 else np.int64)
    return scipy.sparse.csr_matrix((weights[indices], indices, ptr), (len(closed), len(weights)))


def cosine_rows(closed: TermSets, weights: npt.NDArray[np.float32]) -> Any:
    """Returns the same with rows of length 1 and no zeros."""
    rows = matrix(closed, weights)
    rows.eliminate_zeros()
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows.data /= np.repeat(np.maximum(norms, 1e-9), np.diff(rows.indptr)).astype(np.float32)
    return rows


def first_of(scores: npt.NDArray[np.float32], k: int) -> LongArray:
    """Returns the columns of the ``k`` greatest scores of each row, the greatest first, int64."""
    k = min(k, scores.shape[1])
    best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.lexsort((best, -np.take_along_axis(scores, best, 1)), axis=1)
    return np.take_along_axis(best, order, 1).astype(np.int64)
