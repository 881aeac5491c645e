"""``sma-gpu bench speed``: the whole run on a small domain, its exit codes, and the parts it is made of."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutant_backend import mutate
from small_medicine import write_small

from sma_gpu.bench import growth, speed
from sma_gpu.bench.chart import chart
from sma_gpu.bench.peers.protocol import PEERS
from sma_gpu.bench.processes import ArmFault, Process, environment_of_arms
from sma_gpu.bench.speed_table import bars, speed_text
from sma_gpu.bench.term_sets import TermSets
from sma_gpu.bench.workloads import make_workload, world_of
from sma_gpu.cli import main

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed (cpu extra)")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write_small(tmp_path / "data")
    monkeypatch.setenv("SMA_GPU_DATA", str(folder))
    return folder


@pytest.mark.slow
@needs_numba
def test_the_whole_run_on_a_small_domain(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "speed.json"
    assert main(["bench", "speed", "--quick", "--peers", "scipy,bm25s,hpo3", "--json", "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    record = json.loads(out.read_text())
    assert record["schema"] == "sma-gpu/bench-speed/1"
    assert record["green"] and record["differing"] == []
    assert record["workload"] == {
        "name": "w1", "cases": 40, "queries": 40, "terms_median": 8, "k": 10, "seed": 7, "quick": True,
        "ontology": "hp 2026-01-01", "notes": [],
    }  # fmt: skip
    arms = {arm["name"]: arm for arm in record["arms"]}
    assert list(arms)[:5] == ["certified", "certified scores", "bounds and selection", "reference", "our lists, BM25"]
    assert {*arms, *(row["name"] for row in record["not_run"])} >= {"scipy", "bm25s", "hpo3"}
    assert "hpo3" not in arms
    assert "pip install --target DIR --no-deps hpo3" in next(
        r["reason"] for r in record["not_run"] if r["name"] == "hpo3"
    )
    for arm in arms.values():
        assert arm["queries_per_cpu_s"] > 0
        assert arm["pairs_per_cpu_s"] == pytest.approx(40 * arm["queries_per_cpu_s"])
        assert arm["ours_times_as_fast"] == pytest.approx(
            arms["certified"]["queries_per_cpu_s"] / arm["queries_per_cpu_s"]
        )
        assert 0 <= arm["top1"] <= arm["top5"] <= arm["top10"] <= 1
        assert arm["same_twice"] in (True, None)
        assert 10 < arm["peak_memory_mb"] < 2000
    for name in ("top1", "top5", "top10"):
        assert arms["certified"][name] == arms["certified scores"][name]
    assert arms["certified"]["top5"] > 0.3
    assert record["facts"]["certified"] == 40
    assert [(row["normalisation"], row["credit"]) for row in record["aligned"]] == [
        (normalisation, credit)
        for normalisation in ("power(0)", "power(0.5)", "max", "min")
        for credit in ("ancestor", "base")
    ]
    assert record["single_query_ms"]["mappings"]["median"] > 0
    assert record["explained_answer_ms"] > 0
    assert record["bars"] == []
    assert "certified_on_the_same" not in arms["scipy"]
    reference = arms["reference"]
    same = reference["certified_on_the_same"]
    assert same == {"queries": 40, **{top: reference[top] for top in ("top1", "top5", "top10")}}
    assert arms["scipy"]["versions"].keys() == {"scipy"}
    shown = speed_text(record)
    assert "parity with the reference: green" in shown
    assert "hpo3: not installed: pip install" in shown


@pytest.mark.parametrize("op", ["accumulate", "assign"])
def test_red_parity_prints_no_speed_and_exits_1(
    op: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mutate(monkeypatch, op)
    monkeypatch.setattr(speed, "Process", None)  # nothing is even started
    monkeypatch.setattr(growth, "Process", None)
    assert main(["bench", "speed", "--quick", "--peers", "none"]) == 1
    shown = capsys.readouterr().out
    assert "parity is RED" in shown
    assert "queries/CPU s" not in shown and " ms" not in shown
    assert main(["bench", "speed", "--quick", "--peers", "none", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert not {"arms", "single_query_ms", "explained_answer_ms", "aligned"} & record.keys()
    assert record["differing"]
    assert main(["bench", "speed", "--quick", "--plots", str(tmp_path / "plots"), "--json"]) == 1
    assert "curves" not in json.loads(capsys.readouterr().out)
    assert not (tmp_path / "plots").exists()


def measured(rate: float, selection: float, single: float, workload: str = "w1") -> dict[str, Any]:
    arms = [("certified", rate), ("bounds and selection", selection)]
    return {
        "workload": {"name": workload},
        "arms": [{"name": name, "queries_per_cpu_s": value} for name, value in arms],
        "single_query_ms": {"mappings": {"median": single}},
    }


@pytest.mark.parametrize(
    ("record", "met"),
    [
        (measured(10_000, 20_000, 0.99), [True, True, True]),
        (measured(9_999, 20_000, 0.99), [False, True, True]),
        (measured(10_000, 19_999, 1.0), [True, False, False]),
        (measured(1, 1, 9.9, "w1-1m"), [True]),
        (measured(1, 1, 10.0, "w1-1m"), [False]),
        (measured(1, 1, 99.0, "w1-200k"), []),
        (measured(1, 1, 99.0, "dev"), []),
    ],
)
def test_bars(record: dict[str, Any], met: list[bool]) -> None:
    assert [bar["met"] for bar in bars(record)] == met


@pytest.mark.parametrize(("met", "code"), [(True, 0), (False, 1)])
def test_below_the_bars_exits_1(met: bool, code: int, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"green": True, "bars_met": met}
    monkeypatch.setattr(speed, "speed_record", lambda *given, **named: record)
    assert main(["bench", "speed", "--json"]) == code


def test_words_and_files_that_are_wrong(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "speed", "--quick", "--peers", "scipy,rocket"]) == 2
    assert "there is no peer rocket" in capsys.readouterr().err
    assert main(["bench", "speed", "--quick", "--hpo3", str(data)]) == 2
    assert "there is no package pyhpo in it" in capsys.readouterr().err
    assert main(["bench", "speed", "--quick", "--workload", "dev"]) == 3
    assert "phenopacket-store-*-dev.jsonl.gz" in capsys.readouterr().err
    for words in (["bench"], ["bench", "speed", "--workload", "w9"], ["bench", "quickly"]):
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert stopped.value.code == 2


def test_case_reports_that_leak_or_have_no_target_are_left_out(data: Path) -> None:
    def report(name: str, disease: str, terms: list[str], *, held: bool = True, leaked: bool = False) -> dict[str, Any]:
        return {"id": name, "disease_id": disease, "observed": terms, "disease_in_hpoa": held, "pmid_in_hpoa": leaked}

    known = make_workload("w1", 7, quick=True)
    terms = known.domain.mounted.ontology.ids[10:13]
    reports = [
        report("kept", "OMIM:990003", [*terms]),
        report("leaked", "OMIM:990003", [*terms], leaked=True),
        report("not held", "OMIM:990003", [*terms], held=False),
        report("unknown disease", "OMIM:1", [*terms]),
        report("no known term", "OMIM:990003", ["HP:1234567"]),
    ]
    with gzip.open(data / "phenopacket-store-2026-01-01-dev.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(r) + "\n" for r in reports)
    workload = make_workload("dev", 7)
    assert workload.queries.keys == ("kept",)
    assert [workload.cases.keys[target] for target in workload.targets] == ["OMIM:990003"]
    assert len(workload.notes) == 2


def test_a_seed_fixes_a_workload(data: Path) -> None:
    first, again, other = (make_workload("w1-200k", seed, quick=True) for seed in (3, 3, 4))
    for a, b in ((first.queries.functors, again.queries.functors), (first.cases.functors, again.cases.functors)):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first.queries.functors, other.queries.functors)
    assert len(first.cases) == 2000


def test_closures_and_parts_of_sets(data: Path) -> None:
    workload = make_workload("w1", 7, quick=True)
    world, lattice = world_of(workload), workload.domain.mounted.lattice
    sets = TermSets(workload.cases.ptr, workload.cases.functors)
    closed = world.closed(sets)
    for number in (0, 17, 39):
        wanted = sorted({a for t in sets.members(number).tolist() for a in lattice.ancestors_of(t).tolist()})
        assert closed.members(number).tolist() == wanted
    part = sets.part(5, 9)
    assert [part.members(i).tolist() for i in range(4)] == [sets.members(i).tolist() for i in range(5, 9)]


def test_every_peer_says_how_it_is_installed() -> None:
    for peer in PEERS:
        assert peer.install.startswith("pip install ")
        assert importlib.util.find_spec(f"sma_gpu.bench.peers.{peer.module}") is not None
        away = replace(peer, packages=("no-such-distribution-anywhere",))
        assert away.missing() == f"not installed: {peer.install}"


def test_what_a_peer_does_wrong_is_told_and_ends_no_other(data: Path, tmp_path: Path) -> None:
    workload = make_workload("w1", 7, quick=True)
    sets = TermSets(workload.queries.ptr, workload.queries.functors)
    speed.store(tmp_path, world_of(workload), TermSets(workload.cases.ptr, workload.cases.functors), sets)
    with Process(tmp_path) as process:
        with pytest.raises(ArmFault, match="No module named"):
            process.ask("build", module="sma_gpu.bench.peers.nothing", options={})
        assert process.ask("peak") > 1
        assert process.ask("build", module="sma_gpu.bench.ours", options={"backend": "reference"})["cpu_s"] > 0
        found = process.ask("search", mode="scores", start=0, stop=3, k=4)["found"]
        assert np.shape(found) == (3, 4)
        process._process.kill()
        with pytest.raises(ArmFault, match="its process ended"):
            process.ask("peak")


def test_arms_have_one_thread_and_their_own_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    found = environment_of_arms(2, "/first")
    assert found["PYTHONPATH"] == "/first:/elsewhere"
    assert {found[name] for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")} == {"2"}


def test_memory_is_that_of_this_programme() -> None:
    # In a process of its own: here a test before may have held more, which a peak remembers.
    words = "import numpy as np; from sma_gpu.bench.machine import peak_mb; before = peak_mb()"
    words += "; held = np.ones(64 << 20, np.uint8); print(peak_mb() - before)"
    told = subprocess.run([sys.executable, "-c", words], capture_output=True, check=True, text=True)
    assert 30 < float(told.stdout) < 130


def test_a_chart_has_a_dot_for_each_point_and_no_other() -> None:
    drawn = chart("Cost <of> a query", "cases", "ms", [(1000, 0.03), (20_000, 0.2), (1_000_000, 7.5)])
    assert drawn.count("<circle") == 3
    assert "Cost &lt;of&gt; a query" in drawn
    assert "1M" in drawn and "20k" in drawn and "7.5" in drawn
    assert drawn == chart("Cost <of> a query", "cases", "ms", [(1000, 0.03), (20_000, 0.2), (1_000_000, 7.5)])
    assert chart("One", "k", "ms", [(4, 2.0)], doubling=False).count("<circle") == 1


@pytest.mark.slow
def test_growth_on_a_small_domain(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(growth, "_BATCHES", 1)
    monkeypatch.setattr(growth, "CASES", (50, 100))
    assert main(["bench", "speed", "--quick", "--plots", str(tmp_path / "plots"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record["curves"]) == list(growth.CURVES)
    for points in record["curves"].values():
        assert len(points) == 2
        assert all(point["cpu_ms"] > 0 for point in points)
    names = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert names == sorted(f"speed-by-{name.replace('_', '-')}.svg" for name in growth.CURVES)
    told = growth.threads_text(record)
    assert ("not measured" in told) == (record["threads"]["times"] is None)


@pytest.mark.parametrize(("cores", "told"), [(2.0, "2.00 times"), (1.8, "2.00 times"), (1.79, "not measured")])
def test_two_threads_are_told_only_if_they_had_two_cores(
    cores: float, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_cores_of_two", lambda: cores)
    monkeypatch.setattr(growth, "_measured", lambda *given: {"wall_ms": 4.0 / given[-1]})
    given: Any = type("Given", (), {"cases": None})
    assert told in growth.threads_text({"threads": growth._two_threads(given, given)})


def test_cores_of_two_threads_are_counted() -> None:
    assert 0.05 < growth._cores_of_two() < 2.2
