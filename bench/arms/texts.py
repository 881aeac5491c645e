"""What text arms read: the text of an item or a query, or the names of its terms where it has none."""

from __future__ import annotations

from collections.abc import Sequence

from ...memory import IndexItem, Query
from ...ontologies.mount import Mounted
from ..term_sets import TermSets

__all__ = ["texts_of"]


def texts_of(mounted: Mounted, given: Sequence[IndexItem | Query], sets: TermSets) -> list[str]:
    """Returns the text of each, or the names of its terms in the order of their ids, joined by spaces.

    Args:
        mounted: the ontology.
        given: items or queries.
        sets: their terms; a term without a name is called by its id.
    """
    display = mounted.ontology.display
    return [
        one.text or " ".join(display(term) for term in sets.members(number).tolist())
        for number, one in enumerate(given)
    ]
