"""simGIC in plain SciPy: information content shared, over that of both sets together; exact, every case."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..term_sets import TermSets
from .protocol import LongArray, World
from .weights import first_of, information, matrix

__all__ = ["build"]

_CELLS = 1 << 24  # scores held at a time


def build(world: World, cases: TermSets) -> _SimGic:
    """Returns the weights of all cases, transposed for the product."""
    return _SimGic(world, world.closed(cases))


class _SimGic:
    def __init__(self, world: World, closed: TermSets) -> None:
        self._world = world
        self._weights = information(closed, len(world.ids))
        ones = matrix(closed, np.ones(len(world.ids), np.float32))
        self._own = (ones @ self._weights).astype(np.float32)
        self._by_term = ones.T.tocsr()

    def prepare(self, queries: TermSets) -> tuple[Any, Any]:
        rows = matrix(self._world.closed(queries), self._weights)
        return rows, np.asarray(rows.sum(axis=1), np.float32)

    def search(self, queries: tuple[Any, Any], k: int) -> LongArray:
        rows, own = queries
        step = max(1, _CELLS // max(len(self._own), 1))
        found = []
        for start in range(0, rows.shape[0], step):
            shared = (rows[start : start + step] @ self._by_term).toarray()
            union = own[start : start + step].reshape(-1, 1) + self._own[None] - shared
            found.append(first_of(shared / np.maximum(union, 1e-9), k))
        return np.concatenate(found)
