"""The certified loop on a device gives what scoring every case gives: torch here, cuda over its emulation."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from parity.cuda_on_cpu import Library, build
from parity.emulated_cuda import emulate, emulated, interpreted, on_device
from parity.op_arrays import same
from parity.torch_here import DEVICES, no_torch, one_thread, require

from sma_gpu.bench.op_problems import Problem, invented, mask, pairs_all
from sma_gpu.errors import CapacityError
from sma_gpu.ops import PlainQueries, PostingLists, Tops, WholeOps, device_lists, device_loop
from sma_gpu.ops.device_loop import OnDevice
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.ops.torch_backend import TorchOps

pytestmark = no_torch

__all__ = ["one_thread"]  # a fixture that pytest finds by its name here

REFERENCE = ReferenceOps()
NORMALISATIONS = ("power(0)", "power(0.5)", "max", "min")
SHAPES = ((0, 5), (1, 1), (7, 63), (4, 600))


@pytest.fixture(params=DEVICES)
def ops(request: pytest.FixtureRequest) -> TorchOps:
    return TorchOps(require(request.param))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return build(tmp_path_factory.mktemp("kernels"), {})


@pytest.fixture
def cuda_ops(library: Library, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with interpreted() as kernels:
        yield emulate(library, kernels, monkeypatch)


def by_definition(queries: PlainQueries, bounds: Any, scores: Any, k: int) -> Tops:
    """Returns the top ``k`` of aligning every case; ``bounds`` and ``scores`` are int64 ``[B, N]``."""
    rows, count = bounds.shape
    among = np.ones(bounds.shape, bool) if queries.among is None else queries.among
    cases, found_scores, keys = (np.zeros((rows, k), np.int64) for _ in range(3))
    aligned, cases = np.zeros(rows, np.int64), cases - 1
    for row in range(rows):
        every = np.arange(count)
        able = every[among[row] & (bounds[row] > 0)]
        of = [queries.normaliser.rank_keys(side[row], int(queries.self_query[row]), every) for side in (bounds, scores)]
        hits = able[scores[row, able] > 0]
        hits = hits[np.lexsort((queries.tie_rank[hits], -of[1][hits]))][:k]
        held = len(hits)
        cases[row, :held], found_scores[row, :held], keys[row, :held] = hits, scores[row, hits], of[1][hits]
        aligned[row] = len(able)
        if held == k:
            last_key, last_rank = of[1][hits[-1]], queries.tie_rank[hits[-1]]
            aligned[row] = sum(
                key > last_key or (key == last_key and rank <= last_rank)
                for key, rank in zip(of[0][able].tolist(), queries.tie_rank[able].tolist(), strict=True)
            )
    return Tops(cases, found_scores, found_scores, keys, np.ones(rows, bool), aligned)


@cache
def whole(name: str) -> tuple[Any, Any]:
    """Returns bound and score of every query of a problem with every case, int64 ``[B, N]``."""
    problem = PROBLEMS[name]
    ones = np.ones(len(problem), np.int32)
    bounds = REFERENCE.accumulate(problem.lists, problem.query_ptr, problem.query_lists, ones).astype(np.int64)
    return bounds, REFERENCE.assign(problem.table, pairs_all(problem)).reshape(bounds.shape)


def plain(problem: Problem, normalisation: str, *, among: Any = None, postings: bool = False) -> PlainQueries:
    queries = problem.plain(normalisation, among)
    return replace(queries, lists=problem.postings) if postings else queries


def same_tops(found: Tops, wanted: Tops) -> None:
    for field in fields(Tops):
        same(getattr(found, field.name), getattr(wanted, field.name))


def loose(queries: int = 5, cases: int = 300) -> Problem:
    """Returns a problem whose bounds are far above the scores: many statements of a query can match the same few."""
    return invented(
        np.random.default_rng(21), queries, cases, kinds=40, asked=30, query_size=20, case_size=4, near=20
    )  # fmt: skip


PROBLEMS = {f"{b}x{n}": invented(np.random.default_rng([20, b, n]), b, n) for b, n in SHAPES}
PROBLEMS["loose"] = loose()
PROBLEMS["few and loose"] = loose(3, 60)
PROBLEMS["all tie"] = invented(np.random.default_rng(22), 3, 90, greatest=1)
PROBLEMS["no kind matches"] = invented(np.random.default_rng(23), 3, 40, near=0, asked=2, kinds=4000)
PROBLEMS["repeats"] = invented(np.random.default_rng(24), 4, 80, repeats=True, asked=4, query_size=12)


def check(ops: Any, name: str, normalisation: str, *, masked: bool, postings: bool, most: int = 1000) -> None:
    problem, count = PROBLEMS[name], len(PROBLEMS[name].tie_rank)
    among = mask(np.random.default_rng(25), problem) if masked else None
    queries = plain(problem, normalisation, among=among, postings=postings)
    for k in sorted({1, min(5, count), min(most, count)}):
        wanted = by_definition(queries, *whole(name), k)
        same_tops(ops.top(queries, k), wanted)
        left = ops.top_on_device(queries, k)
        for side in ("cases", "scores", "rank_keys", "aligned"):
            same(getattr(left, side).cpu().numpy(), getattr(wanted, side))


@pytest.mark.parametrize("postings", [False, True], ids=["folded", "postings"])
@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_torch(
    ops: TorchOps, name: str, normalisation: str, masked: bool, postings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_loop, "_SHORTEST", 1 if masked else 32)
    check(ops, name, normalisation, masked=masked, postings=postings)


@emulated
@pytest.mark.parametrize("postings", [False, True], ids=["folded", "postings"])
@pytest.mark.parametrize("name", ["0x5", "1x1", "7x63", "few and loose", "all tie", "no kind matches"])
def test_cuda(cuda_ops: Any, name: str, postings: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_loop, "_SHORTEST", 4)
    check(cuda_ops, name, "max" if postings else "power(0.5)", masked=postings, postings=postings, most=63)


def differs(found: Tops, wanted: Tops) -> bool:
    return any(not np.array_equal(getattr(found, f.name), getattr(wanted, f.name)) for f in fields(Tops))


def rounds_of(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Returns the list that each further round adds its queries and cases to."""
    seen: list[tuple[int, int]] = []
    run = device_loop._round

    def counted(ops: Any, queries: PlainQueries, bounds: Any, over: Any, k: int, limit: int) -> Any:
        seen.append((len(queries), limit))
        return run(ops, queries, bounds, over, k, limit)

    monkeypatch.setattr(device_loop, "_round", counted)
    return seen


