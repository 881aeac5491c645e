"""A column of strings held as one UTF-8 buffer, so that a compiled file loads without decoding what nobody reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

__all__ = ["StringColumn"]


class StringColumn(Sequence[str]):
    """Immutable sequence of strings, decoded one by one on access.

    Args:
        blob: UTF-8 bytes of all strings, one after another, uint8 ``[bytes]``.
        ends: end of each string in ``blob``, int64 ``[n]``, non-decreasing.
    """

    __slots__ = ("_blob", "blob_array", "ends")

    def __init__(self, blob: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self.blob_array = blob
        self.ends = ends
        self._blob = blob.tobytes()

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> StringColumn:
        """Returns the column that holds ``strings`` in their order."""
        encoded = [s.encode("utf-8", "surrogatepass") for s in strings]
        ends = np.cumsum([len(e) for e in encoded], dtype=np.int64) if encoded else np.zeros(0, np.int64)
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        start = int(self.ends[index - 1]) if index else 0
        return self._blob[start : int(self.ends[index])].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end in self.ends.tolist():
            yield self._blob[start:end].decode("utf-8", "surrogatepass")
            start = end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StringColumn) and self._blob == other._blob and np.array_equal(self.ends, other.ends)

    def __hash__(self) -> int:
        return hash(self._blob)
