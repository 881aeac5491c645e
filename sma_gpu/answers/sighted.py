"""An answer to a query that came from a file: what the file said, where, and what of it the query could not use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import UnknownTerm
from ..ontologies.records.sightings import Sightings

__all__ = ["account_for"]


def account_for(answer: dict[str, Any], sightings: Sightings, *, strict: bool = False) -> None:
    """Adds to ``answer``, whose query was made of the ids in ``sightings``, what became of all that the file says.

    Every term used, changed or left out gets the places where the file has it; what the file names but does not affirm
    joins what is left out.

    Args:
        answer: changed in place.
        sightings: what the file says.
        strict: refuse what looks like an id and is none, instead of leaving it out.

    Raises:
        UnknownTerm: under ``strict``, for the first such id.
    """
    malformed = [entry for entry in sightings.passed if entry.kind in ("malformed", "no-id")]
    if strict and malformed:
        raise UnknownTerm(f"strict input: {sightings.path}", malformed[0].why, "Mend the file, or take that part out.")
    query, places = answer["query"], sightings.places
    came_from: dict[str, list[str]] = {}
    for entry in query["changed"]:
        entry["where"] = list(places.get(entry["asked"], ()))
        came_from.setdefault(entry["used"], []).append(entry["asked"])
    for entry in query["used"]:
        asked = dict.fromkeys([entry["term"], *came_from.get(entry["term"], ())])
        entry["where"] = (
            [] if entry["excluded"] else list(dict.fromkeys(p for term in asked for p in places.get(term, ())))
        )
    for entry in query["left_out"]:
        entry["where"] = list(places.get(entry["asked"], ()))
    query["changed"] += [
        {"asked": r.asked, "used": r.used, "path": [r.asked, r.used], "why": r.why, "where": [r.where]}
        for r in sightings.renamed
    ]
    query["left_out"] += [
        {"asked": p.asked, "kind": p.kind, "why": p.why, "candidates": [], "where": [p.where]} for p in sightings.passed
    ]
    query["from"] = {
        "file": Path(sightings.path).name,
        "form": sightings.form,
        "title": sightings.title,
        "sha256": sightings.sha256,
        "mentions": len(sightings.mentions),
        "terms": len(sightings.ids),
    }
    answer["notes"] = [*(f"{query['from']['file']}: {note}" for note in sightings.notes), *answer["notes"]]
