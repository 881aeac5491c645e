"""bm25s with its numba backend: BM25 (k1 1.5, b 0.75) over terms with all their ancestors as words."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from ..term_sets import TermSets
from .protocol import LongArray, World

__all__ = ["K1", "B", "build"]

K1, B = 1.5, 0.75


def build(world: World, cases: TermSets) -> _Bm25:
    """Returns the index of all cases."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    closed = world.closed(cases)
    index = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numba")
    words = {str(number): number for number in range(len(world.ids))}
    texts = [closed.members(number).tolist() for number in range(len(closed))]
    index.index((texts, words), show_progress=False, create_empty_token=False)
    return _Bm25(world, index)


class _Bm25:
    def __init__(self, world: World, index: Any) -> None:
        self._world, self._index = world, index

    def prepare(self, queries: TermSets) -> list[list[int]]:
        closed = self._world.closed(queries)
        return [closed.members(number).tolist() for number in range(len(closed))]

    def search(self, queries: list[list[int]], k: int) -> LongArray:
        best = self._index.retrieve(queries, k=k, show_progress=False, n_threads=1, return_as="tuple").documents
        return np.asarray(best).astype(np.int64)
