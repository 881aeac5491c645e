"""Results for PhEval: the tables, and the runner, with PhEval itself where it is installed."""

from __future__ import annotations

import importlib
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import toy

from sma_gpu import Dials, open_engine
from sma_gpu.answers import pheval_runner
from sma_gpu.answers.pheval import DISEASE_COLUMNS, GENE_COLUMNS, pheval_text, result_stems, write_pheval
from sma_gpu.answers.pheval_runner import rank_corpus, read_options
from sma_gpu.cli import main
from sma_gpu.errors import DataMissing, QueryError
from sma_gpu.ontologies.records.patients import read_patients

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = toy.write(tmp_path_factory.mktemp("toy"))
    rows = "MONDO:1\tskos:exactMatch\tOMIM:990001\nMONDO:1\tskos:exactMatch\tOrphanet:990003\n"
    (made / "twins.tsv").write_text("subject_id\tpredicate_id\tobject_id\n" + rows, encoding="utf-8")
    genes = "ncbi_gene_id\tgene_symbol\tdisease_id\n7\tTOYB\tOMIM:990001\n5\tTOYA\tOMIM:990001\n9\tTOYC\tOMIM:990004\n"
    (made / "genes.txt").write_text(genes, encoding="utf-8")
    return made


def packet(key: str, observed: list[str], disease: str = "OMIM:990001", gene: str = "TOYA") -> dict[str, Any]:
    diagnosis = {
        "disease": {"id": disease, "label": "toy"},
        "genomicInterpretations": [
            {
                "subjectOrBiosampleId": "p",
                "interpretationStatus": "CAUSATIVE",
                "gene": {"valueId": "ENSG1", "symbol": gene},
            }
        ],
    }
    return {
        "id": key,
        "subject": {"id": "p"},
        "phenotypicFeatures": [{"type": {"id": term, "label": "sign"}} for term in observed],
        "interpretations": [{"id": "i", "progressStatus": "SOLVED", "diagnosis": diagnosis}],
        "diseases": [{"term": {"id": disease, "label": "toy"}}],
        "metaData": {"created": "2026-01-01T00:00:00Z", "createdBy": "toy", "phenopacketSchemaVersion": "2.0"},
    }


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("corpus")
    (made / "phenopackets").mkdir()
    for stem, found in {
        "PMID_1_one": packet("one", LONG),
        "PMID_2_none": packet("two", ["HP:0000118"], "OMIM:990002", "TOYC"),
        "PMID_3_eye": packet("three", ["HP:9920100", "HP:9920200"], "OMIM:990004", "TOYC"),
    }.items():
        (made / "phenopackets" / f"{stem}.json").write_text(json.dumps(found), encoding="utf-8")
    return made


def rows(text: str) -> list[dict[str, str]]:
    head, *lines = text.rstrip("\n").split("\n")
    return [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]


def test_diseases(folder: Path) -> None:
    answer = open_engine(str(folder), Dials()).query(LONG, k=4)
    text = pheval_text(answer)
    assert text.split("\n")[0].split("\t") == list(DISEASE_COLUMNS)
    for row, hit in zip(rows(text), answer["hits"], strict=True):
        assert (int(row["rank"]), int(row["rank_merged"])) == (hit["rank"], hit["rank_merged"])
        assert float(row["score"]) == hit["normalised"]
        assert (row["disease_identifier"], row["disease_name"]) == (hit["key"], hit["name"])
    assert [row["grouping_id"] for row in rows(text)][:3] == ["MONDO:1", "MONDO:1", "OMIM:990004"]
    assert [row["rank_merged"] for row in rows(text)][:3] == ["1", "1", "2"]


def test_genes(folder: Path) -> None:
    text = pheval_text(open_engine(str(folder), by="gene").query(LONG, k=3))
    assert text.split("\n")[0].split("\t") == list(GENE_COLUMNS)
    found = rows(text)
    assert [(r["gene_symbol"], r["gene_identifier"], r["disease_identifier"]) for r in found] == [
        ("TOYA", "NCBIGene:5", "OMIM:990001"),
        ("TOYB", "NCBIGene:7", "OMIM:990001"),
        ("TOYC", "NCBIGene:9", "OMIM:990004"),
    ]
    assert found[0]["score"] == found[1]["score"] > found[2]["score"]


def test_a_score_never_rises_and_names_hold_no_tabs() -> None:
    def hit(key: str, score: float) -> dict[str, Any]:
        return {"rank": 1, "rank_merged": 1, "normalised": score, "key": key, "name": "a\tb\nc"}

    answer = {"records": {"entity": "disease"}, "hits": [hit("A:1", 0.5), hit("A:2", 0.6), hit("A:3", 0.1)]}
    assert [row["score"] for row in rows(pheval_text(answer))] == ["0.5", "0.5", "0.1"]
    assert {row["disease_name"] for row in rows(pheval_text(answer))} == {"a b c"}


