"""The CUDA C++ kernels, run on the CPU through the shim: the reference's bits under many orders of threads.

The shim draws the order of threads from a seed, so that a kernel without one of its barriers gives other results; the
last test takes each barrier away and sees to it that this is noticed.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from parity.cuda_on_cpu import SOURCES, KernelFault, Library, build, constant

from sma_gpu.bench.op_problems import Problem, invented, mask, pairs_all, pairs_of
from sma_gpu.errors import CapacityError
from sma_gpu.kernels.cuda import launch
from sma_gpu.ops import FoldedLists, PairBlock
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.scoring import PairTable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed: CUDA sources cannot run here"),
]

REFERENCE = ReferenceOps()
SEEDS = (0, 1, 2)
SEARCHED = 6  # seeds in which a missing barrier must show
SMALL = {"TILE": 96, "THREADS": 64, "POCKET": 64}  # many tiles, most pairs in scratch memory


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The kernels in the sizes they are launched with."""
    return build(tmp_path_factory.mktemp("real"), {})


@pytest.fixture
def small(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Library:
    """The kernels in small sizes, and launches planned for them."""
    monkeypatch.setattr(launch, "_POCKET", SMALL["POCKET"])
    return _small(tmp_path_factory)


_BUILT: list[Library] = []


def _small(factory: pytest.TempPathFactory) -> Library:
    if not _BUILT:
        _BUILT.append(build(factory.mktemp("small"), SMALL))
    return _BUILT[0]


def problems() -> Iterator[tuple[str, Problem]]:
    """Yields named problems: shapes from nothing to 1,000, full and empty rows, repeats, ties, values to the limit."""
    for queries, cases in ((0, 5), (3, 0), (1, 1), (7, 63), (5, 1000), (63, 97)):
        yield f"{queries}x{cases}", invented(np.random.default_rng(cases), queries, cases)
    rng = np.random.default_rng(1)
    yield "several entities", invented(rng, 6, 300, most_entities=5)
    yield "repeated lists", invented(rng, 6, 300, repeats=True, asked=4, query_size=20)
    yield "all tie", invented(rng, 4, 200, greatest=1)
    yield "no kind matches", invented(rng, 4, 60, near=0, asked=2, kinds=4000)
    yield "near the limit", invented(rng, 4, 120, greatest=(1 << 31) // 64, query_size=40, kinds=60, asked=60)
    yield "300 terms", invented(rng, 3, 6, kinds=500, asked=400, query_size=400, case_size=150, near=30)


PROBLEMS = dict(problems())


def by_reference(problem: Problem, among: np.ndarray | None = None) -> np.ndarray:
    return REFERENCE.accumulate(problem.lists, problem.query_ptr, problem.query_lists, problem.query_entities, among)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_accumulate_has_the_bits_of_the_reference(small: Library, name: str, masked: bool, seed: int) -> None:
    problem = PROBLEMS[name]
    among = mask(np.random.default_rng(seed), problem) if masked else None
    bounds, overflow = small.accumulate(
        seed, problem.lists, problem.query_ptr, problem.query_lists, problem.query_entities, among
    )
    assert not overflow.any()
    np.testing.assert_array_equal(bounds, by_reference(problem, among))


@pytest.mark.parametrize("cases", [1, 8191, 8192, 8193, 20000])
def test_accumulate_in_its_real_sizes(real: Library, cases: int) -> None:
    problem = invented(np.random.default_rng(cases), 3, cases, query_size=20)
    bounds, overflow = real.accumulate(5, problem.lists, problem.query_ptr, problem.query_lists, problem.query_entities)
    assert not overflow.any()
    np.testing.assert_array_equal(bounds, by_reference(problem))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_query_of_more_lists_than_are_looked_up_at_a_time(real: Library, seed: int) -> None:
    problem = invented(np.random.default_rng(seed), 2, 500, kinds=900, asked=900, query_size=1500)
    assert np.diff(problem.query_ptr).max() > constant("THREADS", "accumulate.cu") // 2
    bounds, _ = real.accumulate(seed, problem.lists, problem.query_ptr, problem.query_lists, problem.query_entities)
    np.testing.assert_array_equal(bounds, by_reference(problem))


def one_case(best: list[int], entities: int = 1) -> tuple[FoldedLists, np.ndarray, np.ndarray]:
    """Returns lists that each hold case 2 of three, and one query that names all of them."""
    lists = FoldedLists(
        np.arange(len(best) + 1, dtype=np.int64),
        np.full(len(best), 2, np.int32),
        np.array(best, np.int32),
        np.full(3, entities, np.int32),
    )
    return lists, np.array([0, len(best)], np.int64), np.arange(len(best), dtype=np.int32)


MOST = (1 << 31) - 1
EDGES = [
    ([MOST - (1 << 16)], 1),  # 2^31 - 1: the greatest bound there may be
    ([MOST - (1 << 16) + 1], 1),  # 2^31
    ([MOST], 1),
    ([MOST, MOST], 1),
    ([MOST, MOST, 2], 1),  # 2^32: a sum of 32 bits is 0
    ([MOST, MOST, 3], 1),
    ([MOST] * 9, 1),
    ([1 << 30, (1 << 30) - (1 << 16) - 1], 1),
    ([1], 32767),  # entities alone come near the limit
    ([1], 32768),
    ([1], MOST),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("best", "entities"), EDGES, ids=range(len(EDGES)))
def test_a_bound_of_two_to_the_31_is_seen_exactly(small: Library, best: list[int], entities: int, seed: int) -> None:
    lists, query_ptr, query_lists = one_case(best, entities)
    own = np.array([entities], np.int32)
    bounds, overflow = small.accumulate(seed, lists, query_ptr, query_lists, own)
    try:
        wanted = REFERENCE.accumulate(lists, query_ptr, query_lists, own)
    except CapacityError:
        assert overflow.tolist() == [1]
    else:
        assert overflow.tolist() == [0]
        np.testing.assert_array_equal(bounds, wanted)
    # A case that is not wanted may have any bound.
    among = np.array([[True, True, False]])
    bounds, overflow = small.accumulate(seed, lists, query_ptr, query_lists, own, among)
    assert not overflow.any()
    assert not bounds.any()


@pytest.mark.parametrize(
    ("name", "seed"),
    [(name, seed) for name in PROBLEMS for seed in (SEEDS[:1] if name in ("300 terms", "near the limit") else SEEDS)],
)
def test_assign_has_the_bits_of_the_reference(small: Library, name: str, seed: int) -> None:
    problem = PROBLEMS[name]
    pairs = pairs_all(problem)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(pairs), min(len(pairs), 300), replace=False))
    pairs = pairs_of(problem, pairs.query[chosen], pairs.case[chosen])
    wanted = REFERENCE.assign(problem.table, pairs)
    np.testing.assert_array_equal(small.assign(seed, problem.table, pairs), wanted)
    # The bound holds for the optimum that was found.
    bounds = by_reference(problem)[pairs.query, pairs.case]
    assert (wanted <= np.maximum(bounds, wanted * (problem.query_entities[pairs.query] > 1))).all()


