"""The published package (bench extra) as outside oracle, on nested cases of several entities.

Ours is never lower. Where it is higher, one of four causes is shown to bite, each computed here from its definition:
an argument pair under a pair that cannot match is lost to it (D2); so is one under a pair that could match but is not
chosen (kernel mappings grow from roots only); its merge adds up kernel mappings, so that what two of them share counts
twice (D9); and it counts a pair of entities only where a matched statement speaks of them, where ours pairs all that it
can, so that it may give up worth for grounded entities. Its solver has 10 s a pair (D13) and no pair has more than the
60 kernel mappings from which on it is greedy (D10).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from oracles.enumerator import ONE, Hypothesis, Item, Oracle, Settings

from sma_gpu import Case, CaseBatch, Dials, Entity, Index, Predicate, Statement, mount, ontology_from_parents

cp_model = pytest.importorskip("ortools.sat.python.cp_model", reason="ortools is not installed (dev extra)")
pytest.importorskip("sma", reason="the published package is not installed (bench extra)")

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

ADAPTER = Dials.adapter_v1()
UNIT = Dials("unit", ADAPTER.credit, ADAPTER.normalisation, ADAPTER.gamma, ADAPTER.rho, ADAPTER.delta)
WORLDS, STORED, QUERIES = 100, 6, 5
MAX_ORDER = 3
Mapping = frozenset[Hypothesis]


@dataclass(frozen=True)
class World:
    parents: dict[str, list[str]]
    stored: list[Case]
    queries: list[Case]

    def index(self, dials: Dials) -> Index:
        mounted = mount(ontology_from_parents(self.parents))
        return Index.build(CaseBatch.from_cases(self.stored, mounted), mounted, dials)

    def oracle(self, dials: Dials) -> Oracle:
        chosen = Settings(dials.scorer, dials.credit, dials.gamma, dials.rho, dials.delta)
        return Oracle(self.parents, self.stored, chosen)


def random_world(rng: random.Random) -> World:
    """Predicates of one to three arguments in a lattice, cases of up to three orders, queries new or retold."""
    ids = [f"p{i}" for i in range(rng.randint(2, 8))]
    parents: dict[str, list[str]] = {}
    arity: dict[str, int] = {}
    for i, name in enumerate(ids):
        parents[name] = sorted(set(rng.choices(ids[:i], k=rng.randint(1, 2)))) if i and rng.random() < 0.8 else []
        arity[name] = arity[parents[name][0]] if parents[name] and rng.random() < 0.8 else rng.choice([1, 2, 2, 3])
    stored = [random_case(rng, arity, f"s{i}") for i in range(STORED)]
    queries = []
    for i in range(QUERIES):
        model = rng.choice(stored) if rng.random() < 0.5 else None
        queries.append(retold(rng, model, f"q{i}") if model else random_case(rng, arity, f"q{i}"))
    return World(parents, stored, queries)


def random_case(rng: random.Random, arity: dict[str, int], key: str) -> Case:
    things = [Entity(f"{key}-{i}") for i in range(rng.randint(2, 4))]
    made: dict[Statement, None] = {}
    for _ in range(rng.randint(3, 10)):
        functor = rng.choice(sorted(arity))
        below = [s for s in made if s.order < MAX_ORDER]
        args = [rng.choice(below if below and rng.random() < 0.4 else things) for _ in range(arity[functor])]
        made[Statement(Predicate(functor), tuple(args))] = None
    return Case(key, tuple(made))


def retold(rng: random.Random, model: Case, key: str) -> Case:
    """The same of other things, less some statements."""
    named = {e: Entity(f"{key}-{i}") for i, e in enumerate(model.entities())}

    def told(item: Item) -> Item:
        return named[item] if isinstance(item, Entity) else Statement(item.functor, tuple(map(told, item.args)))

    kept = [told(s) for s in model.statements if rng.random() < 0.8] or [told(model.statements[0])]
    return Case(key, tuple(s for s in kept if isinstance(s, Statement)))


class Peer:
    """The published matcher on our cases."""

    def __init__(self, world: World, dials: Dials) -> None:
        from sma.index.macfac import MacFacIndex
        from sma.ir import Canonicalizer
        from sma.match import MatchConfig

        self._items: dict[Any, Item] = {}
        self.canon = Canonicalizer()
        for child in world.parents:
            for parent in world.parents[child]:
                self.canon.lattice.add(child, parent)
        self.config = MatchConfig(gamma=dials.gamma, rho=dials.rho, delta=dials.delta, cpsat_time_ms=10_000)
        self._cases = {case.key: self._case(case) for case in (*world.stored, *world.queries)}
        index = MacFacIndex(self.config, self.canon)
        index.build([self._cases[case.key] for case in world.stored])
        assert len(index.cases) == len(world.stored)
        self.costs: dict[str, float] = index.corpus_costs()
        if dials.scorer == "surprisal":
            self.config.functor_costs = self.costs

    def _case(self, case: Case) -> Any:
        from sma.ir import make_case

        return make_case([self._node(s) for s in case.statements])

    def _node(self, item: Item) -> Any:
        from sma.ir import entity, stmt

        node = entity(item.name) if isinstance(item, Entity) else stmt(item.functor.id, *map(self._node, item.args))
        self._items[node] = item
        return node

    def match(self, query: Case, stored: Case) -> Theirs:
        from sma.match import match_cases

        found = match_cases(self._cases[stored.key], self._cases[query.key], self.config, self.canon)
        kernels = [frozenset((self._items[h.target], self._items[h.base]) for h in k.hypotheses) for k in found.kernels]
        assert found.optimality_gap == 0.0 or not kernels
        return Theirs(found.score, kernels)


@dataclass(frozen=True)
class Theirs:
    score: float
    kernels: list[Mapping]
    mapping: Mapping = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mapping", frozenset().union(*self.kernels))


class Causes:
    """What the published definition leaves out of reach in one pair of cases."""

    def __init__(self, oracle: Oracle, query: Case, stored: Case) -> None:
        self._oracle = oracle
        seeds = [h for h in oracle.hypotheses(query, stored) if isinstance(h[0], Statement)]
        closures = {seed: self._closure(seed) for seed in seeds}
        self.sound = {seed: closure for seed, closure in closures.items() if closure}
        self.from_sound_roots = self._rooted(self.sound)
        self.from_roots = self._rooted(seeds)  # roots of all, even of those whose own kernel mapping is void

    def _rooted(self, seeds: Collection[Hypothesis]) -> dict[Hypothesis, Mapping]:
        below = {pair for seed in seeds for pair in argument_pairs(seed)}
        return {seed: closure for seed, closure in self.sound.items() if seed not in below}

    def _closure(self, seed: Hypothesis) -> Mapping | None:
        found, left = {seed}, [seed]
        while left:
            for pair in argument_pairs(left.pop()):
                if not self._oracle.pairs(pair):
                    return None
                if pair not in found:
                    found.add(pair)
                    left.append(pair)
        return frozenset(found) if one_to_one(found) else None

    def worth(self, mapping: Collection[Hypothesis], *, entities: bool = False) -> int:
        """Units of 2^-16 bit; ``entities``: pairs of entities count one bit each, as in the published score."""
        return sum(self._oracle.value(h) for h in mapping if entities or isinstance(h[0], Statement))

    def best(self, kernels: Collection[Mapping], *, entities: bool = False) -> int:
        """The greatest worth of a union of kernel mappings that stay one-to-one together."""
        model, chosen = merge_model(kernels)
        held: dict[Hypothesis, list[Any]] = {}
        for kernel in kernels:
            for h in kernel:
                held.setdefault(h, []).append(chosen[kernel])
        terms = []
        for h, choices in held.items():
            if entities or isinstance(h[0], Statement):
                counted = model.new_bool_var("")
                model.add_bool_or(choices).only_enforce_if(counted)
                terms.append(self._oracle.value(h) * counted)
        return greatest(model, sum(terms))

    def merged(self, kernels: Collection[Mapping]) -> int:
        """The published merge objective, 1e-5 bits: the weights of kernel mappings added up."""
        return sum(round(1e5 * self.worth(k, entities=True) / ONE) for k in kernels)

    def best_merged(self) -> int:
        kernels = list(self.from_roots.values())
        model, chosen = merge_model(kernels)
        return greatest(model, sum(self.merged([k]) * chosen[k] for k in kernels))

    def of(self, theirs: Theirs, ours: int) -> set[str]:
        """The names of what made theirs lower than ours, the worth of our statement pairs."""
        every, sound_roots, roots = (
            self.best(kernels.values()) for kernels in (self.sound, self.from_sound_roots, self.from_roots)
        )
        assert every == ours
        scored = self.best(self.from_roots.values(), entities=True)
        assert every >= sound_roots >= roots
        # What they chose is the best by their objective, over the roots as found here: nothing else set them back.
        rounding = len(self.from_roots)
        assert set(theirs.kernels) <= set(self.from_roots.values())
        assert abs(self.merged(theirs.kernels) - self.best_merged()) <= rounding
        slack = len(theirs.mapping) + rounding  # they merge by floats rounded to 1e-5 bits, less than one unit
        found = set()
        if every > sound_roots:
            found.add("roots only")
        if sound_roots > roots:
            found.add("D2")
        if scored - self.worth(theirs.mapping, entities=True) > slack:
            found.add("D9")
        elif roots - self.worth(theirs.mapping) > slack:
            found.add("grounded entities")
        return found


def argument_pairs(hypothesis: Hypothesis) -> Iterator[Hypothesis]:
    q, c = hypothesis
    if isinstance(q, Statement) and isinstance(c, Statement):
        yield from zip(q.args, c.args, strict=True)


def one_to_one(mapping: Collection[Hypothesis]) -> bool:
    return len({q for q, _ in mapping}) == len(mapping) == len({c for _, c in mapping})


def merge_model(kernels: Collection[Mapping]) -> tuple[Any, dict[Mapping, Any]]:
    model = cp_model.CpModel()
    chosen = {kernel: model.new_bool_var("") for kernel in kernels}
    listed = list(kernels)
    for i, first in enumerate(listed):
        for second in listed[:i]:
            if not one_to_one(first | second):
                model.add_at_most_one(chosen[first], chosen[second])
    return model, chosen


def greatest(model: Any, total: Any) -> int:
    model.maximize(total)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


def compare(world: World, dials: Dials) -> Iterator[tuple[set[str], int, Theirs, Causes]]:
    """Yields for every pair the causes of a difference, by how much ours is higher, and what was compared."""
    index, oracle, peer = world.index(dials), world.oracle(dials), Peer(world, dials)
    hits = index.retrieve(CaseBatch.from_cases(world.queries, index.mounted), k=len(world.stored), backend="reference")
    assert hits.optimal.all()
    for row, query in enumerate(world.queries):
        ours = dict(zip(hits.keys[row].tolist(), hits.score_q[row].tolist(), strict=True))
        for stored in world.stored:
            causes, theirs = Causes(oracle, query, stored), peer.match(query, stored)
            if len(causes.from_roots) > peer.config.exact_kernel_limit:
                continue
            score = ours.get(stored.key, 0)
            entities = min(len(query.entities()), len(stored.entities()))
            mine = score - ONE * entities if score else 0
            rescored = causes.worth(theirs.mapping)
            grounded = sum(isinstance(q, Entity) for q, _ in theirs.mapping)
            rounding = (len(theirs.mapping) - grounded) / 2  # half a unit for each statement pair
            assert abs(rescored + ONE * grounded - ONE * theirs.score) <= rounding + 1e-6
            assert one_to_one(theirs.mapping)
            assert rescored <= mine, (query, stored)
            differ = mine - rescored > rounding
            yield causes.of(theirs, mine) if differ else set(), mine - rescored, theirs, causes


@pytest.mark.parametrize("dials", [ADAPTER, UNIT], ids=["adapter-v1", "unit"])
def test_ours_is_never_lower_and_equal_where_no_defect_of_theirs_bites(dials: Dials) -> None:
    rng = random.Random(f"nested {dials.scorer}")
    compared = matched = equal = 0
    by_cause: Counter[str] = Counter()
    for _ in range(WORLDS):
        for causes, lead, theirs, _ in compare(random_world(rng), dials):
            compared += 1
            matched += bool(theirs.mapping or lead)
            if lead > len(theirs.mapping) / 2:
                assert causes, "ours is higher and none of the known causes bites"
                by_cause.update([" and ".join(sorted(causes))])
            elif theirs.mapping:
                equal += 1
    print(f"{compared} pairs compared, {matched} match, {equal} of them equal; ours higher for:", dict(by_cause))
    assert equal + by_cause.total() == matched
    assert compared >= 0.95 * WORLDS * STORED * QUERIES
    assert matched >= compared / 2
    assert equal >= matched / 2
    assert {cause for causes in by_cause for cause in causes.split(" and ")} >= {"D2", "D9", "grounded entities"}


def test_costs_are_those_of_the_published_package() -> None:
    rng = random.Random("costs")
    furthest, count = 0.0, 0
    for _ in range(WORLDS):
        world = random_world(rng)
        index, theirs = world.index(ADAPTER), Peer(world, ADAPTER).costs
        for functor, cost in theirs.items():
            furthest = max(furthest, abs(cost - float(index.costs[index.mounted.number[functor]])))
            count += 1
    assert count > 3 * WORLDS
    assert furthest < 1e-12


def says(functor: str, *args: Item | str) -> Statement:
    return Statement(Predicate(functor), tuple(Entity(a) if isinstance(a, str) else a for a in args))


def lost_under_a_void_root() -> World:
    base = Case("s", (says("r", says("p", "x"), says("one", "x")),))
    return World({}, [base], [Case("q", (says("r", says("p", "u"), says("other", "u")),))])


def lost_under_a_root_that_is_not_chosen() -> World:
    between = [f"between-{i}" for i in range(3)]
    base = Case("s", (says("r", says("p", "x"), says("q", "y")), *(says(b, "x", "y") for b in between)))
    target = (says("r", says("p", "u"), says("q", "v")), *(says(b, "u", "w") for b in between))
    return World({}, [base], [Case("q", target)])


def shared_pair_counted_twice() -> World:
    base = Case("s", (says("h", says("g", "x")), says("weak", "x"), says("weaker", "x")))
    return World({}, [base], [Case("q", (says("h", says("g", "u")), says("weak", "v"), says("weaker", "v")))])


def grounded_entities_preferred() -> World:
    base = Case("s", (says("h", says("g", "x")), says("event", "x", "y", "z")))
    return World({}, [base], [Case("q", (says("h", says("g", "m")), says("event", "u", "v", "w")))])


# With worths of 1 bit and gamma 1/4, p(x) is worth 1.25 bits, h over g(x) 1.3125, and event(x, y, z) 1.75.
EXAMPLES: list[tuple[Callable[[], World], str, float]] = [
    (lost_under_a_void_root, "D2", 1.25),
    (lost_under_a_root_that_is_not_chosen, "roots only", 1.25),
    (shared_pair_counted_twice, "D9", 1.3125 + 1.25 - 2 * 1.25),
    (grounded_entities_preferred, "grounded entities", 1.3125 + 1.25 - 1.75),
]


@pytest.mark.parametrize(("make", "cause", "lead"), EXAMPLES, ids=[cause for _, cause, _ in EXAMPLES])
def test_each_cause_in_its_smallest_form(make: Callable[[], World], cause: str, lead: float) -> None:
    drawn = make()
    functors = sorted({s.functor.id for case in (*drawn.stored, *drawn.queries) for s in case.walk()})
    world = World({f: [] for f in functors}, drawn.stored, drawn.queries)
    ((causes, found, _, _),) = compare(world, UNIT)
    assert causes == {cause}
    assert found == ONE * lead
