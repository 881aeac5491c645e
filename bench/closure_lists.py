"""Our lists under another's scoring: BM25 over terms with all their ancestors, added up and selected by our ops.

Like for like with bm25s: the same words, weights and sums, so that what differs is the lists and the loops over them.
Weights are rounded to 2^-16, and equal sums are in the order of the cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lattice.arrays import pointers
from ..ops import FoldedLists, choose
from ..scoring import Dials, Normaliser
from ..scoring.grid import GRID
from .peers.bm25s_closure import K1, B
from .peers.protocol import LongArray, World
from .term_sets import TermSets

__all__ = ["build"]

_CELLS = 1 << 22  # bounds held at a time


def build(world: World, cases: TermSets, *, backend: str = "auto") -> _Lists:
    """Returns a list for each term: the cases that have it in their closure, with the weight it has there."""
    return _Lists(world, cases, backend)


class _Lists:
    def __init__(self, world: World, cases: TermSets, backend: str) -> None:
        self._world = world
        closed = world.closed(cases)
        sizes = np.diff(closed.ptr)
        owner = np.repeat(np.arange(len(closed), dtype=np.int32), sizes)
        order = np.argsort(closed.terms, kind="stable")
        term, owner = closed.terms[order], owner[order]
        held = np.bincount(term, minlength=len(world.ids))
        idf = np.log(1 + (len(closed) - held + 0.5) / (held + 0.5))
        damp = K1 * (1 - B + B * sizes / max(sizes.mean(), 1e-9))
        weight = np.rint(GRID * idf[term] / (1 + damp[owner])).astype(np.int32)
        entities = np.ones(len(closed), np.int32)
        self._lists = FoldedLists(pointers(term, len(world.ids)), owner, np.maximum(weight, 1), entities)
        self._normaliser = Normaliser.build(Dials(), np.ones(len(closed), np.int64))
        self._rank = np.arange(len(closed), dtype=np.int32)
        self._ops = choose(backend, cells=1 << 40)[1]

    def prepare(self, queries: TermSets) -> TermSets:
        return self._world.closed(queries)

    def search(self, queries: TermSets, k: int) -> LongArray:
        step, found = max(1, _CELLS // len(self._rank)), []
        for start in range(0, len(queries), step):
            part = queries.part(start, min(start + step, len(queries)))
            ones = np.ones(len(part), np.int32)
            bounds = self._ops.accumulate(self._lists, part.ptr, part.terms, ones)
            own = np.ones(len(part), np.int64)
            found.append(self._ops.select(bounds, self._normaliser, own, self._rank, k)[0])
        return np.concatenate(found).astype(np.int64)

    def facts(self, queries: TermSets, k: int) -> dict[str, Any]:
        """Returns the list entries added up for a query, on average."""
        return {"entries_added": int(np.diff(self._lists.ptr)[queries.terms].sum()) / max(len(queries), 1)}
