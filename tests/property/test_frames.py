"""Hits as tables of pandas, polars and Arrow: one set of columns, the same values and types in each; and DLPack."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sma_gpu.errors import CaseError, DataMissing
from sma_gpu.retrieval import Hits

# By column: type of NumPy, of polars, of Arrow.
TYPES = {
    "query": ("object", "String", "string"),
    "rank": ("int32", "Int32", "int32"),
    "key": ("object", "String", "string"),
    "score_bits": ("float64", "Float64", "double"),
    "optimal": ("bool", "Boolean", "bool"),
    "rank_key": ("int64", "Int64", "int64"),
    "certified": ("bool", "Boolean", "bool"),
    "aligned": ("int64", "Int64", "int64"),
}
ARRAYS = ("cases", "score_q", "limit_q", "rank_keys", "rank", "certified", "aligned", "optimal")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LONG = st.integers(-(2**63), 2**63 - 1)


@st.composite
def some_hits(draw: st.DrawFn) -> Hits:
    """Draws hits of any shape and content, empty ones and rows of any length among them."""
    queries, places = draw(st.integers(0, 5)), draw(st.integers(0, 4))
    held = np.array([draw(st.integers(0, places)) for _ in range(queries)], np.int64).reshape(queries, 1)
    filled = np.arange(places) < held

    def numbers(least: int, most: int, dtype: type[np.generic]) -> np.ndarray:
        drawn = [draw(st.integers(least, most)) for _ in range(queries * places)]
        return np.where(filled, np.array(drawn, dtype).reshape(queries, places), 0).astype(dtype)

    keys = np.full((queries, places), "", dtype=object)
    for row, place in np.argwhere(filled).tolist():
        keys[row, place] = draw(TEXTS)
    return Hits(
        query_keys=tuple(draw(TEXTS) for _ in range(queries)),
        keys=keys,
        cases=np.where(filled, numbers(0, 2**31 - 1, np.int32), -1).astype(np.int32),
        score_q=numbers(0, 2**40, np.int64),
        limit_q=numbers(0, 2**40, np.int64),
        rank_keys=numbers(-(2**63), 2**63 - 1, np.int64),
        rank=np.where(filled, np.arange(1, places + 1), 0).astype(np.int32),
        certified=np.array([draw(st.booleans()) for _ in range(queries)], np.bool_),
        aligned=np.array([draw(LONG) for _ in range(queries)], np.int64),
        backend="reference",
    )


def pandas_parts(hits: Hits) -> tuple[dict[str, list[Any]], dict[str, str]]:
    table = hits.to_pandas()
    types = {name: str(dtype) for name, dtype in table.dtypes.items()}
    texts = {"str", "object"}  # from pandas 3 on a type of its own
    assert {types[name] for name in ("query", "key")} <= texts
    return table.to_dict("list"), {n: "object" if t in texts else t for n, t in types.items()}  # type: ignore[misc]


def polars_parts(hits: Hits) -> tuple[dict[str, list[Any]], dict[str, str]]:
    table = hits.to_polars()
    return table.to_dict(as_series=False), {name: str(dtype) for name, dtype in table.schema.items()}


def arrow_parts(hits: Hits) -> tuple[dict[str, list[Any]], dict[str, str]]:
    table = hits.to_arrow()
    return table.to_pydict(), {field.name: str(field.type) for field in table.schema}


FORMS: dict[str, tuple[Callable[[Hits], tuple[dict[str, list[Any]], dict[str, str]]], int, str]] = {
    "pandas": (pandas_parts, 0, "to_pandas"),
    "polars": (polars_parts, 1, "to_polars"),
    "pyarrow": (arrow_parts, 2, "to_arrow"),
}


INSTALLED = [
    pytest.param(
        name, marks=pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed (extra frames)")
    )
    for name in sorted(FORMS)
]


def expected(hits: Hits) -> dict[str, list[Any]]:
    """Returns the table of hits, place by place."""
    rows = [
        (
            hits.query_keys[q], int(hits.rank[q, i]), hits.keys[q, i], int(hits.score_q[q, i]) / 65536,
            bool(hits.score_q[q, i] == hits.limit_q[q, i]), int(hits.rank_keys[q, i]), bool(hits.certified[q]),
            int(hits.aligned[q]),
        )
        for q in range(len(hits))
        for i in range(hits.rank.shape[1])
        if hits.rank[q, i]
    ]  # fmt: skip
    return {name: [row[i] for row in rows] for i, name in enumerate(TYPES)}


@settings(deadline=None)
@given(some_hits())
def test_columns_are_one_row_a_hit(hits: Hits) -> None:
    columns = hits.columns()
    assert {name: column.tolist() for name, column in columns.items()} == expected(hits)
    assert list(columns) == list(TYPES)
    assert {name: str(column.dtype) for name, column in columns.items()} == {n: t[0] for n, t in TYPES.items()}


@pytest.mark.parametrize("form", INSTALLED)
@settings(deadline=None)
@given(hits=some_hits())
def test_every_form_has_the_same_columns_values_and_types(form: str, hits: Hits) -> None:
    parts, number, _ = FORMS[form]
    values, types = parts(hits)
    assert list(values) == list(TYPES)
    assert values == expected(hits)
    assert types == {name: of[number] for name, of in TYPES.items()}


def one_hit(key: str, query: str = "q") -> Hits:
    one = np.ones((1, 1), np.int64)
    rank = one.astype(np.int32)
    keys = np.full((1, 1), key, dtype=object)
    return Hits((query,), keys, rank - 1, one, one, one, rank, np.ones(1, np.bool_), one[0], "reference")


@pytest.mark.parametrize("form", INSTALLED)
@pytest.mark.parametrize("hits", [one_hit("\udc80"), one_hit("a", "\ud800")])
def test_a_key_that_is_no_whole_text_is_refused_by_name(form: str, hits: Hits) -> None:
    with pytest.raises(CaseError, match=r"ud[8c][08]0.*half a character"):
        getattr(hits, FORMS[form][2])()


@pytest.mark.parametrize("package", sorted(FORMS))
def test_a_form_whose_package_is_missing_says_how_to_get_it(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name == package:
            raise ImportError(name)
        return found(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataMissing, match=rf"{package} is not installed.*sma_gpu\[frames\]"):
        getattr(one_hit("a"), FORMS[package][2])()


@settings(deadline=None)
@given(some_hits())
def test_arrays_pass_through_dlpack_into_numpy(hits: Hits) -> None:
    for name in ARRAYS:
        array = getattr(hits, name)
        taken = np.from_dlpack(array)
        assert taken.dtype == array.dtype, name
        np.testing.assert_array_equal(taken, array, err_msg=name)


def test_arrays_pass_through_dlpack_into_torch_and_back() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed (extra torch)")
    hits = one_hit("a")
    for name in ARRAYS:
        array = getattr(hits, name)
        tensor = torch.from_dlpack(array)
        assert tensor.tolist() == array.tolist(), name
        np.testing.assert_array_equal(np.from_dlpack(tensor), array, err_msg=name)
