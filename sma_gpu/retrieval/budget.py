"""How much memory a batch works with, and how it is cut so that this stays within a limit.

What is counted is what a call makes and drops: tables and lists for its queries, and the blocks in which they are
answered. What it returns, what is kept with the corpus, and the search for mappings of cases with structure are not;
nor is, once more, what it returns of mappings, which are found block by block and then put together. Estimates are
upper ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CapacityError, QueryError
from ..ops import Ops, QuerywiseOps, WholeOps
from .corpus import MADE_ENTRY_BYTES, MADE_PAIR_BYTES, Corpus

__all__ = ["Plan", "plan_batch"]

LongArray = npt.NDArray[np.int64]

_BLOCK_CELLS = 1 << 22  # bounds held at a time where nothing else is said; changes memory, never an answer
_CELL_BYTES = 32  # of a bound while a block is answered: it, its sums in int64, a mask, what selects from them
_TABLE_PAIRS = 1 << 22  # pairs in a table that is made for some queries alone: about 512 MiB while it is made
_PLACE_BYTES = 64  # of a place among the hits of a query, while it is found
_MAPPED_BYTES = 128  # of a statement of a query at one place, while its mapping is found


@dataclass(frozen=True)
class Plan:
    """How a batch is answered.

    Attributes:
        part: queries that share one table and its lists, 1 or more.
        block: queries that are bounded together, 1 or more.
        spare_bytes: what may be made for all functors, to be kept, takes no more; no limit where it is None.
    """

    part: int
    block: int
    spare_bytes: int | None


def plan_batch(
    corpus: Corpus,
    batch: CaseBatch,
    ops: Ops,
    places: int = 1,
    max_bytes: int | None = None,
    *,
    mappings: bool = False,
) -> Plan:
    """Returns how a batch is cut.

    Args:
        corpus: the stored cases, spelled out where ``batch`` is.
        batch: the queries.
        ops: what will answer them.
        places: hits wanted of each.
        max_bytes: what the call may work with; as much as is quick where it is None.
        mappings: whether hits are mapped too.

    Raises:
        QueryError: ``max_bytes`` is not a whole number above 0.
        CapacityError: one query alone would take more.
    """
    cases = max(len(corpus), 1)
    querywise = isinstance(ops, QuerywiseOps) and batch.structure is None and corpus.cases.structure is None
    if max_bytes is None:
        together = _sharing_a_table(corpus, batch)
        return Plan(together, together if querywise else max(1, _BLOCK_CELLS // cases), None)
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int | np.integer) or max_bytes < 1:
        raise QueryError(f"max_bytes = {max_bytes!r}", "it must be a whole number above 0", "Give a number of bytes.")
    fixed = ops.scratch_bytes(cases) if querywise and isinstance(ops, QuerywiseOps) else 0
    each = max(places, 1) * _PLACE_BYTES + (0 if querywise else cases * _CELL_BYTES)
    lists = _list_bytes(corpus, batch, ops) + batch.ptr * (places * _MAPPED_BYTES if mappings else 0)
    least = fixed + each + int((lists[1:] - lists[:-1]).max(initial=0))
    if least > max_bytes:
        raise CapacityError(
            f"retrieve from {len(corpus)} cases with max_bytes = {max_bytes}",
            f"one query works with up to {least} bytes",
            f"Give max_bytes = {least} or more, or None for no limit.",
        )
    part = max(len(batch), 1)
    while True:
        cuts = np.append(np.arange(0, len(batch), part), len(batch))
        room = max_bytes - fixed - int(np.diff(lists[cuts]).max(initial=0))
        if room >= each:
            return Plan(part, min(part, room // each), max_bytes - fixed - each)
        part = (part + 1) // 2


def _sharing_a_table(corpus: Corpus, batch: CaseBatch) -> int:
    """Returns how many queries share a table where memory is not limited: all, unless it is made anew for each part."""
    part = max(len(batch), 1)
    if corpus.dials.weighing:
        pairs = np.concatenate([[0], np.cumsum(corpus.most_pairs[batch.functors])])[batch.ptr]
        while part > 1 and np.diff(pairs[np.append(np.arange(0, len(batch), part), len(batch))]).max() > _TABLE_PAIRS:
            part = (part + 1) // 2
    return part


def _list_bytes(corpus: Corpus, batch: CaseBatch, ops: Ops) -> LongArray:
    """Returns the bytes for tables and lists of all queries up to each, int64 ``[B + 1]``."""
    functors = batch.functors
    if batch.structure is not None:
        functors = functors + np.int32(len(corpus.mounted.lattice)) * batch.structure.negated.astype(np.int32)
    of_functor = corpus.most_pairs * MADE_PAIR_BYTES
    if not isinstance(ops, WholeOps):
        of_functor = of_functor + corpus.most_entries * MADE_ENTRY_BYTES
    running = np.concatenate([[0], np.cumsum(of_functor[functors])])
    found: LongArray = running[batch.ptr]
    return found
