"""The command line over the domains genomics and legal: on the bundled samples, and on files that the user has."""

from __future__ import annotations

import json
import lzma
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sma_gpu.answers
import sma_gpu.ontologies.locate
from sma_gpu import open_engine
from sma_gpu.cli import main
from sma_gpu.ontologies.domains import domain_files
from sma_gpu.ontologies.locate import SAMPLE, locate
from sma_gpu.ontologies.manifest import manifests

SCHEMA = json.loads((Path(sma_gpu.answers.__file__).parent / "answer-1.schema.json").read_text(encoding="utf-8"))
SAMPLES = Path(sma_gpu.ontologies.locate.__file__).parent / "samples"


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, SCHEMA)
    return answer


def test_genes_are_ranked_by_their_terms_and_the_sample_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "query", "genomics", "GO:0031720", "GO:0005833", "--dials", "ic")
    assert [hit["name"] for hit in answer["hits"][:2]] == ["HBB", "HBA1"]
    first = answer["hits"][0]
    assert first["key"] == "UniProtKB:P68871"
    assert first["attributes"]["symbol"] == ["HBB"]
    assert first["attributes"]["title"] == ["Hemoglobin subunit beta"]
    assert first["mapping"][0]["evidence"]["codes"]
    marked = [note for note in answer["notes"] if "small bundled sample" in note]
    assert len(marked) == 1
    for part in ("goa_human.gaf.gz", "go.obo", "SMA_GPU_DATA"):
        assert part in marked[0]
    assert main(["query", "genomics", "GO:0031720"]) == 0
    assert "Note: this is an answer on a small bundled sample" in capsys.readouterr().out


def test_a_gene_is_named_by_symbol_accession_or_key(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("HBB", "P68871", "UniProtKB:P68871"):
        answer = asked(capsys, "query", "genomics", "--like", name, "-k", "1")
        assert answer["hits"][0]["name"] == "HBA1"
    assert main(["explain", "genomics", "HBA1", "GO:0031720"]) == 0
    assert "UniProtKB:P69905 HBA1: rank" in capsys.readouterr().out
    assert main(["explain", "genomics", "hba1", "GO:0031720"]) == 2


def test_patents_are_ranked_by_symbols_written_as_in_the_field(capsys: pytest.CaptureFixture[str]) -> None:
    plain = asked(capsys, "query", "legal", "G06F3/0412", "H04B1/38")
    for words in (
        ["G06F", "3/0412", "H04B", "1/38"],
        ["G06F 3/0412 (2013.01); H04B1/38"],
        ["g06f0003041200", "H04B0001380000"],
    ):
        answer = asked(capsys, "query", "legal", *words)
        assert answer["hits"] == plain["hits"]
        assert {entry["used"] for entry in answer["query"]["changed"]} == {"G06F3/0412", "H04B1/38"}
    assert not plain["query"]["changed"]
    assert plain["paths"]["G06F3/0412"] == [
        "G", "G06", "G06F", "G06F3/00", "G06F3/01", "G06F3/03", "G06F3/041", "G06F3/0412",
    ]  # fmt: skip
    assert plain["names"]["G06F"] == "ELECTRIC DIGITAL DATA PROCESSING"
    assert set(plain["paths"]) <= set(plain["names"])


def test_the_way_to_each_shared_symbol_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "legal", "G06F3/0412"]) == 0
    out = capsys.readouterr().out
    tree = out.partition("where it stands:\n")[2].split("\n")
    assert [line.split()[0] for line in tree[:8]] == [
        "G", "G06", "G06F", "G06F3/00", "G06F3/01", "G06F3/03", "G06F3/041", "G06F3/0412",
    ]  # fmt: skip
    assert [len(line) - len(line.lstrip()) for line in tree[:8]] == list(range(2, 18, 2))
    assert "small bundled sample" in out


