"""Rankings and right answers in the formats of TREC, for evaluation tools of other people."""

from __future__ import annotations

import gzip
from pathlib import Path

from .arms.arm import Ranking
from .tasks.task import Task

__all__ = ["write_qrels", "write_run"]


def write_run(task: Task, ranking: Ranking, tag: str, path: Path) -> None:
    """Writes a gzipped run: question, ``Q0``, key, rank, score, tag; scores with all their digits.

    Items that take no place in the answer to a question are left out.
    """
    keys = [item.key for item in task.items]
    lines = []
    for question, items, scores in zip(task.questions, ranking.items.tolist(), ranking.scores.tolist(), strict=True):
        hits = [(keys[item], score) for item, score in zip(items, scores, strict=True) if item >= 0]
        kept = [(key, score) for key, score in hits if key not in question.without]
        lines += [
            f"{_word(question.id)} Q0 {_word(key)} {place} {score!r} {tag}\n"
            for place, (key, score) in enumerate(kept, 1)
        ]
    path.write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))


def write_qrels(task: Task, path: Path) -> None:
    """Writes the right answers: question, ``0``, key, ``1``."""
    lines = [f"{_word(question.id)} 0 {_word(key)} 1\n" for question in task.questions for key in question.gold]
    path.write_text("".join(lines), encoding="utf-8")


def _word(text: str) -> str:
    return "_".join(text.split()) or "_"  # the formats separate by blanks
