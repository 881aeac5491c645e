"""Pages on solved cases say what the evaluation and the calibration say, and no more."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy
from pages import Element, check_page
from small_medicine import write_small

from sma_gpu import Engine, open_engine
from sma_gpu.answers.evaluation import evaluate
from sma_gpu.answers.pages.solved import calibration_page, evaluation_page, reliability_diagram
from sma_gpu.answers.pages.style import element, page
from sma_gpu.answers.solved import solve
from sma_gpu.cli import main
from sma_gpu.ontologies.records.patients import read_patients
from sma_gpu.trust.calibration import Calibration
from sma_gpu.trust.reliability import equal_width_bins

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
HOSTILE = "<script>alert(1)</script>\"'>&\u202e"
CASES = [
    {"id": "a", "observed": LONG, "gold": ["OMIM:990001"]},
    {"id": "b", "observed": LONG, "gold": ["OMIM:990004"]},
    {"id": HOSTILE, "observed": ["HP:9920200"], "gold": ["OMIM:990001"]},
    {"id": "none", "observed": ["HP:1"], "gold": ["OMIM:990001"]},
    {"id": "elsewhere", "observed": LONG, "gold": ["OMIM:1"]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(toy.write(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def engine(folder: str) -> Engine:
    return open_engine(folder)


def evaluated(engine: Engine, cases: list[dict[str, Any]], place: Path) -> dict[str, Any]:
    place.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return evaluate(engine, solve(engine, read_patients(str(place)), str(place)))


def table(root: Element, caption: str) -> list[list[str]]:
    [found] = [t for t in root.all("table") if t.all("caption") and t.all("caption")[0].text.startswith(caption)]
    return [[cell.text for cell in row.inner if isinstance(cell, Element)] for row in found.all("tr")[1:]]


def test_the_page_has_every_case_with_its_rank(engine: Engine, tmp_path: Path) -> None:
    found = evaluated(engine, CASES, tmp_path / "in.jsonl")
    root = check_page(evaluation_page(found))
    rows = table(root, "In the order in which they came")
    assert [row[0] for row in rows] == ["a", "b", HOSTILE.replace("\u202e", "[U+202E]"), "none"]
    for row, case in zip(rows, found["cases"], strict=True):
        assert row[2] == ("" if case["strict"] is None else f"{case['strict']['rank']}")
        assert all(gold["key"] in row[1] for gold in case["gold"])
    assert found["not_evaluated"][0]["why"] in root.text
    assert all(note in root.text for note in found["notes"])


def test_ranks_are_counted_and_add_up(engine: Engine, tmp_path: Path) -> None:
    found = evaluated(engine, CASES, tmp_path / "in.jsonl")
    ranks = {3: 2, 5: 1, 101: 1}
    some = [case for case in found["cases"] if case["strict"]]
    found["cases"] = [
        {**some[0], "strict": {**some[0]["strict"], "rank": r}} for r, n in ranks.items() for _ in range(n)
    ]
    found["cases"].append({**some[0], "strict": None})
    rows = {row[0]: row[1:] for row in table(check_page(evaluation_page(found)), "Rank of the right one")}
    assert {name: cells[0] for name, cells in rows.items() if cells[0] != "0"} == {
        "3": "2", "4 to 5": "1", "below 100": "1", "no hit": "1",
    }  # fmt: skip
    assert [rows[name][1] for name in ("2", "3", "4 to 5", "51 to 100", "below 100")] == [
        f"{part}\u00a0%" for part in (0, 40, 60, 60, 80)
    ]


def test_an_evaluation_of_no_case_says_so(engine: Engine, tmp_path: Path) -> None:
    new = {"id": "new", "observed": LONG, "gold": []}
    root = check_page(evaluation_page(evaluated(engine, [new, CASES[-1]], tmp_path / "in.jsonl"), ["further <b>"]))
    assert "No case could be ranked." in root.text and not root.all("script")
    assert root.all("pre")[0].text == "further <b>"


def test_a_dot_stands_where_its_bin_does() -> None:
    said, right = np.array([0.05] * 9 + [0.95] * 3), np.array([0] * 9 + [1, 1, 0], np.bool_)
    root = check_page(page("t", element("h1", "t"), reliability_diagram(equal_width_bins(said, right))))
    (x1, y1, r1), (x2, y2, r2) = (
        [float(dot.attributes[n] or "") for n in ("cx", "cy", "r")] for dot in root.all("circle")
    )
    assert "said 0.950, right 2 of 3" in root.all("circle")[1].text
    left, right_end, bottom = 34.0, 34.0 + 260.0, 9.0 + 260.0
    assert (x1, y1) == (pytest.approx(left + 13), pytest.approx(bottom))
    assert (x2, y2) == (pytest.approx(right_end - 13), pytest.approx(bottom - 260 * 2 / 3, abs=0.1))
    assert r1 > r2


def test_the_commands_write_pages(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "in.jsonl"
    place.write_text("".join(json.dumps(case) + "\n" for case in CASES[:2]))
    assert main(["evaluate", folder, str(place), "-f", "html", "-o", str(tmp_path / "e.html")]) == 0
    assert check_page((tmp_path / "e.html").read_text(encoding="utf-8")).all("h1")[0].text.startswith("Evaluation on 2")
    assert capsys.readouterr().out == ""


def test_the_page_of_a_calibration_says_what_the_calibration_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = write_small(tmp_path / "small")
    made, rng = open_engine(str(sources)), random.Random(3)
    with (tmp_path / "in.jsonl").open("w") as file:
        for number in range(60):
            terms = made.domain.records.record_at(number % 40).positive
            observed = [*rng.sample(terms, 2), *(f"HP:99{rng.randrange(58):05d}" for _ in range(2))]
            case = {"id": f"case {number}", "observed": observed, "gold": [f"OMIM:99{number % 40:04d}"]}
            file.write(json.dumps(case) + "\n")
    place = tmp_path / "c.json"
    assert main(["calibrate", str(sources), str(tmp_path / "in.jsonl"), "-o", str(place), "-f", "html"]) == 0
    printed, found = capsys.readouterr().out, Calibration.from_json(place.read_text())
    assert printed == calibration_page(found, "disease", {})
    root, first = check_page(printed), found.held_out.figures()["first"]
    [_, *figures] = table(root, "On held-out cases")[0]
    names = ("true", "ece", "ece_by_chance", "brier", "log_loss", "aurc", "auroc")
    assert figures == ["60", *(f"{first[name]:.3f}" for name in names)]
    bins = equal_width_bins(found.held_out.first.predicted, found.held_out.first.true)
    assert [row[1] for row in table(root, "The same in figures")] == [str(one.right.whole) for one in bins]
    [youden] = [row for row in table(root, "What --abstain RULE") if row[0] == "youden"]
    assert youden[1] == f"{found.threshold('youden').value:.3f}"
    assert found.fingerprint in root.text
    assert "7 cases took no part: why" in calibration_page(found, "disease", {"why": 7, "other": 0})
