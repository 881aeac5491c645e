"""Best mappings of many pairs of cases by the compiled search. Importing this module imports numba.

Score, limit and number of nodes are those of the reference's search, bit for bit: see ``cpu_structure_search``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ShapeError
from .cpu_structure_search import ENDS, search_span
from .matching import WHOLE_CELLS
from .structure import StructuredCases, StructurePairs, relaxation, search

__all__ = ["Outcomes", "outcomes", "side_arrays"]

LongArray = npt.NDArray[np.int64]

Share = Callable[[int, int, Callable[[int, int], object]], object]

_CELLS_OF_A_PAIR = 1 << 16  # what a pair of cases with structure costs, in the measure by which work is shared
_MOST_NODES = 1 << 60


@dataclass(frozen=True)
class Outcomes:
    """The outcome of the search for ``P`` pairs; all int64 ``[P]``.

    Attributes:
        total: value of the best mapping's statement pairs, units of 2^-16 bit.
        bound: no mapping is worth more; equal to ``total`` where that is proved best.
        nodes: nodes looked at.
        hypotheses: how many there were.
        entity_pairs: number of entity pairs in any best mapping.
    """

    total: LongArray
    bound: LongArray
    nodes: LongArray
    hypotheses: LongArray
    entity_pairs: LongArray


def outcomes(pairs: StructurePairs, node_budget: int, share: Share) -> Outcomes:
    """Returns what the search finds for each pair.

    Args:
        pairs: the pairs.
        node_budget: greatest number of nodes in the search of one pair.
        share: does work on so many rows, of so many cells each, in spans.

    Raises:
        ShapeError: arrays that do not fit together.
    """
    table = pairs.table
    for name, numbers, side in (("query", pairs.query, pairs.queries), ("case", pairs.case, pairs.cases)):
        if len(numbers) != len(pairs) or (
            len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(side.ptr) - 1
        ):
            raise ShapeError(
                f"best_mappings: {name}",
                f"{len(numbers)} numbers for {len(pairs)} pairs, some of them perhaps of no case",
                f"Give {len(pairs)} numbers from 0 to {len(side.ptr) - 2}.",
            )
    found = np.empty((len(ENDS), len(pairs)), np.int64)
    fixed = (
        _longs(pairs.query), _longs(pairs.case),
        *side_arrays(pairs.queries, np.int64), *side_arrays(pairs.cases, np.int32),
        _longs(table.ptr), np.ascontiguousarray(table.stored, np.int32), _longs(table.value),
        min(node_budget, _MOST_NODES),
        np.array([WHOLE_CELLS, search.STEPS_AT_ROOT, search.STEPS, search.ROUNDING, relaxation.PATIENCE], np.int64),
        np.array([relaxation.SLOWER, relaxation.GAIN]),
    )  # fmt: skip
    share(len(pairs), _CELLS_OF_A_PAIR, lambda start, stop: search_span(start, stop, *fixed, found))
    return Outcomes(**dict(zip(ENDS, found, strict=True)))


def side_arrays(side: StructuredCases, kind: type[np.integer]) -> tuple[npt.NDArray[Any], ...]:
    """Returns the fields of one ``Side`` of the compiled search; kinds are of the type ``kind``.

    What a corpus or a batch holds is of the types that are wanted, and is not copied.
    """
    structure = side.structure
    return (
        _longs(side.ptr), np.ascontiguousarray(side.kinds, kind), _longs(structure.arg_ptr),
        np.ascontiguousarray(structure.args, np.int32), np.ascontiguousarray(structure.commutative),
        _longs(structure.entity_ptr), _longs(side.constants),
    )  # fmt: skip


def _longs(array: npt.NDArray[np.integer]) -> LongArray:
    return np.ascontiguousarray(array, np.int64)