def test_the_few_that_are_not_proved_go_on_alone_with_more_cases(
    ops: TorchOps, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, queries = rounds_of(monkeypatch), plain(PROBLEMS["loose"], "power(0)")
    ops.top(queries, 10)
    assert [limit for _, limit in seen] == [32, 128, 300][: len(seen)]
    assert len(seen) > 1
    counts = [count for count, _ in seen]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < len(queries)
    del seen[:]
    ops.top(plain(PROBLEMS["7x63"], "power(0)"), 63)
    assert seen == [(7, 63)]


@pytest.mark.parametrize("name", ["4x600", "loose"])
def test_a_bound_one_unit_too_low_shows(ops: TorchOps, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound below the score loses a hit, or counts one too few: the comparison above would be red."""
    monkeypatch.setattr(device_loop, "_SHORTEST", 1)
    right = ops.bounds_of

    def lower(queries: PlainQueries) -> Any:
        bounds, over = right(queries)
        return bounds - (bounds > 0).int(), over

    monkeypatch.setattr(ops, "bounds_of", lower)
    queries = plain(PROBLEMS[name], "power(0)")
    differ = [differs(ops.top(queries, k), by_definition(queries, *whole(name), k)) for k in (1, 2, 3, 5, 8)]
    assert any(differ)


@emulated
@pytest.mark.parametrize("postings", [False, True], ids=["folded", "postings"])
def test_nothing_but_hits_comes_back_from_a_device(
    cuda_ops: Any, postings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One transfer a round, and no step of the host that would wait for a number of the device."""
    import torch

    back: list[str] = []

    def watch(name: str) -> Any:
        call = getattr(torch.Tensor, name)

        def watched(self: Any, *given: Any) -> Any:
            if not on_device and not (name == "numpy" and back[-1:] == ["cpu"]):
                back.append(name)
            return call(self, *given)

        return watched

    for name in ("cpu", "item", "tolist", "numpy", "nonzero", "__bool__", "__int__", "__float__", "__index__"):
        monkeypatch.setattr(torch.Tensor, name, watch(name))
    monkeypatch.setattr(torch, "nonzero", lambda *_: pytest.fail("waits for the device"))
    monkeypatch.setattr(device_loop, "_SHORTEST", 4)
    seen = rounds_of(monkeypatch)
    queries = plain(PROBLEMS["few and loose"], "power(0)", postings=postings)
    for call in (cuda_ops.top, cuda_ops.top_on_device):
        call(queries, 2)
        assert len(seen) > 1
        assert back == ["cpu"] * len(seen)
        del seen[:], back[:]


def too_great() -> Problem:
    rng = np.random.default_rng(4)
    return invented(rng, 3, 50, greatest=1 << 30, query_size=30, kinds=30, asked=30)


def refused(ops: Any, queries: PlainQueries) -> str:
    with pytest.raises(CapacityError) as found:
        ops.top(queries, 2)
    with pytest.raises(CapacityError):
        ops.top_on_device(queries, 2)
    return str(found.value)


@emulated
def test_a_bound_of_two_to_the_31_is_refused_in_the_words_of_the_reference(ops: TorchOps, cuda_ops: Any) -> None:
    problem = too_great()
    queries = plain(problem, "max", postings=True)
    with pytest.raises(CapacityError) as wanted:
        REFERENCE.accumulate(problem.lists, problem.query_ptr, problem.query_lists, np.ones(3, np.int32))
    for backend in (ops, cuda_ops):
        assert refused(backend, queries) == str(wanted.value)
        # What is not wanted cannot overflow either.
        bounds = np.zeros((3, 50), bool)
        assert (backend.top(replace(queries, among=bounds), 2).cases == -1).all()


@emulated
def test_both_run_the_loop_whole_and_leave_hits_on_the_device(ops: TorchOps, cuda_ops: Any) -> None:
    for backend in (ops, cuda_ops):
        assert isinstance(backend, WholeOps)
        assert isinstance(backend, OnDevice)
    assert not isinstance(REFERENCE, OnDevice)


@emulated
def test_too_little_memory_for_an_alignment_is_a_fault(cuda_ops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = plain(PROBLEMS["7x63"], "max")
    monkeypatch.setattr(cuda_ops, "scores_of", lambda queries, cases: -(cases >= 0).long())
    with pytest.raises(AssertionError, match="too little memory"):
        cuda_ops.top(queries, 3)


# --- lists on the device


def added_up(held: Any, lists: int, cases: int) -> Any:
    """Returns the lists as a matrix int64 ``[lists, N]``, and sees to it that each ascends."""
    found = np.zeros((lists, cases), np.int64)
    held_cases, best = held.cases.cpu().numpy(), held.best.cpu().numpy()
    for row in range(lists):
        at = slice(int(held.ptr[row]), int(held.ptr[row + 1]))
        assert (np.diff(held_cases[at]) >= 0).all()
        np.add.at(found[row], held_cases[at], best[at].astype(np.int64))
    return found


@pytest.mark.parametrize("places", [1, 200, 1 << 32])
@pytest.mark.parametrize("at_once", [1, 1 << 25])
@pytest.mark.parametrize("kept", [0, 1 << 27], ids=["for the call", "for good"])
def test_postings_are_folded_there(
    ops: TorchOps, kept: int, at_once: int, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("_KEPT_ENTRIES", kept), ("_FOLDED_AT_ONCE", at_once), ("_PLACES", places)):
        monkeypatch.setattr(device_lists, name, size)
    problem = PROBLEMS["loose"]
    rows, cases = len(problem.table.functors), len(problem.tie_rank)
    lists = problem.lists
    wanted = np.zeros((rows, cases), np.int64)
    wanted[np.repeat(np.arange(rows), np.diff(lists.ptr)), lists.cases] = lists.best
    for asked in (np.array([3, 1, 3]), np.arange(rows), np.zeros(0, np.int64)):
        held = device_lists.hold(ops.resident, problem.postings, asked)
        all_of_them = kept > 0 and len(np.unique(asked)) * 8 > rows
        assert (held.rows is None) == all_of_them or ops.resident.found("folded", *_arrays(problem.postings))
        numbers = np.unique(asked) if held.rows is not None else np.arange(rows)
        np.testing.assert_array_equal(added_up(held, len(numbers), cases), wanted[numbers])
        np.testing.assert_array_equal((held.rows if held.rows is not None else numbers)[held.numbers(asked)], asked)
    if kept:
        again = device_lists.hold(ops.resident, problem.postings, np.array([2]))
        assert again is device_lists.hold(ops.resident, problem.postings, np.arange(rows))


def _arrays(lists: PostingLists) -> tuple[Any, ...]:
    return lists.ptr, lists.cases, lists.table.ptr, lists.table.stored, lists.table.value


def test_values_and_cases_at_the_ends_of_their_range(ops: TorchOps, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many cases as 32 bits number, and the greatest value: only those that hold something take memory."""
    most = (1 << 31) - 1
    table = replace(
        PROBLEMS["1x1"].table,
        functors=np.arange(3, dtype=np.int32),
        ptr=np.array([0, 2, 2, 3]),
        stored=np.array([0, 1, 1], np.int32),
        value=np.array([1, most, most - 1]),
    )
    entities = np.broadcast_to(np.ones(1, np.int32), (most,))
    cases = np.array([0, most - 1, 0, most - 1], np.int32)
    lists = PostingLists(table, np.array([0, 2, 4]), cases, entities)
    held, folded = device_lists.hold(ops.resident, lists, np.arange(3)), lists.fold()
    assert held.ptr.tolist() == [0, 4, 4, 6]
    first = held.best.cpu().numpy() > 0
    np.testing.assert_array_equal(held.cases.cpu().numpy()[first], folded.cases)
    np.testing.assert_array_equal(held.best.cpu().numpy()[first], folded.best)
    one_more = replace(lists, entities=np.broadcast_to(np.ones(1, np.int32), (most + 1,)))
    with pytest.raises(CapacityError, match="32 bits"):
        device_lists.hold(ops.resident, one_more, np.arange(3))


def test_what_a_batch_leaves_on_the_device_goes_with_it(ops: TorchOps) -> None:
    for postings in (False, True):
        problem = loose(4, 100)
        problem.table.value.flags.writeable = False  # as memory-mapped arrays are
        queries = plain(problem, "max", postings=postings)
        before = len(ops.resident)
        ops.top(queries, 3)
        assert len(ops.resident) > before
        del queries, problem
        gc.collect()
        assert len(ops.resident) == 0
