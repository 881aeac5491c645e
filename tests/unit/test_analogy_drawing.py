"""The drawing of an analogy: well formed, complete, without overlap, the same each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from analogies import analogy_of, crowd, entity_pair, flow, pair, say

from sma_gpu.answers.analogy_drawing import analogy_svg
from sma_gpu.answers.analogy_layout import KINDS, blocks, links_of
from sma_gpu.answers.svg import Drawing, fitted, number, text_width
from sma_gpu.cases import Case, Entity, Statement
from sma_gpu.retrieval.analogy import Analogy

SVG = "{http://www.w3.org/2000/svg}"
ANALOGIES = {
    "flow": flow,
    "crowd": crowd,
    "nothing": lambda: analogy_of(Case("a", (say("x", Entity("e")),)), Case("b", (say("y", Entity("f")),))),
    "bare": lambda: analogy_of(Case("a", (say("x"),)), Case("b", (say("x"),)), (pair(say("x"), say("x"), 1.0),)),
    "empty": lambda: analogy_of(Case("a", ()), Case("b", ())),
}


@pytest.fixture(params=ANALOGIES)
def analogy(request: pytest.FixtureRequest) -> Analogy:
    return ANALOGIES[request.param]()


def elements(root: ET.Element, tag: str) -> list[ET.Element]:
    return root.findall(f".//{SVG}{tag}")


def words_of(text: ET.Element) -> str:
    """Returns what a text element shows, its tooltip left out."""
    parts = [text.text or ""]
    for child in text:
        parts += ["" if child.tag == f"{SVG}title" else child.text or "", child.tail or ""]
    return "".join(parts)


def extent(text: ET.Element) -> tuple[float, float]:
    """Returns where a text begins and ends, by a width that no usual font exceeds."""
    x, width = float(text.get("x", "0")), 0.56 * float(text.get("font-size", "0")) * len(words_of(text))
    return (x - width, x) if text.get("text-anchor") == "end" else (x, x + width)


def test_every_correspondence_is_a_line_that_says_what_it_joins(analogy: Analogy) -> None:
    root = ET.fromstring(analogy_svg(analogy))
    lines = Counter(p.get("data-link") for p in elements(root, "path") if p.get("data-link"))
    kinds = Counter("entity" if isinstance(c.base, Entity) else "statement" for c in analogy.mapping)
    assert {k: lines[k] for k in ("entity", "statement")} == {k: kinds[k] for k in ("entity", "statement")}
    matched = {(c.base, c.target) for c in analogy.mapping}
    assert lines["difference"] == sum((d.base, d.target) not in matched for d in analogy.alignable)
    assert lines["contradiction"] == len(analogy.contradicted)
    assert lines["inference"] >= len(analogy.inferences)
    tips = [t.text for p in elements(root, "path") if p.get("data-link") for t in p.findall(f"{SVG}title")]
    assert sorted(filter(None, tips)) == sorted(k.words for k in links_of(analogy))


def test_every_item_is_a_row_of_its_own(analogy: Analogy) -> None:
    root = ET.fromstring(analogy_svg(analogy))
    rows = [r for r in elements(root, "rect") if r.get("rx")]
    items = Counter(e for case in (analogy.base, analogy.target) for e in (*case.walk(), *case.entities()))
    assert len(rows) >= items.total()
    for side in ("base", "target"):
        for block in blocks(analogy):
            found = getattr(block, side)
            assert len(found.places) == len(found.rows) == len(set(found.places.values()))
            assert [found.places[item] for item, _ in found.rows] == sorted(found.places.values())
    boxes = sorted((*(float(r.get(k, "0")) for k in ("x", "y", "width", "height")),) for r in rows)
    for i, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, _, _ in boxes[i + 1 :]:
            assert other_x >= x + width or other_y >= y + height or y >= other_y + height


def test_no_text_lies_on_another_or_leaves_the_page(analogy: Analogy) -> None:
    root = ET.fromstring(analogy_svg(analogy))
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    lines: dict[float, list[tuple[float, float]]] = {}
    for text in elements(root, "text"):
        lines.setdefault(round(float(text.get("y", "0")), 1), []).append(extent(text))
    for spans in lines.values():
        ordered = sorted(spans)
        assert ordered[0][0] >= 0
        assert ordered[-1][1] <= width
        assert all(one[1] <= other[0] for one, other in pairwise(ordered))
    heights = sorted(lines)
    # Texts of a row and the numbers beside it differ by less than a pixel; everything else is a line apart.
    assert all(low - high < 1 or low - high >= 10 for high, low in pairwise(heights))
    assert heights[-1] <= height


def test_texts_stay_in_their_boxes_and_cut_ones_are_whole_in_the_tooltip() -> None:
    root = ET.fromstring(analogy_svg(crowd()))
    boxes = {
        (t.text, round(float(r.get("y", "0")))): r for r in elements(root, "rect") for t in r.findall(f"{SVG}title")
    }
    cut = 0
    for text in elements(root, "text"):
        tip = text.find(f"{SVG}title")
        box = boxes.get((tip.text, round(float(text.get("y", "0")) - 14.8))) if tip is not None else None
        if box is None:
            continue
        assert extent(text)[1] <= float(box.get("x", "0")) + float(box.get("width", "0"))
        if words_of(text).endswith("\u2026"):
            cut += 1
            assert tip is not None
            assert len(tip.text or "") > len(words_of(text))
    assert cut


def test_what_corresponds_stands_level_where_order_allows() -> None:
    statements = blocks(flow())[1]
    level = {k.kind: 0 for k in statements.links}
    for link in statements.links:
        level[link.kind] += statements.base.places[link.base] == statements.target.places[link.target]
    assert level["statement"] == 4
    assert level["inference"] == 2
    rows = [(s.functor.id, depth) for s, depth in statements.target.rows if isinstance(s, Statement)]
    assert rows[:4] == [("cause", 0), ("greater", 1), ("temperature", 2), ("temperature", 2)]


def test_a_made_up_entity_stands_opposite_the_one_it_stands_for() -> None:
    entities = blocks(flow())[0]
    assert entities.base.places[Entity("glass")] == entities.target.places[Entity("glass", "skolem")]
    svg = analogy_svg(flow())
    assert ">?glass<" in svg
    assert "made-of</tspan>(coffee, ?glass)" in svg


def test_the_legend_names_the_kinds_that_occur_and_no_other() -> None:
    words = {
        "entity": "entities that correspond", "statement": "statements that correspond",
        "inference": "candidate inference", "difference": "same place, different content",
        "contradiction": "one denies the other",
    }  # fmt: skip
    assert words.keys() == set(KINDS)
    for analogy in (flow(), crowd(), ANALOGIES["nothing"]()):
        svg, used = analogy_svg(analogy), {k.kind for k in links_of(analogy)}
        assert {kind for kind in KINDS if f">{words[kind]}<" in svg} == used
    assert "any other pairing of these" in analogy_svg(flow())
    assert "a statement that several contain" in analogy_svg(crowd())


def test_names_that_would_break_the_file_are_escaped_or_replaced() -> None:
    odd = Entity("<a href='x'>&\"\x00\x1b\ud800\ufffe")
    base = Case("k<", (say("f&g", odd),), "</svg> & \x07")
    analogy = analogy_of(base, base, (pair(base.statements[0], base.statements[0], 1.0), entity_pair(odd, odd)))
    svg = analogy_svg(analogy)
    root = ET.fromstring(svg.encode("utf-8"))
    assert r""""<a href='x'>&\"\u0000\u001b""" + '\ufffd\ufffd"' in [words_of(t) for t in elements(root, "text")]
    assert svg.count("</svg>") == 1
    assert (elements(root, "title")[0].text or "").startswith(r"</svg> & \u0007")


