"""When not to answer: what each rule gives on folds and splits that its threshold has not seen."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import CalibrationError
from ...trust.conditional_logit import Choices
from ...trust.thresholds import conformal, threshold_by
from .asking import Asked
from .confidence import plain
from .fits import Confidence, fit_once
from .intervals import Statistic, intervals
from .plan import Plan

__all__ = ["conformal_splits", "rules_held_out"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
LongArray = npt.NDArray[np.int64]


def rules_held_out(of: Plan, asked: Asked, ours: Confidence, fold: LongArray) -> dict[str, Any]:
    """Returns coverage and risk of each rule, its threshold for a fold taken from the others, ready for JSON.

    Of all questions, novel ones included: there every answer is wrong.
    """
    right, weights = asked.right[:, 0], _weights(asked.groups)
    return {rule: _held_out(of, asked, ours, fold, rule, right, weights) for rule in of.rules}


def _held_out(
    of: Plan, asked: Asked, ours: Confidence, fold: LongArray, rule: str, right: BoolArray, weights: FloatArray
) -> dict[str, Any]:
    answered = np.zeros(len(asked), np.bool_)
    for one, within in enumerate(ours.within):
        inside = fold == one
        try:
            threshold = threshold_by(rule, within[~inside], right[~inside], weights[~inside])
        except CalibrationError as none:
            return {"none": none.found}
        answered[inside] = threshold.answers(ours.first[inside])
    wrong = answered & ~right
    statistics: dict[str, Statistic] = {
        "coverage": partial(_share, answered, np.ones(len(asked), np.bool_)),
        "risk": partial(_share, wrong, answered),
        "risk_of_all": partial(_share, wrong, np.ones(len(asked), np.bool_)),
    }
    found = intervals(statistics, asked.clusters, of.seed)
    return {
        "answered": int(answered.sum()),
        "wrong": int(wrong.sum()),
        **{
            name: None if told is None else {"value": told["difference"], "low": told["low"], "high": told["high"]}
            for name, told in found.items()
        },
    }


def conformal_splits(of: Plan, asked: Asked) -> dict[str, Any]:
    """Returns, for each level of conformal risk, what splits by groups lose on their judged third, ready for JSON.

    One third of the groups fits the weights, one gives the threshold, one is judged, so that judged groups and those of
    the threshold are exchangeable and the guarantee is exact. It is on the expected loss: a single split may well be
    above the level. The loss is the mean over groups of the share answered and wrong.
    """
    names = sorted(set(asked.groups))
    number = {name: at for at, name in enumerate(names)}
    group = np.array([number[name] for name in asked.groups], np.int64)
    right, signals = asked.right[:, 0], plain(asked.signals)
    weights = _weights(asked.groups)
    lost: dict[float, list[float]] = {level: [] for level in of.conformal_levels}
    covered: dict[float, list[float]] = {level: [] for level in of.conformal_levels}
    for split in range(of.splits):
        part = np.zeros(len(names), np.int64)
        part[np.random.default_rng([of.seed, split]).permutation(len(names))] = np.arange(len(names)) % 3
        fitted, chosen, judged = (np.flatnonzero(part[group] == one) for one in range(3))
        model = fit_once(signals.take(fitted), asked.right[fitted], of.split_ridge)
        first = model.chances(Choices(signals.held, signals.of_hits, signals.of_queries))[:, 0]
        for level in of.conformal_levels:
            threshold = conformal(first[chosen], right[chosen], level, weights[chosen])
            answered = threshold.answers(first[judged])
            of_group = weights[judged] / weights[judged].sum()
            lost[level].append(float((of_group * (answered & ~right[judged])).sum()))
            covered[level].append(float(answered.mean()))
    return {
        str(level): {
            "splits": of.splits,
            "groups": len(names),
            "mean_loss": float(np.mean(values)),
            "standard_error": float(np.std(values, ddof=1) / np.sqrt(len(values))),
            "splits_above": sum(value > level for value in values),
            "coverage": float(np.mean(covered[level])),
        }
        for level, values in lost.items()
    }


def _weights(groups: tuple[str, ...]) -> FloatArray:
    """Returns one over the number of questions in the group of each, float64 ``[Q]``."""
    _, where, sizes = np.unique(np.array(groups, dtype=object).astype(str), return_inverse=True, return_counts=True)
    return np.asarray(1.0 / sizes[where], np.float64)


def _share(part: BoolArray, whole: BoolArray, weights: FloatArray) -> FloatArray:
    above, below = weights @ part.astype(np.float64), weights @ whole.astype(np.float64)
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan)
