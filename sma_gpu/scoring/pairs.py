"""The value of every pair of a query kind and a stored kind: the one place where worth meets the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..lattice import HopTable
from ..lattice.arrays import distinct, expand, pointers
from .dials import Dials
from .evidence import rarities, worths
from .grid import to_grid
from .kinds import Kinds

__all__ = ["PairTable", "invert", "own_bits", "pair_table"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairTable:
    """Compatible pairs of query kinds (rows) and stored kinds, in CSR form.

    Over flat cases a kind is a functor, and has its number.

    Attributes:
        functors: int32 ``[F]``, the query functor of each row, ascending.
        ptr: int64 ``[F + 1]``.
        stored: int32 ``[pairs]``, stored kinds, ascending within a row.
        value: int64 ``[pairs]``, value of the hypothesis in units of 2^-16 bit, above 0.
        via: int32 ``[pairs]``, the common ancestor that pays.
        distance: int32 ``[pairs]``, is-a hops over it, both legs together.
    """

    functors: IntArray
    ptr: LongArray
    stored: IntArray
    value: LongArray
    via: IntArray
    distance: IntArray

    @classmethod
    def concatenate(cls, parts: Sequence[PairTable]) -> PairTable:
        """Returns the rows of all ``parts``, one or more, in their order; functors ascend over them."""
        counts = np.concatenate([np.diff(part.ptr) for part in parts])
        names = ("functors", "stored", "value", "via", "distance")
        functors, *columns = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return cls(functors, np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), *columns)

    def rows_of(self, functors: npt.ArrayLike) -> LongArray:
        """Returns the row of each functor of a flat query, int64. All must be in ``self.functors``."""
        return np.searchsorted(self.functors, np.asarray(functors)).astype(np.int64)

    def between(self, rows: LongArray, stored: IntArray) -> tuple[LongArray, LongArray, LongArray]:
        """Returns the pairs of the given rows with the given stored kinds, ascending.

        Args:
            rows: int64, rows of this table.
            stored: int32, ascending.

        Returns:
            ``(position in rows, position in stored, entry of this table)``, int64 each.
        """
        owner, at = expand(self.ptr, rows)
        if not len(stored):
            return owner[:0], owner[:0], at[:0]
        column = np.minimum(np.searchsorted(stored, self.stored[at]), len(stored) - 1)
        found = stored[column] == self.stored[at]
        return owner[found], column[found].astype(np.int64), at[found]


def invert(near: HopTable, stored: npt.NDArray[np.bool_]) -> HopTable:
    """Returns, for each ancestor, the functors at most delta hops below it, among those marked in ``stored`` [T]."""
    size = len(near.ptr) - 1
    below = np.repeat(np.arange(size, dtype=np.int32), np.diff(near.ptr))
    keep = stored[below]
    below, above, hops = below[keep], near.ancestors[keep], near.hops[keep]
    order = np.argsort(above, kind="stable")
    return HopTable(pointers(above[order], size), below[order], hops[order])


def pair_table(
    dials: Dials, costs: npt.NDArray[np.float64], near: HopTable, below: HopTable, query: Kinds, stored: Kinds
) -> PairTable:
    """Returns the values of all compatible pairs of ``query`` kinds with ``stored`` kinds.

    Two functors are compatible when a common ancestor lies at most ``delta`` hops away, both legs together. The
    ancestor that pays most counts; ties go to fewer hops, then to the smaller id. Kinds also need equal shapes, and a
    pair takes the smaller weight.

    Args:
        dials: scorer settings.
        costs: float64 ``[T]``, bits.
        near: ancestors within delta hops of every functor.
        below: ``invert(near, marked)``, where the functors of ``stored`` are marked.
        query: kinds, in order.
        stored: kinds, in order.
    """
    functors = distinct(query.functors)
    ptr, other, worth, via, distance = _functor_pairs(dials, costs, near, below, functors)
    row, at = expand(ptr, np.searchsorted(functors, query.functors))
    pair, kind = expand(stored.by_functor(len(costs)), other[at])
    row, at = row[pair], at[pair]
    same = query.shapes[row] == stored.shapes[kind]
    if dials.weighing:  # a broad statement is what a narrower one of the case made true
        same &= (distance[at] == 0) | (via[at] != other[at]) | stored.narrowest[kind]
    row, at, kind = row[same], at[same], kind[same]
    weight = np.minimum(query.weights[row], stored.weights[kind])
    bits = worths(worth[at], stored.strengths[kind]) if dials.weighing else worth[at]
    value = to_grid(bits * weight * stored.trickle[kind])
    keep = value > 0  # a hypothesis of value 0 does not exist
    row, at, kind = row[keep], at[keep], kind[keep]
    return PairTable(
        query.functors, pointers(row, len(query)), kind.astype(np.int32), value[keep], via[at], distance[at]
    )


def _functor_pairs(
    dials: Dials, costs: npt.NDArray[np.float64], near: HopTable, below: HopTable, functors: IntArray
) -> tuple[LongArray, IntArray, npt.NDArray[np.float64], IntArray, IntArray]:
    """Returns CSR pointers by ``functors``, and for each pair: stored functor, worth, ancestor, hops over it.

    Under ``evidence``, in the place of a worth in bits stand the odds of which a statement's strength makes one.
    """
    row, leg = expand(near.ptr, functors)
    ancestor, up = near.ancestors[leg], near.hops[leg]
    pair, other = expand(below.ptr, ancestor)
    distance = up[pair] + below.hops[other]
    close = distance <= dials.delta
    if dials.weighing:  # siblings are other findings, and say nothing of one another
        close &= (up[pair] == 0) | (below.hops[other] == 0)
    pair, other, distance = pair[close], other[close], distance[close]
    row, via, stored = row[pair], ancestor[pair], below.ancestors[other]

    pays = costs[stored]
    if dials.weighing:
        pays = rarities(costs[via])
    elif dials.credit == "ancestor":
        pays = np.minimum(np.minimum(costs[via], costs[functors][row]), pays)
    decay = np.array([dials.rho**d for d in range(int(distance.max(initial=0)) + 1)])
    # Under evidence, what is below a term is as good as the term: the case says that it holds.
    worth = pays * decay[np.where(via == functors[row], 0, distance) if dials.weighing else distance]

    order = np.lexsort((via, distance, -worth, stored, row))
    row, stored, via, distance, worth = row[order], stored[order], via[order], distance[order], worth[order]
    first = np.ones(len(row), bool)
    first[1:] = (row[1:] != row[:-1]) | (stored[1:] != stored[:-1])
    ptr = pointers(row[first], len(functors))
    return ptr, stored[first], worth[first], via[first], distance[first].astype(np.int32)


def own_bits(dials: Dials, costs: npt.NDArray[np.float64], kinds: Kinds) -> npt.NDArray[np.float64]:
    """Returns what a statement of each kind is worth matched with itself, float64 ``[K]``, bits before trickle-down."""
    costs = costs[kinds.functors]
    bits = worths(rarities(costs), kinds.strengths) if dials.weighing else costs
    return bits * kinds.weights
