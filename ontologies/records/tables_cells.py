"""Rows of a table in any common form: TSV, CSV, JSON lines, Parquet. The form is told by content, never by name.

TSV is not quoted, unless all names of its columns are; CSV is. Parquet needs pyarrow, imported when such a file
is read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...errors import DataMissing, ParseError, QueryError
from ..report import LoadReport
from ..source import Source
from ..stream import HashedStream, Readable, Rejoined, line_blocks, only_member
from .structured import parse_json

__all__ = ["Row", "TableFile"]

_PARQUET = b"PAR1"
_BATCH = 4096
_LONGEST = 1 << 24  # characters of one CSV field
_HEADER = re.compile(r"#+\s?[\w.-]+[,;][\w.-]")  # as in #id,terms


class Row(NamedTuple):
    """One row: its line, or its place among the rows of a file without lines, from 1, and its cells by column."""

    line: int
    cells: Mapping[str, Any]


class TableFile:
    """A table in a source; nothing is read before its rows are asked for.

    Args:
        source: where it lies.
        report: what is told of bad lines.

    Attributes:
        form: ``TSV``, ``CSV``, ``JSON lines`` or ``Parquet``.
        columns: names of the columns; of JSON lines those of the first row.
    """

    def __init__(self, source: Source, report: LoadReport) -> None:
        self.source = source
        self.report = report
        self.form = ""
        self.columns: tuple[str, ...] = ()
        self._stream: HashedStream | None = None

    @property
    def sha256(self) -> str:
        """SHA-256 of the uncompressed file, hex, once all rows were read."""
        return self._stream.sha256 if self._stream is not None else ""

    def rows(self) -> Iterator[Row]:
        """Yields the rows, reading as it goes.

        Raises:
            ParseError: the file is damaged, or has no row of column names.
            DataMissing: it is Parquet, and pyarrow is not installed.
        """
        with only_member(self.source) as opened:
            head = opened.read(len(_PARQUET))
            stream = self._stream = HashedStream(Rejoined(head, opened))
            yield from self._parquet(stream) if head == _PARQUET else self._text(stream)

    def _text(self, stream: Readable) -> Iterator[Row]:
        lines = self._lines(stream)
        first = next(lines, None)
        while first is not None and (not first[1].strip() or _is_comment(first[1])):
            first = next(lines, None)
        if first is None:
            raise ParseError(
                f"read {self.source.path} as a table", "it is empty", "Give a table.", path=self.source.path
            )
        if first[1].lstrip()[:1] == "{":
            self.form = "JSON lines"
            yield from self._json(first, lines)
            return
        if first[1].lstrip()[:1] == "[":
            self.form = "JSON lines"
            yield from self._json_list("\n".join([first[1], *(line for _, line in lines)]))
            return
        self.form = "TSV" if "\t" in first[1] else "CSV"
        parted_by = ";" if ";" in first[1] and "," not in first[1] else ","  # where the comma stands in numbers
        bare = first[1].lstrip("#")
        head = bare.split("\t") if self.form == "TSV" else next(csv.reader([bare], delimiter=parted_by))
        self.columns = tuple(name.strip() for name in head)
        is_quoted = self.form == "TSV" and all(map(_is_quoted, self.columns))
        if is_quoted:
            self.columns = tuple(map(_unquoted, self.columns))
        if len(set(self.columns)) < len(self.columns):
            raise ParseError(
                f"read {self.source.path} as a table",
                "two of its columns have one name",
                "Give each column a name of its own.",
                path=self.source.path,
                line=first[0],
            )
        yield from (self._tsv(lines, is_quoted) if self.form == "TSV" else self._csv(first[0], lines, parted_by))

    def _lines(self, stream: Readable) -> Iterator[tuple[int, str]]:
        for start, lines in line_blocks(stream, self.report):
            yield from enumerate(lines, start + 1)

    def _tsv(self, lines: Iterator[tuple[int, str]], is_quoted: bool) -> Iterator[Row]:  # noqa: FBT001 - private
        for number, line in lines:
            if line.strip() and not _is_comment(line):
                cells = line.split("\t")
                yield self._row(number, [_unquoted(cell.strip()) for cell in cells] if is_quoted else cells)

    def _csv(self, at: int, lines: Iterator[tuple[int, str]], parted_by: str) -> Iterator[Row]:
        """Yields the rows behind line ``at``, each with its first line."""
        done = at

        def texts() -> Iterator[str]:
            nonlocal at
            for number, line in lines:
                at = number
                yield line + "\n"
            if at > done:
                raise csv.Error("a quote is opened and never closed")

        before = csv.field_size_limit(_LONGEST)
        try:
            for cells in csv.reader(texts(), delimiter=parted_by):
                first, done = done + 1, at
                if any(cell.strip() for cell in cells) and not (len(cells) == 1 and _is_comment(cells[0])):
                    yield self._row(first, cells)
        except csv.Error as fault:
            raise ParseError(
                f"read {self.source.path} as CSV",
                f"{fault} (in the row that begins on line {done + 1})",
                "Close the quotes there, or give the table as TSV, which has none.",
                path=self.source.path,
                line=done + 1,
            ) from fault
        finally:
            csv.field_size_limit(before)

    def _row(self, number: int, cells: list[str]) -> Row:
        width = len(self.columns)
        if len(cells) != width:
            what = "what is missing counts as empty" if len(cells) < width else "the columns beyond are ignored"
            self.report.warn("columns", f"line {number} has {len(cells)} columns instead of {width}; {what}", [number])
        return Row(number, {name: cell.strip() for name, cell in zip(self.columns, cells, strict=False)})

    def _json(self, first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Iterator[Row]:
        for number, line in [first]:
            yield from self._object(number, line)
        for number, line in lines:
            if line.strip():
                yield from self._object(number, line)

    def _json_list(self, text: str) -> Iterator[Row]:
        """Yields the objects of one list, which have no lines of their own: each with its place, from 1."""
        try:
            found = parse_json(text, self.source.path)
        except QueryError as fault:
            raise ParseError(fault.asked, fault.found, fault.do, path=self.source.path) from fault
        for number, item in enumerate(found if isinstance(found, list) else [found], 1):
            if isinstance(item, dict):
                self.columns = self.columns or tuple(item)
                yield Row(number, item)
            else:
                self.report.error("bad-line", f"entry {number} is no object; left out", where=f"$[{number - 1}]")

    def _object(self, number: int, line: str) -> Iterator[Row]:
        try:
            found = parse_json(line, f"line {number}")
        except QueryError as fault:
            self.report.error("bad-line", f"line {number} is no JSON ({fault.found}); left out", [number])
            return
        if not isinstance(found, dict):
            self.report.error("bad-line", f"line {number} is no object; left out", [number])
            return
        self.columns = self.columns or tuple(found)
        yield Row(number, found)

    def _parquet(self, stream: Readable) -> Iterator[Row]:
        try:
            import pyarrow as arrow
            import pyarrow.parquet as parquet
        except ImportError as fault:
            raise DataMissing(
                f"read {self.source.path}",
                "the package pyarrow, which reads Parquet, is not installed",
                'Run: pip install "sma_gpu[frames]". Or give the table as TSV or JSON lines.',
            ) from fault
        self.form = "Parquet"
        number = 0
        try:
            file = parquet.ParquetFile(io.BytesIO(stream.read()))  # its index stands at the end
            self.columns = tuple(file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=_BATCH):
                for cells in batch.to_pylist():
                    number += 1
                    yield Row(number, cells)
        except (arrow.ArrowException, OSError, ValueError) as fault:
            raise ParseError(
                f"read {self.source.path} as Parquet",
                " ".join(str(fault).split())[:200],
                "Get the file again; it may have been cut off.",
                path=self.source.path,
            ) from fault


def _is_comment(line: str) -> bool:
    """Whether a line is a comment and no row: it begins with ``#`` and is not parted into cells by tabs or commas."""
    return line[:1] == "#" and "\t" not in line and _HEADER.match(line) is None


def _is_quoted(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == cell[-1] == '"'


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if _is_quoted(cell) else cell
