"""From solved cases to a calibration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import CalibrationError, ShapeError
from .calibration import Calibration, novelty_choices, with_first_at
from .calibration_parts import METHODS, RestsOn
from .conditional_logit import Choices
from .cross_fitting import CrossFit, cross_fit
from .folds import grouped_folds
from .held_out import FIRST, HeldOut, Outcomes
from .isotonic import Steps, rising_steps
from .measures import aurc, auroc, best_f1_threshold, f1
from .signals import Signals

__all__ = ["LEAST_FOLDS", "LEAST_QUERIES", "check_groups", "first_right", "fit"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]

LEAST_QUERIES = 20
"""With fewer solved cases nothing can be fitted and held out at once."""

LEAST_FOLDS = 3
"""One fold is judged, another one chooses how to fit, and something must be left to fit to."""


def fit(
    signals: Signals,
    right: BoolArray,
    groups: Sequence[str],
    *,
    novel: BoolArray,
    hidden: Signals | None = None,
    method: str = "logistic",
    folds: int = 5,
    seed: int = 0,
    rests_on: RestsOn | None = None,
) -> Calibration:
    """Returns the calibration that solved cases give, the same for any order of them.

    Args:
        signals: of ``B`` solved cases, asked of an index that none of them is in.
        right: bool ``[B, P]``, whether each hit is right.
        groups: ``B`` names; cases of one group are never on both sides of a fold. ``folds.join_alike`` joins those of
            cases that state the same.
        novel: bool ``[B]``, whether nothing that is indexed is right.
        hidden: signals of the same cases, asked with what is right for them hidden: as if they were new.
        method: of ``METHODS``.
        folds: ``LEAST_FOLDS`` or more.
        seed: draws the folds.
        rests_on: what the signals come from.

    Raises:
        CalibrationError: see ``check_groups``; or all first hits are right, or all wrong.
        ShapeError: what is given is not of the same cases.
    """
    count = len(signals)
    _check(signals, right, groups, novel, hidden)
    check_groups(groups, method=method, folds=folds, seed=seed)
    order = _by_content(signals, right, groups, novel, hidden)
    signals, right, novel = signals.take(order), right[order] & signals.held[order], novel[order]
    hidden = None if hidden is None else hidden.take(order)
    grouped = [groups[number] for number in order.tolist()]
    fold = grouped_folds(grouped, folds, seed)

    fitted = cross_fit(Choices(signals.held, signals.of_hits, signals.of_queries), first_right(right), fold)
    steps, chances = None, fitted.held_out
    if method == "isotonic":
        steps, chances = _stepped(fitted, right[:, 0], fold)
    first, right_at_first = chances[:, 0], right[:, 0]
    some_right = np.asarray(right[:, :FIRST].any(axis=1), np.bool_)
    explained = signals.of_hits[:, 0, signals.hit_names.index("explained")]
    new, threshold, outcomes, novelty_f1 = _novelty(signals, hidden, novel, fold)
    sizes = Counter(grouped)
    weights = np.array([1 / sizes[group] for group in grouped])
    held_out = HeldOut(
        first=Outcomes.of(first, right_at_first),
        weights=weights[np.lexsort((weights, right_at_first, first))],
        first_five=Outcomes.of(np.minimum(_sum_of_first(chances), 1.0), some_right),
        explained_aurc=aurc(explained, right_at_first.astype(np.float64)),
        explained_auroc=auroc(explained, right_at_first),
        novelty=outcomes,
        novelty_f1=novelty_f1,
    )
    return Calibration(
        method=method,
        hit_names=signals.hit_names,
        query_names=signals.query_names,
        queries=count,
        groups=len(set(groups)),
        folds=folds,
        seed=seed,
        right=fitted.model,
        steps=steps,
        new=None if new is None else new.model,
        novelty_threshold=threshold,
        held_out=held_out,
        rests_on=rests_on or RestsOn(),
    )


def first_right(right: BoolArray) -> BoolArray:
    """Returns ``right``, bool ``[B, P]``, with the first right hit of each case alone.

    Chances of one case add up to at most 1, so what they are of must exclude one another. That a hit is right and none
    before it does, and for the first hit and for the first few together it is what is asked. Where several hits are
    right, chances fitted to any of them would share out what is due to each.
    """
    return np.asarray(right & (np.cumsum(right, axis=1) == 1), np.bool_)


def check_groups(groups: Sequence[str], *, method: str, folds: int, seed: int) -> None:
    """Refuses what could not be fitted whatever the signals are, so that nobody waits for these in vain.

    Args:
        groups: of each solved case; see ``fit``, as for the others.
        method: likewise.
        folds: likewise.
        seed: likewise.

    Raises:
        CalibrationError: there are too few cases, groups or folds, or there is no such method or seed.
    """
    asked = f"calibrate on {len(groups)} solved cases"
    if method not in METHODS:
        raise CalibrationError(asked, f"there is no method {method!r}", f"Name one of {', '.join(METHODS)}.")
    if len(groups) < LEAST_QUERIES:
        raise CalibrationError(
            asked, f"that is fewer than {LEAST_QUERIES}", "Give more solved cases; a few hundred make good confidences."
        )
    if folds < LEAST_FOLDS:
        raise CalibrationError(asked, f"{folds} folds are fewer than {LEAST_FOLDS}", "Ask for more folds, such as 5.")
    if seed < 0:
        raise CalibrationError(asked, f"the seed {seed} is below 0", "Give a whole number, 0 or more.")
    if (distinct := len(set(groups))) < folds:
        fewer = f", or ask for {distinct} folds" if distinct >= LEAST_FOLDS else ""
        raise CalibrationError(
            asked,
            f"they are of {distinct} groups, fewer than {folds} folds, and a group is never cut",
            f"Give cases of more publications, or of more entities where none is named{fewer}.",
        )


def _stepped(fitted: CrossFit, right: BoolArray, fold: LongArray) -> tuple[Steps, FloatArray]:
    """Returns the steps of the first hit's confidence, and held-out chances that went through those of other folds."""
    outcomes = right.astype(np.float64)
    chances = fitted.held_out.copy()
    for one, within in enumerate(fitted.within):
        inside = fold == one
        steps = rising_steps(within[~inside, 0], outcomes[~inside])
        chances[inside] = with_first_at(steps(chances[inside, 0]), chances[inside])
    return rising_steps(fitted.held_out[:, 0], outcomes), chances


