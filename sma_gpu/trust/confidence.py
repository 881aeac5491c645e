"""Confidence and novelty before calibration.

A score divided by the best score, as published, is 1 for most best hits however bad they are. Until a calibration on a
disjoint split exists, confidence is the share of the query that a hit explains, and novelty what the best hit leaves.
"""

from __future__ import annotations

from .abstention import Abstention

__all__ = ["confidence", "novelty"]


def confidence(explained: float) -> float:
    """Returns the uncalibrated confidence of a hit: the explained share of the query, 0 to 1."""
    return explained


def novelty(best_explained: float | None, abstention: Abstention | None) -> float | None:
    """Returns the uncalibrated novelty of a query, 0 to 1.

    Args:
        best_explained: explained share of the best hit, or None without one.
        abstention: why there is no hit.

    Returns:
        What the best hit leaves unexplained; 1 where nothing fits; 0 where every term holds for every case, since then
        nothing of the query is new; None where there was nothing to compare (no term, none usable, no case).
    """
    if best_explained is not None:
        return 1.0 - best_explained
    if abstention is not None and abstention.kind == "no-information":
        return 0.0
    return 1.0 if abstention is not None and abstention.kind == "nothing-fits" else None
