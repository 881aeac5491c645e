"""Attributes of records: their shape, how they outlive a compiled file, and what the files give."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import toy
from hypothesis import given, settings
from hypothesis import strategies as st

from sma_gpu.answers.where import attributes_of
from sma_gpu.errors import ArtifactError
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.records import Records, load_records, read_hpoa
from sma_gpu.ontologies.records.attributes import Attribute, Attributes

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
ROWS = st.lists(st.dictionaries(st.sampled_from(["source", "date", "url"]), TEXTS | st.lists(TEXTS, max_size=4)))


def plain(row: dict[str, str | list[str]]) -> dict[str, tuple[str, ...]]:
    """Returns the values of a row as they are to come back: as a list, none empty, none twice."""
    listed = {name: [value] if isinstance(value, str) else value for name, value in row.items()}
    told = {name: tuple(dict.fromkeys(v for v in values if v)) for name, values in listed.items()}
    return {name: values for name, values in told.items() if values}


@settings(deadline=None)
@given(ROWS)
def test_attributes_come_back_as_given_also_from_arrays(rows: list[dict[str, str | list[str]]]) -> None:
    attributes = Attributes.of_rows(rows)
    again = Attributes.from_arrays(attributes.to_arrays(), list(attributes))
    for found in (attributes, again):
        assert [found.of(i) for i in range(len(rows))] == [plain(row) for row in rows]
        assert set(found) == {name for row in rows for name in plain(row)}
    first, second = attributes.to_arrays(), again.to_arrays()
    assert list(first) == list(second)
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_arrays_of_another_shape_are_refused() -> None:
    arrays = Attributes.of_rows([{"source": "OMIM"}]).to_arrays()
    with pytest.raises(TypeError, match="int32"):
        Attributes.from_arrays({**arrays, "attribute_0_ptr": np.zeros(2)}, ["source"])
    with pytest.raises(KeyError):
        Attributes.from_arrays(arrays, ["source", "date"])


def test_pairs_keep_the_order_of_the_file_within_a_record() -> None:
    found = Attribute.of_pairs(np.array([1, 0, 1, 1, 1]), np.array([2, 0, 1, 2, 3]), ["a", "b", "c", ""], records=3)
    assert [found.of(i) for i in range(3)] == [("a",), ("c", "b"), ()]
    with pytest.raises(ValueError, match="read-only"):
        found.ptr[0] = 1


def hpoa(*rows: str) -> bytes:
    return ("\n".join(["#version: 2026-01-01", toy.HEADER, *rows]) + "\n").encode()


def cells(key: str, term: str, reference: str, evidence: str, aspect: str, dated: str, qualifier: str = "") -> str:
    return "\t".join([key, key, qualifier, term, reference, evidence, "", "", "", "", aspect, dated])


def records_of(*rows: str) -> Records:
    return read_hpoa(hpoa(*rows), load_ontology(toy.obo().encode()))


def test_a_phenotype_file_gives_source_dates_references_and_evidence() -> None:
    records = records_of(
        cells("OMIM:2", "HP:9920100", "PMID:3", "PCS", "P", "HPO:b[2023-01-22];HPO:a[2009-02-17]"),
        cells("OMIM:2", "HP:9930100", "PMID:1; PMID:3", "IEA", "P", "HPO:a[2009-02-17];HPO:a[2012-05-01]"),
        cells("OMIM:2", "HP:9940000", "OMIM:2", "IEA", "I", "HPO:iea[2001-01-01]"),
        cells("ORPHA:1", "HP:9910110", "", "", "P", ""),
        cells("bare", "HP:0000000", "PMID:9", "PCS", "P", "HPO:a[2020-01-01]"),
    )
    assert records.record("OMIM:2").attributes == {
        "source": ("OMIM",),
        "date": ("2023-01-22", "2009-02-17", "2012-05-01", "2001-01-01"),
        "reference": ("PMID:3", "PMID:1", "OMIM:2"),
        "evidence": ("PCS", "IEA"),
    }
    assert records.record("ORPHA:1").attributes == {"source": ("ORPHA",)}
    assert records.record("bare").attributes == {}  # its one row names a term that is not there, so it is not used


def test_onset_sex_modifier_and_frequency_are_attributes_as_written() -> None:
    rows = [
        ["OMIM:2", "2", "", "HP:9920100", "", "", "HP:0003577", "3/7", "FEMALE", "HP:0012828;HP:0031797", "P", ""],
        ["OMIM:2", "2", "", "HP:9930100", "", "", "", "HP:0040281", "MALE", "", "P", ""],
    ]
    found = records_of(*map("\t".join, rows)).record("OMIM:2").attributes
    assert {name: found[name] for name in ("onset", "sex", "modifier", "frequency")} == {
        "onset": ("HP:0003577",), "sex": ("FEMALE", "MALE"), "modifier": ("HP:0012828", "HP:0031797"),
        "frequency": ("3/7", "HP:0040281"),
    }  # fmt: skip


def test_a_biocuration_that_states_no_day_is_noted_with_its_line() -> None:
    records = records_of(
        cells("OMIM:1", "HP:9920100", "", "", "P", "HPO:a[2009-02-30]"),
        cells("OMIM:1", "HP:9930100", "", "", "P", "HPO:a[yesterday];HPO:b[2009-02-17]"),
    )
    assert records.record("OMIM:1").attributes["date"] == ("2009-02-17",)
    assert [(e.lines, e.message) for e in records.report.entries if e.kind == "date"] == [
        ((3,), "biocuration 'HPO:a[2009-02-30]' has in brackets what is no day like [2009-02-17]"),
        ((4,), "biocuration 'HPO:a[yesterday];HPO:b[2009-02-17]' has in brackets what is no day like [2009-02-17]"),
    ]


def test_attributes_outlive_the_compiled_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "cache"))
    folder = toy.write(tmp_path / "data")
    ontology = load_ontology(folder / "hp.obo")
    first, second = (load_records(folder / "phenotype.hpoa", ontology) for _ in range(2))
    assert list((tmp_path / "cache").glob("records-*"))
    for i in range(len(first)):
        assert first.attributes.of(i) == second.attributes.of(i) != {}
    assert list(first.attributes) == list(second.attributes)


def test_a_compiled_file_without_attributes_is_refused() -> None:
    records = records_of(cells("OMIM:1", "HP:9920100", "", "", "P", ""))
    arrays = records.to_arrays()
    meta = json.loads(np.asarray(arrays["meta"], np.uint8).tobytes())
    del meta["attributes"]
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    with pytest.raises(ArtifactError, match="attributes"):
        Records.from_arrays(arrays, load_ontology(toy.obo().encode()), path="x")


def test_terms_outside_matching_are_attributes_too_unless_they_are_ruled_out() -> None:
    records = records_of(
        cells("OMIM:1", "HP:9920100", "", "", "P", ""),
        cells("OMIM:1", "HP:9940000", "", "", "I", ""),
        cells("OMIM:2", "HP:9940000", "", "", "I", "", "NOT"),
    )
    found = attributes_of(records)
    assert [found.of(i).get("inheritance") for i in range(2)] == [("HP:9940000",), None]
    assert list(found) == ["source", "inheritance"]
