"""sparse_dot_topn: a sparse product that keeps the best of each row, over cosine-normalised information content."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..term_sets import TermSets
from .protocol import LongArray, World
from .weights import cosine_rows, information

__all__ = ["build"]


def build(world: World, cases: TermSets) -> _SparseTop:
    """Returns the rows of all cases, transposed for the product."""
    closed = world.closed(cases)
    return _SparseTop(world, closed)


class _SparseTop:
    def __init__(self, world: World, closed: TermSets) -> None:
        self._world = world
        self._weights = information(closed, len(world.ids))
        self._by_term = cosine_rows(closed, self._weights).T.tocsr()

    def prepare(self, queries: TermSets) -> Any:
        return cosine_rows(self._world.closed(queries), self._weights)

    def search(self, queries: Any, k: int) -> LongArray:
        from sparse_dot_topn import sp_matmul_topn

        best = sp_matmul_topn(queries, self._by_term, top_n=k, n_threads=1, sort=True)
        found = np.full((queries.shape[0], k), -1, np.int64)
        row = np.repeat(np.arange(len(found)), np.diff(best.indptr))
        found[row, np.arange(len(row)) - best.indptr[row]] = best.indices
        return found
