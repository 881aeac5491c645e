"""Whether a query is new: before a calibration a share, under one a probability and a verdict.

Before a calibration on a disjoint split exists, novelty is what the best hit leaves unexplained, and there is no
verdict: from which share on a query is new is not the same for two indexes, still less for two domains. Under one,
novelty is P(new), and a query is called new at or above the threshold that the calibration found.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import QueryError
from .abstention import Abstention

__all__ = ["Novelty", "judged", "novelty"]


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


class Novelty(NamedTuple):
    """What a calibration says of a query.

    Attributes:
        probability: P(new), 0 to 1, or None where there was nothing to compare.
        novel: whether it is called new, or None likewise.
    """

    probability: float | None
    novel: bool | None


def judged(probability: float, threshold: float, abstention: Abstention | None = None) -> Novelty:
    """Returns what to say of a query under a calibration.

    Where there is no hit the calibration is asked only if that is an answer of the index, that nothing fits; a query
    whose terms hold everywhere is not new, and of one that could not be compared nothing is said.

    Args:
        probability: P(new) by the calibration.
        threshold: P(new) from which on a query is called new, by the calibration.
        abstention: why there is no hit; None where there is one.

    Raises:
        QueryError: one of the two is no share.
    """
    for name, share in (("P(new)", probability), ("threshold", threshold)):
        if not 0.0 <= share <= 1.0:
            raise QueryError(f"novelty with the {name} {share!r}", "it is no share", "Give a number from 0 to 1.")
    kind = abstention.kind if abstention is not None else ""
    if kind == "no-information":
        return Novelty(probability=0.0, novel=False)
    if kind not in ("", "nothing-fits"):
        return Novelty(probability=None, novel=None)
    return Novelty(probability, novel=probability >= threshold)
