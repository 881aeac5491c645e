"""Rows out of rankings, their file, and figures out of rows."""

from dataclasses import replace

import numpy as np
import pytest

from sma_gpu import IndexItem, mount, ontology_from_parents
from sma_gpu.bench.arms.arm import Ranking, Setting
from sma_gpu.bench.figures import Sample, compare_family, figures, strongest
from sma_gpu.bench.report_text import report_text
from sma_gpu.bench.rows import Row, read_rows, rows_of, write_rows
from sma_gpu.bench.tasks.task import Question, Task
from sma_gpu.errors import ArtifactError, ShapeError
from sma_gpu.memory import Query

KEYS = ("a", "b", "c", "d", "e")


def task_of(*golds, rules=None):
    setting = Setting(mount(ontology_from_parents({"EX:1": []})))
    items = tuple(IndexItem(key, ["EX:1"]) for key in KEYS)
    questions = tuple(
        Question(f"q{n}", Query(["EX:1"]), gold, cluster=f"c{n % 2}", slices=("tail",) if n == 0 else ())
        for n, gold in enumerate(golds)
    )
    return Task("toy/plain", "a toy", setting, items, questions, rules or {})


def ranking_of(items, scores, tail=None, confidence=None, novelty=None):
    count = len(items)
    fill = lambda given: np.full(count, np.nan) if given is None else np.array(given, float)  # noqa: E731
    return Ranking(
        np.array(items, np.int64), np.array(scores, float),
        np.zeros(count, np.int64) if tail is None else np.array(tail, np.int64), fill(confidence), fill(novelty),
    )  # fmt: skip


def placed(row):
    return row.first, row.tied, row.right, row.cut


def test_a_right_item_stands_where_its_run_of_equals_begins():
    ranking = ranking_of([[2, 0, 1, 3], [2, 0, 1, 3]], [[9, 5, 5, 1]] * 2)
    first, second = rows_of(task_of(("b",), ("c",)), ranking)
    assert placed(first) == (2, 2, 1, False)
    assert placed(second) == (1, 1, 1, False)
    assert (first.question, first.cluster, first.slices, first.known, first.rule) == (
        "q0",
        "c0",
        "tail",
        True,
        "strict",
    )


def test_several_right_items_in_one_run_are_counted():
    row = rows_of(task_of(("a", "b", "e")), ranking_of([[0, 1, 2, 3]], [[5, 5, 5, 1]]))[0]
    assert placed(row) == (1, 3, 2, False)


def test_what_is_not_among_the_places_is_not_found_and_a_cut_run_says_so():
    lost = rows_of(task_of(("e",)), ranking_of([[0, 1]], [[5, 1]]))[0]
    assert placed(lost) == (0, 0, 0, False)
    cut = rows_of(task_of(("e",)), ranking_of([[0, 1]], [[5, 1]], tail=[2]))[0]
    assert placed(cut) == (0, 0, 0, True)
    within = rows_of(task_of(("b",)), ranking_of([[0, 1]], [[5, 1]], tail=[2]))[0]
    assert placed(within) == (2, 3, 1, True)
    unknown = rows_of(task_of(("b",)), ranking_of([[0, 1]], [[5, 1]], tail=[-1]))[0]
    assert placed(unknown) == (2, 1, 1, True)
    before_the_cut = rows_of(task_of(("a",)), ranking_of([[0, 1]], [[5, 1]], tail=[2]))[0]
    assert placed(before_the_cut) == (1, 1, 1, False)


def test_fewer_hits_than_places_are_not_cut():
    row = rows_of(task_of(("e",)), ranking_of([[0, -1]], [[5, np.nan]], tail=[-1]))[0]
    assert placed(row) == (0, 0, 0, False)


def test_a_question_without_a_right_item_is_novel():
    row = rows_of(task_of(()), ranking_of([[0, 1]], [[5, 1]], novelty=[0.7]))[0]
    assert not row.known
    assert row.novelty == 0.7


def test_under_a_rule_a_group_takes_the_place_of_its_best_member_and_those_left_out_take_none():
    rules = {"merged": {"a": "ab", "b": "ab", "c": "c", "e": "e"}}  # d is left out
    ranking = ranking_of([[3, 0, 1, 2, 4]], [[9, 8, 7, 6, 6]])
    strict, merged = rows_of(task_of(("b",), rules=rules), ranking)
    assert placed(strict) == (3, 1, 1, False)
    assert placed(merged) == (1, 1, 1, False)
    tail = rows_of(task_of(("e",), rules=rules), ranking)[1]
    assert placed(tail) == (2, 2, 1, False)
    left_out = rows_of(task_of(("d",), rules=rules), ranking)[1]
    assert not left_out.known


def test_rows_are_written_and_read_as_they_are_and_in_the_same_bytes(tmp_path):
    rows = rows_of(
        task_of(("b",), ()), ranking_of([[0, 1]] * 2, [[5, 1]] * 2, confidence=[0.1 + 0.2, 1], novelty=[np.nan, 0])
    )
    first, second = tmp_path / "a.csv.gz", tmp_path / "b.csv.gz"
    write_rows(rows, first)
    write_rows(rows, second)
    assert first.read_bytes() == second.read_bytes()
    assert repr(read_rows(first)) == repr(rows)  # by repr, since NaN is not equal to itself


def test_folds_are_cut_by_what_a_question_names_and_else_by_its_cluster(tmp_path):
    task = task_of(("a",), ("b",))
    named = replace(task.questions[1], group="PMID:1")
    rows = rows_of(replace(task, questions=(task.questions[0], named)), ranking_of([[0, 1]] * 2, [[5, 1]] * 2))
    assert [(one.cluster, one.group) for one in rows] == [("c0", "c0"), ("c1", "PMID:1")]
    write_rows(rows, tmp_path / "a.csv.gz")
    assert [one.group for one in read_rows(tmp_path / "a.csv.gz")] == ["c0", "PMID:1"]


