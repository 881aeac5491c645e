"""Sightings as tasks, on a small invented ATT&CK of two releases: who is asked, against what, and in which order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import toy_attack as toy

from sma_gpu.bench.tasks.registry import load
from sma_gpu.bench.tasks.task import CaseItem
from sma_gpu.errors import DataMissing, ParseError

ATTACHMENT, LINK, SHELL, SCOUT_LINK = "T9100.001", "T9100.002", "T9200.001", "T9300.001"


def sighting(source: str, id: str, techniques: list[str], *gold: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "id": id, "techniques": techniques, "gold": [{"id": one} for one in gold], **more}


SIGHTINGS = [
    sighting("attack-campaign-9", "C1", [ATTACHMENT], "G9001"),
    sighting("attack-campaign-9", "C1", [ATTACHMENT], "G9002"),
    sighting("attack-campaign-9", "C2", [SHELL, "T0000"], "G7777"),
    sighting("tram2-report", "G9001 again", [LINK], "G9001"),
    sighting("tram2-report", "nobody", [LINK]),
    sighting("group-delta-2.0-to-9", "G9001", [SHELL, SCOUT_LINK], "G9001"),
    sighting("group-delta-10.1-to-9", "G9001", [SHELL], "G9001"),
    sighting("ctid-attack-flow", "first", [SHELL, LINK], "G9001", sequence=[LINK, SHELL, LINK]),
    sighting("ctid-attack-flow", "second", [SHELL, LINK], "G9001", sequence=[SHELL, LINK]),
    sighting("ctid-attack-flow", "third", [ATTACHMENT], sequence=[ATTACHMENT]),
]


def release(day: str, *used: dict[str, Any]) -> bytes:
    first, second = toy.group(21, "G9001", "Red"), toy.group(22, "G9002", "Blue")
    links = [toy.link(50 + at, "uses", first, one) for at, one in enumerate(used)]
    links.append(toy.link(70, "uses", second, toy.LINK))
    below = [
        toy.link(80, "subtechnique-of", toy.ATTACHMENT, toy.PHISHING),
        toy.link(81, "subtechnique-of", toy.LINK, toy.PHISHING),
        toy.link(82, "subtechnique-of", toy.SHELL, toy.SCRIPT),
        toy.link(83, "subtechnique-of", toy.SCOUT_LINK, toy.SCOUTING),
    ]
    objects = [*toy.TECHNIQUES, toy.TACTIC, first, second, *links, *below]
    return toy.bundle(*({**one, "modified": f"{day}T00:00:00.000Z"} for one in objects))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "attack-2.0.json").write_bytes(release("2030-01-01", toy.ATTACHMENT))
    (folder / "attack-10.1.json").write_bytes(release("2031-01-01", toy.ATTACHMENT, toy.LINK))
    (folder / "attack-12.json").write_bytes(release("2032-01-01", toy.ATTACHMENT, toy.LINK, toy.SHELL))
    write(folder / "sightings.jsonl", SIGHTINGS)
    monkeypatch.setenv("SMA_GPU_DATA", str(folder))
    return folder


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_what_two_groups_did_together_is_one_question(data: Path) -> None:
    task = load("attack/campaigns")
    assert [item.key for item in task.items] == ["G9001", "G9002"]
    assert [(one.id, one.gold, one.slices) for one in task.questions] == [("C1", ("G9001", "G9002"), ())]
    assert task.counts["queries left out because whoever they are ascribed to is not stored"] == 1
    assert task.setting.mounted.ontology.version == "2032-01-01"
    assert load("attack/reports").counts["queries left out because nobody is named"] == 1


def test_what_was_gained_is_asked_of_the_old_release(data: Path) -> None:
    long, short = load("attack/gained-long"), load("attack/gained-short")
    assert [set(task.items[0].term_ids) for task in (long, short)] == [{ATTACHMENT}, {ATTACHMENT, LINK}]
    assert [task.questions[0].query.term_ids for task in (long, short)] == [(SHELL, SCOUT_LINK), (SHELL,)]
    assert long.questions[0].slices == ("nothing-shared",)
    (data / "attack-2.0.json").rename(data / "attack.json")
    with pytest.raises(DataMissing, match="no file has it in its name"):
        load("attack/gained-long")
    (data / "copy-10.1.json").write_bytes(release("2029-01-01", toy.SHELL))
    with pytest.raises(DataMissing, match="several files have it in their names"):
        load("attack/gained-short")


def test_flows_of_one_actor_are_asked_for_each_other_with_their_order_or_without(data: Path) -> None:
    flat, ordered = load("attack/flow-to-flow"), load("attack/flow-to-flow-ordered")
    for task in (flat, ordered):
        assert [item.key for item in task.items] == ["first", "second", "third"]
        assert [(one.id, one.gold, one.without) for one in task.questions] == [
            ("first", ("second",), ("first",)),
            ("second", ("first",), ("second",)),
        ]
    assert flat.items[0].term_ids == (LINK, SHELL) == flat.items[1].term_ids
    cases = [item.case for item in ordered.items if isinstance(item, CaseItem)]
    order = [
        [tuple(done.functor.id for done in said.args) for said in case.statements if said.functor.id == "precedes"]  # type: ignore[union-attr]
        for case in cases
    ]
    assert order == [[(LINK, SHELL), (SHELL, LINK)], [(SHELL, LINK)], []]
    assert "precedes(Phishing: Link(subject), Scripting: Shell(subject))" in ordered.items[0].text
    assert "precedes" in ordered.setting.mounted.number


def test_a_file_without_such_lines_or_with_broken_ones_is_refused(data: Path, tmp_path: Path) -> None:
    none = write(tmp_path / "none.jsonl", [sighting("tram2-report", "x", [LINK], "G9001")])
    with pytest.raises(DataMissing, match="none from attack-campaign"):
        load(f"attack/campaigns@{none}")
    broken = write(tmp_path / "broken.jsonl", [sighting("tram2-report", "x", [LINK]) | {"gold": ["G9001"]}])
    with pytest.raises(ParseError, match="gold is no list of objects with an id"):
        load(f"attack/reports@{broken}")
    twice = [sighting("tram2-report", "x", [term], "G9001") for term in (LINK, SHELL)]
    with pytest.raises(ParseError, match="x stands twice, with different techniques"):
        load(f"attack/reports@{write(tmp_path / 'twice.jsonl', twice)}")
