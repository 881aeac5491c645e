"""Compiles and starts the CUDA C++ kernels of ``accumulate`` and ``assign`` through CuPy.

Arrays are tensors of torch on one device, contiguous: one allocator serves these kernels and Triton's. CuPy gets their
addresses alone, so that no rule of exchange between the two libraries, and no stream of theirs, comes into it.

Sources are compiled on first use, once a process and device; CuPy keeps the binary on disk from run to run. They
include no header, so that NVRTC needs no path to any.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["AssignLaunch", "accumulate", "assign", "assign_launches", "assign_room"]

# As in the sources.
_TILE = 8192
_ACCUMULATE_THREADS = 512
_ASSIGN_THREADS = 128
_WARPS = _ASSIGN_THREADS // 32
_POCKET = 4096
_ASSIGN_BLOCKS = 6  # on a multiprocessor

_MOST_BLOCKS_X = (1 << 31) - 1
_MOST_BLOCKS_Y = 65535
_MOST_SCRATCH = 1 << 30  # bytes


class AssignLaunch(NamedTuple):
    """One launch of ``assign_kernel``, over all pairs that those before it left.

    Attributes:
        blocks: of the grid.
        scratch_bytes: scratch memory of each warp of the grid; 0 where pairs use shared memory.
    """

    blocks: int
    scratch_bytes: int


def assign_launches(
    pairs: int, rows: int, columns: int, hypotheses: int, blocks: int, memory: int
) -> list[AssignLaunch]:
    """Returns launches of which each has four times the memory of the one before, until it suffices for any pair.

    So pairs of like size go together and no giant slows the others, and nobody need know which case is in which pair.

    Args:
        pairs: number of pairs.
        rows: at least the statements of any query.
        columns: at least the statements of any case.
        hypotheses: at least the hypotheses of any pair.
        blocks: that the device runs at once.
        memory: bytes of scratch memory to stay below; one block of the greatest pair is granted all the same, since no
            size is refused.
    """
    most = (8 + 20 * rows + 28 * columns + 12 * hypotheses + 7) // 8 * 8
    wanted = max(1, min(blocks, -(-pairs // _WARPS)))
    launches, size = [AssignLaunch(wanted, 0)], _POCKET
    while size < most:
        size = min(4 * size, most)
        launches.append(AssignLaunch(max(1, min(wanted, memory // (size * _WARPS))), size))
    return launches


def accumulate(
    lists: tuple[Any, Any, Any, Any],
    query_ptr: Any,
    query_lists: Any,
    query_entities: Any,
    among: Any,
    entity_value: int,
) -> tuple[Any, Any]:
    """Returns ``(bounds int32 [B, N], overflow int32 [B])``; a 1 says that the query has a bound of 2^31 units or more.

    Args:
        lists: ``(ptr int64 [F + 1], cases int32, best int32, entities int32 [N])``, the folded lists.
        query_ptr: int64 ``[B + 1]``.
        query_lists: int32 ``[.]``.
        query_entities: int32 ``[B]``.
        among: bool ``[B, N]``, or None for all cases.
        entity_value: units of a pair of entities.
    """
    import torch

    queries, stored = len(query_entities), len(lists[3])
    bounds = torch.empty((queries, stored), dtype=torch.int32, device=query_ptr.device)
    overflow = torch.zeros(queries, dtype=torch.int32, device=query_ptr.device)
    if queries and stored:
        _start(
            "accumulate",
            (min(queries, _MOST_BLOCKS_X), min(-(-stored // _TILE), _MOST_BLOCKS_Y)),
            _ACCUMULATE_THREADS,
            *lists,
            query_ptr,
            query_lists,
            query_entities,
            np.uint64(0) if among is None else among,  # a null pointer
            bounds,
            overflow,
            np.int64(queries),
            np.int64(stored),
            np.int64(entity_value),
        )
    return bounds, overflow


def assign(
    launches: list[AssignLaunch],
    table: tuple[Any, Any, Any],
    pair_query: Any,
    pair_case: Any,
    query_ptr: Any,
    query_rows: Any,
    case_ptr: Any,
    case_kinds: Any,
    entity_value: int,
) -> Any:
    """Returns the score of each pair, int64 ``[P]``; -1 says that the launches were planned with too little memory.

    Args:
        launches: from ``assign_launches``.
        table: ``(ptr int64, stored int32, value int64)``, the pair table.
        pair_query: int64 ``[P]``.
        pair_case: int64 ``[P]``; a pair with -1 scores 0.
        query_ptr: int64 ``[B + 1]``.
        query_rows: int64 ``[.]``.
        case_ptr: int64 ``[N + 1]``.
        case_kinds: int32 ``[.]``.
        entity_value: units of the pair of subjects.
    """
    import torch

    device = pair_query.device
    score = torch.full((len(pair_query),), -1, dtype=torch.int64, device=device)
    most = max((launch.blocks * launch.scratch_bytes for launch in launches), default=0)
    scratch = torch.empty(most * _WARPS, dtype=torch.uint8, device=device)
    for launch in launches if len(score) else ():
        _start(
            "assign",
            (launch.blocks,),
            _ASSIGN_THREADS,
            *table,
            pair_query,
            pair_case,
            query_ptr,
            query_rows,
            case_ptr,
            case_kinds,
            scratch,
            np.int64(launch.scratch_bytes),
            score,
            np.int64(len(score)),
            np.int64(entity_value),
        )
    return score


def assign_room() -> tuple[int, int]:
    """Returns the blocks of ``assign`` that the current device runs at once, and the bytes of scratch to stay below."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    processors = torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
    return int(processors) * _ASSIGN_BLOCKS, min(int(free) // 2, _MOST_SCRATCH)


def _start(name: str, grid: tuple[int, ...], threads: int, *arguments: Any) -> None:
    """Starts a kernel on the default stream of the device of its tensors.

    Tensors live until the call returns, and torch hands their memory to nobody on this stream before the kernel ends.
    """
    import cupy

    number = next(a.device.index for a in arguments if not isinstance(a, np.generic))
    passed = tuple(a if isinstance(a, np.generic) else np.uint64(a.data_ptr()) for a in arguments)
    with cupy.cuda.Device(number), cupy.cuda.Stream.null:
        _kernel(name, number)(grid, (threads,), passed)


@cache
def _kernel(name: str, device: int) -> Any:
    """Returns a kernel, compiled for the current device, which is of this number."""
    import cupy

    source = Path(__file__).with_name(f"{name}.cu").read_text(encoding="utf-8")
    return cupy.RawModule(code=source, options=("-std=c++17",)).get_function(f"{name}_kernel")
