"""What a case scores against itself."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CapacityError
from ..lattice.arrays import expand
from ..scoring import Dials, Kinds, own_bits, to_grid
from ..scoring.grid import ENTITY_VALUE, GRID, SCORE_LIMIT

__all__ = ["own_values", "self_scores"]

LongArray = npt.NDArray[np.int64]


def own_values(dials: Dials, costs: npt.NDArray[np.float64], kinds: Kinds) -> LongArray:
    """Returns the value of a statement of each kind matched with itself, int64, units of 2^-16 bit.

    Raises:
        CapacityError: one reaches 2^31.
    """
    greatest = float(kinds.trickle.max(initial=0.0))
    bits = own_bits(dials, costs, kinds) * (kinds.trickle if math.isfinite(greatest) else 0.0)
    greatest = max(float(bits.max(initial=0.0)), 0.0 if math.isfinite(greatest) else greatest)
    if not greatest * GRID < SCORE_LIMIT:
        raise CapacityError(
            f"the value of {len(kinds)} kinds of statements",
            f"one would be worth {greatest:.3g} bits, where scores stay below {SCORE_LIMIT // GRID}",
            "Lower the dial gamma, or split statements that rest on very many others.",
        )
    return to_grid(bits)


def self_scores(cases: CaseBatch, own: LongArray) -> LongArray:
    """Returns the score of each case against itself, int64 ``[N]``, units of 2^-16 bit.

    A statement counts if it is worth something and so are all statements it is made of: a hypothesis of value 0 does
    not exist, and supports nothing.

    Args:
        cases: ``N`` cases.
        own: int64 ``[S]``, value of each statement with itself.

    Raises:
        CapacityError: one reaches 2^31.
    """
    structure = cases.structure
    counted, entities = own, np.ones(len(cases), np.int64)
    if structure is not None:
        counted = np.where(_supported(cases, own > 0), own, 0)
        entities = structure.entity_counts().astype(np.int64)
    running = np.concatenate([[0], np.cumsum(counted)])
    totals = running[cases.ptr[1:]] - running[cases.ptr[:-1]]
    scores = np.where(totals > 0, totals + entities * ENTITY_VALUE, 0).astype(np.int64)
    if scores.size and int(scores.max()) >= SCORE_LIMIT:
        largest = int(scores.argmax())
        raise CapacityError(
            f"case {cases.keys[largest] or largest}",
            f"its self-score is {int(scores[largest])} units of 2^-16 bit, where scores stay below 2^31",
            "Split the case, or lower the dial gamma.",
        )
    return scores


def _supported(cases: CaseBatch, held: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Returns for each statement of a batch with structure whether it and all statements below it are held, [S]."""
    structure = cases.structure
    assert structure is not None
    start, size = (np.repeat(a, np.diff(cases.ptr)) for a in (cases.ptr[:-1], np.diff(cases.ptr)))
    sound = held.copy()
    for order in range(2, int(structure.order.max(initial=0)) + 1):
        level = np.flatnonzero(structure.order == order)
        owner, at = expand(structure.arg_ptr, level)
        argument = structure.args[at]
        inner = argument < size[level][owner]
        broken = ~sound[(start[level][owner] + argument)[inner]]
        sound[level[owner[inner][broken]]] = False
    return sound
