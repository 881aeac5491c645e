"""A suite run: every arm asked every task, rows kept, what is there already not done again.

``FOLDER/TASK-SEED/ARM.csv.gz`` holds the rows, ``ARM.json`` beside it what they rest on. A cell whose file rests on the
same task and arm is kept, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArtifactError, DataMissing, QueryError
from ..memory import Query
from ..version import __version__
from .arms import registry as arms
from .arms.arm import Arm, Ranking
from .arms.contract import made_up_world
from .rows import COLUMNS, Row, read_rows, rows_of, write_rows
from .sources import made_by
from .suites import Suite, suite
from .tasks import registry as tasks
from .tasks.task import Task
from .trec import write_qrels, write_run

__all__ = ["PLACES", "Cell", "Progress", "Run", "ask", "read_run", "run_suite", "task_fingerprint"]

PLACES = 100
"""How many places of each ranking are looked at: a right item further down counts as not found."""

_RUN = "run.json"
_TOO_SLOW = "left out of quick runs, which it would make several times as long"
_LEFT_OUT = "left out as asked"
_FORM: dict[str, Any] = {"places": PLACES, "columns": list(COLUMNS), "version": __version__}
_BLOCK = 256  # queries asked at once; no arm's answer depends on it

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """One arm on one task.

    Attributes:
        task: name of the task.
        seed: of its draws.
        arm: name of the arm.
        rows: a row for each question and rule.
        unavailable: why there are none, or empty.
        cpu_s: CPU seconds that indexing and asking took when it was done, all threads; None where there are no rows.
        counts: by words, what the arm counted meanwhile, such as answers that it could not prove.
    """

    task: str
    seed: int
    arm: str
    rows: tuple[Row, ...]
    unavailable: str = ""
    cpu_s: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """All cells of a suite.

    Attributes:
        suite: what was run.
        quick: on the small draw of each task.
        cells: by task and seed in the order of the suite, then by arm.
        skipped: by name of a task, why it was not asked.
        told: by name of a task, its words and counts.
    """

    suite: Suite
    quick: bool
    cells: tuple[Cell, ...]
    skipped: dict[str, str]
    told: dict[str, dict[str, Any]]

    def of(self, task: str, arm: str) -> list[Row]:
        """Returns the rows of all seeds of one task, each question named by its seed too."""
        return [
            replace(row, question=f"{cell.seed}:{row.question}")
            for cell in self.cells
            if (cell.task, cell.arm) == (task, arm)
            for row in cell.rows
        ]


def run_suite(
    of: Suite,
    folder: Path,
    *,
    quick: bool = False,
    most: int = tasks.QUICK,
    only_arms: Sequence[str] = (),
    only_tasks: Sequence[str] = (),
    without: Sequence[str] = (),
    models: Mapping[str, str] | None = None,
    trec: Path | None = None,
    written: bool = True,
    progress: Progress = lambda words: None,
) -> Run:
    """Returns every cell of a suite, with its rows in ``folder``.

    All data are looked for, and all arms are built once, before the first is asked.

    Args:
        of: what to run.
        folder: where rows are kept; made if need be.
        quick: on the small draw of each task, and without the slow arms of the suite unless they are named.
        most: questions of such a draw.
        only_arms: only these arms of the suite, or others by name; all where empty.
        only_tasks: only these tasks; all where empty.
        without: arms that are left out, which the tables say.
        models: names of models or folders that hold them, by use, in place of those that the arms have.
        trec: a folder for the rankings as TREC runs, with the right answers beside them.
        written: what was run is written down too, so that ``read_run`` finds it in ``folder``.
        progress: is told what is being done.

    Raises:
        DataMissing: the data of no task at all are here.
        QueryError: no arm or task has one of the names, or no arm of the run uses one of the models.
    """
    entries, models = {name: arms.find(name) for name in (only_arms or of.arms)}, dict(models or {})
    uses = sorted({use for entry in entries.values() for use in entry.models})
    for use, name in sorted(models.items()):
        if use not in uses or not name:
            found = "no model is named" if use in uses else "no arm of this run has that use for one"
            raise QueryError(f"model {use}", found, f"Give USE=NAME; the uses are {', '.join(uses) or 'none'}.")
    for name in only_tasks:
        tasks.entry(name)
    tables = [table for table in of.tables if not only_tasks or table.task in only_tasks]
    missing = {name: reason for name, entry in entries.items() if (reason := entry.missing(models))}
    if quick and not only_arms:
        missing |= dict.fromkeys(of.slow, _TOO_SLOW)
    for name in without:
        if name not in entries:
            raise QueryError(f"leave out the arm {name}", "it is none of this run", f"There are {', '.join(entries)}.")
        missing[name] = _LEFT_OUT
    for name in sorted(entries.keys() - missing.keys()):
        entries[name].build(replace(made_up_world()[0], models=models))
    # Before the first is asked: what is edited while a run goes on is not what it runs.
    made = {name: made_by(entry, models) for name, entry in entries.items() if name not in missing}
    skipped = {table.task: reason for table in tables if (reason := tasks.available(table.task))}
    tables = [table for table in tables if table.task not in skipped]
    if not tables:
        raise DataMissing(f"run {of.name}", "; ".join(skipped.values()) or "no task is left", "Bring the data.")
    cells: list[Cell] = []
    told: dict[str, dict[str, Any]] = {}
    for table in tables:
        seeds = table.seeds or tasks.entry(table.task).seeds
        for seed in seeds[:1] if quick else seeds:
            progress(f"{table.task} seed {seed}: reading")
            task = _with(models, tasks.load(table.task, seed=seed, quick=quick, most=most))
            told[table.task] = {
                "words": task.words, "items": len(task.items), "counts": dict(task.counts),
                "rules": sorted(task.rules),
            }  # fmt: skip
            if trec is not None:
                trec.mkdir(parents=True, exist_ok=True)
                write_qrels(task, trec / f"{_slug(table.task, seed)}.qrels")
            mark = task_fingerprint(task)
            for name, entry in entries.items():
                if name in missing:
                    cells.append(Cell(table.task, seed, name, (), missing[name]))
                    continue
                progress(f"{table.task} seed {seed}: {name}")
                place = folder / _rows_file(table.task, seed, name)
                rests = {"task": mark, "arm": made[name], **_FORM}
                cells.append(_cell(task, table.task, seed, name, entry, rests, place, trec))
                progress(f"{table.task} seed {seed}: {name}: {cells[-1].cpu_s:.1f} s CPU")
    run = Run(of, quick, tuple(cells), skipped, told)
    if written:
        _write(run, folder)
    return run


def _with(models: Mapping[str, str], task: Task) -> Task:
    """Returns a task whose arms take these models, which its words tell."""
    if not models:
        return task
    named = ", ".join(
        f"{use} {Path(name).name if Path(name).is_dir() else name}" for use, name in sorted(models.items())
    )
    setting = replace(task.setting, models={**task.setting.models, **models})
    return replace(task, words=f"{task.words} Models named for this run: {named}.", setting=setting)


def read_run(folder: Path) -> Run:
    """Returns the run whose rows are in ``folder``.

    Raises:
        ArtifactError: there is none, or its files are damaged.
    """
    try:
        told = json.loads((folder / _RUN).read_text(encoding="utf-8"))
        of = suite(told["suite"])
        cells = tuple(_kept(folder, cell) for cell in told["cells"])
        return Run(of, told["quick"], cells, told["skipped"], told["told"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ArtifactError(f"run in {folder}", str(problem), "Run the suite with this folder first.") from problem


def _write(run: Run, folder: Path) -> None:
    cells = [{"task": c.task, "seed": c.seed, "arm": c.arm, "unavailable": c.unavailable} for c in run.cells]
    told = {
        "suite": run.suite.name, "quick": run.quick, "cells": cells, "skipped": run.skipped, "told": run.told,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(told, folder / _RUN)


def _cell(
    task: Task,
    task_name: str,
    seed: int,
    name: str,
    entry: arms.Entry,
    rests: dict[str, Any],
    rows_file: Path,
    trec: Path | None,
) -> Cell:
    rows_file.parent.mkdir(parents=True, exist_ok=True)
    rests_file = _rests_file(rows_file)
    if trec is None and rows_file.exists() and rests_file.exists():
        told = _notes(rests_file)
        if told["rests"] == rests:
            rows = tuple(read_rows(rows_file))
            return Cell(task_name, seed, name, rows, cpu_s=told["cpu_s"], counts=told["counts"])
    started = time.process_time()
    arm = entry.build(task.setting)
    arm.index(task.items)
    ranking = ask(arm, [question.query for question in task.questions], PLACES)
    spent = round(time.process_time() - started, 3)
    counts: dict[str, int] = dict(getattr(arm, "counts", {}))
    rows = tuple(rows_of(task, ranking))
    rests_file.unlink(missing_ok=True)  # at no time do rows lie beside what other rows rest on
    write_rows(rows, rows_file)
    _write_json({"rests": rests, "cpu_s": spent, "counts": counts}, rests_file)
    if trec is not None:
        write_run(task, ranking, name, trec / f"{rows_file.parent.name}--{name.replace(':', '-')}.run.gz")
    return Cell(task_name, seed, name, rows, cpu_s=spent, counts=counts)


def _kept(folder: Path, told: dict[str, Any]) -> Cell:
    if told["unavailable"]:
        return Cell(**told, rows=())
    file = folder / _rows_file(told["task"], told["seed"], told["arm"])
    kept = _notes(_rests_file(file))
    return Cell(**told, rows=tuple(read_rows(file)), cpu_s=kept["cpu_s"], counts=kept["counts"])


def _notes(file: Path) -> dict[str, Any]:
    """Returns what stands beside rows: what they rest on, ``cpu_s`` and ``counts``."""
    try:
        told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if not {"rests", "cpu_s", "counts"} <= told.keys():
            raise ValueError("it does not say what rows rest on")
    except (OSError, ValueError, AttributeError) as problem:
        raise ArtifactError(f"rows {file.name}", str(problem), "Remove the file and run the bench again.") from problem
    return told


def _write_json(told: dict[str, Any], file: Path) -> None:
    partial = file.with_suffix(".json.part")
    partial.write_text(json.dumps(told, sort_keys=True, indent=1) + "\n", encoding="utf-8")
    partial.replace(file)


def ask(arm: Arm, queries: Sequence[Query], k: int) -> Ranking:
    """Returns the ranking of all queries, asked in blocks."""
    parts = [arm.rank(queries[start : start + _BLOCK], k) for start in range(0, len(queries), _BLOCK)]
    if not parts:
        return arm.rank([], k)
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in Ranking.__dataclass_fields__]
    return Ranking(*columns)


def task_fingerprint(task: Task) -> str:
    """Returns the SHA-256 of all that a task asks and holds right, hex."""
    told = {
        "ontology": task.setting.mounted.ontology.sha256,
        "seed": task.setting.seed,
        "items": [_plain(asdict(item)) for item in task.items],
        "questions": [_plain(asdict(question)) for question in task.questions],
        "rules": {name: dict(groups) for name, groups in task.rules.items()},
    }
    text = json.dumps(told, sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, (set, frozenset)) else value for name, value in told.items()}


def _rests_file(rows_file: Path) -> Path:
    return rows_file.parent / rows_file.name.replace(".csv.gz", ".json")


def _rows_file(task: str, seed: int, arm: str) -> Path:
    return Path(_slug(task, seed)) / f"{arm.replace(':', '-')}.csv.gz"


def _slug(task: str, seed: int) -> str:
    return "-".join(part for part in (*task.replace("@", "/").split("/"), str(seed)) if part)
