"""A suite run: rows kept, gone on with, read again; what is not there is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import toy_suite as toy_suite_arms
from toy_suite import asked, toy_task

from sma_gpu.bench import running
from sma_gpu.bench.arms import registry as arms
from sma_gpu.bench.arms.arm import Setting
from sma_gpu.bench.report import report_record
from sma_gpu.bench.running import read_run, run_suite, task_fingerprint
from sma_gpu.bench.suites import Suite
from sma_gpu.bench.tasks import registry as tasks
from sma_gpu.bench.tasks.entry import Entry, Request
from sma_gpu.errors import ArtifactError, DataMissing, QueryError

QUESTIONS = 9
ARM_FILES = ("Far.csv.gz", "Far.json", "Near.csv.gz", "Near.json")
REPOSITORY = Path(__file__).resolve().parents[2]


def changed_task(monkeypatch: pytest.MonkeyPatch, **told) -> None:
    entry = Entry("toy/plain", "A toy task.", (), partial(toy_task, **told), seeds=(1, 2))
    monkeypatch.setitem(tasks.ENTRIES, "toy/plain", entry)


def test_every_arm_is_asked_every_seed_and_its_rows_are_kept(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path / "run")
    assert asked == {"near": 2 * QUESTIONS, "far": 2 * QUESTIONS}
    assert [(c.seed, c.arm, len(c.rows)) for c in run.cells] == [
        (seed, arm, rows)
        for seed in (1, 2)
        for arm, rows in (("toy_suite:Near", 18), ("toy_suite:Far", 18), ("no-such-weights", 0))
    ]
    assert sorted(p.relative_to(tmp_path / "run").as_posix() for p in (tmp_path / "run").rglob("*") if p.is_file()) == [
        "run.json",
        *(
            f"toy-plain-{s}/toy_suite-{arm}.{end}"
            for s in (1, 2)
            for arm in ("Far", "Near")
            for end in ("csv.gz", "json")
        ),
    ]
    of = run.of("toy/plain", "toy_suite:Near")
    assert {row.question.split(":")[0] for row in of} == {"1", "2"}
    assert len({(row.question, row.rule) for row in of}) == len(of)


def test_an_arm_that_is_not_there_is_told_and_not_replaced(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path)
    why = "no-such-package not installed: pip install weights"
    assert [cell.unavailable for cell in run.cells if cell.arm == "no-such-weights"] == [why, why]
    table = report_record(run)["tables"][0]
    assert table["unavailable"] == {"no-such-weights": why}
    assert all(list(part["arms"]) == ["toy_suite:Near", "toy_suite:Far"] for part in table["parts"])


def test_a_second_run_asks_nothing_and_reports_the_same(toy_suite: Suite, tmp_path: Path) -> None:
    first = report_record(run_suite(toy_suite, tmp_path))
    asked.clear()
    again = run_suite(toy_suite, tmp_path)
    assert asked == {}
    assert report_record(again) == first
    assert report_record(read_run(tmp_path)) == first
    assert all(cell.cpu_s is not None for cell in again.cells if not cell.unavailable)
    assert first["tables"][0]["arm_counts"] == {"toy_suite:Far": {"items, farthest first": 14}}  # over both seeds


def test_a_run_that_was_stopped_goes_on_where_it_was(
    toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = report_record(run_suite(toy_suite, tmp_path / "whole"))
    write = running.write_rows

    def killed_at_the_third(rows, path: Path) -> None:
        if len(list((tmp_path / "cut").rglob("*.csv.gz"))) == 2:
            path.with_suffix(path.suffix + ".part").write_bytes(b"half of the ro")
            raise KeyboardInterrupt
        write(rows, path)

    monkeypatch.setattr(running, "write_rows", killed_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        run_suite(toy_suite, tmp_path / "cut")
    with pytest.raises(ArtifactError, match=r"Run the suite with this folder first\."):
        read_run(tmp_path / "cut")
    monkeypatch.setattr(running, "write_rows", write)
    asked.clear()
    assert report_record(run_suite(toy_suite, tmp_path / "cut")) == whole
    assert asked == {"near": QUESTIONS, "far": QUESTIONS}
    assert not list((tmp_path / "cut").rglob("*.part"))


def test_rows_never_lie_beside_what_other_rows_rest_on(
    toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(told: object, file: Path) -> None:
        raise KeyboardInterrupt

    before = report_record(run_suite(toy_suite, tmp_path))
    with monkeypatch.context() as patch:
        changed_task(patch, most=5)
        patch.setattr(running, "_write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            run_suite(toy_suite, tmp_path)  # rows of another task are written, what they rest on is not
    asked.clear()
    assert report_record(run_suite(toy_suite, tmp_path)) == before
    assert asked == {"near": QUESTIONS}


def test_an_arm_whose_source_changed_is_asked_again(toy_suite: Suite, tmp_path: Path) -> None:
    source = tmp_path / "changing_arm.py"
    sys.path.insert(0, str(tmp_path))
    try:
        for times, note in enumerate(("# one\n", "# another\n"), 1):
            source.write_text(f"{note}from toy_suite import Near as Arm\n", encoding="utf-8")
            run_suite(toy_suite, tmp_path / "run", only_arms=["changing_arm:Arm"])
            run_suite(toy_suite, tmp_path / "run", only_arms=["changing_arm:Arm"])
            assert asked == {"near": 2 * QUESTIONS * times}
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("changing_arm", None)


@pytest.mark.parametrize("told", [{"most": 8}, {"most": 5}])
def test_a_changed_task_asks_again(
    toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, int]
) -> None:
    run_suite(toy_suite, tmp_path)
    asked.clear()
    changed_task(monkeypatch, **told)
    run = run_suite(toy_suite, tmp_path)
    assert asked == {"near": 2 * told["most"], "far": 2 * told["most"]}
    assert {len(cell.rows) for cell in run.cells if not cell.unavailable} == {2 * told["most"]}


def test_the_fingerprint_of_a_task_sees_every_part_of_it() -> None:
    task = toy_task(Request("toy/plain", "", 1))
    question, item = task.questions[0], task.items[0]
    others = [
        replace(task, items=(replace(item, frequencies={"EX:0": 0.5}), *task.items[1:])),
        replace(task, items=(replace(item, excluded=("EX:9",)), *task.items[1:])),
        replace(task, items=(replace(item, text="words"), *task.items[1:])),
        replace(task, questions=(replace(question, gold=("k1",)), *task.questions[1:])),
        replace(task, questions=(replace(question, without=("k3",)), *task.questions[1:])),
        replace(task, questions=(replace(question, cluster="z"), *task.questions[1:])),
        replace(task, questions=(replace(question, slices=("z",)), *task.questions[1:])),
        replace(task, questions=task.questions[1:]),
        replace(task, rules={}),
    ]
    marks = [task_fingerprint(one) for one in (task, *others)]
    assert len(set(marks)) == len(marks)
    assert task_fingerprint(toy_task(Request("toy/plain", "", 1))) == marks[0]


def test_a_block_of_queries_changes_no_row(toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_suite(toy_suite, tmp_path / "wide")
    monkeypatch.setattr(running, "_BLOCK", 2)
    run_suite(toy_suite, tmp_path / "narrow")
    files = sorted(p.relative_to(tmp_path / "wide") for p in (tmp_path / "wide").rglob("*.csv.gz"))
    assert len(files) == 4
    for file in files:
        assert (tmp_path / "wide" / file).read_bytes() == (tmp_path / "narrow" / file).read_bytes()


def test_quick_runs_the_first_seed(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path, quick=True)
    assert {cell.seed for cell in run.cells} == {1}
    assert read_run(tmp_path).quick
    few = run_suite(toy_suite, tmp_path / "few", quick=True, most=4)
    assert all(len({row.question for row in cell.rows}) == 4 for cell in few.cells if not cell.unavailable)
    whole = run_suite(toy_suite, tmp_path / "whole", most=4)
    assert all(len({row.question for row in cell.rows}) == QUESTIONS for cell in whole.cells if not cell.unavailable)


def test_a_quick_run_leaves_the_slow_arms_out_and_says_so(toy_suite: Suite, tmp_path: Path) -> None:
    slow = replace(toy_suite, slow=("toy_suite:Far",))
    run = run_suite(slow, tmp_path / "quick", quick=True)
    assert asked == {"near": QUESTIONS}
    assert report_record(run)["tables"][0]["unavailable"]["toy_suite:Far"].startswith("left out of quick runs")
    run_suite(slow, tmp_path / "named", quick=True, only_arms=["toy_suite:Far"])
    assert asked == {"near": QUESTIONS, "far": QUESTIONS}
    asked.clear()
    run_suite(slow, tmp_path / "whole")
    assert asked == {"near": 2 * QUESTIONS, "far": 2 * QUESTIONS}


def test_an_arm_that_is_to_be_left_out_is_not_asked_and_told(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path, without=["toy_suite:Far"])
    assert "far" not in asked and "near" in asked
    assert report_record(run)["tables"][0]["unavailable"]["toy_suite:Far"] == "left out as asked"
    with pytest.raises(QueryError, match="none of this run"):
        run_suite(toy_suite, tmp_path, without=["toy_suite:Fra"])


def test_only_the_arms_and_tasks_named_are_run(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path, only_arms=["toy_suite:Far"], only_tasks=["toy/plain"])
    assert {cell.arm for cell in run.cells} == {"toy_suite:Far"}
    record = report_record(run)
    assert record["tables"][0]["families"] == []  # our arm was not asked
    with pytest.raises(QueryError, match="there is no such arm"):
        run_suite(toy_suite, tmp_path, only_arms=["fra"])
    with pytest.raises(QueryError, match="there is no such task"):
        run_suite(toy_suite, tmp_path, only_tasks=["toy/plane"])


def test_a_model_named_for_a_run_reaches_the_arms_that_use_one(
    toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, str]] = []

    class Encoding(toy_suite_arms.Near):
        def __init__(self, setting: Setting) -> None:
            super().__init__(setting)
            given.append(dict(setting.models))

    monkeypatch.setattr(toy_suite_arms, "Encoding", Encoding, raising=False)
    entry = arms.Entry("encoding", "toy_suite:Encoding", "encodes", models={"embedding": str(tmp_path)})
    monkeypatch.setattr(arms, "ARMS", (*arms.ARMS, entry))
    monkeypatch.setattr(arms, "missing_model", lambda model: "" if Path(model).is_dir() else f"no weights of {model}")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_text(name, encoding="utf-8")
        models = {"embedding": str(tmp_path / name)}
        run = run_suite(toy_suite, tmp_path / "run", only_arms=["encoding"], models=models)
        assert set(map(str, given)) == {str(models)}
        words = report_record(run)["tables"][0]["words"]
        assert words == f"A toy task. Models named for this run: embedding {name}."
        assert asked == {"near": 2 * QUESTIONS}
        asked.clear()
        given.clear()
    lacking = run_suite(toy_suite, tmp_path / "run", only_arms=["encoding"], models={"embedding": "nobody/nothing"})
    assert {cell.unavailable for cell in lacking.cells} == {"no weights of nobody/nothing"}
    with pytest.raises(QueryError, match="model reranker: no arm of this run has that use for one"):
        run_suite(toy_suite, tmp_path / "run", only_arms=["encoding"], models={"reranker": "x"})


def test_everything_is_looked_at_before_anything_is_asked(
    toy_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> None:
        raise DataMissing("the file", "it is not there", "Bring it.")

    monkeypatch.setitem(tasks.ENTRIES, "toy/gone", Entry("toy/gone", "Gone.", (), toy_task, check=absent))
    gone = replace(toy_suite.tables[0], task="toy/gone")
    told: list[str] = []
    both = replace(toy_suite, tables=(toy_suite.tables[0], gone))
    run = run_suite(both, tmp_path / "both", progress=told.append)
    assert list(run.skipped) == ["toy/gone"]
    assert "Bring it." in report_record(run)["skipped"]["toy/gone"]
    asked.clear()
    with pytest.raises(DataMissing, match="it is not there"):
        run_suite(replace(toy_suite, tables=(gone,)), tmp_path / "gone")
    with pytest.raises(QueryError):
        run_suite(replace(toy_suite, others=("nobody",)), tmp_path / "nobody")
    with pytest.raises(QueryError, match="cannot be imported"):
        run_suite(replace(toy_suite, others=("toy_suite:Nobody",)), tmp_path / "nobody")
    assert asked == {}
    assert told[:2] == ["toy/plain seed 1: reading", "toy/plain seed 1: toy_suite:Near"]


@pytest.mark.parametrize("damage", [b"", b"not gzip", None])
def test_a_damaged_file_is_refused_and_named(toy_suite: Suite, tmp_path: Path, damage: bytes | None) -> None:
    run_suite(toy_suite, tmp_path)
    file = tmp_path / "toy-plain-1" / "toy_suite-Near.csv.gz"
    file.write_bytes(file.read_bytes()[:-9] if damage is None else damage)
    with pytest.raises(ArtifactError, match=r"toy_suite-Near\.csv\.gz"):
        read_run(tmp_path)


@pytest.mark.parametrize("damage", ["", "{}", "[]", '{"rests": 1}'])
def test_a_damaged_account_of_what_rows_rest_on_is_refused(toy_suite: Suite, tmp_path: Path, damage: str) -> None:
    run_suite(toy_suite, tmp_path)
    (tmp_path / "toy-plain-1" / "toy_suite-Near.json").write_text(damage, encoding="utf-8")
    for again in (lambda: run_suite(toy_suite, tmp_path), lambda: read_run(tmp_path)):
        with pytest.raises(ArtifactError, match=r"rows toy_suite-Near\.json: .* Remove the file"):
            again()


HASHES = """
import json, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
import toy_suite
from sma_gpu.bench.report import report_record
from sma_gpu.bench.running import task_fingerprint
from sma_gpu.bench import running, suites, tasks
from sma_gpu.bench.tasks import registry
from sma_gpu.bench.tasks.entry import Entry
registry.ENTRIES["toy/plain"] = Entry("toy/plain", "A toy task.", (), toy_suite.toy_task, seeds=(1, 2))
suites._FOLDER = Path({folder!r})
of = suites.suite("toy")
run = running.run_suite(of, Path(sys.argv[1]), only_arms=[of.ours, *of.controls])
print(json.dumps(report_record(run)))
"""


def test_rows_and_report_are_the_same_bytes_under_another_hash_seed(toy_suite: Suite, tmp_path: Path) -> None:
    code = HASHES.format(tests=str(REPOSITORY / "tests"), folder=str(tmp_path / "prereg"))
    told, rows = [], []
    for seed in ("1", "2"):
        place = tmp_path / seed
        done = subprocess.run(
            [sys.executable, "-c", code, str(place)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, check=True,
        )  # fmt: skip
        told.append(done.stdout)
        rows.append({p.relative_to(place): p.read_bytes() for p in sorted(place.rglob("*.csv.gz"))})
    assert told[0] == told[1]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 4
    assert json.loads(told[0])["tables"][0]["items"] == 7
