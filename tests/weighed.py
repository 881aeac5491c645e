"""Random flat cases that tell how often their statements hold, for tests of the scorer ``evidence``."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from oracles.evidence import EvidenceOracle, Stated
from strategies import random_world, worlds

from sma_gpu import CaseBatch, Dials, Index, Mounted, mount, ontology_from_parents

EVIDENCE_DIALS = [
    Dials(scorer, "ancestor", normalisation, gamma, rho, delta)
    for scorer, normalisation, gamma, rho, delta in (
        ("evidence", "power(0)", 0.25, 0.5, 2),
        ("evidence", "max", 0.25, 0.95, 2),
        ("evidence(1,1)", "min", 0.5, 0.8, 1),
        ("evidence", "power(0)", 0.0, 1.0, 3),
        ("evidence", "power(0.25)", 0.25, 0.5, 0),
        ("evidence(0.25,0)", "power(0.5)", 1.0, 0.5, 2),
        ("evidence(10,0.45)", "power(0.9)", 0.25, 0.3, 3),
    )
]

FREQUENCIES = (1.0, 0.8, 0.5, 1 / 3, 0.3, 0.05, 0.01, 0.001, None)


@dataclass(frozen=True)
class WeighedWorld:
    """A lattice and the cases stored over it: terms with their frequencies (None: not known), and what is excluded."""

    parents: dict[str, list[str]]
    cases: dict[str, dict[str, float | None]]
    excluded: dict[str, list[str]]

    def mounted(self) -> Mounted:
        return mount(ontology_from_parents(self.parents))

    def batch(self, mounted: Mounted) -> CaseBatch:
        return pack_weighed(mounted, self.cases, self.excluded)

    def index(self, dials: Dials) -> Index:
        mounted = self.mounted()
        return Index.build(self.batch(mounted), mounted, dials)

    def oracle(self, dials: Dials) -> EvidenceOracle:
        assert dials.weighing is not None
        return EvidenceOracle(
            self.parents, self.cases, self.excluded, dials.gamma, dials.rho, dials.delta, *dials.weighing
        )


def pack_weighed(mounted: Mounted, cases: dict[str, Stated], excluded: dict[str, list[str]]) -> CaseBatch:
    """Returns the cases packed; without frequencies where no case tells any."""
    number = mounted.ontology.number
    present = [sorted(number[t] for t in stated) for stated in cases.values()]
    absent = [[number[t] for t in excluded.get(key, [])] for key in cases]
    batch = CaseBatch.from_functors(list(cases), present, absent)
    ids = mounted.ontology.ids
    told = [stated[ids[f]] for stated, row in zip(cases.values(), present, strict=True) for f in row]
    if all(f is None for f in told):
        return batch
    return replace(batch, frequencies=np.array([np.nan if f is None else f for f in told], np.float64))


@st.composite
def weighed_cases(draw: st.DrawFn, terms: list[str]) -> dict[str, float | None]:
    """Draws what one case states of some terms; many cases tell of no frequency at all."""
    share = st.one_of(st.sampled_from(FREQUENCIES), st.floats(0.001, 1.0))
    share = st.none() if draw(st.integers(0, 3)) == 0 else share
    return {term: draw(share) for term in terms}


@st.composite
def weighed_worlds(draw: st.DrawFn, **bounds: int) -> WeighedWorld:
    world = draw(worlds(**bounds))
    some = st.lists(st.sampled_from(sorted(world.parents)), max_size=2, unique=True)
    cases = {key: draw(weighed_cases(terms)) for key, terms in world.cases.items()}
    excluded = {key: [t for t in draw(some) if t not in cases[key]] for key in cases}
    return WeighedWorld(world.parents, cases, excluded)


@st.composite
def weighed_asked(draw: st.DrawFn, max_size: int = 5, **bounds: int) -> tuple[WeighedWorld, list[str]]:
    """Draws a world and a query, which need not be reduced to its most specific terms."""
    world = draw(weighed_worlds(**bounds))
    return world, draw(st.lists(st.sampled_from(sorted(world.parents)), min_size=1, max_size=max_size, unique=True))


evidence_dials = st.sampled_from(EVIDENCE_DIALS)


def random_weighed_world(rng: np.random.Generator, terms: int, cases: int, size: int) -> WeighedWorld:
    """Returns a larger world from a seeded generator."""
    drawn = random_world(rng, terms, cases, size)
    stated: dict[str, dict[str, float | None]] = {}
    for number, (key, held) in enumerate(drawn.cases.items()):
        told = [FREQUENCIES[i] for i in rng.integers(0, len(FREQUENCIES), len(held))]
        stated[key] = dict(zip(held, told if number % 4 else [None] * len(held), strict=True))
    ids = sorted(drawn.parents)
    excluded = {key: [ids[int(rng.integers(len(ids)))]] for key in stated}
    excluded = {key: [t for t in absent if t not in stated[key]] for key, absent in excluded.items()}
    return WeighedWorld(drawn.parents, stated, excluded)
