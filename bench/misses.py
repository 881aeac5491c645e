"""Every question that an arm of this engine misses, with an account of why: what spoke for the wrong hit.

The scores of the right item and of the wrong hit are sums over their mappings, so their difference is one too, part by
part; the reason is the greatest part that speaks for the wrong hit. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import DataMissing, QueryError
from ..scoring import to_bits
from ..scoring.grid import ENTITY_VALUE
from .arms import registry as arms
from .arms.accounts import Account, Explaining
from .arms.arm import Ranking
from .rows import Row, rows_of
from .running import PLACES, Progress, ask
from .suites import Suite
from .tasks import registry as tasks
from .tasks.task import STRICT, CaseQuery, Question, Task

__all__ = ["PARTS", "REASONS", "SCHEMA", "Miss", "difference", "misses_of", "misses_record", "reason"]

SCHEMA = "sma-gpu/bench-misses/1"

PARTS = {
    "nearer": "statements that both match, the wrong hit over fewer steps",
    "dearer": "statements that both match, the wrong hit over no fewer steps",
    "only wrong": "statements that the wrong hit alone matches",
    "only right": "statements that the right item alone matches",
    "things": "pairs of things",
}
"""Into what the difference of two scores falls; those above zero speak for the wrong hit."""

REASONS = {
    "no hit": "nothing was found at all",
    "nothing corresponds": "no statement of the right item corresponds to one of the query",
    "not proved": "the best mapping of one of the two is not proved",
    "tie": "both stand exactly alike, and the order of keys decides",
    "size": "the right item scores no less, and comes later for its size",
    "own words": "the wrong hit has the query's very words where the right item has related ones",
    "nearer words": "the wrong hit has words nearer to the query's than the right item has",
    "dearer words": "what the wrong hit matches is worth more, over no fewer steps",
    "more statements": "the wrong hit matches statements that the right item does not",
    "more things": "the wrong hit pairs more things",
}
"""Why a question is missed, the first that holds; from ``own words`` on, by the greatest part."""


@dataclass(frozen=True)
class Miss:
    """One question whose first hit is wrong, or is no better than a wrong one.

    Attributes:
        question: what was asked.
        first: place from 1 at which the run of equal scores begins that holds the first right item; 0 for none.
        tied: the wrong hit has the very score of the right item in the ranking.
        right: account of the right item that stands first.
        wrong: account of the first wrong hit; None where there is no hit.
    """

    question: Question
    first: int
    tied: bool
    right: Account
    wrong: Account | None


def misses_of(task: Task, arm: Explaining) -> list[Miss]:
    """Returns the questions of a task that an arm misses under the rule ``strict``, in their order."""
    arm.index(task.items)
    ranking = ask(arm, [question.query for question in task.questions], PLACES)
    rows = [row for row in rows_of(task, ranking) if row.rule == STRICT]
    return [
        _miss(task, arm, ranking, at, row)
        for at, row in enumerate(rows)
        if row.known and (row.first != 1 or row.right < row.tied)
    ]


def _miss(task: Task, arm: Explaining, ranking: Ranking, at: int, row: Row) -> Miss:
    question = task.questions[at]
    scores: dict[str, float] = {}
    for place, score in zip(ranking.items[at].tolist(), ranking.scores[at].tolist(), strict=True):
        if place >= 0 and task.items[place].key not in question.without:
            scores[task.items[place].key] = score
    gold = set(question.gold)
    right = next((key for key in scores if key in gold), min(gold))
    wrong = next((key for key in scores if key not in gold), None)
    return Miss(
        question,
        row.first,
        wrong is not None and right in scores and scores[right] == scores[wrong],
        arm.account(question.query, right),
        None if wrong is None else arm.account(question.query, wrong),
    )


def difference(right: Account, wrong: Account) -> dict[str, int]:
    """Returns by how much the wrong hit's score is above the right item's, part by part, units of 2^-16 bit."""
    found = dict.fromkeys(PARTS, 0)
    mine, theirs = ({match.place: match for match in account.matches} for account in (right, wrong))
    for place, match in theirs.items():
        if place not in mine:
            found["only wrong"] += match.value
        else:
            part = "nearer" if match.hops < mine[place].hops else "dearer"
            found[part] += match.value - mine[place].value
    found["only right"] = -sum(match.value for place, match in mine.items() if place not in theirs)
    found["things"] = ENTITY_VALUE * (wrong.entities - right.entities)
    return found


def reason(miss: Miss) -> str:
    """Returns why a question is missed, one of ``REASONS``."""
    right, wrong = miss.right, miss.wrong
    if wrong is None:
        return "no hit"
    if not right.matches:
        return "nothing corresponds"
    if not (right.proved and wrong.proved):
        return "not proved"
    if miss.tied:
        return "tie"
    if right.score >= wrong.score:
        return "size"
    parts = difference(right, wrong)
    greatest = max(PARTS, key=lambda part: parts[part])  # the first among equals
    if greatest == "nearer":
        steps = {match.place: match.hops for match in right.matches}
        closer = [match.hops for match in wrong.matches if match.hops < steps.get(match.place, 0)]
        return "nearer words" if any(closer) else "own words"
    return {"dearer": "dearer words", "only wrong": "more statements", "things": "more things"}[greatest]


def misses_record(
    of: Suite,
    arm: str = "",
    *,
    quick: bool = False,
    only_tasks: Sequence[str] = (),
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns the misses of one arm on the tables of a suite, ready for JSON.

    Args:
        of: the suite.
        arm: name of the arm; the suite's own where it is empty.
        quick: on the small draw of each task, its first seed alone.
        only_tasks: only these tasks; all where empty.
        progress: is told what is being done.

    Raises:
        QueryError: the arm gives no account, or there is no such arm or task.
        DataMissing: the data of no task at all are here, or the arm cannot be built.
    """
    entry = arms.find(arm or of.ours)
    for name in only_tasks:
        tasks.entry(name)
    tables = [table for table in of.tables if not only_tasks or table.task in only_tasks]
    skipped = {table.task: why for table in tables if (why := tasks.available(table.task))}
    if len(skipped) == len(tables):
        raise DataMissing(f"misses of {of.name}", "; ".join(skipped.values()) or "no task is left", "Bring the data.")
    told = []
    for table in tables:
        if table.task in skipped:
            continue
        seeds = table.seeds or tasks.entry(table.task).seeds
        asked, found, words = 0, [], ""
        for seed in seeds[:1] if quick else seeds:
            progress(f"{table.task} seed {seed}: {entry.name}")
            task = tasks.load(table.task, seed=seed, quick=quick)
            asked, words = asked + sum(bool(question.gold) for question in task.questions), task.words
            found += [_told(seed, miss) for miss in misses_of(task, _explaining(entry, task))]
        reasons = {name: count for name in REASONS if (count := sum(one["reason"] == name for one in found))}
        told.append({"task": table.task, "words": words, "answerable": asked, "reasons": reasons, "misses": found})
    return {
        "schema": SCHEMA, "suite": of.name, "quick": quick, "arm": entry.name, "reasons": REASONS, "parts": PARTS,
        "tables": told, "skipped": dict(sorted(skipped.items())),
    }  # fmt: skip


