"""The page on results shows the reports that are kept, and the Makefile writes one of each suite."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest

from sma_gpu.bench import results_page
from sma_gpu.bench.reproduce import expected_name
from sma_gpu.bench.suites import suite, suite_names

REPOSITORY = Path(__file__).resolve().parents[2]
EXPECTED = REPOSITORY / "bench" / "expected"
RECORDS = results_page.records(EXPECTED)

COMPARISON = {
    "other": "b", "measure": "top1", "ours": 0.5, "theirs": 0.25, "difference": 0.25, "low": 0.1, "high": 0.4,
    "p": 0.001, "corrected_p": 0.002, "delta": 0.25, "wins": 3, "ties": 1, "losses": 0,
}  # fmt: skip
REPORT = {
    "suite": "toy", "words": "A toy.", "quick": True, "places": 100, "ours": "a", "controls": ["b"], "skipped": {},
    "tables": [
        {
            "task": "toy/plain", "words": "A task.", "items": 7, "counts": {}, "seeds": [1], "parts": [],
            "rules_missing": [], "unavailable": {"c": "not installed"},
            "arm_counts": {"a": {"questions not proved": 1200}},
            "families": [
                {
                    "rule": "strict", "slice": "", "measures": ["top1"], "strongest": {"top1": "b"},
                    "comparisons": [COMPARISON],
                }
            ],
        }
    ],
}  # fmt: skip


def report(**told: object) -> dict:
    made = copy.deepcopy(REPORT)
    made["tables"][0]["families"][0]["comparisons"][0] |= told
    return made


@pytest.mark.skipif(not RECORDS, reason="no report is kept in bench/expected; make results writes them")
def test_the_page_is_made_of_the_reports() -> None:
    assert results_page.page(RECORDS) == (REPOSITORY / "docs" / "RESULTS.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({}, "above"),
        ({"ours": 0.25, "theirs": 0.5, "difference": -0.25}, "below"),
        ({"corrected_p": 0.06}, "not told apart"),
        ({"ours": 0.25, "theirs": 0.5, "difference": -0.25, "corrected_p": 0.06}, "not told apart"),
    ],
)
def test_wins_losses_and_nulls_are_told_alike(told: dict, outcome: str) -> None:
    made = report(**told)
    text = results_page.page({"toy": made})
    ours, theirs = (made["tables"][0]["families"][0]["comparisons"][0][name] for name in ("ours", "theirs"))
    assert f"| {ours:.3f} | b         | {theirs:.3f}  | {ours - theirs:+.3f}     | {outcome}" in text
    assert f"{outcome}: 1" in text


def test_each_table_has_its_command_and_names_who_is_absent() -> None:
    text = results_page.page({"attack": REPORT | {"suite": "attack"}})
    assert "\n    sma-gpu bench run attack --quick --task toy/plain\n" in text
    assert "unavailable: c: not installed" in text
    assert "\na: 1,200 questions not proved.\n" in text


def test_a_whole_report_stands_for_a_quick_one(tmp_path: Path) -> None:
    (tmp_path / "toy-quick.json").write_text(json.dumps(REPORT), encoding="utf-8")
    assert results_page.records(tmp_path) == {"toy": REPORT}
    whole = REPORT | {"quick": False}
    (tmp_path / "toy.json").write_text(json.dumps(whole), encoding="utf-8")
    assert results_page.records(tmp_path) == {"toy": whole}


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    assert results_page.main([str(tmp_path)]) == 1
    assert "holds no report" in capsys.readouterr().err
    (tmp_path / "bench" / "expected").mkdir(parents=True)
    (tmp_path / "bench" / "expected" / "toy-quick.json").write_text(json.dumps(REPORT), encoding="utf-8")
    assert results_page.main([str(tmp_path)]) == 0
    assert (tmp_path / "docs" / "RESULTS.md").read_text(encoding="utf-8") == results_page.page({"toy": REPORT})


def test_the_makefile_runs_every_suite() -> None:
    told = re.search(r"^SUITES := (.*)$", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert told is not None
    assert tuple(told[1].split()) == suite_names()


@pytest.mark.parametrize("name", [name for name in RECORDS if name != "claims" and not name.startswith("misses-")])
def test_a_report_that_is_kept_is_of_its_suite_as_it_stands(name: str) -> None:
    record, of = RECORDS[name], suite(name)
    assert (EXPECTED / expected_name(name, quick=record["quick"])).is_file()
    assert (record["words"], record["ours"], record["bootstrap_seed"]) == (of.words, of.ours, of.seed)
    assert record["controls"] == list(of.controls)
    assert [table["task"] for table in record["tables"]] == [
        table.task for table in of.tables if table.task not in record["skipped"]
    ]
    for table in record["tables"]:
        for part in table["parts"]:
            assert list(part["arms"]) == [arm for arm in of.arms if arm not in table["unavailable"]]


@pytest.mark.parametrize("name", [name for name in RECORDS if name.startswith("misses-")])
def test_misses_that_are_kept_are_as_many_as_the_report_says(name: str) -> None:
    record = RECORDS[name]
    assert not record["quick"] and not record["skipped"]
    tables = {table["task"]: table for table in RECORDS[record["suite"]]["tables"]}
    for told in record["tables"]:
        table = tables[told["task"]]
        figures = next(part for part in table["parts"] if not part["slice"])["arms"][record["arm"]]
        missed = [miss for miss in told["misses"] if miss["seed"] in table["seeds"]]
        assert len(missed) == round(figures["answerable"] * (1 - figures["ties"]["pessimistic"]["top1"]))
        assert sum(told["reasons"].values()) == len(told["misses"])
    assert "## Misses of" in results_page.page(RECORDS)


def test_no_place_is_in_a_report() -> None:
    for record in RECORDS.values():
        text = json.dumps(record)
        assert "/tmp" not in text and "/home" not in text and "/work" not in text
