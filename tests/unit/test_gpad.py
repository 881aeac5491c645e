"""The GPAD reader on rows made here: both layouts, NOT, evidence, what GPI adds, what is told, how it is found."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sma_gpu.cli import main
from sma_gpu.errors import ParseError, QueryError
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.domains import open_domain
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records import Records, load_records, read_gaf, read_gpad
from sma_gpu.ontologies.records.gaf_text import COLUMNS, EVIDENCE, EXPERIMENTAL
from sma_gpu.ontologies.records.gpad_products import read_products
from sma_gpu.ontologies.records.gpad_text import ANNOTATIONS, PRODUCTS, code_of

OLD = {
    "database": "UniProtKB", "object": "P1", "relation": "enables", "term": "GO:2", "reference": "PMID:1|GO_REF:2",
    "eco": "ECO:0000314", "with": "UniProtKB:P9|UniProtKB:P8,UniProtKB:P7", "interacting": "taxon:11",
    "day": "20260102", "assigned_by": "TOY", "extension": "part_of(GO:1)", "properties": "id=7",
}  # fmt: skip
NEW = {
    **{name: text for name, text in OLD.items() if name not in ("database", "object")},
    "id": "UniProtKB:P1", "relation": "RO:0002327", "interacting": "NCBITaxon:11", "day": "2026-01-02",
}  # fmt: skip
PRODUCT = {
    "database": "UniProtKB", "object": "P1", "id": "UniProtKB:P1", "symbol": "ABC1", "name": "Toy protein",
    "synonym": "A1|A2", "type": "protein", "taxon": "taxon:9606", "parent": "UniProtKB:P0", "xref": "HGNC:1|X:2",
}  # fmt: skip


def row(layout: str = "2", **cells: str) -> str:
    usual = NEW if layout == "2" else OLD
    return "\t".join({**dict.fromkeys(ANNOTATIONS[layout], ""), **usual, **cells}[name] for name in ANNOTATIONS[layout])


def file(*rows: str, version: str = "!gpad-version: 2.0") -> bytes:
    return (f"{version}\n!date-generated: 2026-01-03T00:00\n" + "\n".join(rows) + "\n").encode()


def old(*rows: str) -> bytes:
    return file(*rows, version="!gpa-version: 1.2")


def gpi(*cells: dict[str, str], version: str = "1.2", header: str = "") -> bytes:
    columns = PRODUCTS[version[:1] if version == "2.0" else version]
    rows = ["\t".join({**PRODUCT, **cell}.get(name, "") for name in columns) for cell in cells]
    return f"!gpi-version: {version}\n{header}".encode() + "\n".join([*rows, ""]).encode()


@pytest.fixture
def ontology() -> Ontology:
    return ontology_from_parents(
        {"GO:1": [], "GO:2": ["GO:1"], "GO:3": ["GO:1"], "GO:4": ["GO:2", "GO:3"]}, version="1"
    )


def kinds(records: Records) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(e.severity, e.kind, e.lines) for e in records.report if e.kind not in ("rows", "equal-profile")]


@pytest.mark.parametrize("content", [old(row("1")), file(row("2"))], ids=["1.2", "2.0"])
@pytest.mark.parametrize("version", ["1.2", "2.0"])
def test_everything_that_a_row_says_is_kept(ontology: Ontology, content: bytes, version: str) -> None:
    records = read_gpad(content, ontology, products=gpi({}, version=version))
    record = records.record("UniProtKB:P1")
    assert record.name == "ABC1"
    (annotation,) = record.annotations
    (line,) = annotation.rows
    assert (line.line, line.reference, line.evidence, line.biocuration) == (
        3, "PMID:1|GO_REF:2", "IDA", "TOY[2026-01-02]",
    )  # fmt: skip
    assert (line.qualifier, line.modifier) == ("enables", "part_of(GO:1)")
    assert record.attributes == {
        "symbol": ("ABC1",), "title": ("Toy protein",), "synonym": ("A1", "A2"), "type": ("protein",),
        "taxon": ("taxon:9606",), "source": ("TOY",), "date": ("2026-01-02",), "evidence": ("IDA",),
        "reference": ("PMID:1", "GO_REF:2"), "qualifier": ("enables",),
        "with": ("UniProtKB:P9", "UniProtKB:P8,UniProtKB:P7"), "extension": ("part_of(GO:1)",),
        "eco": ("ECO:0000314",), "interacting_taxon": ("taxon:11",), "property": ("id=7",),
        "parent": ("UniProtKB:P0",), "xref": ("HGNC:1", "X:2"),
    }  # fmt: skip
    assert records.version == "2026-01-03"
    assert not kinds(records)


def test_not_is_read_in_both_layouts_and_stands_beside_what_says_the_contrary(ontology: Ontology) -> None:
    first = read_gpad(old(row("1", relation="NOT|enables"), row("1", relation="involved_in", term="GO:3")), ontology)
    second = read_gpad(file(row(negation="NOT"), row(relation="RO:0002331", term="GO:3")), ontology)
    for records in (first, second):
        assert [(a.term, a.excluded) for a in records.record("UniProtKB:P1").annotations] == [
            ("GO:2", True), ("GO:3", False),
        ]  # fmt: skip
    both = read_gpad(file(row(), row(negation="NOT", eco="ECO:0000315")), ontology)
    assert ("warning", "conflict", (3, 4)) in kinds(both)
    assert kinds(read_gpad(file(row(negation="not")), ontology)) == [("warning", "qualifier", (3,))]


def test_the_same_annotations_make_the_same_records_as_gaf(ontology: Ontology) -> None:
    cells = {
        "database": "UniProtKB", "object": "P1", "symbol": "ABC1", "qualifier": "NOT|enables", "term": "GO:2",
        "reference": "PMID:1", "evidence": "IEA", "aspect": "F", "name": "Toy protein", "synonym": "A1|A2",
        "type": "protein", "taxon": "taxon:9606", "date": "20260102", "assigned_by": "TOY",
    }  # fmt: skip
    texts = ["\t".join({**dict.fromkeys(COLUMNS, ""), **cells, **more}.values()) for more in (
        {}, {"object": "P2", "symbol": "ABC2", "qualifier": "involved_in", "evidence": "IMP", "term": "GO:4"},
    )]  # fmt: skip
    gaf = read_gaf(("!gaf-version: 2.2\n!date-generated: 2026-01-03\n" + "\n".join(texts) + "\n").encode(), ontology)
    bare = {"reference": "PMID:1", "with": "", "interacting": "", "extension": "", "properties": ""}
    rows = (
        row(negation="NOT", eco="ECO:0000501", **bare),
        row(id="UniProtKB:P2", relation="RO:0002331", eco="ECO:0000315", term="GO:4", **bare),
    )
    gpad = read_gpad(file(*rows), ontology, products=gpi({}, {"object": "P2", "symbol": "ABC2"}))
    assert (gpad.keys, list(gpad.names)) == (gaf.keys, list(gaf.names))
    for key in gaf.keys:
        assert gpad.record(key).annotations == gaf.record(key).annotations
        found = {name: v for name, v in gpad.record(key).attributes.items() if name not in ("eco", "parent", "xref")}
        assert found == gaf.record(key).attributes


def test_evidence_is_known_by_its_id_or_by_what_the_row_states(ontology: Ontology) -> None:
    rows = (
        row(), row(term="GO:3", eco="ECO:0007669"), row(term="GO:4", eco="ECO:0009999"),
        row(id="X:2", eco="ECO:0009999", properties="id=1|go_evidence=IMP"), row(id="X:3", eco="ECO:0000304"),
    )  # fmt: skip

    def terms(evidence: str) -> dict[str, tuple[str, ...]]:
        records = read_gpad(file(*rows), ontology, evidence=evidence)
        return {key: records.record(key).positive for key in records.keys}

    assert terms("all") == {"UniProtKB:P1": ("GO:2", "GO:3", "GO:4"), "X:2": ("GO:2",), "X:3": ("GO:2",)}
    assert terms("experimental") == {"UniProtKB:P1": ("GO:2",), "X:2": ("GO:2",), "X:3": ()}
    assert terms("no-iea") == {"UniProtKB:P1": ("GO:2", "GO:4"), "X:2": ("GO:2",), "X:3": ("GO:2",)}
    assert kinds(read_gpad(file(*rows), ontology)) == [("warning", "evidence", (5,))]
    with pytest.raises(QueryError, match="no evidence code"):
        read_gpad(file(*rows), ontology, evidence="XYZ")


def test_every_code_but_those_of_whole_groups_has_an_evidence_id() -> None:
    found = {code_of(f"ECO:{number:07}") for number in range(10_000)}
    assert {code for code in found if code[:4] != "ECO:"} == {*EVIDENCE}
    assert {*EXPERIMENTAL} <= found


def test_products_of_every_version_are_keyed_alike(ontology: Ontology) -> None:
    found = [
        read_products(gpi({}, version="1.1", header="!namespace: UniProtKB\n")),
        read_products(gpi({})),
        read_products(gpi({}, version="2.0")),
        read_products(gzip.compress(gpi({}, version="2.0"))),
    ]
    assert [dict(products.row) for products in found] == [{"UniProtKB:P1": 0}] * 4
    assert read_products(b"!gpi-version: 2.0\nMGI:MGI:12\tAbc1\n").row == {"MGI:12": 0}


def test_products_that_are_missing_doubled_or_nameless_are_told(ontology: Ontology) -> None:
    content = gpi({}, {}, {"symbol": "ABC9"}, {"database": "", "object": ""}) + b"UniProtKB\n"
    records = read_gpad(file(row(), row(id="X:2", term="GO:3")), ontology, products=content)
    assert records.record("UniProtKB:P1").name == "ABC1"
    told = [(e.severity, e.kind, e.lines, e.ids) for e in records.report if e.kind not in ("rows", "equal-profile")]
    assert told == [
        ("note", "unnamed-product", (), ("X:2",)), ("warning", "second-record", (4,), ()),
        ("warning", "empty-id", (5,), ()), ("warning", "columns", (6,), ()),
    ]  # fmt: skip
    with pytest.raises(ParseError, match="describe once more"):
        read_gpad(file(row()), ontology, products=content, strict=True)


def test_a_header_that_is_missing_or_wrong_is_told_and_the_rows_are_believed(ontology: Ontology) -> None:
    plain = f"{row()}\n".encode()
    assert kinds(read_gpad(plain, ontology)) == [("warning", "version", ())]
    wrong = old(row())
    assert kinds(read_gpad(wrong, ontology)) == [("warning", "version", ())]
    assert read_gpad(wrong, ontology).record("UniProtKB:P1").positive == ("GO:2",)
    short = file(row(), "X:1\t\tRO:0002331", row(id="X:2").rsplit("\t", 2)[0], row(id="X:3") + "\tmore")
    assert kinds(read_gpad(short, ontology)) == [("warning", "columns", (4,)), ("warning", "columns", (6,))]
    assert kinds(read_gpad(file(row(day="2026-13-01")), ontology)) == [("warning", "date", (3,))]


def test_what_is_no_gpad_is_refused_by_its_name(ontology: Ontology) -> None:
    with pytest.raises(ParseError, match="it is a GPI file"):
        load_records(gpi({}), ontology)
    with pytest.raises(ParseError, match="as GPAD"):
        read_gpad(b"nothing\n", ontology)
    with pytest.raises(ParseError, match="as GPI"):
        read_gpad(file(row()), ontology, products=file(row()))


GO = """format-version: 1.2
data-version: releases/2026-01-01
ontology: go

