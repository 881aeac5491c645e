"""Ranking some of the records: --among, --where and --like, alone and together, in query, explain and batch."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import toy

from sma_gpu import CaseBatch, Dials, Engine, open_engine
from sma_gpu.answers.batch import write_batch
from sma_gpu.cli import main
from sma_gpu.errors import FingerprintMismatch, QueryError, UnknownKey
from sma_gpu.ontologies.records.patients import read_patients

SCHEMA = json.loads((files("sma_gpu.answers") / "answer-1.schema.json").read_text())
LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
DATES = {"OMIM:990001": "2012-03-04", "ORPHA:990003": "2014-12-31", "OMIM:990004": "2015-01-01"}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """The toy domain, whose diseases were written at different times."""
    place = toy.write(tmp_path / "data")
    rows = toy.hpoa().splitlines()
    for i, row in enumerate(rows):
        key = row.partition("\t")[0]
        rows[i] = row.replace("[2026-01-01]", f"[{DATES.get(key, '2026-01-01')}]")
    (place / "phenotype.hpoa").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(place)


@pytest.fixture
def engine(folder: str) -> Engine:
    return open_engine(folder)


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    jsonschema.validate(answer, SCHEMA)
    return answer


def only(answer: dict[str, Any], wanted: set[str]) -> list[dict[str, Any]]:
    """Returns the hits of an answer with the other cases struck out."""
    left = [dict(hit) for hit in answer["hits"] if hit["key"] in wanted]
    for rank, hit in enumerate(left, 1):
        hit["rank"] = hit["rank_merged"] = rank
        hit["ties"] = sum(h["score_bits"] == hit["score_bits"] for h in left) - 1  # power(0) ranks by the score alone
    return left


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (["source=ORPHA"], {"ORPHA:990003"}),
        (["source!=ORPHA"], {"OMIM:990001", "OMIM:990002", "OMIM:990004", "OMIM:990005", "OMIM:990006"}),
        (["date<2015-01-01"], {"OMIM:990001", "ORPHA:990003"}),
        (["date<2015-01-01", "source=OMIM"], {"OMIM:990001"}),
        (["inheritance=HP:9940000"], {"OMIM:990001"}),
    ],
)
def test_hits_are_those_of_all_cases_without_the_others(engine: Engine, where: list[str], wanted: set[str]) -> None:
    whole = engine.query(LONG, ["HP:9920200"], k=100)
    answer = valid(engine.query(LONG, ["HP:9920200"], k=100, where=where))
    assert answer["hits"] == only(whole, wanted)
    assert answer["certified"]
    assert answer["restriction"] == {"among": None, "where": where, "without": None, "cases": len(wanted)}
    assert {engine.index.keys[i] for i in np.flatnonzero(engine.where(*where))} == wanted
    assert f"hits are sought among {len(wanted)} of 6 diseases with {' and '.join(where)}" in answer["notes"]
    for hit in answer["hits"]:
        assert engine.explain(hit["key"], LONG, ["HP:9920200"], where=where)["hits"] == [hit]


def test_a_mask_of_conditions_serves_batches_as_arrays(engine: Engine) -> None:
    number = engine.domain.mounted.ontology.number
    batch = CaseBatch.from_functors(["p"], [[number[term] for term in LONG]])
    hits = engine.index.retrieve(batch, 9, among=engine.where("date<2015", "source=OMIM"))
    assert hits.keys[hits.rank > 0].tolist() == ["OMIM:990001"]
    assert engine.where().all()


def test_all_restrictions_hold_together(engine: Engine, folder: str) -> None:
    named = ["OMIM:990001", "OMIM:990004", "OMIM:990005", "OMIM:990004"]
    answer = valid(open_engine(folder, Dials()).like("OMIM:990001", k=9, among=named, where="source=OMIM"))
    assert [hit["key"] for hit in answer["hits"]] == ["OMIM:990004", "OMIM:990005"]
    assert answer["restriction"] == {
        "among": 3,
        "among_sha256": hashlib.sha256("\n".join(sorted(set(named))).encode()).hexdigest(),
        "where": ["source=OMIM"],
        "without": "OMIM:990001",
        "cases": 2,
    }
    assert valid(engine.like("OMIM:990001"))["restriction"] == {
        "among": None, "where": [], "without": "OMIM:990001", "cases": 5,
    }  # fmt: skip
    assert valid(engine.query(LONG, among=named[:1]))["restriction"]["among"] == 1
    with pytest.raises(UnknownKey, match="OMIM:99"):
        engine.query(LONG, among=["OMIM:99"], where="source=OMIM")


def test_a_restriction_that_leaves_nothing_abstains_and_says_so(engine: Engine) -> None:
    for answer in (engine.query(LONG, where="source=omim"), engine.explain("OMIM:990001", LONG, where="source=omim")):
        assert valid(answer)["abstained"]
        assert answer["reason"] == "no cases: hits are sought among 0 of 6 diseases with source=omim"
        assert answer["restriction"]["cases"] == 0
        assert answer["novelty"] is None
    nothing = valid(engine.query(["HP:9910200"], where="source=ORPHA", k=3))
    assert nothing["abstained"] == (not nothing["hits"])
    eyes = valid(engine.query(["HP:9910110"], among=["OMIM:990005"]))
    assert eyes["reason"].startswith("nothing fits: no disease that hits are sought among shares anything")
    assert eyes["novelty"] == 1.0


def test_a_case_outside_the_restriction_has_no_rank(engine: Engine) -> None:
    answer = valid(engine.explain("ORPHA:990003", LONG, where="source=OMIM"))
    assert answer["hits"] == []
    assert answer["reason"].startswith("ORPHA:990003 is none of those that hits are sought among")


def test_conditions_that_cannot_be_put_are_refused(engine: Engine) -> None:
    with pytest.raises(QueryError, match="There are: source, date, reference, evidence, frequency, inheritance"):
        engine.query(LONG, where="author=me")
    with pytest.raises(QueryError, match="compared with a date"):
        engine.explain("OMIM:990001", LONG, where=["source=OMIM", "date<then"])


def test_the_command_line_ranks_some(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("OMIM:990001\nORPHA:990003\nOMIM:990005\n", encoding="utf-8")
    some = ["--among", str(keys), "--where", "date<2015-01-01", "--where", "source=OMIM"]
    for words in (["query", folder, *LONG], ["explain", folder, "OMIM:990001", *LONG]):
        assert main([*words, *some, "--json"]) == 0
        answer = valid(json.loads(capsys.readouterr().out))
        assert [hit["key"] for hit in answer["hits"]] == ["OMIM:990001"]
        assert answer["restriction"]["cases"] == 1
    assert main(["query", folder, "--like", "ORPHA:990003", *some]) == 0
    out = capsys.readouterr().out
    assert "1  OMIM:990001" in out
    assert "sought among 1 of 6 diseases with date<2015-01-01 and source=OMIM" in out
    for verb in (["query", folder, *LONG], ["explain", folder, "OMIM:990001", *LONG], ["batch", folder, str(keys)]):
        assert main([*verb, "--where", "when<2015"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "There are: source, date, reference, evidence, frequency, inheritance." in err or "JSON" in err
    assert main(["query", folder, *LONG, "--where", "source~OMIM"]) == 2
    assert "= != < <= > >=" in capsys.readouterr().err


def test_help_says_what_a_condition_means(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("query", "batch", "explain"):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        said = " ".join(capsys.readouterr().out.split())
        assert "--where CONDITION" in said
        assert "date<2015-01-01 keeps records with nothing dated 2015 or later" in said


def test_a_restricted_batch_goes_on_under_the_same_restriction_alone(engine: Engine, tmp_path: Path) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_text("".join(json.dumps({"id": f"p{i}", "observed": [t]}) + "\n" for i, t in enumerate(LONG)))
    given = read_patients(str(lines))
    out = tmp_path / "out.jsonl"
    old = engine.restrict(where=["date<2015-01-01"])
    assert old is not None
    write_batch(engine, given, 3, out, restriction=old)
    rows = [valid(json.loads(line)) for line in out.read_text().splitlines()]
    assert {h["key"] for row in rows for h in row["hits"]} == {"OMIM:990001", "ORPHA:990003"}
    assert write_batch(engine, given, 3, out, restriction=engine.restrict(where="date<2015-01-01")).resumed == 3
    others = [None, engine.restrict(where="date<=2015-01-01"), engine.restrict(["OMIM:990001", "ORPHA:990003"])]
    for other in others:
        with pytest.raises(FingerprintMismatch, match="restriction"):
            write_batch(engine, given, 3, out, restriction=other)
