"""How kernels are compiled, and select as loops that numba compiles. Importing this module imports numba.

Each works on a span of queries and writes every element of their outputs, so that spans can be done in any order and by
any number of threads. All arithmetic is on whole numbers.

Compiled code is kept on disk, and numba notices a change of the file that holds it alone. So constants of other modules
are handed in, and a kernel that calls functions of other files is made by a function that it takes ``SOURCES`` from:
what a kernel takes from around it belongs to the key of its compiled code.

Numbers inside the arrays index others unchecked; ``cpu`` checks those that come with a query.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

__all__ = [
    "BOOL", "CHUNK", "INT", "INTS", "LONG", "LONGS", "MAX", "MIN", "POWER", "REALS", "ROUNDING", "SOURCES", "array_of",
    "comes_before", "compiled", "floor_under", "may_reach", "push", "rank_key", "select_span", "sift",
    "tops_alike", "tops_apart",
]  # fmt: skip

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_NJIT: Any = numba.njit  # typed by some of its releases alone
Kernel = TypeVar("Kernel", bound=Callable[..., object])

SOURCES = zlib.crc32(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("cpu_*.py"))))
POWER, MAX, MIN = 0, 1, 2  # the normalisations
CHUNK = 32  # cases whose greatest key is estimated before the cases are looked at
_PROBES = 12  # halvings in the search for a floor; it may lie too low, never too high
ROUNDING = 1 - 2.0**-40  # further off than float64 can be after a few products


def compiled(*signature: object) -> Callable[[Kernel], Kernel]:
    """Returns the decorator that compiles a function.

    Args:
        signature: types of its arguments; it is compiled for these alone, when it is first called, and kept on disk.
            Without one it is compiled for whatever compiled function calls it.
    """

    def compile_it(function: Kernel) -> Kernel:
        settings = {"nogil": True, "error_model": "numpy"}  # the latter: no test for a divisor of 0 in a loop
        if not signature:
            made: Kernel = _NJIT(**settings)(function)
            return made
        types, lock = [numba.void(*signature)], Lock()
        kernel: list[Any] = []

        @wraps(function)
        def call(*arguments: object) -> object:
            with lock:
                if not kernel:
                    try:
                        kernel.append(_NJIT(types, cache=True, **settings)(function))
                    except RuntimeError:  # no folder that compiled code could be kept in
                        kernel.append(_NJIT(types, **settings)(function))
            return kernel[0](*arguments)

        return cast(Kernel, call)

    return compile_it


def array_of(item: Any, dimensions: int = 1, *, written: bool = False) -> Any:
    """Returns the type of a C-ordered array; those that are only read may come from a file mapped read-only."""
    return numba.types.Array(item, dimensions, "C", readonly=not written)


BOOL, INT, LONG = numba.boolean, numba.int32, numba.int64
LONGS, INTS, REALS = array_of(LONG), array_of(INT), array_of(numba.float64)


@compiled()
def rank_key(mode: int, shift: int, bound: int, weight: int, self_query: int) -> int:
    """Returns the rank key of a bound; ``weight`` is the case's factor under ``power(p)``, else its self-score."""
    if mode == POWER:
        return (bound * weight) >> shift
    divisor = max(weight, self_query) if mode == MAX else min(weight, self_query)
    return (bound << shift) // max(divisor, 1)


@compiled()
def may_reach(mode: int, shift: int, bound: int, weight: int, self_query: int, floor: int) -> bool:
    """Returns False only if the key is below ``floor``; without a division."""
    if mode == POWER:
        return bound * weight >= floor << shift
    divisor = max(weight, self_query) if mode == MAX else min(weight, self_query)
    return bool(np.float64(bound << shift) >= np.float64(floor) * np.float64(max(divisor, 1)) * ROUNDING)


@compiled()
def comes_before(key: int, rank: int, other_key: int, other_rank: int) -> bool:
    """Returns whether the first of two cases comes first in rank order."""
    return key > other_key or (key == other_key and rank < other_rank)


@compiled()
def sift(keys: LongArray, cases: IntArray, tie_rank: IntArray, size: int, key: int, case: int) -> None:
    """Puts a case into a heap of ``size`` with the last in rank order on top, in place of the top."""
    rank = tie_rank[case]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(
            keys[child], tie_rank[cases[child]], keys[child + 1], tie_rank[cases[child + 1]]
        ):
            child += 1
        if not comes_before(key, rank, keys[child], tie_rank[cases[child]]):
            break
        keys[place], cases[place] = keys[child], cases[child]
        place = child
    keys[place], cases[place] = key, case


@compiled()
def push(keys: LongArray, cases: IntArray, tie_rank: IntArray, size: int, key: int, case: int) -> None:
    """Adds a case to a heap of ``size`` with the last in rank order on top."""
    rank = tie_rank[case]
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if not comes_before(keys[parent], tie_rank[cases[parent]], key, rank):
            break
        keys[place], cases[place] = keys[parent], cases[parent]
        place = parent
    keys[place], cases[place] = key, case


