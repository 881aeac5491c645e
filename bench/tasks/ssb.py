"""The structure benchmark without a word in common: analogues to find by relations alone, ours and as published."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Any

from ...cases import Case, Entity, Predicate, Statement
from ...errors import DataMissing
from ...ontologies.builder import ontology_from_parents
from ...ontologies.mount import mount
from ..arms.arm import Setting
from .entry import Entry, Request
from .ssb_systems import problems
from .task import Question, Task
from .telling import item_of, query_of

__all__ = ["ENTRIES", "SEEDS"]

SEEDS = (41, 43)

_COUNT = 100
_PACKAGE = "structuremappingmemory"
_Sets = list[tuple[Case, Case, list[Case]]]
"""Query, analogue and decoys of each problem."""


def _make(request: Request, *, published: bool, forced: bool) -> Task:
    sets, parents = _published(request.seed) if published else _ours(request.seed)
    stored = sorted((case for _, right, decoys in sets for case in (right, *decoys)), key=lambda case: case.key)
    keys = [case.key for case in stored]
    questions = []
    for query, right, decoys in sets:
        offered = {right.key, *(decoy.key for decoy in decoys)}
        without = tuple(key for key in keys if key not in offered) if forced else ()
        questions.append(Question(query.key, query_of(query), (right.key,), cluster=query.key, without=without))
    mounted = mount(ontology_from_parents(parents, name="structure benchmark", version=str(request.seed)))
    return Task(
        name=request.name,
        words=request.words,
        setting=Setting(mounted, "structure", request.seed),
        items=tuple(item_of(case) for case in stored),
        questions=tuple(questions),
    )


def _ours(seed: int) -> tuple[_Sets, dict[str, list[str]]]:
    made, parents = problems(_COUNT, seed)
    return [(one.query, one.analogue, [one.same_words, one.same_concepts]) for one in made], parents


def _published(seed: int) -> tuple[_Sets, dict[str, list[str]]]:
    """Returns the triples of the published generator under the same seed, as cases of ours.

    Raises:
        DataMissing: the package is not installed.
    """
    _require_package()
    from sma.eval.ssb_generator import generate_triples

    parents: dict[str, list[str]] = {}
    found: _Sets = []
    for number, triple in enumerate(generate_triples(_COUNT, seed=seed)):
        for child, parent in triple.lattice_pairs:
            parents.setdefault(child, []).append(parent)
            parents.setdefault(parent, [])
        query, right, decoy = (
            Case(f"{number:03d} {role}", tuple(_statement(said) for said in case.statements))
            for role, case in (("query", triple.query), ("analogue", triple.analog), ("same words", triple.distractor))
        )
        found.append((query, right, [decoy]))
    return found, parents


def _statement(said: Any) -> Statement:
    return Statement(
        Predicate(said.functor),
        tuple(_statement(one) if hasattr(one, "functor") else Entity(one.name, one.type) for one in said.args),
    )


def _require_package() -> None:
    if importlib.util.find_spec("sma") is None:
        raise DataMissing(
            "the triples of the published structure benchmark",
            f"package {_PACKAGE} is not installed",
            f"Install it: pip install --no-deps {_PACKAGE}==1.2.1 (bench extra).",
        )


def _entries() -> Iterator[Entry]:
    ours = (
        "Systems of relations told again of other things in other words, which a declared lattice alone joins; decoys "
        "have the query's words or the analogue's, and other relations. All problems share their concepts"
    )
    theirs = (
        "The triples of the published generator: every problem has concepts of its own, and the decoy has words of the "
        "query in another structure"
    )
    for prefix, words, published in (("ssb/", ours, False), ("ssb/published-", theirs, True)):
        for name, forced, what in (
            ("library", False, "The analogue is sought among all analogues and decoys"),
            ("forced-choice", True, "The analogue is sought among itself and its decoys"),
        ):
            yield Entry(
                f"{prefix}{name}",
                f"{words}. {what}, {_COUNT} problems.",
                (),
                partial(_make, published=published, forced=forced),
                seeds=SEEDS,
                check=_require_package if published else None,
            )


ENTRIES = tuple(_entries())
