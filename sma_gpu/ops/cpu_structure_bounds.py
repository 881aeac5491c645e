"""Optimistic bounds of mappings as loops that numba compiles. Importing this module imports numba.

The same bounds, to the last unit and with the same choice among equals, as ``structure.relaxation``, which says what
they are. Floats enter where they do there, as single operations on numbers that float64 holds exactly. See
``cpu_kernels`` for what else holds of compiled loops.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .cpu_kernels import compiled
from .cpu_structure_assignment import assigned
from .cpu_structure_pairs import Made
from .cpu_structure_relaxation import Relaxed

__all__ = ["quick_bound", "relaxed_bound", "used"]

BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]

_FAR = np.iinfo(np.int64).max


_SLOPE, _SLOPING, _SLOPED, _OPEN = range(4)  # rows of ``slopes``
_WORTH, _PICKED, _PICK = range(3)  # rows of ``picks``
_HYPOTHESIS, _CROSS, _LEFT = range(3)  # rows of ``cells``


@compiled()
def quick_bound(made: Made, best: LongArray, alive: LongArray) -> int:
    """Returns the smaller sum, over the items of either side, of the best value each of them has in ``alive``."""
    least = np.int64(_FAR)
    for items in (made.query, made.stored):
        for h in alive:
            best[items[h]] = 0
        total = np.int64(0)
        for h in alive:
            if made.value[h] > best[items[h]]:
                total += made.value[h] - best[items[h]]
                best[items[h]] = made.value[h]
        least = min(least, total)
    return int(least)


@compiled()
def used(made: Made, relaxed: Relaxed, alive: LongArray, here: BoolArray, held: BoolArray) -> None:
    """Marks in ``held`` [H], among ``alive``, the statement pairs and the entity pairs that they may rest on."""
    for h in alive:
        held[h] = not made.entity[h]
    for h in alive:
        for alternative in range(relaxed.alternatives_ptr[h], relaxed.alternatives_ptr[h + 1]):
            for entry in range(relaxed.entry_ptr[alternative], relaxed.entry_ptr[alternative + 1]):
                pair = relaxed.paid_for[relaxed.entries[entry]]
                held[pair] = here[pair]


@compiled()
def relaxed_bound(
    made: Made,
    relaxed: Relaxed,
    alive: LongArray,
    here: BoolArray,
    enough: int,
    steps: int,
    tuning: LongArray,
    rates: npt.NDArray[np.float64],
) -> int:
    """Returns a bound for the mappings within ``alive``; writes ``chosen``, ``strain`` and ``worth`` of these.

    Args:
        made: the hypotheses.
        relaxed: their relaxed problem; its charges may become better ones.
        alive: int64, hypotheses that keep their support, ascending.
        here: bool ``[H]``, the same as a mask.
        enough: stop when the bound is not above this.
        steps: greatest number of subgradient steps.
        tuning: patience, in steps, at its end.
        rates: how much a stride is shortened, and the share of what is open that counts as gain.
    """
    patience, slower, gain = tuning[-1], rates[0], rates[1]
    trial, slope, sloping = relaxed.trial, relaxed.slopes[_SLOPE], relaxed.slopes[_SLOPING]
    opened = _open(relaxed, alive, here)
    _lay_out(relaxed, alive)
    bound, steepness, slopes = _tried(made, relaxed, here, len(alive), opened)
    least, since, stride = bound, 0, 1.0
    _keep(relaxed, alive, slopes, opened)
    for _ in range(steps):
        if least <= enough or not steepness or since == patience:
            break
        step = stride * (bound - enough) / steepness
        for charge in sloping[:slopes]:
            trial[charge] = max(trial[charge] - np.int64(np.rint(step * slope[charge])), 0)
        bound, steepness, slopes = _tried(made, relaxed, here, len(alive), opened)
        since += 1
        if bound < least:
            if least - bound > gain * (least - enough):
                since = 0
            least = bound
            _keep(relaxed, alive, slopes, opened)
        else:
            stride *= slower
    return int(least)


@compiled()
def _open(relaxed: Relaxed, alive: LongArray, here: BoolArray) -> int:
    """Marks the charges of which payer and receiver are alive and tries them as they are; returns the mark."""
    relaxed.clock[0] += 1
    now, marks, trial = relaxed.clock[0], relaxed.slopes[_OPEN], relaxed.trial
    for h in alive:
        for entry in range(
            relaxed.entry_ptr[relaxed.alternatives_ptr[h]], relaxed.entry_ptr[relaxed.alternatives_ptr[h + 1]]
        ):
            marks[relaxed.entries[entry]] = now
    for h in alive:
        for charge in range(relaxed.charge_ptr[h], relaxed.charge_ptr[h + 1]):
            trial[charge] = relaxed.charges[charge] if marks[charge] == now else 0
    return int(now)


@compiled()
def _lay_out(relaxed: Relaxed, alive: LongArray) -> None:
    """Writes ``alive`` as cells of the assignment."""
    ptr, free, line = relaxed.lines[0], relaxed.lines[3], relaxed.line
    for number in range(len(ptr)):
        ptr[number] = 0
    for h in alive:
        ptr[line[h] + 1] += 1
    for number in range(1, len(ptr)):
        ptr[number] += ptr[number - 1]
        free[number - 1] = ptr[number - 1]
    for h in alive:
        cell = free[line[h]]
        free[line[h]] += 1
        relaxed.cells[_HYPOTHESIS, cell], relaxed.cells[_CROSS, cell] = h, relaxed.cross[h]


@compiled()
def _keep(relaxed: Relaxed, alive: LongArray, slopes: int, opened: int) -> None:
    """Keeps the charges that were tried last, and what they came to."""
    marks = relaxed.slopes[_OPEN]
    for h in alive:
        relaxed.chosen[h] = relaxed.picks[_PICK, h] == relaxed.clock[0]
        relaxed.worth[h], relaxed.strain[h] = relaxed.picks[_WORTH, h], 0
        for charge in range(relaxed.charge_ptr[h], relaxed.charge_ptr[h + 1]):
            if marks[charge] == opened:
                relaxed.charges[charge] = relaxed.trial[charge]
    for charge in relaxed.slopes[_SLOPING, :slopes]:
        relaxed.strain[relaxed.paid_for[charge]] += abs(relaxed.slopes[_SLOPE, charge]) * relaxed.trial[charge]


@compiled()
def _cheapest(relaxed: Relaxed, alternative: int, here: BoolArray) -> int:
    """Returns the first of the smallest charges, now tried, of alternatives whose pairs are alive; -1 for none."""
    found = np.int64(-1)
    for entry in range(relaxed.entry_ptr[alternative], relaxed.entry_ptr[alternative + 1]):
        charge = relaxed.entries[entry]
        if here[relaxed.paid_for[charge]] and (found < 0 or relaxed.trial[charge] < relaxed.trial[found]):
            found = charge
    return int(found)


@compiled()
def _tried(made: Made, relaxed: Relaxed, here: BoolArray, cells: int, opened: int) -> tuple[int, int, int]:
    """Returns the bound under the charges that are tried, the sum of the squares of its slopes, and their number."""
    trial, worth, left = relaxed.trial, relaxed.picks[_WORTH], relaxed.cells[_LEFT]
    alternatives_ptr, entry_ptr, charge_ptr = relaxed.alternatives_ptr, relaxed.entry_ptr, relaxed.charge_ptr
    for cell in range(cells):
        h = relaxed.cells[_HYPOTHESIS, cell]
        received, paid = made.value[h], np.int64(0)
        for charge in range(charge_ptr[h], charge_ptr[h + 1]):
            received += trial[charge]
        if made.arguments[h] > 0:
            for alternative in range(alternatives_ptr[h], alternatives_ptr[h + 1]):
                charge = _cheapest(relaxed, alternative, here)
                if charge >= 0:
                    paid += trial[charge]
        else:  # without alternatives, all that it rests on is alive
            for entry in range(entry_ptr[alternatives_ptr[h]], entry_ptr[alternatives_ptr[h + 1]]):
                paid += trial[relaxed.entries[entry]]
        worth[h], left[cell] = received, received - paid
    bound, picked = _pick(relaxed)

    tick, slope, marks = relaxed.clock[0], relaxed.slopes[_SLOPE], relaxed.slopes[_SLOPED]
    sloping, opens, count = relaxed.slopes[_SLOPING], relaxed.slopes[_OPEN], 0
    for h in relaxed.picks[_PICKED, :picked]:
        for charge in range(charge_ptr[h], charge_ptr[h + 1]):
            if opens[charge] == opened:
                slope[charge], marks[charge], sloping[count] = 1, tick, charge
                count += 1
    for h in relaxed.picks[_PICKED, :picked]:
        for alternative in range(alternatives_ptr[h], alternatives_ptr[h + 1]):
            charge = _cheapest(relaxed, alternative, here)
            if charge < 0:
                continue
            if marks[charge] != tick:
                slope[charge], marks[charge], sloping[count] = 0, tick, charge
                count += 1
            slope[charge] -= 1
    steepness = np.int64(0)
    for charge in sloping[:count]:
        if slope[charge] > 0 and not trial[charge]:
            slope[charge] = 0  # it cannot become less
        steepness += slope[charge] * slope[charge]
    return int(bound), int(steepness), count


@compiled()
def _pick(relaxed: Relaxed) -> tuple[int, int]:
    """Writes the best one-to-one choice of cells as a list, and returns what they come to and how many they are."""
    ptr, cross_of, left, count = relaxed.lines[0], relaxed.cells[_CROSS], relaxed.cells[_LEFT], 0
    total = np.int64(0)
    for part in range(len(relaxed.parts) - 1):
        begin, end = relaxed.parts[part, 0], relaxed.parts[part + 1, 0]
        partner = relaxed.lines[2, begin:end]
        assigned(
            ptr[begin : end + 1], cross_of, left, relaxed.lines[1, begin:end], partner,
            relaxed.parts[part + 1, 1] - relaxed.parts[part, 1], relaxed.crosses, relaxed.clock,
        )  # fmt: skip
        for number in range(begin, end):
            for cell in range(ptr[number], ptr[number + 1]):
                if left[cell] > 0 and cross_of[cell] == partner[number - begin]:
                    relaxed.picks[_PICKED, count] = relaxed.cells[_HYPOTHESIS, cell]
                    count += 1
                    total += left[cell]
    relaxed.clock[0] += 1
    for h in relaxed.picks[_PICKED, :count]:
        relaxed.picks[_PICK, h] = relaxed.clock[0]
    return int(total), count
