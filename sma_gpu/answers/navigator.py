"""Hits as layers of the ATT&CK Navigator: what query and record share, and what only one of them has, each in a colour.

The format is version 4.5, https://github.com/mitre-attack/attack-navigator/tree/master/layers/spec/v4.5. A technique of
the query has a score above 0, and one that only the record has a score of 0: a layer that is read as a query again is
the query that it was made for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import QueryError
from .percent import percent

__all__ = ["DOMAINS", "layers"]

DOMAINS = ("enterprise-attack", "mobile-attack", "ics-attack")
"""What a layer can be about."""

_SHARED, _NEAR, _ASKED, _STORED = "shared", "near", "asked", "stored"
# Of the palette of Okabe and Ito, whose colours also those tell apart who see few.
_COLOURS = {_SHARED: "#009e73", _NEAR: "#cc79a7", _ASKED: "#e69f00", _STORED: "#56b4e9"}
_SCORES = {_SHARED: 3, _NEAR: 2, _ASKED: 1, _STORED: 0}
_TECHNIQUE = re.compile(r"T[0-9]{4}(?:\.[0-9]{3})?")
_RELEASE = re.compile(r"([0-9]{1,3})(?:\.[0-9]+)*")
_VERSIONS = {"navigator": "4.9.0", "layer": "4.5"}  # the oldest Navigator that reads this form
_ADDRESS = re.compile(r"https?://\S+")


def layers(answer: Mapping[str, Any], entity: str) -> dict[str, Any] | list[dict[str, Any]]:
    """Returns one layer for each hit of an answer: the layer itself where there is one hit, else a list of them.

    An answer without hits gives one layer with the techniques of the query.

    Args:
        answer: the answer object.
        entity: what a record describes, such as ``group``.

    Raises:
        QueryError: the answer is about no domain of ATT&CK.
    """
    domain = answer["ontology"]["name"]
    if domain not in DOMAINS:
        raise QueryError(
            f"layers for {domain}", f"layers are about {', '.join(DOMAINS)}", "Choose another form of the answer."
        )
    made = [_layer(answer, hit, entity) for hit in answer["hits"]] or [_layer(answer, None, entity)]
    return made[0] if len(made) == 1 else made


def _layer(answer: Mapping[str, Any], hit: Mapping[str, Any] | None, entity: str) -> dict[str, Any]:
    entries, left_out = _entries(answer, hit, entity)
    ontology, label = answer["ontology"], f"{hit['key']} {hit['name']}".strip() if hit else ""
    name = f"{hit['rank']}. {label}" if hit else "No hit"
    explained = f"{hit['score_bits']:.2f} bits, {percent(hit['explained'])} explained" if hit else answer["reason"]
    told = [explained]
    told += [f"{len(left_out)} terms have no ATT&CK id and no place here: {', '.join(left_out)}"] if left_out else []
    release = _RELEASE.fullmatch(ontology["version"])
    legend = {
        _SHARED: f"in the query and used by the {entity}",
        _NEAR: "matched with a related technique",
        _ASKED: f"in the query, not known of the {entity}",
        _STORED: f"used by the {entity}, not in the query",
    }
    facts = {
        "release": f"{ontology['name']} {ontology['version']}".strip(),
        "certified": "yes" if answer["certified"] else "no",
        **({entity: label, "rank": str(hit["rank"]), "ties": str(hit["ties"])} if hit else {}),
    }
    return {
        "name": name,
        "versions": {**({"attack": release[1]} if release else {}), **_VERSIONS},
        "domain": ontology["name"],
        "description": ". ".join([*told, *answer["notes"]]),
        "sorting": 3,
        "layout": {"layout": "side", "showID": True, "showName": True, "expandedSubtechniques": "annotated"},
        "hideDisabled": False,
        "techniques": entries,
        "gradient": {"colors": [_COLOURS[_STORED], _COLOURS[_SHARED]], "minValue": 0, "maxValue": _SCORES[_SHARED]},
        "legendItems": [{"label": legend[role], "color": colour} for role, colour in _COLOURS.items()],
        "metadata": [{"name": name, "value": value} for name, value in facts.items()],
    }


def _entries(
    answer: Mapping[str, Any], hit: Mapping[str, Any] | None, entity: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the techniques of a layer, by id, and the terms that can stand in none."""
    query, names = answer["query"], answer["names"]
    asked = {used["term"] for used in query["used"] if not used["excluded"]}
    ruled_out = {used["term"] for used in query["used"] if used["excluded"]}
    held = {entry["term"]: entry["held_by"] for entry in _held(hit, "shared", "only_case", "only_query")}
    stored = {entry["term"] for entry in _held(hit, "shared", "only_case")}
    found: list[dict[str, Any]] = []
    left_out: list[str] = []
    partners, evidence = _partners(hit)
    for term in sorted(asked | stored | ruled_out):
        if not _TECHNIQUE.fullmatch(term):
            left_out.append(f"{term} {names.get(term, '')}".strip())
            continue
        role = _SHARED if term in asked & stored else _ASKED if term in asked else _STORED
        others = partners.get(term, [])
        said = [f"matched with {other} {names.get(other, '')}".strip() for other in others]
        if term in ruled_out:
            said.append("excluded by the query")
        score = _SCORES[role if role != _ASKED or not others else _NEAR]
        if role != _SHARED and others:
            role = _NEAR
        metadata = [{"name": "role", "value": role}]
        if term in held:
            cases = answer["records"]["cases"]
            metadata.append({"name": "used by", "value": f"{held[term]} of {cases} {entity}s"})
        found.append(
            {
                "techniqueID": term,
                "score": score,
                "color": "" if term in ruled_out and term not in stored else _COLOURS[role],
                "comment": "; ".join(said),
                "enabled": term not in ruled_out,
                "metadata": metadata,
                **({"links": evidence[term]} if evidence.get(term) else {}),
            }
        )
    return found, left_out


def _held(hit: Mapping[str, Any] | None, *sides: str) -> list[Mapping[str, Any]]:
    return [entry for facet in (hit["facets"] if hit else ()) for side in sides for entry in facet[side]]


def _partners(hit: Mapping[str, Any] | None) -> tuple[dict[str, list[str]], dict[str, list[dict[str, str]]]]:
    """Returns the other technique that one is matched with, and links to what is said of the record's techniques."""
    partners: dict[str, list[str]] = {}
    links: dict[str, list[dict[str, str]]] = {}
    for pair in hit["mapping"] if hit else ():
        if pair["query"] != pair["case"]:
            partners.setdefault(pair["query"], []).append(pair["case"])
            partners.setdefault(pair["case"], []).append(pair["query"])
        for reference in pair["evidence"]["references"]:
            address = _ADDRESS.search(reference)
            if address:
                label = reference[: address.start()].strip() or address[0]
                links.setdefault(pair["case"], []).append({"label": label, "url": address[0]})
    return partners, links
