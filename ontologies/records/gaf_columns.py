"""From the columns of a GAF table to those of records: evidence of single rows, attributes of whole records."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..strings import StringColumn
from .attributes import Attribute, Attributes
from .columns import Int32, Interned
from .gaf_text import day_of
from .model import EVIDENCE_FIELDS
from .tab import Table

__all__ = ["attributes_of", "evidence_of", "first_texts"]

Int64 = npt.NDArray[np.int64]

_EVIDENCE = {
    "reference": "reference",
    "evidence": "evidence",
    "qualifier": "qualifier",
    "modifier": "extension",
    "description": "with",
}


def first_texts(table: Table, column: str, record: Int32, size: int) -> list[str]:
    """Returns the first text of each of ``size`` records in ``column`` that is not empty."""
    values, codes = table.values[column], table.codes[column]
    found = [""] * size
    pair = record.astype(np.int64) * max(len(values), 1) + codes
    for row in np.sort(np.unique(pair, return_index=True)[1]).tolist():
        if record[row] >= 0 and not found[record[row]]:
            found[record[row]] = values[codes[row]]
    return found


def evidence_of(table: Table, kept: Int64) -> dict[str, Interned]:
    """Returns the evidence columns of the rows ``kept``; who wrote a row and when stand as in a phenotype.hpoa."""
    codes, values = table.codes, table.values
    found = {field: Interned.blank(len(kept)) for field in EVIDENCE_FIELDS}
    for field, column in _EVIDENCE.items():
        found[field] = Interned(codes[column][kept], StringColumn.from_strings(values[column]))
    days = [f"[{day}]" if day else "" for day in map(day_of, values["date"])]
    pair = codes["assigned_by"][kept].astype(np.int64) * len(days) + codes["date"][kept]
    distinct, place = np.unique(pair, return_inverse=True)
    texts = [values["assigned_by"][p // len(days)] + days[p % len(days)] for p in distinct.tolist()]
    found["biocuration"] = Interned(place.astype(np.int32), StringColumn.from_strings(texts))
    return found


def attributes_of(table: Table, record: Int32, usable: Int64, size: int, more: Mapping[str, str]) -> Attributes:
    """Returns the attributes of ``size`` records.

    Args:
        table: the table.
        record: number of the record of each row, -1 for none.
        usable: the rows that count as evidence; what a thing is called is read from all of its rows.
        size: number of records.
        more: further columns of the table by the name of the attribute; their parts stand between vertical bars.
    """
    named = np.flatnonzero(record >= 0)

    def whole(text: str) -> list[str]:
        return [text]

    def parts(text: str) -> list[str]:
        return [part.strip() for part in text.split("|")]

    def day(text: str) -> list[str]:
        return [day_of(text)]

    columns = {
        "symbol": ("symbol", whole, named),
        "title": ("name", whole, named),
        "synonym": ("synonym", parts, named),
        "type": ("type", whole, named),
        "taxon": ("taxon", parts, named),
        "source": ("assigned_by", whole, usable),
        "date": ("date", day, usable),
        "evidence": ("evidence", whole, usable),
        "reference": ("reference", parts, usable),
        "qualifier": ("qualifier", whole, usable),
        "with": ("with", parts, usable),
        "extension": ("extension", parts, usable),
        "form": ("form", parts, usable),
        **{name: (column, parts, usable) for name, column in more.items()},
    }
    return Attributes(
        {
            name: Attribute.of_column(
                record[rows], table.codes[column][rows], table.values[column], split, records=size
            )
            for name, (column, split, rows) in columns.items()
        }
    )
