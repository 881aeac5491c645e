"""Optimistic bounds: what no mapping within a set of hypotheses can exceed.

Each hypothesis is worth its value only if all it rests on is chosen too. So its value may be booked on the pairs it
rests on, in shares, and the pairs compete one-to-one: the greatest assignment of what was booked is a bound (the idea
of Gilmore 1962 and Lawler 1963 for quadratic assignment). Values are booked on the statements themselves, on the
statements of order 1 below, or on the entities below; from the side of the query or of the stored case. The smallest
of these bounds holds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..matching import best_total
from . import bitsets
from .hypotheses import Hypotheses

__all__ = ["Bounds"]

LongArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class Bounds:
    """Bounds of one pair of cases."""

    def __init__(self, made: Hypotheses) -> None:
        self._value = made.value
        statements = made.every & ~made.entity
        self._cheap = [_Best(made, side) for side in (made.query, made.stored)]
        self.entities = _Booking(made, made.entity, of_query=True)
        self._bookings: list[Callable[[BoolArray], int]] = [
            self.entities.bound,
            _Booking(made, made.entity, of_query=False).bound,
            _Booking(made, made.base, of_query=True).bound,
            _Booking(made, made.base, of_query=False).bound,
        ]
        self._statements = bitsets.as_mask(statements, len(made))
        self._query, self._stored = made.query, made.stored

    def bound(self, alive: BoolArray, enough: int) -> int:
        """Returns a bound for the mappings within ``alive`` [H]; stops at the first that is not above ``enough``."""
        least = int(self._value[alive].sum())
        for cheap in self._cheap:
            least = min(least, cheap.bound(alive))
        for booking in (*self._bookings, self._as_they_are):
            if least <= enough:
                break
            least = min(least, booking(alive))
        return least

    def _as_they_are(self, alive: BoolArray) -> int:
        held = np.flatnonzero(alive & self._statements)
        return best_total(self._query[held], self._stored[held], self._value[held])


class _Best:
    """The best value of each item of one side, summed."""

    def __init__(self, made: Hypotheses, side: LongArray) -> None:
        self._order = np.argsort(side, kind="stable")
        ordered = side[self._order]
        self._starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(side) else side
        self._value = made.value[self._order]

    def bound(self, alive: BoolArray) -> int:
        if not len(self._starts):
            return 0
        return int(np.maximum.reduceat(self._value * alive[self._order], self._starts).sum())


class _Booking:
    """Values booked in equal shares on the anchors (some pairs) that a hypothesis may rest on.

    For each statement of one side and each anchor pair, the best share that any alive hypothesis of the statement books
    counts: the statement has but one partner. Rounding is settled by the place of the anchor's item, so that the shares
    of a hypothesis add up to its value.
    """

    def __init__(self, made: Hypotheses, anchors: int, *, of_query: bool) -> None:
        side = made.query if of_query else made.stored
        rows = []
        self._loose = _Loose()
        for h in bitsets.bits(made.every & ~made.entity):
            found = list(bitsets.bits(made.reach[h] & anchors))
            items = sorted({int(side[k]) for k in found})
            place = {item: i for i, item in enumerate(items)}
            whole, rest = divmod(int(made.value[h]), len(items) or 1)
            if not items:
                self._loose.add(h, int(side[h]), int(made.value[h]))
            rows += [(int(side[h]), k, h, whole + (place[int(side[k])] < rest)) for k in found]
        rows.sort()
        table = np.array(rows, np.int64).reshape(-1, 4)
        owner, self._pair, self._hypothesis, self._share = (np.ascontiguousarray(c) for c in table.T)
        change = (owner[1:] != owner[:-1]) | (self._pair[1:] != self._pair[:-1])
        self._starts = np.flatnonzero(np.concatenate([[True], change])) if len(owner) else owner
        self._group_pair = self._pair[self._starts]
        self._query, self._stored, self._size = made.query, made.stored, len(made)

    def booked(self, alive: BoolArray) -> npt.NDArray[np.float64]:
        """Returns what is booked on each hypothesis, float64 ``[H]`` of whole numbers."""
        if not len(self._starts):
            return np.zeros(self._size)
        best = np.maximum.reduceat(self._share * alive[self._hypothesis], self._starts)
        return np.bincount(self._group_pair, weights=best, minlength=self._size).astype(np.float64)

    def used(self, alive: BoolArray) -> BoolArray:
        """Returns which anchors some alive hypothesis may rest on, bool ``[H]``."""
        found = np.zeros(self._size, np.bool_)
        found[self._pair[alive[self._hypothesis]]] = True
        return found

    def bound(self, alive: BoolArray) -> int:
        booked = self.booked(alive)
        held = np.flatnonzero((booked > 0) & alive)
        row, column = (np.unique(side[held], return_inverse=True)[1] for side in (self._query, self._stored))
        return best_total(row, column, booked[held].astype(np.int64)) + self._loose.total(alive)


class _Loose:
    """Hypotheses that rest on no anchor: the best of each item counts."""

    def __init__(self) -> None:
        self._of: dict[int, list[tuple[int, int]]] = {}

    def add(self, hypothesis: int, item: int, value: int) -> None:
        self._of.setdefault(item, []).append((hypothesis, value))

    def total(self, alive: BoolArray) -> int:
        return sum(max((v for h, v in held if alive[h]), default=0) for held in self._of.values())
