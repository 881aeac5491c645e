"""Steps on CSR and sorted integer arrays that the lattice, the scorers and the index share."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["distinct", "expand", "expand_spans", "member", "pointers"]

Integer = TypeVar("Integer", bound=np.integer)


def distinct(values: npt.NDArray[Integer]) -> npt.NDArray[Integer]:
    """Returns the distinct ``values``, ascending.

    By sorting: ``np.unique`` hashes since NumPy 2.3, which took 40 times as long on the pairs of a lattice.
    """
    ordered = np.sort(values, kind="stable")  # runs that are sorted already are merged in linear time
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def member(values: npt.NDArray[Integer], pool: npt.NDArray[Integer]) -> npt.NDArray[np.bool_]:
    """Returns for each of ``values`` whether it is in ``pool``, which is ascending."""
    if not len(pool):
        return np.zeros(len(values), bool)
    at = np.minimum(np.searchsorted(pool, values), len(pool) - 1)
    found: npt.NDArray[np.bool_] = pool[at] == values
    return found


def pointers(owners: npt.NDArray[np.integer], rows: int) -> npt.NDArray[np.int64]:
    """Returns CSR pointers int64 ``[rows + 1]`` of entries whose ``owners`` are ascending row numbers."""
    return np.searchsorted(owners, np.arange(rows + 1)).astype(np.int64)


def expand(
    ptr: npt.NDArray[np.integer], rows: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns, for each CSR row in ``rows``, all its entries: (position in ``rows``, position in the data)."""
    return expand_spans(ptr[rows].astype(np.int64), (ptr[rows + 1] - ptr[rows]).astype(np.int64))


def expand_spans(
    starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns, for each span, all its entries: (number of the span, position in the data)."""
    owner = np.repeat(np.arange(len(starts), dtype=np.int64), counts)
    offset = np.arange(owner.size, dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, starts[owner] + offset