def test_an_answer_without_hits_has_a_head_alone(folder: Path) -> None:
    assert pheval_text(open_engine(str(folder)).query(["HP:0000118"])) == "\t".join(DISEASE_COLUMNS) + "\n"
    assert pheval_text(open_engine(str(folder), by="gene").query(["HP:0000118"])) == "\t".join(GENE_COLUMNS) + "\n"


def test_only_diseases() -> None:
    with pytest.raises(QueryError, match="not about diseases"):
        pheval_text({"records": {"entity": "group"}, "hits": []})


def test_tables_of_a_corpus(folder: Path, corpus: Path, tmp_path: Path) -> None:
    options = read_options({"domain": str(folder), "k": 3})
    assert rank_corpus(corpus, tmp_path, options, genes=True) == {}
    raw = tmp_path / "raw_results"
    assert sorted(path.name for path in raw.iterdir()) == [
        f"{stem}-{kind}.tsv" for stem in ("PMID_1_one", "PMID_2_none", "PMID_3_eye") for kind in ("disease", "gene")
    ]
    single = open_engine(str(folder)).query(LONG, k=3)
    assert (raw / "PMID_1_one-disease.tsv").read_text(encoding="utf-8") == pheval_text(single)


def test_a_failed_record_has_no_table(folder: Path, tmp_path: Path) -> None:
    packets, out = tmp_path / "packets", tmp_path / "out"
    packets.mkdir()
    (packets / "good.json").write_text(json.dumps(packet("good", LONG)), encoding="utf-8")
    (packets / "bad.json").write_text(json.dumps({**packet("bad", LONG), "phenotypicFeatures": 7}), encoding="utf-8")
    (out / "raw_results").mkdir(parents=True)
    (out / "raw_results" / "bad-disease.tsv").write_text("of an earlier run", encoding="utf-8")
    failed = rank_corpus(packets, out, read_options({"domain": str(folder)}))
    assert list(failed) == ["bad.json"]
    assert [path.name for path in (out / "raw_results").iterdir()] == ["good-disease.tsv"]


