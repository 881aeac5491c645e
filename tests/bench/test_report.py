"""The report of a run, and its text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sma_gpu.bench.figures import Sample, figures
from sma_gpu.bench.report import report_record
from sma_gpu.bench.report_html import bench_page
from sma_gpu.bench.report_text import INTERVAL_AND_P, command, report_text
from sma_gpu.bench.running import run_suite
from sma_gpu.bench.suites import Suite

GOLDEN = Path(__file__).parent / "report_of_the_toy_suite.md"


@pytest.fixture
def report(toy_suite: Suite, tmp_path: Path) -> dict:
    return report_record(run_suite(toy_suite, tmp_path / "run"))


def test_the_text_of_a_small_report_is_as_it_was(report: dict) -> None:
    assert report_text(report) == GOLDEN.read_text(encoding="utf-8")


def test_every_figure_is_derived_from_the_rows(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path)
    table = report_record(run)["tables"][0]
    for part in table["parts"]:
        for arm, found in part["arms"].items():
            rows = [row for row in run.of("toy/plain", arm) if row.rule == part["rule"]]
            rows = [row for row in rows if not part["slice"] or part["slice"] in row.slices.split()]
            assert found == figures(Sample.of(rows, part["rule"]), novelty=part["rule"] == "strict")
            known = [row for row in rows if row.known]
            assert found["questions"] == len(rows)
            assert found["answerable"] == len(known)
            first = [row for row in known if row.first == 1 and row.tied == row.right]
            assert found["ties"]["pessimistic"]["top1"] == pytest.approx(len(first) / len(known))


def test_a_rule_that_the_task_lacks_is_told(report: dict) -> None:
    table = report["tables"][0]
    assert table["rules_missing"] == ["not-there"]
    assert {part["rule"] for part in table["parts"]} == {"strict", "pairs"}
    assert "The rule `not-there` is not shown" in report_text(report)


def test_printed_differences_are_those_of_the_printed_means(report: dict) -> None:
    found = 0
    for line in report_text(report).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 9 and re.fullmatch(r"\d\.\d{3}", cells[2]) and re.fullmatch(r"[+-]\d\.\d{3}", cells[4]):
            assert float(cells[4]) == pytest.approx(float(cells[2]) - float(cells[3]), abs=1e-9)
            found += 1
    assert found == 2


def test_comparisons_are_of_our_arm_with_each_control_that_is_there(report: dict) -> None:
    (family,) = report["tables"][0]["families"]
    assert [(c["other"], c["measure"]) for c in family["comparisons"]] == [
        ("toy_suite:Far", "top1"),
        ("toy_suite:Far", "top5"),
    ]
    for one in family["comparisons"]:
        assert one["difference"] == pytest.approx(one["ours"] - one["theirs"])
        assert one["low"] <= one["difference"] <= one["high"]
        assert 0 < one["p"] <= one["corrected_p"] <= 1
        assert one["wins"] + one["ties"] + one["losses"] == report["tables"][0]["parts"][0]["arms"]["toy_suite:Far"][
            "answerable"
        ]  # fmt: skip


def test_a_loss_is_printed_as_a_win_is(toy_suite: Suite, tmp_path: Path) -> None:
    turned = replace(toy_suite, ours="toy_suite:Far", controls=("toy_suite:Near",))
    text = report_text(report_record(run_suite(turned, tmp_path)))
    assert re.search(r"\*\*toy_suite:Near\*\* *\| top-1 .*\| -0\.\d{3} ", text)


def test_no_place_and_no_time_is_in_a_report(report: dict, tmp_path: Path) -> None:
    text = json.dumps(report)
    assert str(tmp_path) not in text
    assert "cpu_s" not in text


def test_a_suite_made_in_python_has_no_command(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path)
    assert command(report_record(run), "toy/plain") == "sma-gpu bench run toy --task toy/plain"
    mine = replace(run, suite=replace(toy_suite, name="mine"))
    report = report_record(mine)
    for text in (report_text(report), bench_page(mine, report)):
        assert "toy/plain" in text
        assert "sma-gpu bench run" not in text


def test_why_intervals_and_p_may_seem_to_disagree_is_told_where_both_are(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path)
    report = report_record(run)
    assert report_text(report).count(INTERVAL_AND_P) == bench_page(run, report).count(INTERVAL_AND_P) == 1
    alone = replace(run, suite=replace(toy_suite, controls=()))
    assert INTERVAL_AND_P not in report_text(report_record(alone))
