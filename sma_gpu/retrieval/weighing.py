"""Kinds of statements under the scorer ``evidence``: what a case states, and what a query asks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CaseError
from ..lattice import Lattice
from ..scoring import Dials, Kinds, evidence
from .self_scores import own_values

__all__ = ["WeighedQueries", "stated_alone", "weighed_cases"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


def weighed_cases(cases: CaseBatch, lattice: Lattice, dials: Dials) -> tuple[Kinds, IntArray, FloatArray]:
    """Returns the kinds of the statements of flat cases, that of each, int32 ``[S]``, and the costs, float64 ``[T]``.

    Raises:
        CaseError: the cases have structure.
    """
    if cases.structure is not None:
        raise CaseError(
            f"weigh {len(cases)} cases by the scorer evidence",
            "they, or the queries, have structure, and it weighs flat cases alone",
            "Take another scorer for them.",
        )
    ptr, functors = cases.ptr, cases.functors
    told = evidence.spread(lattice, ptr, functors, cases.frequencies)
    strong = evidence.strengths(ptr, told.share, evidence.shares(ptr, cases.frequencies), dials)
    kinds, kind = Kinds.of_flat(functors, np.ones(len(functors)), strong, told.narrowest, dials.gamma)
    return kinds, kind, evidence.background_costs(told.expected, len(cases))


def stated_alone(kinds: Kinds, dials: Dials) -> Kinds:
    """Returns these kinds as cases have them that state nothing else, and that for certain."""
    ptr = np.arange(len(kinds) + 1)
    certain = evidence.shares(ptr, None)
    return replace(kinds, strengths=evidence.strengths(ptr, certain, certain, dials))


class WeighedQueries:
    """What flat queries ask under the scorer ``evidence``: kinds of statements, and what these are worth.

    Args:
        lattice: the is-a lattice, ``T`` functors.
        dials: what scores depend on.
        information: float64 ``[T]``, information content in bits, by which statements are weighed beside one another.
        costs: float64 ``[T]``, costs of the functors in bits.
    """

    def __init__(self, lattice: Lattice, dials: Dials, information: FloatArray, costs: FloatArray) -> None:
        self._lattice, self._dials, self._information, self._costs = lattice, dials, information, costs
        self._last: tuple[bytes, LongArray] = b"", np.zeros(0, np.int64)

    def kinds(self, ptr: LongArray, functors: IntArray) -> tuple[Kinds, LongArray]:
        """Returns the distinct kinds of the statements of ``B`` queries, and the number of each one's, int64 ``[S]``.

        Args:
            ptr: int64 ``[B + 1]``, cuts the statements.
            functors: int32 ``[S]``.
        """
        return self._kinds(ptr, functors, np.ones(len(functors)))

    def values(self, ptr: LongArray, functors: IntArray) -> LongArray:
        """Returns the value of each statement with a copy of its query that states all of it for certain.

        Args:
            ptr: int64 ``[B + 1]``, cuts the statements.
            functors: int32 ``[S]``.

        Returns:
            int64 ``[S]``, units of 2^-16 bit.
        """
        asked = np.asarray(functors, np.int32).tobytes() if len(ptr) == 2 else b""
        if asked and asked == self._last[0]:  # an answer asks for those of its query at every hit
            return self._last[1].copy()
        held = evidence.shares(ptr, None)
        kinds, kind = self._kinds(ptr, functors, evidence.strengths(ptr, held, held, self._dials))
        found: LongArray = own_values(self._dials, self._costs, kinds)[kind]
        if asked:
            self._last = asked, found.copy()
        return found

    def _kinds(self, ptr: LongArray, functors: IntArray, strengths: FloatArray) -> tuple[Kinds, LongArray]:
        weights = evidence.weights(self._lattice, ptr, functors, self._information)
        kinds, kind = Kinds.of_flat(functors, weights, strengths, strengths > 0, self._dials.gamma)
        return kinds, kind.astype(np.int64)
