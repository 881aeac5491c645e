"""What every memory is, so that one can be swapped for another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["IndexItem", "Memory", "Query", "Retrieved"]


@dataclass(frozen=True)
class IndexItem:
    """Something to remember: its key, its term ids, and a text for memories that read text."""

    key: str
    term_ids: Collection[str]
    text: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Query:
    """Something to look for: term ids, and a text for memories that read text."""

    term_ids: Collection[str]
    text: str = ""


@dataclass(frozen=True)
class Retrieved:
    """One hit: score in the memory's own unit, confidence in [0, 1], rank from 1."""

    key: str
    score: float
    confidence: float
    rank: int


class Memory(Protocol):
    """A memory that is filled once and asked often."""

    name: str

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before."""
        ...

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns at most ``k`` hits, best first; an empty list is an honest "nothing fits"."""
        ...

    def novelty(self, query: Query) -> float:
        """Returns how new the query is, in [0, 1]; 1 for a query that cannot be compared with anything."""
        ...
