"""Publications: the form of their ids, and which of them the annotations of a record cite."""

from __future__ import annotations

import re

import numpy as np

from .model import Records

__all__ = ["cited", "publication_id"]

_PUBMED = re.compile(r"(?:pmid|pubmed)\s*:?\s*(\d+)|https?://(?:www\.)?pubmed\.ncbi\.nlm\.nih\.gov/(\d+)/?", re.I)
_PREFIX = "PMID:"


def publication_id(text: str) -> str:
    """Returns the id of the publication that ``text`` names, as annotations write it; empty where it names none.

    >>> publication_id("pmid: 20301510"), publication_id("https://pubmed.ncbi.nlm.nih.gov/1/"), publication_id("x")
    ('PMID:20301510', 'PMID:1', '')
    """
    found = _PUBMED.fullmatch(text.strip())
    return f"{_PREFIX}{found[1] or found[2]}" if found else ""


def cited(records: Records) -> set[tuple[str, str]]:
    """Returns the pairs of record key and publication (``PMID:...``) that the annotations cite.

    Annotations without references, such as those of a table, cite nothing.
    """
    column = records.evidence["reference"]
    of_annotation = np.repeat(np.arange(len(records)), np.diff(records.ptr))
    of_row = np.repeat(of_annotation, np.diff(records.row_ptr))
    record, code = np.divmod(np.unique(of_row * len(column.texts) + column.codes), max(len(column.texts), 1))
    publications = [
        [one.strip() for one in text.split(";") if one.strip().startswith(_PREFIX)] for text in column.texts
    ]
    return {
        (records.keys[at], publication)
        for at, text in zip(record.tolist(), code.tolist(), strict=True)
        for publication in publications[text]
    }
