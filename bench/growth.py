"""How the cost of a query grows: with the number of cases, terms of a query, terms of a case, delta, k, and threads.

Each curve changes one thing and leaves the rest as in the workload ``w1``. The cost is CPU milliseconds of a query in a
batch, certified top k with mappings, one thread, the median of several batches.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..lattice import Lattice
from ..scoring import Dials
from .arm_process import store
from .chart import chart
from .machine import Clock, environment
from .processes import Process
from .speed import differing
from .speed_table import red_text
from .synthetic_cases import synthetic_cases, w1_queries
from .term_sets import TermSets
from .workloads import Workload, make_workload, world_of

__all__ = ["growth_record", "growth_text", "write_plots"]

SCHEMA = "sma-gpu/bench-growth/1"

K = 10
CASES = (1_000, 4_000, 12_679, 50_000, 200_000, 1_000_000)
QUERY_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
CASE_SIZES = (5, 10, 20, 40, 80, 160, 320)
DELTAS = (1, 2, 3, 4)
KS = (1, 10, 100, 1_000)
CURVES = {  # what each is drawn over
    "cases": "stored cases",
    "query_size": "terms of a query",
    "case_size": "terms of a case",
    "delta": "delta",
    "k": "k",
}
_COMMON_SIZE = 12_679  # cases of all curves but the first
_QUERIES, _CELLS = 1000, 20_000_000  # of a batch: fewer where cases are many
_BATCHES = 5
_COMPARED = 100  # queries whose hits are held against those of the reference first
_WHOLE_CORES = 1.8  # where two threads get less than so many cores, they tell nothing of two threads
_SORTED = 1 << 23


def growth_record(seed: int, *, quick: bool = False) -> dict[str, Any]:
    """Returns the curves as a plain object; without any where parity with the reference is red.

    Raises:
        DataMissing: the files of the domain ``medicine`` are not on this machine.
    """
    workload = make_workload("w1", seed)
    differ, _ = differing(workload, min(_COMPARED, len(workload.queries)))
    if differ:
        return {"schema": SCHEMA, "seed": seed, "quick": quick, "green": False, "differing": differ}
    points: dict[str, list[dict[str, Any]]] = {name: [] for name in CURVES}
    for curve, at, cases, queries, dials, k in _points(workload, seed, quick=quick):
        points[curve].append({"at": at, **_measured(workload, cases, queries, dials, k, 1)})
    size = 200 if quick else _QUERIES
    queries, _ = w1_queries(workload.cases, workload.domain.mounted.lattice, size, seed)
    return {
        "schema": SCHEMA,
        "seed": seed,
        "quick": quick,
        "green": True,
        "ontology": workload.domain.mounted.ontology.label,
        "cases_unless_told": _COMMON_SIZE,
        "curves": points,
        "threads": _two_threads(workload, queries),
        "environment": environment(),
    }


def growth_text(record: dict[str, Any]) -> str:
    """Returns the curves as text."""
    if not record["green"]:
        return red_text(record["differing"])
    lines = []
    for name, points in record["curves"].items():
        lines.append(f"CPU ms a query, by {CURVES[name]}")
        lines += [f"  {point['at']:>9,}  {point['cpu_ms']:.4f}" for point in points]
    return "\n".join([*lines, threads_text(record)]) + "\n"


def threads_text(record: dict[str, Any]) -> str:
    """Returns what two threads do that one does not, in a sentence."""
    threads = record["threads"]
    if threads["times"] is None:
        return f"two threads against one: not measured; they were given {threads['cores']:.2f} cores here"
    return f"two threads against one: {threads['times']:.2f} times the queries in the same time"


def write_plots(record: dict[str, Any], folder: str | Path) -> None:
    """Writes a drawing of each curve into ``folder``: ``speed-by-NAME.svg``."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, points in record["curves"].items():
        drawn = chart(
            f"Cost of a query by {CURVES[name]}",
            CURVES[name],
            "CPU ms a query",
            [(point["at"], point["cpu_ms"]) for point in points],
            doubling=name != "delta",
        )
        (Path(folder) / f"speed-by-{name.replace('_', '-')}.svg").write_text(drawn, encoding="utf-8")


