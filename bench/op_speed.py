"""How long each op takes, beside its physical floor: the bytes it must move, over the copy bandwidth measured here.

On a CPU times are CPU seconds of the whole process. On a GPU they come from CUDA events: each op with what it reads on
the device already, and ``top`` with queries that come from the host and hits that go back to it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import CaseBatch
from ..lattice.arrays import distinct, pointers
from ..ops import Ops, choose
from ..ops.cuda import CudaOps
from ..ops.torch_backend import TorchOps
from ..retrieval import Index
from ..retrieval.self_scores import self_scores
from .machine import environment
from .op_problems import Problem, invented
from .op_stages import Stage, device_stages, host_stages, same_as_reference
from .retrievals import cases_of, medicine
from .synthetic_cases import w1_queries

__all__ = ["SIZES", "hpo_problem", "speed_report", "speed_text"]

SCHEMA = "sma-gpu/ops-bench/1"
SIZES = (12_679, 200_000, 1_000_000)  # cases: the HPO diseases, and two sizes above

_CPU_CELLS = 1 << 24  # bounds of a problem on a CPU, as far as that leaves a few queries
_DEVICE_QUERIES = {12_679: 1000, 200_000: 512, 1_000_000: 256}
_MOST_QUERIES, _FEWEST_QUERIES = 1000, 16
_RUNS, _MOST_RUNS, _LONGEST_S = 5, 50, 2.0  # of one stage
_COPIED = {"cpu": 1 << 28, "cuda": 1 << 30}  # bytes
# Lists as full as those of HPO, where eight terms touch four cases of ten.
_AS_HPO: dict[str, Any] = {"kinds": 1500, "asked": 512, "near": 10, "query_size": 16}

Timer = Callable[[Callable[[], Any]], list[float]]


def speed_report(backend: str, device: str, seed: int, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Returns the times of each op for each number of cases; none for a problem where a bit differs.

    Raises:
        BackendUnavailable: the backend cannot serve on the device.
    """
    name, ops = _chosen(backend, device)
    place = _device_of(ops)
    timer = _device_times if place == "cuda" else _cpu_times
    bandwidth = _copy_bandwidth(place, timer)
    rows = []
    for records, problem in _problems(sizes, seed, place):
        row: dict[str, Any] = {"records": records, "cases": len(problem.tie_rank), "queries": len(problem)}
        row["equal"] = same_as_reference(ops, problem)
        rows.append({**row, **_times(ops, problem, bandwidth, timer)} if row["equal"] else row)
    return {
        "schema": SCHEMA,
        "seed": seed,
        "backend": name,
        "device": place,
        "clock": "CUDA events" if place == "cuda" else "CPU seconds",
        "copy_bytes_per_s": round(bandwidth),
        "green": all(row["equal"] for row in rows),
        "problems": rows,
        "environment": environment(on_device=place == "cuda"),
    }


def speed_text(report: dict[str, Any]) -> str:
    """Returns the report in a few lines."""
    lines = [
        f"{report['backend']} on {report['device']}, times are {report['clock']}; "
        f"copying moves {report['copy_bytes_per_s'] / 1e9:.1f} GB/s"
    ]
    for row in report["problems"]:
        title = f"{row['cases']:,} cases ({row['records']}), {row['queries']} queries"
        if not row["equal"]:
            lines.append(f"{title}: parity is RED, no speed")
            continue
        lines.append(f"{title}: {row['queries_per_s']:,.0f} queries/s")
        for name, stage in row["stages"].items():
            line = f"  {name:10} {stage['median_ms']:10.3f} ms"
            if stage["bytes"]:
                line += f" {stage['bytes'] / 1e6:10.1f} MB, {stage['times_floor']:.1f} times the floor"
            lines.append(line)
    return "\n".join(lines) + "\n"


def hpo_problem(seed: int, queries: int) -> Problem | None:
    """Returns queries of eight terms over all HPO diseases, default dials; None where the files are not here."""
    domain = medicine()
    if domain is None:
        return None
    index = Index.build(cases_of(domain), domain.mounted)
    batch, _ = w1_queries(index.cases, domain.mounted.lattice, queries, seed)
    return indexed_problem(index, batch)


