"""The CUDA C++ kernels, run on the CPU through the shim: the reference's bits under many orders of threads.

The shim draws the order of threads from a seed, so that a kernel without one of its barriers gives other results; the
last test takes each barrier away and sees to it that this is noticed.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import re
import shutil
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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PROBLEMS)
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
    for name in ("5x1000", "300 terms", "near the limit", "all tie"):
        problem = PROBLEMS[name]
        pairs = pairs_all(problem)
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
    """Launches group pairs by size; scratch memory beyond the budget is granted to one block."""
    problem = PROBLEMS["300 terms"]
    pairs = pairs_all(problem)
    found = small.assign(4, problem.table, pairs, memory=1)
    np.testing.assert_array_equal(found, REFERENCE.assign(problem.table, pairs))


def test_too_little_scratch_memory_is_said(small: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS["300 terms"]
    pairs = pairs_all(problem)
    plan = launch.assign_launches

    def mean(*arguments: object) -> list[launch.AssignLaunch]:
        return [part._replace(scratch_bytes=64) for part in plan(*arguments)]  # type: ignore[arg-type]

    monkeypatch.setattr(launch, "assign_launches", mean)
    found = small.assign(4, problem.table, pairs)
    assert set(found.tolist()) <= {-1, 0}
    assert -1 in found


def test_the_launcher_knows_the_sizes_of_the_sources() -> None:
    assert constant("TILE", "accumulate.cu") == launch._TILE
    assert constant("THREADS", "accumulate.cu") == launch._ACCUMULATE_THREADS
    assert constant("THREADS", "assign.cu") == launch._ASSIGN_THREADS
    assert constant("POCKET", "assign.cu") == launch._POCKET
    assert constant("BLOCKS", "assign.cu") == launch._ASSIGN_BLOCKS


def test_launches_take_every_pair_once_within_the_memory() -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 900, 500), rng.integers(0, 900, 500)
    launches = launch.assign_launches(rows, columns, rows * columns, 792, 1 << 28)
    taken = np.concatenate([part.order for part in launches])
    assert sorted(taken.tolist()) == list(range(500))
    for part in launches:
        need = 8 + 20 * rows[part.order] + 28 * columns[part.order] + 12 * rows[part.order] * columns[part.order]
        assert need.max() <= max(part.scratch_bytes, launch._POCKET)
        assert part.scratch_bytes % 8 == 0
        assert part.blocks == 1 or part.blocks * 4 * part.scratch_bytes <= 1 << 28


# Where the shim cannot tell: the shuffles before it stop all lanes too, but only a barrier orders memory on a device.
UNSEEN = {("assign.cu", 2), ("assign.cu", 5)}
BARRIER = re.compile(r"__sync(?:threads|warp)\(\);")


def barriers() -> list[tuple[str, int]]:
    """Returns every barrier of the sources: (source, number)."""
    found = {source.name: len(BARRIER.findall(source.read_text("utf-8"))) for source in sorted(SOURCES.glob("*.cu"))}
    return [(source, at) for source, count in found.items() for at in range(count) if (source, at) not in UNSEEN]


@pytest.fixture(scope="module")
def patience_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds after which a mutant is endless: five times what the kernels as they are take, which pass."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "_POCKET", SMALL["POCKET"])
        whole = _small(tmp_path_factory)
        started = time.perf_counter()
        assert not any(differs(whole, seed) for differs in (accumulate_differs, assign_differs) for seed in range(20))
        return 5 * (time.perf_counter() - started) + 5


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
        sys.exit(any(differs(mutant, seed) for seed in range(20)))

    # In a process of its own: a mutant may also write where it should not, or never end.
    child = multiprocessing.get_context("fork").Process(target=search)
    child.start()
    child.join(timeout=patience_s)
    noticed = child.exitcode != 0
    child.kill()
    child.join()
    assert noticed


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
