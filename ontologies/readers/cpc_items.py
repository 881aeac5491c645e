"""What both forms of the Cooperative Patent Classification give: one item for each entry, in the order of the file."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Item", "joined_text", "plain_title"]

_REFERENCE = re.compile(r" ?\([^()]*\)")
_SYMBOL_INSIDE = re.compile(r"[A-HY][0-9]{2}[A-Z]|takes? precedence")
_BLANKS = re.compile(r"\s+")
_BEFORE_STOP = re.compile(r" (?=[,;.)])")


@dataclass
class Item:
    """One entry of the classification.

    Attributes:
        symbol: as the file spells it.
        parent: symbol that it stands below, empty for none.
        title: its title without references to other places.
        whole: its title as the file has it, where that says more, else empty.
        line: line in its file, from 1.
        marks: ``not-allocatable`` (no document gets it), ``additional-only`` (it only adds to others), ``breakdown``
            (it breaks down a main-trunk symbol), ``frozen`` (no document gets it any more).
        heading: it only heads a run of groups, the first of which has its symbol too.
        deleted: it is no longer in force.
    """

    symbol: str
    parent: str
    title: str
    line: int
    whole: str = ""
    marks: tuple[str, ...] = ()
    heading: bool = False
    deleted: bool = False


def plain_title(text: str) -> str:
    """Returns a title without its curly brackets (what CPC adds to IPC) and without references to other places.

    >>> plain_title("Hand tools (edge trimmers for lawns A01G3/06 {; machines A01B35/00}){, e.g. forks}")
    'Hand tools, e.g. forks'
    """
    text = text.replace("{", "").replace("}", "")
    if "(" in text:
        for _ in range(3):  # brackets stand in one another, innermost first
            shorter = _REFERENCE.sub(lambda m: "" if _SYMBOL_INSIDE.search(m[0]) else m[0], text)
            if shorter == text:
                break
            text = shorter
    return joined_text(text)


def joined_text(text: str) -> str:
    """Returns a text in one line, without the blanks that what was taken out of it leaves before a stop."""
    return _BEFORE_STOP.sub("", _BLANKS.sub(" ", text)).strip()
