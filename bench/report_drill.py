"""Every question of a run and where each arm put its right answer, packed for the page; and the widest gaps in words.

A place is ``[first, tied, right, cut]`` of ``rows.Row``. The different places of a table are listed once, and each arm
holds the number of its place for each question, in digits of 64 signs. Confidence and novelty are in thousandths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ShapeError
from .figures import Sample, strongest
from .report import samples_of
from .running import PLACES, Run
from .suites import Table
from .tasks.task import STRICT

__all__ = ["DIGITS", "MOST_BYTES", "SCHEMA", "Gap", "Gaps", "drill_record", "gaps", "place_words"]

SCHEMA = "sma-gpu/bench-questions/1"
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
"""Digits of packed numbers, by value."""
MOST_BYTES = 3_000_000
"""What the questions of a page may take, about; where there are more, each table keeps the same share of its own."""
_GAPS = 6

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def drill_record(run: Run, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Returns the questions of all tables, packed, ready for JSON.

    Where they would take more than ``most_bytes``, each table keeps the same share of its questions: those whose id and
    task come first by their SHA-256, so that the choice knows nothing of the answers. ``of`` says out of how many.
    """
    tables = [table for table in run.suite.tables if table.task in run.told]
    whole = [_samples(run, table) for table in tables]
    size = sum(_bytes_of(samples) for samples in whole)
    share = min(1.0, most_bytes / size) if size else 1.0
    return {
        "schema": SCHEMA,
        "ours": run.suite.ours,
        "places": PLACES,
        "most_bytes": most_bytes,
        "tables": [_table(table.task, samples, share) for table, samples in zip(tables, whole, strict=True)],
    }


def _samples(run: Run, table: Table) -> dict[str, dict[str, Sample]]:
    """Returns by hit rule the sample of each arm.

    Raises:
        ShapeError: two arms were not asked the same questions.
    """
    found = {rule: samples for rule, slice_name, samples in samples_of(run, table) if not slice_name}
    for samples in found.values():
        asked = next(iter(samples.values())).questions if samples else ()
        for name, sample in samples.items():
            if sample.questions != asked:
                raise ShapeError(
                    f"list the questions of {table.task}",
                    f"{name} was not asked the same as {next(iter(samples))}",
                    "Run all arms on one version of a task.",
                )
    return found


def _bytes_of(samples: Mapping[str, Mapping[str, Sample]]) -> int:
    """Returns about how many bytes all questions of a table take."""
    some = next(iter(samples.get(STRICT, {}).values()), None)
    if some is None:
        return 0
    arms = len(samples[STRICT])
    named = sum(len(question.encode()) + 5 for question in some.questions) + 3 * len(some)
    return named + len(some) * arms * (2 * len(samples) + 4)


def _table(task: str, samples: Mapping[str, Mapping[str, Sample]], share: float) -> dict[str, Any]:
    of_strict = samples.get(STRICT, {})
    some = next(iter(of_strict.values()), None)
    if some is None:
        return {"task": task, "of": 0, "questions": [], "clusters": [], "cluster": "", "novel": "", "rules": {}}
    at = _kept(task, some.questions, share)
    clusters = sorted({some.clusters[place] for place in at})
    number = {name: place for place, name in enumerate(clusters)}
    return {
        "task": task,
        "of": len(some),
        "questions": [some.questions[place] for place in at],
        "clusters": clusters,
        "cluster": _packed(np.array([number[some.clusters[place]] for place in at], np.int64), 3),
        "novel": "".join("01"[not some.known[place]] for place in at),
        "rules": {rule: _places(of_rule, at) for rule, of_rule in samples.items()},
        "confidence": _unsure({name: sample.confidence[at] for name, sample in of_strict.items()}),
        "novelty": _unsure({name: sample.novelty[at] for name, sample in of_strict.items()}),
    }


def _kept(task: str, questions: Sequence[str], share: float) -> list[int]:
    """Returns which questions are kept, in their order."""
    if share >= 1.0:
        return list(range(len(questions)))
    marks = [hashlib.sha256(f"{task}\n{question}".encode()).hexdigest() for question in questions]
    first = sorted(range(len(questions)), key=lambda place: marks[place])
    return sorted(first[: max(1, int(share * len(questions)))])


