"""Shapes of inline SVG, coloured by the classes of the page, so that they follow dark mode and print."""

from __future__ import annotations

from collections.abc import Sequence

from ..svg import number
from .style import Html, Value, element, void

__all__ = ["circle", "drawing", "histogram", "label", "line", "path", "rectangle"]

_HIGH, _WIDE, _FOOT, _TOP = 120.0, 320.0, 34.0, 16.0
_LETTER = 6.5  # most that a digit of a small label takes


def drawing(width: float, height: float, title: str, *inner: str, **attributes: Value) -> Html:
    """Returns a drawing that takes the width there is, up to its own; ``title`` says what it shows."""
    return element(
        "svg",
        element("title", title),
        *inner,
        **{
            "class_": "drawing",
            "role": "img",
            "viewBox": f"0 0 {number(width)} {number(height)}",
            "style": f"max-width:{number(width)}px",
            **attributes,
        },
    )


def rectangle(x: float, y: float, width: float, height: float, *, tip: str = "", **attributes: Value) -> Html:
    """Returns a rectangle; ``tip`` is shown on pointing at it."""
    return _shape(
        "rect", tip, {"x": number(x), "y": number(y), "width": number(width), "height": number(height)}, attributes
    )


def line(x1: float, y1: float, x2: float, y2: float, *, tip: str = "", **attributes: Value) -> Html:
    """Returns a straight line."""
    return _shape("line", tip, {"x1": number(x1), "y1": number(y1), "x2": number(x2), "y2": number(y2)}, attributes)


def path(points: Sequence[tuple[float, float]], *, tip: str = "", closed: bool = False, **attributes: Value) -> Html:
    """Returns a line along points, or an area where it is closed; ``fill`` and ``stroke`` come by class."""
    data = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + ("Z" if closed else "")
    return _shape("path", tip, {"d": data}, attributes)


def circle(x: float, y: float, radius: float, *, tip: str = "", **attributes: Value) -> Html:
    """Returns a circle."""
    return _shape("circle", tip, {"cx": number(x), "cy": number(y), "r": number(radius)}, attributes)


def label(x: float, y: float, text: str, **attributes: Value) -> Html:
    """Returns a line of text whose base line is y; ``text_anchor`` is start, middle or end."""
    return element("text", text, x=number(x), y=number(y), **attributes)


def _shape(name: str, tip: str, place: dict[str, Value], attributes: dict[str, Value]) -> Html:
    if tip:
        return element(name, element("title", tip), **place, **attributes)
    return void(name, **place, **attributes)


def histogram(counts: Sequence[int], edges: Sequence[str], title: str, *, kind: str = "match") -> Html:
    """Returns counts as upright bars, each with its figure above it.

    Where there is no room for all figures only the greatest is shown; pointing at a bar gives its own. Of the borders
    as many are named as there is room for, the first and the last among them.

    Args:
        counts: one for each bin.
        edges: what stands below the borders of the bins, one more than there are bins.
        title: what the drawing shows.
        kind: colour of the bars, as in ``bar``.
    """
    step, most = _WIDE / len(counts), max([*counts, 1])
    inner = [line(0, _TOP + _HIGH, _WIDE, _TOP + _HIGH, class_="axis")]
    crowded, greatest = any(_wide(str(count)) > step for count in counts), max(counts, default=0)
    for place, count in enumerate(counts):
        high = _HIGH * count / most
        if count:
            tip = f"{edges[place]} to {edges[place + 1]}: {count}"
            top = _TOP + _HIGH - high
            inner.append(rectangle(place * step + 1, top, step - 2, high, tip=tip, class_=f"fill-{kind}"))
            if not crowded or place == list(counts).index(greatest):
                inner.append(label((place + 0.5) * step, top - 4, str(count), text_anchor="middle", class_="small"))
    for place in _named(edges, step):
        inner.append(
            label(place * step, _TOP + _HIGH + 16, edges[place], text_anchor=_anchor(place, edges), class_="small")
        )
    return drawing(_WIDE, _TOP + _HIGH + _FOOT - 10, title, *inner)


def _wide(text: str) -> float:
    """Returns how wide a small label is at most, with a gap beside it."""
    return _LETTER * (len(text) + 1)


def _anchor(place: int, edges: Sequence[str]) -> str:
    return "start" if place == 0 else "end" if place == len(edges) - 1 else "middle"


def _named(edges: Sequence[str], step: float) -> list[int]:
    """Returns the places of the edges that can be named beside each other, ascending."""
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}  # share of a label that stands to the left of its place
    spans = {}
    for place, edge in enumerate(edges):
        if edge:
            left = place * step - before[_anchor(place, edges)] * _wide(edge)
            spans[place] = left, left + _wide(edge)
    if not spans:
        return []
    last = max(spans)
    found, free = [], -_WIDE
    for place, (left, right) in spans.items():
        if place == last or (left >= free and right <= spans[last][0]):
            found.append(place)
            free = right
    return found
