"""Steps on arrays that the compiled matching of cases shares. Importing this module imports numba."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .cpu_kernels import compiled

__all__ = ["can_match", "column", "csr", "found", "grown", "owners", "taken"]

BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]


@compiled()
def grown(array: LongArray, size: int) -> LongArray:
    """Returns the array, or a longer one that begins with it, of ``size`` entries or more."""
    if size <= len(array):
        return array
    longer = np.empty(max(size, 2 * len(array)), np.int64)
    for at in range(len(array)):
        longer[at] = array[at]
    return longer


@compiled()
def csr(owner: LongArray, owners: int) -> tuple[LongArray, LongArray]:
    """Returns pointers int64 ``[owners + 1]`` and, by them, the places of each in ``owner``, ascending."""
    ptr = np.zeros(owners + 1, np.int64)
    for one in owner:
        ptr[one + 1] += 1
    for one in range(owners):
        ptr[one + 1] += ptr[one]
    free, places = np.empty(owners, np.int64), np.empty(len(owner), np.int64)
    for one in range(owners):
        free[one] = ptr[one]
    for place in range(len(owner)):
        one = owner[place]
        places[free[one]] = place
        free[one] += 1
    return ptr, places


@compiled()
def taken(array: LongArray, places: LongArray) -> LongArray:
    """Returns what stands at these places."""
    found = np.empty(len(places), np.int64)
    for at in range(len(places)):
        found[at] = array[places[at]]
    return found


@compiled()
def owners(ptr: LongArray) -> LongArray:
    """Returns for each entry whose it is."""
    found = np.empty(ptr[-1], np.int64)
    for one in range(len(ptr) - 1):
        for at in range(ptr[one], ptr[one + 1]):
            found[at] = one
    return found


@compiled()
def column(table: LongArray, number: int, zeros: int) -> LongArray:
    """Returns a column of a table, behind so many zeros."""
    found = np.zeros(zeros + len(table), np.int64)
    for at in range(len(table)):
        found[zeros + at] = table[at, number]
    return found


@compiled()
def found(values: npt.NDArray[np.integer], begin: int, end: int, wanted: int) -> int:
    """Returns where ``wanted`` stands among ascending ``values`` from ``begin`` to ``end``; -1 where it does not."""
    last = end
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < last and values[begin] == wanted else -1


@compiled()
def can_match(size: int, edges: LongArray, able: BoolArray) -> bool:
    """Returns whether ``size`` left numbers have a perfect matching with as many right ones.

    Args:
        size: how many of either; numbered from 0.
        edges: int64 ``[E, 2 or more]``, left and right, left ascending.
        able: bool ``[E]``, which of them may be used.
    """
    first = np.zeros(size + 1, np.int64)
    for edge in range(len(edges)):
        first[edges[edge, 0] + 1] = edge + 1
    for left in range(size):
        first[left + 1] = max(first[left + 1], first[left])
    holder, partner = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    came, waiting = np.empty(size, np.int64), np.empty(size, np.int64)
    for start in range(size):
        for right in range(size):
            came[right] = -1
        waiting[0] = start
        done, asked, end = 0, 1, -1
        while done < asked and end < 0:
            left = waiting[done]
            done += 1
            for edge in range(first[left], first[left + 1]):
                right = edges[edge, 1]
                if not able[edge] or came[right] >= 0:
                    continue
                came[right] = left
                if holder[right] < 0:
                    end = right
                    break
                waiting[asked] = holder[right]
                asked += 1
        if end < 0:
            return False
        while end >= 0:
            left = came[end]
            before = partner[left]
            holder[end], partner[left] = left, end
            end = before
    return True
