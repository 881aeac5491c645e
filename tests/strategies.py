"""Random lattices, corpora and queries for property tests, as plain ids and as nested cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from oracles.enumerator import Oracle, Settings

from sma_gpu import CaseBatch, Dials, Index, Mounted, mount, ontology_from_parents
from sma_gpu.cases.model import Case, Entity, Predicate, Statement

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
    parents: dict[str, list[str]] = {ids[0]: []}
    for i in range(1, terms):
        count = 1 + int(rng.random() < 0.2)
        parents[ids[i]] = sorted({ids[int(rng.integers(max(0, i - 40), i))] for _ in range(count)})
    sizes = rng.integers(1, size + 1, cases).tolist()
    stored = {f"case-{i}": [ids[t] for t in rng.choice(terms, n, replace=False)] for i, n in enumerate(sizes)}
    return World(parents, stored)


@dataclass(frozen=True)
class Declared:
    """A lattice of declared predicates; ``arity`` is None for a variadic one."""

    parents: dict[str, list[str]]
    predicates: dict[str, Predicate]
    arity: dict[str, int | None]

    def siblings(self, functor: str) -> list[str]:
        """Returns the functors that share a parent with one and take as many arguments."""
        above = set(self.parents[functor])
        alike = [f for f in sorted(self.parents) if f != functor and self.arity[f] == self.arity[functor]]
        return [f for f in alike if above & set(self.parents[f])]


@dataclass(frozen=True)
class NestedWorld:
    """Stored cases and a query over a lattice of declared predicates, with nested statements."""

    declared: Declared
    stored: tuple[Case, ...]
    query: Case

    def oracle(self, dials: Dials) -> Oracle:
        chosen = Settings(dials.scorer, dials.credit, dials.gamma, dials.rho, dials.delta)
        return Oracle(self.declared.parents, list(self.stored), chosen)


WEIGHTS = (1.0, 0.5, 0.3)
MAX_ORDER = 3


@st.composite
def declarations(draw: st.DrawFn, max_predicates: int = 8) -> Declared:
    # Narrower predicates mostly take what their parent takes, or no two different functors would ever pair.
    size = draw(st.integers(1, max_predicates))
    ids = [f"p{i}" for i in draw(st.permutations(range(size)))]
    declared = Declared({}, {}, {})
    for position, name in enumerate(ids):
        higher: st.SearchStrategy[list[str]] = st.just([])
        if position:
            higher = st.lists(st.sampled_from(ids[:position]), max_size=2, unique=True)
        above = draw(higher)
        inherits = bool(above) and draw(st.integers(0, 3)) > 0
        arity = declared.arity[above[0]] if inherits else draw(st.sampled_from([1, 2, 2, 3, 0, None]))
        commutative = arity != 0 and arity != 1 and draw(st.booleans())
        declared.parents[name] = above
        declared.arity[name] = arity
        declared.predicates[name] = Predicate(name, commutative, arity is None)
    return declared


@st.composite
def nested_cases(draw: st.DrawFn, declared: Declared, key: str, max_statements: int = 5, max_entities: int = 4) -> Case:
    things = [f"{key}{i}" for i in range(draw(st.integers(1, max_entities)))]
    entities = [Entity(t) for t in things]
    if draw(st.integers(0, 3)) == 0:  # the same constants are at hand everywhere, so that they can meet
        entities[-1] = Entity(draw(st.sampled_from(["5", "7"])), "number", constant=True)
    pool: list[Entity | Statement] = list(entities)
    made: list[Statement] = []
    for _ in range(draw(st.integers(1, max_statements))):
        functor = draw(st.sampled_from(sorted(declared.predicates)))
        arity = declared.arity[functor]
        count = draw(st.integers(0, 3)) if arity is None else arity
        args = draw(st.lists(st.sampled_from(pool), min_size=count, max_size=count))
        negated = draw(st.integers(0, 4)) == 0
        weight = draw(st.sampled_from(WEIGHTS)) if draw(st.booleans()) else 1.0
        statement = Statement(declared.predicates[functor], tuple(args), negated, weight)
        if statement not in made:
            made.append(statement)
            pool.extend([statement] if statement.order < MAX_ORDER else [])
    return _case_of(key, made, [draw(st.booleans()) for _ in made])


@st.composite
def nested_worlds(
    draw: st.DrawFn, max_stored: int = 3, max_statements: int = 5, max_entities: int = 4, max_predicates: int = 8
) -> NestedWorld:
    """Draws a lattice, stored cases, and a query that is a case of its own or a stored one retold of other things."""
    declared = draw(declarations(max_predicates))
    sizes = {"max_statements": max_statements, "max_entities": max_entities}
    stored = [draw(nested_cases(declared, f"c{i}", **sizes)) for i in range(draw(st.integers(1, max_stored)))]
    query = draw(nested_cases(declared, "q", **sizes))
    if draw(st.booleans()):
        model = draw(st.sampled_from(stored))
        names = [f"q{i}" for i in draw(st.permutations(range(len(model.entities()))))]
        keep = [draw(st.integers(0, 4)) > 0 for _ in model.statements]
        other = {f: draw(st.sampled_from([f, f, *declared.siblings(f)])) for f in sorted(declared.parents)}
        retold = retell(model, declared, names, other)
        told = [retold.statements[s] for s in model.statements]
        kept = [s for s, stays in zip(told, keep, strict=True) if stays] or told
        query = Case("q", tuple(dict.fromkeys(kept)))
    return NestedWorld(declared, tuple(stored), query)


def random_declared(rng: np.random.Generator, predicates: int = 12) -> Declared:
    """Returns a random lattice of declared predicates from a seeded generator."""
    declared = Declared({}, {}, {})
    ids = [f"p{i:03d}" for i in range(predicates)]
    for i, name in enumerate(ids):
        above = sorted({ids[int(rng.integers(0, i))] for _ in range(1 + int(rng.random() < 0.2))} if i else [])
        inherits = bool(above) and rng.random() < 0.7
        arity = declared.arity[above[0]] if inherits else [1, 2, 2, 3, 0, None][int(rng.integers(6))]
        declared.parents[name] = above
        declared.arity[name] = arity
        commutative = arity != 0 and arity != 1 and rng.random() < 0.3
        declared.predicates[name] = Predicate(name, bool(commutative), arity is None)
    return declared


def random_nested_case(
    rng: np.random.Generator,
    declared: Declared,
    key: str,
    statements: int = 6,
    entities: int = 4,
    max_order: int = MAX_ORDER,
    nesting: float = 0.4,
) -> Case:
    """Returns a random nested case from a seeded generator.

    Args:
        rng: the generator.
        declared: the predicates to draw from.
        key: key of the case; its entities are named after it.
        statements: distinct statements at most; fewer where drawn ones coincide too often.
        entities: distinct entities at most, one in eight of them a constant.
        max_order: greatest order of a statement.
        nesting: chance that an argument is a statement rather than an entity.
    """
    things = [Entity(f"{key}:{i:03d}") for i in range(entities)]
    for i in range(entities):
        if rng.random() < 1 / 8:
            things[i] = Entity(str(int(rng.integers(5))), "number", constant=True)
    functors = sorted(declared.predicates)
    made: list[Statement] = []
    below: list[Statement] = []
    seen: set[Statement] = set()
    for _ in range(4 * statements):
        if len(made) == statements:
            break
        functor = functors[int(rng.integers(len(functors)))]
        arity = declared.arity[functor]
        args: list[Entity | Statement] = []
        for _ in range(int(rng.integers(0, 4)) if arity is None else arity):
            from_below = below and rng.random() < nesting
            args.append(below[int(rng.integers(len(below)))] if from_below else things[int(rng.integers(len(things)))])
        weight = float(WEIGHTS[int(rng.integers(len(WEIGHTS)))]) if rng.random() < 0.25 else 1.0
        statement = Statement(declared.predicates[functor], tuple(args), bool(rng.random() < 0.15), weight)
        if statement not in seen:
            seen.add(statement)
            made.append(statement)
            if statement.order < max_order:
                below.append(statement)
    return _case_of(key, made, (rng.random(len(made)) < 0.3).tolist())


@dataclass(frozen=True)
class Planted:
    """Two cases of which one was made out of the other.

    Attributes:
        base: the case that was there first.
        target: the same of other things, with statements dropped, exchanged and added.
        entities: which entity of the target stands for which of the base, where both have it.
        statements: likewise for statements.
    """

    base: Case
    target: Case
    entities: dict[Entity, Entity]
    statements: dict[Statement, Statement]


def random_analogy(
    rng: np.random.Generator,
    declared: Declared,
    statements: int = 10,
    entities: int = 5,
    drop: float = 0.1,
    replace: float = 0.2,
    noise: float = 0.1,
) -> Planted:
    """Returns a planted analogy from a seeded generator.

    Args:
        rng: the generator.
        declared: the predicates to draw from.
        statements: distinct statements of the base.
        entities: distinct entities of the base.
        drop: chance that the target leaves out a statement that nothing else is said of.
        replace: chance that a functor is exchanged, throughout the target, for one that shares a parent with it.
        noise: statements that the target has of its own, as a share of ``statements``.
    """
    base = random_nested_case(rng, declared, "base", statements, entities)
    names = [f"target:{i:03d}" for i in rng.permutation(len(base.entities())).tolist()]
    other = {}
    for functor in sorted(declared.parents):
        siblings = declared.siblings(functor)
        swap = siblings and rng.random() < replace
        other[functor] = siblings[int(rng.integers(len(siblings)))] if swap else functor
    retold = retell(base, declared, names, other)
    told = [retold.statements[s] for s in base.statements]
    gone = (rng.random(len(told)) < drop).tolist()
    kept = [s for s, left_out in zip(told, gone, strict=True) if not left_out] or told
    added = random_nested_case(rng, declared, "target", round(noise * statements), entities)
    target = Case("target", tuple(dict.fromkeys([*kept, *added.statements])))
    entities_kept, statements_kept = set(target.entities()), set(target.walk())
    return Planted(
        base,
        target,
        {new: old for old, new in retold.entities.items() if new in entities_kept},
        {new: old for old, new in retold.statements.items() if new in statements_kept},
    )


@dataclass(frozen=True)
class Retold:
    """What each entity and each statement of a case became."""

    entities: dict[Entity, Entity]
    statements: dict[Statement, Statement]


def retell(case: Case, declared: Declared, names: list[str], functors: dict[str, str]) -> Retold:
    """Returns a case told of other things: new names for its entities, in order, and other functors; constants stay."""
    named = zip(case.entities(), names, strict=True)
    entities = {e: e if e.constant else Entity(name, e.type) for e, name in named}
    statements: dict[Statement, Statement] = {}
    for s in sorted(case.walk(), key=lambda s: (s.order, s.digest)):
        args = tuple(statements[a] if isinstance(a, Statement) else entities[a] for a in s.args)
        statements[s] = Statement(declared.predicates[functors[s.functor.id]], args, s.negated, s.weight)
    return Retold(entities, statements)


def _case_of(key: str, made: list[Statement], said: list[bool]) -> Case:
    """Returns the case that states what nothing else is said of, and those marked although something is."""
    below = {a for s in made for a in s.args}
    return Case(key, tuple(s for s, also in zip(made, said, strict=True) if also or s not in below))
