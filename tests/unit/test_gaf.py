"""The GAF reader on rows made here: keys, senses, evidence, what is reported, and streams of every kind."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from sma_gpu.errors import ParseError, QueryError
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records import Records, load_records, read_gaf
from sma_gpu.ontologies.records.aliases import Aliases
from sma_gpu.ontologies.records.gaf_text import COLUMNS, read_gaf_qualifier
from sma_gpu.ontologies.records.qualifier import NEGATED, POSITIVE, UNCLEAR

USUAL = {
    "database": "UniProtKB", "object": "P1", "symbol": "ABC1", "qualifier": "enables", "term": "GO:2",
    "reference": "PMID:1", "evidence": "IDA", "aspect": "F", "name": "Toy protein", "synonym": "A1|A2",
    "type": "protein", "taxon": "taxon:9606", "date": "20260102", "assigned_by": "TOY",
}  # fmt: skip


def row(**cells: str) -> str:
    return "\t".join({**dict.fromkeys(COLUMNS, ""), **USUAL, **cells}.values())


def file(*rows: str, header: str = "!gaf-version: 2.2\n!date-generated: 2026-01-03T00:00\n") -> bytes:
    return (header + "\n".join(rows) + "\n").encode()


@pytest.fixture
def ontology() -> Ontology:
    return ontology_from_parents(
        {"GO:1": [], "GO:2": ["GO:1"], "GO:3": ["GO:1"], "GO:4": ["GO:2", "GO:3"]}, version="1"
    )


def read(ontology: Ontology, *rows: str, evidence: str = "all") -> Records:
    return read_gaf(file(*rows), ontology, evidence=evidence)


def kinds(records: Records) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(e.severity, e.kind, e.lines) for e in records.report if e.kind not in ("rows", "equal-profile")]


def test_everything_that_a_row_says_is_kept(ontology: Ontology) -> None:
    records = read(ontology, row(**{"with": "UniProtKB:P9", "extension": "part_of(GO:1)"}))
    record = records.record("UniProtKB:P1")
    assert record.name == "ABC1"
    (annotation,) = record.annotations
    (line,) = annotation.rows
    assert (line.line, line.reference, line.evidence, line.biocuration) == (3, "PMID:1", "IDA", "TOY[2026-01-02]")
    assert (line.qualifier, line.modifier, line.description) == ("enables", "part_of(GO:1)", "UniProtKB:P9")
    assert record.attributes == {
        "symbol": ("ABC1",), "title": ("Toy protein",), "synonym": ("A1", "A2"), "type": ("protein",),
        "taxon": ("taxon:9606",), "source": ("TOY",), "date": ("2026-01-02",), "evidence": ("IDA",),
        "reference": ("PMID:1",), "qualifier": ("enables",), "with": ("UniProtKB:P9",),
        "extension": ("part_of(GO:1)",),
    }  # fmt: skip
    assert records.version == "2026-01-03"
    assert not kinds(records)


def test_a_database_that_stands_in_its_own_accessions_is_written_once(ontology: Ontology) -> None:
    assert read(ontology, row(database="MGI", object="MGI:12")).keys == ("MGI:12",)


@pytest.mark.parametrize(
    ("text", "sense", "severity"),
    [
        ("", POSITIVE, ""),
        ("NOT", NEGATED, ""),
        ("NOT|enables", NEGATED, ""),
        ("colocalizes_with|NOT", NEGATED, ""),
        ("NOT|", NEGATED, "warning"),
        ("|NOT", NEGATED, "warning"),
        ("not|enables", NEGATED, "warning"),
        ("Not", NEGATED, "warning"),
        ("NOT enables", NEGATED, "warning"),
        ("enables,NOT", NEGATED, "warning"),
        ("enables|", POSITIVE, "warning"),
        ("contributes_to", POSITIVE, ""),
        ("noted_in", POSITIVE, "note"),
        ("NOT_enables", UNCLEAR, "warning"),
        ("-", UNCLEAR, "warning"),
        ("excluded", UNCLEAR, "warning"),
    ],
)
def test_a_negation_is_read_in_any_dress(text: str, sense: int, severity: str) -> None:
    found = read_gaf_qualifier(text)
    assert (found.sense, found.severity) == (sense, severity)


def test_a_row_whose_sense_is_unclear_is_left_out(ontology: Ontology) -> None:
    records = read(ontology, row(), row(term="GO:3", qualifier="NOT_enables"))
    assert records.record("UniProtKB:P1").positive == ("GO:2",)
    assert kinds(records) == [("warning", "qualifier", (4,))]


def test_products_with_the_same_terms_are_told(ontology: Ontology) -> None:
    rows = (row(), row(object="P2"), row(object="P3", term="GO:3"), row(object="P4", qualifier="NOT"))
    (note,) = [e for e in read(ontology, *rows).report if e.kind == "equal-profile"]
    assert note.ids == ("UniProtKB:P1", "UniProtKB:P2")


def test_evidence_can_be_asked_for(ontology: Ontology) -> None:
    rows = (row(), row(term="GO:3", evidence="IEA"), row(term="GO:4", evidence="TAS"), row(object="P2", evidence="IEA"))

    def terms(evidence: str) -> dict[str, tuple[str, ...]]:
        records = read(ontology, *rows, evidence=evidence)
        return {key: records.record(key).positive for key in records.keys}

    assert terms("all") == {"UniProtKB:P1": ("GO:2", "GO:3", "GO:4"), "UniProtKB:P2": ("GO:2",)}
    assert terms("no-iea") == {"UniProtKB:P1": ("GO:2", "GO:4"), "UniProtKB:P2": ()}
    assert terms("experimental") == {"UniProtKB:P1": ("GO:2",), "UniProtKB:P2": ()}
    assert terms("TAS,IEA") == {"UniProtKB:P1": ("GO:3", "GO:4"), "UniProtKB:P2": ("GO:2",)}
    with pytest.raises(QueryError, match="'XXX' is no evidence code"):
        terms("XXX")


def test_a_record_without_the_evidence_asked_for_is_told(ontology: Ontology) -> None:
    records = read(ontology, row(evidence="IEA"), evidence="experimental")
    told = {e.kind: e for e in records.report}
    assert "1 of 1 rows are left out" in told["evidence"].message
    assert told["no-usable-row"].ids == ("UniProtKB:P1",)


def test_faults_cost_their_line_and_are_named(ontology: Ontology) -> None:
    records = read(
        ontology,
        row(),  # line 3
        "UniProtKB\tP1\tABC1",
        row(object=""),
        row(term="GO:3", date="20260231"),
        row(term="GO:3", aspect="Q", reference="PMID:2"),
        row(term="GO:3", evidence="ZZZ", reference="PMID:3"),
        row(term="GO:3", taxon="9606", reference="PMID:4"),
        row(term="GO:9"),
    )
    assert records.record("UniProtKB:P1").positive == ("GO:2", "GO:3")
    assert kinds(records) == [
        ("warning", "columns", (4,)),
        ("warning", "empty-id", (5,)),
        ("warning", "date", (6,)),
        ("warning", "aspect", (7,)),
        ("warning", "evidence", (8,)),
        ("warning", "taxon", (9,)),
        ("warning", "unknown-id", (10,)),
    ]
    with pytest.raises(ParseError) as refused:
        read_gaf(file(row(), "UniProtKB\tP1\tABC1"), ontology, strict=True)
    assert refused.value.line == 4


def test_the_aspect_of_a_term_is_that_of_its_root() -> None:
    go = ontology_from_parents({"GO:0003674": [], "GO:2": ["GO:0003674"]})
    records = read(go, row(aspect="P"))
    assert records.record("UniProtKB:P1").positive == ("GO:2",)
    assert [(e.kind, e.ids) for e in records.report.warnings] == [("aspect", ("GO:2",))]


def test_rows_that_end_early_but_lack_nothing_are_rows(ontology: Ontology) -> None:
    records = read(ontology, "\t".join(row().split("\t")[:15]))
    assert records.record("UniProtKB:P1").positive == ("GO:2",)
    assert not kinds(records)


def test_the_version_is_missed(ontology: Ontology) -> None:
    records = read_gaf(file(row(), header=""), ontology)
    assert kinds(records) == [("warning", "version", ())]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"!gpa-version: 2.0\nx\ty\n", "it is a GPAD file"),
        (b"!gpi-version: 2.1\nx\ty\n", "it is a GPI file"),
        (b"<!DOCTYPE html><html>", "it looks like a web page"),
        (b"", "it is empty"),
        (b"one\ttwo\n", "has no row of 17 columns"),
    ],
)
def test_other_files_are_refused(ontology: Ontology, content: bytes, found: str) -> None:
    with pytest.raises(ParseError, match=found):
        read_gaf(content, ontology)


def _zip(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("goa.gaf", content)
    return out.getvalue()


def _tar(content: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("goa.gaf")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, lzma.compress, bz2.compress, _zip, _tar, lambda c: gzip.compress(_tar(c))],
    ids=["plain", "gzip", "xz", "bzip2", "zip", "tar", "tar.gz"],
)
def test_compression_is_told_by_content_and_changes_nothing(ontology: Ontology, pack: Callable[[bytes], bytes]) -> None:
    content = file(*(row(object=f"P{i}") for i in range(20_000)))  # more than one block of lines
    plain, packed = read_gaf(content, ontology), read_gaf(pack(content), ontology)
    assert packed.sha256 == plain.sha256
    assert packed.keys == plain.keys
    assert np.array_equal(packed.line, plain.line)
    assert plain.line.max() == 20_002


def test_a_damaged_stream_is_refused(ontology: Ontology) -> None:
    with pytest.raises(ParseError, match="damaged or incomplete"):
        read_gaf(gzip.compress(file(row()))[:-10], ontology)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_ends_of_lines_of_other_systems(ontology: Ontology, end: str) -> None:
    content = file(*(row(object=f"P{i}") for i in range(12_000))).decode().replace("\n", end).encode()
    records = read_gaf(content, ontology)
    assert len(records) == 12_000
    assert sorted(records.line.tolist()) == list(range(3, 12_003))
    assert not kinds(records)


def test_utf_16(ontology: Ontology) -> None:
    records = read_gaf(file(row()).decode().encode("utf-16"), ontology)
    assert records.keys == ("UniProtKB:P1",)


def test_bytes_that_are_no_text_are_told_by_their_line(ontology: Ontology) -> None:
    rows = [row(object=f"P{i}") for i in range(12_000)]
    content = file(*rows, row(object="Q", name="?")).replace(b"\t?\t", b"\t\xff\t")
    assert kinds(read_gaf(content, ontology)) == [("warning", "encoding", (12_003,))]


def test_loading_goes_by_content_and_keeps_what_was_read(ontology: Ontology) -> None:
    content = file(row(qualifier="NOT|enables"), row(term="GO:3"))
    first, again = load_records(content, ontology), load_records(content, ontology)
    for records in (first, again):
        record = records.record("UniProtKB:P1")
        assert (record.positive, record.excluded) == (("GO:3",), ("GO:2",))
        assert record.attributes["symbol"] == ("ABC1",)
    assert "evidence" in [n.kind for n in load_records(content, ontology, kind="no-iea").report.notes]


def test_records_are_found_by_symbol_and_accession(ontology: Ontology) -> None:
    records = read(ontology, row(), row(object="P2", symbol="XYZ"), row(object="P3", symbol="XYZ"))
    aliases = Aliases(records)
    assert aliases.key_of("ABC1") == aliases.key_of("P1") == "UniProtKB:P1"
    assert aliases.key_of("nobody") is None
    others = read(
        ontology, row(synonym="A1|XYZ"), row(object="P2", symbol="XYZ", synonym="A9"), row(object="P3", synonym="A9")
    )
    called = Aliases(others)
    assert (called.key_of("A1"), called.key_of("XYZ")) == ("UniProtKB:P1", "UniProtKB:P2")
    with pytest.raises(KeyError, match="2 records are called so: UniProtKB:P2, UniProtKB:P3"):
        called.key_of("A9")
    with pytest.raises(KeyError, match="2 records are called so: UniProtKB:P2, UniProtKB:P3"):
        aliases.key_of("XYZ")


def test_a_relation_that_not_is_glued_to_is_not_believed(ontology: Ontology) -> None:
    records = read_gaf(file(row(qualifier="NOTenables")), ontology)
    assert records.record("UniProtKB:P1").positive == ()
    assert [(e.kind, e.lines) for e in records.report.warnings if e.kind == "qualifier"] == [("qualifier", (3,))]


def test_a_mark_of_negation_glued_to_a_relation_is_not_believed(ontology: Ontology) -> None:
    records = read_gaf(file(row(qualifier="!enables"), row(object="P2", form="UniProtKB:P2-1")), ontology)
    assert (records.record("UniProtKB:P1").positive, records.record("UniProtKB:P1").excluded) == ((), ())
    assert [(e.kind, e.lines) for e in records.report.warnings if e.kind == "qualifier"] == [("qualifier", (3,))]
    assert records.record("UniProtKB:P2").attributes["form"] == ("UniProtKB:P2-1",)
