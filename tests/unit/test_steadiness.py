"""Stability in answers: fields, words, columns, batches that go on, and rankings of some records, groups or genes."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import toy

from sma_gpu import CaseBatch, Engine, open_engine
from sma_gpu.answers.batch import write_batch
from sma_gpu.answers.steadiness import steadiness_lines
from sma_gpu.answers.text import query_text
from sma_gpu.cli import main
from sma_gpu.errors import FingerprintMismatch, QueryError
from sma_gpu.ontologies.records.patients import read_patients
from sma_gpu.ops import Ops, choose
from sma_gpu.trust.stability import stability_of

SCHEMA = json.loads((files("sma_gpu.answers") / "answer-1.schema.json").read_text())
LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
MIXED = ["HP:9910100", "HP:9920200", "HP:9930100"]  # no disease has all of them


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(toy.write(tmp_path / "data"))


@pytest.fixture
def engine(folder: str) -> Engine:
    return open_engine(folder)


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    jsonschema.validate(answer, SCHEMA)
    return answer


def without(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns an answer without what reruns say."""
    left = {name: value for name, value in answer.items() if name != "stability"}
    return left | {
        "hits": [{n: v for n, v in hit.items() if n not in ("stability", "not_separable")} for hit in answer["hits"]]
    }


def test_fields_are_those_of_the_arrays_and_nothing_else_changes(engine: Engine) -> None:
    plain = engine.query(LONG, ["HP:9920200"], k=9)
    answer = valid(engine.query(LONG, ["HP:9920200"], k=9, stability=9, seed=5))
    fewer = engine.query(LONG, ["HP:9920200"], k=1, stability=9, seed=5)
    assert fewer["hits"] == answer["hits"][:1]
    assert "stability" not in plain
    assert without(answer) == plain
    encoded = engine.encode(LONG, ["HP:9920200"])
    batch = CaseBatch.from_functors([""], [encoded.present], [encoded.excluded])
    cases = np.array([[engine.index.number_of(hit["key"]) for hit in answer["hits"]]], np.int32)
    found = stability_of(engine.index, batch, cases, runs=9, seed=5)
    told = answer["stability"]
    assert told == {"asked": 9, "runs": int(found.runs[0]), "seed": 5, "kinds": told["kinds"]}
    assert list(told["kinds"].items()) == list(zip(("drop", "climb", "add"), found.kinds[0].tolist(), strict=True))
    for place, hit in enumerate(answer["hits"]):
        assert hit["stability"] == {
            "runs": told["runs"],
            "top1": found.first_share[0, place],
            "top5": found.first_five_share[0, place],
            "best": found.best[0, place],
            "worst": found.worst[0, place],
            "unranked": told["runs"] - found.ranked[0, place],
        }
        others = [answer["hits"][i]["key"] for i in np.flatnonzero(found.separability.reorders[0, place]).tolist()]
        assert hit["not_separable"] == others
    twins = {hit["key"]: hit["not_separable"] for hit in answer["hits"]}
    assert "ORPHA:990003" in twins["OMIM:990001"]  # they tie
    assert "OMIM:990001" in twins["ORPHA:990003"]


def test_answers_without_hits_say_that_nothing_was_rerun(engine: Engine) -> None:
    for observed in ([], ["HP:0000001"], ["HP:9999999"]):
        answer = valid(engine.query(observed, stability=4))
        assert answer["abstained"]
        assert answer["stability"] == {
            "asked": 4, "runs": 0, "seed": 0, "kinds": {"drop": 0, "climb": 0, "add": 0}
        }  # fmt: skip
        assert "stability" not in engine.query(observed)


def test_ranks_are_among_the_records_that_can_be_hits(engine: Engine) -> None:
    key = "OMIM:990005"  # explains one term of three
    everywhere = valid(engine.query(LONG, k=9, stability=12))
    among = valid(engine.query(LONG, k=9, stability=12, among=[key]))
    assert among["stability"] == everywhere["stability"]
    whole = next(hit["stability"] for hit in everywhere["hits"] if hit["key"] == key)
    alone = among["hits"][0]["stability"]
    assert whole["worst"] > 1
    assert (alone["best"], alone["worst"], alone["unranked"]) == (1, 1, whole["unranked"])
    assert alone["top1"] == 1 - alone["unranked"] / alone["runs"]
    like = valid(engine.like("OMIM:990001", k=9, stability=6))
    assert like["hits"][0]["stability"]["best"] == 1  # its twin; it is itself no hit


