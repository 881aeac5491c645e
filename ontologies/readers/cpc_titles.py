"""The CPC title lists: for each section a table of symbol, level and title, without a column header.

Sections, classes and subclasses have no level, main groups have level 0, and a subgroup stands below the last entry
before it that has a smaller level: the dots of the printed scheme. Nothing is read out of the digits of a symbol: a
2000-series symbol that breaks down a main-trunk group stands below that group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..report import LoadReport
from .cpc_items import Item, plain_title
from .cpc_symbol import SYMBOL

__all__ = ["is_title_list", "read_titles"]

_ABOVE = {1: 0, 3: 1, 4: 2}  # depth of a section, a class, a subclass by the length of its symbol
_GROUPS = 3  # depth of main groups


def is_title_list(lines: Iterable[str]) -> bool:
    """Returns whether the first ``lines`` are those of a title list: most of those with text are rows of one."""
    found = [_is_row(line) for line in lines if line.strip() and not line.startswith("#")][:50]
    return bool(found) and 2 * sum(found) > len(found)


def read_titles(blocks: Iterable[tuple[int, list[str]]], report: LoadReport) -> Iterator[Item]:
    """Yields the entries of one title list; lines that begin with ``#`` are none.

    Args:
        blocks: position of the first line, and lines.
        report: where lines that are none, and leaps of levels, are told.
    """
    way: list[str] = []  # symbols from the section down to the last entry
    for start, lines in blocks:
        for number, line in enumerate(lines, start + 1):
            if not line.strip() or line.startswith("#"):
                continue
            symbol, _, behind = line.partition("\t")
            level, tab, text = behind.partition("\t")
            symbol, level = symbol.strip(), level.strip()
            depth = _depth(symbol, level)
            if depth is None or not tab:
                if not (number == 1 and symbol.upper() == "SYMBOL"):  # some editions name the columns
                    message = f"line {number} is no row of symbol, level and title: {line[:40]!r}; left out"
                    report.warn("no-row", message, [number])
                continue
            parent = way[min(depth, len(way)) - 1] if way and depth else ""
            if depth > len(way) or (parent and not _fits(symbol, parent)):
                parent = _last_fitting(symbol, way[:depth])
                below = f"below {parent}" if parent else "at the top"
                message = f"{symbol} has no entry of the level above it before it; it stands {below}"
                report.warn("leap", message, [number], [symbol, *([parent] if parent else [])])
                way = way[: way.index(parent) + 1] if parent else []
            else:
                del way[depth:]
            way.append(symbol)
            title = plain_title(text)
            marks = ("additional-only",) if _is_indexing(symbol) else ()
            yield Item(symbol, parent, title, number, whole=text.strip() if text.strip() != title else "", marks=marks)


def _is_indexing(symbol: str) -> bool:
    """Returns whether a symbol is of the 2000 series, which by its definition only adds to other symbols."""
    group, stroke, _ = symbol[4:].partition("/")
    return bool(stroke) and int(group) >= 2000


def _is_row(line: str) -> bool:
    cells = line.split("\t", 2)
    return len(cells) == 3 and _depth(cells[0].strip(), cells[1].strip()) is not None


def _depth(symbol: str, level: str) -> int | None:
    """Returns how many entries stand above one, None where symbol and level are not those of an entry."""
    if SYMBOL.fullmatch(symbol) is None:
        return None
    if "/" not in symbol:
        return _ABOVE[len(symbol)] if not level else None
    return _GROUPS + int(level) if level.isascii() and level.isdecimal() and len(level) < 3 else None


def _fits(symbol: str, parent: str) -> bool:
    """Returns whether what stands above an entry is of its section, class and subclass, as far as it has them."""
    return symbol[:4].startswith(parent[:4]) if "/" not in parent else symbol[:4] == parent[:4]


def _last_fitting(symbol: str, way: list[str]) -> str:
    return next((above for above in reversed(way) if _fits(symbol, above)), "")
