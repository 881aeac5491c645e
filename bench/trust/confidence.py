"""Whether confidence is true as a number, and what each part of the calibration adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trust.folds import grouped_folds
from ...trust.held_out import FIRST, Outcomes
from ...trust.reliability import LEAST_CHANCE, ece, equal_width_bins
from ...trust.signals import GENERALISED, STABILITY_SIGNALS, Signals
from ..metrics import aurc, weighted_aurc
from .asking import Asked, without
from .fits import Confidence, fit_confidence, stepped, why_not_fitted
from .intervals import Statistic, intervals
from .plan import Plan

__all__ = ["calibration_figures", "chance_of_ece", "fit_ours", "parts_of_confidence", "plain"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
LongArray = npt.NDArray[np.int64]

_DRAWS = 2000  # of outcomes
_BINS = 10


def plain(signals: Signals) -> Signals:
    """Returns the signals that a calibration takes by default."""
    return without(signals, *STABILITY_SIGNALS, GENERALISED)


def fit_ours(of: Plan, asked: Asked) -> tuple[Confidence, LongArray]:
    """Returns our confidence of each question, and its fold."""
    fold = grouped_folds(asked.groups, of.folds, of.fold_seed)
    return fit_confidence(plain(asked.signals), asked.right, fold), fold


def calibration_figures(of: Plan, asked: Asked, ours: Confidence) -> dict[str, Any]:
    """Returns how well confidence holds, of all questions, novel ones included; ready for JSON.

    Of the first hit, of the first five together, and of the first hit with folds cut by right answer.
    """
    five = np.asarray(asked.right[:, :FIRST].any(axis=1), np.bool_)
    return {
        "first": _figures(ours.first, asked.right[:, 0], of.seed),
        "first_five": _figures(ours.first_five, five, of.seed),
        "by_answer": _by_answer(of, asked),
    }


def _by_answer(of: Plan, asked: Asked) -> dict[str, Any] | None:
    """Returns the figures of the first hit with folds cut by right answer; None where that changes nothing."""
    if asked.answers == asked.groups or why_not_fitted(asked.right[:, 0], asked.answers, of.folds):
        return None
    fold = grouped_folds(asked.answers, of.folds, of.fold_seed)
    other, known = fit_confidence(plain(asked.signals), asked.right, fold), asked.known
    answerable = aurc(other.first[known], asked.right[known, 0].astype(np.float64))
    return {**_figures(other.first, asked.right[:, 0], of.seed), "aurc_answerable": answerable}


def chance_of_ece(confidence: FloatArray, observed: float, seed: int) -> float:
    """Returns how often outcomes drawn by the confidences themselves show an ECE of ``observed`` or more.

    (Consistency resampling, Broecker and Smith 2007.) Questions count as independent, so for those that hang together
    it is too low.
    """
    generator = np.random.default_rng(seed)
    edges = np.arange(_BINS + 1) / _BINS
    number = np.clip(np.searchsorted(edges, confidence, "left") - 1, 0, _BINS - 1)
    inside = (number[:, None] == np.arange(_BINS)).astype(np.float64)
    stated = confidence @ inside
    drawn = (generator.random((_DRAWS, len(confidence))) < confidence).astype(np.float64) @ inside
    reached = int((np.abs(drawn - stated).sum(axis=1) / len(confidence) >= observed).sum())
    return (reached + 1) / (_DRAWS + 1)


def parts_of_confidence(of: Plan, asked: Asked, ours: Confidence, fold: LongArray) -> dict[str, dict[str, Any]]:
    """Returns, for each part that could be added, what it changes: AURC of the first hit, ECE, Brier and log loss.

    A difference below zero is an improvement. All are of the same folds; AURC is of answerable questions.
    """
    variants = {"stability": fit_confidence(without(asked.signals, GENERALISED), asked.right, fold).first}
    if asked.generalised:
        variants["generalisations"] = fit_confidence(
            without(asked.signals, *STABILITY_SIGNALS), asked.right, fold
        ).first
    variants["isotonic"] = stepped(ours, asked.right[:, 0], fold)[:, 0]
    right = asked.right[:, 0].astype(np.float64)
    found = {}
    for name, first in variants.items():
        statistics: dict[str, Statistic] = {
            "aurc": partial(_aurc_change, first, ours.first, right, asked.known),
            "brier": partial(_mean, (first - right) ** 2 - (ours.first - right) ** 2),
            "log_loss": partial(_mean, _surprise(first, right) - _surprise(ours.first, right)),
        }
        told = {"ece": ece(equal_width_bins(first, asked.right[:, 0]))}
        found[name] = {"figures": told, "against_ours": intervals(statistics, asked.clusters, of.seed)}
    return found


def _figures(confidence: FloatArray, right: BoolArray, seed: int) -> dict[str, Any]:
    figures: Mapping[str, float] = Outcomes.of(confidence, right).figures()
    bins = [
        {
            "low": one.low,
            "high": one.high,
            "questions": one.right.whole,
            "stated": one.confidence,
            "right": one.right.value,
        }
        for one in equal_width_bins(confidence, right)
    ]
    told = {name: None if np.isnan(value) else value for name, value in figures.items()}
    return {**told, "ece_p": chance_of_ece(confidence, figures["ece"], seed), "bins": bins}


def _aurc_change(
    first: FloatArray, second: FloatArray, right: FloatArray, known: BoolArray, weights: FloatArray
) -> FloatArray:
    held = weights[:, known]
    return weighted_aurc(first[known], right[known], held) - weighted_aurc(second[known], right[known], held)


def _mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray((weights @ values) / weights.sum(axis=1), np.float64)


def _surprise(confidence: FloatArray, right: FloatArray) -> FloatArray:
    kept = np.clip(confidence, LEAST_CHANCE, 1 - LEAST_CHANCE)
    return np.asarray(-np.log(np.where(right > 0, kept, 1 - kept)), np.float64)
