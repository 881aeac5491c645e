"""Problems of the structure benchmark: systems of relations told twice in disjoint words, and what looks like them.

A problem is a query, its analogue, and two decoys. The analogue says of other things, in other words, what the query
says; that its words stand under the same concepts is all that joins the two. One decoy has the words of the query, the
other those of the analogue, and neither its relations: the things that they hold between are exchanged. All problems
draw on the same concepts and on the same two vocabularies, so that neither finds the analogue in a library by itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from ...cases import Case, Entity, Predicate, Statement

__all__ = ["Problem", "System", "agreement", "problems"]

Pair = tuple[int, int]

_CONCEPTS = {"attribute": 20, "relation": 40, "cause": 12}
_WORDS_OF_ONE = 3  # words of a concept in each of the two vocabularies
_SYLLABLES = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
_WORD = 4
_MOST_AGREEMENT = 0.5
_TRIES = 500


@dataclass(frozen=True)
class System:
    """What is said, by number of concept, of thing and of relation.

    Attributes:
        things: how many things it speaks of.
        attributes: concept and thing of each attribute.
        relations: concept and the two things of each relation.
        causes: concept and the two relations of each statement about relations.
    """

    things: int
    attributes: tuple[tuple[int, int], ...]
    relations: tuple[tuple[int, Pair], ...]
    causes: tuple[tuple[int, Pair], ...]

    def __len__(self) -> int:
        return len(self.relations) + len(self.causes)


@dataclass(frozen=True)
class Problem:
    """One problem: the query, its analogue, the decoy in the query's words and that in the analogue's."""

    query: Case
    analogue: Case
    same_words: Case
    same_concepts: Case


def problems(count: int, seed: int) -> tuple[list[Problem], dict[str, list[str]]]:
    """Returns so many problems, and the parents of all their words and concepts.

    Args:
        count: how many; at most 1,000, since their keys have three digits.
        seed: what everything is drawn from.
    """
    rng = random.Random(f"{seed} structure benchmark")
    words = _words(rng)
    concepts = [f"{kind}-{at:02d}" for kind, many in _CONCEPTS.items() for at in range(many)]
    vocabularies = [{concept: [next(words) for _ in range(_WORDS_OF_ONE)] for concept in concepts} for _ in range(2)]
    parents: dict[str, list[str]] = {concept: [] for concept in concepts}
    for vocabulary in vocabularies:
        parents.update({word: [concept] for concept, some in vocabulary.items() for word in some})
    made = []
    for number in range(count):
        system = _system(rng)
        other = _rewired(rng, system)
        # Neither vocabulary is that of the queries: which one is drawn, and so is the word for each concept.
        ours, theirs = (
            {concept: rng.choice(some) for concept, some in vocabulary.items()}
            for vocabulary in rng.sample(vocabularies, 2)
        )
        made.append(
            Problem(
                *(
                    _case(rng, f"{number:03d} {role}", said, names, words)
                    for role, said, names in (
                        ("query", system, ours),
                        ("analogue", system, theirs),
                        ("same words", other, ours),
                        ("same concepts", other, theirs),
                    )
                )
            )
        )
    return made, parents


def agreement(one: System, other: System) -> float:
    """Returns which share of a system's relations, and of what is said of them, a one-to-one mapping can carry over.

    All mappings of things are tried; a statement about relations is carried over with both of them.
    """
    theirs = set(other.relations)
    causes = {(concept, other.relations[first], other.relations[second]) for concept, (first, second) in other.causes}
    best = 0
    for places in permutations(range(max(one.things, other.things)), one.things):
        moved = [(concept, (places[first], places[second])) for concept, (first, second) in one.relations]
        carried = sum(relation in theirs for relation in moved)
        carried += sum((concept, moved[first], moved[second]) in causes for concept, (first, second) in one.causes)
        best = max(best, carried)
    return best / max(len(one), len(other))


def _system(rng: random.Random) -> System:
    """Returns a system in which every thing is in a relation and every cause is of two different ones."""
    things = rng.randint(4, 5)
    order = rng.sample(range(things), things)
    pairs = list(zip(order, order[1:], strict=False))
    free = [(first, second) for first in range(things) for second in range(things) if first != second]
    pairs += rng.sample(sorted(set(free) - set(pairs)), rng.randint(1, 2))
    concepts = rng.choices(range(_CONCEPTS["relation"]), k=len(pairs))
    relations = tuple(zip(concepts, pairs, strict=True))
    between = [(first, second) for first in range(len(pairs)) for second in range(len(pairs)) if first != second]
    causes = tuple((rng.randrange(_CONCEPTS["cause"]), pair) for pair in rng.sample(between, rng.randint(2, 3)))
    attributes = tuple((rng.randrange(_CONCEPTS["attribute"]), thing) for thing in range(things))
    return System(things, attributes, relations, causes)


def _rewired(rng: random.Random, system: System) -> System:
    """Returns a system of the same concepts, as often, of which at most half agrees with ``system``."""
    found = system
    for _ in range(_TRIES):
        ends = [end for _, pair in system.relations for end in pair]
        rng.shuffle(ends)
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        relations = tuple((concept, pair) for (concept, _), pair in zip(system.relations, pairs, strict=True))
        if len(set(relations)) < len(relations) or any(first == second for first, second in pairs):
            continue
        spots = list(range(len(relations)))
        causes = tuple((concept, (rng.choice(spots), rng.choice(spots))) for concept, _ in system.causes)
        if len(set(causes)) < len(causes) or any(first == second for _, (first, second) in causes):
            continue
        found = System(system.things, system.attributes, relations, causes)
        if agreement(system, found) <= _MOST_AGREEMENT:
            return found
    raise RuntimeError("no decoy was found")


def _case(rng: random.Random, key: str, system: System, names: Mapping[str, str], words: Iterator[str]) -> Case:
    """Returns a system told in these words, of things with names of their own, its statements in any order."""
    things = [Entity(next(words)) for _ in range(system.things)]

    def say(kind: str, concept: int, *args: Entity | Statement) -> Statement:
        return Statement(Predicate(names[f"{kind}-{concept:02d}"]), args)

    relations = [say("relation", concept, things[a], things[b]) for concept, (a, b) in system.relations]
    said = [
        *(say("attribute", concept, things[thing]) for concept, thing in system.attributes),
        *relations,
        *(say("cause", concept, relations[a], relations[b]) for concept, (a, b) in system.causes),
    ]
    rng.shuffle(said)
    return Case(key, tuple(said))


def _words(rng: random.Random) -> Iterator[str]:
    """Yields words without meaning, none of them twice."""
    given: set[str] = set()
    while True:
        word = "".join(rng.choices(_SYLLABLES, k=_WORD))
        if word not in given:
            given.add(word)
            yield word
