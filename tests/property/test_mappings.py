"""Mappings of hits as arrays are those of ``explain``, hit by hit, in both forms."""

from __future__ import annotations

from dataclasses import fields
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ALL_DIALS, World, asked, dials, pack, random_world

from sma_gpu import CaseBatch, Dials, Index, mount, ontology_from_parents
from sma_gpu.cases.model import Case, Entity, Predicate, Statement
from sma_gpu.errors import CaseError
from sma_gpu.retrieval import mappings
from sma_gpu.retrieval.explain import canonical_matching, explain
from sma_gpu.scoring import PairTable

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed (the extra cpu brings it)")


@pytest.mark.parametrize("chosen", ALL_DIALS[::2], ids=lambda d: d.fingerprint[:6])
def test_mappings_are_those_of_explain(chosen: Dials) -> None:
    rng = np.random.default_rng(71)
    world = random_world(rng, terms=80, cases=60, size=14)
    index = world.index(chosen)
    ids = index.mounted.ontology.ids
    sizes = [0, *rng.integers(1, 10, 9).tolist()]
    drawn = {f"q{i}": [ids[t] for t in rng.choice(80, n, replace=False)] for i, n in enumerate(sizes)}
    batch = pack(index.mounted, drawn)
    hits = index.retrieve(batch, 7, mappings=True, backend="reference")
    found = hits.mappings
    assert found is not None and found.explained.shape == hits.cases.shape and len(found) == found.ptr[-1]
    for query in range(len(batch)):
        for place in range(7):
            at, case = found.of(query, place), int(hits.cases[query, place])
            if case < 0:
                assert at.start == at.stop and found.explained[query, place] == 0
                continue
            account = explain(index, batch.functors_of(query), batch.excluded_of(query), case)
            columns = (found.query[at], found.stored[at], found.via[at], found.distance[at], found.value_q[at])
            assert [tuple(int(n) for n in pair) for pair in zip(*columns, strict=True)] == [
                (p.query, p.stored, p.via, p.distance, p.value) for p in account.mapping
            ]
            assert found.explained[query, place] == account.explained
            assert int(found.value_q[at].sum()) + 65_536 == hits.score_q[query, place]


@needs_numba
@settings(deadline=None)  # the first call compiles
@given(asked(max_size=6), dials)
def test_both_forms_give_the_same_arrays(drawn: tuple[World, list[str]], chosen: Dials) -> None:
    world, terms = drawn
    index = world.index(chosen)
    batch = pack(index.mounted, {"one": terms, "none": [], "two": terms[:2]})
    cases = np.array([[*range(len(index)), -1]] * 3, np.int32)
    ours, wanted = (mappings.map_hits(index, batch, cases, compiled=how) for how in (True, False))
    for field in fields(mappings.Mappings):
        mine, theirs = getattr(ours, field.name), getattr(wanted, field.name)
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs, err_msg=field.name)


def matrix_table(values: np.ndarray) -> PairTable:
    """Returns the table that is a matrix; 0: no pair."""
    row, stored = np.nonzero(values)
    zeros = np.zeros(len(row), np.int32)
    ptr = np.searchsorted(row, np.arange(len(values) + 1)).astype(np.int64)
    return PairTable(
        np.arange(len(values), dtype=np.int32), ptr, stored.astype(np.int32), values[row, stored].astype(np.int64),
        zeros, zeros,
    )  # fmt: skip


def mapped(values: np.ndarray) -> list[int]:
    """Returns the column of each row in the compiled canonical mapping, or -1."""
    from sma_gpu.ops.cpu import CpuOps

    table = matrix_table(values)
    rows, columns = values.shape
    entry = CpuOps(1).map_pairs(
        table, np.array([0, rows]), np.arange(rows), np.zeros((1, 1), np.int32), np.array([0, columns]),
        np.arange(columns, dtype=np.int32),
    )  # fmt: skip
    return [int(table.stored[e]) if e >= 0 else -1 for e in entry]


