"""Trust is evaluated on folds that nothing was fitted to, beside arms that were asked the very same questions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trust_toy as toy

from sma_gpu.bench.arms import registry as arms
from sma_gpu.bench.figures import Sample
from sma_gpu.bench.metrics import Places, aurc
from sma_gpu.bench.tasks import registry as tasks
from sma_gpu.bench.trust.abstention import conformal_splits, rules_held_out
from sma_gpu.bench.trust.asking import Asked, ask_task, without
from sma_gpu.bench.trust.confidence import chance_of_ece, fit_ours, plain
from sma_gpu.bench.trust.fits import Confidence, fit_newness, stepped, why_not_fitted
from sma_gpu.bench.trust.novelty import AS_ASKED, EVEN, called_new, knows_what_is_new
from sma_gpu.bench.trust.order import order_of_answers
from sma_gpu.bench.trust.plan import TARGETS, plan, read_plan
from sma_gpu.bench.trust.record import trust_record
from sma_gpu.bench.trust.text import trust_text
from sma_gpu.bench.trust.verdicts import MET, MISSED, UNDEFINED, verdicts
from sma_gpu.cli.main import main
from sma_gpu.errors import DataMissing, QueryError, ShapeError
from sma_gpu.trust import resampling

DRAWS = 500  # of a bootstrap, so that tests are quick
PLAN = toy.plan()
TASK = PLAN.tasks[0]


@pytest.fixture(scope="module", autouse=True)
def _toy() -> Iterator[None]:
    lacking = arms.Entry("no-such-weights", "trust_toy:Nothing", "lacks", ("no-such-package",), "pip install weights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "DRAWS", DRAWS)
        patch.setattr(arms, "ARMS", (*arms.ARMS, lacking))
        patch.setitem(tasks.ENTRIES, "toy/trust", toy.ENTRY)
        away = replace(toy.ENTRY, name="toy/not-here", check=_away)
        patch.setitem(tasks.ENTRIES, "toy/not-here", away)
        yield


def _away() -> None:
    raise DataMissing("toy", "it is not here", "Bring it.")


@pytest.fixture(scope="module")
def asked() -> Asked:
    return ask_task(PLAN, TASK, quick=False, progress=lambda words: None)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return trust_record(PLAN, tmp_path_factory.mktemp("rows"), quick=True)


def _outcomes_turned(asked: Asked, inside: np.ndarray) -> Asked:
    right = asked.right.copy()
    right[inside] = False
    right[inside, 0] = ~asked.right[inside, 0] & asked.signals.held[inside, 0]
    return replace(asked, right=right)


def test_every_question_is_asked_as_it_is_and_without_its_answer(asked: Asked) -> None:
    assert len(asked) == 80 and (~asked.known).sum() == 12
    assert asked.questions[:2] == ("1:q00", "1:q01") and asked.questions[-1] == "2:q39"
    # Without its right answer the first hit explains no more, and of a novel question nothing changes.
    assert (asked.hidden_scores.raw <= asked.scores.raw).all()
    first_right = asked.right[:, 0]
    assert (asked.hidden.of_hits[first_right, 0] != asked.signals.of_hits[first_right, 0, :8]).any(axis=1).all()
    novel = ~asked.known
    assert np.array_equal(
        asked.hidden.of_hits[novel], without(asked.signals, "not_separable", "first_share").of_hits[novel]
    )
    assert not asked.right[novel].any()


def test_groups_are_joined_where_questions_state_the_same(asked: Asked) -> None:
    assert {"g00", "g01"} <= set(asked.groups) | {"g00", "g01"}
    by_question = dict(zip(asked.questions, asked.groups, strict=True))
    assert by_question["1:q00"] == by_question["1:q01"]
    assert asked.answers != asked.groups


def test_confidence_of_a_fold_hangs_on_nothing_in_it(asked: Asked) -> None:
    ours, fold = fit_ours(PLAN, asked)
    turned, again = fit_ours(PLAN, _outcomes_turned(asked, fold == 1))
    assert np.array_equal(fold, again)
    assert np.array_equal(ours.chances[fold == 1], turned.chances[fold == 1])
    assert not np.array_equal(ours.chances[fold != 1], turned.chances[fold != 1])
    right = asked.right[:, 0]
    moved = np.where(fold == 1, ~right, right)
    assert np.array_equal(stepped(ours, right, fold)[fold == 1], stepped(turned, moved, fold)[fold == 1])


def test_a_threshold_of_a_fold_comes_from_models_that_saw_nothing_of_it(asked: Asked) -> None:
    ours, fold = fit_ours(PLAN, asked)
    said = np.where(asked.right[:, 0], 0.3, 0.1)
    within = np.where(fold == np.arange(PLAN.folds)[:, None], np.nan, said)
    for stated, answered in ((0.2, 0), (0.3, len(asked))):
        made = Confidence(np.full(ours.chances.shape, stated), within)
        found = rules_held_out(PLAN, asked, made, fold)["youden"]
        assert (found["answered"], found["coverage"]["value"]) == (answered, answered / len(asked))
        assert found["wrong"] == (answered and (~asked.right[:, 0]).sum())


def test_novelty_of_a_fold_hangs_on_nothing_in_it(asked: Asked) -> None:
    _, fold = fit_ours(PLAN, asked)
    novel, hidden = ~asked.known, plain(asked.hidden)
    found = fit_newness(plain(asked.signals), hidden, novel, fold)
    turned = fit_newness(plain(asked.signals), hidden, np.where(fold == 2, ~novel, novel), fold)
    assert found is not None and turned is not None
    held = asked.signals.held[:, 0] & (fold == 2)
    assert np.array_equal(found.as_asked[held], turned.as_asked[held])
    assert np.isnan(found.within[2][:, fold == 2]).all()
    assert not np.isnan(found.within[2][:, fold != 2]).any()


def test_what_is_called_new_in_a_fold_hangs_on_nothing_in_it() -> None:
    is_new, fold = np.arange(30) % 3 == 0, np.arange(30) % 5
    within = np.where(fold == np.arange(5)[:, None], np.nan, np.where(is_new, 0.4, 0.1))
    assert not called_new(np.full(30, 0.3), within, is_new, fold).any()
    assert called_new(np.full(30, 0.4), within, is_new, fold).all()


def test_new_questions_are_told_from_known_ones(asked: Asked) -> None:
    _, fold = fit_ours(PLAN, asked)
    found = knows_what_is_new(PLAN, asked, fold)
    assert (found[AS_ASKED]["samples"], found[AS_ASKED]["new"]) == (80, 12)
    assert (found[EVEN]["samples"], found[EVEN]["new"]) == (80 + 68, 12 + 68)
    for told in found.values():
        assert told["by"]["calibrated"]["auroc"] > 0.6
        assert told["by"]["with generalisations"] != told["by"]["calibrated"]
        change = told["against"]["auroc over raw"]
        assert change["difference"] == pytest.approx(told["by"]["calibrated"]["auroc"] - told["by"]["raw"]["auroc"])
        assert change["low"] <= change["difference"] <= change["high"]
    share = found[EVEN]["everything_new"]
    assert share["f1"] == pytest.approx(2 * share["aupr"] / (1 + share["aupr"]))


def test_an_arm_is_ordered_by_what_serves_it_better(asked: Asked) -> None:
    known = np.flatnonzero(asked.known)
    names = tuple(asked.questions[at] for at in known.tolist())
    right = asked.right[known, 0]
    places = Places(right.astype(np.int64), right.astype(np.int64), right.astype(np.int64))
    everything = np.ones(len(known), np.bool_)
    good, bad = right.astype(np.float64), 1.0 - right
    clusters = tuple(asked.clusters[at] for at in known.tolist())

    def sample(score: np.ndarray, confidence: np.ndarray) -> Sample:
        return Sample(names, clusters, places, everything, ~everything, score, confidence, 1 - confidence)

    of = replace(PLAN, rivals=("by-score", "by-confidence"), variants=())
    ours, _ = fit_ours(PLAN, asked)
    nothing = np.full(len(known), np.nan)
    samples = {"structural": sample(bad, bad), "by-score": sample(good, bad), "by-confidence": sample(nothing, good)}
    part = order_of_answers(of, asked, samples, ours)["measures"]["top1"]
    assert [part["arms"][name]["by"] for name in ("by-score", "by-confidence")] == ["score", "confidence"]
    assert part["arms"]["by-score"]["excess"] == 0 < part["ours"]["calibrated"]["excess"]
    assert part["ours"]["calibrated"]["aurc"] == aurc(ours.first[known], good)
    assert part["ours"]["explained"]["aurc"] == aurc(bad, good)
    assert part["best"] == {"rival": "by-confidence", "rival_by_excess": "by-confidence", "arm": "by-confidence"}
    assert part["against"]["rival"]["difference"] == pytest.approx(part["ours"]["calibrated"]["excess"])
    other = replace(samples["by-score"], questions=names[::-1])
    with pytest.raises(ShapeError, match="other questions"):
        order_of_answers(of, asked, {**samples, "by-score": other}, ours)
    fewer = {name: replace(one, questions=("2:q99", *names[1:])) for name, one in samples.items()}
    with pytest.raises(ShapeError, match="other questions"):
        order_of_answers(of, asked, fewer, ours)


def test_an_error_that_chance_explains_is_told_from_one_that_it_does_not() -> None:
    generator = np.random.default_rng(0)
    confidence = generator.random(400)
    assert chance_of_ece(confidence, 0.0, 1) == 1.0
    assert chance_of_ece(confidence, 0.2, 1) < 0.01
    assert 0.05 < chance_of_ece(confidence, 0.035, 1) < 0.95


def test_conformal_risk_is_looked_at_on_splits_by_groups(asked: Asked) -> None:
    found = conformal_splits(PLAN, asked)
    assert list(found) == ["0.2", "0.4"]
    for level, one in found.items():
        assert one["splits"] == 6 and one["groups"] == len(set(asked.groups))
        assert one["mean_loss"] <= float(level) + 3 * one["standard_error"]
    assert found["0.2"]["coverage"] < found["0.4"]["coverage"]
    # Where nothing is right everything that is answered is lost, so hardly anything is.
    hopeless = conformal_splits(PLAN, replace(asked, right=np.zeros_like(asked.right)))
    assert (
        hopeless["0.2"]["coverage"] < 0.3
        and hopeless["0.2"]["mean_loss"] <= 0.2 + 3 * hopeless["0.2"]["standard_error"]
    )


@pytest.mark.parametrize(
    ("right", "groups", "why"),
    [
        ([True, False] * 5, "ab" * 5, "fewer than 20"),
        ([True, False] * 10, "ab" * 10, "2 groups are fewer than 3 folds"),
        ([True] * 21, "abc" * 7, "right in all 21"),
        ([False] * 21, "abc" * 7, "wrong in all 21"),
        ([True, False, True] * 7, "abc" * 7, ""),
    ],
)
def test_what_cannot_be_fitted_says_why(right: list[bool], groups: str, why: str) -> None:
    found = why_not_fitted(np.array(right), list(groups), 3)
    assert why in found and bool(why) == bool(found)


def test_the_record_holds_every_target_and_who_was_left_out(record: dict) -> None:
    assert record["skipped"].keys() == {"toy/not-here"}
    (task,) = record["tasks"]
    assert (task["questions"], task["novel"], task["seeds"], task["items"]) == (80, 12, [1, 2], 24)
    assert [one["target"] for one in task["verdicts"]] == list(TARGETS)
    assert task["unavailable"].keys() == {"no-such-weights"}
    assert set(task["order"]["measures"]["top1"]["arms"]) == {"jaccard", "phenomizer", "random", "structural-sized"}
    # Arms were asked fewer questions than ours; their order is of these alone.
    assert 0 < task["order"]["questions"] < 60 and task["calibration"]["first"]["n"] == 80
    assert sum(one["questions"] for one in task["calibration"]["first"]["bins"]) == 80
    assert task["verdicts"][3]["published"] == 0.7
    assert set(task["parts"]) == {"stability", "generalisations", "isotonic"}
    json.dumps(record, allow_nan=False)


def test_verdicts_treat_a_target_missed_as_one_met(record: dict) -> None:
    task = json.loads(json.dumps(record["tasks"][0]))
    part = task["order"]["measures"]["top1"]
    part["best"]["rival"] = "jaccard"
    for ours, theirs, low, high, verdict, apart in (
        (0.1, 0.2, -0.2, -0.05, MET, True),
        (0.1, 0.2, -0.2, 0.05, MET, False),
        (0.2, 0.1, -0.05, 0.2, MISSED, False),
        (0.2, 0.1, 0.05, 0.2, MISSED, True),
    ):
        part["ours"]["calibrated"]["aurc"], part["arms"]["jaccard"]["aurc"] = ours, theirs
        part["against"]["rival"] |= {"low": low, "high": high}
        found = verdicts(PLAN, task, {})[0]
        assert (found["verdict"], found["told_apart"], found["ours"], found["border"]) == (verdict, apart, ours, theirs)
    for loss, error, verdict, apart in (
        (0.1, 0.01, MET, True), (0.21, 0.01, MET, False), (0.19, 0.01, MET, False), (0.25, 0.01, MISSED, True),
    ):  # fmt: skip
        task["conformal"] = {
            "0.2": {"mean_loss": loss, "standard_error": error},
            "0.4": {"mean_loss": 0.1, "standard_error": 0.01},
        }
        found = verdicts(PLAN, task, {})[5]
        assert (found["verdict"], found["told_apart"], found["border"]) == (verdict, apart, 0.2)
    for ece, chance, p, verdict, apart in (
        (0.04, 0.03, 0.5, MET, True), (0.04, 0.06, 0.9, MET, False), (0.06, 0.06, 0.5, MISSED, False),
        (0.06, 0.03, 0.01, MISSED, True),
    ):  # fmt: skip
        task["calibration"]["first"] |= {"ece": ece, "ece_by_chance": chance, "ece_p": p}
        found = verdicts(PLAN, task, {})[2]
        assert (found["verdict"], found["told_apart"]) == (verdict, apart)
    task["novelty"] = {AS_ASKED: None, EVEN: None}
    assert [one["verdict"] for one in verdicts(PLAN, task, {})[3:5]] == [UNDEFINED, UNDEFINED]
    task["not_fitted"] = "too few"
    assert {one["verdict"] for one in verdicts(PLAN, task, {})} == {UNDEFINED}


def test_the_text_says_where_it_falls_short(record: dict) -> None:
    changed = json.loads(json.dumps(record))
    task = changed["tasks"][0]
    task["verdicts"][2] |= {
        "verdict": MISSED,
        "told_apart": True,
        "ours": 0.123,
        "border": 0.05,
        "beside": "by chance 0.030",
    }
    task["novelty"][AS_ASKED]["against"]["auroc over chance"]["low"] = -0.01
    text = trust_text(changed)
    assert "- toy/trust: ECE 0.123 against 0.050 (by chance 0.030)\n" in text
    assert "- toy/trust: novelty does not tell new from known (as asked)" in text
    assert "Not run: toy/not-here: " in text
    assert "\n    sma-gpu bench trust --quick toy/trust\n" in text
    assert "Not asked: no-such-weights: " in text


def test_the_record_is_of_the_same_bytes_under_another_hash_seed(record: dict, tmp_path: Path) -> None:
    code = f"""
