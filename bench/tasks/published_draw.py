"""The published protocol's draw: which entities are stored, which are held out, and what is asked of whom.

As the harness of package ``structuremappingmemory`` 1.2.1 does it: the same generator in the same order, so that the
same entities, terms and seed give the same keys and the same queries, to the letter. A query holds five of the entity's
terms, each climbed 0 to 2 levels, and three terms of noise from the ancestors and terms of all that is stored.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Draw", "Drawn", "draw"]

_OWN, _NOISE = 5, 3
_CLIMBS = (0, 0, 1, 1, 2)


@dataclass(frozen=True)
class Drawn:
    """One query.

    Attributes:
        entity: whom it is about.
        terms: its terms in the order drawn; a term may stand twice.
        is_novel: the entity is held out.
        is_tail: the entity's rarest term is rarer than the median of all terms and ancestors stored.
    """

    entity: str
    terms: tuple[str, ...]
    is_novel: bool
    is_tail: bool


@dataclass(frozen=True)
class Draw:
    """What one seed gives: stored entities by key, and queries, those about stored entities first."""

    stored: tuple[str, ...]
    queries: tuple[Drawn, ...]


def draw(
    records: Mapping[str, Sequence[str]],
    parents: Mapping[str, Sequence[str]],
    seed: int,
    *,
    most: int = 2000,
    queries: int = 120,
    novel: float = 0.1,
    at_random: bool = False,
    able: frozenset[str] | None = None,
) -> Draw:
    """Returns what a seed draws.

    Args:
        records: the terms of every entity, each at least one.
        parents: the parents of every term that has some.
        seed: the seed.
        most: how many entities take part at most.
        queries: how many queries, novel ones included.
        novel: the share of entities held out, and of queries about them.
        at_random: whether the entities that are asked about are drawn at random, from a generator of its own; as
            published they are the first by key.
        able: entities that may be asked about; all where None.
    """
    rng = random.Random(seed)
    entities = sorted(records)
    rng.shuffle(entities)
    pool = sorted(entities[:most])
    rng.shuffle(pool)
    held_out = round(len(pool) * novel)
    strange, stored = sorted(pool[:held_out]), sorted(pool[held_out:])
    terms = {entity: sorted(records[entity]) for entity in pool}

    above: dict[str, frozenset[str]] = {}
    content = _content([terms[entity] for entity in stored], parents, above)
    noise = sorted(content)
    median = statistics.median(content.values()) if content else 0.0

    many_strange = min(len(strange), round(queries * novel))
    asked = [entity for entity in stored if able is None or entity in able]
    if at_random:
        chance = random.Random(f"{seed} entities asked about")
        asked, strange = chance.sample(asked, len(asked)), chance.sample(strange, len(strange))
    asked = asked[: queries - many_strange]
    found: list[Drawn] = []
    for entity in [*asked, *strange[:many_strange]]:
        own = rng.sample(terms[entity], min(_OWN, len(terms[entity])))
        climbed = [_climb(rng, term, parents) for term in own]
        found.append(
            Drawn(
                entity,
                (*climbed, *(rng.sample(noise, min(_NOISE, len(noise))) if noise else ())),
                is_novel=len(found) >= len(asked),
                is_tail=max((content.get(term, 0.0) for term in terms[entity]), default=0.0) > median,
            )
        )
    return Draw(tuple(stored), tuple(found))


def _climb(rng: random.Random, term: str, parents: Mapping[str, Sequence[str]]) -> str:
    for _ in range(rng.choice(_CLIMBS)):
        if parents.get(term):
            term = rng.choice(sorted(parents[term]))
    return term


def _content(
    stored: Sequence[Sequence[str]], parents: Mapping[str, Sequence[str]], above: dict[str, frozenset[str]]
) -> dict[str, float]:
    """Returns the information content of every stored term and ancestor, in nats."""
    counts: dict[str, int] = {}
    for terms in stored:
        for term in frozenset().union(*(_closure(term, parents, above) for term in terms)):
            counts[term] = counts.get(term, 0) + 1
    return {term: -math.log(count / len(stored)) for term, count in counts.items()}


def _closure(term: str, parents: Mapping[str, Sequence[str]], known: dict[str, frozenset[str]]) -> frozenset[str]:
    """Returns a term with all its ancestors."""
    if term not in known:
        found, waiting = {term}, [term]
        while waiting:
            for parent in parents.get(waiting.pop(), ()):
                if parent not in found:
                    found.add(parent)
                    waiting.append(parent)
        known[term] = frozenset(found)
    return known[term]