[Term]
id: GO:0003674
name: molecular_function

[Term]
id: GO:0000002
name: two
is_a: GO:0003674

[Term]
id: GO:0000003
name: three
is_a: GO:0003674
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "data"
    place.mkdir()
    (place / "go.obo").write_text(GO, encoding="utf-8")
    rows = (row(term="GO:0000002"), row(id="UniProtKB:P2", term="GO:0000003", eco="ECO:0000501"))
    (place / "toy.gpad").write_bytes(file(*rows))
    (place / "toy.gpi").write_bytes(gpi({}, {"object": "P2", "symbol": "ABC2"}))
    return place


def test_the_domain_finds_the_file_and_what_names_its_products(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.gpi").write_bytes(gpi({"symbol": "WRONG"}))
    domain = open_domain(str(folder))
    assert [domain.records.names[i] for i in range(2)] == ["ABC1", "ABC2"]
    again = open_domain(str(folder))
    assert list(again.records.names) == ["ABC1", "ABC2"]
    assert main(["query", str(folder), "GO:0000002", "--where", "eco=ECO:0000314", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [hit["key"] for hit in answer["hits"]] == ["UniProtKB:P1"]
    (folder / "toy.gpi").unlink()
    assert list(open_domain(str(folder)).records.names) == ["WRONG", ""]
    (folder / "other.gpi").unlink()
    bare = open_domain(str(folder))
    assert list(bare.records.names) == ["", ""]
    assert "toy.gpad names no gene product, and there is no GPI file beside it that does" in bare.notes


def test_it_is_reported_cited_verified_and_indexed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def asked(*words: str) -> dict[str, object]:
        assert main([*words, "--json"]) == 0
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    report = asked("data", "report", str(folder))
    assert [part["counts"] for part in report["beside"]] == [{"gene products": 2, "records among them": 2}]  # type: ignore[attr-defined, index]
    assert [source["part"] for source in asked("cite", str(folder))["sources"]] == ["ontology", "records", "products"]  # type: ignore[attr-defined, index]
    asked("data", "verify", str(folder))
    own = folder.parent / "own"
    assert (
        main(["index", str(folder / "go.obo"), str(folder / "toy.gpad"), "-o", str(own), "--kind", "experimental"]) == 0
    )
    capsys.readouterr()
    assert list(open_own(own).names) == ["ABC1", "ABC2"]


def open_own(folder: Path) -> Records:
    from sma_gpu.answers.own_index import open_own_index

    return open_own_index(str(folder)).domain.records
