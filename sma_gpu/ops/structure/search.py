"""Branch and bound over hypotheses: the best mapping of one pair of cases, with proof.

A node is a set of hypotheses that all keep their support. Where no item is contested, the whole set is a mapping.
Otherwise a contested item is settled: each of its hypotheses in turn is taken with its kernel mapping, and lastly none
of them. Entities go first, since most else depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import bitsets
from .bounds import Bounds
from .hypotheses import Hypotheses

__all__ = ["NODE_BUDGET", "Found", "Search", "best_mapping"]

NODE_BUDGET = 20_000

BoolArray = npt.NDArray[np.bool_]


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


class Search:
    """Branch and bound in one pair of cases; keeps what is computed once for several searches."""

    def __init__(self, made: Hypotheses) -> None:
        self.made = made
        self._bounds = Bounds(made)
        self._entity = bitsets.as_mask(made.entity, len(made))

    def best(self, alive: int, node_budget: int) -> Found:
        """Returns the best mapping within ``alive``, hypotheses that keep their support.

        Args:
            alive: the hypotheses.
            node_budget: greatest number of nodes.
        """
        mapping = self._greedy(alive)
        return self._improve(alive, node_budget, self._total(mapping), mapping)

    def reaches(self, alive: int, node_budget: int, wanted: int, must: int) -> Found:
        """Returns a mapping within ``alive`` that is worth ``wanted`` and has all hypotheses in ``must``.

        Where there is none, the mapping is empty and its total ``wanted - 1``; that is proved if the bound is that too.
        """
        return self._improve(alive, node_budget, wanted - 1, 0, must=must, enough=wanted)

    def _improve(
        self, alive: int, node_budget: int, total: int, mapping: int, *, must: int = 0, enough: int | None = None
    ) -> Found:
        nodes = 0
        stack: list[tuple[int, int]] = [(int(self.made.value.sum()), alive)]
        while stack and (enough is None or total < enough):
            bound, node = stack.pop()
            if bound <= total or node & must != must:
                continue
            if nodes == node_budget:
                stack.append((bound, node))
                break
            nodes += 1
            mask = bitsets.as_mask(node, len(self.made))
            bound = min(bound, self._bounds.bound(mask, total))
            if bound <= total:
                continue
            children = self._children(node, mask)
            if children is None:
                total, mapping = int(self.made.value[mask].sum()), self._needed(node, mask)
            else:
                stack += [(bound, child) for child in reversed(children)]
        return Found(total, max([total, *(bound for bound, _ in stack)]), nodes, mapping)

    def take(self, alive: int, hypothesis: int) -> int:
        """Returns what of ``alive`` can stand beside the kernel mapping of a hypothesis."""
        return self.made.without(alive, self.made.conflicts(hypothesis))

    def _total(self, mapping: int) -> int:
        return int(self.made.value[bitsets.as_mask(mapping, len(self.made))].sum())

    def _needed(self, node: int, mask: BoolArray) -> int:
        """Returns the mapping without entity pairs that no statement pair needs."""
        return node & ~self.made.entity | bitsets.of(np.flatnonzero(self._bounds.entities.used(mask) & mask).tolist())

    def _greedy(self, alive: int) -> int:
        """Returns the mapping that takes kernel mappings by falling worth."""
        worth = [int(self.made.value[list(bitsets.bits(c))].sum()) for c in self.made.closure]
        for h in sorted(range(len(self.made)), key=lambda h: (-worth[h], h)):
            if alive >> h & 1 and worth[h]:
                alive = self.take(alive, h)
        while (children := self._children(alive, bitsets.as_mask(alive, len(self.made)))) is not None:
            alive = children[0]
        return self._needed(alive, bitsets.as_mask(alive, len(self.made)))

    def _children(self, node: int, mask: BoolArray) -> list[int] | None:
        """Returns the parts of a node, the most promising first, or None where no item is contested."""
        made = self.made
        held = mask & (~self._entity | self._bounds.entities.used(mask))
        promise = self._bounds.entities.booked(mask) + made.value
        for level in (held & self._entity, held & ~self._entity):
            for side, masks in ((made.query, made.rows), (made.stored, made.columns)):
                count = np.bincount(side[level], minlength=int(side.max(initial=-1)) + 1)
                rivals = np.flatnonzero(level & (count[side] > 1))
                if len(rivals):
                    lead = int(rivals[promise[rivals].argmax()])
                    among = masks[int(side[lead])] & node & bitsets.of(rivals.tolist())
                    order = sorted(bitsets.bits(among), key=lambda h: (-promise[h], h))
                    none_of_them = made.without(node, among)
                    return [*(self.take(node, h) for h in order), none_of_them]
        return None
