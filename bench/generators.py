"""Made-up pairs of cases with structure, to measure matching on: planted analogies, unrelated pairs, flat pairs.

Everything is drawn from a generator that is passed in, so that a seed fixes every pair. No commutative functor, no
negation, no weight: the published system lacks them, and the two are measured on the same pairs.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..cases import Case, Entity, Predicate, Statement
from ..cases.model import SUBJECT

__all__ = ["Pair", "Words", "flat_pair", "planted_pair", "retold", "terms", "told", "unrelated_pair", "vocabulary"]

_TRIES = 20  # draws for one statement before it is given up
_KINDS = {  # kind: (families, members of each, arguments)
    "attribute": (3, 3, 1),
    "quantity": (2, 3, 1),
    "relation": (4, 3, 2),
    "event": (2, 2, 3),
    "comparison": (1, 3, 2),
    "cause": (2, 3, 2),
}
_FIRST_ORDER = {"attribute": 2, "quantity": 3, "relation": 4, "event": 1}  # of ten statements over entities
_FIRST_ORDER_SHARE, _COMPARED_SHARE = 0.65, 0.15  # of a case; the rest are causes
_MAX_ORDER = 3


@dataclass(frozen=True)
class Words:
    """A lattice of predicates.

    Attributes:
        parents: parents of each functor by id.
        kinds: ids of each kind; heads of families are not among them, since no case uses those.
        arity: number of arguments of each functor that a case may use.
    """

    parents: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, list[str]] = field(default_factory=dict)
    arity: dict[str, int] = field(default_factory=dict)

    def siblings(self, functor: str) -> list[str]:
        """Returns the functors that share a parent with one and take as many arguments, by id."""
        above = set(self.parents[functor])
        alike = [f for f in sorted(self.arity) if f != functor and self.arity[f] == self.arity[functor]]
        return [f for f in alike if above & set(self.parents[f])]


@dataclass(frozen=True)
class Pair:
    """A stored case and a query."""

    base: Case
    target: Case


def vocabulary() -> Words:
    """Returns 40 predicates in families of siblings: attributes, quantities, relations, events, comparisons, causes.

    Example:
        >>> words = vocabulary()
        >>> len(words.arity), words.siblings("cause-0-0")
        (40, ['cause-0-1', 'cause-0-2'])
    """
    words = Words()
    for kind, (families, members, arity) in _KINDS.items():
        words.parents[kind] = []
        words.kinds[kind] = []
        for family in range(families):
            head = f"{kind}-{family}"
            words.parents[head] = [kind]
            for member in range(members):
                words.parents[f"{head}-{member}"] = [head]
                words.arity[f"{head}-{member}"] = arity
                words.kinds[kind].append(f"{head}-{member}")
    return words


def terms(count: int) -> Words:
    """Returns that many unary predicates, four under each, as in an ontology of findings."""
    ids = [f"term-{i:04d}" for i in range(count)]
    parents = {t: [ids[(i - 1) // 4]] if i else [] for i, t in enumerate(ids)}
    return Words(parents, {"attribute": ids}, dict.fromkeys(ids, 1))


def told(rng: random.Random, words: Words, key: str, statements: int, things: Sequence[Entity] = ()) -> Case:
    """Returns a case of about so many distinct statements, nested ones included.

    Two thirds are attributes, quantities, relations and events of entities, some compare quantities, the others are
    causes over statements of order 1 and 2.

    Args:
        rng: the generator.
        words: the predicates, of all kinds.
        key: key of the case.
        statements: distinct statements.
        things: what it speaks of; by default new entities, a third as many as statements.
    """
    things = things or [Entity(f"{key}-{i:03d}") for i in range(max(2, round(statements / 3)))]
    made: dict[Statement, None] = {}

    def add(functors: Sequence[str], *pools: Sequence[Entity | Statement]) -> None:
        for _ in range(_TRIES):
            args = tuple(rng.choice(pool) for pool in pools)
            statement = Statement(Predicate(rng.choice(functors)), args)
            if len(set(args)) == len(args) and statement not in made:
                made[statement] = None
                break

    able = [kind for kind in _FIRST_ORDER if _KINDS[kind][2] <= len(things)]
    for _ in range(round(_FIRST_ORDER_SHARE * statements)):
        kind = rng.choices(able, [_FIRST_ORDER[k] for k in able])[0]
        add(words.kinds[kind], *[things] * _KINDS[kind][2])
    quantities = [s for s in made if s.functor.id in words.kinds["quantity"]]
    for _ in range(round(_COMPARED_SHARE * statements) if len(quantities) > 1 else 0):
        first = rng.choice(quantities)
        alike = [q for q in quantities if q.functor == first.functor and q != first]
        add(words.kinds["comparison"], [first], alike or quantities)
    while len(made) < statements:
        before = len(made)
        below = [s for s in made if s.order < _MAX_ORDER]
        if len(below) > 1:
            add(words.kinds["cause"], below, below)
        if len(made) == before:
            break
    return _case_of(key, made)


def retold(
    rng: random.Random,
    words: Words,
    base: Case,
    key: str,
    *,
    drop: float = 0.15,
    replace: float = 0.25,
    noise: float = 0.15,
) -> Case:
    """Returns a case that tells ``base`` of other things, with statements dropped, functors exchanged, and noise.

    Args:
        rng: the generator.
        words: the predicates.
        base: the case to tell anew.
        key: key of the new case.
        drop: chance that a statement is left out, and with it all that is said of it.
        replace: chance that a functor gives way, throughout, to one that shares a parent with it.
        noise: statements that the new case has of its own, as a share of those of ``base``.
    """
    places = list(range(len(base.entities())))
    rng.shuffle(places)
    things = {e: Entity(f"{key}-{i:03d}") for e, i in zip(base.entities(), places, strict=True)}
    other = {}
    for functor in sorted(words.arity):
        siblings = words.siblings(functor)
        other[functor] = rng.choice(siblings) if siblings and rng.random() < replace else functor
    ordered = sorted(base.walk(), key=lambda s: (s.order, s.digest))
    made: dict[Entity | Statement, Entity | Statement] = dict(things.items())
    for s in ordered:
        if rng.random() >= drop and all(a in made for a in s.args):
            made[s] = Statement(Predicate(other[s.functor.id]), tuple(made[a] for a in s.args))
    kept = [s for s in made.values() if isinstance(s, Statement)]
    own = told(rng, words, key, round(noise * len(ordered)), sorted(things.values(), key=lambda e: e.name))
    return _case_of(key, [*kept, *own.walk()]) if kept else retold(rng, words, base, key, drop=0, noise=noise)


def planted_pair(rng: random.Random, words: Words, statements: int, number: int = 0) -> Pair:
    """Returns a case of so many statements and the same case told of other things."""
    base = told(rng, words, f"base-{number}", statements)
    return Pair(base, retold(rng, words, base, f"target-{number}"))


def unrelated_pair(rng: random.Random, words: Words, statements: int, number: int = 0) -> Pair:
    """Returns two cases of so many statements that have nothing in common but the vocabulary."""
    return Pair(*(told(rng, words, f"{side}-{number}", statements) for side in ("base", "target")))


def flat_pair(rng: random.Random, words: Words, statements: int, number: int = 0) -> Pair:
    """Returns two cases that say so many terms each of one subject: half of them related, the rest drawn anew.

    A related term is the same one or, as often, one that shares a parent with it.
    """
    ids = words.kinds["attribute"]
    base = rng.sample(ids, statements)
    related = []
    for term in rng.sample(base, (statements + 1) // 2):
        siblings = words.siblings(term)
        related.append(rng.choice(siblings) if siblings and rng.random() < 0.5 else term)
    target = list(dict.fromkeys([*related, *rng.sample(ids, 2 * statements)]))[:statements]
    return Pair(*(_flat(f"{side}-{number}", said) for side, said in (("base", base), ("target", target))))


def _flat(key: str, said: Iterable[str]) -> Case:
    return Case(key, tuple(Statement(Predicate(t), (SUBJECT,)) for t in said))


def _case_of(key: str, made: Iterable[Statement]) -> Case:
    """Returns the case that states what nothing else is said of."""
    every = list(dict.fromkeys(made))
    below = {a for s in every for a in s.args}
    return Case(key, tuple(s for s in every if s not in below))
