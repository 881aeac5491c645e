"""Reliability, intervals and proper scores against the definitions spelled out and against other implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.errors import ShapeError
from sma_gpu.trust.reliability import (
    LEAST_CHANCE,
    brier,
    ece,
    ece_by_chance,
    equal_mass_bins,
    equal_width_bins,
    log_loss,
)
from sma_gpu.trust.shares import Share, clopper_pearson

outcomes = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]), st.floats(0, 1)), st.booleans()),
    min_size=1,
    max_size=40,
)


def arrays(rows: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    confidence, right = zip(*rows, strict=True)
    return np.array(confidence, np.float64), np.array(right, np.bool_)


@given(outcomes, st.integers(1, 7))
def test_ece_of_equal_width_by_its_definition(rows: list[tuple[float, bool]], bins: int) -> None:
    confidence, right = arrays(rows)
    expected = 0.0
    for m in range(bins):
        low, high = m / bins, (m + 1) / bins
        inside = [(c, r) for c, r in rows if low < c <= high or (m == 0 and c == 0)]
        if inside:
            gap = sum(r for _, r in inside) / len(inside) - sum(c for c, _ in inside) / len(inside)
            expected += len(inside) / len(rows) * abs(gap)
    found = equal_width_bins(confidence, right, bins)
    assert ece(found) == pytest.approx(expected, abs=1e-12)
    assert sum(one.right.whole for one in found) == len(rows)
    assert all(one.low <= one.confidence <= one.high for one in found)


def test_a_confidence_on_an_edge_belongs_below_it() -> None:
    found = equal_width_bins(np.array([0.0, 0.2, 0.5, 1.0]), np.array([True, False, True, True]), 2)
    assert [(one.low, one.high, one.right) for one in found] == [(0.0, 0.5, Share(2, 3)), (0.5, 1.0, Share(1, 1))]


@given(outcomes, st.integers(1, 7))
def test_bins_of_equal_mass_part_no_equals_and_hold_a_share_each(rows: list[tuple[float, bool]], bins: int) -> None:
    confidence, right = arrays(rows)
    found = equal_mass_bins(confidence, right, bins)
    assert len(found) <= bins and sum(one.right.whole for one in found) == len(rows)
    assert sum(one.right.part for one in found) == right.sum()
    assert all(a.high < b.low for a, b in zip(found, found[1:], strict=False))
    if len(set(confidence.tolist())) == len(rows):
        assert all(math.floor(len(rows) / bins) <= one.right.whole <= math.ceil(len(rows) / bins) for one in found)


@given(outcomes, st.randoms(use_true_random=False))
def test_the_order_of_the_questions_changes_no_bit(rows: list[tuple[float, bool]], random) -> None:
    mixed = list(rows)
    random.shuffle(mixed)
    for make in (equal_width_bins, equal_mass_bins):
        assert make(*arrays(rows)) == make(*arrays(mixed))
    assert brier(*arrays(rows)) == brier(*arrays(mixed))
    assert log_loss(*arrays(rows)) == log_loss(*arrays(mixed))


def test_confidences_that_are_true_show_the_error_that_chance_alone_gives() -> None:
    rng = np.random.default_rng(5)
    confidence = rng.random(300) ** 2
    seen = [ece(equal_mass_bins(confidence, rng.random(300) < confidence)) for _ in range(400)]
    expected = ece_by_chance(equal_mass_bins(confidence, np.zeros(300, np.bool_)))
    assert np.mean(seen) == pytest.approx(expected, rel=0.05)


def test_a_sure_mistake_costs_what_is_stated_and_no_more() -> None:
    assert log_loss(np.array([1.0]), np.array([False])) == pytest.approx(-math.log(LEAST_CHANCE))
    assert log_loss(np.array([0.0]), np.array([True])) == pytest.approx(-math.log(LEAST_CHANCE))
    assert brier(np.array([1.0, 0.5]), np.array([False, True])) == pytest.approx((1 + 0.25) / 2)


def test_equal_to_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    calibration = pytest.importorskip("sklearn.calibration", reason="scikit-learn is not installed")
    rng = np.random.default_rng(2)
    for _ in range(20):
        confidence = rng.random(120)
        right = rng.random(120) < 0.4
        assert brier(confidence, right) == pytest.approx(metrics.brier_score_loss(right, confidence), abs=1e-12)
        clipped = np.clip(confidence, LEAST_CHANCE, 1 - LEAST_CHANCE)
        assert log_loss(confidence, right) == pytest.approx(metrics.log_loss(right, clipped), abs=1e-12)
        shares, means = calibration.calibration_curve(right, confidence, n_bins=10)
        found = equal_width_bins(confidence, right)
        assert [one.right.value for one in found] == pytest.approx(shares.tolist(), abs=1e-12)
        assert [one.confidence for one in found] == pytest.approx(means.tolist(), abs=1e-12)


def test_without_questions_there_is_no_figure() -> None:
    none = np.zeros(0), np.zeros(0, np.bool_)
    assert equal_width_bins(*none) == equal_mass_bins(*none) == ()
    assert math.isnan(ece(())) and math.isnan(ece_by_chance(())) and math.isnan(brier(*none))


@pytest.mark.parametrize(
    "confidence, right",
    [
        (np.array([0.5, 1.5]), np.array([True, False])),
        (np.array([np.nan]), np.array([True])),
        (np.array([0.5]), np.array([True, False])),
        (np.array([0.5]), np.array([1])),
    ],
)
def test_what_is_no_confidence_with_its_outcomes_is_refused(confidence: np.ndarray, right: np.ndarray) -> None:
    with pytest.raises(ShapeError):
        equal_width_bins(confidence, right)


@pytest.mark.parametrize("part, whole", [(0, 9), (9, 9), (3, 10), (250, 1000)])
def test_intervals_equal_those_of_statsmodels(part: int, whole: int) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="statsmodels, of the dev extra")
    wanted = proportion.proportion_confint(part, whole, alpha=0.05, method="beta")
    assert clopper_pearson(part, whole) == pytest.approx(wanted, abs=1e-12)


def test_intervals_hold_at_least_as_often_as_they_say() -> None:
    for chance in (0.02, 0.3, 0.5):
        chances = [math.comb(25, k) * chance**k * (1 - chance) ** (25 - k) for k in range(26)]
        held = sum(p for k, p in enumerate(chances) if clopper_pearson(k, 25)[0] <= chance <= clopper_pearson(k, 25)[1])
        assert held >= 0.95
    assert clopper_pearson(0, 0) == (0.0, 1.0) and math.isnan(Share(0, 0).value)
