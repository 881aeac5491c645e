"""Nested, relational, negated and weighted cases: scores, mappings, inferences and retrieval against their oracles."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles.enumerator import Hypothesis, Item, Oracle, Settings, supported
from strategies import (
    ALL_DIALS,
    WEIGHTS,
    Declared,
    NestedWorld,
    World,
    asked,
    declarations,
    dials,
    nested_cases,
    nested_worlds,
    pack,
    random_analogy,
    random_declared,
    random_nested_case,
    retell,
)

from sma_gpu import Analogy, CaseBatch, Dials, Hits, Index, align, flat_case, mount, ontology_from_parents
from sma_gpu.cases import Vocabulary
from sma_gpu.cases.model import SUBJECT, Case, Entity, Predicate, Statement
from sma_gpu.errors import CapacityError
from sma_gpu.ops import choose
from sma_gpu.ops.reference import ReferenceOps
from sma_gpu.ops.structure import NODE_BUDGET
from sma_gpu.retrieval import block, explain
from sma_gpu.retrieval.alignment import analogy_between
from sma_gpu.retrieval.pairing import pair_up
from sma_gpu.retrieval.search import OpenQuery, open_blocks, open_query
from sma_gpu.scoring import Shapes

ONE = 1 << 16
PLAIN = Dials("unit", "ancestor", gamma=0.25, rho=0.95, delta=2)

Parents = dict[str, list[str]]


def index_of(parents: Parents, stored: Iterable[Case], chosen: Dials) -> Index:
    mounted = mount(ontology_from_parents(parents))
    return Index.build(CaseBatch.from_cases(stored, mounted).spelled_out(), mounted, chosen)


def opened(index: Index, *queries: Case, node_budget: int = NODE_BUDGET) -> list[OpenQuery]:
    batch = CaseBatch.from_cases(queries, index.mounted).spelled_out()
    blocks = open_blocks(index, batch, choose("reference")[1], node_budget)
    return [OpenQuery(block.take(np.array([i]))) for block in blocks for i in range(len(block))]


def settle(query: OpenQuery, number: int) -> tuple[int, int]:
    """Returns the score of one stored case and the limit of it."""
    pair = pair_up(query.corpus, query.table, query.rows, query.batch.items(query.number), number)
    found = pair.best(query.block.node_budget)
    return pair.score(found.total), pair.score(found.bound)


def oracle_of(parents: Parents, stored: Iterable[Case], chosen: Dials) -> Oracle:
    sides = Settings(chosen.scorer, chosen.credit, chosen.gamma, chosen.rho, chosen.delta)
    return Oracle(parents, list(stored), sides)


def say(functor: str, *args: Item, negated: bool = False, weight: float = 1.0) -> Statement:
    """Returns a statement; functors that begin with "same" commute."""
    return Statement(Predicate(functor, commutative=functor.startswith("same")), args, negated, weight)


def things(names: str) -> list[Entity]:
    return [Entity(name) for name in names.split()]


def words(parents: Parents) -> Vocabulary:
    return Vocabulary(mount(ontology_from_parents(parents)))


def mapping_of(found: Analogy) -> frozenset[Hypothesis]:
    return frozenset((c.target, c.base) for c in found.mapping)


# --- score and mapping


def check_score(stored: Sequence[Case], query: Case, parents: Parents, chosen: Dials) -> int:
    """Returns in how many of the pairs something matched."""
    index, oracle = index_of(parents, stored, chosen), oracle_of(parents, stored, chosen)
    (asks,) = opened(index, query)
    matched = 0
    for case in stored:
        wanted = oracle.best(query, case)[0]
        assert settle(asks, index.number_of(case.key)) == (wanted, wanted)
        matched += wanted > 0
    return matched


@settings(max_examples=100, deadline=None)
@given(nested_worlds(), dials)
def test_score_equals_the_best_of_all_closed_one_to_one_sets(world: NestedWorld, chosen: Dials) -> None:
    check_score(world.stored, world.query, world.declared.parents, chosen)


def random_pair(seed: int, statements: int = 6, entities: int = 4) -> tuple[Declared, Case, Case]:
    """Returns predicates, a base and a target; every other target is made out of its base."""
    rng = np.random.default_rng([2, seed])
    declared = random_declared(rng, int(rng.integers(2, 9)))
    if seed % 2:
        planted = random_analogy(rng, declared, statements, entities, noise=0.2)
        return declared, planted.base, planted.target
    base, target = (random_nested_case(rng, declared, key, statements, entities) for key in ("base", "target"))
    return declared, base, target


@pytest.mark.slow
def test_score_equals_the_best_of_all_closed_one_to_one_sets_for_two_thousand_seeded_pairs() -> None:
    matched = 0
    for seed in range(2000):
        declared, base, target = random_pair(seed)
        matched += check_score([base], target, declared.parents, ALL_DIALS[seed % len(ALL_DIALS)])
    assert matched > 700  # or the pairs prove little; with one case in the corpus, ic finds nothing telling


def check_against_cpsat(seed: int) -> bool:
    """Returns whether something matched in a pair of 30 to 60 statements a side."""
    cpsat = pytest.importorskip("oracles.cpsat", reason="OR-Tools is not installed; the extra bench brings it")
    rng = np.random.default_rng([3, seed])
    # Few predicates give many rival hypotheses, many give long kernel mappings.
    declared = random_declared(rng, int(rng.integers(4, 20)))
    size, entities = int(rng.integers(30, 61)), int(rng.integers(4, 13))
    planted = random_analogy(rng, declared, size, entities, drop=0.15, replace=0.3, noise=0.2)
    others = [random_nested_case(rng, declared, f"other{i}", 6) for i in range(4)]
    stored = [c for c in (planted.base, *others) if c.statements]
    chosen = ALL_DIALS[seed * 7 % len(ALL_DIALS)]
    index, oracle = index_of(declared.parents, stored, chosen), oracle_of(declared.parents, stored, chosen)
    (asks,) = opened(index, planted.target)
    wanted = cpsat.best_by_cpsat(oracle, planted.target, planted.base)
    assert settle(asks, index.number_of("base")) == (wanted, wanted)
    return bool(wanted)


def test_larger_planted_cases_score_what_the_integer_programme_proves() -> None:
    assert sum(check_against_cpsat(seed) for seed in range(12)) > 8


@pytest.mark.slow
def test_two_hundred_larger_planted_cases_score_what_the_integer_programme_proves() -> None:
    assert sum(check_against_cpsat(seed) for seed in range(12, 212)) > 150


def in_packed_order(case: Case) -> list[Item]:
    """Returns statements by order, functor, sign, weight and arguments, then entities by name."""
    rank: dict[Item, tuple[int, int]] = {e: (0, i) for i, e in enumerate(case.entities())}
    ordered: list[Item] = []
    for order, level in itertools.groupby(sorted(case.walk(), key=lambda s: s.order), key=lambda s: s.order):
        among = sorted(level, key=lambda s: (s.functor.id, s.negated, s.weight, [rank[a] for a in s.args]))
        rank.update((s, (order, i)) for i, s in enumerate(among))
        ordered += among
    return [*ordered, *case.entities()]


def vector(mapping: frozenset[Hypothesis], target: Case, base: Case) -> list[int]:
    """Returns the partner's place for each item of the target, what has none last."""
    image, place = dict(mapping), {item: i for i, item in enumerate(in_packed_order(base))}
    return [place[image[item]] if item in image else len(place) for item in in_packed_order(target)]


