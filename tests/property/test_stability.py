"""Stability and separability by their slow definition: every changed query asked alone, all cases ranked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import World, asked, dials, pack, random_world
from weighed import EVIDENCE_DIALS, random_weighed_world

from sma_gpu import CaseBatch, Dials, Index
from sma_gpu.ops import choose
from sma_gpu.retrieval import OpenQuery, open_blocks
from sma_gpu.retrieval.standings import standings
from sma_gpu.trust.perturbations import ADD, CLIMB, DROP, Perturbations
from sma_gpu.trust.stability import Stability, separability_of, stability_of

Mask = npt.NDArray[np.bool_] | None


def closures(world: World) -> dict[str, set[str]]:
    """Returns the terms that each term implies, itself included."""
    found: dict[str, set[str]] = {}

    def of(term: str) -> set[str]:
        if term not in found:
            found[term] = {term}.union(*(of(parent) for parent in world.parents[term]))
        return found[term]

    return {term: of(term) for term in world.parents}


def reduced(terms: set[str], above: dict[str, set[str]]) -> frozenset[str]:
    return frozenset(t for t in terms if not any(t in above[other] for other in terms - {t}))


def all_changes(world: World, query: frozenset[str], excluded: set[str]) -> dict[int, set[frozenset[str]]]:
    """Returns every query with one term changed, by the words of the module, with sets of ids."""
    above = closures(world)
    implied = set().union(*(above[t] for t in query))
    holding = {t: sum(any(t in above[s] for s in case) for case in world.cases.values()) for t in above}
    drops = {query - {t} for t in query} if len(query) > 1 else set()
    climbs = set()
    for term in query:
        for parent in world.parents[term]:
            rest = set().union(*(above[t] for t in query - {term}))
            if 0 < holding[parent] < len(world.cases) and parent not in rest and not above[parent] & excluded:
                climbs.add(reduced((query - {term}) | {parent}, above))
    stated = {t for case in world.cases.values() for t in case}
    adds = {reduced(query | {t}, above) for t in stated if t not in implied and not above[t] & excluded}
    return {DROP: drops, CLIMB: climbs, ADD: adds}


@settings(max_examples=60, deadline=None)
@given(asked(max_cases=6), st.data())
def test_changed_queries_are_distinct_and_of_their_kind_and_all_of_them_come_at_last(
    drawn: tuple[World, list[str]], data: st.DataObject
) -> None:
    world, terms = drawn
    index = world.index()
    query = reduced(set(terms), closures(world))
    excluded = set(data.draw(st.lists(st.sampled_from(sorted(world.parents)), max_size=2, unique=True)))
    wanted = all_changes(world, query, excluded)
    present, absent = (np.array(sorted(index.mounted.number[t] for t in some), np.int32) for some in (query, excluded))
    ways = Perturbations(index)
    whole = ways.drawn(present, absent, 10_000, 5)
    found: dict[int, list[frozenset[str]]] = {DROP: [], CLIMB: [], ADD: []}
    for change in whole:
        assert (np.diff(change.functors) > 0).all()
        found[change.kind].append(frozenset(index.mounted.ids[f] for f in change.functors.tolist()))
    every = [changed for kind in found.values() for changed in kind]
    assert len(every) == len(set(every))
    assert {kind: set(changed) for kind, changed in found.items()} == wanted
    few = ways.drawn(present, absent, 3, 5)
    assert [(c.kind, c.term, c.functors.tolist()) for c in few] == [
        (c.kind, c.term, c.functors.tolist()) for c in whole[:3]
    ]


def ranking(index: Index, functors: npt.NDArray[np.int32], among: Mask) -> dict[int, tuple[int, int]]:
    """Returns rank and rank key of every case that is a hit."""
    batch = CaseBatch.from_functors(["q"], [functors])
    hits = index.retrieve(batch, max(len(index), 1), backend="reference", among=among)
    held = int((hits.cases[0] >= 0).sum())
    rows = zip(hits.cases[0, :held].tolist(), hits.rank_keys[0, :held].tolist(), strict=True)
    return {case: (place, key) for place, (case, key) in enumerate(rows, 1)}


def check(
    index: Index, batch: CaseBatch, cases: npt.NDArray[np.int32], runs: int, seed: int, among: Mask, backend: str
) -> Stability:
    """Holds both, found for a whole batch at once, against reruns one by one."""
    found = stability_of(index, batch, cases, runs=runs, seed=seed, among=among, backend=backend)
    ways = Perturbations(index)
    for row in range(len(batch)):
        hits = [case for case in cases[row].tolist() if case >= 0]
        own = among[row] if among is not None and among.ndim == 2 else among
        present, excluded = batch.functors_of(row), batch.excluded_of(row)
        changed = ways.drawn(present, excluded, runs, seed) if hits else []
        assert found.runs[row] == len(changed)
        assert found.kinds[row].tolist() == [sum(c.kind == kind for c in changed) for kind in (DROP, CLIMB, ADD)]
        rankings = [ranking(index, change.functors, own) for change in changed]
        for place, case in enumerate(hits):
            ranks = [ranked[case][0] for ranked in rankings if case in ranked]
            assert found.first[row, place] == sum(rank == 1 for rank in ranks)
            assert found.first_five[row, place] == sum(rank <= 5 for rank in ranks)
            assert found.ranked[row, place] == len(ranks)
            assert (found.best[row, place], found.worst[row, place]) == (min(ranks, default=0), max(ranks, default=0))
        whole = ranking(index, present, own)
        without = [ranking(index, change.functors, own) for change in ways.drops(present)]
        for i, a in enumerate(hits):
            for j, b in enumerate(hits):
                wanted = False
                if i != j:
                    high, low = (a, b) if whole[a][1] >= whole[b][1] else (b, a)
                    wanted = whole[a][1] == whole[b][1] or any(
                        low in ranked and (high not in ranked or ranked[low][1] >= ranked[high][1])
                        for ranked in without
                    )
                assert found.separability.reorders[row, i, j] == wanted
        beyond = cases[row] < 0
        for array in (found.first, found.first_five, found.ranked, found.best, found.worst, found.not_separable):
            assert not array[row, beyond].any()
    alone = separability_of(index, batch, cases, among=among, backend=backend)
    assert (alone.reorders == found.separability.reorders).all()
    return found


@settings(max_examples=60, deadline=None)
@given(asked(max_cases=10), dials, st.integers(1, 12), st.integers(0, 3), st.data())
def test_small_worlds(drawn: tuple[World, list[str]], chosen: Dials, runs: int, seed: int, data: st.DataObject) -> None:
    world, terms = drawn
    index = world.index(chosen)
    query = reduced(set(terms), closures(world))
    batch = pack(index.mounted, {"q": sorted(query)})
    among = None
    if data.draw(st.booleans()):
        among = np.array([data.draw(st.booleans()) for _ in range(len(index))], np.bool_)
    cases = index.retrieve(batch, 4, backend="reference", among=among).cases
    check(index, batch, cases, runs, seed, among, "reference")


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("chosen", [Dials(), Dials.adapter_v1(), Dials(normalisation="min"), EVIDENCE_DIALS[0]])
def test_larger_worlds_in_a_batch_and_each_query_alone(backend: str, chosen: Dials) -> None:
    if backend == "cpu":
        pytest.importorskip("numba", reason="numba is not installed (cpu extra)")
    rng = np.random.default_rng(11)
    if chosen.weighing:
        index = random_weighed_world(rng, terms=120, cases=150, size=12).index(chosen)
    else:
        index = random_world(rng, terms=120, cases=150, size=12).index(chosen)
    queries = [index.mounted.lattice.most_specific(rng.choice(120, n)) for n in (1, 2, 4, 6, 9)]
    excluded = [np.sort(rng.choice(120, 2, replace=False)) for _ in queries]
    batch = CaseBatch.from_functors([""] * len(queries), queries, excluded)
    for among in (None, rng.random((len(queries), len(index))) < 0.3):
        cases = index.retrieve(batch, 8, backend=backend, among=among).cases
        found = check(index, batch, cases, 9, 2, among, backend)
        assert found.runs.tolist() == [9] * len(queries)
        for row in range(len(batch)):
            own = among[row] if among is not None and among.ndim == 2 else among
            alone = stability_of(index, batch.take([row]), cases[[row]], runs=9, seed=2, among=own, backend=backend)
            for name in ("runs", "kinds", "first", "first_five", "ranked", "best", "worst", "not_separable"):
                assert (getattr(alone, name)[0] == getattr(found, name)[row]).all()


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_standings_are_those_of_open_queries_also_of_cases_that_are_no_hits(backend: str) -> None:
    if backend == "cpu":
        pytest.importorskip("numba", reason="numba is not installed (cpu extra)")
    rng = np.random.default_rng(4)
    index = random_world(rng, terms=80, cases=60, size=6).index()
    batch = CaseBatch.from_functors([""] * 12, [rng.choice(80, 3) for _ in range(12)])
    cases = np.stack([rng.choice(60, 10, replace=False) for _ in range(12)]).astype(np.int32)
    cases[3, 4:] = -1
    ranked = rng.random(12) < 0.7
    found = standings(index, batch, cases, ranked=ranked, backend=backend)
    for row in range(12):
        opened = OpenQuery(next(open_blocks(index, batch.take([row]), choose(backend)[1])))
        for place, case in enumerate(cases[row].tolist()):
            if case < 0:
                assert (found.scores[row, place], found.rank_keys[row, place], found.ranks[row, place]) == (0, -1, 0)
                continue
            wanted = opened.standing(case)
            assert found.scores[row, place] == wanted.score
            assert found.rank_keys[row, place] == (wanted.rank_key if wanted.score else -1)
            assert found.ranks[row, place] == ((wanted.rank or 0) if ranked[row] else 0)