def _explaining(entry: arms.Entry, task: Task) -> Explaining:
    arm = entry.build(task.setting)
    if not isinstance(arm, Explaining):
        able = ", ".join(one.name for one in arms.ARMS if one.kind in ("ours", "ladder"))
        raise QueryError(f"misses of {entry.name}", "this arm gives no account of its scores", f"Name one of {able}.")
    return arm


def _told(seed: int, miss: Miss) -> dict[str, Any]:
    parts = None if miss.wrong is None else difference(miss.right, miss.wrong)
    return {
        "seed": seed,
        "question": miss.question.id,
        "asked": list(_asked(miss)),
        "place": miss.first,
        "reason": reason(miss),
        "right": _account(miss.right),
        "wrong": None if miss.wrong is None else _account(miss.wrong),
        "difference_bits": None if parts is None else {part: to_bits(units) for part, units in parts.items()},
    }


def _asked(miss: Miss) -> Iterator[str]:
    """Yields the query as it was asked: the statements of its case, or what its terms are called."""
    query = miss.question.query
    if isinstance(query, CaseQuery):
        yield from (query.text or "").split("; ")
    else:
        yield from sorted([one.asked for one in miss.right.matches] + [one.asked for one in miss.right.unmatched])


def _account(of: Account) -> dict[str, Any]:
    said: Mapping[bool, int] = {
        relation: sum((match.things > 1) == relation for match in of.matches) for relation in (False, True)
    }
    return {
        "key": of.key, "score_bits": to_bits(of.score), "normalised": of.normalised, "explained": of.explained,
        "proved": of.proved, "things": of.entities, "attributes": said[False], "relations": said[True],
        "hops": sum(match.hops for match in of.matches),
        "matches": [
            {
                "asked": match.asked, "stored": match.stored, "via": match.via, "hops": match.hops,
                "bits": to_bits(match.value),
            }
            for match in of.matches
        ],
        "unmatched": [{"asked": one.asked, "like": one.like} for one in of.unmatched],
    }  # fmt: skip
