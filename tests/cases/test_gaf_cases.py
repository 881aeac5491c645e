"""Field cases P-GAF-01 and P-GAF-02 of the shared folder: what the reader must make of each file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obo import read_obo
from sma_gpu.ontologies.records import Records, read_gaf


@pytest.fixture
def ontology(shared_cases: Path) -> Ontology:
    return read_obo(shared_cases / "shared" / "toy_go.obo")


def read(shared_cases: Path, ontology: Ontology, number: int) -> Records:
    return read_gaf(shared_cases / f"P-GAF-{number:02}.gaf", ontology)


def test_gaf_01_not_in_any_position(shared_cases: Path, ontology: Ontology) -> None:
    records = read(shared_cases, ontology, 1)
    assert records.keys == ("UniProtKB:X9TOA1", "UniProtKB:X9TOB1")
    assert len(records.line) == 6
    first = records.record("UniProtKB:X9TOA1")
    assert first.positive == ("GO:9900001",)
    assert first.excluded == ("GO:9900002", "GO:9900004")
    second = records.record("UniProtKB:X9TOB1")
    assert second.positive == ("GO:9900003",)
    assert second.excluded == ("GO:9900003",)

    assert [(w.kind, w.lines) for w in records.report.warnings] == [
        ("qualifier", (7,)),
        ("conflict", (7, 8, 9)),
        ("qualifier", (8,)),
    ]
    assert all("read as NOT" in w.message for w in records.report.warnings if w.kind == "qualifier")
    (conflict,) = [w for w in records.report.warnings if w.kind == "conflict"]
    assert conflict.ids == ("UniProtKB:X9TOB1", "GO:9900003")


def test_gaf_01_the_rows_of_both_senses_stay_apart(shared_cases: Path, ontology: Ontology) -> None:
    record = read(shared_cases, ontology, 1).record("UniProtKB:X9TOB1")
    assert [(a.excluded, [row.line for row in a.rows]) for a in record.annotations] == [(True, [7, 8]), (False, [9])]


def test_gaf_02_old_ids_as_primary_ids(shared_cases: Path, ontology: Ontology) -> None:
    records = read(shared_cases, ontology, 2)
    assert records.keys == ("UniProtKB:X9TOC1", "UniProtKB:X9TOD1")
    merged = records.record("UniProtKB:X9TOC1")
    assert merged.positive == ("GO:9900002",)
    assert [row.line for row in merged.annotations[0].rows] == [4]  # the three rows say the same
    assert records.record("UniProtKB:X9TOD1").positive == ("GO:9900002",)

    notes = {(n.kind, n.lines, n.ids) for n in records.report.notes}
    assert ("old-id", (7,), ("GO:9900800", "GO:9900002")) in notes
    assert ("copied-row", (4, 5, 6), ("UniProtKB:X9TOC1", "GO:9900002")) in notes
    assert [(w.kind, w.lines, w.ids) for w in records.report.warnings] == [
        ("retired-id", (8,), ("GO:9900801", "GO:9900001", "GO:9900002")),
        ("unknown-id", (9,), ("GO:9999999",)),
    ]
