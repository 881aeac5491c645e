"""Retrieval among some of the cases: the hits of all cases without the others, certified."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ALL_DIALS, NestedWorld, World, asked, dials, nested_worlds, pack, random_world

from sma_gpu import CaseBatch, Dials, Index, mount
from sma_gpu import ontology_from_parents as ontology
from sma_gpu.errors import ShapeError, UnknownKey


def check(index: Index, batch: CaseBatch, among: np.ndarray, backend: str = "reference") -> None:
    """Holds the hits among some cases against those of all cases, the others struck out."""
    whole = index.retrieve(batch, max(len(index), 1), backend=backend)
    rows = np.broadcast_to(among, (len(batch), len(index)))
    for k in (1, 2, 5):
        hits = index.retrieve(batch, k, among=among, backend=backend)
        assert hits.certified.all()
        for row in range(len(batch)):
            left = [i for i, c in enumerate(whole.cases[row].tolist()) if c >= 0 and rows[row, c]][:k]
            assert hits.cases[row][hits.rank[row] > 0].tolist() == whole.cases[row, left].tolist()
            assert hits.score_q[row][hits.rank[row] > 0].tolist() == whole.score_q[row, left].tolist()
            assert hits.rank_keys[row][hits.rank[row] > 0].tolist() == whole.rank_keys[row, left].tolist()


@settings(max_examples=80, deadline=None)
@given(asked(max_cases=10), dials, st.data())
def test_hits_among_some_cases_are_those_of_all_without_the_others(
    drawn: tuple[World, list[str]], chosen: Dials, data: st.DataObject
) -> None:
    index = drawn[0].index(chosen)
    among = np.array([data.draw(st.booleans()) for _ in range(len(index))], np.bool_)
    check(index, pack(index.mounted, {"q": drawn[1]}), among)


@settings(max_examples=40, deadline=None)
@given(nested_worlds(), dials, st.data())
def test_likewise_for_cases_with_structure(world: NestedWorld, chosen: Dials, data: st.DataObject) -> None:
    mounted = mount(ontology(world.declared.parents))
    index = Index.build(CaseBatch.from_cases(world.stored, mounted), mounted, chosen)
    among = np.array([data.draw(st.booleans()) for _ in range(len(index))], np.bool_)
    check(index, CaseBatch.from_cases([world.query], mounted), among)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("chosen", [ALL_DIALS[0], ALL_DIALS[8], Dials()])
def test_each_query_may_have_a_mask_of_its_own(backend: str, chosen: Dials) -> None:
    if backend == "cpu":
        pytest.importorskip("numba", reason="numba is not installed (cpu extra)")
    rng = np.random.default_rng(3)
    world = random_world(rng, terms=150, cases=200, size=20)
    index = world.index(chosen)
    ids = sorted(world.parents)
    batch = pack(index.mounted, {f"q{i}": [ids[t] for t in rng.choice(150, 8, replace=False)] for i in range(30)})
    check(index, batch, rng.random((30, len(index))) < 0.3, backend)
    check(index, batch, np.zeros(len(index), np.bool_), backend)


def test_a_mask_of_keys_and_what_is_no_mask() -> None:
    index = World({"EX:1": [], "EX:2": ["EX:1"]}, {"a": ["EX:2"], "b": ["EX:2"], "c": ["EX:1"]}).index()
    assert index.mask(["c", "a"]).tolist() == [True, False, True]
    with pytest.raises(UnknownKey, match="case d"):
        index.mask(["a", "d"])
    batch = pack(index.mounted, {"q": ["EX:2"]})
    for wrong in (np.ones(2, np.bool_), np.ones(3, np.int8), np.ones((2, 3), np.bool_), [True, True, True]):
        with pytest.raises(ShapeError, match="Give a bool array of shape"):
            index.retrieve(batch, 1, among=wrong)  # type: ignore[arg-type]
