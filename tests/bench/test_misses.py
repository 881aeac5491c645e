"""Misses: both mappings add up to the scores, the difference falls into its parts, and the reason follows from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sma_gpu import IndexItem, mount, ontology_from_parents
from sma_gpu.bench.arms.accounts import Account, Explaining, Match, Unmatched
from sma_gpu.bench.arms.arm import Setting
from sma_gpu.bench.arms.registry import find
from sma_gpu.bench.misses import PARTS, REASONS, Miss, difference, misses_of, misses_record, reason
from sma_gpu.bench.misses_text import misses_summary, misses_text
from sma_gpu.bench.suites import Suite
from sma_gpu.bench.tasks import registry as tasks
from sma_gpu.bench.tasks.entry import Entry
from sma_gpu.bench.tasks.task import Question, Task
from sma_gpu.bench.tasks.telling import item_of, query_of
from sma_gpu.cases import Case, Entity, Predicate, Statement
from sma_gpu.cli import main
from sma_gpu.errors import QueryError, UnknownKey
from sma_gpu.memory import Query
from sma_gpu.scoring.grid import ENTITY_VALUE

BIT = 1 << 16
QUESTION = Question("q", Query(["EX:1"]), ("right",), cluster="q")


def says(word: str, *args: str | Statement) -> Statement:
    return Statement(Predicate(word), tuple(Entity(a) if isinstance(a, str) else a for a in args))


def arm_of(name: str, task: Task) -> Explaining:
    arm = find(name).build(task.setting)
    assert isinstance(arm, Explaining)
    return arm


@pytest.fixture
def structured() -> Task:
    """An analogue in related words, a decoy in the query's own words of which one relation alone agrees, and others."""
    concepts = [f"{kind}{n}" for kind in "cp" for n in range(12)]
    parents: dict[str, list[str]] = {concept: [] for concept in concepts}
    parents |= {f"{concept}-{side}": [concept] for concept in concepts for side in "ab"}
    asked = Case("query", (says("c0-a", "x", "y"), says("c1-a", "y", "z"), says("p0-a", "x"), says("p1-a", "y")))
    right = Case("right", (says("c0-b", "k", "l"), says("c1-b", "l", "m"), says("p0-b", "k"), says("p1-b", "l")))
    wired = (says("c0-a", "e", "f"), says("c1-b", "e", "g"), says("c1-a", "e", "g"))
    decoy = Case("decoy", (*wired, says("p0-a", "e"), says("p1-a", "f")))
    rest = [Case(f"other {n:02d}", (says(f"c{n}-a", "u", "v"), says(f"p{n}-b", "v"))) for n in range(2, 12)]
    stored = sorted((right, decoy, *rest), key=lambda case: case.key)
    setting = Setting(mount(ontology_from_parents(parents)), "structure")
    question = Question("q", query_of(asked), ("right",), cluster="q")
    return Task("toy/structure", "A toy.", setting, tuple(item_of(case) for case in stored), (question,))


def checked(miss: Miss, statements: int) -> None:
    """What holds of every miss: accounts add up, and say something of every statement of the query."""
    assert miss.wrong is not None
    for account in (miss.right, miss.wrong):
        assert account.score == sum(match.value for match in account.matches) + ENTITY_VALUE * account.entities
        assert len(account.matches) + len(account.unmatched) == statements
        assert len({match.place for match in account.matches}) == len(account.matches)
    parts = difference(miss.right, miss.wrong)
    assert list(parts) == list(PARTS)
    assert sum(parts.values()) == miss.wrong.score - miss.right.score


def test_a_decoy_in_the_querys_own_words_is_told_as_one(structured: Task) -> None:
    (miss,) = misses_of(structured, arm_of("structural-cases", structured))
    assert miss.wrong is not None
    assert (miss.right.key, miss.wrong.key, miss.first, miss.tied) == ("right", "decoy", 2, False)
    checked(miss, 4)
    assert not miss.right.unmatched
    assert {match.hops for match in miss.right.matches} == {2}
    assert {match.hops for match in miss.wrong.matches} == {0}
    (lost,) = miss.wrong.unmatched
    assert lost == Unmatched("c1-a(y, z)", 2, "c1-a(e, g)")  # its very word is there, said of other things
    parts = difference(miss.right, miss.wrong)
    assert (
        parts["nearer"] > 0 > parts["only right"] == -next(m.value for m in miss.right.matches if m.asked == lost.asked)
    )
    assert reason(miss) == "own words"


