"""Field cases P-HPA-01 to P-HPA-04 of the shared folder: what the reader must make of each file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obo import read_obo
from sma_gpu.ontologies.records import Annotation, Record, Records, read_hpoa


@pytest.fixture
def ontology(shared_cases: Path) -> Ontology:
    return read_obo(shared_cases / "shared" / "toy_hp.obo")


def read(shared_cases: Path, ontology: Ontology, number: int) -> Records:
    return read_hpoa(shared_cases / f"P-HPA-{number:02}.hpoa", ontology)


def by_term(record: Record) -> dict[str, Annotation]:
    return {a.term: a for a in record.aspect("phenotype")}


def test_hpa_01_ways_of_giving_a_frequency(shared_cases: Path, ontology: Ontology) -> None:
    records = read(shared_cases, ontology, 1)
    assert records.keys == ("OMIM:999001",)
    record = records.record("OMIM:999001")
    assert set(record.positive) == {f"HP:99000{n}" for n in ("10", "11", "12", "20", "02", "01")}
    assert record.excluded == ("HP:9900021",)

    found = by_term(record)
    counted = found["HP:9900010"].frequency
    assert counted is not None
    assert (counted.numerator, counted.denominator) == (3, 7)
    assert counted.low == counted.high == 3 / 7
    percent = found["HP:9900011"].frequency
    assert percent is not None
    assert (percent.low, percent.high, percent.numerator) == (0.125, 0.125, None)
    term = found["HP:9900012"].frequency
    assert term is not None
    assert (term.low, term.high) == (0.05, 0.29)
    assert found["HP:9900020"].frequency is None
    always = found["HP:9900001"].frequency
    assert always is not None
    assert (always.low, always.high) == (1.0, 1.0)

    assert found["HP:9900002"].frequency is None
    (warning,) = records.report.warnings
    assert warning.lines == (11,)
    assert warning.path.endswith("P-HPA-01.hpoa")
    assert "HP:9900002" in warning.ids


def test_hpa_02_negated_rows(shared_cases: Path, ontology: Ontology) -> None:
    records = read(shared_cases, ontology, 2)
    assert records.keys == ("OMIM:999002", "ORPHA:999002")
    first = records.record("OMIM:999002")
    assert first.positive == ("HP:9900010", "HP:9900021")
    assert first.excluded == ("HP:9900012", "HP:9900020")
    second = records.record("ORPHA:999002")
    assert second.positive == ("HP:9900020",)
    assert second.excluded == ("HP:9900011",)

    (conflict,) = records.report.warnings
    assert conflict.kind == "conflict"
    assert conflict.lines == (9, 10)
    assert conflict.ids == ("OMIM:999002", "HP:9900021")
    assert [row.line for row in by_term(first)["HP:9900021"].rows] == [9, 10]


def test_hpa_02_a_negated_term_is_not_among_the_terms_to_match(shared_cases: Path, ontology: Ontology) -> None:
    records = read(shared_cases, ontology, 2)
    ptr, term = records.phenotypes(excluded=False)
    row = records.index("OMIM:999002")
    assert ontology.number["HP:9900012"] not in term[ptr[row] : ptr[row + 1]].tolist()


def test_hpa_03_aspects_are_kept_apart(shared_cases: Path, ontology: Ontology) -> None:
    records = read(shared_cases, ontology, 3)
    assert len(records) == 1
    record = records.record("OMIM:999003")
    assert record.positive == ("HP:9900011",)
    (row,) = by_term(record)["HP:9900011"].rows
    assert (row.onset, row.modifier) == ("HP:9900040", "HP:9900050")
    others = {name: [a.term for a in record.aspect(name)] for name in ("inheritance", "course", "modifier", "history")}
    assert others == {
        "inheritance": ["HP:9900030"],
        "course": ["HP:9900040"],
        "modifier": ["HP:9900050"],
        "history": ["HP:9900060"],
    }
    _, matched = records.phenotypes(excluded=False)
    assert [ontology.ids[t] for t in matched] == ["HP:9900011"]
    assert not records.report.warnings


def test_hpa_04_rows_of_one_pair_are_pooled(shared_cases: Path, ontology: Ontology) -> None:
    records = read(shared_cases, ontology, 4)
    record = records.record("OMIM:999004")
    assert record.positive == ("HP:9900012", "HP:9900020")
    assert record.excluded == ()

    found = by_term(record)
    assert [row.sex for row in found["HP:9900012"].rows] == ["FEMALE", "MALE", ""]
    assert not found["HP:9900012"].excluded

    pooled = found["HP:9900020"].frequency
    assert pooled is not None
    assert (pooled.numerator, pooled.denominator) == (6, 10)
    assert len(found["HP:9900020"].rows) == 2
    (note,) = records.report.notes
    assert note.kind == "copied-row"
    assert note.lines == (10, 11)
    assert not records.report.warnings
