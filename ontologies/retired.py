"""The retired and alternative ids of an ontology as arrays, each made into an object when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .ontology import Retired
from .strings import StringColumn

__all__ = ["RetiredTable"]

_TEXTS = ("ids", "names", "replacements", "candidates")
_NUMBERS = {"candidate_ptr": np.int32, "is_alternative": np.bool_, "has_stanza": np.bool_, "onward": np.int32}

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RetiredTable(Mapping[str, Retired]):
    """The retired ids of an ontology by id, ``R`` of them, in the order of their file.

    Attributes:
        ids: the ids.
        names: last name of each.
        replacements: the live id that stands for each today, or empty.
        candidate_ptr: int32 ``[R + 1]``; ``candidates[candidate_ptr[i]:candidate_ptr[i + 1]]`` are suggested for i.
        candidates: live ids that the file suggests.
        is_alternative: bool ``[R]``.
        has_stanza: bool ``[R]``.
        onward: int32 ``[R]``, number of the retired id through which the way to a replacement leads next, or -1.
    """

    ids: StringColumn
    names: StringColumn
    replacements: StringColumn
    candidate_ptr: npt.NDArray[np.int32]
    candidates: StringColumn
    is_alternative: npt.NDArray[np.bool_]
    has_stanza: npt.NDArray[np.bool_]
    onward: npt.NDArray[np.int32]

    @classmethod
    def of(cls, retired: Mapping[str, Retired]) -> RetiredTable:
        """Returns the table of ``retired``, by id."""
        rows = list(retired.values())
        number = {old.id: i for i, old in enumerate(rows)}
        onward = [-1 if old.onward is None else number[old.onward.id] for old in rows]
        ends = np.cumsum([0, *(len(old.candidates) for old in rows)])
        return cls(
            ids=StringColumn.from_strings(number),
            names=StringColumn.from_strings(old.name for old in rows),
            replacements=StringColumn.from_strings(old.replacement or "" for old in rows),
            candidate_ptr=ends.astype(np.int32),
            candidates=StringColumn.from_strings(term for old in rows for term in old.candidates),
            is_alternative=np.array([old.is_alternative for old in rows], np.bool_),
            has_stanza=np.array([old.has_stanza for old in rows], np.bool_),
            onward=np.array(onward, np.int32),
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the table as plain arrays; ``from_arrays`` takes them back."""
        arrays: dict[str, npt.NDArray[Any]] = {f"retired_{name}": getattr(self, name) for name in _NUMBERS}
        for name in _TEXTS:
            column: StringColumn = getattr(self, name)
            arrays |= {f"retired_{name}": column.blob_array, f"retired_{name}_ends": column.ends}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> RetiredTable:
        """Returns the table that ``to_arrays`` wrote, its columns still in the arrays.

        Raises:
            KeyError: an array is missing.
            ValueError: an array has another type, or they do not fit one another.
        """
        numbers = {name: _typed(arrays, name, dtype) for name, dtype in _NUMBERS.items()}
        texts = {
            name: StringColumn(_typed(arrays, name, np.uint8), _typed(arrays, f"{name}_ends", np.int64))
            for name in _TEXTS
        }
        columns: dict[str, Any] = {**numbers, **texts}
        found = cls(**columns)
        size, ptr = len(found.ids), found.candidate_ptr
        if (
            any(len(texts[name]) != size for name in ("names", "replacements"))
            or any(len(numbers[name]) != size for name in ("is_alternative", "has_stanza", "onward"))
            or len(ptr) != size + 1
            or int(ptr[0]) != 0
            or int(ptr[-1]) != len(found.candidates)
            or np.any(np.diff(ptr) < 0)
            or not _ends_everywhere(found.onward)
        ):
            raise ValueError("the arrays of retired ids do not fit one another")
        return found

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __contains__(self, term: object) -> bool:
        return term in self._number

    def __getitem__(self, term: str) -> Retired:
        way = [self._number[term]]
        while way[-1] not in self._made and (following := int(self.onward[way[-1]])) >= 0:
            way.append(following)
        # From the far end, since each is linked to the next; and kept, so that equal ids are one object.
        for i in reversed(way):
            if i not in self._made:
                self._made[i] = self._at(i)
        return self._made[way[0]]

    def _at(self, i: int) -> Retired:
        onward = int(self.onward[i])
        return Retired(
            id=self.ids[i],
            name=self.names[i],
            replacement=self.replacements[i] or None,
            candidates=tuple(self.candidates[int(self.candidate_ptr[i]) : int(self.candidate_ptr[i + 1])]),
            is_alternative=bool(self.is_alternative[i]),
            has_stanza=bool(self.has_stanza[i]),
            onward=None if onward < 0 else self._made[onward],
        )

    @cached_property
    def _number(self) -> dict[str, int]:
        return {term: i for i, term in enumerate(self.ids)}

    @cached_property
    def _made(self) -> dict[int, Retired]:
        return {}


def _ends_everywhere(onward: npt.NDArray[np.int32]) -> bool:
    """Returns whether the way from every number leads to -1, by steps that double: [R] to the n-th next of each."""
    size = len(onward)
    if size and not -1 <= int(onward.min()) <= int(onward.max()) < size:
        return False
    steps = np.append(onward, np.int32(-1))  # -1 is also the last place of the array, which leads to itself
    for _ in range(size.bit_length()):
        steps = steps[steps]
    return bool((steps == -1).all())


def _typed(arrays: Arrays, name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    array = arrays[f"retired_{name}"]
    if array.dtype != dtype or array.ndim != 1:
        raise ValueError(f"array retired_{name} is {array.dtype} {list(array.shape)}, not {np.dtype(dtype)} in a row")
    return array
