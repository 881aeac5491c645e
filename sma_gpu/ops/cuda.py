"""The cuda backend: accumulate and assign in CUDA C++ through CuPy, select in Triton.

Tensors of torch hold what is on the device, since Triton's launcher needs torch there. Arrays of the index are moved
once; the bounds that ``accumulate`` returns stay on the device too, so that ``select`` finds them there. CuPy, Triton
and torch are imported where they are first needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import CapacityError
from ..kernels.cuda import launch as cuda_launch
from ..kernels.triton import launch as triton_launch
from ..scoring import Normaliser, PairTable
from ..scoring.grid import ENTITY_VALUE
from ..scoring.normalise import FACTOR_SHIFT, QUOTIENT_SHIFT
from . import device_loop
from .contract import PairBlock, PlainQueries, Tops
from .device_arrays import Resident
from .device_lists import hold
from .device_loop import DeviceTops
from .lists import Lists
from .reference import ReferenceOps

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["INSTALL", "CudaOps", "cuda_ops", "missing", "most_hypotheses"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

INSTALL = (
    "Run: pip install 'sma_gpu[cuda]', on a machine with an NVIDIA GPU and a driver for CUDA 13. "
    "Elsewhere use --backend auto."
)


@cache
def missing() -> str:
    """Returns what this backend lacks here, or an empty string."""
    lacking = [name for name in ("cupy", "triton", "torch") if not find_spec(name)]
    if lacking:
        return f"not installed: {', '.join(lacking)}"
    import torch

    if not torch.cuda.is_available():
        built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built for CPUs only"
        return f"torch {torch.__version__} finds no GPU here; it is {built}"
    import cupy

    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as fault:
        return f"CuPy {cupy.__version__} finds no GPU here: {fault}"
    try:
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as fault:
        return f"CuPy finds no NVRTC to compile kernels with: {fault}"
    return ""


@cache
def cuda_ops() -> CudaOps:
    """Returns the ops, the same object each time, so that what was moved to the device is found again."""
    return CudaOps()


class CudaOps:
    """The three ops on the current CUDA device, and the loop over them whole. The contract says what arrays mean."""

    def __init__(self) -> None:
        self.resident = Resident("cuda")
        self._reference = ReferenceOps()

    def accumulate(
        self,
        lists: Lists,
        query_ptr: LongArray,
        query_lists: IntArray,
        query_entities: IntArray,
        among: BoolArray | None = None,
    ) -> IntArray:
        """Returns the bound of every query with every case, int32 ``[B, N]``, read-only.

        Read-only, since a copy stays on the device as long as the array lives.

        Determinism: sums of whole numbers in shared memory; any order of addition gives the same bits.
        Cost: the entries of the lists touched, a bisection of each list for every 8,192 cases, and the writing of
        ``[B, N]``; of postings, also their folding on the device, a sort of those entries.
        """
        with _device(f"bounds of {len(query_ptr) - 1} queries over {len(lists.entities)} cases"):
            ptr, entities = self.resident.move(query_ptr), self.resident.move(query_entities)
            on_device, overflow = self._accumulated(lists, query_lists, ptr, entities, among)
            if bool(overflow.any()):
                raise self._refusal(lists, query_ptr, query_lists, query_entities, among)
            bounds: IntArray = on_device.cpu().numpy()
        bounds.flags.writeable = False
        self.resident.made("as it is", lambda: on_device, bounds)
        return bounds

    def _accumulated(
        self,
        lists: Lists,
        named: npt.NDArray[np.integer],
        query_ptr: Tensor,
        entities: Tensor,
        among: BoolArray | None,
    ) -> tuple[Tensor, Tensor]:
        """Returns bounds int32 ``[B, N]`` and overflow marks int32 ``[B]``; ``named`` are the lists of all queries."""
        held, of = hold(self.resident, lists, named), self.resident.of
        bounds, overflow = cuda_launch.accumulate(
            (of(held.ptr), held.cases, held.best, of(lists.entities)),
            query_ptr,
            self.resident.move(held.numbers(named).astype(np.int32)),
            entities,
            None if among is None else self.resident.mask(among),
            ENTITY_VALUE,
        )
        return bounds, overflow

    def _refusal(
        self,
        lists: Lists,
        query_ptr: LongArray,
        query_lists: IntArray,
        query_entities: IntArray,
        among: BoolArray | None,
    ) -> CapacityError:
        """Returns the error of the definition, which finds the same and says how great the bound is."""
        try:
            self._reference.accumulate(lists, query_ptr, query_lists, query_entities, among)
        except CapacityError as fault:
            return fault
        raise AssertionError("the cuda backend found a bound of 2^31 that the reference does not have")

    def select(
        self, bounds: IntArray, normaliser: Normaliser, self_query: LongArray, tie_rank: IntArray, limit: int
    ) -> tuple[IntArray, LongArray]:
        """Returns ``(cases int32 [B, L], keys int64 [B, L])`` in rank order.

        Determinism: a total order, found by counting digits; no order of threads shows.
        Cost: three to ten passes over the keys of ``[B, N]``, up to four more where keys are equal at the last place;
        then ``L`` times the number of runs of 1,024 in ``L``.
        """
        with _device(f"selection of {limit} among {bounds.shape[1]} cases for {len(bounds)} queries"):
            own = self.resident.move(self_query)
            cases, keys = self._selected(self._bounds(bounds), normaliser, own, tie_rank, limit)
            return cases.cpu().numpy(), keys.cpu().numpy()

    def _selected(
        self, bounds: Tensor, normaliser: Normaliser, self_query: Tensor, tie_rank: IntArray, limit: int
    ) -> tuple[Tensor, Tensor]:
        by_factor = normaliser.dials.power is not None
        return triton_launch.select(
            bounds,
            self.resident.of(normaliser.factors if by_factor else normaliser.self_scores),
            self_query,
            self.resident.of(tie_rank),
            limit,
            divide_by="" if by_factor else normaliser.dials.normalisation,
            factor_shift=FACTOR_SHIFT,
            quotient_shift=QUOTIENT_SHIFT,
        )

    def assign(self, table: PairTable, pairs: PairBlock) -> LongArray:
        """Returns the score of each pair, int64 ``[P]``.

        Determinism: the optimum is unique, whichever matching attains it.
        Cost: one assignment problem a pair, by one warp.
        """
        if not len(pairs):
            return np.zeros(0, np.int64)
        with _device(f"alignment of {len(pairs)} pairs"):
            rows, columns, hypotheses = (int(side.max()) for side in most_hypotheses(table, pairs))
            query, case = self.resident.move(pairs.query), self.resident.move(pairs.case)
            found: LongArray = self._assigned(table, pairs, query, case, (rows, columns, hypotheses)).cpu().numpy()
        if (found < 0).any():
            raise AssertionError("assign was started with too little scratch memory")
        return found

    def _assigned(
        self, table: PairTable, pairs: PairBlock | PlainQueries, query: Tensor, case: Tensor, most: tuple[int, int, int]
    ) -> Tensor:
        """Returns the score of each pair; ``most``: statements of a query, of a case, and hypotheses there can be."""
        of = self.resident.of
        score: Tensor = cuda_launch.assign(
            cuda_launch.assign_launches(len(query), *most, *cuda_launch.assign_room()),
            (of(table.ptr), of(table.stored), of(table.value)),
            query,
            case,
            of(pairs.query_ptr),
            of(pairs.query_rows),
            of(pairs.case_ptr),
            of(pairs.case_kinds),
            ENTITY_VALUE,
        )
        return score

    def top(self, queries: PlainQueries, k: int) -> Tops:
        """Returns the certified top ``k`` of every query; see ``WholeOps.top``.

        Bounds, shortlists and scores stay on the device. The hits of a round come back together with its flags; nothing
        else does.
        """
        with _device(f"top {k} of {len(queries)} queries over {len(queries.tie_rank)} cases"):
            return device_loop.top(self, queries, k)

    def top_on_device(self, queries: PlainQueries, k: int) -> DeviceTops:
        """Returns the same as tensors; see ``OnDevice.top_on_device``. Of the hits, nothing comes back.

        They may be used at once on the stream that is the caller's current one.
        """
        with _device(f"top {k} of {len(queries)} queries over {len(queries.tie_rank)} cases") as caller:
            tops = device_loop.top_on_device(self, queries, k)
            for tensor in (tops.cases, tops.scores, tops.rank_keys, tops.aligned) if caller else ():
                tensor.record_stream(caller)  # its memory is not handed out again before that stream has read it
        return tops

    def bounds_of(self, queries: PlainQueries) -> tuple[Tensor, Tensor]:
        """Returns bounds int32 ``[B, N]``, and int64 ``[B]``: 1 where a bound of the query reaches 2^31."""
        import torch

        ptr = self.resident.of(queries.query_ptr)
        ones = torch.ones(len(queries), dtype=torch.int32, device=ptr.device)
        bounds, overflow = self._accumulated(queries.lists, queries.query_rows, ptr, ones, queries.among)
        return bounds, overflow.long()

    def shortlists_of(self, queries: PlainQueries, bounds: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        """Returns ``(cases int32 [B, limit], keys int64 [B, limit])``."""
        own = self.resident.of(queries.self_query)
        return self._selected(bounds, queries.normaliser, own, queries.tie_rank, limit)

    def scores_of(self, queries: PlainQueries, cases: Tensor) -> Tensor:
        """Returns the score of each query with each of its ``cases`` int32 ``[B, L]``, int64; 0 where that is -1."""
        import torch

        case_ptr, table = queries.case_ptr, queries.table
        query = torch.arange(len(queries), device=cases.device).repeat_interleave(cases.shape[1])
        rows = int(np.diff(queries.query_ptr).max(initial=0))
        columns = self.resident.made("greatest case", lambda: int(np.diff(case_ptr).max(initial=0)), case_ptr)
        entries = np.concatenate([[0], np.cumsum(np.diff(table.ptr)[queries.query_rows])])
        most = int(np.diff(entries[queries.query_ptr]).max(initial=0))
        case = cases.reshape(-1).long()
        sizes = rows, columns, min(rows * columns, most)
        return self._assigned(table, queries, query, case, sizes).view(cases.shape)

    def refusal(self, queries: PlainQueries, found: int) -> CapacityError:
        """Returns the error for queries with a bound of 2^31, in the words of the definition."""
        named, ones = queries.query_rows.astype(np.int32), np.ones(len(queries), np.int32)
        return self._refusal(queries.lists, queries.query_ptr, named, ones, queries.among)

    def _bounds(self, bounds: IntArray) -> Any:
        # One that can be written to may differ from what was moved before.
        return self.resident.move(bounds) if bounds.flags.writeable else self.resident.of(bounds)


def most_hypotheses(table: PairTable, pairs: PairBlock) -> tuple[LongArray, LongArray, LongArray]:
    """Returns for each pair: statements of its query, statements of its case, at least its hypotheses; int64 each."""
    rows, columns = np.diff(pairs.query_ptr)[pairs.query], np.diff(pairs.case_ptr)[pairs.case]
    if not len(pairs):
        return rows, columns, rows
    first, last = int(pairs.query[0]), int(pairs.query[-1])
    at = slice(int(pairs.query_ptr[first]), int(pairs.query_ptr[last + 1]))
    up_to = np.concatenate([[0], np.cumsum(np.diff(table.ptr)[pairs.query_rows[at]])])  # entries of the rows before
    ends = pairs.query_ptr[first : last + 2] - at.start
    entries = np.diff(up_to[ends])[pairs.query - first]
    return rows, columns, np.minimum(rows * columns, entries)


@contextmanager
def _device(asked: str) -> Iterator[Any]:
    """Runs on the default stream, which CuPy and torch share; says in words when the memory does not suffice.

    Yields the caller's stream, or None where it is that one. Streams of torch's pool do not wait for the default stream
    by themselves, so they are told to, here and at the end.
    """
    import torch

    ours, caller = torch.cuda.default_stream(), torch.cuda.current_stream()
    ours.wait_stream(caller)
    try:
        with torch.cuda.stream(ours):
            yield None if caller == ours else caller
    except torch.cuda.OutOfMemoryError as fault:
        raise CapacityError(
            asked,
            f"the memory of the GPU does not hold it ({str(fault).splitlines()[0]})",
            "Ask for fewer queries at a time, or use --backend cpu.",
        ) from fault
    finally:
        caller.wait_stream(ours)
