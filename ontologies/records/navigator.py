"""Layers of the ATT&CK Navigator, format 4 and its elders, as sightings.

The format is described at https://github.com/mitre-attack/attack-navigator/tree/master/layers/spec: a layer lists
techniques with a score, a colour, a comment, and whether they are enabled; one file may hold several layers.

A technique counts where the layer marks it: by a score above 0, or without a score by a colour, a comment, metadata or
links. Where a layer marks none at all, every technique that it lists counts. A technique that is disabled, or whose
score is 0 or less, does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .sightings import SightingList

__all__ = ["is_layers", "see_layers"]

_MARKS = ("color", "comment", "metadata", "links")


def is_layers(value: object) -> bool:
    """Returns whether a JSON value is a layer or a list of them."""
    if isinstance(value, list):
        return bool(value) and all(_is_layer(item) for item in value)
    return _is_layer(value)


def see_layers(value: Any, domain: str, found: SightingList) -> None:
    """Adds the techniques of one layer or of several.

    Args:
        value: the JSON value, for which ``is_layers`` holds.
        domain: ATT&CK domain of the ontology, such as ``enterprise-attack``.
        found: what to add to.
    """
    layers = value if isinstance(value, list) else [value]
    titles = [str(layer.get("name") or "unnamed") for layer in layers]
    found.title = ", ".join(titles)
    if len(layers) > 1:
        found.notes.append(f"the file holds {len(layers)} layers, taken together: {found.title}")
    for number, layer in enumerate(layers):
        theirs = layer.get("domain")
        # Layers before format 4 write mitre-enterprise for enterprise-attack.
        if isinstance(theirs, str) and domain and theirs.replace("mitre-", "").partition("-")[0] not in domain:
            found.notes.append(f"the layer {titles[number]} is of {theirs}, the ontology of {domain}")
        _see_layer(layer, f"layers[{number}] " if len(layers) > 1 else "", found)


def _see_layer(layer: Mapping[str, Any], place: str, found: SightingList) -> None:
    entries = layer.get("techniques")
    listed = entries if isinstance(entries, list) else []
    has_marks = any(isinstance(entry, dict) and _is_on(entry) and _is_marked(entry) for entry in listed)
    for number, entry in enumerate(listed):
        where = f"{place}techniques[{number}]"
        term = entry.get("techniqueID") if isinstance(entry, dict) else None
        if not isinstance(term, str) or not term.strip():
            found.pass_over("an entry", "no-id", "has no techniqueID", where)
            continue
        term = term.strip()
        if not _is_on(entry):
            found.pass_over(term, "disabled", "is disabled in the layer", where)
        elif _score(entry) is not None and not _is_marked(entry):
            found.pass_over(term, "unmarked", f"has the score {entry['score']} in the layer", where)
        elif has_marks and not _is_marked(entry):
            found.pass_over(term, "unmarked", "is listed in the layer without a mark, and others have one", where)
        else:
            found.see(term, where)


def _is_layer(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    entries = value.get("techniques")
    if isinstance(entries, list) and any(isinstance(e, dict) and "techniqueID" in e for e in entries):
        return True
    versions = value.get("versions")
    return isinstance(versions, dict) and "layer" in versions


def _is_on(entry: Mapping[str, Any]) -> bool:
    return entry.get("enabled") is not False


def _score(entry: Mapping[str, Any]) -> float | None:
    score = entry.get("score")
    return score if isinstance(score, (int, float)) and not isinstance(score, bool) else None


def _is_marked(entry: Mapping[str, Any]) -> bool:
    score = _score(entry)
    return any(entry.get(name) for name in _MARKS) if score is None else score > 0
