"""One hit as a card: what it is, how it matches the query, what it leads one to expect, and on which evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..words import Speech, bits, confidence_of, count, ident
from .mapping import drawn_mapping
from .style import Html, bar, details, element, facts, join, share, table

__all__ = ["expectation", "expected", "hit_card", "hit_facts", "hits_table", "standing"]

_EXPECTED = 8  # inferences shown at once; the rest unfolds
_VALUES = 6  # values of an attribute shown at once, likewise
_FACET_TERMS = 4  # terms that only the record has, of a facet, likewise


def hits_table(answer: Mapping[str, Any], speech: Speech, anchor: str) -> Html:
    """Returns all hits as a table, or the genes that they carry; each row leads to the card of its hit.

    Args:
        answer: the answer object, with hits.
        speech: the words of the domain.
        anchor: what the ids of the cards begin with.
    """
    hits = answer["hits"]
    calibrated = bool(answer["calibration"])
    kind, narrow = "hits", Html("")
    if calibrated:  # one column more than a telephone has room for
        kind, narrow = "hits sure", element("p", "A wider screen also shows scores.", class_="small narrow-only")
    head = ["rank", speech.entity, "explained", "score"]
    numbers = [3]
    if calibrated:
        head, numbers = [*head, "confidence"], [*numbers, 4]
    rows = {}
    for hit in hits:
        cells: list[str] = [
            str(hit["rank"]),
            _linked(hit, speech, anchor),
            bar(hit["explained"]),
            bits(hit["score_bits"]),
        ]
        rows[hit["key"]] = [*cells, confidence_of(hit, answer["calibration"])] if calibrated else cells
    if "genes" not in answer:
        caption = f"{count(len(hits), 'hit')}, best first"
        return join([table(head, rows.values(), caption=caption, numbers=numbers, class_=kind), narrow])
    genes = [
        [str(gene["rank"]), join([element("bdi", gene["symbol"]), Html(" "), ident(gene["key"])]),
         *rows[gene["case"]]]
        for gene in answer["genes"]
    ]  # fmt: skip
    head = ["rank", "gene", f"{speech.entity}'s rank", *head[1:]]
    caption = f"{count(len(genes), 'gene')}, each where the best {speech.entity} that carries it stands"
    return join([table(head, genes, caption=caption, numbers=[place + 2 for place in numbers], class_=kind), narrow])


def _linked(hit: Mapping[str, Any], speech: Speech, anchor: str) -> Html:
    return element("a", speech.record(hit), href=f"#{anchor}{hit['rank']}", class_="quiet")


def hit_facts(hit: Mapping[str, Any], calibration: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Returns the figures of a hit by name."""
    found: list[tuple[str, str]] = [
        ("score", bits(hit["score_bits"])),
        ("explained of the query", bar(hit["explained"])),
        (f"confidence{'' if calibration else ', uncalibrated'}", confidence_of(hit, calibration)),
    ]
    return found + _steadiness(hit.get("stability"))


