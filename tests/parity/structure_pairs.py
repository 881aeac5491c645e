"""Pairs of cases with structure, for the parity tests of what aligns many at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from strategies import ALL_DIALS, Declared, random_analogy, random_declared, random_nested_case

from sma_gpu import CaseBatch, Dials, Index, mount, ontology_from_parents
from sma_gpu.cases.model import Case
from sma_gpu.ops import choose
from sma_gpu.ops.structure import Found, StructurePairs
from sma_gpu.retrieval.search import open_blocks

__all__ = ["every_pair", "random_pairs", "random_world", "searched"]


def every_pair(declared: Declared, stored: Sequence[Case], queries: Sequence[Case], chosen: Dials) -> StructurePairs:
    """Returns all pairs of a query and a stored case."""
    mounted = mount(ontology_from_parents(declared.parents))
    index = Index.build(CaseBatch.from_cases(stored, mounted).spelled_out(), mounted, chosen)
    batch = CaseBatch.from_cases(queries, mounted).spelled_out()
    (block,) = open_blocks(index, batch, choose("reference")[1])
    pairs = np.array(list(itertools.product(range(len(batch)), range(len(index)))), np.int64).reshape(-1, 2)
    return block.structured(pairs[:, 0], pairs[:, 1])


def random_world(
    seed: int, statements: int, entities: int, *, predicates: int = 12
) -> tuple[Declared, list[Case], list[Case]]:
    """Returns a random lattice, three stored cases, and two queries: one made out of the first, one by itself."""
    rng = np.random.default_rng([31, seed])
    declared = random_declared(rng, int(rng.integers(2, predicates + 1)))
    size, things = int(rng.integers(2, statements + 1)), int(rng.integers(1, entities + 1))
    planted = random_analogy(rng, declared, size, things)
    stored = [planted.base, *(random_nested_case(rng, declared, f"c{i}", size, things) for i in range(2))]
    return declared, stored, [planted.target, random_nested_case(rng, declared, "q", size, things)]


def random_pairs(seeds: range, statements: int, entities: int, *, predicates: int = 12) -> Iterator[StructurePairs]:
    """Yields all pairs of many random worlds, each under other dials."""
    for seed in seeds:
        declared, stored, queries = random_world(seed, statements, entities, predicates=predicates)
        yield every_pair(declared, stored, queries, ALL_DIALS[seed % len(ALL_DIALS)])


def searched(pairs: StructurePairs, node_budget: int) -> list[Found]:
    """Returns what the reference's search finds."""
    return [pairs.paired(place).best(node_budget) for place in range(len(pairs))]
