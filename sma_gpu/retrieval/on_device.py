"""Queries and hits as arrays of a device, exchanged by DLPack with whatever library has them.

Hits stay where they were found: ``numpy.from_dlpack``, ``cupy.from_dlpack`` or ``torch.from_dlpack`` take them without
a copy. Queries are few numbers beside the index, and their values are looked up on the host, so they go there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import BackendUnavailable, QueryError, ShapeError
from ..ops import choose
from ..ops.device_loop import OnDevice
from ..ops.registry import AUTO
from .corpus import Corpus
from .search import check_k, open_blocks

__all__ = ["DeviceArray", "DeviceHits", "queries_from_arrays", "retrieve_on_device"]

_CPU = (1, 3)  # kDLCPU, kDLCUDAHost: what the host reads in place


class DeviceArray(Protocol):
    """An array that DLPack can exchange: of torch, CuPy, JAX, NumPy and others."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """Returns a capsule of the array."""
        ...

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns kind and number of the device that holds it."""
        ...


@dataclass(frozen=True)
class DeviceHits:
    """The best ``K = min(k, N)`` cases of ``B`` queries as tensors of one device, all certified and proved best.

    The numbers are those of ``Hits``; each array has ``__dlpack__``. Places beyond a query's last hit hold case -1 and
    0. The rank of a hit is its place, counted from 1; its key is ``index.keys[case]``.

    Attributes:
        cases: int64 ``[B, K]``.
        score_q: int64 ``[B, K]``, structural evaluation scores in units of 2^-16 bit.
        rank_keys: int64 ``[B, K]``, what the order is by.
        aligned: int64 ``[B]``, number of cases whose bound alone does not place them after the k-th hit.
        backend: name of the backend that answered.
    """

    cases: Any
    score_q: Any
    rank_keys: Any
    aligned: Any
    backend: str

    def __len__(self) -> int:
        return len(self.aligned)


def queries_from_arrays(ptr: DeviceArray, functors: DeviceArray, keys: Sequence[str] | None = None) -> CaseBatch:
    """Returns the batch of flat queries that two arrays of any library and device hold in CSR form.

    Args:
        ptr: whole numbers ``[B + 1]``, ascending from 0.
        functors: whole numbers ``[.]``, functors of the queries; doubles within a query count once.
        keys: of the queries; empty unless given.

    Raises:
        ShapeError: they are not such arrays, or do not fit together.
    """
    bounds, numbers = (_whole_numbers(name, array) for name, array in (("ptr", ptr), ("functors", functors)))
    fits = len(bounds) and bounds[0] == 0 and (np.diff(bounds) >= 0).all() and bounds[-1] == len(numbers)
    if not fits:
        raise ShapeError(
            f"queries of {len(numbers)} functors",
            f"{len(bounds)} pointers that do not cover them in order",
            "Give ascending pointers from 0 to the number of functors, one more than there are queries.",
        )
    names = [""] * (len(bounds) - 1) if keys is None else list(keys)
    nothing = np.zeros(len(bounds), np.int64), np.zeros(0, np.int32)
    if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < 1 << 31:
        raise ShapeError(
            f"queries of {len(numbers)} functors",
            f"functors from {int(numbers.min())} to {int(numbers.max())}",
            "Functors run from 0 to below 2^31.",
        )
    return CaseBatch.from_csr(names, (bounds.astype(np.int64), numbers.astype(np.int64)), nothing)


def retrieve_on_device(
    corpus: Corpus,
    batch: CaseBatch,
    k: int,
    *,
    backend: str = "torch",
    device: str = AUTO,
    among: npt.NDArray[np.bool_] | None = None,
) -> DeviceHits:
    """Returns the certified top ``k`` of every query, left on the device. See ``Index.retrieve_on_device``."""
    import torch

    places = min(check_k(k), len(corpus))
    name, ops = choose(backend, device)
    if not isinstance(ops, OnDevice):
        raise BackendUnavailable(
            f"hits on a device by backend {name}",
            "it has no device of its own",
            "Use the backend torch or cuda, or Index.retrieve.",
        )
    found = []
    for block in open_blocks(corpus, batch, ops, among=among) if places else ():
        plain = block.as_plain()
        if plain is None:
            raise QueryError(
                f"hits on a device for {len(batch)} queries",
                "queries or stored cases have structure, and such are aligned on the host",
                "Use Index.retrieve.",
            )
        found.append(ops.top_on_device(plain, places))
    if not found:
        empty, rows = torch.zeros((len(batch), places), dtype=torch.int64), torch.zeros(len(batch), dtype=torch.int64)
        return DeviceHits(empty - 1, empty, empty.clone(), rows, name)
    cases, scores, keys, aligned = (
        torch.cat([getattr(part, side) for part in found]) for side in ("cases", "scores", "rank_keys", "aligned")
    )
    return DeviceHits(cases, scores, keys, aligned, name)


def _whole_numbers(name: str, array: DeviceArray) -> npt.NDArray[np.integer]:
    """Returns an array on the host, in place where it is there already.

    Raises:
        ShapeError: it cannot be exchanged, or is no row of whole numbers.
    """
    if not hasattr(array, "__dlpack__") or not hasattr(array, "__dlpack_device__"):
        raise ShapeError(
            f"queries with {name}", f"{type(array).__name__} has no __dlpack__", "Give an array or tensor."
        )
    if array.__dlpack_device__()[0] in _CPU:
        found: npt.NDArray[Any] = np.from_dlpack(array)
    else:
        from torch.utils.dlpack import from_dlpack

        found = from_dlpack(array).cpu().numpy()
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ShapeError(
            f"queries with {name}", f"{found.dtype} {list(found.shape)}", "Give one dimension of whole numbers."
        )
    return found
