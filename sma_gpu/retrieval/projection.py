"""What a mapping lets one expect: candidate inferences, differences, contradictions.

Candidate inferences follow Falkenhainer, Forbus and Gentner (1989): a statement of the base that has no partner, but
rests on something that has one, is carried over; entities without a partner become skolems. Differences follow Markman
and Gentner (1993): alignable ones stand in corresponding places, the others have no counterpart at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from ..cases import Case, Entity, Predicate, Statement
from ..lattice import Lattice
from ..ontologies.mount import Mounted
from .analogy import CandidateInference, Correspondence, Difference

__all__ = ["SKOLEM", "Projection", "roots"]

SKOLEM = "skolem"  # the type of an entity that a candidate inference makes up

Item = Entity | Statement


class Projection:
    """The consequences of one mapping from a base to a target. Each is worked out once, when first asked for.

    Only roots are told: statements that no other statement of their case speaks of. What stands inside them goes along.

    Args:
        mounted: the lattice.
        base: the stored case.
        target: the query case.
        correspondences: the mapping.
        worth: value of each statement of the base with itself, units of 2^-16 bit, in packed order.
    """

    def __init__(
        self,
        mounted: Mounted,
        base: Case,
        target: Case,
        correspondences: tuple[Correspondence, ...],
        worth: Mapping[Statement, int],
    ) -> None:
        self._base, self._target, self._worth = base, target, worth
        self._kin = _Kin(mounted)
        self._pairs = [c for c in correspondences if c.grounded]
        self._image: dict[Item, Item] = {c.base: c.target for c in self._pairs}
        self._value = {c.base: c.value for c in self._pairs}
        self._base_roots, self._target_roots = roots(base), roots(target)
        self._skolem = self._named_skolems()
        self._stand_ins: dict[Item, Item] = dict(self._skolem.items())
        self._places = _Places(target.walk())
        self._told = _told(target.walk())  # in any order of commutative arguments: what the target says

    @cached_property
    def inferences(self) -> tuple[CandidateInference, ...]:
        """What the base says and the target lacks: first what rests on most of the mapping."""
        settled = {b for b, _ in self.contradicted} | {b for b, t, _ in self._apart if b.functor == t.functor}
        place = {s: i for i, s in enumerate(self._worth)}
        found = []
        for root in self._base_roots:
            if root in self._image or root in settled or root in self._same:
                continue
            within = list(root.walk())
            entities = sorted({a for s in within for a in s.args if isinstance(a, Entity)}, key=lambda e: e.digest)
            items: tuple[Item, ...] = (*within, *entities)
            resting_on = [i for i in items if i in self._image]
            if not resting_on:
                continue
            made = self._projected(root)
            projected = made[root]
            assert isinstance(projected, Statement)
            if self._is_implied(projected):
                continue
            skolems = sorted({self._skolem[e] for e in entities if e in self._skolem}, key=lambda e: e.name)
            unmatched = [s for s in within if s not in self._image]
            denials = {t: None for s in unmatched for t in self._denials_of(s, made[s])}
            support = sum(self._value[i] for i in resting_on)
            value = sum(self._worth[s] for s in unmatched)
            found.append(CandidateInference(projected, root, tuple(skolems), support, value, tuple(denials)))
        return tuple(sorted(found, key=lambda i: (bool(i.denied_by), -i.support, -i.value, place[i.source])))

    @cached_property
    def alignable(self) -> tuple[Difference, ...]:
        """Differences in corresponding places: statements matched by ascension first, then unmatched ones."""
        matched = [
            Difference(c.base, c.target, c.via)
            for c in self._pairs
            if isinstance(c.base, Statement)
            and isinstance(c.target, Statement)
            and (c.base.functor.id != c.target.functor.id or c.base.weight != c.target.weight)
        ]
        return (*matched, *(Difference(b, t, via) for b, t, via in self._apart))

    @cached_property
    def base_only(self) -> tuple[Statement, ...]:
        """Roots of the base without any counterpart."""
        told = {b for b, _, _ in self._apart} | {b for b, _ in self.contradicted}
        return tuple(s for s in self._base_roots if s not in self._image and s not in told and s not in self._same)

    @cached_property
    def target_only(self) -> tuple[Statement, ...]:
        """Roots of the target without any counterpart."""
        told = {t for _, t, _ in self._apart} | {t for _, t in self.contradicted} | set(self._same.values())
        return tuple(s for s in self._target_roots if s not in self._taken and s not in told)

    @cached_property
    def contradicted(self) -> tuple[tuple[Statement, Statement], ...]:
        """Pairs (base, target) of what is stated in the same place, of which one denies the other.

        A denial of a functor denies all below it. What a case excludes is held against all that the other one states; a
        bare denial without arguments stands for it.
        """
        found = []
        for b in self._base.statements:
            carried = self._carried(b)
            found += [(b, t) for t in self._denials_at(b, carried)] if None not in carried else []
        found += [
            (b, Statement(Predicate(x), (), negated=True))
            for b in self._base.statements
            for x in self._target.excluded
            if not b.negated and self._kin.is_below(b.functor.id, x)
        ]
        found += [
            (Statement(Predicate(x), (), negated=True), t)
            for t in self._target.statements
            for x in self._base.excluded
            if not t.negated and self._kin.is_below(t.functor.id, x)
        ]
        return tuple(found)

    @cached_property
    def _taken(self) -> set[Item]:
        return {c.target for c in self._pairs}

    @cached_property
    def _stated(self) -> set[Statement]:
        return set(self._target.statements)

    @cached_property
    def _same(self) -> dict[Statement, Statement]:
        """Unmatched roots of the base that the target states as they are; worth nothing, they could not be matched."""
        found = {}
        for root in self._base_roots:
            if root not in self._image and all(e in self._image or e.constant for e in _entities(root)):
                projected = self._projected(root)[root]
                assert isinstance(projected, Statement)
                if (twin := self._told.get(projected.unordered)) is not None:
                    found[root] = twin
        return found

    @cached_property
    def _apart(self) -> tuple[tuple[Statement, Statement, str], ...]:
        """Unmatched roots in the same place and of the same sign with a common ancestor, nearest first, each once.

        Two constants of one type stand in the same place too: that is where values differ.
        """
        open_ = {t: i for i, t in enumerate(self._target_roots) if t not in self._taken}
        options = []
        for i, b in enumerate(self._base_roots):
            carried = self._carried(b)
            if b in self._image or b in self._same or None in carried:
                continue
            for t in self._places.at(b, carried):
                if t in open_ and b.negated == t.negated:
                    common = self._kin.nearest(b.functor.id, t.functor.id, negated=b.negated)
                    options += [(common[0], i, open_[t], b, t, common[1])] if common else []
        left: set[Statement] = set()
        right: set[Statement] = set()
        found = []
        for _, _, _, b, t, via in sorted(options, key=lambda o: o[:3]):
            if b not in left and t not in right:
                left.add(b)
                right.add(t)
                found.append((b, t, via))
        return tuple(found)

    def _named_skolems(self) -> dict[Entity, Entity]:
        """Returns a stand-in for each entity of the base without a partner: named after it, but like nothing else."""
        taken = {e.name for e in self._target.entities()} | {e.name for e in self._base.entities() if e.constant}
        found = {}
        for entity in self._base.entities():
            if entity in self._image or entity.constant:
                continue
            name, number = entity.name, 1
            while name in taken:
                number += 1
                name = f"{entity.name}-{number}"
            taken.add(name)
            found[entity] = Entity(name, SKOLEM)
        return found

    def _projected(self, root: Statement) -> dict[Item, Item]:
        """Returns what each item of a root becomes in the words of the target."""
        made = {**self._stand_ins, **self._image}
        for statement in sorted(root.walk(), key=lambda s: s.order):  # arguments before what is said of them
            if statement not in made:
                args = tuple(made.get(a, a) for a in statement.args)
                made[statement] = Statement(statement.functor, args, statement.negated, statement.weight)
        return made

    def _carried(self, statement: Statement) -> tuple[Item | None, ...]:
        """Returns the counterparts of the arguments; a constant is its own, and None stands for one that has none."""
        return tuple(a if isinstance(a, Entity) and a.constant else self._image.get(a) for a in statement.args)

    def _denials_at(self, statement: Statement, args: tuple[Item | None, ...]) -> Iterator[Statement]:
        """Yields what the target states of exactly ``args`` that denies ``statement``, or that it denies."""
        for t in self._places.at(statement, args, exactly=True):
            if t.negated != statement.negated and t in self._stated:
                narrow, broad = (statement, t) if t.negated else (t, statement)
                if self._kin.is_below(narrow.functor.id, broad.functor.id):
                    yield t

    def _denials_of(self, statement: Statement, projected: Item) -> Iterator[Statement]:
        """Yields what the target says against a statement that an inference would bring with it."""
        assert isinstance(projected, Statement)
        yield from self._denials_at(statement, projected.args)
        for x in self._target.excluded:
            if not statement.negated and self._kin.is_below(statement.functor.id, x):
                yield Statement(Predicate(x), (), negated=True)

    def _is_implied(self, projected: Statement) -> bool:
        """Returns whether the target says as much or more of the same arguments."""
        for t in self._places.at(projected, projected.args, exactly=True):
            more, less = (projected, t) if projected.negated else (t, projected)  # a broader denial says more
            if t.negated == projected.negated and self._kin.is_below(more.functor.id, less.functor.id):
                return True
        return False


class _Places:
    """Statements by what they are said of. Constants of one type are one place, unless they are asked for exactly."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._found: dict[tuple[bytes, ...], list[Statement]] = {}
        for statement in statements:
            self._found.setdefault(self._key(statement.args), []).append(statement)

    def at(self, asked: Statement, args: tuple[Item | None, ...], *, exactly: bool = False) -> list[Statement]:
        """Returns the statements over ``args``: in this order, or in any where they or the one asked for commute."""
        given = [a for a in args if a is not None]
        wanted = [self._mark(a) for a in given]
        exact = sorted(a.unordered for a in given)
        return [
            t
            for t in self._found.get(self._key(given), ())
            if (asked.functor.commutative or t.functor.commutative or [self._mark(a) for a in t.args] == wanted)
            and (not exactly or sorted(a.unordered for a in t.args) == exact)
        ]

    def _key(self, args: Iterable[Item]) -> tuple[bytes, ...]:
        return tuple(sorted(self._mark(a) for a in args))

    @staticmethod
    def _mark(item: Item) -> bytes:
        if isinstance(item, Entity) and item.constant:
            return b"constant " + item.type.encode("utf-8", "surrogatepass")
        return item.unordered


