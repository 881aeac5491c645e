"""The assignment problem of a bound as a loop that numba compiles. Importing this module imports numba.

Which of several best assignments is found decides where a search goes on, so it has to be the one that
``scipy.optimize.linear_sum_assignment`` finds, which the reference asks. That solver takes the lines of a dense matrix
one by one, each along a shortest path of exchanges (Crouse 2016), and this does the same in the same order. But cells
without a value are all alike: what they cost is one number for all of them, so only cells with a value are walked.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .cpu_kernels import compiled

__all__ = ["ROWS", "assigned"]

LongArray = npt.NDArray[np.int64]

_FAR = np.iinfo(np.int64).max
ROWS = 11
# The rows of ``crosses``. A mark is the tick of the clock at which what it stands for became so.
_PRICE, _HOLDER, _LENGTH, _CAME = 0, 1, 2, 3
_REACHED, _SETTLED = 4, 5  # marks: reached by this path, settled in it
_PLACE, _COLUMN, _WAITING, _MOVED, _FILLED = 6, 7, 8, 9, 10  # the order in which the solver looks: see ``_place``


@compiled()
def assigned(
    ptr: LongArray,
    cross_of: LongArray,
    value_of: LongArray,
    price: LongArray,
    partner: LongArray,
    size: int,
    crosses: LongArray,
    clock: LongArray,
) -> None:
    """Writes the partner of each line in the best assignment that SciPy's solver finds.

    Args:
        ptr: int64 ``[L + 1]``, cells by line.
        cross_of: int64, cross of each cell, below ``X``, which is not below ``L``.
        value_of: int64, value of each; one that is worth less than nothing stands for nothing, like all other cells.
        price: int64 ``[L]``, scratch.
        partner: int64 ``[L]``, written: a cross for each line, perhaps one with which it has no value.
        size: ``X``.
        crosses: int64 ``[ROWS, X or more]``, scratch.
        clock: int64 ``[1]``, scratch that is kept with ``crosses``; it never goes back.
    """
    lines, prices = len(partner), crosses[_PRICE]
    for cross in range(size):
        crosses[_PRICE, cross], crosses[_HOLDER, cross] = 0, -1
    first_free = 0
    for entering in range(lines):
        while crosses[_HOLDER, first_free] >= 0:
            first_free += 1
        # A line that finds its best cross free takes it. With no cell below 0 it takes one in which it has no value.
        lowest, wanted, free = np.int64(0), np.int64(first_free), True
        for cell in range(ptr[entering], ptr[entering + 1]):
            cross = cross_of[cell]
            length = -value_of[cell] - prices[cross]
            if length > lowest or length == 0 or value_of[cell] <= 0:
                continue
            open_ = crosses[_HOLDER, cross] < 0
            # The solver looks at high numbers first. Among equals it takes the last free one, else the first.
            if (
                length < lowest
                or (open_ and (not free or cross < wanted))
                or (not open_ and not free and cross > wanted)
            ):
                lowest, wanted, free = length, cross, open_
        if free:
            price[entering], partner[entering] = lowest, wanted
            crosses[_HOLDER, wanted] = entering
        else:
            price[entering], partner[entering] = 0, -1
            _exchange(entering, ptr, cross_of, value_of, price, partner, size, crosses, clock, first_free)


@compiled()
def _place(crosses: LongArray, size: int, cross: int, now: int) -> int:
    """Returns when the solver looks at a cross: from the last to the first, the last in the place of a settled one."""
    return int(crosses[_PLACE, cross] if crosses[_MOVED, cross] == now else size - 1 - cross)


@compiled()
def _exchange(
    entering: int,
    ptr: LongArray,
    cross_of: LongArray,
    value_of: LongArray,
    price: LongArray,
    partner: LongArray,
    size: int,
    crosses: LongArray,
    clock: LongArray,
    first_free: int,
) -> None:
    """Lets a line enter along the shortest path of exchanges. See ``assigned`` for the arrays."""
    clock[0] += 1
    now, prices = clock[0], crosses[_PRICE]
    line, walked, end, waiting, settled = np.int64(entering), np.int64(0), np.int64(-1), 0, 0
    base, base_line = np.int64(_FAR), np.int64(-1)  # what a cell without value costs, but for the price of its cross
    while True:
        through = walked - price[line]
        if through < base:
            base, base_line = through, line
            for at in range(waiting):
                cross = crosses[_WAITING, at]
                length = base - prices[cross]
                if length < crosses[_LENGTH, cross]:
                    crosses[_LENGTH, cross], crosses[_CAME, cross] = length, line
        # A cell with a value costs less than one without. The path ends at the base: what costs more is of no interest.
        for cell in range(ptr[line], ptr[line + 1]):
            cross = cross_of[cell]
            length = through - value_of[cell] - prices[cross]
            if length > base or value_of[cell] <= 0 or crosses[_SETTLED, cross] == now:
                continue
            if crosses[_REACHED, cross] != now:
                crosses[_REACHED, cross] = now
                crosses[_WAITING, waiting] = cross
                waiting += 1
                crosses[_LENGTH, cross], crosses[_CAME, cross] = base - prices[cross], base_line
            if length < crosses[_LENGTH, cross]:
                crosses[_LENGTH, cross], crosses[_CAME, cross] = length, line

        lowest, nearest, place, free = np.int64(_FAR), -1, np.int64(-1), False
        for at in range(waiting):
            cross = crosses[_WAITING, at]
            length = crosses[_LENGTH, cross]
            if length > lowest:
                continue
            open_, when = crosses[_HOLDER, cross] < 0, _place(crosses, size, cross, now)
            if length < lowest or (open_ and (not free or when > place)) or (not open_ and not free and when < place):
                lowest, nearest, place, free = length, at, np.int64(when), open_
        if lowest >= base:  # every free cross can be had for the base, and no cross for less
            walked, end = base, np.int64(_last_free(crosses, size, first_free, settled, now))
            if crosses[_REACHED, end] != now:
                crosses[_CAME, end] = base_line
            break
        walked = lowest
        cross = crosses[_WAITING, nearest]
        if free:
            end = cross
            break
        line = crosses[_HOLDER, cross]
        waiting -= 1
        crosses[_WAITING, nearest] = crosses[_WAITING, waiting]
        crosses[_WAITING, size - 1 - settled] = cross
        crosses[_SETTLED, cross] = now
        settled += 1
        last = size - settled
        moved = crosses[_COLUMN, last] if crosses[_FILLED, last] == now else np.int64(settled - 1)
        crosses[_COLUMN, place], crosses[_FILLED, place] = moved, now
        crosses[_PLACE, moved], crosses[_MOVED, moved] = place, now

    price[entering] += walked
    for at in range(settled):
        cross = crosses[_WAITING, size - 1 - at]
        saved = walked - crosses[_LENGTH, cross]
        price[crosses[_HOLDER, cross]] += saved
        crosses[_PRICE, cross] -= saved
    cross = end
    while True:
        line = crosses[_CAME, cross]
        crosses[_HOLDER, cross] = line
        cross, partner[line] = partner[line], cross
        if line == entering:
            return


@compiled()
def _last_free(crosses: LongArray, size: int, first_free: int, settled: int, now: int) -> int:
    """Returns the free cross that the solver looks at last. Only the first ``settled`` ones can have moved."""
    found, latest = -1, -1
    for cross in range(first_free, size):
        if crosses[_HOLDER, cross] < 0:
            place = _place(crosses, size, cross, now)
            if place > latest:
                found, latest = cross, place
            if cross >= settled:
                break
    return found
