"""One arm of a measurement in a process of its own, so that its memory is its own.

``python -m sma_gpu.bench.arm_process FOLDER``. Requests come as lines of JSON on standard input, answers go as lines of
JSON to where standard output was when the process started; what an arm prints goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .machine import Clock, package_version, peak_mb
from .peers.protocol import World
from .term_sets import TermSets

__all__ = ["load", "store"]

_ARRAYS = ("closure_ptr", "closure_terms", "case_ptr", "case_terms", "query_ptr", "query_terms")


def store(folder: Path, world: World, cases: TermSets, queries: TermSets) -> None:
    """Writes what all arms are given into ``folder``."""
    for prefix, sets in (("closure", world.closure), ("case", cases), ("query", queries)):
        np.save(folder / f"{prefix}_ptr.npy", sets.ptr)
        np.save(folder / f"{prefix}_terms.npy", sets.terms)
    words = {"ids": world.ids, "names": world.names, "ontology_file": str(world.ontology_file)}
    (folder / "words.json").write_text(json.dumps(words), encoding="utf-8")


def load(folder: Path) -> tuple[World, TermSets, TermSets]:
    """Returns what was stored in ``folder``: the ontology, the cases, the queries."""
    held = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in _ARRAYS}
    closure, cases, queries = (
        TermSets(held[f"{prefix}_ptr"], held[f"{prefix}_terms"]) for prefix in ("closure", "case", "query")
    )
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    world = World(tuple(words["ids"]), tuple(words["names"]), closure, Path(words["ontology_file"]))
    return world, cases, queries


class _Arm:
    def __init__(self, folder: Path) -> None:
        self._world, self._cases, self._queries = load(folder)
        self._built: Any = None

    def build(self, module: str, options: dict[str, Any], packages: Sequence[str] = ()) -> dict[str, Any]:
        made = importlib.import_module(module)
        if hasattr(made, "ready"):
            made.ready(self._world)
        clock = Clock()
        self._built = made.build(self._world, self._cases, **options)
        took = clock.read()
        versions = {name: package_version(name) for name in packages}
        return {**took, "note": getattr(self._built, "note", ""), "versions": versions}

    def search(self, mode: str, start: int, stop: int, k: int, *, brief: bool = False) -> dict[str, Any]:
        call = self._built.modes[mode] if mode else self._built.search
        queries = self._built.prepare(self._queries.part(start, stop))
        clock = Clock()
        found = call(queries, k)
        took = clock.read()
        return took if brief else {**took, "found": np.asarray(found).tolist()}

    def singles(self, mode: str, start: int, stop: int, k: int) -> dict[str, Any]:
        call = self._built.modes[mode]
        prepared = [self._built.prepare(self._queries.part(i, i + 1)) for i in range(start, stop)]
        call(prepared[0], k)
        took = []
        for query in prepared:
            clock = Clock()
            call(query, k)
            took.append(clock.read())
        return {name: [one[name] for one in took] for name in ("cpu_s", "wall_s")}

    def tell(self, what: str, stop: int, k: int) -> Any:
        return getattr(self._built, what)(self._built.prepare(self._queries.part(0, stop)), k)

    def peak(self) -> float:
        return peak_mb()


def _serve(requests: TextIO, answers: TextIO) -> None:
    arm = _Arm(Path(sys.argv[1]))
    for line in requests:
        request = json.loads(line)
        try:
            answer = {"answer": getattr(arm, request.pop("do"))(**request)}
        except Exception as fault:  # noqa: BLE001  one arm's fault is told beside it, whatever it is, and ends no other
            answer = {"fault": f"{type(fault).__name__}: {fault}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _serve(sys.stdin, told)
