"""The scorer ``evidence``: how much likelier a term is in an instance of a case than anywhere.

A case, such as a disease, states terms with the share of its instances that have them. What is true of a term is true
of all above it, so a statement holds as often as the most frequent one at or below it in its case. The fewer and the
rarer all statements of a case are, the more an instance is expected to show each: the *strength* of a statement is

    scale * frequency / (sum of the case's frequencies)^power

and with the *background* of a term, its expected share of the instances of all cases, a query term t over a stored one
b is worth

    log2(1 + strength / background(t))            where b is t or below it
    log2(1 + strength * rho^hops / background(b)) where b is above t, and nothing in the case is below b

bits, and nothing otherwise: siblings are other findings. Terms of a query that share most of their information tell the
same twice: the *weight* of a query term, by which its bits are multiplied, is 1 less half the greatest share of its
information content (that of ``ic``) which it has in common with another term of the query. Stored statements weigh 1.

A frequency of 1/100 at least is taken; 1/2 for a statement that tells none in a case that tells some, and 1 in a case
that tells none. A background below half an instance of one case counts as that half. Strengths are rounded to powers of
2^(1/16), weights to multiples of 1/16.

In spirit a sum of likelihood ratios (Robinson and others 2020), but of worths that belong to pairs and are never
negative, so that bound, certificate and explanation hold as for any other scorer. What does not hold: a case asked as a
query is discounted for what it tells twice, so it scores at most its self-score; a case that states the same more
strongly outranks the query's own copy; and what is added to a query and a case weakens all else that the case states.

Scale 4 and power 0.6 were tuned on published patients; ``docs/decisions`` tells how, and what did not help.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..lattice import Lattice
from ..lattice.arrays import expand
from .dials import EVIDENCE, Dials

__all__ = [
    "UNKNOWN_FREQUENCY",
    "Told",
    "background_costs",
    "rarities",
    "shares",
    "spread",
    "strengths",
    "weights",
    "worths",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
CountArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

UNKNOWN_FREQUENCY = 0.5
"""Taken for a statement whose frequency is not known, in a case that knows others."""

_LEAST_FREQUENCY = 0.01
_SHARED = 0.5  # of what is told twice so much is taken off
_SHARE = 1 << 20  # shares are added as whole numbers of 2^-20, so that no order of cases shows in a sum
_LEVELS = 16  # strengths are powers of 2^(1/16) and weights multiples of 1/16, so that many statements are of one kind
_BLOCK_CASES = 1 << 12  # cases expanded at a time; changes memory, never a number


@dataclass(frozen=True)
class Told:
    """What flat cases say of their terms and of those above.

    Attributes:
        share: int64 ``[S]``, frequency of each statement or of a narrower one, in units of 2^-20.
        narrowest: bool ``[S]``, no other statement of the case is below it.
        expected: int64 ``[T]``, greatest share of each functor in each case, summed over the cases.
    """

    share: CountArray
    narrowest: BoolArray
    expected: CountArray


def spread(lattice: Lattice, ptr: CountArray, functors: IntArray, frequencies: FloatArray | None) -> Told:
    """Returns what ``N`` flat cases say of the ``T`` functors of a lattice.

    Args:
        lattice: the is-a lattice.
        ptr: int64 ``[N + 1]``, cuts the statements.
        functors: int32 ``[S]``.
        frequencies: float64 ``[S]``, NaN where not known; None where none is.
    """
    size, stated = len(lattice), shares(ptr, frequencies)
    share, narrowest = np.zeros(len(functors), np.int64), np.zeros(len(functors), np.bool_)
    expected = np.zeros(size, np.int64)
    for part, own, statement, place in _blocks(lattice, ptr, functors):
        # One number an entry, so that one plain sort puts the most frequent statement of a place last.
        entry = np.sort(place * (_SHARE + 1) + stated[part][statement])
        places, greatest = np.divmod(entry, _SHARE + 1)
        last = np.ones(len(places), np.bool_)
        last[:-1] = places[1:] != places[:-1]
        places, greatest, count = places[last], greatest[last], np.diff(np.flatnonzero(last), prepend=-1)
        np.add.at(expected, places % size, greatest)
        at = np.searchsorted(places, own)
        share[part], narrowest[part] = greatest[at], count[at] == 1
    return Told(share, narrowest, expected)


def weights(lattice: Lattice, ptr: CountArray, functors: IntArray, information: FloatArray) -> FloatArray:
    """Returns the weight of each statement beside the others of its case, float64 ``[S]``, from 1/2 to 1.

    Args:
        lattice: the is-a lattice.
        ptr: int64 ``[N + 1]``, cuts the statements.
        functors: int32 ``[S]``.
        information: float64 ``[T]``, information content of each functor in bits.
    """
    found = np.ones(len(functors))
    for part, _, statement, place in _blocks(lattice, ptr, functors):
        _, entry, count = np.unique(place, return_inverse=True, return_counts=True)
        shared = np.where(count[entry] > 1, information[place % len(lattice)], 0.0)
        most = np.zeros(len(functors[part]))
        np.maximum.at(most, statement, shared)
        own = information[functors[part]]
        found[part] = 1.0 - _SHARED * np.divide(most, own, out=np.zeros(len(own)), where=own > 0)
    return np.rint(np.clip(found, 0.0, 1.0) * _LEVELS) / _LEVELS


def strengths(ptr: CountArray, share: CountArray, stated: CountArray, dials: Dials) -> FloatArray:
    """Returns the strength of each statement of flat cases, float64 ``[S]``, above 0.

    Args:
        ptr: int64 ``[N + 1]``, cuts the statements.
        share: int64 ``[S]``, frequency of each or of a narrower one, in units of 2^-20.
        stated: int64 ``[S]``, its own frequency, of which the size of the case is the sum.
        dials: whose scale and size power it is; as tuned under a scorer that has none.
    """
    scale, power = dials.weighing or EVIDENCE
    running = np.concatenate([[0], np.cumsum(stated)])
    size = _of_each(running[ptr[1:]] - running[ptr[:-1]], lambda total: (max(total, 1) / _SHARE) ** power)
    return _of_each(
        scale * share / _SHARE / np.repeat(size, np.diff(ptr)),
        lambda strength: 2.0 ** (round(_LEVELS * math.log2(strength)) / _LEVELS),
    )


def shares(ptr: CountArray, frequencies: FloatArray | None) -> CountArray:
    """Returns the frequency taken for each statement in units of 2^-20, int64; at least 1/100 is taken.

    Where a case tells no frequency at all, its statements simply hold; where it tells some, the others are half.
    """
    count = int(ptr[-1])
    if frequencies is None:
        return np.full(count, _SHARE, np.int64)
    told = np.concatenate([[0], np.cumsum(~np.isnan(frequencies))])
    tells = np.repeat(told[ptr[1:]] > told[ptr[:-1]], np.diff(ptr))
    known = np.where(np.isnan(frequencies), np.where(tells, UNKNOWN_FREQUENCY, 1.0), frequencies)
    taken: CountArray = np.rint(np.maximum(known, _LEAST_FREQUENCY) * _SHARE).astype(np.int64)
    return taken


def background_costs(expected: CountArray, cases: int) -> FloatArray:
    """Returns -log2 of the share of the instances of all cases in which each functor is expected, float64 ``[T]``.

    What is expected in less than half an instance of one case counts as that half.
    """
    return _of_each(np.maximum(expected, _SHARE // 2), lambda total: math.log2(max(cases, 1) * _SHARE / total))


def rarities(costs: FloatArray) -> FloatArray:
    """Returns one over the share that each of these costs stands for, float64, 1 or more."""
    return _of_each(costs, lambda cost: 2.0**cost)


def worths(odds: FloatArray, strength: FloatArray) -> FloatArray:
    """Returns log2(1 + odds * strength) in bits, float64."""
    # The logarithm of the C library: vectorised log2 differs in the last bit between processors.
    return np.fromiter(map(math.log2, (1.0 + odds * strength).tolist()), np.float64, len(odds))


def _blocks(
    lattice: Lattice, ptr: CountArray, functors: IntArray
) -> Iterator[tuple[slice, CountArray, CountArray, CountArray]]:
    """Yields a part of the statements, the place of each, and for each term at or above one: statement and place.

    A place is a case of the part and a functor, in one number.
    """
    size, closure = len(lattice), lattice.closure
    for start in range(0, len(ptr) - 1, _BLOCK_CASES):
        cut = ptr[start : start + _BLOCK_CASES + 1]
        part = slice(int(cut[0]), int(cut[-1]))
        case = np.repeat(np.arange(len(cut) - 1, dtype=np.int64) * size, np.diff(cut))
        statement, at = expand(closure.ptr, functors[part])
        yield part, case + functors[part], statement, case[statement] + closure.ancestors[at]


def _of_each(values: npt.NDArray[Number], function: Callable[[Any], float]) -> FloatArray:
    distinct, where = np.unique(values, return_inverse=True)
    return np.array([function(value) for value in distinct.tolist()], np.float64)[where]
