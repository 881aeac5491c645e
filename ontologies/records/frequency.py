"""How often a sign occurs in a disease: the forms that phenotype.hpoa writes, read into one range and its counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import nan

from ..ontology import Ontology

__all__ = ["FREQUENCY_TERMS", "Frequency", "FrequencyText", "read_frequency"]

FREQUENCY_TERMS = {
    "HP:0040280": (1.0, 1.0),
    "HP:0040281": (0.80, 0.99),
    "HP:0040282": (0.30, 0.79),
    "HP:0040283": (0.05, 0.29),
    "HP:0040284": (0.01, 0.04),
    "HP:0040285": (0.0, 0.0),
}
"""Least and greatest share of patients for each frequency term, as the ontology defines them."""

COUNT_LIMIT = 2**31 - 1  # counts are stored as int32

_NUMBER = r"(\d{1,12}(?:\.\d{1,12})?)"
_COUNTS = re.compile(r"(\d{1,12})\s*/\s*(\d{1,12})", re.ASCII)
_PERCENT = re.compile(rf"{_NUMBER}\s*%", re.ASCII)
_RANGE = re.compile(rf"{_NUMBER}\s*%?\s*[-\u2013]\s*{_NUMBER}\s*%", re.ASCII)


@dataclass(frozen=True)
class Frequency:
    """Share of patients with a sign, as a closed range in [0, 1].

    Attributes:
        low: least share.
        high: greatest share; equal to ``low`` unless the source gives a range.
        numerator: patients with the sign, summed over the rows, or None where the source gives no counts.
        denominator: patients examined, or None.
    """

    low: float
    high: float
    numerator: int | None = None
    denominator: int | None = None

    def __str__(self) -> str:
        """Returns the counts where there are any, such as ``3 of 7``, or else the share, such as ``80% to 99%``."""
        if self.denominator is not None:
            return f"{self.numerator} of {self.denominator}"
        low, high = (f"{100 * share:.6g}%" for share in (self.low, self.high))
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class FrequencyText:
    """What one frequency field says.

    Attributes:
        low: least share, NaN where the field says nothing usable.
        high: greatest share, NaN likewise.
        numerator: count of affected, or -1.
        denominator: count of examined, or -1.
        fault: why the field cannot be used; empty where it can, or where there is nothing in it.
    """

    low: float = nan
    high: float = nan
    numerator: int = -1
    denominator: int = -1
    fault: str = ""


def read_frequency(text: str, ontology: Ontology) -> FrequencyText:
    """Returns what the frequency field ``text`` says; an empty field is unknown, which is neither 0 nor 1.

    Args:
        text: the field, without blanks around it.
        ontology: resolves old ids of frequency terms.
    """
    if not text:
        return FrequencyText()
    if match := _COUNTS.fullmatch(text):
        return _from_counts(int(match[1]), int(match[2]))
    if match := _PERCENT.fullmatch(text):
        return _from_range(float(match[1]), float(match[1]))
    if match := _RANGE.fullmatch(text):
        return _from_range(float(match[1]), float(match[2]))
    bounds = FREQUENCY_TERMS.get(text) or FREQUENCY_TERMS.get(ontology.resolve(text).used or "")
    if bounds is not None:
        return FrequencyText(*bounds)
    return FrequencyText(fault="it is neither counts, a percentage, a range of percentages nor a frequency term")


def _from_counts(affected: int, examined: int) -> FrequencyText:
    if examined == 0:
        return FrequencyText(fault="the counts make no sense" if affected else "nobody was examined")
    if affected > examined:
        return FrequencyText(fault="more are affected than were examined")
    if examined > COUNT_LIMIT:
        return FrequencyText(fault="the count is too large to be one of patients")
    return FrequencyText(affected / examined, affected / examined, affected, examined)


def _from_range(low: float, high: float) -> FrequencyText:
    if high > 100 or low > 100:
        return FrequencyText(fault="it is above 100 %")
    if low > high:
        return FrequencyText(fault="the range runs from high to low")
    return FrequencyText(low / 100, high / 100)
