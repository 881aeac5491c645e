"""What was seen, out of files of other people's making: which ids count, which do not, and where each stands."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
import toy_attack as toy
from toy_attack import bundle, link, objects, technique, thing

from sma_gpu.errors import ParseError, QueryError
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.readers.stix import read_stix
from sma_gpu.ontologies.records.ids_in_text import ATTACK_IDS
from sma_gpu.ontologies.records.sightings import Sightings
from sma_gpu.ontologies.records.sightings_reading import read_sightings

ONTOLOGY = read_stix(bundle(*objects()))


def seen(content: bytes | str | Any, domain: str = "cyber") -> Sightings:
    if not isinstance(content, (bytes, str)):
        content = json.dumps(content)
    raw = content.encode() if isinstance(content, str) else content
    return read_sightings(raw, ONTOLOGY, manifests()[domain], name="seen.bin")


def passed(found: Sightings) -> list[tuple[str, str, str]]:
    return [(entry.asked, entry.kind, entry.where) for entry in found.passed]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("T9100.001, T9200;T9300", ["T9100.001", "T9200", "T9300"]),
        ("used T9100. Then T9200.001.", ["T9100", "T9200.001"]),
        ("https://attack.mitre.org/techniques/T9100/001/ and /T9200/", ["T9100.001", "T9200"]),
        ("tags: [attack.t9100.001, attack.initial_access, attack.t9200]", ["T9100.001", "T9200"]),
        ("T9100/2024 T9100/T9200", ["T9100", "T9100", "T9200"]),
        ("AT9100 T91001 T9100x T9100.001x t9100 1T9100 TA9001", []),
        ("_T9100_ (T9200) \u00abT9300\u00bb T9100:", ["T9100", "T9200", "T9300", "T9100"]),
        ("T\u0661\u0662\u0663\u0664", []),
        ("T9100[.]001 and hxxps://attack[.]mitre[.]org/techniques/T9200(.)002", ["T9100.001", "T9200.002"]),
    ],
)
def test_ids_in_text(text: str, ids: list[str]) -> None:
    assert [term for term, is_id in ATTACK_IDS.ids_in(text) if is_id] == ids
    assert list(seen(text).ids) == list(dict.fromkeys(ids))


def test_text_gives_each_id_with_its_lines() -> None:
    found = seen("# T9100.001\r\n\r\nT9200 and T9100.001\nT9100.01 and T9100.0015\n")
    assert (found.form, found.path) == ("text", "seen.bin")
    assert found.places == {"T9100.001": ("line 1", "line 3"), "T9200": ("line 3",)}
    assert passed(found) == [("T9100.01", "malformed", "line 4"), ("T9100.0015", "malformed", "line 4")]


def test_what_looks_like_ids_in_a_text_is_told() -> None:
    found = seen("t9100 or T9100.001-.003\nT9100.001/002 T9200.001 - T9200.003\nT9200.001, T9100.001 and 002\n")
    assert found.ids == ("T9100.001", "T9200.001", "T9200.003")
    assert passed(found) == [
        ("t9100", "malformed", "line 1"),
        ("T9100.001-.003", "malformed", "line 1"),
        ("T9100.001/002", "malformed", "line 2"),
        ("T9200.001 - T9200.003", "malformed", "line 2"),
    ]
    assert found.passed[0].why == "t9100 looks like an id but is none; did you mean T9100?"


def test_cells_in_a_column_of_ids_that_hold_none_are_told() -> None:
    found = seen("Technique,Name\nT9100,a\nt9200,b\nTBD,c\n,d\nT9300,e\nT9200.001,f\n")
    assert (found.form, found.ids) == ("csv", ("T9100", "T9300", "T9200.001"))
    assert passed(found) == [("t9200", "malformed", "line 3"), ("TBD", "malformed", "line 4")]


def test_packed_text_and_other_encodings() -> None:
    assert seen(gzip.compress(b"T9100")).ids == ("T9100",)
    assert seen("T9100".encode("utf-16")).ids == ("T9100",)
    found = seen(b"T9100 \xff")
    assert found.ids == ("T9100",)
    assert "not UTF-8" in found.notes[0]


def test_ids_of_another_domain_are_found_by_its_pattern() -> None:
    found = seen("HP:0001166 and T9100, http://purl.obolibrary.org/obo/HP_0001083, hp:0000545", "medicine")
    assert found.ids == ("HP:0001166", "HP:0001083")
    assert passed(found) == [("hp:0000545", "malformed", "line 1")]
    assert seen("us-gaap:Cash us-gaap_Assets", "finance").ids == ("us-gaap:Cash", "us-gaap_Assets")
    assert seen(layer({"techniqueID": "T9100"}), "medicine").form == "text"


@pytest.mark.parametrize("content", [b"%PDF-1.7 T9100", b"\x00\x01T9100", b"\x28\xb5\x2f\xfd T9100"])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(ParseError) as refused:
        seen(content)
    assert refused.value.do


def test_a_table_is_read_by_its_columns_of_ids() -> None:
    found = seen('id,technique,remark\n1,T9100.001,"not T9300"\n2,"T9200, T9100",\n3,,T9300\n')
    assert found.form == "csv"
    assert found.places == {"T9100.001": ("line 2",), "T9200": ("line 3",), "T9100": ("line 3",)}
    assert found.notes == ("2 ids outside the columns that hold ids alone were not used",)
    found = seen("T9100;a\nT9200;b\nT9100.1;c\n")  # no header
    assert (found.form, found.ids) == ("csv", ("T9100", "T9200"))
    assert passed(found) == [("T9100.1", "malformed", "line 3")]
    assert seen("a,b\nT9100,T9200,T9300\n").form == "text"
    assert seen("we saw, on Monday,\nT9100 here, T9200 there,\n").form == "text"
    assert seen('a,b\n"T9100\nT9200",1\n').places == {"T9100": ("line 2",), "T9200": ("line 2",)}


def layer(*techniques: Any, **more: Any) -> dict[str, Any]:
    versions = {"layer": "4.5", "navigator": "5.1.0", "attack": "17"}
    return {"name": "Mine", "versions": versions, "domain": "enterprise-attack", "techniques": list(techniques), **more}


def test_a_layer_gives_the_techniques_that_it_marks() -> None:
    found = seen(
        layer(
            {"techniqueID": "T9100.001", "score": 2},
            {"techniqueID": "T9100", "showSubtechniques": True, "color": "", "comment": ""},
            {"techniqueID": "T9200", "color": "#ff0000", "tactic": "toy-access"},
            {"techniqueID": "T9300", "score": 0, "color": "#ff0000"},
            {"techniqueID": "T9300.001", "score": 5, "enabled": False},
            {"techniqueID": "T9200", "tactic": "other", "enabled": False},
            {"score": 1},
        )
    )
    assert (found.form, found.title, found.ids) == ("navigator", "Mine", ("T9100.001", "T9200"))
    assert found.places["T9200"] == ("techniques[2]",)
    assert passed(found) == [
        ("T9100", "unmarked", "techniques[1]"),
        ("T9300", "unmarked", "techniques[3]"),
        ("T9300.001", "disabled", "techniques[4]"),
        ("an entry", "no-id", "techniques[6]"),
    ]


def test_a_layer_without_marks_gives_all_that_it_lists() -> None:
    assert seen(layer({"techniqueID": "T9100"}, {"techniqueID": " T9200 ", "enabled": True})).ids == ("T9100", "T9200")
    assert seen(layer({"techniqueID": "T9100", "score": 0}, {"techniqueID": "T9200"})).ids == ("T9200",)
    assert seen(layer()).ids == ()
    assert seen(layer({"techniqueID": "T9100", "score": True, "metadata": [{"name": "a", "value": "b"}]})).ids == (
        "T9100",
    )


def test_several_layers_and_a_layer_of_another_domain() -> None:
    mobile = layer({"techniqueID": "T9200"}, name="Theirs", domain="mobile-attack")
    old = {"name": "Old", "version": "2.2", "domain": "mitre-enterprise", "techniques": [{"techniqueID": "T9300"}]}
    found = seen([layer({"techniqueID": "T9100"}), mobile, old])
    assert found.ids == ("T9100", "T9200", "T9300")
    assert found.places["T9200"] == ("layers[1] techniques[0]",)
    assert found.notes == (
        "the file holds 3 layers, taken together: Mine, Theirs, Old",
        "the layer Theirs is of mobile-attack, the ontology of enterprise-attack",
    )


def test_a_bundle_gives_its_attack_patterns_and_what_its_report_names() -> None:
    known = toy.SCOUT_LINK["id"]
    own = thing("attack-pattern", 71, name="Own way")
    gone = thing("attack-pattern", 72)["id"]
    report = thing("report", 73, name="What we saw", object_refs=[known, gone, own["id"], "malware--1"])
    named = thing("attack-pattern", 74, name="Attachment - T9100.001")
    field = thing("attack-pattern", 75, name="x", x_mitre_id="T9200.001")
    found = seen(bundle(report, technique(70, "T9300", "Scouting"), own, named, field))
    assert (found.form, found.title) == ("stix", "What we saw")
    assert found.ids == ("T9300", "T9100.001", "T9200.001", "T9300.001", gone)
    assert found.places["T9300"] == ("objects[1]",)
    assert found.places["T9300.001"] == ("objects[0].object_refs[0]",)
    assert passed(found) == [("Own way", "no-id", "objects[2]")]
    assert [(r.asked, r.used) for r in found.renamed] == [(known, "T9300.001")]


def test_a_renumbered_technique_is_known_by_its_object() -> None:
    elder = {**toy.SHELL, "external_references": [{"source_name": "mitre-attack", "external_id": "T8888"}]}
    found = seen(bundle(elder))
    assert found.ids == ("T9200.001",)
    (renamed,) = found.renamed
    assert (renamed.asked, renamed.used) == ("T8888", "T9200.001")
    # An id that both know stands for what the ontology says, whatever the object.
    assert seen(bundle({**toy.SHELL, "external_references": toy.SCRIPT["external_references"]})).ids == ("T9200",)


def test_an_attack_flow_gives_its_steps() -> None:
    steps = [
        thing("attack-action", 81, name="a", technique_id="T9100.001", technique_ref=toy.ATTACHMENT["id"]),
        thing("attack-action", 82, name="b", technique_ref=toy.SHELL["id"]),
        thing("attack-action", 83, name="c"),
        thing("attack-action", 84, name="d", technique_id="T91"),
        thing("attack-action", 87, name="f", technique_id="T9200", revoked=True),
        thing("attack-action", 85, name="e", technique_ref=technique(86, "T9300", "Scouting")["id"]),
    ]
    flow = thing("attack-flow", 80, name="One way in", start_refs=[steps[0]["id"]])
    found = seen(bundle(flow, *steps, technique(86, "T9300", "Scouting"), spec_version="2.1"))
    assert (found.form, found.title) == ("attack-flow", "One way in")
    assert found.ids == ("T9100.001", "T9200.001", "T9300")
    assert passed(found) == [("the step c", "no-id", "objects[3]"), ("T91", "malformed", "objects[4]"),
        ("T9200", "disabled", "objects[5]"),
    ]  # fmt: skip


def test_a_whole_release_is_no_sighting() -> None:
    with pytest.raises(QueryError) as refused:
        seen(bundle(*objects()))
    assert "8 attack patterns" in refused.value.found


def test_a_torn_bundle_is_refused_and_other_json_is_text() -> None:
    with pytest.raises(ParseError):
        seen(bundle(toy.SHELL)[:-3])
    assert seen('{"findings": [\n"T9100"]}').places == {"T9100": ("line 2",)}
    assert seen('{"findings": [\n"T9100"').form == "text"
    builder = {"schema": "attack_flow_v2", "objects": [{"id": "action", "properties": [["technique_id", "T9100"]]}]}
    assert seen(builder).ids == ("T9100",)
    noted = layer({"techniqueID": "T9100", "metadata": [{"name": "object", "value": toy.SHELL["id"]}]})
    assert seen(noted).form == "navigator"


def test_an_event_gives_what_it_and_its_parts_are_tagged_with() -> None:
    def tag(label: str, galaxy: str = "mitre-attack-pattern") -> dict[str, str]:
        return {"name": f'misp-galaxy:{galaxy}="{label}"'}

    cluster = {"value": "Attachment - T9100.001", "meta": {"external_id": ["CAPEC-163", "T9100.001"]}}
    event = {
        "info": "An incident",
        "Tag": [tag("Attachment - T9100.001"), {"name": "tlp:amber"}, tag("Bear - G9001", "mitre-intrusion-set")],
        "Galaxy": [
            {"type": "mitre-attack-pattern", "GalaxyCluster": [cluster, {"value": "No id"}]},
            {"type": "mitre-malware", "GalaxyCluster": [{"value": "M - T9300", "meta": {"external_id": ["T9300"]}}]},
        ],
        "Attribute": [
            {"value": "T9300", "Tag": [tag("Shell - T9200.001", "mitre-enterprise-attack-attack-pattern")]},
            {"deleted": True, "Tag": [tag("Scouting - T9300")]},
        ],
        "Object": [{"name": "file", "Attribute": [{"Tag": [tag("T9100 then T9100.002")]}]}],
    }
    for value in ({"Event": event}, {"response": [{"Event": event}]}, [{"Event": event}], event):
        found = seen(value)
        assert (found.form, found.title) == ("misp", "An incident")
        assert found.ids == ("T9100.001", "T9200.001", "T9100.002")
        assert found.places["T9100.001"] == ("event Tag[0]", "event Galaxy[0].GalaxyCluster[0]")
        assert found.places["T9100.002"] == ("event.Object[0].Attribute[0] Tag[0]",)
        assert passed(found) == [("No id", "no-id", "event Galaxy[0].GalaxyCluster[1]")]
        assert found.notes == (
            "event.Attribute[1] is deleted and was passed over",
            "ids in texts and in tags of other kinds were not used: T9300",
        )
    both = seen([{"Event": event}, {"Event": {"info": "B", "Tag": [tag("T9300", "mitre-ics-techniques")]}}])
    assert both.places["T9300"] == ("events[1] Tag[0]",)


def test_links_between_things_are_no_sightings() -> None:
    bear = thing("intrusion-set", 11, "G1", "Bear")
    assert seen(bundle(bear, toy.SHELL, link(12, "uses", bear, toy.SHELL))).ids == ("T9200.001",)
