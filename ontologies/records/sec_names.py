"""Names in filings with the SEC: which concept a tag and its version stand for, and dates as people compare them."""

from __future__ import annotations

import re

__all__ = ["concept_of", "is_own_version", "iso_date"]

_TAXONOMY = re.compile(r"([a-z][a-z-]*)/\d{4}(?:\.\d+)?")
_PREFIXES = {"ifrs": "ifrs-full"}
_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")


def concept_of(tag: str, version: str) -> str:
    """Returns the id of the concept that a tag stands for in a version; a tag of a company keeps its version.

    >>> concept_of("Revenues", "us-gaap/2025")
    'us-gaap:Revenues'
    >>> concept_of("ToyMargin", "0009999999-26-000001")
    '0009999999-26-000001:ToyMargin'
    """
    match = _TAXONOMY.fullmatch(version)
    prefix = _PREFIXES.get(match[1], match[1]) if match else version
    return f"{prefix}:{tag}" if prefix else tag


def is_own_version(version: str) -> bool:
    """Returns whether a version is that of a company: the number of its filing instead of a taxonomy and a year."""
    return _TAXONOMY.fullmatch(version) is None


def iso_date(text: str) -> str:
    """Returns a day as ``yyyy-mm-dd`` where it is written without strokes, else the text as it is.

    >>> iso_date("20090807")
    '2009-08-07'
    """
    match = _DAY.fullmatch(text.strip())
    return f"{match[1]}-{match[2]}-{match[3]}" if match else text.strip()
