"""Symbols of the Cooperative Patent Classification, and the ways in which people and files write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["SYMBOL", "Written", "join_parts", "read_symbols", "spell_symbol"]

SYMBOL = re.compile(r"[A-HY](?:[0-9]{2}(?:[A-Z](?:[1-9][0-9]{0,3}/[0-9]{2,6})?)?)?")
"""A symbol as the classification itself writes it: section, class, subclass or group."""

# Section, class and subclass; the main group, perhaps filled with zeros or with blanks to four places; the subgroup.
_GROUP = r"([A-HY][0-9]{2}[A-Z])[ \t\u00a0_-]*0*([1-9][0-9]{0,3})[ \t\u00a0]*/[ \t\u00a0]*([0-9]{2,10})"
_FIXED = r"([A-HY][0-9]{2}[A-Z])([0-9]{4})([0-9]{6,10})"  # fourteen places or more, without a stroke
_ABOVE = r"[A-HY][0-9]{2}[A-Z]?"
_FOUND = re.compile(rf"(?<![A-Z0-9])(?:{_GROUP}|{_FIXED}|({_ABOVE}))(?![A-Z0-9/])", re.IGNORECASE)
# What may stand beside symbols and says nothing about which class is meant: the version of the scheme, the roles of a
# symbol (inventive or additional, first or later), the office, the name of the scheme.
_DAY = r"[12][0-9]{3}[.-][0-9]{2}(?:[.-][0-9]{2})?|[12][0-9]{7}"
_ASIDE = re.compile(
    rf"\((?:{_DAY}|[IAFL](?:[ ,/]+[IAFL])*)\)|\[(?:{_DAY}|[IAFL](?:[ ,/]+[IAFL])*)\]"
    rf"|(?<![A-Z0-9])(?:CPC|{_DAY}|[IAFL])(?![A-Z0-9/])",
    re.IGNORECASE,
)
_SUBCLASS = re.compile(r"[A-HY][0-9]{2}[A-Z]", re.IGNORECASE)
_BARE_GROUP = re.compile(r"[0-9]{1,4}/[0-9]{2,10}[,;]?")


class Written(NamedTuple):
    """What a text says: the symbols in it, what stands beside them without meaning, and what is no symbol."""

    symbols: tuple[str, ...]
    aside: tuple[str, ...]
    rest: str


def spell_symbol(section: str, class_: str, subclass: str, group: str, subgroup: str) -> str:
    """Returns a symbol from its parts, as grant files give them; zeros that only fill places are taken off.

    >>> spell_symbol("H", "99", "q", "0031", "002000")
    'H99Q31/002'
    """
    head = f"{section}{class_}{subclass}".upper()
    return f"{head}{group.lstrip('0')}/{_subgroup(subgroup)}" if group or subgroup else head


def read_symbols(text: str) -> Written:
    """Returns the symbols in a text that lists some, spelled as the classification does; each once.

    >>> read_symbols("A01L 5/00 (2013.01); a01l0007020000").symbols
    ('A01L5/00', 'A01L7/02')
    """
    symbols: dict[str, None] = {}
    rest: list[str] = []
    at = 0
    aside = [match[0] for match in _ASIDE.finditer(text)]
    text = _ASIDE.sub(lambda match: " " * len(match[0]), text)
    for match in _FOUND.finditer(text):
        rest.append(text[at : match.start()])
        at = match.end()
        head, group, subgroup, fixed_head, fixed_group, fixed_subgroup, above = match.groups()
        if above:
            symbols[above.upper()] = None
        elif head:
            symbols[f"{head.upper()}{group}/{_subgroup(subgroup)}"] = None
        elif fixed_group.strip("0"):
            symbols[f"{fixed_head.upper()}{fixed_group.lstrip('0')}/{_subgroup(fixed_subgroup)}"] = None
        else:  # a subclass that is filled up with zeros
            symbols[fixed_head.upper()] = None
    rest.append(text[at:])
    left = " ".join(part for part in (_strip(part) for part in rest) if part)
    return Written(tuple(symbols), tuple(aside), left)


def join_parts(words: Iterable[str]) -> list[str]:
    """Returns the words of a command line, a subclass joined with the group that a blank has parted from it.

    >>> join_parts(["A01L", "5/00", "H04W"])
    ['A01L 5/00', 'H04W']
    """
    joined: list[str] = []
    for word in words:
        if joined and _BARE_GROUP.fullmatch(word) and _SUBCLASS.fullmatch(joined[-1]):
            joined[-1] = f"{joined[-1]} {word}"
        else:
            joined.append(word)
    return joined


def _subgroup(digits: str) -> str:
    """No symbol ends in a zero behind its second place: zeros there fill a field of fixed width."""
    return digits[:2] + digits[2:].rstrip("0")


def _strip(part: str) -> str:
    while True:
        bare = part.strip(" \t\r\n,;|:\u00a0")
        if bare == part:
            return part
        part = bare
