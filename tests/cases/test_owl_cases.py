"""Field cases P-OWL-01 to P-OWL-05 and P-SKO-01 of the shared folder: what the RDF readers must make of each file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sma_gpu.errors import ParseError
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology, Synonym
from sma_gpu.ontologies.readers.skos import TOP_TAG

pytest.importorskip("rdflib")


def ex(*numbers: int) -> tuple[str, ...]:
    return tuple(f"EX:{n:07}" for n in numbers)


def names_of(ontology: Ontology) -> dict[str, str]:
    return dict(zip(ontology.ids, ontology.names, strict=True))


def test_owl_01_restrictions_under_subclass_of(shared_cases: Path) -> None:
    found = load_ontology(shared_cases / "P-OWL-01.owl")
    assert found.ids == ex(1, 2, 3)
    assert found.live_count == 3
    assert found.term("EX:0000003").parents == ex(1)
    assert found.term("EX:0000003").relations == (("BFO:0000050", "EX:0000002"),)
    assert found.relation_names == ("part of",)
    assert (len(found.parents), len(found.relations)) == (2, 1)
    assert len(found.report) == 0


def test_owl_02_ways_of_writing_deprecated(shared_cases: Path) -> None:
    found = load_ontology(shared_cases / "P-OWL-02.owl")
    assert found.ids == ex(1, 6, 7)
    assert tuple(found.retired) == ex(2, 3, 4, 5)
    assert (found.live_count, found.retired_count) == (3, 4)
    assert [e.ids for e in found.report.warnings] == [ex(3), ex(4)]
    with pytest.raises(ParseError, match="EX:0000003"):
        load_ontology(shared_cases / "P-OWL-02.owl", strict=True)


def test_owl_03_labels_in_several_languages(shared_cases: Path) -> None:
    found = load_ontology(shared_cases / "P-OWL-03" / "labels.owl")
    other = load_ontology(shared_cases / "P-OWL-03" / "labels_reordered.owl")
    assert names_of(found) == names_of(other)
    assert names_of(found) == {
        **dict(zip(ex(1, 2, 3, 4), ("root", "cell", "出来事", "wall"), strict=True)),
        **dict(zip(ex(5, 6, 7), ("fibre", "meaning editor", ""), strict=True)),
    }
    assert found.live_count == 7
    assert [e.ids for e in found.report if e.kind == "label-choice"] == [ex(3), ex(6)]
    assert [e.ids for e in found.report if e.kind == "nameless"] == [ex(7)]
    for ontology in (found, other):
        assert ontology.term("EX:0000002").synonyms == (
            Synonym("buňka", "EXACT", "cs"), Synonym("细胞", "EXACT", "zh")
        )  # fmt: skip
        assert ontology.term("EX:0000004").synonyms == (Synonym("wall (untagged)", "EXACT", ""),)
        assert ontology.term("EX:0000005").synonyms == (
            Synonym("fiber", "EXACT", "en-us"), Synonym("fibra", "EXACT", "it")
        )  # fmt: skip
        assert ontology.term("EX:0000006").synonyms == (Synonym("word editor", "EXACT", "en"),)


def test_owl_04_ids_to_iris_and_back(shared_cases: Path) -> None:
    found = load_ontology(shared_cases / "P-OWL-04.owl")
    obo = "http://purl.obolibrary.org/obo/"
    addresses = {
        "HP:9900010": f"{obo}HP_9900010",
        "APOLLO_SV:99000002": f"{obo}APOLLO_SV_99000002",
        "NCIT:C992868": f"{obo}NCIT_C992868",
        "OBA:VT9900188": f"{obo}OBA_VT9900188",
        "EFO:9900001": "http://www.ebi.ac.uk/efo/EFO_9900001",
        "Orphanet:999558": "http://www.orpha.net/ORDO/Orphanet_999558",
    }
    assert set(found.ids) == set(addresses)
    assert found.live_count == 6
    for term, address in addresses.items():
        assert found.iris.iri_of(term) == address
        assert found.resolve(address).index == found.resolve(term).index == found.number[term]


def test_owl_05_replacements_in_several_encodings(shared_cases: Path) -> None:
    found = load_ontology(shared_cases / "P-OWL-05.owl")
    assert (found.live_count, found.retired_count) == (3, 5)
    assert {found.resolve(old).used for old in ex(11, 12, 13)} == {"EX:0000002"}
    assert (found.resolve("EX:0000014").used, found.resolve("EX:0000014").candidates) == (None, ex(2, 3))
    assert (found.resolve("EX:0000015").used, found.resolve("EX:0000015").candidates) == (None, ex(3))


def test_sko_01_hierarchy_in_either_direction(shared_cases: Path) -> None:
    found = load_ontology(shared_cases / "P-SKO-01.ttl")
    assert found.live_count == 6
    assert {term: found.term(term).parents for term in found.ids} == {
        "ex:a": (), "ex:b": ("ex:a",), "ex:c": ("ex:a",), "ex:d": ("ex:b", "ex:c"), "ex:e": (), "ex:f": (),
    }  # fmt: skip
    assert found.header[TOP_TAG] == ("ex:a", "ex:e")
    assert [e.ids for e in found.report if e.kind == "outside-scheme"] == [("ex:f",)]
    assert [e.ids for e in found.report if e.kind == "nameless"] == [("ex:f",)]
    assert found.term("ex:f").name == "F9"
    assert found.term("ex:c").name == "power tools"
    assert found.term("ex:c").synonyms == (Synonym("Elektrowerkzeuge", "EXACT", "de"),)
    assert found.iris.iri_of("ex:a") == "http://example.org/v/a"
