"""TREC files, read back by an evaluator of a few lines that knows nothing of the bench."""

from __future__ import annotations

import gzip
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy_suite import toy_task

from sma_gpu.bench.arms.arm import Ranking
from sma_gpu.bench.figures import Sample, figures
from sma_gpu.bench.rows import rows_of
from sma_gpu.bench.running import run_suite
from sma_gpu.bench.suites import Suite
from sma_gpu.bench.tasks.entry import Request
from sma_gpu.bench.trec import write_qrels, write_run


def evaluated(run: Path, qrels: Path) -> dict[str, float]:
    """Returns top-1, top-5, top-10 and MRR of a run, by its ranks alone."""
    gold, ranks = defaultdict(set), {}
    for line in qrels.read_text().splitlines():
        question, zero, key, one = line.split(" ")
        assert (zero, one) == ("0", "1")
        gold[question].add(key)
    for line in gzip.decompress(run.read_bytes()).decode().splitlines():
        question, q0, key, rank, score, _ = line.split(" ")
        assert q0 == "Q0"
        float(score)
        if key in gold[question]:
            ranks.setdefault(question, int(rank))
    count = len([question for question in gold if gold[question]])
    found = {f"top{k}": sum(rank <= k for rank in ranks.values()) / count for k in (1, 5, 10)}
    return found | {"mrr": sum(1 / rank for rank in ranks.values()) / count}


@pytest.mark.parametrize("seed", [1, 2])
def test_an_outside_evaluator_finds_the_same_figures(toy_suite: Suite, tmp_path: Path, seed: int) -> None:
    run = run_suite(toy_suite, tmp_path / "run", trec=tmp_path / "trec")
    rows = [row for cell in run.cells if (cell.seed, cell.arm) == (seed, "toy_suite:Near") for row in cell.rows]
    ours = figures(Sample.of(rows, "strict"))
    theirs = evaluated(
        tmp_path / "trec" / f"toy-plain-{seed}--toy_suite-Near.run.gz", tmp_path / "trec" / f"toy-plain-{seed}.qrels"
    )
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs)
    assert 0 < ours["top1"] < 1 or seed == 1


def test_items_that_take_no_place_are_not_in_the_run(tmp_path: Path) -> None:
    task = toy_task(Request("toy/plain", "", 0), most=1)
    task = replace(task, questions=(replace(task.questions[0], without=("k3",)),))
    none = np.array([np.nan])
    ranking = Ranking(np.array([[3, 0, -1]]), np.array([[2.0, 1.0, np.nan]]), np.array([0]), none, none)
    write_run(task, ranking, "tag", tmp_path / "run.gz")
    write_qrels(task, tmp_path / "qrels")
    assert gzip.decompress((tmp_path / "run.gz").read_bytes()) == b"q_0 Q0 k0 1 1.0 tag\n"
    assert (tmp_path / "qrels").read_text() == "q_0 0 k0 1\n"
    assert evaluated(tmp_path / "run.gz", tmp_path / "qrels")["top1"] == 1.0
    assert rows_of(task, ranking)[0].first == 1


def test_the_same_ranking_gives_the_same_bytes(toy_suite: Suite, tmp_path: Path) -> None:
    files = []
    for name in ("one", "other"):
        run_suite(toy_suite, tmp_path / name, trec=tmp_path / f"{name}-trec")
        files.append({path.name: path.read_bytes() for path in sorted((tmp_path / f"{name}-trec").iterdir())})
    assert files[0] == files[1]
    assert len(files[0]) == 6
