"""Calibrating by solved cases, and answers under a calibration: how sure, whether new, when withheld, and why."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from small_medicine import write_small

from sma_gpu import Dials, Engine, IndexItem, Query, SmaMemory, open_engine
from sma_gpu.answers import calibrating
from sma_gpu.answers.calibrating import calibrate, overlaps, split_of
from sma_gpu.answers.evaluation import evaluate
from sma_gpu.answers.evaluation_text import evaluation_text
from sma_gpu.answers.own_index import MANIFEST
from sma_gpu.answers.own_index_making import write_own
from sma_gpu.answers.solved import SolvedCases, read_solved
from sma_gpu.cli import main
from sma_gpu.errors import ArtifactError, CalibrationError, DataMissing, FingerprintMismatch, QueryError
from sma_gpu.trust import Calibration
from sma_gpu.trust.asking import SignalSource

EVALUATION_SCHEMA = json.loads((files("sma_gpu.answers") / "evaluation-1.schema.json").read_text())
SCHEMA = json.loads((files("sma_gpu.answers") / "answer-1.schema.json").read_text())
Record = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return open_engine(str(folder), Dials())


def records_of(engine: Engine, count: int = 120) -> list[Record]:
    """Returns cases that show some terms of a disease and some noise; the more noise, the harder."""
    rng, terms = np.random.default_rng(7), engine.domain.mounted.ontology.ids
    found = []
    for n in range(count):
        case = int(rng.integers(len(engine.index)))
        own = engine.ids(engine.index.cases.functors_of(case))
        shown = rng.choice(own, 1 + n % 4, replace=False).tolist()
        noise = rng.choice(terms[2:], 4 - n % 4, replace=False).tolist()
        gold = [] if n % 12 == 0 else [engine.index.keys[case]]
        found.append({"id": f"q{n}", "observed": [*shown, *noise], "gold": gold, "publications": [f"PMID:{5000 + n}"]})
    return found


@pytest.fixture(scope="module")
def records(engine: Engine) -> list[Record]:
    return records_of(engine)


@pytest.fixture(scope="module")
def calibration(engine: Engine, records: list[Record]) -> Calibration:
    return calibrate(engine, solved(engine, records))


@pytest.fixture(scope="module")
def opened(folder: Path, calibration: Calibration) -> Callable[..., Engine]:
    def open_it(**options: Any) -> Engine:
        return open_engine(str(folder), Dials(), **{"calibration": calibration, **options})

    return open_it


def solved(engine: Engine, given: list[Record]) -> SolvedCases:
    return read_solved(engine, "-", stdin=io.BytesIO("\n".join(map(json.dumps, given)).encode()))


def written(records: list[Record], path: Path) -> str:
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    return str(path)


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    jsonschema.validate(answer, SCHEMA)
    assert json.loads(json.dumps(answer)) == answer
    return answer


# Making one


def test_a_calibration_is_of_the_solved_cases_alone(
    engine: Engine, records: list[Record], calibration: Calibration
) -> None:
    assert calibration.queries == len(records)
    rests_on = calibration.rests_on
    assert (rests_on.index, rests_on.dials) == (engine.index.fingerprint, engine.index.dials.fingerprint)
    assert rests_on.split == solved(engine, records).sha256
    outcomes = calibration.held_out.first
    # The same cases say whether their first hit is right.
    right = [r["gold"] == [engine.query(r["observed"], k=1)["hits"][0]["key"]] for r in records]
    assert int(outcomes.true.sum()) == sum(right)
    assert 0 < sum(right) < len(right)
    again = calibrate(engine, solved(engine, records))
    assert again.to_json() == calibration.to_json()
    assert calibrate(engine, solved(engine, records), seed=1).fingerprint != calibration.fingerprint


def test_the_backend_changes_no_bit_of_it(folder: Path, records: list[Record], calibration: Calibration) -> None:
    other = open_engine(str(folder), Dials(), backend="cpu")
    assert calibrate(other, solved(other, records)).to_json() == calibration.to_json()


def test_overlap_is_refused_or_left_out(engine: Engine, records: list[Record], calibration: Calibration) -> None:
    own = engine.ids(engine.index.cases.functors_of(3))
    extra = [
        {"id": "OMIM:990004", "observed": own[:2], "gold": ["OMIM:990001"]},
        {"id": "copy", "observed": own, "gold": [engine.index.keys[3]]},
        {"id": "cited", "observed": own[:2], "gold": [engine.index.keys[3]], "publications": ["PMID:990"]},
        {"id": "of another", "observed": own, "gold": [engine.index.keys[4]]},
    ]
    mixed = solved(engine, [*records, *extra])
    assert [(o.id, o.why.split()[0]) for o in overlaps(engine, mixed)] == [
        ("OMIM:990004", "its"), ("copy", "it"), ("cited", "annotations"),
    ]  # fmt: skip
    with pytest.raises(CalibrationError, match=r"3 of them overlap the index \(OMIM:990004: .*--leave-out-overlap"):
        calibrate(engine, mixed)
    assert calibrate(engine, mixed, leave_out_overlap=True).queries == len(records) + 1
    without = calibrate(engine, replace(mixed, cases=mixed.cases[:-1]), leave_out_overlap=True)
    apart = ("rests_on", "fingerprint")  # the file is another one
    same, had = without.as_dict(), calibration.as_dict()
    assert {name: part for name, part in same.items() if name not in apart} == {
        name: part for name, part in had.items() if name not in apart
    }


def test_cases_that_share_any_publication_are_one_group(engine: Engine, records: list[Record]) -> None:
    shared = [{**record, "publications": [*record["publications"], "PMID:9"]} for record in records[:3]]
    groups, apart = (split_of(engine, solved(engine, [*some, *records[3:]])).groups for some in (shared, records[:3]))
    assert len(set(groups[:3])) == 1 < len(set(apart[:3]))


def test_too_few_cases_are_refused(engine: Engine, records: list[Record]) -> None:
    with pytest.raises(CalibrationError, match="fewer than 20"):
        calibrate(engine, solved(engine, records[:12]))
    with pytest.raises(CalibrationError, match="can be asked"):
        calibrate(engine, solved(engine, [{"id": "a", "observed": [], "gold": ["OMIM:990001"]}]))


# Answers under it


def test_confidences_are_chances_and_do_not_depend_on_k_or_the_batch(
    opened: Callable[..., Engine], records: list[Record], calibration: Calibration
) -> None:
    engine = opened()
    asked = [(r["id"], engine.encode(r["observed"])) for r in records[:20]]
    together = [valid(answer) for answer in engine.answers(asked, 10)]
    for record, answer in zip(records, together, strict=False):
        alone = engine.query(record["observed"], k=2)
        assert [h["confidence"] for h in alone["hits"]] == [h["confidence"] for h in answer["hits"][:2]]
        assert alone["novelty"] == answer["novelty"]
        shares = [h["confidence"] for h in answer["hits"]]
        assert 0 < sum(shares) <= 1 + 1e-9
        assert answer["calibration"]["fingerprint"] == calibration.fingerprint
        assert answer["novel"] == (answer["novelty"] >= answer["calibration"]["novelty_threshold"])
    deep = engine.query(records[1]["observed"], k=12)
    assert [h["confidence"] for h in deep["hits"][10:]] == [0.0, 0.0]
    assert any("first 10 places" in note for note in deep["notes"])


def test_explain_says_what_query_says(opened: Callable[..., Engine], records: list[Record]) -> None:
    engine = opened()
    terms = records[5]["observed"]
    answer = engine.query(terms, k=12)
    for hit in (answer["hits"][0], answer["hits"][4], answer["hits"][11]):
        told = valid(engine.explain(hit["key"], terms))
        assert told["hits"][0]["confidence"] == hit["confidence"]
        assert (told["novelty"], told["novel"]) == (answer["novelty"], answer["novel"])


def test_without_a_calibration_nothing_changes(folder: Path, records: list[Record]) -> None:
    answer = valid(open_engine(str(folder), Dials()).query(records[1]["observed"]))
    assert (answer["calibration"], answer["novel"], answer["threshold"]) == (None, None, None)
    assert [h["confidence"] for h in answer["hits"]] == [h["explained"] for h in answer["hits"]]


def test_an_answer_that_is_not_sure_enough_is_withheld(
    opened: Callable[..., Engine], records: list[Record], calibration: Calibration
) -> None:
    engine = opened()
    asked = [(r["id"], engine.encode(r["observed"])) for r in records]
    plain = list(engine.answers(asked, 3))
    for rule in ("youden", "risk=0.3", "conformal=0.2"):
        threshold, withheld = calibration.threshold(rule), 0
        assert threshold.value is not None
        for answer, before in zip(opened(abstain=rule).answers(asked, 3), plain, strict=True):
            best = before["hits"][0]["confidence"]
            assert answer["abstained"] == (best < threshold.value)
            assert answer["threshold"]["best_confidence"] == best
            assert answer["threshold"]["answered"] != answer["abstained"]
            if answer["abstained"]:
                withheld += 1
                assert valid(answer)["hits"] == []
                assert answer["reason"].startswith(f"not sure enough: the best hit, {before['hits'][0]['key']}")
                assert f"{best:.3f}" in answer["reason"]
                assert f"{threshold.value:.3f}" in answer["reason"]
            assert (answer["novelty"], answer["novel"]) == (before["novelty"], before["novel"])
        assert 0 < withheld < len(records)


def test_explanations_are_given_and_say_that_the_query_would_be_withheld(
    opened: Callable[..., Engine], records: list[Record]
) -> None:
    engine = opened(abstain="risk=0.3")
    unsure = next(r for r in records if engine.query(r["observed"])["abstained"])
    told = valid(engine.explain("OMIM:990001", unsure["observed"]))
    assert told["threshold"]["answered"] is False


def test_queries_that_cannot_be_asked_keep_their_reasons(opened: Callable[..., Engine]) -> None:
    engine = opened(abstain="youden")
    empty = valid(engine.query([]))
    assert (empty["reason"], empty["novelty"], empty["novel"]) == ("empty query: no term was given", None, None)
    assert empty["threshold"]["answered"] is False
    assert "not sure" not in engine.text(empty)  # nothing was there to be sure of
    assert "not sure" in engine.text(engine.query(["HP:9900004"]))


def test_a_calibration_of_something_else_is_refused(folder: Path, calibration: Calibration, tmp_path: Path) -> None:
    with pytest.raises(FingerprintMismatch, match="dials"):
        open_engine(str(folder), Dials.adapter_v1(), calibration=calibration)
    with pytest.raises(FingerprintMismatch, match="index"):
        open_engine(str(folder), Dials(), without_sources=["PMID:990"], calibration=calibration)
    with pytest.raises(CalibrationError, match="no calibration"):
        open_engine(str(folder), Dials(), abstain="youden")
    with pytest.raises(QueryError, match="no such rule"):
        open_engine(str(folder), Dials(), calibration=calibration, abstain="often")
    with pytest.raises(DataMissing):
        open_engine(str(folder), Dials(), calibration=tmp_path / "none.json")
    (tmp_path / "odd.json").write_text("{}")
    with pytest.raises(ArtifactError):
        open_engine(str(folder), Dials(), calibration=tmp_path / "odd.json")


def test_an_engine_is_put_under_a_calibration_without_another_index(
    engine: Engine, calibration: Calibration, opened: Callable[..., Engine], records: list[Record], tmp_path: Path
) -> None:
    (tmp_path / "c.json").write_text(calibration.to_json())
    observed = records[5]["observed"]
    careful = engine.under(calibration, abstain="conformal=0.1")
    assert careful.index is engine.index
    assert careful.query(observed) == opened(abstain="conformal=0.1").query(observed)
    for place in (tmp_path / "c.json", str(tmp_path / "c.json")):
        assert engine.under(place).query(observed) == opened().query(observed)
    assert engine.calibrated is None  # it stays as it was
    assert careful.under(None).query(observed) == engine.query(observed)
    with pytest.raises(FingerprintMismatch, match="dials"):
        engine.with_dials(Dials.adapter_v1()).under(calibration)
    with pytest.raises(CalibrationError, match="no calibration"):
        engine.under(None, abstain="youden")


def test_groups_and_genes_are_not_what_was_calibrated(folder: Path, calibration: Calibration, tmp_path: Path) -> None:
    (tmp_path / "same.tsv").write_text(
        "subject_id\tpredicate_id\tobject_id\nM:1\tskos:exactMatch\tOMIM:990001\nM:1\tskos:exactMatch\tOMIM:990002\n"
    )
    with pytest.raises(CalibrationError, match="groups of records"):
        open_engine(str(folder), Dials(), mappings=tmp_path / "same.tsv", merge=True, calibration=calibration)
    with pytest.raises(CalibrationError, match="groups of records"):
        open_engine(str(folder), Dials(), mappings=tmp_path / "same.tsv", merge=True).under(calibration)


def test_among_some_records_it_is_a_guide_and_says_so(opened: Callable[..., Engine], records: list[Record]) -> None:
    answer = valid(opened().query(records[5]["observed"], among=["OMIM:990001", "OMIM:990002"]))
    assert any("a guide, no promise" in note for note in answer["notes"])
    assert sum(h["confidence"] for h in answer["hits"]) <= 1 + 1e-9


# Saved with an index of one's own


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    write_own(str(folder / "hp.obo"), str(folder / "phenotype.hpoa"), tmp_path / "own", Dials())
    return tmp_path / "own"


def test_it_is_saved_with_the_index_and_goes_with_it(
    own: Path, folder: Path, records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split, terms = written(records, tmp_path / "split.jsonl"), records[1]["observed"]
    assert main(["calibrate", str(own), split]) == 0
    out = capsys.readouterr().out
    for part in (
        "logistic calibration by 120 solved cases",
        "ECE",
        "conformal=0.1",
        "0.9 to 1.0",
        "Saved with the index",
    ):
        assert part in out
    name = json.loads((own / MANIFEST).read_text())["calibration"]["name"]
    assert (own / name).is_file()
    assert main(["query", str(own), *terms, "--json"]) == 0
    first = valid(json.loads(capsys.readouterr().out))
    assert first["calibration"]["queries"] == 120
    assert main(["query", str(own), *terms, "--calibration", "none", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calibration"] is None

    assert main(["calibrate", str(own), split, "--method", "isotonic", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["method"] == "isotonic"
    assert [path.name for path in own.glob("calibration-*")] == [
        json.loads((own / MANIFEST).read_text())["calibration"]["name"]
    ]
    assert not (own / name).exists()

    # Under other dials the saved one does not fit: it is left out, with a word.
    assert main(["query", str(own), *terms, "--dials", "adapter-v1", "--json"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert other["calibration"] is None
    assert any("is not used: it was made with the dials" in note for note in other["notes"])
    assert main(["query", str(own), *terms, "--dials", "adapter-v1", "--abstain", "youden"]) == 2
    assert "is not used" in capsys.readouterr().err

    # A new index has none, and nothing of the old one stays.
    write_own(str(folder / "hp.obo"), str(folder / "phenotype.hpoa"), own, Dials(rho=0.5))
    assert not list(own.glob("calibration-*"))
    assert open_engine(str(own)).query(terms)["calibration"] is None


def test_a_damaged_one_is_refused(own: Path, records: list[Record], tmp_path: Path) -> None:
    assert main(["calibrate", str(own), written(records, tmp_path / "split.jsonl")]) == 0
    (path,) = own.glob("calibration-*")
    whole = path.read_text()
    path.write_text(whole.replace('"queries":120', '"queries":121'))
    with pytest.raises(ArtifactError, match="fingerprint"):
        open_engine(str(own))
    path.write_text(whole[:100])
    with pytest.raises(ArtifactError, match="cannot be read"):
        open_engine(str(own))
    path.unlink()
    with pytest.raises(ArtifactError, match="cannot be read"):
        open_engine(str(own))
    assert open_engine(str(own), calibration="none").query(["HP:9900004"])["calibration"] is None


# The command line


def test_the_command_line_asks_abstains_and_resumes_under_a_calibration(
    folder: Path, records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split, made, out = written(records, tmp_path / "split.jsonl"), tmp_path / "cal.json", tmp_path / "out.jsonl"
    dials = ["--dials", "ic"]
    assert main(["calibrate", str(folder), split, *dials]) == 2
    assert "Name a file for it with -o" in capsys.readouterr().err
    assert main(["calibrate", str(folder), split, *dials, "-o", str(made)]) == 0
    assert main(["evaluate", str(folder), split, *dials, "--calibrate", str(tmp_path / "same.json")]) == 0
    assert (tmp_path / "same.json").read_text() == made.read_text()
    assert "When to abstain" in capsys.readouterr().out
    under = ["--calibration", str(made), *dials]
    assert main(["query", str(folder), *records[1]["observed"], *under]) == 0
    text = capsys.readouterr().out
    assert "confidence: the chance that a hit is right and none before it, by 120 solved cases" in text
    assert "at about even odds of new and known queries" in text
    batch = ["batch", str(folder), split, *under, "-o", str(out)]
    assert main([*batch, "--abstain", "risk=0.3"]) == 0
    assert " 0 abstained" not in capsys.readouterr().err
    lines = [valid(json.loads(line)) for line in out.read_text().splitlines()]
    assert {line["abstained"] for line in lines} == {True, False}
    assert main([*batch, "--abstain", "youden"]) == 2  # other lines than those that are there
    assert "calibration was" in capsys.readouterr().err
    assert main([*batch, "--abstain", "youden", "--overwrite", "--fail-on-abstain", "-f", "tsv"]) == 1
    table = out.read_text().splitlines()
    head = next(line for line in table if line.startswith("# threshold: "))
    assert json.loads(head.removeprefix("# threshold: "))["rule"] == "youden"
    columns = next(line for line in table if not line.startswith("# ")).split("\t")
    assert {"novel", "best_confidence"} <= set(columns)


def test_an_evaluation_says_how_well_a_calibration_holds(
    opened: Callable[..., Engine], engine: Engine, records: list[Record]
) -> None:
    under = opened(abstain="risk=0.3")
    found = evaluate(under, solved(under, records[:60]))
    jsonschema.validate(found, EVALUATION_SCHEMA)
    answers = list(under.answers([(None, under.encode(r["observed"])) for r in records[:60]], 1))
    assert found["confidence"]["answered"]["coverage"]["part"] == sum(not a["abstained"] for a in answers)
    wrong = [a["hits"][0]["key"] not in r["gold"] for a, r in zip(answers, records, strict=False) if a["hits"]]
    assert found["confidence"]["answered"]["risk"]["part"] == sum(wrong)
    assert found["confidence"]["figures"]["n"] == 60
    assert "Confidence of the first hits, by 120 solved cases" in evaluation_text(found)
    assert evaluate(engine, solved(engine, records[:60]))["confidence"] is None
    whole = evaluate(under, solved(under, records))
    assert any("made of these very cases" in note for note in whole["notes"])


def test_what_is_right_is_hidden_with_its_twins_to_learn_what_new_looks_like(
    folder: Path, records: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "same.tsv").write_text(
        "subject_id\tpredicate_id\tobject_id\nM:1\tskos:exactMatch\tOMIM:990001\nM:1\tskos:exactMatch\tOMIM:990002\n"
    )
    engine = open_engine(str(folder), Dials(), mappings=tmp_path / "same.tsv")
    given = solved(engine, [{**records[1], "gold": ["OMIM:990001"]}, {**records[2], "gold": ["OMIM:990007"]}])
    calls: list[Any] = []
    monkeypatch.setattr(calibrating, "check_groups", lambda *_, **__: None)
    monkeypatch.setattr(
        SignalSource, "of_queries", lambda *_, hidden=None, **__: calls.append(hidden) or (1, [[1]] * 2)
    )
    monkeypatch.setattr(calibrating, "fit", lambda *_, **__: None)
    calibrate(engine, given)
    assert calls[0] is None
    hidden = [[engine.index.keys[n] for n in numbers] for numbers in calls[1][:2]]
    assert hidden == [["OMIM:990001", "OMIM:990002"], ["OMIM:990007"]]


# The memory


def test_a_memory_of_the_same_items_is_as_sure(
    engine: Engine, opened: Callable[..., Engine], calibration: Calibration, records: list[Record]
) -> None:
    cases, under = engine.index.cases, opened()
    items = [
        IndexItem(
            key,
            engine.ids(cases.functors_of(n)),
            excluded=engine.ids(cases.excluded_of(n)),
        )
        for n, key in enumerate(engine.index.keys)
    ]
    memory = SmaMemory(engine.domain.mounted, Dials(), calibration=calibration)
    memory.index(items[:-1])
    with pytest.raises(FingerprintMismatch, match="index"):
        memory.retrieve(Query(records[1]["observed"]), 3)
    memory.index(items)
    assert memory.array_index.fingerprint == engine.index.fingerprint
    for record in records[:10]:
        answer, query = under.query(record["observed"], k=3), Query(record["observed"])
        assert [hit.confidence for hit in memory.retrieve(query, 3)] == [h["confidence"] for h in answer["hits"]]
        assert memory.novelty(query) == answer["novelty"]
    assert memory.retrieve(Query([]), 3) == []
    assert memory.novelty(Query([])) == 1.0
