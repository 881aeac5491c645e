"""The torch backend gives the reference's bits, over random and adversarial arrays and over whole retrievals."""

from __future__ import annotations

import gc
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from parity.op_arrays import random_lists, random_queries, same
from parity.torch_here import DEVICES, no_torch, one_thread, require
from strategies import ALL_DIALS, pack, random_declared, random_nested_case, random_world

from sma_gpu import CaseBatch, Dials, Hits, Index, mount, ontology_from_parents
from sma_gpu.bench.op_problems import invented
from sma_gpu.errors import BackendUnavailable, CapacityError
from sma_gpu.ops import FoldedLists, PairBlock, choose, torch_backend, torch_matching
from sma_gpu.ops.matching import best_total
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.ops.torch_backend import TorchOps
from sma_gpu.retrieval.search import open_blocks
from sma_gpu.scoring import Normaliser, PairTable

pytestmark = no_torch

__all__ = ["one_thread"]  # a fixture that pytest finds by its name here

REFERENCE = ReferenceOps()
SHAPES = (0, 1, 63, 1000)
NORMALISATIONS = ("max", "min", "power(0)", "power(0.25)", "power(0.5)", "power(0.9)")


@pytest.fixture(params=DEVICES)
def ops(request: pytest.FixtureRequest) -> TorchOps:
    return TorchOps(require(request.param))


