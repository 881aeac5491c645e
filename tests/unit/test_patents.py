"""Patents in each form that they come in, on files made here; all become the same records."""

from __future__ import annotations

import gzip
import json

import pytest

from sma_gpu.errors import ParseError
from sma_gpu.ontologies.builder import OntologyBuilder
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records import Record, Records, load_records, read_patents
from sma_gpu.ontologies.report import LoadReport


@pytest.fixture
def cpc() -> Ontology:
    builder = OntologyBuilder(LoadReport("scheme"))
    for symbol, parent in (("A01B", ""), ("A01B1/00", "A01B"), ("A01B1/02", "A01B1/00"), ("A01B2200/00", "A01B")):
        builder.define(symbol)
        builder.set_name(symbol, symbol.lower())
        if parent:
            builder.add_parent(symbol, parent)
    builder.mark("A01B", "not-allocatable")
    builder.mark("A01B2200/00", "additional-only")
    return builder.freeze(name="cpc", version="2026", sha256="0" * 64)


def symbol_xml(group: str, subgroup: str, *, position: str = "L", value: str = "I") -> str:
    return (
        "<classification-cpc><cpc-version-indicator><date>20130101</date></cpc-version-indicator><section>A</section>"
        f"<class>01</class><subclass>B</subclass><main-group>{group}</main-group><subgroup>{subgroup}</subgroup>"
        f"<symbol-position>{position}</symbol-position><classification-value>{value}</classification-value>"
        "</classification-cpc>"
    )


def grant(number: str, main: str, *further: str, root: str = "us-patent-grant", title: str = "Toy") -> str:
    kind = root.rpartition("-")[2]
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE {root} SYSTEM "x.dtd" [ ]>\n<{root}>'
        f"<us-bibliographic-data-{kind}><publication-reference><document-id><country>US</country>"
        f"<doc-number>{number}</doc-number><kind>B2</kind><date>20260106</date></document-id></publication-reference>\n"
        f"<classifications-cpc><main-cpc>{main}</main-cpc><further-cpc>{''.join(further)}</further-cpc>"
        f"</classifications-cpc><invention-title>{title}</invention-title>"
        "<us-references-cited><document-id><doc-number>1</doc-number></document-id></us-references-cited>"
        "<assignees><assignee><addressbook><orgname>Toys</orgname></addressbook></assignee></assignees>"
        f"</us-bibliographic-data-{kind}><description><p>A <b>toy</b>.</p></description></{root}>"
    )


def roles(record: Record) -> dict[str, tuple[str, str]]:
    return {a.term: (a.rows[0].qualifier, a.rows[0].evidence) for a in record.annotations}


def kinds(records: Records) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(e.severity, e.kind, e.lines) for e in records.report if e.kind not in ("rows", "equal-profile")]


@pytest.mark.parametrize("root", ["us-patent-grant", "us-patent-application"])
def test_a_document_in_xml(cpc: Ontology, root: str) -> None:
    document = grant(
        "77", symbol_xml("1", "02", position="F"), symbol_xml("2200", "00", value="A"), root=root, title="A <i>toy</i>"
    )
    records = read_patents(document.encode(), cpc)
    record = records.record("US77")
    assert record.name == "A toy"
    assert roles(record) == {"A01B1/02": ("main", "inventive"), "A01B2200/00": ("further", "additional")}
    assert record.annotations[0].rows[0].biocuration == "[2013-01-01]"
    assert record.annotations[0].rows[0].modifier == "0"
    assert record.attributes == {
        "date": ("2026-01-06",), "kind": ("B2",), "source": ("Toys",), "main": ("A01B1/02",),
        "evidence": ("inventive", "additional"),
    }  # fmt: skip
    assert not kinds(records)


def test_a_document_that_cannot_be_read_costs_itself(cpc: Ontology) -> None:
    broken = grant("2", symbol_xml("1", "00"))[:-60]
    hostile = grant("3", symbol_xml("1", "00")).replace("[ ]", '[<!ENTITY a "b">]')
    other = '<?xml version="1.0"?><other/>\n'
    text = "\n".join([grant("1", symbol_xml("1", "00")), broken, other, hostile, grant("4", symbol_xml("1", "02"))])
    records = read_patents(text.encode(), cpc)
    assert records.keys == ("US1", "US4")
    lines = [entry.lines[0] for entry in records.report.faults]
    assert [entry.kind for entry in records.report.faults] == ["unreadable", "no-patent", "unreadable"]
    assert [text.split("\n")[line - 1].partition("<?xml")[1] for line in lines] == ["<?xml"] * 3
    with pytest.raises(ParseError, match="entity"):
        read_patents(hostile.encode(), cpc)


