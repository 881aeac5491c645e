"""The page on results, out of the reports that are expected: ``python -m sma_gpu.bench.results_page ROOT``.

Reads ``ROOT/bench/expected`` and writes ``ROOT/docs/RESULTS.md``. A win, a loss and a null go through the same code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .claims import claims_text
from .misses_text import misses_summary
from .report_text import MEASURE_WORDS, grid, report_text, share, signed

__all__ = ["ABOVE", "ALPHA", "BELOW", "NOT_TOLD", "STANDINGS_HEAD", "main", "page", "records", "standings"]

ALPHA = 0.05
ABOVE, NOT_TOLD, BELOW = "above", "not told apart", "below"
"""Outcomes of a comparison: told apart at ``ALPHA`` after Holm's correction, or not."""
STANDINGS_HEAD = ("task", "ours", "measure", "ours", "strongest", "theirs", "difference", "outcome")

_CLAIMS = "claims"
_TRUST = "trust"  # has a page of its own
_MISSES = "misses-"
_OPENING = """# Results

`make results` runs every suite and writes the reports in `bench/expected/` and this page; `make results FULL=1` takes
every question and every seed. Each table stands below the command that makes it, and

    sma-gpu bench reproduce SUITE [--quick]

says whether its figures come out again. What is compared, by which measure and on which seeds is fixed in
`bench/prereg/` before a run; `docs/decisions` tells on which data anything was tuned.

Top-k is the expected share of questions with a right item among the first k, equal scores in random order. Intervals
resample whole right answers (10,000 draws) and are simultaneous over the comparisons of their family; p is corrected
for it (Holm). *Strongest* is the control with the highest mean on that very row, chosen after the fact and against us.
An arm that could not be run here is named as unavailable, and nothing stands in for it. `sma-gpu bench misses SUITE`
says why an arm of this engine misses each question that it does; those of `ssb` stand behind its tables.
"""


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the reports in a folder by suite, in order; of a suite with both, the whole one and not the quick one.

    That on trust is not among them.
    """
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.glob("*.json")):
        name = file.stem.removesuffix("-quick")
        if name != _TRUST and (name == file.stem or name not in found):
            found[name] = json.loads(file.read_text(encoding="utf-8"))
    return dict(sorted(found.items()))


def page(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the page of reports by suite."""
    reports = {name: told for name, told in found.items() if name != _CLAIMS and not name.startswith(_MISSES)}
    parts = [_OPENING, "## Against the strongest control\n", _summary(list(reports.values()))]
    if _CLAIMS in found:
        parts.append(claims_text(found[_CLAIMS]))
    for name, report in reports.items():
        parts.append(report_text(report))
        if (misses := found.get(f"{_MISSES}{name}")) is not None:
            parts.append(misses_summary(misses))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _summary(reports: list[Mapping[str, Any]]) -> str:
    rows = [row for report in reports for row in standings(report)]
    if not rows:
        return "No comparison was made.\n"
    outcomes = [row[-1] for row in rows]
    counts = "; ".join(f"{words}: {outcomes.count(words)}" for words in (ABOVE, NOT_TOLD, BELOW))
    return "\n".join([*grid(STANDINGS_HEAD, rows), f"{counts}.", ""])


def standings(report: Mapping[str, Any]) -> list[list[str]]:
    """Returns our arm beside the strongest control in each family and measure, under ``STANDINGS_HEAD``."""
    return [
        row for table in report["tables"] for family in table["families"] for row in _standings(report, table, family)
    ]


def _standings(report: Mapping[str, Any], table: Mapping[str, Any], family: Mapping[str, Any]) -> list[list[str]]:
    where = ", ".join([table["task"], *([family["rule"]] if family["rule"] != "strict" else [])])
    where += f", {family['slice']}" if family["slice"] else ""
    compared = {(c["other"], c["measure"]): c for c in family["comparisons"]}
    found = []
    for measure in family["measures"]:
        other = family["strongest"][measure]
        one = compared[other, measure]
        told = one["corrected_p"] < ALPHA
        outcome = (ABOVE if one["difference"] > 0 else BELOW) if told else NOT_TOLD
        found.append(
            [
                where + (" (quick)" if report["quick"] else ""), report["ours"], MEASURE_WORDS[measure],
                share(one["ours"]), other, share(one["theirs"]), signed(one["ours"], one["theirs"]), outcome,
            ]
        )  # fmt: skip
    return found


def main(arguments: list[str]) -> int:
    """Writes the page; returns the exit status."""
    root = Path(arguments[0] if arguments else ".")
    found = records(root / "bench" / "expected")
    if not found:
        print(
            f"results page: {root / 'bench' / 'expected'} holds no report; `make results` writes them", file=sys.stderr
        )
        return 1
    (root / "docs" / "RESULTS.md").write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
