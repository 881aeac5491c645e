"""Attributes of the records of a phenotype.hpoa: whose ids they have, when and on what their rows were written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
import numpy.typing as npt

from .attributes import Attribute, Attributes

__all__ = ["hpoa_attributes", "undated"]

Int32 = npt.NDArray[np.int32]

_COLUMNS = {
    "date": "biocuration", "reference": "reference", "evidence": "evidence", "onset": "onset", "sex": "sex",
    "modifier": "modifier", "frequency": "frequency",
}  # fmt: skip

_DATE = re.compile(r"\[(\d{4}-\d\d-\d\d)\]")


def hpoa_attributes(
    keys: Sequence[str], record: Int32, codes: Mapping[str, Int32], texts: Mapping[str, Sequence[str]]
) -> Attributes:
    """Returns the attributes of every record.

    ``source`` is the prefix of the key (OMIM, ORPHA, DECIPHER); ``date`` the days on which its rows were written or
    changed, as its biocuration says; ``reference`` what they rest on, as a rule publications; ``evidence`` of which
    kind they are (IEA, PCS, TAS); ``onset``, ``sex``, ``modifier`` and ``frequency`` what its rows state there, as
    written. Only rows that are used count.

    Args:
        keys: keys of the records.
        record: number of the record of each used row, in file order, int32 ``[n]``.
        codes: for each column that an attribute is made of, the number of each row's text, int32 ``[n]``.
        texts: the distinct texts of each of them.
    """
    found = {"source": _sources(keys)}
    for name, column in _COLUMNS.items():
        split = _dates if name == "date" else _listed
        found[name] = Attribute.of_column(record, codes[column], texts[column], split, records=len(keys))
    return Attributes(found)


def undated(biocuration: str) -> bool:
    """Returns whether a biocuration has something in brackets that is no day, so that it is no value of ``date``."""
    return biocuration.count("[") != len(_dates(biocuration))


def _sources(keys: Sequence[str]) -> Attribute:
    prefixes = [key.partition(":")[0] if ":" in key else "" for key in keys]
    distinct = list(dict.fromkeys(prefixes))
    number = {prefix: i for i, prefix in enumerate(distinct)}
    code = np.array([number[prefix] for prefix in prefixes], np.int64)
    return Attribute.of_pairs(np.arange(len(keys)), code, distinct, records=len(keys))


def _dates(biocuration: str) -> list[str]:
    return [day for day in _DATE.findall(biocuration) if _is_day(day)]


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]
