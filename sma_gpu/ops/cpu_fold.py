"""Folding postings into lists, as loops that numba compiles; ``cpu`` calls them. See ``cpu_kernels``.

Case by case, each of its stored kinds goes to the lists that it is compatible with: so every list is written in the
order of its cases, and a case that is the last of a list already gives it the greater of two values.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .cpu_kernels import INT, INTS, LONG, LONGS, array_of, compiled

__all__ = ["count_lists", "write_lists"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@compiled()
def _by_case(ptr: LongArray, cases: IntArray, count: int) -> tuple[LongArray, IntArray]:
    """Returns the postings the other way round: CSR pointers by case, and the kinds of each, ascending."""
    case_ptr = np.zeros(count + 2, np.int64)
    for posting in range(ptr[0], ptr[-1]):
        case_ptr[cases[posting] + 2] += 1
    for case in range(2, count + 2):
        case_ptr[case] += case_ptr[case - 1]
    kinds = np.empty(ptr[-1] - ptr[0], np.int32)
    for kind in range(len(ptr) - 1):
        for posting in range(ptr[kind], ptr[kind + 1]):
            place = case_ptr[cases[posting] + 1]
            case_ptr[cases[posting] + 1] = place + 1
            kinds[place] = kind
    return case_ptr[: count + 1], kinds


@compiled(LONGS, INTS, LONGS, INTS, LONG, array_of(LONG, written=True))
def count_lists(
    row_ptr: LongArray, rows: IntArray, ptr: LongArray, cases: IntArray, count: int, sizes: LongArray
) -> None:
    """Writes how many cases each list has.

    Args:
        row_ptr: int64 ``[K + 1]``.
        rows: int32 ``[pairs]``, the lists that each stored kind is compatible with.
        ptr: int64 ``[K + 1]``.
        cases: int32 ``[postings]``, the cases of each stored kind.
        count: ``N``.
        sizes: int64 ``[F]``, written.
    """
    case_ptr, kinds = _by_case(ptr, cases, count)
    last = np.full(len(sizes), -1, np.int32)
    sizes[:] = 0
    for case in range(count):
        for at in range(case_ptr[case], case_ptr[case + 1]):
            for pair in range(row_ptr[kinds[at]], row_ptr[kinds[at] + 1]):
                row = rows[pair]
                sizes[row] += last[row] != case
                last[row] = case


@compiled(
    LONGS, INTS, INTS, LONGS, INTS, LONG, LONGS, array_of(INT, written=True), array_of(INT, written=True),
)  # fmt: skip
def write_lists(
    row_ptr: LongArray,
    rows: IntArray,
    values: IntArray,
    ptr: LongArray,
    cases: IntArray,
    count: int,
    list_ptr: LongArray,
    list_cases: IntArray,
    list_best: IntArray,
) -> None:
    """Writes the lists.

    Args:
        row_ptr: int64 ``[K + 1]``.
        rows: int32 ``[pairs]``, the lists that each stored kind is compatible with.
        values: int32 ``[pairs]``, value of each.
        ptr: int64 ``[K + 1]``.
        cases: int32 ``[postings]``, the cases of each stored kind.
        count: ``N``.
        list_ptr: int64 ``[F + 1]``, out of the sizes that ``count_lists`` found.
        list_cases: int32 ``[entries]``, written.
        list_best: int32 ``[entries]``, written.
    """
    case_ptr, kinds = _by_case(ptr, cases, count)
    end = list_ptr[:-1].copy()
    for case in range(count):
        for at in range(case_ptr[case], case_ptr[case + 1]):
            for pair in range(row_ptr[kinds[at]], row_ptr[kinds[at] + 1]):
                row, value = rows[pair], values[pair]
                place = end[row]
                if place > list_ptr[row] and list_cases[place - 1] == case:
                    list_best[place - 1] = max(list_best[place - 1], value)
                else:
                    list_cases[place], list_best[place] = case, value
                    end[row] = place + 1
