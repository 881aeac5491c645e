"""Patients as tasks, on a small domain: what leaks, what is novel, other files of the same shape, and broken ones."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import toy
from small_medicine import write_small

from sma_gpu.bench.tasks.registry import available, load
from sma_gpu.errors import DataMissing, ParseError, QueryError

CITED = "PMID:77"


def patient(number: int, **changed: Any) -> dict[str, Any]:
    disease = f"OMIM:99{number:04d}"
    row = {
        "id": f"patient {number}",
        "pmid": f"PMID:{number}",
        "disease_id": disease,
        "gene": f"GENE{number % 2}",
        "observed": ["HP:9900010", "HP:9900020"],
        "excluded": ["HP:9900030"],
    }
    return row | changed


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))
    return path


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which disease 3 is annotated from one of the patients' own publications, and by a frequency."""
    folder = write_small(tmp_path / "data")
    with (folder / "phenotype.hpoa").open("a", encoding="utf-8") as file:
        file.write(toy.row("OMIM:990003", "Disease 3", "", "HP:9900040", "3/4", "P").replace("PMID:990", CITED) + "\n")
        file.write(toy.row("OMIM:990003", "Disease 3", "NOT", "HP:9900041", "", "P") + "\n")
    rows = [
        patient(3, pmid=CITED),
        patient(3, id="other paper", pmid="PMID:9"),
        patient(5, pmid=CITED),  # cited, but of another disease
        patient(6, disease_id="OMIM:123456"),
        patient(7, observed=["HP:0000001", "HP:1234567", "HP:9900010"]),
        patient(8, observed=["HP:1234567"]),
    ]
    write(folder / "medicine" / "store.jsonl.gz", rows)
    monkeypatch.setenv("SMA_GPU_DATA", str(folder))
    return folder


def test_who_leaks_is_told_by_the_annotations(data: Path) -> None:
    free, leaked = load("patients/leak-free"), load("patients/leaked")
    assert [one.id for one in free.questions] == ["other paper", "patient 5", "patient 7"]
    assert [one.id for one in leaked.questions] == ["patient 3"]
    assert {one.slices for one in free.questions} == {("leak-free",)} and leaked.questions[0].slices == ("leaked",)
    assert free.questions[0].gold == ("OMIM:990003",)
    assert (free.questions[0].cluster, free.questions[0].group) == ("OMIM:990003", "PMID:9")
    assert free.counts["queries whose disease has no annotations here"] == 1
    assert free.counts["queries without a known term"] == 1
    assert free.counts["observed ids without a term in the ontology"] == 2


def test_a_disease_without_annotations_is_novel(data: Path) -> None:
    every = load("patients/all")
    novel = [one for one in every.questions if not one.gold]
    assert [one.id for one in novel] == ["patient 6"] and novel[0].slices == ()
    assert novel[0].cluster == "OMIM:123456"


def test_items_carry_what_the_annotations_say_and_texts_name_no_id(data: Path) -> None:
    task = load("patients/leak-free")
    item = next(item for item in task.items if item.key == "OMIM:990003")
    assert item.frequencies == {"HP:9900040": 0.75} and item.excluded == ("HP:9900041",)
    assert len(item.term_ids) in (6, 7) and "HP:9900041" not in item.term_ids
    assert item.text.startswith("Disease 3: ") and "sign " in item.text and "HP:" not in item.text
    query = task.questions[0].query
    assert (query.term_ids, query.excluded) == (("HP:9900010", "HP:9900020"), ("HP:9900030",))
    assert query.text == "sign 12, sign 22"  # nothing of the disease


