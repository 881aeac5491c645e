"""Confidence and novelty of questions from models that have seen nothing of their folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...trust.calibration import novelty_choices, with_first_at
from ...trust.conditional_logit import Choices, fit_conditional_logit
from ...trust.cross_fitting import ScaledLogit, cross_fit
from ...trust.fitting import LEAST_FOLDS, LEAST_QUERIES, first_right
from ...trust.held_out import FIRST
from ...trust.isotonic import rising_steps
from ...trust.scaling import Scaling
from ...trust.signals import Signals

__all__ = ["Confidence", "Newness", "fit_confidence", "fit_newness", "fit_once", "stepped", "why_not_fitted"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Confidence:
    """Held-out confidence of ``Q`` questions.

    Attributes:
        chances: float64 ``[Q, P]``, of each hit.
        within: float64 ``[folds, Q]``: for each fold, that of the first hits outside it, from models that had seen
            neither that fold nor the question's; NaN inside it.
    """

    chances: FloatArray
    within: FloatArray

    @property
    def first(self) -> FloatArray:
        """Confidence of the first hits, float64 ``[Q]``; 0 without one."""
        return self.chances[:, 0]

    @property
    def first_five(self) -> FloatArray:
        """Confidence that one of the first five is right, float64 ``[Q]``."""
        return np.asarray(np.minimum(self.chances[:, :FIRST].sum(axis=1), 1.0), np.float64)


@dataclass(frozen=True)
class Newness:
    """Held-out chance that each of ``Q`` questions is new; 1 where it has no hit.

    Attributes:
        as_asked: float64 ``[Q]``.
        hidden: float64 ``[Q]``, asked with what is right hidden.
        within: float64 ``[folds, 2, Q]``, both, as of ``Confidence``; NaN inside a fold.
    """

    as_asked: FloatArray
    hidden: FloatArray
    within: FloatArray


def why_not_fitted(right: BoolArray, groups: Sequence[str], folds: int) -> str:
    """Returns why no confidence can be fitted to first hits that are right or not, or an empty text."""
    if len(right) < LEAST_QUERIES:
        return f"{len(right)} questions are fewer than {LEAST_QUERIES}"
    if len(set(groups)) < folds:
        return f"{len(set(groups))} groups are fewer than {folds} folds"
    if right.all() or not right.any():
        return f"the first hit is {'right' if right.all() else 'wrong'} in all {len(right)} questions"
    return ""


def fit_confidence(signals: Signals, right: BoolArray, fold: LongArray) -> Confidence:
    """Returns the confidence of the conditional logit, as ``trust.fitting`` fits it."""
    fitted = cross_fit(Choices(signals.held, signals.of_hits, signals.of_queries), first_right(right), fold)
    return Confidence(fitted.held_out, fitted.within[:, :, 0])


def stepped(plain: Confidence, right: BoolArray, fold: LongArray) -> FloatArray:
    """Returns held-out chances ``[Q, P]`` whose first went through rising steps, each fold through the others'."""
    outcomes, chances = right.astype(np.float64), plain.chances.copy()
    for one, within in enumerate(plain.within):
        inside = fold == one
        steps = rising_steps(within[~inside], outcomes[~inside])
        chances[inside] = with_first_at(steps(chances[inside, 0]), chances[inside])
    return chances


def fit_newness(signals: Signals, hidden: Signals, novel: BoolArray, fold: LongArray) -> Newness | None:
    """Returns the novelty of questions as they are and with what is right hidden; None where one kind is missing.

    Args:
        signals: of ``Q`` questions.
        hidden: the same with what is right hidden; of a question that is novel anyhow it is no sample.
        novel: bool ``[Q]``, nothing that is indexed is right.
        fold: int64 ``[Q]``.
    """
    count = len(novel)
    some = np.concatenate([signals.held[:, 0], hidden.held[:, 0] & ~novel])
    kept = np.flatnonzero(some)
    is_new = np.concatenate([novel, np.ones(count, np.bool_)])[kept]
    of_fold = np.concatenate([fold, fold])[kept]
    if min(len(set(of_fold[is_new].tolist())), len(set(of_fold[~is_new].tolist()))) < LEAST_FOLDS:
        return None
    seen = np.concatenate([novelty_choices(one).of_alternatives for one in (signals, hidden)])[kept]
    samples = Choices(np.ones((len(kept), 1), np.bool_), seen, np.zeros((len(kept), 0)))
    fitted = cross_fit(samples, is_new[:, None], of_fold)
    chances, within = np.ones(2 * count), np.ones((len(fitted.within), 2 * count))
    chances[kept], within[:, kept] = fitted.held_out[:, 0], fitted.within[:, :, 0]
    within[np.arange(len(within))[:, None] == np.concatenate([fold, fold])] = np.nan
    return Newness(chances[:count], chances[count:], within.reshape(len(within), 2, count))


def fit_once(signals: Signals, right: BoolArray, ridge: float) -> ScaledLogit:
    """Returns the logit fitted to all questions given, at one strength of the ridge."""
    of_hits, of_queries = Scaling.of(signals.of_hits[signals.held]), Scaling.of(signals.of_queries)
    scaled = Choices(signals.held, of_hits.scaled(signals.of_hits), of_queries.scaled(signals.of_queries))
    return ScaledLogit(of_hits, of_queries, fit_conditional_logit(scaled, first_right(right), ridge), ridge)
