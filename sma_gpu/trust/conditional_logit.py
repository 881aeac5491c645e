"""Which of some alternatives is right, if any: a conditional logit with the further alternative "none of these".

``P(i right) = exp(w . x_i) / (exp(v . z + c) + sum over j of exp(w . x_j))`` (McFadden 1974), where ``x_i`` are what an
alternative is like and ``z`` what its query is like. The chances of all alternatives add up to at most 1. With one
alternative it is logistic regression.

Sums run in a fixed order, place by place, so that no chance depends by a bit on what else is in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import CalibrationError

__all__ = ["Choices", "ConditionalLogit", "fit_conditional_logit"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_STEPS = 1000  # a fit takes some dozens


@dataclass(frozen=True)
class Choices:
    """What ``Q`` queries have to choose from, ``P`` alternatives each.

    Attributes:
        held: bool ``[Q, P]``, whether there is an alternative at this place.
        of_alternatives: float64 ``[Q, P, F]``.
        of_queries: float64 ``[Q, G]``.
    """

    held: BoolArray
    of_alternatives: FloatArray
    of_queries: FloatArray

    def __len__(self) -> int:
        return len(self.held)

    @cached_property
    def by_signal(self) -> tuple[FloatArray, FloatArray]:
        """The same numbers with each signal in one piece: float64 ``[F, Q, P]`` and ``[G, Q]``."""
        return np.ascontiguousarray(np.moveaxis(self.of_alternatives, 2, 0)), np.ascontiguousarray(self.of_queries.T)

    def take(self, queries: npt.NDArray[np.integer]) -> Choices:
        """Returns the choices of the given queries."""
        return Choices(self.held[queries], self.of_alternatives[queries], self.of_queries[queries])


@dataclass(frozen=True)
class ConditionalLogit:
    """The fitted model.

    Attributes:
        weights: float64 ``[F]``, of what alternatives are like.
        none_weights: float64 ``[G]``, of what queries are like, for "none of these".
        none_bias: the constant ``c``.
    """

    weights: FloatArray
    none_weights: FloatArray
    none_bias: float

    def chances(self, choices: Choices) -> FloatArray:
        """Returns how likely each alternative is right, float64 ``[Q, P]``; 0 where there is none."""
        logits, none = _logits(self, choices)
        return np.asarray(np.exp(logits - _log_sum(logits, none)[:, None]), np.float64)

    def log_likelihood(self, choices: Choices, right: BoolArray) -> FloatArray:
        """Returns the log of the chance that was given to what is right, nats, float64 ``[Q]``.

        Where several alternatives are right it is that of any of them, where no one is that of none.
        """
        return _log_likelihood(*_logits(self, choices), right & choices.held)[0]


def fit_conditional_logit(
    choices: Choices, right: BoolArray, ridge: float, start: ConditionalLogit | None = None, slope: float = 1e-7
) -> ConditionalLogit:
    """Returns the model that maximises ``sum of log_likelihood - ridge / 2 * (|w|^2 + |v|^2)``.

    By L-BFGS-B with the exact gradient. The constant is not held down. What is given should be standardised.

    Args:
        choices: the queries, one or more.
        right: bool ``[Q, P]``.
        ridge: 0 or more.
        start: where to begin; all zeros if None.
        slope: where no parameter's slope is greater, in nats a query, the fit may stop.

    Raises:
        CalibrationError: the weights had not settled when the steps ran out.
    """
    from scipy.optimize import minimize  # not above: whoever only asks under a calibration need not wait for it

    width = choices.of_alternatives.shape[2]
    first = np.zeros(width + choices.of_queries.shape[1] + 1)
    if start is not None:
        first = np.concatenate([start.weights, start.none_weights, [start.none_bias]])
    held_right = right & choices.held
    scale = 1.0 / len(choices)  # so that when to stop does not depend on how many queries there are

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        value, slopes = _penalised(_model(point, width), choices, held_right, ridge)
        return -scale * value, -scale * slopes

    options = {"maxiter": _STEPS, "maxfun": 2 * _STEPS, "ftol": 0.0, "gtol": slope}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    if found.status == 1:  # the other ends are a flat slope, and a step too short for the numbers to tell
        raise CalibrationError(
            f"fit a model to {len(choices)} queries",
            f"its weights had not settled after {found.nit} steps",
            "Calibrate with more cases, or hold the weights down more strongly.",
        )
    return _model(found.x, width)


def _model(point: FloatArray, width: int) -> ConditionalLogit:
    return ConditionalLogit(point[:width].copy(), point[width:-1].copy(), float(point[-1]))


def _penalised(model: ConditionalLogit, choices: Choices, right: BoolArray, ridge: float) -> tuple[float, FloatArray]:
    """Returns the penalised log likelihood and its gradient: weights, weights of none, constant of none."""
    value, pull, none_pull = _log_likelihood(*_logits(model, choices), right)
    slope = np.concatenate(
        [
            np.einsum("fqp,qp->f", choices.by_signal[0], pull) - ridge * model.weights,
            np.einsum("gq,q->g", choices.by_signal[1], none_pull) - ridge * model.none_weights,
            [none_pull.sum()],
        ]
    )
    held_down = (model.weights**2).sum() + (model.none_weights**2).sum()
    return float(value.sum() - ridge / 2 * held_down), slope


def _logits(model: ConditionalLogit, choices: Choices) -> tuple[FloatArray, FloatArray]:
    """Returns the logits of the alternatives, ``-inf`` where there is none, and of none of them."""
    of_alternatives, of_queries = choices.by_signal
    logits = np.where(choices.held, _weighted(of_alternatives, model.weights), -np.inf)
    return logits, _weighted(of_queries, model.none_weights) + model.none_bias


def _log_likelihood(logits: FloatArray, none: FloatArray, right: BoolArray) -> tuple[FloatArray, ...]:
    """Returns the log likelihood of each query and its slopes along the logits of alternatives and of none."""
    wanted = np.where(right, logits, -np.inf), np.where(right.any(axis=1), -np.inf, none)
    whole, part = _log_sum(logits, none), _log_sum(*wanted)
    pull = np.exp(wanted[0] - part[:, None]) - np.exp(logits - whole[:, None])
    return part - whole, pull, np.exp(wanted[1] - part) - np.exp(none - whole)


def _log_sum(logits: FloatArray, none: FloatArray) -> FloatArray:
    """Returns the log of the sum of the exponentials of all logits of a query, float64 ``[Q]``; one is finite."""
    greatest = np.maximum(logits.max(axis=1, initial=-np.inf), none)
    raised = np.ascontiguousarray(np.exp(logits - greatest[:, None]).T)
    return np.asarray(greatest + np.log(_weighted(raised, np.ones(len(raised)), np.exp(none - greatest))), np.float64)


def _weighted(values: FloatArray, weights: FloatArray, start: FloatArray | float = 0.0) -> FloatArray:
    """Returns ``start`` plus all of ``values``, each times its weight, first to last."""
    total = np.zeros(values.shape[1:]) + start
    for one, weight in zip(values, weights.tolist(), strict=True):
        total += one * weight
    return total
