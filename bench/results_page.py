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
from .report_text import MEASURE_WORDS, grid, report_text, share, signed

__all__ = ["ALPHA", "main", "page", "records"]

ALPHA = 0.05

_CLAIMS = "claims"
_OPENING = """# Results

`make results` runs every suite and writes the reports in `bench/expected/` and this page; `make results FULL=1` takes
every question and every seed. Each table stands below the command that makes it, and

    sma-gpu bench reproduce SUITE [--quick]

says whether its figures come out again. What is compared, by which measure and on which seeds is fixed in
`bench/prereg/` before a run; `docs/decisions` tells on which data anything was tuned.

Top-k is the expected share of questions with a right item among the first k, equal scores in random order. Intervals
resample whole right answers (10,000 draws) and are simultaneous over the comparisons of their family; p is corrected
for it (Holm). *Strongest* is the control with the highest mean on that very row, chosen after the fact and against us.
An arm that could not be run here is named as unavailable, and nothing stands in for it.
"""


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the reports in a folder by suite, in order; of a suite with both, the whole one and not the quick one."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.glob("*.json")):
        name = file.stem.removesuffix("-quick")
        if name == file.stem or name not in found:
            found[name] = json.loads(file.read_text(encoding="utf-8"))
    return dict(sorted(found.items()))


def page(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the page of reports by suite."""
    reports = [report for name, report in found.items() if name != _CLAIMS]
    parts = [_OPENING, "## Against the strongest control\n", _summary(reports)]
    if _CLAIMS in found:
        parts.append(claims_text(found[_CLAIMS]))
    parts += [report_text(report) for report in reports]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _summary(reports: list[Mapping[str, Any]]) -> str:
    rows = [
        row
        for report in reports
        for table in report["tables"]
        for family in table["families"]
        for row in _standings(report, table, family)
    ]
    if not rows:
        return "No comparison was made.\n"
    outcomes = [row[-1] for row in rows]
    counts = "; ".join(f"{words}: {outcomes.count(words)}" for words in (_ABOVE, _NOT_TOLD, _BELOW))
    head = ("task", "ours", "measure", "ours", "strongest", "theirs", "difference", "outcome")
    return "\n".join([*grid(head, rows), f"{counts}.", ""])


_ABOVE, _NOT_TOLD, _BELOW = "above", "not told apart", "below"


def _standings(report: Mapping[str, Any], table: Mapping[str, Any], family: Mapping[str, Any]) -> list[list[str]]:
    where = ", ".join([table["task"], *([family["rule"]] if family["rule"] != "strict" else [])])
    where += f", {family['slice']}" if family["slice"] else ""
    compared = {(c["other"], c["measure"]): c for c in family["comparisons"]}
    found = []
    for measure in family["measures"]:
        other = family["strongest"][measure]
        one = compared[other, measure]
        told = one["corrected_p"] < ALPHA
        outcome = (_ABOVE if one["difference"] > 0 else _BELOW) if told else _NOT_TOLD
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
