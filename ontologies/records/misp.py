"""Events of MISP as sightings: the techniques that an event, its attributes and its objects are tagged with.

A technique stands in a galaxy tag such as ``misp-galaxy:mitre-attack-pattern="Phishing - T1566"``, in the cluster that
the tag stands for (``meta.external_id``), or in both. Deleted parts of an event do not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .ids_in_text import IdForm
from .notices import join_shown
from .sightings import SightingList

__all__ = ["is_misp", "see_events"]

_GALAXIES = r"mitre-(?:(?:[a-z-]+-)?attack-pattern|ics-techniques)"
_TAG = re.compile(rf'misp-galaxy:{_GALAXIES}="(.*)"', re.DOTALL)
_GALAXY = re.compile(_GALAXIES)
_TEXTS = ("info", "value", "comment", "name", "content")
_PARTS = ("Attribute", "Object", "ShadowAttribute", "EventReport")


def is_misp(value: object) -> bool:
    """Returns whether a JSON value is an event of MISP, a list of events, or an answer of its interface."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) and isinstance(item.get("Event"), dict) for item in value)
    if not isinstance(value, dict):
        return False
    inside = value.get("response")
    if isinstance(inside, (list, dict)):
        return is_misp(inside)
    return isinstance(value.get("Event"), dict) or (
        isinstance(value.get("info"), str) and any(isinstance(value.get(n), list) for n in ("Attribute", "Tag"))
    )


def see_events(value: Any, form: IdForm, found: SightingList) -> None:
    """Adds the techniques of one event or of several, for which ``is_misp`` holds."""
    inside = value["response"] if isinstance(value, dict) and isinstance(value.get("response"), (list, dict)) else value
    events = [item.get("Event", item) if isinstance(item, dict) else item for item in _as_list(inside)]
    titles = [event["info"] for event in events if isinstance(event, dict) and isinstance(event.get("info"), str)]
    found.title = ", ".join(titles)
    if len(events) > 1:
        found.notes.append(f"the file holds {len(events)} events, taken together")
    elsewhere: dict[str, None] = {}
    for number, event in enumerate(events):
        if isinstance(event, dict):
            _see_part(event, f"events[{number}]" if len(events) > 1 else "event", form, found, elsewhere)
    unused = sorted(elsewhere.keys() - {mention.id for mention in found.mentions})
    if unused:
        found.notes.append(f"ids in texts and in tags of other kinds were not used: {join_shown(unused)}")


def _see_part(
    part: Mapping[str, Any], place: str, form: IdForm, found: SightingList, elsewhere: dict[str, None]
) -> None:
    """Adds what one part of an event, and the parts inside it, are tagged with; ids anywhere else to ``elsewhere``."""
    if part.get("deleted") in (True, "1"):  # old exports write flags as texts; 1 equals True
        found.notes.append(f"{place} is deleted and was passed over")
        return
    for number, tag in enumerate(_as_list(part.get("Tag"))):
        name = tag.get("name") if isinstance(tag, dict) else None
        match = _TAG.fullmatch(name) if isinstance(name, str) else None
        if match:
            _see_label(match[1], f"{place} Tag[{number}]", form, found)
        elif isinstance(name, str):
            elsewhere.update({term: None for term, is_id in form.ids_in(name) if is_id})
    for number, galaxy in enumerate(_as_list(part.get("Galaxy"))):
        if not isinstance(galaxy, dict):
            continue
        kind = galaxy.get("type")
        for place_in, cluster in enumerate(_as_list(galaxy.get("GalaxyCluster"))):
            theirs = cluster.get("type", kind) if isinstance(cluster, dict) else None
            if isinstance(theirs, str) and _GALAXY.fullmatch(theirs):
                _see_cluster(cluster, f"{place} Galaxy[{number}].GalaxyCluster[{place_in}]", form, found)
    for name in _PARTS:
        for number, inner in enumerate(_as_list(part.get(name))):
            if isinstance(inner, dict):
                _see_part(inner, f"{place}.{name}[{number}]", form, found, elsewhere)
    texts = [text for field in _TEXTS if isinstance(text := part.get(field), str)]
    elsewhere.update({term: None for text in texts for term, is_id in form.ids_in(text) if is_id})


def _see_cluster(cluster: Mapping[str, Any], where: str, form: IdForm, found: SightingList) -> None:
    meta = cluster.get("meta")
    given = (
        [text for text in _as_list(meta.get("external_id")) if isinstance(text, str)] if isinstance(meta, dict) else []
    )
    ids = [text.strip() for text in given if form.whole.fullmatch(text.strip())]
    if ids:
        for term in ids:
            found.see(term, where)
    else:
        _see_label(str(cluster.get("value", "")), where, form, found)


def _see_label(label: str, where: str, form: IdForm, found: SightingList) -> None:
    """Adds the technique that a label ends with, after its name."""
    ids = [term for term, is_id in form.ids_in(label) if is_id]
    if ids:
        found.see(ids[-1], where)
    else:
        found.pass_over(label or "a tag", "no-id", "names a technique without an id", where)


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
