"""Reasons not to answer, in plain words."""

from __future__ import annotations

from ..cases import EncodedQuery
from ..retrieval import Index

__all__ = ["why_abstain"]


def why_abstain(index: Index, query: EncodedQuery) -> str | None:
    """Returns why this query cannot be answered from this index, or None if it can.

    Called before retrieval; that no case shares anything with the query shows only afterwards.
    """
    if not query.asked:
        if len(query.excluded):
            return "only exclusions: a query needs at least one term that is present"
        return "empty query: no term was given"
    if not len(query.present):
        return "nothing usable: none of the terms given as present can be used"
    if not len(index):
        return "no cases: the index holds nothing to compare with"
    if not index.self_score(query.present):
        return "no information: the terms given hold for every indexed case, so they tell none apart"
    return None
