"""Measures of confidence and of scores against the definition spelled out, and against scikit-learn where it is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.trust.measures import aupr, aurc, auroc, best_f1_threshold, f1


def test_aurc_by_hand():
    # Answered 1, 2, 3, 4: wrong shares 0, 1/2, 1/3, 2/4.
    confidence, correct = np.array([0.9, 0.8, 0.7, 0.6]), np.array([1.0, 0.0, 1.0, 0.0])
    assert aurc(confidence, correct) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert np.isnan(aurc(np.zeros(0), np.zeros(0)))


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6))
def test_aurc_among_equals_is_the_mean_over_their_orders(rows):
    confidence = np.array([row[0] for row in rows], float)
    correct = np.array([row[1] for row in rows], float)
    spread = []
    for order in itertools.permutations(range(len(rows))):
        by_confidence = sorted(order, key=lambda i: -confidence[i])  # stable: equals keep the drawn order
        wrong = np.cumsum(1 - correct[by_confidence])
        spread.append((wrong / np.arange(1, len(rows) + 1)).mean())
    assert aurc(confidence, correct) == pytest.approx(np.mean(spread))


def test_the_order_of_questions_changes_nothing():
    generator = np.random.default_rng(3)
    score = generator.integers(0, 5, 60).astype(float)
    positive = generator.random(60) < 0.4
    order = generator.permutation(60)
    for measure in (auroc, aupr):
        assert measure(score, positive) == measure(score[order], positive[order])
    assert aurc(score, positive.astype(float)) == aurc(score[order], positive[order].astype(float))


def test_one_kind_alone_has_no_area():
    assert np.isnan(auroc(np.array([1.0, 2.0]), np.array([True, True])))
    assert np.isnan(aupr(np.array([1.0, 2.0]), np.array([False, False])))


def test_the_best_threshold_is_the_highest_of_the_best():
    score, positive = np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, True, False, True])
    values = {t: f1(score >= t, positive) for t in score.tolist()}
    assert values[best_f1_threshold(score, positive)] == max(values.values())
    assert best_f1_threshold(np.array([0.2, 0.2]), np.array([True, False])) == 0.2
    assert f1(np.array([False, False]), np.array([True, False])) == 0.0


def test_equal_to_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn, of the dev extra, is not installed")
    generator = np.random.default_rng(1)
    for _ in range(50):
        score = generator.integers(0, 12, 80) / 12
        positive = generator.random(80) < 0.3
        said = score >= 0.5
        assert auroc(score, positive) == pytest.approx(metrics.roc_auc_score(positive, score), abs=1e-12)
        assert aupr(score, positive) == pytest.approx(metrics.average_precision_score(positive, score), abs=1e-12)
        assert f1(said, positive) == pytest.approx(metrics.f1_score(positive, said, zero_division=0), abs=1e-12)
