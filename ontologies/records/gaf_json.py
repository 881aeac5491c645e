"""Genes with their terms in JSON lines: an id, and for each aspect a list of terms, with or without evidence.

{"id": "NCBIGene:1", "symbol": "A1BG", "P": [["GO:0008150", "ND"]], "F": [], "C": ["GO:0005576"]}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import QueryError
from ..report import LoadReport
from .gaf_text import COLUMNS
from .structured import parse_json, shown
from .tab import RowReader, Table

__all__ = ["is_gene_json", "read_gene_json"]

_ASPECTS = ("P", "F", "C")
_BLANK = dict.fromkeys(COLUMNS, "")


def is_gene_json(head: bytes) -> bool:
    """Returns whether ``head``, the start of a file, looks like genes in JSON lines."""
    line = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n").partition("\n")[0]
    return line[:1] == "{" and '"id"' in line and any(f'"{aspect}":' in line.replace(" ", "") for aspect in _ASPECTS)


def read_gene_json(blocks: Iterable[tuple[int, list[str]]], path: str, report: LoadReport) -> Table:
    """Returns the rows of a file, in the columns of a GAF file.

    Args:
        blocks: position of the first line, and lines.
        path: the file, for messages.
        report: where lines that are no gene are told.
    """
    rows = RowReader(COLUMNS)
    for start, lines in blocks:
        for number, line in enumerate(lines, start + 1):
            if not line.strip():
                continue
            try:
                value = parse_json(line, f"{path} line {number}")
            except QueryError as fault:
                report.error("unreadable", f"line {number} cannot be read: {fault.found}; left out", [number])
                continue
            for cells in _rows(value, number, report):
                rows.add(number, tuple(cells.values()))
    return rows.table()


def _rows(value: Any, line: int, report: LoadReport) -> list[dict[str, str]]:
    key = value.get("id") if isinstance(value, dict) else None
    if not isinstance(key, str) or not key.strip():
        report.error("no-id", f"line {line} holds {shown(value)} without an id; left out", [line])
        return []
    database, colon, accession = key.strip().partition(":")
    symbol = value.get("symbol")
    names = [*_texts(value.get("synonyms")), *_texts(value.get("uniprot"))]
    gene = {
        **_BLANK,
        "database": database if colon else "id",
        "object": accession if colon else database,
        "symbol": symbol if isinstance(symbol, str) else "",
        "synonym": "|".join(names),
        "type": "gene",
    }
    found: list[dict[str, str]] = []
    for aspect in _ASPECTS:
        given = value.get(aspect, [])
        for entry in given if isinstance(given, list) else [given]:
            parts = _texts(entry)
            if 0 < len(parts) <= 2 and len(parts) == (len(entry) if isinstance(entry, list) else 1):
                evidence = parts[1] if len(parts) == 2 else ""
                found.append({**gene, "term": parts[0], "evidence": evidence, "aspect": aspect})
            else:
                report.error("no-term", f"{key} has {shown(entry)} in the place of a term; left out", [line], [key])
    return found


def _texts(value: Any) -> list[str]:
    return [text.strip() for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
