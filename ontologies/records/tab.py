"""Tab-separated tables read one column at a time into numbers of distinct texts; nothing is quoted.

A Python object for each field of a file with 270,000 rows would cost most of its loading time. Lines are therefore
split in blocks, each column of a block is turned into numbers at once, and the texts of the block are let go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt

__all__ = ["BrokenLine", "Table", "read_table"]

Int32 = npt.NDArray[np.int32]

_BLOCK = 4096


@dataclass(frozen=True)
class BrokenLine:
    """A line that has not as many columns as the table; ``line`` counts from 1, ``found`` is its number of columns."""

    line: int
    found: int


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a table as codes.

    Attributes:
        line: int32 ``[rows]``, line numbers from 1.
        codes: for each wanted column int32 ``[rows]``, number in ``values``.
        values: for each wanted column its distinct texts, without blanks around them, in the order first met.
        broken: lines that are no rows.
        uneven: lines that became rows although columns are missing at their end, or are one too many.
    """

    line: Int32
    codes: Mapping[str, Int32]
    values: Mapping[str, list[str]]
    broken: list[BrokenLine]
    uneven: list[BrokenLine]

    def __len__(self) -> int:
        return len(self.line)


class _Codes(dict[str, int]):
    """Numbers texts in the order in which they are first met."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


def read_table(
    lines: Sequence[str], first: int, columns: Sequence[str], wanted: Iterable[str], needed: Iterable[str] = ()
) -> Table:
    """Returns the wanted columns of the table that starts at ``lines[first]``.

    Blank lines, also those that hold tabs, and lines that start with ``#`` are skipped. Columns beyond those of the
    header are ignored. A line that ends early is a row where it has every needed column; what it lacks is empty.

    Args:
        lines: all lines of the file.
        first: position of the first row, counted from 0.
        columns: name of each column, from the header.
        wanted: columns to read; one that the header lacks is empty in every row.
        needed: columns without which a line is no row; all of the header where none is named.
    """
    width = len(columns)
    least = max((columns.index(column) + 1 for column in needed), default=width)
    places = {column: columns.index(column) for column in wanted if column in columns}
    coders = {column: _Codes() for column in places}
    parts: dict[str, list[Int32]] = {column: [] for column in places}
    numbers: list[Int32] = []
    broken: list[BrokenLine] = []
    uneven: list[BrokenLine] = []
    for start in range(first, len(lines), _BLOCK):
        rows, places_of_rows = _whole_rows(lines[start : start + _BLOCK], width, least, start, broken, uneven)
        numbers.append(places_of_rows)
        flat = "\t".join(rows).split("\t") if rows else []
        for column, place in places.items():
            cells = flat[place::width]
            parts[column].append(np.fromiter(map(coders[column].__getitem__, cells), np.int32, len(cells)))

    line = np.concatenate([np.zeros(0, np.int32), *numbers])
    codes: dict[str, Int32] = {}
    values: dict[str, list[str]] = {}
    for column in wanted:
        if column in places:
            raw = np.concatenate([np.zeros(0, np.int32), *parts[column]])
            codes[column], values[column] = _stripped(raw, list(coders[column]))
        else:
            codes[column], values[column] = np.zeros(len(line), np.int32), [""]
    return Table(line, codes, values, broken, uneven)


def _whole_rows(
    block: Sequence[str], width: int, least: int, start: int, broken: list[BrokenLine], uneven: list[BrokenLine]
) -> tuple[list[str], Int32]:
    """Makes the rows of a block as wide as the header, with their numbers; lines that are no rows go to ``broken``."""
    tabs = list(map(str.count, block, repeat("\t")))
    is_plain = tabs.count(width - 1) == len(block) and not any(map(str.isspace, block))
    if is_plain and not any(map(str.startswith, block, repeat("#"))):
        return list(block), np.arange(start + 1, start + len(block) + 1, dtype=np.int32)
    rows: list[str] = []
    numbers: list[int] = []
    for number, (line, found) in enumerate(zip(block, tabs, strict=True), start + 1):
        if line.startswith("#") or not line.strip():
            continue
        if found < least - 1:
            broken.append(BrokenLine(number, found + 1))
            continue
        if found != width - 1:
            cells = line.split("\t")
            if found < width - 1 or any(map(str.strip, cells[width:])):
                uneven.append(BrokenLine(number, found + 1))
            line = "\t".join([*cells[:width], *[""] * (width - len(cells))])
        rows.append(line)
        numbers.append(number)
    return rows, np.array(numbers, np.int32)


def _stripped(codes: Int32, values: list[str]) -> tuple[Int32, list[str]]:
    merged = _Codes()
    numbers = np.fromiter((merged[text.strip()] for text in values), np.int32, len(values))
    return (codes if len(merged) == len(values) else numbers[codes]), list(merged)
