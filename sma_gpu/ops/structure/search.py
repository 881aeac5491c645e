"""Branch and bound over hypotheses: the best mapping of one pair of cases, with proof.

A node is a set of hypotheses that all keep their support. Where no item is contested, the whole set is a mapping.
Otherwise a contested item is settled: each of its hypotheses in turn is taken with its kernel mapping, and lastly none
of them. The item is the one on which the bound is loosest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from . import bitsets
from .hypotheses import Hypotheses
from .relaxation import BoolArray, Relaxation, Relaxed

__all__ = ["NODE_BUDGET", "ROUNDING", "STEPS", "STEPS_AT_ROOT", "Found", "Search", "best_mapping", "most_nodes"]

NODE_BUDGET = 2_000

STEPS_AT_ROOT, STEPS = 400, 15  # subgradient steps for a bound; charges are kept, so few are needed below the root
ROUNDING = 10  # the assignment of every so many nodes is made a mapping, in the hope of a better one


@dataclass(frozen=True)
class Found:
    """The outcome of a search.

    Attributes:
        total: value of the mapping's statement pairs, units of 2^-16 bit.
        bound: no mapping is worth more; equal to ``total`` when that is proved best.
        nodes: nodes looked at.
        mapping: the mapping's hypotheses as a bitset: statement pairs, and the entity pairs that they need.
    """

    total: int
    bound: int
    nodes: int
    mapping: int


def best_mapping(made: Hypotheses, node_budget: int = NODE_BUDGET) -> Found:
    """Returns the best mapping within ``node_budget`` nodes, or the best found so far with its bound."""
    return Search(made).best(made.every, node_budget)


def most_nodes(made: Hypotheses) -> int:
    """Returns a number of nodes within which the search of these hypotheses ends, whatever its bounds are.

    A node that is no leaf has three children or more, so nodes are at most one and a half times the leaves. No two
    leaves have taken the same hypotheses on their way, since below a taken one its rivals are gone, and below none of
    an item all of them are. What was taken is one-to-one, and of items that are contested from the beginning. So leaves
    are at most as many as ways to choose, for each item of one side, none or one of its contested hypotheses.
    """
    row, column = np.bincount(made.query, minlength=1), np.bincount(made.stored, minlength=1)
    contested = (row[made.query] > 1) | (column[made.stored] > 1)
    ways = (np.bincount(side[contested], minlength=1) + 1 for side in (made.query, made.stored))
    return min(math.prod(map(int, side)) for side in ways) * 3 // 2


class Search:
    """Branch and bound in one pair of cases; keeps what several searches share."""

    def __init__(self, made: Hypotheses) -> None:
        self.made = made
        self._relaxation = Relaxation(made)
        worth = [int(made.value[list(c)].sum()) for c in made.closure]
        self._by_worth = sorted((h for h in range(len(made)) if worth[h]), key=lambda h: (-worth[h], h))

    def best(self, alive: int, node_budget: int) -> Found:
        """Returns the best mapping within ``alive``, hypotheses that keep their support."""
        mapping = self._greedy(alive, self._by_worth)
        return self._improve(alive, node_budget, self._total(mapping), mapping)

    def reaches(self, alive: int, node_budget: int, wanted: int, must: int) -> Found:
        """Returns a mapping within ``alive`` that has all hypotheses in ``must`` and is worth ``wanted``.

        It must be known that no mapping is worth more. Where there is none, the mapping is empty and its total
        ``wanted - 1``; that is proved if the bound is that too.
        """
        return self._improve(alive, node_budget, wanted - 1, 0, must=must, enough=wanted)

    def take(self, alive: int, hypothesis: int) -> int:
        """Returns what of ``alive`` can stand beside the kernel mapping of a hypothesis."""
        return self.made.without(alive, self.made.conflicts(hypothesis))

    def _improve(
        self, alive: int, node_budget: int, total: int, mapping: int, *, must: int = 0, enough: int | None = None
    ) -> Found:
        nodes = 0
        stack: list[tuple[int, int]] = [(int(self.made.value.sum()), alive)]
        while stack and (enough is None or total < enough):
            bound, node = stack.pop()
            if bound <= total or node & must != must:
                continue
            if nodes >= node_budget:
                stack.append((bound, node))
                break
            nodes += 1
            mask = self._mask(node)
            bound = min(bound, self._relaxation.quick_bound(mask))
            if bound <= total:
                continue
            relaxed = self._relaxation.bound(mask, total, STEPS_AT_ROOT if nodes == 1 else STEPS)
            bound = min(bound, relaxed.bound)
            if bound <= total:
                continue
            contested, order = self._contested(mask, relaxed)
            if not order:
                rounded = node
            elif nodes % ROUNDING == 1 and not must:
                wanted = [h for h in self._by_worth if relaxed.chosen[h]]
                rounded = self._greedy(node, [*wanted, *self._by_worth])
            else:
                rounded = 0
            if (worth := self._total(rounded)) > total:
                total, mapping = worth, self._needed(rounded)
            if order and bound > total:
                stack.append((bound, self.made.without(node, contested)))
                stack += [(bound, self.take(node, h)) for h in reversed(order)]
        reached = enough is not None and total >= enough  # then nobody asks how much more there could be
        return Found(total, total if reached else self._bound_of_rest(stack, total), nodes, mapping)

    def _bound_of_rest(self, stack: list[tuple[int, int]], total: int) -> int:
        """Returns what no mapping exceeds where these nodes are left, each with the bound of its parent."""
        greatest = total
        for bound, node in sorted(stack, reverse=True):
            if bound <= greatest:
                break
            own = self._relaxation.bound(self._mask(node), greatest, steps=0).bound
            greatest = max(greatest, min(bound, own))
        return greatest

    def _contested(self, mask: BoolArray, relaxed: Relaxed) -> tuple[int, list[int]]:
        """Returns the hypotheses of the contested item on which the bound is loosest, also by falling promise.

        The list is empty where no item is contested.
        """
        made = self.made
        held = self._relaxation.used(mask)
        loosest: tuple[int, int, int] | None = None  # (strain, worth, hypotheses of the item)
        for items, sets in ((made.query, made.rows), (made.stored, made.columns)):
            count = np.bincount(items[held], minlength=int(items.max(initial=-1)) + 1)
            contested = np.flatnonzero(held & (count[items] > 1))
            if not len(contested):
                continue
            strain = np.bincount(items[contested], weights=relaxed.strain[contested])[items[contested]]
            lead = int(contested[np.lexsort((contested, -relaxed.worth[contested], -strain))[0]])
            option = (int(strain.max()), int(relaxed.worth[lead]), sets[int(items[lead])])
            loosest = option if loosest is None or option[:2] > loosest[:2] else loosest
        if loosest is None:
            return 0, []
        among = loosest[2] & bitsets.of_mask(held)
        return among, sorted(bitsets.bits(among), key=lambda h: (not relaxed.chosen[h], -relaxed.worth[h], h))

    def _greedy(self, alive: int, order: list[int]) -> int:
        """Returns the mapping that takes kernel mappings in the given order as long as they can stand together."""
        for h in order:
            if alive >> h & 1:
                alive = self.take(alive, h)
        return self._settled(alive)

    def _settled(self, alive: int) -> int:
        """Returns a mapping within ``alive``, where statements are settled and commutative arguments may not be."""
        nothing = np.zeros(len(self.made), np.int64)
        unknown = Relaxed(0, nothing > 0, nothing, self.made.value)  # no bound says where it is loose
        while True:
            _, order = self._contested(self._mask(alive), unknown)
            if not order:
                return self._needed(alive)
            alive = self.take(alive, order[0])

    def _needed(self, alive: int) -> int:
        """Returns ``alive`` without entity pairs that no statement pair in it rests on."""
        return bitsets.of_mask(self._relaxation.used(self._mask(alive)))

    def _total(self, mapping: int) -> int:
        return int(self.made.value[self._mask(mapping)].sum())

    def _mask(self, members: int) -> BoolArray:
        return bitsets.as_mask(members, len(self.made))
