"""Which statement would tell the hits of an answer apart, against entropies worked out another way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.answers.separation import separation


def answer(
    hits: list[tuple[list[str], list[str]]], asked: tuple[str, ...] = (), confidence: list[float] | None = None
) -> dict[str, Any]:
    """Returns as much of an answer as counts: of each hit what it shares, and what it has beyond."""
    return {
        "calibration": None if confidence is None else {"fingerprint": "x"},
        "query": {"used": [{"term": term} for term in asked]},
        "hits": [
            {
                "confidence": 0.5 if confidence is None else confidence[place],
                "mapping": [{"case": term, "bits": 1.0} for term in shared],
                "inferences": [{"functor": term, "bits": 2.0 + len(term)} for term in beyond],
            }
            for place, (shared, beyond) in enumerate(hits)
        ],
    }


def entropy(parts: list[float]) -> float:
    shares = np.array([part for part in parts if part > 0]) / sum(parts)
    return float(-(shares * np.log2(shares)).sum())


def test_a_statement_of_half_the_hits_ends_one_bit_of_two() -> None:
    found = separation(answer([([], ["a", "b"]), ([], ["a"]), ([], ["c"]), ([], [])]))
    assert found.doubt == 2
    assert not found.calibrated
    assert [(s.term, s.gain, s.places) for s in found.statements] == [
        ("a", 1.0, (0, 1)),
        ("b", pytest.approx(entropy([1, 3])), (0,)),
        ("c", pytest.approx(entropy([1, 3])), (2,)),
    ]


def test_what_was_asked_what_all_have_and_a_single_hit_tell_nothing_apart() -> None:
    found = separation(answer([(["q"], ["all", "no"]), ([], ["all"])], asked=("q", "no")))
    assert found.statements == ()
    assert separation(answer([([], ["a"])])).statements == ()
    assert separation(answer([([], ["a"])])).doubt == 0
    assert separation(answer([])).statements == ()


def test_a_shared_narrower_statement_counts_as_had() -> None:
    [found] = separation(answer([(["narrower"], []), ([], ["narrower"]), (["q"], [])], asked=("q",))).statements
    assert (found.term, found.places) == ("narrower", (0, 1))


def test_calibrated_confidences_weigh_the_hits() -> None:
    found = separation(answer([([], ["a"]), ([], ["b"]), ([], [])], confidence=[0.6, 0.2, 0.1]))
    assert found.calibrated
    assert found.doubt == pytest.approx(entropy([0.6, 0.2, 0.1]))
    assert [(s.term, s.gain) for s in found.statements] == [
        ("a", pytest.approx(entropy([0.6, 0.3]))),
        ("b", pytest.approx(entropy([0.2, 0.7]))),
    ]
    nothing = separation(answer([([], ["a"]), ([], [])], confidence=[0.0, 0.0]))
    assert not nothing.calibrated and nothing.statements[0].gain == 1


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("efgh"))), min_size=1, max_size=10))
def test_every_gain_is_what_the_answer_leaves_of_the_doubt(hits: list[tuple[set[str], set[str]]]) -> None:
    found = separation(answer([(sorted(shared), sorted(beyond)) for shared, beyond in hits]))
    n = len(hits)
    assert found.doubt == pytest.approx(np.log2(n))
    seen = {s.term for s in found.statements}
    for term in "abcdefgh":
        m = sum(term in shared | beyond for shared, beyond in hits)
        left = sum(part / n * np.log2(part) for part in (m, n - m) if part)  # what is left of the doubt, on average
        assert (term in seen) == (0 < m < n)
        for statement in found.statements:
            if statement.term == term:
                assert statement.gain == pytest.approx(np.log2(n) - left)
    order = [(-s.gain, -s.bits, s.term) for s in found.statements]
    assert order == sorted(order)
