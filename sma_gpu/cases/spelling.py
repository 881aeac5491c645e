"""Cases as text: S-expressions that read back as they were, and a short form for people."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import CaseError
from .model import Case, Entity, Statement
from .plaintext import quote, refuse_half_characters

__all__ = ["RESERVED", "print_case", "refuse_like_entities", "short_text", "statement_text"]

RESERVED = ("entity", "not", "weight", "case", "excluded")

_BARE = re.compile(r'[^\s()";\\\x00-\x1f\x7f-\x9f\ufeff]+')
_DEFAULT_TYPE = Entity.type


def print_case(case: Case) -> str:
    """Returns ``case`` as S-expressions, one statement a line; ``parse_case`` reads it back.

    Raises:
        CaseError: two entities have one name, or a name holds half a character: such a case has no text.

    Example:
        >>> from sma_gpu.cases.model import Predicate
        >>> hot = Statement(Predicate("hot"), (Entity("the sun"),), weight=0.5)
        >>> print(print_case(Case("solar", (hot,), excluded=("cold",))), end="")
        (case solar)
        (weight 0.5 (hot (entity "the sun")))
        (excluded cold)
    """
    refuse_like_entities(case)
    header = ["case", _word(case.key), *([_word(case.name)] if case.name else [])]
    lines = [f"({' '.join(header)})", *map(statement_text, case.statements)]
    if case.excluded:
        lines.append(f"(excluded {' '.join(map(_word, case.excluded))})")
    return refuse_half_characters("".join(f"{line}\n" for line in lines), f"print case {case.key!a}")


def statement_text(item: Entity | Statement) -> str:
    """Returns an entity or a statement as an S-expression. The type of an entity shows only where it has one.

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


def short_text(item: Entity | Statement, *, limit: int | None = None) -> str:
    """Returns an entity or a statement for people to read; types are left out, and nothing reads it back.

    Args:
        item: what to show.
        limit: the most characters to show; a longer text ends in three full stops.

    Example:
        >>> from sma_gpu.cases.model import Predicate
        >>> hot = Statement(Predicate("hot"), (Entity("sun"),), negated=True, weight=0.5)
        >>> short_text(Statement(Predicate("causes"), (hot, Entity("frost"))))
        'causes(0.5 * not hot(sun), frost)'
    """
    if limit is None:
        return "".join(_short_parts(item))
    text = ""
    for part in _short_parts(item):
        text += part
        if len(text) > limit:
            return f"{text[: max(0, limit - 3)]}..."
    return text


def refuse_like_entities(case: Case) -> None:
    """Returns nothing where a name stands for one entity throughout ``case``.

    Raises:
        CaseError: two entities differ in type or constancy alone, which a text of the case could not tell apart.
    """
    entities = case.entities()  # in the order of their names
    for one, other in zip(entities, entities[1:], strict=False):
        if one.name == other.name:
            raise CaseError(
                f"print case {case.key!a}",
                f"two of its entities have the name {one.name!r}: {one} and {other}",
                "Give different entities different names.",
            )


def _short_parts(item: Entity | Statement) -> Iterator[str]:
    waiting: list[Entity | Statement | str] = [item]
    while waiting:
        now = waiting.pop()
        if isinstance(now, str):
            yield now
        elif isinstance(now, Entity):
            yield now.name
        else:
            if now.weight != 1:
                yield f"{float(now.weight)!r} * "
            yield f"{'not ' if now.negated else ''}{now.functor.id}("
            waiting.append(")")
            for place in range(len(now.args) - 1, -1, -1):
                waiting.append(now.args[place])
                if place:
                    waiting.append(", ")


def _word(text: str) -> str:
    return text if _BARE.fullmatch(text) else quote(text)
