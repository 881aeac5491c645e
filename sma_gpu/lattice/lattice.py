"""The is-a DAG as CSR arrays, with hop counts and closures.

A functor here is a number; smaller numbers are smaller ids by code point, which settles every tie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import LatticeError
from .arrays import distinct, expand, expand_spans, pointers

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
        starts, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
        pairs = _PairBuffer()
        # Parents come in earlier waves, so each wave only has to merge what its parents have found.
        for wave in self._waves():
            child, edge = expand(self.parent_ptr, wave)
            above = self.parents[edge]
            parent, at = expand_spans(starts[above], counts[above])
            functor = np.concatenate([np.arange(len(wave)), child[parent]])
            ancestor = np.concatenate([wave, pairs.ancestors[at]])
            hops = np.concatenate([np.zeros(len(wave), np.int32), pairs.hops[at] + 1])
            order = np.lexsort((hops, ancestor, functor))
            functor, ancestor, hops = functor[order], ancestor[order], hops[order]
            nearest = np.ones(len(functor), bool)
            nearest[1:] = (functor[1:] != functor[:-1]) | (ancestor[1:] != ancestor[:-1])
            if limit is not None:
                nearest &= hops <= limit
            counts[wave] = np.bincount(functor[nearest], minlength=len(wave))
            starts[wave] = pairs.size + np.cumsum(counts[wave]) - counts[wave]
            pairs.append(ancestor[nearest], hops[nearest])
        _, at = expand_spans(starts, counts)
        return HopTable(np.concatenate([[0], np.cumsum(counts)]), pairs.ancestors[at], pairs.hops[at])

    def _waves(self) -> Iterator[IntArray]:
        """Yields all functors, ascending within a wave, each wave behind those of all its functors' parents.

        Raises:
            LatticeError: the relation has a cycle.
        """
        size = len(self)
        child = np.repeat(np.arange(size, dtype=np.int32), np.diff(self.parent_ptr))
        order = np.argsort(self.parents, kind="stable")
        child_ptr, children = pointers(self.parents[order], size), child[order]
        waiting = np.diff(self.parent_ptr).astype(np.int64)
        wave = np.flatnonzero(waiting == 0).astype(np.int32)
        done = 0
        while len(wave):
            yield wave
            done += len(wave)
            _, at = expand(child_ptr, wave)
            below = children[at]
            np.subtract.at(waiting, below, 1)
            wave = distinct(below[waiting[below] == 0])
        if done < size:
            raise LatticeError(
                f"lattice of {size} functors",
                f"the is-a relation runs in a circle through some of {size - done} functors",
                "Mount an ontology that a reader has checked; it names the circle.",
            )

    def signed(self) -> Lattice:
        """Returns the lattice of functors and their denials: ``T + f`` is the denial of functor ``f``.

        What denies a functor denies all below it, so that among denials the order is reversed.
        """
        size = len(self)
        child = np.repeat(np.arange(size, dtype=np.int32), np.diff(self.parent_ptr))
        order = np.argsort(self.parents, kind="stable")
        below_ptr = pointers(self.parents[order], size)
        ptr = np.concatenate([self.parent_ptr, self.parent_ptr[-1] + below_ptr[1:]]).astype(np.int32)
        return Lattice(ptr, np.concatenate([self.parents, size + child[order]]).astype(np.int32))

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


class _PairBuffer:
    """Two columns that grow by doubling."""

    def __init__(self) -> None:
        self.size = 0
        self.ancestors = np.zeros(1024, np.int32)
        self.hops = np.zeros(1024, np.int32)

    def append(self, ancestors: IntArray, hops: IntArray) -> None:
        end = self.size + len(ancestors)
        if end > len(self.ancestors):
            self.ancestors = np.resize(self.ancestors, 2 * end)
            self.hops = np.resize(self.hops, 2 * end)
        self.ancestors[self.size : end] = ancestors
        self.hops[self.size : end] = hops
        self.size = end
