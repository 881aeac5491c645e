"""Attributes: what a source says of a record as a whole, such as where it stems from, when it was written, and on what.

Each has a name and, for every record, any number of texts in file order. Numbers and dates are texts too, as written;
who compares them reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...lattice.arrays import expand
from ..strings import StringColumn
from .columns import Arrays, Int32, Interned, typed

__all__ = ["Attribute", "Attributes"]


@dataclass(frozen=True, eq=False)
class Attribute:
    """The values of one attribute over ``R`` records, ``V`` in all; read-only.

    Attributes:
        ptr: int32 ``[R + 1]``; the values of record i are ``values[ptr[i]:ptr[i + 1]]``, each once, in file order.
        values: text column ``[V]``.
    """

    ptr: Int32
    values: Interned

    def __post_init__(self) -> None:
        self.ptr.setflags(write=False)
        self.values.codes.setflags(write=False)

    @classmethod
    def of_pairs(
        cls, record: npt.NDArray[np.integer], code: npt.NDArray[np.integer], texts: Sequence[str], *, records: int
    ) -> Attribute:
        """Returns the attribute that gives record ``record[i]`` the value ``texts[code[i]]``, for each i in file order.

        Empty texts are no values, and a value that a record has already is not taken a second time.

        Args:
            record: number of a record, ``[n]``.
            code: number in ``texts``, ``[n]``.
            texts: distinct texts.
            records: number of all records.
        """
        told = np.flatnonzero(np.array([bool(text) for text in texts], np.bool_)[code]) if len(texts) else code[:0]
        pair = record[told].astype(np.int64) * max(len(texts), 1) + code[told]
        first = told[np.sort(np.unique(pair, return_index=True)[1])]
        first = first[np.argsort(record[first], kind="stable")]
        ptr = np.zeros(records + 1, np.int32)
        np.cumsum(np.bincount(record[first], minlength=records), out=ptr[1:])
        used, codes = np.unique(code[first], return_inverse=True)
        values = StringColumn.from_strings(texts[i] for i in used.tolist())
        return cls(ptr, Interned(codes.astype(np.int32), values))

    @classmethod
    def of_column(
        cls,
        record: npt.NDArray[np.integer],
        code: npt.NDArray[np.integer],
        texts: Sequence[str],
        split: Callable[[str], Iterable[str]],
        *,
        records: int,
    ) -> Attribute:
        """Returns the attribute whose values are the parts, as ``split`` cuts them, of the texts of a column.

        The arguments are those of ``of_pairs``.
        """
        parts = [list(split(text)) for text in texts]
        coder: dict[str, int] = {}
        part_code = np.array([coder.setdefault(part, len(coder)) for found in parts for part in found], np.int64)
        part_ptr = np.concatenate([[0], np.cumsum([len(found) for found in parts], dtype=np.int64)])
        row, at = expand(part_ptr, code)
        return cls.of_pairs(record[row], part_code[at], list(coder), records=records)

    def of(self, record: int) -> tuple[str, ...]:
        """Returns the values of record number ``record``, in file order; perhaps none."""
        return tuple(self.values[i] for i in range(int(self.ptr[record]), int(self.ptr[record + 1])))


class Attributes(Mapping[str, Attribute]):
    """All attributes of a collection of records, by name; those that no record has are not there.

    Args:
        attributes: each with as many records as the collection.

    Example:
        >>> attributes = Attributes.of_rows([{"source": "OMIM", "date": ["2009-02-17", "2023-01-22"]}, {}])
        >>> attributes.of(0)
        {'source': ('OMIM',), 'date': ('2009-02-17', '2023-01-22')}
        >>> attributes["date"].of(1)
        ()
    """

    def __init__(self, attributes: Mapping[str, Attribute] | None = None) -> None:
        self._attributes = {name: a for name, a in (attributes or {}).items() if len(a.values.codes)}

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, str | Iterable[str]]]) -> Attributes:
        """Returns the attributes of records, given for each in the order of their keys: name to text or to texts.

        Names stay in the order in which they are met. Empty texts are no values.
        """
        names = dict.fromkeys(name for row in rows for name in row)
        found = {}
        for name in names:
            given = [row.get(name, ()) for row in rows]
            texts = [[value] if isinstance(value, str) else list(value) for value in given]
            coder: dict[str, int] = {}
            code = [coder.setdefault(text, len(coder)) for values in texts for text in values]
            record = np.repeat(np.arange(len(rows)), [len(values) for values in texts])
            found[name] = Attribute.of_pairs(record, np.array(code, np.int64), list(coder), records=len(rows))
        return cls(found)

    def of(self, record: int) -> dict[str, tuple[str, ...]]:
        """Returns what is known of record number ``record``: the values of each attribute that it has any of."""
        found = {name: attribute.of(record) for name, attribute in self._attributes.items()}
        return {name: values for name, values in found.items() if values}

    def __getitem__(self, name: str) -> Attribute:
        return self._attributes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Returns them as plain arrays; with their names, ``from_arrays`` takes them back."""
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        for i, attribute in enumerate(self._attributes.values()):
            arrays[f"attribute_{i}_ptr"] = attribute.ptr
            arrays.update(attribute.values.to_arrays(f"attribute_{i}"))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, names: Sequence[str]) -> Attributes:
        """Returns the attributes that ``to_arrays`` wrote.

        Raises:
            KeyError: an array is missing.
            TypeError: an array has another shape or type.
        """
        return cls(
            {
                name: Attribute(
                    typed(arrays[f"attribute_{i}_ptr"], np.int32), Interned.from_arrays(arrays, f"attribute_{i}")
                )
                for i, name in enumerate(names)
            }
        )
