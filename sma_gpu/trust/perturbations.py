"""Queries that differ from a given one by one term: dropped, climbed to a parent, or added.

A query is a set of most specific terms. A term is dropped where others are left; it climbs to a parent that some
indexed cases hold and some do not; one is added as often as indexed cases state it. No new term is one that the query
implies or excludes. What comes out is reduced to its most specific terms, as every query is, and no two of the changed
queries are the same. (Climbing to a parent that another term implies would be dropping, and is none.) Where a stored
case is the query, which is not reduced, the terms beside the changed one stay as they are.
"""

from __future__ import annotations

import hashlib
from bisect import insort
from collections import Counter
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..lattice import HopTable
from ..lattice.arrays import member
from ..retrieval import Index
from ..scoring.pairs import invert

__all__ = ["ADD", "CLIMB", "DROP", "KINDS", "Perturbations", "Perturbed"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

KINDS = ("drop", "climb", "add")
DROP, CLIMB, ADD = range(3)

_DRAWS = "sma-gpu/perturbations/1"  # what is drawn from; another way to draw gets another name
_BITS = 64  # of a drawn number
_AS_BYTES = "utf-8", "surrogatepass"  # an id may hold half a character


class Perturbed(NamedTuple):
    """A query with one term changed.

    Attributes:
        kind: ``DROP``, ``CLIMB`` or ``ADD``.
        term: functor of the term that was dropped or climbed from, or that was added.
        functors: int32, ascending, the terms of the changed query.
    """

    kind: int
    term: int
    functors: IntArray


class Perturbations:
    """The ways in which queries to one index change by one term.

    Args:
        index: the indexed cases, flat ones.
    """

    def __init__(self, index: Index) -> None:
        self._index, self._lattice = index, index.mounted.lattice
        self._stated = np.bincount(index.cases.functors, minlength=len(self._lattice)).astype(np.int64)

    def drops(self, present: IntArray) -> list[Perturbed]:
        """Returns the query without each of its terms in turn; nothing for a query of one term.

        Args:
            present: int32, most specific functors of the query, ascending.
        """
        if len(present) < 2:
            return []
        return [Perturbed(DROP, term, np.delete(present, at)) for at, term in enumerate(present.tolist())]

    def climbs(self, present: IntArray, excluded: IntArray) -> list[Perturbed]:
        """Returns the query with each of its terms in turn climbed to each parent that it can climb to.

        Args:
            present: int32, most specific functors of the query, ascending.
            excluded: int32, functors stated to be absent, ascending.
        """
        lattice, holders, out = self._lattice, self._index.holders, set(excluded.tolist())
        implied = Counter(above for term in present.tolist() for above in lattice.ancestors_of(term).tolist())
        found = []
        for at, term in enumerate(present.tolist()):
            for parent in sorted(
                set(lattice.parents[lattice.parent_ptr[term] : lattice.parent_ptr[term + 1]].tolist())
            ):
                tells = 0 < holders[parent] < len(self._index)
                if tells and implied[parent] == 1 and out.isdisjoint(lattice.ancestors_of(parent).tolist()):
                    rest = np.append(np.delete(present, at), np.int32(parent))
                    found.append(Perturbed(CLIMB, term, np.sort(rest)))
        return found

    def drawn(self, present: IntArray, excluded: IntArray, runs: int, seed: int) -> list[Perturbed]:
        """Returns ``runs`` distinct queries with one term changed, or all there are where they are fewer.

        Each time the kind is drawn from those that have any left, all alike, then the term: alike among those to drop,
        and among ways to climb; among terms to add, as often as indexed cases state them. What was drawn is not put
        back. A draw depends on the seed, the ids of the query's terms and the number of the run alone, so the first
        runs of many are those of few.

        Args:
            present: int32, most specific functors of the query, ascending; one or more.
            excluded: int32, functors stated to be absent, ascending.
            runs: how many are wanted.
            seed: what draws are made from.
        """
        pools = {DROP: self.drops(present), CLIMB: self.climbs(present, excluded)}
        additions = _Urn(self._can_be_added(present, excluded))
        ids = self._index.mounted.ids
        digest = hashlib.sha256("\0".join([_DRAWS, str(seed), *(ids[f] for f in present.tolist())]).encode(*_AS_BYTES))
        found: list[Perturbed] = []
        for run in range(runs):
            left = [len(pools[DROP]), len(pools[CLIMB]), additions.left]
            able = [kind for kind, size in enumerate(left) if size]
            if not able:
                break
            of_run = digest.copy()
            of_run.update(f"\0\0{run}".encode())
            numbers = of_run.digest()
            kind = able[_below(len(able), numbers[:8])]
            at = _below(left[kind], numbers[8:16])
            found.append(self._with(present, additions.take(at)) if kind == ADD else pools[kind].pop(at))
        return found

    def _with(self, present: IntArray, term: int) -> Perturbed:
        kept = present[~member(present, self._lattice.ancestors_of(term))]
        return Perturbed(ADD, term, np.sort(np.append(kept, np.int32(term))))

    def _can_be_added(self, present: IntArray, excluded: IntArray) -> LongArray:
        """Returns how many cases state each functor, int64 ``[T]``; 0 for one that the query implies or excludes."""
        counts = self._stated.copy()
        for term in present.tolist():
            counts[self._lattice.ancestors_of(term)] = 0
        for term in excluded.tolist():
            counts[self._below.ancestors[self._below.ptr[term] : self._below.ptr[term + 1]]] = 0
        return counts

    @cached_property
    def _below(self) -> HopTable:
        """The stated functors at or below each functor."""
        return invert(self._lattice.closure, self._stated > 0)


class _Urn:
    """Things to be drawn by weight and not put back.

    Args:
        weights: int64 ``[T]``, 0 for a thing that cannot be drawn.
    """

    def __init__(self, weights: LongArray) -> None:
        self._weights, self._ends = weights, np.cumsum(weights)
        self._taken: list[tuple[int, int]] = []  # where the span of each begins, and how wide it is; ascending
        self.left = int(self._ends[-1]) if len(weights) else 0

    def take(self, at: int) -> int:
        """Returns the thing at ``at``, from 0 to ``left`` - 1, when each is laid out by weight; it is taken out."""
        for begin, width in self._taken:
            if at < begin:
                break
            at += width
        thing = int(np.searchsorted(self._ends, at, side="right"))
        width = int(self._weights[thing])
        insort(self._taken, (int(self._ends[thing]) - width, width))
        self.left -= width
        return thing


def _below(size: int, drawn: bytes) -> int:
    """Returns a whole number from 0 to ``size`` - 1 that 64 drawn bits stand for."""
    return int.from_bytes(drawn, "big") * size >> _BITS
