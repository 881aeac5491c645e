"""What a greater node budget would prove of cases with structure: ``python -m sma_gpu.bench.structure_budgets``.

Prints one JSON object; ``--table FILE`` prints the table of such a record instead. Pairs are those of
``bench.structure``, matched by the compiled search on one thread. CP-SAT (one worker, a limit that does not depend on
the clock) is asked for the optimum of each: what is proved best must be it, and of the rest it tells how much is really
missing. It is given the same hypotheses; that these are the right ones is for the tests.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ortools.sat.python import cp_model
from tqdm import tqdm

from ..ops.cpu_structure import Outcomes, outcomes
from ..ops.structure import Hypotheses, most_nodes
from ..ops.structure.bitsets import as_mask
from .structure import FAMILIES, Workbench

__all__ = ["main", "measure", "optimum", "table"]

_FAMILIES = ("planted", "unrelated")


def main(argv: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=8, help="pairs of each family and size")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 40, 80, 160, 300], help="statements of a case")
    parser.add_argument("--nodes", type=int, nargs="+", default=[20, 2_000, 20_000], help="node budgets of a pair")
    parser.add_argument("--effort", type=float, default=20.0, help="deterministic seconds of CP-SAT for a pair")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--table", metavar="FILE", type=Path, help="print the table of this record")
    asked = parser.parse_args(argv)
    if asked.table:
        print(table(json.loads(asked.table.read_text(encoding="utf-8"))))
    else:
        print(json.dumps(measure(asked.pairs, asked.sizes, asked.nodes, asked.effort, asked.seed), indent=1))


def measure(pairs: int, sizes: Sequence[int], budgets: Sequence[int], effort: float, seed: int) -> dict[str, Any]:
    """Returns the record: settings, and one row for each family, size and budget."""
    rows = []
    with tqdm(total=len(_FAMILIES) * len(sizes) * pairs, file=sys.stderr, unit="pair") as progress:
        for family in _FAMILIES:
            make, words = FAMILIES[family]
            for size in sizes:
                rng, known = random.Random(f"{family} {size} {seed}"), words()
                bench = Workbench([make(rng, known, size, i) for i in range(pairs)], known, max(budgets))
                found: list[list[tuple[float, Outcomes]]] = [[] for _ in budgets]
                best: list[int | None] = []
                most: list[int] = []
                for number in range(pairs):
                    for place, budget in enumerate(budgets):
                        found[place].append(_searched(bench, number, budget))
                    made = bench.structured([number]).paired(0).made
                    best.append(optimum(made, effort))
                    most.append(most_nodes(made))
                    progress.update()
                rows += [_row(family, size, *one, best, most) for one in zip(budgets, found, strict=True)]
    return {"pairs": pairs, "seed": seed, "effort": effort, "rows": rows}


def _searched(bench: Workbench, number: int, budget: int) -> tuple[float, Outcomes]:
    pair = bench.structured([number])
    start = time.process_time()
    found = outcomes(pair, budget, lambda rows, _, work: work(0, rows))
    return 1000 * (time.process_time() - start), found


def _row(
    family: str,
    size: int,
    budget: int,
    found: list[tuple[float, Outcomes]],
    best: list[int | None],
    most: list[int],
) -> dict[str, Any]:
    claimed, missing, unknown, proved = [0.0], [0.0], 0, 0
    for (_, one), optimal in zip(found, best, strict=True):
        total, bound = int(one.total[0]), int(one.bound[0])
        proved += total == bound
        if optimal is not None and not total <= optimal <= bound:
            raise RuntimeError(f"CP-SAT proves {optimal}, the search {total} to {bound}")
        if total < bound:
            claimed.append((bound - total) / max(total, 1))
            unknown += optimal is None
            missing += [] if optimal is None else [(optimal - total) / max(total, 1)]
    return {
        "family": family,
        "size": size,
        "nodes": budget,
        "pairs": len(found),
        "sure": sum(n <= budget for n in most),
        "proved": proved,
        "agreed": sum(int(one.total[0]) == optimal for (_, one), optimal in zip(found, best, strict=True)),
        "cpu_ms": statistics.median(spent for spent, _ in found),
        "greatest_gap": max(claimed),
        "greatest_missing": max(missing),
        "unknown": unknown,
    }


def optimum(made: Hypotheses, effort: float) -> int | None:
    """Returns the value of the best mapping by CP-SAT, or None where it does not prove one.

    Args:
        made: hypotheses, none of them commutative.
        effort: deterministic seconds.
    """
    if made.options:
        raise ValueError("commutative hypotheses are not put to CP-SAT here")
    model = cp_model.CpModel()
    chosen = [model.new_bool_var(str(h)) for h in range(len(made))]
    for sets in (made.rows, made.columns):
        for members in sets.values():
            model.add_at_most_one(chosen[h] for h in np.flatnonzero(as_mask(members, len(made))).tolist())
    for h, support in enumerate(made.support):
        for k in support:
            model.add_implication(chosen[h], chosen[k])
    model.maximize(sum(v * c for v, c in zip(made.value.tolist(), chosen, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = effort
    return round(solver.objective_value) if solver.solve(model) == cp_model.OPTIMAL else None


def table(record: dict[str, Any]) -> str:
    """Returns the rows of a record as a table in Markdown."""
    head = [
        "pair", "nodes", "CPU ms, median", "sure to end", "proved best", "CP-SAT: the same", "greatest gap claimed",
        "greatest really missing", "not known",
    ]  # fmt: skip
    lines = [f"| {' | '.join(head)} |", f"| --- |{' --: |' * (len(head) - 1)}"]
    for row in record["rows"]:
        cells = [
            f"{row['family']} {row['size']}", f"{row['nodes']:,}", _short(row["cpu_ms"]),
            f"{row['sure']} of {row['pairs']}",
            f"{row['proved']} of {row['pairs']}", f"{row['agreed']} of {row['pairs']}",
            f"{100 * row['greatest_gap']:.3g} %", _missing(row), f"{row['unknown']}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _short(number: float) -> str:
    """Returns three leading digits, or all before the point."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _missing(row: dict[str, Any]) -> str:
    """Returns what is really missing; nothing where that is not known of any pair without proof."""
    unproved = row["pairs"] - row["proved"]
    return "" if unproved and row["unknown"] == unproved else f"{100 * row['greatest_missing']:.3g} %"


if __name__ == "__main__":
    main()
