"""Best mappings of many pairs of cases at once: a batched beam over kernel mappings, with proof where there is one.

A state is the set of hypotheses that may still be in the mapping, as a bitset of int64 words. Level by level the
statements of the query are settled: each state takes one of the statement's open hypotheses with its kernel mapping, or
none. Each child has a bound (see ``torch_root``); the best ``width`` of a pair's children go on. The outcome is proved
best when no state that was dropped, or found to be bound by what was reached already, could have led to more.

The host's branch and bound defines the outcome, also where its budget of nodes ends it without proof. So the beam
answers where that search is sure to end within its budget (``structure.most_nodes``): then both have the one optimum.
All other pairs, those that the beam does not prove, and those with commutative hypotheses are left to the host.

It is meant for devices. On one CPU thread it needed 0.5, 1.2, 5.1 and 37 ms a planted pair of 10, 20, 40 and 80
statements and proved 399 of 400; the host's search needed 0.4, 1.5, 3.4 and 12 ms and proved all. Of unrelated pairs,
whose bounds are loose, it proved 60 of 60 at 10 statements, 39 of 60 at 20, and 3 of 40 at 40. Not measured on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .structure.hypotheses import Hypotheses
from .structure.pairs import StructurePairs, scores_of
from .structure.search import NODE_BUDGET, best_mapping, most_nodes
from .torch_root import Packed, Root, pack, root

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["STEPS", "WIDTH", "Beamed", "Settled", "align_pairs", "beam", "settle"]

LongArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

WIDTH = 32
STEPS = 150

_CELLS = 1 << 24  # cells of [P, H, H] at a time: some 200 MB; changes memory, never an outcome
_CHILD_CELLS = 1 << 24  # likewise of [P, children, hypotheses]
_NARROWER = 8  # a first beam, narrower by this, settles most pairs and leaves fewer hypotheses open for the second
_WORD = 64


@dataclass(frozen=True)
class Beamed:
    """What the beam found of ``P`` pairs.

    Attributes:
        total: int64 ``[P]``, value of the best mapping found, units of 2^-16 bit; 0 where none was looked for.
        proved: bool ``[P]``, no mapping is worth more.
    """

    total: LongArray
    proved: BoolArray


@dataclass(frozen=True)
class Settled:
    """The outcome for ``P`` pairs.

    Attributes:
        total: int64 ``[P]``, value of the statement pairs of the best mapping, units of 2^-16 bit.
        bound: int64 ``[P]``, no mapping is worth more; equal to ``total`` where that is proved best.
        repaired: bool ``[P]``, settled by the host's branch and bound.
    """

    total: LongArray
    bound: LongArray
    repaired: BoolArray


def align_pairs(pairs: StructurePairs, node_budget: int, device: str) -> tuple[LongArray, LongArray]:
    """Returns the score of each pair and the limit of it, int64 ``[P]`` each; see ``StructureOps``."""
    paired = [pairs.paired(place) for place in range(len(pairs))]
    settled = settle([p.made for p in paired], node_budget, device=device)
    entity_pairs = np.array([p.entity_pairs for p in paired], np.int64)
    return scores_of(settled.total, entity_pairs), scores_of(settled.bound, entity_pairs)


def settle(
    made: Sequence[Hypotheses],
    node_budget: int = NODE_BUDGET,
    *,
    device: str = "cpu",
    width: int = WIDTH,
    steps: int = STEPS,
) -> Settled:
    """Returns the value of the best mapping of each pair and its bound, as the host's search finds them.

    Where that search is sure to end within its budget the outcome is the optimum, one number, which the beam finds and
    proves on any device and at any width. Everywhere else it is what the host's search has found by then.

    Args:
        made: hypotheses of each pair.
        node_budget: greatest number of nodes of the host's search for one pair.
        device: ``cpu`` or ``cuda``.
        width: states of a pair that go on from level to level.
        steps: greatest number of subgradient steps for the bound.
    """
    total, bound = np.zeros(len(made), np.int64), np.zeros(len(made), np.int64)
    sure = np.flatnonzero([not m.options and most_nodes(m) <= node_budget for m in made])
    found = beam([made[i] for i in sure.tolist()], device=device, width=width, steps=steps)
    repaired = np.ones(len(made), np.bool_)
    repaired[sure] = ~found.proved
    total[sure] = bound[sure] = found.total
    for number in np.flatnonzero(repaired).tolist():
        mended = best_mapping(made[number], node_budget)
        total[number], bound[number] = mended.total, mended.bound
    return Settled(total, bound, repaired)


def beam(made: Sequence[Hypotheses], *, device: str = "cpu", width: int = WIDTH, steps: int = STEPS) -> Beamed:
    """Returns the value of the best mapping that the beam finds for each pair, and whether that is proved.

    Pairs are taken in order of their number of hypotheses, so that few are padded by much.

    Args:
        made: hypotheses of each pair.
        device: ``cpu`` or ``cuda``.
        width: states of a pair that go on from level to level, 1 or more.
        steps: greatest number of subgradient steps for the bound.

    Determinism: whole numbers and total orders; neither the device nor the pairs beside a pair change its outcome.
    Cost: see ``torch_root.root``; then for each statement ``width * options`` bounds over the hypotheses left open.
    """
    import torch

    total, proved = np.zeros(len(made), np.int64), np.zeros(len(made), np.bool_)
    sizes = np.array([len(m) for m in made], np.int64)
    proved[sizes == 0] = True
    plain = np.array([bool(len(m)) and not m.options for m in made], np.bool_)
    order = np.flatnonzero(plain)
    order = order[np.argsort(sizes[order], kind="stable")]
    for part in _buckets(order, sizes):
        packed = pack([made[i] for i in part.tolist()], device)
        start = root(packed, steps)
        best, bound = start.total.clone(), start.bound.clone()
        for wide in dict.fromkeys((max(width // _NARROWER, 1), width)):
            left = start.open(best).sum(1)
            bound = torch.where(left > 0, bound, best)  # with no hypothesis left open no mapping is better
            numbers = torch.nonzero(bound > best).squeeze(1)
            for some in _open_buckets(numbers, left[numbers], wide):
                best[some], bound[some] = _search(packed, start, some, best[some], wide)
        total[part] = best.cpu().numpy()
        proved[part] = (bound <= best).cpu().numpy()
    return Beamed(total, proved)


def _buckets(order: LongArray, sizes: LongArray) -> Iterator[LongArray]:
    """Yields runs of pairs whose padded matrices fit into ``_CELLS``; the largest pair of a run comes last."""
    start = 0
    while start < len(order):
        stop = start + 1
        most = 2 * int(sizes[order[start]]) + _WORD  # padding to more would cost more than another bucket
        while stop < len(order) and (stop + 1 - start) * int(sizes[order[stop]]) ** 2 <= _CELLS:
            if sizes[order[stop]] > most:
                break
            stop += 1
        yield order[start:stop]
        start = stop


def _open_buckets(numbers: Tensor, left: Tensor, width: int) -> Iterator[Tensor]:
    """Yields the ``numbers`` of pairs, those with like numbers of hypotheses ``left`` open together."""
    import torch

    order = torch.argsort(left, stable=True)
    numbers, counts = numbers[order], left[order].tolist()
    begin = 0
    while begin < len(counts):
        end = begin + 1
        most = 2 * counts[begin] + _WORD
        while end < len(counts) and (end + 1 - begin) * width * counts[end] * 4 <= _CHILD_CELLS and counts[end] <= most:
            end += 1
        yield numbers[begin:end]
        begin = end


def _search(packed: Packed, start: Root, some: Tensor, best: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Returns the best totals of the pairs ``some``, and what no mapping exceeds, int64 ``[P]`` each.

    That is the greatest bound of a state that was dropped, or the total. ``best`` [P] are the totals so far.
    """
    import torch

    lot = _Lot(packed, start, some, best)
    missed = best
    alive = lot.every[:, None, :].clone()
    taken = torch.zeros_like(alive)
    bound = torch.zeros_like(alive[:, :, 0])
    for level in range(lot.levels):
        alive, taken, bound = lot.children(level, bound >= 0, alive, taken, best)
        order = bound.argsort(dim=1, descending=True, stable=True)
        if order.shape[1] > width:
            missed = missed.maximum(bound.gather(1, order[:, width : width + 1]).squeeze(1))
            order = order[:, :width]
        held = int((bound.gather(1, order) >= 0).sum(1).max())
        order = order[:, : max(held, 1)]
        bound = bound.gather(1, order)
        where = order[:, :, None].expand(-1, -1, alive.shape[2])
        alive, taken = alive.gather(1, where), taken.gather(1, where)
        if not held:
            return best, missed
    total = torch.where(bound >= 0, lot.value_of(alive), 0)
    best = best.maximum(total.max(dim=1).values)
    return best, missed.maximum(best)


