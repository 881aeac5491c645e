"""The fields of GPAD and GPI files: their layouts, and what relations, evidence, days and taxa are called in GAF.

The layouts are those of the specifications of GPAD and GPI 1.1, 1.2 and 2.0 (https://geneontology.org/docs/), the
evidence that of http://purl.obolibrary.org/obo/eco/gaf-eco-mapping.txt read from right to left, with the evidence used
in automatic assertion that UniProt states beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .gaf_text import EVIDENCE, day_of

__all__ = [
    "ANNOTATIONS", "PRODUCTS", "code_of", "day_digits", "has_products_version", "has_version", "is_row", "layout_of",
    "relation_of", "stated_code", "taxon_of",
]  # fmt: skip

_BEHIND = ("reference", "eco", "with", "interacting", "day", "assigned_by", "extension", "properties")
ANNOTATIONS: Mapping[str, tuple[str, ...]] = {
    "1": ("database", "object", "relation", "term", *_BEHIND),
    "2": ("id", "negation", "relation", "term", *_BEHIND),
}
"""Our names of the columns of GPAD by the first number of its version."""

_NAMED = ("symbol", "name", "synonym", "type", "taxon")
PRODUCTS: Mapping[str, tuple[str, ...]] = {
    "1.1": ("object", *_NAMED, "parent", "xref", "properties"),
    "1.2": ("database", "object", *_NAMED, "parent", "xref", "properties"),
    "2": ("id", *_NAMED, "encoded_by", "parent", "members", "xref", "properties"),
}
"""Our names of the columns of GPI; before 1.2 a header line names the database of all ids."""

_DEFAULT = {
    "EXP": "0000269", "HDA": "0007005", "HEP": "0007007", "HGI": "0007003", "HMP": "0007001", "HTP": "0006056",
    "IBA": "0000318", "IBD": "0000319", "IC": "0000305", "IDA": "0000314", "IEP": "0000270", "IGI": "0000316",
    "IKR": "0000320", "IMP": "0000315", "IPI": "0000353", "IRD": "0000321", "ISA": "0000247", "ISM": "0000255",
    "ISO": "0000266", "NAS": "0000303", "ND": "0000307", "RCA": "0000245", "TAS": "0000304",
}  # fmt: skip
_SEVERAL = {
    "IEA": (
        "0000256", "0000259", "0000265", "0000322", "0000323", "0000363", "0000366", "0000501", "0007322", "0007669",
        "0007826",
    ),
    "IGC": ("0000317", "0000354"),
    "ISS": ("0000031", "0000250"),
}  # fmt: skip
_CODES = {f"ECO:{eco}": code for code, eco in _DEFAULT.items()}
_CODES |= {f"ECO:{eco}": code for code, several in _SEVERAL.items() for eco in several}

_RELATIONS = {
    "BFO:0000050": "part_of", "RO:0001025": "located_in", "RO:0002263": "acts_upstream_of",
    "RO:0002264": "acts_upstream_of_or_within", "RO:0002325": "colocalizes_with", "RO:0002326": "contributes_to",
    "RO:0002327": "enables", "RO:0002331": "involved_in", "RO:0002432": "is_active_in",
    "RO:0004032": "acts_upstream_of_or_within_positive_effect",
    "RO:0004033": "acts_upstream_of_or_within_negative_effect", "RO:0004034": "acts_upstream_of_positive_effect",
    "RO:0004035": "acts_upstream_of_negative_effect",
}  # fmt: skip

_VERSION = re.compile(r"!\s*gpad?-version\s*:", re.IGNORECASE)
_PRODUCTS_VERSION = re.compile(r"!\s*gpi-version\s*:", re.IGNORECASE)
_ID = re.compile(r"[A-Za-z_]+:\S+")
_ECO = re.compile(r"ECO:\d{7}")
_STATED = re.compile(r"(?:^|\|)\s*go[_-]evidence\s*=\s*([A-Z]{2,3})\s*(?=\||$)", re.ASCII)
_ISO_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:T[0-9:.,+Z-]*)?", re.ASCII)
_TAXON = re.compile(r"(?:NCBITaxon|taxon):(\d+)", re.ASCII)


def has_version(line: str) -> bool:
    """Returns whether ``line`` states the version of GPAD, whose header called itself gpa before 2.0."""
    return _VERSION.match(line) is not None


def has_products_version(line: str) -> bool:
    """Returns whether ``line`` states the version of GPI."""
    return _PRODUCTS_VERSION.match(line) is not None


def is_row(line: str) -> bool:
    r"""Returns whether ``line`` is a row of a GPAD file: no other table has an id and an ECO id at these places.

    >>> is_row("UniProtKB\tP1\tenables\tGO:0003674\tPMID:1\tECO:0000314\t\t\t20260101\tX\t\t")
    True
    """
    cells = [cell.strip() for cell in line.split("\t")]
    return len(cells) > 5 and _ID.fullmatch(cells[3]) is not None and _ECO.fullmatch(cells[5]) is not None


def layout_of(rows: Iterable[str]) -> str:
    """Returns the number of the layout that the first of ``rows`` has, or an empty string where there is none.

    In the second one the relation is an id, and so is the first cell.
    """
    for row in rows:
        cells = [cell.strip() for cell in row.split("\t")]
        return "2" if len(cells) > 2 and ":" in cells[2] else "1"
    return ""


def relation_of(text: str) -> str:
    """Returns what GAF calls a relation, which GPAD 2.0 writes as an id; other texts come back as they are.

    >>> relation_of("RO:0002331"), relation_of("NOT|enables")
    ('involved_in', 'NOT|enables')
    """
    return _RELATIONS.get(text, text)


def stated_code(properties: str) -> str:
    """Returns the evidence code that the properties of an annotation state, or an empty string.

    >>> stated_code("go_evidence=IPI|id=3")
    'IPI'
    """
    found = _STATED.search(properties)
    return found[1] if found and found[1] in EVIDENCE else ""


def code_of(eco: str) -> str:
    """Returns the evidence code of GAF for an id of the Evidence and Conclusion Ontology, the id itself for others.

    >>> code_of("ECO:0000314"), code_of("ECO:0001234")
    ('IDA', 'ECO:0001234')
    """
    return _CODES.get(eco, eco)


def day_digits(text: str) -> str:
    """Returns the eight digits of a day written as in ISO 8601, perhaps with a time; other texts as they are.

    >>> day_digits("2026-01-31T10:00:00Z"), day_digits("20260131")
    ('20260131', '20260131')
    """
    found = _ISO_DAY.fullmatch(text)
    digits = "".join(found.groups()) if found else ""
    return digits if day_of(digits) else text


def taxon_of(text: str) -> str:
    """Returns a taxon as GAF writes it; other texts as they are.

    >>> taxon_of("NCBITaxon:9606")
    'taxon:9606'
    """
    found = _TAXON.fullmatch(text)
    return f"taxon:{found[1]}" if found else text
