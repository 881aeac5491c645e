"""The report of a run: every figure derived from its rows, losses and nulls by the same code as wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from .figures import Sample, compare_family, figures, strongest
from .rows import Row
from .running import PLACES, Cell, Run
from .suites import Family, Suite, Table
from .tasks.task import STRICT

__all__ = ["SCHEMA", "report_record", "samples_of"]

SCHEMA = "sma-gpu/bench-report/1"


def report_record(run: Run) -> dict[str, Any]:
    """Returns the report, ready for JSON; nothing in it depends on when or where the run was made."""
    return {
        "schema": SCHEMA,
        "suite": run.suite.name,
        "words": run.suite.words,
        "quick": run.quick,
        "places": PLACES,
        "bootstrap_seed": run.suite.seed,
        "ours": run.suite.ours,
        "controls": list(run.suite.controls),
        "tables": [_table(run, table) for table in run.suite.tables if table.task in run.told],
        "skipped": dict(sorted(run.skipped.items())),
    }


def samples_of(run: Run, table: Table) -> Iterator[tuple[str, str, dict[str, Sample]]]:
    """Yields the parts of a table in their order: hit rule, name of the slice or nothing, the sample of each arm."""
    rows = _rows_of(run, table)
    for rule in _rules(run, table):
        for slice_name in ("", *table.slices):
            yield rule, slice_name, {name: Sample.of(found, rule, slice_name) for name, found in rows.items()}


def _rows_of(run: Run, table: Table) -> dict[str, list[Row]]:
    """Returns the rows of each arm that was asked."""
    cells = [cell for cell in run.cells if cell.task == table.task]
    unavailable = {cell.arm for cell in cells if cell.unavailable}
    names = dict.fromkeys(cell.arm for cell in cells if cell.arm not in unavailable)
    return {name: run.of(table.task, name) for name in names}


def _rules(run: Run, table: Table) -> list[str]:
    return [rule for rule in table.rules if rule == STRICT or rule in run.told[table.task]["rules"]]


def _table(run: Run, table: Table) -> dict[str, Any]:
    told = run.told[table.task]
    cells = [cell for cell in run.cells if cell.task == table.task]
    unavailable = {cell.arm: cell.unavailable for cell in cells if cell.unavailable}
    rows, rules = _rows_of(run, table), _rules(run, table)
    parts = [
        {
            "rule": rule,
            "slice": slice_name,
            "arms": {name: figures(sample, novelty=rule == STRICT) for name, sample in samples.items()},
        }
        for rule, slice_name, samples in samples_of(run, table)
    ]
    return {
        "task": table.task,
        "words": told["words"],
        "items": told["items"],
        "counts": told["counts"],
        "seeds": sorted({cell.seed for cell in cells}),
        "parts": parts,
        "families": [
            found for family in table.families if (found := _family(run.suite, family, rows, rules)) is not None
        ],
        "rules_missing": [rule for rule in table.rules if rule not in rules],
        "unavailable": unavailable,
        "arm_counts": {
            name: counts for name in rows if (counts := _counted(cell for cell in cells if cell.arm == name))
        },
    }


def _counted(cells: Iterable[Cell]) -> dict[str, int]:
    """Returns what an arm counted, over all seeds."""
    found: dict[str, int] = {}
    for cell in cells:
        for words, count in cell.counts.items():
            found[words] = found.get(words, 0) + count
    return dict(sorted(found.items()))


def _family(suite: Suite, family: Family, rows: Mapping[str, list[Row]], rules: list[str]) -> dict[str, Any] | None:
    if suite.ours not in rows or family.rule not in rules:
        return None
    samples = {
        name: Sample.of(rows[name], family.rule, family.slice) for name in (suite.ours, *suite.controls) if name in rows
    }
    ours = samples.pop(suite.ours)
    if not samples or not len(ours.answerable):
        return None
    return {
        "rule": family.rule,
        "slice": family.slice,
        "measures": list(family.measures),
        "strongest": {measure: strongest(samples, measure) for measure in family.measures},
        "comparisons": [
            {name: value for name, value in asdict(found).items() if name != "interval"} | asdict(found.interval)
            for found in compare_family(ours, samples, family.measures, suite.seed)
        ],
    }
