"""The page on speed, its drawings and the README's table show the records, which are of the commands named."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from sma_gpu.bench import growth, speed_page
from sma_gpu.bench.op_speed import SIZES
from sma_gpu.bench.speed_table import bars

REPOSITORY = Path(__file__).resolve().parents[2]
RECORDS = speed_page.records(REPOSITORY / "docs" / "measured")
PAGE = (REPOSITORY / "docs" / "SPEED.md").read_text(encoding="utf-8")


def test_the_page_is_made_of_the_records() -> None:
    assert speed_page.page(RECORDS) == PAGE


def test_the_drawings_are_made_of_the_record(tmp_path: Path) -> None:
    growth.write_plots(RECORDS["speed-growth"], tmp_path)
    drawn = sorted(tmp_path.iterdir())
    assert len(drawn) == len(growth.CURVES)
    for path in drawn:
        assert path.read_bytes() == (REPOSITORY / "docs" / "images" / path.name).read_bytes(), path.name
    assert sorted(re.findall(r"\(images/(.*?)\)", PAGE)) == [path.name for path in drawn]


def test_the_command_writes_page_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copytree(REPOSITORY / "docs" / "measured", tmp_path / "docs" / "measured")
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    table = speed_page.readme_table(RECORDS["speed-w1"])
    assert table in readme
    (tmp_path / "README.md").write_text(
        readme.replace(table, "| what | measured |\n| --- | ---: |\n"), encoding="utf-8"
    )
    assert speed_page.main([str(tmp_path)]) == 0
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == readme
    assert (tmp_path / "docs" / "SPEED.md").read_text(encoding="utf-8") == PAGE
    (tmp_path / "README.md").write_text("no table\n", encoding="utf-8")
    assert speed_page.main([str(tmp_path)]) == 1
    assert "has 0 tables" in capsys.readouterr().err


def test_records_are_whole_runs_of_what_the_makefile_asks() -> None:
    commands = re.findall(r"--workload (\S+) -o docs/measured/(\S+)\.json", (REPOSITORY / "Makefile").read_text())
    assert [name for name, _ in commands] == list(speed_page.WORKLOADS)
    for name, file in commands:
        record = RECORDS.get(file)
        if record is None:
            assert name == "dev", f"{file}.json is missing; make bench writes it"
            continue
        assert file == f"speed-{name}"
        assert record["workload"]["name"] == name
        assert not record["workload"]["quick"]
        assert record["green"]
        assert record["bars"] == bars(record)
        assert record["facts"]["certified"] == record["facts"]["queries"]
    assert [row["cases"] for row in RECORDS["ops-cpu"]["problems"]] == list(SIZES)
    assert RECORDS["ops-cpu"]["green"]
    assert [p["at"] for p in RECORDS["speed-growth"]["curves"]["cases"]] == list(growth.CASES)
    assert not RECORDS["speed-growth"]["quick"]


def test_every_peer_is_measured_or_named_as_not() -> None:
    from sma_gpu.bench.peers.protocol import PEERS

    for name in speed_page.WORKLOADS:
        record = RECORDS.get(f"speed-{name}")
        if record is not None:
            told = {row["name"] for row in [*record["arms"], *record["not_run"]]}
            assert {peer.name for peer in PEERS} <= told, name


def test_no_place_and_no_clock_time_is_in_a_record() -> None:
    for record in RECORDS.values():
        text = json.dumps(record)
        assert "/tmp" not in text and "/home" not in text and "/work" not in text
