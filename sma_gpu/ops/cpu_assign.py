"""Assign as a loop that numba compiles; ``cpu`` calls it. See ``cpu_kernels`` for what holds here too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .cpu_kernels import INTS, LONG, LONGS, array_of, compiled

__all__ = ["assign_span", "chain_sizes", "chain_up", "edges_by_row", "greatest_matching", "score_of"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_FAR = np.iinfo(np.int64).max


@compiled()
def greatest_matching(
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
        scratch: int64 ``[8, n]``, at least as wide as there are rows and columns. It is left with profits, the column
            of each row or -1, prices, and the row of each column or -1.
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


@compiled()
def chain_sizes(table_ptr: LongArray, table_stored: IntArray, rows: LongArray) -> tuple[int, int]:
    """Returns how many entries the chains of a query have, and one more than their greatest stored kind."""
    used, kinds = 0, 0
    for at in range(len(rows)):
        used += table_ptr[rows[at] + 1] - table_ptr[rows[at]]
        if table_ptr[rows[at] + 1] > table_ptr[rows[at]]:  # kinds ascend within a row
            kinds = max(kinds, table_stored[table_ptr[rows[at] + 1] - 1] + 1)
    return used, kinds


@compiled()
def chain_up(
    table_ptr: LongArray,
    table_stored: IntArray,
    table_value: LongArray,
    rows: LongArray,
    used: int,
    head: IntArray,
    links: LongArray,
) -> int:
    """Hangs what the statements of a query pay for each stored kind into a chain for that kind.

    Args:
        table_ptr: int64 ``[F + 1]``.
        table_stored: int32 ``[pairs]``.
        table_value: int64 ``[pairs]``.
        rows: rows of the table, one for each statement.
        used: entries of the chains of the query before, which are taken down; what this returned then.
        head: int32 ``[kinds]``, first entry of each kind's chain, or -1.
        links: int64 ``[5, n]``: next entry of the chain or -1, kind, statement, value, entry of the table.

    Returns:
        The number of entries.
    """
    for entry in range(used):
        head[links[1, entry]] = -1
    used = 0
    for at in range(len(rows)):
        for entry in range(table_ptr[rows[at]], table_ptr[rows[at] + 1]):
            kind = table_stored[entry]
            links[0, used], links[1, used], links[2, used] = head[kind], kind, at
            links[3, used], links[4, used] = table_value[entry], entry
            head[kind] = used
            used += 1
    return used


@compiled()
def edges_by_row(
    head: IntArray, links: LongArray, rows: int, kinds: IntArray, row_ptr: LongArray, where: LongArray, edges: LongArray
) -> None:
    """Writes the pairs of a query and a case by row, columns ascending.

    Args:
        head: of the query's chains.
        links: likewise.
        rows: statements of the query.
        kinds: stored kinds of the case.
        row_ptr: int64 ``[rows + 1]`` or longer, written.
        where: int64 ``[rows]`` or longer, scratch.
        edges: int64 ``[3, n]``: column, value, entry of the chains; written.
    """
    row_ptr[: rows + 1] = 0
    for column in range(len(kinds)):
        entry = head[kinds[column]] if kinds[column] < len(head) else -1
        while entry >= 0:
            row_ptr[links[2, entry] + 1] += 1
            entry = links[0, entry]
    for row in range(rows):
        where[row] = row_ptr[row]
        row_ptr[row + 1] += row_ptr[row]
    for column in range(len(kinds)):
        entry = head[kinds[column]] if kinds[column] < len(head) else -1
        while entry >= 0:
            edge = where[links[2, entry]]
            where[links[2, entry]] = edge + 1
            edges[0, edge], edges[1, edge], edges[2, edge] = column, links[3, entry], entry
            entry = links[0, entry]


@compiled()
def score_of(
    head: IntArray,
    links: LongArray,
    rows: int,
    kinds: IntArray,
    entity_value: int,
    mark: int,
    best: LongArray,
    where: LongArray,
    row_ptr: LongArray,
    taken_by: LongArray,
    edges: LongArray,
    scratch: LongArray,
) -> int:
    """Returns the score of a query and a case.

    The case walks the chains of its kinds. Where the best pairs of the query's statements take different statements of
    the case, they are the matching.

    Args:
        head: of the query's chains.
        links: likewise.
        rows: statements of the query.
        kinds: stored kinds of the case.
        entity_value: value of a pair of entities, units of 2^-16 bit.
        mark: a number that was not used with ``taken_by`` before.
        best: int64 ``[rows]`` or longer, scratch, as are the following.
        where: int64 ``[rows]`` or longer.
        row_ptr: int64 ``[rows + 1]`` or longer.
        taken_by: int64, as long as the case or longer.
        edges: int64 ``[3, n]``, as wide as the chains have entries.
        scratch: int64 ``[8, n]``, as wide as the query and the case.
    """
    best[:rows] = 0
    for column in range(len(kinds)):
        entry = head[kinds[column]] if kinds[column] < len(head) else -1
        while entry >= 0:
            row = links[2, entry]
            if links[3, entry] > best[row]:
                best[row], where[row] = links[3, entry], column
            entry = links[0, entry]
    total, competing = 0, False
    for row in range(rows):
        if best[row]:
            total += best[row]
            competing = competing or taken_by[where[row]] == mark
            taken_by[where[row]] = mark
    if competing:
        edges_by_row(head, links, rows, kinds, row_ptr, where, edges)
        total = greatest_matching(row_ptr[: rows + 1], edges[0], edges[1], len(kinds), scratch)
    return entity_value + total if total else 0


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
    rows, columns, kinds, entries = 0, 0, 0, 0
    for pair in range(start, stop):
        columns = max(columns, case_ptr[case[pair] + 1] - case_ptr[case[pair]])
        if pair > start and query[pair] == query[pair - 1]:
            continue
        part = query_rows[query_ptr[query[pair]] : query_ptr[query[pair] + 1]]
        used, most = chain_sizes(table_ptr, table_stored, part)
        rows, kinds, entries = max(rows, len(part)), max(kinds, most), max(entries, used)
    head, links = np.full(kinds, -1, np.int32), np.empty((5, entries), np.int64)
    best, where, row_ptr = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows + 1, np.int64)
    taken_by, edges = np.full(columns, -1, np.int64), np.empty((3, entries), np.int64)
    scratch = np.empty((8, max(rows, columns)), np.int64)
    used, held = 0, 0
    for pair in range(start, stop):
        if pair == start or query[pair] != query[pair - 1]:
            part = query_rows[query_ptr[query[pair]] : query_ptr[query[pair] + 1]]
            held = len(part)
            used = chain_up(table_ptr, table_stored, table_value, part, used, head, links)
        scores[pair] = score_of(
            head, links, held, case_kinds[case_ptr[case[pair]] : case_ptr[case[pair] + 1]], entity_value, pair,
            best, where, row_ptr, taken_by, edges, scratch,
        )  # fmt: skip
