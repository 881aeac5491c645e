"""The cpu backend, run whole, gives what the loop over the reference's ops gives, from folded lists and postings."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parity.op_arrays import PoisonedNumpy, random_queries, same
from strategies import ALL_DIALS, pack, random_world

from sma_gpu import CaseBatch, Dials, Index
from sma_gpu.bench.op_problems import invented
from sma_gpu.errors import CapacityError, ShapeError
from sma_gpu.ops import FoldedLists, PlainQueries, PostingLists, Tops, WholeOps
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.retrieval.search import open_blocks
from sma_gpu.scoring import Normaliser, PairTable

pytestmark = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed (the extra cpu brings it)")

REFERENCE = ReferenceOps()
LIMIT = 1 << 31


@pytest.fixture(params=[1, 3], ids=lambda n: f"{n} threads")
def ops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The backend, which hands out memory that nobody has written with the smallest integer in it."""
    from sma_gpu.ops import cpu

    monkeypatch.setattr(cpu, "_CELLS_TO_SHARE", 0)
    monkeypatch.setattr(cpu, "np", PoisonedNumpy())
    return cpu.CpuOps(request.param)


def drawn(rng: np.random.Generator, index: Index, queries: int, size: int) -> CaseBatch:
    """Returns queries of any size up to ``size``, the first of them empty."""
    ids = index.mounted.ontology.ids
    sizes = [0, *rng.integers(0, size + 1, queries - 1).tolist()]
    terms = {f"q{i}": rng.choice(len(ids), n, replace=False).tolist() for i, n in enumerate(sizes)}
    return pack(index.mounted, {key: [ids[t] for t in held] for key, held in terms.items()})


def both_forms(index: Index, batch: CaseBatch, ops: Any, among: np.ndarray | None = None) -> list[PlainQueries]:
    """Returns the queries with folded lists and with postings."""
    (block,) = open_blocks(index, batch, ops, among=among)
    plain = block.as_plain()
    assert plain is not None
    postings = index.postings(plain.table)
    return [replace(plain, lists=postings.fold()), replace(plain, lists=postings)]


def by_the_loop(index: Index, batch: CaseBatch, k: int, among: np.ndarray | None = None) -> Tops:
    """Returns what the loop over the reference's ops finds; none of its blocks is run whole."""
    assert not isinstance(REFERENCE, WholeOps)
    parts = [block.top(k) for block in open_blocks(index, batch, REFERENCE, among=among)]
    return Tops(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Tops)))


def same_tops(found: Tops, wanted: Tops) -> None:
    for field in fields(Tops):
        same(getattr(found, field.name), getattr(wanted, field.name))


@pytest.mark.parametrize("dials", ALL_DIALS, ids=lambda d: d.fingerprint[:6])
def test_top_under_all_dials(ops: Any, dials: Dials) -> None:
    rng = np.random.default_rng(41)
    for terms, cases, size in ((12, 7, 4), (60, 150, 12), (400, 500, 25)):
        index = random_world(rng, terms=terms, cases=cases, size=size).index(dials)
        batch = drawn(rng, index, 12, min(terms, 12))
        for k in (1, 10, cases):
            k = min(k, cases)
            wanted = by_the_loop(index, batch, k)
            for plain in both_forms(index, batch, ops):
                same_tops(ops.top(plain, k), wanted)


@pytest.mark.parametrize("normalisation", ["max", "min", "power(0)", "power(0.5)"])
def test_top_among_some_of_the_cases(ops: Any, normalisation: str) -> None:
    rng = np.random.default_rng(43)
    index = random_world(rng, terms=120, cases=300, size=15).index(Dials(normalisation=normalisation))
    batch = drawn(rng, index, 20, 10)
    each = rng.random((20, 300)) < rng.choice([0.0, 0.1, 0.9, 1.0], 20)[:, None]
    for among in (each, each[7], np.zeros(300, bool), np.ones((20, 300), bool)):
        for k in (1, 10, 300):
            wanted = by_the_loop(index, batch, k, among)
            for plain in both_forms(index, batch, ops, among):
                same_tops(ops.top(plain, k), wanted)


def test_top_where_most_scores_are_the_same(ops: Any) -> None:
    rng = np.random.default_rng(47)
    world = random_world(rng, terms=40, cases=30, size=6)
    copies = {f"{key}-{n}": terms for n in range(40) for key, terms in world.cases.items()}
    index = replace(world, cases=copies).index(Dials(scorer="unit"))
    batch = drawn(rng, index, 15, 5)
    for k in (1, 7, 40, 100):
        wanted = by_the_loop(index, batch, k)
        for plain in both_forms(index, batch, ops):
            same_tops(ops.top(plain, k), wanted)


