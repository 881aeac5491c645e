"""Field cases P-CPC-01 to P-CPC-03 of the shared folder: what the reader must make of each file."""

from __future__ import annotations

from pathlib import Path

from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.cpc import read_cpc


def read(shared_cases: Path, number: int) -> Ontology:
    return read_cpc(shared_cases / f"P-CPC-{number:02}.xml")


def parents(ontology: Ontology) -> dict[str, set[str]]:
    return {term: set(ontology.term(term).parents) for term in ontology.ids}


def test_cpc_01_the_heading_and_the_first_group_share_a_symbol(shared_cases: Path) -> None:
    ontology = read(shared_cases, 1)
    assert parents(ontology) == {
        "H99Q": set(),
        "H99Q31/00": {"H99Q"},
        "H99Q31/002": {"H99Q31/00"},
        "H99Q31/004": {"H99Q31/00"},
        "H99Q31/006": {"H99Q31/004"},
        "H99Q33/00": {"H99Q"},
    }
    assert ontology.live_count == 6
    assert ontology.term("H99Q31/00").name == "Handling before shaping"
    (note,) = ontology.report
    assert (note.severity, note.kind, note.lines, note.ids) == ("note", "heading", (6,), ("H99Q31/00",))
    assert "'Details of shaping'" in note.message


def test_cpc_02_titles_and_what_nobody_may_assign(shared_cases: Path) -> None:
    ontology = read(shared_cases, 2)
    names = {term: ontology.term(term).name for term in ontology.ids}
    assert len(names) == 5
    assert all(names.values())
    assert names["H99R"] == "LAYERED TOYS, i.e. TOYS MADE OF SHEETS LAID ONE ON ANOTHER"
    assert names["H99R1/02"] == "e.g. USB sticks; Hollow toys"
    assert names["H99R1/00"] == "Toys by outer shape"
    assert ontology.marks["not-allocatable"] == ("H99R", "H99R1/04")
    assert not len(ontology.report)


def test_cpc_03_series_of_2000_and_breakdown_symbols(shared_cases: Path) -> None:
    ontology = read(shared_cases, 3)
    found = parents(ontology)
    assert len(found) == 9
    assert found["H99S2045/14008"] == {"H99S45/14"}
    assert found["H99S45/1407"] == {"H99S45/14"}
    assert found["H99S2045/00"] == {"H99S"}
    assert found["H99S2045/02"] == {"H99S2045/00"}
    assert found["H99S2201/00"] == {"H99S"}
    assert found["H99S2201/06"] == {"H99S2201/00"}
    assert len(ontology.marks["additional-only"]) == 5
    assert ontology.marks["breakdown"] == ("H99S2045/14008",)
    assert not len(ontology.report)
