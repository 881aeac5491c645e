"""Calibrations: what they promise on cases they never saw, the same bytes for any order, and files not trusted."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sma_gpu.errors import ArtifactError, CalibrationError, FingerprintMismatch, QueryError, ShapeError
from sma_gpu.trust.calibration import Calibration, with_first_at
from sma_gpu.trust.calibration_json import canonical_json
from sma_gpu.trust.calibration_parts import RestsOn
from sma_gpu.trust.conditional_logit import Choices
from sma_gpu.trust.cross_fitting import RIDGES, cross_fit
from sma_gpu.trust.fitting import fit
from sma_gpu.trust.folds import grouped_folds
from sma_gpu.trust.signals import HIT_SIGNALS, PLACES, QUERY_SIGNALS, Signals
from sma_gpu.trust.thresholds import conformal

HITS, QUERIES = len(HIT_SIGNALS), len(QUERY_SIGNALS)
SHAS = {"index": "1" * 64, "dials": "2" * 64, "ontology": "3" * 64, "records": "4" * 64, "split": "5" * 64}


class Solved:
    """Solved cases whose chances follow a law that the logit can find, ``bend`` away from it if not 1."""

    def __init__(self, seed: int, count: int, bend: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        held = np.arange(PLACES) < rng.integers(0, 2 * PLACES, count)[:, None]
        explained = np.sort(rng.random((count, PLACES)))[:, ::-1]
        values = np.concatenate([explained[:, :, None], rng.normal(size=(count, PLACES, HITS - 1))], axis=2)
        self.signals = Signals(held, np.where(held[:, :, None], values, 0.0), rng.normal(size=(count, QUERIES)))
        logit = np.where(held, 5 * explained + values[:, :, 1], -np.inf)
        raised = np.exp(logit)
        none = np.exp(4 + self.signals.of_queries[:, 0])
        chance = raised / (none + raised.sum(axis=1))[:, None]
        chance[:, 0] **= bend
        below, drawn = np.cumsum(chance, axis=1), rng.random(count)[:, None]
        self.right = (drawn < below) & (drawn >= below - chance) & held
        self.novel = (rng.random(count) < 0.3) & ~self.right.any(axis=1)
        hidden = np.where(held[:, :, None], values - 0.3 * self.right.any(axis=1)[:, None, None], 0.0)
        self.hidden = Signals(held, hidden, self.signals.of_queries)
        self.groups = [f"g{i}" for i in rng.integers(0, max(count // 3, 8), count).tolist()]

    def fit(self, order: Any = None, **options: Any) -> Calibration:
        order = np.arange(len(self.groups)) if order is None else order
        given = {
            "hidden": self.hidden.take(order),
            "novel": self.novel[order],
            "rests_on": RestsOn(**SHAS),
            "folds": 3,
        } | options
        return fit(self.signals.take(order), self.right[order], [self.groups[i] for i in order.tolist()], **given)


@pytest.fixture(scope="module")
def solved() -> Solved:
    return Solved(1, 200)


@pytest.fixture(scope="module", params=["logistic", "isotonic"])
def calibration(request: pytest.FixtureRequest, solved: Solved) -> Calibration:
    return solved.fit(method=request.param, seed=3)


def test_confidences_hold_on_new_cases_and_so_do_the_held_out_figures() -> None:
    made, new = Solved(5, 1500).fit(), Solved(6, 4000)
    confidence = made.confidence(new.signals)
    assert ((confidence >= 0) & (confidence <= 1)).all() and (confidence.sum(axis=1) <= 1 + 1e-12).all()
    assert (confidence[~new.signals.held] == 0).all()
    for place in range(3):
        low, high = np.quantile(confidence[new.signals.held[:, place], place], [0.3, 0.8])
        for inside in (confidence[:, place] < low, confidence[:, place] > high):
            inside &= new.signals.held[:, place]
            assert confidence[inside, place].mean() == pytest.approx(new.right[inside, place].mean(), abs=0.04)
    first = made.held_out.figures()["first"]
    assert first["n"] == 1500 and first["ece"] < 0.04 and first["auroc"] > first["explained_auroc"]
    on_new = ((confidence[:, 0] - new.right[:, 0]) ** 2).mean()
    assert first["brier"] == pytest.approx(on_new, abs=0.015)


def test_steps_mend_what_no_straight_line_can() -> None:
    bent = Solved(7, 1000, bend=4.0)
    plain, stepped = (bent.fit(method=method).held_out.figures()["first"] for method in ("logistic", "isotonic"))
    assert stepped["ece_equal_mass"] < plain["ece_equal_mass"] and stepped["brier"] < plain["brier"]


def test_what_is_said_of_a_fold_comes_from_models_that_saw_nothing_of_it() -> None:
    made = Solved(8, 120)
    choices = Choices(made.signals.held, made.signals.of_hits, made.signals.of_queries)
    fold = grouped_folds(made.groups, 4, 0)
    found = cross_fit(choices, made.right, fold)
    for one in range(4):
        other_answers = np.where((fold == one)[:, None], np.roll(made.right, 1, axis=1) & choices.held, made.right)
        extreme = np.where((fold == one)[:, None, None], 50.0, choices.of_alternatives)
        turned = cross_fit(choices, other_answers, fold)
        assert turned.held_out[fold == one].tobytes() == found.held_out[fold == one].tobytes()
        assert turned.within[one].tobytes() == found.within[one].tobytes()
        moved = cross_fit(replace(choices, of_alternatives=extreme), made.right, fold)
        assert moved.within[one].tobytes() == found.within[one].tobytes()
        assert np.isnan(found.within[one, fold == one]).all() and not np.isnan(found.within[one, fold != one]).any()
    assert found.model.ridge in RIDGES


def test_noise_is_held_down_harder_than_a_law() -> None:
    rng = np.random.default_rng(9)
    held = np.ones((200, 1), bool)
    noise = Choices(held, rng.normal(size=(200, 1, 8)), np.zeros((200, 0)))
    right = rng.random((200, 1)) < 0.5
    law = replace(noise, of_alternatives=np.where(right[:, :, None], 1.0, -1.0) + 0.5 * noise.of_alternatives)
    fold = np.arange(200) % 5
    assert cross_fit(noise, right, fold).model.ridge == max(RIDGES)
    assert cross_fit(law, right, fold).model.ridge == min(RIDGES)


def test_any_order_of_the_cases_gives_the_same_bytes(solved: Solved, calibration: Calibration) -> None:
    order = np.random.default_rng(4).permutation(200)
    assert solved.fit(order, method=calibration.method, seed=3).to_json() == calibration.to_json()
    assert solved.fit(method=calibration.method, seed=4).to_json() != calibration.to_json()


def test_another_hash_seed_gives_the_same_bytes() -> None:
    line = "import test_calibration as t; print(t.Solved(1, 60).fit().fingerprint)"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    told = subprocess.run(
        [sys.executable, "-c", line], env={"PYTHONHASHSEED": "1", "PYTHONPATH": path}, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert told.strip() == Solved(1, 60).fit().fingerprint


def test_the_batch_changes_no_bit(solved: Solved, calibration: Calibration) -> None:
    whole = calibration.confidence(solved.signals), calibration.novelty(solved.signals)
    for numbers in ([7], [7, 8], list(range(200))[::-1]):
        part = solved.signals.take(np.array(numbers))
        assert calibration.confidence(part).tobytes() == whole[0][numbers].tobytes()
        assert calibration.novelty(part).tobytes() == whole[1][numbers].tobytes()


def test_the_steps_move_the_first_hit_and_leave_the_others_their_shares() -> None:
    chances = np.array([[0.5, 0.3, 0.1], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = with_first_at(np.array([0.8, 0.7, 0.4]), chances)
    assert found == pytest.approx(np.array([[0.8, 0.12, 0.04], [0.7, 0.0, 0.0], [0.0, 0.0, 0.0]]))


def test_novelty_tells_cases_with_the_truth_hidden_from_those_with_it(solved: Solved, calibration: Calibration) -> None:
    assert (calibration.novelty(solved.signals)[~solved.signals.held[:, 0]] == 1).all()
    figures = calibration.held_out.figures()["novelty"]
    known = solved.signals.held[:, 0] & ~solved.novel
    asked = int(solved.signals.held[:, 0].sum()) + int(known.sum())
    assert figures["n"] == asked
    assert figures["true"] == figures["aupr_by_chance"] == (asked - known.sum()) / asked
    assert figures["auroc"] > 0.55 and figures["f1_all_new"] == pytest.approx(
        2 * figures["true"] / (1 + figures["true"])
    )
    assert calibration.novelty_threshold is not None and 0 < calibration.novelty_threshold < 1


def test_without_anything_new_there_is_no_novelty(solved: Solved) -> None:
    made = solved.fit(hidden=None, novel=np.zeros(200, np.bool_))
    assert made.new is None and "novelty" not in made.held_out.figures()
    assert Calibration.from_json(made.to_json()).new is None
    with pytest.raises(CalibrationError, match="without hiding"):
        made.novelty(solved.signals)
    assert solved.fit(hidden=None).new is not None  # some cases are new themselves


def test_thresholds_come_from_the_held_out_record(solved: Solved, calibration: Calibration) -> None:
    found = calibration.threshold("risk=0.3")
    assert found.coverage.whole == 200 and found.risk.value <= 0.3
    assert calibration.threshold("youden").rule == "youden"
    assert calibration.held_out.weights.sum() == pytest.approx(len(set(solved.groups))) == calibration.groups
    with pytest.raises(QueryError):
        calibration.threshold("whim")
    first = calibration.held_out.first
    assert (np.diff(first.predicted) >= 0).all() and first.true.sum() == solved.right[:, 0].sum()


def test_every_question_keeps_the_weight_of_its_group() -> None:
    made = Solved(2, 60)
    first = made.right[:, 0]
    made.groups = [f"one {i}" if right else f"two {i % 15}" for i, right in enumerate(first.tolist())]
    calibration = made.fit()
    found, levels = calibration.held_out, (0.1, 0.2, 0.3, 0.4)
    sizes = {group: made.groups.count(group) for group in made.groups}
    assert (found.weights[found.first.true] == 1).all()
    assert sorted(found.weights[~found.first.true]) == sorted(1 / sizes[g] for g in made.groups if g[:3] == "two")
    controlled = [calibration.threshold(f"conformal={level}") for level in levels]
    assert controlled == [conformal(found.first.predicted, found.first.true, one, found.weights) for one in levels]
    assert controlled != [conformal(found.first.predicted, found.first.true, one) for one in levels]


def test_every_number_comes_back_exactly(solved: Solved, calibration: Calibration) -> None:
    text = calibration.to_json()
    again = Calibration.from_json(text)
    assert again.to_json() == text and again.fingerprint == calibration.fingerprint
    assert again.confidence(solved.signals).tobytes() == calibration.confidence(solved.signals).tobytes()
    assert again.novelty(solved.signals).tobytes() == calibration.novelty(solved.signals).tobytes()
    assert again.threshold("risk=0.3") == calibration.threshold("risk=0.3")
    assert again.rests_on == calibration.rests_on and again.held_out.figures() == calibration.held_out.figures()
    assert json.loads(text)["fingerprint"] == calibration.fingerprint == calibration.as_dict()["fingerprint"]


def test_nothing_of_a_case_is_in_the_file(solved: Solved, calibration: Calibration) -> None:
    assert not any(f'"{group}"' in calibration.to_json() for group in solved.groups)


@pytest.fixture(scope="module")
def file(solved: Solved) -> dict[str, Any]:
    found = solved.fit().as_dict()
    Calibration.from_dict(found)  # as it is it can be read
    return found


def resealed(found: dict[str, Any]) -> dict[str, Any]:
    content = {name: value for name, value in found.items() if name != "fingerprint"}
    return {**content, "fingerprint": hashlib.sha256(canonical_json(content).encode()).hexdigest()}


def changed(found: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    found = copy.deepcopy(found)
    *above, last = path.split(".")
    part: Any = found
    for name in above:
        part = part[int(name)] if isinstance(part, list) else part[name]
    if value is KeyError:
        del part[last]
    else:
        part[int(last) if isinstance(part, list) else last] = value
    return found


@pytest.mark.parametrize(
    "path, value",
    [
        ("method", "magic"), ("queries", -1), ("queries", True), ("seed", "1"), ("right.ridge", "1"), ("steps", {}),
        ("right.signals.0.weight", None), ("right.signals.0.deviation", 0.0), ("right.signals.0.name", 3),
        ("right.signals.0.more", 1), ("right.signals", {}), ("right", 5), ("new.threshold", KeyError), ("new", None),
        ("new.signals.0.name", "other"), ("held_out.first.predicted.0", 2.0), ("held_out.first.true.0", 1),
        ("held_out.first.weights.0", 0.0),
        ("held_out.novelty", None), ("held_out.explained", KeyError), ("rests_on.index", 7), ("rests_on.why", "x"),
        ("rests_on.generalisations", 0), ("rests_on.stability_runs", 0.5), ("figures", KeyError), ("extra", 1),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_inside_is_refused(file: dict[str, Any], path: str, value: Any) -> None:
    with pytest.raises(ArtifactError, match=r"in |no way to follow|different signals"):
        Calibration.from_dict(resealed(changed(file, path, value)))
    with pytest.raises(ArtifactError, match=r"fingerprint|in the file"):
        Calibration.from_dict(changed(file, path, value))


@pytest.mark.parametrize("steps", [{"starts": [0.5, 0.2], "values": [0.1, 0.2]}, {"starts": [0.2], "values": [1.5]}])
def test_steps_that_do_not_rise_are_refused(solved: Solved, steps: dict[str, Any]) -> None:
    found = solved.fit(method="isotonic").as_dict()
    with pytest.raises(ArtifactError, match="do not rise"):
        Calibration.from_dict(resealed({**found, "steps": steps}))


@pytest.mark.parametrize("text", ["", "[]", "7", "null", "{}", '{"schema": "sma-gpu/own-index/1"}', '{"schema": 3}'])
def test_what_is_no_calibration_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError, match="no calibration"):
        Calibration.from_json(text)


def test_a_newer_form_is_told_from_a_strange_one() -> None:
    with pytest.raises(ArtifactError, match="newer release"):
        Calibration.from_dict({"schema": "sma-gpu/calibration/2"})
    with pytest.raises(ArtifactError, match="Calibrate again"):
        Calibration.from_dict({"schema": "sma-gpu/calibration/0"})


def test_a_cut_file_is_refused(calibration: Calibration) -> None:
    text = calibration.to_json()
    for length in (1, len(text) // 2, len(text) - 1):
        with pytest.raises(ArtifactError):
            Calibration.from_json(text[:length])


def test_another_index_is_refused_by_name(calibration: Calibration) -> None:
    calibration.check_made_for(index="1" * 64, dials="2" * 64)
    with pytest.raises(FingerprintMismatch) as fault:
        calibration.check_made_for(index="1" * 64, dials="9" * 64)
    assert fault.value.field == "dials"


def test_other_signals_are_refused(solved: Solved, calibration: Calibration) -> None:
    more = np.concatenate([solved.signals.of_queries, np.zeros((200, 1))], axis=1)
    other = Signals(solved.signals.held, solved.signals.of_hits, more, query_names=(*QUERY_SIGNALS, "generalised"))
    for ask in (calibration.confidence, calibration.novelty):
        with pytest.raises(CalibrationError, match="generalised"):
            ask(other)


def test_cases_that_cannot_teach_are_refused(solved: Solved) -> None:
    with pytest.raises(CalibrationError, match="fewer than 20"):
        solved.fit(np.arange(19))
    with pytest.raises(CalibrationError, match="groups"):
        solved.fit(np.arange(40), folds=41)
    with pytest.raises(CalibrationError, match="fewer than 3"):
        solved.fit(folds=2)
    wrong = np.flatnonzero(~solved.right[:, 0])[:40]
    with pytest.raises(CalibrationError, match="wrong in all"):
        solved.fit(wrong)
    with pytest.raises(CalibrationError, match="right in all"):
        solved.fit(np.flatnonzero(solved.right[:, 0])[:40])
    with pytest.raises(CalibrationError, match="magic"):
        solved.fit(method="magic")
    with pytest.raises(ShapeError):
        solved.fit(novel=np.zeros(3, np.bool_))
    with pytest.raises(ShapeError):
        solved.fit(hidden=solved.hidden.take(np.arange(3)))


def test_few_cases_with_few_hits_can_teach() -> None:
    few = Solved(12, 30)
    bare = Signals(few.signals.held & (np.arange(30) % 3 > 0)[:, None], few.signals.of_hits, few.signals.of_queries)
    few.signals = few.hidden = bare
    few.right[:, 0] = np.arange(30) % 2 == 0
    assert few.fit().held_out.figures()["first"]["n"] == 30


def test_several_right_hits_leave_the_first_of_them_its_chance() -> None:
    cases = Solved(4, 200)
    twice = cases.right.copy()
    twice[:, 1:] |= cases.right[:, :-1] & cases.signals.held[:, 1:]
    assert twice.sum() > cases.right.sum()
    once, again = (
        fit(cases.signals, right, cases.groups, novel=cases.novel, folds=3) for right in (cases.right, twice)
    )
    assert np.allclose(once.confidence(cases.signals), again.confidence(cases.signals), atol=1e-6)
