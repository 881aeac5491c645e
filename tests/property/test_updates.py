"""Whatever is added, updated and removed, saved and loaded: the index is that of a fresh build of what it holds now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import assert_same_hits, assert_same_index
from strategies import NestedWorld, World, asked, dials, nested_cases, nested_worlds, pack, worlds

from sma_gpu import CaseBatch, Dials, Index, IndexItem, Mounted, Query, SmaMemory, flat_case, mount
from sma_gpu.cases.model import SUBJECT, Case, Entity, Predicate, Statement
from sma_gpu.errors import CaseError, UnknownKey
from sma_gpu.ontologies.builder import ontology_from_parents

KEYS = ("a", "B", "é", "z", "c0", "c1")
BESIDE = ("a-first", "p1-between", "zz-last")  # predicates, numbered behind the terms and by id among them


def packed(mounted: Mounted, cases: Sequence[Case]) -> CaseBatch:
    return CaseBatch.from_cases(cases, mounted)


def batch_of(world: NestedWorld, mounted: Mounted) -> CaseBatch:
    return packed(mounted, [*world.stored, world.query])


@st.composite
def any_case(draw: st.DrawFn, world: NestedWorld, key: str) -> Case:
    """Draws a nested case, a flat one, one with nothing to match on, or one that is not flat because it has a name."""
    functors = [*sorted(world.declared.parents), *BESIDE]
    some = st.lists(st.sampled_from(functors), max_size=4, unique=True)
    kind = draw(st.sampled_from(["nested", "flat", "flat", "bare", "named"]))
    if kind == "nested":
        return replace(draw(nested_cases(world.declared, key)), excluded=tuple(sorted(draw(some))))
    present = [] if kind == "bare" else draw(some.filter(bool))
    return flat_case(key, present, draw(some), name="a name" if kind == "named" else "")


@settings(max_examples=150, deadline=None)
@given(st.data(), nested_worlds(), dials)
def test_any_sequence_of_changes_equals_a_fresh_build(data: st.DataObject, world: NestedWorld, chosen: Dials) -> None:
    mounted = mount(ontology_from_parents(world.declared.parents), BESIDE)
    queries = batch_of(world, mounted)
    flat_queries = CaseBatch.from_functors(["flat"], [[0, len(mounted.ids) - 1]])
    held: dict[str, Case] = {}
    index = Index.build(packed(mounted, []), mounted, chosen)
    for _ in range(data.draw(st.integers(1, 6), "changes")):
        before = index.fingerprint
        keys = data.draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True), "keys")
        verb = data.draw(st.sampled_from(["add", "add", "update", "remove"]), "verb")
        cases = [data.draw(any_case(world, key)) for key in keys]
        known = set(keys) & held.keys()
        if verb == "add" and known:
            with pytest.raises(CaseError, match="stored already"):
                index.add(packed(mounted, cases))
        elif verb != "add" and known < set(keys):
            with pytest.raises(UnknownKey, match="no stored case has the key"):
                index.remove(keys) if verb == "remove" else index.update(packed(mounted, cases))
        elif verb == "remove":
            changed = index.remove(keys)
            held = {key: case for key, case in held.items() if key not in keys}
            assert index.fingerprint == before
            index = changed
        else:
            changed = index.add(packed(mounted, cases)) if verb == "add" else index.update(packed(mounted, cases))
            held |= {case.key: case for case in cases}
            assert index.fingerprint == before
            index = changed
        fresh = Index.build(packed(mounted, list(held.values())[::-1]), mounted, chosen)
        assert_same_index(index, fresh)
    for batch in (queries, flat_queries):
        assert_same_hits(index.retrieve(batch, 3), fresh.retrieve(batch, 3))


@settings(max_examples=100, deadline=None)
@given(asked(), dials, st.booleans())
def test_a_loaded_index_of_flat_cases_answers_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[World, list[str]], chosen: Dials, check: bool
) -> None:
    world, query = drawn
    built, path = world.index(chosen), tmp_path_factory.mktemp("index") / "flat.index"
    built.save(path)
    found = Index.load(path, world.mounted(), check=check)
    assert found.fingerprint == built.fingerprint
    del found.__dict__["fingerprint"]  # what was stored, so that it is computed from what was loaded
    assert_same_index(found, built)
    batch = pack(built.mounted, {"q": query, "all": sorted(world.parents)})
    assert_same_hits(found.retrieve(batch, 4), built.retrieve(batch, 4))
    spelled_out = batch.spelled_out()
    assert_same_hits(found.retrieve(spelled_out, 4), built.retrieve(spelled_out, 4))
    again = path.with_name("again")
    found.save(again)
    assert again.read_bytes() == path.read_bytes()


@settings(max_examples=80, deadline=None)
@given(st.data(), nested_worlds(), dials)
def test_a_loaded_index_of_cases_with_structure_answers_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, world: NestedWorld, chosen: Dials
) -> None:
    mounted = mount(ontology_from_parents(world.declared.parents), BESIDE)
    more = [data.draw(any_case(world, key)) for key in ("a", "é")]
    built = Index.build(packed(mounted, [*world.stored, *more]).spelled_out(), mounted, chosen)
    path = tmp_path_factory.mktemp("index") / "nested.index"
    built.save(path)
    found = Index.load(path, mounted)
    assert found.fingerprint == built.fingerprint
    del found.__dict__["fingerprint"]
    assert_same_index(found, built)
    queries = batch_of(world, mounted)
    assert_same_hits(found.retrieve(queries, 5), built.retrieve(queries, 5))
    for case in (*world.stored, *more):
        if case.key in built.keys:
            assert found.cases.case(found.number_of(case.key), mounted) == case
            assert found.analogy(world.query, case.key) == built.analogy(world.query, case.key)
    changed = [index.remove([world.stored[0].key]) for index in (found, built)]
    assert_same_index(*changed)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.data(), st.integers(1, 5))
def test_many_queries_at_once_are_answered_as_each_alone(world: World, data: st.DataObject, k: int) -> None:
    memory = SmaMemory(world.mounted())
    memory.index([IndexItem(key, terms) for key, terms in world.cases.items()])
    term = st.sampled_from([*sorted(world.parents), "EX:none"])
    queries = [Query(terms) for terms in data.draw(st.lists(st.lists(term, max_size=4), max_size=5))]
    assert memory.retrieve_many(queries, k) == [memory.retrieve(query, k) for query in queries]


def holds(*args: Entity | Statement, functor: str = "q", **kind: Any) -> Statement:
    flags = {name: kind.pop(name) for name in ("commutative", "variadic") if name in kind}
    return Statement(Predicate(functor, **flags), args, **kind)


# Each differs in one thing from the flat case that says q of its one subject.
NOT_FLAT = {
    "name": Case("x", (holds(SUBJECT),), "a name"),
    "weight": Case("x", (holds(SUBJECT, weight=0.5),)),
    "sign": Case("x", (holds(SUBJECT, negated=True),)),
    "variadic": Case("x", (holds(SUBJECT, variadic=True),)),
    "commutative": Case("x", (holds(SUBJECT, commutative=True),)),
    "subject": Case("x", (holds(Entity("sun")),)),
    "type": Case("x", (holds(Entity(SUBJECT.name, "star")),)),
    "constant": Case("x", (holds(Entity(SUBJECT.name, SUBJECT.type, constant=True)),)),
    "two things": Case("x", (holds(SUBJECT), holds(Entity("sun"), functor="r"))),
    "twice of one": Case("x", (holds(SUBJECT, SUBJECT),)),
    "of nothing": Case("x", (holds(SUBJECT, functor="r"), holds())),
    "nested": Case("x", (holds(holds(SUBJECT, functor="r")),)),
    "order": Case("x", (holds(SUBJECT, functor="r"), holds(SUBJECT))),
}


@pytest.mark.parametrize("odd", NOT_FLAT.values(), ids=NOT_FLAT)
def test_what_functors_alone_do_not_say_keeps_its_structure(odd: Case) -> None:
    mounted = mount(ontology_from_parents({"p": [], "q": ["p"], "r": ["p"]}))
    plain = flat_case("a", ["q", "r"])
    flat = Index.build(packed(mounted, [plain]), mounted)
    grown = flat.add(packed(mounted, [odd]))
    assert grown.cases.structure is not None
    assert grown.cases.case(1, mounted) == odd
    assert_same_index(grown, Index.build(packed(mounted, [odd, plain]), mounted))
    assert_same_index(grown.remove(["x"]), flat)
    assert_same_index(flat.add(packed(mounted, [flat_case("x", ["q"])]).spelled_out()).remove(["x"]), flat)


def test_structure_comes_and_goes_with_the_cases_that_have_it() -> None:
    mounted = mount(ontology_from_parents({"p": [], "q": ["p"], "r": ["p"]}), ["above"])
    flat = Index.build(packed(mounted, [flat_case("a", ["q"]), flat_case("b", ["r", "above"])]), mounted)
    named = flat_case("n", ["q"], name="has a name")
    mixed = flat.add(packed(mounted, [named]))
    assert flat.cases.structure is None
    assert mixed.cases.structure is not None
    assert [mixed.cases.case(i, mounted).name for i in range(3)] == ["", "", "has a name"]
    again = [*(flat.cases.case(i, mounted) for i in range(2)), named]
    assert_same_index(mixed, Index.build(packed(mounted, again), mounted))
    assert mixed.cases.functors_of(1).tolist() == [mounted.number["above"], mounted.number["r"]]  # by id
    assert_same_index(mixed.remove(["n"]), flat)
    alone = packed(mounted, [named, flat_case("bare", [])]).take([1])
    assert_same_index(flat.add(alone), flat.add(packed(mounted, [flat_case("bare", [])])))
    assert_same_index(mixed.update(packed(mounted, [flat_case("n", ["q"])])).remove(["n"]), flat)


def test_one_text_is_not_taken_for_a_collection_of_keys() -> None:
    index = World({"EX:1": [], "EX:2": ["EX:1"]}, {"a": ["EX:1"], "b": ["EX:2"]}).index()
    with pytest.raises(CaseError, match="Put it in a list"):
        index.remove("ab")
    assert index.remove(key for key in ["a"]).keys == ("b",)