def test_top_over_several_tiles_of_cases(ops: Any) -> None:
    rng = np.random.default_rng(53)
    problem = invented(rng, 9, 150_000, kinds=60, case_size=3)
    normaliser = problem.normaliser("power(0.5)")
    plain = PlainQueries(
        problem.lists, problem.table, problem.query_ptr, problem.query_rows, problem.self_query, problem.case_ptr,
        problem.case_kinds, normaliser, problem.tie_rank,
    )  # fmt: skip
    bounds = REFERENCE.accumulate(problem.lists, problem.query_ptr, problem.query_lists, np.ones(9, np.int32))
    cases, keys = REFERENCE.select(bounds, normaliser, problem.self_query, problem.tie_rank, 2000)
    found = [ops.top(replace(plain, lists=lists), 10) for lists in (problem.lists, problem.postings)]
    same_tops(found[0], found[1])
    for query in range(9):
        # Scores never exceed bounds: the 2,000 best bounds hold the top 10 if the last of them is below its score.
        short = cases[query][cases[query] >= 0].astype(np.int64)
        pairs = pairs_with(problem, query, short)
        scores = REFERENCE.assign(problem.table, pairs)
        rank_keys = normaliser.rank_keys(scores, problem.self_query[query], short)
        order = np.lexsort((problem.tie_rank[short], -rank_keys))[:10]
        held = int((found[0].cases[query] >= 0).sum())
        if len(short) == 2000:
            assert rank_keys[order[-1]] > keys[query, -1]
        assert found[0].cases[query, :held].tolist() == short[order].tolist()
        same(found[0].scores[query, :held], scores[order])


def pairs_with(problem: Any, query: int, cases: np.ndarray) -> Any:
    from sma_gpu.bench.op_problems import pairs_of

    return pairs_of(problem, np.full(len(cases), query), cases)


def test_cases_and_queries_of_three_hundred_terms(ops: Any) -> None:
    rng = np.random.default_rng(59)
    index = random_world(rng, terms=700, cases=60, size=300).index(Dials(normalisation="power(0.5)", delta=3))
    batch = drawn(rng, index, 6, 300)
    for k in (1, 10, 60):
        wanted = by_the_loop(index, batch, k)
        for plain in both_forms(index, batch, ops):
            same_tops(ops.top(plain, k), wanted)


# --- the edge at 2^31


def one_pair_of(best: list[int]) -> PlainQueries:
    """Returns one query of ``len(best)`` statements over two cases, of which the second matches each, and of no other.

    Each statement has a stored kind of its own, so that the score is the bound.
    """
    size = len(best)
    zeros = np.zeros(size, np.int32)
    table = PairTable(
        np.arange(size, dtype=np.int32), np.arange(size + 1), np.arange(size, dtype=np.int32), np.array(best, np.int64),
        zeros, zeros,
    )  # fmt: skip
    ones = np.ones(size, np.int32)
    postings = PostingLists(table, np.arange(size + 1), ones, np.ones(2, np.int32))
    normaliser = Normaliser.build(Dials(), np.array([0, 5], np.int64))
    return PlainQueries(
        postings, table, np.array([0, 0, size]), np.arange(size), np.zeros(2, np.int64), np.array([0, 0, size]),
        np.arange(size, dtype=np.int32), normaliser, np.arange(2, dtype=np.int32),
    )  # fmt: skip


@pytest.mark.parametrize(
    "best",
    [
        [LIMIT - 1 - 65_536], [LIMIT - 65_536], [1 << 30, (1 << 30) - 65_537], [1 << 30, (1 << 30) - 65_536],
        [LIMIT - 1], [LIMIT - 1, LIMIT - 1], [LIMIT - 1] * 3, [LIMIT - 1] * 5,
    ],
)  # fmt: skip
def test_a_bound_of_two_to_the_31_is_refused_and_one_less_passes(ops: Any, best: list[int]) -> None:
    total = sum(best) + 65_536
    postings = one_pair_of(best)
    for plain in (postings, replace(postings, lists=postings.lists.fold())):  # type: ignore[union-attr]
        unwanted = ops.top(replace(plain, among=np.array([[True, True], [True, False]])), 1)
        assert unwanted.cases.tolist() == [[-1], [-1]] and unwanted.aligned.tolist() == [0, 0]
        if total < LIMIT:
            found = ops.top(plain, 2)
            assert found.cases.tolist() == [[-1, -1], [1, -1]] and found.scores[1, 0] == total
            assert found.aligned.tolist() == [0, 1]
        else:
            with pytest.raises(CapacityError, match=str(total)):
                ops.top(plain, 2)


# --- lists in two forms