def _points(
    workload: Workload, seed: int, *, quick: bool
) -> Iterator[tuple[str, int, CaseBatch, CaseBatch, Dials, int]]:
    """Yields each point: curve, place on it, cases, queries, dials, k."""
    lattice, dials, base = workload.domain.mounted.lattice, Dials(), workload.cases
    queries, _ = w1_queries(base, lattice, _QUERIES, seed)
    some = 100 if quick else _QUERIES
    for count in CASES[:2] if quick else CASES:
        cases = base if count == len(base) else synthetic_cases(base, lattice, count, seed)
        size = min(some, max(20, _CELLS // count))
        yield "cases", count, cases, queries.take(np.arange(size)), dials, K
    rng = np.random.default_rng(seed)
    queries = queries.take(np.arange(some))
    for size in QUERY_SIZES[:2] if quick else QUERY_SIZES:
        yield "query_size", size, base, _drawn(rng, base, lattice, some, size), dials, K
    for size in CASE_SIZES[:2] if quick else CASE_SIZES:
        cases = _drawn(rng, base, lattice, len(base), size)
        yield "case_size", size, cases, queries, dials, K
    for delta in DELTAS[:2] if quick else DELTAS:
        yield "delta", delta, base, queries, Dials(delta=delta), K
    for k in KS[:2] if quick else KS:
        yield "k", k, base, queries, dials, k


def _drawn(rng: np.random.Generator, base: CaseBatch, lattice: Lattice, count: int, size: int) -> CaseBatch:
    """Returns cases of exactly ``size`` terms, each as often as the cases of ``base`` have it, roots left out."""
    held = np.bincount(base.functors, minlength=len(lattice)).astype(np.float64)
    held[np.diff(lattice.parent_ptr) == 0] = 0
    able, chance = np.flatnonzero(held), held[held > 0] / held.sum()
    size = min(size, len(able))
    # The first of all terms in the order of E / chance, with E exponential, are a draw without putting back.
    drawn = np.empty((count, size), np.int32)
    for start in range(0, count, 256):
        rows = drawn[start : start + 256]
        waits = rng.standard_exponential((len(rows), len(able))) / chance
        rows[:] = able[np.argpartition(waits, size - 1, axis=1)[:, :size]]
    keys = [f"{number:06d}" for number in range(count)]
    return CaseBatch.from_functors(keys, list(drawn))


def _measured(
    workload: Workload, cases: CaseBatch, queries: CaseBatch, dials: Dials, k: int, threads: int
) -> dict[str, Any]:
    """Returns the cost of one point, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store(folder, world_of(workload), _sets(cases), _sets(queries))
        with Process(folder, threads=threads) as process:
            process.ask("build", module="sma_gpu.bench.ours", options={"dials": dials.as_dict()})
            asked = {"mode": "mappings", "start": 0, "stop": len(queries), "k": k, "brief": True}
            turns = [process.ask("search", **asked) for _ in range(_BATCHES + 1)][1:]
            memory = process.ask("peak")
    took = {clock: statistics.median(turn[clock] for turn in turns) for clock in ("cpu_s", "wall_s")}
    return {
        "cpu_ms": took["cpu_s"] / len(queries) * 1000,
        "wall_ms": took["wall_s"] / len(queries) * 1000,
        "queries": len(queries),
        "peak_memory_mb": memory,
    }


def _two_threads(workload: Workload, queries: CaseBatch) -> dict[str, Any]:
    """Returns how many cores two threads are given here, and how much sooner they answer if that is nearly two."""
    cores = min(_cores_of_two(), _cores_of_two())
    if cores < _WHOLE_CORES:
        return {"cores": cores, "times": None}
    one, two = (_measured(workload, workload.cases, queries, Dials(), K, threads) for threads in (1, 2))
    return {"cores": cores, "times": one["wall_ms"] / two["wall_ms"], "one": one, "two": two}


def _cores_of_two() -> float:
    """Returns how many cores two threads get that only sort, each its own numbers."""
    numbers = np.random.default_rng(0).integers(0, 1 << 40, (2, _SORTED))
    clock = Clock()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda row: np.sort(row, kind="stable"), numbers))
    took = clock.read()
    return took["cpu_s"] / took["wall_s"]


def _sets(cases: CaseBatch) -> TermSets:
    functors: npt.NDArray[np.int32] = cases.functors
    return TermSets(cases.ptr, functors)
