"""The curves of a run against brute force."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from sma_gpu.bench.metrics import Places, aurc, hits_at
from sma_gpu.bench.report import report_record
from sma_gpu.bench.report_curves import WITHIN, curves_record, found_within, reliability, risk_coverage
from sma_gpu.bench.running import run_suite
from sma_gpu.bench.suites import Suite
from sma_gpu.trust.reliability import ece, equal_width_bins


def test_risk_is_the_mean_over_all_orders_of_equals() -> None:
    confidence = np.array([0.2, 0.9, 0.5, 0.5, 0.5, 0.2])
    correct = np.array([1.0, 0.5, 0.0, 1.0, 0.25, 0.0])
    orders = [
        order
        for order in itertools.permutations(range(6))
        if all(confidence[a] >= confidence[b] for a, b in itertools.pairwise(order))
    ]
    assert len(orders) == 12
    wrong = np.array([np.cumsum(1.0 - correct[list(order)]) / np.arange(1, 7) for order in orders])
    assert risk_coverage(confidence, correct) == pytest.approx(wrong.mean(axis=0))


def test_the_mean_of_the_risk_is_the_area_that_is_printed() -> None:
    generator = np.random.default_rng(3)
    confidence = generator.integers(0, 9, 200) / 9
    correct = generator.random(200)
    assert risk_coverage(confidence, correct).mean() == pytest.approx(aurc(confidence, correct))


def test_what_is_found_within_a_place_is_what_hits_say() -> None:
    generator = np.random.default_rng(5)
    first = generator.integers(0, 12, 80)
    tied = np.where(first > 0, generator.integers(1, 9, 80), 0)
    right = np.where(first > 0, np.minimum(tied, generator.integers(1, 4, 80)), 0)
    places = Places(first, tied, right)
    assert found_within(places, 15) == pytest.approx([hits_at(places, k).mean() for k in range(1, 16)])


def test_what_is_found_within_a_place_counts_orders_of_equals() -> None:
    places = Places(np.array([2]), np.array([4]), np.array([2]))
    orders = list(itertools.permutations((True, True, False, False)))
    counted = [np.mean([any(order[: k - 1]) for order in orders]) for k in range(1, 7)]
    assert found_within(places, 6) == pytest.approx(counted)


def test_reliability_counts_every_stated_confidence_once() -> None:
    confidence = np.array([0.0, 0.1, 0.11, 0.95, 1.0, np.nan, 0.95])
    correct = np.array([1.0, 0.0, 0.5, 1.0, 0.0, 1.0, 0.25])
    told = reliability(confidence, correct)
    assert told is not None
    assert told.questions == sum(told.counts) == 6
    assert told.low == (0.0, 0.1, 0.9)
    assert told.counts == (2, 1, 3)
    assert told.stated == pytest.approx((0.05, 0.11, (0.95 + 1.0 + 0.95) / 3))
    assert told.right == pytest.approx((0.5, 0.5, 1.25 / 3))
    gaps = [abs(r - s) for r, s in zip(told.right, told.stated, strict=True)]
    assert told.ece == pytest.approx((2 * gaps[0] + gaps[1] + 3 * gaps[2]) / 6)


def test_without_ties_the_error_is_that_of_trust() -> None:
    generator = np.random.default_rng(7)
    confidence, right = generator.random(300), generator.random(300) < 0.4
    told = reliability(confidence, right.astype(np.float64))
    assert told is not None
    assert told.ece == pytest.approx(ece(equal_width_bins(confidence, right)))


def test_whoever_states_no_confidence_has_no_reliability() -> None:
    assert reliability(np.full(3, np.nan), np.ones(3)) is None


def test_the_curves_of_a_run_agree_with_its_report(toy_suite: Suite, tmp_path: Path) -> None:
    run = run_suite(toy_suite, tmp_path)
    (told,), (table,) = report_record(run)["tables"], curves_record(run)["tables"]
    assert [(p["rule"], p["slice"]) for p in table["parts"]] == [(p["rule"], p["slice"]) for p in told["parts"]]
    for part, figures in zip(table["parts"], told["parts"], strict=True):
        assert part["arms"].keys() == figures["arms"].keys()
        for arm, found in part["arms"].items():
            of_arm = figures["arms"][arm]
            assert len(found["within"]) == WITHIN
            assert [found["within"][k - 1] for k in (1, 5, 10)] == pytest.approx(
                [of_arm["top1"], of_arm["top5"], of_arm["top10"]]
            )
            for measure in ("top1", "top5"):  # as few as they are, all points are kept
                assert np.mean(found[f"risk_{measure}"]) == pytest.approx(of_arm[f"aurc_{measure}"])
                assert found[f"risk_{measure}"][-1] == pytest.approx(1.0 - of_arm[measure])
            asked = of_arm["questions"] if part["rule"] == "strict" else of_arm["answerable"]
            assert found["reliability"]["questions"] == asked
    assert {arm: spent["questions"] for arm, spent in table["spent"].items()} == {
        "toy_suite:Near": 18, "toy_suite:Far": 18,
    }  # fmt: skip
