"""The canonical mapping: of all best ones, the first by the order of the query's items."""

from __future__ import annotations

import numpy as np

from . import bitsets
from .hypotheses import Hypotheses
from .search import Found, Search

__all__ = ["first_of_best"]


def first_of_best(made: Hypotheses, found: Found, node_budget: int) -> tuple[int, bool]:
    """Returns the canonical mapping and whether it is proved to be the one.

    Reading the query's statements in order, then its entities, each takes the first partner that a best mapping allows;
    no partner comes last.

    Args:
        made: the hypotheses.
        found: a best mapping of theirs.
        node_budget: greatest number of nodes for all questions together.
    """
    if found.total < found.bound:
        return found.mapping, False
    if not found.total:
        return 0, True
    search = Search(made)
    alive, mapping, must, left, proved = made.every, found.mapping, 0, node_budget, True
    for items in (made.every & ~made.entity, made.entity):
        for item in sorted({int(made.query[h]) for h in bitsets.bits(items)}):
            row = made.rows[item]
            chosen = mapping & row
            if not chosen and items == made.entity:
                continue  # with its statements settled, an entity that none of them speaks of stays free
            partner = made.stored[chosen.bit_length() - 1] if chosen else np.inf
            earlier = [h for h in bitsets.bits(alive & row) if made.stored[h] < partner]
            for h in sorted(earlier, key=lambda h: int(made.stored[h])):
                trial = search.reaches(search.take(alive, h), left, found.total, must | 1 << h)
                left -= trial.nodes
                if trial.mapping:
                    mapping, chosen = trial.mapping, 1 << h
                    break
                proved &= trial.bound < found.total
            alive = search.take(alive, chosen.bit_length() - 1) if chosen else made.without(alive, row)
            must |= chosen
    return mapping, proved
