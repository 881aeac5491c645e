"""Novelty before and under a calibration: shares, verdicts, and when nothing is said."""

from __future__ import annotations

import math

import pytest

from sma_gpu.errors import QueryError
from sma_gpu.trust import NOTHING_FITS, Abstention
from sma_gpu.trust.novelty import judged, novelty


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("nothing-fits", 1.0), ("no-information", 0.0), ("empty", None), ("unusable", None), ("no-cases", None)],
)
def test_before_a_calibration_no_hit_is_new_only_if_something_was_compared(kind: str, expected: float | None) -> None:
    assert novelty(None, Abstention(kind, "")) == expected


def test_before_a_calibration_it_is_what_the_best_hit_leaves() -> None:
    assert novelty(0.75, None) == 0.25
    assert novelty(None, None) is None


def test_new_at_the_threshold_and_above() -> None:
    found = {share: judged(share, 0.6).novel for share in (0.0, math.nextafter(0.6, 0), 0.6, 1.0)}
    assert list(found.values()) == [False, False, True, True]
    assert [found.probability for found in (judged(0.7, 0.6), judged(0.5, 0.6))] == [0.7, 0.5]


def test_without_a_hit_the_calibration_speaks_only_where_nothing_fits() -> None:
    assert judged(0.9, 0.6, NOTHING_FITS) == (0.9, True)
    assert judged(0.9, 0.6, Abstention("no-information", "")) == (0.0, False)
    for kind in ("empty", "only-exclusions", "unusable", "no-cases"):
        assert judged(0.9, 0.6, Abstention(kind, "")) == (None, None)


@pytest.mark.parametrize(("share", "threshold"), [(-0.1, 0.5), (1.1, 0.5), (float("nan"), 0.5), (0.5, 2.0)])
def test_what_is_no_share_is_refused(share: float, threshold: float) -> None:
    with pytest.raises(QueryError, match="no share"):
        judged(share, threshold)
