"""Ids as people of a field write them: each form is turned into that of the ontology, and the change is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
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
    """Symbols with blanks, filled with zeros, in small letters, in lists, with flags and days beside them, or moved."""
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
            today = _moved().get(symbol) if ontology.resolve(symbol).status == "unknown" else None
            if today is not None and today in ontology.number:
                used.append(today)
                name = ontology.names[ontology.number[today]]
                changed.append(Respelled(word, today, f"{symbol} was moved to {today} {name}"))
                continue
            used.append(symbol)
            if symbol != word:
                aside = f"; {', '.join(found.aside)} beside it plays no part" if found.aside else ""
                changed.append(
                    Respelled(word, symbol, f"{word!r} is written {symbol} in {ontology.name.upper()}{aside}")
                )
    return used, changed


@cache
def _moved() -> Mapping[str, str]:
    """Returns the symbols that took the place of older ones, from the table of this package."""
    text = (files(__package__) / "manifests" / "cpc-moved.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))


SPELLINGS: Mapping[str, Callable[[Ontology, Sequence[str]], tuple[list[str], list[Respelled]]]] = {"cpc": _respell_cpc}
"""Ways of writing ids by name."""
