"""Confidence and novelty before calibration.

A score divided by the best score, as published, is 1 for most best hits however bad they are. Until a calibration on a
disjoint split exists, confidence is the share of the query that a hit explains, and novelty what the best hit leaves.
"""

from __future__ import annotations

__all__ = ["confidence", "novelty"]


def confidence(explained: float) -> float:
    """Returns the uncalibrated confidence of a hit: the explained share of the query, 0 to 1."""
    return explained


def novelty(best_explained: float | None) -> float:
    """Returns the uncalibrated novelty of a query, 0 to 1; 1 without a hit (``best_explained`` None)."""
    return 1.0 - (best_explained or 0.0)
