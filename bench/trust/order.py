"""Whether confidence puts right answers first: AURC of ours beside that of every other arm, on the same questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import ShapeError
from ..figures import Sample
from ..metrics import aurc, weighted_aurc
from ..running import Run
from ..tasks.task import STRICT
from .asking import Asked
from .fits import Confidence
from .intervals import Statistic, intervals
from .plan import Plan, TrustTask

__all__ = ["MEASURES", "order_of_answers", "samples_of_arms"]

FloatArray = npt.NDArray[np.float64]

MEASURES = ("top1", "top5")
CONFIDENCE, SCORE = "confidence", "score"


@dataclass(frozen=True)
class _Order:
    """An order of questions, how right each answer is, and what came of it."""

    by: str
    confidence: FloatArray
    correct: FloatArray

    @property
    def aurc(self) -> float:
        return aurc(self.confidence, self.correct)

    @property
    def excess(self) -> float:
        """AURC above that of the best order of the same answers (E-AURC; Geifman, Uziel and El-Yaniv 2019)."""
        return self.aurc - aurc(self.correct, self.correct)


def samples_of_arms(run: Run, task: TrustTask) -> tuple[dict[str, Sample], dict[str, str]]:
    """Returns the answerable questions of each arm that answered, and why the others did not."""
    unavailable = {cell.arm: cell.unavailable for cell in run.cells if cell.unavailable}
    found = {}
    for name in dict.fromkeys(cell.arm for cell in run.cells):
        if name in unavailable:
            continue
        rows = [
            replace(row, question=f"{of} {row.question}") if len(task.of) > 1 else row
            for of in task.of
            for row in run.of(of, name)
        ]
        found[name] = Sample.of(rows, STRICT).answerable
    return found, unavailable


def order_of_answers(of: Plan, asked: Asked, samples: Mapping[str, Sample], ours: Confidence) -> dict[str, Any]:
    """Returns AURC and its excess over the best order, of ours and of each arm, ready for JSON.

    Every arm is ordered by its confidence or by its raw score, whichever comes out better; a calibration of its own by
    a rising function would change neither. Ours is ordered by the calibrated confidence, and beside it by the explained
    share and by the raw score.

    All are of the questions that every arm was asked; ours may have been asked more.

    Raises:
        ShapeError: an arm was asked other questions than ours.
    """
    number = {name: at for at, name in enumerate(asked.questions)}
    names = samples[of.ours].questions
    for arm, sample in samples.items():
        if sample.questions != names or not all(name in number and asked.known[number[name]] for name in names):
            raise ShapeError(
                f"trust beside {arm}", "it was asked other questions", "Run both on one version of a task."
            )
    if not names:
        return {"questions": 0}
    at = np.array([number[name] for name in names], np.int64)
    clusters = samples[of.ours].clusters
    calibrated = {"top1": ours.first[at], "top5": ours.first_five[at]}
    found: dict[str, Any] = {"questions": len(names), "measures": {}}
    for measure in MEASURES:
        found["measures"][measure] = _of_measure(of, samples, measure, calibrated[measure], clusters)
    return found


def _of_measure(
    of: Plan, samples: Mapping[str, Sample], measure: str, calibrated: FloatArray, clusters: Sequence[str]
) -> dict[str, Any]:
    mine = samples[of.ours]
    correct = mine.values(measure)
    own = {
        "calibrated": _Order("calibrated", calibrated, correct),
        "explained": _Order("explained", np.nan_to_num(mine.confidence, nan=-1.0), correct),
        "raw": _Order("raw", np.nan_to_num(mine.score, nan=-np.inf), correct),
    }
    others = {name: _better(sample, measure) for name, sample in samples.items() if name != of.ours}
    rivals = [name for name in of.rivals if name in others]
    best = {
        "rival": min(rivals, key=lambda name: (others[name].aurc, name), default=None),
        "rival_by_excess": min(rivals, key=lambda name: (others[name].excess, name), default=None),
        "arm": min(others, key=lambda name: (others[name].aurc, name), default=None),
    }
    statistics: dict[str, Statistic] = {
        name: partial(_difference, own["calibrated"], own[name]) for name in ("explained", "raw")
    }
    if best["rival"] is not None and best["rival_by_excess"] is not None and best["arm"] is not None:
        statistics["rival"] = partial(_difference, own["calibrated"], others[best["rival"]])
        statistics["rival_by_excess"] = partial(_excess_difference, own["calibrated"], others[best["rival_by_excess"]])
        statistics["arm"] = partial(_difference, own["calibrated"], others[best["arm"]])
    return {
        "accuracy": float(correct.mean()),
        "ours": {name: _told(one) for name, one in own.items()},
        "arms": {
            name: {"by": one.by, "accuracy": float(one.correct.mean()), **_told(one)} for name, one in others.items()
        },
        "best": best,
        "against": intervals(statistics, clusters, of.seed),
    }


def _better(sample: Sample, measure: str) -> _Order:
    correct = sample.values(measure)
    by = {CONFIDENCE: np.nan_to_num(sample.confidence, nan=-1.0), SCORE: np.nan_to_num(sample.score, nan=-np.inf)}
    orders = [_Order(name, values, correct) for name, values in by.items()]
    return min(orders, key=lambda one: one.aurc)


def _told(one: _Order) -> dict[str, float]:
    return {"aurc": one.aurc, "excess": one.excess}


def _difference(first: _Order, second: _Order, weights: FloatArray) -> FloatArray:
    return weighted_aurc(first.confidence, first.correct, weights) - weighted_aurc(
        second.confidence, second.correct, weights
    )


def _excess_difference(first: _Order, second: _Order, weights: FloatArray) -> FloatArray:
    least = [weighted_aurc(one.correct, one.correct, weights) for one in (first, second)]
    return _difference(first, second, weights) - (least[0] - least[1])
