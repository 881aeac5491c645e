"""When to abstain: each rule against every threshold tried in turn, and the promise of the conformal one."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.errors import CalibrationError, QueryError, ShapeError
from sma_gpu.trust.measures import aurc
from sma_gpu.trust.thresholds import conformal, risk_curve, target_risk, threshold_by, youden

rows_of = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.4, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=25
).map(lambda rows: [(c, r and c > 0) for c, r in rows])
levels = st.sampled_from([0.05, 0.1, 0.25, 0.29, 0.5, 0.9])


def arrays(rows: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    confidence, right = zip(*rows, strict=True)
    return np.array(confidence, np.float64), np.array(right, np.bool_)


def answered(rows: list[tuple[float, bool]], threshold: float) -> list[bool]:
    return [right for confidence, right in rows if confidence >= threshold and confidence > 0]


def met(rows: list[tuple[float, bool]]) -> list[float]:
    return sorted({c for c, _ in rows if c > 0})


@given(rows_of)
def test_the_curve_has_every_threshold_with_its_counts(rows: list[tuple[float, bool]]) -> None:
    curve = risk_curve(*arrays(rows))
    assert curve.thresholds.tolist() == met(rows)[::-1] and curve.queries == len(rows)
    for threshold, count, wrong in zip(curve.thresholds, curve.answered, curve.wrong, strict=True):
        given_ = answered(rows, threshold)
        assert (count, wrong) == (len(given_), given_.count(False))


def test_the_curve_encloses_the_area_under_it() -> None:
    rng = np.random.default_rng(4)
    confidence, right = rng.permutation(200) / 200 + 0.001, rng.random(200) < 0.6
    assert risk_curve(confidence.clip(0, 1), right).risk.mean() == pytest.approx(aurc(confidence, right.astype(float)))


@given(rows_of)
def test_youden_is_the_highest_of_the_best(rows: list[tuple[float, bool]]) -> None:
    rights = sum(r for _, r in rows)
    wrongs = len(rows) - rights
    if not rights or not wrongs:
        with pytest.raises(CalibrationError, match="no threshold tells them apart"):
            youden(*arrays(rows))
        return
    gains = {}
    for threshold in met(rows):
        given_ = answered(rows, threshold)
        gains[threshold] = given_.count(True) * wrongs - given_.count(False) * rights
    best = max(gains.values(), default=0)
    found = youden(*arrays(rows))
    assert found.value == (max(t for t, gain in gains.items() if gain == best) if best > 0 else None)


@given(rows_of, levels)
def test_target_risk_covers_most_of_all_that_keep_to_it(rows: list[tuple[float, bool]], level: float) -> None:
    fits = [t for t in met(rows) if answered(rows, t).count(False) / len(answered(rows, t)) <= level]
    found = target_risk(*arrays(rows), level)
    assert found.value == (min(fits) if fits else None)
    if found.value is not None:
        assert found.risk.value <= level and found.coverage.part == len(answered(rows, min(fits)))


@given(rows_of, levels)
def test_conformal_is_the_least_that_counts_the_next_query_as_a_mistake(
    rows: list[tuple[float, bool]], level: float
) -> None:
    # Answer above t: (mistakes + 1) / (n + 1) at most the level, by every t that was met, and 0.
    fits = [t for t in [0.0, *met(rows)] if (sum(not r for c, r in rows if c > t) + 1) / (len(rows) + 1) <= level]
    confidence, right = arrays(rows)
    found = conformal(confidence, right, level)
    wanted = confidence > min(fits) if fits else np.zeros(len(rows), np.bool_)
    assert found.answers(confidence).tolist() == wanted.tolist()
    assert (found.value is None) == (not fits)
    assert found.risk_of_all.part == int((wanted & ~right).sum())


@pytest.mark.parametrize("level", [0.05, 0.1, 0.2])
def test_the_conformal_promise_holds_on_average_and_is_used_up(level: float) -> None:
    rng = np.random.default_rng(11)
    lost = []
    for _ in range(2000):
        confidence = np.round(rng.random(61), 2)  # with ties
        right = (rng.random(61) < confidence) & (confidence > 0)
        found = conformal(confidence[:60], right[:60], level)
        lost.append(bool(found.answers(confidence[60:])[0]) and not right[60])
    error = math.sqrt(level / 2000)
    assert level - 1 / 61 - 3 * error <= np.mean(lost) <= level + 3 * error


@pytest.mark.parametrize("level", [0.1, 0.2])
def test_the_conformal_promise_holds_for_groups_whose_questions_hang_together(level: float) -> None:
    rng = np.random.default_rng(13)
    lost: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(1000):
        sizes = rng.integers(1, 20, 21)
        group = np.repeat(np.arange(21), sizes)
        confidence = rng.random(len(group)).round(2)
        right = (rng.random(21)[group] < confidence) & (confidence > 0)  # one luck for the whole group
        seen = group < 20
        for weighted in (True, False):
            weights = (1 / sizes)[group[seen]] if weighted else None
            found = conformal(confidence[seen], right[seen], level, weights)
            lost[weighted].append(float((found.answers(confidence[~seen]) & ~right[~seen]).mean()))
    assert level - 1 / 21 - 0.02 <= np.mean(lost[True]) <= level + 3 * np.std(lost[True]) / math.sqrt(1000)
    assert np.mean(lost[False]) - np.mean(lost[True]) > 0.02  # question by question, too much is lost


@given(rows_of, levels, st.randoms(use_true_random=False))
def test_groups_of_one_question_need_no_weights_and_order_changes_nothing(
    rows: list[tuple[float, bool]], level: float, random
) -> None:
    confidence, right = arrays(rows)
    assert conformal(confidence, right, level, np.ones(len(rows))) == conformal(confidence, right, level)
    weights = np.array([1 / random.randint(1, 7) for _ in rows])
    order = np.array(random.sample(range(len(rows)), len(rows)))
    mixed = conformal(confidence[order], right[order], level, weights[order])
    assert mixed == conformal(confidence, right, level, weights)


def test_counts_and_words_say_what_was_reached() -> None:
    confidence = np.array([0.9, 0.8, 0.7, 0.6, 0.0])
    right = np.array([True, True, False, True, False])
    found = target_risk(confidence, right, 0.25)
    assert found.value == 0.6
    assert (found.coverage.part, found.coverage.whole, found.risk.part, found.risk.whole) == (4, 5, 1, 4)
    assert "of 5 held-out questions it answered 80.0%" in found.words and "at most 25% of the answers" in found.words
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["coverage"]["part"] == 4
    assert found.answers(np.array([0.6, 0.59, 0.0])).tolist() == [True, False, False]


@pytest.mark.parametrize("rule", ["risk=0.1", "conformal=0.1"])
def test_where_no_threshold_keeps_to_the_level_it_always_abstains_and_says_so(rule: str) -> None:
    found = threshold_by(rule, np.array([0.9, 0.2]), np.array([False, True]))
    assert found.value is None and found.words.startswith("always abstains")
    assert not found.answers(np.ones(3)).any()
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["risk"]["value"] is None


def test_levels_and_rules_are_told_as_they_were_given() -> None:
    confidence, right = np.array([0.9, 0.2]), np.array([False, True])
    found = threshold_by("conformal=0.0001", confidence, right)
    wanted = "no threshold keeps to at most 0.01% of all queries answered wrongly (that takes 9999 groups or more)"
    assert found.words == f"always abstains: {wanted}, going by 2 held-out questions"
    found = threshold_by("conformal=0.7", confidence, right)
    assert "(conformal: at most 70% of all queries answered wrongly)" in found.words
    for rule in ("risk=0,1", "risk=10%", "conformal="):
        level = rule.partition("=")[2]
        with pytest.raises(QueryError, match=f"abstain by '{rule}': '{level}' is no number"):
            threshold_by(rule, confidence, right)


def test_where_everything_may_be_answered_what_has_no_hit_is_not() -> None:
    found = conformal(np.array([0.9, 0.2, 0.0]), np.array([True, True, False]), 0.5)
    assert found.value == 0.0 and found.answers(np.array([1e-300, 0.0])).tolist() == [True, False]


@pytest.mark.parametrize("rule", ["", "risk", "risk=", "risk=0", "conformal=1", "youden=0.1", "conformal=nan"])
def test_rules_that_are_none_are_refused(rule: str) -> None:
    with pytest.raises(QueryError):
        threshold_by(rule, np.array([0.9, 0.2]), np.array([True, False]))


def test_confidences_are_checked() -> None:
    with pytest.raises(ShapeError):
        risk_curve(np.array([1.2]), np.array([True]))


@pytest.mark.parametrize("size", [1, 3, 6, 7, 10])
def test_rounding_does_not_decide_at_the_border_whatever_the_size_of_groups(size: int) -> None:
    wrong = np.arange(99) < 9
    right = np.repeat(~wrong, size)
    confidence = np.repeat(np.where(wrong, 0.9, 0.5), size)
    found = conformal(confidence, right, 0.1, np.full(len(right), 1 / size))
    assert found.value == 0.0  # (9 + 1) / (99 + 1) is the level itself


@pytest.mark.parametrize(("level", "least"), [(0.1, 9), (0.05, 19), (0.3, 3)])
def test_it_is_said_how_many_groups_a_conformal_threshold_takes(level: float, least: int) -> None:
    few, enough = (conformal(np.full(n, 0.9), np.ones(n, np.bool_), level) for n in (least - 1, least))
    assert few.value is None and f"(that takes {least} groups or more)" in few.words
    assert enough.value == 0.0
