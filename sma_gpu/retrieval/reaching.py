"""The cases that stand no lower than given ones, for a block of queries at once: exact at any depth, without a top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..lattice.arrays import pointers
from .block import QueryBlock

__all__ = ["Reaching", "down_to", "reaching"]

LongArray = npt.NDArray[np.int64]

_PAIRS_AT_ONCE = 1 << 20  # bounds looked at together; changes memory, never a rank


class Reaching(NamedTuple):
    """The cases that stand no lower than the best of some given ones, for ``B`` queries, in CSR form.

    Those of query b are ``cases[ptr[b]:ptr[b + 1]]``, by number; none where nothing given matches the query.

    Attributes:
        ptr: int64 ``[B + 1]``.
        cases: int64, numbers of the cases.
        keys: int64, their rank keys; a query's lowest is that of the best given case.
        floors: int64 ``[B]``, that rank key; -1 where no given case matches.
    """

    ptr: LongArray
    cases: LongArray
    keys: LongArray
    floors: LongArray


def reaching(block: QueryBlock, given: Sequence[Sequence[int]]) -> Reaching:
    """Returns for each query of ``block`` all cases with a rank key no lower than that of its best ``given`` case.

    Only cases whose bound reaches that key are aligned, since no case ranks above its bound. Ranks are exact where
    every best mapping that counts was proved within the node budget, as it always is for plain cases.

    Args:
        block: the queries.
        given: numbers of cases, for each query.
    """
    asked = np.repeat(np.arange(len(block)), [len(cases) for cases in given])
    wanted = np.array([case for cases in given for case in cases], np.int64)
    bounded = block.bounds[asked, wanted] > 0
    query, _, keys = _matched(block, asked[bounded], wanted[bounded])
    floors = np.full(len(block), -1, np.int64)
    np.maximum.at(floors, query, keys)
    query, cases, keys = down_to(block, floors)
    return Reaching(pointers(query, len(block)), cases, keys, floors)


def down_to(block: QueryBlock, floors: LongArray) -> tuple[LongArray, LongArray, LongArray]:
    """Returns all pairs of a query and a case whose rank key is no lower than a floor, by query, then by case.

    They come as three int64 arrays: queries, numbers of cases, rank keys. No case ranks above its bound, so those with
    a lower bound are not aligned.

    Args:
        block: the queries.
        floors: int64 ``[B]``, the lowest rank key of each; no pairs where it is below 0.
    """
    found: list[tuple[LongArray, LongArray, LongArray]] = []
    wanted, rows = np.flatnonzero(floors >= 0), max(1, _PAIRS_AT_ONCE // max(len(block.corpus), 1))
    for start in range(0, len(wanted), rows):
        part = wanted[start : start + rows]
        bounds = block.bounds[part]
        row, case = np.nonzero(bounds)
        query = part[row]
        able = block.keys(query, case, bounds[row, case].astype(np.int64)) >= floors[query]
        query, case, keys = _matched(block, query[able], case[able])
        kept = keys >= floors[query]
        found.append((query[kept], case[kept], keys[kept]))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    query, case, keys = map(np.concatenate, zip(*found, strict=True))
    return query, case, keys


def _matched(block: QueryBlock, query: LongArray, case: LongArray) -> tuple[LongArray, LongArray, LongArray]:
    """Returns the pairs that have a mapping, in the same order, and their rank keys."""
    scores = block.align(query, case)[0]
    matched = scores > 0
    query, case = query[matched], case[matched]
    return query, case, block.keys(query, case, scores[matched])
