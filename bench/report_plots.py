"""Drawings of the bench page that show all arms at once: differences, speed, novelty; narrow enough for a phone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..answers.pages.shapes import circle, drawing, label, line, path, rectangle
from ..answers.pages.style import Html
from ..answers.svg import fitted, number

__all__ = ["Difference", "Timed", "differences_plot", "fastest_so_far", "novelty_plot", "speed_plot", "time_words"]

_WIDE = 340.0
_NAMES = 142.0  # room of the names at the left
_ROW, _TOP, _FOOT = 19.0, 20.0, 30.0
_FONT = 10.5


@dataclass(frozen=True)
class Difference:
    """A row of a forest plot.

    Attributes:
        name: of the control, or of what is compared.
        difference: ours less theirs.
        low: lower end of its interval.
        high: upper end.
        told: it is told apart after the correction.
    """

    name: str
    difference: float
    low: float
    high: float
    told: bool


def differences_plot(title: str, rows: Sequence[Difference], *, over: bool = False) -> Html:
    """Returns the forest plot of differences: right of the line in the middle ours is above, left of it below.

    A filled circle is above, a filled square below, and what is hollow is not told apart.

    Args:
        title: what it shows.
        rows: from top to bottom.
        over: names stand over their rows, which is room for long ones, instead of at the left.
    """
    step_down = _ROW * 1.7 if over else _ROW
    high = _TOP + step_down * len(rows)
    lowest, highest = min([0.0, *(row.low for row in rows)]), max([0.0, *(row.high for row in rows)])
    step = next(s for s in (0.05, 0.1, 0.25, 0.5, 1.0) if highest - lowest <= 3 * s)
    before, behind = (max(1, math.ceil(end / step - 1e-9)) for end in (-lowest, highest))
    left, right = 12.0 if over else _NAMES + 8, _WIDE - 14

    def x(value: float) -> float:
        return round(left + (value / step + before) / (before + behind) * (right - left), 1)

    inner = []
    for place in range(-before, behind + 1):
        value = place * step
        inner.append(line(x(value), _TOP - 6, x(value), high, class_="axis" if place == 0 else "grid"))
        text = "0" if place == 0 else f"{value:+g}".replace("0.", ".")
        inner.append(label(x(value), high + 13, text, text_anchor="middle", class_="small"))
    inner.append(label(left, 9, "\u2190 ours below", class_="small"))
    inner.append(label(right, 9, "ours above \u2192", text_anchor="end", class_="small"))
    for place, row in enumerate(rows):
        y = _TOP + step_down * (place + (0.75 if over else 0.5))
        kind = "4" if row.difference < 0 else "1"
        if over:
            inner.append(label(left, y - 9, fitted(row.name, right - left, _FONT), class_="name"))
        else:
            inner.append(label(_NAMES, y + 4, fitted(row.name, _NAMES, _FONT), text_anchor="end", class_="name"))
        inner.append(line(x(row.low), y, x(row.high), y, class_=f"series s{kind}"))
        shape = f"dot f{kind}" if row.told else f"hollow s{kind}"
        at = x(row.difference)
        if row.difference < 0:
            inner.append(rectangle(at - 4, y - 4, 8, 8, class_=shape))
        else:
            inner.append(circle(at, y, 4.5, class_=shape))
    words = title + ": " + "; ".join(f"{r.name} {r.difference:+.3f} ({r.low:+.3f} to {r.high:+.3f})" for r in rows)
    return drawing(_WIDE, high + _FOOT - 10, words, *inner)


@dataclass(frozen=True)
class Timed:
    """An arm that was asked.

    Attributes:
        name: its name.
        seconds: CPU seconds for each question.
        accuracy: the share that it got right.
    """

    name: str
    seconds: float
    accuracy: float


def fastest_so_far(arms: Sequence[Timed]) -> list[int]:
    """Returns the arms that no other beats in both, or in one at a draw in the other, from the fastest to the slowest.

    The first of several that are equal in both stands for them.
    """
    found: list[int] = []
    for place in sorted(range(len(arms)), key=lambda i: (arms[i].seconds, -arms[i].accuracy, i)):
        if not found or arms[place].accuracy > arms[found[-1]].accuracy:
            found.append(place)
    return found


def speed_plot(title: str, arms: Sequence[Timed], ours: str) -> Html:
    """Returns accuracy over CPU seconds for each question, by powers of ten; each arm is a dot with its number.

    Numbers are those of ``arms`` from 1. The line joins those that no other beats in both.
    """
    left, right, top, foot = 34.0, _WIDE - 12, 10.0, 232.0
    powers = [math.log10(arm.seconds) for arm in arms]
    low, high = math.floor(min(powers)), math.ceil(max(powers))
    high = high if high > low else low + 1
    reach = max([0.1, *(arm.accuracy for arm in arms)])
    reach = next(r for r in (0.1, 0.2, 0.5, 1.0) if reach <= r)

    def x(seconds: float) -> float:
        return round(left + (math.log10(seconds) - low) / (high - low) * (right - left), 1)

    def y(accuracy: float) -> float:
        return round(foot - accuracy / reach * (foot - top), 1)

    inner = []
    for share in (0.0, 0.5, 1.0):
        inner.append(line(left, y(share * reach), right, y(share * reach), class_="grid"))
        inner.append(label(left - 5, y(share * reach) + 4, number(share * reach), text_anchor="end", class_="small"))
    for power in range(low, high + 1):
        inner.append(line(x(10.0**power), foot, x(10.0**power), foot + 4, class_="axis"))
        inner.append(label(x(10.0**power), foot + 16, _seconds(power), text_anchor="middle", class_="small"))
    front = [(x(arms[i].seconds), y(arms[i].accuracy)) for i in fastest_so_far(arms)]
    steps = [front[0], *(point for a, b in pairwise(front) for point in ((b[0], a[1]), b)), (right, front[-1][1])]
    inner.append(path(steps, class_="series s8 dashed"))
    dots = [(x(arm.seconds), y(arm.accuracy)) for arm in arms]
    taken = [(px - 4, py - 4, px + 4, py + 4) for px, py in dots]
    for place, (arm, (px, py)) in enumerate(zip(arms, dots, strict=True)):
        kind = "1" if arm.name == ours else "2"
        if arm.name == ours:
            inner.append(circle(px, py, 5, class_="dot f1"))
        else:
            inner.append(rectangle(px - 3.5, py - 3.5, 7, 7, class_="dot f2"))
        box = _free(str(place + 1), px, py, taken)
        taken.append(box)
        inner.append(label(box[0], box[3] - 2, str(place + 1), class_=f"number f{kind}"))
    words = title + ": " + "; ".join(f"{a.name} {a.accuracy:.3f} at {time_words(a.seconds)}" for a in arms)
    return drawing(_WIDE, foot + 22, words, *inner)


Box = tuple[float, float, float, float]


def _free(text: str, x: float, y: float, taken: Sequence[Box]) -> Box:
    """Returns a place for a label beside a dot: the first that meets nothing, or the one that meets least."""
    wide, high = 6.6 * len(text), 12.0
    places = [
        (x + far * dx - (wide / 2 if not dx else 0 if dx > 0 else wide), y + far * dy - high / 2)
        for far in (7.0, 14.0, 21.0)
        for dx, dy in ((1, 0), (0, -1.5), (-1, 0), (0, 1.5), (1, -1.2), (-1, -1.2), (1, 1.2), (-1, 1.2))
    ]
    boxes = [(px, py, px + wide, py + high) for px, py in places if 34.0 <= px <= _WIDE - wide and -2 <= py <= 222]
    return min(boxes, key=lambda box: sum(_shared_area(box, other) for other in taken))


def _shared_area(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def novelty_plot(title: str, arms: Mapping[str, Mapping[str, Any]], ours: str) -> Html:
    """Returns F1 of telling new questions from known ones, beside that of calling everything novel.

    Args:
        title: what it shows.
        arms: by name, ``novelty`` of ``figures.figures`` with an F1.
        ours: the arm whose dot is ours.
    """
    high = _TOP + _ROW * len(arms)
    left, right = _NAMES + 8, _WIDE - 12

    def x(value: float) -> float:
        return round(left + value * (right - left), 1)

    inner = []
    for value in (0.0, 0.5, 1.0):
        inner.append(line(x(value), _TOP - 6, x(value), high, class_="grid"))
        inner.append(label(x(value), high + 13, number(value), text_anchor="middle", class_="small"))
    for place, (name, found) in enumerate(arms.items()):
        y = _TOP + _ROW * (place + 0.5)
        everything, reached = found["f1_everything_novel"], found["f1"]
        inner.append(label(_NAMES, y + 4, fitted(name, _NAMES, _FONT), text_anchor="end", class_="name"))
        inner.append(line(x(everything), y - _ROW / 2, x(everything), y + _ROW / 2, class_="series s4 dashed"))
        inner.append(line(x(everything), y, x(reached), y, class_="gap s8"))
        if name == ours:
            inner.append(circle(x(reached), y, 4.5, class_="dot f1"))
        else:
            inner.append(rectangle(x(reached) - 3.5, y - 3.5, 7, 7, class_="dot f2"))
    some = next(iter(arms.values()))["f1_everything_novel"]
    anchor = "start" if some < 0.6 else "end"
    inner.append(label(x(some), 9, "all called novel", text_anchor=anchor, class_="small"))
    words = title + ": " + "; ".join(f"{n} {f['f1']:.3f} ({f['f1_everything_novel']:.3f})" for n, f in arms.items())
    return drawing(_WIDE, high + _FOOT - 10, words, *inner)


def _seconds(power: int) -> str:
    return time_words(10.0**power)


def time_words(seconds: float) -> str:
    """Returns a time with three digits in its own unit.

    Example:
        >>> time_words(0.00123), time_words(12.0)
        ('1.23 ms', '12 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("\u00b5s", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{float(f'{seconds / size:.3g}'):g} {unit}"
    return f"{float(f'{seconds / 1e-9:.3g}'):g} ns"
