"""STIX bundles: what becomes a term, an edge, a record, and what the report says of the rest."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
import toy_attack as toy
from hypothesis import given
from hypothesis import strategies as st
from toy_attack import bundle, group, link, objects, technique, thing

from sma_gpu.errors import CycleFound, ParseError, SmaError
from sma_gpu.ontologies import loading
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.locate import find, locate
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.stix import HAS_TACTIC, can_read, read_stix
from sma_gpu.ontologies.records import load_records
from sma_gpu.ontologies.records.model import Records
from sma_gpu.ontologies.records.stix import read_actors


def kinds(found: Ontology | Records, severity: str = "") -> list[str]:
    return [entry.kind for entry in found.report if severity in ("", entry.severity)]


def read(*things: dict[str, Any], **more: Any) -> Ontology:
    return read_stix(bundle(*things, **more), name="toy.json")


def groups(*things: dict[str, Any]) -> Records:
    content = bundle(*things)
    return read_actors(content, read_stix(content), name="toy.json")


def test_the_whole_toy() -> None:
    ontology = read(*objects())
    assert ontology.label == "enterprise-attack 2031-01-02"
    assert ontology.live_count == 8 + 4  # the techniques and the tactic, and the live groups
    assert ontology.retired_count == 1
    term = ontology.term("T9100.001")
    assert (term.name, term.definition, term.parents) == ("Attachment", "About Attachment.", ("T9100",))
    assert term.references == ("A report https://example.org/report",)
    assert term.relations == ((HAS_TACTIC, "TA9001"),)
    assert [root for root in ontology.roots if root[0] == "T"] == ["T9100", "T9200", "T9300", "TA9001"]
    assert ontology.term("G9002").relations == (("uses", "T9100.002"), ("uses", "T9200"))
    assert ontology.resolve("T9001").used == "T9200.001"
    assert not ontology.report.faults
    records = groups(*objects())
    assert records.keys == ("G9001", "G9002", "G9003", "G9005")
    assert records.names[0] == "Toy Bear"
    assert records.record("G9001").positive == ("T9100.001", "T9200.001", "T9300.001")
    assert records.record("G9003").positive == ()
    (row,) = records.record("G9002").annotations[0].rows
    assert row.reference == "A report https://example.org/report"
    assert row.description.startswith("Seen ")
    assert sorted(kinds(records)) == ["no-technique", "retired-group", "retired-use"]
    assert "G9004" in next(e for e in records.report if e.kind == "retired-group").ids


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bytes])
def test_any_packing_and_any_encoding(pack: Any) -> None:
    content = bundle(*objects())
    plain = read_stix(content)
    assert read_stix(pack(content)).ids == plain.ids
    assert read_stix(pack(b"\xef\xbb\xbf" + content)).ids == plain.ids
    assert read_stix(pack(content.decode().encode("utf-16"))).ids == plain.ids
    assert load_ontology(pack(content)).sha256 == plain.sha256


def test_the_reader_is_chosen_by_content_and_the_result_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    content = bundle(*objects())
    ontology = load_ontology(content)
    records = load_records(content, ontology)
    monkeypatch.setattr(loading, "READERS", ())
    again = load_ontology(content)
    assert [again.term(i) for i in range(len(again))] == [ontology.term(i) for i in range(len(ontology))]
    kept = load_records(content, again)
    assert [kept.record_at(i) for i in range(len(kept))] == [records.record_at(i) for i in range(len(records))]
    assert [e.message for e in kept.report] == [e.message for e in records.report]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"[1, 2]", "no STIX bundle"),
        (b"<html>", "web page"),
        (b'{"type": "bundle", "objects": [', "no JSON"),
        (b'{"type": "bundle", "objects": {}}', "without a list of objects"),
        (b'{"type": "bundle"}', "without a list of objects"),
        (b'{"type": "bundle", "objects": []}', "no live terms"),
        (b'{"type": "bundle", "objects": ' + b"[" * 100_000, "no JSON"),
        (b'{"type": "bundle", "objects": [' + b"9" * 10_000 + b"]}", "no JSON"),
    ],
)
def test_what_is_no_bundle_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(ParseError) as refused:
        read_stix(content, name="x.json")
    assert words in refused.value.found
    assert refused.value.path == "x.json"
    assert refused.value.do


def test_bad_json_names_its_line() -> None:
    with pytest.raises(ParseError) as refused:
        read_stix(b'{"type": "bundle",\n"objects": [\n{,]}', name="x.json")
    assert refused.value.line == 3


def test_bundles_are_told_from_other_json() -> None:
    assert can_read(bundle())
    assert can_read(b'\n {"objects": [{"id": "attack-pattern--00000000-0000-4000-8000-000000000001"')
    assert not can_read(b'{"id": "p1", "observed": ["HP:0001166"]}')
    assert not can_read(b"format-version: 1.4\n")


def test_parts_that_are_no_objects_cost_themselves_alone() -> None:
    odd = [7, None, "x", [], {"type": 3}, {"type": "attack-pattern"}, {"type": "attack-pattern", "id": 5}]
    content = json.dumps({"type": "bundle", "objects": [*odd, *objects()]}).encode()
    ontology = read_stix(content)
    assert ontology.ids == read(*objects()).ids
    assert kinds(ontology, "warning") == ["no-object"] * 5 + ["no-id"] * 2
    assert [e.where for e in ontology.report.warnings] == [f"objects[{i}]" for i in range(7)]
    with pytest.raises(ParseError):
        read_stix(content, strict=True)


def test_marks_that_are_neither_true_nor_false() -> None:
    ontology = read(
        technique(1, "T1", "A"),
        technique(2, "T2", "B", revoked="true"),
        technique(3, "T3", "C", x_mitre_deprecated="no"),
        technique(4, "T4", "D", revoked=None),
    )
    assert ontology.ids == ("T1", "T3", "T4")
    assert kinds(ontology, "warning") == ["bad-boolean"] * 2


def test_of_two_objects_with_one_id_the_live_one_counts() -> None:
    later = "2032-01-01T00:00:00Z"
    ontology = read(
        technique(1, "T1", "retired", revoked=True, modified=later),
        technique(2, "T1", "early"),
        technique(3, "T1", "late", modified="2031-06-01T00:00:00+02:00"),
        technique(4, "T2", "child"),
        link(5, "subtechnique-of", technique(4), technique(1)),
    )
    assert ontology.term("T1").name == "late"
    assert ontology.term("T2").parents == ("T1",)
    assert kinds(ontology, "warning") == ["shared-id"]


def test_a_renumbered_id_follows_its_object() -> None:
    old = technique(1, "T1", "A", modified="2030-01-01T00:00:00Z")
    new = technique(1, "T5", "A", modified="2031-01-01T00:00:00Z")
    for pair in ((old, new), (new, old)):
        ontology = read(*pair)
        assert ontology.ids == ("T5",)
        assert ontology.resolve("T1").used == "T5"
        assert kinds(ontology, "note")[0] == "older-version"
    ontology = read_stix(bundle(old), more=[bundle(new)])
    assert ontology.resolve("T1").used == "T5"


def test_versions_without_a_readable_stamp() -> None:
    ontology = read(technique(1, "T1", "A", modified="last week"), technique(1, "T1", "B", modified=5))
    assert ontology.term("T1").name == "A"
    assert "no time stamp that can be read" in ontology.report.warnings[0].message
    ontology = read(technique(1, "T1", "A", modified="last week"), technique(1, "T1", "B"))
    assert ontology.term("T1").name == "B"


def test_edges_of_retired_and_missing_things() -> None:
    alive, other, gone = technique(1, "T1", "A"), technique(2, "T2", "B"), technique(3, "T3", "C", revoked=True)
    ontology = read(
        alive, other, gone,
        link(4, "subtechnique-of", alive, technique(9)),
        link(5, "subtechnique-of", gone, alive),
        link(6, "subtechnique-of", other, alive, x_mitre_deprecated=True),
        link(7, "revoked-by", gone, other, revoked=True),
    )  # fmt: skip
    assert ontology.term("T1").parents == ontology.term("T2").parents == ()
    assert ontology.resolve("T3").status == "retired"
    assert kinds(ontology, "warning") == ["lost-end"]
    left_out = next(e for e in ontology.report if e.kind == "retired-relationship").message
    assert "retired revoked-by (1), retired subtechnique-of (1)" in left_out
    assert "of a retired technique (1)" in left_out


def test_a_circle_of_sub_techniques_is_refused_and_a_loop_is_cut() -> None:
    one, two = technique(1, "T1", "A"), technique(2, "T2", "B")
    with pytest.raises(CycleFound) as refused:
        read(one, two, link(3, "subtechnique-of", one, two), link(4, "subtechnique-of", two, one))
    assert refused.value.cycle == ("T1", "T2", "T1")
    assert kinds(read(one, link(3, "subtechnique-of", one, one)), "warning") == ["self-loop"]


def test_each_domain_has_its_own_tactic_of_one_name() -> None:
    tactics = [
        thing("x-mitre-tactic", i, f"TA{i}", "Access", x_mitre_shortname="access", x_mitre_domains=[domain])
        for i, domain in enumerate(("enterprise-attack", "mobile-attack"), 11)
    ]
    chains = ("mitre-attack", "mitre-mobile-attack", "mitre-ics-attack", "lockheed")
    patterns = [
        technique(i, f"T{i}", "A", kill_chain_phases=[{"kill_chain_name": chain, "phase_name": "access"}])
        for i, chain in enumerate(chains, 1)
    ]
    ontology = read(*tactics, *patterns)
    assert [ontology.term(f"T{i}").relations for i in range(1, 5)] == [
        ((HAS_TACTIC, "TA11"),), ((HAS_TACTIC, "TA12"),), (), (),
    ]  # fmt: skip
    assert "lockheed access (1), mitre-ics-attack access (1)" in next(
        e.message for e in ontology.report if e.kind == "no-tactic"
    )


def test_a_sub_technique_without_its_technique_is_noted() -> None:
    ontology = read(technique(1, "T1.001", "A", x_mitre_is_subtechnique=True))
    (note,) = [e for e in ontology.report if e.kind == "no-parent"]
    assert note.ids == ("T1.001",)


def test_what_plays_no_part_is_counted() -> None:
    malware = thing("malware", 50, "S1", "M")
    indicator = thing("indicator", 51)
    ontology = read(
        *objects(), malware, link(60, "uses", malware, toy.SHELL), thing("x-own", 61), indicator,
        link(62, "indicates", indicator, malware),
    )  # fmt: skip
    notes = {e.kind: e.message for e in ontology.report}
    assert notes["other-type"].endswith("indicator (1), x-own (1)")
    assert notes["other-relationship"].endswith("indicates from indicator (1)")
    assert notes["kinds"] == "live terms: attack-pattern (7), intrusion-set (4), malware (1), x-mitre-tactic (1)"
    records = groups(*objects(), malware, link(60, "uses", malware, toy.SHELL))
    assert "malware (1)" in next(e.message for e in records.report if e.kind == "no-record")


def test_uses_that_are_left_out_are_reported() -> None:
    retired, alive = technique(1, "T1", "A", revoked=True), technique(2, "T2", "B")
    bear = group(3, "G1", "Bear")
    content = bundle(
        retired, alive, bear,
        link(4, "uses", bear, retired),
        link(5, "uses", bear, alive, revoked=True),
        link(6, "uses", bear, technique(9)),
        link(7, "uses", bear, thing("malware", 8)),
    )  # fmt: skip
    ontology = read_stix(content)
    records = read_actors(content, ontology)
    assert records.record("G1").positive == ()
    assert kinds(ontology, "warning") == ["lost-end"]  # told once, though both readings meet it
    assert kinds(records, "warning") == []
    assert kinds(read_actors(content, read(alive)), "warning") == ["lost-end"]
    assert "lost-end" not in kinds(ontology, "note")
    unknown = next(e for e in ontology.report if e.kind == "unknown-end")
    assert unknown.ids == (technique(9)["id"], thing("malware", 8)["id"])
    used = next(e for e in ontology.report if e.kind == "retired-end")
    assert (used.ids, "uses (1)" in used.message, "nothing stands for it" in used.message) == (("T1",), True, True)
    message = next(e.message for e in records.report if e.kind == "retired-use")
    assert "the relationship itself (1), the technique (1)" in message


def test_two_reports_of_one_use_are_one_annotation_with_both() -> None:
    bear, shell = group(3, "G1", "Bear"), technique(1, "T1", "A")
    records = groups(
        shell, bear,
        link(4, "uses", bear, shell, description="One."),
        link(5, "uses", bear, shell, description="Two."),
        link(6, "uses", bear, shell, description="Two."),
    )  # fmt: skip
    (annotation,) = records.record("G1").annotations
    assert [row.description for row in annotation.rows] == ["One.", "Two."]
    assert kinds(records) == ["copied-row"]


def test_groups_read_with_another_ontology_go_by_its_ids() -> None:
    content = bundle(*objects())
    other = read(technique(1, "T9200.001", "A", revoked=True), technique(2, "T7", "B"), technique(4, "T9100.001", "C"),
                 link(3, "revoked-by", technique(1), technique(2)))  # fmt: skip
    records = read_actors(content, other)
    assert records.record("G9001").positive == ("T7", "T9100.001")
    assert "old-id" in kinds(records, "note")
    assert set(kinds(records, "warning")) == {"unknown-id"}


def test_a_key_is_suggested_by_spelling_and_by_name() -> None:
    records = groups(*objects())
    for asked in ("g9001", "toy bear"):
        with pytest.raises(SmaError) as refused:
            records.index(asked)
        assert refused.value.do == "Did you mean G9001?"


def test_a_release_is_found_by_content(tmp_path: Path) -> None:
    manifest = manifests()["cyber"]
    later = [{**o, "modified": "2032-02-03T00:00:00Z"} for o in objects()]
    cited = [technique(1, "T1", "A", modified="2039-01-01T00:00:00Z")]
    ics = [{**o, "x_mitre_domains": ["ics-attack"], "modified": "2039-01-01T00:00:00Z"} for o in objects()]
    collection = thing("x-mitre-collection", 99, x_mitre_version="31.4")
    (tmp_path / "a.bin").write_bytes(bundle(*objects(), collection))
    (tmp_path / "b.bin").write_bytes(lzma.compress(bundle(*later)))
    (tmp_path / "report.json").write_bytes(bundle(*cited))
    (tmp_path / "ics.json").write_bytes(bundle(*ics))
    (tmp_path / "torn.json").write_bytes(bundle(*later)[:-10])
    for _ in range(2):  # the second look is a kept one
        found = [(c.path.name, c.version) for c in find(manifest, "ontology", tmp_path)]
        assert found == [("b.bin", "2032-02-03"), ("a.bin", "31.4"), ("torn.json", "")]
    chosen = locate(manifest, tmp_path)
    assert chosen.records == chosen.ontology
    assert chosen.notes == (f"several ontology releases in {tmp_path}: the newest, 2032-02-03, is used, not 31.4, "
                            "torn.json",)  # fmt: skip
    assert locate(manifest, tmp_path, "31.4").records.path.name == "a.bin"


_SMALL = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "T1", "mitre-attack", toy.TIME]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["source_name", "external_id", "phase_name", "kill_chain_name"]), inner)
    ),
    max_leaves=6,
)
_PROPERTIES = (
    "type", "id", "name", "description", "modified", "revoked", "x_mitre_deprecated", "external_references",
    "kill_chain_phases", "x_mitre_domains", "source_ref", "target_ref", "relationship_type", "aliases",
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(_PROPERTIES), _SMALL), max_size=6))
def test_no_property_of_any_form_breaks_the_readers(changes: list[tuple[int, str, Any]]) -> None:
    things = objects()
    for place, name, value in changes:
        things[place % len(things)] = {**things[place % len(things)], name: value}
    content = bundle(*things)
    try:
        ontology = read_stix(content)
        read_actors(content, ontology)
    except SmaError:
        pass


def test_the_name_of_a_source_that_is_no_text_is_no_name() -> None:
    odd = technique(1, "T1", "A")
    odd["external_references"] = [
        {"source_name": []},
        {"source_name": {}, "external_id": "T2"},
        *odd["external_references"],
    ]
    term = read(odd).term("T1")
    assert term.references == ("T2", "A report https://example.org/report")


MALWARE, TOOL = (
    thing("malware", 50, "S1", "Loader", x_mitre_aliases=["Loader", "Ldr"]),
    thing("tool", 51, "S2", "Shell kit"),
)
CAMPAIGN = thing("campaign", 52, "C1", "One winter", first_seen="2030-12-01T00:00:00Z", aliases=["Winter"])
MITIGATION = thing("course-of-action", 53, "M1", "Filtering")
MORE = [
    MALWARE, TOOL, CAMPAIGN, MITIGATION,
    link(60, "uses", MALWARE, toy.SHELL), link(61, "uses", TOOL, toy.SHELL), link(62, "uses", TOOL, toy.LINK),
    link(63, "uses", CAMPAIGN, toy.ATTACHMENT), link(64, "uses", CAMPAIGN, MALWARE),
    link(65, "attributed-to", CAMPAIGN, toy.BEAR), link(66, "attributed-to", CAMPAIGN, toy.GONE),
    link(67, "mitigates", MITIGATION, toy.PHISHING), link(68, "mitigates", MITIGATION, toy.OLD),
]  # fmt: skip


def test_each_kind_of_actor_is_a_set_of_records() -> None:
    content = bundle(*objects(), *MORE)
    ontology = read_stix(content)
    software = read_actors(content, ontology, kind="software")
    assert {key: software.record(key).positive for key in software.keys} == {
        "S1": ("T9200.001",), "S2": ("T9100.002", "T9200.001"),
    }  # fmt: skip
    assert (software.name, [software.record(key).attributes["type"] for key in software.keys]) == (
        "software", [("malware",), ("tool",)],
    )  # fmt: skip
    assert software.record("S1").attributes["aliases"] == ("Ldr",)
    campaigns = read_actors(content, ontology, kind="campaign")
    assert campaigns.record("C1").positive == ("T9100.001",)
    assert campaigns.record("C1").attributes == {
        "aliases": ("Winter",), "created": (toy.TIME,), "modified": (toy.TIME,),
        "first_seen": ("2030-12-01T00:00:00Z",), "attributed_to": ("G9001",),
        "references": ("A report https://example.org/report",), "date": (toy.TIME[:10],),
        "reference": ("A report https://example.org/report",),
    }  # fmt: skip
    (row,) = campaigns.record("C1").annotations[0].rows
    assert row.biocuration == f"[{toy.TIME[:10]}]"
    assert "type" not in read_actors(content, ontology).record("G9001").attributes
    assert "intrusion-set (7), malware (1), tool (2)" in next(
        e.message for e in campaigns.report if e.kind == "no-record"
    )
    with pytest.raises(SmaError) as refused:
        read_actors(content, ontology, kind="mitigation")
    assert "group, software, campaign" in refused.value.found


def test_each_kind_is_kept_by_itself() -> None:
    content = bundle(*objects(), *MORE)
    ontology = load_ontology(content)
    for _ in range(2):
        found = {kind: load_records(content, ontology, kind=kind).keys for kind in ("", "campaign", "software")}
        assert found == {"": ("G9001", "G9002", "G9003", "G9005"), "campaign": ("C1",), "software": ("S1", "S2")}


def test_typed_relations_are_kept_and_none_is_an_edge() -> None:
    ontology = read(*objects(), *MORE)
    assert ontology.term("C1").relations == (("attributed-to", "G9001"), ("uses", "S1"), ("uses", "T9100.001"))
    assert ontology.term("M1").relations == (("mitigates", "T9100"),)
    assert ontology.relation_ids == ("attributed-to", HAS_TACTIC, "mitigates", "uses")
    assert all(not ontology.term(t).parents for t in ("C1", "M1", "S1", "S2", "G9001", "TA9001"))
    left_out = next(e.message for e in ontology.report if e.kind == "retired-relationship")
    assert "attributed-to of or to what is retired (1), mitigates of or to what is retired (1)" in left_out


def test_an_old_mitigation_with_the_id_of_a_technique_is_no_term() -> None:
    old = thing("course-of-action", 70, "T9100", "Phishing mitigation", x_mitre_deprecated=True)
    ontology = read(*objects(), old)
    assert ontology.term("T9100").name == "Phishing"
    assert not ontology.report.faults
    living = {**old, "x_mitre_deprecated": False}
    ontology = read(*objects(), living, link(71, "mitigates", living, toy.SHELL))
    assert ontology.term("T9100").name == "Phishing"
    assert kinds(ontology, "warning") == ["shared-id"]
    assert dict(ontology.term("T9100").relations) == {HAS_TACTIC: "TA9001"}


def test_a_revoked_group_leads_to_its_successor() -> None:
    renamed = toy.group(72, "G9009", "Old Bear", revoked=True)
    content = bundle(*objects(), renamed, link(73, "revoked-by", renamed, toy.BEAR))
    ontology = read_stix(content)
    assert ontology.resolve("G9009").path == ("G9009", "G9001")
    note = next(e for e in read_actors(content, ontology).report if e.kind == "retired-group")
    assert "G9004, G9009 (today G9001)" in note.message


def test_the_stix_id_of_a_technique_is_another_id_of_it() -> None:
    ontology = read(*objects())
    assert ontology.resolve(toy.SHELL["id"]).used == "T9200.001"
    assert ontology.resolve(toy.OLD["id"]).path == (toy.OLD["id"], "T9001", "T9200.001")
    assert ontology.retired_count == 1  # another id is no retired term


def test_what_is_suspicious_is_noted() -> None:
    early = technique(1, "T1", "A", created="2031-02-01T00:00:00Z")
    child, other = technique(2, "T2.001", "B"), technique(3, "T3", "C", revoked=True)
    idle = technique(4, "T4", "D", kill_chain_phases=[])
    ontology = read(early, child, other, idle, toy.TACTIC, link(5, "subtechnique-of", child, early))
    notes = {e.kind: e.ids for e in ontology.report}
    assert notes["odd-time"] == ("T1",)
    assert notes["odd-parent"] == ("T2.001", "T1")
    assert notes["no-successor"] == ("T3",)
    assert notes["idle-technique"] == ("T4",)
    assert not ontology.report.faults
    sound = {e.kind for e in read(*objects()).report}
    assert sound.isdisjoint({"odd-time", "odd-parent", "idle-technique", "unknown-end", "same-stamp"})


def test_actors_with_equal_techniques_are_noted() -> None:
    twin = toy.group(80, "G9008", "Toy Wolf")
    records = groups(*objects(), twin, link(81, "uses", twin, toy.SCOUTING))
    (note,) = [e for e in records.report if e.kind == "equal-profile"]
    assert (note.ids, "(1): T9300" in note.message) == (("G9005", "G9008"), True)
    assert "equal-profile" not in kinds(groups(*objects()))  # two groups that use nothing are no twins


def capec(number: int, name: str, **more: Any) -> dict[str, Any]:
    references = [
        {"source_name": "capec", "external_id": f"CAPEC-{number}"},
        {"source_name": "cwe", "external_id": "CWE-20"},
        {"source_name": "ATTACK", "external_id": "T9100"},
    ]
    pattern = thing("attack-pattern", number, name=name, x_capec_version="3.9", x_capec_status="Draft", **more)
    return {**pattern, "external_references": references}


def test_capec_has_ids_and_edges_of_its_own() -> None:
    top = capec(1, "Top")
    low = capec(2, "Low", x_capec_child_of_refs=[top["id"]], x_capec_can_precede_refs=[top["id"]])
    lost = capec(3, "Lost", x_capec_child_of_refs=[capec(9, "Not here")["id"]], x_capec_peer_of_refs=[low["id"]])
    gone = capec(4, "Gone", x_capec_child_of_refs=[top["id"]])
    gone["x_capec_status"] = "Deprecated"
    ontology = read(top, low, lost, gone)
    assert (ontology.name, ontology.ids) == ("capec", ("CAPEC-1", "CAPEC-2", "CAPEC-3"))
    assert ontology.term("CAPEC-2").parents == ("CAPEC-1",)
    assert ontology.term("CAPEC-2").relations == (("can-precede", "CAPEC-1"),)
    assert ontology.term("CAPEC-3").parents == ()
    assert ontology.term("CAPEC-3").references == ("cwe CWE-20", "ATTACK T9100")
    assert ontology.resolve("CAPEC-4").status == "retired"
    assert "child-of (1)" in next(e.message for e in ontology.report.warnings if e.kind == "lost-end")


def test_a_use_of_a_renumbered_technique_follows_its_object() -> None:
    elder = {**toy.SHELL, "external_references": [{"source_name": "mitre-attack", "external_id": "T8888"}]}
    records = read_actors(bundle(elder, toy.BEAR, link(4, "uses", toy.BEAR, elder)), read(*objects()))
    assert records.record("G9001").positive == ("T9200.001",)
    (note,) = [e for e in records.report if e.kind == "renumbered"]
    assert note.ids == ("T8888", "T9200.001")
    assert not records.report.faults


def test_faults_of_relationships_have_their_place() -> None:
    one, two, three = technique(1, "T9001", "One"), technique(2, "T9002", "Two"), technique(3, "T9003", "Three")
    found = read(one, two, link(9, "subtechnique-of", two, two), link(8, "subtechnique-of", one, three))
    told = {e.kind: e for e in found.report.warnings}
    assert set(told) == {"self-loop", "lost-end"}
    assert (told["self-loop"].where, told["self-loop"].lines) == ("objects[2]", ())
    assert "(objects[2])" in told["self-loop"].message
    assert (told["lost-end"].where, told["lost-end"].ids) == ("objects[3]", (three["id"],))
    with pytest.raises(ParseError, match=r"objects\[2\]"):
        read_stix(bundle(one, two, link(9, "subtechnique-of", two, two)), strict=True)
    gone, gone_too = ({**thing, "revoked": True} for thing in (one, two))
    found = read(gone, gone_too, three, link(7, "revoked-by", one, two), link(8, "revoked-by", two, one))
    (circle,) = (e for e in found.report.warnings if e.kind == "replacement-cycle")
    assert (circle.where, circle.ids) == ("objects[3]", ("T9001", "T9002"))
    with pytest.raises(CycleFound, match=r"objects\[2\], objects\[3\]"):
        read(one, two, link(7, "subtechnique-of", one, two), link(8, "subtechnique-of", two, one))


def test_a_retired_tactic_does_not_hide_the_live_one_of_its_name() -> None:
    old = thing("x-mitre-tactic", 8, "TA9000", "Old", x_mitre_shortname="toy-access", x_mitre_deprecated=True)
    found = read(old, toy.TACTIC, toy.PHISHING)
    assert found.term("T9100").relations == ((HAS_TACTIC, "TA9001"),)
    assert not found.report.faults


def test_a_name_given_twice_in_one_object_is_told_with_its_path() -> None:
    text = bundle(technique(1, name="One"), technique(2, name="Two")).decode()
    doubled = text.replace('"name": "Two"', '"name": "lost", "name": "Two"', 1)
    assert doubled != text
    found = read_stix(doubled.encode())
    told = [(e.severity, e.kind, e.where) for e in found.report.faults]
    assert told == [("warning", "doubled-name", "objects[1]")]
    assert "gives 'name' more than once; the last one counts" in found.report.faults[0].message
    assert not read_stix(text.encode()).report.faults


def test_one_time_has_many_spellings() -> None:
    stamps = ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000Z", "2024-01-01T01:00:00+01:00")
    copies = [technique(1, "T1", modified=stamp, created=stamp) for stamp in stamps]
    assert "same-stamp" not in kinds(read(*copies))
    other = read(*copies[:2], technique(1, "T1", "other text", modified=stamps[2], created=stamps[2]))
    (warning,) = [e for e in other.report if e.kind == "same-stamp"]
    assert "objects[0] and objects[2]" in warning.message


def test_a_sub_technique_of_a_replaced_one_has_one_entry_that_says_so() -> None:
    old, new, below = technique(1, "T1", revoked=True), technique(2, "T2"), technique(3, "T1.001")
    found = read(old, new, below, link(9, "revoked-by", old, new), link(10, "subtechnique-of", below, old))
    assert found.term("T1.001").parents == ("T2",)
    assert [k for k in kinds(found) if k in ("retired-target", "retired-end")] == ["retired-target"]


def test_when_a_use_was_written_changed_and_seen_is_an_attribute() -> None:
    uses = link(
        60, "uses", toy.BEAR, toy.SHELL, created="2029-05-01T00:00:00Z", modified="2030-06-02T03:04:05.678Z",
        start_time="2028-01-01T00:00:00Z", stop_time="2028-02-01T00:00:00Z",
    )  # fmt: skip
    content = bundle(toy.BEAR, toy.SHELL, uses)
    records = read_actors(content, read_stix(content))
    record = records.record(records.keys[0])
    told = {name: record.attributes[name] for name in ("date", "start_time", "stop_time")}
    assert told == {
        "date": ("2029-05-01", "2030-06-02"), "start_time": ("2028-01-01T00:00:00Z",),
        "stop_time": ("2028-02-01T00:00:00Z",),
    }  # fmt: skip
    assert {row.biocuration for annotation in record.annotations for row in annotation.rows} == {"[2030-06-02]"}
