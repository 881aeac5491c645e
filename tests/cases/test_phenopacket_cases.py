"""Field cases P-PPK-01 to P-PPK-04 of the shared folder, as far as reading goes."""

from __future__ import annotations

from pathlib import Path

from sma_gpu.ontologies.records import PatientRecord, read_patients, read_phenopacket


def test_ppk_01_excluded_and_negated(shared_cases: Path) -> None:
    found = read_patients(shared_cases / "P-PPK-01")
    assert found.form == "folder"
    assert [record.id for record in found.records] == ["toy-v1", "toy-v2"]
    for record in found.records:
        assert isinstance(record, PatientRecord)
        assert record.observed == ("HP:9900012", "HP:9900020")
        assert record.excluded == ("HP:9900010",)
        assert record.notes == ()


def test_ppk_02_a_patient_without_signs_is_a_record(shared_cases: Path) -> None:
    found = read_patients(shared_cases / "P-PPK-02")
    records = {record.id: record for record in found.records}
    assert set(records) == {"toy-none", "toy-empty", "toy-onlyexcluded"}
    for record in found.records:
        assert isinstance(record, PatientRecord)
        assert record.observed == ()
        assert record.labels == ("OMIM:999001",)
        assert record.excluded == (("HP:9900010",) if record.id == "toy-onlyexcluded" else ())


def test_ppk_03_terms_stand_as_written(shared_cases: Path) -> None:
    full = read_phenopacket(shared_cases / "P-PPK-03" / "full.json")
    assert full.observed == ("HP:9900001", "HP:9900010", "HP:9900011", "HP:9900011", "HP:9900910")
    minimal = read_phenopacket(shared_cases / "P-PPK-03" / "minimal.json")
    assert minimal.observed == ("HP:9900011",)


def test_ppk_04_several_diseases_are_one_patient(shared_cases: Path) -> None:
    found = read_patients(shared_cases / "P-PPK-04.json")
    assert found.form == "phenopacket"
    (record,) = found.records
    assert isinstance(record, PatientRecord)
    assert record.id == "toy-two"
    assert record.observed == ("HP:9900011", "HP:9900020")
    assert record.labels == ("OMIM:999001", "ORPHA:999002")
    assert record.ruled_out == ("OMIM:999003",)