def test_records_by_id(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "observed": ["HP:9910110"]}\n{"id": "b/c", "observed": []}\n', encoding="utf-8")
    with pytest.raises(QueryError, match="can be no file name"):
        result_stems(read_patients(str(path)))
    path.write_text('{"id": "a.1", "observed": ["HP:9910110"]}\n', encoding="utf-8")
    given = read_patients(str(path))
    assert result_stems(given) == ["a.1"]
    (line,) = write_pheval(open_engine(str(folder)), given, 2, tmp_path / "out")
    assert line["id"] == "a.1"
    assert (tmp_path / "out" / "raw_results" / "a.1-disease.tsv").read_text(encoding="utf-8") == pheval_text(line)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"depth": 1}, "there is none of this name"),
        ({"k": "ten"}, "is not of type int"),
        ({"k": True}, "is not of type int"),
        ({"inheritance": "HP:1"}, "not a list of texts"),
        ({"without_sources": [1]}, "not a list of texts"),
        (["k"], "they are a list"),
    ],
)
def test_wrong_options_are_refused(given: object, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        read_options(given)


def test_options_have_defaults() -> None:
    assert (
        read_options(None)
        == read_options({})
        == {name: default for name, (_, default) in pheval_runner.OPTIONS.items()}
    )
    assert read_options({"k": 7})["k"] == 7


def test_the_runner_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pheval_runner._runner_class.cache_clear()
    monkeypatch.setitem(sys.modules, "pheval", None)
    for name in [n for n in sys.modules if n.startswith("pheval.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(DataMissing, match="pip install"):
        _ = pheval_runner.SmaGpuPhEvalRunner
    with pytest.raises(AttributeError):
        _ = pheval_runner.Nothing
    pheval_runner._runner_class.cache_clear()


class _Frame:
    """What the runner uses of a polars frame."""

    def __init__(self, found: list[dict[str, str]]) -> None:
        self.found = found

    def select(self, columns: tuple[str, ...]) -> list[dict[str, str]]:
        return [{name: row[name] for name in columns} for row in self.found]


def stand_ins(monkeypatch: pytest.MonkeyPatch, calls: list[dict[str, Any]]) -> None:
    """Puts modules of the shape of PhEval's in its place, so far as the runner uses them."""
    made: dict[str, Any] = {
        name: ModuleType(name)
        for name in ("polars", "pheval", "pheval.post_processing", "pheval.post_processing.post_processing",
                     "pheval.runners", "pheval.runners.runner", "pheval.utils", "pheval.utils.logger")
    }  # fmt: skip
    made["polars"].Float64, made["polars"].String = float, str
    made["polars"].read_csv = lambda path, **_: _Frame(rows(Path(path).read_text(encoding="utf-8")))

    class SortOrder:
        DESCENDING = "down"

    class PhEvalRunner:
        def __init__(self, config: Any, testdata_dir: Path, output_dir: Path) -> None:
            self.input_dir_config, self.testdata_dir, self.output_dir = config, testdata_dir, output_dir

    post = made["pheval.post_processing.post_processing"]
    post.SortOrder = SortOrder
    post.generate_disease_result = lambda **given: calls.append({"kind": "disease", **given})
    post.generate_gene_result = lambda **given: calls.append({"kind": "gene", **given})
    made["pheval.runners.runner"].PhEvalRunner = PhEvalRunner
    made["pheval.utils.logger"].get_logger = lambda: None
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)


class _Config:
    variant_analysis = False
    disease_analysis = True
    gene_analysis = True

    def __init__(self, options: dict[str, Any]) -> None:
        self.tool_specific_configuration_options = options


def test_the_runner_hands_its_tables_over(
    folder: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []
    stand_ins(monkeypatch, calls)
    pheval_runner._runner_class.cache_clear()
    try:
        runner = pheval_runner.SmaGpuPhEvalRunner(_Config({"domain": str(folder), "k": 3}), corpus, tmp_path)
        runner.prepare()
        runner.run()
        runner.post_process()
        assert [(c["kind"], c["result_path"].name) for c in calls] == [
            (kind, f"{stem}.json")
            for kind in ("disease", "gene")
            for stem in ("PMID_1_one", "PMID_2_none", "PMID_3_eye")
        ]
        assert all(c["sort_order"] == "down" and c["phenopacket_dir"] == corpus / "phenopackets" for c in calls)
        assert [set(row) for row in calls[0]["results"]] == [{"disease_identifier", "score"}] * 3
        assert set(calls[3]["results"][0]) == {"gene_symbol", "gene_identifier", "score"}
        assert calls[1]["results"] == []
        wrong = _Config({})
        wrong.variant_analysis = True
        with pytest.raises(QueryError, match="only diseases and genes"):
            pheval_runner.SmaGpuPhEvalRunner(wrong, corpus, tmp_path).prepare()
    finally:
        pheval_runner._runner_class.cache_clear()


def test_the_command_line(folder: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", str(folder), *LONG, "-f", "pheval", "-k", "3"]) == 0
    assert capsys.readouterr().out == pheval_text(open_engine(str(folder)).query(LONG, k=3))
    packets, out = corpus / "phenopackets", tmp_path / "run"
    assert main(["batch", str(folder), str(packets), "-f", "pheval", "-k", "3", "-o", str(out)]) == 0
    assert "3 records: 1 abstained, 0 failed" in capsys.readouterr().err
    assert main(["batch", str(folder), str(packets), "-f", "pheval", "--by", "gene", "-o", str(out)]) == 0
    assert len(list((out / "raw_results").iterdir())) == 6
    for words in (
        ["-f", "pheval"],
        ["-f", "pheval,tsv", "-o", str(out)],
        ["-f", "pheval", "-o", str(out), "--compare", str(out / "old.jsonl")],
        ["-f", "pheval", "-o", str(packets / "x")],
    ):
        assert main(["batch", str(folder), str(packets), *words]) == 2
    assert not (packets / "x").exists()


@pytest.mark.oracle
def test_with_pheval_itself(folder: Path, corpus: Path, tmp_path: Path) -> None:
    if find_spec("pheval") is None or find_spec("class_resolver") is None:
        pytest.skip("PhEval is not installed")
    polars = importlib.import_module("polars")
    pheval_runner._runner_class.cache_clear()
    given, out = tmp_path / "in", tmp_path / "out"
    given.mkdir()
    out.mkdir()
    (given / "config.yaml").write_text(
        "tool: sma_gpu\ntool_version: '1'\nvariant_analysis: false\ngene_analysis: true\ndisease_analysis: true\n"
        f"tool_specific_configuration_options:\n  domain: {folder}\n  k: 3\n",
        encoding="utf-8",
    )
    runner = pheval_runner.SmaGpuPhEvalRunner(given, corpus, tmp_path, out, None, "1")
    runner.build_output_directory_structure()
    runner.prepare()
    runner.run()
    runner.post_process()
    assert runner.construct_meta_data().tool == "sma_gpu"

    def results(kind: str, stem: str) -> list[dict[str, Any]]:
        path = out / f"pheval_{kind}_results" / f"{stem}-{kind}_result.parquet"
        found: list[dict[str, Any]] = polars.read_parquet(path).to_dicts()
        return found

    ours = rows((out / "raw_results" / "PMID_1_one-disease.tsv").read_text(encoding="utf-8"))
    theirs = results("disease", "PMID_1_one")
    assert [(r["disease_identifier"], r["score"]) for r in theirs] == [
        (r["disease_identifier"], float(r["score"])) for r in ours
    ]
    assert [r["rank"] for r in theirs] == [2, 2, 3]  # two with one score: each has the last of their places
    assert [r["disease_identifier"] for r in theirs if r["true_positive"]] == ["OMIM:990001"]
    assert [(r["rank"], r["true_positive"]) for r in results("disease", "PMID_2_none")] == [(0, True)]
    genes = results("gene", "PMID_3_eye")
    assert [r["gene_symbol"] for r in genes if r["true_positive"]] == ["TOYC"]
    assert next(r for r in genes if r["true_positive"])["rank"] == 1
