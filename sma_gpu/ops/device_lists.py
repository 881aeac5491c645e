"""Lists on a device: folded ones as they are, postings folded there by one sort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import CapacityError
from ..lattice.arrays import distinct
from ..scoring.grid import SCORE_LIMIT
from .device_arrays import Resident, expand, parts
from .lists import Lists, PostingLists

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["HeldLists", "hold"]

LongArray = npt.NDArray[np.int64]

_FEW = 8  # where no more than one list in so many is asked for, only those are folded
_KEPT_ENTRIES = 1 << 27  # at most so many entries, 1 GiB, are folded whole and kept
_FOLDED_AT_ONCE = 1 << 25  # entries sorted at a time: about 1 GiB; changes memory, never a bound
_MOST_CASES = (1 << 31) - 1
_VALUE_BITS = SCORE_LIMIT.bit_length() - 1
_PLACES = 1 << (63 - _VALUE_BITS)  # places (list, case) that one int64 holds beside a value


@dataclass(frozen=True)
class HeldLists:
    """Lists whose entries are on a device.

    A case may stand in a list several times, side by side: its best value at the first place, 0 at the others. Added
    up, that is the folded list, and no count had to come back to the host to make it.

    Attributes:
        ptr: int64 ``[lists + 1]``, on the host.
        cases: int32 ``[entries]``, on the device, ascending within a list.
        best: int32 ``[entries]``, on the device.
        rows: int64 ``[lists]``, ascending, the numbers that queries have for these lists; None where they are in order.
    """

    ptr: LongArray
    cases: Tensor
    best: Tensor
    rows: LongArray | None = None

    def numbers(self, named: npt.NDArray[np.integer]) -> LongArray:
        """Returns the places of the lists that queries name, int64."""
        return np.asarray(named, np.int64) if self.rows is None else np.searchsorted(self.rows, named).astype(np.int64)


def hold(resident: Resident, lists: Lists, named: npt.NDArray[np.integer]) -> HeldLists:
    """Returns lists on a device, at least those that queries name.

    Postings are folded once for the whole index where many of them are asked for and they fit; else the lists asked
    for are folded, for this call. Which it is changes time and memory, never a bound.

    Args:
        resident: what is on the device.
        lists: the lists, in either form.
        named: whole numbers of lists, in any order.

    Raises:
        CapacityError: there are so many cases that 32 bits do not number them.
    """
    if len(lists.entities) > _MOST_CASES:
        raise CapacityError(
            f"lists over {len(lists.entities)} cases",
            f"cases are numbered in 32 bits, up to {_MOST_CASES}",
            "Split the cases into several indexes.",
        )
    if not isinstance(lists, PostingLists):
        ptr = lists.ptr if lists.ptr.dtype == np.int64 else lists.ptr.astype(np.int64)  # itself, to be known again
        return HeldLists(ptr, resident.of(lists.cases), resident.of(lists.best))
    table = lists.table
    arrays = (lists.ptr, lists.cases, table.ptr, table.stored, table.value)
    found: HeldLists | None = resident.found("folded", *arrays)
    if found is not None:
        return found
    # Entries before each list, were all lists laid out one after the other.
    listed = resident.made("listed", lambda: _listed(lists), lists.ptr, table.ptr, table.stored)
    every = np.arange(len(listed) - 1)
    rows = distinct(np.asarray(named, np.int64))
    if len(rows) * _FEW > len(every) and int(listed[-1]) <= _KEPT_ENTRIES:
        return resident.made("folded", lambda: HeldLists(*_fold(resident, lists, every, listed)), *arrays)
    return HeldLists(*_fold(resident, lists, rows, listed), rows)


def _listed(lists: PostingLists) -> LongArray:
    lengths = np.diff(lists.ptr).astype(np.int64)[lists.table.stored]
    found: LongArray = np.concatenate([[0], np.cumsum(lengths)])[lists.table.ptr]
    return found


def _fold(
    resident: Resident, lists: PostingLists, rows: LongArray, listed: LongArray
) -> tuple[LongArray, Tensor, Tensor]:
    """Returns pointers on the host, and cases and best values of the lists ``rows`` on the device."""
    import torch

    count, lengths = max(len(lists.entities), 1), listed[rows + 1] - listed[rows]
    cases, best = (torch.empty(int(lengths.sum()), dtype=torch.int32, device=resident.device) for _ in range(2))
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    for part in parts(lengths, _FOLDED_AT_ONCE, max(1, _PLACES // count)):
        at = slice(int(ptr[part.start]), int(ptr[part.stop]))
        cases[at], best[at] = _fold_rows(resident, lists, rows[part], at.stop - at.start)
    return ptr, cases, best


def _fold_rows(resident: Resident, lists: PostingLists, rows: LongArray, entries: int) -> tuple[Tensor, Tensor]:
    import torch

    table, count = lists.table, max(len(lists.entities), 1)
    lengths = table.ptr[rows + 1] - table.ptr[rows]
    starts = resident.move(table.ptr[rows].astype(np.int64))
    row, pair = expand(starts, resident.move(lengths.astype(np.int64)), int(lengths.sum()))
    kind, ptr = resident.of(table.stored)[pair].long(), resident.of(lists.ptr).long()
    span, at = expand(ptr[kind], ptr[kind + 1] - ptr[kind], entries)
    place = row[span] * count + resident.of(lists.cases)[at]
    # One number an entry, so that one plain sort puts the best value of a case first.
    ordered = ((place << _VALUE_BITS) | (SCORE_LIMIT - 1 - resident.of(table.value)[pair])[span]).sort().values
    place = ordered >> _VALUE_BITS
    first = torch.ones(entries, dtype=torch.bool, device=resident.device)
    first[1:] = place[1:] != place[:-1]
    best = torch.where(first, SCORE_LIMIT - 1 - (ordered & (SCORE_LIMIT - 1)), 0)
    return (place % count).int(), best.int()