def test_a_white_ground_a_title_and_nothing_from_elsewhere() -> None:
    svg = analogy_svg(flow())
    root = ET.fromstring(svg)
    assert (root[1].get("fill"), root[1].get("width")) == ("#ffffff", root.get("width"))
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert "Water flow \u2192 heat" in [words_of(t) for t in elements(root, "text")]
    assert "9.88 bits, 49% of the target explained, proved best" in svg
    assert not re.search(r"<style|<script|href=|url\(|class=| id=", svg)
    assert svg.count("http") == 1  # the name of the format


def test_a_deep_nest_stays_in_its_column() -> None:
    deep, other = say("end", Entity("e")), say("end", Entity("f"))
    pairs = [pair(deep, other, 1.0), entity_pair(Entity("e"), Entity("f"))]
    for _ in range(400):
        deep, other = say("in", deep), say("in", other)
        pairs.append(pair(deep, other, 1.5))
    svg = analogy_svg(analogy_of(Case("a", (deep,)), Case("b", (other,)), tuple(pairs)))
    rows = [r for r in elements(ET.fromstring(svg), "rect") if r.get("rx")]
    assert len(rows) == 2 * 402
    assert min(float(r.get("width", "0")) for r in rows) > 60
    assert len(svg) < 2_000_000
    assert "end</tspan>(f)" in svg


