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

__all__ = ["BLOCK", "BrokenLine", "RowReader", "Table", "TableReader", "read_table"]

Int32 = npt.NDArray[np.int32]

BLOCK = 4096
"""Lines that are best added at a time."""


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


class TableReader:
    """A table in the making, for files that are read a block of lines at a time.

    Blank lines, also those that hold tabs, and lines that start with ``comment`` are skipped. Columns beyond those
    named are ignored. A line that ends early is a row where it has every needed column; what it lacks is empty.

    Args:
        columns: name of each column; a column without a name is read by nobody.
        wanted: columns to read; one that is not there is empty in every row.
        needed: columns without which a line is no row; all of them where none is named.
        comment: how a line begins that is none of the table.
    """

    def __init__(
        self, columns: Sequence[str], wanted: Iterable[str], needed: Iterable[str] = (), *, comment: str = "#"
    ) -> None:
        self._width = len(columns)
        self._least = max((columns.index(column) + 1 for column in needed), default=self._width)
        self._wanted = tuple(wanted)
        self._places = {column: columns.index(column) for column in self._wanted if column in columns}
        self._coders = {column: _Codes() for column in self._places}
        self._parts: dict[str, list[Int32]] = {column: [] for column in self._places}
        self._numbers: list[Int32] = []
        self._broken: list[BrokenLine] = []
        self._uneven: list[BrokenLine] = []
        self._comment = comment

    def add(self, lines: Sequence[str], start: int) -> None:
        """Adds lines of the file, the first of which stands at position ``start``, counted from 0."""
        rows, numbers = _whole_rows(lines, self._width, self._least, start, self._comment, self._broken, self._uneven)
        self._numbers.append(numbers)
        flat = "\t".join(rows).split("\t") if rows else []
        for column, place in self._places.items():
            cells = flat[place :: self._width]
            self._parts[column].append(np.fromiter(map(self._coders[column].__getitem__, cells), np.int32, len(cells)))

    def table(self) -> Table:
        """Returns the table of all lines added."""
        line = np.concatenate([np.zeros(0, np.int32), *self._numbers])
        codes: dict[str, Int32] = {}
        values: dict[str, list[str]] = {}
        for column in self._wanted:
            if column in self._places:
                raw = np.concatenate([np.zeros(0, np.int32), *self._parts[column]])
                codes[column], values[column] = _stripped(raw, list(self._coders[column]))
            else:
                codes[column], values[column] = np.zeros(len(line), np.int32), [""]
        return Table(line, codes, values, self._broken, self._uneven)


class RowReader:
    """A table in the making, for sources that give their rows one by one.

    Args:
        columns: name of each column.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._coders = {column: _Codes() for column in columns}
        self._parts: dict[str, list[int]] = {column: [] for column in columns}
        self._lines: list[int] = []

    def add(self, line: int, cells: Sequence[str]) -> None:
        """Adds one row, with a cell for each column."""
        self._lines.append(line)
        for part, coder, cell in zip(self._parts.values(), self._coders.values(), cells, strict=True):
            part.append(coder[cell])

    def table(self) -> Table:
        """Returns the table of all rows added."""
        codes: dict[str, Int32] = {}
        values: dict[str, list[str]] = {}
        for column, part in self._parts.items():
            codes[column], values[column] = _stripped(np.array(part, np.int32), list(self._coders[column]))
        return Table(np.array(self._lines, np.int32), codes, values, [], [])


def read_table(
    lines: Sequence[str], first: int, columns: Sequence[str], wanted: Iterable[str], needed: Iterable[str] = ()
) -> Table:
    """Returns the wanted columns of the table that starts at ``lines[first]``, counted from 0, as TableReader does."""
    reader = TableReader(columns, wanted, needed)
    for start in range(first, len(lines), BLOCK):
        reader.add(lines[start : start + BLOCK], start)
    return reader.table()


def _whole_rows(
    block: Sequence[str],
    width: int,
    least: int,
    start: int,
    comment: str,
    broken: list[BrokenLine],
    uneven: list[BrokenLine],
) -> tuple[list[str], Int32]:
    """Makes the rows of a block as wide as the header, with their numbers; lines that are no rows go to ``broken``."""
    tabs = list(map(str.count, block, repeat("\t")))
    is_plain = tabs.count(width - 1) == len(block) and not any(map(str.isspace, block))
    if is_plain and not any(map(str.startswith, block, repeat(comment))):
        return list(block), np.arange(start + 1, start + len(block) + 1, dtype=np.int32)
    rows: list[str] = []
    numbers: list[int] = []
    for number, (line, found) in enumerate(zip(block, tabs, strict=True), start + 1):
        if line.startswith(comment) or not line.strip():
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
