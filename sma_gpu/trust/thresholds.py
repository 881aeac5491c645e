"""When to abstain: three rules for a threshold on the confidence of the best hit, and what each gave.

All are derived from held-out confidences: those of questions that the calibration had not seen. A question is answered
if its confidence is at least the threshold and above 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CalibrationError, QueryError
from .reliability import check_outcomes
from .shares import Share

__all__ = ["RiskCurve", "Threshold", "conformal", "risk_curve", "target_risk", "threshold_by", "youden"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RiskCurve:
    """What there is to choose from, by falling threshold; questions of one confidence are answered together.

    Attributes:
        thresholds: float64 ``[T]``, each confidence above 0 that was met, falling.
        answered: int64 ``[T]``, how many questions have at least that.
        wrong: int64 ``[T]``, how many of those were wrong.
        queries: how many questions there are.
    """

    thresholds: FloatArray
    answered: LongArray
    wrong: LongArray
    queries: int

    @property
    def coverage(self) -> FloatArray:
        """Share of questions that are answered, float64 ``[T]``."""
        return self.answered / self.queries

    @property
    def risk(self) -> FloatArray:
        """Share of wrong ones among those answered, float64 ``[T]`` (selective risk, El-Yaniv and Wiener 2010)."""
        return self.wrong / self.answered


@dataclass(frozen=True)
class Threshold:
    """From which confidence on to answer, and what that gave on the held-out questions.

    The intervals take the threshold for given. It was chosen on the same questions, so a new set of them may do a
    little worse.

    Attributes:
        rule: ``youden``, ``risk`` or ``conformal``.
        level: the risk that was asked for; None under ``youden``.
        value: answer where confidence is at least this and above 0; None: always abstain.
        coverage: questions answered, of all.
        risk: wrong ones, of those answered.
        risk_of_all: questions answered and wrong, of all.
    """

    rule: str
    level: float | None
    value: float | None
    coverage: Share
    risk: Share
    risk_of_all: Share

    def answers(self, confidence: FloatArray) -> BoolArray:
        """Returns which queries to answer, by the confidence of their best hit, 0 where there is none."""
        if self.value is None:
            return np.zeros(confidence.shape, np.bool_)
        said: BoolArray = (confidence >= self.value) & (confidence > 0)
        return said

    @property
    def words(self) -> str:
        """The rule and what it gave, for a person."""
        questions = f"{self.coverage.whole} held-out questions"
        if self.value is None:
            needs = f" (that takes {_least_groups(self.level)} groups or more)" if self.rule == "conformal" else ""
            return f"always abstains: no threshold {_reached(self.rule, self.level)}{needs}, going by {questions}"
        answers = f"answers from confidence {self.value:.3f} on"
        kind = "conformal: " if self.rule == "conformal" else ""
        return (
            f"{answers} ({kind}{_meaning(self.rule, self.level)}); of {questions} it answered "
            f"{_told(self.coverage)}, and {_told(self.risk)} of those answers were wrong"
        )

    def as_dict(self) -> dict[str, Any]:
        """Returns all of it in the form of JSON."""
        return {
            "rule": self.rule, "level": self.level, "value": self.value, "coverage": self.coverage.as_dict(),
            "risk": self.risk.as_dict(), "risk_of_all": self.risk_of_all.as_dict(), "words": self.words,
        }  # fmt: skip


def risk_curve(confidence: FloatArray, right: BoolArray) -> RiskCurve:
    """Returns coverage and risk at every threshold.

    Args:
        confidence: float64 ``[Q]``, of each question's best hit, 0 without one.
        right: bool ``[Q]``, whether that hit is right.

    Raises:
        ShapeError: the arrays do not fit together, or a confidence is outside [0, 1].
    """
    check_outcomes(confidence, right)
    values, run = np.unique(-confidence, return_inverse=True)
    answered = np.cumsum(np.bincount(run, minlength=len(values)))
    wrong = np.cumsum(np.bincount(run[~right], minlength=len(values)))
    some = values < 0
    return RiskCurve(-values[some], answered[some], wrong[some], len(confidence))


def youden(confidence: FloatArray, right: BoolArray) -> Threshold:
    """Returns the threshold at which the share of right ones answered most exceeds that of wrong ones (Youden 1950).

    The highest of several. Arguments are those of ``risk_curve``.

    Raises:
        CalibrationError: all are right, or all wrong.
        ShapeError: as of ``risk_curve``.
    """
    curve = risk_curve(confidence, right)
    rights, wrongs = int(right.sum()), int((~right).sum())
    if not rights or not wrongs:
        raise CalibrationError(
            f"Youden's J of {len(right)} questions",
            f"{'none' if rights == 0 else 'all'} of the best hits are right, so no threshold tells them apart",
            "Give solved cases of both kinds, or use another rule.",
        )
    # In whole numbers: a difference of two rounded shares would order equal ones by chance.
    gained = (curve.answered - curve.wrong) * wrongs - curve.wrong * rights
    best = int(np.argmax(gained)) if len(gained) and gained.max() > 0 else None
    return _threshold("youden", None, curve, None if best is None else float(curve.thresholds[best]))


def target_risk(confidence: FloatArray, right: BoolArray, level: float) -> Threshold:
    """Returns the threshold of the greatest coverage at which at most ``level`` of the answers are wrong.

    That is what held on these questions, no guarantee for others; the interval of the risk says how far it may be off.
    ``conformal`` gives a guarantee, of another risk. Arguments are those of ``risk_curve``.

    Raises:
        QueryError: ``level`` is not between 0 and 1.
        ShapeError: as of ``risk_curve``.
    """
    _check_level("target risk", level)
    curve = risk_curve(confidence, right)
    fits = np.flatnonzero(curve.risk <= level)
    return _threshold("risk", level, curve, float(curve.thresholds[fits[-1]]) if len(fits) else None)


def conformal(confidence: FloatArray, right: BoolArray, level: float, weights: FloatArray | None = None) -> Threshold:
    """Returns the least threshold by conformal risk control (Angelopoulos, Bates, Fisch, Lei and Schuster 2022).

    The loss of a query is 1 if it is answered and wrong, else 0. It never grows with the threshold, so for a new query
    that is exchangeable with these, its expected value is at most ``level``. It is a risk over all queries, those
    abstained from included, not over those answered: of 100 queries, at most ``100 * level`` are expected to be
    answered wrongly, however many are answered.

    Queries of one group, such as patients of one publication, hang together, and are exchangeable group by group alone.
    Then the loss is the mean of the group's, and ``weights`` say so; with few groups the threshold is the higher for
    it. Confidences that were held out of several folds come from models a little unlike the last one, which weakens the
    promise a little.

    Args:
        confidence: float64 ``[Q]``, of each question's best hit, 0 without one.
        right: bool ``[Q]``, whether that hit is right.
        level: the risk, between 0 and 1.
        weights: float64 ``[Q]``, one over the number of questions in the group of each; all 1 where it is None.

    Raises:
        QueryError: ``level`` is not between 0 and 1.
        ShapeError: as of ``risk_curve``.
    """
    _check_level("conformal risk", level)
    curve = risk_curve(confidence, right)
    # The proof wants a loss that is continuous from the right, so answers are those above a confidence that was met;
    # the loss of the one question to come counts as 1. All in fractions: rounding must not decide at the border.
    sizes = np.ones(len(confidence), np.int64) if weights is None else np.rint(1 / weights).astype(np.int64)
    lost = _lost(curve, confidence, right, sizes)
    groups = sum(Fraction(count, size) for size, count in enumerate(np.bincount(sizes).tolist()) if count)
    bar = Fraction(str(float(level))) * (groups + 1) - 1
    fits = [at for at, one in enumerate(lost) if one <= bar]
    if not fits:
        return _threshold("conformal", level, curve, None)
    last = fits[-1]
    value = 0.0 if last == len(curve.thresholds) else float(np.nextafter(curve.thresholds[last], np.inf))
    return _threshold("conformal", level, curve, value)


def _lost(curve: RiskCurve, confidence: FloatArray, right: BoolArray, sizes: LongArray) -> list[Fraction]:
    """Returns how many groups' worth is lost above each threshold of ``curve``, and above 0."""
    order = np.argsort(-confidence, kind="stable")
    wrong = [
        Fraction(0) if is_right else Fraction(1, size)
        for is_right, size in zip(right[order].tolist(), sizes[order].tolist(), strict=True)
    ]
    summed = [Fraction(0), *accumulate(wrong)]
    return [Fraction(0), *(summed[answered] for answered in curve.answered.tolist())]


