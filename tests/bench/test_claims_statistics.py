"""Statistics of weighted questions: a question of weight two counts as if it were there twice."""

from __future__ import annotations

import numpy as np
import pytest

from sma_gpu.bench.metrics import auroc, f1, weighted_auroc, weighted_f1
from sma_gpu.bench.statistics import resampled, resampled_statistic, resampled_statistics


@pytest.mark.parametrize("seed", range(8))
def test_weights_are_repetitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score, positive, said = rng.integers(0, 6, 30) / 4, rng.random(30) < 0.4, rng.random(30) < 0.5
    score[rng.random(30) < 0.1] = -np.inf
    weights = rng.multinomial(30, np.full(30, 1 / 30), size=5)
    repeated = [np.repeat(np.arange(30), row) for row in weights]
    expected = [auroc(score[at], positive[at]) for at in repeated]
    assert weighted_auroc(score, positive, weights.astype(float)) == pytest.approx(expected, nan_ok=True)
    expected = [f1(said[at], positive[at]) for at in repeated]
    assert weighted_f1(said, positive, weights.astype(float)) == pytest.approx(expected, nan_ok=True)
    once = np.ones((1, 30))
    assert weighted_auroc(score, positive, once)[0] == pytest.approx(auroc(score, positive))


def test_what_is_not_defined_is_nan() -> None:
    assert np.isnan(weighted_auroc(np.array([1.0, 2.0]), np.array([True, True]), np.ones((1, 2)))[0])
    assert np.isnan(weighted_f1(np.array([False]), np.array([False]), np.ones((1, 1)))[0])


def test_a_mean_is_resampled_as_any_statistic_is() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.random(50), rng.random(50)
    clusters = [f"c{n % 17}" for n in range(50)]
    means = resampled(first, second, clusters, 11)
    same = resampled_statistic(lambda w: (w * (first - second)).sum(axis=1) / w.sum(axis=1), clusters, 11)
    assert same.difference == pytest.approx(means.difference)
    assert same.draws == pytest.approx(means.draws)


def test_draws_without_a_value_are_left_out() -> None:
    positive = np.array([True, False, False])
    drawn = resampled_statistic(
        lambda w: weighted_auroc(np.array([3.0, 2.0, 1.0]), positive, w) - 0.5, ["a", "b", "c"], 1
    )
    assert 6_000 < len(drawn.draws) < 8_000  # in about 7 of 10 draws both kinds are drawn
    assert drawn.interval().low == drawn.interval().high == 0.5


def test_several_statistics_are_of_the_same_draws() -> None:
    rng = np.random.default_rng(2)
    first, second, clusters = rng.random(20), rng.random(20), [f"c{n % 6}" for n in range(20)]

    def mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return (weights @ values) / weights.sum(axis=1)

    both = resampled_statistics(lambda w: np.stack([mean(first, w), mean(second, w)]), clusters, 3)
    for values, found in zip((first, second), both, strict=True):
        alone = resampled_statistic(lambda w, values=values: mean(values, w), clusters, 3)
        assert found.difference == alone.difference == pytest.approx(values.mean())
        assert np.array_equal(found.draws, alone.draws)
