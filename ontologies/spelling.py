"""Ids as people of a field write them: each form is turned into that of the ontology, and the change is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .ontology import Ontology
from .readers.cpc_symbol import join_parts, read_symbols

__all__ = ["SPELLINGS", "Respelled", "respell"]


class Respelled(NamedTuple):
    """An id that was written otherwise than in the ontology: as asked, as used, and one sentence for a person."""

    asked: str
    used: str
    why: str


def respell(spelling: str, ontology: Ontology, asked: Sequence[str]) -> tuple[list[str], list[Respelled]]:
    """Returns ids in the spelling of the ontology, and those that were written otherwise.

    What the ontology knows, and what nobody can read, stays as it is: the encoder says what becomes of it.

    Args:
        spelling: name of the way of writing, one of ``SPELLINGS``, or empty for none.
        ontology: where the ids are looked up.
        asked: the ids as given.
    """
    if not spelling:
        return list(asked), []
    return SPELLINGS[spelling](ontology, asked)


def _respell_cpc(ontology: Ontology, asked: Sequence[str]) -> tuple[list[str], list[Respelled]]:
    """Symbols with blanks, filled with zeros, in small letters, in lists, with the flags and days beside them."""
    used: list[str] = []
    changed: list[Respelled] = []
    for word in join_parts(word for word in asked):
        if ontology.resolve(word).status != "unknown":
            used.append(word)
            continue
        found = read_symbols(word)
        if not found.symbols or found.rest:
            used.append(word)
            continue
        for symbol in found.symbols:
            used.append(symbol)
            if symbol != word:
                aside = f"; {', '.join(found.aside)} beside it plays no part" if found.aside else ""
                changed.append(
                    Respelled(word, symbol, f"{word!r} is written {symbol} in {ontology.name.upper()}{aside}")
                )
    return used, changed


SPELLINGS: Mapping[str, Callable[[Ontology, Sequence[str]], tuple[list[str], list[Respelled]]]] = {"cpc": _respell_cpc}
"""Ways of writing ids by name."""
