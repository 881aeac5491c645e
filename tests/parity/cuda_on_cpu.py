"""Runs the CUDA C++ sources on the CPU: builds them with g++ over the shim, and calls them as the launchers would."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sma_gpu.kernels.cuda import launch
from sma_gpu.ops import FoldedLists, PairBlock
from sma_gpu.ops.cuda import most_hypotheses
from sma_gpu.scoring import PairTable
from sma_gpu.scoring.grid import ENTITY_VALUE

SHIM = Path(__file__).resolve().parent / "shim"
SOURCES = Path(launch.__file__).resolve().parent
POISON = np.iinfo(np.int32).min
SCRATCH_POISON = 1 << 40  # as a dual it would keep a statement from every partner


class KernelFault(Exception):
    """What the shim found wrong with a kernel, whatever it computed."""


def constant(name: str, source: str) -> int:
    """Returns the value of ``#define name value`` in a source."""
    found = re.search(rf"#define {name} (\d+)", (SOURCES / source).read_text(encoding="utf-8"))
    assert found, f"{source} defines no {name}"
    return int(found[1])


@dataclass(frozen=True)
class Library:
    """The kernels as built with some sizes."""

    handle: Any
    tile: int
    pocket: int

    def accumulate(
        self, seed: int, lists: FoldedLists, query_ptr: Any, query_lists: Any, query_entities: Any, among: Any = None
    ) -> tuple[Any, Any]:
        """Returns bounds and overflow marks; both start as poison or zeros, as on the device."""
        queries, stored = len(query_entities), len(lists.entities)
        bounds = np.full((queries, stored), POISON, np.int32)
        overflow = np.zeros(queries, np.int32)
        if bounds.size:
            # Fewer blocks than work, so that the strides of the grid are walked too.
            grid = max(1, queries - 1), max(1, -(-stored // self.tile) - 1)
            given = [lists.ptr, lists.cases, lists.best, lists.entities, query_ptr, query_lists, query_entities]
            self._call(
                "run_accumulate",
                ctypes.c_uint64(seed),
                *grid,
                *[_pointer(a) for a in given],
                None if among is None else _pointer(among),
                _pointer(bounds),
                _pointer(overflow),
                ctypes.c_longlong(queries),
                ctypes.c_longlong(stored),
                ctypes.c_longlong(ENTITY_VALUE),
            )
        return bounds, overflow

    def assign(self, seed: int, table: PairTable, pairs: PairBlock, *, memory: int = 1 << 20) -> Any:
        """Returns the scores, launched as planned."""
        score = np.full(len(pairs), -1, np.int64)
        if not len(pairs):
            return score
        most = (int(side.max()) for side in most_hypotheses(table, pairs))
        for part in launch.assign_launches(len(pairs), *most, 3, memory):
            scratch = np.full(part.blocks * 4 * part.scratch_bytes // 8 + 1, SCRATCH_POISON, np.int64)
            given = [pairs.query, pairs.case, pairs.query_ptr, pairs.query_rows, pairs.case_ptr, pairs.case_kinds]
            self._call(
                "run_assign",
                ctypes.c_uint64(seed),
                part.blocks,
                *[_pointer(a) for a in (table.ptr, table.stored, table.value, *given, scratch)],
                ctypes.c_longlong(part.scratch_bytes),
                _pointer(score),
                ctypes.c_longlong(len(score)),
                ctypes.c_longlong(ENTITY_VALUE),
            )
            assert scratch[-1] == SCRATCH_POISON, "wrote beyond its memory"
        return score

    def start(self, name: str, seed: int, grid: tuple[int, ...], arguments: list[Any]) -> None:
        """Starts a kernel with the arguments of the launcher: arrays, sizes, and an unsigned 0 for a null pointer."""
        passed = [
            _pointer(a)
            if isinstance(a, np.ndarray)
            else None
            if isinstance(a, np.uint64)
            else ctypes.c_longlong(int(a))
            for a in arguments
        ]
        self._call(f"run_{name}", ctypes.c_uint64(seed), *grid, *passed)

    @contextmanager
    def only(self, block: int) -> Iterator[None]:
        """Runs but one block of each grid, counted along x first."""
        self.handle.run_only(ctypes.c_longlong(block))
        try:
            yield
        finally:
            self.handle.run_only(ctypes.c_longlong(-1))

    def _call(self, name: str, *arguments: Any) -> None:
        run = getattr(self.handle, name)
        run.restype = ctypes.c_char_p
        fault = run(*arguments)
        if fault:
            raise KernelFault(fault.decode())


def build(folder: Path, sizes: Mapping[str, int], sources: Path = SOURCES) -> Library:
    """Returns the kernels of ``sources``, compiled with other sizes where given: TILE, THREADS, POCKET."""
    target = folder / "kernels.so"
    command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{SHIM}", f"-I{sources}"]
    defines = [f"-D{name}={value}" for name, value in sorted(sizes.items())]
    done = subprocess.run(
        [*command, *defines, "-o", str(target), str(SHIM / "host.cpp")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    tile = sizes.get("TILE", constant("TILE", "accumulate.cu"))
    return Library(ctypes.CDLL(str(target)), tile, sizes.get("POCKET", constant("POCKET", "assign.cu")))


def _pointer(array: Any) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
