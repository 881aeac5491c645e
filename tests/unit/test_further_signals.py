"""Confidence that takes in reruns with one term changed and generalisations: learned so, and asked so ever after."""

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
from sma_gpu.answers.calibrating import calibrate
from sma_gpu.answers.evaluation import evaluate
from sma_gpu.answers.solved import SolvedCases, read_solved
from sma_gpu.cases import CaseBatch
from sma_gpu.cli import main
from sma_gpu.errors import CalibrationError, QueryError, SmaError
from sma_gpu.ops import choose
from sma_gpu.trust import Calibration
from sma_gpu.trust.asking import FurtherSignals, SignalSource
from sma_gpu.trust.generalisations import Generalisations
from sma_gpu.trust.signals import HIT_SIGNALS, QUERY_SIGNALS
from sma_gpu.trust.stability import separability_of, stability_of

SCHEMA = json.loads((files("sma_gpu.answers") / "answer-1.schema.json").read_text())
ALL = FurtherSignals(separability=True, runs=3, seed=2, generalisations=True)
Record = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return open_engine(str(folder), Dials())


@pytest.fixture(scope="module")
def records(engine: Engine) -> list[Record]:
    rng, terms = np.random.default_rng(8), engine.domain.mounted.ontology.ids
    found = []
    for n in range(48):
        case = int(rng.integers(len(engine.index)))
        shown = rng.choice(engine.ids(engine.index.cases.functors_of(case)), 1 + n % 4, replace=False).tolist()
        noise = rng.choice(terms[2:], 4 - n % 4, replace=False).tolist()
        found.append({"id": f"q{n}", "observed": [*shown, *noise], "gold": [engine.index.keys[case]]})
    return found


def solved(engine: Engine, given: list[Record]) -> SolvedCases:
    return read_solved(engine, "-", stdin=io.BytesIO("\n".join(map(json.dumps, given)).encode()))


@pytest.fixture(scope="module")
def calibration(engine: Engine, records: list[Record]) -> Calibration:
    return calibrate(engine, solved(engine, records), folds=3, further=ALL)


@pytest.fixture(scope="module")
def opened(folder: Path, calibration: Calibration) -> Callable[..., Engine]:
    def open_it(**options: Any) -> Engine:
        return open_engine(str(folder), Dials(), **{"calibration": calibration, **options})

    return open_it


def written(records: list[Record], path: Path) -> str:
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    return str(path)


# Signals


def test_signals_are_those_of_the_modules_that_make_them(engine: Engine, records: list[Record]) -> None:
    queries = [engine.encode(r["observed"], engine.domain.mounted.ontology.ids[30:]) for r in records[:6]]
    assert all(len(query.excluded) > 10 for query in queries)
    present, excluded = [q.present for q in queries], [q.excluded for q in queries]
    source, (backend, ops) = SignalSource(engine.index, ALL), choose("reference")
    signals, cases = source.of_queries(present, excluded, ops, backend)
    batch = CaseBatch.from_functors([""] * 6, present, excluded)
    steady = stability_of(engine.index, batch, cases, runs=3, seed=2)
    bare = stability_of(engine.index, CaseBatch.from_functors([""] * 6, present), cases, runs=3, seed=2)
    assert not np.array_equal(steady.first_share, bare.first_share)  # terms that are excluded are never added
    names = signals.hit_names
    assert (*names, *signals.query_names) == ALL.names
    assert np.array_equal(signals.of_hits[:, :, names.index("first_share")], steady.first_share)
    assert np.array_equal(signals.of_hits[:, :, names.index("not_separable")], np.log1p(steady.not_separable))
    alone, _ = SignalSource(engine.index, FurtherSignals(separability=True)).of_queries(present, excluded, ops, backend)
    assert alone.hit_names == (*HIT_SIGNALS, "not_separable")
    assert np.array_equal(alone.of_hits[:, :, -1], np.log1p(separability_of(engine.index, batch, cases).counts))
    assert alone.query_names == QUERY_SIGNALS
    pool = Generalisations.build(engine.index)
    assert np.array_equal(signals.of_queries[:, -1], pool.unexplained(batch))


