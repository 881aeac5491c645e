"""The page on trust, out of the report that is expected: ``python -m sma_gpu.bench.trust.page ROOT``.

Reads ``ROOT/bench/expected/trust.json``, or that of a quick run, and writes ``ROOT/docs/TRUST.md``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .text import trust_text

__all__ = ["main", "page", "record_in"]

_OPENING = """# Trust

`make results` writes `bench/expected/trust{kind}.json` and this page too. Each table stands below the command that
makes it. What is asked, on which seeds, and by which rule a target is met is fixed in `bench/trust/plan.toml` before
a run. A target missed goes through the same lines as one met.

Every figure of ours is of questions whose fold the model had not seen: weights, scaling, strength of the ridge, steps
and thresholds come from the other folds, cut by publication or, where none is named, by right answer; questions that
state the same are never parted. Which signals there are was chosen before, on some of these tasks (decision 0018).

- **AURC**: the mean share of wrong ones among the answers given, over every number of answers given, surest first
  (Geifman and El-Yaniv 2017). It mixes how often an arm is right with how well it knows; **E-AURC** is what lies above
  the best order of the same answers (Geifman, Uziel and El-Yaniv 2019), which is the latter alone. Every other arm is
  ordered by its own confidence or by its raw score, whichever comes out better for it.
- **ECE**: mean gap between stated confidence and share right, ten bins of equal width. *By chance*: what a true
  confidence would show on average with as many questions. *p*: how often outcomes drawn by the confidences themselves
  show as much.
- **Grounding**: whether a question to which nothing stored is right is told from one that has an answer. Score over
  self is the first hit's score over that of the question with itself, under the dials of `evidence`; under the
  published scores it was .888 on the protocol of medicine, so this is the higher bar.
- **Each asked twice**: every known question as it is, and again with its right answers hidden: as if it was new. Only
  the answers that are named are hidden: where the same disease stands under another key too, as for a quarter of the
  patients and more, what is called new is not, and novelty looks worse than it is. `sma-gpu calibrate` hides twins,
  where mappings say which they are.
- **Footing**: ours is calibrated on other folds of the same task; the other arms are as they come. That a calibration
  by many signals could be made for them too is true of each, and was not tried.
- **Conformal**: of 20 splits by groups, a third fits, a third gives the threshold, a third is judged; the promise is on
  the mean of these, not on each.

Intervals resample whole right answers (10,000 draws, 95 %, each by itself). *Not told apart* means that the interval
holds the border. What was published for a domain was measured on other splits and is there for orientation.
{quick}
"""
_QUICK = """
This is a quick run: arms are asked at most {most} questions of a draw, without those named as not asked; calibration,
novelty and abstention of ours are of all up to {most_ours:,}. `make results FULL=1` takes every question.
"""


def record_in(folder: Path) -> dict[str, Any] | None:
    """Returns the report in a folder, the whole one and not the quick one where there are both; None without one."""
    for name in ("trust.json", "trust-quick.json"):
        if (folder / name).is_file():
            told: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
            return told
    return None


def page(found: Mapping[str, Any]) -> str:
    """Returns the page of a report."""
    quick = _QUICK.format(most=found["most"], most_ours=found["most_ours"]) if found["quick"] else ""
    return _OPENING.format(kind="-quick" if found["quick"] else "", quick=quick) + "\n" + trust_text(found)


def main(arguments: list[str]) -> int:
    """Writes the page; returns the exit status."""
    root = Path(arguments[0] if arguments else ".")
    found = record_in(root / "bench" / "expected")
    if found is None:
        print(f"trust page: {root / 'bench' / 'expected'} holds no report; `make results` writes one", file=sys.stderr)
        return 1
    (root / "docs" / "TRUST.md").write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
