"""The compiled search finds what the reference's search finds, node by node; the torch beam answers as it does."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.enumerator import Oracle, Settings
from parity.structure_pairs import every_pair, random_pairs, random_world, searched
from strategies import ALL_DIALS, Declared, NestedWorld, dials, nested_worlds

from sma_gpu import CaseBatch, Dials, Index, mount, ontology_from_parents
from sma_gpu.bench.generators import unrelated_pair, vocabulary
from sma_gpu.errors import BackendUnavailable, ShapeError
from sma_gpu.ops import StructureOps, choose
from sma_gpu.ops.structure import StructurePairs, best_mapping, best_mappings, most_nodes
from sma_gpu.ops.structure.relaxation import Relaxation

pytest.importorskip("numba", reason="numba is not installed; the extra cpu brings it")

from scipy.optimize import linear_sum_assignment

from sma_gpu.ops import cpu_structure_pairs as compiled_pairs
from sma_gpu.ops.cpu import CpuOps
from sma_gpu.ops.cpu_structure import Outcomes, outcomes, side_arrays
from sma_gpu.ops.cpu_structure_assignment import ROWS, assigned

BUDGETS = (0, 1, 5, 2000)


def compiled(pairs: StructurePairs, node_budget: int) -> Outcomes:
    return outcomes(pairs, node_budget, lambda rows, _, work: work(0, rows))


def check_search(pairs: StructurePairs, node_budget: int) -> int:
    """Returns for how many pairs the budget did not suffice."""
    made, wanted = [pairs.paired(i) for i in range(len(pairs))], searched(pairs, node_budget)
    found = compiled(pairs, node_budget)
    assert found.nodes.tolist() == [f.nodes for f in wanted]
    assert found.total.tolist() == [f.total for f in wanted]
    assert found.bound.tolist() == [f.bound for f in wanted]
    assert found.hypotheses.tolist() == [len(p.made) for p in made]
    assert found.entity_pairs.tolist() == [p.entity_pairs for p in made]
    return sum(f.total < f.bound for f in wanted)


@settings(max_examples=150, deadline=None)
@given(nested_worlds(), dials, st.sampled_from(BUDGETS))
def test_the_search_is_that_of_the_reference(world: NestedWorld, chosen: Dials, node_budget: int) -> None:
    check_search(every_pair(world.declared, world.stored, [world.query, *world.stored], chosen), node_budget)


@pytest.mark.parametrize("node_budget", BUDGETS)
def test_the_search_is_that_of_the_reference_in_random_worlds(node_budget: int) -> None:
    unproved = sum(check_search(pairs, node_budget) for pairs in random_pairs(range(60), 12, 6))
    assert (unproved > 10) == (node_budget < 5)


@pytest.mark.parametrize(("node_budget", "least"), [(0, 4), (1, 4), (5, 4), (20, 1)])
def test_the_search_is_that_of_the_reference_where_many_statements_compete(node_budget: int, least: int) -> None:
    worlds = random_pairs(range(100, 116), 40, 12, predicates=6)
    assert sum(check_search(pairs, node_budget) for pairs in worlds) >= least


def test_the_search_is_that_of_the_reference_where_it_ends_without_proof() -> None:
    words = vocabulary()
    declared = Declared(words.parents, {}, {})
    made = [unrelated_pair(random.Random(f"compiled {i}"), words, 80, i) for i in range(3)]
    pairs = every_pair(declared, [p.base for p in made], [p.target for p in made], Dials.adapter_v1())
    assert check_search(pairs, 150) >= 6


@pytest.mark.slow
def test_the_search_is_that_of_the_reference_for_six_thousand_pairs() -> None:
    assert sum(check_search(pairs, 2000) for pairs in random_pairs(range(1000, 2000), 14, 6)) < 60
    assert sum(check_search(pairs, 30) for pairs in random_pairs(range(2000, 2060), 60, 20, predicates=8)) > 5


def check_against_cpsat(seed: int) -> list[tuple[int, bool]]:
    """Returns for each pair of a random world what no proof at one node left open at most, and whether it matched."""
    cpsat = pytest.importorskip("oracles.cpsat", reason="OR-Tools is not installed; the extra bench brings it")
    declared, stored, queries = random_world(seed, 14, 6)
    chosen = ALL_DIALS[seed % len(ALL_DIALS)]
    pairs = every_pair(declared, stored, queries, chosen)
    oracle = Oracle(
        declared.parents, stored, Settings(chosen.scorer, chosen.credit, chosen.gamma, chosen.rho, chosen.delta)
    )
    # Packed cases are in the order of their keys.
    cases = sorted(stored, key=lambda c: c.key)
    best = np.array(
        [cpsat.best_by_cpsat(oracle, queries[q], cases[c]) for q, c in zip(pairs.query, pairs.case, strict=True)]
    )
    gaps = []
    for node_budget in (1, 2000):
        scores, limits = CpuOps(1).best_mappings(pairs, node_budget)
        assert (scores <= best).all()
        assert (best <= limits).all()
        assert (scores[scores == limits] == best[scores == limits]).all()
        gaps.append(limits - scores)
    assert not gaps[1].any()
    return list(zip(gaps[0].tolist(), (best > 0).tolist(), strict=True))


def test_what_is_claimed_holds_against_the_integer_programme() -> None:
    found = [one for seed in range(600, 630) for one in check_against_cpsat(seed)]
    assert sum(matched for _, matched in found) > 60
    assert sum(gap > 0 for gap, _ in found) > 0


@pytest.mark.slow
def test_what_is_claimed_holds_against_the_integer_programme_for_three_thousand_pairs() -> None:
    found = [one for seed in range(3000, 3500) for one in check_against_cpsat(seed)]
    assert len(found) > 2800
    assert sum(matched for _, matched in found) > 1000
    assert sum(gap > 0 for gap, _ in found) > 20


def test_hypotheses_are_those_of_the_reference() -> None:
    commutative = repeated = 0
    for pairs in random_pairs(range(200, 260), 16, 6):
        mine = compiled_pairs.Side(*side_arrays(pairs.queries, np.int64))
        theirs = compiled_pairs.Side(*side_arrays(pairs.cases, np.int32))
        for place in range(len(pairs)):
            wanted = pairs.paired(place).made
            table = pairs.table.ptr, pairs.table.stored, pairs.table.value
            found = compiled_pairs.hypotheses_of(mine, pairs.query[place], theirs, pairs.case[place], *table)
            assert found.size == len(wanted)
            for name in ("query", "stored", "value"):
                np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
            assert sum(1 << h for h in np.flatnonzero(found.entity).tolist()) == wanted.entity
            for h in range(found.size):
                assert tuple(found.support[found.support_ptr[h] : found.support_ptr[h + 1]]) == wanted.support[h]
                assert tuple(found.closure[found.closure_ptr[h] : found.closure_ptr[h + 1]]) == wanted.closure[h]
                options = wanted.options.get(h, ())
                held = found.options[found.option_ptr[h] : found.option_ptr[h + 1]]
                assert held[:, 2].tolist() == [k for _, _, k in options]
                for side in (0, 1):
                    places = sorted({option[side] for option in options})
                    assert held[:, side].tolist() == [places.index(option[side]) for option in options]
                commutative += bool(options)
                repeated += len(set(wanted.support[h])) < len(wanted.support[h])
    assert commutative > 50
    assert repeated > 50


def check_assignment(values: np.ndarray) -> None:
    """Holds the assignment against SciPy's, ties included; there may be no more lines than crosses."""
    lines, size = values.shape
    line, cross = np.nonzero(values)
    ptr = np.searchsorted(line, np.arange(lines + 1)).astype(np.int64)
    partner, scratch = np.empty(lines, np.int64), np.zeros((ROWS, size), np.int64)
    clock = np.zeros(1, np.int64)
    for _ in range(2):  # what the first time left behind does not matter
        assigned(
            ptr, cross.astype(np.int64), values[line, cross], np.empty_like(partner), partner, size, scratch, clock
        )
        assert partner.tolist() == linear_sum_assignment(np.maximum(values, 0), maximize=True)[1].tolist()


