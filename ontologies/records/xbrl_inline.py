"""XBRL inside web pages (Inline XBRL 1.0 and 1.1): the facts that a page shows, hides, nests and continues elsewhere.

The form is that of https://www.xbrl.org/specification/inlinexbrl-part1/rec-2013-11-18/. A filing may be a set of pages,
one of which describes the contexts of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..readers.xbrl_files import INSTANCE, root_name
from ..xml_stream import XmlReader
from .xbrl_facts import Instance

__all__ = ["can_read", "join_pages", "read_page"]

_INLINE = ("http://www.xbrl.org/2013/inlineXBRL", "http://www.xbrl.org/2008/inlineXBRL")
_FACTS = ("nonFraction", "nonNumeric", "fraction")
_XSI_NIL = "http://www.w3.org/2001/XMLSchema-instance nil"


@dataclass
class _Part:
    """An element whose text is wanted: a fact of the cover, or what continues one."""

    attribute: str
    context: str
    form: str
    next: str
    texts: list[str] = field(default_factory=list)


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is a web page with facts in it."""
    return root_name(head) == "html" and any(space.encode() in head for space in _INLINE)


def read_page(data: bytes, path: str) -> Instance:
    """Returns what one page reports.

    Raises:
        ParseError: it is no well-formed XML, or declares entities.
    """
    reader = _PageReader(path)
    reader.feed(data, is_last=True)
    return reader.finish()


def join_pages(pages: Iterable[tuple[str, Instance]]) -> list[tuple[str, Instance]]:
    """Returns the filings in pages, each with the name of its first page.

    Pages that state one company, form and period are one filing. One that states nothing belongs to the only filing
    there is, and is one by itself beside several.
    """
    filings: dict[str, tuple[str, Instance]] = {}
    silent: list[tuple[str, Instance]] = []
    for path, page in pages:
        if not page.key:
            silent.append((path, page))
        elif page.key in filings:
            filings[page.key][1].take(page)
        else:
            filings[page.key] = path, page
    found = list(filings.values())
    if len(found) != 1:
        return found + silent
    for _, page in silent:
        found[0][1].take(page)
    return found


class _PageReader(XmlReader):
    """One page on its way."""

    def __init__(self, path: str) -> None:
        super().__init__(path, namespaces=True)
        self.instance = Instance()
        self.context = ""
        self.prefixes: dict[str, str] = {}
        self.excluded = 0
        self.open: list[_Part | None] = []
        self.covers: list[_Part] = []
        self.continuations: dict[str, _Part] = {}
        self.declares_prefixes(self._prefix)

    def _prefix(self, prefix: str | None, space: str | None) -> None:
        self.prefixes[prefix or ""] = space or ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        space, _, local = name.rpartition(" ")
        if space == INSTANCE and local == "context":
            self.context = attributes.get("id", "")
        elif space == INSTANCE and local in ("segment", "scenario"):
            self.instance.segmented.add(self.context)
        elif space in _INLINE and local in _FACTS:
            self.open.append(self._fact(attributes))
        elif space in _INLINE and local == "continuation":
            part = _Part("", "", "", attributes.get("continuedAt", ""))
            self.continuations.setdefault(attributes.get("id", ""), part)
            self.open.append(part)
        elif space in _INLINE and local == "exclude":
            self.excluded += 1

    def _fact(self, attributes: Mapping[str, str]) -> _Part | None:
        context, target = attributes.get("contextRef", ""), attributes.get("target", "")
        prefix, _, local = attributes.get("name", "").strip().rpartition(":")
        if not context or not local:
            return None
        if target:
            self.instance.elsewhere[target] = self.instance.elsewhere.get(target, 0) + 1
            return None
        is_nil = attributes.get(_XSI_NIL, "").strip() in ("true", "1")
        attribute = self.instance.use(self.prefixes.get(prefix, prefix), local, context, self.line, is_nil=is_nil)
        if not attribute:
            return None
        part = _Part(attribute, context, attributes.get("format", ""), attributes.get("continuedAt", ""))
        self.covers.append(part)
        return part

    def text(self, data: str) -> None:
        """Text, perhaps a part of one; that of a fact is also text of the facts around it."""
        if not self.excluded:
            for part in self.open:
                if part is not None:
                    part.texts.append(data)

    def end(self, name: str) -> None:
        """An element ends."""
        space, _, local = name.rpartition(" ")
        if space in _INLINE and (local in _FACTS or local == "continuation"):
            self.open.pop()
        elif space in _INLINE and local == "exclude":
            self.excluded -= 1

    def finish(self) -> Instance:
        """Returns what the page reports, once it was read."""
        for part in self.covers:
            texts, following, seen = list(part.texts), part.next, {""}
            while following not in seen:
                seen.add(following)
                continued = self.continuations.get(following)
                texts += continued.texts if continued else []
                following = continued.next if continued else ""
            self.instance.tell(part.attribute, part.context, "".join(texts), part.form)
        return self.instance
