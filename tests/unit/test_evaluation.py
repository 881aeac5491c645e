"""Solved cases: what is right in them, where it stands, and what that comes to."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import toy
from small_medicine import write_small

from sma_gpu import Dials, Engine, open_engine
from sma_gpu.answers.evaluation import CaseRank, evaluate, rank_cases
from sma_gpu.answers.evaluation_text import TABLE_COLUMNS, evaluation_table, evaluation_text
from sma_gpu.answers.solved import SolvedCases, groups_of, read_solved
from sma_gpu.cli import main
from sma_gpu.errors import QueryError
from sma_gpu.trust.resampling import resampled, resampled_means

SCHEMA = json.loads((files("sma_gpu.answers") / "evaluation-1.schema.json").read_text())
LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
MAPPINGS = (
    "subject_id\tpredicate_id\tobject_id\tmapping_justification\n"
    "MONDO:1\tskos:exactMatch\tOMIM:990001\tsemapv:X\n"
    "MONDO:1\tskos:exactMatch\tOrphanet:990003\tsemapv:X\n"
    "MONDO:2\tskos:exactMatch\tOMIM:990004\tsemapv:X\n"
    "MONDO:3\tskos:exactMatch\tOMIM:990002\tsemapv:X\n"
    "MONDO:3\tskos:exactMatch\tOMIM:990005\tsemapv:X\n"
)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return toy.engine(tmp_path / "data")


@pytest.fixture
def mapped(tmp_path: Path) -> Engine:
    (tmp_path / "same.sssom.tsv").write_text(MAPPINGS)
    folder = toy.write(tmp_path / "data")
    return open_engine(str(folder), Dials(delta=0), mappings=tmp_path / "same.sssom.tsv")


def line(name: str, observed: Sequence[str] = LONG, **fields: Any) -> dict[str, Any]:
    return {"id": name, "observed": list(observed), **fields}


def packet(name: str, **fields: Any) -> dict[str, Any]:
    features = [{"type": {"id": term}} for term in LONG]
    return {"id": name, "subject": {"id": "s"}, "phenotypicFeatures": features, **fields}


def solved(engine: Engine, *records: dict[str, Any]) -> SolvedCases:
    content = "\n".join(json.dumps(record) for record in records).encode()
    return read_solved(engine, "-", stdin=io.BytesIO(content))


def ranked(engine: Engine, *records: dict[str, Any]) -> list[CaseRank]:
    return rank_cases(engine, solved(engine, *records).cases)


def test_gold_is_a_list_of_keys_and_never_part_of_the_query(engine: Engine) -> None:
    found = solved(
        engine,
        line("a", gold=["OMIM:990002", "OMIM:990001"]),
        line("b", gold="OMIM:990001"),
        line("c", gold=[]),
        line("d", gold=["Orphanet:990003", "OMIM:1"]),
    )
    assert [case.keys for case in found.cases] == [
        ("OMIM:990001", "OMIM:990002"), ("OMIM:990001",), (), ("ORPHA:990003",),
    ]  # fmt: skip
    assert [case.is_new for case in found.cases] == [False, False, True, False]
    assert len({case.query.present.tobytes() for case in found.cases}) == 1
    assert found.cases[1].notes == ("gold is one text instead of a list; it is taken as one key",)
    assert found.cases[3].notes == ("Orphanet:990003 is read as ORPHA:990003", "OMIM:1 is no disease here")


def test_a_record_that_cannot_be_evaluated_says_why(engine: Engine) -> None:
    found = solved(
        engine,
        line("good", gold=["OMIM:990001"]),
        line("silent"),
        line("number", gold=3),
        line("unknown", gold=["OMIM:1"]),
        line("bare", gold=["OMIM:990007"]),
        {"id": "broken", "gold": ["OMIM:990001"]},
    )
    assert [case.id for case in found.cases] == ["good"]
    assert [(one.id, one.kind) for one in found.unusable] == [
        ("silent", "unsolved"), ("number", "unreadable"), ("unknown", "unknown"), ("bare", "set-aside"),
        ("broken", "unreadable"),
    ]  # fmt: skip
    assert (found.failed, found.reasons) == (2, {"set-aside": 1, "unknown": 1, "unreadable": 2, "unsolved": 1})
    with pytest.raises(QueryError, match=r"none of its 1 records can be evaluated.*OMIM:1 is no disease"):
        solved(engine, line("unknown", gold=["OMIM:1"]))


def test_diseases_of_phenopackets_are_right_unless_ruled_out(engine: Engine) -> None:
    diagnosis = {"disease": {"id": "OMIM:990005"}}
    found = solved(
        engine,
        packet(
            "a",
            diseases=[
                {"term": {"id": "OMIM:990001"}},
                {"term": {"id": "OMIM:990002"}, "excluded": True},
                {"term": {"id": "OMIM:990004"}},
                {"term": {"id": "OMIM:990004"}, "excluded": True},
            ],
            interpretations=[{"id": "i", "progressStatus": "SOLVED", "diagnosis": diagnosis}],
            metaData={"externalReferences": [{"id": "https://example.org"}, {"id": "pmid: 990"}]},
        ),
        packet("b", diseases=[{"term": {"id": "OMIM:990001"}, "excluded": True}]),
        packet("c", interpretations=[{"id": "i", "progressStatus": "IN_PROGRESS", "diagnosis": diagnosis}]),
    )
    (case,) = found.cases
    assert (case.keys, case.publications, case.group) == (("OMIM:990001", "OMIM:990005"), ("PMID:990",), "PMID:990")
    assert case.notes == ("OMIM:990004 is recorded as ruled out too; not used",)
    assert case.seen  # the toy annotations cite this publication
    assert [(one.id, one.kind) for one in found.unusable] == [("b", "unsolved"), ("c", "unsolved")]


def test_cases_of_one_publication_are_one_group_and_only_cited_ones_are_seen(engine: Engine) -> None:
    told = [("a", ["PMID:1"]), ("b", "PMID:990"), ("c", None), ("d", ["nonsense"])]
    found = solved(engine, *(line(n, gold=["OMIM:990001"], **({"publications": p} if p else {})) for n, p in told))
    assert [(case.group, case.seen) for case in found.cases] == [
        ("PMID:1", False), ("PMID:990", True), ("OMIM:990001", False), ("OMIM:990001", False),
    ]  # fmt: skip


def test_a_publication_that_two_groups_share_makes_them_one(engine: Engine) -> None:
    told = {"a": ["PMID:3", "PMID:2"], "b": ["PMID:9", "PMID:2"], "c": ["PMID:9"], "d": ["PMID:7"], "e": []}
    cases = solved(engine, *(line(n, gold=["OMIM:990001"], publications=p) for n, p in told.items())).cases
    assert groups_of(cases) == ["PMID:2", "PMID:2", "PMID:2", "PMID:7", "OMIM:990001"]
    assert groups_of(cases[::-1]) == groups_of(cases)[::-1]
    assert groups_of(cases[::2]) == ["PMID:2", "PMID:9", "OMIM:990001"]  # what joined them is gone


def test_gold_through_the_mappings(mapped: Engine) -> None:
    found = solved(mapped, line("a", gold=["MONDO:1"]), line("b", gold=["mondo:2"]), line("c", gold=["MONDO:9"]))
    assert [case.keys for case in found.cases] == [("OMIM:990001", "ORPHA:990003"), ("OMIM:990004",)]
    assert found.cases[0].notes == ("MONDO:1 is read as OMIM:990001 and ORPHA:990003",)
    assert found.reasons == {"unknown": 1}


def test_a_truth_that_is_not_sought_is_not_evaluated(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(json.dumps(line(key, gold=[key])) for key in ("OMIM:990001", "ORPHA:990003")))
    some = engine.restrict(where="source=ORPHA")
    found = read_solved(engine, str(path), some)
    assert ([case.id for case in found.cases], found.reasons) == (["ORPHA:990003"], {"outside": 1})
    (rank,) = rank_cases(engine, found.cases, some)
    assert (rank.strict.rank, rank.strict.tied) == (1, 1)


def test_ties_three_ways_and_merged(engine: Engine, mapped: Engine) -> None:
    (rank,) = ranked(engine, line("a", gold=["ORPHA:990003"]))
    assert rank.strict.as_dict() == {"rank": 2, "optimistic": 1, "mean": 1.5, "pessimistic": 2}
    assert rank.merged is None
    (both,) = ranked(engine, line("a", gold=["ORPHA:990003", "OMIM:990001"]))
    assert both.strict.as_dict() == {"rank": 1, "optimistic": 1, "mean": 1, "pessimistic": 1}
    (rank,) = ranked(mapped, line("a", gold=["ORPHA:990003"]))
    assert rank.merged is not None and rank.merged.as_dict() == {
        "rank": 1, "optimistic": 1, "mean": 1, "pessimistic": 1,
    }  # fmt: skip


def test_a_truth_that_is_no_hit_may_be_one_through_its_twin(mapped: Engine) -> None:
    short = ["HP:9910200", "HP:9920200"]
    through, nowhere = ranked(mapped, line("a", short, gold=["OMIM:990005"]), line("b", short, gold=["OMIM:990001"]))
    assert through.strict.as_dict() is None
    assert through.merged is not None and through.merged.rank == 1
    assert nowhere.strict.as_dict() is None
    assert nowhere.merged is not None and nowhere.merged.as_dict() is None


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("dials", [Dials(), Dials.adapter_v1(), Dials.evidence()], ids=["ic", "adapter-v1", "evidence"])
def test_every_rank_is_that_of_explain(tmp_path: Path, dials: Dials, backend: str) -> None:
    rows = [f"MONDO:{n // 2}\tskos:exactMatch\tOMIM:99{n:04d}\tsemapv:X" for n in range(0, 30, 1)]
    (tmp_path / "same.sssom.tsv").write_text(MAPPINGS.splitlines()[0] + "\n" + "\n".join(rows) + "\n")
    engine = open_engine(
        str(write_small(tmp_path / "data")), dials, backend=backend, mappings=tmp_path / "same.sssom.tsv"
    )
    rng = np.random.default_rng(3)
    terms = engine.domain.mounted.ontology.ids
    records = [
        line(f"q{n}", rng.choice(terms[2:], 4, replace=False).tolist(), gold=[f"OMIM:99{rng.integers(40):04d}"])
        for n in range(40)
    ]
    ranks, missed = ranked(engine, *records), 0
    for record, rank in zip(records, ranks, strict=True):
        hits = engine.explain(record["gold"][0], record["observed"])["hits"]
        if not hits:
            missed += 1
            assert rank.strict.rank == 0
            continue
        (hit,) = hits
        assert (rank.strict.rank, rank.strict.tied) == (hit["rank"], hit["ties"] + 1)
        assert rank.merged is not None and rank.merged.rank <= hit["rank_merged"]  # its twin may stand higher
        everyone = engine.query(record["observed"], k=40)["hits"]
        gold = {record["gold"][0], *(twin["key"] for twin in hit["twins"])}
        assert rank.merged.rank == min(h["rank_merged"] for h in everyone if h["key"] in gold)
        assert engine.index.keys[rank.best] == everyone[0]["key"]
    assert missed < len(records) / 2


def test_figures_are_means_over_cases_and_over_entities(engine: Engine) -> None:
    found = evaluate(
        engine,
        solved(
            engine,
            line("first", gold=["OMIM:990001"]),
            line("again", gold=["OMIM:990001"]),
            line("second", ["HP:9920100", "HP:9920200"], gold=["OMIM:990002"]),
            line("nothing", [], gold=["OMIM:990005"]),
            line("new", gold=[]),
        ),
    )
    jsonschema.validate(found, SCHEMA)
    assert json.loads(json.dumps(found)) == found
    counts = found["counts"]
    assert [counts[name] for name in ("evaluated", "without_answer", "truth_no_hit", "new")] == [4, 1, 1, 1]
    ranks = [case["strict"] for case in found["cases"]]
    assert [rank and rank["optimistic"] for rank in ranks] == [1, 1, 2, None]
    (everything,) = found["slices"]
    strict = everything["strict"]
    assert (everything["cases"], everything["entities"], strict["median_rank"]) == (4, 3, 1.0)
    assert strict["optimistic"]["top1"]["value"] == 2 / 4
    assert strict["mean"]["top1"]["value"] == 1 / 4  # two records tie for the first place of two queries
    assert strict["pessimistic"]["top1"]["value"] == 0
    assert strict["optimistic"]["mrr"]["value"] == pytest.approx((1 + 1 + 1 / 2 + 0) / 4)
    assert strict["optimistic"]["mrr"]["mean_over_entities"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert strict["optimistic"]["top5"]["low"] <= 3 / 4 <= strict["optimistic"]["top5"]["high"]
    assert found["cases"][3]["reason"] == "empty query: no term was given"


def test_cases_that_the_annotations_were_made_of_stand_apart(engine: Engine) -> None:
    unseen = line("fresh", ["HP:9920100"], gold=["OMIM:990004"], publications=["PMID:1"])
    found = evaluate(engine, solved(engine, line("seen", gold=["OMIM:990001"], publications=["PMID:990"]), unseen))
    assert [(part["name"], part["cases"]) for part in found["slices"]] == [("all", 2), ("not seen", 1), ("seen", 1)]
    assert any("tell memory, not skill" in note for note in found["notes"])
    alone = evaluate(engine, solved(engine, unseen))
    assert alone["slices"][0]["strict"] == found["slices"][1]["strict"]
    assert alone["slices"][0]["strict"]["mean"]["mrr"]["low"] is None  # one entity, no interval


def test_cases_that_are_in_the_index_are_told(engine: Engine) -> None:
    own = engine.ids(engine.index.cases.functors_of(engine.index.number_of("OMIM:990004")))
    fresh = line("fresh", ["HP:9920100"], gold=["OMIM:990004"])
    seen = line("seen", own, gold=["OMIM:990004"], publications=["PMID:990"])
    copied = line("copy", own, gold=["OMIM:990004"])
    told = [note for note in evaluate(engine, solved(engine, fresh, copied, seen))["notes"] if "in the index" in note]
    assert told == [
        "1 case is in the index, or may be (copy: it states exactly what OMIM:990004 does): their ranks tell memory, "
        "not skill"
    ]
    assert not [note for note in evaluate(engine, solved(engine, fresh, seen))["notes"] if "in the index" in note]


def test_the_interval_is_that_of_the_paired_bootstrap() -> None:
    rng = np.random.default_rng(0)
    values, clusters = rng.random((3, 60)), [f"c{n % 11}" for n in range(60)]
    means = resampled_means(values, clusters, 5)
    for at, row in enumerate(values):
        one = resampled(row, np.zeros(60), clusters, 5)
        interval = one.interval()
        assert (means.value[at], means.low[at], means.high[at]) == pytest.approx(
            (interval.difference, interval.low, interval.high)
        )


def test_text_and_table_show_every_case(engine: Engine) -> None:
    found = evaluate(
        engine,
        solved(
            engine,
            line("first", gold=["OMIM:990001"]),
            line("missed", ["HP:9910200"], gold=["OMIM:990005"]),
            line("unknown", gold=["OMIM:1"]),
            line("new", gold=[]),
        ),
    )
    text = evaluation_text(found)
    for part in (
        "2 solved cases of 2 diseases against 6 diseases", "1 more are known to be new", "not evaluated: 1 unknown",
        "diseases that should have stood higher", "missed", "no mappings were found", "intervals over so few",
    ):  # fmt: skip
        assert part in text
    rows = [row.split("\t") for row in evaluation_table(found).splitlines() if not row.startswith("# ")]
    assert tuple(rows[0]) == TABLE_COLUMNS
    assert [row[:4] for row in rows[1:]] == [
        ["first", "OMIM:990001", "ranked", "1"], ["missed", "OMIM:990005", "not a hit", ""],
        ["unknown", "", "unknown", ""],
    ]  # fmt: skip
    assert {len(row) for row in rows} == {len(TABLE_COLUMNS)}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, cases = str(toy.write(tmp_path / "data")), tmp_path / "cases.jsonl"
    cases.write_text("\n".join(json.dumps(line(key, gold=[key])) for key in ("OMIM:990001", "OMIM:990002")) + "\n")
    assert main(["evaluate", folder, str(cases), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert main(["evaluate", folder, str(cases), "--where", "source=OMIM", "-f", "tsv", "-o", str(tmp_path / "t")]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "t").read_text().count("\tranked\t") == 1
    cases.write_text(cases.read_text() + "nonsense\n")
    assert main(["evaluate", folder, str(cases)]) == 4
    out, err = capsys.readouterr()
    assert "2 solved cases" in out
    assert "is left out" in err
    assert main(["evaluate", folder, str(cases), "-o", str(tmp_path / "none" / "x")]) == 2


def test_phenopackets_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, cases = str(toy.write(tmp_path / "data")), tmp_path / "cases"
    cases.mkdir()
    for name, key in (("a", "OMIM:990001"), ("b", "ORPHA:990003")):
        (cases / f"{name}.json").write_text(json.dumps(packet(name, diseases=[{"term": {"id": key}}]), indent=1))
    assert main(["evaluate", folder, str(cases), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [case["strict"]["rank"] for case in found["cases"]] == [1, 2]
    assert found["input"]["form"] == "folder"


def test_cases_in_memory_are_read_as_those_in_a_file_are(engine: Engine, tmp_path: Path) -> None:
    lines = [line("a", gold=["OMIM:990001"]), line("b", gold=3), line("c", gold=[]), {"id": "d", "gold": ["OMIM:1"]}]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    of_file = evaluate(engine, read_solved(engine, tmp_path / "cases.jsonl"))
    assert (of_file["counts"]["evaluated"], of_file["counts"]["new"], of_file["counts"]["failed"]) == (1, 1, 2)
    of_memory = evaluate(engine, read_solved(engine, iter(lines)))
    assert json.dumps(of_memory) == json.dumps(of_file).replace(str(tmp_path / "cases.jsonl"), "<memory>")
    with pytest.raises(QueryError, match="two records have this id"):
        read_solved(engine, [lines[0], lines[0]])
    with pytest.raises(QueryError, match="nothing that JSON can hold"):
        read_solved(engine, [line("a", gold={"OMIM:990001"})])
    with pytest.raises(QueryError, match="it holds no record"):
        read_solved(engine, [])