def _steadiness(stability: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Returns how a hit fares where a term of the query is changed, as far as that was tried."""
    if not stability or not stability["runs"]:
        return []
    runs, best, worst = count(stability["runs"], "rerun"), stability["best"], stability["worst"]
    shares = f"first in {share(stability['top1'])}, in the first 5 in {share(stability['top5'])}"
    ranks = "none" if best is None else f"{best:,}" if best == worst else f"{best:,} to {worst:,}"
    unranked = f"; in {stability['unranked']:,} no rank" if stability.get("unranked") else ""
    return [(f"stability in {runs}", shares), ("its ranks there", ranks + unranked)]


def standing(hit: Mapping[str, Any], entity: str) -> list[Html]:
    """Returns what is to be said of the place of a hit: ties, twins, and hits that one term can put before it."""
    said: list[Html] = []
    if hit["ties"]:
        others = f"1 other {entity} has" if hit["ties"] == 1 else f"{hit['ties']:,} other {entity}s have"
        said.append(element("p", f"{others} exactly this score; the order among them is by key alone."))
    if hit.get("twins"):
        others = join([element("bdi", f"{twin['name']} ({twin['key']})") for twin in hit["twins"]], ", ")
        through = f" (through {hit['same_as']})" if hit.get("same_as") else ""
        merged = f"; rank {hit['rank_merged']} with equivalents merged."
        said.append(element("p", f"The same {entity} as ", others, f"{through}{merged}"))
    if hit.get("not_separable"):
        keys = join([ident(key) for key in hit["not_separable"]], ", ")
        words = "Not separable: without some one term of the query it ties or changes places with "
        said.append(element("p", words, keys, "."))
    return said


def hit_card(
    hit: Mapping[str, Any],
    answer: Mapping[str, Any],
    speech: Speech,
    *,
    anchor: str,
    greatest: float,
    level: int,
    unfolded: bool,
) -> Html:
    """Returns the card of one hit.

    Args:
        hit: one of the hits of ``answer``.
        answer: the answer object.
        speech: the words of the domain.
        anchor: what the id of the card begins with; its rank follows.
        greatest: bits of the widest line.
        level: of the heading.
        unfolded: the card stands open; otherwise its heading alone is seen.
    """
    worth = {used["term"]: used["bits"] for used in answer["query"]["used"] if not used["excluded"]}
    rank = element("span", str(hit["rank"]), class_="rank")
    inner: list[str] = [facts(hit_facts(hit, answer["calibration"])), *standing(hit, speech.entity)]
    inner += [drawn_mapping(hit, speech, worth, greatest), expected(hit, answer["hits"], speech, level + 1)]
    if hit.get("facets"):
        inner.append(_facets(hit, answer, speech))
    if "paths" in answer:
        inner.append(_paths(hit, answer["paths"], speech))
    inner += [_evidence(hit, speech), _attributes(hit, speech)]
    title = join([rank, Html(" "), speech.record(hit)])
    name = f"{anchor}{hit['rank']}"
    if unfolded:
        return element("article", element(f"h{level}", title), *inner, class_="card", id=name)
    short = element("span", f"{bits(hit['score_bits'])}, {share(hit['explained'])} explained", class_="small")
    summary = element("summary", element(f"h{level}", title), short)
    return element("article", element("details", summary, *inner), class_="card", id=name)


def expected(hit: Mapping[str, Any], hits: Sequence[Mapping[str, Any]], speech: Speech, level: int) -> Html:
    """Returns what the record leads one to look for, most telling first, and how many other hits share each."""
    if not hit["inferences"]:
        return element("p", "The record states nothing beyond the query.", class_="small")
    others = Counter(i["functor"] for other in hits for i in other["inferences"])
    others.update(pair["case"] for other in hits for pair in other["mapping"])
    rows = [expectation(i, others[i["functor"]] - 1, len(hits) - 1, speech) for i in hit["inferences"]]
    inner = [element("ul", *rows[:_EXPECTED], class_="plain next")]
    if rows[_EXPECTED:]:
        inner.append(details(f"{len(rows) - _EXPECTED:,} more", element("ul", *rows[_EXPECTED:], class_="plain next")))
    return join([element(f"h{level}", "Look for next"), *inner])


def expectation(inference: Mapping[str, Any], shared: int, others: int, speech: Speech) -> Html:
    """Returns a statement to look for, with its bits, and how many of so many other hits share it."""
    words = bits(inference["bits"])
    if others:
        words += f", {shared} of {count(others, 'other hit')} too" if shared else ", no other hit has it"
    return element("li", speech.term(inference["functor"]), Html(" "), element("span", words, class_="small"))


def _facets(hit: Mapping[str, Any], answer: Mapping[str, Any], speech: Speech) -> Html:
    cases = answer["records"]["cases"]
    word, entity = speech.facet or "facet", speech.entity
    rows = []
    for entry in hit["facets"]:
        name = speech.term(entry["facet"]) if entry["facet"] else Html("none")
        only = [_held(e, speech) for e in entry["only_case"]]
        rest = [details(f"{len(only) - _FACET_TERMS} more", *only[_FACET_TERMS:])] if only[_FACET_TERMS:] else []
        cells = [join(_held(e, speech) for e in entry[side]) for side in ("shared", "only_query")]
        rows.append([name, *cells, join([*only[:_FACET_TERMS], *rest])])
    caption = f"What few {entity}s have tells most; in brackets how many of {cases:,} {entity}s have it"
    head = [word, "shared", "only the query", f"only this {entity}"]
    return details(f"{word.capitalize()} by {word}", table(head, rows, caption=caption, class_="facets"))


def _held(entry: Mapping[str, Any], speech: Speech) -> Html:
    return element(
        "div", speech.term(entry["term"]), Html(" "), element("span", f"({entry['held_by']:,})", class_="small")
    )


def _paths(hit: Mapping[str, Any], paths: Mapping[str, Sequence[str]], speech: Speech) -> Html:
    """Returns the ways from the top down to all that is shared, as one tree."""
    shared = sorted({pair[side] for pair in hit["mapping"] for side in ("query", "case")})
    tree = _tree([paths[term] for term in shared if term in paths], 0, speech)
    return details("Where it stands", tree)


def _tree(paths: Sequence[Sequence[str]], depth: int, speech: Speech) -> Html:
    below: dict[str, list[Sequence[str]]] = {}
    for path in paths:
        if len(path) > depth:
            below.setdefault(path[depth], []).append(path)
    items = []
    for term in sorted(below):
        inner = _tree(below[term], depth + 1, speech)
        items.append(element("li", speech.term(term), inner))
    return element("ul", *items, class_="tree") if items else Html("")


def _evidence(hit: Mapping[str, Any], speech: Speech) -> Html:
    rows = []
    for pair in hit["mapping"]:
        evidence = pair.get("evidence", {})
        if not any(evidence.get(part) for part in ("references", "codes", "descriptions")):
            continue
        sources = _values(evidence.get("references", []), speech)
        said = [element("div", element("bdi", text)) for text in evidence.get("descriptions", [])]
        codes = join([ident(code) for code in evidence.get("codes", [])], ", ")
        rows.append([speech.term(pair["case"]), join([sources, *said]), codes])
    if not rows:
        return Html("")
    head = [f"term of the {speech.entity}", "sources", "kind of evidence"]
    return details("Evidence", table(head, rows, caption="What the records rest these terms on"))


def _attributes(hit: Mapping[str, Any], speech: Speech) -> Html:
    rows = [(name, _values(values, speech)) for name, values in hit["attributes"].items()]
    if not rows:
        return Html("")
    return details(f"What the source says of the {speech.entity}", facts(rows, class_="facts wide"))


def _values(values: Iterable[str], speech: Speech) -> Html:
    shown = [speech.term(value) for value in values]
    kept = join(shown[:_VALUES], ", ")
    if not shown[_VALUES:]:
        return kept
    return join([kept, details(f"{len(shown) - _VALUES:,} more", join(shown[_VALUES:], ", "))])
