"""The page of one case: what was asked, which records answer it and why, and what to look for next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..words import Speech, bits, confidence_words, count, dial_words, ident, release, scalars
from .hit import hit_card, hits_table, standing
from .mapping import greatest_worth, legend
from .separating import telling_apart
from .style import Html, Page, bar, details, element, facts, join, page, section, share, table

__all__ = ["case_page", "made_from", "novelty_words", "query_part", "runner_up", "title_of"]

_OPEN = 3  # cards of hits that stand open


def case_page(answer: Mapping[str, Any], speech: Speech, *, title: str = "", notice: str = "") -> Page:
    """Returns the page of one answer.

    Args:
        answer: the answer object.
        speech: the words of the domain.
        title: of the domain.
        notice: of the domain, which every page shows.
    """
    name = title_of(answer)
    parts: list[str] = [_header(answer, speech, name, title, notice), _short_answer(answer, speech)]
    parts.append(query_part(answer, speech))
    hits = answer["hits"]
    if hits:
        parts.append(section("The hits", hits_table(answer, speech, "hit-")))
        if len(hits) > 1:
            parts.append(section("What to look for next", telling_apart(answer, speech)))
        greatest = greatest_worth(answer)
        cards = [
            hit_card(h, answer, speech, anchor="hit-", greatest=greatest, level=3, unfolded=place < _OPEN)
            for place, h in enumerate(hits)
        ]
        parts.append(section("Hit by hit", legend(hits, speech.entity), *cards))
    parts.append(section("How this was made", made_from(answer, speech, notice)))
    return page(name, *parts)


def title_of(answer: Mapping[str, Any]) -> str:
    """Returns the name of a query, or a word for one without."""
    return answer["id"] if isinstance(answer["id"], str) and answer["id"] else "One query"


def _header(answer: Mapping[str, Any], speech: Speech, name: str, title: str, notice: str) -> Html:
    records = answer["records"]
    lead = f"Asked of {count(records['cases'], speech.entity)}"
    lead += f", {title}" if title else ""
    lead += f", release {answer['ontology']['version']}" if answer["ontology"]["version"] else ""
    lead += f"; records of {records['version']}" if records["version"] else ""
    inner = [element("h1", element("bdi", name)), element("p", f"{lead}.", class_="lead")]
    inner += [element("p", notice, class_="notice")] if notice else []
    return element("header", *inner)


def _short_answer(answer: Mapping[str, Any], speech: Speech) -> Html:
    hits = answer["hits"]
    parts: list[str] = []
    if answer["abstained"]:
        parts.append(
            element(
                "div",
                element("p", element("strong", "No answer is given.")),
                element("p", _sentence(answer["reason"])),
                class_="answer-none",
            )
        )
    if hits:
        best, entity = hits[0], speech.entity
        what = f"The first of {count(len(hits), 'hit')} is" if len(hits) > 1 else f"Rank {best['rank']:,}:"
        told = f", which explains {share(best['explained'])} of the query."
        parts.append(element("p", f"{what} ", element("strong", speech.record(best)), told, class_="said"))
        parts.append(facts(_figures(answer)))
        parts += standing(best, entity)
        parts.append(element("p", confidence_words(answer["calibration"]), class_="small"))
        if best["contradicted"]:
            words = (
                f"{count(len(best['contradicted']), 'statement')} of the query and this {entity} contradict each other."
            )
            parts.append(element("p", words, class_="is-against"))
    elif not answer["abstained"]:
        parts.append(element("p", "There are no hits."))
    else:
        parts.append(facts(_figures(answer)))
    withheld = answer["abstained"] and not hits  # then the reason names the rule
    return section("In short", *parts, *([] if withheld else _withheld(answer.get("threshold"))), class_="card")


def _figures(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    hits, calibrated = answer["hits"], bool(answer["calibration"])
    found: list[tuple[str, str]] = []
    if hits:
        found.append((f"confidence{'' if calibrated else ', uncalibrated'}", bar(hits[0]["confidence"])))
        ahead = runner_up(answer)
        if ahead is not None:
            found.append(("the second reaches", f"{share(ahead)} of the first's score"))
        proved = "proved, as if every record were scored" if answer["certified"] else "not proved"
        found.append(("ranking", proved))
    known = calibrated and answer["calibration"].get("novelty_threshold") is not None
    found.append((f"novelty of the query{'' if known else ', uncalibrated'}", novelty_words(answer)))
    return found


def _withheld(threshold: Mapping[str, Any] | None) -> list[Html]:
    """Returns by which rule an answer is withheld, where one was asked for."""
    if not threshold:
        return []
    words = f"When to answer, by the rule {threshold['rule']}: it {threshold['words']}."
    return [element("p", words, class_="small")]


def runner_up(answer: Mapping[str, Any]) -> float | None:
    """Returns the second hit's normalised score over the first's, or None where there are not both."""
    hits = answer["hits"]
    if len(hits) < 2 or hits[0]["rank"] != 1 or not hits[0]["normalised"]:
        return None
    return float(hits[1]["normalised"] / hits[0]["normalised"])


def novelty_words(answer: Mapping[str, Any]) -> str:
    """Returns the novelty of a query in words."""
    if answer["novelty"] is None:
        return "could not be compared"
    novel = answer.get("novel")
    said = "" if novel is None else ", looks new" if novel else ", looks known"
    return f"{share(answer['novelty'])}{said}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def query_part(answer: Mapping[str, Any], speech: Speech, *, level: int = 2) -> Html:
    """Returns the query as it was used, and what of it was changed or left out, with the reasons."""
    query = answer["query"]
    present = sorted((u for u in query["used"] if not u["excluded"]), key=lambda u: (-u["bits"], u["term"]))
    excluded = [u for u in query["used"] if u["excluded"]]
    parts: list[str] = []
    source = query.get("from")
    if source:
        words = f"Read from {source['file']} ({source['form']}): {count(source['mentions'], 'mention')} of "
        parts.append(element("p", f"{words}{count(source['terms'], 'id')}."))
    if present:
        greatest = max(u["bits"] for u in present) or 1.0
        rows = [[_used(u, speech), bar(u["bits"] / greatest, bits(u["bits"]))] for u in present]
        caption = f"{count(len(present), 'term')}, by what each is worth"
        parts.append(table(["present", "worth"], rows, caption=caption, class_="asked"))
    if excluded:
        terms = [element("li", _used(u, speech)) for u in excluded]
        parts += [element(f"h{level + 1}", "Looked for and absent"), element("ul", *terms)]
    for part, heading in (("changed", "Changed"), ("left_out", "Left out")):
        if query[part]:
            terms = [element("li", ident(e["asked"]), f" {e['why']}", *_where(e)) for e in query[part]]
            parts += [element(f"h{level + 1}", heading), element("ul", *terms)]
    return section("The query", *(parts or [element("p", "No term was given.")]), level=level)


def _used(used: Mapping[str, Any], speech: Speech) -> Html:
    return join([speech.term(used["term"]), *_where(used)])


def _where(entry: Mapping[str, Any]) -> list[Html]:
    places = entry.get("where", [])
    return [details(count(len(places), "place"), element("ul", *(element("li", p) for p in places)))] if places else []


def made_from(answer: Mapping[str, Any], speech: Speech, notice: str = "") -> Html:
    """Returns what an answer rests on: releases and their sums, dials in words, the calibration, remarks.

    Args:
        answer: the answer object, or what all answers of a batch share.
        speech: the words of the domain.
        notice: of the domain, which stands elsewhere on the page.
    """
    ontology, records = answer["ontology"], answer["records"]
    rows = [
        ("ontology", release(ontology["name"], ontology["version"]), ontology["sha256"]),
        (
            f"{speech.entity}s",
            f"{records['cases']:,} indexed{', release ' + records['version'] if records['version'] else ''}",
            records["sha256"],
        ),
    ]
    if records.get("selection"):
        rows.append(("selection", records["selection"], ""))
    if answer.get("equivalents"):
        same = answer["equivalents"]
        rows.append(("equivalents", release(same["file"], same["version"]), same["sha256"]))
    if answer.get("by_gene"):
        rows.append(("genes", answer["by_gene"]["file"], answer["by_gene"]["sha256"]))
    rows.append(("dials", _dials(answer["dials"], speech.entity), answer["dials_fingerprint"]))
    calibration = answer["calibration"]
    if calibration:
        told = scalars(calibration, ("fingerprint",))
        rows.append(("calibration", "; ".join(f"{n} {v}" for n, v in told), str(calibration.get("fingerprint", ""))))
    cells = [(name, join([what, element("span", total, class_="id sum")])) for name, what, total in rows]
    parts = [facts(cells, class_="facts wide made")]
    words = f"Backend {answer['backend']}"
    if "certified" in answer:
        proof = "certified" if answer["certified"] else "not certified"
        words += f"; {proof}; {count(answer['aligned'], 'record')} aligned"
    parts.append(element("p", f"{words}."))
    return join([*parts, remarks(note for note in answer["notes"] if note != notice)])


def _dials(dials: Mapping[str, Any], entity: str) -> Html:
    return element("ul", *(element("li", element("strong", n), f": {words}") for n, words in dial_words(dials, entity)))


def remarks(notes: Iterable[str]) -> Html:
    """Returns the notes of an answer as a list, or nothing."""
    items = [element("li", note) for note in notes if note]
    return element("ul", *items, class_="small") if items else Html("")
