"""Places beyond 2^31, in every kernel that counts them: in sparse files, of which a few pages are ever touched."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from parity.cuda_on_cpu import SOURCES, Library, build
from parity.emulated_cuda import emulated, interpreted
from parity.torch_here import no_torch

from sma_gpu.bench.op_problems import Problem, invented
from sma_gpu.kernels.cuda import launch as cuda_launch
from sma_gpu.kernels.triton.launch import CONFIGURATIONS
from sma_gpu.ops import FoldedLists, PairBlock
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.scoring import Dials, Normaliser
from sma_gpu.scoring.grid import ENTITY_VALUE

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

REFERENCE = ReferenceOps()
FAR = (1 << 31) + 3
Sparse = Callable[..., npt.NDArray[Any]]


@pytest.fixture
def sparse(tmp_path: Path) -> Iterator[Sparse]:
    """Returns what makes arrays of zeros in sparse files; where files cannot be sparse, the test is skipped."""
    made: list[Path] = []

    def make(count: int, dtype: Any, *, at: int = 0, held: Any = ()) -> npt.NDArray[Any]:
        path = tmp_path / f"{len(made)}.sparse"
        made.append(path)
        try:
            with path.open("wb") as file:
                file.truncate(max(count, 1) * np.dtype(dtype).itemsize)
        except OSError as fault:
            pytest.skip(f"no sparse file of {count} entries here: {fault}")
        array: npt.NDArray[Any] = np.memmap(path, dtype, mode="r+", shape=(count,)).view(np.ndarray)
        array[at : at + len(held)] = held
        return array

    yield make
    for path in made:
        path.unlink()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return build(tmp_path_factory.mktemp("kernels"), {})


def problem() -> Problem:
    return invented(np.random.default_rng(40), 3, 50, query_size=12, kinds=60, asked=30)


def far_lists(lists: FoldedLists, sparse: Sparse) -> FoldedLists:
    """Returns the same lists with all entries beyond place 2^31."""
    count = FAR + len(lists.cases)
    cases, best = (sparse(count, np.int32, at=FAR, held=side) for side in (lists.cases, lists.best))
    return FoldedLists(lists.ptr + FAR, cases, best, lists.entities)


@needs_compiler
def test_lists_of_more_entries_than_31_bits_count(library: Library, sparse: Sparse) -> None:
    given = problem()
    asked = given.query_ptr, given.query_lists, given.query_entities
    bounds, overflow = library.accumulate(1, far_lists(given.lists, sparse), *asked)
    assert not overflow.any()
    np.testing.assert_array_equal(bounds, REFERENCE.accumulate(given.lists, *asked))


@no_torch
def test_torch_reads_them_too(sparse: Sparse) -> None:
    from sma_gpu.ops.torch_backend import TorchOps

    given = problem()
    asked = given.query_ptr, given.query_lists, given.query_entities
    found = TorchOps("cpu").accumulate(far_lists(given.lists, sparse), *asked)
    np.testing.assert_array_equal(found, REFERENCE.accumulate(given.lists, *asked))


def last_query(library: Library, sparse: Sparse) -> npt.NDArray[Any]:
    """Returns the bounds of a query whose row of ``[B, N]`` begins beyond 2^31 cells, the one query that is run."""
    given, stored = problem(), 50
    queries = (FAR // stored) + 2
    ptr = sparse(queries + 1, np.int64, at=queries, held=[int(given.query_ptr[1])])
    entities = sparse(queries, np.int32, at=queries - 1, held=given.query_entities[:1])
    bounds, overflow = sparse(queries * stored, np.int32), sparse(queries, np.int32)
    among = sparse(queries * stored, np.uint8, at=(queries - 1) * stored, held=np.arange(stored) % 3 > 0)
    held = given.lists
    arrays = [held.ptr, held.cases, held.best, held.entities, ptr, given.query_lists, entities, among, bounds, overflow]
    with library.only(queries - 1):
        sizes = np.int64(queries), np.int64(stored), np.int64(ENTITY_VALUE)
        library.start("accumulate", 5, (queries, 1), [*arrays, *sizes])
    return np.array(bounds[-stored:])


def wanted_of_last() -> npt.NDArray[Any]:
    given = problem()
    ptr = given.query_ptr[:2]
    mask = (np.arange(50) % 3 > 0)[None]
    return REFERENCE.accumulate(given.lists, ptr, given.query_lists[: ptr[1]], given.query_entities[:1], mask)[0]


@needs_compiler
def test_more_bounds_than_31_bits_count(library: Library, sparse: Sparse) -> None:
    assert wanted_of_last().any()
    np.testing.assert_array_equal(last_query(library, sparse), wanted_of_last())


@needs_compiler
def test_a_place_of_32_bits_would_show(tmp_path: Path, sparse: Sparse) -> None:
    for file in SOURCES.glob("*.cu"):
        shutil.copy(file, tmp_path)
    text = (tmp_path / "accumulate.cu").read_text("utf-8")
    assert "const i64 cell = " in text
    (tmp_path / "accumulate.cu").write_text(text.replace("const i64 cell = ", "const int cell = "), "utf-8")
    mutant = build(tmp_path, {}, tmp_path)

    def run() -> None:
        faulthandler.disable()
        os._exit(0 if np.array_equal(last_query(mutant, sparse), wanted_of_last()) else 1)

    child = multiprocessing.get_context("fork").Process(target=run)  # it may well end in a fault of memory
    child.start()
    child.join(timeout=60)
    assert child.exitcode not in (0, None)


@needs_compiler
def test_pairs_whose_arrays_and_scratch_memory_reach_beyond_31_bits(library: Library, sparse: Sparse) -> None:
    given = invented(np.random.default_rng(41), 2, 4, kinds=300, asked=200, query_size=150, case_size=100, near=20)
    table, held = given.table, len(given.table.stored)
    far = replace(
        table,
        ptr=table.ptr + FAR,
        stored=sparse(FAR + held, np.int32, at=FAR, held=table.stored),
        value=sparse(FAR + held, np.int64, at=FAR, held=table.value),
    )
    rows = sparse(FAR + len(given.query_rows), np.int64, at=FAR, held=given.query_rows)
    kinds = sparse(FAR + len(given.case_kinds), np.int32, at=FAR, held=given.case_kinds)
    scratch_bytes, blocks = 1 << 19, 1 << 11
    assert scratch_bytes * 4 * (blocks - 1) > FAR
    query, case = (np.tile(side, blocks // 2) for side in np.divmod(np.arange(8), 4))
    scratch, score = sparse(4 * blocks * scratch_bytes, np.uint8), np.full(len(query), -1, np.int64)
    given_pairs = [query, case, given.query_ptr + FAR, rows, given.case_ptr + FAR, kinds]
    with library.only(blocks - 1):
        tail = np.int64(scratch_bytes), score, np.int64(len(query)), np.int64(ENTITY_VALUE)
        library.start("assign", 6, (blocks,), [far.ptr, far.stored, far.value, *given_pairs, scratch, *tail])
    pairs = PairBlock(query[-4:], case[-4:], given.query_ptr, given.query_rows, given.case_ptr, given.case_kinds)
    wanted = REFERENCE.assign(table, pairs)
    assert wanted.any()
    np.testing.assert_array_equal(score[-4:], wanted)
    assert (score[:-4] == -1).all()


def test_more_rows_than_a_grid_has_go_in_turns(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grids are clipped to what a device takes; a block goes on with the rows and tiles that are left."""
    torch = pytest.importorskip("torch")
    given, grids = problem(), []

    def start(name: str, grid: Any, threads: int, *arguments: Any) -> None:
        grids.append(grid)
        library.start(name, 3, grid, [a.numpy() if isinstance(a, torch.Tensor) else a for a in arguments])

    for name, most in (("_MOST_BLOCKS_X", 2), ("_MOST_BLOCKS_Y", 1), ("_TILE", 16), ("_start", start)):
        monkeypatch.setattr(cuda_launch, name, most)
    move = torch.from_numpy
    lists = tuple(move(a) for a in (given.lists.ptr, given.lists.cases, given.lists.best, given.lists.entities))
    asked = move(given.query_ptr), move(given.query_lists), move(given.query_entities)
    bounds, _ = cuda_launch.accumulate(lists, *asked, None, ENTITY_VALUE)
    assert grids == [(2, 1)]
    wanted = REFERENCE.accumulate(given.lists, given.query_ptr, given.query_lists, given.query_entities)
    np.testing.assert_array_equal(bounds.numpy(), wanted)