def test_only_omim_takes_a_place_and_twins_are_one(data: Path) -> None:
    hpoa = data / "phenotype.hpoa"
    with hpoa.open("a", encoding="utf-8") as file:
        file.write(toy.row("ORPHA:3", "Disease 3", "", "HP:9900040", "", "P") + "\n")
    before = load("patients/leak-free")
    assert "ORPHA:3" not in before.rules["omim"] and "OMIM:990003" in before.rules["omim"]
    assert "merged" not in before.rules and "Rule merged is absent" in before.words
    lines = ["subject_id\tpredicate_id\tobject_id\tmapping_justification"]
    lines += [f"MONDO:1\tskos:exactMatch\t{key}\tsemapv:ManualMappingCuration" for key in ("OMIM:990003", "Orphanet:3")]
    (data / "medicine" / "mondo.sssom.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    merged = load("patients/leak-free").rules["merged"]
    assert merged["ORPHA:3"] == merged["OMIM:990003"] != merged["OMIM:990004"]
    assert merged.keys() == {item.key for item in before.items}


def test_any_disease_of_a_gene_is_right(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [patient(3, corpus="phen2gene", disease_id=None), patient(4, corpus="phen2gene", gene="UNKNOWN")]
    write(data / "medicine" / "corpora.jsonl.gz", [*rows, patient(5, corpus="lirical")])
    lines = ["ncbi_gene_id\tgene_symbol\tdisease_id", *(f"{1 + n % 2}\tGENE{n % 2}\tOMIM:99{n:04d}" for n in range(4))]
    (data / "medicine" / "genes_to_disease.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = load("pheval/phen2gene")
    assert [(one.id, one.gold, one.cluster) for one in task.questions] == [
        ("patient 3", ("OMIM:990001", "OMIM:990003"), "GENE1")
    ]
    assert task.counts["queries whose gene has no disease here"] == 1
    assert [one.id for one in load("pheval/lirical-leak-free").questions] == ["patient 5"]


def test_another_file_of_the_same_shape_is_taken(data: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "held out.jsonl.gz", [patient(9), patient(10)])
    assert [one.id for one in load(f"patients/leak-free@{other}").questions] == ["patient 9", "patient 10"]
    write(data / "medicine" / "a.jsonl.gz", [patient(11)])
    several = load("patients/leak-free")
    assert [one.id for one in several.questions] == ["patient 11"]
    assert "Of several such files a.jsonl.gz is used, not store.jsonl.gz." in several.words
    assert len(load("patients/leak-free@store.jsonl.gz").questions) == 3


@pytest.mark.parametrize(
    "line, found",
    [
        (json.dumps(patient(1, observed="HP:9900010")), "line 2: observed is no list of texts"),
        (json.dumps(patient(1, pmid=7)), "line 2: pmid is no text"),
        ("{", "line 2: it is no JSON"),
        ("[]", "line 2: it is no object"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(data: Path, line: str, found: str) -> None:
    (data / "broken.jsonl").write_text(json.dumps(patient(1)) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(ParseError, match=found) as fault:
        load(f"patients/leak-free@{data / 'broken.jsonl'}")
    assert fault.value.line == 2


def test_files_that_do_not_serve_are_told(data: Path, tmp_path: Path) -> None:
    assert available("patients/leak-free") == ""
    other = write(tmp_path / "other.jsonl.gz", [{"id": "x"}])
    assert "its first line has not the fields of one" in available(f"patients/leak-free@{other}")
    assert "no file of the data folders is called so" in available("patients/leak-free@nowhere.jsonl.gz")
    assert "no file of the data folders has lines with" in available("patients/ddg2p")
    with pytest.raises(DataMissing, match="Put one into medicine/"):
        load("patients/ddg2p")
    with pytest.raises(QueryError, match="takes no file"):
        load("published/medicine@store.jsonl.gz")
    strangers = write(tmp_path / "strangers.jsonl.gz", [patient(1, disease_id="OMIM:7")])
    with pytest.raises(DataMissing, match="none of the 1 lines"):
        load(f"patients/leak-free@{strangers}")


def test_a_task_is_the_same_under_any_hash_seed(data: Path) -> None:
    program = (
        "import hashlib; from sma_gpu.bench.tasks.registry import load; t = load('patients/all'); "
        "print(hashlib.sha256(repr((t.items, t.questions, t.rules, t.counts, t.words)).encode()).hexdigest())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1 and len(told.pop()) == 65
