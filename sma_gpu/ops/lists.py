"""Inverted lists in two forms: with the lattice folded in, and as postings with a table of compatible pairs.

Both say the same: for each kind of query statement, which cases can match it, and the best value each gives. Folded
lists are read as they stand; postings are some 17 times smaller and pay for it with a maximum at each query. Which form
an index keeps is a matter of size and changes no bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..lattice.arrays import expand
from ..scoring import PairTable
from ..scoring.grid import SCORE_LIMIT

__all__ = ["FoldedLists", "Lists", "PostingLists", "folded"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_FOLDED_AT_ONCE = 1 << 22  # entries sorted at a time: about 200 MB; changes memory, never a list
_VALUE_BITS = SCORE_LIMIT.bit_length() - 1
_PLACES = (1 << (63 - _VALUE_BITS)) - 1  # places (row, case) that one int64 holds beside a value


@dataclass(frozen=True)
class FoldedLists:
    """Inverted lists with the lattice folded in: for each query kind, the cases that can match it, and how well.

    Attributes:
        ptr: int64 ``[F + 1]``.
        cases: int32 ``[entries]``, ascending within a list, each case once.
        best: int32 ``[entries]``, the best value any statement of the case gives the list's kind; above 0.
        entities: int32 ``[N]``, number of entities of each case.
    """

    ptr: LongArray
    cases: IntArray
    best: IntArray
    entities: IntArray


@dataclass(frozen=True)
class PostingLists:
    """Which cases hold each stored kind, and which stored kinds each query kind can match: lists not yet folded.

    List ``f`` holds the cases of all stored kinds in row ``f`` of ``table``, each with the greatest value of a kind
    that it holds.

    Attributes:
        table: the pairs of query kinds (rows) and stored kinds.
        ptr: int64 ``[K + 1]``.
        cases: int32 ``[postings]``, ascending within a stored kind.
        entities: int32 ``[N]``, number of entities of each case.
    """

    table: PairTable
    ptr: LongArray
    cases: IntArray
    entities: IntArray

    @property
    def entries(self) -> int:
        """Entries of all lists before each case is folded into one."""
        return int(np.diff(self.ptr)[self.table.stored].sum())

    @cached_property
    def falling(self) -> LongArray:
        """Entries of each row of ``table`` by falling value, int64 ``[pairs]``."""
        rows = np.repeat(np.arange(len(self.table.functors)), np.diff(self.table.ptr))
        # One number an entry, rows in order already: ten times as fast as by two keys.
        return np.argsort((rows << _VALUE_BITS) | (SCORE_LIMIT - 1 - self.table.value), kind="stable").astype(np.int64)

    def fold(self) -> FoldedLists:
        """Returns the folded list of every row of ``table``."""
        rows, count = len(self.table.functors), len(self.entities)
        listed = np.concatenate([[0], np.cumsum(np.diff(self.ptr)[self.table.stored])])[self.table.ptr]
        cuts = [0]
        while cuts[-1] < rows:
            last = int(np.searchsorted(listed, listed[cuts[-1]] + _FOLDED_AT_ONCE, side="right")) - 1
            cuts.append(min(max(last, cuts[-1] + 1), cuts[-1] + max(1, _PLACES // max(count, 1)), rows))
        parts = [self._fold_rows(lo, hi) for lo, hi in zip(cuts, cuts[1:], strict=False)]
        nothing = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
        counts, cases, best = (np.concatenate(columns) for columns in zip(nothing, *parts, strict=True))
        return FoldedLists(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), cases, best, self.entities)

    def _fold_rows(self, lo: int, hi: int) -> tuple[LongArray, IntArray, IntArray]:
        """Returns list lengths, cases and best values of the rows ``lo`` to ``hi``."""
        table, count = self.table, max(len(self.entities), 1)
        entries = slice(int(table.ptr[lo]), int(table.ptr[hi]))
        row = np.repeat(np.arange(hi - lo, dtype=np.int64), np.diff(table.ptr[lo : hi + 1]))
        pair, at = expand(self.ptr, table.stored[entries])
        place = row[pair] * count + self.cases[at]
        # One number a pair, so that one plain sort puts the best value of a case first.
        ordered = np.sort((place << _VALUE_BITS) | (SCORE_LIMIT - 1 - table.value[entries])[pair])
        place = ordered >> _VALUE_BITS
        first = np.ones(len(place), bool)
        first[1:] = place[1:] != place[:-1]
        best = SCORE_LIMIT - 1 - (ordered[first] & (SCORE_LIMIT - 1))
        lists, cases = np.divmod(place[first], count)
        return np.bincount(lists, minlength=hi - lo), cases.astype(np.int32), best.astype(np.int32)


Lists = FoldedLists | PostingLists


def folded(lists: Lists) -> FoldedLists:
    """Returns the lists in folded form, for a backend that reads no other."""
    return lists.fold() if isinstance(lists, PostingLists) else lists
