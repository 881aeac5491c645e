"""Whether a confidence of 0.7 is right seven times out of ten: reliability bins and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import ShapeError
from .shares import Share

__all__ = [
    "LEAST_CHANCE",
    "ReliabilityBin",
    "brier",
    "check_outcomes",
    "ece",
    "ece_by_chance",
    "equal_mass_bins",
    "equal_width_bins",
    "log_loss",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]
_Ends = Callable[[int, FloatArray], tuple[float, float]]

LEAST_CHANCE = 1e-6
"""Log loss takes no confidence for nearer to 0 or 1 than this, so that one sure mistake costs 20 bits, not all."""


@dataclass(frozen=True)
class ReliabilityBin:
    """The questions whose confidence is alike.

    Attributes:
        low: least confidence of the bin: its edge, or of equal mass, the least that was met.
        high: greatest, likewise.
        confidence: mean confidence of its questions, in [0, 1].
        right: how many of them were right.
        spread: standard deviation of the share of right ones if each confidence was true to the letter.
    """

    low: float
    high: float
    confidence: float
    right: Share
    spread: float

    @property
    def gap(self) -> float:
        """Share of right ones less the confidence: below 0 where the confidence is too high."""
        return self.right.value - self.confidence


def equal_width_bins(confidence: FloatArray, right: BoolArray, bins: int = 10) -> tuple[ReliabilityBin, ...]:
    """Returns the bins ``(m / bins, (m + 1) / bins]`` that hold a question (Naeini et al. 2015; Guo et al. 2017).

    Confidence 0 is in the first.

    Args:
        confidence: float64 ``[Q]``, in [0, 1].
        right: bool ``[Q]``.
        bins: one or more.

    Raises:
        ShapeError: the arrays do not fit together, or a confidence is outside [0, 1].
    """
    check_outcomes(confidence, right)
    edges = np.arange(bins + 1) / bins
    number = np.clip(np.searchsorted(edges, confidence, "left") - 1, 0, bins - 1)
    return _bins(confidence, right, number, lambda m, _: (float(edges[m]), float(edges[m + 1])))


def equal_mass_bins(confidence: FloatArray, right: BoolArray, bins: int = 10) -> tuple[ReliabilityBin, ...]:
    """Returns at most ``bins`` bins of about as many questions each; questions of one confidence are never parted.

    Arguments and errors are those of ``equal_width_bins``.
    """
    check_outcomes(confidence, right)
    ordered = np.sort(confidence)
    # A question belongs where the first of its equals stands.
    place = np.searchsorted(ordered, confidence, "left")
    number = place * bins // max(len(confidence), 1)
    return _bins(confidence, right, number, lambda _, inside: (float(inside[0]), float(inside[-1])))


def ece(bins: Sequence[ReliabilityBin]) -> float:
    """Returns the expected calibration error: the mean gap between confidence and share of right ones, in [0, 1].

    Each bin weighs by its questions (Naeini et al. 2015). NaN without a question.
    """
    count = sum(one.right.whole for one in bins)
    return sum(one.right.whole * abs(one.gap) for one in bins) / count if count else float("nan")


def ece_by_chance(bins: Sequence[ReliabilityBin]) -> float:
    """Returns which expected calibration error these bins would show on average if every confidence was true.

    It is above 0, since a bin of few questions misses its mean by chance (Roelofs et al. 2022); an error near it is no
    sign of bad calibration. By the normal approximation, whose mean absolute deviation is ``sqrt(2 / pi)`` deviations.
    """
    count = sum(one.right.whole for one in bins)
    missed = sum(one.right.whole * one.spread for one in bins)
    return float(np.sqrt(2 / np.pi)) * missed / count if count else float("nan")


def brier(confidence: FloatArray, right: BoolArray) -> float:
    """Returns the mean square of confidence less outcome, in [0, 1] (Brier 1950); NaN without a question."""
    check_outcomes(confidence, right)
    return float(np.mean(np.sort((confidence - right) ** 2))) if len(confidence) else float("nan")


def log_loss(confidence: FloatArray, right: BoolArray) -> float:
    """Returns the mean surprise at the outcomes, in nats, confidence kept ``LEAST_CHANCE`` from 0 and 1."""
    check_outcomes(confidence, right)
    kept = np.clip(confidence, LEAST_CHANCE, 1 - LEAST_CHANCE)
    surprise = -np.log(np.where(right, kept, 1 - kept))
    return float(np.mean(np.sort(surprise))) if len(confidence) else float("nan")


def check_outcomes(confidence: FloatArray, right: BoolArray) -> None:
    """Refuses what is no confidence with its outcomes.

    Raises:
        ShapeError: the arrays do not fit together, or a confidence is outside [0, 1].
    """
    shapes = f"confidence {confidence.shape} and outcomes {right.shape} of {right.dtype}"
    fits = confidence.ndim == 1 and confidence.shape == right.shape and right.dtype == np.bool_
    if not fits or not ((confidence >= 0) & (confidence <= 1)).all():
        raise ShapeError(
            "compare confidence with outcomes",
            shapes if not fits else "a confidence is outside [0, 1]",
            "Give float64 [Q] in [0, 1] and bool [Q].",
        )


def _bins(confidence: FloatArray, right: BoolArray, number: LongArray, ends: _Ends) -> tuple[ReliabilityBin, ...]:
    found = []
    for one in sorted(set(number.tolist())):
        inside = np.sort(confidence[number == one])  # sorted: the sum must not depend on the order of the questions
        count = len(inside)
        share = Share(int(right[number == one].sum()), count)
        low, high = ends(one, inside)
        spread = float(np.sqrt((inside * (1 - inside)).sum())) / count
        found.append(ReliabilityBin(low, high, float(inside.mean()), share, spread))
    return tuple(found)