@pytest.mark.slow
def test_assign_in_its_real_sizes(real: Library) -> None:
    for name, step in (("5x1000", 11), ("300 terms", 5), ("near the limit", 3), ("all tie", 5)):
        problem = PROBLEMS[name]
        pairs = pairs_all(problem)
        pairs = pairs_of(problem, pairs.query[::step].copy(), pairs.case[::step].copy())
        np.testing.assert_array_equal(real.assign(9, problem.table, pairs), REFERENCE.assign(problem.table, pairs))


def contest(
    rng: np.random.Generator, rows: int, columns: int, values: list[int], share: float = 1.0
) -> tuple[PairTable, PairBlock]:
    """Returns one pair where a share of the statements of the case can match a statement of the query."""
    row, column = np.nonzero(rng.random((rows, columns)) < share)
    nothing = np.zeros(len(row), np.int32)
    table = PairTable(
        np.arange(rows, dtype=np.int32),
        np.searchsorted(row, np.arange(rows + 1)).astype(np.int64),
        column.astype(np.int32),
        rng.choice(np.array(values), len(row)).astype(np.int64),
        nothing,
        nothing,
    )
    zero = np.zeros(1, np.int64)
    pairs = PairBlock(
        zero,
        zero,
        np.array([0, rows]),
        np.arange(rows, dtype=np.int64),
        np.array([0, columns]),
        np.arange(columns, dtype=np.int32),
    )
    return table, pairs


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
@pytest.mark.parametrize(
    "values", [[1], [1, 2], [7, 8, 9, 1 << 20], [MOST, MOST - 1, 1], [1 << 40, 3], list(range(1, 300))], ids=len
)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 40), (40, 1), (33, 33), (7, 60), (60, 7), (64, 65)])
def test_statements_that_compete(small: Library, rows: int, columns: int, values: list[int], share: float) -> None:
    rng = np.random.default_rng(rows * 100 + columns)
    table, pairs = contest(rng, rows, columns, values, share)
    np.testing.assert_array_equal(small.assign(3, table, pairs), REFERENCE.assign(table, pairs))


