"""The JSON value in the bytes of a file, and what a usual parser would lose silently.

That is bytes that are no text, told by their lines, and values of a name that one object gives again, told by path.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ParseError
from .report import LoadReport
from .source import decode_lines

__all__ = ["json_of"]


def json_of(content: bytes, path: str, report: LoadReport, *, asked: str) -> Any:
    """Returns the JSON value in ``content``; bytes that are no UTF-8 are replaced, with a warning for each line.

    Where an object gives a name more than once the last value counts, with a warning that tells the path.

    Args:
        content: the uncompressed bytes, in UTF-8, UTF-16 or UTF-32.
        path: the file, for errors.
        report: where bytes that are no text and names that are given twice are told.
        asked: what was asked, for errors.

    Raises:
        ParseError: it is no JSON, or holds numbers or nesting beyond all measure.
    """
    doubled: list[tuple[dict[str, Any], tuple[str, ...]]] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            doubled.append((found, tuple(name for name in found if counts[name] > 1)))
        return found

    try:
        try:
            value = json.loads(content, object_pairs_hook=once)
        except UnicodeDecodeError:
            doubled.clear()
            value = json.loads("\n".join(decode_lines(content, report)), object_pairs_hook=once)
    except (ValueError, RecursionError) as fault:
        line = getattr(fault, "lineno", None)
        why = "it is nested too deeply" if isinstance(fault, RecursionError) else str(fault)
        do = "Get the file again and compare its size with the publisher's." if line else "Give a file of plain JSON."
        raise ParseError(asked, f"it is no JSON that can be read ({why})", do, path=path, line=line) from fault
    if doubled:
        names = {id(found): names for found, names in doubled}
        for where, at in _paths(value, names):
            message = (
                f"{where or 'the whole'} gives {', '.join(map(repr, names[at]))} more than once; the last one counts"
            )
            report.warn("doubled-name", message, where=where)
    return value


def _paths(value: Any, wanted: Mapping[int, object]) -> Iterator[tuple[str, int]]:
    """Yields path and identity of the objects ``wanted`` in a value; those inside what was lost are not there."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        where, here = waiting.pop()
        steps: list[tuple[str, Any]] = []
        if isinstance(here, dict):
            if id(here) in wanted:
                yield where, id(here)
            steps = [(f"{where}.{name}" if where else name, inner) for name, inner in here.items()]
        elif isinstance(here, list):
            steps = [(f"{where}[{place}]", inner) for place, inner in enumerate(here)]
        waiting += [(path, inner) for path, inner in reversed(steps) if isinstance(inner, (dict, list))]
