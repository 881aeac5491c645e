"""Many pairs of cases at once, before the beam: what excludes what, a first mapping, a bound, and what it rules out.

Without commutative statements the best mapping is a heaviest set of hypotheses of which no two exclude each other: one
excludes another when their kernel mappings together are not one-to-one. A chosen hypothesis can only gain from having
its kernel mapping chosen too.

The bound gives up two things and charges for them (Lagrangian relaxation, as the host's ``structure.relaxation``): that
a hypothesis has the pairs it rests on, for which it pays a charge to each of them; and that the two sides agree, for
which the worth of a hypothesis is split between its item of the query and its item of the stored case. What is left is
the greatest number of each item. Any charges of 0 or more and any split give a bound; all of it is whole numbers, so
that it is the same on every device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .structure.bitsets import as_mask
from .structure.hypotheses import Hypotheses

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Packed", "Root", "pack", "root"]

LongArray = npt.NDArray[np.int64]

_STRIDE_BITS = 8  # a stride of 1 is 256
_LOOK = 10  # steps between two looks at whether a pair is still open, each of which waits for the device
_SLOWER_Q = 251  # of 256: length of the next stride where the last one did not lower the bound


@dataclass(frozen=True)
class Packed:
    """``P`` pairs, padded to ``H`` hypotheses, of which those behind a pair's own exist in no mapping.

    Attributes:
        real: bool ``[P, H]``.
        statement: bool ``[P, H]``, pairs of statements.
        value: int64 ``[P, H]``, units of 2^-16 bit.
        query: int64 ``[P, H]``, item of the query, numbered from 0; one more than the last where not real.
        stored: int64 ``[P, H]``, likewise.
        closure: bool ``[P, H, H]``, (hypothesis, member of its kernel mapping).
        payer: int64 ``[X]``, what rests on what: hypothesis that pays, flat over ``[P, H]``.
        charge: int64 ``[X]``, number of its charge.
        pair: int64 ``[charges]``, hypothesis that receives each charge, flat over ``[P, H]``.
        owner: int64 ``[charges]``, pair of cases of each charge.
        first: int64 ``[charges]``, charges to begin with.
    """

    real: Tensor
    statement: Tensor
    value: Tensor
    query: Tensor
    stored: Tensor
    closure: Tensor
    payer: Tensor
    charge: Tensor
    pair: Tensor
    owner: Tensor
    first: Tensor


@dataclass(frozen=True)
class Root:
    """What is known of ``P`` pairs before the beam.

    Attributes:
        total: int64 ``[P]``, value of the best mapping so far, units of 2^-16 bit.
        bound: int64 ``[P]``, no mapping is worth more.
        excludes: bool ``[P, H, H]``, symmetric.
        mine: int64 ``[P, H]``, part of each hypothesis' worth that its item of the query bids.
        theirs: int64 ``[P, H]``, part that its item of the stored case bids.
        least: int64 ``[P]``, bound by charges and split alone, which ``against`` is counted from.
        against: int64 ``[P, H]``, by how much the bound falls when a hypothesis is in the mapping, at least.
        real: bool ``[P, H]``.
    """

    total: Tensor
    bound: Tensor
    excludes: Tensor
    mine: Tensor
    theirs: Tensor
    least: Tensor
    against: Tensor
    real: Tensor

    def open(self, total: Tensor) -> Tensor:
        """Returns which hypotheses a mapping worth more than ``total`` [P] could have, bool ``[P, H]``."""
        return self.real & (self.least[:, None] - self.against > total[:, None])


def pack(made: Sequence[Hypotheses], device: str) -> Packed:
    """Returns pairs without commutative hypotheses as tensors on a device.

    Cost: one pass over their kernel mappings on the host; ``P * H * H`` bytes on the device.
    """
    import torch

    pairs, size = len(made), max(map(len, made))
    real, statement = (np.zeros((pairs, size), np.bool_) for _ in range(2))
    value = np.zeros((pairs, size), np.int64)
    items = np.zeros((2, pairs, size), np.int64)
    members: list[LongArray] = []
    entries: list[tuple[LongArray, LongArray]] = []
    for number, one in enumerate(made):
        held = len(one)
        real[number, :held] = True
        value[number, :held] = one.value
        entity = as_mask(one.entity, held)
        statement[number, :held] = ~entity
        for side, item in enumerate((one.query, one.stored)):
            distinct, dense = np.unique(item, return_inverse=True)
            items[side, number] = len(distinct)
            items[side, number, :held] = dense
        payer = np.repeat(np.arange(held), [len(c) for c in one.closure])
        member = np.fromiter(chain.from_iterable(one.closure), np.int64, len(payer))
        members.append((number * size + payer) * size + member)
        direct = np.repeat(np.arange(held), [len(s) for s in one.support])
        support = np.fromiter(chain.from_iterable(one.support), np.int64, len(direct))
        grounds = entity[member] & (member != payer)
        rests = np.concatenate([payer[grounds] * size + member[grounds], direct * size + support])
        payers, paid = np.divmod(np.unique(rests), size)
        entries.append((number * size + payers, number * size + paid))
    payer, pair = (np.concatenate([e[side] for e in entries]) for side in (0, 1))
    # A charge belongs to an item of either side and a pair: whichever hypothesis of the item is chosen pays it.
    named = [(items[side].ravel()[payer] * 2 + side) * (pairs * size) + pair for side in (0, 1)]
    numbers, charge = np.unique(np.concatenate(named), return_inverse=True)
    payer = np.concatenate([payer, payer])
    received = numbers % (pairs * size)
    first = np.zeros(len(numbers), np.int64)
    share = value.ravel() // np.maximum(np.bincount(payer, minlength=pairs * size), 1)
    np.maximum.at(first, charge, share[payer])

    def move(array: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    closure = torch.zeros(pairs * size * size, dtype=torch.bool, device=device)
    closure[move(np.concatenate(members))] = True
    return Packed(
        move(real),
        move(statement),
        move(value),
        move(items[0]),
        move(items[1]),
        closure.view(pairs, size, size),
        move(payer),
        move(charge),
        move(received),
        move(received // size),
        move(first),
    )


def root(packed: Packed, steps: int) -> Root:
    """Returns what can be known of pairs without branching.

    Args:
        packed: the pairs.
        steps: greatest number of subgradient steps for the bound.

    Determinism: whole numbers; among equals the first hypothesis.
    Cost: two products of ``[H, H]`` matrices a pair, and about thirty passes over the charges a step.
    """
    excludes = _exclusions(packed)
    worth = (packed.closure.long() * packed.value[:, None, :]).sum(2)
    total = _greedy(packed, excludes, worth)
    bound, mine, theirs = _relaxed(packed, total, steps)
    gap = _highest(mine, packed.query).gather(1, packed.query) - mine
    gap += _highest(theirs, packed.stored).gather(1, packed.stored) - theirs
    # With a hypothesis come the members of its kernel mapping, and each keeps better bids for its two items from
    # counting. A second mapping takes those first that little stands against.
    against = (packed.closure.long() * gap[:, None, :]).sum(2)
    guided = _greedy(packed, excludes, worth - against)
    total = guided.maximum(total)
    return Root(total, bound.maximum(total), excludes, mine, theirs, bound, against, packed.real)


def _exclusions(packed: Packed) -> Tensor:
    """Returns which hypotheses cannot stand beside which, bool ``[P, H, H]``.

    Products of zeros and ones: they are counts, of which only being 0 or not matters, so float32 is exact.
    """
    import torch

    same = packed.query[:, :, None] == packed.query[:, None, :]
    same |= packed.stored[:, :, None] == packed.stored[:, None, :]
    same &= packed.real[:, :, None] & packed.real[:, None, :]
    same &= ~torch.eye(same.shape[1], dtype=torch.bool, device=same.device)
    closure = packed.closure.float()
    clashes = (torch.bmm(closure, same.float()) > 0).float()
    found: Tensor = torch.bmm(clashes, closure.transpose(1, 2)) > 0
    return found


def _greedy(packed: Packed, excludes: Tensor, order: Tensor) -> Tensor:
    """Returns the value of the mapping that takes statement pairs in descending ``order`` [P, H], int64 ``[P]``."""
    import torch

    pairs = torch.arange(len(order), device=order.device)
    left = packed.statement.clone()
    total = torch.zeros_like(order[:, 0])
    for step in range(int(packed.query.max()) + 1):
        if step % _LOOK == 0 and not left.any():
            break
        best = torch.where(left, order, -(1 << 62)).argmax(dim=1)
        able = left[pairs, best]
        total += torch.where(able, packed.value[pairs, best], 0)
        left &= ~(excludes[pairs, best] & able[:, None])
        left[pairs, best] = False
    return total


def _highest(bids: Tensor, items: Tensor) -> Tensor:
    """Returns the greatest bid for each item, 0 where none is above, int64 ``[P, items + 1]``."""
    import torch

    most = torch.zeros((len(bids), int(items.max()) + 1), dtype=torch.int64, device=bids.device)
    return most.scatter_reduce_(1, items, bids, "amax")


def _taken(bids: Tensor, items: Tensor, most: Tensor) -> Tensor:
    """Returns the first hypothesis of each item that bids most, and more than 0, bool ``[P, H]``."""
    import torch

    size = bids.shape[1]
    numbers = torch.arange(size, device=bids.device)
    wins = (bids == most.gather(1, items)) & (bids > 0)
    first = torch.full_like(most, size).scatter_reduce_(1, items, torch.where(wins, numbers, size), "amin")
    return wins & (first.gather(1, items) == numbers)


def _relaxed(packed: Packed, total: Tensor, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns bound, and bids of both sides that attain it; charges and split are tuned by subgradient steps."""
    import torch

    shape = packed.value.shape
    charges, split = packed.first, torch.zeros_like(packed.value)
    stride = torch.full_like(total, 1 << _STRIDE_BITS)
    least = torch.full_like(total, 1 << 62)
    best = packed.value, split
    query_items, stored_items = int(packed.query.max()) + 1, int(packed.stored.max()) + 1
    for step in range(steps + 1):
        paid = torch.zeros(shape.numel(), dtype=torch.int64, device=charges.device)
        paid.scatter_add_(0, packed.payer, charges[packed.charge])
        received = torch.zeros_like(paid).scatter_add_(0, packed.pair, charges)
        worth = packed.value + (received - paid).view(shape)
        theirs = torch.where(packed.real, (worth >> 1) + split, 0)
        mine = torch.where(packed.real, worth - (worth >> 1) - split, 0)
        high_mine = torch.zeros((shape[0], query_items), dtype=torch.int64, device=charges.device)
        high_mine.scatter_reduce_(1, packed.query, mine, "amax")
        high_theirs = torch.zeros((shape[0], stored_items), dtype=torch.int64, device=charges.device)
        high_theirs.scatter_reduce_(1, packed.stored, theirs, "amax")
        bound = high_mine.sum(1) + high_theirs.sum(1)
        better = bound < least
        least = torch.where(better, bound, least)
        best = torch.where(better[:, None], mine, best[0]), torch.where(better[:, None], theirs, best[1])
        if step == steps or (step % _LOOK == 0 and bool((least <= total).all())):
            break
        stride = torch.where(better, stride, (stride * _SLOWER_Q) >> 8).clamp(min=1)

        one = _taken(mine, packed.query, high_mine).long()
        other = _taken(theirs, packed.stored, high_theirs).long()
        both = (one + other).view(-1)
        slope = both[packed.pair].scatter_add(0, packed.charge, -both[packed.payer])
        slope = torch.where((slope > 0) & (charges == 0), 0, slope)  # it cannot become less
        tilt = 2 * (other - one)
        steep = (tilt * tilt).sum(1).scatter_add(0, packed.owner, slope * slope)
        length = 2 * ((bound - total).clamp(min=0) * stride) // steep.clamp(min=1)
        charges = (charges - ((slope * length[packed.owner]) >> _STRIDE_BITS)).clamp(min=0)
        split = split - ((tilt * length[:, None]) >> _STRIDE_BITS)
    return least, *best
