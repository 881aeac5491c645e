"""Tables of one's own: long and wide, four forms, columns named or guessed, faults told by line."""

from __future__ import annotations

import io
import sys

import pytest

from sma_gpu.errors import DataMissing, ParseError, QueryError
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.records.loading import load_records
from sma_gpu.ontologies.records.model import Records
from sma_gpu.ontologies.records.tables import TableColumns, guess_columns, read_table_records

ONTOLOGY = ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"], "EX:4": ["EX:2"]})


def terms(records: Records) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    found = (records.record_at(i) for i in range(len(records)))
    return {record.key: (record.positive, record.excluded) for record in found}


LONG = b"id\tterm\tfrequency\tqualifier\tsource\na\tEX:2\t3/6\t\tX\na\tEX:3\t20%\tNOT\tY\nb\tEX:4\t0.25\t\t\n"
WIDE = b'case,terms,excluded,site\na,EX:2,EX:3,"X, Y"\nb,EX:4 ,,\n'
MATRIX = b"sample\tEX:2\tEX:3\tEX:4\na\t1\t0\tno\nb\t0\t\tyes\n"
LINES = b'{"id": "b", "concepts": {"IS": ["EX:4"]}}\n{"id": "a", "concepts": ["EX:2"], "absent": ["EX:3"], "n": 5}\n'


def test_forms_of_one_table() -> None:
    both = {"a": (("EX:2",), ("EX:3",)), "b": (("EX:4",), ())}
    assert terms(read_table_records(LONG, ONTOLOGY)) == both
    assert terms(read_table_records(WIDE, ONTOLOGY)) == both
    assert terms(read_table_records(LINES, ONTOLOGY)) == both
    assert terms(read_table_records(MATRIX, ONTOLOGY)) == {"a": (("EX:2",), ()), "b": (("EX:4",), ())}
    for table in (LONG, WIDE, LINES, MATRIX):
        assert terms(load_records(table, ONTOLOGY, cache=False)) == terms(read_table_records(table, ONTOLOGY))


def test_parquet_long_and_wide() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "id": ["a", "b"],
        "terms": [["EX:2"], ["EX:4", "EX:3"]],
        "year": [2026, None],
        "score": [0.5, float("nan")],
    }
    held = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), held)
    records = load_records(held.getvalue(), ONTOLOGY, cache=False)
    assert terms(records) == {"a": (("EX:2",), ()), "b": (("EX:3", "EX:4"), ())}
    assert records.record("a").attributes == {"year": ("2026",), "score": ("0.5",)}
    assert records.record("b").attributes == {}
    with pytest.raises(ParseError, match="Parquet"):
        read_table_records(held.getvalue()[:-20], ONTOLOGY)


def test_parquet_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataMissing, match="pyarrow"):
        read_table_records(b"PAR1" + b"\0" * 20 + b"PAR1", ONTOLOGY)


def test_shares_and_attributes() -> None:
    records = read_table_records(LONG, ONTOLOGY)
    first = records.record("a")
    assert first.attributes == {"source": ("X", "Y")}
    shares = {a.term: a.frequency.low for a in (*first.annotations, *records.record("b").annotations) if a.frequency}
    assert shares == {"EX:2": 0.5, "EX:4": 0.25}  # the share of a row that denies its term takes part in nothing
    assert read_table_records(WIDE, ONTOLOGY).record("a").attributes == {"site": ("X, Y",)}


def test_columns_that_are_named() -> None:
    columns = TableColumns(key="who", terms="what", attributes=("when",))
    table = b"when\twho\twhat\n2026\tA\tEX:2|EX:3\n"
    records = read_table_records(table, ONTOLOGY, columns)
    assert (terms(records), records.record("A").attributes) == ({"A": (("EX:2", "EX:3"), ())}, {"when": ("2026",)})
    with pytest.raises(QueryError, match="which"):
        read_table_records(table, ONTOLOGY, TableColumns(key="which", terms="what"))


