"""Words and figures of the pages: terms with their names, bits, the dials and the standing of a calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .calibration_text import NOVELTY_ODDS
from .pages.style import Html, element, join, share

__all__ = [
    "Speech", "bits", "confidence_of", "confidence_words", "count", "dial_words", "frequency_words", "ident", "release",
    "scalars",
]  # fmt: skip

_UNBROKEN = 24  # characters

_SCORERS = {
    "ic": "a term is worth the more bits the fewer {entity}s hold it (information content)",
    "surprisal": "a term is worth its surprisal among the indexed {entity}s",
    "unit": "every term is worth the same",
    "evidence": "a pair is worth how much more the sign is to be expected in this {entity} than anywhere (evidence)",
}
_CREDITS = {
    "ancestor": "two related terms earn what their common ancestor is worth, at most what either is worth itself",
    "base": "two related terms earn what the {entity}'s own term is worth",
}
_NORMALISATIONS = {
    "max": "the score over the greater of what the query and the {entity} are worth",
    "min": "the score over the lesser of what the query and the {entity} are worth",
    "power(0)": "the score over what the query is worth",
}


@dataclass(frozen=True)
class Speech:
    """The words of one domain.

    Attributes:
        names: of terms.
        entity: what a record describes.
        facet: what a facet of the terms is called, or nothing.
    """

    names: Mapping[str, str]
    entity: str
    facet: str = ""

    def term(self, term: str) -> Html:
        """Returns a term by name, its id behind it; text of any direction stays within."""
        name = self.names.get(term, "")
        if not name or name == term:
            return element("bdi", term)
        return join([element("bdi", name), Html(" "), ident(term)])

    def plain(self, term: str) -> str:
        """Returns a term by name and id as plain text."""
        name = self.names.get(term, "")
        return f"{name} ({term})" if name and name != term else term

    def record(self, hit: Mapping[str, Any]) -> Html:
        """Returns a record by name, its key behind it."""
        if not hit["name"] or hit["name"] == hit["key"]:
            return element("bdi", hit["key"])
        return join([element("bdi", hit["name"]), Html(" "), ident(hit["key"])])


def ident(text: str) -> Html:
    """Returns an id or a key; a short one is not broken at the end of a line."""
    return element("bdi", text, class_="id" if len(text) <= _UNBROKEN else "id long")


def bits(value: float) -> str:
    """Returns bits with two decimals."""
    return f"{value:.2f}\u00a0bits"


def count(number: int, word: str) -> str:
    """Returns a number with its word in the singular or the plural.

    Example:
        >>> count(1, "hit"), count(12679, "disease")
        ('1 hit', '12,679 diseases')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def release(name: str, version: str) -> str:
    """Returns a name with its release, where that is known."""
    return f"{name} {version}" if version else name


def frequency_words(evidence: Mapping[str, Any]) -> str:
    """Returns how often the records say that a sign is seen, or nothing."""
    frequency = evidence.get("frequency")
    if not frequency:
        return ""
    if "examined" in frequency:
        return f"seen in {frequency['affected']} of {frequency['examined']}"
    low, high = share(frequency["low"]), share(frequency["high"])
    return f"seen in {low}" if low == high else f"seen in {low} to {high}"


def confidence_of(hit: Mapping[str, Any], calibration: Mapping[str, Any] | None) -> str:
    """Returns the confidence of a hit as a percentage, or that it is not told of hits so far down."""
    if calibration and not hit["confidence"] and hit["rank"] > calibration.get("places", math.inf):
        return "not told"
    return share(hit["confidence"])


def confidence_words(calibration: Mapping[str, Any] | None) -> str:
    """Returns in a sentence what a confidence of this answer means."""
    if not calibration:
        return (
            "Not calibrated: until it is, confidence is the share of the query that a hit explains, and novelty what "
            "the first hit leaves unexplained. Neither is a probability."
        )
    queries = calibration.get("queries")
    rest = f" of {queries:,} solved queries" if isinstance(queries, int) else ""
    method = f" ({calibration['method']})" if calibration.get("method") else ""
    said = f"Calibrated: the chance that the hit is right and none before it, by a calibration{rest}{method}."
    return said if calibration.get("novelty_threshold") is None else f"{said} Novelty is {NOVELTY_ODDS}."


def dial_words(dials: Mapping[str, Any], entity: str) -> list[tuple[str, str]]:
    """Returns each dial with what it means.

    Args:
        dials: by name, as in an answer.
        entity: what a record describes.
    """
    scorer, normalisation, delta = str(dials["scorer"]), str(dials["normalisation"]), dials["delta"]
    known = _SCORERS.get(scorer.partition("(")[0], "a term is worth what the scorer of another package says")
    power = f"the score over a mean of what {entity} and query are worth, with the {entity}'s share as its power"
    reach = "only the very same term matches" if not delta else f"terms match that are up to {delta} steps apart"
    return [
        (f"scorer {scorer}", known.format(entity=entity)),
        (f"credit {dials['credit']}", _CREDITS[dials["credit"]].format(entity=entity)),
        (f"normalisation {normalisation}", _NORMALISATIONS.get(normalisation, power).format(entity=entity)),
        (f"delta {delta}", reach),
        (f"rho {dials['rho']:g}", f"each step keeps {share(dials['rho'])} of the worth"),
        (f"gamma {dials['gamma']:g}", "the share of a statement's worth that is lent to each of its arguments"),
    ]


def scalars(values: Mapping[str, Any], left_out: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Returns the plain values of a mapping by name, lists of plain values in one."""
    found = []
    for name, value in values.items():
        if name in left_out or isinstance(value, Mapping) or value is None:
            continue
        shown = ", ".join(map(_plain, value)) if isinstance(value, (list, tuple)) else _plain(value)
        found.append((name.replace("_", " "), shown))
    return found


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