@pytest.mark.parametrize("queries", [0, 1, 63])
@pytest.mark.parametrize("cases", [0, 1, 63, 1000, 140_000])
def test_accumulate_from_postings(ops: Any, cases: int, queries: int) -> None:
    rng = np.random.default_rng(cases + queries)
    problem = invented(
        rng, queries, cases, most_entities=3, repeats=True, kinds=50, case_size=4 if cases > 1000 else 15
    )
    among = None if queries != 63 else rng.random((queries, cases)) < 0.5
    arguments = (problem.query_ptr, problem.query_lists, problem.query_entities, among)
    same(ops.accumulate(problem.postings, *arguments), REFERENCE.accumulate(problem.lists, *arguments))


@pytest.mark.parametrize(("best", "held"), [([LIMIT - 65_537], 1), ([LIMIT - 65_536], 1), ([1], 40_000), ([9], 32_767)])
def test_accumulate_from_postings_at_the_edge(ops: Any, best: list[int], held: int) -> None:
    postings = replace(one_pair_of(best).lists, entities=np.array([1, held], np.int32))
    arguments = (np.array([0, 1]), np.zeros(1, np.int32), np.full(1, held, np.int32))
    if best[0] + held * 65_536 < LIMIT:
        same(ops.accumulate(postings, *arguments), REFERENCE.accumulate(postings, *arguments))
        return
    with pytest.raises(CapacityError) as ours:
        ops.accumulate(postings, *arguments)
    with pytest.raises(CapacityError) as wanted:
        REFERENCE.accumulate(postings, *arguments)
    assert str(ours.value) == str(wanted.value)


@pytest.mark.parametrize("cases", [0, 1, 63, 1000])
def test_fold(ops: Any, cases: int) -> None:
    problem = invented(np.random.default_rng(cases), 5, cases)
    for lists in (problem.postings, one_pair_of([5, 7]).lists):
        assert isinstance(lists, PostingLists)
        found, wanted = ops.fold(lists), lists.fold()
        for field in fields(FoldedLists):
            same(getattr(found, field.name), getattr(wanted, field.name))


def test_falling_orders_each_row_by_value() -> None:
    lists = invented(np.random.default_rng(3), 5, 40).postings
    for row in range(len(lists.table.functors)):
        entries = lists.falling[lists.table.ptr[row] : lists.table.ptr[row + 1]]
        assert sorted(entries.tolist()) == list(range(lists.table.ptr[row], lists.table.ptr[row + 1]))
        assert (np.diff(lists.table.value[entries]) <= 0).all()


def test_queries_that_do_not_fit_are_refused_by_name(ops: Any) -> None:
    plain = one_pair_of([5, 7])
    ops.top(plain, 2)
    for name, value in (
        ("query_ptr", np.array([0, 0, 3])), ("query_rows", np.array([0, 2])), ("query_rows", np.array([-1, 0])),
        ("self_query", np.zeros(1, np.int64)), ("case_ptr", np.array([0, 2])), ("case_ptr", np.array([0, 0, 3])),
        ("case_kinds", np.zeros(2, np.int64)), ("tie_rank", np.zeros(1, np.int32)),
        ("normaliser", Normaliser.build(Dials(), np.zeros(3, np.int64))), ("among", np.ones((1, 2), bool)),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match="case_kinds" if name == "case_ptr" and len(value) == 3 else name):
            ops.top(replace(plain, **{name: value}), 2)
    for k in (0, 3):
        with pytest.raises(ShapeError, match="k: "):
            ops.top(plain, k)


def test_random_queries_are_the_same_for_folded_lists_and_postings_by_the_reference() -> None:
    rng = np.random.default_rng(61)
    problem = invented(rng, 5, 80)
    asked = random_queries(rng, 20, len(problem.table.functors))
    same(REFERENCE.accumulate(problem.postings, *asked), REFERENCE.accumulate(problem.lists, *asked))


def test_a_kernel_that_calls_other_files_is_compiled_anew_when_one_of_them_changes() -> None:
    from sma_gpu.ops import cpu_kernels, cpu_mapping, cpu_top

    for kernel in (cpu_top.top_span, cpu_mapping.map_span):
        function = kernel.__wrapped__  # type: ignore[attr-defined]
        # What a function takes from around it belongs to numba's key of its compiled code.
        assert [cell.cell_contents for cell in function.__closure__] == [cpu_kernels.SOURCES]
    files = sorted(Path(cpu_kernels.__file__).parent.glob("cpu_*.py"))
    assert {f.name for f in files} >= {"cpu_top.py", "cpu_assign.py", "cpu_accumulate.py", "cpu_kernels.py"}
    assert zlib.crc32(b"".join(f.read_bytes() for f in files)) == cpu_kernels.SOURCES
