"""Cases as text: S-expressions that read back as they were, and a short form for people."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..errors import CaseError
from .model import Case, Entity, Statement
from .plaintext import UNSEEN, quote, refuse_half_characters

__all__ = [
    "LONGEST",
    "RESERVED",
    "print_case",
    "refuse_too_long",
    "refuse_unwritable",
    "short_name",
    "short_text",
    "statement_lengths",
    "statement_text",
    "written_length",
]

RESERVED = ("entity", "not", "weight", "case", "excluded")
LONGEST = 50_000_000  # characters of a printed case; what is said in several places is written out in each

_BARE = re.compile(rf'[^\s()";\\{UNSEEN}]+')
# For people blanks may stand inside a name, but no name may look like two, or like a sign or a weight.
_CLEAR = re.compile(rf'(?!not\s|\S+ \* )[^\s(),"\\{UNSEEN}](?:[^(),"\\{UNSEEN}]*[^\s(),"\\{UNSEEN}])?')
_DEFAULT_TYPE = Entity.type


def print_case(case: Case) -> str:
    """Returns ``case`` as S-expressions, one statement a line; ``parse_case`` reads it back.

    Raises:
        CaseError: a name is empty or holds half a character, or two entities have one name: such a case has no text.
            Or the text would be longer than ``LONGEST``, as it can be where statements are said in several places.

    Example:
        >>> from sma_gpu.cases.model import Predicate
        >>> hot = Statement(Predicate("hot"), (Entity("the sun"),), weight=0.5)
        >>> print(print_case(Case("solar", (hot,), excluded=("cold",))), end="")
        (case solar)
        (weight 0.5 (hot (entity "the sun")))
        (excluded cold)
    """
    asked = f"print case {case.key!a}"
    refuse_unwritable(case)
    refuse_too_long(sum(statement_lengths(case.statements)), asked)
    header = ["case", _word(case.key), *([_word(case.name)] if case.name else [])]
    lines = [f"({' '.join(header)})", *map(statement_text, case.statements)]
    if case.excluded:
        lines.append(f"(excluded {' '.join(map(_word, case.excluded))})")
    return refuse_half_characters("".join(f"{line}\n" for line in lines), asked)


def statement_text(item: Entity | Statement) -> str:
    """Returns an entity or a statement as an S-expression. The type of an entity shows only where it has one.

    What is said in several places is written out in each: ``statement_lengths`` tells beforehand how long it gets.

    Example:
        >>> statement_text(Entity("5", "number"))
        '(entity 5 number)'
    """
    parts: list[str] = []
    waiting: list[Entity | Statement | str] = [item]
    while waiting:
        now = waiting.pop()
        if isinstance(now, str):
            parts.append(now)
        elif isinstance(now, Entity):
            typed = f" {_word(now.type)}" if now.type != _DEFAULT_TYPE else ""
            parts.append(f"(entity {_word(now.name)}{typed})")
        else:
            opened, closed = "", ")"
            if now.weight != 1:
                opened, closed = f"(weight {float(now.weight)!r} ", closed + ")"
            if now.negated:
                opened, closed = f"{opened}(not ", closed + ")"
            functor = now.functor.id
            parts.append(f"{opened}({quote(functor) if functor in RESERVED else _word(functor)}")
            waiting.append(closed)
            for argument in reversed(now.args):
                waiting += [argument, " "]
    return "".join(parts)


def statement_lengths(roots: Sequence[Statement]) -> list[int]:
    """Returns the number of characters of ``statement_text`` of each of ``roots``, without writing any.

    Example:
        >>> from sma_gpu.cases.model import Predicate
        >>> deep = Statement(Predicate("p"), ())
        >>> for _ in range(64):
        ...     deep = Statement(Predicate("p"), (deep, deep))
        >>> statement_lengths([deep])
        [147573952589676412923]
    """

    def own(statement: Statement) -> int:
        bare = Statement(statement.functor, (), statement.negated, statement.weight)
        return len(statement_text(bare)) + len(statement.args)  # and a blank before each argument

    length = written_length(roots, own, lambda e: len(statement_text(e)))
    return [length[root] for root in roots]


def written_length(
    roots: Iterable[Statement],
    own: Callable[[Statement], int],
    entity: Callable[[Entity], int],
) -> dict[Statement, int]:
    """Returns how long each statement is written out, those inside others included; each is looked at once.

    Args:
        roots: the statements.
        own: what a statement takes beside its arguments.
        entity: what an entity takes.
    """
    length: dict[Statement, int] = {}
    for statement in sorted(_distinct(roots), key=lambda s: s.order):  # each behind those inside it
        length[statement] = own(statement) + sum(
            entity(a) if isinstance(a, Entity) else length[a] for a in statement.args
        )
    return length


def refuse_too_long(length: int, asked: str) -> None:
    """Returns nothing where a text of ``length`` characters may be written.

    Raises:
        CaseError: it is longer than ``LONGEST``.
    """
    if length > LONGEST:
        shown = f"{length:,}" if length < 10**15 else f"about 10^{math.log10(length):.0f}"
        raise CaseError(
            asked,
            f"written out it would have {shown} characters, more than {LONGEST:,}",
            "Say what is said in many places in fewer, or print parts of the case.",
        )


def short_text(
    item: Entity | Statement, *, limit: int | None = None, entity: Callable[[Entity], str] | None = None
) -> str:
    """Returns an entity or a statement for people to read; types are left out, and nothing reads it back.

    A name that could be taken for something else (with a comma, a parenthesis, a character that does not show) stands
    in double quotes. With a limit the time it takes depends on the limit alone, however large the item is.

    Args:
        item: what to show.
        limit: the most characters to show; a longer text ends in three full stops.
        entity: what to show for an entity, instead of ``short_name`` of its name.

    Example:
        >>> from sma_gpu.cases.model import Predicate
        >>> hot = Statement(Predicate("hot"), (Entity("sun, the"),), negated=True, weight=0.5)
        >>> short_text(Statement(Predicate("causes"), (hot, Entity("frost"))))
        'causes(0.5 * not hot("sun, the"), frost)'
    """
    parts: list[str] = []
    length = 0
    for part in _short_parts(item, entity or _entity_name):
        parts.append(part)
        length += len(part)
        if limit is not None and length > limit:
            return f"{''.join(parts)[: max(0, limit - 3)]}..."
    return "".join(parts)


def short_name(name: str) -> str:
    r"""Returns a name for people, in quotes where it could be taken for something else.

    Example:
        >>> print(short_name("the sun"), short_name("sun, moon"), short_name("\x1b[2J"), short_name(""))
        the sun "sun, moon" "\u001b[2J" ""
    """
    return name if _CLEAR.fullmatch(name) else quote(name)


def refuse_unwritable(case: Case) -> None:
    """Returns nothing where every name in ``case`` can be written, and stands for one entity throughout.

    Raises:
        CaseError: a name is empty, which no text of a case may hold. Or two entities differ in type or constancy alone,
            which a text could not tell apart.
    """
    asked = f"print case {case.key!a}"
    entities = case.entities()  # in the order of their names
    named = {
        "an entity": (e.name for e in entities),
        "the type of an entity": (e.type for e in entities),
        "a predicate": (s.functor.id for s in case.walk()),
        "an excluded term": case.excluded,
    }
    for what, names in named.items():
        if "" in names:
            raise CaseError(asked, f"{what} has an empty name", "Give it a name.")
    for one, other in zip(entities, entities[1:], strict=False):
        if one.name == other.name:
            raise CaseError(
                asked,
                f"two of its entities have the name {one.name!r}: {one} and {other}",
                "Give different entities different names.",
            )


def _distinct(roots: Iterable[Statement]) -> set[Statement]:
    """Returns the statements at and below ``roots``."""
    waiting = list(roots)
    found = set(waiting)
    while waiting:
        for argument in waiting.pop().args:
            if isinstance(argument, Statement) and argument not in found:
                found.add(argument)
                waiting.append(argument)
    return found


def _entity_name(entity: Entity) -> str:
    return short_name(entity.name)


def _short_parts(item: Entity | Statement, entity: Callable[[Entity], str]) -> Iterator[str]:
    open_parts: list[Iterator[Entity | Statement | str]] = [iter((item,))]
    while open_parts:
        now = next(open_parts[-1], None)
        if now is None:
            open_parts.pop()
        elif isinstance(now, str):
            yield now
        elif isinstance(now, Entity):
            yield entity(now)
        else:
            if now.weight != 1:
                yield f"{float(now.weight)!r} * "
            yield f"{'not ' if now.negated else ''}{short_name(now.functor.id)}("
            open_parts.append(_inside(now))


def _inside(statement: Statement) -> Iterator[Entity | Statement | str]:
    for place, argument in enumerate(statement.args):
        if place:
            yield ", "
        yield argument
    yield ")"


def _word(text: str) -> str:
    return text if _BARE.fullmatch(text) else quote(text)
