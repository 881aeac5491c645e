"""Files of queries with their right answers: told by the fields of their lines, found in the data folders, checked.

Each is lines of JSON. What a file is called plays no part, so that another one of the same shape takes its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import DataMissing, ParseError
from ...ontologies.locate import DATA_VARIABLE, data_files
from ...ontologies.report import LoadReport
from ...ontologies.source import decode_lines, peek_first, read_source

__all__ = ["Row", "Shape", "find_evaluations", "read_evaluation"]

Row = Mapping[str, Any]
"""One line of a file, its fields by name."""


@dataclass(frozen=True)
class Shape:
    """By which fields a file of queries is told, and what they must hold.

    Attributes:
        words: what such a file is, as a noun.
        domain: whose folder it lies in.
        texts: fields that hold a text that is not empty.
        lists: fields that hold a list of texts.
        lacks: fields that tell another kind of file of the same domain.
    """

    words: str
    domain: str
    texts: tuple[str, ...]
    lists: tuple[str, ...]
    lacks: tuple[str, ...] = ()

    def fits(self, row: object) -> bool:
        """Returns whether a line has the fields of such a file."""
        return (
            isinstance(row, dict)
            and all(name in row for name in (*self.texts, *self.lists))
            and not any(name in row for name in self.lacks)
        )

    def fault(self, row: Row) -> str:
        """Returns what is wrong with a line, or an empty text."""
        for name in self.texts:
            if not isinstance(row.get(name), str) or not row[name]:
                return f"{name} is no text"
        for name in self.lists:
            value = row.get(name)
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                return f"{name} is no list of texts"
        return ""


def find_evaluations(shape: Shape, file: str = "") -> list[Path]:
    """Returns the files of one shape, by name; the first folder that holds any settles it.

    Args:
        shape: which fields they have.
        file: path of the one to use, or its name in a data folder; any where empty.

    Raises:
        DataMissing: there is no such file; or it was named and has not these fields.
    """
    fields = ", ".join((*shape.texts, *shape.lists))
    if file and Path(file).is_file():
        if not shape.fits(_first_line(Path(file))):
            raise _not_one(shape, file, fields)
        return [Path(file)]
    found = [path for path in data_files(shape.domain) if not file or path.name == file]
    fitting = [path for path in found if shape.fits(_first_line(path))]
    if not fitting and file and found:
        raise _not_one(shape, file, fields)
    if not fitting:
        raise DataMissing(
            f"a file of {shape.words}{f' called {file}' if file else ''}",
            f"no file of the data folders {'is called so' if file else f'has lines with {fields}'}",
            f"Put one into {shape.domain}/ of the folder that {DATA_VARIABLE} names, or name one behind an @.",
        )
    return [path for path in fitting if path.parent == fitting[0].parent]


def read_evaluation(path: Path, shape: Shape) -> list[Row]:
    """Returns the lines of a file, in its order.

    Raises:
        ParseError: a line is no JSON, lacks a field, or holds something else in it; or there is no line.
        DataMissing: there is no such file.
    """
    rows: list[Row] = []
    for number, line in enumerate(decode_lines(read_source(path).content(), LoadReport(str(path))), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            fault = shape.fault(row) if isinstance(row, dict) else "it is no object"
        except (ValueError, RecursionError) as unread:
            row, fault = {}, f"it is no JSON ({unread})"
        if fault:
            raise ParseError(
                f"read {path.name} as {shape.words}",
                f"line {number}: {fault}",
                "Mend that line, or get the file again.",
                path=str(path),
                line=number,
            )
        rows.append(row)
    if not rows:
        raise ParseError(
            f"read {path.name} as {shape.words}", "it has no line", "Give a file with queries.", path=str(path)
        )
    return rows


def _not_one(shape: Shape, file: str, fields: str) -> DataMissing:
    return DataMissing(
        f"{Path(file).name} as a file of {shape.words}",
        "its first line has not the fields of one",
        f"Each line is a JSON object with {fields}{f', and without {shape.lacks[0]}' if shape.lacks else ''}.",
    )


def _first_line(path: Path) -> object:
    """Returns the first line as JSON, None where it is none."""
    try:
        return json.loads(peek_first(path)[1].lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return None
