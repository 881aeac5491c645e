"""Match hypotheses of one pair of cases, what supports each, and what each conflicts with.

The candidates come from the table of pair values. A hypothesis survives if each of its arguments can be paired, and if
its kernel mapping (the hypothesis with all it supports; Falkenhainer, Forbus and Gentner 1989) is one-to-one in itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...cases.structure import CaseItems
from . import bitsets

__all__ = ["Hypotheses", "hypotheses"]

LongArray = npt.NDArray[np.int64]
Options = tuple[tuple[int, int, int], ...]  # (query argument, stored argument, hypothesis that pairs them)


class Hypotheses:
    """Hypotheses ``0 .. H - 1`` of one pair: statement pairs, and the entity pairs that some statement pair needs.

    A hypothesis stands behind all that supports it. Sets of hypotheses are bitsets.

    Attributes:
        query: item of the query, int64 ``[H]``.
        stored: item of the stored case, int64 ``[H]``.
        value: units of 2^-16 bit, int64 ``[H]``; 0 for entity pairs, whose number is the same in every best mapping.
        support: for each, the hypotheses that pair its arguments position by position; empty if commutative.
        options: for each commutative hypothesis the ways to pair an argument with an argument.
        entity: the entity pairs.
        base: the statement pairs of order 1.
        every: all hypotheses.
    """

    def __init__(self) -> None:
        self._query: list[int] = []
        self._stored: list[int] = []
        self._value: list[int] = []
        self.support: list[tuple[int, ...]] = []
        self.options: dict[int, Options] = {}
        self.closure: list[int] = []  # what certainly comes with a hypothesis, itself included
        self.reach: list[int] = []  # what may come with it
        self.entity = 0
        self.base = 0
        self._items: list[tuple[int, int]] = []  # closure as two bitsets of items
        self.rows: dict[int, int] = {}
        self.columns: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._query)

    @cached_property
    def query(self) -> LongArray:
        """Item of the query, int64 ``[H]``."""
        return np.array(self._query, np.int64)

    @cached_property
    def stored(self) -> LongArray:
        """Item of the stored case, int64 ``[H]``."""
        return np.array(self._stored, np.int64)

    @cached_property
    def value(self) -> LongArray:
        """Units of 2^-16 bit, int64 ``[H]``."""
        return np.array(self._value, np.int64)

    @property
    def every(self) -> int:
        """All hypotheses."""
        return (1 << len(self)) - 1

    def add(self, query: int, stored: int, value: int, support: tuple[int, ...], options: Options | None) -> int | None:
        """Adds a hypothesis unless its kernel mapping is not one-to-one; returns its number, or None."""
        number = len(self)
        closure, mine, theirs = 1 << number, 1 << query, 1 << stored
        for k in support:
            closure |= self.closure[k]
            mine |= self._items[k][0]
            theirs |= self._items[k][1]
        if not closure.bit_count() == mine.bit_count() == theirs.bit_count():
            return None
        reach = closure
        for k in support:
            reach |= self.reach[k]
        if options is not None:
            self.options[number] = options
            for _, _, k in options:
                reach |= self.reach[k]
        self._query.append(query)
        self._stored.append(stored)
        self._value.append(value)
        self.support.append(support)
        self.closure.append(closure)
        self.reach.append(reach)
        self._items.append((mine, theirs))
        self.rows[query] = self.rows.get(query, 0) | 1 << number
        self.columns[stored] = self.columns.get(stored, 0) | 1 << number
        return number

    @cached_property
    def dependent(self) -> list[int]:
        """For each hypothesis, itself and all that cannot stand without it, arguments of commutative ones aside."""
        found = [1 << h for h in range(len(self))]
        for h in range(len(self) - 1, -1, -1):  # users stand behind what they use
            for k in self.support[h]:
                found[k] |= found[h]
        return found

    @cached_property
    def _watched(self) -> dict[int, int]:
        return {h: bitsets.of(k for _, _, k in options) for h, options in self.options.items()}

    def rivals(self, hypothesis: int) -> int:
        """Returns the hypotheses that pair an item of this one with another item."""
        row, column = self.rows[self._query[hypothesis]], self.columns[self._stored[hypothesis]]
        return (row | column) & ~(1 << hypothesis)

    def conflicts(self, hypothesis: int) -> int:
        """Returns the hypotheses that cannot stand beside the kernel mapping of this one, in one step."""
        closure, found = self.closure[hypothesis], 0
        for k in bitsets.bits(closure):
            found |= self.rows[self._query[k]] | self.columns[self._stored[k]]
        return found & ~closure

    def without(self, alive: int, dead: int) -> int:
        """Returns the hypotheses of ``alive`` that keep their support when those in ``dead`` are given up."""
        dead &= alive
        while dead:
            lost = 0
            for k in bitsets.bits(dead):
                lost |= self.dependent[k]
            alive &= ~lost
            dead = 0
            for h, watched in self._watched.items():
                if lost & watched and alive >> h & 1 and not self.can_pair(h, alive):
                    dead |= 1 << h
        return alive

    def can_pair(self, hypothesis: int, alive: int) -> bool:
        """Returns whether the arguments of a commutative hypothesis have a perfect matching within ``alive``."""
        open_options = [(a, b) for a, b, k in self.options[hypothesis] if alive >> k & 1]
        wanted = {a for a, _, _ in self.options[hypothesis]}
        return len(_matching(open_options)) == len(wanted)


def hypotheses(
    query: CaseItems, stored: CaseItems, pairs: tuple[LongArray, LongArray, LongArray]
) -> tuple[Hypotheses, LongArray]:
    """Returns the hypotheses of a pair of cases, and for each the candidate it stems from (-1 for entity pairs).

    Args:
        query: items of the query.
        stored: items of the stored case.
        pairs: candidate statement pairs, int64 each: statement of the query (ascending), of the stored case, value.
    """
    made = Hypotheses()
    known: dict[tuple[int, int], int] = {}
    origin: list[int] = []
    arguments = [[[a for a in row if a >= 0] for row in side.args.tolist()] for side in (query, stored)]
    entities = _EntityPairs(query, stored, made, origin)
    both = [query.commutative.tolist(), stored.commutative.tolist()]

    def number_of(mine: int, theirs: int) -> int | None:
        if mine >= len(query) and theirs >= len(stored):
            return entities.number_of(mine, theirs)
        return known.get((mine, theirs))

    for candidate, (q, c, value) in enumerate(zip(*(column.tolist() for column in pairs), strict=True)):
        mine, theirs = arguments[0][q], arguments[1][c]
        if len(mine) != len(theirs):
            continue
        support: tuple[int, ...] = ()
        options: Options | None = None
        if both[0][q] and both[1][c]:
            options = _options(mine, theirs, number_of)
            if options is None:
                continue
        else:
            found = [number_of(a, b) for a, b in zip(mine, theirs, strict=True)]
            support = tuple(k for k in found if k is not None)
            if len(support) < len(found):
                continue
        number = made.add(q, c, value, support, options)
        if number is not None:
            known[q, c] = number
            origin.append(candidate)
            if int(query.order[q]) == 1:
                made.base |= 1 << number
    return made, np.array(origin, np.int64)


class _EntityPairs:
    """Pairs of entities, entered among the hypotheses when a statement pair first needs them."""

    def __init__(self, query: CaseItems, stored: CaseItems, made: Hypotheses, origin: list[int]) -> None:
        self._sides = query, stored
        self._made, self._origin = made, origin
        self._known: dict[tuple[int, int], int | None] = {}

    def number_of(self, mine: int, theirs: int) -> int | None:
        if (mine, theirs) not in self._known:
            a, b = (side.entities[i - len(side)] for side, i in zip(self._sides, (mine, theirs), strict=True))
            number = None
            if a == b or not (a.constant or b.constant):
                number = self._made.add(mine, theirs, 0, (), None)
                assert number is not None
                self._made.entity |= 1 << number
                self._origin.append(-1)
            self._known[mine, theirs] = number
        return self._known[mine, theirs]


def _options(mine: Sequence[int], theirs: Sequence[int], number_of: Callable[[int, int], int | None]) -> Options | None:
    """Returns the ways to pair distinct arguments that stand equally often, or None if no perfect matching has them."""
    found = []
    for a in sorted(set(mine)):
        for b in sorted(set(theirs)):
            if mine.count(a) == theirs.count(b):
                k = number_of(a, b)
                if k is not None:
                    found.append((a, b, k))
    whole = len(_matching([(a, b) for a, b, _ in found])) == len(set(mine)) == len(set(theirs))
    return tuple(found) if whole else None


def _matching(pairs: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Returns a greatest matching of the left numbers of ``pairs``, by augmenting paths: right to left."""
    choices: dict[int, list[int]] = {}
    for a, b in pairs:
        choices.setdefault(a, []).append(b)
    partner: dict[int, int] = {}

    def place(a: int, tried: set[int]) -> bool:
        for b in choices[a]:
            if b not in tried:
                tried.add(b)
                if b not in partner or place(partner[b], tried):
                    partner[b] = a
                    return True
        return False

    for a in choices:
        place(a, set())
    return partner
