"""The page of a run: its tables are the report's, it needs nothing from outside, and it holds what was left out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sma_gpu.bench.report import report_record
from sma_gpu.bench.report_drill import drill_record
from sma_gpu.bench.report_html import bench_page
from sma_gpu.bench.running import Run, read_run, run_suite
from sma_gpu.bench.suites import Suite
from sma_gpu.cli.main import main

HOSTILE = '</script><img src=x onerror="alert(1)">&<!--'


class Page(HTMLParser):
    """What a page holds: tags, attributes, ids, headings, the cells of its tables, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.headings: list[tuple[int, str]] = []
        self.tables: list[tuple[str, list[list[str]]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "table":
            self.tables.append((dict(attrs).get("id") or "", []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][1][-1].append("")
        elif re.fullmatch(r"h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))
        elif tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" in self._inside:
            self.scripts[-1] += data
            return
        if "style" not in self._inside:
            self.words.append(data)
        if self._inside and ("td" in self._inside or "th" in self._inside):
            self.tables[-1][1][-1][-1] += data
        elif self._inside and re.fullmatch(r"h[1-6]", self._inside[-1]):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.fixture
def run(toy_suite: Suite, tmp_path: Path) -> Run:
    return run_suite(toy_suite, tmp_path / "run")


def parsed(run: Run) -> tuple[dict[str, Any], Page]:
    report = report_record(run)
    return report, Page(bench_page(run, report))


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def test_every_table_is_the_report(run: Run) -> None:
    report, page = parsed(run)
    by_id = {name: rows for name, rows in page.tables if name}
    (table,) = report["tables"]
    assert len(table["parts"]) == len(by_id) == 4
    for number, part in enumerate(table["parts"]):
        names = ("top1", "top5", "top10", "mrr", "macro_top1", "macro_top10", "aurc_top1", "aurc_top5")
        assert by_id[f"t0p{number}-figures"][1:] == [
            [arm, *(shown(found[name]) for name in names)] for arm, found in part["arms"].items()
        ]
    tables = [rows for _, rows in page.tables]
    novel = table["parts"][0]["arms"]
    assert [
        [
            arm, shown(found["grounding_auroc"]),
            *(shown(found["novelty"].get(f)) for f in ("auroc", "aupr", "f1", "f1_everything_novel")),
        ]
        for arm, found in novel.items()
    ] in [rows[1:] for rows in tables]  # fmt: skip
    (compared,) = (rows[1:] for rows in tables if rows[0][0] == "control")
    for row, one in zip(compared, table["families"][0]["comparisons"], strict=True):
        assert row[0].removesuffix(" strongest") == one["other"]
        assert row[2:4] == [shown(one["ours"]), shown(one["theirs"])]
        assert row[5] == f"{one['low']:+.3f} to {one['high']:+.3f}"
        assert row[8] == f"{one['wins']}/{one['ties']}/{one['losses']}"


def test_a_loss_is_shown_as_a_win_is(run: Run) -> None:
    turned = replace(run, suite=replace(run.suite, ours="toy_suite:Far", controls=("toy_suite:Near",)))
    of_ours, of_theirs = (parsed(one)[1] for one in (run, turned))
    assert [name for name, _ in of_ours.tables] == [name for name, _ in of_theirs.tables]
    figures = [dict(page.tables)["t0p0-figures"] for page in (of_ours, of_theirs)]
    assert figures[0] == figures[1]
    assert of_theirs.tags.count("figure") == of_ours.tags.count("figure")
    heading = next(text for _, text in of_theirs.headings if text.startswith("Ours below"))
    assert re.fullmatch(r"Ours below toy_suite:Near: 6 of \d+", heading)


def test_what_was_left_out_is_on_the_page(run: Run) -> None:
    _, page = parsed(replace(run, skipped={"toy/other": "its data are not here"}))
    for words in (
        "toy/other", "its data are not here", "no-such-weights", "pip install weights",
        "The rule not-there is not shown", "items, farthest first", "sma-gpu bench run toy --task toy/plain",
    ):  # fmt: skip
        assert words in page.text


def test_arms_without_a_confidence_are_named(run: Run) -> None:
    silent = tuple(
        replace(cell, rows=tuple(replace(row, confidence=float("nan"), novelty=float("nan")) for row in cell.rows))
        if cell.arm == "toy_suite:Far"
        else cell
        for cell in run.cells
    )
    _, page = parsed(replace(run, cells=silent))
    assert "These arms state no confidence: toy_suite:Far." in page.text
    assert "These arms state no novelty, which is not a novelty of 0: toy_suite:Far." in page.text
    _, whole = parsed(run)
    assert "These arms state no" not in whole.text


def test_nothing_is_fetched_and_every_reference_is_met(run: Run) -> None:
    report = report_record(run)
    text = bench_page(run, report)
    page = Page(text)
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for tag, name, value in page.attributes:
        assert name not in ("src", "srcset", "action", "data"), (tag, name)
        if name in ("href", "xlink:href"):
            assert value.startswith("#") and value[1:] in ids
        assert not name.startswith("on")
    assert not set(page.tags) & {"link", "img", "iframe", "object", "embed", "base"}
    assert not re.search(r"https?:|url\(|@import|//[a-z]+\.", text)


def test_headings_are_in_order_and_drawings_are_described(run: Run) -> None:
    _, page = parsed(run)
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
    assert all(text for _, text in page.headings)
    roles = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "role")]
    assert roles and set(roles) == {"img"}
    assert page.tags.count("title") == len(roles) + 1


def test_what_is_hostile_stays_text(run: Run) -> None:
    cells = tuple(
        replace(cell, rows=tuple(replace(row, question=row.question + HOSTILE, cluster=HOSTILE) for row in cell.rows))
        for cell in run.cells
    )
    told = {"toy/plain": run.told["toy/plain"] | {"words": HOSTILE, "counts": {HOSTILE: 3}}}
    strange = replace(run, cells=cells, told=told, skipped={HOSTILE: HOSTILE}, suite=replace(run.suite, words=HOSTILE))
    report = report_record(strange)
    text = bench_page(strange, report)
    page = Page(text)
    assert "<img" not in text and "img" not in page.tags
    assert page.tags.count("script") == 2
    assert page.text.count(HOSTILE) >= 5
    assert json.loads(page.scripts[0]) == drill_record(strange)


def test_the_same_rows_give_the_same_bytes(run: Run, tmp_path: Path) -> None:
    again = read_run(tmp_path / "run")
    first, second = (bench_page(one, report_record(one)) for one in (run, again))
    assert first == second
    assert str(tmp_path) not in first


def test_a_list_that_is_cut_says_so(run: Run) -> None:
    report = report_record(run)
    assert "chosen by a hash" not in Page(bench_page(run, report)).text
    cut = Page(bench_page(run, report, most_bytes=150))
    held = len(json.loads(cut.scripts[0])["tables"][0]["questions"])
    assert 0 < held < 18
    assert f"The list holds {held} of 18 questions" in cut.text


def test_a_run_without_our_arm_still_has_its_page(run: Run) -> None:
    cells = tuple(cell for cell in run.cells if cell.arm != "toy_suite:Near")
    _, page = parsed(replace(run, cells=cells))
    assert "This run compares no arms." in page.text
    assert dict(page.tables)["t0p0-figures"][1][0] == "toy_suite:Far"


def test_the_command_gives_the_page(toy_suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, place = str(tmp_path / "run"), tmp_path / "run.html"
    assert main(["bench", "run", "toy", "--quick", "--folder", folder, "-f", "html", "-o", str(place)]) == 0
    assert capsys.readouterr().out == ""
    written = place.read_text(encoding="utf-8")
    assert written.startswith("<!DOCTYPE html>\n") and written.endswith("</html>\n")
    assert main(["bench", "report", folder, "-f", "html"]) == 0
    assert capsys.readouterr().out == written
    assert ("h1", "toy (quick)") in [(f"h{level}", text) for level, text in Page(written).headings]
