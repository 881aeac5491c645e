"""What holds of all generalisations: whose terms they are, how probable, and of what they do not depend."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from strategies import World, asked, pack, random_world, worlds

from sma_gpu import CaseBatch, Dials, Index
from sma_gpu.scoring.normalise import QUOTIENT_SHIFT
from sma_gpu.trust.generalisations import Generalisations

thresholds = st.sampled_from([0.05, 0.1, 0.3, 0.6, 1.0])
LIKENESS = Dials(normalisation="max")


def told(found: Generalisations) -> list[tuple[object, ...]]:
    return [*((one.members, one.terms, one.probabilities) for one in found), found.outliers]


def large(seed: int, cases: int) -> World:
    """Returns cases of which many are variations of a few, as records are of a kind."""
    rng = np.random.default_rng(seed)
    world = random_world(rng, 400, max(cases // 8, 2), 8)
    ids, kinds = sorted(world.parents), list(world.cases.values())
    varied = {}
    for number in range(cases):
        kind = kinds[int(rng.integers(len(kinds)))]
        kept = [term for term in kind if rng.random() < 0.7]
        varied[f"{number:05d}"] = sorted({*kept, ids[int(rng.integers(len(ids)))]})
    return World(world.parents, varied)


@settings(max_examples=40, deadline=None)
@given(worlds(), thresholds)
def test_every_term_lies_above_what_it_stands_for_and_counts_its_members(world: World, threshold: float) -> None:
    index = world.index()
    found = Generalisations.build(index, threshold=threshold)
    closure = {term: set(index.mounted.lattice.ancestors_of(term).tolist()) for term in set(index.cases.functors)}
    members = found.members
    holds: dict[tuple[int, int], set[int]] = defaultdict(set)
    for owner, own, term in zip(members.owners.tolist(), index.cases.functors.tolist(), members.terms, strict=True):
        assert int(term) in closure[own]
        holds[int(members.leaders[owner]), int(term)].add(owner)
    sizes = np.bincount(members.leaders)
    ids, seen = index.mounted.ids, set(found.outliers)
    for one in found:
        numbers = [index.number_of(key) for key in one.members]
        assert len(numbers) > 1
        assert seen.isdisjoint(one.members)
        seen |= set(one.members)
        assert (members.leaders[numbers] == numbers[0]).all()  # the first member leads
        shares = {ids[t]: len(held) / sizes[numbers[0]] for (g, t), held in holds.items() if g == numbers[0]}
        assert dict(zip(one.terms, one.probabilities, strict=True)) == shares
        assert all(0 < share <= 1 for share in one.probabilities)
    assert seen == set(index.keys)


@settings(max_examples=25, deadline=None)
@given(worlds(), thresholds)
def test_two_come_together_that_are_alike_and_no_two_outliers_are(world: World, threshold: float) -> None:
    index = world.index(LIKENESS)
    found = Generalisations.build(index, threshold=threshold)
    floor = math.ceil(threshold * (1 << QUOTIENT_SHIFT))
    if not len(index):
        return
    hits = index.retrieve(index.cases, len(index))
    like = {
        (hits.query_keys[row], hits.keys[row, place]): int(hits.rank_keys[row, place])
        for row, place in np.argwhere(hits.rank > 0).tolist()
    }
    for one in found:
        if len(one.members) == 2:
            assert like.get(one.members, 0) >= floor
    for first in found.outliers:
        assert all(like.get((first, other), 0) < floor for other in found.outliers if other != first)


@settings(max_examples=25, deadline=None)
@given(worlds(), thresholds, st.randoms(use_true_random=False))
def test_the_order_of_the_cases_does_not_show(world: World, threshold: float, random: object) -> None:
    keys = list(world.cases)
    random.shuffle(keys)  # type: ignore[attr-defined]
    mixed = World(world.parents, {key: world.cases[key] for key in keys})
    first, other = (Generalisations.build(w.index(), threshold=threshold) for w in (world, mixed))
    assert told(first) == told(other)
    assert first.effort == other.effort


def test_the_backend_does_not_show() -> None:
    pytest.importorskip("numba")
    world = large(3, 120)
    index, queries = world.index(), large(4, 20).batch(world.mounted())
    first, other = (Generalisations.build(index, backend=name) for name in ("reference", "cpu"))
    assert told(first) == told(other)
    assert first.effort == other.effort
    assert (first.unexplained(queries) == other.unexplained(queries)).all()


@settings(max_examples=25, deadline=None)
@given(worlds(), st.data(), thresholds)
def test_what_is_added_at_once_has_no_order_and_nothing_comes_apart(
    world: World, data: st.DataObject, threshold: float
) -> None:
    keys = data.draw(st.permutations(sorted(world.cases)))
    cut = data.draw(st.integers(0, len(keys)))
    mounted = world.mounted()
    before = Index.build(pack(mounted, {key: world.cases[key] for key in keys[:cut]}), mounted)
    old = Generalisations.build(before, threshold=threshold)
    new = [pack(mounted, {key: world.cases[key] for key in order}) for order in (keys[cut:], sorted(keys[cut:]))]
    first, other = (old.add(before.add(batch)) for batch in new)
    assert told(first) == told(other)
    together = {key: one.members for one in first for key in one.members}
    for one in old:
        assert len({together[key] for key in one.members}) == 1
    whole = world.index()
    assert told(Generalisations.build(Index.build(pack(mounted, {}), mounted), threshold=threshold).add(whole)) == told(
        Generalisations.build(whole, threshold=threshold)
    )


def by_definition(found: Generalisations, index: Index, query: list[str]) -> float:
    """Returns what the best generalisation leaves unexplained, by the definition and in floating point."""
    own = {term: index.similarity(term, term) for term in query}
    if not sum(own.values()):
        return 0.0
    best = 0.0
    for one in found:
        value = np.array(
            [
                [
                    index.similarity(asked, term) * share
                    for term, share in zip(one.terms, one.probabilities, strict=True)
                ]
                for asked in query
            ]
        )
        rows, columns = linear_sum_assignment(-value)
        best = max(best, float(value[rows, columns].sum()))
    return 1.0 - best / sum(own.values())


@settings(max_examples=25, deadline=None)
@given(asked(max_cases=10), thresholds)
def test_what_is_unexplained_is_as_defined(given_: tuple[World, list[str]], threshold: float) -> None:
    world, query = given_
    index = world.index()
    found = Generalisations.build(index, threshold=threshold)
    share = found.unexplained(pack(index.mounted, {"q": query}))
    assert share.dtype == np.float64
    assert 0.0 <= share[0] <= 1.0
    assert share[0] == pytest.approx(by_definition(found, index, query), abs=1e-4)


def test_a_query_is_told_the_same_alone_and_in_any_batch() -> None:
    world = large(5, 150)
    index = world.index()
    found = Generalisations.build(index)
    queries = large(6, 30).batch(index.mounted)
    hidden = [[number % 150, (number * 7) % 150] for number in range(len(queries))]
    whole, without = found.unexplained(queries), found.unexplained(queries, hidden)
    assert len(set(whole.tolist())) > 10
    for row in range(len(queries)):
        one = queries.take([row])
        assert found.unexplained(one)[0] == whole[row]
        assert found.unexplained(one, [hidden[row]])[0] == without[row]
    back = np.arange(len(queries))[::-1]
    assert (found.unexplained(queries.take(back)) == whole[::-1]).all()
    assert (found.unexplained(queries, [[]] * len(queries)) == whole).all()


def test_who_does_not_count_leaves_what_the_others_say() -> None:
    world = large(7, 150)
    index = world.index()
    found = Generalisations.build(index)
    queries = large(8, 25).batch(index.mounted)
    for gone in ([0], [3, 4, 5], list(range(0, 150, 2))):
        rest = np.setdiff1d(np.arange(150), gone)
        members = found.members
        left = replace(members, cases=index.cases.take(rest))
        statements = np.isin(members.owners, rest)
        firsts = {old: new for new, old in reversed(list(enumerate(members.leaders[rest].tolist())))}
        leaders = np.array([firsts[leader] for leader in members.leaders[rest].tolist()], np.int32)
        left = replace(left, leaders=leaders, terms=members.terms[statements])
        expected = replace(found, members=left).unexplained(queries)
        assert (found.unexplained(queries, [gone] * len(queries)) == expected).all()


def test_retrievals_and_alignments_grow_about_as_the_cases_do() -> None:
    """Counted, not timed. Each case against each, once, would be an exponent of 2."""
    sizes = [200, 400, 800, 1600]
    found = [Generalisations.build(large(9, size).index()) for size in sizes]
    for counts in ([one.effort.asked for one in found], [one.effort.aligned for one in found]):
        exponent = np.polyfit(np.log(sizes), np.log(counts), 1)[0]
        assert exponent < 1.3
    assert all(one.effort.asked < 5 * size for one, size in zip(found, sizes, strict=True))
    assert all(one.effort.rounds <= 20 for one in found)
    assert all(len(one) > size / 20 for one, size in zip(found, sizes, strict=True))


def test_empty_batches_and_pools() -> None:
    world = random_world(np.random.default_rng(1), 20, 5, 4)
    mounted = world.mounted()
    nothing = Generalisations.build(Index.build(pack(mounted, {}), mounted))
    assert (len(nothing), nothing.outliers, nothing.effort.asked) == (0, (), 0)
    assert nothing.unexplained(CaseBatch.from_functors(["q"], [[3]])).tolist() in ([1.0], [0.0])
