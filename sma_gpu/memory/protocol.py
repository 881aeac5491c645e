"""What every memory is, so that one can be swapped for another, and what one that changes and lasts is beyond that."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from ..ontologies.mount import Mounted

__all__ = ["IndexItem", "LastingMemory", "Memory", "Query", "Retrieved"]


@dataclass(frozen=True)
class IndexItem:
    """Something to remember: its key, its term ids, and what some memories use beside them.

    Attributes:
        key: what a hit is called by.
        term_ids: terms that hold of it.
        text: for memories that read text.
        meta: the caller's own; no memory looks at it.
        excluded: terms known not to hold of it.
        frequencies: for some of ``term_ids``, in which share of its instances the term holds, in (0, 1].
    """

    key: str
    term_ids: Collection[str]
    text: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    excluded: Collection[str] = ()
    frequencies: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Query:
    """Something to look for.

    Attributes:
        term_ids: terms that hold.
        text: for memories that read text.
        excluded: terms that were looked for and do not hold.
    """

    term_ids: Collection[str]
    text: str = ""
    excluded: Collection[str] = ()


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


class LastingMemory(Memory, Protocol):
    """A memory whose items come and go, and that outlives its process.

    Whatever was added, updated and removed, saved and loaded: answers equal, byte for byte, those of a memory filled at
    once with what is remembered now. A call that is refused changes nothing. An item with nothing to match on is
    remembered too, though it is never a hit: its key is taken, and it can be updated or removed.
    """

    def add(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` as well.

        Raises:
            CaseError: a key is remembered already, or given twice.
        """
        ...

    def update(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of those with the same keys.

        Raises:
            UnknownKey: nothing is remembered under a key.
            CaseError: a key is given twice.
        """
        ...

    def remove(self, keys: Iterable[str]) -> None:
        """Forgets the items of these keys.

        Raises:
            UnknownKey: nothing is remembered under a key.
            CaseError: ``keys`` is one text instead of a collection of keys.
        """
        ...

    def retrieve_many(self, queries: Sequence[Query], k: int) -> list[list[Retrieved]]:
        """Returns what ``retrieve`` returns for each query, in the order of the queries."""
        ...

    def save(self, path: str | os.PathLike[str]) -> int:
        """Returns the number of bytes of the file ``path``, which holds this memory whatever interrupts the call.

        A kill at any moment leaves the file as it was before, or the new one whole.

        Raises:
            ArtifactError: the file cannot be written; what was there is untouched.
        """
        ...

    @classmethod
    def load(cls, path: str | os.PathLike[str], mounted: Mounted) -> Self:
        """Returns the memory that was saved in ``path`` under the same ontology; never one that is half there.

        Raises:
            ArtifactError: the file is missing, foreign, newer, cut or damaged.
            FingerprintMismatch: it was saved under another ontology.
        """
        ...
