"""An analogy as a drawing: base left, target right, what corresponds joined by lines. A plain SVG file.

Texts too long for their column are cut for display; pointing at a row shows more of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..cases.model import Entity, Statement
from ..cases.spelling import short_name
from ..retrieval.analogy import Analogy
from ..scoring import to_bits
from .analogy_forest import item_text, label, one_line
from .analogy_layout import KINDS, Block, Link, Side, blocks
from .analogy_text import case_title, standing
from .svg import Drawing, fitted, number, text_width

__all__ = ["analogy_svg"]

_MARGIN = 28.0
_ROW, _BOX = 26.0, 21.0  # from one row to the next, and the height of the box around its text
_PAD, _INDENT, _MOST_INDENTS = 9.0, 15.0, 14
_COLUMN = (200.0, 430.0)  # least and greatest width
_GAP = 170.0  # between the columns
_NUMBERS, _VIA = 46.0, 150.0
_FONT, _SMALL = 12.5, 11.0

_INK, _GREY, _RULE = "#1f2937", "#6b7280", "#d5d9e0"
_PLAIN_BOX = ("#f8f9fa", "#e3e6ea")  # fill and edge
_BOXES = {
    "entity": ("#e0f2ef", "#9ccfc8"),
    "statement": ("#e8ebfa", "#b3bce9"),
    "inference": ("#fff8eb", "#c98a3c"),
}
_COLOURS = dict(zip(KINDS, ("#0f766e", "#4053b8", "#b45309", "#7b8494", "#c01c28"), strict=True))
_DASHES = {"inference": "6 4", "difference": "2 4"}
_LEGEND = {
    "entity": "entities that correspond",
    "statement": "statements that correspond",
    "inference": "candidate inference",
    "difference": "same place, different content",
    "contradiction": "one denies the other",
}


@dataclass(frozen=True)
class _Frame:
    """The edges that all blocks share."""

    base: float
    base_end: float
    target: float
    target_end: float
    width: float


def analogy_svg(analogy: Analogy) -> str:
    """Returns the drawing of ``analogy`` as the text of an SVG file; the same analogy gives the same bytes."""
    found = blocks(analogy)
    base = _column(case_title(analogy.base), (b.base for b in found))
    target = _column(case_title(analogy.target), (b.target for b in found))
    start = _MARGIN + base + _GAP
    via = [text_width(k.way, _SMALL) + 12 for b in found for k in b.links if k.way and k.kind == "statement"]
    width = start + target + _NUMBERS + min(max(via, default=0), _VIA) + _MARGIN
    frame = _Frame(_MARGIN, _MARGIN + base, start, start + target, width)
    drawing = Drawing(frame.width)
    y = _heading(drawing, analogy, frame)
    greatest = max((k.value for b in found for k in b.links if k.kind != "inference"), default=0)
    for block in found:
        y = _block(drawing, block, frame, y, greatest)
    y = _legend(drawing, found, frame, y)
    return drawing.finish(y, f"{case_title(analogy.base)} and {case_title(analogy.target)}: an analogy")


def _column(heading: str, sides: Iterable[Side]) -> float:
    widths = [text_width(heading, _FONT, bold=True)]
    for side in sides:
        widths += [
            _indent(depth) + text_width("".join(_label(side, item)), _FONT) + 2 * _PAD for item, depth in side.rows
        ]
    return min(max(_COLUMN[0], *widths), _COLUMN[1])


def _label(side: Side, item: Entity | Statement) -> tuple[str, str]:
    """Returns what a row says, cut behind the functor or the entity."""
    if isinstance(item, Statement) and item in side.excluded:
        return f"excludes {one_line(short_name(item.functor.id))}", ""
    return label(item)


def _indent(depth: int) -> float:
    return min(depth, _MOST_INDENTS) * _INDENT


def _heading(drawing: Drawing, analogy: Analogy, frame: _Frame) -> float:
    room = frame.width - 2 * _MARGIN
    title = f"{case_title(analogy.base)} \u2192 {case_title(analogy.target)}"
    drawing.text(_MARGIN, 42.0, fitted(title, room, 19, bold=True), tip=title, font_size=19, font_weight=600, fill=_INK)
    words = standing(analogy)
    drawing.text(_MARGIN, 64.0, fitted(words, room, _FONT), tip=words, font_size=_FONT, fill=_GREY)
    y = 98.0
    for x, end, side, case in (
        (frame.base, frame.base_end, "base", analogy.base),
        (frame.target, frame.target_end, "target", analogy.target),
    ):
        name = case_title(case)
        shown = fitted(name, end - x - 52, _FONT, bold=True)
        parts = [(f"{side}  ", "400"), (shown, "600")]
        drawing.text(x, y, parts, tip=name, font_size=_FONT, fill=_INK)
    drawing.text(
        frame.target_end + _NUMBERS - 6, y, "bits", font_size=_SMALL, fill=_GREY, text_anchor="end", tip="what it adds"
    )
    drawing.line(f"M{number(_MARGIN)} {number(y + 9)}H{number(frame.width - _MARGIN)}", stroke=_RULE, stroke_width=1)
    return y + 9


def _block(drawing: Drawing, block: Block, frame: _Frame, y: float, greatest: int) -> float:
    """Draws one block below ``y`` and returns where it ends: lines first, so that boxes and texts lie above them."""
    drawing.text(frame.base, y + 24, block.title.upper(), font_size=10, fill=_GREY, letter_spacing=1)
    top = y + 34
    sides = ((block.base, frame.base, frame.base_end), (block.target, frame.target, frame.target_end))
    for side, x, _ in sides:
        _branches(drawing, side, x, top)
    start = {item: frame.target + _indent(depth) for item, depth in block.target.rows}
    for link in reversed(block.links):
        ends = (block.base.places[link.base], block.target.places[link.target])
        y, to = (top + place * _ROW + _BOX / 2 for place in ends)
        _curve(drawing, link, (frame.base_end, y), frame.target, (start[link.target], to), greatest)
    for side, x, end in sides:
        kinds: dict[Entity | Statement, str] = {}
        for link in block.links:
            item = link.base if side is block.base else link.target
            # On the side of the base an inference starts from a statement that has no counterpart.
            if link.kind in ("entity", "statement") or (link.kind == "inference" and side is block.target):
                kinds.setdefault(item, link.kind)
        for item, depth in side.rows:
            y = top + side.places[item] * _ROW
            _row(drawing, item, _label(side, item), kinds.get(item, ""), x + _indent(depth), end, y)
    for link in block.links:
        _number(drawing, link, frame, top + block.target.places[link.target] * _ROW)
    return top + block.height * _ROW


def _branches(drawing: Drawing, side: Side, x: float, top: float) -> None:
    """Draws the lines that join statements with their arguments below."""
    above: list[float] = []  # lower edges of the rows that the next one stands below
    for item, depth in side.rows:
        y = top + side.places[item] * _ROW
        above[depth:] = [y + _BOX]
        if depth:
            start = x + _indent(depth)
            bend = (
                f"M{number(start - _INDENT / 2 - 1)} {number(above[depth - 1])}V{number(y + _BOX / 2)}H{number(start)}"
            )
            drawing.line(bend, stroke="#c3c9d2", stroke_width=1)


def _row(
    drawing: Drawing, item: Entity | Statement, words: tuple[str, str], kind: str, x: float, end: float, y: float
) -> None:
    fill, edge = _BOXES.get(kind, _PLAIN_BOX)
    dash = {"stroke_dasharray": "4 3"} if kind == "inference" else {}
    whole = item_text(item)
    drawing.rectangle(x, y, end - x, _BOX, tip=whole, rx=5, fill=fill, stroke=edge, stroke_width=1, **dash)
    head, rest = words
    shown = fitted(head + rest, end - x - 2 * _PAD, _FONT)
    weight = "600" if isinstance(item, Statement) else ""
    parts = [(shown[: len(head)], weight), (shown[len(head) :], "")]
    drawing.text(x + _PAD, y + 14.8, parts, tip=whole, font_size=_FONT, fill=_INK if kind else _GREY)


def _curve(
    drawing: Drawing, link: Link, begin: tuple[float, float], column: float, end: tuple[float, float], greatest: int
) -> None:
    """Draws one line: a curve up to the column of the target, level from there to the row, which may be indented."""
    colour = _COLOURS[link.kind]
    style: dict[str, object] = {"stroke": colour, "stroke_width": 1.4}
    if link.kind in ("entity", "statement"):
        share = link.value / greatest if greatest else 0.0
        style |= {"stroke_width": 1.1 + 2.4 * share, "stroke_opacity": 0.45 + 0.45 * share}
    dash = "1 5" if link.free else _DASHES.get(link.kind)
    if dash:
        style |= {"stroke_dasharray": dash, "stroke_linecap": "round"}
    (x, y), (stop, to), middle = begin, end, (begin[0] + column) / 2
    bend = "" if y == to else "C" + " ".join(map(number, (middle, y, middle, to, column, to)))
    drawing.line(f"M{number(x)} {number(y)}{bend}H{number(stop)}", tip=link.words, data_link=link.kind, **style)
    drawing.dot(x, y, 2.4, fill=colour)
    drawing.dot(stop, to, 2.4, fill=colour)


def _number(drawing: Drawing, link: Link, frame: _Frame, y: float) -> None:
    if link.kind not in ("entity", "statement") and not link.value:
        return
    inferred = link.kind == "inference"
    shown = f"{'+' if inferred else ''}{to_bits(link.value):.2f}"
    tip = f"would add {to_bits(link.value):.2f} bits" if inferred else link.words
    x = frame.target_end + _NUMBERS - 6
    ink = _COLOURS["inference"] if inferred else _GREY
    drawing.text(x, y + 14.6, shown, tip=tip, font_size=_SMALL, fill=ink, text_anchor="end")
    if link.way and link.kind == "statement":
        shown = fitted(link.way, _VIA - 12, _SMALL)
        drawing.text(x + 12, y + 14.6, shown, tip=link.way, font_size=_SMALL, fill=_GREY, font_style="italic")


def _legend(drawing: Drawing, found: list[Block], frame: _Frame, y: float) -> float:
    links = [k for block in found for k in block.links]
    y += 16
    drawing.line(f"M{number(_MARGIN)} {number(y)}H{number(frame.width - _MARGIN)}", stroke=_RULE, stroke_width=1)
    y += 24
    x = _MARGIN
    for kind in (kind for kind in KINDS if any(k.kind == kind for k in links)):
        x, y, after = _flow(40 + text_width(_LEGEND[kind], _SMALL), frame, x, y)
        dash = {"stroke_dasharray": _DASHES[kind]} if kind in _DASHES else {}
        sample = f"M{number(x)} {number(y - 4)}h28"
        drawing.line(sample, stroke=_COLOURS[kind], stroke_width=2, stroke_linecap="round", **dash)
        drawing.text(x + 36, y, _LEGEND[kind], font_size=_SMALL, fill=_INK)
        x = after
    x, y = _MARGIN, y + 20 if links else y
    hints = ["thicker: worth more bits", "grey: not part of the mapping"]
    if any(k.free for k in links):
        hints.append("dotted green: any other pairing of these would score the same")
    if any(block.shared for block in found):
        hints.append("a statement that several contain stands below one of them")
    hints.append("pointing at a row shows more of its text")
    for hint in hints:
        x, y, after = _flow(text_width(hint, _SMALL), frame, x, y)
        drawing.text(x, y, hint, font_size=_SMALL, fill=_GREY)
        x = after
    return y + _MARGIN - 6


def _flow(width: float, frame: _Frame, x: float, y: float) -> tuple[float, float, float]:
    """Returns where a piece of the legend goes, on the next line if this one is full, and where the next one begins."""
    if x > _MARGIN and x + width > frame.width - _MARGIN:
        x, y = _MARGIN, y + 20
    return x, y, x + width + 14