def test_old_files_that_declare_pictures_are_read(cpc: Ontology) -> None:
    text = grant("1", symbol_xml("1", "00")).replace(
        "[ ]", '[<!NOTATION TIF SYSTEM "">\n<!ENTITY a.TIF SYSTEM "a.TIF" NDATA TIF>]'
    )
    assert read_patents(text.encode(), cpc).keys == ("US1",)


def test_symbols_that_do_not_fit_their_role(cpc: Ontology) -> None:
    text = grant("1", symbol_xml("2200", "00", position="F"), symbol_xml("1", "00", value="Q"), symbol_xml("9", "00"))
    records = read_patents(text.encode(), cpc)
    assert [(kind, ids) for kind, ids in ((e.kind, e.ids) for e in records.report.faults)] == [
        ("value", ("US1", "A01B1/00")),
        ("unknown-id", ("A01B9/00",)),
        ("additional-only", ("US1", "A01B2200/00")),
    ]


JSON_LINES = [
    {"id": "US1", "title": "One", "grant_date": "2020-01-07", "assignee": "Toys", "cpc": ["A01B1/02", "A01B 1/00"]},
    {"id": "US2", "cpc": []},
    {"patent_id": 3, "cpc": [{"symbol": "A01B1/00", "value": "A", "sequence": 2, "first": False}]},
]


def test_patents_in_json_lines(cpc: Ontology) -> None:
    records = read_patents("\n".join(map(json.dumps, JSON_LINES)).encode(), cpc)
    assert records.keys == ("3", "US1", "US2")
    assert records.record("US1").positive == ("A01B1/00", "A01B1/02")
    assert records.record("US1").attributes == {"date": ("2020-01-07",), "source": ("Toys",)}
    assert roles(records.record("3")) == {"A01B1/00": ("further", "additional")}
    assert kinds(records) == [("note", "no-symbol", (2,))]


def test_patents_in_one_json_value(cpc: Ontology) -> None:
    for value in (JSON_LINES, {"version": "1", "patents": JSON_LINES}):
        for indent in (None, 1):
            records = read_patents(json.dumps(value, indent=indent).encode(), cpc)
            assert records.keys == ("3", "US1", "US2")


def test_faulty_json_costs_its_line(cpc: Ontology) -> None:
    lines = [json.dumps(JSON_LINES[0]), '{"id": "US9", "cpc": ["A01B', "[]", '{"cpc": ["A01B1/00"]}', "7"]
    lines += ['{"id": "US4", "cpc": [7, "A01B1/00"]}', '{"id": "US1", "cpc": "A01B1/00"}']
    records = read_patents("\n".join(lines).encode(), cpc)
    assert records.keys == ("US1", "US4")
    assert kinds(records) == [
        ("error", "unreadable", (2,)),
        ("error", "no-id", (4,)),
        ("error", "no-id", (5,)),
        ("error", "no-symbol", (6,)),
        ("warning", "second-record", (1, 7)),
        ("note", "copied-row", (1, 7)),
    ]
    first_faulty = "\n".join(['{"id": "US9", "cpc": ["A01B', json.dumps(JSON_LINES[0])])
    assert read_patents(first_faulty.encode(), cpc).keys == ("US1",)


TABLE = (
    "patent_id\tcpc_sequence\tcpc_section\tcpc_class\tcpc_subclass\tcpc_group\tcpc_type\n"
    "10000000\t0\tA\tA01\tA01B\tA01B1/02\tinventional\n"
    "10000000\t1\tA\tA01\tA01B\tA01B2200/00\tadditional\n"
    "10000001\t0\tA\tA01\tA01B\tA01B1/00\tinventional\n"
)


@pytest.mark.parametrize("quoted", [False, True])
def test_a_long_table(cpc: Ontology, quoted: bool) -> None:
    text = TABLE
    if quoted:
        text = "\n".join("\t".join(f'"{cell}"' for cell in line.split("\t")) for line in TABLE.rstrip().split("\n"))
    records = read_patents(gzip.compress(text.encode()), cpc)
    assert records.keys == ("10000000", "10000001")
    assert roles(records.record("10000000")) == {"A01B1/02": ("", "inventive"), "A01B2200/00": ("", "additional")}
    row = records.record("10000000").annotations[1].rows[0]
    assert (row.line, row.modifier) == (3, "1")
    assert not kinds(records)


def test_an_older_table_and_its_faults(cpc: Ontology) -> None:
    text = (
        "uuid\tpatent_id\tsection_id\tsubsection_id\tgroup_id\tsubgroup_id\tcategory\tsequence\n"
        "x\t1\tA\tA01\tA01B\tA01B1/02\tinventional\t0\n"
        "x\t1\tA\tA01\tA01B\n"
        "x\t2\tA\tA01\tA01B\tA01B1/00\tsomething\t0\n"
        "x\t\tA\tA01\tA01B\tA01B1/00\tadditional\t0\n"
        "x\t2\tA\tA01\tA01B\tA01B7/00\tadditional\t0\n"
        "x\t3\tA\tA01\tA01B\t\tadditional\t0\n"
    )
    records = read_patents(text.encode(), cpc)
    assert records.keys == ("1", "2", "3")
    assert kinds(records) == [
        ("warning", "columns", (3,)),
        ("warning", "value", (4,)),
        ("warning", "empty-id", (5,)),
        ("warning", "unknown-id", (6,)),
        ("warning", "empty-id", (7,)),
        ("note", "no-symbol", (7,)),
    ]