def indexed_problem(index: Index, batch: CaseBatch) -> Problem:
    """Returns flat queries over the flat cases of an index."""
    table = index.pairs(distinct(batch.functors))
    postings = index.postings(table)
    own = index.query_values(batch.ptr, batch.functors)
    return Problem(
        postings,
        postings.fold(),
        table,
        pointers(np.repeat(np.arange(len(batch)), np.diff(batch.ptr)), len(batch)),
        table.rows_of(batch.functors),
        np.ones(len(batch), np.int32),
        index.cases.ptr,
        index.sorted_kinds,
        self_scores(batch, own),
        index.normaliser.self_scores,
        index.tie_rank,
    )


def _chosen(backend: str, device: str) -> tuple[str, Ops]:
    if backend == "auto" and device == "cuda":
        return choose("cuda", device)  # the kernels are what is of interest on a GPU; another backend goes by its name
    return choose(backend, device, cells=1 << 40)


def _device_of(ops: Ops) -> str:
    return ops.resident.device if isinstance(ops, CudaOps | TorchOps) else "cpu"


def _problems(sizes: tuple[int, ...], seed: int, place: str) -> Iterator[tuple[str, Problem]]:
    for cases in sizes:
        fitting = min(_MOST_QUERIES, max(_FEWEST_QUERIES, _CPU_CELLS // cases))
        queries = _DEVICE_QUERIES.get(cases, fitting) if place == "cuda" else fitting
        found = hpo_problem(seed, queries) if cases == SIZES[0] else None
        if found is not None:
            yield "HPO diseases", found
        else:
            yield "invented", invented(np.random.default_rng(seed), queries, cases, **_AS_HPO)


def _times(ops: Ops, problem: Problem, bandwidth: float, timer: Timer) -> dict[str, Any]:
    if timer is _device_times and isinstance(ops, CudaOps | TorchOps):
        stages = device_stages(ops, problem)
    else:
        stages = host_stages(ops, problem)
    found = {stage.name: _time(stage, bandwidth, timer) for stage in stages}
    whole = found.get("top") or {"median_ms": sum(stage["median_ms"] for stage in found.values())}
    return {
        "entries_added": int(np.diff(problem.lists.ptr)[problem.query_lists].sum()),
        "stages": found,
        "queries_per_s": len(problem) / whole["median_ms"] * 1000,
    }


def _time(stage: Stage, bandwidth: float, timer: Timer) -> dict[str, Any]:
    low, middle, high = np.percentile(timer(stage.call), [20, 50, 80]).tolist()
    found: dict[str, Any] = {"median_ms": middle, "p20_ms": low, "p80_ms": high, "bytes": stage.least_bytes}
    if stage.least_bytes:
        found["floor_ms"] = stage.least_bytes / bandwidth * 1000
        found["times_floor"] = middle / found["floor_ms"]
    return found


def _repeated(once: Callable[[], float]) -> list[float]:
    times: list[float] = []
    stop = time.perf_counter() + _LONGEST_S
    while len(times) < _RUNS or (len(times) < _MOST_RUNS and time.perf_counter() < stop):
        times.append(once())
    return times


def _cpu_times(call: Callable[[], Any]) -> list[float]:
    """Returns the CPU milliseconds of several calls, all threads."""

    def once() -> float:
        start = time.process_time()
        call()
        return (time.process_time() - start) * 1000

    once()
    return _repeated(once)


def _device_times(call: Callable[[], Any]) -> list[float]:
    """Returns the milliseconds of several calls on the device, by CUDA events."""
    import torch

    cuda: Any = torch.cuda
    for _ in range(3):
        call()
    cuda.synchronize()

    def once() -> float:
        begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))

    return _repeated(once)


def _copy_bandwidth(place: str, timer: Timer) -> float:
    """Returns bytes read and written a second by copying a large block within the memory of the device."""
    size = _COPIED[place]
    if place == "cuda":
        import torch

        source = torch.zeros(size, dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        times = timer(lambda: target.copy_(source))
    else:
        # Written to, both: pages that never were are all one page, which no copy has to fetch.
        read, written = np.ones(size, np.uint8), np.ones(size, np.uint8)
        times = timer(lambda: np.copyto(written, read))
    return 2 * size / (statistics.median(times) / 1000)