def _novelty(
    signals: Signals, hidden: Signals | None, novel: BoolArray, fold: LongArray
) -> tuple[CrossFit | None, float | None, Outcomes | None, float | None]:
    """Returns the fit of novelty, its threshold, its held-out outcomes and F1; None each if there is nothing to learn.

    A sample is a query with a hit, as it is or with what is right hidden. One that is new has nothing to hide.
    """
    choices, new, folds = [novelty_choices(signals)], [novel], [fold]
    some = [signals.held[:, 0]]
    if hidden is not None:
        choices, new = [*choices, novelty_choices(hidden)], [*new, np.ones(len(novel), np.bool_)]
        folds, some = [*folds, fold], [*some, hidden.held[:, 0] & ~novel]
    kept = np.flatnonzero(np.concatenate(some))
    seen = np.concatenate([one.of_alternatives for one in choices])[kept]
    is_new, fold = np.concatenate(new)[kept], np.concatenate(folds)[kept]
    if min(len(set(fold[is_new].tolist())), len(set(fold[~is_new].tolist()))) < LEAST_FOLDS:
        return None, None, None, None  # with two folds left out, one kind would be missing
    samples = Choices(np.ones((len(kept), 1), np.bool_), seen, np.zeros((len(kept), 0)))
    fitted = cross_fit(samples, is_new[:, None], fold)
    chances = fitted.held_out[:, 0]
    called = np.zeros(len(kept), np.bool_)
    for one in sorted(set(fold.tolist())):
        inside = fold == one
        others = fitted.within[one, ~inside, 0]  # held out too, by models that have not seen this fold either
        called[inside] = chances[inside] >= best_f1_threshold(others, is_new[~inside])
    return fitted, best_f1_threshold(chances, is_new), Outcomes.of(chances, is_new), f1(called, is_new)


def _sum_of_first(chances: FloatArray) -> FloatArray:
    total = np.zeros(len(chances))
    for place in range(FIRST):
        total += chances[:, place]
    return total


def _by_content(
    signals: Signals, right: BoolArray, groups: Sequence[str], novel: BoolArray, hidden: Signals | None
) -> LongArray:
    """Returns the cases in the order of what is known of them, so that sums over them do not depend on theirs."""
    parts = [part for one in (signals, hidden) if one is not None for part in (one.held, one.of_hits, one.of_queries)]
    parts += [right, novel]
    keys = [
        (b"".join(np.ascontiguousarray(part[number]).tobytes() for part in parts), groups[number])
        for number in range(len(signals))
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _check(
    signals: Signals,
    right: BoolArray,
    groups: Sequence[str],
    novel: BoolArray,
    hidden: Signals | None,
) -> None:
    count = len(signals)
    asked = f"calibrate on {count} solved cases"
    names = signals.hit_names, signals.query_names
    alike = hidden is None or (len(hidden) == count and (hidden.hit_names, hidden.query_names) == names)
    if right.shape != signals.held.shape or (len(groups), novel.shape) != (count, (count,)) or not alike:
        raise ShapeError(
            asked,
            f"outcomes of shape {right.shape}, {len(groups)} groups, {len(novel)} marks of novelty, or hidden signals "
            "that are not of these cases",
            "Give one of each for every case.",
        )
    first = right[:, 0] & signals.held[:, 0]
    if first.all() or not first.any():
        raise CalibrationError(
            asked,
            f"the first hit is {'right' if first.any() else 'wrong'} in all of them, so nothing tells the two apart",
            "Give solved cases of both kinds.",
        )
