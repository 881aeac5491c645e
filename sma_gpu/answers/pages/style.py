"""What every HTML page is made of: escaped text, elements, tables, bars, and one sheet of style inside the page.

Text is escaped by construction: a plain ``str`` that enters an element is text, and only what the functions here made
is ``Html``. A page refers to nothing outside itself, and needs no script to be read.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from ...version import __version__
from ..percent import percent

__all__ = [
    "PAGE_END", "Html", "Page", "bar", "details", "element", "escape", "facts", "join", "page", "page_head", "section",
    "share", "table", "void",
]  # fmt: skip

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
# Control characters, halves of surrogate pairs, non-characters, and what turns the direction of all that follows it.
_SHOWN_BY_CODE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_SPECIAL = re.compile(f"[&<>\"'{_SHOWN_BY_CODE}]")
Value = str | int | bool | None


class Html(str):
    """Text that is HTML already, and enters an element as it is."""

    __slots__ = ()


class Page(Html):
    """A whole page."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Returns its size, since a notebook keeps this beside the page."""
        return f"<page of {len(self):,} characters>"

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the page in a frame of its own, out of which its style cannot leak."""
        style = "width:100%;height:40rem;border:0;resize:vertical"
        return element("div", element("iframe", srcdoc=self, title="page", style=style))


def escape(text: str) -> Html:
    r"""Returns ``text`` for an element or an attribute in quotes; what is unseen or turns text is shown by its code.

    Example:
        >>> escape("<b> & \u202e")
        '&lt;b&gt; &amp; [U+202E]'
    """
    return Html(_SPECIAL.sub(_escaped, text))


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return _ESCAPES.get(character) or f"[U+{ord(character):04X}]"


def element(name: str, /, *inner: str, **attributes: Value) -> Html:
    """Returns an element; a plain ``str`` within is escaped, ``Html`` is not.

    Args:
        name: of the element.
        inner: what it holds.
        attributes: ``class_`` and ``for_`` stand for words that Python keeps to itself, ``aria_label`` for
            ``aria-label``; None and False leave an attribute out, True gives it without a value.

    Example:
        >>> element("p", "a < b", class_="note")
        '<p class="note">a &lt; b</p>'
    """
    return Html(f"<{name}{_attributes(attributes)}>{join(inner)}</{name}>")


def void(name: str, /, **attributes: Value) -> Html:
    """Returns an element that holds nothing, such as ``meta`` or a shape of SVG."""
    return Html(f"<{name}{_attributes(attributes)}/>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Returns the parts one after the other, those that are plain text escaped."""
    gap = between if isinstance(between, Html) else escape(between)
    return Html(gap.join(part if isinstance(part, Html) else escape(part) for part in parts))


def _attributes(attributes: dict[str, Value]) -> str:
    shown = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        spelled = name.rstrip("_").replace("_", "-")
        shown.append(f" {spelled}" if value is True else f' {spelled}="{escape(str(value))}"')
    return "".join(shown)


def section(heading: str, *inner: str, level: int = 2, **attributes: Value) -> Html:
    """Returns a section under a heading of this level, 1 to 6."""
    return element("section", element(f"h{level}", heading), *inner, **attributes)


def details(summary: str, *inner: str, **attributes: Value) -> Html:
    """Returns what unfolds under its summary."""
    return element("details", element("summary", summary), *inner, **attributes)


def facts(pairs: Iterable[tuple[str, str]], **attributes: Value) -> Html:
    """Returns a list of names and values."""
    rows = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *rows, **{"class_": "facts", **attributes})


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    numbers: Iterable[int] = (),
    row_heads: bool = True,
    **attributes: Value,
) -> Html:
    """Returns a table that scrolls within itself where it is too wide for the screen.

    Args:
        head: names of the columns.
        rows: cells of each row.
        caption: what the table shows, in words.
        numbers: columns whose cells are numbers, from 0; they stand at the right.
        row_heads: the first cell of a row is its name.
        attributes: of the table.
    """
    right = set(numbers)
    classes = ["n" if place in right else None for place in range(len(head))]
    top = join(element("th", name, scope="col", class_=kind) for name, kind in zip(head, classes, strict=True))
    body = []
    for row in rows:
        cells = [
            element("th", cell, scope="row", class_=kind)
            if row_heads and not place
            else element("td", cell, class_=kind)
            for place, (cell, kind) in enumerate(zip(row, classes, strict=True))
        ]
        body.append(element("tr", *cells))
    inner = [element("caption", caption)] if caption else []
    inner += [element("thead", element("tr", top)), element("tbody", *body)]
    name = caption if caption and not isinstance(caption, Html) else None
    # What scrolls must be reachable by keyboard, and what is reachable needs a name.
    reachable: dict[str, Value] = {"tabindex": 0, "role": "region", "aria_label": name} if name else {}
    return element("div", element("table", *inner, **attributes), class_="scroll", **reachable)


def share(value: float) -> str:
    r"""Returns a share as a percentage; only what is nothing reads 0 %, and only what is whole reads 100 %.

    Example:
        >>> share(0.764), share(0.0001), share(0.9999), share(1.0)
        ('76\xa0%', '<1\xa0%', '>99\xa0%', '100\xa0%')
    """
    return percent(value, "\u00a0")


def bar(value: float, label: str = "", *, kind: str = "match") -> Html:
    """Returns a share as a bar with its figure beside it.

    Args:
        value: 0 to 1; what lies outside is drawn at the edge.
        label: what stands beside the bar; the share as a percentage where it is empty.
        kind: its colour: match, loose, against, next, plain.
    """
    width = f"{100 * min(max(value, 0.0), 1.0):.1f}".rstrip("0").rstrip(".")
    fill = void("rect", class_=f"fill-{kind}", width=f"{width}%", height="100%", rx=2)
    ground = void("rect", class_="fill-ground", width="100%", height="100%", rx=2)
    drawn = element("svg", ground, fill, class_="bar", aria_hidden="true", width="100%", height=8)
    return element("span", drawn, element("span", label or share(value), class_="bar-label"), class_="bar-row")


@cache
def _sheet() -> str:
    text = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def page_head(title: str, *, style: str = "", script: str = "") -> Html:
    """Returns how a page begins, up to the opened ``main``; ``PAGE_END`` ends it.

    Args:
        title: of the page, as plain text.
        style: further rules, behind those of the sheet; made by the program, never by data.
        script: the one script that the page may run, which its end holds; the page allows no other.
    """
    head = [
        void("meta", charset="utf-8"),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        void("meta", name="color-scheme", content="light dark"),
        void("meta", name="generator", content=f"sma_gpu {__version__}"),
        element("title", title),
        element("style", Html(_sheet() + style)),
    ]
    return Html(f'<!DOCTYPE html>\n<html lang="en">\n<head>{join(head, Html(chr(10)))}</head>\n<body>\n<main>\n')


def _policy(script: str) -> str:
    """Returns what a page may do: style of its own, at most this one script, and nothing from elsewhere."""
    allowed = f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" if script else "'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; form-action 'none'"


PAGE_END = Html("\n</main>\n</body>\n</html>\n")


def page(title: str, *inner: str, style: str = "", script: str = "") -> Page:
    """Returns a whole page.

    Args:
        title: of the page, as plain text.
        inner: what ``main`` holds; its first heading is of level 1.
        style: further rules, behind those of the sheet; made by the program, never by data.
        script: of the program alone; a page is whole without it.
    """
    added = [Html(f"<script>{script}</script>")] if script else []
    return Page(page_head(title, style=style, script=script) + join([*inner, *added], Html("\n")) + PAGE_END)
