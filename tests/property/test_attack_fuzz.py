"""Whatever stands in a bundle, a layer, an event or a text: an answer or one of our errors, and always the same one."""

from __future__ import annotations

import json
from typing import Any

import pytest
import toy_attack as toy
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_attack import bundle, objects, thing

from sma_gpu.answers.engine import Engine
from sma_gpu.answers.navigator import layers
from sma_gpu.answers.sighted import account_for
from sma_gpu.errors import SmaError
from sma_gpu.ontologies.domains import Domain
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.mount import mount
from sma_gpu.ontologies.readers.stix import read_stix
from sma_gpu.ontologies.readers.stix_object import ACTORS
from sma_gpu.ontologies.records.sightings import Sightings
from sma_gpu.ontologies.records.sightings_reading import read_sightings
from sma_gpu.ontologies.records.stix import read_actors

calm = settings(deadline=None)  # what is sought is an end, and not a quick one on a busy machine

CYBER = manifests()["cyber"]
WHOLE = bundle(*objects())
ONTOLOGY = read_stix(WHOLE)

WORDS = (
    "", " ", "T1", "T9100", "T9100.001", "T9001", "TA9001", "mitre-attack", "capec", "CAPEC-1", "toy-access", toy.TIME,
    "uses", "revoked-by", "subtechnique-of", "mitigates", "attributed-to", "true", "bundle", "\ud800", "\u00e9\u0000",
    toy.SHELL["id"], toy.SCRIPT["id"], toy.BEAR["id"], "relationship--1", "--", "attack-pattern--", "Deprecated",
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.sampled_from(WORDS) | st.text(max_size=4)
KEYS = st.sampled_from(
    (
        "type", "id", "name", "description", "created", "modified", "revoked", "x_mitre_deprecated", "aliases",
        "external_references", "source_name", "external_id", "url", "kill_chain_phases", "kill_chain_name",
        "phase_name", "x_mitre_domains", "x_mitre_aliases", "x_mitre_shortname", "source_ref", "target_ref",
        "relationship_type", "object_refs", "technique_id", "technique_ref", "x_capec_version", "x_capec_status",
        "x_capec_child_of_refs", "x_capec_can_precede_refs", "tactic_refs", "x_mitre_version", "objects",
        "techniques", "techniqueID", "score", "enabled", "color", "versions", "layer", "domain", "metadata",
        "Event", "Tag", "Galaxy", "GalaxyCluster", "meta", "value", "Attribute", "Object", "response", "info",
        "deleted",
    )
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)


@st.composite
def mutated(draw: st.DrawFn, start: Any) -> Any:
    """Draws a JSON value that differs from ``start`` in a few places: values replaced, dropped, doubled, moved."""
    value = json.loads(json.dumps(start))
    for _ in range(draw(st.integers(1, 5))):
        holder, key = value, None
        for _ in range(draw(st.integers(0, 5))):
            inner = holder if key is None else holder[key]
            if isinstance(inner, dict) and inner:
                holder, key = inner, draw(st.sampled_from(sorted(inner)))
            elif isinstance(inner, list) and inner:
                holder, key = inner, draw(st.integers(0, len(inner) - 1))
            else:
                break
        if key is None:
            continue
        what = draw(st.sampled_from(("replace", "drop", "double", "add")))
        if what == "drop":
            del holder[key]
        elif what == "double" and isinstance(holder, list):
            holder.append(holder[key])
        elif what == "add" and isinstance(holder, dict):
            holder[draw(KEYS)] = draw(VALUES)
        else:
            holder[key] = draw(VALUES)
    return value


FLOW = [
    thing("attack-flow", 80, name="Flow", object_refs=[toy.SHELL["id"]]),
    thing("attack-action", 81, name="a", technique_id="T9100.001", technique_ref=toy.ATTACHMENT["id"]),
    thing("report", 82, name="Report", object_refs=[toy.LINK["id"]]),
    toy.SCOUTING,
]
LAYER = {
    "name": "L",
    "versions": {"layer": "4.5"},
    "domain": "enterprise-attack",
    "techniques": [{"techniqueID": "T9100.001", "score": 1}, {"techniqueID": "T9200", "color": "#fff"}],
}
_TAG = {"name": 'misp-galaxy:mitre-attack-pattern="Shell - T9200.001"'}
_CLUSTER = {"type": "mitre-attack-pattern", "GalaxyCluster": [{"value": "x", "meta": {"external_id": ["T9300"]}}]}
EVENT = {"Event": {"info": "E", "Tag": [_TAG], "Galaxy": [_CLUSTER], "Attribute": [{"Tag": [_TAG]}]}}
STARTS = {"flow": json.loads(bundle(*FLOW)), "layer": LAYER, "layers": [LAYER, LAYER], "misp": EVENT}


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def sighted(content: bytes) -> Sightings | None:
    try:
        found = read_sightings(content, ONTOLOGY, CYBER)
    except SmaError:
        return None
    assert read_sightings(content, ONTOLOGY, CYBER) == found
    for term, places in found.places.items():
        assert term
        assert all(places)
    return found


@calm
@given(mutated(json.loads(WHOLE)))
def test_any_bundle_is_read_or_refused(value: Any) -> None:
    content = dumped(value)
    try:
        ontology = read_stix(content)
        for kind in ACTORS:
            records = read_actors(content, ontology, kind=kind)
            assert list(records.keys) == sorted(records.keys)
            for key in records.keys:
                assert set(records.record(key).positive) <= set(ontology.ids)
    except SmaError:
        return
    again = read_stix(content)
    assert (again.ids, again.relations.tolist(), [e.message for e in again.report]) == (
        ontology.ids, ontology.relations.tolist(), [e.message for e in ontology.report],
    )  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_the_seeds_are_what_they_should_be(name: str) -> None:
    found = sighted(dumped(STARTS[name]))
    assert found is not None
    assert found.form == {"flow": "attack-flow", "misp": "misp"}.get(name, "navigator")
    assert found.ids


@calm
@given(st.data(), st.sampled_from(sorted(STARTS)))
def test_any_file_of_sightings_is_read_or_refused(data: st.DataObject, name: str) -> None:
    sighted(dumped(data.draw(mutated(STARTS[name]))))


@calm
@given(st.data(), st.sampled_from(sorted(STARTS)))
def test_a_torn_file_is_read_or_refused(data: st.DataObject, name: str) -> None:
    content = dumped(STARTS[name])
    at = data.draw(st.integers(0, len(content) - 1))
    sighted(content[:at])
    sighted(content[:at] + bytes([data.draw(st.integers(0, 255))]) + content[at + 1 :])


@calm
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    sighted(content)


@calm
@given(
    st.lists(
        st.sampled_from(
            ["T9100", "T9200.001", "T9100/001", ".", ",", ";", '"', "\n", " ", "\t", "|", "x", "0", "attack.t9300"]
        )
        | st.text(max_size=3),
        max_size=30,
    ).map("".join)
)
def test_any_text_gives_ids_that_stand_in_it(text: str) -> None:
    found = sighted(text.encode("utf-8", "surrogatepass"))
    if found is None:
        return
    plain = text.replace("/", ".").upper()
    for term in found.ids:
        assert term in plain
    lines = text.count("\n") + text.count("\r") + 1
    for places in found.places.values():
        assert all(1 <= int(place.removeprefix("line ")) <= lines for place in places)


@calm
@given(st.data(), st.sampled_from(sorted(STARTS)))
def test_an_answer_accounts_for_any_file(data: st.DataObject, name: str) -> None:
    found = sighted(dumped(data.draw(mutated(STARTS[name]))))
    if found is None:
        return
    answer = ENGINE.query(found.ids, k=2)
    account_for(answer, found)
    query = answer["query"]
    said = {entry["asked"] for part in ("changed", "left_out") for entry in query[part]}
    assert set(found.ids) <= said | {used["term"] for used in query["used"]}
    assert {entry.asked for entry in found.passed} <= said
    made = layers(answer, "group")
    back = sighted(dumped(made))
    assert back is not None
    assert set(back.ids) == {used["term"] for used in query["used"]}


ENGINE = Engine(Domain(CYBER, mount(ONTOLOGY), read_actors(WHOLE, ONTOLOGY), ()))
