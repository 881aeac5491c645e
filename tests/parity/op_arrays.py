"""Random arguments of the ops, and what it means that two results are the same: shared by the parity tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from sma_gpu.ops import FoldedLists

__all__ = ["PoisonedNumpy", "random_lists", "random_queries", "same"]


class PoisonedNumpy:
    """NumPy for a module under test: memory that nobody has written comes with the smallest integer in it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, *args: Any, **named: Any) -> np.ndarray:
        made = np.empty(*args, **named)
        if made.dtype.kind == "i":
            made.fill(np.iinfo(made.dtype).min)
        return made


def same(first: Any, second: Any) -> None:
    assert type(first) is type(second)
    for a, b in zip(first, second, strict=True) if isinstance(first, tuple) else ((first, second),):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)


def random_lists(rng: np.random.Generator, cases: int, lists: int, greatest: int = 1 << 20) -> FoldedLists:
    """Returns lists of which the first is empty and the second full."""
    shares = [0.0, 1.0, *rng.random(lists - 2).tolist()]
    held = [np.flatnonzero(rng.random(cases) < share).astype(np.int32) for share in shares]
    ptr = np.concatenate([[0], np.cumsum([len(h) for h in held])]).astype(np.int64)
    best = rng.integers(1, greatest, int(ptr[-1])).astype(np.int32)
    return FoldedLists(ptr, np.concatenate(held), best, rng.integers(1, 5, cases).astype(np.int32))


def random_queries(rng: np.random.Generator, queries: int, lists: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns queries that name lists several times, and none at all."""
    sizes = rng.integers(0, 9, queries)
    named = rng.integers(0, lists, int(sizes.sum())).astype(np.int32)
    return np.concatenate([[0], np.cumsum(sizes)]), named, rng.integers(1, 4, queries).astype(np.int32)
