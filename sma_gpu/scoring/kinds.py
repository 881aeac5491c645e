"""Kinds of statements: all that the value of a pair depends on, beside the dials and the costs.

A kind is a signed functor (``T + f`` denies functor ``f``), the shape of the argument tree, and a weight. Shapes leave
the order of arguments out: equal shapes are necessary for two statements to match, whether or not they are commutative.
Under the scorer ``evidence`` a kind has a strength, too, and is or is not the narrowest of its case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.structure import Structure
from ..lattice.arrays import pointers

__all__ = ["UNARY", "Kinds", "Shapes", "kinds_of"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_ENTITY = 0
UNARY = 1  # the shape of a statement over one entity


class Shapes:
    """Numbers for argument trees, in the order in which they are first seen.

    >>> Shapes().number((0,)), Shapes().trickle(0.25).tolist()
    (1, [1.0, 1.25])
    """

    def __init__(self) -> None:
        self._number: dict[tuple[int, ...], int] = {}
        self._paths: list[tuple[int, ...]] = [(1,)]  # downward paths of each length from the root; an entity: one
        self.number((_ENTITY,))

    def copy(self) -> Shapes:
        """Returns shapes to which more can be added without these changing."""
        other = Shapes()
        other._number, other._paths = dict(self._number), list(self._paths)
        return other

    def number(self, arguments: tuple[int, ...]) -> int:
        """Returns the number of the shape of a statement over arguments of these shapes."""
        key = tuple(sorted(arguments))
        known = self._number.get(key)
        if known is None:
            known = self._number[key] = len(self._paths)
            below = [self._paths[a] for a in key]
            depth = max(map(len, below), default=0)
            self._paths.append((1, *(sum(p[i] for p in below if i < len(p)) for i in range(depth))))
        return known

    def trickle(self, gamma: float) -> FloatArray:
        """Returns T of every shape: the sum of gamma^length over its downward paths, the empty one included.

        Trickle-down (Forbus and others) lets a statement lend ``gamma`` of its score to each argument. Summed over a
        mapping this equals multiplying the statement's own worth by T, which a test confirms by simulation.
        """
        return np.array([_sum_of_paths(p, gamma) for p in self._paths], np.float64)


def _sum_of_paths(paths: tuple[int, ...], gamma: float) -> float:
    try:
        return float(sum(n * gamma**length for length, n in enumerate(paths) if gamma or not length))
    except OverflowError:
        return math.inf  # refused where scores meet their limit


@dataclass(frozen=True)
class Kinds:
    """``K`` kinds of statements, distinct, ordered by functor, then shape, weight, strength, narrowest.

    Attributes:
        functors: int32 ``[K]``, signed functors.
        shapes: int32 ``[K]``, numbers of shapes.
        weights: float64 ``[K]``, in (0, 1].
        trickle: float64 ``[K]``, T of the shape.
        strengths: float64 ``[K]``, above 0, how strongly the case states it; 1 but under ``evidence``.
        narrowest: bool ``[K]``, nothing else in the case is below it; true but under ``evidence``.
    """

    functors: IntArray
    shapes: IntArray
    weights: FloatArray
    trickle: FloatArray
    strengths: FloatArray
    narrowest: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.functors)

    @classmethod
    def unary(cls, functors: npt.ArrayLike, gamma: float) -> Kinds:
        """Returns the kinds of unweighted statements over one entity; ``functors`` are distinct and ascending."""
        given = np.asarray(functors, dtype=np.int32)
        shapes = np.full(len(given), UNARY, np.int32)
        ones = np.ones(len(given))
        return cls(given, shapes, ones, Shapes().trickle(gamma)[shapes], ones, np.ones(len(given), np.bool_))

    @classmethod
    def of_flat(
        cls,
        functors: IntArray,
        weights: FloatArray,
        strengths: FloatArray,
        narrowest: npt.NDArray[np.bool_],
        gamma: float,
    ) -> tuple[Kinds, IntArray]:
        """Returns the distinct kinds of ``S`` statements over one entity, and the kind of each, int32 ``[S]``.

        Args:
            functors: int32 ``[S]``.
            weights: float64 ``[S]``.
            strengths: float64 ``[S]``.
            narrowest: bool ``[S]``.
            gamma: the dial.
        """
        order = np.lexsort((narrowest, strengths, weights, functors))
        first = np.zeros(len(order), np.bool_)
        first[:1] = True
        for column in (functors, weights, strengths, narrowest):
            first[1:] |= column[order[1:]] != column[order[:-1]]
        kind = np.zeros(len(order), np.int32)
        kind[order] = np.cumsum(first) - 1
        at = order[first]
        made = cls.unary(functors[at], gamma)
        return replace(made, weights=weights[at], strengths=strengths[at], narrowest=narrowest[at]), kind

    def take(self, numbers: npt.NDArray[np.integer]) -> Kinds:
        """Returns the kinds of these numbers, which ascend."""
        return Kinds(*(getattr(self, field.name)[numbers] for field in fields(self)))

    def by_functor(self, functor_count: int) -> LongArray:
        """Returns CSR pointers int64 ``[functor_count + 1]``: the kinds of each functor."""
        found: LongArray | None = self.__dict__.get("_by_functor")  # asked for again with every query
        if found is None or len(found) != functor_count + 1:
            found = self.__dict__["_by_functor"] = pointers(self.functors, functor_count)
        return found


def kinds_of(cases: CaseBatch, functor_count: int, shapes: Shapes, gamma: float) -> tuple[Kinds, LongArray]:
    """Returns the distinct kinds of the statements of ``cases``, and the kind of each statement, int64 ``[S]``.

    Args:
        cases: a batch with structure.
        functor_count: ``T``, number of functors of the unsigned lattice.
        shapes: numbers of shapes known so far; new ones are added.
        gamma: the dial.
    """
    structure = cases.spelled_out().structure
    assert structure is not None
    functor = cases.functors + functor_count * structure.negated.astype(np.int32)
    shape = _shapes(structure, cases.ptr, shapes)
    weight = structure.weight
    order = np.lexsort((weight, shape, functor))
    first = np.ones(len(order), bool)
    functor, shape, weight = functor[order], shape[order], weight[order]
    first[1:] = (functor[1:] != functor[:-1]) | (shape[1:] != shape[:-1]) | (weight[1:] != weight[:-1])
    kind = np.zeros(len(order), np.int64)
    kind[order] = np.cumsum(first) - 1
    shape, ones = shape[first], np.ones(int(first.sum()))
    made = Kinds(functor[first], shape, weight[first], shapes.trickle(gamma)[shape], ones, ones > 0)
    return made, kind


def _shapes(structure: Structure, ptr: LongArray, shapes: Shapes) -> IntArray:
    found = np.zeros(len(structure.order), np.int32)
    arity = np.diff(structure.arg_ptr)
    for width in sorted(set(arity[structure.order == 1].tolist())):
        found[(structure.order == 1) & (arity == width)] = shapes.number((_ENTITY,) * width)
    start = np.repeat(ptr[:-1], np.diff(ptr))
    size = np.repeat(np.diff(ptr), np.diff(ptr))
    for number in np.flatnonzero(structure.order > 1).tolist():  # arguments stand before: their shapes are known
        held = structure.args[structure.arg_ptr[number] : structure.arg_ptr[number + 1]].tolist()
        lo, count = int(start[number]), int(size[number])
        found[number] = shapes.number(tuple(int(found[lo + a]) if a < count else _ENTITY for a in held))
    return found
