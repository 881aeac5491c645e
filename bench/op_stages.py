"""The stages of a backend on one problem, ready to be timed, and the bytes that each must move at least.

``host_stages`` takes and gives arrays of the host, as any backend does. ``device_stages`` is for those that keep arrays
on a device: what belongs to the index and what the stage before made is there already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ops import Ops, PairBlock, WholeOps, device_loop
from ..ops.cuda import most_hypotheses
from ..ops.device_loop import TensorOps
from ..ops.reference import ReferenceOps
from .op_problems import Problem, pairs_of

__all__ = ["Stage", "device_stages", "host_stages", "same_as_reference"]

NORMALISATION = "power(0)"
K = 10
_SHORTLIST = 64
_ALIGNED = 16  # pairs aligned for each query, as in the first look of a retrieval
_COMPARED = 8  # queries whose results are compared with the reference


@dataclass(frozen=True)
class Stage:
    """One op on one problem.

    Attributes:
        name: the op, or ``top`` for all of them in one call.
        call: does it.
        least_bytes: what it reads, once, and what it writes; 0 where that depends on what it finds.
    """

    name: str
    call: Callable[[], Any]
    least_bytes: int


def host_stages(ops: Ops, problem: Problem) -> list[Stage]:
    """Returns the stages of any backend, from and to the host; ``top`` too where the backend runs the loop itself."""
    asked = (problem.query_ptr, problem.query_lists, problem.query_entities)
    bounds = ops.accumulate(problem.lists, *asked)
    pairs = first_pairs(problem, ops.select(bounds, *_selection(problem))[0])
    least = _least(problem, pairs)
    found = [
        Stage("accumulate", lambda: ops.accumulate(problem.lists, *asked), least["accumulate"]),
        Stage("select", lambda: ops.select(bounds, *_selection(problem)), least["select"]),
        Stage("assign", lambda: ops.assign(problem.table, pairs), least["assign"]),
    ]
    if isinstance(ops, WholeOps):
        whole, plain = ops, problem.plain(NORMALISATION)
        found.append(Stage("top", lambda: whole.top(plain, min(K, len(problem.tie_rank))), 0))
    return found


def device_stages(ops: TensorOps, problem: Problem) -> list[Stage]:
    """Returns the stages of a backend that keeps arrays on a device: from there to there, and ``top`` to the host."""
    plain, limit = problem.plain(NORMALISATION), min(_SHORTLIST, len(problem.tie_rank))
    bounds, _ = ops.bounds_of(plain)
    first = ops.shortlists_of(plain, bounds, limit)[0][:, :_ALIGNED].contiguous()
    least = _least(problem, first_pairs(problem, first.cpu().numpy()))
    return [
        Stage("accumulate", lambda: ops.bounds_of(plain), least["accumulate"]),
        Stage("select", lambda: ops.shortlists_of(plain, bounds, limit), least["select"]),
        Stage("assign", lambda: ops.scores_of(plain, first), least["assign"]),
        Stage("top", lambda: device_loop.top(ops, plain, min(K, len(problem.tie_rank))), 0),
    ]


def first_pairs(problem: Problem, shortlist: npt.NDArray[np.integer]) -> PairBlock:
    """Returns each query with the first cases of its shortlist."""
    first = shortlist[:, :_ALIGNED]
    query, place = np.nonzero(first >= 0)
    return pairs_of(problem, query, first[query, place].astype(np.int64))


def same_as_reference(ops: Ops, problem: Problem) -> bool:
    """Returns whether the first queries of a problem have the bits of the reference, op by op."""
    part, reference = problem.first(_COMPARED), ReferenceOps()
    asked = (part.lists, part.query_ptr, part.query_lists, part.query_entities)
    wanted, found = reference.accumulate(*asked), ops.accumulate(*asked)
    if not np.array_equal(wanted, found):
        return False
    shortlist, keys = reference.select(wanted, *_selection(part))
    found_shortlist, found_keys = ops.select(found, *_selection(part))
    if not (np.array_equal(shortlist, found_shortlist) and np.array_equal(keys, found_keys)):
        return False
    pairs = first_pairs(part, shortlist)
    return np.array_equal(reference.assign(part.table, pairs), ops.assign(part.table, pairs))


def _selection(problem: Problem) -> tuple[Any, ...]:
    limit = min(_SHORTLIST, len(problem.tie_rank))
    return problem.normaliser(NORMALISATION), problem.self_query, problem.tie_rank, limit


def _least(problem: Problem, pairs: PairBlock) -> dict[str, int]:
    queries, cases = len(problem), len(problem.tie_rank)
    lengths = np.diff(problem.lists.ptr)
    rows, columns, _ = most_hypotheses(problem.table, pairs)
    return {
        "accumulate": 8 * int(lengths[np.unique(problem.query_lists)].sum()) + 4 * queries * cases + 4 * cases,
        "select": 4 * queries * cases + 12 * cases + 12 * queries * min(_SHORTLIST, cases),
        "assign": int((8 * rows + 4 * columns).sum()) + 24 * len(pairs),
    }
