"""hpo3: similarity of two sets of HPO terms in Rust, over every pair of a query and a case."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..term_sets import TermSets
from .protocol import LongArray, World

__all__ = ["build"]


def build(world: World, cases: TermSets) -> _Similarity:
    """Returns hpo3 with its ontology, which it reads from the folder of the ontology file."""
    import pyhpo
    from pyhpo import Ontology

    if getattr(pyhpo, "__backend__", "") != "hpo3":
        raise ImportError("the module pyhpo that was found is not that of hpo3")
    Ontology(str(world.ontology_file.parent))
    built = _Similarity(world)
    built.cases = built.prepare(cases)
    return built


class _Similarity:
    def __init__(self, world: World) -> None:
        self._number = [int(term.rpartition(":")[2]) if term.startswith("HP:") else 0 for term in world.ids]
        self.cases: list[Any] = []

    def prepare(self, queries: TermSets) -> list[Any]:
        from pyhpo import HPOSet

        return [HPOSet([self._number[t] for t in queries.members(number).tolist()]) for number in range(len(queries))]

    def search(self, queries: list[Any], k: int) -> LongArray:
        from pyhpo.helper import batch_set_similarity

        found = np.empty((len(queries), k), np.int64)
        for row, query in enumerate(queries):
            pairs = [(query, case) for case in self.cases]
            scores = np.asarray(batch_set_similarity(pairs, "omim", "resnik", "funSimAvg"))
            found[row] = np.argsort(-scores, kind="stable")[:k]
        return found
