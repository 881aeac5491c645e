"""How many other cases have exactly the rank key of a hit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..lattice.arrays import pointers
from ..ops import Tops
from .block import QueryBlock

__all__ = ["count_ties"]

LongArray = npt.NDArray[np.int64]


def count_ties(block: QueryBlock, tops: Tops) -> LongArray:
    """Returns for each hit how many other cases that were looked at have its rank key, int64 ``[B, K]``.

    They may stand beyond the last place, so every case whose bound reaches the rank key of its query's last hit is
    aligned. Places without a hit hold 0.

    Args:
        block: the queries.
        tops: their best cases, ``block.top(K)``.
    """
    counts = np.zeros(tops.cases.shape, np.int64)
    at, place = np.nonzero(tops.cases >= 0)  # hits of a query stand first in its row
    if not len(at):
        return counts
    floor = np.full(len(block), np.iinfo(np.int64).max)
    np.minimum.at(floor, at, tops.rank_keys[at, place])
    others = block.bounds > 0
    others[at, tops.cases[at, place]] = False  # hits need not be aligned again
    query, case = (found.astype(np.int64) for found in np.nonzero(others))
    near = block.keys(query, case, block.bounds[query, case].astype(np.int64)) >= floor[query]
    query, case = query[near], case[near]
    scores = block.align(query, case)[0]
    query, case, scores = query[scores > 0], case[scores > 0], scores[scores > 0]
    keys = np.concatenate([block.keys(query, case, scores), tops.rank_keys[at, place]])
    query = np.concatenate([query, at])
    order = np.lexsort((keys, query))
    keys, ptr = keys[order], pointers(query[order], len(block))
    # Not by np.unique, which would import masked arrays: a seventh of all that a query from the command line takes.
    for row in np.flatnonzero(np.bincount(at)).tolist():
        ours, found = tops.rank_keys[row, tops.cases[row] >= 0], keys[ptr[row] : ptr[row + 1]]
        equal = np.searchsorted(found, ours, "right") - np.searchsorted(found, ours, "left")
        counts[row, : len(ours)] = equal - 1
    return counts
