"""The page of one answer: what it says, in which order, and what it does with hostile text."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import toy
from pages import Element, check_page

from sma_gpu import Engine, open_engine
from sma_gpu.answers.pages.case import case_page
from sma_gpu.answers.pages.compared import comparison_page
from sma_gpu.answers.pages.mapping import drawn_mapping
from sma_gpu.answers.pages.style import element, page
from sma_gpu.answers.separation import separation
from sma_gpu.answers.words import Speech, dial_words
from sma_gpu.scoring import Dials

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
HOSTILE = "<script>alert(1)</script>\"'>&\u202e\x07\ud800"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return open_engine(str(toy.write(tmp_path_factory.mktemp("data"))), Dials())


@pytest.fixture(scope="module")
def answer(engine: Engine) -> dict[str, Any]:
    return engine.query([*LONG, "HP:9910900", "HP:1"], ["HP:9920200"], query_id="patient 7", k=4)


def shown(answer: dict[str, Any], **more: str) -> Element:
    return check_page(case_page(answer, Speech(answer["names"], "disease"), **more))


def test_the_page_says_what_the_answer_says(answer: dict[str, Any]) -> None:
    root = shown(answer, title="Toy ontology", notice="For tests alone.")
    assert root.all("h1")[0].text == root.all("title")[0].text == "patient 7"
    assert [h.text for h in root.all("h2")] == [
        "In short", "The query", "The hits", "What to look for next", "Hit by hit", "How this was made"
    ]  # fmt: skip
    [notice] = root.all("p", class_="notice")
    assert notice.text == "For tests alone."
    cards = root.all("article")
    assert [card.attributes["id"] for card in cards] == [f"hit-{hit['rank']}" for hit in answer["hits"]]
    for card, hit in zip(cards, answer["hits"], strict=True):
        assert hit["name"] in card.text and hit["key"] in card.text
        assert f"{hit['score_bits']:.2f}\u00a0bits" in card.text
        for inference in hit["inferences"]:
            assert inference["functor"] in card.text
    whole = root.text
    for entry in answer["query"]["changed"] + answer["query"]["left_out"]:
        assert entry["asked"] in whole and entry["why"] in whole
    for total in (answer["ontology"]["sha256"], answer["records"]["sha256"], answer["dials_fingerprint"]):
        assert total in whole
    for _, words in dial_words(answer["dials"], "disease"):
        assert words in whole
    assert "Not calibrated" in whole


def test_all_pairs_loose_ends_and_contradictions_are_drawn_once(engine: Engine) -> None:
    found = engine.query(["HP:9910100", "HP:9920100", "HP:9930100"], ["HP:9920200"], k=6)
    against = 0
    for hit in found["hits"]:
        drawn = drawn_mapping(hit, Speech(found["names"], "disease"), {}, 10.0)
        rows = check_page(page("t", element("h1", "t"), drawn)).all("li", class_="pair")
        kinds = [
            next((k for k in ("match", "loose", "against", "next", "") if row.all("line", class_=f"l-{k}")), None)
            for row in rows
        ]
        assert kinds.count("match") == len(hit["mapping"])
        assert kinds.count("loose") == len(hit["unexplained"])
        assert kinds.count("against") == len(hit["contradicted"])
        assert kinds.count("next") == bool(hit["inferences"])
        beads = [
            len(row.all("circle", class_="bead")) for row, kind in zip(rows, kinds, strict=True) if kind == "match"
        ]
        assert sorted(beads) == sorted(pair["distance"] for pair in hit["mapping"])
        for row, kind in zip(rows, kinds, strict=True):
            if kind in ("loose", "against"):
                assert {"loose": "unexplained", "against": "contradicted"}[kind] in row.text
        against += len(hit["contradicted"])
    assert against


def test_a_line_is_as_wide_as_its_bits(answer: dict[str, Any]) -> None:
    hit = copy.deepcopy(answer["hits"][0])
    bits = [8.0, 4.0, 2.0]
    for pair, value in zip(hit["mapping"], bits, strict=True):
        pair["bits"] = value
    drawn = drawn_mapping(hit, Speech({}, "disease"), {}, 8.0)
    lines = check_page(page("t", element("h1", "t"), drawn)).all("line", class_="l-match")
    widths = [float(line.attributes["stroke-width"] or 0) for line in lines]
    assert [width / widths[0] for width in widths] == [value / bits[0] for value in bits]


@pytest.mark.parametrize(
    ("via", "distance", "words"),
    [("q", 1, "1 step narrower"), ("c", 2, "2 steps broader"), ("over", 2, "2 steps apart"), ("over", 2, "over Third")],
)
def test_a_pair_says_how_far_apart_its_terms_are(via: str, distance: int, words: str) -> None:
    hit = {
        "key": "K",
        "name": "",
        "mapping": [{"query": "q", "case": "c", "via": via, "distance": distance, "bits": 1.0, "evidence": {}}],
        "unexplained": [],
        "contradicted": [],
        "inferences": [],
    }
    assert (
        words
        in check_page(page("t", element("h1", "t"), drawn_mapping(hit, Speech({"over": "Third"}, "x"), {}, 1.0))).text
    )


def test_an_abstention_is_an_answer_with_its_reason(engine: Engine) -> None:
    for asked in ([], ["HP:0000001"], ["HP:1"]):
        found = engine.query(asked)
        root = shown(found)
        [told] = root.all("div", class_="answer-none")
        assert "No answer is given." in told.text
        assert found["reason"].lower() in told.text.lower()
        assert "The hits" not in [h.text for h in root.all("h2")]


def test_one_record_explained_says_its_rank(engine: Engine) -> None:
    found = engine.explain("OMIM:990005", LONG)
    root = shown(found)
    assert root.all("p", class_="said")[0].text.startswith(f"Rank {found['hits'][0]['rank']}: Heart disease")
    assert len(root.all("article")) == 1


def hostile(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: hostile(item) for key, item in value.items()}
    if isinstance(value, list):
        return [hostile(item) for item in value]
    return value + HOSTILE if isinstance(value, str) else value


def test_hostile_text_stays_text_wherever_it_stands(answer: dict[str, Any]) -> None:
    plain = copy.deepcopy(answer)
    plain["calibration"] = {"fingerprint": "f", "method": "m", "queries": 30}
    plain["threshold"] = {"rule": "risk", "words": "w"}
    plain["genes"] = [{"key": "g", "symbol": "s", "rank": 1, "case": plain["hits"][0]["key"], "with": 0}]
    plain["by_gene"] = {"file": "f", "sha256": "s"}
    plain["equivalents"] = {"file": "f", "version": "v", "sha256": "s"}
    plain["query"]["from"] = {"file": "f", "form": "csv", "mentions": 2, "terms": 2}
    plain["query"]["used"][0]["where"] = ["line 3"]
    plain["paths"] = {term: [term] for term in plain["names"]}
    for hit in plain["hits"]:
        hit |= {"twins": [{"key": "t", "name": "n"}], "same_as": "x", "not_separable": ["y"]}
        hit["facets"] = [{"facet": "f", "shared": [], "only_case": [{"term": "t", "held_by": 2}], "only_query": []}]
        hit["attributes"] = {"source": ["a", "b"]}
        hit["mapping"][0]["evidence"] = {"references": ["r"], "codes": ["c"], "descriptions": ["d"]}
    bad = hostile(plain)
    for name in ("scorer", "credit", "normalisation"):
        bad["dials"][name] = plain["dials"][name]
    for entry in [*bad["hits"], *bad["genes"]]:
        for found in entry.get("contradicted", ()):
            found["ruled_out_by"] = found["ruled_out_by"].removesuffix(HOSTILE)
    bad["names"] = {term + HOSTILE: name + HOSTILE for term, name in plain["names"].items()}
    bad["paths"] = {term + HOSTILE: [term + HOSTILE] for term in plain["names"]}
    text = str(
        case_page(bad, Speech(bad["names"], "disease" + HOSTILE, "tactic" + HOSTILE), title=HOSTILE, notice=HOSTILE)
    )
    root = check_page(text)
    assert root.all("script") == []
    assert "\u202e" not in text and "\x07" not in text and "\ud800" not in text
    assert len(root.text.split("<script>alert(1)</script>")) > 40  # as text
    assert text.encode("utf-8")


def test_fields_of_calibration_and_stability_are_shown_where_they_are(answer: dict[str, Any]) -> None:
    told = copy.deepcopy(answer)
    told["calibration"] = {"fingerprint": "0123abcd", "method": "isotonic", "queries": 1234, "ece": 0.0312, "places": 2}
    told["calibration"]["novelty_threshold"] = 0.5
    told |= {"novel": True, "threshold": {"rule": "conformal", "words": "answers from confidence 0.420 on"}}
    told["hits"][2]["confidence"] = 0.0
    told["hits"][0] |= {
        "stability": {"runs": 40, "top1": 0.75, "top5": 1.0, "best": 1, "worst": 4, "unranked": 2},
        "not_separable": ["OMIM:990004"],
    }
    told["hits"][1]["stability"] = {"runs": 0, "top1": None, "top5": None, "best": None, "worst": None, "unranked": 0}
    text = shown(told).text
    assert "right and none before it, by a calibration of 1,234 solved queries (isotonic)" in text
    assert "at about even odds of new and known queries" in text
    assert "uncalibrated" not in text and "Not calibrated" not in text
    for words in ("looks new", "by the rule conformal: it answers from confidence 0.420 on.", "0123abcd", "ece 0.0312"):
        assert words in text
    assert "first in 75\u00a0%, in the first 5 in 100\u00a0%" in text and "1 to 4; in 2 no rank" in text
    assert "ties or changes places with OMIM:990004" in text
    assert text.count("not told") == 2  # in the table and on the card of the third hit
    plain = shown(answer).text
    assert "rerun" not in plain and "looks" not in plain and "When to answer" not in plain and "not told" not in plain


def test_what_tells_hits_apart_is_listed_best_first_with_those_that_have_it(engine: Engine) -> None:
    answer = engine.query(["HP:9920100"], k=4)
    expected = separation(answer)
    [listed] = shown(answer).all("table", class_="telling")
    rows = [[cell.text for cell in row.all("th") + row.all("td")] for row in listed.all("tr")[1:]]
    assert len(rows) == len(expected.statements) > 0
    for row, statement in zip(rows, expected.statements, strict=True):
        assert statement.term in row[0]
        assert row[1] == f"{statement.gain:.2f} bits"
        assert row[2].endswith(", ".join(str(answer["hits"][place]["rank"]) for place in statement.places))


def test_the_same_answer_gives_the_same_bytes(engine: Engine, answer: dict[str, Any]) -> None:
    again = engine.query([*LONG, "HP:9910900", "HP:1"], ["HP:9920200"], query_id="patient 7", k=4)
    assert case_page(again, Speech(again["names"], "disease")) == case_page(answer, Speech(answer["names"], "disease"))


def test_two_records_side_by_side(engine: Engine) -> None:
    found = engine.compare("OMIM:990001", "OMIM:990004")
    root = check_page(comparison_page(found, "disease", notice="For tests alone."))
    assert root.all("h1")[0].text == "Long disease and Eye disease"
    assert len(root.all("line", class_="l-match")) == len(found["shared"]) == 1
    assert len(root.all("text", class_="cross")) == len(found["contradicted"]) == 1
    for side in ("only_a", "only_b"):
        for entry in found[side]:
            assert entry["term"] in root.text


def test_every_dial_of_every_scorer_has_words() -> None:
    for dials in (
        Dials(),
        Dials.evidence(),
        Dials.adapter_v1(),
        Dials(scorer="unit", normalisation="power(0.5)", delta=0),
    ):
        words = dial_words(dials.as_dict(), "disease")
        assert len(words) == 6
        assert all(what and "{" not in what for _, what in words)


def test_a_page_of_a_real_sample_is_whole(tmp_path: Path) -> None:
    engine = open_engine("legal")
    keys = engine.domain.records.keys
    found = engine.like(keys[0], k=5)
    root = shown(found)
    assert "paths" in found
    assert root.all("ul", class_="tree")


def test_many_terms_that_hang_loose_are_all_there_the_most_telling_drawn(engine: Engine) -> None:
    hit = copy.deepcopy(engine.query(["HP:9910110"])["hits"][0])
    hit["unexplained"] = [{"query": f"T:{place:03}", "bits": float(place)} for place in range(100)]
    drawn = check_page(page("t", element("h1", "t"), drawn_mapping(hit, Speech({}, "x"), {}, 1.0)))
    [fold] = drawn.all("details")
    loose = [row.text for row in drawn.all("li", class_="pair") if row.all("line", class_="l-loose")]
    assert [text[:5] for text in loose] == [f"T:{place:03}" for place in range(99, 69, -1)]
    assert "70 more" in fold.text and all(f"T:{place:03}" in fold.text for place in range(70))
