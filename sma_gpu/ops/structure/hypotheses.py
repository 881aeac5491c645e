"""Match hypotheses of one pair of cases, what supports each, and what each conflicts with.

The candidates come from the table of pair values. A hypothesis survives if each of its arguments can be paired, and if
its kernel mapping (the hypothesis with all it supports; Falkenhainer, Forbus and Gentner 1989) is one-to-one in itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...cases.structure import CaseItems
from ...lattice.arrays import expand, pointers
from . import bitsets

__all__ = ["Hypotheses", "hypotheses"]

LongArray = npt.NDArray[np.int64]
Options = tuple[tuple[int, int, int], ...]  # (query argument, stored argument, hypothesis that pairs them)


class Hypotheses:
    """Hypotheses ``0 .. H - 1`` of one pair: statement pairs, and the entity pairs that some statement pair needs.

    A hypothesis stands behind all that supports it. Sets of hypotheses are bitsets.

    Attributes:
        support: for each, the hypotheses that pair its arguments position by position; empty if commutative.
        closure: for each, what certainly comes with it, itself included, ascending: its kernel mapping but for what
            commutative arguments leave open.
        options: for each commutative hypothesis the ways to pair an argument with an argument.
        entity: the entity pairs.
    """

    def __init__(self) -> None:
        self._query: list[int] = []
        self._stored: list[int] = []
        self._value: list[int] = []
        self.support: list[tuple[int, ...]] = []
        self.closure: list[tuple[int, ...]] = []
        self.options: dict[int, Options] = {}
        self._entities: list[int] = []
        self._pairing: dict[int, tuple[int, dict[int, int]]] = {}  # a perfect matching that stood when last asked for

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
        """Units of 2^-16 bit, int64 ``[H]``; 0 for entity pairs, of which every best mapping has as many."""
        return np.array(self._value, np.int64)

    @cached_property
    def entity(self) -> int:
        """The entity pairs."""
        return bitsets.of(self._entities)

    @property
    def every(self) -> int:
        """All hypotheses."""
        return (1 << len(self)) - 1

    @cached_property
    def rows(self) -> dict[int, int]:
        """The hypotheses of each item of the query."""
        return _by_item(self.query)

    @cached_property
    def columns(self) -> dict[int, int]:
        """The hypotheses of each item of the stored case."""
        return _by_item(self.stored)

    def add_entities(self, query: int, stored: int) -> int:
        """Adds a pair of entities and returns its number."""
        number = len(self)
        self._entities.append(number)
        self._append(query, stored, 0, (), (number,))
        return number

    def add(self, query: int, stored: int, value: int, support: tuple[int, ...], options: Options | None) -> int | None:
        """Adds a pair of statements unless its kernel mapping is not one-to-one; returns its number, or None."""
        number = len(self)
        below = {k for s in support for k in self.closure[s]}
        mine, theirs = {self._query[k] for k in below}, {self._stored[k] for k in below}
        if not len(mine) == len(theirs) == len(below):
            return None
        if options is not None:
            self.options[number] = options
        self._append(query, stored, value, support, (*sorted(below), number))
        return number

    def _append(self, query: int, stored: int, value: int, support: tuple[int, ...], closure: tuple[int, ...]) -> None:
        self._query.append(query)
        self._stored.append(stored)
        self._value.append(value)
        self.support.append(support)
        self.closure.append(closure)

    @cached_property
    def _dependents(self) -> tuple[LongArray, LongArray]:
        """CSR: for each hypothesis, itself and all that have it in their closure."""
        owner = np.repeat(np.arange(len(self)), [len(c) for c in self.closure])
        member = np.fromiter((k for c in self.closure for k in c), np.int64, len(owner))
        order = np.argsort(member, kind="stable")
        return pointers(member[order], len(self)), owner[order]

    @cached_property
    def _watched(self) -> dict[int, int]:
        return {h: bitsets.of(k for _, _, k in options) for h, options in self.options.items()}

    def conflicts(self, hypothesis: int) -> int:
        """Returns the hypotheses that pair an item of this one's kernel mapping otherwise."""
        found = own = 0
        for k in self.closure[hypothesis]:
            found |= self.rows[self._query[k]] | self.columns[self._stored[k]]
            own |= 1 << k
        return found & ~own

    def without(self, alive: int, dead: int) -> int:
        """Returns the hypotheses of ``alive`` that keep their support when those in ``dead`` are given up."""
        ptr, dependents = self._dependents
        dead &= alive
        while dead:
            _, at = expand(ptr, np.flatnonzero(bitsets.as_mask(dead, len(self))))
            mask = np.zeros(len(self), np.bool_)
            mask[dependents[at]] = True
            lost = bitsets.of_mask(mask)
            alive &= ~lost
            dead = 0
            for h, watched in self._watched.items():
                if lost & watched and alive >> h & 1 and not self.can_pair(h, alive):
                    dead |= 1 << h
        return alive

    def can_pair(self, hypothesis: int, alive: int) -> bool:
        """Returns whether the arguments of a commutative hypothesis have a perfect matching within ``alive``."""
        used, before = self._pairing.get(hypothesis, (-1, {}))
        if used >= 0 and used & alive == used:  # the last one still stands
            return True
        mask = bitsets.as_mask(alive, len(self))
        open_ = {(a, b): k for a, b, k in self.options[hypothesis] if mask[k]}
        found = _matching(list(open_), {b: a for b, a in before.items() if (a, b) in open_})
        if len(found) < len({a for a, _, _ in self.options[hypothesis]}):
            return False
        self._pairing[hypothesis] = bitsets.of(open_[a, b] for b, a in found.items()), found
        return True


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
            if a.may_pair(b):
                number = self._made.add_entities(mine, theirs)
                self._origin.append(-1)
            self._known[mine, theirs] = number
        return self._known[mine, theirs]


