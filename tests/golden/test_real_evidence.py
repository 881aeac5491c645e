"""The scorer ``evidence`` on published patients, beside a float version of it that nothing is rounded in.

The two differ by what the library does on purpose: strengths on a grid of 2^(1/16), weights on one of 1/16, a
background of half an instance at least; the tuned prototype also counted the statements of a case that tells no
frequency at all with 1/2, where here they count with 1. That moves the right disease by some places, seldom across
rank 1 or 10; the bounds below say how seldom.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from sma_gpu import CaseBatch, Dials, Index
from sma_gpu.ontologies.domains import Domain, open_domain

pytestmark = pytest.mark.slow

PATIENTS, LIMIT = 150, 50
FACTOR, SIZE_POWER, STEP, HOPS, LEAST, SHARED = 4.0, 0.6, 0.5, 2, 0.01, 0.5


class Unrounded:
    """The scorer in floats over dictionaries; ``untold`` is taken for all statements of a case that tells nothing."""

    def __init__(self, domain: Domain, untold: float) -> None:
        closure, records = domain.mounted.lattice.closure, domain.records
        ends = zip(closure.ptr[:-1].tolist(), closure.ptr[1:].tolist(), strict=True)
        self.up = [dict(zip(closure.ancestors[a:b].tolist(), closure.hops[a:b].tolist(), strict=True)) for a, b in ends]
        ptr, terms = records.phenotypes(excluded=False)
        told = records.phenotype_frequencies()
        assert told is not None
        count, size = len(records), len(self.up)
        background, held = np.zeros(size), np.zeros(size)
        self.strength: list[dict[int, float]] = []
        self.narrowest: list[set[int]] = []
        self.holders: dict[int, list[int]] = {}
        for case in range(count):
            part = slice(ptr[case], ptr[case + 1])
            unknown = 0.5 if (~np.isnan(told[part])).any() else untold
            known = np.maximum(np.where(np.isnan(told[part]), unknown, told[part]), LEAST)
            stated = dict(zip(terms[part].tolist(), known.tolist(), strict=True))
            share: dict[int, float] = {}
            for term, f in stated.items():
                for above in self.up[term]:
                    share[above] = max(share.get(above, 0.0), f)
            for above, f in share.items():
                background[above] += f
                held[above] += 1
            broad = {above for term in stated for above in self.up[term] if above != term}
            scale = FACTOR / max(sum(stated.values()), LEAST) ** SIZE_POWER
            self.strength.append({term: share[term] * scale for term in stated})
            self.narrowest.append(stated.keys() - broad)
            for term in stated:
                self.holders.setdefault(term, []).append(case)
        self.background = background / count
        self.information = -np.log2(np.maximum(held, 0.5) / count)
        self.below: dict[int, list[int]] = {}
        for term in self.holders:
            for above, hops in self.up[term].items():
                if hops <= HOPS:
                    self.below.setdefault(above, []).append(term)
        self.found: dict[int, dict[int, dict[int, float]]] = {}

    def weight(self, query: list[int], term: int) -> float:
        shared = (self.information[a] for u in query if u != term for a in self.up[term].keys() & self.up[u].keys())
        return 1 - SHARED * max(shared, default=0.0) / max(self.information[term], 1e-9)

    def pairs(self, term: int) -> Iterator[tuple[int, int, float]]:
        for stored in self.below.get(term, ()):
            for case in self.holders[stored]:
                yield case, stored, math.log2(1 + self.strength[case][stored] / self.background[term])
        for above, hops in self.up[term].items():
            if 0 < hops <= HOPS:
                for case in self.holders.get(above, ()):
                    if above in self.narrowest[case]:
                        strength = self.strength[case][above] * STEP**hops
                        yield case, above, math.log2(1 + strength / self.background[above])

    def rank(self, query: list[int], right: int) -> int:
        """Returns how many cases stand before the right one; counting ends at ``LIMIT``."""
        rows = []
        for term in query:
            if term not in self.found:
                self.found[term] = {}
                for case, stored, bits in self.pairs(term):
                    self.found[term].setdefault(case, {})[stored] = bits
            rows.append((self.weight(query, term), self.found[term]))
        bounds: dict[int, float] = {}
        for weight, cases in rows:
            for case, bits in cases.items():
                bounds[case] = bounds.get(case, 0.0) + weight * max(bits.values())

        def score(case: int) -> float:
            columns = sorted({b for _, cases in rows for b in cases.get(case, ())})
            if not columns:
                return 0.0
            values = np.array([[w * cases.get(case, {}).get(b, 0.0) for b in columns] for w, cases in rows])
            return float(values[linear_sum_assignment(values, maximize=True)].sum())

        own, above = score(right), 0
        for case in sorted(bounds, key=bounds.__getitem__, reverse=True):
            if bounds[case] < own - 1e-9 or above == LIMIT:
                break
            above += case != right and score(case) > own + 1e-9
        return above


@pytest.fixture(scope="module")
def domain(shared_data: Path) -> Iterator[Domain]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMA_GPU_DATA", str(shared_data))
        yield open_domain("medicine")


@pytest.fixture(scope="module")
def patients(shared_data: Path, domain: Domain) -> list[tuple[list[int], str]]:
    """Patients whose publication is behind no annotation, each with its terms and the key of the right disease."""
    path = shared_data / "medicine" / "phenopacket-store-2026-06-25-dev.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    ontology, keys = domain.mounted.ontology, set(domain.records.keys)
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            used = {ontology.resolve(term).used for term in row["observed"]} - {None}
            if row["pmid_in_hpoa"] or row["disease_id"] not in keys or not used:
                continue
            terms = np.array(sorted(ontology.number[u] for u in used if u is not None), np.int32)
            found.append((domain.mounted.lattice.most_specific(terms).tolist(), str(row["disease_id"])))
    return found[:: len(found) // PATIENTS][:PATIENTS]


@pytest.mark.parametrize(("untold", "moved", "crossing_1", "crossing_10"), [(1.0, 6, 1, 1), (0.5, 12, 4, 2)])
def test_patients_are_ranked_as_by_the_unrounded_scorer(
    domain: Domain, patients: list[tuple[list[int], str]], untold: float, moved: int, crossing_1: int, crossing_10: int
) -> None:
    records, unrounded = domain.records, Unrounded(domain, untold)
    present, absent = (records.phenotypes(excluded=excluded) for excluded in (False, True))
    cases = CaseBatch.from_csr(records.keys, present, absent, records.phenotype_frequencies())
    index = Index.build(cases, domain.mounted, Dials.evidence())
    hits = index.retrieve(CaseBatch.from_functors([""] * len(patients), [q for q, _ in patients]), LIMIT + 1)
    ours, theirs = [], []
    for row, (query, disease) in enumerate(patients):
        at = np.flatnonzero(hits.keys[row] == disease)
        own = hits.score_q[row, at[0]] if len(at) else 0
        ours.append(min(int((hits.score_q[row] > own).sum()), LIMIT))
        theirs.append(unrounded.rank(query, records.index(disease)))
    one, other = np.array(ours), np.array(theirs)
    assert int((np.abs(one - other) > np.maximum(1, other / 10)).sum()) <= moved
    assert int(((one < 1) != (other < 1)).sum()) <= crossing_1
    assert int(((one < 10) != (other < 10)).sum()) <= crossing_10
