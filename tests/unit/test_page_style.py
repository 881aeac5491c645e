"""Parts of pages: what is escaped, what a page may do, and whether its colours can be read."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from pages import check_page, read_page

from sma_gpu.answers.pages.shapes import drawing, histogram, label, line, path, rectangle
from sma_gpu.answers.pages.style import (
    Html,
    bar,
    details,
    element,
    escape,
    facts,
    join,
    page,
    section,
    share,
    table,
    void,
)

HOSTILE = "<script>alert('x')</script>\"'&\x00\x1b\u202ereversed\u2066\ud800\ufffe"


def test_plain_text_is_escaped_wherever_it_enters_and_html_is_not() -> None:
    assert element("b", "a<b", Html("<i>c</i>"), title="\"'<>") == '<b title="&quot;&#39;&lt;&gt;">a&lt;b<i>c</i></b>'
    assert join(["<", Html("<br>")], "&") == "&lt;&amp;<br>"
    for made in (
        element("p", HOSTILE, title=HOSTILE),
        section(HOSTILE, HOSTILE),
        details(HOSTILE, HOSTILE),
        facts([(HOSTILE, HOSTILE)]),
        table([HOSTILE], [[HOSTILE]], caption=HOSTILE),
        bar(0.5, HOSTILE),
        void("rect", class_=HOSTILE),
        drawing(1, 1, HOSTILE, label(0, 0, HOSTILE), rectangle(0, 0, 1, 1, tip=HOSTILE)),
        histogram([1], [HOSTILE, HOSTILE], HOSTILE),
    ):
        assert isinstance(made, Html)
        assert "<script" not in made and "alert('" not in made
        root = check_page(page("t", element("h1", "t"), made))
        assert root.all("script") == []


def test_what_cannot_be_seen_or_turns_text_is_shown_by_its_code() -> None:
    shown = escape(HOSTILE)
    for code in ("0000", "001B", "202E", "2066", "D800", "FFFE"):
        assert f"[U+{code}]" in shown
    assert shown.encode("utf-8")
    assert escape("a\tb\nc \u00e9 \u05d0\u200f") == "a\tb\nc \u00e9 \u05d0\u200f"


def test_attributes_are_left_out_given_alone_or_spelled_with_a_hyphen() -> None:
    assert element("a", "x", href=None, hidden=True, draggable=False, aria_label="y", class_="z") == (
        '<a hidden aria-label="y" class="z">x</a>'
    )


def test_a_page_allows_its_own_script_and_no_other() -> None:
    script = "document.title = 'x';"
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    root = check_page(page("t", element("h1", "t"), script=script))
    policy = next(m.attributes["content"] for m in root.all("meta") if "http-equiv" in m.attributes)
    assert policy is not None and f"script-src 'sha256-{allowed}'" in policy and "default-src 'none'" in policy
    assert [s.text for s in root.all("script")] == [script]
    root = check_page(page("t", element("h1", "t")))
    policy = next(m.attributes["content"] for m in root.all("meta") if "http-equiv" in m.attributes)
    assert policy is not None and "script-src 'none'" in policy


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (1e-9, "<1"), (0.005, "<1"), (0.0151, "2"), (0.9949, "99"), (0.999, ">99"), (1.0, "100")],
)
def test_a_share_reads_nothing_and_whole_only_where_it_is(value: float, shown: str) -> None:
    assert share(value) == f"{shown}\u00a0%"


def test_a_bar_is_as_wide_as_its_share_and_stays_within() -> None:
    assert 'width="37.5%"' in bar(0.375)
    assert 'class="fill-match" width="100%"' in bar(1.7)
    assert 'class="fill-match" width="0%"' in bar(-1)


def test_a_table_names_its_columns_and_rows() -> None:
    root = check_page(page("t", element("h1", "t"), table(["a", "b"], [["x", "1"], ["y", "2"]], numbers=[1])))
    assert [(h.text, h.attributes["scope"]) for h in root.all("th")] == [
        ("a", "col"), ("b", "col"), ("x", "row"), ("y", "row")
    ]  # fmt: skip
    assert [c.text for c in root.all("td", class_="n")] == ["1", "2"]


def test_a_histogram_draws_each_count_in_proportion() -> None:
    drawn = histogram([0, 2, 4], ["0", "", "", "1"], "three bins")
    heights = [float(h) for h in re.findall(r'<rect [^>]*height="([0-9.]+)"', drawn)]
    assert len(heights) == 2
    assert heights[1] == 2 * heights[0]
    assert re.findall(r'class="small">(\d+)</text>', drawn)[:2] == ["2", "4"]


@pytest.mark.parametrize("bins", [1, 4, 12, 13, 60])
def test_labels_of_a_histogram_do_not_overlap(bins: int) -> None:
    counts, edges = [137 * n % 1009 for n in range(1, bins + 1)], [str(1000 + n) for n in range(bins + 1)]
    root = check_page(page("t", element("h1", "t"), histogram(counts, edges, "bins")))
    spans: dict[str, list[tuple[float, float]]] = {"counts": [], "edges": []}
    for text in root.all("text"):
        wide, x = 6.5 * len(text.text), float(text.attributes["x"] or "")
        left = x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.attributes["text-anchor"] or ""]
        spans["edges" if text.text in edges else "counts"].append((left, left + wide))
    for found in spans.values():
        assert all(right < left for (_, right), (left, _) in zip(found, found[1:], strict=False))
    shown = [text.text for text in root.all("text")]
    assert {edges[0], edges[-1], str(max(counts))} <= set(shown)
    assert len(root.all("rect")) == bins
    if bins <= 4:
        assert shown == [*map(str, counts), *edges]


def test_a_page_stands_in_a_frame_of_its_own_in_a_notebook() -> None:
    made = page("t", element("h1", 'a "quoted" <word>'))
    frame = read_page(f"<!DOCTYPE html>{made._repr_html_()}").all("iframe")[0]
    assert frame.attributes["srcdoc"] == made
    assert repr(made) == f"<page of {len(made):,} characters>"


def test_shapes_say_where_they_are() -> None:
    assert line(0, 1, 2, 3.5, class_="axis") == '<line x1="0" y1="1" x2="2" y2="3.5" class="axis"/>'
    assert path([(0, 0), (1, 2)], closed=True) == '<path d="M0 0L1 2Z"/>'


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def schemes() -> dict[str, dict[str, str]]:
    text = page("t")
    found = [dict(re.findall(r"--([\w-]+): ?(#[0-9a-f]{3,6})", block)) for block in re.findall(r":root\{[^}]*\}", text)]
    assert len(found) == 3
    light, dark, paper = (
        {name: value if len(value) == 7 else "#" + "".join(2 * c for c in value[1:]) for name, value in block.items()}
        for block in found
    )
    return {"light": light, "dark": {**light, **dark}, "print": {**light, **paper}}


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_text_stands_out_from_its_ground_at_level_aa(scheme: str) -> None:
    colours = schemes()[scheme]
    grounds = ("ground", "card", "match-soft", "loose-soft", "against-soft", "next-soft")
    for ink in ("ink", "soft"):
        for ground in grounds:
            assert contrast(colours[ink], colours[ground]) >= 4.5, (scheme, ink, ground)
    for ink in ("match", "loose", "against", "next"):
        for ground in ("ground", "card", f"{ink}-soft"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (scheme, ink, ground)
    for number in range(1, 9):
        assert contrast(colours[f"s{number}"], colours["card"]) >= 3, (scheme, number)