def _by_item(items: LongArray) -> dict[int, int]:
    found: dict[int, int] = {}
    for item in sorted(set(items.tolist())):
        found[item] = bitsets.of_mask(items == item)
    return found


def _options(mine: Sequence[int], theirs: Sequence[int], number_of: Callable[[int, int], int | None]) -> Options | None:
    """Returns the ways to pair distinct arguments that stand equally often, or None if no perfect matching has them."""
    found = []
    times, their_times = Counter(mine), Counter(theirs)
    for a in sorted(times):
        for b in sorted(their_times):
            if times[a] == their_times[b]:
                k = number_of(a, b)
                if k is not None:
                    found.append((a, b, k))
    whole = len(_matching([(a, b) for a, b, _ in found])) == len(set(mine)) == len(set(theirs))
    return tuple(found) if whole else None


def _matching(pairs: Sequence[tuple[int, int]], start: Mapping[int, int] | None = None) -> dict[int, int]:
    """Returns a greatest matching of the left numbers of ``pairs``, by augmenting paths: right to left.

    Args:
        pairs: what may be paired.
        start: a matching within ``pairs`` to begin with, right to left.
    """
    choices: dict[int, list[int]] = {}
    for a, b in pairs:
        choices.setdefault(a, []).append(b)
    left_of = dict(start or {})
    right_of = {a: b for b, a in left_of.items()}
    for free in choices:
        if free in right_of:
            continue
        came: dict[int, int] = {}  # from which left number each right number was reached
        open_ = [free]
        end: int | None = None
        while open_ and end is None:
            a = open_.pop()
            for b in choices[a]:
                if b not in came:
                    came[b] = a
                    if b not in left_of:
                        end = b
                        break
                    open_.append(left_of[b])
        while end is not None:  # back along the path, every left number moves on to the right number that it reached
            a, before = came[end], right_of.get(came[end])
            left_of[end], right_of[a] = a, end
            end = before
    return left_of
