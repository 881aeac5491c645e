"""The packed questions of a run, read back, and the widest gaps."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sma_gpu.bench.report_drill import DIGITS, drill_record, gaps, place_words
from sma_gpu.bench.running import Run, run_suite
from sma_gpu.bench.suites import Suite
from sma_gpu.errors import ShapeError


@pytest.fixture
def run(toy_suite: Suite, tmp_path: Path) -> Run:
    return run_suite(toy_suite, tmp_path)


def unpacked(text: str, width: int) -> list[int]:
    numbers = []
    for start in range(0, len(text), width):
        value = 0
        for sign in text[start : start + width]:
            value = value * 64 + DIGITS.index(sign)
        numbers.append(value)
    return numbers


def test_every_place_and_every_confidence_can_be_read_back(run: Run) -> None:
    (table,) = drill_record(run)["tables"]
    assert table["of"] == len(table["questions"]) == 18
    checked = 0
    for rule, told in table["rules"].items():
        for arm, text in told["arms"].items():
            rows = {row.question: row for row in run.of("toy/plain", arm) if row.rule == rule}
            numbers = unpacked(text, told["width"])
            confidence, novelty = (unpacked(table[name][arm], 2) for name in ("confidence", "novelty"))
            clusters = unpacked(table["cluster"], 3)
            for place, question in enumerate(table["questions"]):
                row = rows[question]
                assert told["places"][numbers[place]] == [row.first, row.tied, row.right, int(row.cut)]
                assert table["clusters"][clusters[place]] == row.cluster
                assert (confidence[place] - 1) / 1000 == pytest.approx(row.confidence, abs=0.0005001)
                assert (novelty[place] - 1) / 1000 == pytest.approx(row.novelty, abs=0.0005001)
                assert told["answerable"][place] == str(int(row.known))
                checked += 1
    assert checked == 18 * 2 * 2


def test_an_arm_that_states_nothing_is_left_out_of_what_is_stated(run: Run) -> None:
    silent = [
        replace(cell, rows=tuple(replace(row, confidence=float("nan")) for row in cell.rows))
        if cell.arm == "toy_suite:Far"
        else cell
        for cell in run.cells
    ]
    (table,) = drill_record(replace(run, cells=tuple(silent)))["tables"]
    assert set(table["confidence"]) == {"toy_suite:Near"}
    assert set(table["novelty"]) == {"toy_suite:Near", "toy_suite:Far"}


def many(run: Run) -> Run:
    """Returns a run in which every question is asked a hundred times under other names."""
    cells = [
        replace(cell, rows=tuple(replace(r, question=f"{r.question} {n}") for n in range(100) for r in cell.rows))
        for cell in run.cells
    ]
    return replace(run, cells=tuple(cells))


def test_a_list_that_would_be_too_long_keeps_a_share_and_says_of_how_many(run: Run) -> None:
    whole = drill_record(many(run))["tables"][0]
    (table,) = drill_record(many(run), 9_000)["tables"]
    assert whole["of"] == len(whole["questions"]) == table["of"] == 1800
    assert 100 < len(table["questions"]) < 600
    marks = {hashlib.sha256(f"toy/plain\n{one}".encode()).hexdigest(): one for one in whole["questions"]}
    first = [marks[mark] for mark in sorted(marks)]
    assert set(table["questions"]) == set(first[: len(table["questions"])])
    assert 6_000 < len(json.dumps(table, separators=(",", ":"))) < 10_500
    assert table["questions"] == [one for one in whole["questions"] if one in set(table["questions"])]
    kept = [whole["questions"].index(one) for one in table["questions"]]
    for rule, told in table["rules"].items():
        before = whole["rules"][rule]
        for arm in told["arms"]:
            numbers = unpacked(told["arms"][arm], told["width"])
            of_all = unpacked(before["arms"][arm], before["width"])
            assert [told["places"][n] for n in numbers] == [before["places"][of_all[place]] for place in kept]


def test_arms_that_were_asked_different_questions_are_refused(run: Run) -> None:
    cut = [replace(cell, rows=cell.rows[2:]) if cell.arm == "toy_suite:Far" else cell for cell in run.cells]
    with pytest.raises(ShapeError, match="was not asked the same"):
        drill_record(replace(run, cells=tuple(cut)))


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ((1, 1, 1, False), "1"), ((3, 5, 1, False), "3 to 7"), ((3, 5, 5, False), "3"),
        ((3, 5, 2, True), "3 to 6 or more"), ((0, 0, 0, True), "beyond 100"),
    ],
)  # fmt: skip
def test_places_in_words(place: tuple[int, int, int, bool], words: str) -> None:
    first, tied, right, cut = place
    assert place_words(first, tied, right, cut=cut) == words


def test_the_widest_gaps_are_those_of_the_rows(run: Run) -> None:
    (table,) = run.suite.tables
    found = gaps(run, table, most=3)
    assert found is not None and found.other == "toy_suite:Far"

    def worth(arm: str) -> dict[str, Any]:
        return {
            row.question: sum(1.0 / (row.first + n) for n in range(row.tied)) / row.tied if row.first else 0.0
            for row in run.of("toy/plain", arm)
            if row.rule == "strict" and row.known and row.right <= 1
        }

    ours, theirs = worth("toy_suite:Near"), worth("toy_suite:Far")
    apart = {question: ours[question] - theirs[question] for question in ours}
    assert found.all_below == sum(gap < 0 for gap in apart.values())
    assert found.all_above == sum(gap > 0 for gap in apart.values())
    above = sorted(apart, key=lambda question: (-apart[question], question))[:3]
    assert [gap.question for gap in found.above] == above
    assert [gap.difference for gap in found.above] == pytest.approx([apart[question] for question in above])
    turned = gaps(
        replace(run, suite=replace(run.suite, ours="toy_suite:Far", controls=("toy_suite:Near",))), table, most=3
    )
    assert turned is not None
    assert [gap.question for gap in turned.below] == above
    assert [(gap.theirs, gap.ours) for gap in turned.below] == [(gap.ours, gap.theirs) for gap in found.above]


def test_without_our_arm_there_are_no_gaps(run: Run) -> None:
    cells = tuple(cell for cell in run.cells if cell.arm != "toy_suite:Near")
    assert gaps(replace(run, cells=cells), run.suite.tables[0]) is None
