"""The terms of a hit facet by facet, such as tactic by tactic: what it shares with the query and what only one has.

Each term says how many of all indexed cases hold it, itself or through a narrower one. One that this case alone holds
is the most telling of all; one that most of them hold tells little, whatever the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ontologies.ontology import Ontology
from ..ontologies.readers.stix import FACET_ORDER

__all__ = ["Facets", "facet_lines"]

IntArray = npt.NDArray[np.int32]

NO_FACET = ""
_SHOWN = 3  # terms that one case alone holds, of a facet in the text form


class Facets:
    """The facets of one ontology.

    Args:
        ontology: terms and their typed relations.
        relation: the relation that leads from a term to its facets.
    """

    def __init__(self, ontology: Ontology, relation: str) -> None:
        self._ids = ontology.ids
        number = ontology.relation_ids.index(relation) if relation in ontology.relation_ids else -1
        pairs = ontology.relations[ontology.relations[:, 1] == number]
        self._of: dict[int, list[str]] = {}
        for term, _, facet in pairs.tolist():
            self._of.setdefault(term, []).append(ontology.ids[facet])
        stated = [facet for facet in ontology.header.get(FACET_ORDER, ()) if facet in ontology.number]
        self._place: Mapping[str, int] = {facet: place for place, facet in enumerate(stated)}

    def of(self, term: int) -> list[str]:
        """Returns the ids of the facets of term number ``term``."""
        return self._of.get(term, [])

    def account(self, query: IntArray, stored: IntArray, holders: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
        """Returns the terms of a query and a case by facet, in the order of the facets; terms without one come last.

        A term with several facets stands under each of them.

        Args:
            query: int32, terms of the query, ascending.
            stored: int32, terms of the case, ascending.
            holders: int64 ``[T]``, how many cases hold each term.

        Returns:
            For each facet ``{"facet", "shared", "only_case", "only_query"}``, the last three lists of
            ``{"term", "held_by"}``, the term that the fewest cases hold first.
        """
        sides = {
            "shared": np.intersect1d(query, stored),
            "only_case": np.setdiff1d(stored, query),
            "only_query": np.setdiff1d(query, stored),
        }
        found: dict[str, dict[str, Any]] = {}
        for side, terms in sides.items():
            for term in sorted(terms.tolist(), key=lambda t: (int(holders[t]), t)):
                for facet in self.of(term) or [NO_FACET]:
                    entry = found.setdefault(facet, {"facet": facet or None, **{name: [] for name in sides}})
                    entry[side].append({"term": self._ids[term], "held_by": int(holders[term])})
        last = len(self._place)
        order = sorted(found, key=lambda facet: (facet == NO_FACET, self._place.get(facet, last), facet))
        return [found[facet] for facet in order]


def facet_lines(hit: dict[str, Any], names: Mapping[str, str], *, entity: str, word: str, cases: int) -> list[str]:
    """Returns the facets of a hit as lines of text: what is shared, what only the query has, what no other case has.

    Args:
        hit: a hit with ``facets``.
        names: names of terms.
        entity: what a record describes.
        word: what a facet is called.
        cases: number of indexed cases.
    """
    lines = [f"{word} by {word}; in brackets how many of {cases} {entity}s have it"]
    for found in hit["facets"]:
        facet, shared, asked, rest = (found[part] for part in ("facet", "shared", "only_query", "only_case"))
        counts = [f"{len(shared) or 'nothing'} shared", *([f"{len(asked)} only in the query"] if asked else [])]
        counts += [f"{len(rest)} more of {hit['key']}"] if rest else []
        lines.append(f"  {_named(facet, names) if facet else f'no {word}'}: {', '.join(counts)}")
        for title, terms in (("shared", shared), ("only in the query", asked)):
            lines += [f"    {title}: {_named(t['term'], names)} ({_held(t['held_by'], title, entity)})" for t in terms]
        alone = [_named(t["term"], names) for t in rest if t["held_by"] == 1]
        if alone:
            more = f" and {len(alone) - _SHOWN} more" if len(alone) > _SHOWN else ""
            lines.append(f"    known of {hit['key']} alone: {', '.join(alone[:_SHOWN])}{more}")
    return lines


def _held(count: int, title: str, entity: str) -> str:
    return f"this {entity} alone" if title == "shared" and count == 1 else str(count)


def _named(term: str, names: Mapping[str, str]) -> str:
    return f"{term} {names.get(term, '')}".strip()
