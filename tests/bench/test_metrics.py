"""Measures of a ranking against the definition spelled out."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.bench.metrics import Places, aurc, hits_at, reciprocal_ranks, weighted_aurc


@st.composite
def one_place(draw):
    tied = draw(st.integers(1, 7))
    return draw(st.integers(1, 6)), tied, draw(st.integers(1, tied))


def places_of(*rows):
    return Places(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


@given(one_place(), st.integers(1, 12))
def test_ties_three_ways_equal_an_enumeration_of_all_orders(place, k):
    first, tied, right = place
    ranks = [first + min(chosen) for chosen in itertools.combinations(range(tied), right)]
    hits = [rank <= k for rank in ranks]
    reciprocals = [1 / rank for rank in ranks]
    places = places_of(place)
    assert hits_at(places, k)[0] == pytest.approx(np.mean(hits), abs=1e-12)
    assert hits_at(places, k, "optimistic")[0] == max(hits)
    assert hits_at(places, k, "pessimistic")[0] == min(hits)
    assert reciprocal_ranks(places)[0] == pytest.approx(np.mean(reciprocals), abs=1e-12)
    assert reciprocal_ranks(places, "optimistic")[0] == max(reciprocals)
    assert reciprocal_ranks(places, "pessimistic")[0] == min(reciprocals)


def test_what_was_not_found_is_worth_nothing():
    places = places_of((0, 0, 0), (1, 1, 1))
    for ties in ("optimistic", "mean", "pessimistic"):
        assert hits_at(places, 10, ties).tolist() == [0.0, 1.0]
        assert reciprocal_ranks(places, ties).tolist() == [0.0, 1.0]


def test_a_run_of_thousands_of_equals_is_counted_without_trouble():
    places = places_of((1, 12_687, 1))
    assert hits_at(places, 10)[0] == pytest.approx(10 / 12_687)
    harmonic = sum(1 / n for n in range(1, 12_688))
    assert reciprocal_ranks(places)[0] == pytest.approx(harmonic / 12_687)


def test_aurc_under_weights_is_that_of_the_questions_repeated() -> None:
    rng = np.random.default_rng(3)
    for count in (1, 2, 7, 40):
        confidence, correct = rng.integers(0, 5, count) / 4.0, rng.integers(0, 3, count) / 2.0
        weights = rng.integers(0, 4, (20, count)).astype(np.float64)
        weights[:, 0] += 1
        found = weighted_aurc(confidence, correct, weights)
        for row, taken in zip(found.tolist(), weights.astype(np.int64), strict=True):
            assert row == pytest.approx(aurc(np.repeat(confidence, taken), np.repeat(correct, taken)), abs=1e-12)
        assert weighted_aurc(np.full(count, -np.inf), correct, np.ones((1, count)))[0] == pytest.approx(
            1 - correct.mean()
        )
