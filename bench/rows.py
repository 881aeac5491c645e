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
from .tasks.task import STRICT, Question, Task

__all__ = ["Row", "read_rows", "rows_of", "write_rows"]


@dataclass(frozen=True)
class Row:
    """One question under one hit rule.

    Attributes:
        question: its id.
        cluster: what intervals are clustered by.
        slices: names of the slices it is in, with blanks between.
        known: a right item is indexed; where none is, the question is novel.
        rule: the hit rule.
        first: place from 1 at which the run of equal scores begins that holds the first right item; 0 where none of the
            places holds one.
        tied: how many groups that run holds.
        right: how many of them are right.
        cut: the last place's score goes on beyond the list: a right item may be among those not seen, or, where the arm
            cannot say how many there are, ``tied`` may be too low.
        confidence: in the first hit, in [0, 1]; NaN where the arm has none.
        novelty: in [0, 1]; NaN where the arm has none.
    """

    question: str
    cluster: str
    slices: str
    known: bool
    rule: str
    first: int
    tied: int
    right: int
    cut: bool
    confidence: float
    novelty: float


def rows_of(task: Task, ranking: Ranking) -> list[Row]:
    """Returns a row for each question and each rule of ``task``, in their order, ``strict`` first."""
    keys = [item.key for item in task.items]
    rules: dict[str, Mapping[str, str]] = {STRICT: {key: key for key in keys}, **task.rules}
    return [
        _row(question, rule, [groups.get(key) for key in keys], groups, ranking, number)
        for number, question in enumerate(task.questions)
        for rule, groups in rules.items()
    ]


def _row(
    question: Question, rule: str, of_item: Sequence[str | None], groups: Mapping[str, str], ranking: Ranking, row: int
) -> Row:
    gold = {groups[key] for key in question.gold if key in groups}
    places = [int(i) for i in ranking.items[row] if i >= 0]
    scores = ranking.scores[row]
    first = tied = right = 0
    seen: set[str] = set()
    start, end = 0, 0
    while start < len(places) and not right:
        before, end = len(seen), start + 1
        while end < len(places) and scores[end] == scores[start]:
            end += 1
        run = {group for group in map(of_item.__getitem__, places[start:end]) if group is not None} - seen
        seen |= run
        if run & gold:
            first, tied, right = before + 1, len(run), len(run & gold)
        start = end
    beyond = int(ranking.tail[row])
    full = len(places) == len(scores)  # an arm with fewer hits than places has no more of them
    cut = full and beyond != 0 and end == len(places)
    if cut and right and beyond > 0:
        tied += beyond
    return Row(
        question.id,
        question.cluster,
        " ".join(question.slices),
        bool(gold),
        rule,
        first,
        tied,
        right,
        cut,
        float(ranking.confidence[row]),
        float(ranking.novelty[row]),
    )


_NAMES = tuple(field.name for field in fields(Row))


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Writes ``rows`` as a gzipped CSV, of the same bytes whenever the rows are the same."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_NAMES)
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
        if tuple(next(lines, ())) != _NAMES:
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
    question, cluster, slices, known, rule, first, tied, right, cut, confidence, novelty = line
    numbers = (float(text) if text else float("nan") for text in (confidence, novelty))
    return Row(question, cluster, slices, known == "1", rule, int(first), int(tied), int(right), cut == "1", *numbers)
