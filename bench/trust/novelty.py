"""Whether the engine knows when it does not know: known questions against new ones, by ours and by plainer scores."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trust.signals import STABILITY_SIGNALS
from ..metrics import aupr, auroc, best_f1_threshold, f1, weighted_auroc, weighted_f1
from .asking import Asked, without
from .confidence import plain
from .fits import Newness, fit_newness
from .intervals import Statistic, intervals
from .plan import Plan

__all__ = ["AS_ASKED", "EVEN", "called_new", "knows_what_is_new"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
LongArray = npt.NDArray[np.int64]

AS_ASKED, EVEN = "as asked", "each asked twice"
"""Samples: the questions of the task, some of them novel; and each known one as it is and with its answer hidden."""

_OURS = "calibrated"


def knows_what_is_new(of: Plan, asked: Asked, fold: LongArray) -> dict[str, Any]:
    """Returns, for both samples, how well new questions are told from known ones, ready for JSON.

    By the calibrated chance that a question is new, and by what a first hit leaves unexplained, by its score over that
    of the question with itself, and by its raw score, the lower the newer.
    """
    novel = ~asked.known
    hidden = plain(asked.hidden)
    plain_fit = fit_newness(plain(asked.signals), hidden, novel, fold)
    general = None
    if asked.generalised:
        general = fit_newness(without(asked.signals, *STABILITY_SIGNALS), asked.hidden, novel, fold)
    return {
        AS_ASKED: _sample(of, asked, fold, plain_fit, general, even=False),
        EVEN: _sample(of, asked, fold, plain_fit, general, even=True),
    }


def _sample(
    of: Plan, asked: Asked, fold: LongArray, ours: Newness | None, general: Newness | None, *, even: bool
) -> dict[str, Any] | None:
    count, novel = len(asked), ~asked.known
    if ours is None or (not even and not 0 < novel.sum() < count):
        return None
    kept = np.concatenate([np.arange(count), count + np.flatnonzero(asked.known)]) if even else np.arange(count)
    is_new = np.concatenate([novel, np.ones(count, np.bool_)])[kept]
    owner = kept % count
    chances = {_OURS: _both(ours)[kept]}
    within = {_OURS: ours.within.reshape(len(ours.within), -1)[:, kept]}
    if general is not None:
        chances["with generalisations"] = _both(general)[kept]
        within["with generalisations"] = general.within.reshape(len(general.within), -1)[:, kept]
    for name, pair in {
        "explained": (asked.scores.explained, asked.hidden_scores.explained),
        "over self": (asked.scores.over_self, asked.hidden_scores.over_self),
        "raw": (asked.scores.raw, asked.hidden_scores.raw),
    }.items():
        chances[name] = -np.concatenate(pair)[kept]
        within[name] = np.broadcast_to(chances[name], (of.folds, len(kept)))  # it is fitted to nothing
    called = {name: called_new(chances[name], within[name], is_new, fold[owner]) for name in chances}
    everything = np.ones(len(kept), np.bool_)
    statistics: dict[str, Statistic] = {
        f"auroc over {name}": partial(_auroc_change, chances[_OURS], chances[name], is_new, owner)
        for name in chances
        if name not in (_OURS, "with generalisations")
    }
    if general is not None:
        statistics["auroc added by generalisations"] = partial(
            _auroc_change, chances["with generalisations"], chances[_OURS], is_new, owner
        )
    statistics["auroc over chance"] = partial(_auroc_change, chances[_OURS], np.zeros(len(kept)), is_new, owner)
    statistics["f1 over everything new"] = partial(_f1_change, called[_OURS], everything, is_new, owner)
    return {
        "samples": len(kept),
        "new": int(is_new.sum()),
        "by": {
            name: {
                "auroc": auroc(values, is_new),
                "aupr": aupr(values, is_new),
                "f1": f1(called[name], is_new),
            }
            for name, values in chances.items()
        },
        "everything_new": {"aupr": float(is_new.mean()), "f1": f1(everything, is_new)},
        "against": intervals(statistics, asked.clusters, of.seed),
    }


def _both(one: Newness) -> FloatArray:
    return np.concatenate([one.as_asked, one.hidden])


def called_new(chances: FloatArray, within: FloatArray, is_new: BoolArray, fold: LongArray) -> BoolArray:
    """Returns what is called new, each fold by the threshold of the greatest F1 in the others, bool ``[S]``.

    Args:
        chances: float64 ``[S]``, held out.
        within: float64 ``[folds, S]``: for each fold, those outside it by models that have not seen that fold either.
        is_new: bool ``[S]``.
        fold: int64 ``[S]``.
    """
    found = np.zeros(len(chances), np.bool_)
    for one, others in enumerate(within):
        inside = fold == one
        if inside.any() and is_new[~inside].any():
            found[inside] = chances[inside] >= best_f1_threshold(others[~inside], is_new[~inside])
    return found


def _auroc_change(
    first: FloatArray, second: FloatArray, is_new: BoolArray, owner: LongArray, weights: FloatArray
) -> FloatArray:
    drawn = weights[:, owner]
    return weighted_auroc(first, is_new, drawn) - weighted_auroc(second, is_new, drawn)


def _f1_change(
    first: BoolArray, second: BoolArray, is_new: BoolArray, owner: LongArray, weights: FloatArray
) -> FloatArray:
    drawn = weights[:, owner]
    return weighted_f1(first, is_new, drawn) - weighted_f1(second, is_new, drawn)
