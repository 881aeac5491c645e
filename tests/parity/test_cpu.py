"""The cpu backend gives the reference's bits, over random and adversarial arrays and over whole retrievals."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parity.op_arrays import PoisonedNumpy, random_lists, random_queries, same
from strategies import ALL_DIALS, pack, random_declared, random_nested_case, random_world

from sma_gpu import CaseBatch, Dials, Hits, Index, mount, ontology_from_parents
from sma_gpu.errors import BackendUnavailable, CapacityError, ShapeError
from sma_gpu.ops import FoldedLists, PairBlock, backends, choose, registry
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.retrieval import search
from sma_gpu.scoring import Normaliser, PairTable

no_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed (the extra cpu brings it)")
pytestmark = no_numba

REFERENCE = ReferenceOps()
SHAPES = (0, 1, 63, 1000)
NORMALISATIONS = ("max", "min", "power(0)", "power(0.25)", "power(0.5)", "power(0.9)")
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def ops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The backend, which hands out memory that nobody has written with the smallest integer in it."""
    from sma_gpu.ops import cpu

    monkeypatch.setattr(cpu, "_CELLS_TO_SHARE", 0)
    monkeypatch.setattr(cpu, "np", PoisonedNumpy())
    return cpu.CpuOps(request.param)


# --- accumulate


@pytest.mark.parametrize("queries", SHAPES)
@pytest.mark.parametrize("cases", SHAPES)
def test_accumulate(ops: Any, cases: int, queries: int) -> None:
    rng = np.random.default_rng(cases * 1009 + queries)
    lists = random_lists(rng, cases, 12)
    asked = random_queries(rng, queries, 12)
    for among in (None, rng.random((queries, cases)) < 0.5, np.zeros((queries, cases), bool)):
        same(ops.accumulate(lists, *asked, among), REFERENCE.accumulate(lists, *asked, among))