def test_what_is_hidden_is_no_hit_in_reruns_and_no_member_of_a_generalisation(
    engine: Engine, records: list[Record]
) -> None:
    queries = [engine.encode(r["observed"]) for r in records[:6]]
    present, excluded = [q.present for q in queries], [q.excluded for q in queries]
    source, (backend, ops) = SignalSource(engine.index, ALL), choose("reference")
    _, cases = source.of_queries(present, excluded, ops, backend)
    gone = [row[:2] for row in cases]
    signals, others = source.of_queries(present, excluded, ops, backend, hidden=gone)
    assert not any(np.isin(row, out).any() for row, out in zip(others, gone, strict=True))
    batch = CaseBatch.from_functors([""] * 6, present, excluded)
    shown = np.array([~np.isin(np.arange(len(engine.index)), out) for out in gone])
    steady = stability_of(engine.index, batch, others, runs=3, seed=2, among=shown)
    assert np.array_equal(signals.of_hits[:, :, signals.hit_names.index("first_share")], steady.first_share)
    without = source.generalisations.unexplained(batch, gone)
    assert np.array_equal(signals.of_queries[:, -1], without)
    assert not np.array_equal(without, source.generalisations.unexplained(batch))


def test_reruns_are_a_whole_number_of_them() -> None:
    with pytest.raises(QueryError, match="stability = -1"):
        FurtherSignals(runs=-1)


# The calibration


def test_a_calibration_says_what_it_takes_in(calibration: Calibration, engine: Engine, records: list[Record]) -> None:
    rests_on = calibration.rests_on
    assert (rests_on.stability_runs, rests_on.stability_seed, rests_on.generalisations) == (3, 2, True)
    assert FurtherSignals.of(calibration) == ALL
    assert Calibration.from_json(calibration.to_json()) is not None
    assert FurtherSignals.of(Calibration.from_json(calibration.to_json())) == ALL
    plain = calibrate(engine, solved(engine, records), folds=3)
    assert FurtherSignals.of(plain) == FurtherSignals()
    assert plain.held_out.first.predicted.tolist() != calibration.held_out.first.predicted.tolist()


def test_a_calibration_of_signals_that_cannot_be_taken_is_refused_before_anything_is_asked(
    calibration: Calibration, folder: Path, engine: Engine
) -> None:
    odd = replace(calibration, rests_on=replace(calibration.rests_on, generalisations=False))
    with pytest.raises(CalibrationError, match=r"differ by generalised.*Calibrate again"):
        open_engine(str(folder), Dials(), calibration=odd)
    with pytest.raises(CalibrationError, match="generalised"):
        SmaMemory(engine.domain.mounted, Dials(), calibration=odd)


# Answers under it


@pytest.mark.parametrize("backend", ["cpu", "torch"])
def test_confidences_depend_neither_on_k_nor_on_the_batch_nor_on_reruns_asked_for_nor_on_the_backend(
    opened: Callable[..., Engine], records: list[Record], backend: str
) -> None:
    if backend == "torch":
        pytest.importorskip("torch")
    under, other = opened(backend="reference"), opened(backend=backend)
    asked = [(r["id"], under.encode(r["observed"])) for r in records[:6]]
    together = list(under.answers(asked, 10))
    for record, answer, elsewhere in zip(records, together, other.answers(asked, 10), strict=False):
        jsonschema.validate(answer, SCHEMA)
        sure = [hit["confidence"] for hit in answer["hits"]]
        assert [hit["confidence"] for hit in elsewhere["hits"]] == sure
        alone = under.query(record["observed"], k=1, stability=5, seed=9)
        assert [hit["confidence"] for hit in alone["hits"]] == sure[:1]
        assert alone["novelty"] == answer["novelty"] == elsewhere["novelty"]
        assert alone["stability"]["asked"] == 5
        told = under.explain(answer["hits"][3]["key"], record["observed"])
        assert told["hits"][0]["confidence"] == sure[3]
    assert together[0]["calibration"]["stability"] == {"runs": 3, "seed": 2}
    assert together[0]["calibration"]["generalisations"] is True


