"""Figures out of rows: what one arm reached on one task, and how two arms compare on the same questions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ShapeError
from .metrics import TIES, Places, aupr, aurc, auroc, best_f1_threshold, f1, hits_at, reciprocal_ranks
from .rows import Row
from .statistics import Interval, cliffs_delta, holm, macro_mean, resampled, win_tie_loss

__all__ = [
    "MEASURES",
    "Comparison",
    "Sample",
    "compare_family",
    "figures",
    "grounding",
    "novelty_call",
    "strongest",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

MEASURES = ("top1", "top5", "top10", "mrr", "macro_top1", "macro_top5", "macro_top10", "macro_mrr")
"""Measures to compare by. ``macro`` is the mean over clusters of each cluster's own mean."""


@dataclass(frozen=True)
class Sample:
    """The questions of one task under one hit rule, in one slice, as one arm answered them.

    Attributes:
        questions: ids.
        clusters: what intervals are clustered by.
        places: where the right items stand.
        known: bool ``[Q]``, a right item is indexed.
        cut: bool ``[Q]``, see ``rows.Row``.
        score: float64 ``[Q]``, see ``rows.Row``.
        confidence: float64 ``[Q]``.
        novelty: float64 ``[Q]``.
    """

    questions: tuple[str, ...]
    clusters: tuple[str, ...]
    places: Places
    known: BoolArray
    cut: BoolArray
    score: FloatArray
    confidence: FloatArray
    novelty: FloatArray

    @classmethod
    def of(cls, rows: Sequence[Row], rule: str, slice_name: str = "") -> Sample:
        """Returns the sample of ``rows`` under ``rule``: those of one slice, or all."""
        held = [row for row in rows if row.rule == rule and (not slice_name or slice_name in row.slices.split())]
        first, tied, right = (
            np.array([getattr(row, name) for row in held], np.int64) for name in ("first", "tied", "right")
        )
        known, cut = (np.array([getattr(row, name) for row in held], np.bool_) for name in ("known", "cut"))
        score, confidence, novelty = (
            np.array([getattr(row, name) for row in held], np.float64) for name in ("score", "confidence", "novelty")
        )
        return cls(
            tuple(row.question for row in held), tuple(row.cluster for row in held), Places(first, tied, right),
            known, cut, score, confidence, novelty,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def answerable(self) -> Sample:
        """Those questions to which a right item is indexed."""
        at = np.flatnonzero(self.known)
        places = Places(self.places.first[at], self.places.tied[at], self.places.right[at])
        questions, clusters = (tuple(names[i] for i in at.tolist()) for names in (self.questions, self.clusters))
        known, cut = self.known[at], self.cut[at]
        return Sample(questions, clusters, places, known, cut, self.score[at], self.confidence[at], self.novelty[at])

    def values(self, measure: str, ties: str = "mean") -> FloatArray:
        """Returns what each question is worth under a measure, float64 ``[Q]`` in [0, 1]."""
        name = measure.removeprefix("macro_")
        if name == "mrr":
            return reciprocal_ranks(self.places, ties)
        return hits_at(self.places, int(name.removeprefix("top")), ties)

    def mean(self, measure: str, ties: str = "mean") -> float:
        """Returns the mean of a measure over questions, or over clusters for those called ``macro``."""
        if not len(self):
            return float("nan")
        values = self.values(measure, ties)
        return macro_mean(values, self.clusters) if measure.startswith("macro_") else float(values.mean())


def figures(sample: Sample, *, novelty: bool = True) -> dict[str, Any]:
    """Returns all figures of one sample, ready for JSON; None where a figure is not defined.

    Args:
        sample: questions as one arm answered them.
        novelty: whether a question without a right item is novel; under a rule that leaves items out it need not be.
    """
    known = sample.answerable
    found: dict[str, Any] = {
        "questions": len(sample),
        "answerable": len(known),
        "clusters": len(set(known.clusters)),
        "cut": int(known.cut.sum()),
    }
    found |= {measure: _number(known.mean(measure)) for measure in MEASURES}
    found["ties"] = {
        ties: {measure: _number(known.mean(measure, ties)) for measure in MEASURES} for ties in TIES if ties != "mean"
    }
    sure = len(known) > 0 and not np.isnan(known.confidence).all()
    # A question without any hit is the least certain of all, not one to be left out.
    confidence = np.nan_to_num(known.confidence, nan=-1.0)
    for measure in ("top1", "top5"):
        found[f"aurc_{measure}"] = _number(aurc(confidence, known.values(measure))) if sure else None
    grounded = grounding(sample) if novelty else None
    return found | {
        "grounding_auroc": None if grounded is None else _number(auroc(*grounded)),
        "novelty": _novelty(sample) if novelty else None,
    }


def grounding(sample: Sample) -> tuple[FloatArray, BoolArray] | None:
    """Returns the first hit's score of each question and whether it is answerable; None where all are, or none is.

    A question without a hit has the least score of all.
    """
    if sample.known.all() or not sample.known.any():
        return None
    return np.nan_to_num(sample.score, nan=-np.inf), sample.known


def novelty_call(sample: Sample) -> tuple[BoolArray, FloatArray, float] | None:
    """Returns which questions a threshold is judged on, their novelty, and the threshold from the others.

    None where a half has no novel question or none that is known, or where the arm has no novelty.
    """
    novel = ~sample.known
    chosen_on = np.array([_half(question) for question in sample.questions], np.bool_)
    if np.isnan(sample.novelty).all() or not all(
        novel[half].any() and not novel[half].all() for half in (chosen_on, ~chosen_on)
    ):
        return None
    novelty = np.nan_to_num(sample.novelty, nan=1.0)
    return ~chosen_on, novelty[~chosen_on], best_f1_threshold(novelty[chosen_on], novel[chosen_on])


def _novelty(sample: Sample) -> dict[str, Any] | None:
    """Returns how well novel questions are told from known ones; None where no question, or every one, is novel."""
    novel = ~sample.known
    if not novel.any() or novel.all() or np.isnan(sample.novelty).all():
        return None
    novelty = np.nan_to_num(sample.novelty, nan=1.0)
    found: dict[str, Any] = {
        "novel": int(novel.sum()),
        "auroc": _number(auroc(novelty, novel)),
        "aupr": _number(aupr(novelty, novel)),
    }
    if (call := novelty_call(sample)) is not None:
        judged, values, threshold = call
        everything = np.ones(len(values), np.bool_)
        found |= {
            "threshold": threshold,
            "f1": _number(f1(values >= threshold, novel[judged])),
            "f1_everything_novel": _number(f1(everything, novel[judged])),
        }
    return found


def _half(question: str) -> bool:
    return hashlib.sha256(question.encode()).digest()[0] % 2 == 0


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True)
class Comparison:
    """Our arm against another on the answerable questions of one sample.

    Attributes:
        other: name of the other arm.
        measure: by which they are compared.
        ours: our mean.
        theirs: their mean; ``interval.difference`` is ``ours - theirs``.
        interval: simultaneous over the family, with the p-value of this comparison alone.
        corrected_p: corrected for the family (Holm).
        delta: Cliff's delta over questions.
        wins: questions on which our arm is above.
        ties: equal.
        losses: below.
    """

    other: str
    measure: str
    ours: float
    theirs: float
    interval: Interval
    corrected_p: float
    delta: float
    wins: int
    ties: int
    losses: int


