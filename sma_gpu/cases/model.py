"""The symbolic model: entities, predicates, statements, cases.

It holds nested, n-ary, negated, weighted and commutative statements over several entities. What can be packed and
aligned today is said by ``CaseBatch.from_cases``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..errors import ArityMismatch, CaseError

__all__ = ["SUBJECT", "Case", "Entity", "Predicate", "Statement", "flat_case"]


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


SUBJECT = Entity("subject")


@dataclass(frozen=True)
class Predicate:
    """A declared symbol of the lattice. The arguments of a commutative predicate match in any order."""

    id: str
    commutative: bool = False


@dataclass(frozen=True)
class Statement:
    """A predicate applied to entities or statements.

    Attributes:
        functor: the predicate at the head.
        args: its arguments, in order.
        negated: the statement is said not to hold.
        weight: in (0, 1], multiplies its worth.

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

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and 0 < self.weight <= 1):
            raise CaseError(
                f"statement of {self.functor.id} with weight {self.weight}",
                "a weight outside (0, 1]",
                "Give a weight above 0 and at most 1.",
            )

    @cached_property
    def order(self) -> int:
        """1 + the greatest order among the arguments; an entity has order 0."""
        return 1 + max((a.order for a in self.args), default=0)

    def walk(self) -> Iterator[Statement]:
        """Yields this statement and all statements below it, parents first."""
        open_statements = [self]
        while open_statements:
            statement = open_statements.pop()
            yield statement
            open_statements.extend(a for a in reversed(statement.args) if isinstance(a, Statement))


@dataclass(frozen=True)
class Case:
    """A described situation under the caller's key; two keys may hold equal content.

    Raises:
        ArityMismatch: one predicate is used with different numbers of arguments.
    """

    key: str
    statements: tuple[Statement, ...]
    name: str = ""

    def __post_init__(self) -> None:
        arity: dict[str, int] = {}
        for root in self.statements:
            for statement in root.walk():
                known = arity.setdefault(statement.functor.id, len(statement.args))
                if known != len(statement.args):
                    raise ArityMismatch(
                        f"case {self.key}",
                        f"{statement.functor.id} is used with {known} and with {len(statement.args)} arguments",
                        "Give a predicate the same number of arguments throughout.",
                    )


def flat_case(key: str, present: Iterable[str], excluded: Iterable[str] = (), name: str = "") -> Case:
    """Returns the case that says which terms its one subject has and which it is known not to have.

    Example:
        >>> [s.functor.id for s in flat_case("OMIM:1", ["HP:2", "HP:1"]).statements]
        ['HP:1', 'HP:2']
    """
    holds = [Statement(Predicate(term), (SUBJECT,)) for term in sorted(set(present))]
    holds_not = [Statement(Predicate(term), (SUBJECT,), negated=True) for term in sorted(set(excluded))]
    return Case(key, (*holds, *holds_not), name)
