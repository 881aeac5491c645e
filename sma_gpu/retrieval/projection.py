"""What a mapping lets one expect: candidate inferences, differences, contradictions.

Candidate inferences follow Falkenhainer, Forbus and Gentner (1989): a statement of the base that has no partner, but
rests on something that has one, is carried over; entities without a partner become skolems. Differences follow Markman
and Gentner (1993): alignable ones stand in corresponding places, the others have no counterpart at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..cases import Case, Entity, Predicate, Statement
from ..ontologies.mount import Mounted
from .analogy import CandidateInference, Correspondence, Difference

__all__ = ["SKOLEM", "Projection"]

SKOLEM = "skolem"  # the type of an entity that a candidate inference makes up

Item = Entity | Statement
Place = tuple[Item | None, ...]


class Projection:
    """The consequences of one mapping from a base to a target.

    Args:
        mounted: the lattice.
        base: the stored case.
        target: the query case.
        correspondences: the mapping.
        worth: value of each statement of the base with itself, units of 2^-16 bit.
    """

    def __init__(
        self,
        mounted: Mounted,
        base: Case,
        target: Case,
        correspondences: tuple[Correspondence, ...],
        worth: Mapping[Statement, int],
    ) -> None:
        self._mounted, self._base, self._target, self._worth = mounted, base, target, worth
        self._pairs = [c for c in correspondences if c.grounded]
        self._image: dict[Item, Item] = {c.base: c.target for c in self._pairs}
        self._value = {c.base: c.value for c in self._pairs}
        self._taken = {c.target for c in self._pairs}
        self._roots = {side: self.roots(case) for side, case in (("base", base), ("target", target))}
        self._by_args: dict[Place, list[Statement]] = {}
        for statement in target.walk():
            self._by_args.setdefault(_in_any_order(statement.args), []).append(statement)
        self._same_place = dict(self._place_pairs())

    @staticmethod
    def roots(case: Case) -> tuple[Statement, ...]:
        """Returns the statements that no other statement of the case speaks of, in the order given."""
        inner = {a for s in case.walk() for a in s.args if isinstance(a, Statement)}
        return tuple(s for s in case.statements if s not in inner)

    def inferences(self) -> tuple[CandidateInference, ...]:
        """Returns what the base says and the target lacks, what rests on most of the mapping first."""
        known = set(self._target.walk())
        denied = {b for b, _ in self.contradicted()}
        found = []
        for root in self._roots["base"]:
            if root in self._image or root in denied:
                continue
            within = list(root.walk())
            entities = {a for s in within for a in s.args if isinstance(a, Entity)}
            items: tuple[Item, ...] = (*within, *entities)
            resting_on = [i for i in items if i in self._image]
            if not resting_on:
                continue
            projected = self._project(root)
            if projected in known or self._is_implied(projected):
                continue
            skolems = {self._stand_in(e) for e in entities if e not in self._image and not e.constant}
            support = sum(self._value[i] for i in resting_on)
            value = sum(self._worth[s] for s in within if s not in self._image)
            ordered = tuple(sorted(skolems, key=lambda e: e.name))
            found.append(CandidateInference(projected, root, ordered, support, value))
        place = {s: i for i, s in enumerate(self._worth)}
        return tuple(sorted(found, key=lambda i: (-i.support, -i.value, place[i.source])))

    def alignable(self) -> tuple[Difference, ...]:
        """Returns the differences in corresponding places: matched by ascension first, then unmatched ones."""
        found = [
            Difference(c.base, c.target, c.via)
            for c in self._pairs
            if isinstance(c.base, Statement)
            and isinstance(c.target, Statement)
            and (c.base.functor.id != c.target.functor.id or c.base.weight != c.target.weight)
        ]
        return (*found, *(Difference(b, t, via) for b, (t, via) in self._same_place.items()))

    def base_only(self) -> tuple[Statement, ...]:
        """Returns the roots of the base without any counterpart."""
        told = self._image.keys() | self._same_place.keys() | {b for b, _ in self.contradicted()}
        return tuple(s for s in self._roots["base"] if s not in told)

    def target_only(self) -> tuple[Statement, ...]:
        """Returns the roots of the target without any counterpart."""
        told = self._taken | {t for t, _ in self._same_place.values()} | {t for _, t in self.contradicted()}
        return tuple(s for s in self._roots["target"] if s not in told)

    def contradicted(self) -> tuple[tuple[Statement, Statement], ...]:
        """Returns pairs (base, target) of what is stated in the same place, of which one denies the other.

        A denial of a functor denies all below it. What a case excludes is held against what the other one states.
        """
        found = [
            (b, t)
            for b in self._base.statements
            for t in self._at(b)
            if t in self._target.statements and b.negated != t.negated and self._denies(b, t)
        ]
        found += [
            (b, Statement(Predicate(x), self._project(b).args, negated=True))
            for b in self._base.statements
            for x in self._target.excluded
            if not b.negated and self._is_below(b.functor.id, x)
        ]
        found += [
            (Statement(Predicate(x), t.args, negated=True), t)
            for t in self._target.statements
            for x in self._base.excluded
            if not t.negated and self._is_below(t.functor.id, x)
        ]
        return tuple(found)

    def _place_pairs(self) -> Iterator[tuple[Statement, tuple[Statement, str]]]:
        """Yields unmatched roots in the same place whose functors have a common ancestor, nearest first, each once."""
        options = []
        for i, b in enumerate(self._roots["base"]):
            for t in self._at(b) if b not in self._image else ():
                if t in self._taken or t not in self._roots["target"] or b.negated != t.negated:
                    continue
                via = self._nearest_common(b.functor.id, t.functor.id)
                if via is not None:
                    options.append((via[0], i, self._roots["target"].index(t), b, t, via[1]))
        left: set[Statement] = set()
        right: set[Statement] = set()
        for _, _, _, b, t, name in sorted(options, key=lambda o: o[:3]):
            if b not in left and t not in right:
                left.add(b)
                right.add(t)
                yield b, (t, name)

    def _at(self, statement: Statement) -> list[Statement]:
        """Returns the statements of the target whose arguments correspond to those of a statement of the base."""
        return self._of_args(statement.functor, self._carried(statement))

    def _of_args(self, functor: Predicate, args: tuple[Item | None, ...]) -> list[Statement]:
        """Returns the statements of the target over ``args``: in this order, or in any where one functor commutes."""
        found = self._by_args.get(_in_any_order(args), [])
        return [t for t in found if t.args == args or functor.commutative or t.functor.commutative]

    def _carried(self, statement: Statement) -> tuple[Item | None, ...]:
        """Returns the counterparts of the arguments; a constant is its own, and None stands for one that has none."""
        return tuple(a if isinstance(a, Entity) and a.constant else self._image.get(a) for a in statement.args)

    def _project(self, root: Statement) -> Statement:
        made: dict[Item, Item] = dict(self._image)
        for statement in sorted(root.walk(), key=lambda s: s.order):  # arguments before what is said of them
            if statement not in made:
                args = tuple(made.get(a) or self._stand_in(a) for a in statement.args)
                made[statement] = Statement(statement.functor, args, statement.negated, statement.weight)
        projected = made[root]
        assert isinstance(projected, Statement)
        return projected

    def _stand_in(self, item: Item) -> Entity:
        assert isinstance(item, Entity)
        return item if item.constant else Entity(item.name, SKOLEM)

    def _is_implied(self, projected: Statement) -> bool:
        """Returns whether the target says as much or more of the same arguments."""
        for t in self._of_args(projected.functor, projected.args):
            more, less = (projected, t) if projected.negated else (t, projected)  # a broader denial says more
            if t.negated == projected.negated and self._is_below(more.functor.id, less.functor.id):
                return True
        return False

    def _denies(self, first: Statement, second: Statement) -> bool:
        stated, denial = (second, first) if first.negated else (first, second)
        return self._is_below(stated.functor.id, denial.functor.id)

    def _is_below(self, narrow: str, broad: str) -> bool:
        number = self._mounted.number
        return number[broad] in self._mounted.lattice.ancestors_of(number[narrow]).tolist()

    def _nearest_common(self, first: str, second: str) -> tuple[int, str] | None:
        """Returns the common ancestor with the fewest hops, both legs together, or None."""
        number, closure = self._mounted.number, self._mounted.lattice.closure
        legs = [
            dict(zip(closure.ancestors[lo:hi].tolist(), closure.hops[lo:hi].tolist(), strict=True))
            for lo, hi in (closure.ptr[number[x] : number[x] + 2] for x in (first, second))
        ]
        common = [(legs[0][a] + legs[1][a], a) for a in legs[0].keys() & legs[1].keys()]
        if not common:
            return None
        hops, ancestor = min(common)
        return hops, self._mounted.ids[ancestor]


def _in_any_order(args: tuple[Item | None, ...]) -> Place:
    return tuple(sorted(args, key=lambda a: a.digest if a is not None else b""))
