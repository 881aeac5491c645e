"""The page on trust shows the report that is kept, which is of the plan as it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sma_gpu.bench import results_page
from sma_gpu.bench.trust import page as trust_page
from sma_gpu.bench.trust.plan import TARGETS, plan
from sma_gpu.bench.trust.record import SCHEMA
from sma_gpu.bench.trust.verdicts import MISSED, verdicts

REPOSITORY = Path(__file__).resolve().parents[2]
EXPECTED = REPOSITORY / "bench" / "expected"
KEPT = trust_page.record_in(EXPECTED)

kept = pytest.mark.skipif(KEPT is None, reason="no report on trust is kept in bench/expected; make results writes it")


@kept
def test_the_page_is_made_of_the_report() -> None:
    assert KEPT is not None
    assert trust_page.page(KEPT) == (REPOSITORY / "docs" / "TRUST.md").read_text(encoding="utf-8")


@kept
def test_the_report_is_of_the_plan_as_it_stands() -> None:
    assert KEPT is not None
    of = plan()
    assert KEPT["schema"] == SCHEMA
    names = ("words", "ours", "seed", "folds", "stability_runs", "splits", "most", "most_ours")
    assert {name: KEPT[name] for name in names} == {name: getattr(of, name) for name in names}
    assert KEPT["targets"] == dict(of.targets)
    tasks = [task for task in of.tasks if task.name not in KEPT["skipped"]]
    assert [(one["task"], one["of"]) for one in KEPT["tasks"]] == [(task.name, list(task.of)) for task in tasks]
    for one, task in zip(KEPT["tasks"], tasks, strict=True):
        assert one["seeds"] == sorted({seed for name in task.of for seed in task.draws(name)})


@kept
def test_the_verdicts_kept_are_those_of_the_figures_kept() -> None:
    assert KEPT is not None
    published = {task.name: task.published for task in plan().tasks}
    for one in KEPT["tasks"]:
        assert one["verdicts"] == verdicts(plan(), one, published[one["task"]])
        assert [told["target"] for told in one["verdicts"]] == list(TARGETS)


@kept
def test_every_target_missed_is_told_where_it_falls_short() -> None:
    assert KEPT is not None
    text = trust_page.page(KEPT)
    short = text.partition("## Where it falls short")[2].partition("## Figures against targets")[0]
    for one in KEPT["tasks"]:
        missed = sum(told["verdict"] == MISSED for told in one["verdicts"])
        assert short.count(f"- {one['task']}: ") >= missed
    assert "/tmp" not in text and "/home" not in text and "/work" not in text


def test_the_report_on_trust_is_none_of_a_suite(tmp_path: Path) -> None:
    (tmp_path / "trust-quick.json").write_text("{}", encoding="utf-8")
    assert results_page.records(tmp_path) == {}
    assert trust_page.record_in(tmp_path) == {}
    (tmp_path / "trust.json").write_text(json.dumps({"quick": False}), encoding="utf-8")
    assert trust_page.record_in(tmp_path) == {"quick": False}


def test_the_command_says_that_there_is_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert trust_page.main([str(tmp_path)]) == 1
    assert "holds no report" in capsys.readouterr().err


@kept
def test_the_command_writes_the_page(tmp_path: Path) -> None:
    assert KEPT is not None
    (tmp_path / "docs").mkdir()
    (tmp_path / "bench" / "expected").mkdir(parents=True)
    (tmp_path / "bench" / "expected" / "trust-quick.json").write_text(json.dumps(KEPT), encoding="utf-8")
    assert trust_page.main([str(tmp_path)]) == 0
    assert (tmp_path / "docs" / "TRUST.md").read_text(encoding="utf-8") == trust_page.page(KEPT)
