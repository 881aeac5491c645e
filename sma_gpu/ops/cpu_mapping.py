"""Canonical mappings of plain pairs, as a loop that numba compiles. See ``cpu_kernels`` for what holds here too.

``retrieval/explain.py: canonical_matching`` defines them: the first of all optimal matchings, read row by row, smaller
columns first and none last. Here one optimal matching is changed step by step. With its profits and prices (see
``greatest_matching``) a matching is optimal exactly if all its pairs are tight, profit and price together their value,
and it leaves out no row with a profit and no column with a price. That a choice can be completed to such a matching is
found by a path of exchanges for the row it displaces and one for the column it gives up: rows and columns that can be
covered each can be covered together (Mendelsohn and Dulmage 1958).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .cpu_assign import chain_sizes, chain_up, edges_by_row, greatest_matching
from .cpu_kernels import INTS, LONG, LONGS, SOURCES, array_of, compiled

__all__ = ["map_span"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@compiled()
def _give(column: int, came_from: LongArray, partner: LongArray, holder: LongArray, starts: LongArray) -> None:
    """Gives a column to the row that reached it, whose own goes to the row before, and so on to a row of the start."""
    while True:
        row = came_from[column]
        given_up = partner[row]
        partner[row], holder[column] = column, row
        if starts[row]:
            if given_up >= 0:
                holder[given_up] = -1
            break
        column = given_up


@compiled()
def _cover_row(start: int, settled: int, ptr: LongArray, edges: LongArray, duals: LongArray, work: LongArray) -> bool:
    """Gives a column to a row that has none, by exchanges among the rows above ``settled``; False if none does.

    Args:
        start: the row.
        settled: rows up to this one keep their columns.
        ptr: int64 ``[rows + 1]``.
        edges: int64 ``[2 or more, edges]``: columns and values.
        duals: int64 ``[4, n]``: profits, columns of rows, prices, rows of columns.
        work: int64 ``[4, n]``, scratch.
    """
    profit, partner, price, holder = duals[0], duals[1], duals[2], duals[3]
    came_from, waiting, seen, starts = work[0], work[1], work[2], work[3]
    rows = len(ptr) - 1
    seen[:rows], starts[:rows] = 0, 0
    waiting[0], seen[start], starts[start] = start, 1, 1
    first, last = 0, 1
    while first < last:
        row = waiting[first]
        first += 1
        for edge in range(ptr[row], ptr[row + 1]):
            column = edges[0, edge]
            if profit[row] + price[column] != edges[1, edge]:
                continue
            other = holder[column]
            if other >= 0 and (other <= settled or seen[other]):
                continue
            came_from[column] = row
            if other < 0 or profit[other] == 0:  # nobody has it, or one who may go without
                if other >= 0:
                    partner[other] = -1
                _give(column, came_from, partner, holder, starts)
                return True
            seen[other], waiting[last] = 1, other
            last += 1
    return False


@compiled()
def _cover_column(goal: int, settled: int, ptr: LongArray, edges: LongArray, duals: LongArray, work: LongArray) -> bool:
    """Gives a row to a column that has none, by exchanges among the rows above ``settled``; False if none does.

    The first row to move has no column, or one without a price. Other arguments are those of ``_cover_row``.
    """
    profit, partner, price, holder = duals[0], duals[1], duals[2], duals[3]
    came_from, waiting, seen, starts = work[0], work[1], work[2], work[3]
    rows, first, last = len(ptr) - 1, 0, 0
    for row in range(settled + 1, rows):
        able = partner[row] < 0 or price[partner[row]] == 0
        seen[row], starts[row] = able, able
        if able:
            waiting[last] = row
            last += 1
    while first < last:
        row = waiting[first]
        first += 1
        for edge in range(ptr[row], ptr[row + 1]):
            column = edges[0, edge]
            if profit[row] + price[column] != edges[1, edge]:
                continue
            other = holder[column]
            if column == goal:
                came_from[column] = row
                _give(column, came_from, partner, holder, starts)
                return True
            if other > settled and not seen[other]:
                came_from[column], seen[other], waiting[last] = row, 1, other
                last += 1
    return False


@compiled()
def _first_of_best(ptr: LongArray, edges: LongArray, columns: int, duals: LongArray, work: LongArray) -> None:
    """Changes an optimal matching into the canonical one.

    Args:
        ptr: int64 ``[rows + 1]``.
        edges: int64 ``[2 or more, edges]``: columns, ascending within a row, and values.
        columns: number of columns.
        duals: int64 ``[4, n]``, as ``greatest_matching`` leaves them; columns of rows and rows of columns are changed.
        work: int64 ``[6, n]``, scratch.
    """
    profit, partner, price, holder = duals[0], duals[1], duals[2], duals[3]
    rows = len(ptr) - 1
    for row in range(rows):
        for edge in range(ptr[row], ptr[row + 1]):
            column = edges[0, edge]
            if column == partner[row]:
                break
            other = holder[column]
            if profit[row] + price[column] != edges[1, edge] or 0 <= other < row:
                continue
            work[4, :rows], work[5, :columns] = partner[:rows], holder[:columns]
            left = partner[row]
            partner[row], holder[column] = column, row
            if left >= 0:
                holder[left] = -1
            fits = True
            if other >= 0:
                partner[other] = -1
                fits = profit[other] == 0 or _cover_row(other, row, ptr, edges, duals, work)
            if fits and left >= 0 and holder[left] < 0 and price[left] > 0:
                fits = _cover_column(left, row, ptr, edges, duals, work)
            if fits:
                break
            partner[:rows], holder[:columns] = work[4, :rows], work[5, :columns]


def _made(sources: int) -> Callable[..., None]:
    @compiled(
        LONG, LONG, LONGS, INTS, LONGS, LONGS, LONGS, array_of(INTS.dtype, 2), LONGS, INTS, array_of(LONG, written=True)
    )
    def map_span(
        start: int,
        stop: int,
        table_ptr: LongArray,
        table_stored: IntArray,
        table_value: LongArray,
        query_ptr: LongArray,
        query_rows: LongArray,
        cases: IntArray,
        case_ptr: LongArray,
        case_kinds: IntArray,
        entries: LongArray,
    ) -> None:
        """Writes the mappings of the hits of queries ``start`` to ``stop``.

        Args:
            start: first query.
            stop: the query after the last.
            table_ptr: int64 ``[F + 1]``.
            table_stored: int32 ``[pairs]``.
            table_value: int64 ``[pairs]``.
            query_ptr: int64 ``[B + 1]``.
            query_rows: int64 ``[.]``, rows of the table, ascending within a query.
            cases: int32 ``[B, K]``, -1 where there is no hit.
            case_ptr: int64 ``[N + 1]``.
            case_kinds: int32 ``[.]``, ascending within a case.
            entries: int64, written: for each statement of each place, in this order, its entry of the table or -1.
        """
        _ = sources  # so that it belongs to the key of the compiled code
        rows, columns, kinds, most = 0, 0, 0, 0
        for query in range(start, stop):
            asked = query_rows[query_ptr[query] : query_ptr[query + 1]]
            used, greatest = chain_sizes(table_ptr, table_stored, asked)
            rows, kinds, most = max(rows, len(asked)), max(kinds, greatest), max(most, used)
            for case in cases[query]:
                if case >= 0:
                    columns = max(columns, case_ptr[case + 1] - case_ptr[case])
        head, links = np.full(kinds, -1, np.int32), np.empty((5, most), np.int64)
        best, where, row_ptr = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows + 1, np.int64)
        taken_by, edges = np.full(columns, -1, np.int64), np.empty((3, most), np.int64)
        scratch, work = np.empty((8, max(rows, columns)), np.int64), np.empty((6, max(rows, columns)), np.int64)
        chosen = np.empty(rows, np.int64)
        used, mark = 0, 0
        for query in range(start, stop):
            asked = query_rows[query_ptr[query] : query_ptr[query + 1]]
            used = chain_up(table_ptr, table_stored, table_value, asked, used, head, links)
            to = query_ptr[query] * cases.shape[1]
            for case in cases[query]:
                out = entries[to : to + len(asked)]
                to += len(asked)
                out[:] = -1
                if case < 0:
                    continue
                stored = case_kinds[case_ptr[case] : case_ptr[case + 1]]
                best[: len(asked)] = 0
                for column in range(len(stored)):
                    entry = head[stored[column]] if stored[column] < kinds else -1
                    while entry >= 0:
                        row = links[2, entry]
                        if links[3, entry] > best[row]:  # the first column of the greatest value stays
                            best[row], where[row], chosen[row] = links[3, entry], column, entry
                        entry = links[0, entry]
                competing = False
                for row in range(len(asked)):
                    if best[row]:
                        competing = competing or taken_by[where[row]] == mark
                        taken_by[where[row]] = mark
                        out[row] = links[4, chosen[row]]
                mark += 1
                if not competing:
                    continue
                edges_by_row(head, links, len(asked), stored, row_ptr, where, edges)
                part = row_ptr[: len(asked) + 1]
                greatest_matching(part, edges[0], edges[1], len(stored), scratch)
                _first_of_best(part, edges, len(stored), scratch, work)
                for row in range(len(asked)):
                    out[row] = -1
                    for edge in range(part[row], part[row + 1]):
                        if edges[0, edge] == scratch[1, row]:
                            out[row] = links[4, edges[2, edge]]

    return map_span


map_span = _made(SOURCES)