def test_a_cut_or_foreign_file_of_rows_is_refused(tmp_path):
    path = tmp_path / "a.csv.gz"
    write_rows([], path)
    whole = path.read_bytes()
    for damage in (whole[:-9], b"question,rank\n", b""):
        path.write_bytes(damage)
        with pytest.raises(ArtifactError, match=r"a\.csv\.gz"):
            read_rows(path)
    with pytest.raises(ArtifactError):
        read_rows(tmp_path / "missing.csv.gz")


def row(question, first, *, tied=1, known=True, cluster="", confidence=np.nan, novelty=np.nan):
    cluster = cluster or question
    return Row(question, cluster, cluster, "", known, "strict", first, tied, 1, False, np.nan, confidence, novelty)


def test_figures_are_those_of_the_answerable_questions():
    rows = [
        row("q1", 1, cluster="x", confidence=0.9),
        row("q2", 2, tied=2, cluster="x", confidence=0.5),
        row("q3", 0, cluster="y", confidence=0.1),
        row("q4", 0, known=False, novelty=1.0),
    ]
    found = figures(Sample.of(rows, "strict"))
    assert (found["questions"], found["answerable"], found["clusters"]) == (4, 3, 2)
    assert found["top1"] == pytest.approx(1 / 3)
    assert found["top5"] == pytest.approx(2 / 3)
    assert found["mrr"] == pytest.approx((1 + (1 / 2 + 1 / 3) / 2) / 3)
    assert found["macro_top5"] == pytest.approx((1 + 0) / 2)
    assert found["ties"]["pessimistic"]["mrr"] == pytest.approx((1 + 1 / 3) / 3)
    assert found["aurc_top5"] == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert found["aurc_top1"] == pytest.approx((0 + 1 / 2 + 2 / 3) / 3)


def test_an_arm_without_confidence_or_novelty_has_none_in_its_figures():
    found = figures(Sample.of([row("q1", 1), row("q2", 0, known=False)], "strict"))
    assert found["aurc_top1"] is None
    assert found["novelty"] is None


def test_novelty_is_judged_on_the_half_that_did_not_choose_the_threshold():
    generator = np.random.default_rng(0)
    rows = [
        row(f"q{n}", 0 if novel else 1, known=not novel, novelty=float(generator.random() * 0.5 + 0.5 * novel))
        for n, novel in enumerate([True, False, False] * 20)
    ]
    found = figures(Sample.of(rows, "strict"))["novelty"]
    assert found["auroc"] == 1.0
    assert found["aupr"] == 1.0
    assert found["f1"] > 0.9
    assert 0.3 < found["f1_everything_novel"] < 0.7
    assert figures(Sample.of(rows, "strict"), novelty=False)["novelty"] is None


def samples_of(**firsts):
    return {name: Sample.of([row(f"q{n}", f) for n, f in enumerate(found)], "strict") for name, found in firsts.items()}


def test_a_family_is_corrected_as_a_whole_and_its_differences_are_those_of_the_means():
    samples = samples_of(ours=[1] * 30 + [0] * 10, weak=[0] * 30 + [1] * 10, same=[1] * 30 + [0] * 10)
    ours = samples.pop("ours")
    found = compare_family(ours, samples, ["top1", "top10"], seed=3)
    assert [(c.other, c.measure) for c in found] == [
        ("weak", "top1"), ("weak", "top10"), ("same", "top1"), ("same", "top10"),
    ]  # fmt: skip
    for comparison in found:
        assert comparison.interval.difference == pytest.approx(comparison.ours - comparison.theirs)
    assert found[0].corrected_p > found[0].interval.p
    assert (found[0].wins, found[0].ties, found[0].losses) == (30, 0, 10)
    assert (found[2].interval.difference, found[2].corrected_p, found[2].delta) == (0.0, 1.0, 0.0)
    assert strongest(samples, "top1") == "same"


def test_arms_that_answered_other_questions_are_not_compared():
    ours = Sample.of([row("q1", 1)], "strict")
    with pytest.raises(ShapeError, match="same questions"):
        compare_family(ours, {"other": Sample.of([row("q2", 1)], "strict")}, ["top1"], seed=0)


def test_printed_differences_are_those_of_the_printed_means():
    comparison = {
        "other": "them", "measure": "top1", "ours": 0.6665, "theirs": 0.3334, "low": 0.1, "high": 0.5, "p": 0.01,
        "corrected_p": 0.0002, "delta": 0.2, "wins": 3, "ties": 1, "losses": 2, "difference": 0.3331,
    }  # fmt: skip
    table = {
        "task": "toy/plain", "words": "a toy", "items": 3, "counts": {}, "seeds": [0], "parts": [],
        "unavailable": {}, "arm_counts": {},
        "rules_missing": [],
        "families": [
            {"rule": "strict", "slice": "", "measures": ["top1"], "strongest": {"top1": "them"},
             "comparisons": [comparison]}
        ],
    }  # fmt: skip
    report = {
        "suite": "toy", "words": "a toy", "quick": False, "ours": "us", "tables": [table], "skipped": {}, "places": 100,
    }  # fmt: skip
    line = next(line for line in report_text(report).splitlines() if line.startswith("| **them**"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    ours, theirs, difference = (float(cell) for cell in cells[2:5])
    assert difference == pytest.approx(ours - theirs, abs=1e-9)
    assert cells[6] == "< .001"
