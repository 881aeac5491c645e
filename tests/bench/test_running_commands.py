"""``sma-gpu bench`` on the command line: answers on standard output alone, progress on standard error, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_suite import asked

from sma_gpu.bench import reproduce
from sma_gpu.bench.suites import Suite
from sma_gpu.cli.main import main

ARMS = ["--arm", "toy_suite:Near", "--arm", "toy_suite:Far"]


def test_run_gives_its_report_and_tells_its_progress_apart(
    toy_suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    assert main(["bench", "run", "toy", "--folder", folder, "--json"]) == 0
    out, err = capsys.readouterr()
    ran = json.loads(out)
    assert ran["schema"] == "sma-gpu/bench-report/1"
    assert err.splitlines()[:2] == ["toy/plain seed 1: reading", "toy/plain seed 1: toy_suite:Near"]
    assert main(["bench", "report", folder, "--json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == (ran, "")
    assert main(["bench", "report", folder]) == 0
    assert capsys.readouterr().out.startswith("## toy\n")


def test_run_without_a_folder_keeps_its_rows_under_the_name_of_the_suite(
    toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "run", "toy", "--quick", *ARMS]) == 0
    assert (tmp_path / "bench-runs" / "toy-quick" / "run.json").is_file()
    assert asked == {"near": 9, "far": 9}
    capsys.readouterr()


def test_run_writes_trec_files_where_asked(
    toy_suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", "run", "toy", "--quick", "--folder", str(tmp_path / "run"), "--trec", str(tmp_path / "trec")]
    assert main([*words, *ARMS]) == 0
    assert sorted(path.name for path in (tmp_path / "trec").iterdir()) == [
        "toy-plain-1--toy_suite-Far.run.gz", "toy-plain-1--toy_suite-Near.run.gz", "toy-plain-1.qrels",
    ]  # fmt: skip
    capsys.readouterr()


def test_reproduce_says_equal_or_different(
    toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduce, "EXPECTED", tmp_path)
    assert main(["bench", "reproduce", "toy"]) == 3
    out, err = capsys.readouterr()
    assert out == "" and "there is no toy.json" in err
    folder, expected = str(tmp_path / "run"), tmp_path / "toy.json"
    assert main(["bench", "run", "toy", "--folder", folder, "--json", "-o", str(expected)]) == 0
    assert main(["bench", "reproduce", "toy"]) == 0
    assert capsys.readouterr().out.startswith("toy: equal; ")
    moved = expected.read_text(encoding="utf-8").replace('"losses": ', '"losses": 1', 1)
    expected.write_text(moved, encoding="utf-8")
    assert main(["bench", "reproduce", "toy", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "different"
    assert [one["figure"] for one in found["different"]] == [
        "toy/plain strict toy_suite:Near against toy_suite:Far top1 losses"
    ]


def test_list_names_arms_tasks_and_suites(toy_suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["suites"] == [{"name": "toy", "words": "A toy."}]
    assert "structural" in [arm["name"] for arm in found["arms"]]
    assert main(["bench", "list"]) == 0
    assert capsys.readouterr().out.startswith("suites\n  toy  A toy.\n")


def test_contract_says_kept_or_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "contract", "jaccard"]) == 0
    assert capsys.readouterr().out == "jaccard: 14 checks, 0 findings\nThe contract is kept.\n"
    assert main(["bench", "contract", "toy_suite:Near", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["findings"] and not found["kept"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "tyo"], 2, "suite tyo: there is none"),
        (["run", "toy", "--arm", "nobody"], 2, "arm nobody: there is no such arm"),
        (["run", "toy", "--arm", "toy_suite:Nobody", "--folder", "x"], 2, "cannot be imported"),
        (["run", "toy", "--task", "toy/plane"], 2, "there is no such task"),
        (["run", "toy", "--model", "embedding=x"], 2, "model embedding: no arm of this run has that use for one"),
        (["run", "toy", "--arm", "dense-text", "--model", "embedding"], 2, "model embedding: no model is named"),
        (["report", "nowhere"], 2, "run in nowhere"),
        (["contract", "nobody"], 2, "arm nobody: there is no such arm"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    words: list[str], code: int, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err.splitlines()[-1]
