"""The long tables of PatentsView, a row for each symbol of a patent, several rows a patent, as TSV or CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ...errors import ParseError
from ..report import LoadReport
from .notices import Notices
from .patents_model import COLUMNS, Document, Patents, read_value
from .tab import Table, TableReader

__all__ = ["is_patent_table", "read_patent_table"]

# Our column, and the names that it has had; the first that is there counts, the finest kind of symbol first.
_NAMES = {
    "key": ("patent_id", "pgpub_id", "patent_number", "publication_number", "document_number"),
    "symbol": ("cpc_group", "subgroup_id", "cpc_subgroup", "cpc_subgroup_id", "cpc_symbol", "cpc_code", "cpc"),
    "value": ("cpc_type", "category", "cpc_category", "cpc_value"),
    "sequence": ("cpc_sequence", "sequence"),
    "day": ("cpc_version_indicator", "version_indicator", "cpc_action_date"),
    "position": ("symbol_position", "cpc_position"),
}
_NEEDED = ("key", "symbol")


def is_patent_table(lines: Sequence[str]) -> bool:
    """Returns whether the first of ``lines`` is the column header of such a table."""
    return bool(lines) and all(name in _columns(lines[0]) for name in _NEEDED)


def read_patent_table(blocks: Iterable[tuple[int, list[str]]], path: str, report: LoadReport) -> Patents:
    """Returns the patents of a table.

    Args:
        blocks: position of the first line, and lines.
        path: the file, for errors.
        report: where rows that are none, and values that are not understood, are told.

    Raises:
        ParseError: the first line is no column header with a patent and a symbol.
    """
    reader: TableReader | None = None
    columns: list[str] = []
    is_csv = False
    for start, lines in blocks:
        if reader is None:
            if not is_patent_table(lines):
                raise ParseError(
                    f"read {path} as a table of patents",
                    "its first line names no column of patents and none of symbols",
                    "Give a table like g_cpc_current.tsv of PatentsView, with patent_id and cpc_group.",
                    path=path,
                    line=1,
                )
            columns, is_csv = _columns(lines[0]), _is_csv(lines[0])
            reader = TableReader(columns, COLUMNS, _NEEDED, comment="\0")
            lines, start = lines[1:], 1
        reader.add(list(map(_by_tabs, lines)) if is_csv else lines, start)
    table = _unquoted(reader.table() if reader else TableReader(COLUMNS, COLUMNS).table())
    told = Notices(table)
    told.widths(len(columns), max((columns.index(name) + 1 for name in _NEEDED), default=0) if columns else 0)
    table = _with_values(table, told)
    if "" in table.values["key"]:
        bare = told.lines("key", table.values["key"].index(""))
        told.warn(
            "empty-id", f"{'the row has' if len(bare) == 1 else f'{len(bare)} rows have'} no patent; left out", bare
        )
    told.tell(report)
    keys = table.values["key"]
    used, first = np.unique(table.codes["key"], return_index=True)
    documents = {
        keys[code]: Document(line)
        for code, line in zip(used.tolist(), table.line[first].tolist(), strict=True)
        if keys[code]
    }
    return Patents(documents, table)


def _with_values(table: Table, told: Notices) -> Table:
    """Returns the table with our words for the values of symbols."""
    texts = table.values["value"]
    read = [read_value(text) for text in texts]
    for code, value in enumerate(read):
        if value is None:
            lines = told.lines("value", code)
            told.warn("value", f"{texts[code]!r} is neither inventive nor additional; it counts as open", lines)
    words = list(dict.fromkeys(value or "" for value in read))
    number = np.array([words.index(value or "") for value in read], np.int32)
    codes = number[table.codes["value"]] if len(number) else table.codes["value"]
    return replace(table, codes={**table.codes, "value": codes}, values={**table.values, "value": words})


def _columns(line: str) -> list[str]:
    """Our name of each column of a header; a column that nobody reads has an empty name."""
    names = [cell.strip().strip('"').lower() for cell in line.split("," if _is_csv(line) else "\t")]
    chosen = {ours: next((n for n in theirs if n in names), "") for ours, theirs in _NAMES.items()}
    ours_of = {theirs: ours for ours, theirs in chosen.items() if theirs}
    return [ours_of.get(name, "") for name in names]


def _is_csv(header: str) -> bool:
    return "\t" not in header


def _by_tabs(line: str) -> str:
    """Returns a line of CSV with tabs between its cells; no cell of these tables holds a tab or a line end."""
    return "\t".join(next(csv.reader([line]), [])) if '"' in line else line.replace(",", "\t")


def _unquoted(table: Table) -> Table:
    """Returns the table without the quotation marks that newer editions put around every field."""
    values: dict[str, list[str]] = {}
    codes = dict(table.codes)
    for column, texts in table.values.items():
        bare = [
            text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text for text in texts
        ]
        number = {text: i for i, text in enumerate(dict.fromkeys(bare))}
        values[column] = list(number)
        if len(number) < len(bare):
            codes[column] = np.array([number[text] for text in bare], np.int32)[codes[column]]
    return replace(table, codes=codes, values=values)