def test_the_assignment_is_the_one_that_scipy_finds() -> None:
    """If a release of SciPy breaks ties otherwise, this turns red: the outcome of unproved pairs rests on them."""
    rng = np.random.default_rng(30)
    for _ in range(4000):
        lines = int(rng.integers(1, 13))
        shape = lines, int(rng.integers(lines, 16))
        greatest, share = int(rng.choice([1, 2, 3, 6, 1 << 40])), rng.choice([0.1, 0.3, 0.6, 1.0])
        values = np.where(rng.random(shape) < share, rng.integers(-greatest // 4, greatest + 1, shape), 0)
        check_assignment(values.astype(np.int64))
    for greatest in (1, 4, 50, 1 << 40):
        for share in (0.03, 0.3, 1.0):
            shape = 90, 97
            check_assignment(np.where(rng.random(shape) < share, rng.integers(1, greatest + 1, shape), 0))


def test_neither_threads_nor_the_pairs_beside_a_pair_change_its_outcome() -> None:
    declared, stored, queries = random_world(7, 30, 10, predicates=6)
    pairs = every_pair(declared, [*stored, *queries], [*queries, *stored], ALL_DIALS[0])
    wanted = CpuOps(1).best_mappings(pairs, 40)
    np.testing.assert_array_equal(wanted, best_mappings(pairs, 40))
    np.testing.assert_array_equal(CpuOps(3).best_mappings(pairs, 40), wanted)
    order = np.random.default_rng(32).permutation(len(pairs))
    mixed = replace(pairs, query=pairs.query[order], case=pairs.case[order])
    np.testing.assert_array_equal(CpuOps(2).best_mappings(mixed, 40), [column[order] for column in wanted])


def test_no_pairs_and_pairs_without_hypotheses() -> None:
    (pairs,) = random_pairs(range(3, 4), 8, 4)
    nothing = replace(pairs, query=pairs.query[:0], case=pairs.case[:0])
    assert [len(column) for column in CpuOps().best_mappings(nothing, 10)] == [0, 0]
    barren = replace(pairs, table=replace(pairs.table, ptr=np.zeros_like(pairs.table.ptr)))
    np.testing.assert_array_equal(CpuOps().best_mappings(barren, 10), np.zeros((2, len(pairs))))


def test_numbers_of_no_case_are_refused() -> None:
    (pairs,) = random_pairs(range(3, 4), 8, 4)
    with pytest.raises(ShapeError, match=r"Give .* numbers from 0 to"):
        CpuOps().best_mappings(replace(pairs, case=pairs.case + 3), 10)
    with pytest.raises(ShapeError, match="numbers for"):
        CpuOps().best_mappings(replace(pairs, case=pairs.case[1:]), 10)


@pytest.mark.parametrize("node_budget", BUDGETS)
def test_retrieval_answers_the_same_on_every_backend(node_budget: int) -> None:
    names = [name for name in ("cpu", "torch") if able(name)]
    certified = []
    for seed in range(300, 312):
        declared, stored, queries = random_world(seed, 16, 6)
        mounted = mount(ontology_from_parents(declared.parents))
        index = Index.build(
            CaseBatch.from_cases([*stored, *queries], mounted).spelled_out(), mounted, ALL_DIALS[seed % 36]
        )
        batch = CaseBatch.from_cases([*queries, *stored], mounted).spelled_out()
        wanted = index.retrieve(batch, 3, backend="reference", node_budget=node_budget)
        certified += wanted.certified.tolist()
        for name in names:
            found = index.retrieve(batch, 3, backend=name, node_budget=node_budget)
            for field in ("cases", "score_q", "limit_q", "rank_keys", "certified", "aligned"):
                np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field))
    assert all(certified) == (node_budget == BUDGETS[-1])


