"""Turney's twenty relation-mapping problems, in encodings of our own; what they show and what not: turney/README.md."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from oracles.enumerator import Oracle, Settings

import sma_gpu
from sma_gpu import Dials
from sma_gpu.cases import Case, Entity, Statement, Vocabulary, read_case

_CASES = Path(__file__).with_name("turney")
_PROBLEMS = [f"{kind}{number}" for kind in "am" for number in range(1, 11)]
_DIALS = Dials(scorer="unit")  # two cases are no corpus to count in
_PLAIN = Settings(_DIALS.scorer, _DIALS.credit, _DIALS.gamma, _DIALS.rho, _DIALS.delta)


def sides(problem: str) -> tuple[Case, Case]:
    source, target = (read_case(_CASES / f"{problem}.{side}.case", Vocabulary.plain()) for side in ("source", "target"))
    return source, target


@pytest.fixture(scope="module")
def gold(shared_data: Path) -> dict[str, dict[str, str]]:
    """The published mapping of each problem, from term to term."""
    path = shared_data / "analogy" / "turney-relation-mapping-20.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return {row["id"]: dict(zip(row["source"], row["target"], strict=True)) for row in rows}


def test_the_folder_holds_two_cases_a_problem(gold: dict[str, dict[str, str]]) -> None:
    assert sorted(gold) == sorted(_PROBLEMS)
    assert {p.name for p in _CASES.glob("*.case")} == {f"{p}.{s}.case" for p in _PROBLEMS for s in ("source", "target")}


@pytest.mark.parametrize("problem", _PROBLEMS)
def test_every_term_is_an_entity_of_its_case(problem: str, gold: dict[str, dict[str, str]]) -> None:
    source, target = sides(problem)
    assert gold[problem].keys() <= {e.name for e in source.entities()}
    assert set(gold[problem].values()) <= {e.name for e in target.entities()}


@pytest.mark.parametrize("problem", _PROBLEMS)
def test_both_sides_say_things_that_the_other_does_not(problem: str) -> None:
    source, target = sides(problem)
    score = engine_pairs(source, target)[0]
    assert score < engine_pairs(source, source)[0]
    assert score < engine_pairs(target, target)[0]


def engine_pairs(source: Case, target: Case) -> tuple[int, list[tuple[Any, Any]]]:
    found = sma_gpu.align(source, target, dials=_DIALS)
    assert found.optimal
    return found.score, [(c.base, c.target) for c in found.mapping if c.grounded]


@pytest.mark.parametrize("problem", _PROBLEMS)
def test_the_engine_maps_each_term_as_published(problem: str, gold: dict[str, dict[str, str]]) -> None:
    score, pairs = engine_pairs(*sides(problem))
    named = {base.name: target.name for base, target in pairs if isinstance(base, Entity)}
    assert {term: named.get(term) for term in gold[problem]} == gold[problem]
    assert score > 0


@pytest.mark.parametrize("problem", _PROBLEMS)
def test_the_oracle_needs_every_published_pair(problem: str, gold: dict[str, dict[str, str]]) -> None:
    cpsat = pytest.importorskip("oracles.cpsat", reason="OR-Tools is not installed; the extra bench brings it")
    source, target = sides(problem)
    oracle = Oracle({}, [], _PLAIN)
    score, mapping = cpsat.solve(oracle, target, source)
    named = {c.name: q.name for q, c in mapping if isinstance(q, Entity) and isinstance(c, Entity)}
    spoken_of = {a for _, c in mapping if isinstance(c, Statement) for a in c.args}
    for term, counterpart in gold[problem].items():
        assert named[term] == counterpart
        assert Entity(term) in spoken_of
        pair = (Entity(counterpart), Entity(term))
        assert cpsat.solve(oracle, target, source, without=[pair])[0] < score
    assert sma_gpu.align(source, target, dials=_DIALS).score == score


def test_how_much_of_the_encodings_has_a_counterpart() -> None:
    pairs = statements = 0
    for problem in _PROBLEMS:
        source, target = sides(problem)
        statements += len(list(source.walk())) + len(list(target.walk()))
        pairs += sum(isinstance(base, Statement) for base, _ in engine_pairs(source, target)[1])
    assert (pairs, statements) == (196, 459)  # the figures of turney/README.md


def test_terms_alone_map_to_nothing() -> None:
    found = sma_gpu.align(Case("source", ()), Case("target", ()), dials=_DIALS)
    assert (found.score, found.mapping) == (0, ())
