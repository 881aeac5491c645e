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
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CapacityError
from ..kernels.cuda import launch as cuda_launch
from ..kernels.triton import launch as triton_launch
from ..scoring import Normaliser, PairTable
from ..scoring.grid import ENTITY_VALUE
from ..scoring.normalise import FACTOR_SHIFT, QUOTIENT_SHIFT
from .contract import PairBlock
from .lists import Lists, folded
from .reference import ReferenceOps
from .torch_backend import Resident

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
    """The three ops on the current CUDA device. See the contract for shapes and meaning."""

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
        ``[B, N]``.
        """
        lists = folded(lists)
        with _device(f"bounds of {len(query_ptr) - 1} queries over {len(lists.entities)} cases"):
            on_device, overflow = cuda_launch.accumulate(
                (
                    self.resident.of(lists.ptr),
                    self.resident.of(lists.cases),
                    self.resident.of(lists.best),
                    self.resident.of(lists.entities),
                ),
                self.resident.move(query_ptr),
                self.resident.move(query_lists),
                self.resident.move(query_entities),
                None if among is None else self.resident.move(among),
                ENTITY_VALUE,
            )
            if bool(overflow.any()):
                # The definition finds the same and says how great the bound is.
                self._reference.accumulate(lists, query_ptr, query_lists, query_entities, among)
                raise AssertionError("the cuda backend found a bound of 2^31 that the reference does not have")
            bounds: IntArray = on_device.cpu().numpy()
        bounds.flags.writeable = False
        self.resident.made("as it is", lambda: on_device, bounds)
        return bounds

    def select(
        self, bounds: IntArray, normaliser: Normaliser, self_query: LongArray, tie_rank: IntArray, limit: int
    ) -> tuple[IntArray, LongArray]:
        """Returns ``(cases int32 [B, L], keys int64 [B, L])`` in rank order.

        Determinism: a total order, found by counting digits; no order of threads shows.
        Cost: three to ten passes over the keys of ``[B, N]``, up to four more where keys are equal at the last place;
        then ``L`` times the number of runs of 1,024 in ``L``.
        """
        by_factor = normaliser.dials.power is not None
        with _device(f"selection of {limit} among {bounds.shape[1]} cases for {len(bounds)} queries"):
            cases, keys = triton_launch.select(
                self._bounds(bounds),
                self.resident.of(normaliser.factors if by_factor else normaliser.self_scores),
                self.resident.move(self_query),
                self.resident.of(tie_rank),
                limit,
                divide_by="" if by_factor else normaliser.dials.normalisation,
                factor_shift=FACTOR_SHIFT,
                quotient_shift=QUOTIENT_SHIFT,
            )
            return cases.cpu().numpy(), keys.cpu().numpy()

    def assign(self, table: PairTable, pairs: PairBlock) -> LongArray:
        """Returns the score of each pair, int64 ``[P]``.

        Determinism: the optimum is unique, whichever matching attains it.
        Cost: one assignment problem a pair, by one warp.
        """
        if not len(pairs):
            return np.zeros(0, np.int64)
        with _device(f"alignment of {len(pairs)} pairs"):
            launches = cuda_launch.assign_launches(*most_hypotheses(table, pairs), *cuda_launch.assign_room())
            score = cuda_launch.assign(
                launches,
                (self.resident.of(table.ptr), self.resident.of(table.stored), self.resident.of(table.value)),
                self.resident.move(pairs.query),
                self.resident.move(pairs.case),
                self.resident.of(pairs.query_ptr),
                self.resident.of(pairs.query_rows),
                self.resident.of(pairs.case_ptr),
                self.resident.of(pairs.case_kinds),
                ENTITY_VALUE,
            )
            found: LongArray = score.cpu().numpy()
        if (found < 0).any():
            raise AssertionError("assign was started with too little scratch memory")
        return found

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
def _device(asked: str) -> Iterator[None]:
    """Runs on the default stream, which CuPy and torch share; says in words when the memory does not suffice."""
    import torch

    try:
        with torch.cuda.stream(torch.cuda.default_stream()):
            yield
    except torch.cuda.OutOfMemoryError as fault:
        raise CapacityError(
            asked,
            f"the memory of the GPU does not hold it ({str(fault).splitlines()[0]})",
            "Ask for fewer queries at a time, or use --backend cpu.",
        ) from fault
