"""The conditional logit against its definition, finite differences and scikit-learn; rising steps likewise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from sma_gpu.trust import conditional_logit as module
from sma_gpu.trust.conditional_logit import Choices, ConditionalLogit, fit_conditional_logit
from sma_gpu.trust.isotonic import rising_steps
from sma_gpu.trust.scaling import Scaling


def random_choices(seed: int, queries: int, places: int = 4, width: int = 3, none_width: int = 2) -> Choices:
    rng = np.random.default_rng(seed)
    held = np.arange(places) < rng.integers(0, places + 1, queries)[:, None]
    values = np.where(held[:, :, None], rng.normal(size=(queries, places, width)), 0.0)
    return Choices(held, values, rng.normal(size=(queries, none_width)))


def random_model(seed: int, width: int = 3, none_width: int = 2) -> ConditionalLogit:
    rng = np.random.default_rng(seed)
    return ConditionalLogit(rng.normal(size=width), rng.normal(size=none_width), float(rng.normal()))


def test_chances_by_their_definition() -> None:
    choices, model = random_choices(1, 30), random_model(2)
    found = model.chances(choices)
    for query in range(30):
        none = math.exp(choices.of_queries[query] @ model.none_weights + model.none_bias)
        raised = [
            math.exp(x @ model.weights) if held else 0.0
            for x, held in zip(choices.of_alternatives[query], choices.held[query], strict=True)
        ]
        assert found[query] == pytest.approx([one / (none + sum(raised)) for one in raised], abs=1e-14)


def test_likelihood_is_that_of_any_right_one_or_of_none() -> None:
    choices, model = random_choices(3, 40), random_model(4)
    right = np.random.default_rng(5).random(choices.held.shape) < 0.3  # also where nothing is held
    chances = model.chances(choices)
    wanted = [
        sum(c[r & h]) if (r & h).any() else 1 - sum(c) for c, r, h in zip(chances, right, choices.held, strict=True)
    ]
    assert np.exp(model.log_likelihood(choices, right)) == pytest.approx(wanted, abs=1e-12)


def test_the_gradient_is_that_of_the_likelihood() -> None:
    choices = random_choices(6, 50)
    right = (np.random.default_rng(7).random(choices.held.shape) < 0.4) & choices.held
    value = lambda point: module._penalised(module._model(point, 3), choices, right, 0.7)  # noqa: E731
    for seed in range(5):
        point = np.random.default_rng(seed).normal(size=6)
        slope = value(point)[1]
        assert check_grad(lambda p: value(p)[0], lambda p: value(p)[1], point) < 1e-5 * np.linalg.norm(slope)


def test_logits_beyond_all_measure_still_give_chances() -> None:
    choices = random_choices(8, 20)
    huge = ConditionalLogit(np.full(3, 1e4), np.full(2, -1e4), 0.0)
    found = huge.chances(choices)
    assert np.isfinite(found).all() and (found.sum(axis=1) <= 1 + 1e-12).all() and (found[~choices.held] == 0).all()
    assert not np.isnan(huge.log_likelihood(choices, choices.held)).any()


@pytest.mark.parametrize("ridge", [0.01, 1.0, 50.0])
def test_with_one_alternative_it_is_the_logistic_regression_of_scikit_learn(ridge: float) -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    rng = np.random.default_rng(9)
    of_hits, of_queries = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    right = rng.random(200) < 1 / (1 + np.exp(-(of_hits[:, 0] - of_queries[:, 1] - 0.5)))
    found = fit_conditional_logit(Choices(np.ones((200, 1), bool), of_hits[:, None], of_queries), right[:, None], ridge)
    theirs = linear.LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=10_000)
    theirs.fit(np.hstack([of_hits, of_queries]), right)
    assert found.weights == pytest.approx(theirs.coef_[0, :3], abs=2e-5)
    assert found.none_weights == pytest.approx(-theirs.coef_[0, 3:], abs=2e-5)
    assert found.none_bias == pytest.approx(-theirs.intercept_[0], abs=2e-5)


def test_a_fit_finds_the_weights_that_made_the_outcomes() -> None:
    choices, true = random_choices(10, 20_000), random_model(11)
    chances = true.chances(choices)
    drawn = np.random.default_rng(12).random(len(choices))[:, None]
    below = np.cumsum(chances, axis=1)
    right = (drawn < below) & (drawn >= below - chances)
    found = fit_conditional_logit(choices, right, 0.0)
    for mine, wanted in ((found.weights, true.weights), (found.none_weights, true.none_weights)):
        assert mine == pytest.approx(wanted, abs=0.1)
    again = fit_conditional_logit(choices, right, 0.0, random_model(13))
    assert again.weights == pytest.approx(found.weights, abs=1e-4)


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_the_chances_of_a_query_do_not_depend_on_its_batch_by_a_bit(seed: int, queries: int) -> None:
    choices, model = random_choices(seed, queries, places=10, width=8), random_model(seed + 1, width=8)
    whole = model.chances(choices)
    for query in range(queries):
        alone = model.chances(choices.take(np.array([query])))
        assert alone.tobytes() == whole[query : query + 1].tobytes()


def test_scaled_signals_have_mean_0_and_deviation_1_and_end_where_the_seen_ones_do() -> None:
    values = np.random.default_rng(14).normal(3, 5, size=(100, 2))
    values[:, 1] = 0.1
    scaling = Scaling.of(values)
    scaled = scaling.scaled(values)
    assert scaled.mean(axis=0) == pytest.approx([0, 0], abs=1e-12) and scaled[:, 0].std() == pytest.approx(1)
    assert (scaling.scaled(np.array([1e9, 7.0])) == scaled.max(axis=0)).all()
    assert (Scaling.of(np.zeros((0, 2))).scaled(np.array([3.0, -3.0])) == 0).all()


outcomes_at = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=30)


@given(outcomes_at)
def test_rising_steps_equal_the_isotonic_regression_of_scipy(rows: list[tuple[int, int]]) -> None:
    from scipy.optimize import isotonic_regression

    points, outcomes = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    found = rising_steps(points, outcomes)
    met = np.unique(points)
    means = [outcomes[points == one].mean() for one in met]
    wanted = isotonic_regression(means, weights=[(points == one).sum() for one in met]).x
    assert found(met) == pytest.approx(wanted, abs=1e-12)
    assert (np.diff(found.values) > 0).all() and len(found.starts) == len(found.values)


def test_between_two_steps_the_lower_one_holds() -> None:
    steps = rising_steps(np.array([0.2, 0.4, 0.8]), np.array([0.0, 1.0, 1.0]))
    assert steps(np.array([0.0, 0.39, 0.4, 0.6, 1.0])).tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]