def test_symbols_that_nobody_can_read_are_told(cpc: Ontology) -> None:
    records = read_patents(b'{"id": "US1", "cpc": ["A01B 1/00 what", "a01b0001020000", "A01B9/00"]}', cpc)
    assert records.record("US1").positive == ("A01B1/02",)
    assert [(e.kind, e.lines, e.ids) for e in records.report.faults] == [
        ("odd-symbol", (1,), ("A01B 1/00 what",)), ("unknown-id", (1,), ("A01B9/00",))
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"<html>", b"one\ttwo\n", b'{"a": 1}', b'{"id": "q", "cpc": [], "gold": []}'])
def test_other_files_are_refused(cpc: Ontology, content: bytes) -> None:
    with pytest.raises(ParseError, match="as patents"):
        read_patents(content, cpc)


def test_loading_goes_by_content(cpc: Ontology) -> None:
    assert load_records(TABLE.encode(), cpc).keys == ("10000000", "10000001")
    again = load_records(TABLE.encode(), cpc)
    assert roles(again.record("10000001")) == {"A01B1/00": ("", "inventive")}
    with pytest.raises(ParseError) as refused:
        load_records(b'{"id": "US1", "cpc": ["A01B9/00"]}', cpc, strict=True)
    assert refused.value.line == 1


def test_documents_with_and_without_declarations(cpc: Ontology) -> None:
    first, second, third = (grant(n, symbol_xml("1", "00", position="F")) for n in ("1", "2", "3"))
    styled = first.replace("?>", "?>\n<?xml-stylesheet href='a.xsl'?>", 1)
    bare = second[second.index("?>") + 2 :].lstrip()
    records = read_patents(f"{styled}\n\n{bare}between{third}".encode(), cpc)
    assert records.keys == ("US1", "US2", "US3")
    assert [e.kind for e in records.report.faults] == ["unreadable"]
    begins = styled.count("\n") + 3
    found = [records.record(key).annotations[0].rows[0].line for key in records.keys]
    assert found[:2] == [1, begins]
    assert records.report.faults[0].lines == (begins + bare.count("\n"),)


def test_entities_in_a_title_are_missed(cpc: Ontology) -> None:
    text = grant("1", symbol_xml("1", "00")).replace("Toy", "a &dagger; b")
    (told,) = read_patents(text.encode(), cpc).report.warnings
    assert (told.kind, told.lines, told.ids) == ("entity", (1,), ("US1",))
    assert "dagger" in told.message


def test_one_text_may_list_symbols(cpc: Ontology) -> None:
    records = read_patents(b'{"id": "US1", "cpc": "A01B 1/00 (2013.01); A01B1/02"}', cpc)
    assert records.record("US1").positive == ("A01B1/00", "A01B1/02")
    assert not records.report.faults


def test_the_list_that_a_symbol_stands_in_says_its_role(cpc: Ontology) -> None:
    text = grant("1", symbol_xml("1", "00", position="L"), symbol_xml("1", "02", position="F"))
    found = roles(read_patents(text.encode(), cpc).record("US1"))
    assert found == {"A01B1/00": ("main", "inventive"), "A01B1/02": ("further", "inventive")}


@pytest.mark.parametrize(
    "table",
    [
        "pgpub_id\tcpc_sequence\tcpc_group\tcpc_type\n20260000001\t0\tA01B1/02\tinventional\n",
        "patent_id,cpc_sequence,cpc_group,cpc_type\r\n20260000001,0,A01B1/02,inventional\r\n",
        '"uuid","patent_id","subgroup_id","category"\n"a","20260000001","A01B 1/02","inventional"\n',
    ],
)
def test_tables_of_applications_and_tables_parted_by_commas(cpc: Ontology, table: str) -> None:
    records = load_records(table.encode(), cpc, cache=False)
    assert roles(records.record("20260000001")) == {"A01B1/02": ("", "inventive")}
    assert kinds(records) == []


def test_symbols_far_behind_the_beginning_of_a_line(cpc: Ontology) -> None:
    line = json.dumps({"patent_id": "US1", "abstract": "x" * 9000, "patent_date": 20260106, "cpc": ["A01B1/02"]})
    record = load_records(line.encode(), cpc, cache=False).record("US1")
    assert (record.positive, record.attributes) == (("A01B1/02",), {"date": ("2026-01-06",)})
