"""The published package itself, ``structuremappingmemory``, over the same ontology and items.

Its shortlist of 80 and budget of 40 are those of its own harness; its solver gets ten seconds in place of 20 ms, so
that the ranking does not hang on how busy the machine is. Scores are its normalised ones, by which it ranks. Its pool
for novelty is left out: filling it takes hours at the size of a domain, so there is no novelty here.

What it can never do: tell items of equal content apart (one key is left), or decline: a query with nothing in it gets
arbitrary items with a score of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...memory import IndexItem, Query, Retrieved
from ...retrieval import check_k
from .arm import Ranking, Setting, one_by_one

__all__ = ["Published"]

_SHORTLIST, _BUDGET = 80, 40
_SOLVER_MS = 10_000


class Published:
    """The published memory, asked query by query."""

    name = "published"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._keys: tuple[str, ...] = ()
        self.index(())

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before."""
        from sma.index.macfac import MacFacIndex
        from sma.ontology import mount

        self._keys = tuple(item.key for item in items)
        self._mounted = mount(self._graph())  # anew: all indexes of one mount would share the costs of the first
        self._mounted.config.cpsat_time_ms = _SOLVER_MS
        cases = [(self._mounted.build_case(sorted(item.term_ids)), item.key) for item in items]
        self._key_of = {case.case_id: key for case, key in cases}
        self._index = MacFacIndex(config=self._mounted.config, canon=self._mounted.canon)
        self._index.build([case for case, _ in cases])

    def _graph(self) -> Any:
        from sma.ontology import OntologyGraph, Term

        ontology = self._setting.mounted.ontology
        terms = (ontology.term(number) for number in np.flatnonzero(~ontology.placeholder).tolist())
        return OntologyGraph(
            ontology.name, ontology.version, {t.id: Term(t.id, t.name, t.parents, t.relations) for t in terms}
        )

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns at most ``k`` hits in its own order; confidence is as published.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
        """
        check_k(k)
        if not self._keys:
            return []
        case = self._mounted.build_case(sorted(query.term_ids))
        found = self._index.retrieve(case, k=k, shortlist=_SHORTLIST, fac_budget=_BUDGET)
        top = max((hit.score for hit in found), default=0.0) or 1.0
        return [
            Retrieved(self._key_of[hit.case_id], hit.ses_n, min(max(hit.score / top, 0.0), 1.0), rank)
            for rank, hit in enumerate(found, 1)
        ]

    def novelty(self, query: Query) -> float:
        """Returns NaN: its pool is left out."""
        return float("nan")

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """Returns the best ``k`` items of every query."""
        return one_by_one(self, self._keys, queries, k)
