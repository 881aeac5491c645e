"""What the compiled loops of ``cpu`` are given: arrays checked, of one width each, C-ordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ShapeError
from ..scoring import Normaliser, PairTable
from ..scoring.normalise import FACTOR_SHIFT, QUOTIENT_SHIFT
from .cpu_accumulate import FOLDED, POSTINGS
from .cpu_kernels import MAX, MIN, POWER
from .lists import Lists, PostingLists

__all__ = [
    "ListArrays",
    "check_length",
    "check_numbers",
    "check_pointers",
    "mask",
    "ranking",
    "refusal",
    "table_arrays",
    "whole_numbers",
]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ListArrays:
    """Lists of either form, as the compiled loops want them; ``lists`` is how many there are.

    Pointers and cases are those of the folded lists, or of the postings; ``best`` is empty beside postings, and all of
    the table beside folded lists.
    """

    form: int
    lists: int
    ptr: LongArray
    cases: IntArray
    best: IntArray
    entities: IntArray
    table_ptr: LongArray
    table_stored: IntArray
    table_value: LongArray
    falling: LongArray

    @classmethod
    def of(cls, op: str, lists: Lists) -> ListArrays:
        """Returns the arrays of ``lists``.

        Raises:
            ShapeError: they are of another kind, or do not fit together.
        """
        ptr, cases = (
            whole_numbers(op, "lists.ptr", lists.ptr, np.int64),
            whole_numbers(op, "lists.cases", lists.cases, np.int32),
        )
        entities, number = whole_numbers(op, "lists.entities", lists.entities, np.int32), len(ptr) - 1
        longs, ints, held = np.zeros(0, np.int64), np.zeros(0, np.int32), len(cases)
        if isinstance(lists, PostingLists):
            form, table, best = POSTINGS, table_arrays(op, lists.table), ints
            falling = whole_numbers(op, "lists.falling", lists.falling, np.int64)
            number = len(table[0]) - 1
        else:
            form, table, falling = FOLDED, (longs, ints, longs), longs
            best = whole_numbers(op, "lists.best", lists.best, np.int32)
            held = min(held, len(best))
        if held < int(ptr[-1]):
            raise refusal(op, "lists", f"at least {int(ptr[-1])} entries", str(held))
        return cls(form, number, ptr, cases, best, entities, *table, falling)


def table_arrays(op: str, table: PairTable) -> tuple[LongArray, IntArray, LongArray]:
    """Returns pointers, stored kinds and values of a table."""
    ptr = whole_numbers(op, "table.ptr", table.ptr, np.int64)
    stored = whole_numbers(op, "table.stored", table.stored, np.int32)
    value = whole_numbers(op, "table.value", table.value, np.int64)
    if int(ptr[-1]) > min(len(stored), len(value)):
        raise refusal(op, "table", f"at least {int(ptr[-1])} entries", str(min(len(stored), len(value))))
    return ptr, stored, value


def ranking(op: str, normaliser: Normaliser) -> tuple[int, int, LongArray]:
    """Returns how keys are made: the mode, the shift, and the number of each case that goes into its keys."""
    if normaliser.dials.power is not None:
        return POWER, FACTOR_SHIFT, whole_numbers(op, "normaliser", normaliser.factors, np.int64)
    mode = MAX if normaliser.dials.normalisation == "max" else MIN
    return mode, QUOTIENT_SHIFT, whole_numbers(op, "normaliser", normaliser.self_scores, np.int64)


def mask(op: str, among: BoolArray | None, queries: int, cases: int) -> BoolArray:
    """Returns a C-ordered mask: one row for all queries where they have the same, which is empty where it is None."""
    if among is None:
        return np.zeros((1, 0), np.bool_)
    if among.dtype != np.bool_ or among.shape != (queries, cases):
        raise refusal(op, "among", f"bool [{queries}, {cases}]", f"{among.dtype} {list(among.shape)}")
    return np.ascontiguousarray(among[:1] if queries and not among.strides[0] else among)


def whole_numbers(op: str, name: str, array: npt.NDArray[Any], wanted: type[np.integer]) -> npt.NDArray[Any]:
    """Returns a plain one-dimensional C-ordered array of whole numbers of the wanted type, without a copy if it is one.

    Raises:
        ShapeError: it has another number of dimensions, or numbers that may not fit.
    """
    if array.ndim != 1 or not np.can_cast(array.dtype, wanted):
        raise refusal(op, name, f"one dimension of {np.dtype(wanted)}", f"{array.dtype} {list(array.shape)}")
    return np.ascontiguousarray(array, wanted)


def check_length(op: str, name: str, array: npt.NDArray[Any], wanted: int) -> None:
    """Refuses an array of another length."""
    if len(array) != wanted:
        raise refusal(op, name, f"length {wanted}", f"length {len(array)}")


def check_numbers(op: str, name: str, array: npt.NDArray[Any], limit: int) -> None:
    """Refuses numbers that are not from 0 to below ``limit``."""
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < limit:
        raise refusal(op, name, f"numbers from 0 to {limit - 1}", f"{int(array.min())} to {int(array.max())}")


def check_pointers(op: str, name: str, array: npt.NDArray[Any], entries: int) -> None:
    """Refuses pointers that do not ascend, or lead out of so many entries."""
    if not len(array) or array[0] < 0 or (array[1:] < array[:-1]).any() or int(array[-1]) > entries:
        raise refusal(op, name, f"ascending pointers into {entries} entries", f"{array[:1]} to {array[-1:]}")


def refusal(op: str, name: str, wanted: str, found: str) -> ShapeError:
    """Returns the error for an argument of an op that does not fit."""
    return ShapeError(f"{op}: {name}", f"{found}, where {wanted} is wanted", "Give the arrays that the contract names.")
