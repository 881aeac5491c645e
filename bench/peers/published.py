"""The published system, through its own memory: one query at a time, and it remembers those it has seen.

Its pool for novelty is left out, which no ranking looks at: filling it would take many minutes before the first answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..term_sets import TermSets
from .protocol import LongArray, World

__all__ = ["build"]


def build(world: World, cases: TermSets) -> _Memory:
    """Returns the memory with all cases in it."""
    from sma.eval.agentic import memories
    from sma.eval.agentic.memories import IndexItem, SmaMemory
    from sma.ontology.loader import load_ontology
    from sma.ontology.mount import mount

    memories.SagePool = _NoPool
    memory = SmaMemory(mount(load_ontology(str(world.ontology_file), "hpo")))
    memory.index(
        [
            IndexItem(
                key=str(number), term_ids=frozenset(world.ids[t] for t in cases.members(number).tolist()), text=""
            )
            for number in range(len(cases))
        ]
    )
    return _Memory(world, memory)


class _NoPool:
    def __init__(self, *_: Any, **__: Any) -> None: ...

    def assimilate(self, case: Any) -> None: ...


class _Memory:
    def __init__(self, world: World, memory: Any) -> None:
        self._world, self._memory = world, memory

    def prepare(self, queries: TermSets) -> list[Any]:
        from sma.eval.agentic.memories import Query

        return [
            Query(term_ids=frozenset(self._world.ids[t] for t in queries.members(number).tolist()), text="")
            for number in range(len(queries))
        ]

    def search(self, queries: list[Any], k: int) -> LongArray:
        found = np.full((len(queries), k), -1, np.int64)
        for row, query in enumerate(queries):
            hits = self._memory.retrieve(query, k)[:k]
            found[row, : len(hits)] = [int(hit.key) for hit in hits]
        return found
