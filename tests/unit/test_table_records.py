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
    with pytest.raises(ParseError, match=r"phenotype\.hpoa"):
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


def frequencies(records: Records) -> dict[str, tuple[float, float, int | None, int | None]]:
    found = (annotation for i in range(len(records)) for annotation in records.record_at(i).annotations)
    return {a.term: (f.low, f.high, f.numerator, f.denominator) for a in found if (f := a.frequency) is not None}


def test_frequencies_as_annotations_of_diseases_write_them() -> None:
    table = (
        b"id\tterm\tfrequency\treference\n"
        b"a\tEX:2\t3/7\tPMID:1\na\tEX:2\t3/7\tPMID:2\na\tEX:2\t0/2\tPMID:3\na\tEX:2\t3/7\tPMID:1\n"
        b"a\tEX:3\t12-30%\t\nb\tEX:4\tHP:0040283\t\nc\tEX:1\t9/7\t\nd\tEX:3\t0/9\t\n"
    )
    records = read_table_records(table, ONTOLOGY)
    assert frequencies(records) == {
        "EX:2": (6 / 16, 6 / 16, 6, 16),
        "EX:3": (0.0, 0.0, 0, 9),
        "EX:4": (0.05, 0.29, None, None),
    }
    assert frequencies(read_table_records(table.replace(b"d\tEX:3", b"d\tEX:4"), ONTOLOGY))["EX:3"] == (
        0.12,
        0.3,
        None,
        None,
    )
    assert terms(records)["d"] == ((), ("EX:3",))
    assert [row.reference for row in records.record("a").annotations[0].rows] == ["PMID:1", "PMID:2", "PMID:3"]
    assert [(e.severity, e.kind, e.lines) for e in records.report] == [
        ("warning", "bad-share", (8,)), ("note", "copied-row", (5,))
    ]  # fmt: skip


def test_words_of_denial() -> None:
    words = ("NOT", "absent", "excluded", "Not present", "no", "", "false", "enables", "exclusion", "TRUE")
    rows = "".join(f"{number}\tEX:2\t{word}\n" for number, word in enumerate(words))
    records = read_table_records(f"id\tterm\tnegated\n{rows}".encode(), ONTOLOGY)
    denied, held = ((), ("EX:2",)), (("EX:2",), ())
    assert terms(records) == {
        "0": denied, "1": denied, "2": denied, "3": denied, "4": held, "5": held, "6": held, "7": held,
        "8": ((), ()), "9": denied,
    }  # fmt: skip
    assert [(e.kind, e.lines) for e in records.report.warnings] == [("unknown-qualifier", (10,))]


def test_columns_that_say_yes_or_no_of_the_term_beside_them() -> None:
    excluded = b"id\thpo_id\texcluded\na\tEX:2\ttrue\na\tEX:3\tFALSE\nb\tEX:4\t\n"
    observed = b"id,term_id,observed\na,EX:2,no\na,EX:3,yes\nb,EX:4,\n"
    both = {"a": (("EX:3",), ("EX:2",)), "b": (("EX:4",), ())}
    for table in (excluded, observed, b'{"id": "a", "term": "EX:2", "excluded": true}\n' + LINES_OF_B):
        records = read_table_records(table, ONTOLOGY)
        assert terms(records) == (both if table in (excluded, observed) else {"a": ((), ("EX:2",)), "b": both["b"]})
        assert not records.report.faults
    lists = read_table_records(b'{"id": "a", "observed": ["EX:2"], "features": ["EX:3"]}', ONTOLOGY)
    assert terms(lists) == {"a": (("EX:2", "EX:3"), ())}


LINES_OF_B = b'{"id": "b", "term": "EX:4", "excluded": false}\n'


def test_lists_as_other_programs_write_them() -> None:
    cells = ("['EX:2', 'EX:3']", "{EX:2,EX:3}", '[""EX:2"",""EX:3""]')
    for cell in cells:
        assert terms(read_table_records(f'id,terms\na,"{cell}"\n'.encode(), ONTOLOGY)) == {"a": (("EX:2", "EX:3"), ())}
    quoted = b'"id"\t"terms"\t"note"\n"a"\t"EX:2;EX:3"\t"6"" wide"\n'
    records = read_table_records(quoted, ONTOLOGY)
    assert (terms(records), records.record("a").attributes) == ({"a": (("EX:2", "EX:3"), ())}, {"note": ('6" wide',)})
    plain = read_table_records(b'id\tterms\tnote\na\tEX:2\t"6" wide"\n', ONTOLOGY)
    assert plain.record("a").attributes == {"note": ('"6" wide"',)}  # where no header is quoted, nothing is


def test_what_is_no_term_in_a_list_is_told() -> None:
    line = b'{"id": "a", "terms": ["EX:2", {"id": "EX:3", "label": "x"}, 5, null, {"x": 1}], "ok": true}\n'
    records = read_table_records(line + b'{"id": "b", "terms": 7}', ONTOLOGY)
    assert terms(records) == {"a": (("EX:2", "EX:3"), ()), "b": ((), ())}
    assert records.record("a").attributes == {"ok": ("true",)}
    assert [(e.kind, e.lines) for e in records.report.warnings] == [
        ("bad-term", (1,)), ("bad-term", (1,)), ("bad-term", (1,)), ("bad-term", (2,))
    ]  # fmt: skip


def test_objects_whose_first_has_no_terms_are_a_table_all_the_same() -> None:
    lines = b'{"id": "a"}\n{"id": "b", "terms": ["EX:2"]}\n'
    assert terms(load_records(lines, ONTOLOGY, cache=False)) == {"a": ((), ()), "b": (("EX:2",), ())}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'id,terms\na,"EX:2\n', "never closed"),
        (b"id\tterms\tx\tx\na\tEX:2\t1\t2\n", "two of its columns have one name"),
        (b"sort\tof\na\tb\n", "none of them is known to hold the key"),
        (b'{"a": ["EX:2"]}', "none of them is known to hold the key"),
        (b"<html><body>404</body></html>", "web page"),
    ],
)
def test_what_is_no_records_hears_why(content: bytes, why: str) -> None:
    with pytest.raises(ParseError, match=why) as caught:
        load_records(content, ONTOLOGY, cache=False, name="mine")
    assert caught.value.asked == "read mine as records"
    assert ("--columns" in caught.value.do) == ("page" not in why)
