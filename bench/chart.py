"""A chart of one curve as SVG: points joined by lines, both scales by powers of ten where that tells more."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..answers.svg import Drawing, number, text_width

__all__ = ["chart"]

_WIDTH, _HEIGHT = 560.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, 28.0, 46.0, 56.0
_INK, _GREY, _RULE, _CURVE = "#1f2937", "#6b7280", "#d5d9e0", "#0f766e"
_FONT, _SMALL = 12.5, 11.0

Point = tuple[float, float]


def chart(title: str, across: str, up: str, points: Sequence[Point], *, doubling: bool = True) -> str:
    """Returns the drawing as the text of an SVG file; the same points give the same bytes.

    Args:
        title: what it shows.
        across: what the points are over.
        up: what their height is.
        points: at least one, all above 0.
        doubling: the horizontal scale is logarithmic; the vertical one always is.
    """
    drawing = Drawing(_WIDTH)
    drawing.text(_LEFT, 26.0, [(title, "600")], font_size=_FONT + 1.5, fill=_INK)
    place_x, _ = _scale([x for x, _ in points], _LEFT, _WIDTH - _RIGHT, logarithmic=doubling)
    place_y, powers = _scale([y for _, y in points], _HEIGHT - _BOTTOM, _TOP, logarithmic=True)
    for value in powers:
        y = place_y(value)
        drawing.line(f"M {number(_LEFT)} {number(y)} H {number(_WIDTH - _RIGHT)}", stroke=_RULE, stroke_width=1)
        _right(drawing, _LEFT - 8, y + 4, _shown(value))
    for x, _ in points:
        drawing.line(f"M {number(place_x(x))} {number(_HEIGHT - _BOTTOM)} v 5", stroke=_GREY, stroke_width=1)
        text = _shown(x)
        drawing.text(
            place_x(x) - text_width(text, _SMALL) / 2, _HEIGHT - _BOTTOM + 19, text, font_size=_SMALL, fill=_GREY
        )
    drawing.line(
        f"M {number(_LEFT)} {number(_HEIGHT - _BOTTOM)} H {number(_WIDTH - _RIGHT)}", stroke=_GREY, stroke_width=1
    )
    path = " L ".join(f"{number(place_x(x))} {number(place_y(y))}" for x, y in points)
    drawing.line(f"M {path}", stroke=_CURVE, stroke_width=2)
    for x, y in points:
        drawing.dot(place_x(x), place_y(y), 3.5, fill=_CURVE)
        label = _shown(y)
        drawing.text(place_x(x) - text_width(label, _SMALL) / 2, place_y(y) - 9, label, font_size=_SMALL, fill=_INK)
    drawing.text(_LEFT, _HEIGHT - 12, across, font_size=_SMALL, fill=_INK)
    drawing.text(_LEFT - 66, _TOP - 6, up, font_size=_SMALL, fill=_INK)
    return drawing.finish(_HEIGHT, title)


def _scale(
    values: Sequence[float], start: float, end: float, *, logarithmic: bool
) -> tuple[Callable[[float], float], list[float]]:
    """Returns where each value stands between ``start`` and ``end``, and the powers of ten in their range."""
    turn: Callable[[float], float] = math.log10 if logarithmic else float
    low, high = turn(min(values)), turn(max(values))
    if not logarithmic:
        low, high = low - 0.5, high + 0.5
        powers = []
    else:
        room = 0.08 * max(high - low, 0.5)
        low, high = low - room, high + room
        powers = [10.0**p for p in range(math.ceil(low), math.floor(high) + 1)]
    return lambda value: start + (turn(value) - low) / (high - low) * (end - start), powers


def _right(drawing: Drawing, x: float, y: float, text: str) -> None:
    drawing.text(x, y, text, font_size=_SMALL, fill=_GREY, text_anchor="end")


def _shown(value: float) -> str:
    """Returns a value in few characters: thousands and millions as such, fractions with three digits that count."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
