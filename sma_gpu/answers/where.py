"""Conditions on attributes, such as ``source=OMIM`` or ``date<2015-01-01``: one grammar for Python and command line.

A condition is a name, one of ``= != < <= > >=``, and a value. What is compared follows from the values that the
attribute has: where all are numbers, numbers; where all are days or moments, dates; else texts, by code point. A date
is compared as exactly as the condition gives it: ``date=2015`` is any day of that year.

A record may have several values, or none:

- ``=`` holds where any of them is equal, ``!=`` where none is; so it holds for a record without values too.
- ``<``, ``<=``, ``>`` and ``>=`` look at the greatest one, as a rule the newest: ``date<2015-01-01`` are the records in
  which nothing is dated 2015 or later, what was known by then; ``date>=2015-01-01`` are all others that have dates. A
  record without values fulfils none of the four.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from ..errors import QueryError
from ..ontologies.records.attributes import Attribute, Attributes
from ..ontologies.records.model import ASPECTS, Records

__all__ = ["OPERATORS", "Condition", "attributes_of", "parse_condition"]

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")

BoolArray = npt.NDArray[np.bool_]
SignArray = npt.NDArray[np.int8]

_CONDITION = re.compile(r"\s*([^\s=!<>]+)\s*([=!<>]+)\s*(.*?)\s*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?", re.ASCII)
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ]\d\d(?::\d\d(?::\d\d(?:\.\d+)?)?)?)?)?)?Z?", re.ASCII)


@dataclass(frozen=True)
class Condition:
    """One condition.

    Attributes:
        attribute: name of what is compared.
        operator: one of ``OPERATORS``.
        value: what it is compared with.
    """

    attribute: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.attribute}{self.operator}{self.value}"

    def holds(self, attributes: Attributes, records: int) -> BoolArray:
        """Returns which records fulfil the condition, bool ``[R]``.

        Args:
            attributes: what is known of the records.
            records: their number.

        Raises:
            QueryError: there is no such attribute, or the value cannot be compared with those that it has.
        """
        if self.attribute not in attributes:
            there = ", ".join(attributes) or "none"
            raise QueryError(
                f"the condition {self}", f"no record has an attribute {self.attribute}", f"There are: {there}."
            )
        attribute = attributes[self.attribute]
        signs = self._compared(attribute)[attribute.values.codes]
        owner = np.repeat(np.arange(records), np.diff(attribute.ptr))
        if self.operator in ("=", "!="):
            equal = np.zeros(records, np.bool_)
            equal[owner[signs == 0]] = True
            return equal if self.operator == "=" else ~equal
        greatest = np.full(records, -2, np.int8)
        np.maximum.at(greatest, owner, signs)
        known = greatest > -2
        if self.operator[0] == "<":
            return known & (greatest < 0 if self.operator == "<" else greatest <= 0)
        return known & (greatest > 0 if self.operator == ">" else greatest >= 0)

    def _compared(self, attribute: Attribute) -> SignArray:
        """Returns for each distinct value of the attribute whether it is below (-1), equal to or above ours."""
        texts = attribute.values.texts
        if all(_NUMBER.fullmatch(text) for text in texts):
            self._need(_NUMBER.fullmatch(self.value) is not None, "a number, such as 1 or 0.5")
            numbers, number = [Decimal(text) for text in texts], Decimal(self.value)
            return np.array([(n > number) - (n < number) for n in numbers], np.int8)
        if all(_is_day(text) for text in texts):
            self._need(_is_date(self.value), "a date, such as 2015-01-01, 2015-01 or 2015")
            ours = _plain(self.value)
            return _signs([_plain(text)[: len(ours)] for text in texts], ours)
        return _signs(texts, self.value)

    def _need(self, fits: bool, kind: str) -> None:  # noqa: FBT001
        if not fits:
            raise QueryError(
                f"the condition {self}", f"{self.attribute} is compared with {kind}, not {self.value!r}", "Give one."
            )


def parse_condition(text: str) -> Condition:
    """Returns the condition that ``text`` writes.

    Raises:
        QueryError: it is none.

    >>> parse_condition("date < 2015-01-01")
    Condition(attribute='date', operator='<', value='2015-01-01')
    """
    found = _CONDITION.fullmatch(text)
    if found is None or found[2] not in OPERATORS or not found[3]:
        what = "it has no operator"
        if found is not None:
            what = "it has no value" if found[2] in OPERATORS else f"{found[2]} is no operator"
        known = " ".join(OPERATORS)
        raise QueryError(
            f"the condition {text!r}", what, f"Write a name, one of {known}, and a value, such as source=OMIM."
        )
    return Condition(found[1], found[2], found[3])


def attributes_of(records: Records) -> Attributes:
    """Returns the attributes of records and, behind them, the terms that each has under every aspect but the first."""
    owner = np.repeat(np.arange(len(records)), np.diff(records.ptr))
    found = dict(records.attributes)
    for number, aspect in enumerate(ASPECTS[1:], 1):
        held = (records.aspect == number) & ~records.excluded
        found[aspect] = Attribute.of_pairs(owner[held], records.term[held], records.term_ids, records=len(records))
    return Attributes(found)


def _signs(texts: Sequence[str], ours: str) -> SignArray:
    return np.array([(text > ours) - (text < ours) for text in texts], np.int8)


def _is_day(text: str) -> bool:
    return len(text) >= len("2015-01-01") and _is_date(text)


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    try:
        date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return False
    return True


def _plain(text: str) -> str:
    return text.rstrip("Z").replace(" ", "T")
