"""Dials, the integer grid, rank keys, and the guards at 2^31."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sma_gpu import CaseBatch, Dials, Index, mount, ontology_from_parents
from sma_gpu.errors import CapacityError, CaseError, DialError, ShapeError
from sma_gpu.ops import FoldedLists, backends, choose
from sma_gpu.scoring import Normaliser, to_bits, to_grid


@pytest.mark.parametrize(
    ("dial", "value"),
    [
        ("scorer", "bm25"), ("credit", "child"), ("normalisation", "sqrt"), ("normalisation", "power(1)"),
        ("normalisation", "power(-0.1)"), ("normalisation", "power(nan)"), ("normalisation", "power(x)"),
        ("normalisation", None), ("gamma", -0.1), ("gamma", float("inf")), ("gamma", "much"), ("rho", 0), ("rho", 1.01),
        ("rho", float("nan")), ("rho", True), ("delta", -1), ("delta", 1.5), ("delta", True),
    ],
)  # fmt: skip
def test_a_dial_outside_its_range_is_refused_by_name(dial: str, value: object) -> None:
    with pytest.raises(DialError, match=f"dial {dial}"):
        Dials(**{dial: value})  # type: ignore[arg-type]


def test_dials_have_one_text_and_one_fingerprint() -> None:
    assert Dials(normalisation="power(0.0)") == Dials() == Dials(gamma=0.25, rho=0.95, delta=2)
    assert Dials(rho=1).fingerprint == Dials(rho=1.0).fingerprint
    assert json.loads(Dials.adapter_v1().canonical_json()) == {
        "scorer": "surprisal", "credit": "base", "normalisation": "max", "gamma": 0.25, "rho": 0.95, "delta": 2,
    }  # fmt: skip
    assert Dials(normalisation="power(0.50)").normalisation == "power(0.5)"
    assert Dials(normalisation="power(0.5)").power == 0.5
    assert Dials(normalisation="max").power is None
    with pytest.raises(DialError, match="no such dial"):
        Dials.from_mapping({"sigma": 1})


def test_the_grid_rounds_half_to_even() -> None:
    assert to_grid([0.5 / 65536, 1.5 / 65536, 2.5 / 65536, 1.0]).tolist() == [0, 2, 2, 65536]
    assert to_bits(65536 + 32768) == 1.5


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(1 << 16, (1 << 31) - 1), min_size=1, max_size=6),
    st.integers(1 << 16, (1 << 31) - 1),
    st.sampled_from(["max", "min", "power(0)", "power(0.25)", "power(0.5)", "power(0.999)"]),
)
def test_rank_keys_grow_with_the_score_and_own_copies_are_not_passed(
    self_scores: list[int], self_query: int, normalisation: str
) -> None:
    chosen = Normaliser.build(Dials(normalisation=normalisation), np.array(self_scores, np.int64))
    scores = np.array(sorted({0, 1, 1 << 16, *self_scores, (1 << 31) - 1}), np.int64)
    for case, own in enumerate(self_scores):
        keys = chosen.rank_keys(scores, self_query, np.full(len(scores), case))
        assert (np.diff(keys) >= 0).all()
        assert (keys[scores >= 1 << 16] > 0).all()
        assert keys.max() < 1 << 55
        # Whatever another case scores against this one as query, it cannot score more than either self-score.
        for other, bound in enumerate(self_scores):
            at_most = np.array([min(own, bound)], np.int64)
            passed = chosen.rank_keys(at_most, own, np.array([other]))[0]
            assert passed <= chosen.rank_keys(np.array([own], np.int64), own, np.array([case]))[0] or (
                normalisation == "min" and bound < own
            )
    assert chosen.factors.max() <= 1 << 30


def test_normalised_is_one_for_the_own_copy() -> None:
    own = np.array([200_000], np.int64)
    for normalisation in ("max", "min", "power(0)", "power(0.5)"):
        chosen = Normaliser.build(Dials(normalisation=normalisation), own)
        assert chosen.normalised(200_000, 200_000, 0) == pytest.approx(1.0)
        assert chosen.normalised(100_000, 200_000, 0) == pytest.approx(0.5)


def test_a_case_or_a_query_that_reaches_the_limit_is_refused_not_wrapped() -> None:
    size = 40_000
    parents: dict[str, list[str]] = {f"EX:{i:05d}": [] for i in range(size)}
    mounted = mount(ontology_from_parents(parents))
    unit = Dials(scorer="unit")
    below = CaseBatch.from_functors(["a"], [np.arange(26_213)])  # 26,213 * 1.25 + 1 bits: just below 2^15
    index = Index.build(below, mounted, unit)
    assert int(index.normaliser.self_scores[0]) == 26_213 * 81_920 + 65_536 < 1 << 31
    hits = index.retrieve(below, 1)
    assert hits.score_q[0, 0] == index.normaliser.self_scores[0]
    with pytest.raises(CapacityError, match="stay below 2"):
        Index.build(CaseBatch.from_functors(["a"], [np.arange(26_214)]), mounted, unit)
    with pytest.raises(CapacityError, match="stay below 2"):
        index.retrieve(CaseBatch.from_functors(["q"], [np.arange(26_214)]), 1)
    lists = FoldedLists(
        np.array([0, 1, 2]), np.array([0, 0], np.int32), np.array([1 << 30, 1 << 30], np.int32), np.ones(1, np.int32)
    )
    with pytest.raises(CapacityError, match="bound"):
        choose()[1].accumulate(lists, np.array([0, 2]), np.array([0, 1], np.int32), np.ones(1, np.int32))


def test_backends_are_chosen_by_name_or_the_best_there_is() -> None:
    from sma_gpu.errors import BackendUnavailable

    assert choose("auto")[0] == choose("reference")[0] == "reference"
    assert [b.name for b in backends() if b.name in ("cpu", "reference", "torch")] == ["cpu", "reference", "torch"]
    with pytest.raises(BackendUnavailable, match="tpu"):
        choose("tpu")


def test_select_orders_by_key_then_tie_rank_and_pads() -> None:
    ops = choose("reference")[1]
    normaliser = Normaliser.build(Dials(), np.full(5, 1 << 20, np.int64))
    bounds = np.array([[70_000, 0, 90_000, 90_000, 70_000], [0, 0, 0, 0, 0]], np.int32)
    cases, keys = ops.select(bounds, normaliser, np.array([1 << 20, 0]), np.array([4, 3, 2, 1, 0], np.int32), 6)
    assert cases.tolist() == [[3, 2, 4, 0, -1, -1], [-1] * 6]
    assert keys[0, :4].tolist() == [b << 8 for b in (90_000, 90_000, 70_000, 70_000)]


def test_batches_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ShapeError, match="pointers"):
        CaseBatch(("a",), np.array([0]), np.zeros(0, np.int32), np.array([0, 0]), np.zeros(0, np.int32))
    none = np.zeros(0, np.int32)
    for bad in ([-1, 2], [2, 1], [1, 1]):
        with pytest.raises(ShapeError, match="negative numbers, or numbers that do not ascend"):
            CaseBatch(("a",), np.array([0, 2]), np.array(bad, np.int32), np.array([0, 0]), none)
    two = CaseBatch(("a", "b"), np.array([0, 2, 4]), np.array([1, 2, 0, 3], np.int32), np.array([0, 0, 0]), none)
    assert two.functors_of(1).tolist() == [0, 3]
    with pytest.raises(ShapeError, match="whole numbers"):
        CaseBatch.from_functors(["a"], [[1.7]])
    mounted = mount(ontology_from_parents({"EX:1": []}))
    with pytest.raises(CaseError, match="functor 5, where the ontology has 1"):
        Index.build(CaseBatch.from_functors(["a"], [[5]]), mounted)
    with pytest.raises(ShapeError, match="excluded"):
        CaseBatch(("a",), np.array([0, 0]), np.zeros(0, np.int32), np.array([0, 2]), np.zeros(1, np.int32))
