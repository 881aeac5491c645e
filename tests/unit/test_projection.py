"""What follows from a mapping, by small cases with the answer at hand; and other faults that reviews found."""

from __future__ import annotations

import pytest

from sma_gpu import Analogy, Case, CaseBatch, Dials, Entity, Index, Predicate, Statement, Vocabulary, align, mount
from sma_gpu import ontology_from_parents as ontology
from sma_gpu.cases.sexpr import short_text
from sma_gpu.errors import CapacityError, CaseError, QueryError


def say(word: str, *args: str | Entity | Statement, no: bool = False, any_order: bool = False) -> Statement:
    made = tuple(Entity(a) if isinstance(a, str) else a for a in args)
    return Statement(Predicate(word, commutative=any_order), made, negated=no)


def inferred(found: Analogy) -> list[str]:
    return [short_text(i.statement) for i in found.inferences]


def test_an_inference_that_the_target_partly_denies_says_by_what() -> None:
    base = Case("b", (say("solid", "x"), say("cause", say("hot", "x"), say("melts", "x")), say("big", "x")))
    denial = say("hot", "a", no=True)
    found = align(base, Case("t", (say("solid", "a"), denial)))
    assert inferred(found) == ["big(a)", "cause(hot(a), melts(a))"]  # the denied one last
    assert [i.denied_by for i in found.inferences] == [(), (denial,)]
    found = align(base, Case("t", (say("solid", "a"),), excluded=("hot",)))
    assert found.inferences[-1].denied_by == (Statement(Predicate("hot"), (), negated=True),)


def test_what_both_state_is_no_inference_and_no_difference_also_where_it_is_worth_nothing() -> None:
    def told(of: str, *, turned: bool, more: bool) -> Case:
        parts = (say("wet", of), say("hot", of)) if turned else (say("hot", of), say("wet", of))
        both = say("and", *parts, any_order=True)
        return Case(of, (say("cause", both, say("big", of)), *((say("runs", of),) if more else ())))

    mounted = mount(ontology({f: [] for f in ("and", "cause", "wet", "hot", "big", "runs")}))
    index = Index.build(
        CaseBatch.from_cases([told("a", turned=False, more=True), told("b", turned=False, more=False)], mounted),
        mounted,
        Dials(),
    )
    found = index.analogy(told("z", turned=True, more=True), "a")
    assert (inferred(found), found.base_only, found.target_only) == ([], (), ())


def test_a_skolem_has_a_name_of_its_own() -> None:
    base = Case("b", (say("knows", "x", "z"), say("likes", "x", "y")))
    found = align(base, Case("t", (say("knows", "y", "q"),)))
    assert [i.skolems for i in found.inferences] == [(Entity("y-2", "skolem"),)]
    assert inferred(found) == ["likes(y, y-2)"]
    twins = Entity("m", "man"), Entity("m", "machine")
    found = align(Case("b", (say("p", "x"), say("r", "x", *twins))), Case("t", (say("p", "a"),)))
    assert len(set(found.inferences[0].skolems)) == 2


def test_denials_differ_through_what_both_rule_out() -> None:
    words = Vocabulary(mount(ontology({"bird": [], "mammal": [], "bat": ["bird", "mammal"], "runs": []})))
    base = Case("b", (say("bird", "x", no=True), say("runs", "x")))
    target = Case("t", (say("mammal", "y", no=True), say("runs", "y")))
    matched = align(base, target, words)
    assert [(d.via, d.base.negated) for d in matched.alignable] == [("bat", True)]
    apart = align(base, target, words, Dials(scorer="unit", delta=0))
    assert [(d.via, d.base.negated) for d in apart.alignable] == [("bat", True)]
    positive = align(
        Case("b", (say("bird", "x"), say("runs", "x"))), Case("t", (say("mammal", "y"), say("runs", "y"))), words
    )
    assert positive.alignable == ()  # a bat is both, but there is nothing that both are


def test_two_values_in_one_place_are_an_alignable_difference() -> None:
    five, six = Entity("5", "number", constant=True), Entity("6", "number", constant=True)
    base = Case("b", (say("hot", "s"), say("mass", "s", five)))
    target = Case("t", (say("hot", "p"), say("mass", "p", six)))
    found = align(base, target)
    assert [(short_text(d.base), short_text(d.target), d.via) for d in found.alignable] == [
        ("mass(s, 5)", "mass(p, 6)", "mass")
    ]
    assert (inferred(found), found.base_only, found.target_only) == ([], (), ())


