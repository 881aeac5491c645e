"""The cases that stand no lower than given ones, for a block of queries at once: exact at any depth, without a top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..lattice.arrays import pointers
from .block import QueryBlock

__all__ = ["Reaching", "reaching"]

BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]

_PAIRS_AT_ONCE = 1 << 20  # changes memory, never a rank


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
    asked, wanted = asked[bounded], wanted[bounded]
    floors = np.full(len(block), -1, np.int64)
    matched, keys = _keys_of(block, asked, wanted)
    np.maximum.at(floors, asked[matched], keys)

    queries, cases = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for row in np.flatnonzero(floors >= 0).tolist():
        able = np.flatnonzero(block.bounds[row])
        owner = np.full(len(able), row)
        reach = block.keys(owner, able, block.bounds[row, able].astype(np.int64)) >= floors[row]
        queries.append(owner[reach])
        cases.append(able[reach])
    query, case = np.concatenate(queries), np.concatenate(cases)
    key = np.full(len(case), -1, np.int64)
    for start in range(0, len(case), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        matched, keys = _keys_of(block, query[part], case[part])
        key[part][matched] = keys
    kept = (key >= 0) & (key >= floors[query])
    return Reaching(pointers(query[kept], len(block)), case[kept], key[kept], floors)


def _keys_of(block: QueryBlock, query: LongArray, case: LongArray) -> tuple[BoolArray, LongArray]:
    """Returns which pairs have a mapping, bool ``[P]``, and the rank keys of those that have."""
    scores = block.align(query, case)[0]
    matched = scores > 0
    return matched, block.keys(query[matched], case[matched], scores[matched])