import json, sys
from dataclasses import replace
from pathlib import Path
import trust_toy as toy
from sma_gpu.bench.arms import registry as arms
from sma_gpu.bench.tasks import registry as tasks
from sma_gpu.bench.trust.record import trust_record
from sma_gpu.trust import resampling
resampling.DRAWS = {DRAWS}
lacking = arms.Entry("no-such-weights", "trust_toy:Nothing", "lacks", ("no-such-package",), "pip install weights")
arms.ARMS = (*arms.ARMS, lacking)
tasks.ENTRIES["toy/trust"] = toy.ENTRY
plan = replace(toy.plan(), tasks=toy.plan().tasks[:1])
print(json.dumps(trust_record(plan, Path(sys.argv[1]), quick=True)))
"""
    folder = str(Path(toy.__file__).parent)
    paths = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH", "")])])
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": paths},
    )  # fmt: skip
    assert json.dumps(json.loads(done.stdout)["tasks"]) == json.dumps(record["tasks"])


def test_the_plan_of_the_package_names_what_there_is() -> None:
    of = plan()
    assert of.rules == ("youden", "risk=0.1", "risk=0.2", "conformal=0.1", "conformal=0.2")
    for name in (of.ours, *of.rivals, *of.variants):
        assert arms.find(name).name == name
    assert set(of.slow) <= set(of.rivals)
    for task in of.tasks:
        for name in task.of:
            assert tasks.entry(name).name == name and task.draws(name)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [("splits = 6\n", "", "it lacks 'splits'"), ('ece = "below', 'other = "below', "is no target, or is not there")],
)
def test_a_plan_that_does_not_say_what_it_must_is_refused(old: str, new: str, why: str) -> None:
    assert old in toy.PLAN
    with pytest.raises(QueryError, match=why):
        read_plan(toy.PLAN.replace(old, new))


def test_an_unknown_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="no such task is in the plan"):
        trust_record(PLAN, tmp_path, quick=True, only=["toy/other"])
    with pytest.raises(DataMissing, match="it is not here"):
        trust_record(PLAN, tmp_path, quick=True, only=["toy/not-here"])


def test_the_command_gives_the_record(
    record: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = {}

    def made(of: object, folder: Path, *, quick: bool, only: list[str], progress: object) -> dict:
        seen.update(of=of, folder=folder, quick=quick, only=only)
        return record

    monkeypatch.setattr("sma_gpu.bench.trust.record.trust_record", made)
    assert main(["bench", "trust", "toy", "--quick", "--folder", str(tmp_path)]) == 0
    assert seen == {"of": plan(), "folder": tmp_path, "quick": True, "only": ["toy"]}
    assert capsys.readouterr().out == trust_text(record)
    assert main(["bench", "trust", "--json"]) == 0
    assert (seen["folder"], seen["quick"], seen["only"]) == (Path("bench-runs", "trust"), False, [])
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(record))
