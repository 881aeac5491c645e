"""Expected figures, each made by one command, and whether they come out again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from ..errors import DataMissing

__all__ = ["EXPECTED", "compare_reports", "comparison_text", "expected_name", "expected_report"]

EXPECTED = files(__package__).joinpath("expected")
"""Folder of the reports that are expected."""


def expected_name(suite: str, *, quick: bool) -> str:
    """Returns the name of the file in ``expected/`` that holds the report of a suite."""
    return f"{suite}{'-quick' if quick else ''}.json"


def expected_report(suite: str, *, quick: bool) -> dict[str, Any]:
    """Returns the report that a run of this suite is expected to give.

    Raises:
        DataMissing: none was kept.
    """
    name = expected_name(suite, quick=quick)
    place = EXPECTED.joinpath(name)
    if not place.is_file():
        raise DataMissing(
            f"expected figures of the suite {suite}", f"there is no {name}", "Run `sma-gpu bench run` for it instead."
        )
    told: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return told


def compare_reports(expected: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Returns whether two reports hold the same figures, and each that differs.

    What one of the two could not run, an arm or a task that is not available there, is told and not compared. Reports
    without a figure in common are different.
    """
    wanted, there = dict(_figures(expected)), dict(_figures(found))
    shared = sorted(wanted.keys() & there.keys())
    different = [
        {"figure": name, "expected": wanted[name], "found": there[name]}
        for name in shared
        if wanted[name] != there[name]
    ]
    return {
        "suite": expected["suite"],
        "quick": expected["quick"],
        "verdict": "different" if different or not shared else "equal",
        "equal": len(shared) - len(different),
        "different": different,
        "not_compared": sorted(wanted.keys() ^ there.keys()),
    }


def comparison_text(found: dict[str, Any]) -> str:
    """Returns the verdict, and every figure that differs."""
    name = f"{found['suite']}{' --quick' if found['quick'] else ''}"
    lines = [f"{name}: {found['verdict']}; {found['equal']} figures equal, {len(found['different'])} different"]
    lines += [f"  {d['figure']}: expected {d['expected']}, found {d['found']}" for d in found["different"]]
    if found["not_compared"]:
        lines.append(f"{len(found['not_compared'])} figures are on one side only, as where an arm is not available")
    return "\n".join(lines) + "\n"


def _figures(report: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields each figure of a report under a name of its own."""
    for table in report["tables"]:
        yield f"{table['task']} items", table["items"]
        for part in table["parts"]:
            where = " ".join(filter(None, (table["task"], part["rule"], part["slice"])))
            for arm, figures in part["arms"].items():
                yield from _leaves(f"{where} {arm}", figures)
        for family in table["families"]:
            where = " ".join(filter(None, (table["task"], family["rule"], family["slice"])))
            for comparison in family["comparisons"]:
                name = f"{where} {report['ours']} against {comparison['other']} {comparison['measure']}"
                yield from _leaves(name, {k: v for k, v in comparison.items() if k not in ("other", "measure")})


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name} {key}", inner)
    else:
        yield name, value
