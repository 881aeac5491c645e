"""Batches to a file: resuming, refusing to resume, torn lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import toy

from sma_gpu import Dials, Engine
from sma_gpu.answers.batch import write_batch
from sma_gpu.errors import ArtifactError, FingerprintMismatch, QueryError
from sma_gpu.ontologies.records.patients import PatientInput, read_patients


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return toy.engine(tmp_path / "data")


@pytest.fixture
def given(tmp_path: Path) -> PatientInput:
    return patients(tmp_path, ["HP:9910110", "HP:9920100", "HP:9930100", "HP:9920200", "nonsense"])


def patients(tmp_path: Path, terms: list[str], name: str = "in.jsonl") -> PatientInput:
    path = tmp_path / name
    path.write_text("".join(json.dumps({"id": f"p{i}", "observed": [t]}) + "\n" for i, t in enumerate(terms)))
    return read_patients(str(path))


def test_an_interrupted_batch_ends_with_the_bytes_of_an_uninterrupted_one(
    engine: Engine, given: PatientInput, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    outcome = write_batch(engine, given, 3, whole)
    assert (outcome.records, outcome.failed, outcome.abstained, outcome.resumed) == (5, 0, 1, 0)

    class Killed(Exception):
        pass

    calls: list[None] = []

    def kill() -> None:
        calls.append(None)
        if len(calls) == 2:
            raise Killed

    with pytest.raises(Killed):
        write_batch(engine, given, 3, broken, progress=kill)
    assert len(broken.read_text().splitlines()) == 2
    seen: list[int] = []

    def lines_done() -> None:
        seen.append(len(broken.read_text().splitlines()))

    outcome = write_batch(engine, given, 3, broken, progress=lines_done)
    assert (outcome.records, outcome.failed, outcome.abstained, outcome.resumed) == (5, 0, 1, 2)
    assert seen == [2, 2, 3, 4, 5]
    assert broken.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("cut", [1, 7, 200])
def test_a_torn_last_line_is_redone(engine: Engine, given: PatientInput, tmp_path: Path, cut: int) -> None:
    out = tmp_path / "out.jsonl"
    write_batch(engine, given, 3, out)
    whole = out.read_bytes()
    out.write_bytes(whole[:-cut])
    assert write_batch(engine, given, 3, out).resumed == 4
    assert out.read_bytes() == whole


def test_a_finished_batch_has_nothing_left_to_do(engine: Engine, given: PatientInput, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    write_batch(engine, given, 3, out)
    before = out.read_bytes()
    assert write_batch(engine, given, 3, out).resumed == 5
    assert out.read_bytes() == before


def test_resuming_under_other_conditions_is_refused_and_names_the_field(
    engine: Engine, given: PatientInput, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    write_batch(engine, given, 3, out)
    before = out.read_bytes()
    other_dials = toy.engine(tmp_path / "data", Dials.adapter_v1())
    other_records = tmp_path / "other-records"
    toy.write(other_records)
    (other_records / "phenotype.hpoa").write_text(toy.hpoa("2026-02-02"))
    other_ontology = tmp_path / "other-ontology"
    toy.write(other_ontology)
    (other_ontology / "hp.obo").write_text(toy.obo("2026-02-02"))
    from sma_gpu import open_engine

    attempts = {
        "dials": (other_dials, given, 3),
        "records": (open_engine(str(other_records)), given, 3),
        "ontology": (open_engine(str(other_ontology)), given, 3),
        "input": (engine, patients(tmp_path, ["HP:9910110"], "other.jsonl"), 3),
        "k": (engine, given, 4),
    }
    for field, (other, records, k) in attempts.items():
        with pytest.raises(FingerprintMismatch, match=field) as refused:
            write_batch(other, records, k, out)
        assert refused.value.field == field
        assert out.read_bytes() == before
    assert write_batch(engine, given, 4, out, overwrite=True).resumed == 0
    assert out.read_bytes() != before


def test_a_file_that_no_batch_wrote_is_left_alone(engine: Engine, given: PatientInput, tmp_path: Path) -> None:
    out = tmp_path / "precious.txt"
    out.write_text("not ours\n")
    with pytest.raises(ArtifactError, match=r"run\.json"):
        write_batch(engine, given, 3, out)
    assert out.read_text() == "not ours\n"


def test_a_changed_line_in_the_middle_is_refused_not_cut_off(
    engine: Engine, given: PatientInput, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    write_batch(engine, given, 3, out)
    lines = out.read_text().splitlines(keepends=True)
    for damaged in ("".join([lines[0], "{}\n", *lines[2:]]), "".join([*lines, lines[0]])):
        out.write_text(damaged)
        with pytest.raises(ArtifactError, match="is not the answer"):
            write_batch(engine, given, 3, out)
        assert out.read_text() == damaged


def test_two_records_with_one_id_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"id":"a","observed":[]}\n{"id":"b","observed":[]}\n{"id":"a","observed":[]}\n')
    with pytest.raises(QueryError, match="a"):
        read_patients(str(path))


def test_fingerprints_never_stand_beside_lines_of_an_earlier_run(
    engine: Engine, given: PatientInput, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sma_gpu.answers import batch

    out = tmp_path / "out.jsonl"
    write_batch(engine, given, 1, out)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(batch, "_write_whole", killed)
    with pytest.raises(KeyboardInterrupt):
        write_batch(engine, given, 4, out, overwrite=True)
    monkeypatch.undo()
    write_batch(engine, given, 4, out)
    fresh = tmp_path / "fresh.jsonl"
    write_batch(engine, given, 4, fresh)
    assert out.read_bytes() == fresh.read_bytes()


def test_strict_and_lenient_lines_are_never_mixed(engine: Engine, given: PatientInput, tmp_path: Path) -> None:
    from sma_gpu import open_engine

    out = tmp_path / "out.jsonl"
    write_batch(engine, given, 3, out)
    with pytest.raises(FingerprintMismatch, match="strict"):
        write_batch(open_engine(str(tmp_path / "data"), strict=True), given, 3, out)
    assert not (tmp_path / "out.jsonl.run.json.part").exists()
