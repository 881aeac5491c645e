"""Patent documents in XML of the United States: grants and applications, alone or many in one file.

A weekly file is thousands of XML documents one after another, each with its own declaration, which need not stand at
the beginning of a line. A document that cannot be read costs itself. The DTD that each names is never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...errors import ParseError
from ..readers.cpc_symbol import spell_symbol
from ..report import LoadReport
from ..stream import Readable
from ..xml_stream import XmlReader
from .gaf_text import day_of
from .patents_model import Document, Given, Patents, PatentsBuilder, read_position, read_value

__all__ = ["is_patent_xml", "read_patent_xml"]

_ROOTS = ("us-patent-grant", "us-patent-application")
_CHUNK = 1 << 20
_BLANK = b"\xef\xbb\xbf \t\r\n\0"
# A document ends where its root does, or where the declaration of the next one stands; not every one has a declaration.
_BORDER = re.compile(rb"<\?xml(?=[ \t\r\n])|</us-patent-(?:grant|application)[ \t\r\n]*>")
_LONGEST_BORDER = 32
_PARTS = ("section", "class", "subclass", "main-group", "subgroup")


def is_patent_xml(head: bytes) -> bool:
    """Returns whether ``head``, the start of a file, is that of patent documents in XML."""
    return any(b"<" + root.encode() in head for root in _ROOTS)


def read_patent_xml(stream: Readable, path: str, report: LoadReport) -> Patents:
    """Returns the documents in a file.

    Raises:
        ParseError: none of them can be read.
    """
    builder = PatentsBuilder(report)
    fault: ParseError | None = None
    for first_line, content in _documents(stream):
        reader = _DocumentReader(path, first_line)
        try:
            reader.feed(content, is_last=True)
        except ParseError as error:
            fault = fault or error
            message = f"the document that begins on line {first_line} cannot be read: {error.found}; left out"
            report.error("unreadable", message, [first_line])
            continue
        if not reader.is_patent:
            report.warn("no-patent", f"the document on line {first_line} is no patent document; left out", [first_line])
            continue
        number = "".join(reader.texts.get(part, "") for part in ("country", "doc-number"))
        if not reader.texts.get("doc-number"):
            report.warn("no-id", f"the document on line {first_line} has no number; left out", [first_line])
            continue
        builder.add(number, reader.document(), reader.given(report, number))
    if fault is not None and not len(builder):
        raise fault
    return builder.finish()


def _documents(stream: Readable) -> Iterator[tuple[int, bytes]]:
    """Yields each XML document of a file with the line on which it begins."""
    buffer, line, searched = bytearray(), 1, 1
    while True:
        data = stream.read(_CHUNK)
        buffer += data
        while border := _BORDER.search(buffer, searched):
            at = border.start() if border[0][:2] == b"<?" else border.end()
            document = bytes(buffer[:at])
            del border, buffer[:at]
            searched = 1
            yield from _begun(document, line)
            line += document.count(b"\n")
        searched = max(len(buffer) - _LONGEST_BORDER, 1)
        if not data:
            break
    yield from _begun(bytes(buffer), line)


def _begun(document: bytes, line: int) -> Iterator[tuple[int, bytes]]:
    """Yields a document without the blanks before it, if anything else is in it, with the line on which it begins."""
    bare = document.lstrip(_BLANK)
    if bare:
        yield line + document.count(b"\n", 0, len(document) - len(bare)), bare


class _DocumentReader(XmlReader):
    """One document. Its bibliographic part stands at its head; what follows is only checked for being well-formed.

    Attributes:
        is_patent: its root is that of a patent document.
        texts: number, country, kind and day of publication, and the title.
    """

    def __init__(self, path: str, first_line: int) -> None:
        super().__init__(path, first_line)
        self.is_patent = False
        self.texts: dict[str, str] = {}
        self._begins = first_line
        self._assignees: list[str] = []
        self._symbols: list[tuple[dict[str, str], str]] = []
        self._lost: dict[str, None] = {}
        self._symbol: dict[str, str] | None = None
        self._way: list[str] = []
        self._words: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if not self._way:
            self.is_patent = name in _ROOTS
        if "invention-title" not in self._way:  # which may hold marked-up words
            self._words = []
        self._way.append(name)
        if name == "classification-cpc" and "classifications-cpc" in self._way:
            self._symbol = {}

    def text(self, data: str) -> None:
        self._words.append(data)

    def skipped(self, entity: str) -> None:
        if "invention-title" in self._way:
            self._lost[entity] = None

    def end(self, name: str) -> None:
        text = " ".join("".join(self._words).split())
        way = self._way
        if self._symbol is not None:
            if name == "classification-cpc":
                place = "main" if "main-cpc" in way else "further" if "further-cpc" in way else ""
                self._symbols.append((self._symbol, place))
                self._symbol = None
            elif name == "date" and way[-2] == "cpc-version-indicator":
                self._symbol["day"] = text
            elif way[-2] == "classification-cpc":
                self._symbol[name] = text
        elif way[2:4] == ["publication-reference", "document-id"] and len(way) == 5:
            self.texts.setdefault(name, text)
        elif name == "invention-title" and len(way) == 3:
            self.texts.setdefault("title", text)
        elif name == "orgname" and way[2:4] == ["assignees", "assignee"]:
            self._assignees.append(text)
        elif name.startswith("us-bibliographic-data") and len(way) == 2:
            self.ignore_rest()
        way.pop()
        if name != "invention-title" and "invention-title" not in way:
            self._words = []

    def document(self) -> Document:
        """Returns what is known of the document beside its symbols."""
        found = {
            "date": [day_of(self.texts.get("date", ""))],
            "kind": [self.texts.get("kind", "")],
            "source": self._assignees,
        }
        return Document(self._begins, self.texts.get("title", ""), found)

    def given(self, report: LoadReport, number: str) -> list[Given]:
        """Returns its symbols, the main one first."""
        found: list[Given] = []
        if self._lost:
            message = f"the title of {number} has entities that the file does not declare: {', '.join(self._lost)}"
            report.warn("entity", f"{message}; nothing stands for them", [self._begins], [number])
        for sequence, (parts, place) in enumerate(self._symbols):
            symbol = spell_symbol(*(parts.get(part, "") for part in _PARTS))
            value = read_value(parts.get("classification-value", ""))
            # The list that a symbol stands in says more than the mark on it.
            position = place or read_position(parts.get("symbol-position", "")) or "further"
            if value is None:
                shown = parts["classification-value"]
                message = f"{number} has {symbol} with the value {shown!r}, which is none of I and A; it counts as open"
                report.warn("value", message, [self._begins], [number, symbol])
            found.append(Given(symbol, value or "", position, day_of(parts.get("day", "")), str(sequence)))
        return found
