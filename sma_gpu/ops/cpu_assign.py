"""Assign as a loop that numba compiles; ``cpu`` calls it. See ``cpu_kernels`` for what holds here too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .cpu_kernels import INTS, LONG, LONGS, array_of, compiled

__all__ = ["assign_span"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_FAR = np.iinfo(np.int64).max


@compiled()
def _greatest_matching(
    ptr: LongArray, column_of: LongArray, value_of: LongArray, columns: int, scratch: LongArray
) -> int:
    """Returns the greatest total value of a one-to-one matching, over edges by row.

    Rows come in one by one, each along a shortest path of exchanges (Kuhn 1955; Jonker and Volgenant 1987) that ends at
    a column nobody has, or at a row that is better left out. ``profit[row] + price[column] >= value`` holds for every
    edge, with equality in the matching, and a row or column left out has 0: hence the sum of both is the optimum.

    Args:
        ptr: int64 ``[rows + 1]``.
        column_of: int64 ``[edges]``.
        value_of: int64 ``[edges]``, above 0.
        columns: number of columns.
        scratch: int64 ``[8, n]``, at least as wide as there are rows and columns.
    """
    rows = len(ptr) - 1
    profit, partner = scratch[0], scratch[1]
    price, holder, distance, came_from, reached, settled = (
        scratch[2], scratch[3], scratch[4], scratch[5], scratch[6], scratch[7]
    )  # fmt: skip
    profit[:rows] = 0
    partner[:rows] = -1
    price[:columns] = 0
    holder[:columns] = -1
    distance[:columns] = _FAR

    for entering in range(rows):
        wanted = -1
        for edge in range(ptr[entering], ptr[entering + 1]):
            gain = value_of[edge] - price[column_of[edge]]
            if gain > profit[entering]:
                profit[entering], wanted = gain, column_of[edge]
        if wanted < 0:
            continue
        if holder[wanted] < 0:
            holder[wanted], partner[entering] = entering, wanted
            continue

        end_column, end_row, length = -1, entering, profit[entering]  # the shortest end so far: staying out
        row, walked, waiting, done = entering, np.int64(0), 0, 0
        while True:
            for edge in range(ptr[row], ptr[row + 1]):
                column = column_of[edge]
                through = walked + profit[row] + price[column] - value_of[edge]
                if through >= length or through >= distance[column]:
                    continue
                came_from[column] = row
                if holder[column] < 0:
                    end_column, length = column, through
                    continue
                if distance[column] == _FAR:
                    reached[waiting] = column
                    waiting += 1
                distance[column] = through
            if not waiting:
                break
            nearest = 0
            for place in range(1, waiting):
                if distance[reached[place]] < distance[reached[nearest]]:
                    nearest = place
            column = reached[nearest]
            if distance[column] >= length:
                break
            waiting -= 1
            reached[nearest] = reached[waiting]
            settled[done] = column
            done += 1
            row, walked = holder[column], distance[column]
            if walked + profit[row] < length:
                end_column, end_row, length = -1, row, walked + profit[row]

        profit[entering] -= length
        for place in range(done):
            column = settled[place]
            price[column] += length - distance[column]
            profit[holder[column]] -= length - distance[column]
            distance[column] = _FAR
        for place in range(waiting):
            distance[reached[place]] = _FAR

        column = end_column
        if column < 0:
            column = partner[end_row]  # none where the entering row itself stays out
            partner[end_row] = -1
        while column >= 0:
            row = came_from[column]
            holder[column] = row
            column, partner[row] = partner[row], column
    return int(profit[:rows].sum() + price[:columns].sum())


@compiled(
    LONG, LONG, LONGS, INTS, LONGS, LONGS, LONGS, LONGS, LONGS, LONGS, INTS, LONG,
    array_of(LONG, written=True),
)  # fmt: skip
def assign_span(
    start: int,
    stop: int,
    table_ptr: LongArray,
    table_stored: IntArray,
    table_value: LongArray,
    query: LongArray,
    case: LongArray,
    query_ptr: LongArray,
    query_rows: LongArray,
    case_ptr: LongArray,
    case_kinds: IntArray,
    entity_value: int,
    scores: LongArray,
) -> None:
    """Writes the scores of pairs ``start`` to ``stop``.

    For each query, a chain per stored kind holds what its statements pay for that kind; a case walks the chains of its
    kinds. Where the best pairs of the query's statements take different statements of the case, they are the matching.

    Args:
        start: first pair.
        stop: the pair after the last.
        table_ptr: int64 ``[F + 1]``.
        table_stored: int32 ``[entries]``.
        table_value: int64 ``[entries]``.
        query: int64 ``[P]``; pairs of one query stand together.
        case: int64 ``[P]``.
        query_ptr: int64 ``[B + 1]``.
        query_rows: int64 ``[.]``.
        case_ptr: int64 ``[N + 1]``.
        case_kinds: int32 ``[.]``.
        entity_value: value of a pair of entities, units of 2^-16 bit.
        scores: int64 ``[P]``, written.
    """
    kinds, rows, columns = 0, 0, 0
    for pair in range(start, stop):
        columns = max(columns, case_ptr[case[pair] + 1] - case_ptr[case[pair]])
        if pair > start and query[pair] == query[pair - 1]:
            continue
        rows = max(rows, query_ptr[query[pair] + 1] - query_ptr[query[pair]])
        for at in range(query_ptr[query[pair]], query_ptr[query[pair] + 1]):
            for entry in range(table_ptr[query_rows[at]], table_ptr[query_rows[at] + 1]):
                kinds = max(kinds, table_stored[entry] + 1)
    head = np.full(kinds, -1, np.int32)
    link, payee = np.empty(0, np.int64), np.empty(0, np.int64)
    payer, pays = np.empty(0, np.int64), np.empty(0, np.int64)
    used = 0
    best, where, row_ptr = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows + 1, np.int64)
    scratch = np.empty((8, max(rows, columns)), np.int64)
    taken_by = np.full(columns, -1, np.int64)
    edge_column, edge_value = np.empty(0, np.int64), np.empty(0, np.int64)
    open_query = -1

    for pair in range(start, stop):
        first_row, last_row = query_ptr[query[pair]], query_ptr[query[pair] + 1]
        if query[pair] != open_query:
            open_query = query[pair]
            for entry in range(used):
                head[payee[entry]] = -1
            used = 0
            for at in range(first_row, last_row):
                used += table_ptr[query_rows[at] + 1] - table_ptr[query_rows[at]]
            if used > len(link):
                link, payee = np.empty(used, np.int64), np.empty(used, np.int64)
                payer, pays = np.empty(used, np.int64), np.empty(used, np.int64)
            used = 0
            for at in range(first_row, last_row):
                for entry in range(table_ptr[query_rows[at]], table_ptr[query_rows[at] + 1]):
                    kind = table_stored[entry]
                    link[used], payee[used] = head[kind], kind
                    payer[used], pays[used] = at - first_row, table_value[entry]
                    head[kind] = used
                    used += 1

        first, last = case_ptr[case[pair]], case_ptr[case[pair] + 1]
        edges = 0
        best[: last_row - first_row] = 0
        for at in range(first, last):
            entry = head[case_kinds[at]] if case_kinds[at] < kinds else -1
            while entry >= 0:
                if pays[entry] > best[payer[entry]]:
                    best[payer[entry]], where[payer[entry]] = pays[entry], at - first
                edges += 1
                entry = link[entry]
        total, competing = 0, False
        for row in range(last_row - first_row):
            if best[row]:
                total += best[row]
                competing = competing or taken_by[where[row]] == pair
                taken_by[where[row]] = pair

        if competing:
            if edges > len(edge_column):
                edge_column, edge_value = np.empty(2 * edges, np.int64), np.empty(2 * edges, np.int64)
            row_ptr[:] = 0
            for at in range(first, last):
                entry = head[case_kinds[at]] if case_kinds[at] < kinds else -1
                while entry >= 0:
                    row_ptr[payer[entry] + 1] += 1
                    entry = link[entry]
            for row in range(last_row - first_row):
                where[row] = row_ptr[row]
                row_ptr[row + 1] += row_ptr[row]
            for at in range(first, last):
                entry = head[case_kinds[at]] if case_kinds[at] < kinds else -1
                while entry >= 0:
                    edge = where[payer[entry]]
                    where[payer[entry]] = edge + 1
                    edge_column[edge], edge_value[edge] = at - first, pays[entry]
                    entry = link[entry]
            part = row_ptr[: last_row - first_row + 1]
            total = _greatest_matching(part, edge_column, edge_value, last - first, scratch)
        scores[pair] = entity_value + total if total else 0
