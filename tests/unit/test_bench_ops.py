"""``sma-gpu ops``: comparisons with the reference, times of ops, and what it says of a wrong or missing backend."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutant_backend import MUTANTS, mutate

from sma_gpu.bench import op_parity, op_speed
from sma_gpu.bench.op_problems import invented
from sma_gpu.bench.op_stages import host_stages, same_as_reference
from sma_gpu.cli import main
from sma_gpu.ops import choose, cuda
from sma_gpu.ops.reference import ReferenceOps

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed (cpu extra)")
no_gpu = pytest.mark.skipif(not cuda.missing(), reason="there is a GPU here")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Small problems, and no diseases."""
    monkeypatch.setattr(op_parity, "medicine", lambda: None)
    monkeypatch.setattr(op_speed, "medicine", lambda: None)
    monkeypatch.setattr(op_speed, "_COPIED", {"cpu": 1 << 20})
    monkeypatch.setattr(op_speed, "_LONGEST_S", 0.0)
    full = op_parity.problems
    monkeypatch.setattr(op_parity, "problems", lambda rng: (p for p in full(rng) if p[0] in ("0x5", "3x0", "7x63")))


@needs_numba
def test_parity_is_green_and_says_who_does_not_serve(small: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "parity", "--backend", "cpu"]) == 0
    assert "cpu: green, " in capsys.readouterr().out
    assert main(["ops", "parity", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "sma-gpu/ops-parity/1"
    assert report["green"]
    rows = {row["name"]: row for row in report["backends"]}
    assert rows["cpu"]["comparisons"] > 70
    assert rows["cpu"]["differing"] == []
    assert {*rows, *report["not_serving"]} == {"cpu", "torch", "cuda"}


@pytest.mark.parametrize("op", sorted(MUTANTS))
def test_parity_of_a_mutant_is_red(
    op: str, small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mutate(monkeypatch, op)
    assert main(["ops", "parity", "--backend", "mutant"]) == 1
    shown = capsys.readouterr().out
    assert "mutant: RED" in shown
    assert f"differs: {op} 7x63" in shown


def test_every_kind_of_retrieval_is_compared(small: None) -> None:
    made = [check.what for check in op_parity.checks(ReferenceOps(), 7)]
    for part in ("retrieve 0 cases", "retrieve 1000 cases, adapter v1", "among some", "300 terms", "with structure"):
        assert any(part in what for what in made), part
    assert len(made) == len(set(made))


@no_gpu
@pytest.mark.parametrize("action", ["parity", "bench"])
@pytest.mark.parametrize(
    ("more", "code"),
    [(["--device", "cuda"], 3), (["--backend", "cuda"], 3), (["--backend", "tpu"], 3)],
)
def test_what_is_asked_for_and_cannot_serve_fails_in_words(
    action: str, more: list[str], code: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "report.json"
    assert main(["ops", action, *more, "-o", str(out)]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("sma-gpu: ")
    assert not out.exists()


@no_gpu
def test_who_asks_for_a_gpu_that_is_not_there_is_not_told_to_install_what_works_on_cpus(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["ops", "parity", "--device", "cuda"]) == 3
    told = capsys.readouterr().err
    assert "sma_gpu[cpu]" not in told and "use --device cpu" in told


def test_the_reference_is_not_compared_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "parity", "--backend", "reference"]) == 2
    assert "what the others are compared with" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["ops"], ["ops", "speed"], ["ops", "parity", "--quick"]])
def test_wrong_words(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2


@pytest.mark.parametrize("backend", ["reference", pytest.param("cpu", marks=needs_numba)])
def test_bench_tells_time_bytes_and_distance_of_each_op(
    backend: str, small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(op_speed, "SIZES", (500, 2000))
    assert main(["ops", "bench", "--backend", backend, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["backend"], report["device"], report["clock"]) == (backend, "cpu", "CPU seconds")
    assert [row["cases"] for row in report["problems"]] == [500, 2000]
    assert report["copy_bytes_per_s"] > 0
    for row in report["problems"]:
        assert row["equal"]
        assert row["queries_per_s"] > 0
        for op in ("accumulate", "select", "assign"):
            stage = row["stages"][op]
            assert stage["times_floor"] == pytest.approx(stage["median_ms"] / stage["floor_ms"])
            assert stage["floor_ms"] == pytest.approx(stage["bytes"] / report["copy_bytes_per_s"] * 1000, rel=1e-6)
    assert main(["ops", "bench", "--backend", backend, "--quick"]) == 0
    shown = capsys.readouterr().out
    assert "500 cases (invented)" in shown
    assert "2,000 cases" not in shown
    assert "times the floor" in shown


@pytest.mark.parametrize("op", sorted(MUTANTS))
def test_bench_of_a_mutant_tells_no_time(
    op: str, small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(op_speed, "SIZES", (500,))
    mutate(monkeypatch, op)
    assert main(["ops", "bench", "--backend", "mutant"]) == 1
    shown = capsys.readouterr().out
    assert "RED" in shown
    assert " ms" not in shown and "queries/s" not in shown


def test_bytes_are_what_an_op_must_move() -> None:
    problem = invented(np.random.default_rng(3), 9, 700)
    stages = {stage.name: stage for stage in host_stages(ReferenceOps(), problem)}
    touched = {int(number) for number in problem.query_lists}
    entries = sum(int(problem.lists.ptr[number + 1] - problem.lists.ptr[number]) for number in touched)
    assert stages["accumulate"].least_bytes == entries * (4 + 4) + 9 * 700 * 4 + 700 * 4
    assert stages["select"].least_bytes == 9 * 700 * 4 + 700 * (8 + 4) + 9 * 64 * (4 + 8)
    assert stages["assign"].call().shape == (9 * 16,) or stages["assign"].least_bytes > 0
    assert same_as_reference(ReferenceOps(), problem)


def test_the_first_queries_of_a_problem_are_a_problem() -> None:
    problem = invented(np.random.default_rng(3), 9, 300)
    part, whole = problem.first(4), ReferenceOps()
    given: list[Any] = [
        whole.accumulate(p.lists, p.query_ptr, p.query_lists, p.query_entities) for p in (part, problem)
    ]
    np.testing.assert_array_equal(given[0], given[1][:4])
    assert len(part) == 4


@pytest.mark.parametrize("right", [True, False])
def test_a_device_is_timed_by_its_own_clock_unless_a_bit_differs(
    right: bool, small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of ``ops bench --device cuda`` but clocks and device; the torch backend on the CPU stands in for it."""
    pytest.importorskip("torch", reason="torch is not installed")
    ops: Any = choose("torch", "cpu")[1]

    def timed(call: Any) -> list[float]:
        call()
        return [1.0, 2.0, 3.0]

    monkeypatch.setattr(op_speed, "SIZES", (300, 2000))
    monkeypatch.setattr(op_speed, "_DEVICE_QUERIES", {300: 10, 2000: 5})
    monkeypatch.setattr(op_speed, "_chosen", lambda backend, device: ("torch", ops))
    monkeypatch.setattr(op_speed, "_device_of", lambda ops: "cuda")
    monkeypatch.setattr(op_speed, "_device_times", timed)
    monkeypatch.setattr(op_speed, "_copy_bandwidth", lambda place, timer: 1e12)
    monkeypatch.setattr(op_speed, "environment", lambda *, on_device: {})
    if not right:
        score = ops.assign
        monkeypatch.setattr(ops, "assign", lambda table, pairs: score(table, pairs) - 1)
    assert main(["ops", "bench", "--device", "cuda", "--json"]) == (0 if right else 1)
    report = json.loads(capsys.readouterr().out)
    assert report["clock"] == "CUDA events"
    assert [(row["cases"], row["equal"]) for row in report["problems"]] == [(300, right), (2000, right)]
    for row in report["problems"] if right else ():
        assert list(row["stages"]) == ["accumulate", "select", "assign", "top"]
        assert {stage["median_ms"] for stage in row["stages"].values()} == {2.0}
        assert row["queries_per_s"] == row["queries"] / 0.002
    assert right or not any("stages" in row for row in report["problems"])


def test_a_trace_of_a_device_backend(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from sma_gpu.bench.op_trace import device_trace

    problem = invented(np.random.default_rng(3), 5, 300)
    table = device_trace(choose("torch", "cpu")[1], problem, tmp_path / "trace.json")  # type: ignore[arg-type]
    assert "accumulate" in table
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