def check_mapping(found: Analogy, oracle: Oracle) -> None:
    """Holds a mapping against its definition, one that is said to be canonical against all optima."""
    mapping = mapping_of(found)
    assert len(mapping) == len(found.mapping)
    assert all(len({pair[side] for pair in mapping}) == len(mapping) for side in (0, 1))
    assert all(supported(pair, mapping) and oracle.pairs(pair) for pair in mapping)
    assert sum(c.value for c in found.mapping) == found.score
    for c in found.mapping:
        assert c.value == oracle.value((c.target, c.base))
        if isinstance(c.target, Statement) and isinstance(c.base, Statement):
            worth = oracle.worth(c.target.functor.id, c.base.functor.id, c.target.negated)
            assert worth is not None
            assert (c.via, c.distance) == worth[1:]
    spoken_of = {a for q, _ in mapping if isinstance(q, Statement) for a in q.args}
    for c in found.mapping:
        assert c.grounded == (isinstance(c.target, Statement) or c.target in spoken_of)


@settings(max_examples=120, deadline=None)
@given(nested_worlds(max_stored=2), dials)
def test_mapping_is_the_canonical_optimum_and_adds_up(world: NestedWorld, chosen: Dials) -> None:
    index, oracle = index_of(world.declared.parents, world.stored, chosen), world.oracle(chosen)
    (asks,) = opened(index, world.query)
    for case in world.stored:
        found = analogy_between(asks, index.number_of(case.key))
        score, optima = oracle.best(world.query, case)
        assert (found.score, found.bound, found.optimal, found.canonical) == (score, score, True, True)
        assert found.self_target == oracle.self_score(world.query)
        assert found.self_base == oracle.self_score(case)
        check_mapping(found, oracle)
        if optima:
            assert found.explained == pytest.approx(oracle.explained(world.query, mapping_of(found)), abs=1e-12)
            assert vector(mapping_of(found), found.target, found.base) == min(
                vector(mapping, found.target, found.base) for mapping in optima
            )


def check_canonical(seed: int) -> bool:
    """Returns whether there were several optima to choose from."""
    declared, base, target = random_pair(seed, statements=5)
    chosen = Dials("unit", "ancestor", "power(0)", 0.25, 0.95, seed % 4)
    found = analogy_between(opened(index_of(declared.parents, [base], chosen), target)[0], 0)
    _, optima = oracle_of(declared.parents, [base], chosen).best(target, base)
    vectors = [vector(mapping, target, base) for mapping in optima]
    if optima:
        assert vector(mapping_of(found), target, base) == min(vectors)
    return len({tuple(v) for v in vectors}) > 1


def test_mapping_is_the_first_of_several_optima() -> None:
    assert sum(map(check_canonical, range(300))) > 40  # where there is but one, nothing is chosen


@pytest.mark.slow
def test_mapping_is_the_first_of_several_optima_for_three_thousand_seeded_pairs() -> None:
    assert sum(map(check_canonical, range(300, 3300))) > 400


def test_entities_take_their_first_partner_whatever_was_looked_at_before() -> None:
    # r cannot pair, since a would stand for y and for z. Both ways round are best for the commutative pair.
    a, b, x, y, z = things("a b x y z")
    target = Case("target", (say("r", a, a), say("same", a, b)))
    base = Case("base", (say("r", y, z), say("same", x, y)))
    found = align(base, target, words({"r": [], "same": []}), PLAIN)
    assert (found.optimal, found.canonical) == (True, True)
    assert mapping_of(found) >= {(a, x), (b, y)}


def project(item: Item, image: dict[Item, Item]) -> Item:
    """Returns an item of the base in the words of the target."""
    if item in image:
        return image[item]
    if isinstance(item, Entity):
        return item if item.constant else Entity(item.name, "skolem")
    return Statement(item.functor, tuple(project(a, image) for a in item.args), item.negated, item.weight)


def implied(statement: Statement, target: Case, oracle: Oracle) -> bool:
    """Tells whether the target says as much of the same things: something narrower, or denies something broader."""
    for t in target.walk():
        wide, narrow = (t, statement) if statement.negated else (statement, t)
        says_it = wide.functor.id in oracle.hops(narrow.functor.id)
        # Where one of the two commutes, what it says holds in any order.
        either = t.functor.commutative or statement.functor.commutative
        same = {*itertools.permutations(t.args)} if either else {t.args}
        if t.negated == statement.negated and says_it and statement.args in same:
            return True
    return False


def check_inferences(found: Analogy, oracle: Oracle) -> None:
    image = {c.base: c.target for c in found.mapping if c.grounded}
    value = {c.base: c.value for c in found.mapping}
    inner = {a for s in found.base.walk() for a in s.args}
    roots = [s for s in found.base.statements if s not in inner]
    drawn = {i.source: i for i in found.inferences}
    assert len(drawn) == len(found.inferences)
    assert drawn.keys() <= set(roots)
    denied = {b for b, _ in found.contradicted}
    for root in roots:
        within: set[Item] = {*root.walk(), *(a for s in root.walk() for a in s.args)}
        statement = project(root, image)
        assert isinstance(statement, Statement)
        matched = within & image.keys()
        lacking = root not in image and not implied(statement, found.target, oracle) and root not in denied
        assert (root in drawn) == bool(lacking and matched)
        if root not in drawn:
            continue
        inference = drawn[root]
        assert inference.statement == statement
        assert inference.statement not in set(found.target.walk())
        left = {e for e in within - image.keys() if isinstance(e, Entity) and not e.constant}
        assert inference.skolems == tuple(Entity(n, "skolem") for n in sorted(e.name for e in left))
        assert inference.support == sum(value[item] for item in matched) > 0
        alone = [s for s in within - image.keys() if isinstance(s, Statement)]
        assert inference.value == sum(oracle.value((s, s)) for s in alone)
    order = [(bool(i.denied_by), -i.support, -i.value) for i in found.inferences]
    assert order == sorted(order)


@settings(max_examples=100, deadline=None)
@given(nested_worlds(max_stored=2), dials)
def test_every_inference_is_supported_and_new_and_its_skolems_are_what_is_unmapped(
    world: NestedWorld, chosen: Dials
) -> None:
    index, oracle = index_of(world.declared.parents, world.stored, chosen), world.oracle(chosen)
    (asks,) = opened(index, world.query)
    for case in world.stored:
        check_inferences(analogy_between(asks, index.number_of(case.key)), oracle)


def test_inferences_of_five_hundred_seeded_pairs() -> None:
    drawn = made_up = 0
    for seed in range(500):
        declared, base, target = random_pair(seed, statements=8)
        index = index_of(declared.parents, [base], PLAIN)
        found = analogy_between(opened(index, target)[0], 0)
        check_mapping(found, oracle_of(declared.parents, [base], PLAIN))
        check_inferences(found, oracle_of(declared.parents, [base], PLAIN))
        drawn += len(found.inferences)
        made_up += sum(len(i.skolems) for i in found.inferences)
    assert drawn > 300
    assert made_up > 100


def test_what_the_target_implies_is_no_inference_whichever_way_it_is_told() -> None:
    # Who hits touches, and touching is mutual, so that either order of the arguments of hit says all of touch.
    parents: Parents = {"touch": [], "hit": ["touch"], "p": [], "q": []}
    a, b, x, y = things("a b x y")
    touch = Statement(Predicate("touch", commutative=True), (x, y))
    base = Case("base", (say("p", x), say("q", y), touch))
    for args in ((a, b), (b, a)):
        target = Case("target", (say("p", a), say("q", b), say("hit", *args)))
        found = align(base, target, words(parents), Dials("unit", delta=0))
        assert found.inferences == ()


# --- adding statements


def grown(case: Case, key: str, statement: Statement) -> Case:
    return Case(key, (*case.statements, statement))