@pytest.mark.parametrize("ranks", [{"merge": True}, {"by": "gene"}])
def test_a_group_or_a_gene_is_as_steady_as_the_record_it_stands_at(folder: str, ranks: dict[str, Any]) -> None:
    twins = "subject_id\tpredicate_id\tobject_id\n"
    twins += "".join(f"M:1\tskos:exactMatch\t{key}\n" for key in ("OMIM:990001", "ORPHA:990003"))
    (Path(folder) / "twins.sssom.tsv").write_text(twins, encoding="utf-8")
    genes = "ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id\n"
    genes += "".join(f"{i}\tG{i}\tHP:9920100\tsign\t-\t{key}\n" for i, key in enumerate(("OMIM:990002", "OMIM:990004")))
    (Path(folder) / "genes.txt").write_text(genes, encoding="utf-8")
    whole = {hit["key"]: hit for hit in open_engine(folder).query(MIXED, k=9, stability=9)["hits"]}
    answer = valid(open_engine(folder, **ranks).query(MIXED, k=9, stability=9))
    shown = {hit["key"] for hit in answer["hits"]}
    assert shown
    assert shown < whole.keys()
    for hit in answer["hits"]:
        assert hit["stability"] == whole[hit["key"]]["stability"]
        assert hit["not_separable"] == whole[hit["key"]]["not_separable"]


def test_an_explained_record_is_told_the_same_and_held_against_the_best(engine: Engine) -> None:
    whole = engine.query(LONG, k=9, stability=7, seed=2)
    for hit in whole["hits"]:
        answer = valid(engine.explain(hit["key"], LONG, stability=7, seed=2))
        assert answer["stability"] == whole["stability"]
        assert answer["hits"][0]["stability"] == hit["stability"]
        assert answer["hits"][0]["not_separable"] == hit["not_separable"]
    assert "stability" not in engine.explain("OMIM:990001", LONG)["hits"][0]
    assert valid(engine.explain("OMIM:990001", ["HP:9999999"], stability=7))["stability"]["runs"] == 0


def test_a_batch_answers_as_single_queries_do_and_goes_on_under_the_same_reruns_alone(
    engine: Engine, tmp_path: Path
) -> None:
    lines, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    queries = [LONG, LONG[:1], [], ["HP:9910000", "HP:9920100"]]
    lines.write_text("".join(json.dumps({"id": f"p{i}", "observed": q}) + "\n" for i, q in enumerate(queries)))
    given = read_patients(str(lines))
    write_batch(engine, given, 3, out, stability=5, seed=1)
    rows = [valid(json.loads(line)) for line in out.read_text().splitlines()]
    assert rows == [engine.query(query, k=3, query_id=f"p{i}", stability=5, seed=1) for i, query in enumerate(queries)]
    assert write_batch(engine, given, 3, out, stability=5, seed=1).resumed == 4
    for field, other in (("stability", {"stability": 6, "seed": 1}), ("seed", {"stability": 5}), ("stability", {})):
        with pytest.raises(FingerprintMismatch) as refused:
            write_batch(engine, given, 3, out, **other)  # type: ignore[arg-type]
        assert refused.value.field == field


