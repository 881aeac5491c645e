"""Where given cases stand for many queries at once: what ``OpenQuery.standing`` says of one case of one query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import ShapeError
from ..lattice.arrays import pointers
from ..ops import Ops, choose
from ..ops.registry import AUTO
from .block import QueryBlock
from .budget import plan_batch
from .corpus import Corpus
from .mappings import check_flat
from .reaching import down_to
from .search import open_blocks

__all__ = ["Standings", "standings"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_CELLS_A_PAIR = 2500  # bounds that take the reference as long as one alignment; for the choice of a backend alone


@dataclass(frozen=True)
class Standings:
    """How ``K`` given cases stand for each of ``B`` queries.

    Attributes:
        scores: int64 ``[B, K]``, structural evaluation scores in units of 2^-16 bit; 0 for a case that is no hit.
        rank_keys: int64 ``[B, K]``, what the order is by; -1 for a case that is no hit.
        ranks: int32 ``[B, K]``, exact place among all cases that can be hits, from 1; 0 for a case that is no hit, and
            for all cases of a query that was not to be ranked.
    """

    scores: LongArray
    rank_keys: LongArray
    ranks: IntArray


def standings(
    corpus: Corpus,
    batch: CaseBatch,
    cases: IntArray,
    *,
    ranked: BoolArray | None = None,
    among: BoolArray | None = None,
    backend: str = AUTO,
    device: str = AUTO,
) -> Standings:
    """Returns where the given cases stand for each query of a batch.

    A score needs the alignment of its own pair alone. A rank needs those of all cases whose bound reaches the rank key
    of the last of the given ones: it is exact, however far down that is.

    Args:
        corpus: the stored cases, flat ones.
        batch: the queries, flat ones.
        cases: int32 ``[B, K]``, distinct numbers of cases for each query, -1 where there is none.
        ranked: bool ``[B]``, the queries for which ranks are wanted beside scores; all where it is None.
        among: bool ``[N]`` or ``[B, N]``, the only cases that can be hits; all where it is None.
        backend: which ops to use; ``auto`` chooses by the amount of work.
        device: where they are to work.

    Raises:
        CaseError: the queries or the stored cases have structure, or the ontology lacks a functor.
        ShapeError: an array is of another shape.
        BackendUnavailable: ``backend`` was named and cannot serve, or not on ``device``.
        CapacityError: a bound would reach 2^31 units.
    """
    check_flat(corpus, batch)
    wants = np.ones(len(batch), np.bool_) if ranked is None else ranked
    if cases.ndim != 2 or len(cases) != len(batch) or wants.shape != (len(batch),):
        found = f"cases of shape {cases.shape}, and {wants.shape} for those to be ranked"
        raise ShapeError(f"standings for {len(batch)} queries", found, "Give arrays with a row for each query.")
    scores = np.zeros(cases.shape, np.int64)
    keys, ranks = np.full(cases.shape, -1, np.int64), np.zeros(cases.shape, np.int32)
    cells = len(batch) * len(corpus) + _CELLS_A_PAIR * int((cases >= 0).sum())
    for numbers, block in _blocks(corpus, batch, cases.shape[1], among, choose(backend, device, cells=cells)[1]):
        given = cases[numbers]
        at, place = np.nonzero(given >= 0)
        case = given[at, place].astype(np.int64)
        if block.among is not None:
            at, place, case = (column[block.among[at, case]] for column in (at, place, case))
        found_scores = block.align(at, case)[0]
        matched = found_scores > 0
        at, place, case, found_scores = at[matched], place[matched], case[matched], found_scores[matched]
        found_keys = block.keys(at, case, found_scores)
        scores[numbers[at], place], keys[numbers[at], place] = found_scores, found_keys
        wanted = np.flatnonzero(wants[numbers] & np.isin(np.arange(len(block)), at))
        if len(wanted):
            ours = np.isin(at, wanted)
            own = np.searchsorted(wanted, at[ours])
            ranks[numbers[at[ours]], place[ours]] = _ranks(block.take(wanted), own, case[ours], found_keys[ours])
    return Standings(scores, keys, ranks)


def _blocks(
    corpus: Corpus, batch: CaseBatch, places: int, among: BoolArray | None, ops: Ops
) -> Iterator[tuple[LongArray, QueryBlock]]:
    """Yields the queries in blocks, each with the numbers of its queries in ``batch``."""
    plan = plan_batch(corpus, batch, ops, max(places, 1))
    own = among is not None and among.ndim == 2
    for start in range(0, len(batch), plan.part) if len(corpus) else ():
        numbers = np.arange(start, min(start + plan.part, len(batch)))
        part = batch if len(numbers) == len(batch) else batch.take(numbers)
        mask = among[numbers] if own and among is not None else among
        for block in open_blocks(corpus, part, ops, among=mask, plan=plan):
            yield numbers[block.numbers], block


def _ranks(block: QueryBlock, query: LongArray, case: LongArray, key: LongArray) -> IntArray:
    """Returns the rank of each given hit, int32.

    Args:
        block: the queries.
        query: int64 ``[P]``, the query of each hit, ascending; each query has one or more.
        case: int64 ``[P]``.
        key: int64 ``[P]``, its rank key.
    """
    floors = np.full(len(block), np.iinfo(np.int64).max)
    np.minimum.at(floors, query, key)
    row, other, keys = down_to(block, floors)
    order = np.lexsort((block.corpus.tie_rank[other], -keys, row))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order)) - pointers(row, len(block))[row] + 1  # rows ascend before and after
    size = len(block.corpus)
    found: IntArray = rank[np.searchsorted(row * size + other, query * size + case)]
    return found
