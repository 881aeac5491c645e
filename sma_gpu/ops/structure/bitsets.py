"""Sets of small numbers as Python integers: bit i is set when i is in the set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

__all__ = ["as_mask", "bits", "of", "of_mask"]


def bits(members: int) -> Iterator[int]:
    """Yields the members, ascending."""
    while members:
        lowest = members & -members
        yield lowest.bit_length() - 1
        members ^= lowest


def of(numbers: Iterable[int]) -> int:
    """Returns the set of ``numbers``."""
    members = 0
    for number in numbers:
        members |= 1 << number
    return members


def of_mask(mask: npt.NDArray[np.bool_]) -> int:
    """Returns the set whose members are marked in ``mask`` [size]."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def as_mask(members: int, size: int) -> npt.NDArray[np.bool_]:
    """Returns the set as a mask, bool ``[size]``."""
    packed = np.frombuffer(members.to_bytes((size + 7) // 8, "little"), np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").astype(np.bool_)
