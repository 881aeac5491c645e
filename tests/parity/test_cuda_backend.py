"""The cuda backend without a GPU: what it says, and all of it but the device itself.

CUDA sources run on the CPU shim and Triton kernels in its interpreter, below the same host code that drives a GPU.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from parity.cuda_on_cpu import Library, build
from parity.emulated_cuda import emulate, emulated, interpreted
from parity.torch_here import no_torch
from strategies import random_world

from sma_gpu import Dials
from sma_gpu.bench import op_parity, op_stages
from sma_gpu.bench.op_problems import Problem, invented, mask, pairs_all
from sma_gpu.errors import BackendUnavailable, CapacityError
from sma_gpu.kernels.cuda import launch
from sma_gpu.ops import PairBlock, choose, cuda, registry
from sma_gpu.ops.cuda import CudaOps
from sma_gpu.ops.reference import ReferenceOps

REFERENCE = ReferenceOps()
no_gpu = pytest.mark.skipif(not cuda.missing(), reason="there is a GPU here")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return build(tmp_path_factory.mktemp("kernels"), {})


@pytest.fixture
def ops(library: Library, monkeypatch: pytest.MonkeyPatch) -> Iterator[CudaOps]:
    """The backend over the shim and the interpreter."""
    with interpreted() as kernels:
        yield emulate(library, kernels, monkeypatch)


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


def few(monkeypatch: pytest.MonkeyPatch, ops: CudaOps) -> None:
    """Makes the parity report compare these ops, on small problems."""
    problems, retrievals = op_parity.problems, op_parity.invented_retrievals
    wanted = {"0x5", "3x0", "1x1", "7x63"}
    monkeypatch.setattr(op_parity, "serving", lambda *_: ({"cuda": ops}, {}))
    monkeypatch.setattr(op_parity, "problems", lambda rng: ((n, p) for n, p in problems(rng) if n in wanted))
    monkeypatch.setattr(op_parity, "invented_retrievals", lambda seed: islice(retrievals(seed), 2))
    monkeypatch.setattr(op_parity, "medicine", lambda: None)


@emulated
def test_the_report_on_parity(ops: CudaOps, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, ops)
    report = op_parity.parity_report("cuda", "cuda", 7)
    assert report["green"]
    assert report["backends"][0]["comparisons"] > 20
    right = ops.assign

    def one_less(table: Any, pairs: PairBlock) -> Any:
        scores = right(table, pairs)
        scores[-1:] -= 1
        return scores

    monkeypatch.setattr(ops, "assign", one_less)
    report = op_parity.parity_report("cuda", "cuda", 7)
    assert not report["green"]
    assert "assign 7x63" in report["backends"][0]["differing"]


@emulated
def test_every_stage_that_is_timed_on_a_device_runs(ops: CudaOps) -> None:
    problem = invented(np.random.default_rng(6), 3, 40)
    for stage in op_stages.device_stages(ops, problem):
        stage.call()


@no_gpu
def test_asked_for_by_name_it_fails_in_words() -> None:
    for device_name in ("auto", "cuda"):
        with pytest.raises(BackendUnavailable) as refused:
            choose("cuda", device_name)
        assert refused.value.found.startswith("cuda: ")
        assert "pip install 'sma_gpu[cuda]'" in refused.value.do


def test_no_automatic_choice_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where everything that there is could serve."""
    able = [replace(b, missing=lambda: "", load=ReferenceOps, load_on=None) for b in registry.backends()]
    monkeypatch.setattr(registry, "_BACKENDS", tuple(able))
    assert choose("cuda")[0] == "cuda"
    assert choose()[0] != "cuda"
    assert choose(cells=1 << 40)[0] != "cuda"


class Stream:
    """A stream that notes whom it waits for."""

    def __init__(self, name: str, told: list[str]) -> None:
        self.name, self.told = name, told

    def wait_stream(self, other: Stream) -> None:
        self.told.append(f"{self.name} waits for {other.name}")


@no_torch
@pytest.mark.parametrize("elsewhere", [False, True])
def test_work_is_in_order_with_the_stream_of_the_caller(elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    told: list[str] = []
    ours = Stream("ours", told)
    caller = Stream("theirs", told) if elsewhere else ours
    monkeypatch.setattr(torch.cuda, "default_stream", lambda: ours)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: caller)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext(told.append(f"on {stream.name}")))
    with cuda._device("something") as found:
        told.append("work")
    assert found is (caller if elsewhere else None)
    assert told == [f"ours waits for {caller.name}", "on ours", "work", f"{caller.name} waits for ours"]
    with pytest.raises(CapacityError, match="memory of the GPU"), cuda._device("something"):
        raise torch.cuda.OutOfMemoryError("tried to allocate too much\nand more")


@no_torch
def test_kernels_get_addresses_and_numbers_on_the_device_of_their_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one place that calls CuPy, over a stand-in for it that takes notes."""
    import torch

    notes: list[Any] = []

    def noted(name: str) -> Any:
        return lambda *given: nullcontext(notes.append((name, *given)))

    def module(code: str, options: tuple[str, ...]) -> Any:
        assert "#include" not in code  # NVRTC needs no headers
        function = SimpleNamespace(get_function=lambda name: noted(name))
        notes.append(("compiled", options))
        return function

    class Null:
        def __enter__(self) -> None:
            notes.append("null stream")

        def __exit__(self, *fault: object) -> None:
            return None

    class OnGpu:
        """A tensor that says it lies on the second GPU."""

        device = SimpleNamespace(index=1)

        def __init__(self, tensor: Any) -> None:
            self.data_ptr = tensor.data_ptr

    stand_in = SimpleNamespace(
        RawModule=module, cuda=SimpleNamespace(Device=noted("device"), Stream=SimpleNamespace(null=Null()))
    )
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    launch._kernel.cache_clear()
    tensor = torch.arange(5)
    for _ in range(2):
        launch._start("assign", (3, 2), 128, OnGpu(tensor), np.uint64(0), np.int64(7))
    launch._kernel.cache_clear()
    started = ("assign_kernel", (3, 2), (128,), (np.uint64(tensor.data_ptr()), np.uint64(0), np.int64(7)))
    around = [("device", 1), "null stream"]
    assert notes == [*around, ("compiled", ("-std=c++17",)), started, *around, started]
    assert [type(a) for a in notes[-1][-1]] == [np.uint64, np.uint64, np.int64]