def test_accumulate_takes_narrow_pointers_mapped_files_and_strided_masks(ops: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lists = random_lists(rng, 200, 9)
    ptr, named, held = random_queries(rng, 20, 9)
    among = (rng.random((20, 400)) < 0.5)[:, ::2]
    wanted = REFERENCE.accumulate(lists, ptr, named, held, among)
    mapped = []
    for field in fields(FoldedLists):
        path = tmp_path / f"{field.name}.npy"
        np.save(path, getattr(lists, field.name))
        mapped.append(np.load(path, mmap_mode="r"))
    for given in (replace(lists, ptr=lists.ptr.astype(np.int32)), FoldedLists(*mapped)):
        same(ops.accumulate(given, ptr.astype(np.int32), named, held, among), wanted)


def one_case(best: list[int], entities: int) -> FoldedLists:
    """Returns lists that each hold one and the same case, the second of two."""
    size = len(best)
    return FoldedLists(
        np.arange(size + 1), np.ones(size, np.int32), np.array(best, np.int32), np.array([1, entities], np.int32)
    )


LIMIT = 1 << 31
EDGES = [
    ([LIMIT - 1 - 65_536], 1, 1),
    ([LIMIT - 65_536], 1, 1),
    ([1 << 30, (1 << 30) - 65_537], 1, 1),
    ([1 << 30, (1 << 30) - 65_536], 1, 1),
    ([LIMIT - 1], 1, 1),
    ([LIMIT - 1, LIMIT - 1], 1, 1),  # past 2^31, not past 2^32
    ([LIMIT - 1] * 3, 1, 1),
    ([LIMIT - 1] * 5, 1, 1),
    ([1], 32_767, 32_767),  # entities alone come close
    ([65_535], 32_767, 32_767),
    ([65_536], 32_767, 32_767),
    ([1], 16_385, 40_000),
    ([1], 40_000, 40_000),
    ([1], 100_000, 100_000),
    ([LIMIT - 1 - (16_384 << 16)], 16_384, 16_384),
    ([LIMIT - (16_384 << 16)], 16_384, 16_384),
]


@pytest.mark.parametrize(("best", "asked", "held"), EDGES)
def test_a_bound_of_two_to_the_31_is_refused_in_the_same_words_and_one_less_passes(
    ops: Any, best: list[int], asked: int, held: int
) -> None:
    lists = one_case(best, held)
    total = sum(best) + min(asked, held) * 65_536
    arguments = (
        np.array([0, 0, len(best), len(best)]), np.arange(len(best), dtype=np.int32), np.full(3, asked, np.int32)
    )  # fmt: skip
    unwanted = np.array([[True, True], [True, False], [True, True]])
    same(ops.accumulate(lists, *arguments, unwanted), REFERENCE.accumulate(lists, *arguments, unwanted))
    if total < LIMIT:
        found = ops.accumulate(lists, *arguments)
        assert found[1, 1] == total
        same(found, REFERENCE.accumulate(lists, *arguments))
        return
    with pytest.raises(CapacityError) as ours:
        ops.accumulate(lists, *arguments)
    with pytest.raises(CapacityError) as wanted:
        REFERENCE.accumulate(lists, *arguments)
    assert str(ours.value) == str(wanted.value)
    assert str(total) in str(ours.value)


# --- select


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize("cases", [0, 1, 31, 32, 33, 63, 1000, 4097])
def test_select(ops: Any, cases: int, normalisation: str) -> None:
    rng = np.random.default_rng(cases)
    for greatest, share in ((3, 0.5), (1 << 20, 0.3), (LIMIT - 1, 1.0), (2, 0.0)):
        own = rng.integers(0, greatest, cases) * (rng.random(cases) < 0.9)
        normaliser = Normaliser.build(Dials(normalisation=normalisation), own)
        bounds = (rng.integers(0, greatest, (9, cases)) * (rng.random((9, cases)) < share)).astype(np.int32)
        bounds[:1] = 0
        bounds[1:2] = greatest - 1
        bounds[2:3] = np.arange(cases)  # the greatest come last
        self_query = rng.integers(0, greatest, 9)
        for ranks in (np.arange(cases), np.arange(cases)[::-1], rng.permutation(cases)):
            for limit in (1, 2, 16, 64, cases, 2 * cases):
                if limit:
                    arguments = (bounds, normaliser, self_query, ranks.astype(np.int32), limit)
                    same(ops.select(*arguments), REFERENCE.select(*arguments))


@pytest.mark.parametrize("queries", SHAPES)
def test_select_for_any_number_of_queries(ops: Any, queries: int) -> None:
    rng = np.random.default_rng(queries)
    normaliser = Normaliser.build(Dials(normalisation="power(0.5)"), rng.integers(1 << 16, 1 << 24, 700))
    bounds = (rng.integers(0, 1 << 22, (queries, 700)) * (rng.random((queries, 700)) < 0.4)).astype(np.int32)
    arguments = (bounds, normaliser, rng.integers(1 << 16, 1 << 24, queries), rng.permutation(700).astype(np.int32), 10)
    same(ops.select(*arguments), REFERENCE.select(*arguments))


@pytest.mark.parametrize("dials", ALL_DIALS, ids=lambda d: d.fingerprint[:6])
def test_bounds_and_shortlists_under_all_dials(ops: Any, dials: Dials) -> None:
    rng = np.random.default_rng(11)
    world = random_world(rng, terms=80, cases=300, size=9)
    index = world.index(dials)
    batch = random_batch(rng, index, queries=20, size=8)
    for block, wanted in zip(*(search.open_blocks(index, batch, o) for o in (ops, REFERENCE)), strict=True):
        same(block.bounds, wanted.bounds)
        for limit in (3, 40):
            arguments = (block.bounds, index.normaliser, block.self_scores, index.tie_rank, limit)
            same(ops.select(*arguments), REFERENCE.select(*arguments))


# --- assign


def table_of(rng: np.random.Generator, rows: int, kinds: int, share: float, greatest: int) -> PairTable:
    """Returns a random table of pairs."""
    held = rng.random((rows, kinds)) < share
    row, stored = np.nonzero(held)
    ptr = np.searchsorted(row, np.arange(rows + 1)).astype(np.int64)
    value = rng.integers(1, greatest, len(row)).astype(np.int64)
    zeros = np.zeros(len(row), np.int32)
    return PairTable(np.arange(rows, dtype=np.int32), ptr, stored.astype(np.int32), value, zeros, zeros)


def sorted_rows(rng: np.random.Generator, count: int, limit: int, most: int, *, repeat: bool) -> Any:
    """Returns pointers and, for each of ``count`` rows, ascending numbers below ``limit``."""
    made = [np.sort(rng.choice(limit, int(rng.integers(0, most + 1)), replace=repeat)) for _ in range(count)]
    ptr = np.concatenate([[0], np.cumsum([len(m) for m in made])]).astype(np.int64)
    return ptr, np.concatenate([*made, np.zeros(0, np.int64)])


@pytest.mark.parametrize("greatest", [2, 4, 1 << 30])
@pytest.mark.parametrize("count", SHAPES)
def test_assign(ops: Any, count: int, greatest: int) -> None:
    rng = np.random.default_rng(count + greatest)
    table = table_of(rng, 40, 60, 0.15, greatest)
    query_ptr, query_rows = sorted_rows(rng, 50, 40, 12, repeat=True)
    case_ptr, kinds = sorted_rows(rng, 70, 60, 20, repeat=False)
    query, case = np.sort(rng.integers(0, 50, count)), rng.integers(0, 70, count)
    pairs = PairBlock(query, case, query_ptr, query_rows, case_ptr, kinds.astype(np.int32))
    wanted = REFERENCE.assign(table, pairs)
    same(ops.assign(table, pairs), wanted)
    narrow = PairBlock(
        query.astype(np.int32), case.astype(np.int32), query_ptr.astype(np.int32), query_rows.astype(np.int32),
        case_ptr.astype(np.int32), kinds.astype(np.int32),
    )  # fmt: skip
    same(ops.assign(table, narrow), wanted)


def test_assign_equals_scipy_on_tens_of_thousands_of_flat_pairs(ops: Any) -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(17)
    pairs_checked = 0
    for share, most, greatest in ((0.1, 8, 5), (0.3, 10, 1 << 20), (0.8, 7, 3), (1.0, 9, 1 << 28), (0.05, 30, 100)):
        table = table_of(rng, 50, 80, share, greatest)
        dense = np.zeros((50, 80), np.int64)
        dense[np.repeat(np.arange(50), np.diff(table.ptr)), table.stored] = table.value
        query_ptr, query_rows = sorted_rows(rng, 100, 50, most, repeat=True)
        case_ptr, kinds = sorted_rows(rng, 100, 80, 2 * most, repeat=False)
        query, case = (a.ravel() for a in np.meshgrid(np.arange(100), np.arange(100), indexing="ij"))
        found = ops.assign(table, PairBlock(query, case, query_ptr, query_rows, case_ptr, kinds.astype(np.int32)))
        for q, c, score in zip(query.tolist(), case.tolist(), found.tolist(), strict=True):
            part = dense[np.ix_(query_rows[query_ptr[q] : query_ptr[q + 1]], kinds[case_ptr[c] : case_ptr[c + 1]])]
            total = int(part[linear_sum_assignment(part, maximize=True)].sum())
            assert score == (65_536 + total if total else 0)
            pairs_checked += 1
    assert pairs_checked == 50_000


def one_pair(values: np.ndarray) -> tuple[PairTable, PairBlock]:
    """Returns a table that is a matrix (0: no pair), and the pair of its rows and columns."""
    rows, columns = values.shape
    row, stored = np.nonzero(values)
    zeros = np.zeros(len(row), np.int32)
    ptr = np.searchsorted(row, np.arange(rows + 1)).astype(np.int64)
    table = PairTable(
        np.arange(rows, dtype=np.int32), ptr, stored.astype(np.int32), values[row, stored].astype(np.int64), zeros,
        zeros,
    )  # fmt: skip
    none = np.zeros(1, np.int64)
    return table, PairBlock(
        none, none, np.array([0, rows]), np.arange(rows), np.array([0, columns]), np.arange(columns, dtype=np.int32)
    )


@pytest.mark.parametrize("shape", [(300, 300), (300, 40), (40, 300), (2000, 2000)], ids=str)
@pytest.mark.parametrize("kind", ["all alike", "few values", "many values", "sparse", "products"])
def test_assign_has_no_limit_on_size(ops: Any, kind: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape)
    if kind == "products" and shape == (2000, 2000):
        shape = (700, 700)  # every row is displaced by every later one: seconds in any solver
    values = {
        "all alike": lambda: np.full(shape, 7),
        "few values": lambda: rng.integers(0, 4, shape),
        "many values": lambda: rng.integers(0, 1 << 24, shape),
        "sparse": lambda: rng.integers(1, 1 << 20, shape) * (rng.random(shape) < 6 / max(shape)),
        "products": lambda: np.multiply.outer(np.arange(1, shape[0] + 1), np.arange(1, shape[1] + 1)),
    }[kind]()
    table, pairs = one_pair(values)
    same(ops.assign(table, pairs), REFERENCE.assign(table, pairs))


def test_assign_of_a_chain_of_a_hundred_thousand_statements(ops: Any) -> None:
    size = 100_000
    row = np.append(np.repeat(np.arange(size - 1), 2), size - 1)
    stored = np.append(np.arange(2 * size - 2) // 2 + np.tile([0, 1], size - 1), 0).astype(np.int32)
    ptr = np.searchsorted(row, np.arange(size + 1)).astype(np.int64)
    value, zeros = np.full(len(row), 3, np.int64), np.zeros(len(row), np.int32)
    table = PairTable(np.arange(size, dtype=np.int32), ptr, stored, value, zeros, zeros)
    none, every = np.zeros(1, np.int64), np.arange(size)
    whole = np.array([0, size])
    # The last row wants the first column alone, which every other row makes room for by one step.
    found = ops.assign(table, PairBlock(none, none, whole, every, whole, every.astype(np.int32)))
    assert found.tolist() == [65_536 + 3 * size]


def test_assign_keeps_totals_past_two_to_the_31(ops: Any) -> None:
    table, pairs = one_pair(np.full((6, 6), (1 << 40) + 1))
    assert ops.assign(table, pairs).tolist() == [65_536 + 6 * ((1 << 40) + 1)]


# --- whole retrievals


def random_batch(rng: np.random.Generator, index: Index, queries: int, size: int) -> CaseBatch:
    ids = index.mounted.ontology.ids
    drawn = {f"q{i}": rng.choice(len(ids), int(rng.integers(0, size + 1)), replace=False) for i in range(queries)}
    return pack(index.mounted, {key: [ids[t] for t in terms.tolist()] for key, terms in drawn.items()})


def by(ops: Any, index: Index, batch: CaseBatch, k: int, monkeypatch: pytest.MonkeyPatch) -> Hits:
    with monkeypatch.context() as patch:
        patch.setattr(search, "choose", lambda *_, **__: ("cpu", ops))
        return index.retrieve(batch, k)


def same_hits(ours: Hits, wanted: Hits) -> None:
    for field in fields(Hits):
        if field.name != "backend":
            np.testing.assert_array_equal(getattr(ours, field.name), getattr(wanted, field.name), err_msg=field.name)


@pytest.mark.parametrize("dials", ALL_DIALS, ids=lambda d: d.fingerprint[:6])
def test_flat_retrieval_under_all_dials(ops: Any, dials: Dials, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(23)
    for terms, cases, size in ((12, 7, 4), (60, 150, 12), (300, 400, 25)):
        index = random_world(rng, terms=terms, cases=cases, size=size).index(dials)
        batch = random_batch(rng, index, queries=15, size=min(terms, 12))
        for k in (1, 10, min(cases, 150)):
            same_hits(by(ops, index, batch, k, monkeypatch), index.retrieve(batch, k, backend="reference"))


def test_cases_of_three_hundred_terms(ops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(29)
    index = random_world(rng, terms=700, cases=60, size=300).index(Dials(normalisation="power(0.5)", delta=3))
    batch = random_batch(rng, index, queries=8, size=300)
    same_hits(by(ops, index, batch, 10, monkeypatch), index.retrieve(batch, 10, backend="reference"))


@pytest.mark.parametrize("dials", ALL_DIALS[::5], ids=lambda d: d.fingerprint[:6])
@pytest.mark.parametrize("flat_share", [0.0, 0.5])
def test_retrieval_of_cases_with_structure(
    ops: Any, dials: Dials, flat_share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(31)
    declared = random_declared(rng, 10)
    mounted = mount(ontology_from_parents(declared.parents))
    unary = [f for f in sorted(declared.arity) if declared.arity[f] == 1]

    def drawn(key: str) -> Any:
        plain = rng.random() < flat_share and unary
        return random_nested_case(
            rng, declared, key, statements=3 if plain else 5, entities=1 if plain else 3, max_order=1 if plain else 3
        )

    index = Index.build(CaseBatch.from_cases([drawn(f"c{i}") for i in range(30)], mounted), mounted, dials)
    batch = CaseBatch.from_cases([drawn(f"q{i}") for i in range(8)], mounted)
    same_hits(by(ops, index, batch, 5, monkeypatch), index.retrieve(batch, 5, backend="reference"))


def test_retrieval_without_cases_or_without_queries(ops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(37)
    index = random_world(rng, terms=20, cases=10, size=4).index()
    none = Index.build(CaseBatch.from_functors([], []), index.mounted)
    for corpus, queries in ((index, 0), (none, 3), (none, 0)):
        batch = random_batch(rng, index, queries, 4)
        same_hits(by(ops, corpus, batch, 3, monkeypatch), corpus.retrieve(batch, 3, backend="reference"))


# --- refusals


def lists_of_two() -> FoldedLists:
    return FoldedLists(np.array([0, 1, 2]), np.zeros(2, np.int32), np.ones(2, np.int32), np.ones(1, np.int32))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("query_ptr", np.array([0, 5])),
        ("query_ptr", np.array([0.0, 2.0])),
        ("query_ptr", np.array([-1, 2])),
        ("query_lists", np.array([0, 2], np.int32)),
        ("query_lists", np.array([-1, 0], np.int32)),
        ("query_lists", np.array([0, 1], np.int64)),
        ("query_entities", np.ones(2, np.int32)),
        ("among", np.ones((2, 2), bool)),
        ("among", np.ones((1, 1), np.int8)),
        ("lists", replace(lists_of_two(), ptr=np.array([0, 1, 3]))),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(ops: Any, name: str, value: Any) -> None:
    given: dict[str, Any] = {
        "lists": lists_of_two(), "query_ptr": np.array([0, 2]), "query_lists": np.array([0, 1], np.int32),
        "query_entities": np.ones(1, np.int32), "among": None,
    }  # fmt: skip
    ops.accumulate(**given)
    with pytest.raises(ShapeError, match=name):
        ops.accumulate(**{**given, name: value})


def test_pairs_and_bounds_that_do_not_fit_are_refused(ops: Any) -> None:
    table, pairs = one_pair(np.ones((2, 3), np.int64))
    for name, value in (
        ("query", np.array([1])), ("case", np.array([1])), ("case", np.zeros(2, np.int64)),
        ("query_rows", np.array([0, 2])), ("query_ptr", np.array([0, 3])), ("case_ptr", np.array([0, 4])),
    ):  # fmt: skip
        with pytest.raises(ShapeError):
            ops.assign(table, replace(pairs, **{name: value}))
    normaliser = Normaliser.build(Dials(), np.ones(3, np.int64))
    ranks = np.arange(3, dtype=np.int32)
    for bad in (
        (np.ones((1, 3), np.int64), normaliser, np.ones(1, np.int64), ranks, 1),
        (np.ones((1, 2), np.int32), normaliser, np.ones(1, np.int64), ranks[:2], 1),
        (np.ones((1, 3), np.int32), normaliser, np.ones(2, np.int64), ranks, 1),
        (np.ones((1, 3), np.int32), normaliser, np.ones(1, np.int64), ranks, 0),
    ):
        with pytest.raises(ShapeError):
            ops.select(*bad)


# --- the choice, threads, seeds and where compiled code is kept


def test_an_automatic_choice_takes_it_for_much_work_alone() -> None:
    assert choose()[0] == choose(cells=1000)[0] == "reference"
    assert choose(cells=1 << 30)[0] == choose("cpu")[0] == "cpu"
    assert backends()[0].name == "cpu"


def test_without_numba_a_request_by_name_is_refused_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    assert choose(cells=1 << 30)[0] == "reference"
    with pytest.raises(BackendUnavailable, match=r"numba is not installed.*pip install 'sma_gpu\[cpu\]'"):
        choose("cpu")


def test_a_numba_that_does_not_import_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise ImportError("Numba needs another NumPy")

    first, *others = registry._BACKENDS
    monkeypatch.setattr(registry, "_BACKENDS", (replace(first, load=broken), *others))
    assert choose(cells=1 << 30)[0] == "reference"
    with pytest.raises(BackendUnavailable, match="another NumPy"):
        choose("cpu")


SCRIPT = """
import hashlib, sys
import numpy as np
from strategies import pack, random_world
from sma_gpu.ops import choose
assert "numba" not in sys.modules
rng = np.random.default_rng(41)
index = random_world(rng, terms=300, cases=3000, size=20).index()
ids = index.mounted.ontology.ids
batch = pack(index.mounted, {f"q{i}": [ids[t] for t in rng.choice(300, 8, replace=False)] for i in range(500)})
hits = index.retrieve(batch, 10, backend=sys.argv[1])
assert ("numba" in sys.modules) == (sys.argv[1] == "cpu")
digest = hashlib.sha256(str(hits.keys.tolist()).encode())
for array in (hits.score_q, hits.rank_keys, hits.aligned, hits.certified):
    digest.update(array.tobytes())
print(hits.backend, digest.hexdigest())
"""


def answer(backend: str, where: Path = REPOSITORY, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, backend],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(where), str(REPOSITORY / "tests")]), **environment},
        cwd=where, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_threads_and_hash_seeds_change_no_byte_and_the_reference_imports_no_numba() -> None:
    wanted = answer("reference").split()[1]
    for threads, seed in (("1", "0"), ("2", "1"), ("2", "2")):
        assert answer("cpu", NUMBA_NUM_THREADS=threads, PYTHONHASHSEED=seed).split() == ["cpu", wanted]


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A copy of the package in which no folder can be made for compiled code."""
    shutil.copytree(REPOSITORY / "sma_gpu", tmp_path / "sma_gpu", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sma_gpu" / "ops" / "__pycache__").write_text("a file where a folder is wanted")
    return tmp_path


def kept_in(folder: Path) -> int:
    return len(list(folder.rglob("*.nbc")))


@pytest.mark.slow
def test_compiled_code_goes_to_the_users_cache_where_the_package_cannot_be_written(sealed: Path) -> None:
    home = sealed / "home"
    home.mkdir()
    quiet = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "NUMBA_CACHE_DIR": ""}
    wanted = answer("reference").split()[1]
    assert answer("cpu", sealed, **quiet).split() == ["cpu", wanted]
    kept = kept_in(home)
    assert kept > 0
    named = sealed / "named"
    assert answer("cpu", sealed, **{**quiet, "NUMBA_CACHE_DIR": str(named)}).split() == ["cpu", wanted]
    assert kept_in(named) == kept


@pytest.mark.slow
def test_with_no_folder_to_keep_compiled_code_in_it_is_compiled_each_time(sealed: Path) -> None:
    nowhere = {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "NUMBA_CACHE_DIR": ""}
    assert answer("cpu", sealed, **nowhere).split()[0] == "cpu"


def test_work_is_shared_in_spans_that_cover_every_row_once(ops: Any) -> None:
    spans: list[tuple[int, int]] = []
    record: Callable[[int, int], object] = lambda a, b: spans.append((a, b))  # noqa: E731
    for rows in (1, 2, 3, 7, 8, 100):
        spans.clear()
        ops._share(rows, 1, record)
        covered = sorted(spans)
        assert (covered[0][0], covered[-1][1]) == (0, rows)
        assert all(a[1] == b[0] and a[0] < a[1] for a, b in zip(covered, covered[1:], strict=False))
