"""A small writer of SVG: shapes and text with plain attributes, so that two drawings on a page never meet."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

__all__ = ["Drawing", "fitted", "number", "text_width"]

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
# Generous shares of the font size: the font that will be there is not known.
_NARROW, _WIDE, _BOLD = 0.62, 1.05, 1.07
# Not by xml.sax.saxutils, which imports HTTP, and with it a tenth of what the start of every command takes.
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTED = _IN_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0, even escaped


class Drawing:
    """Collects elements in the order they are drawn, and gives the text of the file."""

    def __init__(self, width: float) -> None:
        self.width = width
        self._elements: list[str] = []

    def rectangle(self, x: float, y: float, width: float, height: float, *, tip: str = "", **style: object) -> None:
        """Adds a rectangle; ``tip`` is shown on pointing at it."""
        self._add("rect", {"x": x, "y": y, "width": width, "height": height, **style}, tip)

    def line(self, points: str, *, tip: str = "", **style: object) -> None:
        """Adds a line along ``points``, the data of a path."""
        self._add("path", {"d": points, "fill": "none", **style}, tip)

    def dot(self, x: float, y: float, radius: float, **style: object) -> None:
        """Adds a filled circle."""
        self._add("circle", {"cx": x, "cy": y, "r": radius, **style}, "")

    def text(
        self, x: float, y: float, parts: str | Sequence[tuple[str, str]], *, tip: str = "", **style: object
    ) -> None:
        """Adds one line of text that starts at x on the base line y; parts are (text, font weight)."""
        if isinstance(parts, str):
            inner = _clean(parts)
        else:
            inner = "".join(
                f"<tspan{_attributes({'font_weight': weight})}>{_clean(text)}</tspan>" if weight else _clean(text)
                for text, weight in parts
            )
        self._elements.append(f"<text{_attributes({'x': x, 'y': y, **style})}>{_title(tip)}{inner}</text>")

    def finish(self, height: float, name: str) -> str:
        """Returns the file, on a white ground whatever it is shown on; ``name`` says what it shows."""
        size = f'width="{number(self.width)}" height="{number(height)}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {number(self.width)} {number(height)}" '
            f'role="img" font-family="{FONTS}">'
        )
        return "\n".join(
            [
                head,
                f"<title>{_clean(name)}</title>",
                f'<rect {size} fill="#ffffff"/>',
                *self._elements,
                "</svg>\n",
            ]
        )

    def _add(self, tag: str, attributes: dict[str, object], tip: str) -> None:
        shown = f"<{tag}{_attributes(attributes)}"
        self._elements.append(f"{shown}>{_title(tip)}</{tag}>" if tip else f"{shown}/>")


def number(value: float) -> str:
    """Returns ``value`` with at most two decimals.

    Example:
        >>> number(12.0), number(0.125)
        ('12', '0.12')
    """
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Returns the room ``text`` needs at font size ``size``, by counting characters, generously."""
    return sum(_width(c) for c in text) * size * (_BOLD if bold else 1)


def fitted(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """Returns ``text``, cut to ``room`` with an ellipsis where it is longer."""
    if text_width(text, size, bold=bold) <= room:
        return text
    left = room / (size * (_BOLD if bold else 1)) - _WIDE
    kept = 0
    for character in text:
        left -= _width(character)
        if left < 0:
            break
        kept += 1
    return text[:kept].rstrip() + "\u2026"


def _width(character: str) -> float:
    return _WIDE if unicodedata.east_asian_width(character) in "WF" else _NARROW


def _attributes(style: dict[str, object]) -> str:
    return "".join(
        f' {name.replace("_", "-")}="{_legal(number(v) if isinstance(v, float) else str(v)).translate(_QUOTED)}"'
        for name, v in style.items()
    )


def _title(tip: str) -> str:
    return f"<title>{_clean(tip)}</title>" if tip else ""


def _clean(text: str) -> str:
    return _legal(text).translate(_IN_TEXT)


def _legal(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
