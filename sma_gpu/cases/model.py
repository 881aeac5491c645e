"""The symbolic model: entities, predicates, statements, cases.

Statements may be nested to any depth, n-ary, negated, weighted, and speak of several entities.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..errors import ArityMismatch, CaseError

__all__ = ["SUBJECT", "Case", "Entity", "Predicate", "Statement", "flat_case"]

_DIGEST_BYTES = 16


@dataclass(frozen=True)
class Entity:
    """An argument constant. An entity of a constant type (a unit, a number) matches only itself.

    Example:
        >>> Entity("patient")
        Entity(name='patient', type='entity', constant=False)
    """

    name: str
    type: str = "entity"
    constant: bool = False

    order = 0

    def may_pair(self, other: Entity) -> bool:
        """Returns whether the two may correspond: a constant pairs with itself alone, all others with each other."""
        return self == other or not (self.constant or other.constant)

    @cached_property
    def digest(self) -> bytes:
        """What tells this entity from others, 16 bytes."""
        return _digest(b"entity", self.name, self.type, str(self.constant))

    @property
    def unordered(self) -> bytes:
        """The digest; an entity has no arguments whose order could matter."""
        return self.digest


SUBJECT = Entity("subject")


@dataclass(frozen=True)
class Predicate:
    """A declared symbol of the lattice.

    Attributes:
        id: its id in the lattice.
        commutative: its arguments match in any order.
        variadic: it may take different numbers of arguments.
    """

    id: str
    commutative: bool = False
    variadic: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Statement:
    """A predicate applied to entities or statements.

    Two statements are equal when all they say is equal; a digest made at construction decides, so that equality takes
    the same time at any depth.

    Attributes:
        functor: the predicate at the head.
        args: its arguments, in order.
        negated: the statement is said not to hold.
        weight: in (0, 1], multiplies its worth.
        order: 1 + the greatest order among the arguments; an entity has order 0.
        digest: what tells this statement from others, 16 bytes.
        unordered: the same, but equal for statements that differ in the order of commutative arguments alone.

    Raises:
        CaseError: the weight is outside (0, 1].

    Example:
        >>> Statement(Predicate("HP:0001166"), (Entity("patient"),)).order
        1
    """

    functor: Predicate
    args: tuple[Entity | Statement, ...]
    negated: bool = False
    weight: float = 1.0
    order: int = field(init=False)
    digest: bytes = field(init=False)
    unordered: bytes = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.functor, Predicate):
            raise CaseError(f"statement of {self.functor!r}", "its functor is no Predicate", "Give Predicate(id).")
        for argument in self.args:
            if not isinstance(argument, Entity | Statement):
                raise CaseError(
                    f"statement of {self.functor.id}",
                    f"its argument {argument!r:.80} is neither an Entity nor a Statement",
                    "Give Entity(name) or a Statement.",
                )
        number = isinstance(self.weight, float | int) and not isinstance(self.weight, bool)
        if not (number and math.isfinite(self.weight) and 0 < self.weight <= 1):
            raise CaseError(
                f"statement of {self.functor.id} with weight {self.weight}",
                "a weight outside (0, 1]",
                "Give a weight above 0 and at most 1.",
            )
        object.__setattr__(self, "args", tuple(self.args))
        object.__setattr__(self, "order", 1 + max((a.order for a in self.args), default=0))
        own = (self.functor.id, repr(self.functor), str(bool(self.negated)), float(self.weight).hex())
        parts = [a.digest for a in self.args]
        object.__setattr__(self, "digest", _digest(b"statement", *own, parts=parts))
        loose = [a.unordered for a in self.args]
        loose = sorted(loose) if self.functor.commutative else loose
        same = loose == parts
        object.__setattr__(self, "unordered", self.digest if same else _digest(b"statement", *own, parts=loose))

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Statement) else NotImplemented

    def __hash__(self) -> int:
        return int.from_bytes(self.digest[:8], "big")

    def __repr__(self) -> str:
        shown = f"{'not ' if self.negated else ''}{self.functor.id}, {len(self.args)} arguments, order {self.order}"
        return f"<Statement: {shown}>"

    def walk(self) -> Iterator[Statement]:
        """Yields this statement and all statements below it, each distinct one once, parents first."""
        open_statements, seen = [self], {self}
        while open_statements:
            statement = open_statements.pop()
            yield statement
            for argument in reversed(statement.args):
                if isinstance(argument, Statement) and argument not in seen:
                    seen.add(argument)
                    open_statements.append(argument)


@dataclass(frozen=True)
class Case:
    """A described situation under the caller's key; two keys may hold equal content.

    Attributes:
        key: the caller's key.
        statements: what is stated, in the order given; a statement that is given twice counts once.
        name: a name for people.
        excluded: ids of terms that were looked for and are absent, by code point. They take no part in a score (unlike
            a negated statement, which pairs with a negated statement); they are held against the other side.

    Raises:
        ArityMismatch: a predicate that is not variadic is used with different numbers of arguments.
        CaseError: one id is used as two different predicates.
    """

    key: str
    statements: tuple[Statement, ...]
    name: str = ""
    excluded: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.excluded, str):
            raise CaseError(f"case {self.key}", "excluded is one string", "Give a collection of ids, such as ['EX:1'].")
        object.__setattr__(self, "statements", tuple(dict.fromkeys(self.statements)))
        object.__setattr__(self, "excluded", tuple(sorted(set(self.excluded))))
        first: dict[str, Statement] = {}
        for statement in self.walk():
            known = first.setdefault(statement.functor.id, statement)
            if known.functor != statement.functor:
                raise CaseError(
                    f"case {self.key}",
                    f"{statement.functor.id} is used as {known.functor} and as {statement.functor}",
                    "Declare a predicate once, as commutative or not, variadic or not.",
                )
            if len(known.args) != len(statement.args) and not statement.functor.variadic:
                raise ArityMismatch(
                    f"case {self.key}",
                    f"{statement.functor.id} is used with {len(known.args)} and with {len(statement.args)} arguments",
                    "Give a predicate the same number of arguments throughout, or declare it variadic.",
                )

    def walk(self) -> Iterator[Statement]:
        """Yields every distinct statement of the case, nested ones included, each root before those below it."""
        seen: set[Statement] = set()
        for root in self.statements:
            for statement in root.walk():
                if statement not in seen:
                    seen.add(statement)
                    yield statement

    def entities(self) -> tuple[Entity, ...]:
        """Returns the distinct entities that the statements speak of, by name, type and constancy."""
        found = {a for s in self.walk() for a in s.args if isinstance(a, Entity)}
        return tuple(sorted(found, key=lambda e: (e.name, e.type, e.constant)))


def flat_case(key: str, present: Iterable[str], excluded: Iterable[str] = (), name: str = "") -> Case:
    """Returns the case that says which terms its one subject has, and which were looked for and are absent.

    Example:
        >>> [s.functor.id for s in flat_case("OMIM:1", ["HP:2", "HP:1"]).statements]
        ['HP:1', 'HP:2']
    """
    holds = tuple(Statement(Predicate(term), (SUBJECT,)) for term in sorted(set(present)))
    return Case(key, holds, name, tuple(sorted(set(excluded))))


def _digest(kind: bytes, *own: str, parts: Iterable[bytes] = ()) -> bytes:
    digest = hashlib.blake2b(kind, digest_size=_DIGEST_BYTES)
    for text in own:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    for part in parts:
        digest.update(part)
    return digest.digest()
