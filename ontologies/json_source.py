"""The JSON value in the bytes of a file; bytes that are no text are told by their lines and cost nothing else."""

from __future__ import annotations

import json
from typing import Any

from ..errors import ParseError
from .report import LoadReport
from .source import decode_lines

__all__ = ["json_of"]


def json_of(content: bytes, path: str, report: LoadReport, *, asked: str) -> Any:
    """Returns the JSON value in ``content``; bytes that are no UTF-8 are replaced, with a warning for each line.

    Args:
        content: the uncompressed bytes, in UTF-8, UTF-16 or UTF-32.
        path: the file, for errors.
        report: where bytes that are no text are told.
        asked: what was asked, for errors.

    Raises:
        ParseError: it is no JSON, or holds numbers or nesting beyond all measure.
    """
    try:
        try:
            return json.loads(content)
        except UnicodeDecodeError:
            return json.loads("\n".join(decode_lines(content, report)))
    except (ValueError, RecursionError) as fault:
        line = getattr(fault, "lineno", None)
        why = "it is nested too deeply" if isinstance(fault, RecursionError) else str(fault)
        do = "Get the file again and compare its size with the publisher's." if line else "Give a file of plain JSON."
        raise ParseError(asked, f"it is no JSON that can be read ({why})", do, path=path, line=line) from fault
