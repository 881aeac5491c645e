"""Columns of a table: texts of which each is held once, and arrays that are checked when they come out of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..strings import StringColumn

__all__ = ["Arrays", "Int32", "Interned", "strings_of", "typed"]

Int32 = npt.NDArray[np.int32]
Codes = npt.NDArray[np.int32 | np.uint16 | np.uint8]
Arrays = Mapping[str, npt.NDArray[np.generic]]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Interned:
    """A text column in which each distinct text is held once.

    Attributes:
        codes: number in ``values``, ``[rows]``; int32, or as it lies in a compiled file, where the smallest type of
            uint8, uint16 and int32 that serves is taken.
        values: distinct texts.
    """

    codes: Codes
    values: StringColumn

    @classmethod
    def blank(cls, rows: int) -> Interned:
        """Returns a column of empty texts, for what a source does not have."""
        return cls(np.zeros(rows, np.int32), StringColumn.from_strings([""]))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The distinct texts, decoded once."""
        return tuple(self.values)

    def __getitem__(self, row: int) -> str:
        return self.texts[int(self.codes[row])]

    def to_arrays(self, name: str) -> dict[str, npt.NDArray[np.generic]]:
        """Returns the column as plain arrays under names that begin with ``name``."""
        return {
            name: self.codes.astype(_narrow(len(self.values))),
            f"{name}_values": self.values.blob_array,
            f"{name}_ends": self.values.ends,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, name: str) -> Interned:
        """Returns the column that ``to_arrays`` wrote under ``name``.

        Raises:
            KeyError: an array is missing.
            TypeError: an array has another shape or type.
        """
        return cls(_codes(arrays[name]), strings_of(arrays, f"{name}_values", f"{name}_ends"))


def strings_of(arrays: Arrays, blob: str, ends: str) -> StringColumn:
    """Returns the texts in the arrays of these names.

    Raises:
        KeyError: an array is missing.
        TypeError: an array has another shape or type.
    """
    return StringColumn(typed(arrays[blob], np.uint8), typed(arrays[ends], np.int64))


def typed(array: npt.NDArray[np.generic], dtype: type[Scalar]) -> npt.NDArray[Scalar]:
    """Returns ``array``, which is flat and of this type.

    Raises:
        TypeError: it is not.
    """
    if array.dtype != dtype or array.ndim != 1:
        raise TypeError(f"an array of {array.dtype} {list(array.shape)} stands where {np.dtype(dtype)} is due")
    return cast("npt.NDArray[Scalar]", array)


def _narrow(count: int) -> type[np.uint8 | np.uint16 | np.int32]:
    """The smallest type that numbers ``count`` texts: the compiled file is a third smaller, and loads sooner."""
    return np.uint8 if count <= 2**8 else np.uint16 if count <= 2**16 else np.int32


def _codes(array: npt.NDArray[np.generic]) -> Codes:
    if array.dtype not in (np.uint8, np.uint16, np.int32) or array.ndim != 1:
        raise TypeError(f"an array of {array.dtype} {list(array.shape)} stands where text codes are due")
    return cast("Codes", array)
