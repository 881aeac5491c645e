"""Speed and proof rate of matching cases with structure: ``python -m sma_gpu.bench.structure``.

Prints one JSON object; ``--table FILE`` prints the table of such a record instead. A pair's CPU time is that of its
hypotheses and its best mapping within the node budget, the cases being packed and the query opened: pair by pair by the
reference, all pairs of a row in one call by the backend cpu on one thread, as retrieval does it. Nothing is printed
unless both find the same. Beside them stands the published system on the same pairs with the same costs, where it is
installed.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ..cases import Case, CaseBatch, Entity, Statement
from ..ontologies.builder import ontology_from_parents
from ..ontologies.mount import mount
from ..ops import StructureOps, choose
from ..ops.structure import NODE_BUDGET, PairedUp, StructurePairs
from ..retrieval.corpus import Corpus
from ..retrieval.pairing import pair_up
from ..retrieval.search import OpenQuery, open_blocks
from ..scoring import Dials
from ..scoring.grid import GRID
from .generators import Pair, Words, flat_pair, planted_pair, terms, unrelated_pair, vocabulary

__all__ = ["FAMILIES", "Workbench", "main", "measure", "table"]

SIZES = (5, 10, 20, 40, 80, 160, 300)
PUBLISHED_ESTIMATE_MS = 0.005  # a product of statements, read off its flat pairs in earlier trials
_FLAT_TERMS = 1200

Maker = Callable[[random.Random, Words, int, int], Pair]
FAMILIES: dict[str, tuple[Maker, Callable[[], Words]]] = {
    "planted": (planted_pair, vocabulary),
    "unrelated": (unrelated_pair, vocabulary),
    "flat": (flat_pair, lambda: terms(_FLAT_TERMS)),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10, help="pairs of each family and size")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="statements of a case")
    parser.add_argument("--nodes", type=int, default=NODE_BUDGET, help="node budget of a pair")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--table", metavar="FILE", type=Path, help="print the table of this record")
    asked = parser.parse_args(argv)
    if asked.table:
        print(table(json.loads(asked.table.read_text(encoding="utf-8"))))
    else:
        print(json.dumps(measure(asked.pairs, asked.sizes, asked.nodes, asked.seed), indent=1))


def measure(pairs: int, sizes: Sequence[int], nodes: int, seed: int) -> dict[str, Any]:
    """Returns the record: settings, and one row for each family and size."""
    published = _Published.installed()
    _warm_up(published)
    rows = []
    with tqdm(total=len(FAMILIES) * len(sizes) * pairs, file=sys.stderr, unit="pair") as progress:
        for family, (make, words) in FAMILIES.items():
            for size in sizes:
                rng = random.Random(f"{family} {size} {seed}")
                known = words()
                made = [make(rng, known, size, i) for i in range(pairs)]
                rows.append(_row(family, size, Workbench(made, known, nodes), published, progress))
    return {
        "pairs": pairs,
        "nodes": nodes,
        "seed": seed,
        "dials": Dials.adapter_v1().as_dict(),
        "rows": rows,
        "published": f"structuremappingmemory {version('structuremappingmemory')}" if published else None,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "numba": version("numba") if find_spec("numba") else None,
        "machine": platform.machine(),
    }


def _warm_up(published: _Published | None) -> None:
    """Matches a pair, so that what is imported or compiled on first use is no part of a measurement."""
    known = vocabulary()
    bench = Workbench([unrelated_pair(random.Random(0), known, 40)], known, 50)
    match = bench.match(0)
    bench.together([match])
    if published:
        published.match(bench.pairs[0], bench, match.paired.entity_pairs)


@dataclass(frozen=True)
class _Match:
    """What matching one pair came to. ``score`` and ``bound`` are units of 2^-16 bit."""

    cpu_ms: float
    hypotheses: int
    nodes: int
    score: int
    bound: int
    paired: PairedUp


def _cpu_ops() -> StructureOps | None:
    """Returns the backend cpu on one thread, or None where numba is not installed."""
    if find_spec("numba") is None:
        return None
    from ..ops.cpu import CpuOps

    return CpuOps(1)


class Workbench:
    """The pairs of one family and size: their base cases make the corpus that costs are counted in."""

    def __init__(self, pairs: list[Pair], words: Words, nodes: int) -> None:
        self.pairs, self.words, self.nodes = pairs, words, nodes
        mounted = mount(ontology_from_parents(words.parents))
        bases = CaseBatch.from_cases([p.base for p in pairs], mounted).spelled_out()
        targets = CaseBatch.from_cases([p.target for p in pairs], mounted).spelled_out()
        self._corpus = Corpus.build(bases, mounted, Dials.adapter_v1())
        (self._block,) = open_blocks(self._corpus, targets, choose()[1], nodes)
        self._opened = [OpenQuery(self._block.take(np.array([i]))) for i in range(len(pairs))]
        self._cpu = _cpu_ops()
        self.costs = dict(zip(mounted.ids, self._corpus.costs.tolist(), strict=False))  # signed functors stand behind

    def match(self, number: int) -> _Match:
        """Matches one pair by the reference."""
        opened, case = self._opened[number], self._corpus.number_of(self.pairs[number].base.key)
        start = time.process_time()
        paired = pair_up(self._corpus, opened.table, opened.rows, opened.batch.items(opened.number), case)
        found = paired.best(self.nodes)
        spent = 1000 * (time.process_time() - start)
        score, bound = paired.score(found.total), paired.score(found.bound)
        return _Match(spent, len(paired.made), found.nodes, score, bound, paired)

    def structured(self, numbers: Sequence[int]) -> StructurePairs:
        """Returns pairs as retrieval hands them to a backend."""
        cases = [self._corpus.number_of(self.pairs[i].base.key) for i in numbers]
        return self._block.structured(np.array(numbers, np.int64), np.array(cases, np.int64))

    def together(self, matches: Sequence[_Match]) -> dict[str, float] | None:
        """Returns what the backend cpu needs for all pairs in one call, None where it is not installed."""
        if self._cpu is None:
            return None
        pairs = self.structured(range(len(self.pairs)))
        start = time.process_time()
        scores, limits = self._cpu.best_mappings(pairs, self.nodes)
        spent = time.process_time() - start
        if scores.tolist() != [m.score for m in matches] or limits.tolist() != [m.bound for m in matches]:
            raise RuntimeError("the backend cpu finds other scores than the reference")
        return {"cpu_ms": 1000 * spent / len(matches), "pairs_per_cpu_s": len(matches) / max(spent, 1e-6)}


def _row(family: str, size: int, bench: Workbench, published: _Published | None, progress: tqdm[Any]) -> dict[str, Any]:
    matches, theirs = [], []
    for number, pair in enumerate(bench.pairs):
        matches.append(bench.match(number))
        if published:
            theirs.append(published.match(pair, bench, matches[-1].paired.entity_pairs))
        progress.update()
    products = [_statements(p.base) * _statements(p.target) for p in bench.pairs]
    nodes = [m.nodes for m in matches]
    row = {
        "family": family,
        "size": size,
        "pairs": len(matches),
        "statements": statistics.median(_statements(c) for p in bench.pairs for c in (p.base, p.target)),
        "hypotheses": statistics.median(m.hypotheses for m in matches),
        "nodes": {"median": statistics.median(nodes), "max": max(nodes)},
        **_times([m.cpu_ms for m in matches]),
        "compiled": bench.together(matches),
        "proved": sum(m.score == m.bound for m in matches),
        "greatest_gap": max((m.bound - m.score) / max(m.score, 1) for m in matches),
        "published": None,
        "published_estimate_ms": statistics.median(PUBLISHED_ESTIMATE_MS * p for p in products),
    }
    if theirs:
        rounding = [(m.hypotheses + 1) / 2 for m in matches]
        apart = [GRID * t.score - m.score for t, m in zip(theirs, matches, strict=True)]
        row["published"] = {
            **_times([t.cpu_ms for t in theirs]),
            "below_ours": sum(a < -r for a, r in zip(apart, rounding, strict=True)),
            "above_ours": sum(a > r for a, r in zip(apart, rounding, strict=True)),
            "greatest_loss": max(0.0, *(-a / max(m.score, 1) for a, m in zip(apart, matches, strict=True))),
        }
    return row


def _times(cpu_ms: list[float]) -> dict[str, Any]:
    return {
        "cpu_ms": {"median": statistics.median(cpu_ms), "p95": float(np.percentile(cpu_ms, 95))},
        "pairs_per_cpu_s": 1000 * len(cpu_ms) / max(sum(cpu_ms), 1e-6),
    }


def _statements(case: Case) -> int:
    return sum(1 for _ in case.walk())


@dataclass(frozen=True)
class _Theirs:
    """Score in bits, pairs of entities that it leaves open counted as ours counts them."""

    cpu_ms: float
    score: float


class _Published:
    """The published system, through its own interface and with its own solver limits."""

    def __init__(self) -> None:
        from sma.ir import Canonicalizer, entity, make_case, stmt
        from sma.match import MatchConfig, match_cases

        self._canonicalizer, self._entity, self._make_case, self._stmt = Canonicalizer, entity, make_case, stmt
        self._config, self._match_cases = MatchConfig, match_cases

    @classmethod
    def installed(cls) -> _Published | None:
        """Returns it, or None where it is not installed."""
        try:
            return cls()
        except ImportError:
            return None

    def match(self, pair: Pair, bench: Workbench, entity_pairs: int) -> _Theirs:
        dials = Dials.adapter_v1()
        canon = self._canonicalizer()
        for child, parents in bench.words.parents.items():
            for parent in parents:
                canon.lattice.add(child, parent)
        config = self._config(gamma=dials.gamma, rho=dials.rho, delta=dials.delta, functor_costs=bench.costs)
        base, target = (self._make_case([self._node(s) for s in c.statements]) for c in (pair.base, pair.target))
        start = time.process_time()
        found = self._match_cases(base, target, config=config, canon=canon)
        spent = 1000 * (time.process_time() - start)
        grounded = sum(1 for h in found.hypotheses if not hasattr(h.base, "functor"))
        return _Theirs(spent, found.score + (entity_pairs - grounded) * bool(found.hypotheses))

    def _node(self, item: Statement | Entity) -> Any:
        if isinstance(item, Entity):
            return self._entity(item.name, item.type)
        return self._stmt(item.functor.id, *map(self._node, item.args))


def table(record: dict[str, Any]) -> str:
    """Returns the rows of a record as a table in Markdown."""
    head = [
        "pair", "statements", "hypotheses", f"nodes of {record['nodes']:,}, median / most", "CPU ms, median / p95",
        "pairs a CPU s", "cpu: CPU ms", "cpu: pairs a CPU s", "times as many", "proved",
        "greatest gap", "published: CPU ms", "5 us x B x T, ms", "published below ours",
    ]  # fmt: skip
    lines = [f"| {' | '.join(head)} |", f"| --- |{' --: |' * (len(head) - 1)}"]
    for row in record["rows"]:
        nodes, cpu, theirs = row["nodes"], row["cpu_ms"], row["published"]
        cells = [
            f"{row['family']} {row['size']}",
            f"{row['statements']:,g}",
            f"{row['hypotheses']:,g}",
            f"{nodes['median']:,g} / {nodes['max']:,}",
            f"{_short(cpu['median'])} / {_short(cpu['p95'])}",
            _short(row["pairs_per_cpu_s"]),
            *_beside(row),
            f"{row['proved']} of {row['pairs']}",
            f"{_short(100 * row['greatest_gap'])} %",
            f"{_short(theirs['cpu_ms']['median'])} / {_short(theirs['cpu_ms']['p95'])}" if theirs else "",
            _short(row["published_estimate_ms"]),
            _below(theirs, row["pairs"]) if theirs else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _beside(row: dict[str, Any]) -> list[str]:
    """Returns the cells of the compiled search."""
    ours = row["compiled"]
    if not ours:
        return ["", "", ""]
    more = ours["pairs_per_cpu_s"] / row["pairs_per_cpu_s"]
    return [_short(ours["cpu_ms"]), _short(ours["pairs_per_cpu_s"]), _short(more)]


def _short(number: float) -> str:
    """Returns three leading digits, or all before the point."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _below(theirs: dict[str, Any], pairs: int) -> str:
    above = f", {theirs['above_ours']} above" if theirs["above_ours"] else ""
    return f"{theirs['below_ours']} of {pairs}{above}"


if __name__ == "__main__":
    main()
