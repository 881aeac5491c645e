"""Maximum-weight one-to-one matching over sparse pairs of whole-numbered values.

Pairs are three arrays of one length: row, column and value (above 0), each (row, column) once. SciPy's solver is
imported where it is first needed: most alignments reach their bound, and then need none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..lattice.arrays import distinct

__all__ = ["WHOLE_CELLS", "Competition", "Component", "best_of_matrix", "best_total", "components"]

LongArray = npt.NDArray[np.int64]

WHOLE_CELLS = 1 << 14  # up to here one dense problem is quicker than finding components; the optimum is the same


class Component(NamedTuple):
    """Rows and columns that compete for each other (int64, ascending), and their values (0 where no pair is)."""

    rows: LongArray
    columns: LongArray
    values: LongArray


def best_total(row: LongArray, column: LongArray, value: LongArray) -> int:
    """Returns the greatest total value of a one-to-one matching; 0 without pairs."""
    if not len(row):
        return 0
    if (int(row.max()) + 1) * (int(column.max()) + 1) <= WHOLE_CELLS:
        whole = np.zeros((int(row.max()) + 1, int(column.max()) + 1), np.int64)
        whole[row, column] = value
        return best_of_matrix(whole)
    alone = (np.bincount(row)[row] == 1) & (np.bincount(column)[column] == 1)
    contested = ~alone
    parts = components(row[contested], column[contested], value[contested])
    return int(value[alone].sum()) + sum(best_of_matrix(part.values) for part in parts)


def best_of_matrix(values: LongArray) -> int:
    """Returns the greatest total of a one-to-one matching over a matrix of values, 0 or more each.

    The solver works in float64; sums and differences of whole numbers below 2^53 are exact there.
    """
    if not values.size:
        return 0
    best = values.max(axis=1)
    wanted = np.sort(values.argmax(axis=1)[best > 0])
    if (wanted[1:] != wanted[:-1]).all():  # every row gets its best column, and no matching can give more
        return int(best.sum())
    from scipy.optimize import linear_sum_assignment

    row, column = linear_sum_assignment(values, maximize=True)
    return int(values[row, column].sum())


def components(row: LongArray, column: LongArray, value: LongArray) -> Iterator[Component]:
    """Yields the connected components of the pairs: statements of different components do not compete."""
    for part in _cut(row, column):
        rows, columns, cell = _grid(row[part], column[part])
        values = np.zeros((len(rows), len(columns)), np.int64)
        values[cell] = value[part]
        yield Component(rows, columns, values)


def _cut(row: LongArray, column: LongArray) -> list[LongArray]:
    """Returns the pairs of each connected component."""
    if not len(row):
        return []
    label = _component_of(row, column)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def _grid(row: LongArray, column: LongArray) -> tuple[LongArray, LongArray, tuple[LongArray, LongArray]]:
    """Returns the distinct rows and columns, ascending, and where among them each pair stands."""
    rows, columns = distinct(row), distinct(column)
    return rows, columns, (np.searchsorted(rows, row), np.searchsorted(columns, column))


def _component_of(row: LongArray, column: LongArray) -> LongArray:
    """Returns a label for each pair, the same for all pairs of a component, int64 ``[pairs]``.

    Labels spread from row to column and back, halving their own paths, until nothing changes.
    """
    label = np.arange(int(row.max()) + 1, dtype=np.int64)  # of each row
    while True:
        at_column = np.full(int(column.max()) + 1, len(label), np.int64)
        np.minimum.at(at_column, column, label[row])
        spread = label.copy()
        np.minimum.at(spread, row, at_column[column])
        spread = spread[spread]
        if (spread == label).all():
            return label[row]
        label = spread


class Competition:
    """Pairs that compete one-to-one, cut into independent parts once, for many sets of values.

    Args:
        row: int64 ``[pairs]``.
        column: int64 ``[pairs]``; each (row, column) stands once.
    """

    def __init__(self, row: LongArray, column: LongArray) -> None:
        self._size = len(row)
        whole = len(distinct(row)) * len(distinct(column)) <= WHOLE_CELLS
        self._parts: list[tuple[LongArray, tuple[LongArray, LongArray], tuple[int, int]]] = []
        for part in [np.arange(self._size)] if whole else _cut(row, column):
            rows, columns, cell = _grid(row[part], column[part])
            self._parts.append((part, cell, (len(rows), len(columns))))

    def best(self, value: LongArray) -> tuple[int, npt.NDArray[np.bool_]]:
        """Returns the greatest total of a one-to-one choice, and that choice, bool ``[pairs]``.

        Args:
            value: int64 ``[pairs]``; a pair worth 0 or less is never chosen.
        """
        from scipy.optimize import linear_sum_assignment

        chosen = np.zeros(self._size, np.bool_)
        for part, cell, shape in self._parts:
            held = value[part]
            if not (held > 0).any():
                continue
            dense = np.zeros(shape, np.int64)
            dense[cell] = np.maximum(held, 0)
            left, right = linear_sum_assignment(dense, maximize=True)
            partner = np.full(shape[0], -1, np.int64)
            partner[left] = right
            chosen[part] = (partner[cell[0]] == cell[1]) & (held > 0)
        return int(value[chosen].sum()), chosen
