"""Large corpora made from a small one, and the queries that are asked of them.

Everything follows from a seed: the same seed, cases and lattice give the same arrays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..lattice import Lattice
from ..lattice.arrays import distinct, expand, pointers

__all__ = ["synthetic_cases", "w1_queries"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_KEPT = 0.7  # chance that a term of the pattern stays
_CLIMBS = (0.6, 0.25, 0.15)  # chance of 0, 1 and 2 levels up
_NOISE = 2  # terms a case has of its own, on average
_LEAST = 3  # drawn terms of a case, before doubles are left out
_OWN, _STRANGE, _MOST_CLIMBS = 5, 3, 2  # of a query: terms of its case, terms of noise, levels up


def synthetic_cases(base: CaseBatch, lattice: Lattice, count: int, seed: int) -> CaseBatch:
    """Returns ``count`` invented cases, each after the pattern of a case of ``base`` drawn at random.

    A term of the pattern stays with chance 0.7 and climbs 0, 1 or 2 levels with chances 0.6, 0.25 and 0.15, one parent
    at random each time; then come terms of noise, 2 on average, uniform over the terms that ``base`` uses.

    Args:
        base: flat cases over ``lattice``, at least one with a term below the roots.
        lattice: their is-a order. Nothing climbs to a root.
        count: number of cases; their keys are numbers of one length, ascending.
        seed: what the draws depend on.
    """
    rng = np.random.default_rng([seed, count])
    used = _used(base, lattice)
    pattern, at = expand(base.ptr, rng.integers(0, len(base), count))
    kept = rng.random(len(at)) < _KEPT
    case, terms = pattern[kept], base.functors[at[kept]]
    terms = _climbed(rng, lattice, terms, rng.choice(len(_CLIMBS), len(terms), p=_CLIMBS))
    held = np.bincount(case, minlength=count)
    noise = np.repeat(np.arange(count), rng.poisson(_NOISE, count) + np.maximum(_LEAST - held, 0))
    case, terms = np.concatenate([case, noise]), np.concatenate([terms, rng.choice(used, len(noise))])
    case, functors = np.divmod(distinct(case * len(lattice) + terms), len(lattice))
    width = len(str(max(count - 1, 0)))
    keys = tuple(f"case-{number:0{width}d}" for number in range(count))
    nothing = np.zeros(count + 1, np.int64), np.zeros(0, np.int32)
    return CaseBatch(keys, pointers(case, count), functors.astype(np.int32), *nothing)


def w1_queries(cases: CaseBatch, lattice: Lattice, count: int = 1000, seed: int = 7) -> tuple[CaseBatch, LongArray]:
    """Returns ``count`` queries of eight terms, and the number of the case that each was made from, int64 ``[count]``.

    Five terms of a case climb 0, 1 or 2 levels, each as likely; three more are uniform over the terms that ``cases``
    use. A draw in which two of the eight are the same is drawn again.

    Args:
        cases: flat cases over ``lattice``; those with five terms or more are drawn from, each once at most while they
            last.
        lattice: their is-a order. Nothing climbs to a root.
        count: number of queries.
        seed: what the draws depend on.
    """
    rng = np.random.default_rng(seed)
    used = _used(cases, lattice)
    able = np.flatnonzero(np.diff(cases.ptr) >= _OWN)
    targets = rng.choice(able, count, replace=count > len(able)).astype(np.int64)
    queries = np.zeros((count, _OWN + _STRANGE), np.int32)
    for query, target in zip(queries, targets.tolist(), strict=True):
        while len(distinct(query)) < len(query):
            own = rng.choice(cases.functors_of(target), _OWN, replace=False)
            own = _climbed(rng, lattice, own, rng.integers(0, _MOST_CLIMBS + 1, _OWN))
            query[:] = np.concatenate([own, rng.choice(used, _STRANGE, replace=False)])
    return CaseBatch.from_functors([f"query-{number:04d}" for number in range(count)], list(queries)), targets


def _used(cases: CaseBatch, lattice: Lattice) -> IntArray:
    """Returns the terms that the cases use and that are no roots, ascending."""
    terms = distinct(cases.functors)
    return terms[np.diff(lattice.parent_ptr)[terms] > 0]


def _climbed(rng: np.random.Generator, lattice: Lattice, terms: IntArray, levels: npt.NDArray[np.integer]) -> IntArray:
    """Returns each term so many levels up, one parent at random each time, and not above the terms below a root."""
    child = np.repeat(np.arange(len(lattice)), np.diff(lattice.parent_ptr))
    below = np.diff(lattice.parent_ptr)[lattice.parents] > 0  # edges to a term that is no root
    ptr, parents = pointers(child[below], len(lattice)), lattice.parents[below]
    climbed = terms.copy()
    for level in range(1, int(levels.max(initial=0)) + 1):
        going = np.flatnonzero((levels >= level) & (ptr[climbed + 1] > ptr[climbed]))
        start, choices = ptr[climbed[going]], ptr[climbed[going] + 1] - ptr[climbed[going]]
        climbed[going] = parents[start + (rng.random(len(going)) * choices).astype(np.int64)]
    return climbed