def test_an_excluded_term_contradicts_whatever_it_is_said_of() -> None:
    base = Case("b", (say("hot", "s"), say("runs", "t")))
    found = align(base, Case("t", (say("runs", "q"),), excluded=("hot",)))
    bare = Statement(Predicate("hot"), (), negated=True)
    assert found.contradicted == ((say("hot", "s"), bare),)
    assert align(Case("b", (say("runs", "t"),), excluded=("hot",)), base).contradicted == ((bare, say("hot", "s")),)


def test_nothing_on_either_side_is_an_answer() -> None:
    full, empty = Case("f", (say("a", "x"),)), Case("e", ())
    for base, target in ((full, empty), (empty, full), (empty, empty)):
        found = align(base, target)
        assert (found.score, found.optimal, found.mapping, found.inferences) == (0, True, (), ())
    mounted = mount(ontology({"a": []}))
    index = Index.build(CaseBatch.from_functors(["k"], [[0]]), mounted)
    assert index.retrieve(CaseBatch.from_functors(["q"], [[]]), 2).cases.tolist() == [[-1]]
    assert len(index.retrieve(CaseBatch.from_functors([], []), 2)) == 0


@pytest.mark.parametrize("gamma", [1e200, 1.0])
def test_worths_beyond_any_number_are_refused_in_words(gamma: float) -> None:
    chain = say("f", say("g", say("hot", "sun")))
    for _ in range(1100 if gamma == 1 else 0):
        chain = say("f2", chain, chain)
    with pytest.raises(CapacityError, match="scores stay below 32768"):
        align(Case("b", (chain,)), Case("t", (chain,)), dials=Dials(scorer="unit", gamma=gamma))


def test_without_trickle_down_a_shape_of_any_size_is_worth_its_statement() -> None:
    chain = say("hot", "sun")
    for _ in range(1100):
        chain = say("f2", chain, chain)
    found = align(Case("b", (chain,)), Case("t", (chain,)), dials=Dials(scorer="unit", gamma=0.0))
    assert found.score == 1102 << 16
    assert found.optimal


def test_the_fingerprint_tells_a_denial_from_a_statement() -> None:
    mounted = mount(ontology({"hot": []}))
    prints = {
        Index.build(
            CaseBatch.from_cases([Case("k", (say("hot", "s", no=no),))], mounted), mounted, Dials("unit")
        ).fingerprint
        for no in (False, True)
    }
    assert len(prints) == 2


def test_many_arguments_in_any_order_match() -> None:
    both = Predicate("and", commutative=True, variadic=True)
    base, target = (Case(k, (Statement(both, tuple(Entity(f"{k}{i}") for i in range(60))),)) for k in "bt")
    found = align(base, target)
    assert (found.optimal, found.canonical, len(found.mapping)) == (True, True, 61)


def test_canonical_entities_under_a_commutative_predicate() -> None:
    f = Predicate("f", commutative=True)
    e = [Entity(f"e{i}") for i in range(3)]
    base = Case("b", (Statement(f, (e[0], e[2]), weight=0.5), Statement(f, (e[2], e[1]))))
    found = align(base, Case("t", (Statement(f, (e[2], e[0])),)))
    pairs = {(c.target, c.base) for c in found.mapping if isinstance(c.base, Entity) and c.grounded}
    assert pairs == {(e[0], e[1]), (e[2], e[2])}


@pytest.mark.parametrize("budget", [-1, 1.5, "3", None, True])
def test_a_budget_that_is_no_number_of_nodes_is_refused(budget: object) -> None:
    case = Case("b", (say("a", "x"),))
    with pytest.raises(QueryError, match="node budget"):
        align(case, case, node_budget=budget)  # type: ignore[arg-type]


def test_what_is_no_statement_is_refused_in_words() -> None:
    with pytest.raises(CaseError, match="neither an Entity nor a Statement"):
        Statement(Predicate("f"), ("x",))  # type: ignore[arg-type]
    with pytest.raises(CaseError, match="no Predicate"):
        Statement("f", (Entity("x"),))  # type: ignore[arg-type]
    with pytest.raises(CaseError, match="weight"):
        Statement(Predicate("f"), (Entity("x"),), weight="1")  # type: ignore[arg-type]
    with pytest.raises(CaseError, match="one string"):
        Case("k", (), excluded="HP:1")  # type: ignore[arg-type]