def able(name: str) -> bool:
    try:
        return isinstance(choose(name)[1], StructureOps)
    except BackendUnavailable:
        return False


def test_no_search_takes_more_nodes_than_there_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its bounds are: here they rule out nothing."""
    bound_of, boundless = Relaxation.bound, 1 << 60
    monkeypatch.setattr(Relaxation, "quick_bound", lambda *_: boundless)
    monkeypatch.setattr(
        Relaxation, "bound", lambda *given, **named: replace(bound_of(*given, **named), bound=boundless)
    )
    grown = close = 0
    for pairs in random_pairs(range(400, 440), 8, 5):
        for made in (pairs.paired(place).made for place in range(len(pairs))):
            most = most_nodes(made)
            if most <= 3000:
                nodes = best_mapping(made, most + 1).nodes
                assert nodes <= most
                grown += nodes > 10
                close += most <= 2 * nodes
    assert grown > 20
    assert close > 20


@pytest.mark.parametrize("mutant", ["none", "bound", "conflict"])
def test_a_search_with_a_fault_is_found_out(mutant: str) -> None:
    """The loops run as plain Python in a process of their own, where a part of them can be exchanged."""
    script = Path(__file__).with_name("structure_mutants.py")
    done = subprocess.run([sys.executable, str(script), mutant], capture_output=True, text=True, check=True)
    assert (int(done.stdout) > 0) == (mutant != "none")