def defined(values: np.ndarray) -> list[int]:
    row, column = np.nonzero(values)
    return canonical_matching(row, column, values[row, column], len(values)).tolist()


matrices = st.integers(1, 6).flatmap(
    lambda rows: st.integers(1, 6).flatmap(
        lambda columns: st.lists(
            st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 5]), min_size=columns, max_size=columns),
            min_size=rows, max_size=rows,
        )
    )
)  # fmt: skip


@needs_numba
@settings(deadline=None)  # the first call compiles
@given(matrices)
def test_the_compiled_form_finds_the_first_of_all_optimal_matchings(values: list[list[int]]) -> None:
    assert mapped(np.array(values)) == defined(np.array(values))


@needs_numba
def test_the_compiled_form_finds_the_first_of_all_optimal_matchings_of_thousands_of_matrices() -> None:
    rng = np.random.default_rng(73)
    for number in range(3000):
        rows, columns = rng.integers(1, 9, 2)
        greatest = (2, 3, 4, 8, 100)[number % 5]
        values = rng.integers(1, greatest, (rows, columns)) * (rng.random((rows, columns)) < rng.choice([0.3, 0.6, 1]))
        assert mapped(values) == defined(values), values.tolist()


@needs_numba
@pytest.mark.parametrize("shape", [(300, 300), (300, 40), (40, 300)], ids=str)
def test_the_compiled_form_has_no_limit_on_size(shape: tuple[int, int]) -> None:
    rows, columns = shape
    assert mapped(np.full(shape, 7)) == [*range(min(shape)), *[-1] * max(rows - columns, 0)]
    rng = np.random.default_rng(shape)
    few = rng.integers(0, 3, shape)
    found = mapped(few)
    taken = [c for c in found if c >= 0]
    assert len(set(taken)) == len(taken)
    from scipy.optimize import linear_sum_assignment

    best = few[linear_sum_assignment(few, maximize=True)].sum()
    assert sum(int(few[r, c]) for r, c in enumerate(found) if c >= 0) == best
    # No row could have an earlier column, all before it as they are.
    for row in rng.choice(rows, 5, replace=False).tolist():
        earlier = [c for c in np.flatnonzero(few[row]).tolist() if c not in found[:row]]
        for column in [c for c in earlier if found[row] < 0 or c < found[row]]:
            free = np.ones(columns, bool)
            free[[c for c in [*found[:row], column] if c >= 0]] = False
            rest = few[row + 1 :][:, free]
            after = rest[linear_sum_assignment(rest, maximize=True)].sum() + few[row, column]
            assert after < sum(int(few[r, c]) for r, c in enumerate(found) if r >= row and c >= 0)


def test_mappings_of_cases_with_structure_are_refused_with_where_to_get_them() -> None:
    mounted = mount(ontology_from_parents({"likes": [], "tall": []}))
    thing, other = Entity("a"), Entity("b")
    told = Case("c", (Statement(Predicate("likes"), (thing, other)),))
    flat = CaseBatch.from_functors(["f"], [[mounted.ontology.number["tall"]]])
    structured = CaseBatch.from_cases([told], mounted)
    for stored, query in ((structured, flat), (flat, structured)):
        index = Index.build(stored, mounted)
        with pytest.raises(CaseError, match=r"Index\.analogy"):
            index.retrieve(query, 1, mappings=True)
        assert index.retrieve(query, 1).mappings is None


def test_without_hits_there_are_no_pairs() -> None:
    mounted = mount(ontology_from_parents({"EX:1": []}))
    none = CaseBatch.from_functors([], [])
    for stored, batch in ((none, none), (none, CaseBatch.from_functors(["q"], [[0]]))):
        found = Index.build(stored, mounted).retrieve(batch, 3, mappings=True).mappings
        assert found is not None and len(found) == 0 and found.explained.shape == (len(batch), 0)