def test_a_pair_beside_a_giant(small: Library) -> None:
    """Scratch memory beyond the budget is granted to one block."""
    problem = PROBLEMS["300 terms"]
    pairs = pairs_of(problem, *np.divmod(np.arange(8), 6))
    found = small.assign(4, problem.table, pairs, memory=1)  # one block in each launch
    np.testing.assert_array_equal(found, REFERENCE.assign(problem.table, pairs))


def test_too_little_scratch_memory_is_said(small: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS["300 terms"]
    pairs = pairs_all(problem)
    monkeypatch.setattr(launch, "assign_launches", lambda *_: [launch.AssignLaunch(1, 0), launch.AssignLaunch(1, 64)])
    found = small.assign(4, problem.table, pairs)
    assert set(found.tolist()) <= {-1, 0}
    assert -1 in found


def test_the_launcher_knows_the_sizes_of_the_sources() -> None:
    assert constant("TILE", "accumulate.cu") == launch._TILE
    assert constant("THREADS", "accumulate.cu") == launch._ACCUMULATE_THREADS
    assert constant("THREADS", "assign.cu") == launch._ASSIGN_THREADS
    assert constant("POCKET", "assign.cu") == launch._POCKET
    assert constant("BLOCKS", "assign.cu") == launch._ASSIGN_BLOCKS


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (1, 3), (8, 200), (900, 900)])
def test_launches_have_more_and_more_memory_until_it_suffices(rows: int, columns: int) -> None:
    launches = launch.assign_launches(5000, rows, columns, rows * columns, 792, 1 << 28)
    sizes = [part.scratch_bytes for part in launches]
    assert sizes[0] == 0  # shared memory
    assert all(b <= 4 * max(a, launch._POCKET) for a, b in zip(sizes, sizes[1:], strict=False))
    assert sizes == sorted(set(sizes))
    assert max(launch._POCKET, sizes[-1]) >= 8 + 20 * rows + 28 * columns + 12 * rows * columns
    for part in launches:
        assert part.scratch_bytes % 8 == 0
        assert 1 <= part.blocks <= 792
        assert part.blocks == 1 or part.blocks * 4 * part.scratch_bytes <= 1 << 28
    assert launch.assign_launches(3, rows, columns, 0, 792, 1 << 28)[0].blocks == 1  # four warps a block


def test_a_pair_without_a_case_scores_nothing(small: Library) -> None:
    problem = PROBLEMS["7x63"]
    pairs = pairs_all(problem)
    case = np.where(pairs.case % 3 == 1, -1, pairs.case)
    wanted = np.where(case < 0, 0, REFERENCE.assign(problem.table, pairs))
    found = small.assign(2, problem.table, pairs_of(problem, pairs.query, case))
    np.testing.assert_array_equal(found, wanted)


# Where the shim cannot tell: the shuffles before it stop all lanes too, but only a barrier orders memory on a device.
UNSEEN = {("assign.cu", 2), ("assign.cu", 5)}
BARRIER = re.compile(r"__sync(?:threads|warp)\(\);")


