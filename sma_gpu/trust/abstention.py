"""Reasons not to answer, in plain words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..cases import EncodedQuery
from ..retrieval import Index

__all__ = ["NOTHING_FITS", "Abstention", "why_abstain"]


class Abstention(NamedTuple):
    """Why there is no answer.

    Attributes:
        kind: ``empty``, ``only-exclusions``, ``unusable``, ``no-cases``, ``no-information`` or ``nothing-fits``.
        words: the reason for a person.
    """

    kind: str
    words: str


NOTHING_FITS = Abstention("nothing-fits", "nothing fits: no indexed case shares anything informative with the query")

_NO_INFORMATION = Abstention(
    "no-information", "no information: the terms given hold for every indexed case, so they tell none apart"
)


def why_abstain(index: Index, query: EncodedQuery) -> Abstention | None:
    """Returns why this query cannot be answered from this index, or None if it can be asked.

    That no case shares anything with the query shows only after retrieval: ``NOTHING_FITS``.
    """
    if not query.asked:
        if len(query.excluded):
            return Abstention("only-exclusions", "only exclusions: a query needs at least one term that is present")
        return Abstention("empty", "empty query: no term was given")
    if not len(query.present):
        return Abstention("unusable", "nothing usable: none of the terms given as present can be used")
    if not len(index):
        return Abstention("no-cases", "no cases: the index holds nothing to compare with")
    if not index.self_score(query.present) or _all_hold_everywhere(index, query):
        return _NO_INFORMATION
    return None


def _all_hold_everywhere(index: Index, query: EncodedQuery) -> bool:
    """Returns whether all terms hold for every case, and each for some of them only through a narrower one.

    Some scorers give such a term, the root above all, a worth, but it tells no case from another. Of a term that every
    case states itself the scorer decides, which may know how often it holds where.
    """
    if not (index.holders[query.present] == len(index)).all():
        return False
    stated = (np.count_nonzero(index.cases.functors == functor) for functor in query.present)
    return all(count < len(index) for count in stated)