@settings(max_examples=120, deadline=None)
@given(nested_worlds(max_stored=1), dials, st.data())
def test_adding_a_statement_to_both_cases_never_lowers_the_score(
    world: NestedWorld, chosen: Dials, data: st.DataObject
) -> None:
    """The added statement speaks of new things, and of entities and statements that each side has already.

    What speaks of what is drawn for each side by itself, so that it may pair with its like or not, and rival what was
    matched before. Costs depend on the indexed cases; so both the case and the grown case are indexed, and one set of
    costs serves before and after.
    """
    base, target = world.stored[0], world.query
    declared = world.declared
    kinds = data.draw(st.lists(st.sampled_from(["new", "entity", "statement"]), max_size=3))
    fitting = [f for f in sorted(declared.parents) if declared.arity[f] in (len(kinds), None)]
    functor = data.draw(st.sampled_from([Predicate("added"), *(declared.predicates[f] for f in fitting)]))
    negated = data.draw(st.booleans())
    both = []
    for case in (base, target):
        choices: dict[str, list[Item]] = {
            "new": [Entity(f"new {case.key}")],
            "entity": [*case.entities()] or [Entity(f"new {case.key}")],
            "statement": in_packed_order(case)[: -len(case.entities()) or None],
        }
        args = tuple(data.draw(st.sampled_from(choices[kind])) for kind in kinds)
        both.append(grown(case, f"{case.key}+", Statement(functor, args, negated, data.draw(st.sampled_from(WEIGHTS)))))
    index = index_of({**declared.parents, "added": []}, [base, both[0]], chosen)
    before, after = opened(index, target, both[1])
    less, more = settle(before, index.number_of(base.key)), settle(after, index.number_of(both[0].key))
    assert less[0] == less[1]
    assert more[0] == more[1]
    assert more[0] >= less[0]


@settings(max_examples=80, deadline=None)
@given(nested_worlds(max_stored=1), dials, st.data())
def test_what_is_said_on_both_sides_of_corresponding_things_adds_just_its_value(
    world: NestedWorld, chosen: Dials, data: st.DataObject
) -> None:
    base, target = world.stored[0], world.query
    parents = {**world.declared.parents, "added": []}
    first = analogy_between(opened(index_of(parents, [base, grown(base, "+", say("added"))], chosen), target)[0], 1)
    assume(first.mapping)
    pairs = data.draw(st.lists(st.sampled_from(first.mapping), min_size=1, max_size=3))
    weight = data.draw(st.sampled_from(WEIGHTS))
    new_base, new_target = (
        say("added", *(c.base for c in pairs)),
        say("added", *(c.target for c in pairs), weight=weight),
    )
    longer = grown(base, "+", new_base)
    index = index_of(parents, [base, longer], chosen)
    before, after = opened(index, target, grown(target, "q+", new_target))
    less, more = settle(before, index.number_of(base.key))[0], settle(after, index.number_of("+"))[0]
    # Nothing else says "added" and no thing is new: without that pair, a mapping is one of the cases as they were.
    assert more == less + oracle_of(parents, [base, longer], chosen).value((new_target, new_base))


def best_by_roots_alone(oracle: Oracle, query: Case, stored: Case) -> int:
    """Returns the best sum of compatible kernel mappings that grow from roots.

    As in the published system, a root is a pair of statements with compatible functors which are not arguments, in the
    same place, of another such pair. Its kernel is all it rests on, and void where that is no one-to-one mapping.
    """
    seeds = [h for h in oracle.hypotheses(query, stored) if isinstance(h[0], Statement)]
    below = {pair for q, c in seeds for pair in arguments((q, c))}
    kernels = [k for h in seeds if h not in below and (k := kernel(oracle, h)) is not None]

    def grow(at: int, union: frozenset[Hypothesis]) -> int:
        if at == len(kernels):
            return sum(map(oracle.value, union))
        without = [k for k in kernels[at + 1 :] if not one_to_one(union | kernels[at] | k)]
        best = grow(at + 1, union | kernels[at]) if one_to_one(union | kernels[at]) else 0
        # A kernel that excludes none of those to come is never left out for their sake.
        return max(best, grow(at + 1, union)) if without or not best else best

    return grow(0, frozenset())


def arguments(pair: Hypothesis) -> list[Hypothesis]:
    q, c = pair
    return list(zip(q.args, c.args, strict=True)) if isinstance(q, Statement) and isinstance(c, Statement) else []


def kernel(oracle: Oracle, root: Hypothesis) -> frozenset[Hypothesis] | None:
    found, waiting = set[Hypothesis](), [root]
    while waiting:
        pair = waiting.pop()
        if not oracle.pairs(pair):
            return None
        found.add(pair)
        waiting += arguments(pair)
    return frozenset(found) if one_to_one(found) else None


def one_to_one(pairs: Iterable[Hypothesis]) -> bool:
    held = list(pairs)
    return all(len({p[side] for p in held}) == len(held) for side in (0, 1))


def before_and_after(base: Case, target: Case, new: tuple[Statement, Statement]) -> list[list[int]]:
    """Returns [before, after] of growth from roots alone, and of the engine, when ``new`` is said on either side."""
    parents: Parents = {}
    cases = [(base, target), (grown(base, "base", new[0]), grown(target, "target", new[1]))]
    oracle = oracle_of(parents, [], PLAIN)
    engine = [align(b, t, dials=PLAIN) for b, t in cases]
    assert all(found.optimal for found in engine)
    return [[best_by_roots_alone(oracle, t, b) for b, t in cases], [found.score for found in engine]]