def test_what_nobody_can_read_is_left_out_with_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "query", "legal", "G06F3/0412", "G06F 3/", "H99Z1/00")
    assert [entry["asked"] for entry in answer["query"]["left_out"]] == ["G06F 3/", "H99Z1/00"]
    assert main(["query", "legal", "G06F3/0412", "H99Z1/00", "--strict-input"]) == 2


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of both domains, under names that say nothing."""
    for domain in ("genomics", "legal"):
        (tmp_path / domain).mkdir()
        for number, path in enumerate(sorted((SAMPLES / domain).iterdir())):
            if path.suffix != ".md":
                (tmp_path / domain / f"file-{number}").write_bytes(lzma.decompress(path.read_bytes()))
    monkeypatch.setenv("SMA_GPU_DATA", str(tmp_path))
    return tmp_path


def test_files_of_the_user_are_found_by_content(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for domain, term in (("genomics", "GO:0031720"), ("legal", "G06F3/0412")):
        answer = asked(capsys, "query", domain, term)
        assert answer["hits"]
        assert not any("bundled sample" in note for note in answer["notes"])
    manifest, files = domain_files(str(data / "legal"))
    assert (manifest.domain, files.ontology.version) == ("legal", "2025-05-01")


def test_evidence_is_a_kind_of_records(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gaf = next(p for p in (data / "genomics").iterdir() if p.read_bytes().startswith(b"!gaf"))
    kept = re.compile("!|UniProtKB\t[^\t]+\t(HBB|ALB|F9)\t")
    lines = [line for line in gaf.read_text(encoding="utf-8").split("\n") if kept.match(line)]
    cells = lines[-1].split("\t")
    for product, code in (("X1", "IEA"), ("X2", "TAS")):
        lines.append("\t".join([cells[0], product, product, "", "GO:0031720", "PMID:1", code, *cells[7:]]))
    gaf.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = {
        kind: asked(capsys, "query", "genomics", "GO:0031720", "--kind", kind)["records"]["cases"]
        for kind in ("all", "no-iea", "experimental")
    }
    assert found == {"all": 5, "no-iea": 4, "experimental": 3}
    assert main(["query", "genomics", "GO:0031720", "--kind", "guessed"]) == 2
    assert "all, experimental, no-iea" in capsys.readouterr().err
    where = asked(capsys, "query", "genomics", "GO:0031720", "--where", "evidence=TAS")
    stated = {line.split("\t")[2] for line in lines if line[0] != "!" and line.split("\t")[6] == "TAS"}
    names = {hit["name"] for hit in where["hits"]}
    assert "X2" in names <= stated
    assert "X1" not in stated


def test_records_without_their_ontology_are_not_answered_on_half_a_sample(data: Path) -> None:
    for path in (data / "genomics").iterdir():
        if path.read_bytes().startswith(b"format-version"):
            path.unlink()
    assert main(["query", "genomics", "GO:0031720"]) == 3
    files = locate(manifests()["legal"])
    assert SAMPLE not in (files.ontology.origin, files.records.origin)


def test_questions_with_answers_are_no_records(data: Path) -> None:
    questions = data / "legal" / "a-first-by-name.jsonl"
    questions.write_text('{"id": "US1", "cpc": ["G06F3/0412"], "gold": ["US2"]}\n', encoding="utf-8")
    assert locate(manifests()["legal"]).records.path != questions


def test_files_of_one_release_are_told_apart_by_name(data: Path) -> None:
    gaf = next(p for p in (data / "genomics").iterdir() if p.read_bytes().startswith(b"!gaf"))
    shutil.copy(gaf, data / "genomics" / "another")
    (note,) = locate(manifests()["genomics"]).notes
    assert "another of 2019-01-14 is used, not file-" in note


def test_a_query_from_python() -> None:
    engine = open_engine("legal")
    encoded = engine.encode(["g06f 3/0412", "G06F3/0412"], ["H04B 1/38"])
    assert engine.ids(encoded.present) == ["G06F3/0412"]
    assert engine.ids(encoded.excluded) == ["H04B1/38"]
    assert [change.asked for change in encoded.changed] == ["g06f 3/0412", "H04B 1/38"]


@pytest.mark.parametrize("domain", [m.domain for m in manifests().values() if m.records.sample])
def test_a_sample_answers_the_terms_that_its_note_names(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    terms = manifests()[domain].example
    answer = asked(capsys, "query", domain, *terms.split())
    assert answer["hits"]
    assert answer["query"]["left_out"] == []
    assert any(terms in note for note in answer["notes"] if "small bundled sample" in note)


def test_a_record_that_stands_in_the_place_of_a_term_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("HBB", "UniProtKB:P68871"):
        (entry,) = asked(capsys, "query", "genomics", name)["query"]["left_out"]
        assert f"It names a gene product: --like {name} ranks those like it." in entry["why"]
    (entry,) = asked(capsys, "query", "genomics", "GO:9999999")["query"]["left_out"]
    assert "--like" not in entry["why"]


def test_a_symbol_that_was_moved_is_asked_by_its_place_of_today(capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "query", "legal", "G06F 17/30")
    (change,) = answer["query"]["changed"]
    assert (change["asked"], change["used"]) == ("G06F 17/30", "G06F16/00")
    assert change["why"].startswith("G06F17/30 was moved to G06F16/00 Information retrieval")
    assert [u["term"] for u in answer["query"]["used"]] == ["G06F16/00"]


@pytest.mark.parametrize(
    ("domain", "terms"),
    [
        ("genomics", ["GO:0006915", "GO:0005634", "GO:0003677", "GO:0006281", "GO:0016301", "GO:0045944"]),
        ("legal", ["H04L9/00", "G06F17/30", "G06F3/041", "H04W72/04", "H01M10/0525", "A61B5/00", "Y02E60/10"]),
        ("finance", ["Revenues", "us-gaap:Liabilities", "Assets", "Goodwill", "NetIncomeLoss", "SalesRevenueNet"]),
    ],
)
def test_a_sample_knows_what_people_ask_first(
    domain: str, terms: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for term in terms:
        answer = asked(capsys, "query", domain, term, "-k", "1")
        assert not answer["query"]["left_out"], term
        assert answer["hits"], term


def test_samples_are_small_and_say_whose_they_are() -> None:
    for path in SAMPLES.glob("*/*"):
        assert path.stat().st_size < 50_000, path
    for domain in ("genomics", "legal", "finance"):
        assert "https://" in (SAMPLES / domain / "README.md").read_text(encoding="utf-8")
