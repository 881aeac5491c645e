"""Field cases P-STX-01 to P-STX-06 of the shared folder: what the readers must make of each bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sma_gpu.answers.engine import Engine
from sma_gpu.cases import encode_query
from sma_gpu.ontologies.domains import Domain
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.mount import mount
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.stix import HAS_TACTIC, read_stix
from sma_gpu.ontologies.readers.stix_bundle import read_bundle
from sma_gpu.ontologies.readers.stix_object import GROUP
from sma_gpu.ontologies.records.stix import read_actors
from sma_gpu.ontologies.report import LoadReport
from sma_gpu.ontologies.source import read_source


def techniques(ontology: Ontology) -> list[str]:
    return [term for term in ontology.ids if term[0] == "T" and term[1] != "A"]


def test_stx_01_replacements_are_followed(shared_cases: Path) -> None:
    ontology = read_stix(shared_cases / "P-STX-01.json")
    assert techniques(ontology) == ["T9003", "T9003.004"]
    assert ontology.term("T9003.004").parents == ("T9003",)
    assert ontology.retired_count == 2
    assert ontology.resolve("T9001").path == ("T9001", "T9002", "T9003.004")
    assert ontology.resolve("T9002").path == ("T9002", "T9003.004")
    query = encode_query(mount(ontology), ["T9001"])
    assert [ontology.ids[f] for f in query.present] == ["T9003.004"]
    assert [(c.asked, c.used) for c in query.changed] == [("T9001", "T9003.004")]
    assert "T9003.004" in query.changed[0].why


def test_stx_02_the_newest_version_by_time(shared_cases: Path) -> None:
    ontology = read_stix(shared_cases / "P-STX-02.json")
    assert {term: ontology.term(term).name for term in ontology.ids} == {
        "T9011": "version three (newest)",
        "T9012": "same stamp, first text",
        "T9013": "plain",
    }
    (warning,) = ontology.report.warnings
    assert "T9012" in warning.ids
    assert "objects[3] and objects[4]" in warning.message
    assert warning.where == "objects[3]"


def test_stx_03_the_source_name_decides_on_the_id(shared_cases: Path) -> None:
    ontology = read_stix(shared_cases / "P-STX-03.json")
    other = "attack-pattern--00000000-0000-4000-8000-000000000124"
    assert sorted(ontology.ids) == ["T0921", "T1799", "T9021", other]
    (entry,) = [entry for entry in ontology.report if other in entry.ids]
    assert entry.kind == "no-attack-id"
    assert ontology.term(other).name == "Not an ATT&CK pattern"


def test_stx_04_one_group_in_two_files(shared_cases: Path) -> None:
    first, second = (shared_cases / "P-STX-04" / name for name in ("enterprise.json", "mobile.json"))
    seen: list[Any] = []
    for one, other in ((first, second), (second, first)):
        ontology = read_stix(one, more=[other])
        records = read_actors(one, ontology, more=[other])
        assert records.keys == ("G9031",)
        assert records.record("G9031").positive == ("T9031", "T9032")
        report = LoadReport("both")
        (group,) = read_bundle([read_source(one), read_source(other)], report).of_type(GROUP)
        assert group.texts("x_mitre_domains") == ["enterprise-attack", "mobile-attack"]
        (note,) = [entry for entry in ontology.report if "G9031" in entry.ids]
        assert (note.severity, note.kind) == ("note", "merged-domains")
        assert not ontology.report.faults
        assert not records.report.faults
        seen.append((ontology.ids, ontology.sha256, records.sha256, records.term.tolist(), note.message))
    assert seen[0] == seen[1]
    alone = read_stix(first)
    assert read_actors(first, alone).record("G9031").positive == ("T9031",)


def test_stx_05_equal_names_and_a_missing_flag(shared_cases: Path) -> None:
    path = shared_cases / "P-STX-05.json"
    ontology = read_stix(path)
    assert techniques(ontology) == ["T9041", "T9041.001", "T9042", "T9042.001"]
    assert ontology.term("T9041.001").parents == ("T9041",)
    assert ontology.term("T9042.001").parents == ("T9042",)
    assert ontology.term("T9041.001").name == ontology.term("T9042.001").name == "Domains"

    # An explanation, with a group that uses both of them.
    bundle = json.loads(path.read_text())
    group = "intrusion-set--00000000-0000-4000-8000-000000000001"
    bundle["objects"].append({"type": "intrusion-set", "id": group, "name": "Toy Group"})
    patterns = [o for o in bundle["objects"] if o["type"] == "attack-pattern"]
    for number, pattern in enumerate(patterns[2:]):
        ends = {"relationship_type": "uses", "source_ref": group, "target_ref": pattern["id"]}
        bundle["objects"].append({"type": "relationship", "id": f"relationship--{number}", **ends})
    bundle["objects"].append({"type": "intrusion-set", "id": group[:-1] + "2", "name": "Another"})
    bundle["objects"].append(
        {
            "type": "relationship",
            "id": "relationship--9",
            "relationship_type": "uses",
            "source_ref": group[:-1] + "2",
            "target_ref": patterns[0]["id"],
        }
    )
    content = json.dumps(bundle).encode()
    whole = read_stix(content)
    engine = Engine(Domain(manifests()["cyber"], mount(whole), read_actors(content, whole), ()))
    answer = engine.query(["T9041.001", "T9042.001"])
    assert answer["names"]["T9041.001"] == "Acquire infrastructure: Domains"
    assert answer["names"]["T9042.001"] == "Compromise infrastructure: Domains"


def test_stx_06_the_mark_of_the_version_plays_no_part(shared_cases: Path) -> None:
    seen: list[Any] = []
    for path in sorted((shared_cases / "P-STX-06").iterdir()):
        ontology = read_stix(path)
        assert ontology.ids == ("T9051", "TA9051")
        assert ontology.term("T9051").relations == ((HAS_TACTIC, "TA9051"),)
        assert not ontology.report.faults
        terms = [ontology.term(i) for i in range(len(ontology))]
        seen.append((terms, ontology.version, [e.message for e in ontology.report]))
    assert len(seen) == 3
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][1] == "1.0"


@pytest.mark.parametrize("name", ["P-STX-01.json", "P-STX-02.json", "P-STX-03.json", "P-STX-05.json"])
def test_the_order_of_objects_plays_no_part(shared_cases: Path, name: str) -> None:
    bundle = json.loads((shared_cases / name).read_text())
    first = read_stix(json.dumps(bundle).encode())
    # Versions of one object keep their order among themselves: of equal stamps the first counts.
    bundle["objects"].sort(key=lambda o: o["id"], reverse=True)
    again = read_stix(json.dumps(bundle).encode())
    assert [first.term(i) for i in range(len(first))] == [again.term(i) for i in range(len(again))]
    assert first.retired == again.retired
