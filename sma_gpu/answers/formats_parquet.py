"""Answers as Parquet: the columns of ``tsv``, and the head of the table as JSON in the metadata under ``sma-gpu``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import DataMissing
from .tsv import COLUMNS, rows_of

__all__ = ["METADATA_KEY", "ParquetFile", "need_parquet"]

METADATA_KEY = "sma-gpu"

_ROWS = 65536  # of a row group; memory is for so many rows, whatever the number of answers


def need_parquet(asked: str) -> Any:
    """Returns the package pyarrow with its module ``parquet``.

    Raises:
        DataMissing: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as fault:
        found = "the package pyarrow, which writes Parquet, is not installed"
        raise DataMissing(asked, found, 'Run: pip install "sma_gpu[frames]". Or take -f tsv.') from fault
    return pyarrow


class ParquetFile:
    """A Parquet file on its way; the same answers give the same rows.

    Args:
        path: the file.
        head: made by ``head_of``.

    Raises:
        DataMissing: pyarrow is not installed.
    """

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self._arrow = arrow = need_parquet(f"write {path}")
        kinds = {
            "text": arrow.string(),
            "json": arrow.string(),
            "integer": arrow.int64(),
            "number": arrow.float64(),
            "truth": arrow.bool_(),
        }
        fields = [
            arrow.field(column.name, kinds[column.kind], metadata={"meaning": column.meaning}) for column in COLUMNS
        ]
        self._head = head
        self._schema = arrow.schema(fields, metadata={METADATA_KEY: json.dumps(head)})
        self._writer = arrow.parquet.ParquetWriter(path, self._schema)
        self._rows: list[list[Any]] = []

    def add(self, line: Mapping[str, Any]) -> None:
        """Adds the rows of an answer or of a failed record."""
        self._rows.extend(rows_of(line, self._head))
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in COLUMNS)
        arrays = [self._arrow.array(list(c), field.type) for c, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if fault is None and self._rows:
                self._flush()
        finally:
            self._writer.close()