@emulated
def test_rows_of_triton_kernels_begin_beyond_31_bits(sparse: Sparse) -> None:
    """Four rows of 2^30 places: the last one begins beyond 2^31. Of each, the first programs are run."""
    import torch

    rng = np.random.default_rng(42)
    rows, limit, stored = 4, 1 << 30, 200
    bounds = rng.choice(np.array([0, 70000, 70001, 1 << 20]), (rows, stored)).astype(np.int32)
    own, ranks = rng.integers(1, 1 << 22, stored), rng.permutation(stored).astype(np.int32)
    asked, normaliser = rng.integers(1, 1 << 22, rows), Normaliser.build(Dials(normalisation="max"), own)
    wanted = REFERENCE.select(bounds, normaliser, asked, ranks, stored)

    def tensor(array: npt.NDArray[Any]) -> Any:
        return torch.from_numpy(array)

    with interpreted() as kernels:

        def start(name: str, grid: tuple[int, ...], *arguments: Any, **more: Any) -> None:
            getattr(kernels, name)[grid](*arguments, **CONFIGURATIONS[name].constants, **more)

        wide = sparse(rows * limit, np.int32)
        for row in range(rows):
            wide[row * limit : row * limit + stored] = bounds[row]
        all_keys = sparse(rows * limit, np.int64)
        selves = sparse(limit, np.int64, held=own)
        start(
            "rank_keys_kernel", (1, rows), tensor(wide), tensor(selves), tensor(asked), tensor(all_keys), limit,
            BY_FACTOR=False, GREATER=True, FACTOR_SHIFT=22, QUOTIENT_SHIFT=24,
        )  # fmt: skip
        keys = np.stack([all_keys[row * limit : row * limit + stored] for row in range(rows)])
        every = np.broadcast_to(np.arange(stored), bounds.shape)
        right = normaliser.rank_keys(bounds.astype(np.int64), asked[:, None], every)
        np.testing.assert_array_equal(keys, np.where(bounds > 0, right, -1))

        taken, ordered = (
            [tensor(sparse(rows * limit, dtype)) for dtype in (np.int32, np.int64, np.int32)] for _ in range(2)
        )
        count = torch.zeros(rows, dtype=torch.int32)
        start("shortlist_kernel", (rows,), tensor(keys), tensor(ranks), *taken, count, stored, limit)
        start("sort_kernel", (2, rows), *taken, count, *ordered, limit)
        cases, found = tensor(sparse(rows * limit, np.int32)), tensor(sparse(rows * limit, np.int64))
        start("merge_kernel", (2, rows), *ordered, count, cases, found, limit)
    for row in range(rows):
        at = slice(row * limit, row * limit + stored)
        np.testing.assert_array_equal(cases[at].numpy(), wanted[0][row])
        np.testing.assert_array_equal(found[at].numpy(), wanted[1][row])
