"""Confidence before calibration.

A score divided by the best score, as published, is 1 for most best hits however bad they are. Until a calibration on a
disjoint split exists, confidence is the share of the query that a hit explains.
"""

from __future__ import annotations

__all__ = ["confidence"]


def confidence(explained: float) -> float:
    """Returns the uncalibrated confidence of a hit: the explained share of the query, 0 to 1."""
    return explained
