"""The certified top k of plain queries with all arrays on a device, over ops that take and give tensors.

A round chooses so many cases for each query in the order of their bounds, aligns all of them, and keeps the best. The
next case in bound order then says whether that is proved. Nothing comes back in between: hits and flags do, at the end
of a round. Queries that are not proved yet, usually few, go into another round of their own, with more cases each;
their bounds are still there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import CapacityError
from ..lattice.arrays import expand, pointers
from .contract import PlainQueries, Tops
from .device_arrays import Resident, rank_keys

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DeviceTops", "OnDevice", "TensorOps", "top", "top_on_device"]

LongArray = npt.NDArray[np.int64]

_SHORTEST = 32  # cases of the first round; twice the places wanted where that is more
_GROWTH = 4  # of the number of cases from round to round


@dataclass(frozen=True)
class DeviceTops:
    """The best cases of ``B`` queries, in rank order, as tensors of one device; all are certified.

    Attributes:
        cases: int64 ``[B, k]``; -1 at places left over.
        scores: int64 ``[B, k]``, units of 2^-16 bit; 0 at places left over.
        rank_keys: int64 ``[B, k]``, likewise.
        aligned: int64 ``[B]``, as in ``Tops``.
    """

    cases: Tensor
    scores: Tensor
    rank_keys: Tensor
    aligned: Tensor


@runtime_checkable
class OnDevice(Protocol):
    """A backend whose answers can stay on its device."""

    def top_on_device(self, queries: PlainQueries, k: int) -> DeviceTops:
        """Returns what ``WholeOps.top`` does, as tensors; only a few numbers a query come to the host.

        Raises:
            CapacityError: a bound would reach 2^31.
        """
        ...


class TensorOps(Protocol):
    """The three ops from tensors to tensors, as the loop needs them.

    Arrays of queries and index go through ``resident``, which moves each once.
    """

    resident: Resident

    def bounds_of(self, queries: PlainQueries) -> tuple[Tensor, Tensor]:
        """Returns bounds int32 ``[B, N]``, and int64 ``[B]``: above 0 where a bound of the query reaches 2^31."""
        ...

    def shortlists_of(self, queries: PlainQueries, bounds: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        """Returns ``(cases int32 [B, limit], keys int64 [B, limit])``, as ``select`` does."""
        ...

    def scores_of(self, queries: PlainQueries, cases: Tensor) -> Tensor:
        """Returns the score of each query with each of its ``cases`` int32 ``[B, L]``, int64; 0 where that is -1."""
        ...

    def refusal(self, queries: PlainQueries, found: int) -> CapacityError:
        """Returns the error for queries with a bound of 2^31, ``found`` being the greatest number that told of it."""
        ...


def top(ops: TensorOps, queries: PlainQueries, k: int) -> Tops:
    """Returns the certified top ``k`` of every query; see ``WholeOps.top``."""
    found = _settled(ops, queries, k, lambda tensor: tensor.cpu().numpy())
    cases, scores, keys = (np.ascontiguousarray(found[:, part * k : (part + 1) * k]) for part in range(3))
    certified = np.ones(len(found), np.bool_)
    return Tops(cases, scores, scores.copy(), keys, certified, np.ascontiguousarray(found[:, 3 * k]))


def top_on_device(ops: TensorOps, queries: PlainQueries, k: int) -> DeviceTops:
    """Returns the same as tensors; see ``OnDevice.top_on_device``."""
    found = _settled(ops, queries, k, None)
    cases, scores, keys = (found[:, part * k : (part + 1) * k].contiguous() for part in range(3))
    return DeviceTops(cases, scores, keys, found[:, 3 * k].contiguous())


def _settled(ops: TensorOps, queries: PlainQueries, k: int, fetch: Callable[[Tensor], Any] | None) -> Any:
    """Returns the columns of ``_round``, all proved, int64 ``[B, 3 k + 3]``: fetched, or a tensor if ``fetch`` is None.

    Raises:
        CapacityError: a bound would reach 2^31.
    """
    count = len(queries.tie_rank)
    bounds, over = ops.bounds_of(queries)
    whole, left, limit = None, np.arange(len(queries)), max(2 * k, _SHORTEST)
    while True:
        limit = min(limit, count)
        found = _round(ops, queries, bounds, over, k, limit)
        if fetch is None:
            proved, refused = found[:, -2:].cpu().numpy().T
        else:
            found = fetch(found)
            proved, refused = found[:, -2:].T
        if refused.max(initial=0) > 0:
            raise ops.refusal(queries, int(refused.max()))
        if refused.min(initial=0) < 0:
            raise AssertionError("pairs were aligned with too little memory")
        if whole is None:
            whole = found
        else:
            whole[left if fetch else ops.resident.move(left)] = found
        open_ = np.flatnonzero(proved == 0)
        if not len(open_):
            return whole
        queries, left, at = _some(queries, open_), left[open_], ops.resident.move(open_)
        bounds, over, limit = bounds[at], over[at], limit * _GROWTH


def _round(ops: TensorOps, queries: PlainQueries, bounds: Tensor, over: Tensor, k: int, limit: int) -> Tensor:
    """Returns the best among the first ``limit`` cases in bound order, int64 ``[B, 3 k + 3]``.

    The columns: ``k`` cases, ``k`` scores, ``k`` rank keys; how many cases were to be aligned, which counts where the
    query is proved; whether it is proved; what ``over`` says, or -1 where an alignment lacked memory.
    """
    import torch

    of, count = ops.resident.of, len(queries.tie_rank)
    self_query, tie_rank = of(queries.self_query), of(queries.tie_rank).long()
    # One more than is aligned: the first case that is left out decides.
    short, short_keys = ops.shortlists_of(queries, bounds, min(limit + 1, count))
    cases, bound_keys = short[:, :limit].contiguous(), short_keys[:, :limit]
    able, place = cases >= 0, cases.clamp(min=0).long()
    scores = ops.scores_of(queries, cases)
    keys = rank_keys(ops.resident, queries.normaliser, scores, self_query, place)
    keys, ranks = torch.where(scores > 0, keys, -1), torch.where(able, tie_rank[place], count)

    order = ranks.sort(dim=1, stable=True).indices
    order = order.gather(1, keys.gather(1, order).sort(dim=1, descending=True, stable=True).indices)[:, :k]
    best_keys = keys.gather(1, order)
    last_key, last_rank = best_keys[:, -1:], ranks.gather(1, order)[:, -1:]
    # Where hits are fewer, the last key is -1 and the shortlist holds all that have a bound, or nothing is proved. What
    # is left out of a proved shortlist comes after the last hit, so the shortlist alone is counted.
    not_after = able & ((bound_keys > last_key) | ((bound_keys == last_key) & (ranks <= last_rank)))
    proved = torch.ones(len(queries), dtype=torch.bool, device=cases.device)
    if limit < count:
        next_case, next_key = short[:, limit], short_keys[:, limit]
        next_rank = tie_rank[next_case.clamp(min=0).long()]
        ended = (last_key[:, 0] > next_key) | ((last_key[:, 0] == next_key) & (last_rank[:, 0] < next_rank))
        proved = (next_case < 0) | ended
    held = best_keys >= 0
    columns = [
        torch.where(held, cases.gather(1, order).long(), -1),
        torch.where(held, scores.gather(1, order), 0),
        torch.where(held, best_keys, 0),
        not_after.sum(dim=1, keepdim=True),
        proved.long()[:, None],
        torch.where((scores < 0).any(dim=1), -1, over)[:, None],
    ]
    return torch.cat(columns, dim=1)


def _some(queries: PlainQueries, numbers: LongArray) -> PlainQueries:
    """Returns some of the queries, in the given order; without a mask, which their bounds have in them."""
    owner, at = expand(queries.query_ptr, numbers)
    return replace(
        queries,
        query_ptr=pointers(owner, len(numbers)),
        query_rows=queries.query_rows[at],
        self_query=queries.self_query[numbers],
        among=None,
    )
