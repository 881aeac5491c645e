"""What a file says about one id, while it is being read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

__all__ = ["Draft", "Lines", "known", "with_line"]

_Key = TypeVar("_Key")
Lines = Mapping[_Key, Sequence[int]]
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Draft:
    """What the file says about one id, stanzas merged. Mappings keep the order of the file; values are lines.

    Most terms lack most parts, so a part is a mapping of its own only once something is in it: seven empty dicts a
    term cost more time than the parsing.

    Attributes:
        lines: line of each of its stanzas.
        retired: number of each stanza that retires it, counted from 1, with the lines that say so.
        kept: the same of stanzas that say outright that it is not retired.
    """

    __slots__ = (
        "alt_ids", "consider", "definition", "kept", "lines", "name", "parents", "references", "relations",
        "replaced_by", "retired", "synonyms",
    )  # fmt: skip

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.name = ""
        self.definition = ""
        self.references: Lines[str] = _NOTHING
        self.synonyms: Lines[tuple[str, int, str]] = _NOTHING
        self.parents: Lines[str] = _NOTHING
        self.relations: Lines[tuple[str, str]] = _NOTHING
        self.alt_ids: Lines[str] = _NOTHING
        self.retired: Lines[int] = _NOTHING
        self.kept: Lines[int] = _NOTHING
        self.replaced_by: Lines[str] = _NOTHING
        self.consider: Lines[str] = _NOTHING


def with_line(lines: Lines[_Key], key: _Key, line: int) -> Lines[_Key]:
    """Returns ``lines`` with one more line under ``key``; what was a mapping of its own already is changed in place."""
    grown = lines if isinstance(lines, dict) else {}
    have = grown.get(key)
    if have is None:
        grown[key] = (line,)  # nearly always the only one, and the garbage collector need not visit a tuple of numbers
    elif isinstance(have, list):
        have.append(line)
    else:
        grown[key] = [*have, line]
    return grown


def known(*lines: Iterable[int]) -> list[int]:
    """Returns the line numbers that are known, ascending, each once."""
    return sorted({n for some in lines for n in some if n})
