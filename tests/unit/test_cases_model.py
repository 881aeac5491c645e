"""The symbolic model can hold what later alignment needs, and refuses what makes no sense."""

from __future__ import annotations

import pytest

from sma_gpu import Case, CaseBatch, Entity, Predicate, Statement, flat_case, mount, ontology_from_parents
from sma_gpu.errors import ArityMismatch, CaseError, ShapeError

SUN, PLANET = Entity("sun"), Entity("planet")
ATTRACTS = Statement(Predicate("attracts"), (SUN, PLANET))
REVOLVES = Statement(Predicate("revolves"), (PLANET, SUN))


def test_nested_negated_weighted_and_commutative_statements() -> None:
    cause = Statement(
        Predicate("cause"), (Statement(Predicate("and", commutative=True), (ATTRACTS, REVOLVES)), REVOLVES)
    )
    assert (SUN.order, ATTRACTS.order, cause.order) == (0, 1, 3)
    assert [s.functor.id for s in cause.walk()] == ["cause", "and", "attracts", "revolves"]
    case = Case("solar", (cause, Statement(Predicate("hot"), (SUN,), negated=True, weight=0.5)))
    assert case.statements[1].negated
    assert hash(case) == hash(Case("solar", case.statements))


@pytest.mark.parametrize("weight", [0, -1, 1.01, float("nan"), float("inf")])
def test_a_weight_outside_its_range_is_refused(weight: float) -> None:
    with pytest.raises(CaseError, match="weight"):
        Statement(Predicate("p"), (SUN,), weight=weight)


def test_one_predicate_has_one_arity() -> None:
    with pytest.raises(ArityMismatch, match="attracts is used with 2 and with 1 arguments"):
        Case("odd", (ATTRACTS, Statement(Predicate("attracts"), (SUN,))))


def test_flat_cases_pack_and_come_back() -> None:
    mounted = mount(ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"]}))
    case = flat_case("k", ["EX:3", "EX:2", "EX:3"], ["EX:1"])
    batch = CaseBatch.from_cases([case], mounted)
    assert batch.functors.tolist() == [1, 2]
    assert batch.excluded.tolist() == [0]
    assert batch.case(0, mounted) == case
    assert batch.take([0, 0]).functors.tolist() == [1, 2, 1, 2]


def test_an_unknown_predicate_cannot_be_packed() -> None:
    mounted = mount(ontology_from_parents({"hot": []}))
    with pytest.raises(CaseError, match="cold is not in"):
        CaseBatch.from_cases([flat_case("c", ["hot", "cold"])], mounted)


def test_a_statement_is_what_it_says() -> None:
    again = Statement(Predicate("attracts"), (Entity("sun"), Entity("planet")))
    assert again == ATTRACTS
    assert hash(again) == hash(ATTRACTS)
    for other in (
        Statement(Predicate("attracts"), (PLANET, SUN)),
        Statement(Predicate("attracts", commutative=True), (SUN, PLANET)),
        Statement(Predicate("attracts"), (Entity("sun", "star"), PLANET)),
        Statement(Predicate("attracts"), (Entity("sun", constant=True), PLANET)),
        Statement(Predicate("attracts"), (SUN, PLANET), negated=True),
        Statement(Predicate("attracts"), (SUN, PLANET), weight=0.5),
        REVOLVES,
    ):
        assert other != ATTRACTS


def test_what_was_looked_for_and_is_absent_is_no_statement() -> None:
    case = flat_case("k", ["EX:2"], ["EX:3", "EX:1", "EX:3"])
    assert [s.functor.id for s in case.walk()] == ["EX:2"]
    assert case.excluded == ("EX:1", "EX:3")


def test_one_id_is_one_predicate() -> None:
    odd = Statement(Predicate("attracts", commutative=True), (SUN, PLANET))
    with pytest.raises(CaseError, match="attracts is used as"):
        Case("odd", (Statement(Predicate("cause"), (ATTRACTS, odd)),))


def test_a_variadic_predicate_takes_what_it_is_given() -> None:
    both = Predicate("and", variadic=True)
    case = Case("c", (Statement(both, (ATTRACTS,)), Statement(both, (ATTRACTS, REVOLVES, ATTRACTS))))
    assert case.entities() == (PLANET, SUN)


@pytest.mark.parametrize("wrong", [[-1], [2], [False, True], [0.5], [[0]], ["a"], 0])
def test_what_is_no_number_of_a_case_is_refused(wrong: object) -> None:
    batch = CaseBatch.from_functors(["a", "b"], [[0], [1]])
    with pytest.raises(ShapeError, match="no whole numbers of its cases"):
        batch.take(wrong)  # type: ignore[arg-type]
    assert len(batch.take([])) == 0
    mounted = mount(ontology_from_parents({"EX:1": [], "EX:2": []}))
    for number in (-1, 2):
        with pytest.raises(ShapeError):
            batch.case(number, mounted)
