"""A task: items to remember, questions with their right answers, and the rules by which a hit counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...memory import IndexItem, Query
from ..arms.arm import Setting

__all__ = ["STRICT", "Question", "Task"]

STRICT = "strict"
"""The hit rule that every task has: the very item."""


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
    """

    id: str
    query: Query
    gold: tuple[str, ...]
    cluster: str
    group: str = ""
    slices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """What is asked of every arm.

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
