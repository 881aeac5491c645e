"""Every STIX file of the shared data: the counts that its list of sources states, and what the readers make of them."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.readers.stix import HAS_TACTIC, read_stix
from sma_gpu.ontologies.readers.stix_bundle import StixBundle, read_bundle
from sma_gpu.ontologies.readers.stix_object import TECHNIQUE
from sma_gpu.ontologies.records import load_records
from sma_gpu.ontologies.records.stix import read_actors
from sma_gpu.ontologies.report import LoadReport
from sma_gpu.ontologies.source import read_source

ENTERPRISE_14 = "cyber/enterprise-attack-14.1.stix20.json.xz"
ENTERPRISE_16 = "cyber/enterprise-attack-16.1.stix20.json.xz"
ENTERPRISE_18 = "cyber/enterprise-attack-18.1.stix20.json.xz"
MOBILE = "cyber/mobile-attack-17.1.stix21.json.xz"
ICS = "cyber/ics-attack-18.1.stix21.json.xz"
CAPEC = "failures/capec-3.9.stix21.json.xz"

# As the list of sources states them: objects; subtechnique-of, uses, attributed-to, revoked-by; groups, attack
# patterns, campaigns.
STATED = {
    ENTERPRISE_14: (19_231, 425, 13_446, 8, 139, 156, 768, 23),
    ENTERPRISE_16: (21_315, 454, 15_133, 16, 139, 174, 799, 34),
    ENTERPRISE_18: (24_771, 477, 17_270, 25, 140, 187, 835, 52),
}

# Live terms of each type; typed relations; is-a edges; records and their techniques by kind.
READ = {
    ENTERPRISE_14: (
        "attack-pattern (625), campaign (23), course-of-action (43), intrusion-set (141), malware (563), tool (85), "
        "x-mitre-data-component (106), x-mitre-tactic (14)",
        {"attributed-to": 8, "detects": 1946, HAS_TACTIC: 812, "mitigates": 1238, "uses": 13_446},
        424,
        {"group": (141, 3232), "software": (648, 8672), "campaign": (23, 577)},
    ),
    ENTERPRISE_16: (
        "attack-pattern (656), campaign (34), course-of-action (44), intrusion-set (159), malware (622), tool (88), "
        "x-mitre-data-component (106), x-mitre-tactic (14)",
        {"attributed-to": 16, "detects": 2049, HAS_TACTIC: 852, "mitigates": 1372, "uses": 15_133},
        453,
        {"group": (159, 3769), "software": (710, 9504), "campaign": (34, 735)},
    ),
    ENTERPRISE_18: (
        "attack-pattern (691), campaign (52), course-of-action (44), intrusion-set (172), malware (693), tool (91), "
        "x-mitre-data-component (106), x-mitre-detection-strategy (691), x-mitre-tactic (14)",
        {"attributed-to": 25, "detects": 691, HAS_TACTIC: 887, "mitigates": 1445, "uses": 17_270},
        475,
        {"group": (172, 4362), "software": (784, 10_636), "campaign": (52, 1019)},
    ),
    MOBILE: (
        "attack-pattern (121), campaign (3), course-of-action (13), intrusion-set (15), malware (116), tool (2), "
        "x-mitre-data-component (17), x-mitre-tactic (12)",
        {"attributed-to": 1, "detects": 168, HAS_TACTIC: 139, "mitigates": 163, "uses": 1338},
        46,
        {"group": (15, 29), "software": (118, 1250), "campaign": (3, 44)},
    ),
    ICS: (
        "attack-pattern (83), campaign (7), course-of-action (52), intrusion-set (14), malware (23), "
        "x-mitre-asset (18), x-mitre-data-component (36), x-mitre-detection-strategy (83), x-mitre-tactic (12)",
        {"attributed-to": 5, "detects": 83, HAS_TACTIC: 94, "mitigates": 331, "targets": 685, "uses": 267},
        0,
        {"group": (14, 20), "software": (23, 163), "campaign": (7, 63)},
    ),
    CAPEC: (
        "attack-pattern (558), course-of-action (884)",
        {"can-precede": 162, "mitigates": 1180, "peer-of": 19},
        532,
        {"group": (0, 0), "software": (0, 0), "campaign": (0, 0)},
    ),
}


def bundle_of(path: Path) -> StixBundle:
    return read_bundle([read_source(path)], LoadReport(path.name))


@pytest.mark.slow
@pytest.mark.parametrize("name", STATED)
def test_an_enterprise_bundle_has_the_stated_counts(name: str, shared_data: Path) -> None:
    bundle = bundle_of(shared_data / name)
    kinds = Counter(link.text("relationship_type") for link in bundle.relationships)
    assert (
        sum(bundle.counts.values()),
        *(kinds[kind] for kind in ("subtechnique-of", "uses", "attributed-to", "revoked-by")),
        *(bundle.counts[kind] for kind in ("intrusion-set", "attack-pattern", "campaign")),
    ) == STATED[name]
    if name == ENTERPRISE_18:
        assert (bundle.counts["malware"], bundle.counts["tool"]) == (696, 91)
        marks = [o.values for o in bundle.objects.values()]
        assert sum(values.get("revoked") is True for values in marks) == 140
        # Some of the deprecated are of types that are passed over here.
        everything: Any = json.loads(read_source(shared_data / name).content())["objects"]
        assert sum(o.get("x_mitre_deprecated") is True for o in everything) == 287


def test_capec_has_the_stated_counts(shared_data: Path) -> None:
    bundle = bundle_of(shared_data / CAPEC)
    patterns = bundle.of_type(TECHNIQUE)
    assert sum(bundle.counts.values()) == 2683
    assert (len(patterns), sum(p.retired for p in patterns)) == (615, 57)
    assert (bundle.counts["course-of-action"], len(bundle.relationships)) == (884, 1182)
    edges = [
        sum(len(p.texts(f"x_capec_{kind}_refs")) for p in patterns) for kind in ("child_of", "can_precede", "peer_of")
    ]
    assert edges == [533, 162, 19]
    ontology = read_stix(shared_data / CAPEC)
    assert (ontology.name, ontology.resolve("CAPEC-66").status) == ("capec", "live")
    assert ontology.term("CAPEC-66").parents == ("CAPEC-248",)
    assert "lost-end" not in [e.kind for e in ontology.report]


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_a_bundle_is_read_whole(name: str, shared_data: Path) -> None:
    kinds, relations, edges, actors = READ[name]
    ontology = load_ontology(shared_data / name)
    assert next(e.message for e in ontology.report if e.kind == "kinds") == f"live terms: {kinds}"
    found = Counter(ontology.relation_ids[number] for number in ontology.relations[:, 1].tolist())
    assert (dict(found), len(ontology.parents)) == (relations, edges)
    assert not ontology.report.faults
    for kind, expected in actors.items():
        records = load_records(shared_data / name, ontology, kind=kind)
        assert (len(records), len(records.term)) == expected
        assert not records.report.faults


@pytest.mark.slow
def test_the_integrity_report_of_real_bundles(shared_data: Path) -> None:
    enterprise = load_ontology(shared_data / ENTERPRISE_18)
    notes = [e for e in enterprise.report if e.kind == "retired-end"]
    assert [e.ids for e in notes] == [("T1053.004",), ("T1574.002", "T1574.001")]
    assert notes[1].message.endswith("today it is T1574.001")
    mobile = load_ontology(shared_data / MOBILE)
    assert next(e.ids for e in mobile.report if e.kind == "no-successor") == ("T1415", "T1419", "T1454")
    equal = [
        e.ids for e in load_records(shared_data / MOBILE, mobile, kind="group").report if e.kind == "equal-profile"
    ]
    assert equal == [("G0097", "G1019"), ("G1002", "G1029")]
    ics = load_ontology(shared_data / ICS)
    assert [e.ids for e in load_records(shared_data / ICS, ics).report if e.kind == "equal-profile"] == [
        ("G0035", "G0088")
    ]  # fmt: skip


@pytest.mark.slow
def test_tactics_come_in_the_order_of_an_attack(shared_data: Path) -> None:
    order = load_ontology(shared_data / ENTERPRISE_18).header["facet-order"]
    assert order[:4] == ("TA0043", "TA0042", "TA0001", "TA0002")
    assert (len(order), order[-1]) == (14, "TA0040")


@pytest.mark.slow
def test_actors_carry_their_attributes(shared_data: Path) -> None:
    ontology = load_ontology(shared_data / ENTERPRISE_18)
    groups = load_records(shared_data / ENTERPRISE_18, ontology)
    apt28 = groups.record("G0007").attributes
    assert "Fancy Bear" in apt28["aliases"]
    assert apt28["domain"] == ("enterprise-attack", "mobile-attack") or "enterprise-attack" in apt28["domain"]
    assert apt28["created"] == ("2017-05-31T21:31:48.664Z",)
    assert any("https://" in reference for reference in apt28["references"])
    campaigns = load_records(shared_data / ENTERPRISE_18, ontology, kind="campaign")
    attributed = [campaigns.record(key).attributes.get("attributed_to", ()) for key in campaigns.keys]
    assert sum(map(len, attributed)) == 25
    software = load_records(shared_data / ENTERPRISE_18, ontology, kind="software")
    assert Counter(t for i in range(len(software)) for t in software.record_at(i).attributes["type"]) == {
        "malware": 693, "tool": 91,
    }  # fmt: skip


@pytest.mark.slow
def test_two_releases_merge_into_the_later_one(shared_data: Path) -> None:
    old, new = shared_data / ENTERPRISE_16, shared_data / ENTERPRISE_18
    merged, alone = read_stix(old, more=[new]), read_stix(new)
    assert not merged.report.faults
    assert merged.ids == alone.ids
    for one in ("names", "definitions"):
        assert list(getattr(merged, one)) == list(getattr(alone, one))
    assert merged.parents.tolist() == alone.parents.tolist()
    groups = read_actors(new, alone)
    both = read_actors(old, merged, more=[new])
    # A relationship that the later release dropped lives on in the earlier one, so that profiles can only grow.
    assert both.keys == groups.keys
    assert all(set(groups.record(k).positive) <= set(both.record(k).positive) for k in groups.keys)


@pytest.mark.slow
def test_reading_is_fast_and_a_kept_reading_faster(shared_data: Path) -> None:
    path = shared_data / ENTERPRISE_18
    started = time.process_time()
    read_actors(path, read_stix(path))
    assert time.process_time() - started < 5
    load_records(path, load_ontology(path))
    started = time.process_time()
    load_records(path, load_ontology(path))
    assert time.process_time() - started < 0.5
