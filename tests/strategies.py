"""Random lattices, corpora and queries for property tests, as plain ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from sma_gpu import CaseBatch, Dials, Index, Mounted, mount, ontology_from_parents

ALL_DIALS = [
    Dials(scorer, credit, normalisation, gamma, rho, delta)
    for scorer in ("surprisal", "ic", "unit")
    for credit in ("base", "ancestor")
    for normalisation, gamma, rho, delta in (
        ("max", 0.25, 0.95, 2),
        ("min", 0.5, 0.8, 1),
        ("power(0)", 0.0, 1.0, 3),
        ("power(0.25)", 0.25, 0.95, 0),
        ("power(0.5)", 0.25, 0.5, 2),
        ("power(0.9)", 1.0, 0.95, 2),
    )
]


@dataclass(frozen=True)
class World:
    """A lattice and the term sets stored over it."""

    parents: dict[str, list[str]]
    cases: dict[str, list[str]]

    def mounted(self) -> Mounted:
        return mount(ontology_from_parents(self.parents))

    def batch(self, mounted: Mounted) -> CaseBatch:
        return pack(mounted, self.cases)

    def index(self, dials: Dials | None = None) -> Index:
        mounted = self.mounted()
        return Index.build(self.batch(mounted), mounted, dials)


def pack(mounted: Mounted, cases: dict[str, list[str]]) -> CaseBatch:
    number = mounted.ontology.number
    return CaseBatch.from_functors(list(cases), [[number[t] for t in terms] for terms in cases.values()])


@st.composite
def worlds(draw: st.DrawFn, max_terms: int = 12, max_cases: int = 8, max_size: int = 5) -> World:
    size = draw(st.integers(1, max_terms))
    ids = [f"EX:{i:03d}" for i in draw(st.permutations(range(size)))]
    parents: dict[str, list[str]] = {}
    for position, term in enumerate(ids):
        above = ids[:position]
        parents[term] = draw(st.lists(st.sampled_from(above), max_size=3, unique=True)) if above else []
    keys = draw(st.lists(st.text("abcXYZ09-é", min_size=1, max_size=4), max_size=max_cases, unique=True))
    terms = st.lists(st.sampled_from(ids), min_size=1, max_size=max_size, unique=True)
    return World(parents, {key: draw(terms) for key in keys})


@st.composite
def asked(draw: st.DrawFn, max_size: int = 5, **bounds: int) -> tuple[World, list[str]]:
    world = draw(worlds(**bounds))
    ids = sorted(world.parents)
    return world, draw(st.lists(st.sampled_from(ids), min_size=1, max_size=max_size, unique=True))


dials = st.sampled_from(ALL_DIALS)


def random_world(rng: np.random.Generator, terms: int, cases: int, size: int) -> World:
    """Returns a larger world from a seeded generator, where drawing through hypothesis would be slow."""
    ids = [f"EX:{i:04d}" for i in range(terms)]
    parents = {ids[0]: []}
    for i in range(1, terms):
        count = 1 + int(rng.random() < 0.2)
        parents[ids[i]] = sorted({ids[int(rng.integers(max(0, i - 40), i))] for _ in range(count)})
    sizes = rng.integers(1, size + 1, cases).tolist()
    stored = {f"case-{i}": [ids[t] for t in rng.choice(terms, n, replace=False)] for i, n in enumerate(sizes)}
    return World(parents, stored)
