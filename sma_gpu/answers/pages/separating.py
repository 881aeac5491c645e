"""What would tell the hits apart, as a table: each statement, the doubt that it would end, and which hits have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..separation import Separation, separation
from ..words import Speech
from .shapes import drawing
from .style import Html, bar, details, element, join, table, void

__all__ = ["telling_apart", "telling_apart_briefly", "what_gain_means"]

_SHOWN = 6  # statements shown at once
_MOST = 60  # ... and at most, the others under a fold
_BRIEFLY = 3  # ... and where a page holds many cases
_SQUARE, _STEP = 9, 11
_HEAD = ("look for", "doubt taken away", "hits that have it")


def what_gain_means(doubt: str, likely: str) -> str:
    """Returns in words what is shown.

    Args:
        doubt: how much there is between the hits, in words.
        likely: how likely each of them is taken to be, in words.
    """
    return (
        "Statements that were not asked, and that would best tell the hits apart: the figure is what a yes or no takes "
        f"away, on average, of {doubt} between them, {likely}. A hit has a statement if its record states just this; "
        "of the others nothing is known."
    )


def telling_apart(answer: Mapping[str, Any], speech: Speech) -> Html:
    """Returns which statements that were not asked would tell the hits of an answer apart, the best first."""
    found = separation(answer)
    if not found.statements:
        return element("p", "No statement of theirs tells these hits apart.")
    likely = "taken to be as likely as their confidences say" if found.calibrated else "each taken to be equally likely"
    rows = _rows(found, _MOST, answer["hits"], speech)
    words = what_gain_means(f"the {found.doubt:.2f} bits of doubt", likely)
    parts = [element("p", words), table(_HEAD, rows[:_SHOWN], class_="telling")]
    if rows[_SHOWN:]:
        beyond = len(found.statements) - len(rows)
        rest = f"; {beyond:,} that tell less are not listed" if beyond else ""
        parts.append(details(f"{len(rows) - _SHOWN} more{rest}", table(_HEAD, rows[_SHOWN:], class_="telling")))
    return join(parts)


def telling_apart_briefly(answer: Mapping[str, Any], speech: Speech) -> Html:
    """Returns the best statements of those alone, with the number of all; nothing where none tells the hits apart."""
    found = separation(answer)
    if not found.statements:
        return Html("")
    caption = f"What would tell the hits apart ({len(found.statements):,} statements would)"
    return table(_HEAD, _rows(found, _BRIEFLY, answer["hits"], speech), caption=caption, class_="telling")


def _rows(found: Separation, most: int, hits: Sequence[Mapping[str, Any]], speech: Speech) -> list[list[str]]:
    rows: list[list[str]] = []
    for statement in found.statements[:most]:
        ranks = [f"{hits[place]['rank']:,}" for place in statement.places]
        strip = _strip(statement.places, len(hits))
        words = element("span", f"{'rank' if len(ranks) == 1 else 'ranks'} {', '.join(ranks)}", class_="small")
        gain = bar(statement.gain / found.doubt, f"{statement.gain:.2f} bits", kind="next")
        rows.append([speech.term(statement.term), gain, join([strip, words])])
    return rows


def _strip(places: Sequence[int], hits: int) -> Html:
    """Returns a square for each hit, filled for those at ``places``."""
    inside = set(places)
    lacking, having = (
        "".join(
            f"M{1 + place * _STEP} 1h{_SQUARE}v{_SQUARE}h-{_SQUARE}z"
            for place in range(hits)
            if (place in inside) is has
        )
        for has in (False, True)
    )
    told = f"{len(inside)} of {hits} hits have it"
    drawn = [void("path", d=lacking, class_="square"), void("path", d=having, class_="fill-next")]
    return drawing(_STEP * hits + 1, _STEP, told, *drawn, class_="strip")
