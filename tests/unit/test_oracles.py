"""The two oracles: worked examples, the definition spelled out over all subsets, and one against the other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from oracles.enumerator import Hypothesis, Oracle, Settings, in_order, supported, unordered
from strategies import ALL_DIALS, NestedWorld, dials, nested_worlds, random_analogy, random_declared, random_nested_case

from sma_gpu import Dials
from sma_gpu.cases.model import Case, Entity, Predicate, Statement

ONE = 1 << 16
PLAIN = Settings("unit", "ancestor", gamma=0.25, rho=0.95, delta=2)


def state(functor: str, *args: Entity | Statement, negated: bool = False, weight: float = 1.0) -> Statement:
    return Statement(Predicate(functor, commutative=functor.startswith("same")), args, negated, weight)


def things(names: str) -> list[Entity]:
    return [Entity(name) for name in names.split()]


def water_and_heat() -> tuple[Case, Case]:
    # Falkenhainer, Forbus and Gentner 1989, figure 2, with the types of things left out.
    beaker, vial, water, pipe = things("beaker vial water pipe")
    coffee, cube, heat, bar = things("coffee ice-cube heat bar")
    deeper = state("greater", state("pressure", beaker), state("pressure", vial))
    water_flow = Case(
        "water flow",
        (
            state("cause", deeper, state("flow", beaker, vial, water, pipe)),
            state("greater", state("diameter", beaker), state("diameter", vial)),
            state("liquid", water),
            state("flat-top", water),
        ),
    )
    heat_flow = Case(
        "heat flow",
        (
            state("flow", coffee, cube, heat, bar),
            state("greater", state("temperature", coffee), state("temperature", cube)),
            state("liquid", coffee),
            state("flat-top", coffee),
        ),
    )
    return heat_flow, water_flow


def test_water_flow_and_heat_flow() -> None:
    heat_flow, water_flow = water_and_heat()
    quantity: dict[str, list[str]] = {"pressure": ["quantity"], "temperature": ["quantity"], "diameter": ["quantity"]}
    # What pairs, in units of 2^-16 bit with gamma 1/4, rho .95, each functor worth 1 bit:
    #   four entities                     4 * 65536                            = 262144
    #   flow, four arguments              65536 * (1 + 4/4)                    = 131072
    #   greater of two quantities         65536 * (1 + 2/4 + 2/16)             = 106496
    #   pressure and temperature, twice   65536 * .95^2 * 1.25 = 73932.8, so   2 * 73933 = 147866
    # liquid and flat-top of water would need coffee to stand for water as well as for the beaker. Instead of flow and
    # all that supports it they would bring 2 * 81920 = 163840, less than flow and one of the two quantities.
    oracle = Oracle({**quantity, "quantity": []}, [], PLAIN)
    score, optima = oracle.best(heat_flow, water_flow)
    assert score == 262_144 + 131_072 + 106_496 + 147_866 == 647_578
    # Diameters pay what pressures pay: the cause above the pressures has no counterpart that could tell them apart.
    said = [{(q.functor.id, c.functor.id) for q, c in m if isinstance(q, Statement)} for m in optima]  # type: ignore[union-attr]
    assert sorted(map(sorted, said)) == [
        [("flow", "flow"), ("greater", "greater"), ("temperature", "diameter")],
        [("flow", "flow"), ("greater", "greater"), ("temperature", "pressure")],
    ]
    named = [{(q.name, c.name) for q, c in m if isinstance(q, Entity)} for m in optima]  # type: ignore[union-attr]
    assert named == 2 * [{("coffee", "beaker"), ("ice-cube", "vial"), ("heat", "water"), ("bar", "pipe")}]
    # Without the lattice no quantity pairs and greater has no support. Then flow is less than what merely looks alike.
    assert Oracle({}, [], PLAIN).best(heat_flow, water_flow)[0] == 262_144 + 163_840
    # Flow 2 bits, greater 1.625, quantities .95^2 * 1.25 twice, two statements of one entity 1.25 each, four entities.
    assert oracle.bound(heat_flow, water_flow) == 131_072 + 106_496 + 147_866 + 2 * 81_920 + 262_144


def test_water_flow_against_itself() -> None:
    # Twice greater 106496 and four quantities 81920; liquid and flat-top 81920; flow 131072; four entities 262144.
    # Cause: itself, its 2 arguments, the 2 + 4 of those, the 2 of the quantities: 1 + 2/4 + 6/16 + 2/64 = 1.90625 bits.
    water_flow = water_and_heat()[1]
    wanted = 2 * 106_496 + 4 * 81_920 + 2 * 81_920 + 131_072 + 262_144 + 124_928
    assert Oracle({}, [], PLAIN).self_score(water_flow) == wanted == 1_222_656


def test_commutative_support_is_a_perfect_matching() -> None:
    a, b, x, y = things("a b x y")
    oracle = Oracle({}, [], PLAIN)

    def score(left: Statement, right: Statement, *facts: tuple[Statement, Statement]) -> int:
        query, stored = Case("q", (left, *(f[0] for f in facts))), Case("c", (right, *(f[1] for f in facts)))
        return oracle.best(query, stored)[0]

    # What is tall and what is old decides who stands for whom, 81920 each; the pair of both is worth 1.5 bits more.
    tall, old = (state("tall", a), state("tall", x)), (state("old", b), state("old", y))
    assert score(state("same", a, b), state("same", y, x), tall, old) == 2 * ONE + 2 * 81_920 + 98_304
    assert score(state("near", a, b), state("near", y, x), tall, old) == 2 * ONE + 2 * 81_920
    assert score(state("near", a, b), state("near", x, y), tall, old) == 2 * ONE + 2 * 81_920 + 98_304
    # Repeats count: where a stands twice, what it stands for must stand twice.
    assert score(state("same3", a, a, b), state("same3", x, y, Entity("z"))) == 0
    assert score(state("same3", a, a, b), state("same3", x, y, y)) == 2 * ONE + 114_688
    assert score(state("same3", a, a, b), state("same3", x, y, y), tall) == 2 * ONE + 114_688
    assert score(state("same3", a, a, b), state("same3", x, x, y), tall) == 2 * ONE + 114_688 + 81_920


def test_positions_count_where_one_side_alone_commutes() -> None:
    a, b, x, y = things("a b x y")
    oracle = Oracle({"same": ["near"], "near": []}, [], PLAIN)
    facts = (state("tall", a), state("old", b)), (state("tall", x), state("old", y))
    crossed = oracle.best(Case("q", (*facts[0], state("same", a, b))), Case("c", (*facts[1], state("near", y, x))))
    straight = oracle.best(Case("q", (*facts[0], state("same", a, b))), Case("c", (*facts[1], state("near", x, y))))
    assert straight[0] - crossed[0] == round(0.95 * 1.5 * ONE) == 93_389


def test_denials_pair_with_denials_over_the_lattice_turned_over() -> None:
    a, x = things("a x")
    parents: dict[str, list[str]] = {"animal": [], "bird": ["animal"], "fish": ["animal"], "trout": ["fish"]}
    stored = [
        Case("c0", (state("bird", x, negated=True),)),
        Case("c1", (state("fish", x),)),
        Case("c2", (state("trout", x, negated=True),)),
        Case("c3", (state("animal", x, negated=True),)),
    ]
    oracle = Oracle(parents, stored, Settings("ic", "base", 0.25, 0.95, 2))
    # No animal is no fish, no trout and no bird. Of four cases, no trout holds in c2 and c3, no bird in c0 and c3.
    assert [oracle.cost(f, True) for f in ("animal", "bird", "fish", "trout")] == [2.0, 1.0, 2.0, 1.0]
    assert [oracle.cost(f) for f in ("animal", "bird", "fish", "trout")] == [2.0, 3.0, 2.0, 3.0]
    assert oracle.hops("animal", True) == {"animal": 0, "bird": 1, "fish": 1, "trout": 2}
    # no fish and no animal meet in no fish (one step), in base credit at what no animal costs: .95 * 2 bits * 1.25.
    denied, said = Case("q", (state("fish", a, negated=True),)), Case("q", (state("fish", a),))
    assert oracle.best(denied, stored[3])[0] == ONE + round(0.95 * 2 * 1.25 * ONE)
    assert oracle.best(denied, stored[0])[0] == 0  # no fish and no bird have nothing below both
    assert oracle.best(said, stored[3])[0] == 0  # opposite signs
    near = Oracle(parents, stored, Settings("surprisal", "base", 0.25, 0.95, 1))
    # Within one step: bird- 2 (c0, c3), trout- 1 (c2), animal- 1 (c3), fish- 1 (c3), fish+ 1 and animal+ 1 (c1).
    assert near.cost("bird", True) == pytest.approx(-np.log2(2.5 / (7 + 0.5 * 6)))
    assert near.cost("trout") == pytest.approx(-np.log2(0.5 / (7 + 0.5 * 6)))


def test_nested_statements_count_once_a_case() -> None:
    x = Entity("x")
    hot = state("hot", x)
    stored = [Case("c0", (hot, state("causes", hot, hot))), Case("c1", (state("causes", hot, state("wet", x)),))]
    # Hot is stated in both cases, wet in one: -log2(2/2) and -log2(1/2).
    counted = Oracle({}, stored, Settings("ic", "base", 0.25, 0.95, 2))
    assert [counted.cost(f) for f in ("hot", "causes", "wet")] == [0.0, 0.0, 1.0]
    # Five distinct statements, a case at a time: hot twice, causes twice, wet once; three functors in all.
    covered = Oracle({}, stored, Settings("surprisal", "base", 0.25, 0.95, 2))
    assert covered.cost("hot") == pytest.approx(-np.log2(2.5 / (5 + 0.5 * 3)))
    assert covered.cost("wet") == pytest.approx(-np.log2(1.5 / (5 + 0.5 * 3)))


def test_a_pair_takes_the_smaller_weight_and_rounds_to_even() -> None:
    a, x = things("a x")
    oracle = Oracle({}, [], PLAIN)
    heavy, light = state("p", a), state("p", x, weight=0.5)
    assert oracle.value((heavy, light)) == oracle.value((light, heavy)) == 40_960
    assert oracle.value((light, light)) == 40_960
    # 2^-17 of one bit lies halfway between 0 and 1 and becomes 0: no hypothesis. Three halves become 2.
    assert not oracle.pairs((state("p", weight=2.0**-17), state("p")))
    assert oracle.value((state("p", weight=3 * 2.0**-17), state("p"))) == 2


def test_constants_pair_with_themselves_alone() -> None:
    oracle = Oracle({}, [], PLAIN)
    five, seven, a, b = Entity("5", "number", True), Entity("7", "number", True), Entity("a"), Entity("b", "place")
    assert oracle.pairs((five, five))
    assert oracle.pairs((a, b))
    assert not any(oracle.pairs(h) for h in [(five, seven), (five, a), (a, five), (Entity("5", "number"), five)])
    # The one statement pair brings a and b; the constant, of which it does not speak, still stands for itself.
    query = Case("q", (state("p", a), state("r", five)))
    stored = Case("c", (state("p", b), state("s", five), state("s2", seven)))
    assert oracle.best(query, stored)[0] == 2 * ONE + 81_920


def test_shared_parts_lend_by_every_path() -> None:
    a, x = things("a x")
    part = state("p", x)
    # From pair down: itself; p twice; x by two paths. 1 + 2/4 + 2/16.
    assert Oracle({}, [], PLAIN).shape(state("pair", part, part)) == 1.625
    assert Oracle({}, [], PLAIN).shape(a) == 1.0
    assert unordered(state("r", a, part)) == unordered(state("s", part, a)) == "((.).)"
    assert unordered(state("p")) != unordered(a)


def every_subset(oracle: Oracle, query: Case, stored: Case) -> set[frozenset[Hypothesis]]:
    every = oracle.hypotheses(query, stored)
    found = set()
    for count in range(min(len(in_order(query)), len(in_order(stored))) + 1):
        for chosen in map(frozenset, itertools.combinations(every, count)):
            one_to_one = all(len({h[side] for h in chosen}) == count for side in (0, 1))
            if one_to_one and all(supported(h, chosen) for h in chosen):
                found.add(chosen)
    return found


@settings(max_examples=150, deadline=None)
@given(nested_worlds(max_stored=1, max_statements=3, max_entities=2, max_predicates=4), dials)
def test_the_enumerator_leaves_out_no_subset_that_keeps_the_constraints(world: NestedWorld, chosen: Dials) -> None:
    oracle, stored = world.oracle(chosen), world.stored[0]
    if len(oracle.hypotheses(world.query, stored)) > 14:
        return  # 2^14 subsets are looked through in a moment, more are not
    found = list(oracle.mappings(world.query, stored))
    wanted = every_subset(oracle, world.query, stored)
    assert len(found) == len(set(found))
    assert set(found) == wanted
    totals = {m: sum(oracle.value(h) for h in m) for m in wanted if any(isinstance(q, Statement) for q, _ in m)}
    top = max(totals.values(), default=0)
    score, optima = oracle.best(world.query, stored)
    assert score == top
    assert len(optima) == len(set(optima))
    assert set(optima) == {m for m, total in totals.items() if total == top}


@settings(max_examples=150, deadline=None)
@given(nested_worlds(), dials)
def test_the_integer_programme_finds_what_the_enumerator_finds(world: NestedWorld, chosen: Dials) -> None:
    cpsat = pytest.importorskip("oracles.cpsat", reason="OR-Tools is not installed; the extra bench brings it")
    oracle = world.oracle(chosen)
    for stored in world.stored:
        assert cpsat.best_by_cpsat(oracle, world.query, stored) == oracle.best(world.query, stored)[0]


@settings(max_examples=150, deadline=None)
@given(nested_worlds(), dials)
def test_trickle_down_adds_up_to_the_score_and_the_bound_is_not_below_it(world: NestedWorld, chosen: Dials) -> None:
    oracle = world.oracle(chosen)
    for stored in world.stored:
        score, optima = oracle.best(world.query, stored)
        assert oracle.bound(world.query, stored) >= score
        for mapping in optima[:3]:
            assert all(supported(h, mapping) for h in mapping)
            assert oracle.trickle_down(mapping) == pytest.approx(score / ONE, abs=len(mapping) * 2.0**-17)
            assert 0 <= oracle.explained(world.query, mapping) <= 1


@pytest.mark.slow
def test_the_oracles_agree_on_a_thousand_seeded_pairs() -> None:
    cpsat = pytest.importorskip("oracles.cpsat", reason="OR-Tools is not installed; the extra bench brings it")
    rng = np.random.default_rng(20)
    nothing = 0
    for i in range(1000):
        declared = random_declared(rng, 6)
        if i % 2:
            planted = random_analogy(rng, declared, statements=5, entities=4, noise=0.2)
            query, stored = planted.target, planted.base
        else:
            query, stored = (random_nested_case(rng, declared, key, statements=6) for key in "qc")
        chosen = ALL_DIALS[i % len(ALL_DIALS)]
        sides = Settings(chosen.scorer, chosen.credit, chosen.gamma, chosen.rho, chosen.delta)
        oracle = Oracle(declared.parents, [stored, query], sides)
        score = oracle.best(query, stored)[0]
        assert cpsat.best_by_cpsat(oracle, query, stored) == score
        nothing += not score
    assert nothing < 500  # else the pairs prove little


def test_the_integer_programme_settles_larger_cases() -> None:
    cpsat = pytest.importorskip("oracles.cpsat", reason="OR-Tools is not installed; the extra bench brings it")
    rng = np.random.default_rng(21)
    declared = random_declared(rng, 16)
    planted = random_analogy(rng, declared, statements=40, entities=8, replace=0.0, noise=0.0, drop=0.2)
    oracle = Oracle(declared.parents, [], PLAIN)
    score, mapping = cpsat.solve(oracle, planted.target, planted.base)
    assert score == sum(oracle.value(h) for h in mapping)
    assert all(supported(h, mapping) for h in mapping)
    # What was planted is a mapping; nothing was exchanged, so that none is better.
    pairs: list[Hypothesis] = [*planted.entities.items(), *planted.statements.items()]
    assert score == sum(oracle.value(h) for h in pairs)
    assert score > cpsat.solve(oracle, planted.target, planted.base, without=pairs)[0]


def test_random_cases_have_every_kind_of_statement() -> None:
    rng = np.random.default_rng(22)
    declared = random_declared(rng, 40)
    case = random_nested_case(rng, declared, "c", statements=300, entities=12)
    stated = list(case.walk())
    assert len(stated) == 300
    assert {s.order for s in stated} == {1, 2, 3}
    assert {len(s.args) for s in stated} == {0, 1, 2, 3}
    assert {s.negated for s in stated} == {s.functor.commutative for s in stated} == {True, False}
    assert {s.functor.variadic for s in stated} == {True, False}
    assert len({s.weight for s in stated}) > 1
    assert {e.constant for e in case.entities()} == {True, False}
    below = [a for s in stated for a in s.args if isinstance(a, Statement)]
    assert len(below) > len(set(below))  # shared
    again = np.random.default_rng(22)
    assert random_nested_case(again, random_declared(again, 40), "c", statements=300, entities=12) == case
