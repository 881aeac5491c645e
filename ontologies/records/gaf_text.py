"""The fields of a GAF file: its header lines, what a qualifier says, kinds of evidence, days."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from .qualifier import NEGATED, POSITIVE, UNCLEAR, QualifierText, read_qualifier

__all__ = [
    "COLUMNS", "EVIDENCE", "EXPERIMENTAL", "LEAST", "RELATIONS", "codes_wanted", "day_of", "has_version", "is_row",
    "ontology_release", "read_gaf_qualifier", "read_header", "release_in",
]  # fmt: skip

COLUMNS = (
    "database", "object", "symbol", "qualifier", "term", "reference", "evidence", "with", "aspect", "name", "synonym",
    "type", "taxon", "date", "assigned_by", "extension", "form",
)  # fmt: skip
"""Our names of the columns of GAF 2.0 to 2.2, which has no column header."""

LEAST = 15
"""Columns that every version has: GAF 1.0 ends there, and the two behind may be empty."""

EXPERIMENTAL = ("EXP", "HDA", "HEP", "HGI", "HMP", "HTP", "IDA", "IEP", "IGI", "IMP", "IPI")
"""Evidence codes of experiments, those of high throughput included."""

EVIDENCE = (
    *EXPERIMENTAL, "IBA", "IBD", "IC", "IEA", "IGC", "IKR", "IRD", "ISA", "ISM", "ISO", "ISS", "NAS", "ND", "RCA",
    "TAS",
)  # fmt: skip
"""All evidence codes of the Gene Ontology."""

RELATIONS = frozenset(
    {
        "acts_upstream_of", "acts_upstream_of_negative_effect", "acts_upstream_of_or_within",
        "acts_upstream_of_or_within_negative_effect", "acts_upstream_of_or_within_positive_effect",
        "acts_upstream_of_positive_effect", "colocalizes_with", "contributes_to", "enables", "involved_in",
        "is_active_in", "located_in", "part_of",
    }
)  # fmt: skip
"""How a gene product may stand to a term, by the specification of GAF 2.2; 2.1 has two of them."""

_HEADER = re.compile(r"!\s*([A-Za-z][\w -]*?)\s*:\s*(.*\S)")
_VERSION = re.compile(r"!\s*gaf-version\s*:", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ID = re.compile(r"[A-Za-z_]+:\S+")
_CODE = re.compile(r"[A-Z]{2,3}")
_PARTNERS = re.compile(r"[|;,\s]+")
_RELEASE = re.compile(r"releases/([^/\s]+)")


def is_row(line: str) -> bool:
    r"""Returns whether ``line`` is a row of a GAF file: no other table has an id, a code and an aspect at these places.

    >>> is_row("UniProtKB\tP1\tS\t\tGO:0003674\tPMID:1\tIDA\t\tF\t\t\tprotein\ttaxon:9606\t20260101\tX")
    True
    """
    cells = [cell.strip() for cell in line.split("\t")]
    return (
        len(cells) >= COLUMNS.index("aspect") + 1
        and _ID.fullmatch(cells[COLUMNS.index("term")]) is not None
        and _CODE.fullmatch(cells[COLUMNS.index("evidence")]) is not None
        and cells[COLUMNS.index("aspect")] in ("P", "F", "C")
    )


def read_header(lines: Iterable[str]) -> dict[str, str]:
    """Returns the fields of the header lines, names in lower case; the first of a name counts."""
    found: dict[str, str] = {}
    for line in lines:
        if match := _HEADER.match(line.strip()):
            found.setdefault(match[1].lower(), match[2])
    return found


def release_in(header: Mapping[str, str]) -> str:
    """Returns the day on which a file was made, or what its header says instead, or an empty string."""
    for name in ("date-generated", "generated", "date"):
        if stated := header.get(name, ""):
            day = _DAY.search(stated)
            return day[0] if day else day_of(stated) or stated
    return ""


def ontology_release(header: Mapping[str, str]) -> str:
    """Returns the release of the Gene Ontology that a header names, or an empty string."""
    stated = header.get("go-version", "")
    release = _RELEASE.search(stated)
    return release[1] if release else stated


def has_version(line: str) -> bool:
    """Returns whether ``line`` states the version of the format."""
    return _VERSION.match(line) is not None


def read_gaf_qualifier(text: str) -> QualifierText:
    """Returns what a qualifier says: NOT may stand anywhere among its parts, which a vertical bar parts.

    A word that is no known relation says nothing about the sense, unless it looks like a negation: then the row can be
    neither believed nor turned round.

    >>> read_gaf_qualifier("colocalizes_with|NOT").sense == NEGATED
    True
    """
    if not text:
        return QualifierText(POSITIVE)
    parts = [part.strip() for part in text.split("|")]
    words = [word for part in parts for word in _PARTNERS.split(part) if word]
    written = [word for word in words if word.upper() == "NOT"]
    strange = [word for word in words if word.upper() != "NOT" and word not in RELATIONS]
    unclear = [word for word in strange if word[:3] == "NOT" or read_qualifier(word).sense != POSITIVE]
    if unclear and not written:
        return QualifierText(UNCLEAR, "warning", "may be a negation but is not NOT")
    sense = NEGATED if written else POSITIVE
    read_as = "; it is read as NOT" if written else ""
    if any(word != "NOT" for word in written):
        return QualifierText(sense, "warning", f"is not written in capitals{read_as}")
    if not all(parts):
        return QualifierText(sense, "warning", f"has an empty partner{read_as}")
    if len(words) != len(parts):
        return QualifierText(sense, "warning", f"is not parted by vertical bars{read_as}")
    if strange:
        return QualifierText(sense, "note", f"has a word that is no relation of the format{read_as}")
    return QualifierText(sense)


def day_of(text: str) -> str:
    """Returns ``yyyy-mm-dd`` for the eight digits of a day, an empty string for anything else.

    >>> day_of("20190114"), day_of("20190231")
    ('2019-01-14', '')
    """
    if len(text) != 8 or not (text.isascii() and text.isdecimal()):
        return ""
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:])).isoformat()
    except ValueError:
        return ""


def codes_wanted(evidence: str, found: Sequence[str]) -> frozenset[str]:
    """Returns those of the codes ``found`` in a file that ``evidence`` asks for.

    Args:
        evidence: ``all``, ``experimental``, ``no-iea`` (all but those that nobody looked at), or codes, such as
            ``IDA,IMP``.
        found: the codes that occur.

    Raises:
        ValueError: ``evidence`` is none of these.
    """
    if evidence == "all":
        return frozenset(found)
    if evidence == "no-iea":
        return frozenset(found) - {"IEA"}
    if evidence == "experimental":
        return frozenset(found) & {*EXPERIMENTAL}
    codes = {code.strip() for code in evidence.split(",")}
    unknown = sorted(codes - {*EVIDENCE})
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown))} is no evidence code")
    return frozenset(found) & codes
