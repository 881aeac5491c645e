"""Optimistic bounds: what no mapping within a set of hypotheses can exceed.

A hypothesis must have the pairs that it rests on. Give that up, and what is left are assignment problems, statements to
statements and entities to entities, each solved exactly. In return every statement pays, for each pair that its
hypothesis rests on, a charge to that pair (Lagrangian relaxation: Held and Karp 1970; for problems of this kind Adams
and Johnson 1994). Any charges of 0 or more give a bound, so they are tuned by subgradient steps. They are whole
numbers, and the bound is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..matching import Competition
from . import bitsets
from .hypotheses import Hypotheses

__all__ = ["GAIN", "PATIENCE", "SLOWER", "Relaxation", "Relaxed"]

LongArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_NEVER = np.int64(1) << 60
SLOWER = 0.98  # length of the next step where the last one did not lower the bound
PATIENCE, GAIN = 40, 0.002  # stop when so many steps have not closed this share of what is open


@dataclass(frozen=True)
class Relaxed:
    """A bound and where it is loose.

    Attributes:
        bound: no mapping is worth more, units of 2^-16 bit.
        chosen: bool ``[H]``, an assignment that is worth the bound, but may lack support.
        strain: int64 ``[H]``, what was charged for a pair by those who do not agree with the assignment on it.
        worth: int64 ``[H]``, the value of each hypothesis with the charges that it takes in.
    """

    bound: int
    chosen: BoolArray
    strain: LongArray
    worth: LongArray


class Relaxation:
    """The relaxed problem of one pair of cases, with charges that are kept from one bound to the next.

    A charge belongs to a statement (of either side) and a pair: whichever hypothesis of the statement is chosen pays it
    if it rests on the pair. Of alternative pairs, as the arguments of a commutative statement have them, it pays the
    smallest charge.
    """

    def __init__(self, made: Hypotheses) -> None:
        self._value, self._size = made.value, len(made)
        self._entity = bitsets.as_mask(made.entity, len(made))
        charges: dict[tuple[int, int, int], int] = {}  # (side, statement, pair): number of the charge
        entries: list[tuple[int, int, int]] = []  # (alternatives, hypothesis, charge)
        alternatives = 0
        for h in np.flatnonzero(~self._entity).tolist():
            for side, item, choices in _rests_on(made, self._entity, h):
                entries += [(alternatives, h, charges.setdefault((side, item, k), len(charges))) for k in choices]
                alternatives += 1
        table = np.array(entries, np.int64).reshape(-1, 3)
        self._alternatives, self._payer, self._charge = (np.ascontiguousarray(c) for c in table.T)
        self._starts = np.flatnonzero(np.diff(self._alternatives, prepend=-1))
        self._lengths = np.diff(np.append(self._starts, len(table)))
        self._pair = np.array([k for _, _, k in charges], np.int64)
        self._sides = [_Side(side, made.value) for side in (made.query, made.stored)]
        self._assignments = Competition(made.query, made.stored)
        # First charges: each hypothesis spreads its value evenly over what it rests on.
        share = made.value // np.maximum(np.bincount(self._payer[self._starts], minlength=self._size), 1)
        self._charges = np.zeros(len(charges), np.int64)
        np.maximum.at(self._charges, self._charge, share[self._payer])

    def used(self, alive: BoolArray) -> BoolArray:
        """Returns the statement pairs in ``alive`` and the entity pairs that they may rest on, bool ``[H]``."""
        found = alive & ~self._entity
        found[self._pair[self._charge[alive[self._payer]]]] = True
        return found & alive

    def quick_bound(self, alive: BoolArray) -> int:
        """Returns the smaller sum, over the items of either side, of the best value each of them has in ``alive``."""
        return min(side.sum_of_best(alive) for side in self._sides)

    def bound(self, alive: BoolArray, enough: int, steps: int) -> Relaxed:
        """Returns a bound for the mappings within ``alive`` [H].

        Args:
            alive: hypotheses that keep their support.
            enough: stop when the bound is not above this.
            steps: greatest number of subgradient steps.
        """
        charges = self._charges
        bound, chosen, worth, slope = self._assign(alive, charges)
        least, since = bound, 0
        found = self._relaxed(bound, chosen, charges, slope, worth)
        stride = 1.0
        for _ in range(steps):
            steepness = int((slope * slope).sum())
            if least <= enough or not steepness or since == PATIENCE:  # no slope: the assignment keeps all support
                break
            step = stride * (bound - enough) / steepness
            charges = np.maximum(charges - np.rint(step * slope).astype(np.int64), 0)
            bound, chosen, worth, slope = self._assign(alive, charges)
            since += 1
            if bound < least:
                since = 0 if least - bound > GAIN * (least - enough) else since
                least, self._charges = bound, charges
                found = self._relaxed(bound, chosen, charges, slope, worth)
            else:
                stride *= SLOWER
        return found

    def _relaxed(
        self, bound: int, chosen: BoolArray, charges: LongArray, slope: LongArray, worth: LongArray
    ) -> Relaxed:
        strain = np.zeros(self._size, np.int64)
        np.add.at(strain, self._pair, np.abs(slope) * charges)
        return Relaxed(bound, chosen, strain, worth)

    def _assign(self, alive: BoolArray, charges: LongArray) -> tuple[int, BoolArray, LongArray, LongArray]:
        """Returns the bound under these charges, the assignment that attains it, worths, and slopes.

        The slope of a charge is by how much the bound grows with it: 1 if the pair is chosen, less 1 if it is paid for.
        """
        if not len(charges):
            return (*self._assignments.best(np.where(alive, self._value, 0)), self._value, charges)
        open_ = alive[self._payer] & alive[self._pair[self._charge]]
        active = np.zeros(len(charges), np.bool_)
        active[self._charge[open_]] = True
        asked = np.where(open_, charges[self._charge], _NEVER)
        least = np.minimum.reduceat(asked, self._starts)
        worth = self._value + np.bincount(self._pair, weights=charges * active, minlength=self._size).astype(np.int64)
        paid = np.where(least == _NEVER, 0, least)
        paid = np.bincount(self._payer[self._starts], weights=paid, minlength=self._size).astype(np.int64)
        bound, chosen = self._assignments.best(np.where(alive, worth - paid, 0))

        cheapest = np.flatnonzero(asked == np.repeat(least, self._lengths))
        first = cheapest[np.diff(self._alternatives[cheapest], prepend=-1) > 0]
        payments = np.bincount(self._charge[first[chosen[self._payer[first]]]], minlength=len(charges))
        slope = (chosen[self._pair] & active).astype(np.int64) - payments
        slope[(slope > 0) & (charges == 0)] = 0  # it cannot become less
        return bound, chosen, worth, slope


class _Side:
    """The items of one side and what each could be worth."""

    def __init__(self, items: LongArray, value: LongArray) -> None:
        self._order = np.argsort(items, kind="stable")
        self._starts = np.flatnonzero(np.diff(items[self._order], prepend=-1))
        self._value = value[self._order]

    def sum_of_best(self, alive: BoolArray) -> int:
        if not len(self._starts):
            return 0
        return int(np.maximum.reduceat(self._value * alive[self._order], self._starts).sum())


def _rests_on(made: Hypotheses, entity: BoolArray, hypothesis: int) -> list[tuple[int, int, list[int]]]:
    """Returns what a hypothesis rests on: (side, its statement on that side, alternative pairs)."""
    sides = (0, int(made.query[hypothesis])), (1, int(made.stored[hypothesis]))
    certain = {*(k for k in made.closure[hypothesis] if entity[k]), *made.support[hypothesis]}
    found = [(side, item, [k]) for k in sorted(certain) for side, item in sides]
    options = made.options.get(hypothesis, ())
    for side, item in sides:
        for argument in sorted({option[side] for option in options}):
            found.append((side, item, [option[2] for option in options if option[side] == argument]))
    return found
