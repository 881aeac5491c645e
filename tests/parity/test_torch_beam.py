"""The batched beam, repaired by the host, settles pairs of cases as the host's branch and bound does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from parity.torch_here import DEVICES, no_torch, one_thread, require
from strategies import ALL_DIALS, Declared, random_analogy, random_declared, random_nested_case

from sma_gpu import CaseBatch, Dials, Index, mount, ontology_from_parents
from sma_gpu.cases.model import Case
from sma_gpu.ops import choose, torch_beam
from sma_gpu.ops.structure import NODE_BUDGET, Found, Hypotheses, best_mapping, most_nodes
from sma_gpu.ops.torch_beam import beam, settle
from sma_gpu.retrieval.pairing import pair_up
from sma_gpu.retrieval.search import OpenQuery, open_blocks

pytestmark = no_torch

__all__ = ["one_thread"]  # a fixture that pytest finds by its name here


def hypotheses_of(declared: Declared, stored: list[Case], query: Case, chosen: Dials) -> list[Hypotheses]:
    """Returns the hypotheses of a query and each stored case that can match at all."""
    mounted = mount(ontology_from_parents(declared.parents))
    index = Index.build(CaseBatch.from_cases(stored, mounted).spelled_out(), mounted, chosen)
    if not len(index):
        return []
    (block,) = open_blocks(index, CaseBatch.from_cases([query], mounted).spelled_out(), choose("reference")[1])
    asks = OpenQuery(block)
    items = asks.batch.items(asks.number)
    return [pair_up(asks.corpus, asks.table, asks.rows, items, i).made for i in range(len(index))]


@cache
def random_lots(seeds: int, statements: int, *, commutative: bool) -> tuple[list[Hypotheses], list[Found]]:
    """Returns the pairs of many seeds, and what the host's search makes of them."""
    made = [m for seed in range(seeds) for m in random_lot(seed, statements, commutative=commutative)]
    return made, [best_mapping(m) for m in made]


def random_lot(seed: int, statements: int, *, commutative: bool) -> list[Hypotheses]:
    """Returns some pairs over one random lattice: three cases, and what was made out of another."""
    rng = np.random.default_rng([20, seed])
    declared = random_declared(rng, int(rng.integers(2, 14)))
    if not commutative:
        plain = {name: replace(p, commutative=False) for name, p in declared.predicates.items()}
        declared = replace(declared, predicates=plain)
    size, things = int(rng.integers(2, statements)), int(rng.integers(2, 7))
    planted = random_analogy(rng, declared, size, things)
    stored = [planted.base, *(random_nested_case(rng, declared, f"c{i}", size, things) for i in range(3))]
    return hypotheses_of(declared, stored, planted.target, ALL_DIALS[seed % len(ALL_DIALS)])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width", [1, 8, 32])
@pytest.mark.parametrize(
    ("seeds", "statements", "commutative"), [(300, 9, False), (100, 9, True), (60, 24, False)], ids=str
)
def test_the_outcome_is_that_of_the_host(
    device: str, width: int, seeds: int, statements: int, commutative: bool
) -> None:
    require(device)
    made, host = random_lots(seeds, statements, commutative=commutative)
    assert len(made) > 3 * seeds
    total, bound = (np.array([getattr(h, name) for h in host], np.int64) for name in ("total", "bound"))
    found = beam(made, device=device, width=width)
    assert (total == bound).all()
    assert (found.total[found.proved] == total[found.proved]).all()  # no proof is wrong
    plain = np.array([not m.options for m in made])
    assert (found.total <= total).all()
    assert not found.proved[~plain].any()
    assert found.proved[plain].mean() > 0.9
    settled = settle(made, device=device, width=width)
    assert settled.total.dtype == settled.bound.dtype == np.int64
    np.testing.assert_array_equal(settled.total, total)
    np.testing.assert_array_equal(settled.bound, bound)
    sure = np.array([most_nodes(m) <= NODE_BUDGET for m in made])
    np.testing.assert_array_equal(settled.repaired, ~(found.proved & sure))
    assert commutative or (~settled.repaired).mean() > (0.7 if statements < 10 else 0.2)


@pytest.mark.parametrize("node_budget", [0, 1, 5, 40])
def test_the_outcome_is_that_of_the_host_where_its_budget_ends_it(node_budget: int) -> None:
    made = [m for seed in range(500, 540) for m in random_lot(seed, 24, commutative=seed % 4 == 0)]
    host = [best_mapping(m, node_budget) for m in made]
    settled = settle(made, node_budget)
    assert settled.total.tolist() == [h.total for h in host]
    assert settled.bound.tolist() == [h.bound for h in host]
    assert any(h.total < h.bound for h in host) == (node_budget < 40)
    assert settled.repaired.all() == (node_budget == 0)


@pytest.mark.parametrize("steps", [0, 1, 40])
def test_no_proof_is_wrong_where_bounds_are_loose(steps: int) -> None:
    made = [m for seed in range(400, 480) for m in random_lot(seed, 12, commutative=False)]
    wanted = np.array([best_mapping(m).total for m in made])
    for width in (1, 2, 16):
        found = beam(made, width=width, steps=steps)
        assert (found.total <= wanted).all()
        assert (found.total[found.proved] == wanted[found.proved]).all()
        assert found.proved.sum() > 0


def test_bounds_that_are_too_low_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, host = random_lots(60, 24, commutative=False)
    wanted = np.array([h.total for h in host])
    bound_of = torch_beam._Lot.bound_of
    monkeypatch.setattr(torch_beam._Lot, "bound_of", lambda lot, alive: bound_of(lot, alive) * 3 // 4)
    found = beam(made, width=8)
    assert (found.total[found.proved] != wanted[found.proved]).any()


def test_the_pairs_beside_a_pair_do_not_change_its_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [m for seed in range(40) for m in random_lot(seed, 20, commutative=False)]
    whole = beam(made, width=4)
    order = np.random.default_rng(21).permutation(len(made))
    monkeypatch.setattr(torch_beam, "_CELLS", 1 << 12)
    monkeypatch.setattr(torch_beam, "_CHILD_CELLS", 1 << 12)
    mixed = beam([made[i] for i in order.tolist()], width=4)
    np.testing.assert_array_equal(mixed.total, whole.total[order])
    np.testing.assert_array_equal(mixed.proved, whole.proved[order])


def test_nothing_to_settle() -> None:
    nothing = beam([])
    assert len(nothing.total) == len(nothing.proved) == 0
    empty = settle([Hypotheses()])
    assert empty.total.tolist() == empty.bound.tolist() == [0]
    assert not empty.repaired.any()


def test_sets_of_more_than_one_word() -> None:
    """A pair of more than 64 open hypotheses: every statement of one functor fits every other."""
    rng = np.random.default_rng(22)
    declared = random_declared(rng, 3)
    plain = {name: replace(p, commutative=False) for name, p in declared.predicates.items()}
    declared = replace(declared, predicates=plain)
    found = 0
    for seed in range(12):
        rng = np.random.default_rng([23, seed])
        stored, query = (random_nested_case(rng, declared, key, 14, 5) for key in ("base", "query"))
        made = hypotheses_of(declared, [stored], query, ALL_DIALS[0])
        found = max(found, *(len(m) for m in made))
        settled = settle(made, width=16)
        assert settled.total.tolist() == [best_mapping(m).total for m in made]
    assert found > 64
