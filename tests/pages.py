"""HTML pages read back by the standard library's parser, and held to what every page of the project promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlsplit

__all__ = ["Element", "Page", "check_page", "read_page"]

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
LINKS = ("href", "src", "srcset", "action", "formaction", "poster", "data", "xlink:href", "background", "cite")


@dataclass
class Element:
    """An element with what it holds, in order."""

    tag: str
    attributes: dict[str, str | None]
    inner: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text within."""
        return "".join(part if isinstance(part, str) else part.text for part in self.inner)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Returns the elements within of this tag whose attributes have these words; ``class_`` is class."""
        found = []
        for part in self.inner:
            if isinstance(part, str):
                continue
            words = ((part.attributes.get(name.rstrip("_")) or "").split() for name in attributes)
            if part.tag == tag and all(value in have for value, have in zip(attributes.values(), words, strict=True)):
                found.append(part)
            found += part.all(tag, **attributes)
        return found


class Page(HTMLParser):
    """Reads a page; what is not closed in order fails."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]
        self.declaration = ""

    def handle_decl(self, decl: str) -> None:
        self.declaration = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag} {attrs}"
        found = Element(tag, dict(attrs))
        self._open[-1].inner.append(found)
        if tag not in VOID:
            self._open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].inner.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].inner.append(data)

    def finish(self) -> Element:
        self.close()
        assert self._open == [self.root], f"not closed: {[e.tag for e in self._open]}"
        return self.root


def read_page(text: str) -> Element:
    """Returns the root of a page; every element in it was closed in order."""
    parser = Page()
    parser.feed(text)
    root = parser.finish()
    assert parser.declaration == "DOCTYPE html"
    return root


def check_page(text: str, siblings: tuple[str, ...] = ()) -> Element:
    """Returns the root of a page after checking what holds for every page.

    Args:
        text: the page.
        siblings: how addresses of other pages of the same answer begin.
    """
    root = read_page(text)
    [html] = root.all("html")
    assert html.attributes["lang"] == "en"
    assert [m.attributes["charset"] for m in root.all("meta") if "charset" in m.attributes] == ["utf-8"]
    assert len(root.all("main")) == len(root.all("h1")) == 1
    [head] = root.all("head")
    assert len(head.all("title")) == 1
    everything = _walk(root)
    ids = [e.attributes["id"] for e in everything if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for e in everything:
        assert e.tag not in ("img", "link", "iframe", "object", "embed", "form", "base", "image", "use"), e.tag
        for name, value in e.attributes.items():
            assert not name.startswith("on"), (e.tag, name)
            if name in LINKS:
                _check_link(e, value or "", set(ids), siblings)
    assert "@import" not in text and "url(" not in text
    _check_headings(everything)
    for head in root.all("th"):
        assert head.attributes.get("scope") in ("col", "row"), head.text
    for drawing in root.all("svg"):
        told = bool(drawing.all("title")) or "aria-label" in drawing.attributes
        assert told or drawing.attributes.get("aria-hidden") == "true", drawing
    return root


def _check_link(e: Element, value: str, ids: set[str | None], siblings: tuple[str, ...]) -> None:
    assert e.tag == "a", (e.tag, value)
    if value.startswith("#"):
        assert value[1:] in ids, value
        return
    parts = urlsplit(value)
    inside = not parts.scheme and not parts.netloc and value.startswith(siblings) if siblings else False
    assert parts.scheme == "https" or inside, value


def _check_headings(everything: list[Element]) -> None:
    levels = [int(e.tag[1]) for e in everything if e.tag in ("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    for before, after in zip(levels, levels[1:], strict=False):
        assert after <= before + 1, levels


def _walk(e: Element) -> list[Element]:
    found = []
    for part in e.inner:
        if isinstance(part, Element):
            found += [part, *_walk(part)]
    return found
