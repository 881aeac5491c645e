"""Normalisation: one sortable integer per score, monotone in the score, so that a bound stays a bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .dials import Dials
from .grid import GRID

__all__ = ["FACTOR_SHIFT", "QUOTIENT_SHIFT", "Normaliser"]

LongArray = npt.NDArray[np.int64]

_FACTOR_ONE = 1 << 30
FACTOR_SHIFT = 22  # keys of power(p) stay below 2^39 and keep 8 bits below the grid
QUOTIENT_SHIFT = 24  # max and min: the key is score / self in units of 2^-24


@dataclass(frozen=True)
class Normaliser:
    """Turns scores into rank keys.

    ``power(p)``: ``(score * factor_c) >> 22`` with one integer factor per case, which stands for ``self_c^-p``; the
    query's part is the same for all cases and left out. ``max`` and ``min``: ``(score << 24) // max(self_c, self_q)``.

    Attributes:
        dials: ``normalisation`` chooses.
        self_scores: int64 ``[N]``, score of each case against itself, in units of 2^-16 bit.
        factors: int64 ``[N]``, at most 2^30.
    """

    dials: Dials
    self_scores: LongArray
    factors: LongArray

    @classmethod
    def build(cls, dials: Dials, self_scores: LongArray) -> Normaliser:
        """Returns the normaliser of an index whose cases have these self-scores."""
        power = dials.power
        if not power:
            return cls(dials, self_scores, np.full(len(self_scores), _FACTOR_ONE, np.int64))
        distinct, where = np.unique(self_scores, return_inverse=True)
        factors: list[int] = []
        score = factor = 0
        for own in distinct.tolist():
            ideal = round(_FACTOR_ONE * (GRID / max(own, GRID)) ** power)
            # Rounding alone could let a case rank above the query's own copy: own score times factor must not fall.
            factor = max(ideal, -(-score * factor // own) if own else 0)
            score = own
            factors.append(factor)
        return cls(dials, self_scores, np.array(factors, np.int64)[where] if factors else np.zeros(0, np.int64))

    @cached_property
    def scale(self) -> npt.NDArray[np.float64]:
        """About what a score is multiplied by to give its key, float64 ``[N]``; ``[1]`` where that is all the same.

        Under ``max`` and ``min`` it is the case's own part: at most, or at least, so much is the query's.
        """
        if self.dials.power is None:
            return (1 << QUOTIENT_SHIFT) / np.maximum(self.self_scores, 1).astype(np.float64)
        factors = self.factors[:1] if (self.factors == self.factors[:1]).all() else self.factors
        return np.maximum(factors, 1).astype(np.float64) / (1 << FACTOR_SHIFT)

    def rank_keys(
        self, scores: LongArray, self_query: int | LongArray, cases: npt.NDArray[np.integer] | slice
    ) -> LongArray:
        """Returns the rank key of each score (or bound) of the given cases, int64, in the order of ``cases``.

        Args:
            scores: int64, units of 2^-16 bit, below 2^31.
            self_query: score of the query against itself, units; one for all, or one for each score.
            cases: numbers of the cases that the scores belong to.
        """
        if self.dials.power is not None:
            return (scores * self.factors[cases]) >> FACTOR_SHIFT
        choose = np.maximum if self.dials.normalisation == "max" else np.minimum
        return (scores << QUOTIENT_SHIFT) // np.maximum(choose(self.self_scores[cases], self_query), 1)

    def normalised(self, score: int, self_query: int, case: int) -> float:
        """Returns the normalised score for display: float64, dimensionless, 1.0 for the query's own copy."""
        own = int(self.self_scores[case])
        power = self.dials.power
        if power is not None:
            divisor = float(own) ** power * float(self_query) ** (1 - power)
        else:
            divisor = float(max(own, self_query) if self.dials.normalisation == "max" else min(own, self_query))
        return score / divisor if divisor else 0.0
