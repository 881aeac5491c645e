"""Which of the best cases an answer shows: all of them, or one for each thing that several of them stand for.

Where several cases stand for one thing, or one carries several, the best k things need more cases than k, and how many
is only known from the cases themselves. So ever more of the ranking is taken, each time proved, until k things are in
it. A thing stands where its best case stands; so it can only be found at the first of its cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..ops import Tops
from ..retrieval.block import QueryBlock

__all__ = ["Carried", "Listed", "Taken", "merged_rank", "take"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_AHEAD = 2  # cases taken at first for each thing wanted


@dataclass(frozen=True, eq=False)
class Carried:
    """The things that ``N`` cases stand for or carry.

    Attributes:
        ptr: int64 ``[N + 1]``; those of case i are ``things[ptr[i]:ptr[i + 1]]``, perhaps none.
        things: int32, numbers of things; those of one case in the order in which they are listed.
    """

    ptr: LongArray
    things: IntArray

    @classmethod
    def one_each(cls, things: IntArray) -> Carried:
        """Returns that case i stands for ``things[i]``."""
        return cls(np.arange(len(things) + 1, dtype=np.int64), things)

    def of(self, case: int) -> list[int]:
        """Returns the things of a case."""
        found: list[int] = self.things[self.ptr[case] : self.ptr[case + 1]].tolist()
        return found


class Listed(NamedTuple):
    """One of the best things.

    Attributes:
        thing: its number.
        column: column of the case at which it is found.
        others: number of other things that are found at the same case first, shown or not.
    """

    thing: int
    column: int
    others: int


class Taken(NamedTuple):
    """The cases that an answer shows to each of ``B`` queries, ``K`` at most.

    Attributes:
        tops: these cases, best first; what is certified is the ranking as far as it was taken.
        rank: int32 ``[B, K]``, place of each among all cases.
        merged: int32 ``[B, K]``, place of its group among all groups, each standing where its best case stands.
        things: for each query the things that are listed, best first.
    """

    tops: Tops
    rank: IntArray
    merged: IntArray
    things: list[list[Listed]]


def take(block: QueryBlock, k: int, *, carried: Carried | None = None, groups: IntArray | None = None) -> Taken:
    """Returns the best cases of every query, or those at which its best ``k`` things are found.

    Args:
        block: the queries.
        k: cases wanted for each query, or things where ``carried`` is given; 1 or more.
        carried: the things that cases stand for or carry.
        groups: int32 ``[N]``, group of each case; each case is a group of its own where it is None.
    """
    size = len(block.corpus)
    if carried is None:
        tops = block.top(min(k, size))
        found = [_row(tops, query) for query in range(len(block))]
        columns = [np.arange(len(row.cases)) for row in found]
        things: list[list[Listed]] = [[] for _ in found]
    else:
        found = _with_things(block, k, carried)
        columns, things = [], []
        for row in found:
            shown, listed = _first_places(row.cases, k, carried)
            columns.append(np.array(shown, np.int64))
            things.append(listed)
    width = max((len(c) for c in columns), default=0) or 1
    shape = (len(block), width)
    cases, scores, limits, keys = (np.zeros(shape, np.int64) for _ in range(4))
    cases -= 1
    rank, merged = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for query, (row, at) in enumerate(zip(found, columns, strict=True)):
        held = slice(len(at))
        cases[query, held], scores[query, held] = row.cases[at], row.scores[at]
        limits[query, held], keys[query, held] = row.limits[at], row.rank_keys[at]
        rank[query, held] = at + 1
        merged[query, held] = at + 1 if groups is None else _merged_ranks(row.cases, groups)[at]
    certified = np.array([row.certified for row in found], np.bool_)
    aligned = np.array([row.aligned for row in found], np.int64)
    return Taken(Tops(cases, scores, limits, keys, certified, aligned), rank, merged, things)


def merged_rank(cases: npt.NDArray[np.integer], groups: IntArray | None) -> int:
    """Returns the place of the last of ``cases``, which are the best ones in rank order, among their groups."""
    return len(cases) if groups is None else int(_merged_ranks(cases, groups)[-1])


class _Row(NamedTuple):
    """The best cases of one query."""

    cases: LongArray
    scores: LongArray
    limits: LongArray
    rank_keys: LongArray
    certified: bool
    aligned: int


def _row(tops: Tops, query: int) -> _Row:
    held = slice(int((tops.cases[query] >= 0).sum()))
    return _Row(
        tops.cases[query, held],
        tops.scores[query, held],
        tops.limits[query, held],
        tops.rank_keys[query, held],
        bool(tops.certified[query]),
        int(tops.aligned[query]),
    )


def _with_things(block: QueryBlock, k: int, carried: Carried) -> list[_Row]:
    """Returns the best cases of each query, as many as its best ``k`` things need; all hits where it has fewer."""
    size = len(block.corpus)
    found: dict[int, _Row] = {}
    left, places = np.arange(len(block)), min(_AHEAD * k, size)
    while len(left):
        tops = (block if len(left) == len(block) else block.take(left)).top(places)
        for at, query in enumerate(left.tolist()):
            row = _row(tops, at)
            is_whole = places == size or len(row.cases) < places
            if is_whole or len({thing for case in row.cases.tolist() for thing in carried.of(case)}) >= k:
                found[query] = row
        left = np.array([query for query in left.tolist() if query not in found], np.int64)
        places = min(2 * places, size)
    return [found[query] for query in range(len(block))]


def _first_places(cases: LongArray, k: int, carried: Carried) -> tuple[list[int], list[Listed]]:
    """Returns the places in ``cases`` at which the first ``k`` things are found, and these things."""
    seen: set[int] = set()
    shown: list[int] = []
    listed: list[Listed] = []
    for place, case in enumerate(cases.tolist()):
        new = [thing for thing in carried.of(case) if thing not in seen]
        if new:
            listed += [Listed(thing, len(shown), len(new) - 1) for thing in new[: k - len(listed)]]
            shown.append(place)
            seen.update(new)
        if len(listed) == k:
            break
    return shown, listed


def _merged_ranks(cases: npt.NDArray[np.integer], groups: IntArray) -> IntArray:
    """Returns for each of the best cases, in rank order, the place of its group among all groups."""
    _, first, group = np.unique(groups[cases], return_index=True, return_inverse=True)
    places = np.empty(len(first), np.int32)
    places[np.argsort(first)] = np.arange(1, len(first) + 1)
    found: IntArray = places[group]
    return found