def test_a_shared_relation_that_cannot_match_erases_its_arguments_under_roots_alone() -> None:
    s, x = things("s x")
    base = Case("base", (say("t", x), say("w", x)))
    target = Case("target", (say("t", s), say("u", s)))
    new = say("r", say("t", x), say("w", x)), say("r", say("t", s), say("u", s))
    # t is worth 1.25 and its entity 1. Once r stands over it, t is no root; and r's kernel is void, w being no u.
    roots, ours = before_and_after(base, target, new)
    assert roots == [9 * ONE // 4, 0]
    assert ours == [9 * ONE // 4, 9 * ONE // 4]


def test_a_shared_relation_that_loses_takes_its_arguments_along_under_roots_alone() -> None:
    x, z, a, c, d = things("x z a c d")
    marks = [f"m{i}" for i in range(5)]
    base = Case("base", (say("p", x), say("s", z), *(say(m, z) for m in marks)))
    target = Case("target", (say("p", a), say("s", c), *(say(m, d) for m in marks)))
    new = say("r", say("p", x), say("s", z)), say("r", say("p", a), say("s", c))
    # Five marks at 1.25 pair z with d, p at 1.25 pairs x with a. The kernel of r, at 1.625, needs z for c and loses
    # against the marks; p, which could stay, is no root any more.
    roots, ours = before_and_after(base, target, new)
    assert roots == [(6 * 5 + 8) * ONE // 4, (5 * 5 + 4) * ONE // 4]
    assert ours == [(6 * 5 + 8) * ONE // 4, (6 * 5 + 8) * ONE // 4]


def test_a_shared_relation_that_is_crossed_breaks_two_kernels_under_roots_alone() -> None:
    x, y, a, b = things("x y a b")
    base = Case("base", (say("p", x), say("q", y), say("s", y), say("s", x)))
    target = Case("target", (say("p", a), say("q", b), say("s", a), say("s", b)))
    new = say("r", say("p", x), say("s", x)), say("r", say("p", a), say("s", b))
    # r would need x for a and for b: void. It makes p no root, and nothing else pairs p.
    roots, ours = before_and_after(base, target, new)
    assert roots[1] < roots[0]
    assert ours[1] == ours[0] == roots[0]


def test_roots_alone_are_never_better_and_sometimes_fall() -> None:
    below = falls = 0
    for seed in range(150):
        rng = np.random.default_rng([4, seed])
        declared = random_declared(rng, 6)
        planted = random_analogy(rng, declared, 6, 4, drop=0.1, replace=0.2)
        base, target = planted.base, planted.target
        # The added relation speaks of two things that correspond, and of any other two.
        mine, theirs = list(planted.statements.items())[int(rng.integers(len(planted.statements)))]
        inner = [[s for s in in_packed_order(case) if isinstance(s, Statement)] for case in (base, target)]
        new = [say("r", a, side[int(rng.integers(len(side)))]) for a, side in zip((theirs, mine), inner, strict=True)]
        cases = [(base, target), (grown(base, "b+", new[0]), grown(target, "t+", new[1]))]
        parents = {**declared.parents, "r": []}
        oracle, vocabulary = oracle_of(parents, [], PLAIN), words(parents)
        if any(len(oracle.hypotheses(t, b)) > 30 for b, t in cases):
            continue  # so many kernels take long
        ours = [align(b, t, vocabulary, PLAIN).score for b, t in cases]
        roots = [best_by_roots_alone(oracle, t, b) for b, t in cases]
        assert ours[1] >= ours[0]
        assert all(r <= o for r, o in zip(roots, ours, strict=True))
        below += roots[0] < ours[0]
        falls += roots[1] < roots[0]
    assert below > 2
    assert falls > 30


# --- commutative functors


def scored(left: Sequence[Statement], right: Sequence[Statement], parents: Parents | None = None) -> int:
    """Returns the score of target ``left`` with base ``right``, which the enumerator confirms."""
    known = parents or {}
    target, base = Case("target", tuple(left)), Case("base", tuple(right))
    functors = {s.functor.id for case in (base, target) for s in case.walk()}
    whole = {**{f: list[str]() for f in sorted(functors)}, **known}
    found = align(base, target, words(whole), PLAIN)
    oracle = oracle_of(whole, [base], PLAIN)
    assert found.optimal
    assert found.score == oracle.best(target, base)[0]
    check_mapping(found, oracle)
    return found.score


def test_arguments_of_commutative_functors_pair_in_any_order() -> None:
    a, b, x, y = things("a b x y")
    tall, old = (say("tall", a), say("tall", x)), (say("old", b), say("old", y))
    # Two entities, two statements of 1.25, one of 1.5: all of them in any order, or without the relation.
    assert scored([say("same", a, b), tall[0], old[0]], [say("same", y, x), tall[1], old[1]]) == 6 * ONE
    assert scored([say("near", a, b), tall[0], old[0]], [say("near", x, y), tall[1], old[1]]) == 6 * ONE
    assert scored([say("near", a, b), tall[0], old[0]], [say("near", y, x), tall[1], old[1]]) == 9 * ONE // 2


def test_repeated_arguments_pair_with_arguments_repeated_as_often() -> None:
    a, b, x, y, z = things("a b x y z")
    assert scored([say("same", a, a, b)], [say("same", x, y, z)]) == 0
    assert scored([say("same", a, a)], [say("same", x, y)]) == 0
    assert scored([say("same", a, a)], [say("same", x, x)]) == 5 * ONE // 2
    assert scored([say("same", a, a, b)], [say("same", x, y, y)]) == 15 * ONE // 4
    # a stands twice, so it must be y, and tall cannot pair it with x as well.
    tall = say("tall", a), say("tall", x)
    assert scored([say("same", a, a, b), tall[0]], [say("same", x, y, y), tall[1]]) == 15 * ONE // 4
    assert scored([say("same", a, a, b), tall[0]], [say("same", y, x, x), tall[1]]) == 20 * ONE // 4


def test_order_counts_where_one_side_alone_commutes() -> None:
    a, b, x, y = things("a b x y")
    parents: Parents = {"same": ["near"], "near": [], "tall": []}
    mark = say("tall", a), say("tall", x)
    straight = scored([say("same", a, b), mark[0]], [say("near", x, y), mark[1]], parents)
    crossed = scored([say("same", a, b), mark[0]], [say("near", y, x), mark[1]], parents)
    assert straight - crossed > 0
    assert scored([say("near", a, b), mark[0]], [say("same", y, x), mark[1]], parents) == crossed


def test_support_of_nested_commutative_functors_is_a_perfect_matching_at_each_level() -> None:
    a, b, c, d, x, y, z, w = things("a b c d x y z w")
    left = say("same-pair", say("same", a, b), say("same", c, d))
    crossed = say("same-pair", say("same", w, z), say("same", y, x))
    mixed = say("same-pair", say("same", w, x), say("same", y, z))
    marks = [
        (say(f"m{i}", e), say(f"m{i}", f)) for i, (e, f) in enumerate(zip((a, b, c, d), (x, y, z, w), strict=True))
    ]
    mine, theirs = ([m[side] for m in marks] for side in (0, 1))
    # T of the pair: 1 + 2/4 + 4/16; of each part 1.5; four marks of 1.25 and four entities.
    everything = ONE * 7 // 4 + 3 * ONE + 5 * ONE + 4 * ONE
    assert scored([left, *mine], [crossed, *theirs]) == everything
    # w and x are no pair on the left: the best is to keep all four marks, or to give up two of them for the pairs.
    assert scored([left, *mine], [mixed, *theirs]) == 9 * ONE + max(0, ONE * 7 // 4 + 3 * ONE - 2 * 5 * ONE // 4)


def test_commutative_support_on_random_cases() -> None:
    parents: Parents = {"same": ["near"], "same3": [], "near": [], "r": ["near"], "mark": []}
    arity: dict[str, int | None] = {"same": 2, "same3": 3, "near": 2, "r": 2, "mark": 1}
    declared = Declared(parents, {f: say(f).functor for f in parents}, arity)
    commuted = 0
    for seed in range(80):
        rng = np.random.default_rng([5, seed])
        base = random_nested_case(rng, declared, "base", 5, 4, nesting=0.3)
        # The target says the same of other things, with the arguments of commutative functors in another order.
        told: dict[Item, Item] = {e: e if e.constant else Entity(f"t{e.name}") for e in base.entities()}
        for s in sorted(base.walk(), key=lambda s: (s.order, s.digest)):
            places = rng.permutation(len(s.args)) if s.functor.commutative else range(len(s.args))
            other = say("near", *s.args).functor if s.functor.id == "same" and rng.random() < 0.2 else s.functor
            told[s] = Statement(other, tuple(told[s.args[i]] for i in places), s.negated, s.weight)
        target = Case("target", tuple(t for s in base.statements if isinstance(t := told[s], Statement)))
        found = align(base, target, words(parents), PLAIN)
        oracle = oracle_of(parents, [base], PLAIN)
        assert found.score == oracle.best(target, base)[0]
        check_mapping(found, oracle)
        pairs = mapping_of(found)
        commuted += sum(not set(arguments(pair)) <= pairs for pair in pairs)
    assert commuted > 40  # pairs whose arguments do not pair in the order given


# --- negation and weights


ANIMALS: Parents = {
    "animal": [], "bird": ["animal"], "fish": ["animal"], "trout": ["fish"], "penguin": ["bird", "fish"], "old": []
}  # fmt: skip


def denied(functor: str, thing: Entity) -> Statement:
    return say(functor, thing, negated=True)


@pytest.mark.parametrize(
    ("mine", "theirs", "via", "distance"),
    [
        ("animal", "fish", "fish", 1),  # what is no animal is no fish
        ("fish", "animal", "fish", 1),
        ("animal", "trout", "trout", 2),
        ("trout", "trout", "trout", 0),
        ("bird", "fish", "penguin", 2),  # siblings meet in what both exclude
        ("bird", "trout", None, None),  # nothing is below both
        ("old", "fish", None, None),
    ],
)
def test_denials_pair_through_what_both_exclude(mine: str, theirs: str, via: str | None, distance: int | None) -> None:
    a, x = things("a x")
    found = align(Case("base", (denied(theirs, x),)), Case("target", (denied(mine, a),)), words(ANIMALS), PLAIN)
    statements = [c for c in found.mapping if isinstance(c.base, Statement)]
    if via is None or distance is None:
        assert statements == []
        assert found.score == 0
    else:
        assert [(c.via, c.distance) for c in statements] == [(via, distance)]
        assert found.score == ONE + round(0.95**distance * 1.25 * ONE)


def test_denials_have_costs_of_their_own() -> None:
    a, x, y, z = things("a x y z")
    stored = [
        Case("c0", (denied("animal", x),)), Case("c1", (denied("fish", y),)),
        Case("c2", (say("trout", z),)), Case("c3", (say("old", z),)),
    ]  # fmt: skip
    index = index_of(ANIMALS, stored, Dials("ic", "base", gamma=0.0))
    (asks,) = opened(index, Case("q", (denied("trout", a),)))
    # No trout holds of c0 and c1, no fish too, no animal of c0 alone: log2 of 4/1 and 4/2 bits, as the base pays.
    assert [settle(asks, i)[0] for i in range(4)] == [ONE + round(0.95**2 * 2 * ONE), ONE + round(0.95 * ONE), 0, 0]


def test_opposite_signs_never_pair() -> None:
    a, x = things("a x")
    for mine, theirs in itertools.product(ANIMALS, ANIMALS):
        found = align(Case("base", (denied(theirs, x),)), Case("target", (say(mine, a),)), words(ANIMALS), PLAIN)
        assert (found.score, found.mapping) == (0, ())
    for seed in range(80):
        declared, base, target = random_pair(seed)
        for q, c in mapping_of(align(base, target, words(declared.parents), PLAIN)):
            if isinstance(q, Statement) and isinstance(c, Statement):
                assert q.negated == c.negated


def test_what_one_side_denies_of_the_other_is_listed() -> None:
    a, x = things("a x")
    old = say("old", x), say("old", a)

    def contradictions(theirs: Statement, mine: Statement, excluded: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        base, target = Case("base", (old[0], theirs)), Case("target", (old[1], mine), excluded=excluded)
        found = align(base, target, words(ANIMALS), PLAIN)
        assert not {b for b, _ in found.contradicted} & {i.source for i in found.inferences}
        return [(b.functor.id, t.functor.id) for b, t in found.contradicted if b.negated != t.negated]

    assert contradictions(say("trout", x), denied("fish", a)) == [("trout", "fish")]
    assert contradictions(say("trout", x), denied("trout", a)) == [("trout", "trout")]
    assert contradictions(denied("animal", x), say("penguin", a)) == [("animal", "penguin")]
    assert contradictions(say("fish", x), denied("trout", a)) == []  # a fish that is no trout
    assert contradictions(say("bird", x), denied("fish", a)) == []
    assert contradictions(say("trout", x), say("old", a), excluded=("animal",)) == [("trout", "animal")]
    # Of another thing it is no contradiction.
    other = align(
        Case("base", (old[0], say("trout", Entity("y")))), Case("target", (old[1], denied("fish", a))), words(ANIMALS)
    )
    assert other.contradicted == ()


def test_a_pair_takes_the_smaller_weight_and_self_scores_use_the_same() -> None:
    a, x = things("a x")
    for mine, theirs in itertools.product(WEIGHTS, WEIGHTS):
        base, target = Case("base", (say("p", x, weight=theirs),)), Case("target", (say("p", a, weight=mine),))
        found = align(base, target, dials=PLAIN)
        assert found.score == ONE + round(min(mine, theirs) * 1.25 * ONE)
        assert found.self_base == ONE + round(theirs * 1.25 * ONE)
        assert found.self_target == ONE + round(mine * 1.25 * ONE)
    # A weight lends less to the arguments, and takes nothing from them: r is worth half of 1 + 1/4 + 1/16, p 1.25.
    nested = [say("r", say("p", e), weight=0.5) for e in (a, x)]
    assert scored(nested[:1], nested[1:]) == ONE + ONE * 5 // 4 + ONE * 21 // 32


@settings(max_examples=100, deadline=None)
@given(nested_worlds(), dials)
def test_a_case_against_itself_scores_its_self_score(world: NestedWorld, chosen: Dials) -> None:
    index, oracle = index_of(world.declared.parents, world.stored, chosen), world.oracle(chosen)
    for case in world.stored:
        number = index.number_of(case.key)
        (asks,) = opened(index, case)
        own = oracle.self_score(case)
        assert index.normaliser.self_scores[number] == asks.self_score == own
        assert settle(asks, number) == (own, own)


# --- trickle-down


@settings(max_examples=100, deadline=None)
@given(nested_worlds(max_stored=2), dials)
def test_values_add_up_to_simulated_trickle_down(world: NestedWorld, chosen: Dials) -> None:
    index, oracle = index_of(world.declared.parents, world.stored, chosen), world.oracle(chosen)
    (asks,) = opened(index, world.query)
    for case in world.stored:
        check_trickle_down(analogy_between(asks, index.number_of(case.key)), oracle)


def check_trickle_down(found: Analogy, oracle: Oracle) -> int:
    """Returns how many statement pairs were looked at; each may be rounded by half a unit, entity pairs never are."""
    statements = sum(isinstance(c.base, Statement) for c in found.mapping)
    simulated = oracle.trickle_down(mapping_of(found)) * ONE
    assert abs(simulated - found.score) <= statements / 2
    return statements


def test_shape_factor_equals_simulated_trickle_down_on_deep_graphs() -> None:
    pairs = shared = 0
    for seed in range(40):
        rng = np.random.default_rng([6, seed])
        declared = random_declared(rng, 8)
        base = random_nested_case(rng, declared, "base", 25, 4, max_order=7, nesting=0.7)
        names = [f"other:{i}" for i in range(len(base.entities()))]
        retold = retell(base, declared, names, {f: f for f in declared.parents}).statements
        target = Case("target", tuple(retold[s] for s in base.statements))
        chosen = Dials("unit", gamma=(0.0, 0.25, 0.5, 1.0)[seed % 4], rho=0.95)
        found = align(base, target, words(declared.parents), chosen)
        assert found.score == found.self_base == found.self_target
        pairs += check_trickle_down(found, oracle_of(declared.parents, [], chosen))
        below = [a for s in base.walk() for a in s.args if isinstance(a, Statement)]
        shared += len(below) - len(set(below))
    assert pairs > 700
    assert shared > 300  # statements that stand in several places: graphs, not trees


@settings(max_examples=60, deadline=None)
@given(nested_worlds(), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_shapes_count_every_downward_path(world: NestedWorld, gamma: float) -> None:
    shapes = Shapes()
    oracle = oracle_of({}, [], Dials("unit", gamma=gamma))

    def number(item: Item) -> int:
        return 0 if isinstance(item, Entity) else shapes.number(tuple(number(a) for a in item.args))

    for statement in world.query.walk():
        at = number(statement)
        assert shapes.trickle(gamma)[at] == oracle.shape(statement)


# --- bounds and certified retrieval


def flat_or_not(rng: np.random.Generator, declared: Declared, key: str, kind: int, model: Case) -> Case:
    """Returns a case by kind: flat, relational, nested, or a retelling of ``model``; with weights and denials."""
    unary = [f for f in sorted(declared.parents) if declared.arity[f] == 1]
    if kind == 0 and unary:
        return flat_case(key, rng.choice(unary, int(rng.integers(1, len(unary) + 1)), replace=False).tolist())
    if kind <= 2:
        return random_nested_case(rng, declared, key, int(rng.integers(1, 6)), 3, max_order=1 + 2 * (kind == 2))
    names = [f"{key}:{i}" for i in rng.permutation(len(model.entities()))]
    retold = retell(model, declared, names, {f: f for f in declared.parents}).statements
    kept = [retold[s] for s in model.statements if rng.random() < 0.7]
    return Case(key, tuple(kept))


def mixed_corpus(seed: int, cases: int = 11) -> tuple[Declared, list[Case], list[Case]]:
    """Returns predicates, stored cases of all kinds, and queries of all kinds."""
    rng = np.random.default_rng([7, seed])
    declared = random_declared(rng, 9)
    for name in ("u0", "u1", "u2"):  # so that there are always flat cases, and parents among their terms
        declared.parents[name] = ["u0"] if name != "u0" else []
        declared.arity[name] = 1
        declared.predicates[name] = Predicate(name)
    model = random_nested_case(rng, declared, "model", 5, 3)
    stored = [flat_or_not(rng, declared, f"c{i:02d}", i % 4, model) for i in range(cases)]
    queries = [flat_or_not(rng, declared, f"q{kind}", kind, model) for kind in range(4)]
    return declared, [c for c in stored if c.statements], [q for q in queries if q.statements]


def check_bounds(seed: int) -> int:
    """Returns how many pairs were looked at, all of them scored by exhaustion of the search."""
    declared, stored, queries = mixed_corpus(seed)
    index = index_of(declared.parents, stored, ALL_DIALS[seed % len(ALL_DIALS)])
    oracle = oracle_of(declared.parents, stored, index.dials)
    by_key = {c.key: c for c in stored}
    every = np.arange(len(index))
    for query, asks in zip(queries, opened(index, *queries), strict=True):
        found = np.array([settle(asks, number) for number in every.tolist()], np.int64)
        assert (found[:, 0] == found[:, 1]).all()
        scores, bounds = found[:, 0], asks.bounds.astype(np.int64)
        assert (bounds >= scores).all()
        keys = index.normaliser.rank_keys
        assert (keys(bounds, asks.self_score, every) >= keys(scores, asks.self_score, every)).all()
        assert (keys(scores, asks.self_score, every)[scores > 0] > 0).all()
        number = seed % len(index)  # the bound is the one that is defined, not just any that is high enough
        assert bounds[number] == oracle.bound(query, by_key[index.keys[number]])
    return len(queries) * len(index)


def test_bound_is_never_below_the_score_over_thousands_of_nested_pairs() -> None:
    assert sum(map(check_bounds, range(72))) > 2500


@pytest.mark.slow
def test_bound_is_never_below_the_score_over_tens_of_thousands_of_nested_pairs() -> None:
    assert sum(map(check_bounds, range(72, 800))) > 30_000


def ranked(index: Index, scores: np.ndarray, self_query: int) -> list[tuple[str, int, int]]:
    """Returns (key, score, rank key) of all hits, by rank key and then by key."""
    keys = index.normaliser.rank_keys(scores, self_query, np.arange(len(index)))
    order = sorted((i for i in range(len(index)) if scores[i]), key=lambda i: (-keys[i], index.keys[i]))
    return [(index.keys[i], int(scores[i]), int(keys[i])) for i in order]


def row_of(hits: Hits, row: int) -> list[tuple[str, int, int]]:
    count = int((hits.cases[row] >= 0).sum())
    columns = hits.keys, hits.score_q, hits.rank_keys
    return [(str(k), int(s), int(r)) for k, s, r in zip(*(c[row, :count].tolist() for c in columns), strict=True)]


def truth(seed: int, chosen: Dials) -> tuple[Index, list[Case], list[list[tuple[str, int, int]]]]:
    """Returns an index of mixed cases, queries, and for each query the whole ranking by exhaustive enumeration."""
    declared, stored, queries = mixed_corpus(seed)
    mounted = mount(ontology_from_parents(declared.parents))
    index = Index.build(CaseBatch.from_cases(stored, mounted), mounted, chosen)
    oracle = oracle_of(declared.parents, stored, chosen)
    by_key = {c.key: c for c in stored}
    rankings = []
    for query in queries:
        scores = np.array([oracle.best(query, by_key[key])[0] for key in index.keys], np.int64)
        rankings.append(ranked(index, scores, oracle.self_score(query)))
    return index, queries, rankings


def check_top_k(seed: int, chosen: Dials) -> None:
    index, queries, rankings = truth(seed, chosen)
    batch = CaseBatch.from_cases(queries, index.mounted)
    for k in (1, 2, 5, 20):
        hits = index.retrieve(batch, k)
        assert hits.certified.all()
        assert hits.optimal.all()
        for row, ranking in enumerate(rankings):
            assert row_of(hits, row) == ranking[:k]
    for row, query in enumerate(queries):  # flat queries alone come without structure
        alone = index.retrieve(CaseBatch.from_cases([query], index.mounted), 20)
        assert row_of(alone, 0) == rankings[row]
        assert alone.certified.all()


@pytest.mark.parametrize("number", range(len(ALL_DIALS)))
def test_certified_top_k_is_that_of_scoring_every_case(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "_FIRST_LOOK", 1)  # the first look would otherwise cover all of so small an index
    check_top_k(number, ALL_DIALS[number])


@pytest.mark.slow
def test_certified_top_k_over_more_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "_FIRST_LOOK", 1)
    for seed in range(36, 180):
        check_top_k(seed, ALL_DIALS[seed % len(ALL_DIALS)])


def check_large_corpus(seed: int, chosen: Dials) -> None:
    """Holds top 1, 5 and 20 of a corpus with many exact ties against the scores of all its cases."""
    declared, stored, queries = mixed_corpus(seed, cases=120)
    index = index_of(declared.parents, stored, chosen)
    batch = CaseBatch.from_cases(queries, index.mounted)
    found = {k: index.retrieve(batch, k) for k in (1, 5, 20)}
    assert all(hits.certified.all() for hits in found.values())
    for row, asks in enumerate(opened(index, *queries)):
        scores = np.array([settle(asks, i)[0] for i in range(len(index))], np.int64)
        ranking = ranked(index, scores, asks.self_score)
        for k, hits in found.items():
            assert row_of(hits, row) == ranking[:k] == row_of(found[20], row)[:k]
    assert (found[5].aligned <= found[20].aligned).all()
    assert found[5].aligned.min() < len(index) / 2  # the proof is not by aligning everything


@pytest.mark.parametrize("scorer", ["ic", "unit", "surprisal"])
def test_top_five_is_the_head_of_top_twenty_in_a_larger_corpus(scorer: str) -> None:
    check_large_corpus(500, Dials(scorer))


CHECKS: list[Callable[[int], object]] = [check_bounds, lambda seed: check_large_corpus(seed, Dials("unit"))]


@pytest.mark.parametrize("check", CHECKS, ids=["bounds", "top k"])
def test_a_bound_one_unit_too_low_turns_the_checks_red(
    check: Callable[[int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "_FIRST_LOOK", 1)

    def failures() -> int:
        count = 0
        for seed in range(2):
            try:
                check(seed)
            except AssertionError:
                count += 1
        return count

    assert failures() == 0
    honest = ReferenceOps.accumulate

    def too_low(*arguments: Any) -> np.ndarray:
        bounds = honest(*arguments)
        return np.where(bounds > 0, bounds - 1, 0).astype(np.int32)

    monkeypatch.setattr(ReferenceOps, "accumulate", too_low)
    assert failures() > 0


@pytest.mark.parametrize("node_budget", [0, 1, 3])
def test_without_a_proof_nothing_is_certified_that_is_not_so(node_budget: int) -> None:
    unproved = uncertified = wrong = 0
    for seed in range(100, 107):
        index, queries, rankings = truth(seed, ALL_DIALS[seed % len(ALL_DIALS)])
        batch = CaseBatch.from_cases(queries, index.mounted)
        for k in (1, 3, 20):
            hits = index.retrieve(batch, k, node_budget=node_budget)
            for row, ranking in enumerate(rankings):
                true = {key: score for key, score, _ in ranking}
                found = row_of(hits, row)
                for place, (key, score, _) in enumerate(found):
                    assert score <= true[key] <= hits.limit_q[row, place]
                    if hits.optimal[row, place]:
                        assert score == true[key]
                if hits.certified[row]:
                    assert found == ranking[:k]
                    assert hits.optimal[row].all()
                unproved += int((~hits.optimal[row]).sum())
                uncertified += not hits.certified[row]
                wrong += found != ranking[:k]
    if node_budget == 0:
        assert unproved > 15
        assert uncertified > 15
    assert uncertified >= wrong


def test_an_answer_that_came_out_wrong_for_want_of_nodes_is_not_certified() -> None:
    # The kernel of s is worth most by itself, but the two of p and q together exclude it and are worth more.
    a, b, x, y = things("a b x y")
    target = Case("target", (say("p", a), say("q", b), say("m", b), say("n", a), say("s", say("t", a), say("v", b))))
    base = Case("base", (say("p", x), say("q", y), say("m", y), say("n", x), say("s", say("t", y), say("v", x))))
    plain = Case("plain", (say("p", x), say("q", y), say("m", y)))
    parents: Parents = {f: [] for f in "pqmnstv"}
    index = index_of(parents, [base, plain], Dials("unit"))
    batch = CaseBatch.from_cases([target], index.mounted)
    whole, hasty = index.retrieve(batch, 1), index.retrieve(batch, 1, node_budget=0)
    assert row_of(whole, 0)[0][0] == "base"
    assert whole.certified.all()
    assert hasty.limit_q[0, 0] >= whole.score_q[0, 0] > hasty.score_q[0, 0]
    assert not hasty.optimal[0, 0]
    assert not hasty.certified[0]


# --- what must not change an answer


def answers(index: Index, batch: CaseBatch) -> list[tuple[object, ...]]:
    hits = index.retrieve(batch, 20)
    return [(row_of(hits, row), int(hits.aligned[row]), bool(hits.certified[row])) for row in range(len(batch))]


@pytest.mark.parametrize("seed", range(200, 206))
def test_the_order_of_cases_statements_and_queries_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng([8, seed])
    declared, stored, queries = mixed_corpus(seed)
    chosen = ALL_DIALS[seed % len(ALL_DIALS)]
    first = index_of(declared.parents, stored, chosen)
    wanted = answers(first, CaseBatch.from_cases(queries, first.mounted))
    shuffled = [Case(c.key, tuple(c.statements[i] for i in rng.permutation(len(c.statements)))) for c in stored]
    second = index_of(declared.parents, [shuffled[i] for i in rng.permutation(len(shuffled))], chosen)
    assert second.fingerprint == first.fingerprint
    order = rng.permutation(len(queries)).tolist()
    turned = [Case(q.key, tuple(reversed(q.statements))) for q in queries]
    found = answers(second, CaseBatch.from_cases([turned[i] for i in order], second.mounted))
    assert found == [wanted[i] for i in order]
    for one, other in zip(opened(first, *queries), opened(second, *turned), strict=True):
        for number in range(len(first)):
            told, retold = (analogy_between(asks, number) for asks in (one, other))
            assert told.mapping == retold.mapping
            assert {i.statement for i in told.inferences} == {i.statement for i in retold.inferences}


def renamed(case: Case, names: dict[str, str]) -> Case:
    """Returns a case whose entities, constants aside, have new names."""
    done: dict[Item, Item] = {e: e if e.constant else Entity(names[e.name], e.type) for e in case.entities()}
    for s in sorted(case.walk(), key=lambda s: s.order):
        done[s] = Statement(s.functor, tuple(done[a] for a in s.args), s.negated, s.weight)
    statements = [done[s] for s in case.statements]
    return Case(case.key, tuple(s for s in statements if isinstance(s, Statement)), case.name, case.excluded)


def told_again(item: Item, names: dict[str, str]) -> Item:
    """Returns an item of any case after ``renamed``; skolems bear the names of the base's entities."""
    if isinstance(item, Entity):
        return item if item.constant else Entity(names[item.name], item.type)
    return Statement(item.functor, tuple(told_again(a, names) for a in item.args), item.negated, item.weight)


@settings(max_examples=100, deadline=None)
@given(nested_worlds(max_stored=1), dials)
def test_renaming_entities_in_order_renames_the_analogy_and_changes_nothing_else(
    world: NestedWorld, chosen: Dials
) -> None:
    base, target = world.stored[0], world.query
    names = {e.name: f"x{e.name}" for case in (base, target) for e in case.entities()}
    vocabulary = words(world.declared.parents)
    first = align(base, target, vocabulary, chosen)
    second = align(renamed(base, names), renamed(target, names), vocabulary, chosen)
    assert (first.score, first.bound, first.nodes) == (second.score, second.bound, second.nodes)
    assert [(told_again(c.base, names), told_again(c.target, names), c.value) for c in first.mapping] == [
        (c.base, c.target, c.value) for c in second.mapping
    ]
    assert [(told_again(i.statement, names), i.support, i.value) for i in first.inferences] == [
        (i.statement, i.support, i.value) for i in second.inferences
    ]
    assert len(first.contradicted) == len(second.contradicted)
    assert len(first.alignable) == len(second.alignable)


@settings(max_examples=80, deadline=None)
@given(nested_worlds(max_stored=1), dials, st.randoms(use_true_random=False))
def test_renaming_entities_in_any_order_keeps_the_score_and_the_inferences_of_a_sole_optimum(
    world: NestedWorld, chosen: Dials, rng: random.Random
) -> None:
    base, target = world.stored[0], world.query
    names = sorted({e.name for case in (base, target) for e in case.entities()})
    other = [f"n{i:02d}" for i in range(len(names))]
    rng.shuffle(other)
    new = dict(zip(names, other, strict=True))
    vocabulary = words(world.declared.parents)
    first = align(base, target, vocabulary, chosen)
    second = align(renamed(base, new), renamed(target, new), vocabulary, chosen)
    assert (first.score, first.self_base, first.self_target) == (second.score, second.self_base, second.self_target)
    _, optima = oracle_of(world.declared.parents, [base], chosen).best(target, base)
    if len({frozenset(p for p in m if isinstance(p[0], Statement)) for m in optima}) == 1 and len(optima) == 1:
        assert {(told_again(c.base, new), told_again(c.target, new)) for c in first.mapping} == {
            (c.base, c.target) for c in second.mapping
        }
        assert {told_again(i.statement, new) for i in first.inferences} == {i.statement for i in second.inferences}


_SCRIPT = """
import json, sys
import numpy as np
from strategies import ALL_DIALS, random_analogy, random_declared, random_nested_case
from sma_gpu import CaseBatch, Index, Vocabulary, align, mount, ontology_from_parents
from sma_gpu.cases.sexpr import print_case, statement_text
from sma_gpu.cases.model import Statement

def text(item):
    return statement_text(item) if isinstance(item, Statement) else f"{item.name}/{item.type}"

for seed in range(12):
    rng = np.random.default_rng([9, seed])
    declared = random_declared(rng, 8)
    planted = random_analogy(rng, declared, 12, 5)
    mounted = mount(ontology_from_parents(declared.parents))
    chosen = ALL_DIALS[seed * 5 % 36]
    found = align(planted.base, planted.target, Vocabulary(mounted), chosen)
    print(found.score, found.bound, found.nodes, found.normalised, found.explained, print_case(found.target))
    print([(text(c.base), text(c.target), c.value, c.via, c.distance) for c in found.mapping])
    print([(text(i.statement), [text(e) for e in i.skolems], i.support, i.value) for i in found.inferences])
    print([(text(d.base), text(d.target), d.via) for d in found.alignable])
    print([text(s) for s in (*found.base_only, *found.target_only)], len(found.contradicted))
    cases = [c for i in range(12) if (c := random_nested_case(rng, declared, f"c{i}", 5, 3)).statements]
    index = Index.build(CaseBatch.from_cases([planted.base, *cases], mounted), mounted, chosen)
    hits = index.retrieve(CaseBatch.from_cases([planted.target, cases[0]], mounted), 10)
    print(index.fingerprint, hits.keys.tolist(), hits.score_q.tolist(), hits.rank_keys.tolist(), hits.aligned.tolist())
"""


def test_two_hash_seeds_give_the_same_bytes() -> None:
    tests = Path(__file__).resolve().parent.parent
    outputs = [
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{tests.parent}{os.pathsep}{tests}"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "4711")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 10_000


# --- flat cases, packing, limits


@settings(max_examples=100, deadline=None)
@given(asked(max_cases=8), dials)
def test_flat_cases_give_the_same_bits_through_the_structured_path(
    drawn: tuple[World, list[str]], chosen: Dials
) -> None:
    world, query = drawn
    flat = world.index(chosen)
    mounted = flat.mounted
    spelled = Index.build(world.batch(mounted).spelled_out(), mounted, chosen)
    batch = pack(mounted, {"q": query})
    fields = ("keys", "cases", "score_q", "limit_q", "rank_keys", "rank", "certified", "aligned")
    wanted = flat.retrieve(batch, 5)
    for index, queries in ((spelled, batch), (flat, batch.spelled_out()), (spelled, batch.spelled_out())):
        hits = index.retrieve(queries, 5)
        assert all(np.array_equal(getattr(hits, f), getattr(wanted, f)) for f in fields)
    functors = batch.functors_of(0)
    alone = open_query(flat, functors)
    none = np.zeros(0, np.int32)
    for opening in open_blocks(spelled, batch, choose("reference")[1]):
        asks = OpenQuery(opening)
        assert asks.self_score == alone.self_score
        assert np.array_equal(asks.bounds, alone.bounds)
        for number in range(len(flat)):
            # The branch and bound, which plain cases otherwise do not need, finds what the assignment finds.
            account, found = explain(flat, functors, none, number), analogy_between(asks, number)
            assert settle(asks, number) == (account.score, account.score)
            statements = [c for c in found.mapping if isinstance(c.base, Statement)]
            ids = mounted.ids
            assert [(ids[p.query], ids[p.stored], p.value, ids[p.via], p.distance) for p in account.mapping] == [
                (c.target.functor.id, c.base.functor.id, c.value, c.via, c.distance)
                for c in statements
                if isinstance(c.target, Statement) and isinstance(c.base, Statement)
            ]
            assert found.explained == account.explained


@st.composite
def mixed_batches(draw: st.DrawFn) -> tuple[Declared, list[Case]]:
    declared = draw(declarations())
    declared.parents.update(u0=[], u1=["u0"])
    cases = []
    for i in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from(["", "a name", "né"]))
        excluded = tuple(draw(st.lists(st.sampled_from(sorted(declared.parents)), max_size=2)))
        if draw(st.booleans()):
            present = draw(st.lists(st.sampled_from(["u0", "u1"]), max_size=2))
            cases.append(flat_case(f"k{i}", present, excluded, name))
        else:
            told = draw(nested_cases(declared, f"k{i}"))
            order = draw(st.permutations(told.statements))
            cases.append(Case(told.key, tuple(order), name, excluded))
    return declared, cases


@settings(max_examples=100, deadline=None)
@given(mixed_batches(), st.data())
def test_packed_cases_come_back_without_loss(drawn: tuple[Declared, list[Case]], data: st.DataObject) -> None:
    declared, cases = drawn
    mounted = mount(ontology_from_parents(declared.parents))
    batch = CaseBatch.from_cases(cases, mounted)
    assert [batch.case(i, mounted) for i in range(len(batch))] == cases
    assert [batch.spelled_out().case(i, mounted) for i in range(len(batch))] == cases
    rows = data.draw(st.lists(st.integers(0, len(cases) - 1), max_size=6))
    taken = batch.take(rows)
    assert [taken.case(i, mounted) for i in range(len(rows))] == [cases[i] for i in rows]
    again = CaseBatch.from_cases([batch.case(i, mounted) for i in range(len(batch))], mounted)
    assert np.array_equal(again.functors, batch.functors)
    assert (again.structure is None) == (batch.structure is None)
    for number, case in enumerate(cases):
        made = batch.statements(number, mounted)
        assert list(made) == in_packed_order(case)[: len(made)]
        assert set(made) == set(case.walk())


def test_cases_of_no_statement_and_of_statements_of_nothing_are_packed() -> None:
    mounted = mount(ontology_from_parents({"rain": [], "causes": []}))
    rain = say("rain")
    cases = [Case("none", ()), Case("rain", (rain,)), Case("both", (say("causes", rain, Entity("flood")), rain))]
    batch = CaseBatch.from_cases(cases, mounted)
    assert [batch.case(i, mounted) for i in range(3)] == cases
    found = align(cases[2], cases[1], Vocabulary(mounted), PLAIN)
    assert (found.score, len(found.mapping)) == (ONE, 1)
    assert [(i.statement.args, i.skolems) for i in found.inferences] == [
        ((rain, Entity("flood", "skolem")), (Entity("flood", "skolem"),))
    ]


def test_scores_that_would_reach_two_to_the_31_are_refused_in_words() -> None:
    parents: Parents = {f"t{i}": [] for i in range(8)}
    thing = Entity("x")
    nested = say("t7", *(say(f"t{i}", thing) for i in range(4)))
    few, many = Case("few", (nested,)), Case("many", tuple(say(f"t{i}", thing) for i in range(6)))
    # One statement of 2^16 bits.
    with pytest.raises(CapacityError, match=r"one would be worth .* bits, where scores stay below 32768"):
        index_of(parents, [few], Dials("unit", gamma=256.0))
    # Six of 6001 bits each.
    with pytest.raises(
        CapacityError, match=r"case many: its self-score is \d+ .* below 2\^31. Split the case"
    ) as fault:
        index_of(parents, [many], Dials("unit", gamma=6000.0))
    assert "gamma" in str(fault.value)
    index = index_of(parents, [Case("one", many.statements[:1])], Dials("unit", gamma=6000.0))
    with pytest.raises(CapacityError, match=r"case many: its self-score is \d+"):
        opened(index, many)
    with pytest.raises(CapacityError, match=r"self-score"):
        align(many, many, dials=Dials("unit", gamma=6000.0))


def test_a_bound_that_would_reach_two_to_the_31_is_refused_in_words() -> None:
    # Four broad terms that all cases hold are worth nothing themselves; under base credit the one narrow term below
    # them pays 2 bits to each: 4 * .95 * 2 * 5001 bits, though no score can have more than one of them.
    broad = [f"b{i}" for i in range(4)]
    parents: Parents = {**{b: [] for b in broad}, **{f"n{i}": list(broad) for i in range(4)}}
    thing = Entity("x", "entity")
    stored = [Case(f"c{i}", (say(f"n{i}", thing),)) for i in range(4)]
    index = index_of(parents, stored, Dials("ic", "base", gamma=5000.0))
    query = Case("q", (*(say(b, SUBJECT) for b in broad),))
    with pytest.raises(CapacityError, match=r"bound of a query with up to 4 statements: .* below 2\^31"):
        _ = opened(index, query)[0].bounds
    assert settle(opened(index, Case("q", query.statements[:1]))[0], 0)[0] == ONE + round(0.95 * 2 * 5001 * ONE)
