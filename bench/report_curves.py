"""The curves of a run: risk over coverage, places of the right answer, reliability and time, as arrays out of rows.

What ``report`` says in one figure stands here in whole, for drawing. All is of the same samples, with ties in the mean.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..trust.reliability import ece_by_chance, equal_width_bins
from .figures import Sample
from .metrics import Places
from .report import samples_of
from .running import Run
from .tasks.task import STRICT

__all__ = ["BINS", "SCHEMA", "WITHIN", "Reliability", "curves_record", "found_within", "reliability", "risk_coverage"]

SCHEMA = "sma-gpu/bench-curves/1"
WITHIN = 50
"""Down to which place the distribution of places goes."""
BINS = 10
"""Bins of reliability, all of one width."""
_DRAWN = 60  # points of a curve of risk that are kept; the area in the report is of every question

FloatArray = npt.NDArray[np.float64]


def risk_coverage(confidence: FloatArray, correct: FloatArray) -> FloatArray:
    """Returns the share of wrong answers among the first 1 to ``Q`` questions, most confident first, float64 ``[Q]``.

    Its mean is ``metrics.aurc`` (Geifman and El-Yaniv 2017). Questions of equal confidence come at once: each counts
    with their mean, as in a random order of them.

    Args:
        confidence: float64 ``[Q]``.
        correct: float64 ``[Q]``, how right each answer is, in [0, 1].
    """
    _, run = np.unique(-confidence, return_inverse=True)
    sizes = np.bincount(run)
    wrong = np.bincount(run, weights=1.0 - correct) / np.maximum(sizes, 1)
    return np.asarray(np.cumsum(np.repeat(wrong, sizes)) / np.arange(1, len(confidence) + 1), np.float64)


def found_within(places: Places, most: int = WITHIN) -> FloatArray:
    """Returns the expected share of questions with a right item in the first 1 to ``most`` places, float64 ``[most]``.

    It is the mean of ``metrics.hits_at`` at each place, in one pass.
    """
    missed = np.ones(len(places))
    found = np.zeros(most)
    for place in range(1, most + 1):
        drawn = place - places.first  # of the run of equal scores, before this place
        inside = (places.first > 0) & (drawn >= 0) & (drawn < places.tied)
        wrong = np.maximum(places.tied - places.right - drawn, 0)
        missed = np.where(inside, missed * wrong / np.maximum(places.tied - drawn, 1), missed)
        found[place - 1] = (1.0 - missed).mean() if len(places) else np.nan
    return found


@dataclass(frozen=True)
class Reliability:
    """How far stated confidence is from what came true, bin by bin; bins without a question are left out.

    Attributes:
        questions: with a stated confidence.
        ece: expected calibration error, see ``trust.reliability.ece``.
        ece_by_chance: what it would be if every confidence was true, see ``trust.reliability.ece_by_chance``.
        low: lower border of each bin.
        high: upper border.
        counts: questions in it.
        stated: mean confidence.
        right: expected share whose first hit is right.
    """

    questions: int
    ece: float
    ece_by_chance: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[int, ...]
    stated: tuple[float, ...]
    right: tuple[float, ...]


def reliability(confidence: FloatArray, correct: FloatArray, bins: int = BINS) -> Reliability | None:
    """Returns the reliability of the stated confidences in bins of equal width; None where none is stated.

    Equal scores make a first hit right in part, so that a share of right ones is a mean here; for the rest the bins are
    those of ``trust.reliability``.

    Args:
        confidence: float64 ``[Q]`` in [0, 1], NaN where none is stated.
        correct: float64 ``[Q]``, how right each answer is, in [0, 1].
        bins: one or more.

    Raises:
        ShapeError: a confidence is outside [0, 1].
    """
    held = ~np.isnan(confidence)
    if not held.any():
        return None
    confidence, correct = confidence[held], correct[held]
    found = equal_width_bins(confidence, correct >= 1.0, bins)
    inside = [(confidence <= one.high) & ((confidence > one.low) | (one.low == 0.0)) for one in found]
    counts = tuple(one.right.whole for one in found)
    stated = tuple(one.confidence for one in found)
    right = tuple(float(np.sort(correct[where]).mean()) for where in inside)
    missed = sum(n * abs(true - said) for n, true, said in zip(counts, right, stated, strict=True))
    low, high = tuple(one.low for one in found), tuple(one.high for one in found)
    return Reliability(
        len(confidence), missed / len(confidence), ece_by_chance(found), low, high, counts, stated, right
    )


def curves_record(run: Run) -> dict[str, Any]:
    """Returns all curves of a run, ready for JSON: tables and parts in the order of ``report.report_record``.

    ``spent`` is what the machine took that made the rows; everything else depends on the rows alone.
    """
    tables = []
    for table in run.suite.tables:
        if table.task not in run.told:
            continue
        parts = [
            {
                "rule": rule,
                "slice": slice_name,
                "arms": {name: _curves(sample, rule) for name, sample in samples.items()},
            }
            for rule, slice_name, samples in samples_of(run, table)
        ]
        tables.append({"task": table.task, "parts": parts, "spent": _spent(run, table.task)})
    return {"schema": SCHEMA, "suite": run.suite.name, "within": WITHIN, "bins": BINS, "tables": tables}


def _curves(sample: Sample, rule: str) -> dict[str, Any]:
    known = sample.answerable
    found: dict[str, Any] = {"within": _listed(found_within(known.places)), "answered": None}
    sure = len(known) > 0 and not np.isnan(known.confidence).all()
    if sure:
        at = np.unique(np.round(np.linspace(0, len(known) - 1, _DRAWN)).astype(np.int64))
        confidence = np.nan_to_num(known.confidence, nan=-1.0)  # as in ``figures.figures``
        found["answered"] = ((at + 1) / len(known)).tolist()
        for measure in ("top1", "top5"):
            found[f"risk_{measure}"] = _listed(risk_coverage(confidence, known.values(measure))[at])
    # Whoever is sure of an answer to a question that has none is wrong; under a rule that leaves items out a question
    # without a right item need not be one that has none.
    asked = sample if rule == STRICT else known
    told = reliability(asked.confidence, asked.values("top1"))
    return found | {"reliability": None if told is None else asdict(told)}


def _spent(run: Run, task: str) -> dict[str, dict[str, float]]:
    """Returns the CPU seconds of each arm that was asked, over all seeds, and how many questions that was."""
    found: dict[str, dict[str, float]] = {}
    for cell in run.cells:
        if cell.task == task and cell.cpu_s is not None and cell.rows:
            of_arm = found.setdefault(cell.arm, {"cpu_s": 0.0, "questions": 0})
            of_arm["cpu_s"] += cell.cpu_s
            of_arm["questions"] += sum(row.rule == STRICT for row in cell.rows)
    return found


def _listed(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values.tolist()]
