"""Sparse maximum-weight matching: the dense and the componentwise road give the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from sma_gpu.ops import matching
from sma_gpu.ops.matching import best_of_matrix, best_total, components

pairs = st.dictionaries(st.tuples(st.integers(0, 7), st.integers(0, 9)), st.integers(1, 5), max_size=30)


def arrays(drawn: dict[tuple[int, int], int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places = sorted(drawn)
    row, column = (np.array([p[side] for p in places], np.int64) for side in (0, 1))
    return row, column, np.array([drawn[p] for p in places], np.int64)


def optimum(drawn: dict[tuple[int, int], int]) -> int:
    dense = np.zeros((8, 10), np.int64)
    for place, value in drawn.items():
        dense[place] = value
    row, column = linear_sum_assignment(dense, maximize=True)
    return int(dense[row, column].sum())


@settings(max_examples=300, deadline=None)
@given(pairs)
@pytest.mark.parametrize("whole_cells", [0, 1 << 14])
def test_both_roads_find_the_optimum(whole_cells: int, drawn: dict[tuple[int, int], int]) -> None:
    before, matching.WHOLE_CELLS = matching.WHOLE_CELLS, whole_cells
    try:
        assert best_total(*arrays(drawn)) == optimum(drawn)
    finally:
        matching.WHOLE_CELLS = before


@settings(max_examples=200, deadline=None)
@given(pairs)
def test_components_hold_every_pair_once_and_share_nothing(drawn: dict[tuple[int, int], int]) -> None:
    found: dict[tuple[int, int], int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for part in components(*arrays(drawn)):
        rows += part.rows.tolist()
        columns += part.columns.tolist()
        for i, j in zip(*np.nonzero(part.values), strict=True):
            found[int(part.rows[i]), int(part.columns[j])] = int(part.values[i, j])
        # Connected: neither side can be split without cutting a pair.
        reached, grown = {0}, True
        while grown:
            touched = {j for i in reached for j in np.flatnonzero(part.values[i])}
            more = {i for j in touched for i in np.flatnonzero(part.values[:, j])}
            grown, reached = not more <= reached, reached | more
        assert len(reached) == len(part.rows)
    assert found == drawn
    assert len(set(rows)) == len(rows)
    assert len(set(columns)) == len(columns)


def test_many_statements_that_do_not_compete_need_no_large_matrix() -> None:
    size = 200_000
    every = np.arange(size, dtype=np.int64)
    assert best_total(every, every[::-1].copy(), np.full(size, 3, np.int64)) == 3 * size


def test_nothing_to_match_is_worth_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert best_total(none, none, none) == 0
    assert best_of_matrix(np.zeros((0, 3), np.int64)) == best_of_matrix(np.zeros((2, 3), np.int64)) == 0
    assert list(components(none, none, none)) == []