class _Lot:
    """Pairs in the beam, their open hypotheses numbered anew: ``A`` of them in ``K`` words."""

    def __init__(self, packed: Packed, start: Root, some: Tensor, best: Tensor) -> None:
        import torch

        totals = start.total.clone()
        totals[some] = best
        open_ = start.open(totals)[some]
        size = int(open_.sum(1).max())
        size += -size % _WORD
        kept = open_.int().argsort(dim=1, descending=True, stable=True)[:, :size]
        if kept.shape[1] < size:
            kept = torch.cat([kept, kept[:, :1].expand(-1, size - kept.shape[1])], 1)
        pairs = some[:, None]
        numbers = torch.arange(size, device=some.device)
        self.real = numbers < open_.sum(1)[:, None]
        closure = packed.closure[pairs[:, :, None], kept[:, :, None], kept[:, None, :]]
        excludes = start.excludes[pairs[:, :, None], kept[:, :, None], kept[:, None, :]]
        both = self.real[:, :, None] & self.real[:, None, :]
        closure &= both
        self._value = torch.where(self.real, packed.value[pairs, kept], 0)
        statement = packed.statement[pairs, kept] & self.real
        sides = [
            torch.where(self.real, items[pairs, kept], int(items.max()) + 1) for items in (packed.query, packed.stored)
        ]
        bids = [torch.where(self.real, side[pairs, kept], 0) for side in (start.mine, start.theirs)]
        self._sides = [_Grid(items, bid) for items, bid in zip(sides, bids, strict=True)]
        self.every = _packed_words(self.real)
        self._closure, self._keeps = _packed_words(closure), ~_packed_words(excludes & both)

        # Statements of the query in the order in which they are settled: those whose kernel mappings bring most first.
        rows = int(sides[0].max()) + 1
        worth = (closure.long() * self._value[:, None, :]).sum(2)
        lead = torch.full((len(some), rows), -1, dtype=torch.int64, device=some.device)
        lead.scatter_reduce_(1, sides[0], torch.where(statement, worth, -1), "amax")
        self._order = lead.argsort(dim=1, descending=True, stable=True)
        self.levels = int((lead >= 0).sum(1).max())
        self._asks = lead.gather(1, self._order) >= 0  # [P, rows]
        grid = self._sides[0].index
        self._options = grid
        member = torch.zeros((len(some), rows, size + 1), dtype=torch.bool, device=some.device)
        member.scatter_(2, grid, torch.ones_like(grid, dtype=torch.bool))
        member = member[:, :, :size] & statement[:, None, :]
        self._row = _packed_words(member)
        # A hypothesis goes with a statement that stays unmatched if its kernel mapping has one of the statement's.
        goes = torch.bmm(member.float(), closure.float().transpose(1, 2)) > 0
        self._stays = ~_packed_words(goes)

    def children(
        self, level: int, live: Tensor, alive: Tensor, taken: Tensor, best: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the children of states ``[P, W, K]``: open and taken hypotheses ``[P, C, K]``, bounds ``[P, C]``.

        Only states that are ``live`` [P, W] have any; a pair that has no statement left passes its states on.
        A child that is no child, or whose bound does not exceed ``best`` [P], has the bound -1.
        """
        import torch

        pairs = torch.arange(len(alive), device=alive.device)
        row, asks = self._order[:, level], self._asks[:, level]
        options = self._options[pairs, row]  # [P, D], padded with the number of hypotheses
        options = options[:, : max(int(((options < self.real.shape[1]) & asks[:, None]).sum(1).max()), 1)]
        there = (options < self.real.shape[1]) & asks[:, None]
        named = torch.where(there, options, 0)
        bit = _bits(alive, named) & (there[:, None] & live[:, :, None])
        keeps = self._keeps[pairs[:, None], named][:, None]  # [P, 1, D, K]
        takes = self._closure[pairs[:, None], named][:, None]
        chosen = alive[:, :, None] & keeps
        none = alive & torch.where(asks[:, None], self._stays[pairs, row], -1)[:, None]
        # Unmatched is not worth trying where the statement has a pair already, or one that stands in nobody's way.
        held = ((taken & self._row[pairs, row][:, None]) != 0).any(2) & asks[:, None]
        free = (bit & ((none[:, :, None] & ~chosen) == 0).all(3)).any(2)
        able = torch.cat([bit, (live & ~held & ~free)[:, :, None]], 2).flatten(1)
        alive = torch.cat([chosen, none[:, :, None]], 2).flatten(1, 2)
        taken = torch.cat([taken[:, :, None] | takes, taken[:, :, None]], 2).flatten(1, 2)
        bound = self.bound_of(alive)
        return alive, taken, torch.where(able & (bound > best[:, None]), bound, -1)

    def bound_of(self, alive: Tensor) -> Tensor:
        """Returns what no mapping within each state ``[P, C, K]`` exceeds, int64 ``[P, C]``."""
        mask = _unpacked(alive)
        return self._sides[0].sum_of_best(mask) + self._sides[1].sum_of_best(mask)

    def value_of(self, alive: Tensor) -> Tensor:
        """Returns the value of states in which every statement is settled, int64 ``[P, C]``."""
        return (_unpacked(alive).long() * self._value[:, None, :]).sum(2)


class _Grid:
    """The hypotheses of each item of one side, padded: int64 ``[P, items, D]``, ``A`` where there are no more."""

    def __init__(self, items: Tensor, bids: Tensor) -> None:
        import torch

        pairs, size = items.shape
        groups = int(items.max()) + 1
        count = torch.zeros((pairs, groups), dtype=torch.int64, device=items.device)
        count.scatter_add_(1, items, torch.ones_like(items))
        order = items.argsort(dim=1, stable=True)
        grouped = items.gather(1, order)
        place = torch.arange(size, device=items.device) - (count.cumsum(1) - count).gather(1, grouped)
        # The last item is that of padding; how many there are of it is of no interest.
        deep = int(count[:, :-1].max()) if groups > 1 else 1
        kept = place < deep
        pair = torch.arange(pairs, device=items.device)[:, None].expand_as(items)
        self.index = torch.full((pairs, groups, max(deep, 1)), size, dtype=torch.int64, device=items.device)
        self.index[pair[kept], grouped[kept], place[kept]] = order[kept]
        self.index[:, -1] = size
        padded = torch.cat([bids.clamp(min=0), torch.zeros_like(bids[:, :1])], 1)
        self._bids = padded.gather(1, self.index.flatten(1))

    def sum_of_best(self, mask: Tensor) -> Tensor:
        """Returns the sum of the greatest bid for each item among the hypotheses in ``mask`` [P, C, A], ``[P, C]``."""
        import torch

        pairs, states, size = mask.shape
        at = self.index.flatten(1).clamp(max=size - 1)[:, None].expand(-1, states, -1)
        bids = torch.where(mask.gather(2, at), self._bids[:, None], 0)
        return bids.view(pairs, states, *self.index.shape[1:]).amax(3).sum(2)


def _bits(words: Tensor, numbers: Tensor) -> Tensor:
    """Returns whether each state ``[P, W, K]`` has each of the hypotheses ``[P, D]``, bool ``[P, W, D]``."""
    at = (numbers // _WORD)[:, None].expand(-1, words.shape[1], -1)
    found: Tensor = (words.gather(2, at) >> (numbers % _WORD)[:, None]) & 1
    return found.bool()


def _packed_words(mask: Tensor) -> Tensor:
    """Returns a mask ``[..., A]`` as words, int64 ``[..., A / 64]``; bit i of word j is place 64 j + i."""
    import torch

    bits = torch.arange(_WORD, device=mask.device)
    # Different powers of two: their sum is their union, the sign bit included.
    words: Tensor = (mask.view(*mask.shape[:-1], -1, _WORD).long() << bits).sum(-1)
    return words


def _unpacked(words: Tensor) -> Tensor:
    """Returns words ``[..., K]`` as a mask, bool ``[..., 64 K]``."""
    import torch

    bits = torch.arange(_WORD, device=words.device)
    return ((words[..., None] >> bits) & 1).bool().flatten(-2)