def test_columns_that_cannot_be_guessed() -> None:
    with pytest.raises(QueryError, match="terms"):
        guess_columns(["id", "colour"], ONTOLOGY)
    with pytest.raises(QueryError, match="key"):
        guess_columns(["colour", "terms"], ONTOLOGY)
    with pytest.raises(ParseError, match=r"phenotype\.hpoa"):  # what is no table at all goes to the last reader
        load_records(b"some words\nand more", ONTOLOGY, cache=False)


def test_faults_are_told_by_line() -> None:
    table = b"id\tterms\tfrequency\tEX:3\n\tEX:2\t\t\na\tEX:2 EX:9\t7\tmaybe\na\tEX:4\n"
    records = read_table_records(table, ONTOLOGY)
    assert terms(records) == {"a": (("EX:2", "EX:4"), ())}
    assert {(e.kind, e.lines) for e in records.report.warnings} == {
        ("no-key", (2,)), ("bad-share", (3,)), ("bad-cell", (3,)), ("columns", (4,)), ("unknown-id", (3,)),
    }  # fmt: skip
    with pytest.raises(ParseError, match=r"line \d"):
        read_table_records(table, ONTOLOGY, strict=True)


def test_rows_that_say_both() -> None:
    records = read_table_records(b"id\tterm\tqualifier\na\tEX:2\tNOT\na\tEX:2\t\n", ONTOLOGY)
    assert terms(records) == {"a": (("EX:2",), ())}
    assert [(e.kind, e.lines) for e in records.report.warnings] == [("conflict", (2, 3))]


def test_empty_tables() -> None:
    assert [e.kind for e in read_table_records(b"id\tterms\n", ONTOLOGY).report] == ["no-rows"]
    with pytest.raises(ParseError, match="empty"):
        read_table_records(b"\n\n", ONTOLOGY)
    with pytest.raises(ParseError, match="one name"):
        read_table_records(b"id\tterms\tid\na\tb\tc\n", ONTOLOGY)


def test_comments_and_other_ways_of_parting() -> None:
    both = {"a": (("EX:2",), ()), "b": (("EX:3", "EX:4"), ())}
    for table in (
        b"# made, by hand\n\n#id\tterms\na\tEX:2\n# between\nb\tEX:3,EX:4\n",
        b"#id,terms\na,EX:2\n# between\nb,EX:3;EX:4\n",
        b"id;terms\na;EX:2\nb;EX:3,EX:4\n",
        b'[{"id": "a", "terms": ["EX:2"]},\n {"id": "b", "terms": "EX:3 EX:4"}]',
    ):
        records = read_table_records(table, ONTOLOGY)
        assert (terms(records), len(records.report.faults)) == (both, 0)
    records = read_table_records(b'["x", {"id": "a", "terms": "EX:2"}]', ONTOLOGY)
    assert [(e.kind, e.where) for e in records.report.faults] == [("bad-line", "$[0]")]


def test_a_row_of_several_lines_and_a_quote_that_is_never_closed() -> None:
    records = read_table_records(b'id,terms,note\na,EX:9,"one\ntwo"\nb,EX:9,\n', ONTOLOGY)
    assert [e.lines for e in records.report.warnings] == [(2, 4)]
    with pytest.raises(ParseError, match="never closed") as caught:
        read_table_records(b'id,terms,note\na,EX:2,x\nb,EX:3,"open\nc,EX:4,\n', ONTOLOGY)
    assert caught.value.line == 3


def test_symbols_with_blanks_in_them() -> None:
    scheme = ontology_from_parents({"A01B": [], "A01B1/00": ["A01B"], "A01B1/02": ["A01B1/00"]}, name="cpc")
    records = read_table_records(b"id\tcpc\na\tA01B 1/00 (2013.01); A01B0001020000; what\n", scheme)
    assert terms(records) == {"a": (("A01B1/00", "A01B1/02"), ())}
    assert [(e.kind, e.ids) for e in records.report.warnings] == [("unknown-id", ("what",))]