def compare_family(ours: Sample, others: Mapping[str, Sample], measures: Sequence[str], seed: int) -> list[Comparison]:
    """Returns our arm against each other one by each measure: one family, corrected as a whole.

    Raises:
        ShapeError: two samples are not of the same questions.
    """
    mine = ours.answerable
    tests = len(others) * len(measures)
    found: list[Comparison] = []
    for name, other in others.items():
        theirs = other.answerable
        if mine.questions != theirs.questions:
            raise ShapeError(
                f"compare with {name}",
                "it did not answer the same questions",
                "Run both arms on one version of a task.",
            )
        for measure in measures:
            first, second = mine.values(measure), theirs.values(measure)
            drawn = resampled(first, second, mine.clusters, seed, macro=measure.startswith("macro_"))
            found.append(
                Comparison(
                    name,
                    measure,
                    mine.mean(measure),
                    theirs.mean(measure),
                    drawn.interval(tests),
                    1.0,
                    cliffs_delta(first, second),
                    *win_tie_loss(first, second),
                )
            )
    corrected = holm([comparison.interval.p for comparison in found])
    return [Comparison(**{**vars(c), "corrected_p": p}) for c, p in zip(found, corrected, strict=True)]


def strongest(others: Mapping[str, Sample], measure: str) -> str:
    """Returns the name of the arm with the greatest mean; the first by name among equals."""
    return max(sorted(others), key=lambda name: others[name].answerable.mean(measure))
