"""The structure benchmark: no word in common, structure that is the same or is not, and the published triples."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from sma_gpu.bench.tasks.registry import load
from sma_gpu.bench.tasks.ssb_systems import System, agreement, problems
from sma_gpu.bench.tasks.task import CaseItem, CaseQuery
from sma_gpu.bench.tasks.telling import told
from sma_gpu.cases import Case, Entity, Statement

SEED = 41
COUNT = 20


def words_of(case: Case) -> set[str]:
    return set(re.findall(r"\w+", told(case)))


def system_of(case: Case, parents: dict[str, list[str]]) -> System:
    """Returns what a case says, read back from its statements: the other way round from how it was made."""

    def number(concept: str) -> int:
        return int(concept.rpartition("-")[2])

    def concept(statement: Statement) -> str:
        return parents[statement.functor.id][0]

    things = {entity: at for at, entity in enumerate(case.entities())}
    kinds: dict[str, list[Statement]] = {"attribute": [], "relation": [], "cause": []}
    for statement in case.walk():
        kinds[concept(statement).partition("-")[0]].append(statement)
    place = {statement: at for at, statement in enumerate(kinds["relation"])}

    def thing(argument: object) -> int:
        assert isinstance(argument, Entity)
        return things[argument]

    return System(
        len(things),
        tuple((number(concept(s)), thing(s.args[0])) for s in kinds["attribute"]),
        tuple((number(concept(s)), (thing(s.args[0]), thing(s.args[1]))) for s in kinds["relation"]),
        tuple((number(concept(s)), (place[s.args[0]], place[s.args[1]])) for s in kinds["cause"]),  # type: ignore[index]
    )


def test_an_analogue_shares_no_word_and_all_structure_and_a_decoy_the_other_way_round() -> None:
    made, parents = problems(COUNT, SEED)
    assert len(made) == COUNT
    for one in made:
        query, analogue, same_words, same_concepts = (
            system_of(case, parents) for case in (one.query, one.analogue, one.same_words, one.same_concepts)
        )
        assert not words_of(one.query) & words_of(one.analogue)
        assert not words_of(one.query) & words_of(one.same_concepts)
        functors = [{s.functor.id for s in case.walk()} for case in (one.query, one.same_words)]
        assert functors[0] == functors[1]
        assert agreement(query, analogue) == agreement(analogue, query) == 1
        assert agreement(query, same_words) <= 0.5 >= agreement(query, same_concepts)
        assert agreement(same_words, same_concepts) == 1
        assert len(query) == len(analogue) == len(same_words) == len(same_concepts)


def test_agreement_is_what_a_mapping_can_carry_over() -> None:
    chain = System(3, (), ((0, (0, 1)), (0, (1, 2))), ((5, (0, 1)),))
    assert agreement(chain, System(3, (), ((0, (2, 0)), (0, (0, 1))), ((5, (0, 1)),))) == 1
    assert agreement(chain, System(3, (), ((0, (0, 1)), (0, (1, 2))), ((5, (1, 0)),))) == 2 / 3  # cause turned round
    assert agreement(chain, System(3, (), ((0, (0, 1)), (0, (0, 2))), ((5, (0, 1)),))) == 1 / 3  # both from one thing
    assert agreement(chain, System(3, (), ((1, (0, 1)), (1, (1, 2))), ((5, (0, 1)),))) == 0


def test_no_concept_and_no_vocabulary_gives_the_analogue_away() -> None:
    made, parents = problems(100, SEED)
    holders: dict[str, set[int]] = {}
    for at, one in enumerate(made):
        for statement in one.query.walk():
            holders.setdefault(parents[statement.functor.id][0], set()).add(at)
    assert min(len(held) for held in holders.values()) >= 5  # every concept is of many problems
    queries = set().union(*(words_of(one.query) for one in made))
    stored = set().union(*({s.functor.id for s in one.analogue.walk()} for one in made))
    assert len(queries & stored) > 0.5 * len(stored)  # what is a query's word here is an analogue's there


@pytest.mark.parametrize("name, stored", [("ssb/library", 300), ("ssb/forced-choice", 300)])
def test_a_task_of_analogues(name: str, stored: int) -> None:
    task = load(name, seed=43)
    assert len(task.items) == stored and len(task.questions) == 100 and task.setting.seed == 43
    assert load(name).items != task.items and load(name, seed=43).questions == task.questions
    for item in task.items:
        assert isinstance(item, CaseItem) and item.case.key == item.key and not item.key.endswith("query")
        assert item.term_ids == tuple(sorted({s.functor.id for s in item.case.walk()}))
    for one in task.questions:
        assert isinstance(one.query, CaseQuery) and one.gold == (one.id[:3] + " analogue",)
        left = {item.key for item in task.items} - set(one.without)
        if name == "ssb/forced-choice":
            assert left == {f"{one.id[:3]} {role}" for role in ("analogue", "same words", "same concepts")}
        else:
            assert not one.without
    known = set(task.setting.mounted.ids)
    assert all(known >= set(item.term_ids) for item in task.items)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", [41, 43])
def test_published_triples_are_those_of_the_package(seed: int) -> None:
    generator = pytest.importorskip("sma.eval.ssb_generator", reason="the published package is not installed (bench)")
    from sma.ir.sexpr import dumps_statement

    triples = generator.generate_triples(100, seed=seed)
    library, choice = load("ssb/published-library", seed=seed), load("ssb/published-forced-choice", seed=seed)
    stored = {item.key: item.case for item in library.items if isinstance(item, CaseItem)}
    assert len(stored) == 200 and choice.items == library.items
    ontology = library.setting.mounted.ontology
    for at, (triple, one, chosen) in enumerate(zip(triples, library.questions, choice.questions, strict=True)):
        assert isinstance(one.query, CaseQuery)
        cases = [one.query.case, stored[f"{at:03d} analogue"], stored[f"{at:03d} same words"]]
        for theirs, ours in zip((triple.query, triple.analog, triple.distractor), cases, strict=True):
            assert {dumps_statement(s) for s in theirs.statements} == {as_published(s) for s in ours.statements}
        assert len(chosen.without) == 198 and not set(chosen.without) & {cases[1].key, cases[2].key}
        for child, parent in triple.lattice_pairs:
            assert ontology.term(child).parents == (parent,)


def as_published(said: Statement | Entity) -> str:
    if isinstance(said, Entity):
        return said.name
    return f"({' '.join((said.functor.id, *map(as_published, said.args)))})"


def test_problems_are_the_same_under_any_hash_seed() -> None:
    program = (
        "import hashlib; from sma_gpu.bench.tasks.registry import load; t = load('ssb/library'); "
        "print(hashlib.sha256(repr([(i.key, i.text) for i in t.items]).encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1 and len(found.pop()) == 65


def test_other_seeds_give_other_problems() -> None:
    assert told(problems(1, 1)[0][0].query) != told(problems(1, 2)[0][0].query)