def test_an_account_is_that_of_the_index(structured: Task) -> None:
    arm = arm_of("structural-cases", structured)
    arm.index(structured.items)
    query = structured.questions[0].query
    told = arm.account(query, "other 02")
    assert (told.score, told.matches) == (0, ()) and [one.like for one in told.unmatched] == [""] * 4
    with pytest.raises(UnknownKey):
        arm.account(query, "nobody")
    flat = arm_of("structural", structured)
    flat.index(structured.items)
    told = flat.account(query, "decoy")
    assert len(told.matches) == 4 and all(match.hops == 0 for match in told.matches)  # flat, the decoy is the query


def flat_task(golds: dict[str, Sequence[str]]) -> Task:
    """Items with terms of a tree of two levels, asked for EX:1 and EX:2."""
    parents = {f"EX:{n}": ["EX:0"] if n else [] for n in range(20)} | {f"EX:1{n}": ["EX:1"] for n in range(3, 9)}
    filler = {f"z{n}": [f"EX:{n}"] for n in range(3, 9)}
    items = tuple(IndexItem(key, list(terms)) for key, terms in sorted((golds | filler).items()))
    question = Question("q", Query(["EX:1", "EX:2"]), ("right",), cluster="q")
    return Task("toy/flat", "A toy.", Setting(mount(ontology_from_parents(parents))), items, (question,))


@pytest.mark.parametrize(
    ("golds", "told"),
    [
        ({"right": ["EX:1"], "wrong": ["EX:1", "EX:2"]}, "more statements"),
        ({"right": ["EX:13", "EX:14"], "wrong": ["EX:1"]}, "own words"),
        ({"right": ["EX:1", "EX:2"], "alike": ["EX:1", "EX:2"]}, "tie"),
        ({"right": ["EX:5"], "wrong": ["EX:1"]}, "nothing corresponds"),
        ({"right": [], "wrong": ["EX:1"]}, "nothing corresponds"),
        ({"right": ["EX:1", "EX:2"]}, None),
    ],
)
def test_terms_alone_are_told_alike(golds: dict[str, Sequence[str]], told: str | None) -> None:
    task = flat_task(golds)
    found = misses_of(task, arm_of("structural", task))
    assert [reason(miss) for miss in found] == ([told] if told else [])
    for miss in found:
        checked(miss, 2)


def test_a_question_without_a_right_item_or_a_hit() -> None:
    task = flat_task({"right": ["EX:1"]})
    novel = replace(task.questions[0], id="novel", gold=())
    lost = Question("lost", Query(["EX:19"]), ("right",), cluster="q")
    (miss,) = misses_of(replace(task, questions=(novel, lost)), arm_of("structural", task))
    assert (miss.question.id, miss.wrong, reason(miss)) == ("lost", None, "no hit")


def account(key: str, *matches: tuple[int, int, float], entities: int = 1, **told: object) -> Account:
    made = tuple(Match(place, f"s{place}", "t", 1, "v", hops, int(bits * BIT)) for place, hops, bits in matches)
    score = sum(match.value for match in made) + entities * ENTITY_VALUE
    return replace(Account(key, score, 0.0, 0.5, proved=True, entities=entities, matches=made, unmatched=()), **told)