class _Kin:
    """Which functors are related, and how nearly."""

    def __init__(self, mounted: Mounted) -> None:
        self._mounted = mounted
        self._legs: dict[int, dict[int, int]] = {}

    def is_below(self, narrow: str, broad: str) -> bool:
        """Returns whether ``narrow`` is ``broad`` or a functor below it."""
        number = self._mounted.number
        return narrow == broad or number[broad] in self._above(self._mounted.lattice, number[narrow])

    def nearest(self, first: str, second: str, *, negated: bool) -> tuple[int, str] | None:
        """Returns the common ancestor with the fewest hops, both legs together, or None.

        For denials it is the broadest functor that both deny: their lattice is turned over.
        """
        number, size = self._mounted.number, len(self._mounted.ids)
        lattice, shift = (self._signed, size) if negated else (self._mounted.lattice, 0)
        one, other = (self._above(lattice, number[f] + shift) for f in (first, second))
        common = [(one[a] + other[a], a) for a in one.keys() & other.keys()]
        if not common:
            return None
        hops, ancestor = min(common)
        return hops, self._mounted.ids[ancestor - shift]

    @cached_property
    def _signed(self) -> Lattice:
        return self._mounted.lattice.signed()

    def _above(self, lattice: Lattice, functor: int) -> dict[int, int]:
        if functor not in self._legs:  # denials have numbers of their own, so one memory serves both lattices
            closure = lattice.closure
            lo, hi = closure.ptr[functor : functor + 2]
            ancestors, hops = closure.ancestors[lo:hi].tolist(), closure.hops[lo:hi].tolist()
            self._legs[functor] = dict(zip(ancestors, hops, strict=True))
        return self._legs[functor]


def roots(case: Case) -> tuple[Statement, ...]:
    """Returns the statements that no other statement of the case speaks of, in the order given."""
    inner = {a for s in case.walk() for a in s.args if isinstance(a, Statement)}
    return tuple(s for s in case.statements if s not in inner)


def _entities(root: Statement) -> set[Entity]:
    return {a for s in root.walk() for a in s.args if isinstance(a, Entity)}


def _told(statements: Iterable[Statement]) -> dict[bytes, Statement]:
    return {s.unordered: s for s in statements}
