"""Tables as lines of text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["aligned"]


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: set[int]) -> list[str]:
    """Returns a table as lines, columns as wide as their widest cell; those numbered in ``right`` are set right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = []
    for row in (head, *rows):
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
