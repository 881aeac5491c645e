"""Small multiples: one little drawing for each arm, on the same scales, before the curves of all the others.

Twenty lines in one drawing cannot be told apart, by colour least of all. Here the arm named above a drawing is the bold
line, ours is dashed in it, and all others are thin and grey behind both. Each curve is written once and used again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..answers.pages.shapes import circle, label, line, path
from ..answers.pages.style import Html, Value, element, join, void

__all__ = ["Panel", "Scale", "bound", "curve_panels", "reliability_panels"]

_WIDE, _HIGH = 172.0, 122.0
_LEFT, _RIGHT, _TOP, _FOOT = 27.0, 8.0, 7.0, 19.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """One axis of the drawings.

    Attributes:
        low: value where it begins.
        high: where it ends.
        ticks: values that are named, with their names.
        logarithmic: by powers of ten.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def at(self, value: float, start: float, end: float) -> float:
        """Returns where a value stands between two places of a drawing."""
        low, high, value = (math.log10(v) if self.logarithmic else v for v in (self.low, self.high, value))
        return round(start + (value - low) / (high - low) * (end - start), 1)


@dataclass(frozen=True)
class Panel:
    """One arm's drawing.

    Attributes:
        arm: its name.
        points: its curve.
        figures: what is printed beside the name.
        words: the curve in words, for those who do not see it.
    """

    arm: str
    points: tuple[Point, ...]
    figures: str
    words: str


def bound(values: Sequence[float]) -> Scale:
    """Returns the scale of shares from 0 up to a round share that none of ``values`` exceeds."""
    top = max(values, default=1.0)
    high, ticks = next(
        ((h, t) for h, t in ((0.1, (0.0, 0.05, 0.1)), (0.2, (0.0, 0.1, 0.2)), (0.5, (0.0, 0.25, 0.5))) if top <= h),
        (1.0, (0.0, 0.5, 1.0)),
    )
    return Scale(0.0, high, tuple((tick, _short(tick)) for tick in ticks))


def curve_panels(name: str, across: Scale, up: Scale, panels: Sequence[Panel], ours: str) -> Html:
    """Returns the drawings of all curves.

    Args:
        name: begins the ids of this figure; no other on the page has it.
        across: the horizontal scale.
        up: the vertical scale.
        panels: one for each arm, in order.
        ours: the arm that is dashed in the drawings of the others.
    """
    lines = [
        path([(_x(across, x), _y(up, y)) for x, y in panel.points], id=f"{name}-{place}")
        for place, panel in enumerate(panels)
    ]
    shared = _shared(_axes(name, across, up), element("g", *lines, id=f"{name}g"))
    own = next((place for place, panel in enumerate(panels) if panel.arm == ours), None)
    found = []
    for place, panel in enumerate(panels):
        inner = [_use(f"{name}a"), _use(f"{name}g", class_="others")]
        if own is not None and place != own:
            inner.append(_use(f"{name}-{own}", class_="series s1 dashed"))
        inner.append(_use(f"{name}-{place}", class_="series bold s1" if place == own else "series bold s2"))
        found.append(_figure(panel, inner, ours=panel.arm == ours))
    return join([shared, element("div", *found, class_="panels")])


def reliability_panels(name: str, panels: Sequence[Panel], counts: Sequence[Sequence[int]], ours: str) -> Html:
    """Returns the drawings of reliability: what came true over what was stated, a dot for each bin, by its questions.

    Args:
        name: begins the ids of this figure.
        panels: one for each arm; their points are bins.
        counts: questions in each bin of each panel.
        ours: the arm whose dots are ours.
    """
    share = bound([1.0])
    even = line(_x(share, 0), _y(share, 0), _x(share, 1), _y(share, 1), class_="axis dashed")
    shared = _shared(_axes(name, share, share, even))
    found = []
    for panel, of_panel in zip(panels, counts, strict=True):
        inner = [_use(f"{name}a")]
        kind = "1" if panel.arm == ours else "2"
        for (x, y), count in zip(panel.points, of_panel, strict=True):
            radius = round(1.6 + 6.0 * math.sqrt(count / sum(of_panel)), 1)
            inner.append(line(_x(share, x), _y(share, x), _x(share, x), _y(share, y), class_=f"gap s{kind}"))
            inner.append(circle(_x(share, x), _y(share, y), radius, class_=f"dot f{kind}"))
        found.append(_figure(panel, inner, ours=panel.arm == ours))
    return join([shared, element("div", *found, class_="panels")])


def _figure(panel: Panel, inner: Sequence[Html], *, ours: bool) -> Html:
    words = element("figcaption", element("b", panel.arm), " ", element("span", panel.figures))
    drawn = element(
        "svg",
        element("title", panel.arm),
        element("desc", panel.words),
        *inner,
        role="img",
        viewBox=f"0 0 {_WIDE:.0f} {_HIGH:.0f}",
    )
    return element("figure", words, drawn, class_="panel is-ours" if ours else "panel")


def _shared(*inner: Html) -> Html:
    """Returns what the drawings use and does not show itself."""
    return element("svg", element("defs", *inner), class_="shared", width=0, height=0, aria_hidden="true")


def _axes(name: str, across: Scale, up: Scale, *more: Html) -> Html:
    found = []
    for value, text in up.ticks:
        y = _y(up, value)
        found.append(line(_LEFT, y, _WIDE - _RIGHT, y, class_="grid"))
        found.append(label(_LEFT - 4, y + 3.5, text, text_anchor="end", class_="tick"))
    for value, text in across.ticks:
        x = _x(across, value)
        found.append(line(x, _HIGH - _FOOT, x, _HIGH - _FOOT + 3, class_="axis"))
        found.append(label(x, _HIGH - 5, text, text_anchor="middle", class_="tick"))
    found.append(line(_LEFT, _HIGH - _FOOT, _WIDE - _RIGHT, _HIGH - _FOOT, class_="axis"))
    return element("g", *found, *more, id=f"{name}a")


def _use(name: str, **attributes: Value) -> Html:
    return void("use", href=f"#{name}", **attributes)


def _x(scale: Scale, value: float) -> float:
    return scale.at(value, _LEFT, _WIDE - _RIGHT)


def _y(scale: Scale, value: float) -> float:
    return scale.at(value, _HIGH - _FOOT, _TOP)


def _short(value: float) -> str:
    return f"{value:g}".removeprefix("0") if 0 < value < 1 else f"{value:g}"