def _places(samples: Mapping[str, Sample], at: Sequence[int]) -> dict[str, Any]:
    """Returns the places of all arms under one rule."""
    wide = {
        name: np.column_stack([sample.places.first, sample.places.tied, sample.places.right, sample.cut])[at]
        for name, sample in samples.items()
    }
    different, numbers = np.unique(np.concatenate([*wide.values()]), axis=0, return_inverse=True)
    width = _width(len(different))
    parts = np.split(numbers.reshape(-1), len(wide))
    some = next(iter(samples.values()))
    return {
        "places": different.tolist(),
        "width": width,
        "answerable": "".join("01"[bool(some.known[place])] for place in at),
        "arms": {name: _packed(part, width) for name, part in zip(wide, parts, strict=True)},
    }


def _unsure(values: Mapping[str, FloatArray]) -> dict[str, str]:
    """Returns shares packed in thousandths plus one, 0 for none; arms that never state one are left out."""
    return {
        name: _packed(np.where(np.isnan(of_arm), 0, 1 + np.round(1000 * np.nan_to_num(of_arm))).astype(np.int64), 2)
        for name, of_arm in values.items()
        if not np.isnan(of_arm).all()
    }


def _width(count: int) -> int:
    width = 1
    while 64**width < count:
        width += 1
    return width


def _packed(numbers: IntArray, width: int) -> str:
    """Returns whole numbers as so many digits each, the first the most significant."""
    signs = np.array(list(DIGITS))
    digits = [signs[(numbers >> (6 * place)) & 63] for place in reversed(range(width))]
    return "".join(np.column_stack(digits).reshape(-1).tolist()) if len(numbers) else ""


@dataclass(frozen=True)
class Gap:
    """A question on which our arm and another are far apart.

    Attributes:
        question: its id.
        ours: the place of the right answer in our ranking, in words.
        theirs: in theirs.
        difference: of the expected reciprocal ranks, ours less theirs.
    """

    question: str
    ours: str
    theirs: str
    difference: float


@dataclass(frozen=True)
class Gaps:
    """Where our arm and the strongest control are furthest apart.

    Attributes:
        other: the control.
        below: questions furthest below it, the furthest first.
        above: those furthest above it.
        all_below: how many are below it.
        all_above: above.
    """

    other: str
    below: tuple[Gap, ...]
    above: tuple[Gap, ...]
    all_below: int
    all_above: int


def gaps(run: Run, table: Table, most: int = _GAPS) -> Gaps | None:
    """Returns where our arm and the strongest control are furthest apart by the expected reciprocal rank.

    Under the rule, slice and first measure of the table's first family, or by top-1 of all questions where it has none.
    None where our arm or every control was not asked, or no question is answerable.
    """
    family = table.families[0] if table.families else None
    rule, slice_name, measure = (family.rule, family.slice, family.measures[0]) if family else (STRICT, "", "top1")
    samples = next((found for r, s, found in samples_of(run, table) if (r, s) == (rule, slice_name)), {})
    others = {name: samples[name].answerable for name in run.suite.controls if name in samples}
    if run.suite.ours not in samples or not others or not len(samples[run.suite.ours].answerable):
        return None
    ours, other = samples[run.suite.ours].answerable, strongest(others, measure)
    theirs = others[other]
    difference = ours.values("mrr") - theirs.values("mrr")

    def furthest(sign: float) -> tuple[Gap, ...]:
        there = np.flatnonzero(sign * difference > 0).tolist()
        order = sorted(there, key=lambda at: (-abs(difference[at]), ours.questions[at]))
        return tuple(
            Gap(ours.questions[at], _words_at(ours, at), _words_at(theirs, at), float(difference[at]))
            for at in order[:most]
        )

    return Gaps(other, furthest(-1.0), furthest(1.0), int((difference < 0).sum()), int((difference > 0).sum()))


def _words_at(sample: Sample, place: int) -> str:
    first, tied, right = (
        int(values[place]) for values in (sample.places.first, sample.places.tied, sample.places.right)
    )
    return place_words(first, tied, right, cut=bool(sample.cut[place]))


def place_words(first: int, tied: int, right: int, *, cut: bool) -> str:
    """Returns in words where the right answer stands; see ``rows.Row``.

    Example:
        >>> place_words(3, 1, 1, cut=False), place_words(3, 5, 1, cut=False), place_words(0, 0, 0, cut=False)
        ('3', '3 to 7', 'beyond 100')
    """
    if not first:
        return f"beyond {PLACES}"
    last = first + tied - right
    if last == first:
        return f"{first}"
    return f"{first} to {last}{' or more' if cut else ''}"