@compiled()
def floor_under(low: FloatArray, count: int) -> float:
    """Returns a number that at least ``count`` of ``low`` reach, near the greatest such; 0 if there is none above."""
    at_least, above = 0.0, 0.0
    for chunk in range(len(low)):
        above = max(above, low[chunk])
    for _ in range(_PROBES):
        middle = (at_least + above) / 2
        reached = 0
        for chunk in range(len(low)):
            reached += low[chunk] >= middle
        if reached >= count:
            at_least = middle
        else:
            above = middle
    return at_least


@compiled()
def tops_alike(row: IntArray, chunks: int, scale: float, top: IntArray, tops: FloatArray) -> None:
    """Writes about the greatest key of each chunk, where all cases have one scale; ``top`` [chunks] is scratch."""
    top[:] = 0
    for start in range(0, len(row), chunks):
        part = row[start : start + chunks]
        for chunk in range(len(part)):
            top[chunk] = part[chunk] if part[chunk] > top[chunk] else top[chunk]
    for chunk in range(chunks):
        tops[chunk] = top[chunk] * scale


@compiled()
def tops_apart(row: IntArray, chunks: int, scale: FloatArray, least: float, most: float, tops: FloatArray) -> None:
    """Writes about the greatest key of each chunk; scales count as at least and at most so much."""
    tops[:] = 0
    for start in range(0, len(row), chunks):
        part, scales = row[start : start + chunks], scale[start : start + chunks]
        for chunk in range(len(part)):
            key = np.float64(part[chunk]) * min(max(scales[chunk], least), most)
            tops[chunk] = key if key > tops[chunk] else tops[chunk]


@compiled(
    LONG, LONG, array_of(INT, 2), LONG, LONG, LONGS, REALS, LONGS, INTS, LONG,
    array_of(INT, 2, written=True), array_of(LONG, 2, written=True),
)  # fmt: skip
def select_span(
    start: int,
    stop: int,
    bounds: IntArray,
    mode: int,
    shift: int,
    weights: LongArray,
    scale: FloatArray,
    self_query: LongArray,
    tie_rank: IntArray,
    limit: int,
    cases: IntArray,
    keys: LongArray,
) -> None:
    """Writes the first ``limit`` cases in rank order of queries ``start`` to ``stop``.

    Cases are dealt out to chunks in turn, which lets the greatest key of each chunk be found by vector instructions, in
    float64. If there are more chunks than places, these keys give a floor under the last place; only chunks that may
    hold a case above it are looked into, in whole numbers.

    Args:
        start: first query.
        stop: the query after the last.
        bounds: int32 ``[B, N]``.
        mode: ``POWER``, ``MAX`` or ``MIN``.
        shift: of the key.
        weights: int64 ``[N]``, factors under ``POWER``, else self-scores.
        scale: float64 ``[N]``, about what a bound is multiplied by; ``[1]`` where it is the same for all.
        self_query: int64 ``[B]``.
        tie_rank: int32 ``[N]``, a permutation.
        limit: ``L``, at least 1.
        cases: int32 ``[B, L]``, written.
        keys: int64 ``[B, L]``, written.
    """
    size = bounds.shape[1]
    chunks = max(1, (size + CHUNK - 1) // CHUNK)
    top, tops = np.empty(chunks, np.int32), np.empty(chunks, np.float64)

    for query in range(start, stop):
        row, chosen, chosen_keys, own = bounds[query], cases[query], keys[query], self_query[query]
        if len(scale) == 1:
            tops_alike(row, chunks, scale[0], top, tops)
        else:
            own_scale = (1 << shift) / np.float64(max(own, 1))
            least, most = own_scale if mode == MIN else 0.0, own_scale if mode == MAX else np.inf
            tops_apart(row, chunks, scale, least, most, tops)
        floor = int(floor_under(tops, limit) * ROUNDING) if limit < chunks else 0
        count = 0
        for chunk in range(chunks):
            if tops[chunk] < floor * ROUNDING or tops[chunk] == 0:
                continue
            for case in range(chunk, size, chunks):
                if not may_reach(mode, shift, int(row[case]), weights[case], own, floor) or not row[case]:
                    continue
                key = rank_key(mode, shift, int(row[case]), weights[case], own)
                if key < floor:
                    continue
                if count < limit:
                    push(chosen_keys, chosen, tie_rank, count, key, case)
                    count += 1
                elif comes_before(key, tie_rank[case], chosen_keys[0], tie_rank[chosen[0]]):
                    sift(chosen_keys, chosen, tie_rank, limit, key, case)
                if count == limit:
                    floor = chosen_keys[0]
        for place in range(count - 1, 0, -1):  # the last of those left is on top: it goes to the end
            key, case = chosen_keys[place], chosen[place]
            chosen_keys[place], chosen[place] = chosen_keys[0], chosen[0]
            sift(chosen_keys, chosen, tie_rank, place, key, case)
        chosen[count:] = -1
        chosen_keys[count:] = 0
