"""Match hypotheses of one pair of cases as loops that numba compiles. Importing this module imports numba.

The same hypotheses, in the same order, as ``structure.hypotheses``, which says what they are; sets of small numbers are
arrays here. See ``cpu_kernels`` for what else holds of compiled loops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .cpu_kernels import compiled
from .cpu_structure_arrays import can_match, column, csr, found, grown, owners, taken

__all__ = ["Made", "Side", "hypotheses_of"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_ENTITY = -1  # where a statement pair has its number of distinct arguments


class Side(NamedTuple):
    """The items of many cases; those of one are numbered as in ``CaseItems``.

    Attributes:
        ptr: int64 ``[N + 1]``, statements by case.
        kinds: int64 or int32 ``[S]``, what the pair table knows each statement by: its row, or its stored kind.
        arg_ptr: int64 ``[S + 1]``.
        args: int32 ``[arguments]``.
        commutative: bool ``[S]``.
        entity_ptr: int64 ``[N + 1]``.
        constants: int64 ``[entities]``, the same number for the same constant, -1 for what is none.
    """

    ptr: LongArray
    kinds: npt.NDArray[np.integer]
    arg_ptr: LongArray
    args: IntArray
    commutative: BoolArray
    entity_ptr: LongArray
    constants: LongArray


class Made(NamedTuple):
    """The ``H`` hypotheses of one pair.

    Attributes:
        size: ``H``.
        query: int64 ``[H]``, item of the query.
        stored: int64 ``[H]``, item of the stored case.
        value: int64 ``[H]``, units of 2^-16 bit; 0 for entity pairs.
        entity: bool ``[H]``.
        support_ptr: int64 ``[H + 1]``.
        support: int64, hypotheses that pair the arguments; none for a commutative one.
        closure_ptr: int64 ``[H + 1]``.
        closure: int64, what certainly comes with each, itself last, ascending.
        option_ptr: int64 ``[H + 1]``.
        options: int64 ``[., 3]``, of each commutative one the ways to pair an argument with an argument: the place of
            either among its distinct arguments, ascending, and the hypothesis.
        arguments: int64 ``[H]``, distinct arguments of a commutative one on either side; 0 for others, -1 for entities.
        row_ptr, rows: hypotheses by item of the query, ascending within one.
        column_ptr, columns: likewise by item of the stored case.
        dependent_ptr, dependents: by hypothesis, those that it supports.
        watcher_ptr, watchers: by hypothesis, those that have it among their options.
    """

    size: int
    query: LongArray
    stored: LongArray
    value: LongArray
    entity: BoolArray
    support_ptr: LongArray
    support: LongArray
    closure_ptr: LongArray
    closure: LongArray
    option_ptr: LongArray
    options: LongArray
    arguments: LongArray
    row_ptr: LongArray
    rows: LongArray
    column_ptr: LongArray
    columns: LongArray
    dependent_ptr: LongArray
    dependents: LongArray
    watcher_ptr: LongArray
    watchers: LongArray


@compiled()
def _candidates(
    mine: Side, query: int, theirs: Side, case: int, ptr: LongArray, stored: IntArray, value: LongArray
) -> tuple[LongArray, LongArray, LongArray]:
    """Returns pointers by statement of the query and, ascending, statements of the case and values of the pairs."""
    lo, low = mine.ptr[query], theirs.ptr[case]
    size, other = mine.ptr[query + 1] - lo, theirs.ptr[case + 1] - low
    pays = np.zeros(other, np.int64)
    first = np.zeros(size + 1, np.int64)
    partner, worth = np.empty(other, np.int64), np.empty(other, np.int64)
    count, known = 0, np.int64(-1)
    for at in range(size):
        row = mine.kinds[lo + at]
        if row != known:  # statements of one kind mostly stand together
            known = row
            for one in range(other):
                kind = theirs.kinds[low + one]
                if one and kind == theirs.kinds[low + one - 1]:
                    pays[one] = pays[one - 1]
                    continue
                entry = found(stored, ptr[row], ptr[row + 1], kind)
                pays[one] = value[entry] if entry >= 0 else 0
        partner, worth = grown(partner, count + other), grown(worth, count + other)
        for one in range(other):
            if pays[one]:
                partner[count], worth[count] = one, pays[one]
                count += 1
        first[at + 1] = count
    return first, partner[:count], worth[:count]


# Hypotheses being made are rows of int64 ``[room, 7]``, and ``used`` counts what the arrays hold.
_QUERY, _STORED, _VALUE, _ARGUMENTS, _SUPPORT_END, _CLOSURE_END, _OPTION_END = range(7)
_HELD, _SUPPORTS, _CLOSED, _OPTIONS = range(4)


@compiled()
def _append(
    draft: LongArray, used: LongArray, closure: LongArray, query: int, stored: int, value: int, arguments: int
) -> int:
    """Appends a hypothesis, what comes with it being entered already, and returns its number."""
    number = used[_HELD]
    closure[used[_CLOSED]] = number
    used[_CLOSED] += 1
    used[_HELD] += 1
    row = draft[number]
    row[_QUERY], row[_STORED], row[_VALUE], row[_ARGUMENTS] = query, stored, value, arguments
    row[_SUPPORT_END], row[_CLOSURE_END], row[_OPTION_END] = used[_SUPPORTS], used[_CLOSED], used[_OPTIONS]
    return int(number)


@compiled()
def _entity_pair(
    draft: LongArray, used: LongArray, closure: LongArray, known: LongArray, key: int, query: int, stored: int
) -> int:
    """Returns the hypothesis of two entities, entered now if it was not.

    ``known`` int64 ``[places, 2]`` holds keys and numbers; places are a power of two, the key of a free one is -1.
    """
    last = len(known) - 1
    at = (key * np.int64(0x9E3779B97F4A7C1) >> np.int64(24)) & last
    while known[at, 0] != key:
        if known[at, 0] < 0:
            known[at, 0], known[at, 1] = key, _append(draft, used, closure, query, stored, 0, _ENTITY)
            break
        at = (at + 1) & last
    return int(known[at, 1])


@compiled()
def _distinct(args: IntArray) -> tuple[LongArray, LongArray]:
    """Returns the distinct arguments, ascending, and how often each stands."""
    found, times, count = np.empty(len(args), np.int64), np.empty(len(args), np.int64), 0
    for argument in args:
        place = count
        while place and found[place - 1] > argument:
            place -= 1
        if place and found[place - 1] == argument:
            times[place - 1] += 1
            continue
        for at in range(count, place, -1):
            found[at], times[at] = found[at - 1], times[at - 1]
        found[place], times[place] = argument, 1
        count += 1
    return found[:count], times[:count]


@compiled()
def _ways_in_order(mine: IntArray, theirs: IntArray, ways: LongArray) -> int:
    """Writes the pairs of arguments position by position, places and then items, and returns their number."""
    for at in range(len(mine)):
        ways[at, 0], ways[at, 1], ways[at, 2], ways[at, 3] = at, at, mine[at], theirs[at]
    return len(mine)


@compiled()
def _ways_in_any_order(mine: IntArray, theirs: IntArray, ways: LongArray) -> tuple[int, int]:
    """Writes the pairs of distinct arguments that stand equally often, places and then items.

    Returns:
        How many there are, and the number of distinct arguments, -1 if it is not the same on both sides.
    """
    left, times = _distinct(mine)
    right, their_times = _distinct(theirs)
    asked = 0
    for i in range(len(left)):
        for j in range(len(right)):
            if times[i] == their_times[j]:
                ways[asked, 0], ways[asked, 1], ways[asked, 2], ways[asked, 3] = i, j, left[i], right[j]
                asked += 1
    return asked, len(left) if len(left) == len(right) else -1


@compiled()
def _enclosed(
    draft: LongArray, closure: LongArray, begin: int, ways: LongArray, asked: int, seen: LongArray, stamp: int
) -> tuple[LongArray, int]:
    """Writes what comes with the hypotheses of the arguments into ``closure`` from ``begin``.

    Returns:
        ``closure``, perhaps longer, and where what was written ends; -1 if that is not one-to-one.
    """
    # ``seen`` has marks by hypothesis, item of the query and stored item; ``stamp`` is one that no mark equals.
    end = begin
    for way in range(asked):
        support = ways[way, 4]
        first, last = draft[support - 1, _CLOSURE_END] if support else 0, draft[support, _CLOSURE_END]
        if end + last - first >= len(closure):
            closure = grown(closure, end + last - first + 1)
        for at in range(first, last):
            member = closure[at]
            if seen[0, member] == stamp:
                continue
            query, stored = draft[member, _QUERY], draft[member, _STORED]
            if seen[1, query] == stamp or seen[2, stored] == stamp:
                return closure, -1
            seen[0, member] = seen[1, query] = seen[2, stored] = stamp
            place = end
            while place > begin and closure[place - 1] > member:
                closure[place] = closure[place - 1]
                place -= 1
            closure[place] = member
            end += 1
    return closure, end


@compiled()
def hypotheses_of(
    mine: Side, query: int, theirs: Side, case: int, table_ptr: LongArray, table_stored: IntArray, values: LongArray
) -> Made:
    """Returns the hypotheses of one query and one stored case.

    Args:
        mine: the queries, their ``kinds`` being rows of the table.
        query: number of the query.
        theirs: the stored cases.
        case: number of the case.
        table_ptr: int64 ``[F + 1]``.
        table_stored: int32 ``[entries]``, ascending within a row.
        values: int64 ``[entries]``, above 0.
    """
    lo, low = mine.ptr[query], theirs.ptr[case]
    size, other = mine.ptr[query + 1] - lo, theirs.ptr[case + 1] - low
    own, others = mine.entity_ptr[query], theirs.entity_ptr[case]
    items = size + mine.entity_ptr[query + 1] - own
    their_items = other + theirs.entity_ptr[case + 1] - others
    first, partner, worth = _candidates(mine, query, theirs, case, table_ptr, table_stored, values)
    number_of = np.full(len(partner), -1, np.int64)

    most, widest = 0, 0  # entity pairs that can be asked for, ways of one pair of statements
    for q in range(size):
        arity = mine.arg_ptr[lo + q + 1] - mine.arg_ptr[lo + q]
        ways_of_one = arity * arity if mine.commutative[lo + q] else arity
        most += ways_of_one * (first[q + 1] - first[q])
        widest = max(widest, ways_of_one)
    most = min(most, (items - size) * (their_items - other))
    room = len(partner) + most
    places = 2
    while places < 2 * most:
        places *= 2
    known = np.full((places, 2), -1, np.int64)
    draft, used = np.empty((room, 7), np.int64), np.zeros(4, np.int64)
    closure, support, options = np.empty(room + 1, np.int64), np.empty(room + 1, np.int64), np.empty(0, np.int64)
    seen = np.full((3, max(room, items, their_items)), -1, np.int64)
    ways = np.empty((widest, 5), np.int64)

    for q in range(size):
        my_args = mine.args[mine.arg_ptr[lo + q] : mine.arg_ptr[lo + q + 1]]
        for candidate in range(first[q], first[q + 1]):
            c = partner[candidate]
            their_args = theirs.args[theirs.arg_ptr[low + c] : theirs.arg_ptr[low + c + 1]]
            if len(their_args) != len(my_args):
                continue
            commute = mine.commutative[lo + q] and theirs.commutative[low + c]
            if commute:
                asked, distinct = _ways_in_any_order(my_args, their_args, ways)
            else:
                asked, distinct = _ways_in_order(my_args, their_args, ways), 0
            if used[_CLOSED] + asked >= len(closure):
                closure = grown(closure, used[_CLOSED] + asked + 1)
            held = 0
            for way in range(asked):  # all of them: entity pairs are entered even if the pair comes to nothing
                a, b, number = ways[way, 2], ways[way, 3], np.int64(-1)
                if a < size and b < other:
                    at = found(partner, first[a], first[a + 1], b)
                    if at >= 0:
                        number = number_of[at]
                elif (
                    a >= size and b >= other and mine.constants[own + a - size] == theirs.constants[others + b - other]
                ):
                    number = np.int64(_entity_pair(draft, used, closure, known, a * their_items + b, a, b))
                if number >= 0:
                    ways[held, 0], ways[held, 1], ways[held, 4] = ways[way, 0], ways[way, 1], number
                    held += 1
            if commute:
                if distinct < 0 or not can_match(distinct, ways[:held], np.ones(held, np.bool_)):
                    continue
                options = grown(options, 3 * (used[_OPTIONS] + held))
                for way in range(held):
                    at = 3 * (used[_OPTIONS] + way)
                    options[at], options[at + 1], options[at + 2] = ways[way, 0], ways[way, 1], ways[way, 4]
                used[_OPTIONS] += held
            else:
                if held < asked:
                    continue
                closure, end = _enclosed(draft, closure, used[_CLOSED], ways, asked, seen, candidate)
                if end < 0:
                    continue
                used[_CLOSED] = end
                if used[_SUPPORTS] + asked > len(support):
                    support = grown(support, used[_SUPPORTS] + asked)
                for way in range(asked):
                    support[used[_SUPPORTS] + way] = ways[way, 4]
                used[_SUPPORTS] += asked
            if used[_CLOSED] == len(closure):
                closure = grown(closure, used[_CLOSED] + 1)
            number_of[candidate] = _append(draft, used, closure, q, c, worth[candidate], distinct)
    held = used[_HELD]
    table = np.empty((used[_OPTIONS], 3), np.int64)
    for option in range(used[_OPTIONS]):
        for at in range(3):
            table[option, at] = options[3 * option + at]
    return _made(draft[:held], items, their_items, support[: used[_SUPPORTS]], closure[: used[_CLOSED]], table)


@compiled()
def _made(
    draft: LongArray, items: int, their_items: int, support: LongArray, closure: LongArray, options: LongArray
) -> Made:
    """Returns the hypotheses with all that is looked up from the other end."""
    size = len(draft)
    query, stored = column(draft, _QUERY, 0), column(draft, _STORED, 0)
    value, arguments, entity = column(draft, _VALUE, 0), column(draft, _ARGUMENTS, 0), np.empty(size, np.bool_)
    for number in range(size):
        entity[number] = arguments[number] == _ENTITY
    support_ptr, closure_ptr, option_ptr = (
        column(draft, _SUPPORT_END, 1), column(draft, _CLOSURE_END, 1), column(draft, _OPTION_END, 1)
    )  # fmt: skip
    row_ptr, rows = csr(query, items)
    column_ptr, columns = csr(stored, their_items)
    dependent_ptr, dependents = csr(support, size)
    watcher_ptr, watchers = csr(column(options, 2, 0), size)
    return Made(
        size, query, stored, value, entity,
        support_ptr, support, closure_ptr, closure, option_ptr, options, arguments,
        row_ptr, rows, column_ptr, columns,
        dependent_ptr, taken(owners(support_ptr), dependents), watcher_ptr, taken(owners(option_ptr), watchers),
    )  # fmt: skip
