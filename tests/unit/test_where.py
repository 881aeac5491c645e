"""Conditions on attributes: their grammar, and which records fulfil them."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sma_gpu.answers.where import OPERATORS, Condition, parse_condition
from sma_gpu.errors import QueryError
from sma_gpu.ontologies.records.attributes import Attributes

ROWS = Attributes.of_rows(
    [
        {"source": "OMIM", "date": ["2009-02-17", "2023-01-22"], "size": "9", "seen": "2018-10-17T00:14:20.652Z"},
        {"source": "ORPHA", "date": "2014-12-31", "size": ["10", "1e1", "-3"], "seen": "2018-10-17T12:00:00Z"},
        {"source": ["DECIPHER", "OMIM"], "size": "0.5", "seen": "2018-10-18"},
        {"date": "2015-01-01", "mixed": ["2015-01-01", "soon"]},
    ]
)


def holding(text: str) -> list[int]:
    """Returns the numbers of the records that fulfil a condition."""
    return parse_condition(text).holds(ROWS, 4).nonzero()[0].tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("source=OMIM", [0, 2]),
        ("source!=OMIM", [1, 3]),
        (" source = OMIM ", [0, 2]),
        ("source=omim", []),
        ("source<OMIM", []),
        ("source<=OMIM", [0, 2]),
        ("source>DECIPHER", [0, 1, 2]),
        ("date<2015-01-01", [1]),
        ("date<=2015-01-01", [1, 3]),
        ("date>=2015-01-01", [0, 3]),
        ("date>2015-01-01", [0]),
        ("date=2009-02-17", [0]),
        ("date!=2009-02-17", [1, 2, 3]),
        ("date=2009", [0]),
        ("date=2014-12", [1]),
        ("date<2015", [1]),
        ("date<=2015", [1, 3]),
        ("date>2015", [0]),
        ("date>=2023", [0]),
        ("size<10", [0, 2]),
        ("size=10", [1]),
        ("size=10.0", [1]),
        ("size>=9.0", [0, 1]),
        ("size>0.4999999999999999999999", [0, 1, 2]),
        ("size<0.5", []),
        ("seen=2018-10-17", [0, 1]),
        ("seen<2018-10-17T12:00", [0]),
        ("seen<=2018-10-17 12:00:00", [0, 1]),
        ("seen=2018-10-17T00:14:20Z", [0]),
        ("seen>2018-10-17", [2]),
        ("mixed=soon", [3]),
        ("mixed=2015", []),
        ("mixed<t", [3]),
    ],
)
def test_which_records_fulfil_it(text: str, expected: list[int]) -> None:
    assert holding(text) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("source", "it has no operator"),
        ("", "it has no operator"),
        ("=OMIM", "it has no operator"),
        ("two words=1", "it has no operator"),
        ("source=", "it has no value"),
        ("source==OMIM", "== is no operator"),
        ("date=<2015", "=< is no operator"),
        ("date<>2015", "<> is no operator"),
        ("date!2015", "! is no operator"),
    ],
)
def test_what_is_no_condition_is_refused_with_the_operators(text: str, found: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse_condition(text)
    assert found in refused.value.found
    assert all(operator in refused.value.do for operator in OPERATORS)


def test_an_unknown_attribute_is_refused_with_those_there_are() -> None:
    with pytest.raises(QueryError, match="no record has an attribute Source") as refused:
        holding("Source=OMIM")
    assert refused.value.do == "There are: source, date, size, seen, mixed."
    with pytest.raises(QueryError, match="There are: none"):
        parse_condition("a=1").holds(Attributes(), 0)


@pytest.mark.parametrize(
    "text", ["date<soon", "date=2015-02-30", "date=2015-1-1", "date<٢٠١٥", "seen<12", "size>big", "size=1,5"]
)
def test_a_value_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match=r"is compared with a (date|number), such as"):
        holding(text)


def test_a_condition_is_written_as_it_is_read() -> None:
    for text in ("source=OMIM", "date<=2015-01-01", "name!=a b"):
        assert str(parse_condition(text)) == text
    assert parse_condition("a >= b = c") == Condition("a", ">=", "b = c")


DAYS = st.integers(0, 3000).map(lambda n: (date(2010, 1, 1) + timedelta(n)).isoformat())
NUMBERS = st.integers(-50, 50).map(str) | st.sampled_from(["0.5", "-1.25", "3e1"])
WORDS = st.text("abc", min_size=1, max_size=2)


@settings(deadline=None)
@given(st.data())
def test_conditions_mean_what_they_say(data: st.DataObject) -> None:
    kind, key = data.draw(st.sampled_from([(DAYS, date.fromisoformat), (NUMBERS, float), (WORDS, str)]))
    rows = data.draw(st.lists(st.lists(kind, max_size=3), min_size=1, max_size=6).filter(any))
    value = data.draw(kind)
    attributes = Attributes.of_rows([{"a": row} for row in rows])
    ours = key(value)
    values = [[key(v) for v in row] for row in rows]
    wanted = {
        "=": [ours in row for row in values],
        "!=": [ours not in row for row in values],
        "<": [bool(row) and max(row) < ours for row in values],
        "<=": [bool(row) and max(row) <= ours for row in values],
        ">": [bool(row) and max(row) > ours for row in values],
        ">=": [bool(row) and max(row) >= ours for row in values],
    }
    for operator in OPERATORS:
        assert Condition("a", operator, value).holds(attributes, len(rows)).tolist() == wanted[operator]
