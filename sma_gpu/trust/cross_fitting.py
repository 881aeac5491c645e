"""Models fitted with folds left out: what they say of those folds, and how strongly to hold the weights down.

Whatever is reported of a fold comes from a model that saw nothing of it: weights, scaling and the strength of the ridge
are all found in the other folds, the strength by leaving out one more of them in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .conditional_logit import Choices, ConditionalLogit, fit_conditional_logit
from .scaling import Scaling

__all__ = ["RIDGES", "CrossFit", "ScaledLogit", "cross_fit"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]

RIDGES = (30.0, 3.0, 0.3)
"""How strongly weights may be held down, strongest first; of equals the strongest is taken."""

_NEAR, _EXACT = 1e-5, 1e-7  # slopes at which a fit may stop: one that serves to judge, and the one that is kept


@dataclass(frozen=True)
class ScaledLogit:
    """A conditional logit of scaled signals.

    Attributes:
        of_alternatives: scaling of what alternatives are like.
        of_queries: scaling of what queries are like.
        model: the logit.
        ridge: how strongly its weights were held down.
    """

    of_alternatives: Scaling
    of_queries: Scaling
    model: ConditionalLogit
    ridge: float

    def chances(self, choices: Choices) -> FloatArray:
        """Returns how likely each alternative is right, float64 ``[Q, P]``; 0 where there is none."""
        return self.model.chances(self.scaled(choices))

    def scaled(self, choices: Choices) -> Choices:
        """Returns the choices as the model takes them."""
        of_alternatives = self.of_alternatives.scaled(choices.of_alternatives)
        return Choices(choices.held, of_alternatives, self.of_queries.scaled(choices.of_queries))


@dataclass(frozen=True)
class CrossFit:
    """A fit and what it is worth.

    Attributes:
        model: fitted on everything.
        held_out: float64 ``[Q, P]``, chances by the models that had not seen the query's fold.
        within: float64 ``[folds, Q, P]``: for each fold, chances of the queries outside it, from models that had seen
            neither that fold nor the query's; NaN inside it.
    """

    model: ScaledLogit
    held_out: FloatArray
    within: FloatArray


def cross_fit(choices: Choices, right: BoolArray, fold: LongArray, ridges: Sequence[float] = RIDGES) -> CrossFit:
    """Returns the fit to all queries, and what models without each fold say of it.

    Args:
        choices: the queries; each fold leaves some alternative to the others.
        right: bool ``[Q, P]``.
        fold: int64 ``[Q]``, from 0 on; three or more.
        ridges: to choose from, strongest first.
    """
    fits = _Fits(choices, right, fold, tuple(ridges))
    folds = range(int(fold.max()) + 1)
    held_out = np.zeros(choices.held.shape)
    within = np.full((len(folds), *choices.held.shape), np.nan)
    for one in folds:
        others = [other for other in folds if other != one]
        ridge = fits.best_ridge(others, (one,))
        held_out[fold == one] = fits.model((one,), ridge).chances(choices.take(np.flatnonzero(fold == one)))
        for other in others:
            without = tuple(sorted((one, other)))
            found = fits.model(without, ridge).chances(choices.take(np.flatnonzero(fold == other)))
            within[one, fold == other] = found
    return CrossFit(fits.model((), fits.best_ridge(folds, ())), held_out, within)


@dataclass(frozen=True)
class _Fits:
    """Fits with some folds left out, each made once: without folds 1 and 2 is without folds 2 and 1."""

    choices: Choices
    right: BoolArray
    fold: LongArray
    ridges: tuple[float, ...]
    _made: dict[tuple[tuple[int, ...], float], ScaledLogit] = field(default_factory=dict)
    _scaled: dict[tuple[int, ...], tuple[Scaling, Scaling, Choices, BoolArray]] = field(default_factory=dict)

    def model(self, without: tuple[int, ...], ridge: float) -> ScaledLogit:
        """Returns the fit without the given folds, ascending, at one strength."""
        if (without, ridge) not in self._made:
            of_alternatives, of_queries, choices, right = self._given(without)
            stronger = [self._made[without, r].model for r in self.ridges if (without, r) in self._made]
            start = stronger[-1] if stronger else None
            model = fit_conditional_logit(choices, right, ridge, start, _NEAR if without else _EXACT)
            self._made[without, ridge] = ScaledLogit(of_alternatives, of_queries, model, ridge)
        return self._made[without, ridge]

    def best_ridge(self, folds: Sequence[int], without: tuple[int, ...]) -> float:
        """Returns the strength under which what is right in ``folds``, each left out in turn, is likeliest."""
        found = []
        for ridge in self.ridges:
            total = 0.0
            for one in folds:
                model = self.model(tuple(sorted((one, *without))), ridge)
                inside = np.flatnonzero(self.fold == one)
                choices = model.scaled(self.choices.take(inside))
                total += float(model.model.log_likelihood(choices, self.right[inside]).sum())
            found.append(total)
        return self.ridges[int(np.argmax(found))]

    def _given(self, without: tuple[int, ...]) -> tuple[Scaling, Scaling, Choices, BoolArray]:
        """Returns scalings, scaled choices and what is right of the queries outside some folds."""
        if without not in self._scaled:
            rows = np.flatnonzero(~np.isin(self.fold, without))
            choices = self.choices.take(rows)
            of_alternatives = Scaling.of(choices.of_alternatives[choices.held])
            of_queries = Scaling.of(choices.of_queries)
            scaled = Choices(
                choices.held, of_alternatives.scaled(choices.of_alternatives), of_queries.scaled(choices.of_queries)
            )
            self._scaled[without] = of_alternatives, of_queries, scaled, self.right[rows]
        return self._scaled[without]