def barriers() -> list[tuple[str, int]]:
    """Returns every barrier of the sources: (source, number)."""
    found = {source.name: len(BARRIER.findall(source.read_text("utf-8"))) for source in sorted(SOURCES.glob("*.cu"))}
    return [(source, at) for source, count in found.items() for at in range(count) if (source, at) not in UNSEEN]


@pytest.fixture(scope="module")
def patience_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    """CPU seconds after which a seed of a mutant is endless: five times what the whole kernels take, which pass."""
    longest = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "_POCKET", SMALL["POCKET"])
        whole = _small(tmp_path_factory)
        for differs in (accumulate_differs, assign_differs):
            for seed in range(SEARCHED):
                started = time.process_time()
                assert not differs(whole, seed)
                longest = max(longest, time.process_time() - started)
    return 5 * longest + 2


@pytest.mark.slow
@pytest.mark.parametrize(("source", "number"), barriers(), ids=str)
def test_each_barrier_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience_s: float, source: str, number: int
) -> None:
    """Without any one barrier, some order of threads gives another result or a fault."""
    for file in SOURCES.glob("*.cu"):
        shutil.copy(file, tmp_path)
    text = (tmp_path / source).read_text("utf-8")
    gone = list(BARRIER.finditer(text))[number]
    (tmp_path / source).write_text(text[: gone.start()] + text[gone.end() :], "utf-8")
    monkeypatch.setattr(launch, "_POCKET", SMALL["POCKET"])
    mutant = build(tmp_path, SMALL, tmp_path)
    differs = accumulate_differs if source == "accumulate.cu" else assign_differs

    def search() -> None:
        faulthandler.disable()
        for seed in range(SEARCHED):
            signal.setitimer(signal.ITIMER_PROF, patience_s)  # what it sends ends a process that uses up so much
            if differs(mutant, seed):
                sys.exit(1)
        os._exit(0)

    # In a process of its own: a mutant may also write where it should not, or never end.
    child = multiprocessing.get_context("fork").Process(target=search)
    child.start()
    child.join()
    assert child.exitcode != 0


def accumulate_differs(mutant: Library, seed: int) -> bool:
    """Whether ``accumulate`` goes wrong on one of three problems."""
    try:
        for problem in (
            PROBLEMS["repeated lists"],
            invented(np.random.default_rng(3), 2, 300, kinds=200, asked=200, query_size=200),
        ):
            given = (problem.lists, problem.query_ptr, problem.query_lists, problem.query_entities)
            if not np.array_equal(mutant.accumulate(seed, *given)[0], by_reference(problem)):
                return True
        # Six queries over two tiles; each has one bound of 2^31 or more, by a case of its own.
        queries, cases = 6, 192
        lists = FoldedLists(
            np.arange(queries + 1, dtype=np.int64),
            np.random.default_rng(seed).integers(0, cases, queries).astype(np.int32),
            np.full(queries, ((1 << 32) + 2) // 3, np.int32),  # three of them are 2 in 32 bits: only the mark tells
            np.ones(cases, np.int32),
        )
        named = np.repeat(np.arange(queries, dtype=np.int32), 3)
        ones = np.ones(queries, np.int32)
        return not mutant.accumulate(seed, lists, np.arange(queries + 1) * 3, named, ones)[1].all()
    except KernelFault:
        return True


def assign_differs(mutant: Library, seed: int) -> bool:
    """Whether ``assign`` goes wrong on one of three problems."""
    problem = PROBLEMS["5x1000"]
    try:
        for table, pairs in (
            contest(np.random.default_rng(seed), 40, 30, list(range(1, 300))),
            contest(np.random.default_rng(seed), 60, 70, list(range(1, 300)), 0.2),
            (problem.table, pairs_of(problem, *np.divmod(np.arange(400) * 12, 1000))),
        ):
            if not np.array_equal(mutant.assign(seed, table, pairs), REFERENCE.assign(table, pairs)):
                return True
    except KernelFault:
        return True
    return False
