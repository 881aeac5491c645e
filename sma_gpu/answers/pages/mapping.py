"""A mapping drawn: the query at the left, the record at the right, and lines between them whose width is bits.

A mapping pairs each term with one other at most, so every pair has a row, and no two lines cross. The rows are text
with a line between, which the page can set as narrow or wide as its screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..svg import number
from ..words import Speech, bits, count, frequency_words
from .style import Html, Value, details, element, join, void

__all__ = ["drawn_mapping", "greatest_worth", "legend"]

_THICK, _THIN = 15.0, 1.5  # width of a line for the most bits on the page, and least width, px
_HIGH = 20
_DRAWN = 30  # terms that hang loose drawn; further ones are listed under a fold


def greatest_worth(answer: Mapping[str, Any]) -> float:
    """Returns the most bits that any line of the answer's mappings stands for, above 0."""
    pairs = (pair["bits"] for hit in answer["hits"] for pair in hit["mapping"])
    worths = (used["bits"] for used in answer["query"]["used"] if not used["excluded"])
    return max([*pairs, *worths, 0.0]) or 1.0


def drawn_mapping(
    hit: Mapping[str, Any],
    speech: Speech,
    worth: Mapping[str, float],
    greatest: float,
    *,
    heads: bool = True,
    sides: tuple[str, str] | None = None,
) -> Html:
    """Returns the mapping of a hit: pairs by bits, then what hangs loose, then what speaks against it.

    Args:
        hit: as in an answer.
        speech: the words of the domain.
        worth: of the terms of the query, bits; drawn behind each line.
        greatest: bits of the widest line.
        heads: name both sides above the rows.
        sides: what both are called in words; the query and the record where it is None.
    """
    left, right = sides or ("the query", f"the {speech.entity}")
    rows: list[Html] = []
    if heads:
        named = right if sides else hit["name"] or hit["key"]
        shown = [element("span", element("bdi", left)), element("span"), element("span", element("bdi", named))]
        rows.append(element("li", *shown, class_="pair sides", aria_hidden="true"))
    for pair in sorted(hit["mapping"], key=lambda p: (-p["bits"], p["query"])):
        rows.append(_pair(pair, speech, worth.get(pair["query"], 0.0), greatest))
    unexplained = sorted(hit["unexplained"], key=lambda u: (-u["bits"], u["query"]))
    rows += [_loose(loose, speech, greatest) for loose in unexplained[:_DRAWN]]
    if unexplained[_DRAWN:]:
        rows.append(_further(unexplained[_DRAWN:], speech))
    rows += [_against(found, speech, left, right) for found in hit["contradicted"]]
    if hit["inferences"]:
        beyond = [f"and {count(len(hit['inferences']), 'statement')} that ", element("bdi", left), " lacks"]
        way = _way(join([_line(0.62, 1, _THIN, "next"), _end(0.62, "next")]), "", "")
        rows.append(element("li", element("span"), way, element("span", *beyond, class_="end beyond"), class_="pair"))
    return element("ol", *rows, class_="map")


def _pair(pair: Mapping[str, Any], speech: Speech, worth: float, greatest: float) -> Html:
    distance, same = pair["distance"], pair["query"] == pair["case"]
    below, over = _relation(pair)
    ghost = _line(0, 1, _width(worth, greatest), "ghost") if worth > pair["bits"] else Html("")
    drawn = [ghost, _line(0, 1, _width(pair["bits"], greatest), "match")]
    drawn += [_bead(place / (distance + 1)) for place in range(1, distance + 1)]
    often = frequency_words(pair.get("evidence", {}))
    right = [Html("the same") if same else speech.term(pair["case"])]
    right += [element("span", often, class_="often")] if often else []
    way = _way(join(drawn), bits(pair["bits"]), below)
    via = [element("span", "over ", speech.term(over), class_="via")] if over else []
    left = element("span", speech.term(pair["query"]), class_="end")
    return element("li", left, way, element("span", *right, class_="end"), *via, class_="pair")


