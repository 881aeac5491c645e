"""Paired statistics against their definitions and outside implementations."""

import numpy as np
import pytest
from scipy import stats

from sma_gpu.bench.statistics import cliffs_delta, holm, macro_mean, resampled, win_tie_loss


def drawn(seed, size=200):
    generator = np.random.default_rng(seed)
    first, second = generator.random(size), generator.random(size) + 0.05
    clusters = [f"c{i}" for i in generator.integers(0, 40, size)]
    return first, second, clusters


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_holm_equals_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels, of the dev extra, is missing")
    p_values = np.random.default_rng(0).random(25) ** 3
    assert holm(p_values.tolist()) == pytest.approx(multitest.multipletests(p_values, method="holm")[1].tolist())


def test_cliffs_delta_equals_the_statistic_of_mann_and_whitney():
    for seed in range(5):
        first, second, _ = drawn(seed)
        first, second = np.round(first, 1), np.round(second, 1)  # with ties
        u = stats.mannwhitneyu(first, second).statistic
        assert cliffs_delta(first, second) == pytest.approx(2 * u / (len(first) * len(second)) - 1)
    assert cliffs_delta(np.array([2.0]), np.array([1.0])) == 1.0


def test_single_questions_as_clusters_equal_the_bootstrap_of_scipy():
    first, second, _ = drawn(2)
    ours = resampled(first, second, [str(i) for i in range(len(first))], seed=5).interval()
    outside = stats.bootstrap(
        (first - second,), np.mean, n_resamples=10_000, method="percentile", random_state=np.random.default_rng(6)
    ).confidence_interval
    assert ours.difference == pytest.approx(float((first - second).mean()))
    assert ours.low == pytest.approx(outside.low, abs=0.004)
    assert ours.high == pytest.approx(outside.high, abs=0.004)


def test_whole_clusters_are_drawn():
    # Each cluster repeats one value ten times: intervals are those of the clusters, not of ten times as many questions.
    generator = np.random.default_rng(4)
    values = generator.normal(0.1, 1.0, 30)
    repeated, zero = np.repeat(values, 10), np.zeros(300)
    clusters = np.repeat([f"c{i}" for i in range(30)], 10).tolist()
    clustered = resampled(repeated, zero, clusters, seed=1).interval()
    alone = resampled(values, np.zeros(30), [f"c{i}" for i in range(30)], seed=1).interval()
    as_if = resampled(repeated, zero, [str(i) for i in range(300)], seed=1).interval()
    assert clustered.high - clustered.low == pytest.approx(alone.high - alone.low, rel=1e-9)
    assert as_if.high - as_if.low < 0.5 * (clustered.high - clustered.low)


def test_the_macro_mean_weighs_clusters_alike():
    values = np.array([1.0, 1.0, 1.0, 0.0])
    assert macro_mean(values, ["a", "a", "a", "b"]) == 0.5
    found = resampled(values, np.zeros(4), ["a", "a", "a", "b"], seed=1, macro=True)
    assert found.difference == 0.5
    assert resampled(values, np.zeros(4), ["a", "a", "a", "b"], seed=1).difference == 0.75


def test_a_p_value_is_never_zero_and_a_wider_family_has_wider_intervals():
    first, second, clusters = drawn(3)
    found = resampled(first + 10, second, clusters, seed=1)
    assert found.interval().p == pytest.approx(2 / 10_001)
    one, many = found.interval(), found.interval(tests=20)
    assert many.low < one.low
    assert many.high > one.high
    same = resampled(first, first, clusters, seed=1).interval()
    assert (same.difference, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_one_seed_gives_the_same_draws_whatever_the_order_of_questions():
    first, second, clusters = drawn(7)
    order = np.random.default_rng(0).permutation(len(first))
    a = resampled(first, second, clusters, seed=9)
    b = resampled(first[order], second[order], [clusters[i] for i in order], seed=9)
    np.testing.assert_allclose(a.draws, b.draws, atol=1e-12)
    assert not np.array_equal(a.draws, resampled(first, second, clusters, seed=10).draws)


def test_win_tie_loss():
    assert win_tie_loss(np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.5, 1.0])) == (1, 1, 1)
