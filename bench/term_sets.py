"""Sets of terms as arrays: what arms hold and are asked, and what peers in the measurements of speed are given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..ontologies.mount import Mounted

__all__ = ["TermSets"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TermSets:
    """``N`` sets of terms.

    Attributes:
        ptr: int64 ``[N + 1]``.
        terms: int32 ``[.]``, ascending within a set.
    """

    ptr: LongArray
    terms: IntArray

    @classmethod
    def of(cls, sets: Iterable[IntArray]) -> TermSets:
        """Returns the sets whose members are given."""
        parts = [np.zeros(0, np.int32), *sets]
        return cls(np.cumsum([len(part) for part in parts]), np.concatenate(parts).astype(np.int32))

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def sizes(self) -> LongArray:
        """How many terms each set has, int64 ``[N]``."""
        return np.diff(self.ptr)

    def members(self, number: int) -> IntArray:
        """Returns one set."""
        return self.terms[self.ptr[number] : self.ptr[number + 1]]

    def part(self, start: int, stop: int) -> TermSets:
        """Returns the sets from ``start`` to before ``stop``."""
        lo, hi = int(self.ptr[start]), int(self.ptr[stop])
        return TermSets(self.ptr[start : stop + 1] - lo, self.terms[lo:hi])

    def rows(self, terms: int) -> Any:
        """Returns the CSR matrix of the sets by ``terms`` terms, float64 ones."""
        return scipy.sparse.csr_matrix((np.ones(len(self.terms)), self.terms, self.ptr), (len(self), terms))

    def closed(self, mounted: Mounted) -> Any:
        """Returns the CSR matrix of the sets with all ancestors of their terms, float64 ones, columns ascending."""
        closure = mounted.lattice.closure
        size = len(mounted.lattice)
        ones = np.ones(len(closure.ancestors))
        found = self.rows(size) @ scipy.sparse.csr_matrix((ones, closure.ancestors, closure.ptr), (size, size))
        found.sort_indices()
        found.data[:] = 1.0
        return found
