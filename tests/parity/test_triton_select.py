"""The Triton kernels of ``select`` in Triton's interpreter: the reference's bits, on the CPU."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sma_gpu.kernels.triton import launch
from sma_gpu.kernels.triton.launch import CONFIGURATIONS, Configuration
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.scoring import Dials, Normaliser

_LACKS = ", ".join(name for name in ("triton", "torch") if importlib.util.find_spec(name) is None)
pytestmark = pytest.mark.skipif(bool(_LACKS), reason=f"not installed: {_LACKS}")

MOST = (1 << 31) - 1
NORMALISATIONS = ("power(0)", "power(0.5)", "power(0.9)", "max", "min")
# Small tiles and runs: several of each, and ends that fall inside one.
SMALL = {
    "rank_keys_kernel": Configuration({"TILE": 256}, 4),
    "shortlist_kernel": Configuration({"TILE": 128}, 4),
    "sort_kernel": Configuration({"RUN": 64, "ROWS": 32, "CHUNK": 16}, 4),
    "merge_kernel": Configuration({"RUN": 64, "STEPS": 7, "ROWS": 32}, 4),
}


@pytest.fixture(scope="module")
def kernels() -> Iterator[ModuleType]:
    """A copy of the device code for the interpreter: Triton decides where a function runs when it decorates it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        spec = importlib.util.spec_from_file_location(
            "interpreted_select", Path(launch.__file__).with_name("select.py")
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def check(
    kernels: ModuleType,
    bounds: np.ndarray,
    own: np.ndarray,
    self_query: np.ndarray,
    tie_rank: np.ndarray,
    limit: int,
    normalisation: str,
    configurations: dict[str, Configuration] = CONFIGURATIONS,
) -> None:
    """Compares the kernels with the reference."""
    import torch

    normaliser = Normaliser.build(Dials(normalisation=normalisation), own)
    by_factor = normaliser.dials.power is not None
    cases, keys = launch.select(
        torch.from_numpy(bounds),
        torch.from_numpy(normaliser.factors if by_factor else normaliser.self_scores),
        torch.from_numpy(self_query),
        torch.from_numpy(tie_rank),
        limit,
        divide_by="" if by_factor else normalisation,
        factor_shift=22,
        quotient_shift=24,
        configurations=configurations,
        kernels=kernels,
    )
    wanted = ReferenceOps().select(bounds, normaliser, self_query, tie_rank, limit)
    np.testing.assert_array_equal(cases.numpy(), wanted[0])
    np.testing.assert_array_equal(keys.numpy(), wanted[1])


def block(rng: np.random.Generator, queries: int, cases: int, values: np.ndarray | list[int]) -> tuple[np.ndarray, ...]:
    """Returns bounds drawn from ``values``, self-scores of cases and queries, and tie ranks."""
    bounds = rng.choice(np.array(values), (queries, cases)).astype(np.int32)
    own = rng.choice(np.array([1, 65536, 1 << 20, MOST]), cases).astype(np.int64)
    asked = rng.choice(np.array([0, 1, 1 << 20, MOST]), queries).astype(np.int64)
    return bounds, own, asked, rng.permutation(cases).astype(np.int32)


DRAWN = {
    "wide": np.r_[0, np.random.default_rng(3).integers(1, MOST, 500)],
    "ties": [0, 1 << 20],
    "few ties": [0, 70000, 70001, 1 << 20],
    "to the limit": [MOST, MOST - 1, MOST - 255, MOST - 256],
    "small": [0, 1, 2, 3],
    "nothing": [0],
}


SHAPES = [(0, 3), (1, 1), (1, 5), (63, 1), (63, 63)]
# How many there are shows in the selection, how they are normalised only in the keys before it.
LARGE = [(1000, 64, "power(0)"), (1000, 64, "min"), (1000, 1000, "power(0.9)"), (1000, 1000, "max")]


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize(
    ("cases", "limit", "normalisation"), [*((n, k, how) for n, k in SHAPES for how in NORMALISATIONS), *LARGE]
)
def test_shapes_and_values(kernels: ModuleType, cases: int, limit: int, normalisation: str, drawn: str) -> None:
    rng = np.random.default_rng(cases + limit)
    check(kernels, *block(rng, 2, cases, DRAWN[drawn]), limit, normalisation)


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize(("cases", "limit"), [(127, 40), (300, 64), (300, 65), (300, 200), (300, 400)])
def test_several_tiles_and_runs(kernels: ModuleType, cases: int, limit: int, drawn: str) -> None:
    rng = np.random.default_rng(cases + limit)
    check(kernels, *block(rng, 2, cases, DRAWN[drawn]), limit, "power(0.5)", SMALL)


@pytest.mark.parametrize("normalisation", ["power(0.5)", "max"])
def test_rows_of_unlike_fill(kernels: ModuleType, normalisation: str) -> None:
    """One query has no case, one a single case, one fewer than asked for, one all of them."""
    rng = np.random.default_rng(8)
    bounds, own, asked, ranks = block(rng, 4, 200, [5 << 16, 6 << 16])
    bounds[0] = 0
    bounds[1, np.arange(200) != 77] = 0
    bounds[2, 50:] = 0
    check(kernels, bounds, own, asked, ranks, 60, normalisation, SMALL)


@pytest.mark.parametrize("seed", range(6))
def test_ties_at_the_last_place_go_by_tie_rank(kernels: ModuleType, seed: int) -> None:
    """A few cases lead, hundreds tie for the last place; tie ranks reach over all four digits."""
    rng = np.random.default_rng(seed)
    bounds = np.full((1, 400), 9 << 16, np.int32)
    bounds[0, rng.choice(400, 7, replace=False)] = 10 << 16
    ranks = rng.choice(MOST, 400, replace=False).astype(np.int32)
    ranks[:2] = 0, MOST
    check(kernels, bounds, np.full(400, 1 << 20), np.full(1, 1 << 20), ranks, int(rng.integers(5, 60)), "max", SMALL)


def test_keys_may_be_zero_where_bounds_are_not(kernels: ModuleType) -> None:
    """A case with a bound is taken even when its key rounds down to 0, behind all others."""
    rng = np.random.default_rng(2)
    bounds = rng.choice(np.array([0, 1, 2, 1 << 25]), (2, 90)).astype(np.int32)
    check(kernels, bounds, np.full(90, MOST, np.int64), np.ones(2, np.int64), np.arange(90, dtype=np.int32), 80, "max")
    check(
        kernels,
        bounds,
        np.full(90, MOST, np.int64),
        np.ones(2, np.int64),
        np.arange(90, dtype=np.int32),
        80,
        "power(0.9)",
    )


def test_many_queries_go_in_parts(kernels: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_MOST_ROWS", 2)
    rng = np.random.default_rng(5)
    check(kernels, *block(rng, 5, 40, DRAWN["wide"]), 7, "min")


def test_no_query(kernels: ModuleType) -> None:
    rng = np.random.default_rng(5)
    check(kernels, *block(rng, 0, 40, DRAWN["wide"]), 7, "min")


def test_a_bisection_reaches_every_place_of_a_run() -> None:
    for configurations in (CONFIGURATIONS, SMALL):
        run = configurations["sort_kernel"].constants["RUN"]
        merge = configurations["merge_kernel"].constants
        assert merge["RUN"] == run
        assert 1 << merge["STEPS"] > run
        assert run % configurations["sort_kernel"].constants["ROWS"] == 0
