"""The is-a DAG as CSR arrays, with hop counts and closures.

A functor here is a number; smaller numbers are smaller ids by code point, which settles every tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .arrays import distinct, expand, member, pointers

__all__ = ["HopTable", "Lattice"]

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class HopTable:
    """Functors with their ancestors at most some hops up, in CSR form; each functor is its own ancestor at 0 hops.

    Attributes:
        ptr: int64 ``[T + 1]``.
        ancestors: int32 ``[pairs]``, ascending within a functor.
        hops: int32 ``[pairs]``, fewest is-a steps up.
    """

    ptr: npt.NDArray[np.int64]
    ancestors: IntArray
    hops: IntArray


@dataclass(frozen=True)
class Lattice:
    """An acyclic is-a relation over functors ``0 .. T - 1``.

    Attributes:
        parent_ptr: int32 ``[T + 1]``.
        parents: int32 ``[edges]``, the direct parents of each functor.
    """

    parent_ptr: IntArray
    parents: IntArray

    def __len__(self) -> int:
        return len(self.parent_ptr) - 1

    def hops_up(self, limit: int | None) -> HopTable:
        """Returns every functor's ancestors at most ``limit`` is-a steps up (None: all of them).

        Raises:
            ValueError: ``limit`` is negative.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"hops_up(limit={limit}): a number of steps is 0 or more")
        size = len(self)
        # A pair (functor, ancestor) is one integer, so that "seen before" is a search in a sorted array.
        frontier = np.arange(size, dtype=np.int64) * (size + 1)
        found, hops = [frontier], [np.zeros(size, np.int32)]
        seen = frontier
        step = 0
        while frontier.size and (limit is None or step < limit):
            step += 1
            rows, edges = expand(self.parent_ptr, frontier % size)
            frontier = distinct(frontier[rows] // size * size + self.parents[edges])
            frontier = frontier[~member(frontier, seen)]
            seen = distinct(np.concatenate([seen, frontier]))
            found.append(frontier)
            hops.append(np.full(frontier.size, step, np.int32))
        pairs, steps = np.concatenate(found), np.concatenate(hops)
        order = np.argsort(pairs, kind="stable")
        functor, ancestor = np.divmod(pairs[order], max(size, 1))
        return HopTable(pointers(functor, size), ancestor.astype(np.int32), steps[order])

    @cached_property
    def closure(self) -> HopTable:
        """Every functor's ancestors, itself included, however far up."""
        return self.hops_up(None)

    def ancestors_of(self, functor: int) -> IntArray:
        """Returns all ancestors of ``functor``, itself included, ascending."""
        table = self.closure
        return table.ancestors[table.ptr[functor] : table.ptr[functor + 1]]

    def most_specific(self, functors: npt.ArrayLike) -> IntArray:
        """Returns the distinct ``functors`` that are not an ancestor of another one of them, ascending."""
        given = distinct(np.asarray(functors, dtype=np.int32))
        implied: set[int] = set()
        for functor in given.tolist():
            implied.update(a for a in self.ancestors_of(functor).tolist() if a != functor)
        return given[[f not in implied for f in given.tolist()]] if given.size else given
