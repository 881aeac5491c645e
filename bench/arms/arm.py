"""What an arm of the bench is: a memory that also answers many queries at once, as arrays.

An arm is built on a ``Setting`` and sees items and queries; a right answer is in neither. Whoever has only the Memory
protocol is asked query by query (``OneByOne``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...memory import IndexItem, Memory, Query, Retrieved
from ...ontologies.mount import Mounted

__all__ = ["Arm", "OneByOne", "Ranking", "Setting", "one_by_one"]

LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """What an arm is built on.

    Attributes:
        mounted: the ontology of all term ids.
        domain: name of the domain, for arms that have settings for each.
        seed: what all that is drawn depends on.
        models: names of models or folders that hold them, by what they do (``embedding``, ``reranker``); an arm has its
            own for what is not named.
    """

    mounted: Mounted
    domain: str = ""
    seed: int = 0
    models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ranking:
    """The best items of ``B`` queries, best first; ``k`` places, those left over hold -1 and NaN.

    Attributes:
        items: int64 ``[B, k]``, places in the list of items that was indexed.
        scores: float64 ``[B, k]``, in the arm's own unit, never rising along a row; equal scores are ties.
        tail: int64 ``[B]``, how many items beyond the last place score exactly as it does; -1 where the arm cannot say.
        confidence: float64 ``[B]``, of the first hit, in [0, 1]; NaN where the arm has none.
        novelty: float64 ``[B]``, in [0, 1]; NaN where the arm has none.
    """

    items: LongArray
    scores: FloatArray
    tail: LongArray
    confidence: FloatArray
    novelty: FloatArray

    def __len__(self) -> int:
        return len(self.items)


@runtime_checkable
class Arm(Memory, Protocol):
    """A memory that ranks many queries at once; ``retrieve`` gives the same hits one query at a time.

    Items of equal score stand in the order of their keys, by code point. An arm that is never sure of anything, or that
    never finds anything new, says so with NaN as ``confidence`` or as ``novelty``; it does not make a number up.
    """

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """Returns the best ``k`` items of every query.

        Determinism: the same for any cut of the queries into batches, any number of threads and any hash seed.
        """
        ...


class OneByOne:
    """A memory that cannot rank many queries at once, as an arm that asks it query by query.

    Args:
        memory: any memory.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._keys: tuple[str, ...] = ()
        self.name = memory.name

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before."""
        self._memory.index(items)
        self._keys = tuple(item.key for item in items)

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns what the memory returns."""
        return self._memory.retrieve(query, k)

    def novelty(self, query: Query) -> float:
        """Returns what the memory returns."""
        return self._memory.novelty(query)

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """Returns the best ``k`` items of every query."""
        return one_by_one(self._memory, self._keys, queries, k)


def one_by_one(memory: Memory, keys: Sequence[str], queries: Sequence[Query], k: int) -> Ranking:
    """Returns the ranking of a memory that is asked query by query.

    Args:
        memory: any memory.
        keys: keys of the items in the order in which they were indexed.
        queries: ``B`` queries.
        k: places.
    """
    place = {key: number for number, key in enumerate(keys)}
    shape = (len(queries), k)
    items, scores = np.full(shape, -1, np.int64), np.full(shape, np.nan)
    confidence, novelty = np.full(len(queries), np.nan), np.full(len(queries), np.nan)
    for row, query in enumerate(queries):
        hits = memory.retrieve(query, k)
        for column, hit in enumerate(hits):
            items[row, column], scores[row, column] = place[hit.key], hit.score
        if hits:
            confidence[row] = hits[0].confidence
        novelty[row] = memory.novelty(query)
    return Ranking(items, scores, np.full(len(queries), -1, np.int64), confidence, novelty)
