"""Names in filings with the SEC: which concept a tag and its version stand for, and dates as people compare them."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["concept_of", "is_own_version", "iso_date", "written_day"]

_TAXONOMY = re.compile(r"([a-z][a-z-]*)/\d{4}(?:\.\d+|q\d)?")
_PREFIXES = {"ifrs": "ifrs-full"}
_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_WORDS = re.compile(r"[A-Za-z]+|\d+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# The order of the parts of a day, by what the names of the forms in use hold.
_ORDERS = {
    "monthday": "mdy", "daymonth": "dmy", "yearmonth": "ymd", "slashus": "mdy", "slasheu": "dmy", "dotus": "mdy",
    "doteu": "dmy", "shortus": "mdy", "shortuk": "dmy",
}  # fmt: skip


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


def written_day(text: str, form: str = "") -> str:
    """Returns a day as ``yyyy-mm-dd`` where it is one with the month in English, or in figures of a known order.

    Args:
        text: the day as a person reads it.
        form: name of the transformation that a page in Inline XBRL states for it, or an empty string.

    >>> written_day("December 31, 2023"), written_day("31/12/2023", "ixt:date-day-month-year")
    ('2023-12-31', '2023-12-31')
    """
    if _DAY.fullmatch(text.strip()):
        return iso_date(text)
    plain = re.sub(r"[^a-z]", "", form.rpartition(":")[2].lower())
    words = _WORDS.findall(text)
    months = [at for at, word in enumerate(words) if word[:3].lower() in _MONTHS and len(word) > 2]
    if len(words) != 3 or len(months) > 1:
        return text.strip()
    if months:
        month = _MONTHS.index(words.pop(months[0])[:3].lower()) + 1
        day, year = sorted(words, key=len)
    else:
        order = next((order for part, order in _ORDERS.items() if part in plain), "")
        if not order:
            return text.strip()
        day, month, year = (words[order.index(part)] for part in "dmy")
    try:
        return date(int(year), int(month), int(day)).isoformat() if len(year) == 4 else text.strip()
    except ValueError:
        return text.strip()