def test_a_crowd_is_drawn_in_reasonable_time() -> None:
    analogy = crowd(600)
    start = time.perf_counter()
    analogy_svg(analogy)
    assert time.perf_counter() - start < 20


def test_the_same_bytes_under_any_hash_seed() -> None:
    program = (
        "import sys; from analogies import crowd, flow; from sma_gpu.answers.analogy_drawing import analogy_svg; "
        "from sma_gpu.answers.analogy_text import analogy_text; from sma_gpu.answers.analogy_answer import *; "
        "import json; [sys.stdout.buffer.write((analogy_svg(a) + analogy_text(a) + json.dumps(analogy_answer(a)))"
        ".encode()) for a in (flow(), crowd(60))]"
    )
    tests = Path(__file__).resolve().parents[1]
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{tests.parent}{os.pathsep}{tests}"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(runs) == 1


def test_the_parts_of_a_drawing() -> None:
    drawing = Drawing(10)
    drawing.rectangle(0, 0, 1.5, 2, fill="none")
    drawing.dot(1, 2, 0.333, fill="red")
    drawing.text(1, 2, "a<b", tip="t")
    assert drawing.finish(20, "n").splitlines()[3:] == [
        '<rect x="0" y="0" width="1.5" height="2" fill="none"/>',
        '<circle cx="1" cy="2" r="0.33" fill="red"/>',
        '<text x="1" y="2"><title>t</title>a&lt;b</text>',
        "</svg>",
    ]
    assert [number(v) for v in (100.0, 0.0, 10.5, -0.001)] == ["100", "0", "10.5", "0"]
    assert fitted("short", 100, 10) == "short"
    long = fitted("w" * 50, 100, 10)
    assert long.endswith("\u2026")
    assert text_width(long, 10) <= 100 + 0.62 * 10
    assert text_width("\u75c7", 10) > text_width("a", 10)


def test_two_denials_share_what_both_rule_out() -> None:
    bird, mammal = say("bird", Entity("x"), negated=True), say("mammal", Entity("y"), negated=True)
    pairs = (pair(bird, mammal, 1.0, "bat", 2), entity_pair(Entity("x"), Entity("y")))
    svg = analogy_svg(analogy_of(Case("a", (bird,)), Case("b", (mammal,)), pairs))
    assert ">each rules out bat<" in svg
    assert "not bird(x) -&gt; not mammal(y): 1.00 bits, each rules out bat, is-a steps: 2" in svg
    assert "via" not in svg


def test_what_a_case_excludes_is_a_row_that_says_so() -> None:
    hot = say("hot", Entity("s"))
    analogy = analogy_of(
        Case("a", (hot,)), Case("b", (say("big", Entity("s")),), excluded=("hot",)),
        contradicted=((hot, say("hot", negated=True)),),
    )  # fmt: skip
    svg = analogy_svg(analogy)
    assert "excludes hot" in [words_of(t) for t in elements(ET.fromstring(svg), "text")]
    assert "hot(s) there against not hot() excluded here" in svg
    assert "grey: not part of the mapping" in svg
    assert "no counterpart" not in svg
