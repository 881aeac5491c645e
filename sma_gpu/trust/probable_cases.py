"""Stored cases whose statements hold with a probability, ready to be asked by the engine.

A statement is worth its bits times its probability, with itself as with a term of a query. So a score is what a query
and a case are expected to share, the self-score is what a member of a generalisation is expected to tell, and bound,
certificate and canonical mapping are those of any other corpus.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..lattice import HopTable
from ..lattice.arrays import pointers
from ..ontologies.mount import Mounted
from ..retrieval.corpus import Corpus
from ..retrieval.self_scores import own_values, self_scores
from ..scoring import Dials, Kinds, Normaliser, Shapes, functor_costs
from ..scoring.pairs import invert

__all__ = ["ProbableCases", "Worth"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Worth:
    """What terms are worth: counted once from the cases of an index, and the same for all that is made of them.

    Attributes:
        mounted: the ontology, ``T`` terms.
        dials: scorer settings.
        costs: float64 ``[T]``, bits.
        near: ancestors of each term at most delta hops up.
    """

    mounted: Mounted
    dials: Dials
    costs: FloatArray
    near: HopTable

    @classmethod
    def counted(cls, cases: CaseBatch, mounted: Mounted, dials: Dials) -> Self:
        """Returns what the terms are worth by their counts in flat ``cases``."""
        near = mounted.lattice.hops_up(dials.delta)
        return cls(mounted, dials, functor_costs(dials, mounted.lattice, near, cases.ptr, cases.functors), near)

    @cached_property
    def above(self) -> LongArray:
        """Every term with each of its ancestors, itself included, as term times ``T`` plus ancestor, ascending."""
        closure, size = self.mounted.lattice.closure, len(self.costs)
        return np.repeat(np.arange(size), np.diff(closure.ptr)) * size + closure.ancestors

    @cached_property
    def values(self) -> LongArray:
        """Value of a certain statement of each term with itself, int64 ``[T]``, units of 2^-16 bit."""
        every = Kinds.unary(np.arange(len(self.costs), dtype=np.int32), self.dials.gamma)
        return own_values(self.dials, self.costs, every)


@dataclass(frozen=True)
class ProbableCases(Corpus):
    """A corpus of flat cases whose ``frequencies`` are probabilities, under costs that were counted elsewhere.

    Attributes:
        certain: int64 ``[T]``, value of a statement of a query with itself, units of 2^-16 bit.
    """

    certain: LongArray

    @classmethod
    def under(cls, worth: Worth, cases: CaseBatch, dials: Dials) -> Self:
        """Returns the corpus of ``cases``, in the order of their keys and none of them empty.

        Args:
            worth: what terms are worth.
            cases: flat cases; a statement without a frequency is certain.
            dials: those of ``worth`` but for the normalisation, which may be another.
        """
        certain, functors = worth.values, cases.functors
        shares = np.ones(len(functors)) if cases.frequencies is None else cases.frequencies
        ones = np.ones(len(functors))
        kinds, case_kinds = Kinds.of_flat(functors, shares, ones, ones > 0, dials.gamma)
        values = own_values(dials, worth.costs, kinds)
        stored = np.zeros(len(certain), np.bool_)
        stored[functors] = True
        by_kind = np.argsort(case_kinds, kind="stable")
        owner = np.repeat(np.arange(len(cases), dtype=np.int32), np.diff(cases.ptr))
        return cls(
            mounted=worth.mounted,
            dials=dials,
            cases=cases,
            costs=worth.costs,
            shapes=Shapes(),
            kinds=kinds,
            case_kinds=case_kinds,
            entities=np.ones(len(cases), np.int32),
            values=values,
            normaliser=Normaliser.build(dials, self_scores(cases, values[case_kinds])),
            near=worth.near,
            below=invert(worth.near, stored),
            posting_ptr=pointers(case_kinds[by_kind], len(kinds)),
            posting_cases=owner[by_kind],
            set_aside=(),
            certain=certain,
        )

    def query_values(self, ptr: LongArray, functors: IntArray) -> LongArray:
        """Returns the value of each statement of flat queries, which are certain of it, with itself; see ``Corpus``."""
        return self.certain[functors]