@pytest.mark.parametrize(
    ("right", "wrong", "tied", "told"),
    [
        (account("r", (0, 0, 1.0)), None, False, "no hit"),
        (account("r"), account("w", (0, 0, 1.0)), False, "nothing corresponds"),
        (account("r", (0, 0, 1.0), proved=False), account("w", (0, 0, 2.0)), False, "not proved"),
        (account("r", (0, 0, 1.0)), account("w", (0, 0, 2.0), proved=False), False, "not proved"),
        (account("r", (0, 0, 1.0)), account("w", (0, 0, 1.0)), True, "tie"),
        (account("r", (0, 0, 2.0)), account("w", (0, 0, 1.0)), False, "size"),
        (account("r", (0, 2, 1.0), (1, 2, 1.0)), account("w", (0, 0, 3.0)), False, "own words"),
        (account("r", (0, 2, 1.0), (1, 2, 1.0)), account("w", (0, 1, 3.0)), False, "nearer words"),
        (account("r", (0, 1, 1.0)), account("w", (0, 1, 3.0)), False, "dearer words"),
        (account("r", (0, 1, 1.0)), account("w", (0, 2, 3.0)), False, "dearer words"),
        (account("r", (0, 0, 1.0)), account("w", (0, 0, 1.5), (1, 0, 2.0)), False, "more statements"),
        (account("r", (0, 0, 1.0)), account("w", (0, 0, 1.0), entities=3), False, "more things"),
    ],
)
def test_each_reason_follows_from_the_mappings(right: Account, wrong: Account | None, tied: bool, told: str) -> None:
    assert reason(Miss(QUESTION, 2, tied, right, wrong)) == told


def test_every_reason_can_be_given() -> None:
    (mark,) = (mark for mark in test_each_reason_follows_from_the_mappings.pytestmark if mark.name == "parametrize")
    assert [told for *_, told in mark.args[1] if told] and {told for *_, told in mark.args[1]} == set(REASONS)


def test_a_record_holds_every_miss_and_the_text_all_that_was_said(
    structured: Task, toy_suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Entry("toy/plain", "A toy task.", (), lambda request: structured, seeds=(1, 2))
    monkeypatch.setitem(tasks.ENTRIES, "toy/plain", entry)
    record = misses_record(toy_suite, "structural-cases")
    (table,) = record["tables"]
    assert (table["answerable"], table["reasons"]) == (2, {"own words": 2})
    first, second = table["misses"]
    assert (first["seed"], second["seed"]) == (1, 2) and {**first, "seed": 2} == second
    assert first["asked"] == ["c0-a(x, y)", "c1-a(y, z)", "p0-a(x)", "p1-a(y)"]
    assert (first["wrong"]["relations"], first["wrong"]["attributes"], first["right"]["hops"]) == (1, 2, 8)
    assert sum(first["difference_bits"].values()) == pytest.approx(
        first["wrong"]["score_bits"] - first["right"]["score_bits"]
    )
    text, summary = misses_text(record), misses_summary(record)
    assert "2 of 2 questions missed: 2 because the wrong hit has the query's very words" in text
    assert "c1-a(y, z) -- no partner; its word alone could match c1-a(e, g)" in text
    assert "(2 steps over c1)" in text
    assert "    sma-gpu bench misses toy --arm structural-cases --task toy/plain" in summary
    assert "| 1    | q        | right " in summary and "| own words |" in summary
    assert len(misses_record(toy_suite, "structural-cases", quick=True)["tables"][0]["misses"]) == 1


def test_an_arm_that_gives_no_account_is_refused(toy_suite: Suite) -> None:
    with pytest.raises(QueryError, match="gives no account of its scores"):
        misses_record(toy_suite)
    with pytest.raises(QueryError, match="there is no such task"):
        misses_record(toy_suite, "structural", only_tasks=["toy/plane"])


def test_the_command_gives_text_and_json(toy_suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "misses", "toy", "--arm", "structural", "--task", "toy/plain"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.startswith("## Misses of structural on toy\n") and "of 14 questions missed" in out
    assert main([*words, "--json", "-o", str(tmp_path / "told.json")]) == 0
    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert told["schema"] == "sma-gpu/bench-misses/1" and set(told["reasons"]) == set(REASONS)
    assert main(["bench", "misses", "toy"]) == 2
    assert "gives no account" in capsys.readouterr().err
