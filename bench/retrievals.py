"""Whole retrievals to compare backends on: invented corpora, flat and with structure, and the HPO diseases.

Each is an index, a batch of queries and perhaps a choice of cases; what is compared is everything that a certified top
k holds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import DataMissing
from ..ontologies.builder import ontology_from_parents
from ..ontologies.domains import Domain, open_domain
from ..ontologies.mount import Mounted, mount
from ..ops import Ops
from ..retrieval import Index
from ..retrieval.search import open_blocks
from ..scoring import Dials
from .generators import retold, terms, told, vocabulary
from .synthetic_cases import synthetic_cases, w1_queries

__all__ = ["Retrieval", "cases_of", "hpo_retrievals", "invented_retrievals", "medicine", "tops"]

DIALS = {
    "default": Dials(),
    "adapter v1": Dials.adapter_v1(),
    "ic, base, min": Dials(credit="base", normalisation="min"),
    "unit, power(0.5)": Dials(scorer="unit", normalisation="power(0.5)"),
}
_K = 10


@dataclass(frozen=True)
class Retrieval:
    """One retrieval: ``k`` best cases of every query of ``batch``, ``among`` some or all."""

    name: str
    index: Index
    batch: CaseBatch
    k: int = _K
    among: npt.NDArray[np.bool_] | None = None


def tops(ops: Ops, retrieval: Retrieval) -> tuple[npt.NDArray[np.generic], ...]:
    """Returns what a backend finds: every array of the certified top k, all blocks of queries one behind the other."""
    index, places = retrieval.index, min(retrieval.k, len(retrieval.index))
    blocks = open_blocks(index, retrieval.batch, ops, among=retrieval.among)
    found = [block.top(places) for block in blocks] if places else []
    if not found:
        return ()
    return tuple(np.concatenate([getattr(top, field.name) for top in found]) for field in fields(found[0]))


def cases_of(domain: Domain) -> CaseBatch:
    """Returns the records of a domain as cases."""
    records = domain.records
    return CaseBatch.from_csr(records.keys, records.phenotypes(excluded=False), records.phenotypes(excluded=True))


def medicine() -> Domain | None:
    """Returns the domain ``medicine``, or None where its files are not on this machine."""
    try:
        return open_domain("medicine")
    except DataMissing:
        return None


def hpo_retrievals(domain: Domain, seed: int, queries: int) -> Iterator[Retrieval]:
    """Yields retrievals over all diseases, under several dials."""
    cases = cases_of(domain)
    for name, dials in DIALS.items():
        index = Index.build(cases, domain.mounted, dials)
        batch, _ = w1_queries(index.cases, domain.mounted.lattice, queries, seed)
        yield Retrieval(f"HPO diseases, {name}", index, batch)


def invented_retrievals(seed: int) -> Iterator[Retrieval]:
    """Yields small retrievals over invented corpora: every dial, masks, cases of 300 terms, none and one case."""
    words = terms(500)
    mounted = mount(ontology_from_parents(words.parents))
    rng = np.random.default_rng(seed)
    pattern = _random_cases(rng, mounted, 200, 14)
    batch, _ = w1_queries(pattern, mounted.lattice, 40, seed)
    for count in (0, 1, 63, 1000):
        cases = synthetic_cases(pattern, mounted.lattice, count, seed)
        for name, dials in DIALS.items():
            yield Retrieval(f"{count} cases, {name}", Index.build(cases, mounted, dials), batch)
    index = Index.build(synthetic_cases(pattern, mounted.lattice, 1000, seed), mounted)
    yield Retrieval("1000 cases, k above their number", index, batch.take([0, 1]), k=1500)
    among = rng.random((len(batch), len(index))) < rng.choice([0, 0.02, 0.5], (len(batch), 1))
    yield Retrieval("1000 cases, among some", index, batch, among=among)
    large = Index.build(_random_cases(rng, mounted, 60, 300), mounted)
    yield Retrieval("cases and queries of 300 terms", large, _random_cases(rng, mounted, 6, 300))
    yield _with_structure(seed)


def _random_cases(rng: np.random.Generator, mounted: Mounted, count: int, most: int) -> CaseBatch:
    size = len(mounted.lattice)
    chance = 1 / (np.arange(size) + 20.0)  # the first terms, which are the broad ones, are the frequent ones
    chance[0] = 0
    chance /= chance.sum()
    drawn = [rng.choice(size, rng.integers(most // 2, most + 1), replace=False, p=chance) for _ in range(count)]
    return CaseBatch.from_functors([f"case {number:04d}" for number in range(count)], drawn)


def _with_structure(seed: int) -> Retrieval:
    """Returns a retrieval over cases of nested statements, of which some are told again of other things as queries."""
    words, rng = vocabulary(), random.Random(seed)
    mounted = mount(ontology_from_parents(words.parents))
    stored = [told(rng, words, f"case {number:02d}", 12) for number in range(30)]
    asked = [retold(rng, words, case, f"query {case.key}") for case in stored[:6]]
    index = Index.build(CaseBatch.from_cases(stored, mounted), mounted)
    return Retrieval("cases with structure", index, CaseBatch.from_cases(asked, mounted), k=5)
