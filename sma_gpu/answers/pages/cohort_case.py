"""One case among many: a section that unfolds, compact enough for a page that holds hundreds of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..words import Speech, bits, confidence_of, count, ident
from .case import novelty_words, remarks, runner_up, title_of
from .hit import standing
from .mapping import drawn_mapping, greatest_worth
from .separating import telling_apart_briefly
from .style import Html, details, element, join, share, table

__all__ = ["HOW_TO_READ", "Row", "case_section"]

_EXPECTED = 5  # inferences shown
_LOOSE = 3  # unexplained terms of a further hit shown

HOW_TO_READ = (
    "A case shows what was asked, its first hit drawn, the other hits in a table, and what to look for next. The other "
    "hits' mappings, evidence and attributes stand in the lines of JSON (-f jsonl) and on the page of a case alone "
    "(sma-gpu query -f html)."
)


class Row:
    """What the table of a cohort says of one case.

    Attributes:
        name: of the case.
        status: answered, abstained or failed.
        reason: why there is no answer, or nothing; one for all that a rule withholds.
        withheld: there are hits, and a rule on confidence withholds them.
        hit: key and name of the first hit, or None.
        confidence: of the first hit, also of one that is withheld, or None.
        novelty: of the query, or None.
        novel: whether it is taken for new, where that is calibrated.
        second: the second hit's score over the first's, or None.
        ties: other records with exactly the first hit's score.
    """

    __slots__ = ("confidence", "hit", "name", "novel", "novelty", "reason", "second", "status", "ties", "withheld")

    def __init__(self, line: Mapping[str, Any]) -> None:
        hits = line.get("hits") or []
        self.name = title_of(line)
        self.hit: tuple[str, str] | None = (hits[0]["key"], hits[0]["name"]) if hits else None
        rule = line.get("threshold") or {}
        self.withheld = not hits and bool(rule.get("best_confidence"))
        best: float | None = rule["best_confidence"] if self.withheld else None
        self.confidence = hits[0]["confidence"] if hits else best
        self.novelty: float | None = line.get("novelty")
        self.novel: bool | None = line.get("novel")
        self.second = runner_up(line) if hits else None
        self.ties = int(hits[0]["ties"]) if hits else 0
        error = line.get("error")
        self.status = "failed" if error else "abstained" if line["abstained"] else "answered"
        self.reason = f"{error['asked']}: {error['found']}" if error else line["reason"] or ""
        if self.withheld:
            self.reason = f"not sure enough: the rule {rule['words']}"


def case_section(line: Mapping[str, Any], number: int, entity: str, common: Mapping[str, Any]) -> Html:
    """Returns the section of one answer or failed record.

    Args:
        line: the answer, or ``{"id", "error"}``.
        number: of the case, from 1; ``c`` and this number are the id of the section.
        entity: what a record describes.
        common: what all answers of the batch share; remarks among it are not repeated.
    """
    if "error" in line:
        error = line["error"]
        inner = [element("p", f"{error['asked']}: {error['found']}. {error['do']}", class_="answer-none")]
        return _unfolding(line, number, "failed", inner)
    speech = Speech(line["names"], entity)
    parts: list[str] = []
    if line["abstained"]:
        parts.append(element("p", f"No answer is given: {line['reason']}.", class_="answer-none"))
    parts.append(_asked(line, speech))
    hits = line["hits"]
    if hits:
        worth = {used["term"]: used["bits"] for used in line["query"]["used"] if not used["excluded"]}
        parts += [element("h4", "1 ", speech.record(hits[0])), *standing(hits[0], entity)]
        parts.append(drawn_mapping(hits[0], speech, worth, greatest_worth(line), heads=False))
        if len(hits) > 1:
            parts.append(_others(line, speech))
        parts += [telling_apart_briefly(line, speech), _expected(hits[0], speech)]
    known = set(common.get("notes", ()))
    parts.append(remarks(note for note in line["notes"] if note not in known))
    return _unfolding(line, number, _short(line), parts)


def _unfolding(line: Mapping[str, Any], number: int, short: str, inner: list[Html] | list[str]) -> Html:
    heading = element("h3", element("bdi", title_of(line)))
    summary = join([heading, element("span", short, class_="small")])
    return details(summary, *inner, class_="card case", id=f"c{number}")


def _short(line: Mapping[str, Any]) -> str:
    if not line["hits"]:
        return "no answer"
    best = line["hits"][0]
    return f"{best['name'] or best['key']}, {share(best['explained'])} explained; novelty {novelty_words(line)}"


def _asked(line: Mapping[str, Any], speech: Speech) -> Html:
    query = line["query"]
    present = sorted((u for u in query["used"] if not u["excluded"]), key=lambda u: (-u["bits"], u["term"]))
    shown = [
        join([speech.term(u["term"]), Html(" "), element("span", bits(u["bits"]), class_="small")]) for u in present
    ]
    parts = [element("p", element("strong", "Asked: "), join(shown, "; ") if shown else "no term")]
    absent = [speech.term(u["term"]) for u in query["used"] if u["excluded"]]
    if absent:
        parts.append(element("p", element("strong", "Absent: "), join(absent, "; ")))
    for part, words in (("changed", "Changed: "), ("left_out", "Left out: ")):
        if query[part]:
            told = (join([ident(entry["asked"]), f" {entry['why']}"]) for entry in query[part])
            parts.append(element("p", element("strong", words), join(told, "; ")))
    return join(parts)


def _others(line: Mapping[str, Any], speech: Speech) -> Html:
    rows = []
    calibrated = bool(line["calibration"])
    for hit in line["hits"][1:]:
        loose = [speech.names.get(u["query"]) or u["query"] for u in hit["unexplained"]]
        more = f" and {len(loose) - _LOOSE} more" if loose[_LOOSE:] else ""
        against = f"; {len(hit['contradicted'])} contradicted" if hit["contradicted"] else ""
        unexplained = element("bdi", f"{', '.join(loose[:_LOOSE])}{more}{against}", class_="small")
        measure = confidence_of(hit, line["calibration"]) if calibrated else share(hit["explained"])
        rows.append([str(hit["rank"]), speech.record(hit), measure, bits(hit["score_bits"]), unexplained])
    head = ["rank", speech.entity, "confidence" if calibrated else "explained", "score", "leaves unexplained"]
    return table(head, rows, caption="The other hits", numbers=[2, 3])


def _expected(hit: Mapping[str, Any], speech: Speech) -> Html:
    shown = hit["inferences"][:_EXPECTED]
    if not shown:
        return Html("")
    items = [
        element("li", speech.term(i["functor"]), Html(" "), element("span", bits(i["bits"]), class_="small"))
        for i in shown
    ]
    more = len(hit["inferences"]) - len(shown)
    rest = [element("p", f"and {count(more, 'further statement')} of the first hit", class_="small")] if more else []
    return join(
        [element("h4", "Look for next, if the first hit is right"), element("ul", *items, class_="plain next"), *rest]
    )
