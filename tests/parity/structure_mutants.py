"""Prints how many pairs the compiled search, run as plain Python and with a part exchanged, settles otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from parity.structure_pairs import random_pairs, searched

from sma_gpu.ops import cpu_structure_search as search
from sma_gpu.ops.cpu_structure import outcomes


def exchange(mutant: str) -> None:
    """Lets the bound be one unit too low, or takes no notice of pairs that share their stored item."""
    bound, contested = search.relaxed_bound, search._contested

    def lower(*arguments: object) -> int:
        return bound(*arguments) - 1

    def forget(made: search.Made, *arguments: np.ndarray) -> np.ndarray:
        sums = np.zeros((2, made.size + len(made.row_ptr)), np.int64)
        return contested(made._replace(stored=np.arange(made.size)), *arguments[:-1], sums)

    if mutant == "bound":
        search.relaxed_bound = lower
    elif mutant == "conflict":
        search._contested = forget


exchange(sys.argv[1])
apart = 0
for pairs in random_pairs(range(12), 14, 5, predicates=6):
    for node_budget in (1, 300):
        found = outcomes(pairs, node_budget, lambda rows, _, work: work(0, rows))
        wanted = searched(pairs, node_budget)
        apart += int(
            (found.total != [f.total for f in wanted]).sum() + (found.bound != [f.bound for f in wanted]).sum()
        )
sys.stdout.write(f"{apart}\n")