def threshold_by(rule: str, confidence: FloatArray, right: BoolArray, weights: FloatArray | None = None) -> Threshold:
    """Returns the threshold by a rule in words: ``youden``, ``risk=LEVEL`` or ``conformal=LEVEL``.

    The arrays are those of ``conformal``; the other rules take no weights.

    Raises:
        QueryError: there is no such rule, or the level is not between 0 and 1.
        CalibrationError: the rule has no threshold for these questions.
        ShapeError: as of ``risk_curve``.
    """
    name, given, level = rule.partition("=")
    if rule == "youden":
        return youden(confidence, right)
    if given and name in ("risk", "conformal"):
        try:
            number = float(level)
        except ValueError:
            raise QueryError(
                f"abstain by {rule!r}", f"{level!r} is no number", f"Give a share between 0 and 1, such as {name}=0.1."
            ) from None
        if name == "risk":
            return target_risk(confidence, right, number)
        return conformal(confidence, right, number, weights)
    raise QueryError(
        f"abstain by {rule!r}", "there is no such rule", "Name youden, risk=LEVEL or conformal=LEVEL, such as risk=0.1."
    )


def _threshold(rule: str, level: float | None, curve: RiskCurve, value: float | None) -> Threshold:
    reached = 0 if value is None else int(np.count_nonzero(curve.thresholds >= value))
    answered, wrong = (int(counts[reached - 1]) if reached else 0 for counts in (curve.answered, curve.wrong))
    shares = Share(answered, curve.queries), Share(wrong, answered), Share(wrong, curve.queries)
    return Threshold(rule, level, value, *shares)


def _check_level(what: str, level: float) -> None:
    if not 0 < level < 1:
        raise QueryError(f"{what} {level}", "a level of risk is between 0 and 1", "Give a share such as 0.1.")


def _meaning(rule: str, level: float | None) -> str:
    if level is None:
        return "Youden's J"
    share = f"at most {100 * level:g}%"
    return f"{share} of the answers wrong" if rule == "risk" else f"{share} of all queries answered wrongly"


def _reached(rule: str, level: float | None) -> str:
    if level is None:
        return "tells right answers from wrong ones"
    return f"keeps to {_meaning(rule, level)}"


def _least_groups(level: float | None) -> int:
    """Returns how many groups there must be before a conformal threshold can exist: the one to come counts as lost."""
    return 0 if level is None else math.ceil(1 / Fraction(str(float(level)))) - 1


def _told(share: Share) -> str:
    low, high = share.interval
    return f"{share.value:.1%} ({low:.1%} to {high:.1%})" if share.whole else "none"
