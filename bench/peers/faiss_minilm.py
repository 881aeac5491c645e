"""faiss, flat: a case is the mean of the MiniLM vectors of its terms' names; inner product, every case.

Vectors of names are made once, by a process of their own, and kept in the cache folder: that takes longer than all
else, and neither its time nor torch's memory is the index's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ..term_sets import TermSets
from ..text_vectors import vectors_of
from .protocol import LongArray, World

__all__ = ["build", "ready"]

FloatArray = npt.NDArray[np.float32]
_CASES = 50_000  # pooled at a time


def ready(world: World) -> None:
    """Makes the vectors of all names where they are not kept yet; called before the clock of ``build`` starts."""
    command = [sys.executable, "-m", "sma_gpu.bench.text_vectors"]
    subprocess.run(command, input=json.dumps(world.names), text=True, check=True)


def build(world: World, cases: TermSets) -> _Flat:
    """Returns the index of all cases."""
    import faiss

    faiss.omp_set_num_threads(1)
    built = _Flat(world)
    vectors = built.prepare(cases)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    built.index = index
    return built


class _Flat:
    def __init__(self, world: World) -> None:
        self._vectors: FloatArray = vectors_of(world.names).astype(np.float32)
        self.index: Any = None
        self.note = "vectors of names, made once before, not counted"

    def prepare(self, queries: TermSets) -> FloatArray:
        pooled = np.empty((len(queries), self._vectors.shape[1]), np.float32)
        for start in range(0, len(queries), _CASES):
            part = queries.part(start, min(start + _CASES, len(queries)))
            sums = np.add.reduceat(self._vectors[part.terms], part.ptr[:-1], axis=0)
            pooled[start : start + len(part)] = sums
        pooled /= np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
        return pooled

    def search(self, queries: FloatArray, k: int) -> LongArray:
        found: LongArray = self.index.search(queries, k)[1]
        return found.astype(np.int64)