def _relation(pair: Mapping[str, Any]) -> tuple[str, str]:
    """Returns how far apart the terms of a pair are, in words, and what third term is between them, if any."""
    distance = pair["distance"]
    if not distance:
        return "exact", ""
    steps = count(distance, "step")
    if pair["via"] == pair["query"]:
        return f"{steps} narrower", ""
    if pair["via"] == pair["case"]:
        return f"{steps} broader", ""
    return f"{steps} apart", pair["via"]


def _loose(loose: Mapping[str, Any], speech: Speech, greatest: float) -> Html:
    drawn = join([_line(0, 0.42, _width(loose["bits"], greatest), "loose"), _end(0.42, "loose")])
    left = element("span", speech.term(loose["query"]), class_="end loose")
    return element("li", left, _way(drawn, bits(loose["bits"]), "unexplained"), element("span"), class_="pair")


def _further(unexplained: Sequence[Mapping[str, Any]], speech: Speech) -> Html:
    listed = join([join([speech.term(u["query"]), f" {bits(u['bits'])}"]) for u in unexplained], "; ")
    return element("li", details(f"{len(unexplained):,} more unexplained, worth less", element("p", listed)))


def _against(found: Mapping[str, Any], speech: Speech, left: str, right: str) -> Html:
    excluded = found["ruled_out_by"] == "query"
    words = (f"excluded by {left}", f"stated of {right}") if excluded else (f"stated of {left}", f"excluded by {right}")
    cross = element("text", "\u2715", x="50%", y="15", text_anchor="middle", class_="cross")
    drawn = join([_line(0, 0.4, 2, "against"), _line(0.6, 1, 2, "against"), cross])
    ends = [
        element("span", speech.term(found[side]), element("span", told, class_="often"), class_="end against")
        for side, told in zip(("query", "case"), words, strict=True)
    ]
    return element("li", ends[0], _way(drawn, "", "contradicted"), ends[1], class_="pair")


def _way(drawn: Html, above: str, below: str) -> Html:
    """Returns what stands between the two ends of a row: a line, with words above and below it."""
    high: dict[str, Value] = {"width": "100%", "height": _HIGH, "aria_hidden": "true"}
    words = [
        element("span", above, class_="above"),
        element("svg", drawn, **high),
        element("span", below, class_="below"),
    ]
    return element("span", *words, class_="way")


def _line(start: float, end: float, width: float, kind: str) -> Html:
    middle = _HIGH // 2
    return void(
        "line",
        x1=_percent(start),
        x2=_percent(end),
        y1=middle,
        y2=middle,
        stroke_width=number(width),
        class_=f"l-{kind}",
    )


def _bead(at: float) -> Html:
    return void("circle", cx=_percent(at), cy=_HIGH // 2, r=4, class_="bead")


def _end(at: float, kind: str) -> Html:
    return void("circle", cx=_percent(at), cy=_HIGH // 2, r="4.5", class_=f"open l-{kind}")


def _percent(part: float) -> str:
    return f"{number(100 * part)}%"


def _width(value: float, greatest: float) -> float:
    return max(_THICK * value / greatest, _THIN)


def legend(hits: Iterable[Mapping[str, Any]], entity: str) -> Html:
    """Returns how the drawings are to be read, as far as these hits need it."""
    shown = list(hits)
    parts = ["The width of a line is bits; the pale line behind it is what the term is worth to the query."]
    if any(pair["distance"] for hit in shown for pair in hit["mapping"]):
        parts.append("Each bead on a line is a step up or down the ontology.")
    if any(hit["unexplained"] for hit in shown):
        parts.append("A dashed end hangs loose: nothing of the record corresponds.")
    if any(hit["contradicted"] for hit in shown):
        parts.append(f"A cross marks what query and {entity} say against each other.")
    return element("p", " ".join(parts), class_="small")
