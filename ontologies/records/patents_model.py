"""What every form of patent data gives: documents, and a table of the symbols that each was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..report import LoadReport
from .tab import RowReader, Table

__all__ = ["COLUMNS", "Document", "Given", "Patents", "PatentsBuilder", "read_position", "read_value"]

COLUMNS = ("key", "symbol", "value", "position", "day", "sequence")
"""Columns of the table: document, symbol, ``inventive`` or ``additional``, ``main`` or ``further``, the day of the
scheme, and the place in the list of symbols."""

_VALUES = {
    "i": "inventive", "inventive": "inventive", "inventional": "inventive", "invention": "inventive",
    "a": "additional", "n": "additional", "additional": "additional", "non-inventive": "additional",
}  # fmt: skip
_POSITIONS = {
    "f": "main", "first": "main", "main": "main", "true": "main",
    "l": "further", "later": "further", "further": "further", "false": "further",
}  # fmt: skip


class Given(NamedTuple):
    """One symbol that a document was given; what is not known is empty."""

    symbol: str
    value: str = ""
    position: str = ""
    day: str = ""
    sequence: str = ""


@dataclass
class Document:
    """What is known of a document beside its symbols.

    Attributes:
        line: where it begins, from 1.
        title: its title, or empty.
        attributes: names to texts.
    """

    line: int
    title: str = ""
    attributes: dict[str, list[str]] = field(default_factory=dict)


class Patents(NamedTuple):
    """All documents of a file by key, and the table of their symbols, one row each."""

    documents: Mapping[str, Document]
    table: Table


class PatentsBuilder:
    """Takes documents one by one.

    Args:
        report: where documents that stand twice are told.
    """

    def __init__(self, report: LoadReport) -> None:
        self.report = report
        self._documents: dict[str, Document] = {}
        self._rows = RowReader(COLUMNS)

    def add(self, key: str, document: Document, given: Iterable[Given]) -> None:
        """Takes a document; one that stands twice has the symbols of both, and the title of the first."""
        first = self._documents.setdefault(key, document)
        if first is not document:
            self.report.warn(
                "second-record", f"{key} stands twice; what both say was joined", [first.line, document.line], [key]
            )
            first.title = first.title or document.title
            for name, texts in document.attributes.items():
                first.attributes.setdefault(name, []).extend(texts)
        for one in given:
            self._rows.add(document.line, (key, *one))

    def finish(self) -> Patents:
        """Returns all that was taken."""
        return Patents(self._documents, self._rows.table())

    def __len__(self) -> int:
        return len(self._documents)


def read_value(text: str) -> str | None:
    """Returns ``inventive``, ``additional``, or an empty text where nothing is said; None for what is none of them."""
    return _VALUES.get(text.strip().lower()) if text.strip() else ""


def read_position(text: str) -> str | None:
    """Returns ``main``, ``further``, or an empty text where nothing is said; None for what is none of them."""
    return _POSITIONS.get(text.strip().lower()) if text.strip() else ""
