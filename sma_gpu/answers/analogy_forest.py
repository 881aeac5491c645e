"""Statements as trees to be read: each stands once, below the first statement that has it as an argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..cases.model import Entity, Statement
from ..cases.sexpr import short_text
from ..retrieval.analogy import CandidateInference

__all__ = ["SKOLEM", "Forest", "item_text", "label", "projected_pairs"]

SKOLEM = "skolem"  # type of an entity that a candidate inference made up
_LIMIT = 10_000  # characters of one statement; shared parts can make a text far longer than the case


class Forest:
    """A set of statements as trees.

    Args:
        statements: each distinct one once; the order decides which statement an argument of several stands below, and
            the order of trees of equal rank.

    Attributes:
        roots: the statements that are no argument of another one of the set, in the order given.
        shared: some statement is an argument of several.

    Example:
        >>> from sma_gpu import Entity, Predicate, Statement
        >>> inner = Statement(Predicate("hot"), (Entity("sun"),))
        >>> outer = Statement(Predicate("because"), (inner,))
        >>> [(s.functor.id, depth) for s, depth in Forest([inner, outer]).rows()]
        [('because', 0), ('hot', 1)]
    """

    def __init__(self, statements: Iterable[Statement]) -> None:
        members = dict.fromkeys(statements)
        self._below: dict[Statement, list[Statement]] = {s: [] for s in members}
        owner: dict[Statement, Statement] = {}
        self.shared = False
        for statement in members:
            for argument in statement.args:
                if not isinstance(argument, Statement) or argument not in members:
                    continue
                if argument not in owner:
                    owner[argument] = statement
                    self._below[statement].append(argument)
                self.shared |= owner[argument] != statement
        self.roots = [s for s in members if s not in owner]

    def tree(self, root: Statement) -> Iterator[tuple[Statement, int]]:
        """Yields the statements of one tree with their depth below ``root``, arguments in order."""
        open_rows = [(root, 0)]
        while open_rows:
            statement, depth = open_rows.pop()
            yield statement, depth
            open_rows.extend((below, depth + 1) for below in reversed(self._below[statement]))

    def rows(self, rank: Callable[[Statement], Any] | None = None) -> list[tuple[Statement, int]]:
        """Returns all statements with their depths, tree by tree; trees in the order of ``rank`` of their roots."""
        roots = self.roots if rank is None else sorted(self.roots, key=rank)
        return [row for root in roots for row in self.tree(root)]


def label(item: Entity | Statement) -> tuple[str, str]:
    """Returns one line for ``item`` above the rows of its arguments, cut behind the functor or the entity.

    Arguments that are statements show by their functor alone.

    Example:
        >>> from sma_gpu import Entity, Predicate, Statement
        >>> hot = Statement(Predicate("hot"), (Entity("sun"),), negated=True)
        >>> label(Statement(Predicate("because"), (hot, Entity("sun"))))
        ('because', '(not hot, sun)')
    """
    if isinstance(item, Entity):
        return item_text(item), ""
    inside = ", ".join(item_text(a) if isinstance(a, Entity) else _head(a) for a in item.args)
    return f"{'' if item.weight == 1 else f'{float(item.weight)!r} * '}{_head(item)}", f"({inside})"


def item_text(item: Entity | Statement, limit: int | None = _LIMIT) -> str:
    """Returns ``item`` as ``functor(argument, argument)`` or as its name; made-up entities have a question mark.

    Args:
        item: what to show.
        limit: the most characters to show, or None for all; a longer text ends in three full stops.
    """
    return short_text(_marked(item), limit=limit)


def projected_pairs(inference: CandidateInference) -> Iterator[tuple[Entity | Statement, Entity | Statement]]:
    """Yields each distinct pair (item of the base, what stands for it in the target), the whole statement first."""
    open_pairs: list[tuple[Entity | Statement, Entity | Statement]] = [(inference.source, inference.statement)]
    seen = set(open_pairs)
    while open_pairs:
        source, projected = open_pairs.pop()
        yield source, projected
        if isinstance(source, Statement) and isinstance(projected, Statement):
            for pair in reversed(list(zip(source.args, projected.args, strict=False))):
                if pair not in seen:
                    seen.add(pair)
                    open_pairs.append(pair)


def _head(statement: Statement) -> str:
    return f"{'not ' if statement.negated else ''}{statement.functor.id}"


def _marked(item: Entity | Statement) -> Entity | Statement:
    """Returns ``item`` with a question mark before the names of made-up entities."""
    if isinstance(item, Entity):
        if item.type != SKOLEM or item.name.startswith("?"):
            return item
        return Entity(f"?{item.name}", item.type, item.constant)
    made: dict[Statement, Statement] = {}
    for statement in sorted(item.walk(), key=lambda s: s.order):  # arguments first
        args = tuple(_marked(a) if isinstance(a, Entity) else made[a] for a in statement.args)
        same = args == statement.args
        made[statement] = statement if same else Statement(statement.functor, args, statement.negated, statement.weight)
    return made[item]
