"""Where each question's right answer stands in each arm's ranking: the rows that every figure is derived from."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from ..errors import ArtifactError
from .arms.arm import Ranking
from .tasks.task import STRICT, Task

__all__ = ["COLUMNS", "Row", "read_rows", "rows_of", "write_rows"]


@dataclass(frozen=True)
class Row:
    """One question under one hit rule.

    Attributes:
        question: its id.
        cluster: what intervals are clustered by.
        group: what folds are cut by, such as the publication; ``cluster`` where the question has none of its own.
        slices: names of the slices it is in, with blanks between.
        known: a right item is indexed; where none is, the question is novel.
        rule: the hit rule.
        first: place from 1 at which the run of equal scores begins that holds the first right item; 0 where none of the
            places holds one.
        tied: how many groups that run holds.
        right: how many of them are right.
        cut: the last place's score goes on beyond the list: a right item may be among those not seen, or, where the arm
            cannot say how many there are, ``tied`` may be too low.
        score: of the first hit, in the arm's own unit; NaN where there is no hit.
        confidence: in the first hit, in [0, 1]; NaN where the arm has none.
        novelty: in [0, 1]; NaN where the arm has none.
    """

    question: str
    cluster: str
    group: str
    slices: str
    known: bool
    rule: str
    first: int
    tied: int
    right: int
    cut: bool
    score: float
    confidence: float
    novelty: float


def rows_of(task: Task, ranking: Ranking) -> list[Row]:
    """Returns a row for each question and each rule of ``task``, in their order, ``strict`` first."""
    keys = [item.key for item in task.items]
    number = {key: place for place, key in enumerate(keys)}
    rules: dict[str, Mapping[str, str]] = {STRICT: {key: key for key in keys}, **task.rules}
    of_item = {rule: [groups.get(key) for key in keys] for rule, groups in rules.items()}
    found = []
    for row, question in enumerate(task.questions):
        without = {number[key] for key in question.without}
        at = [place for place, item in enumerate(ranking.items[row].tolist()) if item >= 0 and item not in without]
        items, scores = ranking.items[row, at].tolist(), ranking.scores[row, at].tolist()
        full = bool((ranking.items[row] >= 0).all())  # an arm with fewer hits than places has no more of them
        beyond = int(ranking.tail[row]) if full else 0
        for rule, groups in rules.items():
            gold = {groups[key] for key in question.gold if key in groups}
            run = _run_of(gold, [of_item[rule][item] for item in items], scores, beyond)
            best = scores[0] if scores else float("nan")
            unsure = best, float(ranking.confidence[row]), float(ranking.novelty[row])
            group, slices = question.group or question.cluster, " ".join(question.slices)
            found.append(Row(question.id, question.cluster, group, slices, bool(gold), rule, *run, *unsure))
    return found


def _run_of(
    gold: set[str], groups: Sequence[str | None], scores: Sequence[float], beyond: int
) -> tuple[int, int, int, bool]:
    """Returns ``first``, ``tied``, ``right`` and ``cut`` of a row.

    Args:
        gold: the right groups.
        groups: group of each place in rank order, None for one that takes no place.
        scores: score of each.
        beyond: how many items behind the last place have its score, -1 where that is not known.
    """
    seen: set[str] = set()
    start = end = 0
    while start < len(scores):
        while end < len(scores) and scores[end] == scores[start]:
            end += 1
        run = {group for group in groups[start:end] if group is not None} - seen
        cut = end == len(scores) and beyond != 0
        if run & gold:
            return len(seen) + 1, len(run) + (max(beyond, 0) if cut else 0), len(run & gold), cut
        seen |= run
        start = end
    return 0, 0, 0, bool(scores) and beyond != 0


COLUMNS = tuple(field.name for field in fields(Row))
"""Columns of a file of rows."""


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Writes ``rows`` as a gzipped CSV, of the same bytes whenever the rows are the same."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_text(value) for value in astuple(row)] for row in rows)
    partial = path.with_suffix(path.suffix + ".part")
    partial.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    partial.replace(path)


def read_rows(path: Path) -> list[Row]:
    """Returns the rows of a file that ``write_rows`` wrote.

    Raises:
        ArtifactError: the file is cut, or not of this form.
    """
    try:
        lines = csv.reader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))
        if tuple(next(lines, ())) != COLUMNS:
            raise ValueError("its first line does not name the columns of rows")
        return [_parsed(line) for line in lines]
    except (OSError, EOFError, ValueError) as problem:
        raise ArtifactError(f"rows {path.name}", str(problem), "Remove the file and run the bench again.") from problem


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return "" if np.isnan(value) else repr(value)
    return str(value)


def _parsed(line: list[str]) -> Row:
    question, cluster, group, slices, known, rule, first, tied, right, cut, *unsure = line
    places = int(first), int(tied), int(right), cut == "1"
    score, confidence, novelty = (float(text) if text else float("nan") for text in unsure)
    return Row(question, cluster, group, slices, known == "1", rule, *places, score, confidence, novelty)
