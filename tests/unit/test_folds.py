"""Grouped folds: nothing of a group on both sides, the same for everybody, filled evenly."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu import CaseBatch
from sma_gpu.errors import CalibrationError, ShapeError
from sma_gpu.trust.folds import grouped_folds, join_alike

some_groups = st.lists(st.text("abcdef", min_size=1, max_size=2), min_size=3, max_size=60).filter(
    lambda groups: len(set(groups)) >= 3
)


@given(some_groups, st.integers(0, 5))
def test_a_group_is_in_one_fold_and_no_fold_is_empty(groups: list[str], seed: int) -> None:
    fold = grouped_folds(groups, 3, seed).tolist()
    assert len(set(zip(groups, fold, strict=True))) == len(set(groups))
    assert set(fold) == {0, 1, 2}


@given(some_groups, st.randoms(use_true_random=False))
def test_the_order_of_the_questions_changes_nothing(groups: list[str], random) -> None:
    order = list(range(len(groups)))
    random.shuffle(order)
    fold = grouped_folds(groups, 3, 7)
    assert grouped_folds([groups[i] for i in order], 3, 7).tolist() == fold[order].tolist()


@given(some_groups)
def test_folds_differ_by_at_most_the_largest_group(groups: list[str]) -> None:
    filled = Counter(grouped_folds(groups, 3, 1).tolist())
    assert max(filled.values()) - min(filled.values()) <= max(Counter(groups).values())


def test_another_seed_draws_other_folds_and_equal_sizes_stay_equal() -> None:
    groups = [f"g{i}" for i in range(100)]
    one, other = grouped_folds(groups, 5, 1), grouped_folds(groups, 5, 2)
    assert (one != other).any()
    assert Counter(one.tolist()) == dict.fromkeys(range(5), 20)


def test_another_hash_seed_draws_the_same_folds() -> None:
    line = (
        "from sma_gpu.trust.folds import grouped_folds; print(grouped_folds([f'g{i % 17}' for i in range(50)], 4, 3))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", line], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1] != ""


@pytest.mark.parametrize("groups, folds", [(["a"] * 9 + ["b"], 3), (["a", "b", "c"], 1), ([], 2)])
def test_too_few_groups_are_refused(groups: list[str], folds: int) -> None:
    with pytest.raises(CalibrationError, match=r"groups|holds nothing out"):
        grouped_folds(groups, folds, 0)


def test_groups_with_the_same_statements_become_one_through_any_chain() -> None:
    queries = CaseBatch.from_functors([""] * 6, [[1, 2], [3], [2, 1], [3], [4], [5]], [[], [], [9], [], [], []])
    # a and b share {1, 2}, b and c share {3}; what is excluded does not part them.
    assert join_alike(["a", "c", "b", "b", "d", "c"], queries) == ("a", "a", "a", "a", "d", "a")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20))
def test_joined_groups_are_the_connected_parts(rows: list[tuple[int, int]]) -> None:
    groups = [f"g{group}" for group, _ in rows]
    queries = CaseBatch.from_functors([""] * len(rows), [[content] for _, content in rows])
    found = join_alike(groups, queries)
    for start in range(len(rows)):
        reached = {start}
        while True:
            more = {
                j for i in reached for j in range(len(rows)) if rows[i][0] == rows[j][0] or rows[i][1] == rows[j][1]
            }
            if more <= reached:
                break
            reached |= more
        assert found[start] == min(groups[i] for i in reached)


def test_as_many_groups_as_queries_are_wanted() -> None:
    with pytest.raises(ShapeError):
        join_alike(["a"], CaseBatch.from_functors(["", ""], [[1], [2]]))
    assert np.array(join_alike([], CaseBatch.from_functors([], []))).size == 0
