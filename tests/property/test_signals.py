"""Signals of hits: as ``explain`` tells them, whatever the batch, the number of hits wanted, or the backend."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import differences
from strategies import random_world
from weighed import EVIDENCE_DIALS, WeighedWorld, pack_weighed

from sma_gpu import CaseBatch, Dials, Hits, Index
from sma_gpu.errors import CaseError, ShapeError
from sma_gpu.retrieval.explain import explain
from sma_gpu.retrieval.search import open_query
from sma_gpu.trust.signals import (
    GENERALISED,
    HIT_SIGNALS,
    PLACES,
    QUERY_SIGNALS,
    STABILITY_SIGNALS,
    Signals,
    signals_of,
)
from sma_gpu.trust.stability import stability_of

SOME_DIALS = [Dials(), Dials.adapter_v1(), EVIDENCE_DIALS[0], EVIDENCE_DIALS[1]]


def made_up(chosen: Dials, cases: int = 40, seed: int = 81) -> tuple[Index, CaseBatch]:
    """Returns an index of random cases and as random queries, many of which exclude something."""
    rng = np.random.default_rng(seed)
    world = random_world(rng, terms=40, cases=cases, size=8)
    ids = sorted(world.parents)
    draw = lambda n: [ids[i] for i in rng.choice(len(ids), n, replace=False)]  # noqa: E731
    stored = {key: dict.fromkeys(terms, 0.5) for key, terms in world.cases.items()}
    absent = {key: [t for t in draw(2) if t not in terms] for key, terms in stored.items()}
    index = WeighedWorld(world.parents, stored, absent).index(chosen)
    asked = {f"q{i}": dict.fromkeys(draw(int(rng.integers(1, 7)))) for i in range(12)}
    without = {key: [t for t in draw(i % 4) if t not in terms] for i, (key, terms) in enumerate(asked.items())}
    return index, pack_weighed(index.mounted, asked, without)


def ties_of(index: Index, batch: CaseBatch, hits: Hits) -> np.ndarray:
    found = np.zeros(hits.cases.shape, np.int64)
    for query, place in np.argwhere(hits.cases >= 0).tolist():
        opened = open_query(index, batch.functors_of(query), backend="reference")
        found[query, place] = opened.standing(int(hits.cases[query, place])).ties
    return found


def bare(batch: CaseBatch) -> CaseBatch:
    return CaseBatch.from_functors(batch.keys, [batch.functors_of(query) for query in range(len(batch))])


@pytest.mark.parametrize("chosen", SOME_DIALS, ids=lambda d: d.scorer + d.normalisation)
def test_signals_are_what_explain_says(chosen: Dials) -> None:
    index, batch = made_up(chosen)
    hits = index.retrieve(batch, 10, mappings=True, backend="reference")
    ties = ties_of(index, batch, hits)
    found = signals_of(index, batch, None, hits, ties)
    assert (
        (found.held == (hits.cases >= 0)).all()
        and found.held.any()
        and (found.hit_names, found.query_names)
        == (
            HIT_SIGNALS,
            QUERY_SIGNALS,
        )
    )
    contradictions = 0
    for query, place in np.argwhere(found.held).tolist():
        case, functors = int(hits.cases[query, place]), batch.functors_of(query)
        told = explain(index, functors, batch.excluded_of(query), case)
        signals = dict(zip(HIT_SIGNALS, found.of_hits[query, place].tolist(), strict=True))
        assert signals["explained"] == told.explained
        contradictions += len(told.contradicted)
        own = index.query_values(np.array([0, len(functors)]), functors).sum() / 65_536
        assert signals == pytest.approx(
            {
                "explained": told.explained,
                "relative": hits.rank_keys[query, place] / hits.rank_keys[query, 0],
                "unexplained_bits": np.log1p(max(own * (1 - told.explained), 0)),
                "contradicted": np.log1p(len(told.contradicted)),
                "tied": np.log1p(ties[query, place]),
                "case_terms": np.log1p(len(index.cases.functors_of(case))),
                "case_bits": np.log1p(index.normaliser.self_scores[case] / 65_536),
                "place": np.log(place + 1),
            },
            abs=1e-12,
        )
        of_query = dict(zip(QUERY_SIGNALS, found.of_queries[query].tolist(), strict=True))
        assert of_query["query_bits"] == pytest.approx(np.log1p(own))
    assert contradictions > 10
    assert (found.of_hits[~found.held] == 0).all()
    apart = signals_of(index, bare(batch), [batch.excluded_of(query) for query in range(len(batch))], hits, ties)
    assert apart.of_hits.tobytes() == found.of_hits.tobytes()


def test_entropy_is_of_shares_that_halve_with_each_bit_behind() -> None:
    index, batch = made_up(Dials())  # under power(0) the rank key is proportional to the score, but for rounding
    hits = index.retrieve(batch, 10, mappings=True, backend="reference")
    found = signals_of(index, batch, None, hits, np.zeros(hits.cases.shape, np.int64))
    at = QUERY_SIGNALS.index("entropy")
    for query in range(len(batch)):
        scores = hits.rank_keys[query][hits.cases[query] >= 0]
        behind = hits.score_q[query, 0] / 65_536 * (1 - scores / scores[0])
        share = 2.0**-behind / (2.0**-behind).sum()
        assert found.of_queries[query, at] == pytest.approx(-(share * np.log(share)).sum())


BACKENDS = ["reference", *(["cpu"] if find_spec("numba") else [])]


@pytest.mark.parametrize("chosen", SOME_DIALS, ids=lambda d: d.scorer + d.normalisation)
def test_batch_backend_and_places_wanted_change_no_bit(chosen: Dials) -> None:
    index, batch = made_up(chosen)
    hits = index.retrieve(batch, 10, mappings=True, backend="reference")
    stable = stability_of(index, batch, hits.cases, runs=5, backend="reference")
    general = np.linspace(0, 1, len(batch))
    whole = signals_of(index, batch, None, hits, ties_of(index, batch, hits), stable, general)
    assert whole.hit_names == HIT_SIGNALS + STABILITY_SIGNALS and whole.query_names == (*QUERY_SIGNALS, GENERALISED)
    for backend in BACKENDS:
        for query in range(len(batch)):
            k = 10 + 7 * (query % 3)
            alone = batch.take([query])
            again = index.retrieve(alone, k, mappings=True, backend=backend)
            steady = stability_of(index, alone, again.cases, runs=5, backend=backend)
            ties = ties_of(index, alone, again)
            found = signals_of(index, alone, None, again, ties, steady, general[query : query + 1])
            for mine, wanted in zip(
                (found.held, found.of_hits, found.of_queries),
                (whole.held, whole.of_hits, whole.of_queries),
                strict=True,
            ):
                assert mine.tobytes() == wanted[query : query + 1].tobytes()
    parts = [whole.take(np.array([query])) for query in range(len(batch))]
    assert differences(Signals.concatenate(parts), whole) == []


@settings(deadline=None)
@given(st.integers(0, 9), st.integers(0, 3))
def test_few_cases_leave_places_empty(cases: int, seed: int) -> None:
    index, batch = made_up(Dials(), cases, seed)
    hits = index.retrieve(batch, 50, mappings=True, backend="reference")
    found = signals_of(index, batch, None, hits, np.zeros(hits.cases.shape, np.int64))
    assert found.held.shape == (len(batch), PLACES) and found.held.sum() == (hits.cases >= 0).sum()
    none = ~found.held[:, 0]
    assert (found.of_queries[none, QUERY_SIGNALS.index("entropy")] == 0).all()


def test_what_does_not_belong_to_the_queries_is_refused() -> None:
    index, batch = made_up(Dials())
    hits = index.retrieve(batch, 10, mappings=True, backend="reference")
    ties = np.zeros(hits.cases.shape, np.int64)
    with pytest.raises(CaseError, match="no mappings"):
        signals_of(index, batch, None, replace(hits, mappings=None), ties)
    few = index.retrieve(batch, 3, mappings=True, backend="reference")
    with pytest.raises(CaseError, match="a k of 10"):
        signals_of(index, batch, None, few, ties[:, :3])
    with pytest.raises(ShapeError):
        signals_of(index, batch, None, hits, ties[:, :3])
    with pytest.raises(ShapeError):
        signals_of(index, batch.take([0]), None, hits, ties)
    with pytest.raises(ShapeError):
        signals_of(index, batch, None, hits, ties, generalised=np.zeros(3))
    with pytest.raises(ShapeError, match="not finite"):
        signals_of(index, batch, None, hits, ties, generalised=np.full(len(batch), np.nan))
    stable = stability_of(index, batch, hits.cases[:, :3], runs=2, backend="reference")
    with pytest.raises(ShapeError):
        signals_of(index, batch, None, hits, ties, stable)