def test_what_is_no_number_of_reruns_is_refused(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ({"stability": -1}, {"stability": True}, {"stability": 1, "seed": -1}, {"seed": 0.5}):
        with pytest.raises(QueryError, match="must be a whole number"):
            engine.query(LONG, **wrong)  # type: ignore[arg-type]
    with pytest.raises(SystemExit):
        main(["query", "medicine", *LONG, "--stability", "-1"])
    assert "'-1' is not a whole number, 0 or more" in capsys.readouterr().err


def test_the_command_line_says_it_in_words_and_in_columns(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", folder, *MIXED, "--stability", "16", "--json"]) == 0
    answer = valid(json.loads(capsys.readouterr().out))
    assert main(["query", folder, *MIXED, "--stability", "16"]) == 0
    said = capsys.readouterr().out
    best = answer["hits"][0]
    first = round(best["stability"]["top1"] * answer["stability"]["runs"])
    assert 0 < first < answer["stability"]["runs"]
    assert f"first in {first} of {answer['stability']['runs']} reruns with one term changed; ranks 1 to" in said
    assert "one term at most tells it from ORPHA:990003" in said
    assert f"{best['stability']['top1']:.0%}" in next(line for line in said.splitlines() if best["key"] in line)
    assert main(["query", folder, *MIXED, "--stability", "16", "-f", "tsv"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert '# stability: {"asked":16,"seed":0}' in table
    head, row = (line.split("\t") for line in [line for line in table if not line.startswith("#")][:2])
    cells = dict(zip(head, row, strict=True))
    assert float(cells["stability_top1"]) == best["stability"]["top1"]
    assert int(cells["stability_worst"]) == best["stability"]["worst"]
    assert json.loads(cells["not_separable"]) == best["not_separable"]
    assert main(["query", folder, *MIXED]) == 0
    assert "rerun" not in capsys.readouterr().out


def test_a_batch_of_the_command_line(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_text(json.dumps({"id": "p", "observed": LONG}) + "\n")
    assert main(["batch", folder, str(lines), "--stability", "3", "--seed", "8"]) == 0
    answer = valid(json.loads(capsys.readouterr().out))
    assert answer == open_engine(folder).query(LONG, query_id="p", stability=3, seed=8)
    assert main(["batch", folder, str(lines), "--stability", "3", "-f", "pheval", "-o", str(tmp_path / "out")]) == 2
    assert "no columns for it" in capsys.readouterr().err
    assert main(["query", folder, *LONG, "--stability", "3", "-f", "pheval"]) == 2
    assert "no columns for it" in capsys.readouterr().err
    assert main(["explain", folder, "OMIM:990004", *LONG, "--stability", "3", "--json"]) == 0
    assert valid(json.loads(capsys.readouterr().out))["hits"][0]["stability"]["runs"] == 3


def test_the_bundled_sample_is_told_the_same_each_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    told = []
    for backend in ("reference", "auto"):
        words = ["query", "medicine", "HP:0001166", "HP:0001083", "--stability", "16", "--backend", backend, "--json"]
        assert main(words) == 0
        answer = valid(json.loads(capsys.readouterr().out))
        told.append([answer["stability"], *((hit["stability"], hit["not_separable"]) for hit in answer["hits"])])
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("told", "others", "said"),
    [
        ((0, None, None, None, None, 0), [], ["no rerun with one term changed is possible"]),
        ((4, 0.0, 0.0, None, None, 4), [], ["without a rank in all of 4 reruns with one term changed"]),
        ((4, 1.0, 1.0, 1, 1, 0), [], ["first in 4 of 4 reruns with one term changed; rank 1"]),
        (
            (3, 0.0, 2 / 3, 2, 9, 1),
            ["a", "b", "c", "d"],
            [
                "among the first 5 in 2 of 3 reruns with one term changed; ranks 2 to 9, and in 1 without one",
                "one term at most tells it from a, b, c and 1 more",
            ],
        ),
    ],
)
def test_words(told: tuple[Any, ...], others: list[str], said: list[str]) -> None:
    names = ("runs", "top1", "top5", "best", "worst", "unranked")
    assert steadiness_lines({"stability": dict(zip(names, told, strict=True)), "not_separable": others}) == said
    assert steadiness_lines({}) == []


def test_the_table_of_hits_stays_within_a_terminal(engine: Engine) -> None:
    answer = engine.query(LONG, k=9, stability=4)
    for hit in answer["hits"]:
        hit |= {"name": f"{hit['key']} of a name that is much longer than what any terminal shows", "confidence": 0.5}
    answer["calibration"] = {"queries": 60, "method": "logistic", "places": 10, "ece": 0.05, "novelty_threshold": None}
    table = query_text(answer, "disease").split("\n\n")[1].split("\n")
    assert max(map(len, table)) == 100
    assert "OMIM:990001 of a name" in table[1] and table[1].endswith("%") and "...  " in table[1]


def test_the_backend_of_reruns_goes_by_the_amount_of_work(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def chosen(name: str, device: str, *, cells: int) -> tuple[str, Ops]:
        asked.append((name, cells))
        return choose("reference")

    monkeypatch.setattr("sma_gpu.retrieval.standings.choose", chosen)
    engine.query(LONG, k=1, stability=4)
    engine.query(LONG, k=1, stability=40)
    (few_name, few), (many_name, many) = asked
    assert few_name == many_name == "auto" and few < many
    monkeypatch.setattr("sma_gpu.retrieval.standings._CELLS_A_PAIR", 0)
    engine.query(LONG, k=1, stability=4)
    assert 0 < asked[-1][1] < few