def test_generalisations_are_made_once_for_an_engine_and_its_batches(
    opened: Callable[..., Engine], records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    build = Generalisations.build
    monkeypatch.setattr(Generalisations, "build", lambda index: made.append(len(index)) or build(index))
    under = opened()
    assert made == []
    under.query(records[0]["observed"])
    under.for_batch(1000).query(records[1]["observed"])
    assert made == [len(under.index)]


def test_an_evaluation_takes_the_same_signals(
    opened: Callable[..., Engine], records: list[Record], calibration: Calibration
) -> None:
    under = opened()
    found = evaluate(under, solved(under, records))
    first = [answer["hits"][0] for answer in under.answers([(None, under.encode(r["observed"])) for r in records], 1)]
    right = [hit["key"] in r["gold"] for hit, r in zip(first, records, strict=True)]
    brier = np.mean([(hit["confidence"] - ok) ** 2 for hit, ok in zip(first, right, strict=True)])
    assert found["confidence"]["figures"]["brier"] == pytest.approx(brier)


def test_a_memory_is_as_sure_and_makes_its_generalisations_anew_where_it_changes(
    engine: Engine, opened: Callable[..., Engine], calibration: Calibration, records: list[Record]
) -> None:
    cases, under = engine.index.cases, opened()
    items = [IndexItem(key, engine.ids(cases.functors_of(n))) for n, key in enumerate(engine.index.keys)]
    memory = SmaMemory(engine.domain.mounted, Dials(), calibration=calibration)
    memory.index(items)
    for record in records[:6]:
        answer, query = under.query(record["observed"], k=3), Query(record["observed"])
        assert [hit.confidence for hit in memory.retrieve(query, 3)] == [h["confidence"] for h in answer["hits"]]
        assert memory.novelty(query) == answer["novelty"]
    before = memory._source
    memory.remove([items[0].key])
    memory.add([items[0]])
    assert memory.novelty(Query(records[0]["observed"])) == under.query(records[0]["observed"])["novelty"]
    assert memory._source is not before


# The command line


def test_the_command_line_learns_from_them_and_answers_under_them(
    folder: Path, records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str], calibration: Calibration
) -> None:
    split, made, same = written(records, tmp_path / "split.jsonl"), tmp_path / "cal.json", tmp_path / "same.json"
    how = ["--dials", "ic", "--folds", "3", "--seed", "2", "--stability", "3", "--generalisations"]
    assert main(["calibrate", str(folder), split, *how, "-o", str(made)]) == 0
    out = capsys.readouterr().out
    assert "it takes in 3 reruns of each query with one term changed (seed 2)" in out
    assert "generalisations of the records; so does every answer under it" in out
    assert main(["evaluate", str(folder), split, *how, "--calibrate", str(same)]) == 0
    assert same.read_text() == made.read_text()
    capsys.readouterr()
    assert main(["evaluate", str(folder), split, "--dials", "ic", "--stability", "3"]) == 2
    assert "Add --calibrate OUT" in capsys.readouterr().err
    assert main(["query", str(folder), *records[0]["observed"], "--dials", "ic", "--calibration", str(made)]) == 0
    assert "confidence: the chance that a hit is right and none before it" in capsys.readouterr().out


def test_a_seed_below_0_is_refused_before_a_calibration_is_written_that_nobody_could_read(
    folder: Path, engine: Engine, records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split, made = written(records, tmp_path / "split.jsonl"), tmp_path / "cal.json"
    with pytest.raises(SystemExit) as stopped:
        main(["calibrate", str(folder), split, "--seed", "-1", "-o", str(made)])
    assert stopped.value.code == 2
    assert not made.exists()
    capsys.readouterr()
    with pytest.raises(SmaError, match="seed -1 is below 0"):
        calibrate(engine, solved(engine, records), seed=-1)
