"""The relaxed problem of one pair of cases as arrays for compiled loops. Importing this module imports numba.

What it is, ``structure.relaxation`` says; ``cpu_structure_bounds`` bounds with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .cpu_kernels import compiled
from .cpu_structure_arrays import csr, taken
from .cpu_structure_assignment import ROWS
from .cpu_structure_pairs import Made

__all__ = ["Relaxed", "relaxation"]

BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]


class Relaxed(NamedTuple):
    """The relaxed problem of one pair, the charges so far, what the last bound came to, and scratch.

    Attributes:
        alternatives_ptr: int64 ``[H + 1]``, what each hypothesis rests on, as alternatives.
        entry_ptr: int64 ``[alternatives + 1]``.
        entries: int64, number of the charge.
        charge_ptr: int64 ``[H + 1]``, charges by the hypothesis that receives them.
        paid_for: int64 ``[charges]``, that hypothesis.
        charges: int64 ``[charges]``, kept from one bound to the next.
        line: int64 ``[H]``, place of each hypothesis in the assignment; lines are never more than crosses.
        cross: int64 ``[H]``, within its part.
        parts: int64 ``[P + 1, 2]``, lines and crosses of the independent parts, as pointers.
        chosen: bool ``[H]``, assignment of the last bound.
        strain: int64 ``[H]``, see ``structure.relaxation``.
        worth: int64 ``[H]``, likewise.
        best: int64 ``[items]``, for sums of best values.
        trial: int64 ``[charges]``, charges that are tried; 0 for those of which payer or receiver is not alive.
        slopes: int64 ``[4, charges]``: slopes, the charges that have one, when they got it, when a charge was open.
        picks: int64 ``[3, H]``: worth under the charges that are tried; the assignment under them, as a list; and when
            a hypothesis was last in it.
        cells: int64 ``[3, H]``, by line: hypotheses, their crosses, and what is left of them when all is paid.
        lines: int64 ``[4, lines + 1]``: pointers into ``cells``, two for the assignment, one more.
        crosses: int64 ``[ROWS, crosses]``, for the assignment.
        clock: int64 ``[1]``, ticks; what is marked with an earlier tick is not marked.
    """

    alternatives_ptr: LongArray
    entry_ptr: LongArray
    entries: LongArray
    charge_ptr: LongArray
    paid_for: LongArray
    charges: LongArray
    line: LongArray
    cross: LongArray
    parts: LongArray
    chosen: BoolArray
    strain: LongArray
    worth: LongArray
    best: LongArray
    trial: LongArray
    slopes: LongArray
    picks: LongArray
    cells: LongArray
    lines: LongArray
    crosses: LongArray
    clock: LongArray


@compiled()
def relaxation(made: Made, whole_cells: int) -> Relaxed:
    """Returns the relaxed problem of one pair with its first charges.

    Args:
        made: the hypotheses.
        whole_cells: up to so many cells all of them are one assignment problem, else one for each component.
    """
    size = made.size
    alternatives_ptr = np.zeros(size + 1, np.int64)
    alternatives, entries = 0, 0
    for h in range(size):
        certain = 0
        if not made.entity[h]:
            for at in range(made.closure_ptr[h], made.closure_ptr[h + 1] - 1):
                certain += _rests_on(made, h, made.closure[at])
            alternatives += 2 * (certain + made.arguments[h])
            entries += 2 * (certain + made.option_ptr[h + 1] - made.option_ptr[h])
        alternatives_ptr[h + 1] = alternatives

    entry_ptr, side_of = np.zeros(alternatives + 1, np.int64), np.empty(alternatives, np.int64)
    pair_of = np.empty(entries, np.int64)
    alternatives, entries = 0, 0
    for h in range(size):
        if made.entity[h]:
            continue
        for at in range(made.closure_ptr[h], made.closure_ptr[h + 1] - 1):
            if _rests_on(made, h, made.closure[at]):
                for side in range(2):
                    pair_of[entries], side_of[alternatives] = made.closure[at], side
                    entries += 1
                    alternatives += 1
                    entry_ptr[alternatives] = entries
        for side in range(2):
            for argument in range(made.arguments[h]):
                for option in range(made.option_ptr[h], made.option_ptr[h + 1]):
                    if made.options[option, side] == argument:
                        pair_of[entries] = made.options[option, 2]
                        entries += 1
                side_of[alternatives] = side
                alternatives += 1
                entry_ptr[alternatives] = entries

    # A charge belongs to a statement of either side and a pair. Hypotheses of one statement are looked at together.
    charge_of, paid_for, charges = np.empty(entries, np.int64), np.empty(entries, np.int64), np.zeros(entries, np.int64)
    count = 0
    for side in range(2):
        last_item, last_charge = np.full(size, -1, np.int64), np.empty(size, np.int64)
        for h in made.columns if side else made.rows:
            item = made.stored[h] if side else made.query[h]
            share = made.value[h] // max(alternatives_ptr[h + 1] - alternatives_ptr[h], 1)
            for alternative in range(alternatives_ptr[h], alternatives_ptr[h + 1]):
                if side_of[alternative] != side:
                    continue
                for entry in range(entry_ptr[alternative], entry_ptr[alternative + 1]):
                    pair = pair_of[entry]
                    if last_item[pair] != item:
                        last_item[pair], last_charge[pair] = item, count
                        paid_for[count] = pair
                        count += 1
                    charge_of[entry] = last_charge[pair]
                    charges[last_charge[pair]] = max(charges[last_charge[pair]], share)

    paid_for, charges = paid_for[:count], charges[:count]
    charge_ptr, order = csr(paid_for, size)
    renamed = np.empty(count, np.int64)
    for number in range(count):
        renamed[order[number]] = number
    line, cross, parts = _laid_out(made, whole_cells)
    lines, crosses = parts[-1, 0], parts[-1, 1]
    items = max(len(made.row_ptr), len(made.column_ptr))
    return Relaxed(
        alternatives_ptr, entry_ptr, taken(renamed, charge_of), charge_ptr, taken(paid_for, order),
        taken(charges, order), line, cross, parts,
        np.zeros(size, np.bool_), np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(items, np.int64),
        np.zeros(count, np.int64), np.zeros((4, count), np.int64), np.zeros((3, size), np.int64),
        np.zeros((3, size), np.int64), np.zeros((4, lines + 1), np.int64), np.zeros((ROWS, crosses), np.int64),
        np.zeros(1, np.int64),
    )  # fmt: skip


@compiled()
def _rests_on(made: Made, hypothesis: int, member: int) -> bool:
    """Returns whether a hypothesis pays for a member of its kernel mapping: an entity pair, or that of an argument."""
    if made.entity[member]:
        return True
    for at in range(made.support_ptr[hypothesis], made.support_ptr[hypothesis + 1]):
        if made.support[at] == member:
            return True
    return False


@compiled()
def _laid_out(made: Made, whole_cells: int) -> tuple[LongArray, LongArray, LongArray]:
    """Returns line and cross of each hypothesis, int64 ``[H]`` each, and the ``parts``; see ``Relaxed``.

    Lines and crosses of a part are its items, ascending; lines are the items of the query unless they are more.
    """
    rows, columns = len(made.row_ptr) - 1, len(made.column_ptr) - 1
    held, others = 0, 0
    for row in range(rows):
        held += made.row_ptr[row] < made.row_ptr[row + 1]
    for column in range(columns):
        others += made.column_ptr[column] < made.column_ptr[column + 1]
    head = np.arange(rows + columns)  # of each item a linked one with a smaller number, of the first one itself
    if held * others > whole_cells:
        for h in range(made.size):
            one, other = np.int64(made.query[h]), np.int64(rows + made.stored[h])
            while head[one] != one:
                head[one] = head[head[one]]
                one = head[one]
            while head[other] != other:
                head[other] = head[head[other]]
                other = head[other]
            head[max(one, other)] = min(one, other)
        for item in range(rows + columns):
            head[item] = head[head[item]]
    else:
        for item in range(rows + columns):
            head[item] = 0

    sizes = np.zeros((rows + columns + 1, 2), np.int64)
    place = np.full(rows + columns, -1, np.int64)
    for item in range(rows + columns):
        side = int(item >= rows)
        ptr, at = (made.column_ptr, item - rows) if side else (made.row_ptr, item)
        if ptr[at] < ptr[at + 1]:
            place[item] = sizes[head[item], side]
            sizes[head[item], side] += 1
    parts, number, count = np.zeros((rows + columns + 1, 2), np.int64), np.empty(rows + columns, np.int64), 0
    for item in range(rows + columns):
        if sizes[item, 0] or sizes[item, 1]:
            number[item] = count
            parts[count + 1, 0] = parts[count, 0] + min(sizes[item, 0], sizes[item, 1])
            parts[count + 1, 1] = parts[count, 1] + max(sizes[item, 0], sizes[item, 1])
            count += 1
    line, cross = np.empty(made.size, np.int64), np.empty(made.size, np.int64)
    for h in range(made.size):
        one, other = place[made.query[h]], place[rows + made.stored[h]]
        first = head[made.query[h]]
        if sizes[first, 1] < sizes[first, 0]:
            one, other = other, one
        line[h], cross[h] = parts[number[first], 0] + one, other
    return line, cross, parts[: count + 1]
