"""Rungs of the ablation ladder: each one sees what the one below cannot; and arms over whole cases."""

from __future__ import annotations

import numpy as np
import pytest

from sma_gpu import Case, Entity, IndexItem, Predicate, Query, Statement, load_ontology, mount, ontology_from_parents
from sma_gpu.bench.arms.arm import Ranking, Setting
from sma_gpu.bench.arms.registry import find
from sma_gpu.bench.tasks.telling import item_of, query_of

CHAIN = mount(ontology_from_parents({"EX:0": [], "EX:1": ["EX:0"], "EX:2": ["EX:1"], "EX:3": ["EX:2"], "EX:9": []}))
RELATED = mount(
    load_ontology(
        b"[Term]\nid: EX:1\nname: cell\n[Term]\nid: EX:2\nname: nucleus\nrelationship: part_of EX:1\n"
        b"[Term]\nid: EX:3\nname: wall\nrelationship: part_of EX:1\n[Term]\nid: EX:4\nname: virus\n"
    )
)
ITEMS = [IndexItem("exact", ["EX:3"]), IndexItem("one up", ["EX:2"]), IndexItem("two up", ["EX:1"])]
OTHERS = [IndexItem(f"other {n}", ["EX:9"]) for n in range(5)]  # so that terms of the chain say something


def ranked(name: str, mounted, items, query: Query, k: int = 9) -> tuple[list[str], Ranking]:
    arm = find(name).build(Setting(mounted))
    arm.index(items)
    found = arm.rank([query], k)
    return [items[place].key for place in found.items[0].tolist() if place >= 0], found


@pytest.mark.parametrize(
    ("name", "hits"),
    [
        ("ladder-exact", ["exact"]),
        ("ladder-isa-1", ["exact", "one up"]),
        ("ladder-isa-2", ["exact", "one up", "two up"]),
        ("ladder-ic-0", ["exact"]),
        ("ladder-ic-1", ["exact", "one up"]),
        ("ladder-ic-2", ["exact", "one up", "two up"]),
    ],
)
def test_a_rung_climbs_as_far_as_it_says(name: str, hits: list[str]) -> None:
    assert ranked(name, CHAIN, [*ITEMS, *OTHERS], Query(["EX:3"]))[0] == hits


def test_information_content_tells_rare_from_common() -> None:
    items = [IndexItem("rare", ["EX:3"]), *OTHERS]
    query = Query(["EX:3", "EX:9"])
    scores = {name: ranked(name, CHAIN, items, query)[1].scores[0, :2] for name in ("ladder-exact", "ladder-ic-0")}
    assert scores["ladder-exact"][0] == scores["ladder-exact"][1]
    keys, found = ranked("ladder-ic-0", CHAIN, items, query)
    assert keys[0] == "rare" and found.scores[0, 0] > found.scores[0, 1]


def test_typed_relations_are_statements_where_both_ends_are_there() -> None:
    items = [IndexItem("apart", ["EX:2", "EX:4"]), IndexItem("related", ["EX:1", "EX:2"]), IndexItem("v", ["EX:4"])]
    arm = find("ladder-relations").build(Setting(RELATED))
    arm.index(items)
    arm.rank([Query(["EX:1", "EX:2"]), Query(["EX:2"])], 3)
    assert arm.counts == {
        "statements of relations stored": 1,
        "statements of relations asked": 1,
        "questions whose order is not proved": 0,
    }


def test_without_relations_the_rung_is_the_one_below() -> None:
    items, query = [*ITEMS, *OTHERS], Query(["EX:3", "EX:9"])
    keys, upper = ranked("ladder-relations", CHAIN, items, query)
    below, lower = ranked("ladder-ic-2", CHAIN, items, query)
    assert keys == below
    assert np.array_equal(upper.scores, lower.scores, equal_nan=True)
    assert np.array_equal(upper.tail, lower.tail)


def test_whole_cases_are_told_apart_by_who_does_what_to_whom() -> None:
    sun, planet, moon = (Entity(name) for name in ("sun", "planet", "moon"))

    def case(key: str, *pairs: tuple[Entity, Entity]) -> Case:
        return Case(key, tuple(Statement(Predicate("pulls"), pair) for pair in pairs))

    chain, fan = case("chain", (sun, planet), (planet, moon)), case("fan", (sun, planet), (sun, moon))
    mounted = mount(ontology_from_parents({"pulls": [], "rests": []}))
    items = [item_of(chain), item_of(fan), item_of(Case("rest", (Statement(Predicate("rests"), (sun,)),)))]
    for case_asked in (chain, fan):
        keys, found = ranked("structural-cases", mounted, items, query_of(case_asked))
        assert keys == [case_asked.key, "fan" if case_asked is chain else "chain"]
        assert found.scores[0, 0] > found.scores[0, 1]
        assert found.confidence[0] == 1.0 and found.novelty[0] == 0.0
        flat, same = ranked("structural", mounted, items, query_of(case_asked))
        assert flat == ["chain", "fan"]  # the terms alone are equal
        assert same.scores[0, 0] == same.scores[0, 1]


def test_evidence_takes_frequencies_into_account() -> None:
    often = IndexItem("often", ["EX:3"], frequencies={"EX:3": 0.9})
    seldom = IndexItem("a seldom", ["EX:3"], frequencies={"EX:3": 0.1})
    keys, _ = ranked("evidence", CHAIN, [often, seldom, *OTHERS], Query(["EX:3"]))
    assert keys[:2] == ["often", "a seldom"]


def test_a_power_of_the_size_puts_the_smaller_of_two_first() -> None:
    items = [IndexItem("a large", ["EX:3", "EX:9"]), IndexItem("b small", ["EX:3"]), *OTHERS]
    assert ranked("structural", CHAIN, items, Query(["EX:3"]))[0] == ["a large", "b small"]
    assert ranked("structural-sized", CHAIN, items, Query(["EX:3"]))[0] == ["b small", "a large"]
