"""Scorers: what a functor is worth, in bits, given the indexed cases.

A new scorer is a function from counts to costs, entered in ``functor_costs``; other packages bring theirs through
``foreign``. ``evidence`` is more than costs, and has a module of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..lattice import HopTable, Lattice
from ..lattice.arrays import expand
from .dials import Dials
from .foreign import foreign_costs

__all__ = ["closure_counts", "functor_costs", "near_counts"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
CountArray = npt.NDArray[np.int64]

_BLOCK_CASES = 1 << 12  # cases expanded at a time; changes memory, never a count


def functor_costs(
    dials: Dials, lattice: Lattice, near: HopTable, case_ptr: CountArray, functors: IntArray
) -> FloatArray:
    """Returns the cost of every functor in bits, float64 ``[T]``, never negative; ``evidence`` has its own.

    Args:
        dials: ``scorer`` chooses.
        lattice: the is-a lattice, ``T`` functors.
        near: its ancestors within ``dials.delta`` hops.
        case_ptr: int64 ``[N + 1]``, cuts the statements of the indexed cases.
        functors: int32 ``[S]``, functor of each distinct statement, nested ones included.
    """
    if dials.scorer == "unit":
        return np.ones(len(lattice))
    if dials.scorer == "ic":
        return information_content(closure_counts(lattice, case_ptr, functors), len(case_ptr) - 1)
    if ":" in dials.scorer:
        return foreign_costs(dials.scorer, closure_counts(lattice, case_ptr, functors), len(case_ptr) - 1)
    return surprisal(near_counts(near, functors))


def closure_counts(lattice: Lattice, case_ptr: CountArray, functors: IntArray) -> CountArray:
    """Returns in how many cases each functor holds, itself or through a narrower one, int64 ``[T]``."""
    size, closure = len(lattice), lattice.closure
    counts = np.zeros(size, np.int64)
    for start in range(0, len(case_ptr) - 1, _BLOCK_CASES):
        ptr = case_ptr[start : start + _BLOCK_CASES + 1]
        statement, at = expand(closure.ptr, functors[ptr[0] : ptr[-1]])
        above = closure.ancestors[at]
        ends = np.searchsorted(statement, ptr - ptr[0]).tolist()
        for lo, hi in zip(ends, ends[1:], strict=False):
            counts[above[lo:hi]] += 1  # once for an ancestor, however many statements of the case are below it
    return counts


def near_counts(near: HopTable, functors: IntArray) -> CountArray:
    """Returns how many statements each functor covers from at most delta hops above, int64 ``[T]``."""
    size = len(near.ptr) - 1
    stated = np.bincount(functors, minlength=size)
    covered = np.repeat(stated, np.diff(near.ptr))
    return np.bincount(near.ancestors, weights=covered, minlength=size).astype(np.int64)


def information_content(counts: CountArray, cases: int) -> FloatArray:
    """Returns -log2(max(n, 1/2) / N) for each count n among N cases (Resnik 1995); 0 where all cases hold it.

    A functor that no case holds counts as half a case, so that it is rarer than any that was seen, and finite.
    """
    return _per_count(counts, lambda n: math.log2(cases / max(n, 0.5)) if cases else 0.0)


def surprisal(counts: CountArray) -> FloatArray:
    """Returns -log2((n_f + 1/2) / (n + V/2)) with n the sum of the counts and V how many are above 0.

    The scorer of the published adapter, except that there a functor no case holds is worth 1 bit whatever the corpus;
    here the same formula serves it too.
    """
    total, vocabulary = int(counts.sum()), max(int((counts > 0).sum()), 1)
    return _per_count(counts, lambda n: -math.log2((n + 0.5) / (total + 0.5 * vocabulary)) if total else 0.0)


def _per_count(counts: CountArray, cost: Callable[[int], float]) -> FloatArray:
    # One logarithm per distinct count, from the C library: vectorised log2 differs in the last bit between processors.
    distinct, where = np.unique(counts, return_inverse=True)
    return np.array([max(cost(n), 0.0) for n in distinct.tolist()], np.float64)[where]
