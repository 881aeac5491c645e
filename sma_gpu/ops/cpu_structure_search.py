"""Branch and bound over hypotheses as a loop that numba compiles. Importing this module imports numba.

The same nodes in the same order as ``structure.search``, which says how the search goes, and so the same outcome also
where the budget ends it. A set of hypotheses is a list of their numbers, ascending, or a mask. See ``cpu_kernels`` for
what else holds of compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .cpu_kernels import BOOL, INTS, LONG, LONGS, REALS, SOURCES, array_of, compiled
from .cpu_structure_arrays import can_match, grown
from .cpu_structure_bounds import quick_bound, relaxed_bound, used
from .cpu_structure_pairs import Made, Side, hypotheses_of
from .cpu_structure_relaxation import Relaxed, relaxation

__all__ = ["ENDS", "search_span"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

ENDS = ("total", "bound", "nodes", "hypotheses", "entity_pairs")  # rows of what is written
_WHOLE_CELLS, _STEPS_AT_ROOT, _STEPS, _ROUNDING = 0, 1, 2, 3  # places in ``tuning``; patience is the last one


@compiled()
def _without(made: Made, here: BoolArray, waiting: LongArray, gone: int) -> None:
    """Takes from the mask ``here`` what loses its support by the first ``gone`` of ``waiting``, which it lacks already.

    ``waiting`` int64 ``[H]`` is written further.
    """
    done = 0
    while done < gone:
        checked = done
        while done < gone:
            one = waiting[done]
            done += 1
            for at in range(made.dependent_ptr[one], made.dependent_ptr[one + 1]):
                other = made.dependents[at]
                if here[other]:
                    here[other] = False
                    waiting[gone] = other
                    gone += 1
        for at in range(checked, done):
            for place in range(made.watcher_ptr[waiting[at]], made.watcher_ptr[waiting[at] + 1]):
                other = made.watchers[place]
                if here[other] and not _can_pair(made, here, other):
                    here[other] = False
                    waiting[gone] = other
                    gone += 1


@compiled()
def _can_pair(made: Made, here: BoolArray, hypothesis: int) -> bool:
    """Returns whether the arguments of a commutative hypothesis have a perfect matching among those in ``here``."""
    options = made.options[made.option_ptr[hypothesis] : made.option_ptr[hypothesis + 1]]
    able = np.empty(len(options), np.bool_)
    for option in range(len(options)):
        able[option] = here[options[option, 2]]
    return bool(can_match(made.arguments[hypothesis], options, able))


@compiled()
def _take(made: Made, here: BoolArray, waiting: LongArray, hypothesis: int) -> None:
    """Takes from ``here`` what cannot stand beside the kernel mapping of a hypothesis."""
    begin, end, gone = made.closure_ptr[hypothesis], made.closure_ptr[hypothesis + 1], 0
    for at in range(begin, end):
        member = made.closure[at]
        row, column = made.query[member], made.stored[member]
        for place in range(made.row_ptr[row], made.row_ptr[row + 1]):
            other = made.rows[place]
            if here[other] and other != member:
                here[other] = False
                waiting[gone] = other
                gone += 1
        for place in range(made.column_ptr[column], made.column_ptr[column + 1]):
            other = made.columns[place]
            if here[other] and other != member:
                here[other] = False
                waiting[gone] = other
                gone += 1
    _without(made, here, waiting, gone)


@compiled()
def _clear(mask: BoolArray) -> None:
    for at in range(len(mask)):
        mask[at] = False


@compiled()
def _copied(pool: LongArray, begin: int, end: int) -> LongArray:
    found = np.empty(end - begin, np.int64)
    for at in range(begin, end):
        found[at - begin] = pool[at]
    return found


@compiled()
def _listed(here: BoolArray, among: LongArray) -> LongArray:
    """Returns those of ``among`` that are in a mask."""
    found, count = np.empty(len(among), np.int64), 0
    for h in among:
        if here[h]:
            found[count] = h
            count += 1
    return found[:count]


@compiled()
def _contested(
    made: Made,
    alive: LongArray,
    held: BoolArray,
    chosen: BoolArray,
    strain: LongArray,
    worth: LongArray,
    sums: LongArray,
) -> LongArray:
    """Returns the hypotheses of the contested item on which the bound is loosest, by falling promise; none if none is.

    Args:
        made: the hypotheses.
        alive: int64, those that are alive, ascending.
        held: bool ``[H]``, among them those that count.
        chosen: bool ``[H]``, see ``Relaxed``, as for the next two.
        strain: int64 ``[H]``.
        worth: int64 ``[H]``.
        sums: int64 ``[2, items]``, scratch.
    """
    side, item, most, lead_worth = -1, np.int64(-1), np.int64(-1), np.int64(-1)
    for this in range(2):
        items = made.stored if this else made.query
        for h in alive:
            sums[0, items[h]] = sums[1, items[h]] = 0
        for h in alive:
            if held[h]:
                sums[0, items[h]] += 1
                sums[1, items[h]] += strain[h]
        for h in alive:
            if not held[h] or sums[0, items[h]] < 2:
                continue
            tension = sums[1, items[h]]
            # The first of the best of this side; of the other side only what is better.
            if tension > most or (tension == most and worth[h] > lead_worth):
                side, item, most, lead_worth = this, items[h], tension, worth[h]
    if side < 0:
        return np.empty(0, np.int64)
    ptr, members = (made.column_ptr, made.columns) if side else (made.row_ptr, made.rows)
    order, count = np.empty(ptr[item + 1] - ptr[item], np.int64), 0
    for at in range(ptr[item], ptr[item + 1]):
        h = members[at]
        if not held[h]:
            continue
        to = count
        while to and _comes_before(h, order[to - 1], chosen, worth):
            order[to] = order[to - 1]
            to -= 1
        order[to] = h
        count += 1
    return order[:count]


@compiled()
def _comes_before(one: int, other: int, chosen: BoolArray, worth: LongArray) -> bool:
    if chosen[one] != chosen[other]:
        return bool(chosen[one])
    return bool(worth[one] > worth[other])


@compiled()
def _value_of(made: Made, alive: LongArray) -> int:
    """Returns what hypotheses are worth together."""
    total = np.int64(0)
    for h in alive:
        total += made.value[h]
    return int(total)


@compiled()
def _rounded(
    made: Made,
    relaxed: Relaxed,
    alive: LongArray,
    here: BoolArray,
    order: LongArray,
    held: BoolArray,
    sums: LongArray,
    waiting: LongArray,
) -> int:
    """Returns the value of the mapping that takes kernel mappings in a given order as long as they can stand together.

    What is then still contested are arguments of commutative statements. ``here`` [H] becomes the mapping.
    """
    for h in order:
        if here[h]:
            _take(made, here, waiting, h)
    nobody, nothing = np.zeros(made.size, np.bool_), np.zeros(made.size, np.int64)
    while True:
        alive = _listed(here, alive)
        _clear(held)
        used(made, relaxed, alive, here, held)
        contested = _contested(made, alive, held, nobody, nothing, made.value, sums)
        if not len(contested):
            break
        _take(made, here, waiting, contested[0])
    return _value_of(made, alive)


@compiled()
def _descending(values: LongArray) -> LongArray:
    """Returns the places of ``values``, the greatest first, equal ones in their order: by merging."""
    order, other = np.arange(len(values)), np.empty(len(values), np.int64)
    width = 1
    while width < len(values):
        for begin in range(0, len(values), 2 * width):
            middle, end = min(begin + width, len(values)), min(begin + 2 * width, len(values))
            left, right = begin, middle
            for to in range(begin, end):
                if right == end or (left < middle and values[order[left]] >= values[order[right]]):
                    other[to] = order[left]
                    left += 1
                else:
                    other[to] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order


@compiled()
def _by_worth(made: Made) -> LongArray:
    """Returns the hypotheses whose kernel mappings are worth something, those that are worth most first."""
    worth, count = np.zeros(made.size, np.int64), 0
    for h in range(made.size):
        for at in range(made.closure_ptr[h], made.closure_ptr[h + 1]):
            worth[h] += made.value[made.closure[at]]
        count += worth[h] > 0
    return _descending(worth)[:count]


@compiled()
def _search(made: Made, budget: int, tuning: LongArray, rates: FloatArray) -> tuple[int, int, int]:
    """Returns value of the best mapping found, a bound for all of them, and the number of nodes looked at."""
    size = made.size
    if not size:
        return 0, 0, 0
    relaxed = relaxation(made, tuning[_WHOLE_CELLS])
    by_worth, every = _by_worth(made), np.arange(size)
    here, trial, held = np.ones(size, np.bool_), np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    waiting = np.empty(size, np.int64)
    sums = np.zeros((2, max(len(made.row_ptr), len(made.column_ptr))), np.int64)
    total = _rounded(made, relaxed, every, here, by_worth, held, sums, waiting)
    _clear(here)

    pool, depth = np.arange(size), 1  # the members of one open node behind those of the other
    bounds, ends = np.empty(64, np.int64), np.empty(64, np.int64)
    bounds[0], ends[0] = _value_of(made, every), size
    nodes = 0
    while depth:
        bound = bounds[depth - 1]
        if bound <= total:
            depth -= 1
            continue
        if nodes >= budget:
            break
        nodes += 1
        depth -= 1
        begin = ends[depth - 1] if depth else 0
        alive = _copied(pool, begin, ends[depth])
        bound = min(bound, quick_bound(made, relaxed.best, alive))
        if bound <= total:
            continue
        for h in alive:
            here[h] = True
        steps = tuning[_STEPS_AT_ROOT] if nodes == 1 else tuning[_STEPS]
        bound = min(bound, relaxed_bound(made, relaxed, alive, here, total, steps, tuning, rates))
        if bound > total:
            _clear(held)
            used(made, relaxed, alive, here, held)
            order = _contested(made, alive, held, relaxed.chosen, relaxed.strain, relaxed.worth, sums)
            if not len(order):
                total = max(total, _value_of(made, alive))
            elif nodes % tuning[_ROUNDING] == 1:
                for h in alive:
                    trial[h] = True
                first, count = np.empty(2 * len(by_worth), np.int64), 0
                for h in by_worth:
                    if here[h] and relaxed.chosen[h]:
                        first[count] = h
                        count += 1
                for h in by_worth:
                    first[count] = h
                    count += 1
                first = first[:count]
                total = max(total, _rounded(made, relaxed, alive, trial, first, held, sums, waiting))
                for h in alive:
                    trial[h] = False
            if len(order) and bound > total:
                bounds, ends = grown(bounds, depth + len(order) + 1), grown(ends, depth + len(order) + 1)
                for child in range(len(order) + 1):
                    for h in alive:
                        trial[h] = True
                    if child:
                        _take(made, trial, waiting, order[len(order) - child])
                    else:  # none of them
                        for at in range(len(order)):
                            trial[order[at]] = False
                            waiting[at] = order[at]
                        _without(made, trial, waiting, len(order))
                    pool = grown(pool, begin + len(alive))
                    for h in alive:
                        if trial[h]:
                            pool[begin] = h
                            begin += 1
                            trial[h] = False
                    bounds[depth], ends[depth] = bound, begin
                    depth += 1
        for h in alive:
            here[h] = False
    return total, _bound_of_rest(made, relaxed, pool, bounds[:depth], ends[:depth], here, total, tuning, rates), nodes


@compiled()
def _bound_of_rest(
    made: Made,
    relaxed: Relaxed,
    pool: LongArray,
    bounds: LongArray,
    ends: LongArray,
    here: BoolArray,
    total: int,
    tuning: LongArray,
    rates: FloatArray,
) -> int:
    """Returns what no mapping exceeds where these nodes are left, each with the bound of its parent."""
    greatest = total
    for node in _descending(bounds):
        if bounds[node] <= greatest:
            break
        alive = pool[ends[node - 1] if node else 0 : ends[node]]
        for h in alive:
            here[h] = True
        own = relaxed_bound(made, relaxed, alive, here, greatest, 0, tuning, rates)
        for h in alive:
            here[h] = False
        greatest = max(greatest, int(min(bounds[node], own)))
    return greatest


@compiled()
def _entity_pairs(mine: Side, query: int, theirs: Side, case: int) -> int:
    """Returns how many pairs of entities a one-to-one mapping can hold."""
    ours = mine.constants[mine.entity_ptr[query] : mine.entity_ptr[query + 1]]
    others = theirs.constants[theirs.entity_ptr[case] : theirs.entity_ptr[case + 1]]
    same, free, their_free = 0, 0, 0
    for other in others:
        their_free += other < 0
    for constant in ours:
        free += constant < 0
        if constant >= 0:
            for other in others:
                same += constant == other
    return int(same + min(free, their_free))


def _kept(sources: int) -> Callable[..., None]:
    """Returns the function below, compiled for this state of the ``sources``; see ``cpu_kernels``."""

    @compiled(
        LONG, LONG, LONGS, LONGS,
        LONGS, LONGS, LONGS, INTS, array_of(BOOL), LONGS, LONGS,
        LONGS, INTS, LONGS, INTS, array_of(BOOL), LONGS, LONGS,
        LONGS, INTS, LONGS, LONG, LONGS, REALS, array_of(LONG, 2, written=True),
    )  # fmt: skip
    def span(
        start: int, stop: int, query: LongArray, case: LongArray,
        query_ptr: LongArray, query_kinds: LongArray, query_arg_ptr: LongArray, query_args: IntArray,
        query_commutative: BoolArray, query_entity_ptr: LongArray, query_constants: LongArray,
        case_ptr: LongArray, case_kinds: IntArray, case_arg_ptr: LongArray, case_args: IntArray,
        case_commutative: BoolArray, case_entity_ptr: LongArray, case_constants: LongArray,
        table_ptr: LongArray, table_stored: IntArray, table_value: LongArray,
        budget: int, tuning: LongArray, rates: FloatArray, found: LongArray,
    ) -> None:  # fmt: skip
        if sources < 0:
            return
        mine = Side(
            query_ptr, query_kinds, query_arg_ptr, query_args, query_commutative, query_entity_ptr, query_constants
        )
        theirs = Side(case_ptr, case_kinds, case_arg_ptr, case_args, case_commutative, case_entity_ptr, case_constants)
        for pair in range(start, stop):
            made = hypotheses_of(mine, query[pair], theirs, case[pair], table_ptr, table_stored, table_value)
            found[0, pair], found[1, pair], found[2, pair] = _search(made, budget, tuning, rates)
            found[3, pair], found[4, pair] = made.size, _entity_pairs(mine, query[pair], theirs, case[pair])

    return span


search_span = _kept(SOURCES)
"""Writes the outcome of pairs ``start`` to ``stop`` into ``found``, int64 ``[5, P]``; its rows are named by ``ENDS``.

The other arguments are the fields of ``StructurePairs``, of both sides and of the table; the node budget; and the
settings of the search: ``tuning`` has whole cells, steps at the root and below, nodes between two roundings, patience,
``rates`` how much a stride is shortened and what counts as gain.
"""
