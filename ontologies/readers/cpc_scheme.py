"""The CPC scheme in XML: entries stand inside one another, and that alone tells what stands below what."""

from __future__ import annotations

from collections.abc import Mapping

from ..report import LoadReport
from ..stream import Readable
from ..xml_stream import XmlReader
from .cpc_items import Item, joined_text
from .cpc_symbol import SYMBOL, read_symbols

__all__ = ["is_scheme", "read_scheme"]

_CHUNK = 1 << 16
_ITEM, _SYMBOL, _TITLE, _PART, _TEXT = (
    "classification-item",
    "classification-symbol",
    "class-title",
    "title-part",
    "text",
)
_FLAGS = {"not-allocatable": "not-allocatable", "additional-only": "additional-only", "breakdown-code": "breakdown"}


def is_scheme(head: bytes) -> bool:
    """Returns whether ``head``, the start of a file, is that of a scheme."""
    head = head.replace(b"\0", b"")  # so that names in UTF-16 can be found
    return b"<class-scheme" in head or (b"<classification-item" in head and b"<classification-symbol" in head)


def read_scheme(stream: Readable, path: str, report: LoadReport) -> tuple[str, list[Item]]:
    """Returns the day of the scheme, empty where it states none, and its entries, headings of groups among them.

    Raises:
        ParseError: the file is no well-formed XML, or declares entities.
    """
    reader = _SchemeReader(path, report)
    while data := stream.read(_CHUNK):
        reader.feed(data)
    reader.feed(b"", is_last=True)
    return reader.version, reader.finish()


class _SchemeReader(XmlReader):
    def __init__(self, path: str, report: LoadReport) -> None:
        super().__init__(path)
        self.report = report
        self.version = ""
        self._items: list[Item] = []
        self._above: list[int] = []  # place of the entry that each stands in, -1 for none
        self._open: list[int] = []
        self._way: list[str] = []  # names of the open elements inside the innermost open entry
        self._words: list[str] = []  # text of the element that is being read
        self._parts: list[str] = []  # title parts of the innermost open entry
        self._is_held = False  # whether text is wanted
        self._told: set[int] = set()  # entries whose odd symbol was told

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == _ITEM:
            self._begin(attributes)
            return
        if name == "class-scheme":
            self.version = attributes.get("publication-date") or attributes.get("export-date") or ""
        self._way.append(name)
        if name == _SYMBOL and len(self._way) == 1:
            self._words, self._is_held = [], True
        elif name == _PART and self._way[0] == _TITLE:
            self._words = []
        if self._way[0] == _TITLE:
            self._is_held = _PART in self._way and "reference" not in self._way

    def text(self, data: str) -> None:
        if self._is_held:
            self._words.append(data)

    def end(self, name: str) -> None:
        if name == _ITEM:
            self._close()
            return
        if self._way:
            self._way.pop()
        entry = self._items[self._open[-1]] if self._open else None
        if name == _SYMBOL and entry is not None and not self._way:
            self._is_held = False
            entry.symbol = entry.symbol or self._read_symbol("".join(self._words))
        elif name == _TEXT:
            self._words.append(" ")
        elif name == _PART and self._way and self._way[0] == _TITLE:
            part = joined_text("".join(self._words))
            self._parts += [part] if part else []
            self._words = []
        elif name == _TITLE and entry is not None and not self._way:
            entry.title = entry.title or "; ".join(self._parts)
            self._parts = []
        if self._way and self._way[0] == _TITLE:
            self._is_held = _PART in self._way and "reference" not in self._way

    def skipped(self, entity: str) -> None:
        self.report.warn(
            "entity", f"the entity {entity!r} is not declared in the file; nothing stands for it", [self.line]
        )

    def finish(self) -> list[Item]:
        """Returns the entries with their parents, those that only head a run of groups marked as headings."""
        items, above = self._items, self._above
        for place, item in enumerate(items):
            # What stands inside an entry of the same symbol is the group itself; the entry around it is its heading.
            at = above[place]
            while item.symbol and at >= 0:
                items[at].heading |= items[at].symbol == item.symbol
                at = above[at]
        for place, item in enumerate(items):
            at = above[place]
            gone = ""
            while at >= 0 and (items[at].heading or items[at].deleted or not items[at].symbol):
                gone = gone or (items[at].symbol if items[at].deleted and not items[at].heading else "")
                at = above[at]
            item.parent = items[at].symbol if at >= 0 else ""
            if gone and item.symbol and not item.deleted:
                below = f"below {item.parent}" if item.parent else "at the top"
                message = f"{item.symbol} stands inside {gone}, which is deleted; it stands {below}"
                self.report.warn("retired-target", message, [item.line], [item.symbol, gone])
        return [item for item in items if item.symbol]

    def _begin(self, attributes: Mapping[str, str]) -> None:
        marks = [mark for flag, mark in _FLAGS.items() if attributes.get(flag, "").strip() in ("true", "1")]
        status = attributes.get("status", "published")
        marks += ["frozen"] if status == "frozen" else []
        self._items.append(Item("", "", "", self.line, marks=tuple(marks), deleted=status == "deleted"))
        self._above.append(self._open[-1] if self._open else -1)
        self._open.append(len(self._items) - 1)
        self._way, self._parts, self._is_held = [], [], False

    def _close(self) -> None:
        place = self._open.pop()
        item = self._items[place]
        self._way, self._parts, self._is_held = [], [], False
        if not item.symbol and place not in self._told:
            self.report.warn("no-symbol", "an entry without a symbol was left out; what it holds stays", [item.line])

    def _read_symbol(self, text: str) -> str:
        text = text.strip()
        if SYMBOL.fullmatch(text):
            return text
        found = read_symbols(text)
        if len(found.symbols) == 1 and not found.rest:
            return found.symbols[0]
        if text:
            message = f"{text!r} is no symbol of CPC; the entry was left out, what it holds stays"
            self.report.warn("odd-symbol", message, [self.line], [text])
            self._told.add(self._open[-1])
        return ""
