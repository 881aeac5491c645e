"""Batches of files of what was seen: each file is a query, told like one that is asked by itself."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import toy_attack

import sma_gpu.answers
from sma_gpu.cli import main

SCHEMA = json.loads((Path(sma_gpu.answers.__file__).parent / "answer-1.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with reports, and the domain cyber to put them to."""
    monkeypatch.setenv("SMA_GPU_DATA", str(toy_attack.write(tmp_path / "data" / "cyber").parent))
    folder = tmp_path / "seen \u00fc"
    (folder / "deeper").mkdir(parents=True)
    (folder / "report.txt").write_text("Seen T9100.001\nand T9300.001 later\n")
    (folder / "deeper" / "table.csv").write_text("technique,host\nT9200.001,a\n")
    (folder / "nothing.txt").write_text("")
    (folder / ".hidden").write_text("T9100.001")
    return folder


def lines(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    assert main(["batch", "cyber", *words]) == code
    return {line["id"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}


def test_each_file_of_a_folder_is_answered_as_if_it_were_asked_alone(
    seen: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = lines(capsys, "--from", str(seen), "-k", "2")
    assert list(found) == ["deeper/table.csv", "nothing.txt", "report.txt"]
    for name, answer in found.items():
        jsonschema.validate(answer, SCHEMA)
        assert main(["query", "cyber", "--from", str(seen / name), "-k", "2", "-f", "jsonl"]) == 0
        assert json.loads(capsys.readouterr().out) == {**answer, "id": None}
    assert found["nothing.txt"]["abstained"]
    (first, second) = found["report.txt"]["query"]["used"]
    assert (first["term"], first["where"]) == ("T9100.001", ["line 1"])
    assert (second["term"], second["where"]) == ("T9300.001", ["line 2"])


def test_several_paths_and_standard_input(
    seen: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = str(seen / "report.txt")
    assert list(lines(capsys, "--from", report, str(seen / "deeper"))) == [report, "table.csv"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"T9100.001")))
    (answer,) = lines(capsys, "--from", "-").values()
    assert answer["query"]["used"][0]["term"] == "T9100.001"


def test_a_file_that_cannot_be_read_fails_alone(seen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (seen / "paper.pdf").write_bytes(b"%PDF-1.4 T9100.001")
    found = lines(capsys, "--from", str(seen), code=4)
    assert "it is a PDF" in found["paper.pdf"]["error"]["found"]
    assert "hits" in found["report.txt"]


def test_under_strict_input_a_malformed_id_fails_its_file(seen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (seen / "layer.json").write_text(
        json.dumps({"name": "l", "domain": "enterprise-attack", "versions": {"layer": "4.5"},
                    "techniques": [{"techniqueID": "T91", "score": 1}]})
    )  # fmt: skip
    assert lines(capsys, "--from", str(seen))["layer.json"]["abstained"]
    assert "error" in lines(capsys, "--from", str(seen), "--strict-input", code=4)["layer.json"]


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ([], 2, "there is nothing to read"),
        (["in.jsonl", "--from", "{seen}"], 2, "there are records and --from"),
        (["--from", "{seen}/absent"], 3, "there is no such file or folder"),
        (["--from", "{seen}/report.txt", "{seen}/report.txt"], 2, "both called so"),
        (["--from", "{seen}/empty"], 2, "it holds no file"),
        (["--from", "{seen}", "-o", "{seen}/out.jsonl"], 2, "whose files are the input"),
        (["--from", "{seen}/report.txt", "-o", "{seen}/report.txt"], 2, "that is the input itself"),
        (["--from", "{seen}", "-f", "pheval", "-o", "{seen}"], 2, "the input lies there"),
    ],
)
def test_what_is_refused(
    seen: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, part: str
) -> None:
    (seen / "empty").mkdir()
    before = (seen / "report.txt").read_bytes()
    assert main(["batch", "cyber", *(word.replace("{seen}", str(seen)) for word in words)]) == code
    assert part in capsys.readouterr().err
    assert (seen / "report.txt").read_bytes() == before


def test_a_batch_goes_on_only_over_the_same_files(
    seen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert main(["batch", "cyber", "--from", str(seen), "--dials", "ic", "-o", str(out)]) == 0
    whole = out.read_bytes()
    out.write_bytes(whole[: len(whole) // 2])
    assert main(["batch", "cyber", "--from", str(seen), "--dials", "ic", "-o", str(out)]) == 0
    assert out.read_bytes() == whole
    (seen / "report.txt").write_text("Seen T9300.001\n")
    assert main(["batch", "cyber", "--from", str(seen), "--dials", "ic", "-o", str(out)]) == 2
    assert "input was" in capsys.readouterr().err
    assert main(["batch", "cyber", "--from", str(seen), "--dials", "ic", "--compare", str(out)]) == 0
    assert "through query" in capsys.readouterr().out
