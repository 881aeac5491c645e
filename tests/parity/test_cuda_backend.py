"""The cuda backend without a GPU: what it says, and all of it but the device itself.

CUDA sources run on the CPU shim and Triton kernels in its interpreter, below the same host code that drives a GPU.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parity.cuda_on_cpu import Library, build
from strategies import random_world

from sma_gpu import Dials
from sma_gpu.bench import device
from sma_gpu.bench.op_problems import Problem, invented, mask, pairs_all
from sma_gpu.errors import BackendUnavailable, CapacityError
from sma_gpu.kernels.cuda import launch as cuda_launch
from sma_gpu.kernels.triton import launch as triton_launch
from sma_gpu.ops import PairBlock, choose, cuda, registry
from sma_gpu.ops.cuda import CudaOps
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.ops.torch_backend import Resident

REFERENCE = ReferenceOps()
_LACKS = ", ".join(
    [name for name in ("triton", "torch") if importlib.util.find_spec(name) is None]
    + (["g++"] if shutil.which("g++") is None else [])
)
emulated = pytest.mark.skipif(bool(_LACKS), reason=f"not installed: {_LACKS}")
no_gpu = pytest.mark.skipif(not cuda.missing(), reason="there is a GPU here")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return build(tmp_path_factory.mktemp("kernels"), {})


@pytest.fixture
def ops(library: Library, monkeypatch: pytest.MonkeyPatch) -> CudaOps:
    """The backend over the shim and the interpreter."""
    import torch

    monkeypatch.setenv("TRITON_INTERPRET", "1")
    spec = importlib.util.spec_from_file_location("interpreted", Path(triton_launch.__file__).with_name("select.py"))
    assert spec is not None and spec.loader is not None
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    select = triton_launch.select

    def start(name: str, grid: Any, threads: int, *arguments: Any) -> None:
        library.start(name, 11, grid, [a.numpy() if isinstance(a, torch.Tensor) else a for a in arguments])

    monkeypatch.setattr(cuda_launch, "_start", start)
    monkeypatch.setattr(cuda_launch, "assign_room", lambda: (3, 1 << 20))
    monkeypatch.setattr(triton_launch, "select", lambda *a, **more: select(*a, **more, kernels=kernels))
    monkeypatch.setattr(cuda, "_device", lambda asked: nullcontext())
    monkeypatch.setattr(cuda, "Resident", lambda _: Resident("cpu"))
    return CudaOps()


def given(problem: Problem) -> tuple[Any, ...]:
    return problem.lists, problem.query_ptr, problem.query_lists, problem.query_entities


@emulated
@pytest.mark.parametrize(("queries", "cases"), [(0, 5), (3, 0), (1, 1), (7, 63), (3, 1000)])
def test_all_three_ops_from_arrays_to_arrays(ops: CudaOps, queries: int, cases: int) -> None:
    rng = np.random.default_rng(queries + cases)
    problem = invented(rng, queries, cases, most_entities=3)
    for among in (None, mask(rng, problem)):
        bounds = ops.accumulate(*given(problem), among)
        wanted = REFERENCE.accumulate(*given(problem), among)
        np.testing.assert_array_equal(bounds, wanted)
        assert bounds.dtype == np.int32
        more = problem.normaliser("max"), problem.self_query, problem.tie_rank, 9
        for found, right in zip(ops.select(bounds, *more), REFERENCE.select(wanted, *more), strict=True):
            np.testing.assert_array_equal(found, right)
            assert found.dtype == right.dtype
    pairs = pairs_all(problem)
    found = ops.assign(problem.table, pairs)
    np.testing.assert_array_equal(found, REFERENCE.assign(problem.table, pairs))
    assert found.dtype == np.int64


@emulated
def test_bounds_stay_on_the_device_as_long_as_they_live(ops: CudaOps) -> None:
    problem = invented(np.random.default_rng(4), 3, 50)
    bounds = ops.accumulate(*given(problem))
    kept = len(ops.resident)
    with pytest.raises(ValueError, match="read-only"):
        bounds[0, 0] = 1
    assert ops._bounds(bounds) is ops._bounds(bounds)
    assert len(ops.resident) == kept
    own = bounds.copy()
    own[:] = 0  # a block of the caller's own is moved as it is now
    more = problem.normaliser("min"), problem.self_query, problem.tie_rank, 4
    assert (ops.select(own, *more)[0] == -1).all()
    del bounds
    gc.collect()
    assert len(ops.resident) < kept


@emulated
def test_a_bound_of_two_to_the_31_is_refused_in_the_words_of_the_reference(ops: CudaOps) -> None:
    problem = invented(np.random.default_rng(4), 3, 50, greatest=1 << 30, query_size=30, kinds=30, asked=30)
    with pytest.raises(CapacityError) as wanted:
        REFERENCE.accumulate(*given(problem))
    with pytest.raises(CapacityError) as found:
        ops.accumulate(*given(problem))
    assert str(found.value) == str(wanted.value)


@emulated
@pytest.mark.parametrize("normalisation", ["power(0.5)", "max"])
def test_whole_retrievals(ops: CudaOps, monkeypatch: pytest.MonkeyPatch, normalisation: str) -> None:
    """An index answers through this backend what it answers through the reference."""
    backends = tuple(
        registry.Backend(b.name, b.devices, lambda: "", lambda: ops) if b.name == "cuda" else b
        for b in registry.backends()
    )
    monkeypatch.setattr(registry, "_BACKENDS", backends)
    world = random_world(np.random.default_rng(5), terms=80, cases=60, size=9)
    index = world.index(Dials(normalisation=normalisation))
    asked = index.cases.take(list(range(6)))
    wanted, found = (index.retrieve(asked, 5, backend=backend) for backend in ("reference", "cuda"))
    assert found.backend == "cuda"
    for name in ("keys", "cases", "score_q", "limit_q", "rank_keys", "rank", "certified", "aligned"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


@emulated
def test_the_device_bench_end_to_end(
    ops: CudaOps, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of the script but clocks and device: parity, then the report with a speed for each number of cases."""
    small(monkeypatch, ops)
    assert device.main(["--out", str(tmp_path / "report.json")]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["parity"]["green"]
    assert report["parity"]["checks"] > 20
    assert [row["cases"] for row in report["speed"]["cases"]] == [12, 200, 1000]
    assert "queries/s" in capsys.readouterr().out


@emulated
def test_the_device_bench_prints_no_speed_where_parity_is_red(
    ops: CudaOps, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small(monkeypatch, ops)
    right = ops.assign

    def one_less(table: Any, pairs: PairBlock) -> Any:
        scores = right(table, pairs)
        scores[-1:] -= 1
        return scores

    monkeypatch.setattr(ops, "assign", one_less)
    assert device.main(["--out", str(tmp_path / "report.json")]) == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert not report["parity"]["green"]
    assert "assign 7x63" in report["parity"]["differing"]
    assert "speed" not in report
    shown = capsys.readouterr().out
    assert "RED" in shown and "queries/s" not in shown


def small(monkeypatch: pytest.MonkeyPatch, ops: CudaOps) -> None:
    """Makes the script use these ops, small problems, and a clock that needs no device."""

    def timed(call: Any) -> dict[str, float]:
        call()
        return {"median_ms": 1.0, "p20_ms": 1.0, "p80_ms": 1.0, "runs": 1}

    full = device.problems
    make = device.invented
    wanted = {"0x5", "3x0", "1x1", "7x63"}
    monkeypatch.setattr(device, "problems", lambda rng: ((n, p) for n, p in full(rng) if n in wanted))
    monkeypatch.setattr(
        device,
        "invented",
        lambda rng, b, n, **more: (
            make(rng, b // 100, n // 1000 if n < 1e6 else 1000, **more)
            if n > 100_000 or n == 12_679
            else make(rng, b, n, **more)
        ),
    )
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    monkeypatch.setattr(device, "missing", lambda: "")
    monkeypatch.setattr(device, "environment", dict)
    monkeypatch.setattr(device, "CudaOps", lambda: ops)
    monkeypatch.setattr(device, "_timed", timed)
    monkeypatch.setattr(device, "_copy_bandwidth", lambda: 1e12)


@no_gpu
def test_asked_for_by_name_it_fails_in_words() -> None:
    for device_name in ("auto", "cuda"):
        with pytest.raises(BackendUnavailable) as refused:
            choose("cuda", device_name)
        assert refused.value.found.startswith("cuda: ")
        assert "pip install 'sma_gpu[cuda]'" in refused.value.do


def test_no_automatic_choice_takes_it() -> None:
    assert choose()[0] != "cuda"
    assert choose(cells=1 << 40)[0] != "cuda"


@no_gpu
def test_the_device_bench_fails_in_words_without_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert device.main(["--out", str(tmp_path / "report.json")]) == 3
    shown = capsys.readouterr()
    assert not shown.out
    assert "pip install 'sma_gpu[cuda]'" in shown.err
    assert not (tmp_path / "report.json").exists()