@pytest.fixture(autouse=True)
def _poison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hands out memory that nobody has written with the smallest integer in it."""
    torch = pytest.importorskip("torch")
    for name in ("empty", "empty_like"):
        make = getattr(torch, name)

        def poisoned(*args: Any, _make: Any = make, **named: Any) -> Any:
            made = _make(*args, **named)
            return made.fill_(torch.iinfo(made.dtype).min) if made.dtype == torch.int64 else made

        monkeypatch.setattr(torch, name, poisoned)


# --- accumulate


@pytest.mark.parametrize("at_once", [1, 100, 1 << 23])
@pytest.mark.parametrize("queries", SHAPES[:3])
@pytest.mark.parametrize("cases", SHAPES)
def test_accumulate(ops: TorchOps, cases: int, queries: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_backend, "_AT_ONCE", max(at_once, cases // 10))
    rng = np.random.default_rng([1, cases, queries])
    lists = random_lists(rng, cases, 7)
    ptr, named, entities = random_queries(rng, queries, 7)
    for among in (None, rng.random((queries, cases)) < 0.5, np.zeros((queries, cases), bool)):
        same(
            ops.accumulate(lists, ptr, named, entities, among), REFERENCE.accumulate(lists, ptr, named, entities, among)
        )


@pytest.mark.parametrize("list_width", [np.int32, np.int64])
@pytest.mark.parametrize("query_width", [np.int32, np.int64])
def test_accumulate_takes_pointers_of_either_width(ops: TorchOps, list_width: type, query_width: type) -> None:
    rng = np.random.default_rng(2)
    lists = random_lists(rng, 200, 9)
    lists = FoldedLists(lists.ptr.astype(list_width), lists.cases, lists.best, lists.entities)
    ptr, named, entities = random_queries(rng, 40, 9)
    ptr = ptr.astype(query_width)
    same(ops.accumulate(lists, ptr, named, entities), REFERENCE.accumulate(lists, ptr, named, entities))


@pytest.mark.parametrize("queries", [0, 1, 30])
def test_accumulate_reads_postings(ops: TorchOps, queries: int) -> None:
    problem = invented(np.random.default_rng([2, queries]), queries, 90, most_entities=3, repeats=True)
    asked = problem.query_ptr, problem.query_lists, problem.query_entities
    for among in (None, np.arange(90 * queries).reshape(queries, 90) % 3 > 0):
        wanted = REFERENCE.accumulate(problem.lists, *asked, among)
        for _ in range(2):  # folded, and kept
            same(ops.accumulate(problem.postings, *asked, among), wanted)


def test_accumulate_at_the_edge_of_its_capacity(ops: TorchOps) -> None:
    entities = np.ones(2, np.int32)
    for last, fits in ((65_535, True), (65_536, False)):
        best = np.array([1 << 30, 1, (1 << 30) - 131_072, last], np.int32)
        lists = FoldedLists(np.array([0, 2, 3, 4]), np.array([0, 1, 0, 0], np.int32), best, entities)
        asked = lists, np.array([0, 1, 4]), np.array([0, 0, 1, 2], np.int32), entities
        if fits:
            same(ops.accumulate(*asked), REFERENCE.accumulate(*asked))
            assert ops.accumulate(*asked)[1, 0] == (1 << 31) - 1
            continue
        said = []
        for backend in (ops, REFERENCE):
            with pytest.raises(CapacityError) as refused:
                backend.accumulate(*asked)
            said.append(str(refused.value))
        assert said[0] == said[1]
        among = np.array([[True, True], [False, True]])  # what is not wanted cannot overflow either
        same(ops.accumulate(*asked, among), REFERENCE.accumulate(*asked, among))


# --- select


@pytest.mark.parametrize("cases", SHAPES)
@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_select(ops: TorchOps, normalisation: str, cases: int) -> None:
    rng = np.random.default_rng([3, cases])
    # Few different scores, so that ties abound; the last greatest scores over small selves make keys of 55 bits.
    for greatest, own in ((4, 1 << 20), (1 << 31, 1 << 31), (1 << 31, 3)):
        selves = rng.integers(1, own, cases) if own > 3 else rng.integers(0, own, cases)
        normaliser = Normaliser.build(Dials(normalisation=normalisation), np.maximum(selves, 0))
        for queries in (0, 1, 5):
            bounds = rng.integers(0, greatest, (queries, cases)).astype(np.int32)
            bounds[:1] = 0
            if queries > 2 and cases:
                bounds[1], bounds[2] = (1 << 31) - 1, 1
            self_query = rng.integers(0, own, queries)
            tie_rank = rng.permutation(cases).astype(np.int32)
            for limit in (1, 5, max(cases, 1), cases + 3):
                asked = bounds, normaliser, self_query, tie_rank, limit
                same(ops.select(*asked), REFERENCE.select(*asked))


def test_select_where_key_and_tie_rank_do_not_fit_one_number(ops: TorchOps) -> None:
    normaliser = Normaliser.build(Dials(normalisation="max"), np.ones(300, np.int64))
    bounds = np.full((2, 300), (1 << 31) - 1, np.int32)
    bounds[0, ::7] -= 1
    tie_rank = np.random.default_rng(4).permutation(300).astype(np.int32)
    for limit in (1, 50, 300):
        asked = bounds, normaliser, np.ones(2, np.int64), tie_rank, limit
        assert REFERENCE.select(*asked)[1].max() > (1 << 62) // 300
        same(ops.select(*asked), REFERENCE.select(*asked))


# --- assign


def random_pairs(
    rng: np.random.Generator,
    sizes: tuple[int, int],
    *,
    kinds: int = 40,
    greatest: int = 1 << 20,
    share: float = 0.2,
    pairs: int = 60,
) -> tuple[PairTable, PairBlock]:
    """Returns a table of values and pairs of queries and cases; sizes run from 0 to the given ones."""
    rows = kinds + 3
    compatible = rng.random((rows, kinds)) < share
    compatible[0], compatible[1] = False, True
    row, stored = np.nonzero(compatible)
    ptr = np.concatenate([[0], np.cumsum(compatible.sum(axis=1))]).astype(np.int64)
    value = rng.integers(1, greatest, len(row)).astype(np.int64)
    nothing = np.zeros(len(row), np.int32)
    table = PairTable(np.arange(rows, dtype=np.int32), ptr, stored.astype(np.int32), value, nothing, nothing)
    query_sizes, case_sizes = (np.minimum(rng.integers(0, s + 1, 12), (rows, kinds)[i]) for i, s in enumerate(sizes))
    query_sizes[-1], case_sizes[-1] = sizes
    query_rows = [np.sort(rng.integers(0, rows, n)) for n in query_sizes]
    case_kinds = [np.sort(rng.choice(kinds, n, replace=False)) for n in case_sizes]
    return table, PairBlock(
        np.sort(rng.integers(0, 12, pairs)),
        rng.integers(0, 12, pairs),
        np.concatenate([[0], np.cumsum(query_sizes)]),
        np.concatenate(query_rows).astype(np.int64),
        np.concatenate([[0], np.cumsum(case_sizes)]),
        np.concatenate(case_kinds).astype(np.int32),
    )


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 23])
@pytest.mark.parametrize("greatest", [2, 4, 1 << 20, 1 << 31])
@pytest.mark.parametrize("sizes", [(0, 0), (0, 9), (1, 1), (6, 12), (30, 20), (40, 40)], ids=str)
def test_assign(
    ops: TorchOps, sizes: tuple[int, int], greatest: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_backend, "_AT_ONCE", at_once)
    for seed, share in enumerate((0.02, 0.1, 0.4, 1.0)):
        rng = np.random.default_rng([5, seed, *sizes])
        table, pairs = random_pairs(rng, sizes, greatest=greatest, share=share)
        same(ops.assign(table, pairs), REFERENCE.assign(table, pairs))


@pytest.mark.parametrize("largest", [64, 1000])
@pytest.mark.parametrize("size", [63, 300])
def test_assign_of_large_cases(ops: TorchOps, size: int, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_matching, "_LARGEST", largest)
    for seed, share in enumerate((0.003, 0.02, 0.2)):
        rng = np.random.default_rng([6, seed, size])
        table, pairs = random_pairs(rng, (size, size), kinds=2 * size, share=share, pairs=6)
        same(ops.assign(table, pairs), REFERENCE.assign(table, pairs))


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_assign_takes_pointers_of_either_width(ops: TorchOps, width: type) -> None:
    table, pairs = random_pairs(np.random.default_rng(7), (8, 12))
    narrow = PairTable(table.functors, table.ptr.astype(width), table.stored, table.value, table.via, table.distance)
    block = PairBlock(
        pairs.query.astype(width), pairs.case.astype(width), pairs.query_ptr.astype(width),
        pairs.query_rows.astype(width), pairs.case_ptr.astype(width), pairs.case_kinds,
    )  # fmt: skip
    same(ops.assign(narrow, block), REFERENCE.assign(table, pairs))


def test_assign_without_pairs_or_cases(ops: TorchOps) -> None:
    table, pairs = random_pairs(np.random.default_rng(8), (3, 3), pairs=0)
    same(ops.assign(table, pairs), np.zeros(0, np.int64))
    empty = PairBlock(
        np.zeros(2, np.int64), np.zeros(2, np.int64), np.array([0, 2]), np.array([1, 1]), np.array([0, 0]),
        np.zeros(0, np.int32),
    )  # fmt: skip
    same(ops.assign(table, empty), np.zeros(2, np.int64))


def test_what_goes_to_the_solver_of_the_host_is_counted(ops: TorchOps, monkeypatch: pytest.MonkeyPatch) -> None:
    table, pairs = random_pairs(np.random.default_rng(8), (30, 30), greatest=3, pairs=5)
    wanted = REFERENCE.assign(table, pairs)
    same(ops.assign(table, pairs), wanted)
    assert ops.solved_on_host == 0
    monkeypatch.setattr(torch_matching, "_LARGEST", 0)
    for times in (1, 2):
        same(ops.assign(table, pairs), wanted)
        assert ops.solved_on_host >= times


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("largest", [0, 2, 64])
@pytest.mark.parametrize("greatest", [2, 5, 1 << 40])
def test_matching_of_many_problems_at_once(
    device: str, greatest: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch_matching, "_LARGEST", largest)
    monkeypatch.setattr(torch_matching, "_CELLS", 1 << 10)
    rng = np.random.default_rng(9)
    for trial in range(30):
        edges, wanted = [], []
        for owner in range(9):
            high, wide = rng.integers(1, (6, 20, 90)[trial % 3], 2)
            row, column = np.nonzero(rng.random((high, wide)) < rng.random() * (1, 0.3, 0.1)[trial % 3])
            value = rng.integers(1, greatest, len(row))
            wanted.append(best_total(row, column, value))
            edges.append(np.stack([row + 100 * owner, column + 100 * owner, value, np.full(len(row), owner)]))
        moved = torch.from_numpy(np.concatenate(edges, axis=1)).to(require(device))
        assert torch_matching.best_totals(*moved, len(wanted))[0].tolist() == wanted


# --- whole retrievals


def same_hits(first: Hits, second: Hits) -> None:
    for field in fields(Hits):
        if field.name != "backend":
            np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))


@pytest.mark.parametrize("number", range(len(ALL_DIALS)))
def test_retrieval_equals_that_of_the_reference(number: int) -> None:
    rng = np.random.default_rng([10, number])
    world = random_world(rng, terms=80, cases=120, size=14)
    index, ids = world.index(ALL_DIALS[number]), sorted(world.parents)
    asks = {f"q{i}": [ids[t] for t in rng.choice(80, int(rng.integers(1, 14)), replace=False)] for i in range(20)}
    batch = pack(index.mounted, {**asks, "copy": world.cases["case-0"], "again": world.cases["case-0"]})
    for k in (1, 10, 120):
        found = index.retrieve(batch, k, backend="torch")
        assert found.backend == "torch"
        same_hits(found, index.retrieve(batch, k, backend="reference"))


@pytest.mark.parametrize("number", range(0, len(ALL_DIALS), 5))
def test_retrieval_of_nested_cases_equals_that_of_the_reference(number: int) -> None:
    rng = np.random.default_rng([11, number])
    declared = random_declared(rng, 10)
    mounted = mount(ontology_from_parents(declared.parents))
    stored = [random_nested_case(rng, declared, f"c{i}", int(rng.integers(1, 7))) for i in range(25)]
    index = Index.build(CaseBatch.from_cases(stored, mounted).spelled_out(), mounted, ALL_DIALS[number])
    batch = CaseBatch.from_cases([random_nested_case(rng, declared, f"q{i}") for i in range(6)], mounted).spelled_out()
    same_hits(index.retrieve(batch, 5, backend="torch"), index.retrieve(batch, 5, backend="reference"))


def test_threads_and_blocks_change_nothing() -> None:
    import torch

    rng = np.random.default_rng(12)
    world = random_world(rng, terms=60, cases=200, size=20)
    index = world.index()
    batch = pack(index.mounted, dict(list(world.cases.items())[:40]))
    wanted, before = index.retrieve(batch, 10, backend="reference"), torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            same_hits(index.retrieve(batch, 10, backend="torch"), wanted)
    finally:
        torch.set_num_threads(before)
    halves = [index.retrieve(batch.take(part), 10, backend="torch") for part in (range(17), range(17, 40))]
    np.testing.assert_array_equal(np.concatenate([h.score_q for h in halves]), wanted.score_q)


# --- what stays on the device, and where there is none


@pytest.fixture
def frozen_lists() -> FoldedLists:
    lists = random_lists(np.random.default_rng(13), 50, 5)
    for field in fields(lists):
        getattr(lists, field.name).flags.writeable = False  # as memory-mapped arrays are
    return lists


def test_arrays_of_the_index_are_moved_once_and_go_with_it(ops: TorchOps, frozen_lists: FoldedLists) -> None:
    asked = np.array([0, 2]), np.array([1, 3], np.int32), np.ones(1, np.int32)
    wanted = REFERENCE.accumulate(frozen_lists, *asked)
    same(ops.accumulate(frozen_lists, *asked), wanted)
    kept = len(ops.resident)
    assert kept == 3  # cases, best, entities; pointers are read on the host
    held = ops.resident.of(frozen_lists.best)
    same(ops.accumulate(frozen_lists, *asked), wanted)
    assert len(ops.resident) == kept
    assert ops.resident.of(frozen_lists.best) is held
    other = random_lists(np.random.default_rng(14), 30, 5)
    for field in fields(other):
        getattr(other, field.name).flags.writeable = False
    ops.accumulate(other, *asked)
    assert len(ops.resident) == 2 * kept
    del other
    gc.collect()
    assert len(ops.resident) == kept


def test_an_index_that_is_freed_leaves_nothing_behind() -> None:
    ops = choose("torch", "cpu")[1]
    assert isinstance(ops, TorchOps)
    gc.collect()
    before = len(ops.resident)
    world = random_world(np.random.default_rng(15), terms=30, cases=20, size=6)
    index = world.index()
    for block in open_blocks(index, pack(index.mounted, world.cases), ops):
        block.top(3)
    assert len(ops.resident) > before
    del index, block
    gc.collect()
    assert len(ops.resident) == before


def test_the_backend_is_chosen_by_name_only() -> None:
    assert choose()[0] != "torch"
    name, ops = choose("torch")
    assert name == "torch" and choose("torch")[1] is ops


def test_a_gpu_that_is_not_there_is_refused_in_words() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    for name in ("torch", "auto"):
        with pytest.raises(BackendUnavailable, match="finds no GPU"):
            choose(name, "cuda")
