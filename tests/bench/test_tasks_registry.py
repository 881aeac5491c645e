"""The list of tasks, what a task refuses, and what is said where nothing is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from sma_gpu import IndexItem, Query, mount, ontology_from_parents
from sma_gpu.bench.arms.arm import Setting
from sma_gpu.bench.tasks.registry import ENTRIES, available, entry, load
from sma_gpu.bench.tasks.task import Question, Task
from sma_gpu.errors import CaseError, QueryError

SETTING = Setting(mount(ontology_from_parents({"EX:1": []})))


def task_of(keys: str, *questions: Question) -> Task:
    return Task("toy/plain", "a toy", SETTING, tuple(IndexItem(key, ["EX:1"]) for key in keys), questions)


def question(id: str, gold: str = "a", without: str = "") -> Question:
    return Question(id, Query(["EX:1"]), tuple(gold), cluster=gold, without=tuple(without))


def test_every_entry_is_a_family_with_a_variant_and_a_sentence() -> None:
    for name, found in ENTRIES.items():
        assert name == found.name and name.count("/") == 1 and "@" not in name
        assert found.words.endswith(".") and found.seeds and entry(f"{name}@file") is found


def test_a_task_of_no_name_is_refused_with_those_of_its_family() -> None:
    with pytest.raises(QueryError, match="published/medicine-all") as fault:
        load("published/medicin")
    assert "patients" not in fault.value.do
    with pytest.raises(QueryError, match="patients/leak-free"):
        available("nothing")


def test_where_nothing_is_there_the_reason_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMA_GPU_DATA", str(tmp_path))
    for name in ("patients/leak-free", "attack/campaigns", "patents/continuations", "genomics/gained"):
        reason = available(name)
        assert "no file of the data folders" in reason and "SMA_GPU_DATA" in reason
    monkeypatch.setenv("SMA_GPU_DATA", str(tmp_path / "nowhere"))
    assert "there is no such folder" in available("patients/leak-free")


@pytest.mark.parametrize(
    "keys, questions, found",
    [
        ("ba", [], "not in the order of their keys"),
        ("aa", [], "not in the order of their keys"),
        ("ab", [question("q"), question("q")], "two questions q"),
        ("ab", [question("q", "c")], "names c"),
        ("ab", [question("q", "a", without="c")], "names c"),
        ("ab", [question("q", "a", without="ab")], "has a both"),
    ],
)
def test_a_task_that_cannot_be_asked_is_refused(keys: str, questions: list[Question], found: str) -> None:
    with pytest.raises(CaseError, match=found):
        task_of(keys, *questions)
    assert task_of("ab", question("q", "a", without="b")).questions[0].without == ("b",)
