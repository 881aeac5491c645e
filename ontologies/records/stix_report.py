"""Reports, plain bundles and attack flows in STIX as sightings: the attack patterns that they hold or name.

An attack flow (https://center-for-threat-informed-defense.github.io/attack-flow) is a bundle whose actions name their
techniques. In a bundle without one, all attack patterns count, and those that a report names but the bundle lacks.

The ATT&CK id of a pattern is looked up; where the ontology lacks it but knows the STIX id, the pattern has another
ATT&CK id there, and that one is used.
"""

from __future__ import annotations

from ...errors import QueryError
from ..ontology import Ontology
from ..readers.stix_bundle import StixBundle, read_bundle
from ..readers.stix_object import TACTIC, TECHNIQUE, StixObject, type_of
from ..report import LoadReport
from ..source import Source
from .ids_in_text import IdForm
from .sightings import Renamed, SightingList

__all__ = ["is_bundle", "see_bundle"]

_FLOW, _ACTION = "attack-flow", "attack-action"
_REPORTS = ("report", "grouping", _FLOW)


def is_bundle(value: object) -> bool:
    """Returns whether a JSON value is a bundle of STIX objects."""
    objects = value.get("objects") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(objects, list):
        return False
    # Other files have lists of objects too, those of the Flow Builder among them.
    return value.get("type") == "bundle" or any(
        isinstance(item, dict) and isinstance(item.get("type"), str) and "--" in str(item.get("id")) for item in objects
    )


def see_bundle(source: Source, ontology: Ontology, form: IdForm, found: SightingList) -> str:
    """Adds the attack patterns of a bundle and returns its form, ``stix`` or ``attack-flow``.

    Raises:
        ParseError: the file is no bundle.
        QueryError: it is a whole release of ATT&CK, of which nobody saw everything.
    """
    report = LoadReport(source.path)
    bundle = read_bundle([source], report, also=(*_REPORTS, _ACTION))
    found.notes.extend(entry.message for entry in report.faults)
    titled = [o for kind in _REPORTS for o in bundle.of_type(kind)]
    if bundle.of_type(TACTIC) and not titled:
        raise QueryError(
            f"a query from {source.path}",
            f"it is a library of {len(bundle.of_type(TECHNIQUE))} attack patterns with its tactics and no report",
            "Give a report, an attack flow, or a bundle with what was seen.",
        )
    found.title = ", ".join(o.text("name") for o in titled if o.text("name"))
    actions = bundle.of_type(_ACTION)
    for action in sorted(actions, key=lambda o: o.position):
        _see_action(action, bundle, ontology, form, found)
    for pattern in sorted(bundle.of_type(TECHNIQUE), key=lambda o: o.position):
        _see_pattern(pattern, ontology, form, found)
    for named in titled:
        for number, reference in enumerate(named.texts("object_refs")):
            if type_of(reference) == TECHNIQUE and reference not in bundle.objects:
                _see_reference(reference, f"{named.where}.object_refs[{number}]", ontology, found)
    return "attack-flow" if actions or bundle.of_type(_FLOW) else "stix"


def _see_action(action: StixObject, bundle: StixBundle, ontology: Ontology, form: IdForm, found: SightingList) -> None:
    """Adds the technique of one step of a flow."""
    term, reference = action.text("technique_id"), action.text("technique_ref")
    if action.retired:
        found.pass_over(term or f"the step {action.text('name')}", "disabled", "is revoked in the file", action.where)
    elif form.whole.fullmatch(term):
        _see_id(term, reference, action.where, ontology, found)
    elif term:
        found.pass_over(term, "malformed", "stands as the technique of a step but is no id", action.where)
    elif type_of(reference) == TECHNIQUE:
        if reference not in bundle.objects:
            _see_reference(reference, action.where, ontology, found)
    else:
        found.pass_over(f"the step {action.text('name') or action.id}", "no-id", "names no technique", action.where)


def _see_pattern(pattern: StixObject, ontology: Ontology, form: IdForm, found: SightingList) -> None:
    """Adds one attack pattern: by its ATT&CK id, the id in its name, or its STIX id."""
    own = pattern.text("x_mitre_id")  # where some platforms put it
    ids = pattern.attack_ids or ([own] if form.whole.fullmatch(own) else [])
    ids = ids or [term for term, is_id in form.ids_in(pattern.text("name")) if is_id]
    if ids:
        _see_id(ids[0], pattern.id, pattern.where, ontology, found)
    elif ontology.resolve(pattern.id).index >= 0:
        _see_reference(pattern.id, pattern.where, ontology, found)
    else:
        shown = pattern.text("name") or pattern.id
        found.pass_over(shown, "no-id", "is an attack pattern without an id of the ontology", pattern.where)


def _see_id(term: str, stix_id: str, where: str, ontology: Ontology, found: SightingList) -> None:
    today = ontology.resolve(stix_id).used if stix_id and ontology.resolve(term).status == "unknown" else None
    if today:
        why = f"{term} is not in {ontology.label}, which has the same object as {today}"
        found.renamed.append(Renamed(term, today, why, where))
    found.see(today or term, where)


def _see_reference(stix_id: str, where: str, ontology: Ontology, found: SightingList) -> None:
    resolved = ontology.resolve(stix_id)
    if resolved.used and resolved.used != stix_id:
        why = f"{stix_id} is {resolved.used} in {ontology.label}"
        found.renamed.append(Renamed(stix_id, resolved.used, why, where))
    found.see(resolved.used or stix_id, where)
