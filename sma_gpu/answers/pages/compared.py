"""Pages of two cases side by side: two records of a domain, and an analogy between two cases with structure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..words import Speech, bits, count, dial_words
from .case import remarks
from .hit import expectation
from .mapping import drawn_mapping
from .style import Html, Page, details, element, facts, join, page, section

__all__ = ["analogy_page", "comparison_page"]

_ALONE = 12  # terms that one record alone has, shown at once


def comparison_page(comparison: Mapping[str, Any], entity: str, *, notice: str = "") -> Page:
    """Returns the page of what two records share and what only one of them has.

    Args:
        comparison: the comparison object.
        entity: what a record describes.
        notice: of the domain.
    """
    speech = Speech(comparison["names"], entity)
    a, b = comparison["a"], comparison["b"]
    left, right = (side["name"] or side["key"] for side in (a, b))
    shared = [{**pair, "query": pair["a"], "case": pair["b"]} for pair in comparison["shared"]]
    only = {side: sorted(comparison[side], key=lambda t: (-t["bits"], t["term"])) for side in ("only_a", "only_b")}
    drawn = {
        "key": b["key"],
        "name": b["name"],
        "mapping": shared,
        "unexplained": [],
        "contradicted": comparison["contradicted"],
        "inferences": [],
    }
    greatest = max([pair["bits"] for pair in shared], default=0.0) or 1.0
    title = f"{left} and {right}"
    parts: list[str] = [
        element("header", element("h1", element("bdi", title)), element("p", f"Two {entity}s compared.", class_="lead"))
    ]
    parts += [element("p", notice, class_="notice")] if notice else []
    figures = [
        (f"{name} = {side['key']}", f"{count(side['terms'], 'term')}, {bits(side['self_bits'])}")
        for name, side in (("A", a), ("B", b))
    ]
    figures.append((f"shared, with the pair of {entity}s itself", bits(comparison["score_bits"])))
    parts.append(section("In short", facts(figures), class_="card"))
    what = (
        drawn_mapping(drawn, speech, {}, greatest, sides=(left, right))
        if shared or comparison["contradicted"]
        else element("p", "Nothing.")
    )
    parts.append(section("What they share", what, class_="card"))
    for name, side in ((left, "only_a"), (right, "only_b")):
        items = [expectation({"functor": t["term"], "bits": t["bits"]}, 0, 0, speech) for t in only[side]]
        listed = [element("ul", *items[:_ALONE], class_="plain next")]
        if items[_ALONE:]:
            listed.append(details(f"{len(items) - _ALONE:,} more", element("ul", *items[_ALONE:], class_="plain next")))
        parts.append(section(f"Only {name} has ({len(items):,})", *listed, class_="card"))
    dials = element(
        "ul", *(element("li", element("strong", n), f": {w}") for n, w in dial_words(comparison["dials"], entity))
    )
    parts.append(section("How this was made", dials, remarks(n for n in comparison["notes"] if n != notice)))
    return page(title, *parts)


def analogy_page(title: str, drawing: str, words: str) -> Page:
    """Returns the page of an analogy.

    Args:
        title: names of both cases.
        drawing: the text of its SVG file, made by ``analogy_svg``.
        words: the same in words.
    """
    shown = element("figure", Html(drawing), class_="card analogy")
    told = details("In words", element("pre", words), open=True)
    return page(title, element("h1", element("bdi", title)), join([shown, told]))
