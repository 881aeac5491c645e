"""Statements as trees and lines to be read.

In a tree each stands once, below the first statement that has it as an argument. On a line a long one is cut: what is
said in many places can have a text far longer than its case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..cases.model import Case, Entity, Statement
from ..cases.plaintext import visible
from ..cases.spelling import short_name, short_text
from ..retrieval.analogy import Analogy, CandidateInference
from ..retrieval.projection import SKOLEM

__all__ = ["LINE", "Forest", "Lines", "exclusions", "item_text", "label", "one_line", "projected_pairs", "shared_words"]

LINE = 240  # most characters of a statement, an entity or a name on one line


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
    inside = ""
    for place, argument in enumerate(item.args):
        inside += f"{', ' if place else ''}{item_text(argument) if isinstance(argument, Entity) else _head(argument)}"
        if len(inside) > LINE:
            break
    weight = "" if item.weight == 1 else f"{float(item.weight)!r} * "
    return one_line(f"{weight}{_head(item)}"), one_line(f"({inside})")


def item_text(item: Entity | Statement, limit: int = LINE) -> str:
    """Returns ``item`` as ``functor(argument, argument)`` or as its name; made-up entities have a question mark.

    Args:
        item: what to show.
        limit: the most characters to show; a longer text ends in three full stops.
    """
    return short_text(item, limit=limit, entity=_entity_name)


def one_line(text: str, limit: int = LINE) -> str:
    """Returns words of a case or a lattice so that they stay on their line and inside it."""
    shown = visible(text[: limit + 1])
    return shown if len(shown) <= limit else f"{shown[: limit - 3]}..."


class Lines:
    """Gives items as ``item_text`` does, and counts those that were cut.

    Args:
        limit: the most characters of one.
    """

    def __init__(self, limit: int = LINE) -> None:
        self.limit = limit
        self.cut = 0

    def __call__(self, item: Entity | Statement) -> str:
        """Returns the text of ``item``."""
        text = item_text(item, self.limit)
        self.cut += len(text) == self.limit and text.endswith("...")
        return text


def shared_words(statement: Statement, via: str) -> str:
    """Returns what a statement of a pair has in common with the other one, in words.

    Two statements share a broader term, two denials a narrower one, which both rule out.

    Example:
        >>> from sma_gpu import Predicate, Statement
        >>> bird = Predicate("bird")
        >>> shared_words(Statement(bird, ()), "animal"), shared_words(Statement(bird, (), negated=True), "bat")
        ('each a animal', 'each rules out bat')
    """
    return f"{'each rules out' if statement.negated else 'each a'} {one_line(short_name(via))}"


def exclusions(analogy: Analogy) -> tuple[frozenset[Statement], frozenset[Statement]]:
    """Returns the bare denials that stand for terms which the base excludes, and those of the target."""
    base, target = ({pair[side] for pair in analogy.contradicted} for side in (0, 1))
    target |= {s for inference in analogy.inferences for s in inference.denied_by}
    return _exclusions(analogy.base, base), _exclusions(analogy.target, target)


def _exclusions(case: Case, statements: Iterable[Statement]) -> frozenset[Statement]:
    excluded = frozenset(case.excluded)
    found = frozenset(s for s in statements if s.negated and not s.args and s.functor.id in excluded)
    return found - frozenset(case.walk()) if found else found


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
    return f"{'not ' if statement.negated else ''}{short_name(statement.functor.id)}"


def _entity_name(entity: Entity) -> str:
    made_up = entity.type == SKOLEM and not entity.name.startswith("?")
    return f"{'?' if made_up else ''}{short_name(entity.name)}"
