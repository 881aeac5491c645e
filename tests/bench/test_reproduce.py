"""Expected figures and whether they come out again."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from sma_gpu.bench import reproduce
from sma_gpu.bench.report import report_record
from sma_gpu.bench.reproduce import compare_reports, comparison_text, expected_name, expected_report
from sma_gpu.bench.running import run_suite
from sma_gpu.bench.suites import Suite, suite_names
from sma_gpu.errors import DataMissing


@pytest.fixture
def report(toy_suite: Suite, tmp_path: Path) -> dict:
    return json.loads(json.dumps(report_record(run_suite(toy_suite, tmp_path / "run"))))


def test_a_report_is_equal_to_itself(report: dict) -> None:
    found = compare_reports(report, copy.deepcopy(report))
    assert found["verdict"] == "equal"
    assert found["different"] == found["not_compared"] == []
    assert found["equal"] > 100
    assert comparison_text(found).startswith(f"toy: equal; {found['equal']} figures equal, 0 different\n")


def test_a_figure_that_moved_is_named(report: dict) -> None:
    other = copy.deepcopy(report)
    other["tables"][0]["parts"][0]["arms"]["toy_suite:Near"]["top1"] += 1e-9
    other["tables"][0]["families"][0]["comparisons"][1]["losses"] = 99
    found = compare_reports(report, other)
    assert found["verdict"] == "different"
    assert [one["figure"] for one in found["different"]] == [
        "toy/plain strict toy_suite:Near against toy_suite:Far top5 losses",
        "toy/plain strict toy_suite:Near top1",
    ]
    assert "expected" in comparison_text(found).splitlines()[1]


def test_what_one_side_lacks_is_told_and_not_compared(report: dict) -> None:
    other = copy.deepcopy(report)
    for part in other["tables"][0]["parts"]:
        del part["arms"]["toy_suite:Far"]
    found = compare_reports(report, other)
    assert found["verdict"] == "equal"
    assert found["not_compared"]
    assert all("toy_suite:Far" in name for name in found["not_compared"])
    assert f"{len(found['not_compared'])} figures are on one side only" in comparison_text(found)


def test_nothing_in_common_is_no_equality(report: dict) -> None:
    other = copy.deepcopy(report)
    other["tables"] = []
    assert compare_reports(report, other)["verdict"] == "different"


def test_the_record_that_was_kept_is_found(report: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "EXPECTED", tmp_path)
    with pytest.raises(DataMissing, match=r"there is no toy-quick\.json"):
        expected_report("toy", quick=True)
    (tmp_path / expected_name("toy", quick=True)).write_text(json.dumps(report), encoding="utf-8")
    assert expected_report("toy", quick=True) == report


def test_every_record_kept_is_of_a_suite_and_whole() -> None:
    kept = sorted(place.name for place in reproduce.EXPECTED.iterdir()) if reproduce.EXPECTED.is_dir() else []
    for name in kept:
        told = json.loads(reproduce.EXPECTED.joinpath(name).read_text(encoding="utf-8"))
        if told["schema"].startswith("sma-gpu/bench-report/"):
            assert told["suite"] in suite_names()
            assert name == expected_name(told["suite"], quick=told["quick"])
            assert compare_reports(told, told)["verdict"] == "equal"
