"""A task: items to remember, questions with their right answers, and the rules by which a hit counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...cases import Case
from ...errors import CaseError
from ...memory import IndexItem, Query
from ..arms.arm import Setting

__all__ = ["STRICT", "CaseItem", "CaseQuery", "Question", "Task"]

STRICT = "strict"
"""The hit rule that every task has: the very item."""


@dataclass(frozen=True)
class CaseItem(IndexItem):
    """An item with structure.

    Attributes:
        case: its statements, under the item's key. ``term_ids`` holds their functors and ``text`` tells them in words,
            for arms that know no structure.
    """

    case: Case = field(kw_only=True)


@dataclass(frozen=True)
class CaseQuery(Query):
    """A query with structure.

    Attributes:
        case: its statements; ``term_ids`` and ``text`` as of a ``CaseItem``.
    """

    case: Case = field(kw_only=True)


@dataclass(frozen=True)
class Question:
    """A query with its right answers, which no arm sees.

    Attributes:
        id: names it within its task.
        query: what the arms are asked.
        gold: keys of the right items; empty for a query to which nothing that is indexed is right (novel).
        cluster: what intervals are clustered by, such as the disease; questions of one cluster are not independent.
        group: what folds are cut by, such as the publication; ``cluster`` where it is empty.
        slices: names of the slices it is in, such as ``tail``.
        without: keys of items that take no place in the answer, such as the record that the query was taken from.
    """

    id: str
    query: Query
    gold: tuple[str, ...]
    cluster: str
    group: str = ""
    slices: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """What is asked of every arm.

    Raises:
        CaseError: a key or an id stands twice or out of order, or a right answer is not among what can be answered.

    Attributes:
        name: ``family/variant``, such as ``patients/leak-free``.
        words: what it is, where it comes from, and its traps, in a sentence or two.
        setting: ontology, domain and seed.
        items: what is remembered, in the order of their keys.
        questions: what is asked, in a fixed order.
        rules: by name of a hit rule, the group of each item's key; a hit is right if its group is that of a right item,
            and a group takes one place, that of its best member. Items that a rule leaves out take no place under it.
            ``strict``, each item for itself, is there without being named.
        counts: what was left out on the way and why, by words.
    """

    name: str
    words: str
    setting: Setting
    items: tuple[IndexItem, ...]
    questions: tuple[Question, ...]
    rules: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys = [item.key for item in self.items]
        if any(first >= second for first, second in zip(keys, keys[1:], strict=False)):
            raise self._fault("its items are not in the order of their keys, each once")
        if repeated := _repeated(question.id for question in self.questions):
            raise self._fault(f"it has two questions {repeated}")
        known = set(keys)
        for question in self.questions:
            if strange := sorted({*question.gold, *question.without} - known):
                raise self._fault(f"question {question.id} names {strange[0]}, which is no item of it")
            if both := sorted({*question.gold} & {*question.without}):
                raise self._fault(f"question {question.id} has {both[0]} both as a right answer and as none")

    def _fault(self, found: str) -> CaseError:
        return CaseError(f"task {self.name}", found, "Build a task from sorted items and from questions about them.")


def _repeated(ids: Iterable[str]) -> str:
    """Returns the first id that was met before, or an empty text."""
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            return one
        seen.add(one)
    return ""
