"""The OBO reader on hand-written faults, so that nobody needs the shared folder to test it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sma_gpu.errors import CycleFound, DataMissing, OntologyError, ParseError
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obo import can_read, read_obo
from sma_gpu.ontologies.readers.obo_syntax import (
    is_iso_date,
    logical_lines,
    qualifier_keys,
    read_header_date,
    read_ids,
    read_quoted,
    read_text,
    read_xref,
    split_tail,
    unescape,
)

HEAD = "format-version: 1.4\nontology: ex\n\n"
ROOT = "[Term]\nid: EX:1\nname: root\n\n"


def read(text: str, *, strict: bool = False) -> Ontology:
    return read_obo((HEAD + ROOT + text).encode(), strict=strict)


def line_of(text: str, part: str) -> int:
    """Line in the whole file of the first line of ``text`` that holds ``part``."""
    return next(n for n, line in enumerate((HEAD + ROOT + text).split("\n"), 1) if part in line)


def only_warning(ontology: Ontology) -> tuple[str, tuple[int, ...]]:
    (entry,) = ontology.report
    assert entry.severity == "warning"
    return entry.kind, entry.lines


def term(*clauses: str, number: int = 2) -> str:
    named = clauses if any(clause.startswith("name") for clause in clauses) else (*clauses, f"name: n{number}")
    return "\n".join(["[Term]", f"id: EX:{number}", *named]) + "\n\n"


@pytest.mark.parametrize(
    "line",
    [
        "is_a: EX:1",
        "is_a: EX:1 ! root",
        "is_a: EX:1 !root",
        "is_a:EX:1",
        "is_a:\tEX:1\t! root",
        "is_a: EX:1 {} ! root",
        'is_a: EX:1 {comment=""} ! root',
        'is_a: EX:1 {comment="{nested {braces}} ! and \\"quotes\\""} ! root',
        'is_a: EX:1{source="EX:x", is_inferred="true"}',
        "is_a: EX:1 { source = two words , b= } ! root",
        "is_a: EX:1 {source=EX:x} ! name {with} braces ! and more",
        "is_a: EX\\:1 ! root",
        "  is_a : EX:1  ",
    ],
)
def test_a_parent_id_ends_where_the_id_ends(line: str) -> None:
    found = read(term(line))
    assert found.term("EX:2").parents == ("EX:1",)
    assert found.ids == ("EX:1", "EX:2")
    assert len(found.report) == 0


@pytest.mark.parametrize(
    "line",
    ["is_a: EX:1 root", "is_a: EX:1 {source=EX:x ! root", 'is_a: EX:1{comment="open ! root', "is_a: EX:1 {a b} ! root"],
)
def test_text_behind_a_parent_id_is_left_out_and_named(line: str) -> None:
    found = read(term(line))
    assert found.ids == ("EX:1", "EX:2")
    assert found.term("EX:2").parents == ("EX:1",)
    assert only_warning(found) == ("text-behind-id", (line_of(term(line), "is_a"),))


@pytest.mark.parametrize("line", ["is_a:", "is_a: ! root", "relationship: part_of", "alt_id:", "relationship: ! x"])
def test_a_missing_id_costs_its_line(line: str) -> None:
    found = read(term(line))
    assert found.ids == ("EX:1", "EX:2")
    assert len(found.parents) == len(found.relations) == len(found.retired) == 0
    assert only_warning(found) == ("missing-id", (10,))


@pytest.mark.parametrize(
    ("value", "name", "kind"),
    [
        (r"a\!b", "a!b", ""),
        ("a {}", "a", ""),
        ("a {} b", "a {} b", ""),
        ("a!b", "a", "comment-in-text"),
        (r"tab\tblank\Wend", "tab\tblank end", ""),
        (r"\{8\}", "{8}", ""),
        (r"back\\slash", r"back\slash", ""),
        (r"back\\!slash", "back\\", "comment-in-text"),
        ("set {8}", "set {8}", "loose-braces"),
        ("{}", "{}", "loose-braces"),
        ("mid {8} text", "mid {8} text", ""),
        ("mid {a=b} text", "mid {a=b} text", ""),
        ('name {source="EX:a"}', "name", ""),
        ('name {source="a ! b"}', "name", ""),
        (r"(?<=\d)x", "(?<=d)x", "unknown-escape"),
        ('5" long', '5" long', ""),
        ("colon: and [brackets], commas", "colon: and [brackets], commas", ""),
        ("\u75c7\u72b6 \u2028 kept", "\u75c7\u72b6 \u2028 kept", ""),
    ],
)
def test_names(value: str, name: str, kind: str) -> None:
    found = read(term(f"name: {value}"))
    assert found.term("EX:2").name == name
    if kind:
        assert only_warning(found) == (kind, (10,))
    else:
        assert len(found.report) == 0


@pytest.mark.parametrize(
    ("line", "text", "references", "kind"),
    [
        (r'def: "A \"b\" \{8\}\nline" [EX:a\,1, http\://x.org/y]', 'A "b" {8}\nline', ("EX:a,1", "http://x.org/y"), ""),
        ('def: "" []', "", (), ""),
        ('def: "a" [EX:1 "quoted, with ] and \\" inside", EX:2 {q="x"}] {s="t"} ! c', "a", ("EX:1", "EX:2"), ""),
        ('def: "a ! b" [EX:1]', "a ! b", ("EX:1",), ""),
        ('def: "a" [ EX:1 ,EX:2 ]', "a", ("EX:1", "EX:2"), ""),
        ('def: "a" [free text, EX:2]', "a", ("free text", "EX:2"), "loose-xref"),
        ('def: "a" [free one, free two]', "a", ("free one", "free two"), "loose-xref"),
        ('def: "a" [EX:1', "a", ("EX:1",), "unclosed-list"),
        ('def: "a"', "a", (), "no-references"),
        ('def: "a" {source="A[1]"}', "a", (), "no-references"),
        ('def: "a" ! see [1]', "a", (), "no-references"),
        ('def: "a" {source="A[1]"} [EX:1]', "a", ("EX:1",), ""),
        ('def: "see [1] x" [EX:1]', "see [1] x", ("EX:1",), ""),
        ('def: "a" [EX:1, EX:"q"]', "a", ("EX:1", 'EX:"q"'), "loose-xref"),
        ('def: "a" [EX:"q", EX:1]', "a", ('EX:"q"', "EX:1"), "loose-xref"),
        ('def: "a" [EX:1] tail', "a", ("EX:1",), "text-behind-list"),
        ("def: bare text", "bare text", (), "unquoted-text"),
        ('def: "never closed', "never closed", (), "unquoted-text"),
    ],
)
def test_definitions(line: str, text: str, references: tuple[str, ...], kind: str) -> None:
    found = read(term(line))
    assert found.term("EX:2").definition == text
    assert found.term("EX:2").references == references
    assert [e.kind for e in found.report] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("line", "synonyms", "kind"),
    [
        ('synonym: "a b" EXACT []', [("a b", "EXACT")], ""),
        ('synonym: "a" EXACT layperson [EX:1, EX:2]', [("a", "EXACT")], ""),
        ('synonym: "a" NARROW [] {x="y"} ! c', [("a", "NARROW")], ""),
        ('synonym: "a" []', [("a", "RELATED")], ""),
        ('broad_synonym: "a" []', [("a", "BROAD")], ""),
        ('synonym: "a" SENSU []', [("a", "RELATED")], "bad-scope"),
        ('synonym: "a" EXACT', [("a", "EXACT")], "no-references"),
        ("synonym: a EXACT []", [], "unquoted-text"),
        ('synonym: "a EXACT []', [], "unquoted-text"),
        ('synonym: "a" exact []', [("a", "EXACT")], "odd-scope"),
        ('synonym: "a" Narrow layperson []', [("a", "NARROW")], "odd-scope"),
        ('synonym: "a" EXACT one two []', [("a", "EXACT")], "extra-words"),
        ('synonym: "a" EXACT BROAD []', [("a", "EXACT")], "extra-words"),
        ('broad_synonym: "a" EXACT []', [("a", "BROAD")], "extra-words"),
        ('synonym: "a" EXACT {source="A[1]"} []', [("a", "EXACT")], ""),
        ('synonym: "" EXACT []', [], "empty-synonym"),
    ],
)
def test_synonyms(line: str, synonyms: list[tuple[str, str]], kind: str) -> None:
    found = read(term(line))
    assert [(s.text, s.scope) for s in found.term("EX:2").synonyms] == synonyms
    assert [(e.kind, e.lines) for e in found.report] == ([(kind, (10,))] if kind else [])


def test_a_synonym_left_out_is_spelled_out() -> None:
    found = read(term("synonym: a EXACT []", 'synonym: "b EXACT []'))
    first, second = (e.message for e in found.report.warnings)
    assert "is not in quotation marks" in first and "'a EXACT []' was left out" in first
    assert "has no closing quotation mark" in second and "'\"b EXACT []' was left out" in second


def test_a_synonym_counts_once_per_scope() -> None:
    found = read(term('synonym: "a" EXACT []', 'synonym: "a" EXACT [EX:x]', 'synonym: "a" BROAD []'))
    assert [(s.text, s.scope) for s in found.term("EX:2").synonyms] == [("a", "EXACT"), ("a", "BROAD")]


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("UMLS:C0265660", True),
        ('reactome:R-1 "text with blanks"', True),
        ('EX:1 "text" {q="v"} ! comment', True),
        ("EX:1 ! comment", True),
        (r"Image:http\://x.org/a\ b", True),
        ("EC 2.7.1.190", False),
        ("xref (EX2:0990149)", False),
        ('EX:1 "never closed', False),
        ("", False),
    ],
)
def test_cross_reference_lines(value: str, good: bool) -> None:
    assert (read_xref(value) is None) is good
    found = read(term(f"xref: {value}"))
    assert found.live_count == 2
    assert [e.kind for e in found.report.warnings] == ([] if good else ["loose-xref"])


def test_continued_lines_are_one_line_with_the_number_of_the_first() -> None:
    text = term("name: one \\", "two", r"xref: EX:ends\\", "is_a: EX:1 \\", "! root", "is_a: \\", "  EX:9")
    found = read(text)
    assert found.term("EX:2").name == "one two"
    assert found.term("EX:2").parents == ("EX:1", "EX:9")
    (placeholder,) = found.report.warnings
    assert placeholder.lines == (line_of(text, "is_a: \\"),)
    assert list(logical_lines(["a\\", "b\\"])) == [(1, "ab")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_marks(end: str, encoding: str, last: bool) -> None:
    text = (HEAD + ROOT + "[Term]\nid: EX:2  \nname: \u03b2 \nis_a: EX:1" + ("\n" if last else "")).replace("\n", end)
    for read_one in (read_obo, load_ontology):
        found = read_one(text.encode(encoding))
        assert found.ids == ("EX:1", "EX:2")
        assert tuple(found.names) == ("root", "\u03b2")
        assert found.header["format-version"] == ("1.4",)
        assert found.term("EX:2").parents == ("EX:1",)
        assert len(found.report) == 0


def test_bytes_that_are_not_utf_8_cost_one_warning_a_line() -> None:
    found = read_obo((HEAD + ROOT).encode() + b"[Term]\nid: EX:2\nname: caf\xe9\nis_a: EX:1\n")
    assert found.term("EX:2").name == "caf\ufffd"
    assert only_warning(found) == ("encoding", (10,))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_compression_goes_by_content_and_a_cut_stream_is_refused(pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    text = (HEAD + ROOT + "".join(term(f"name: n{n}", "is_a: EX:1", number=n) for n in range(2, 400))).encode()
    packed = pack(text)
    path = tmp_path / "looks_plain.obo"
    path.write_bytes(packed)
    assert read_obo(path).live_count == 399
    assert read_obo(path).sha256 == read_obo(text).sha256
    with path.open("rb") as file:
        assert read_obo(file).live_count == 399
    for cut in (len(packed) // 2, len(packed) - 3):
        path.write_bytes(packed[:cut])
        for read_one in (read_obo, load_ontology):
            with pytest.raises(ParseError) as refused:
                read_one(path)
            assert str(path) in str(refused.value)
            assert "damaged or incomplete" in refused.value.found


def test_zip_holds_one_file() -> None:
    def packed(*names: str) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in names:
                archive.writestr(name, HEAD + ROOT)
        return buffer.getvalue()

    assert read_obo(packed("a.obo")).live_count == 1
    with pytest.raises(ParseError) as refused:
        read_obo(packed("a.obo", "b.obo"))
    assert refused.value.found == "the archive holds 2 files"
    with pytest.raises(ParseError):
        read_obo(packed("a.obo")[:-10])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b'<?xml version="1.0"?>\n<rdf:RDF/>',
        b'{"type": "bundle", "objects": []}',
        b"id\tname\nEX:1\troot\n",
        b"\x89PNG\r\n\x1a\n\x00\x00",
        HEAD.encode(),
        (HEAD + "[Typedef]\nid: part_of\n").encode(),
        (HEAD + "[Term]\nid: EX:1\nis_obsolete: true\n").encode(),
        (HEAD + "[Term]\nname: no id\n").encode(),
    ],
)
def test_what_holds_no_live_term_is_refused_with_all_three_parts(content: bytes) -> None:
    for read_one in (read_obo, load_ontology):
        with pytest.raises(ParseError) as refused:
            read_one(content, name="some.file")
        assert "some.file" in refused.value.asked
        assert refused.value.found
        assert refused.value.do


def test_a_missing_file_and_a_text_stream() -> None:
    with pytest.raises(DataMissing):
        read_obo("/nowhere/at/all.obo")
    with pytest.raises(TypeError):
        read_obo(io.StringIO(HEAD + ROOT))  # type: ignore[arg-type]


def test_loader_and_reader_take_the_same_files() -> None:
    for content in (
        b"ontology: ex\r\r[Term]\rid: EX:1\rname: r\r",
        b"! made by x\rformat-version: 1.2\r\r[Term]\rid: EX:1\rname: r\r",
        b"! license\n" * 10000 + b"[Term]\nid: EX:1\nname: r\n",
        b"\xef\xbb\xbf\xef\xbb\xbf[Term]\nid: EX:1\nname: r\n",
        "\u200b[Term]\nid: EX:1\nname: r\n".encode(),
        b" \t[ term ]\nid: EX:1\nname: r\n",
    ):
        for read_one in (read_obo, load_ontology):
            assert read_one(content).ids == ("EX:1",)
    assert not can_read(b"\n" * 200000 + b"x" + b" " * 200000)


@pytest.mark.parametrize(
    ("content", "look"),
    [
        (b"<!DOCTYPE html>\n<pre>\nformat-version: 1.2\n[Term]\nid: EX:1\n</pre>", "a web page (HTML)"),
        (b"\xef\xbb\xbf \n<HTML><pre>\n[Term]\nid: EX:1\n", "a web page (HTML)"),
        (b'<?xml version="1.0"?>\n<rdf:RDF/>\n[Term]\nid: EX:1\n', "OWL or other RDF in XML"),
        (b"<table>\n[Term]\nid: EX:1\n</table>", "it looks like XML"),
        ((HEAD + ROOT).encode("utf-16-le"), "UTF-16 without a byte-order mark"),
        (b"\x00\x01\x02\x03 nothing known", "binary or compressed in a way that is not read"),
    ],
)
def test_what_only_resembles_obo_is_refused_by_its_looks(content: bytes, look: str) -> None:
    for read_one in (read_obo, load_ontology):
        with pytest.raises(ParseError) as refused:
            read_one(content)
        assert look in refused.value.found


def test_sniffing() -> None:
    assert can_read(HEAD.encode())
    assert can_read(b"\xef\xbb\xbf! comment\n[Term]\nid: EX:1")
    assert can_read(("! c\r\n" + HEAD).encode("utf-16"))
    assert not can_read(b"<rdf:RDF>")
    assert not can_read(b"")
    assert not can_read(b"text about a [Term] in a line")


def test_lines_without_a_tag_and_unknown_things_are_named() -> None:
    text = (
        term("this line has no colon", "nor is this: a tag", "is_a: EX:1")
        + "[Instance]\nid: EX:i\nname: not a term\n\n[Future]\nid: EX:f\n\n"
        + term("made_up: x", number=3)
        + term("made_up: y", number=4)
    )
    found = read(text)
    assert found.ids == ("EX:1", "EX:2", "EX:3", "EX:4")
    assert [(e.kind, e.lines) for e in found.report.warnings] == [("no-tag", (10,)), ("no-tag", (11,))]
    notes = {e.kind: e.lines for e in found.report.notes if e.kind == "unknown-tag"}
    assert notes == {"unknown-tag": (line_of(text, "made_up: x"), line_of(text, "made_up: y"))}
    assert sorted(e.message.split("]")[0] for e in found.report.notes if e.kind == "unread-stanza") == [
        "stanzas of type [Future",
        "stanzas of type [Instance",
    ]


def test_a_stanza_without_id_takes_nothing_with_it() -> None:
    found = read("[Term]\nname: lost\nis_a: EX:1\n\n" + term("name: kept", "is_a: EX:1"))
    assert found.ids == ("EX:1", "EX:2")
    assert found.term("EX:2").name == "kept"
    assert only_warning(found) == ("no-id", (8,))


def test_the_id_need_not_come_first() -> None:
    found = read("[Term]\nname: two\nis_a: EX:1\nid: EX:2 ! two\n")
    assert found.term("EX:2").parents == ("EX:1",)
    assert found.term("EX:2").name == "two"
    assert len(found.report) == 0


def test_a_missing_stanza_head_does_not_pour_one_term_into_another() -> None:
    found = read("[Term]\nid: EX:2\nname: two\nis_a: EX:1\n\nid: EX:3\nname: three\nis_a: EX:2\n")
    assert found.term("EX:2").name == "two"
    assert found.term("EX:2").parents == ("EX:1",)
    assert found.term("EX:3").name == "three"
    assert found.term("EX:3").parents == ("EX:2",)
    assert only_warning(found) == ("second-id", (13,))


@pytest.mark.parametrize("head", ["[Term", "[term]", "[ Term ] trailing", "[TERM]"])
def test_a_damaged_stanza_head_still_opens_a_stanza(head: str) -> None:
    found = read(f"{head}\nid: EX:2\nname: two\nis_a: EX:1\n")
    assert found.term("EX:2").parents == ("EX:1",)
    assert found.term("EX:1").name == "root"
    assert only_warning(found) == ("stanza-head", (8,))


def test_a_bracket_line_inside_a_stanza_is_no_stanza_head() -> None:
    found = read('[Term]\nid: EX:2\ndef: "broken\n[EX:ref]\nis_a: EX:1\n')
    assert found.term("EX:2").parents == ("EX:1",)
    assert [e.lines for e in found.report.warnings] == [(11,), (10,)]


@pytest.mark.parametrize(
    ("value", "retired", "warned"),
    [
        ("true", True, False),
        ("true ! old", True, False),
        ("false", False, False),
        ("TRUE", True, True),
        ("1", True, True),
        ('"true"', True, True),
        ("perhaps", False, True),
        ("", False, True),
    ],
)
def test_the_retired_mark(value: str, retired: bool, warned: bool) -> None:
    found = read(term("name: two", f"is_obsolete: {value}"))
    assert found.resolve("EX:2").status == ("retired" if retired else "live")
    assert [e.lines for e in found.report] == ([(11,)] if warned else [])


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("2009-08-10T10:46:43Z", True),
        ("2009-08-10T10:46:43.123+01:00", True),
        ("2009-08-10", True),
        ("2009-08", True),
        ("2009", True),
        ("2009-13-10T10:46:43Z", False),
        ("2009-02-30", False),
        ("201z-02-03T04:05:06Z", False),
        ("10/08/2009", False),
        ("", False),
    ],
)
def test_creation_dates(value: str, good: bool) -> None:
    assert is_iso_date(value) is good
    found = read(term(f"creation_date: {value}"))
    assert [e.lines for e in found.report] == ([] if good else [(10,)])


def test_header_dates_and_versions() -> None:
    assert read_header_date("07:02:2018 10:27") == "2018-02-07"
    for wrong in ("06:21:2022 12:00", "2018-02-07", "07:02:2018", "31:02:2018 10:00", ""):
        assert read_header_date(wrong) is None

    def version(*lines: str) -> str:
        return read_obo(("\n".join(lines) + "\n" + ROOT).encode()).version

    assert version("data-version: hp/releases/2025-01-16") == "2025-01-16"
    assert version("data-version: releases/2020-01-01/") == "2020-01-01"
    assert version("data-version: http://purl.obolibrary.org/obo/hp/releases/2025-01-16/hp.owl") == "2025-01-16"
    assert version("data-version: 4.1.30 ! beta") == "4.1.30"
    assert version('property_value: owl:versionInfo "2024-02-03" xsd:string', "date: 07:02:2018 10:27") == "2024-02-03"
    assert version("date: 07:02:2018 10:27") == "2018-02-07"
    assert version("date: 27:13:2018 10:27") == ""
    assert version("saved-by: nobody") == ""


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("ontology: hp.obo", "hp"),
        ("ontology: hp", "hp"),
        ("ontology: http://purl.obolibrary.org/obo/hp.owl", "hp"),
        ("ontology: hp/hp-base.obo ! x", "hp/hp-base"),
        ("saved-by: nobody", "ex"),
    ],
)
def test_header_names(tag: str, name: str) -> None:
    assert read_obo(f"{tag}\n{ROOT}".encode()).name == name


def test_logical_tags_are_checked_but_draw_no_edge() -> None:
    found = read(
        term("name: two", "is_a: EX:1")
        + term(
            "is_a: EX:2",
            "intersection_of: EX:1 ! the genus is a grandparent",
            "intersection_of: part_of EX:9",
            "union_of: EX:8",
            "equivalent_to: EX:7",
            "disjoint_from: EX:6",
            number=3,
        )
    )
    assert found.ids == ("EX:1", "EX:2", "EX:3")
    assert found.term("EX:3").parents == ("EX:2",)
    assert len(found.relations) == 0
    assert len(found.report) == 0
    broken = read(term("intersection_of: part_of EX:1 extra", "union_of:", "disjoint_from: EX:1 root"))
    assert [e.lines for e in broken.report.warnings] == [(10,), (11,), (12,)]


def test_relations_count_once_and_undeclared_ones_are_noted() -> None:
    found = read(
        term("relationship: part_of EX:1", 'relationship: part_of EX:1 {source="x"} ! again', "relationship: near EX:1")
        + "[Typedef]\nid: part_of\nname: part of\nis_a: overlaps\n"
    )
    assert found.term("EX:2").relations == (("near", "EX:1"), ("part_of", "EX:1"))
    assert len(found.relations) == 2
    assert found.relation_names == ("", "part of")
    assert [(e.severity, e.kind, e.lines) for e in found.report] == [("note", "undeclared-relation", (12,))]
    assert found.ids == ("EX:1", "EX:2")


def test_is_a_written_as_a_relationship_is_an_edge_with_a_warning() -> None:
    found = read(term("relationship: is_a EX:1 ! root"))
    assert found.term("EX:2").parents == ("EX:1",)
    assert found.relation_ids == ()
    assert only_warning(found) == ("is-a-relation", (10,))


def test_conditional_inclusions_draw_no_edge() -> None:
    found = read(
        term(
            'is_a: EX:1 {gci_relation="part_of", gci_filler="NCBITaxon:1"}',
            'relationship: part_of EX:1 {gci_filler="NCBITaxon:1", gci_relation="part_of"} ! root',
        )
    )
    assert len(found.parents) == len(found.relations) == 0
    assert {(e.severity, e.kind) for e in found.report} == {("note", "conditional-edge")}


def test_strict_names_the_first_line_whatever_was_noticed_first() -> None:
    text = term("is_a: EX:2", "is_a: EX:1") + term("is_a: EX:1 root", number=3)
    lenient = read(text)
    assert [e.lines for e in lenient.report.warnings] == [(16,), (10,)]
    with pytest.raises(ParseError) as refused:
        read(text, strict=True)
    assert refused.value.line == 10
    assert read(term("is_a: EX:1"), strict=True).live_count == 2


def test_strict_lets_notes_pass() -> None:
    found = read(term("name: a") + term("name: a"), strict=True)
    assert [e.severity for e in found.report] == ["note"]


def test_essential_cases_inline() -> None:
    found = read(
        term("is_a: EX:1", "is_a: EX:2 ! itself")
        + term("is_a: EX:1", "is_a: QQ:1", number=3)
        + term("is_obsolete: true", "replaced_by: EX:5", number=4)
        + term("is_obsolete: true", "replaced_by: EX:3", number=5)
        + term("is_obsolete: true", "consider: EX:4", number=6)
        + term("alt_id: EX:8", "is_a: QQ:1", number=7)
    )
    assert [(e.kind, e.ids) for e in found.report.warnings] == [
        ("self-loop", ("EX:2",)),
        ("undefined-term", ("QQ:1",)),
    ]
    assert found.live_count == 4
    assert found.term("EX:2").parents == ("EX:1",)
    assert found.resolve("EX:4").path == ("EX:4", "EX:5", "EX:3")
    assert found.resolve("EX:6").candidates == ("EX:3",)
    assert found.resolve("EX:8").used == "EX:7"


def test_a_cycle_is_refused_by_reader_and_loader() -> None:
    text = HEAD + term("is_a: EX:3") + term("is_a: EX:2", number=3)
    for read_one in (read_obo, load_ontology):
        with pytest.raises(CycleFound) as refused:
            read_one(text.encode())
        assert refused.value.cycle == ("EX:2", "EX:3", "EX:2")


def test_reports_name_the_file_as_given(tmp_path: Path) -> None:
    path = tmp_path / "x.obo"
    path.write_text(HEAD + ROOT + term("is_a: EX:1 tail"))
    (entry,) = read_obo(path).report
    assert entry.path == str(path)
    (entry,) = read_obo(path, name="other").report
    assert entry.path == "other"
    assert str(entry).startswith("other:10: warning: ")


def test_syntax_pieces() -> None:
    assert unescape("plain") == "plain"
    assert unescape("ends\\") == "ends\\"
    assert split_tail('x {a="b"} ! c') == ("x", True)
    assert split_tail("x {b} y") == ("x {b} y", False)
    assert read_ids("part_of EX:1", 2) == (("part_of", "EX:1"), None)
    assert read_text("") == ("", None)
    assert read_quoted('"a" EXACT t [x:1, y:2]')[:3] == ("a", ("EXACT", "t"), ("x:1", "y:2"))


def test_hostile_lines_take_no_time() -> None:
    long = "a" * 20000
    lines = [
        f"xref: {long} {long}",
        f'def: "{long}',
        f'def: "x" [{"a, " * 5000}',
        f'synonym: "x" {"W " * 5000}[',
        f"is_a: EX:1 {{{'a=b,' * 5000}",
        f"name: {'{' * 5000}",
        f"name: {chr(92) * 5001}",
        f"is_a: EX:1 {{a={' ' * 20000}x",
        f"is_a: EX:1 {{a=b{' ' * 20000}x=",
        f'def: "x" [a{" " * 20000}x]',
        f"xref: a{' ' * 20000}x",
        f"name: {'{a=b,' * 4000}",
    ]
    start = time.process_time()
    assert read(term(*lines)).live_count == 2
    assert time.process_time() - start < 10  # quadratic matching of any of these takes minutes


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(alphabet=' \t!{}[]"\\:,=abcEX1\u00e9', max_size=30), max_size=6), st.binary(max_size=20))
def test_no_line_breaks_the_reader(lines: list[str], tail: bytes) -> None:
    tags = ["name: ", "def: ", "synonym: ", "is_a: ", "xref: ", "relationship: ", "id: ", "[", ""]
    text = "".join(f"{tags[i % len(tags)]}{line}\n" for i, line in enumerate(lines))
    try:
        found = read_obo((HEAD + ROOT + "[Term]\nid: EX:2\n" + text).encode() + tail)
    except (OntologyError, CycleFound):
        return
    assert found.live_count >= 1
    assert found.ids == tuple(sorted(found.ids))


@pytest.mark.parametrize(
    ("value", "text"),
    [("root ! the root", "root"), ('root {source="x"} ! the root', "root"), ("a !b", "a"), ("! all", "")],
)
def test_a_legal_comment_behind_a_name_is_a_note(value: str, text: str) -> None:
    found = read(term(f"name: {value}") + term(f"name: {value}", number=3))
    assert found.term("EX:2").name == text
    assert not found.report.warnings
    assert [e.lines for e in found.report if e.kind == "comment"] == [(10, 14)]  # one note for all of them


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("is_a: EX:1, EX:3", "text-behind-id"),
        ("is_a: EX:1,EX:3", "text-behind-id"),
        ('is_a: "EX:1", "EX:3"', "text-behind-id"),
        ("is_a: EX:1;", "odd-id"),
        ("is_a: EX:1, ! root", "odd-id"),
        ('is_a: "EX:1"', "odd-id"),
        ("is_a: EX:1}", "odd-id"),
        ("is_a: EX:1\u200b", "odd-id"),
        ("is_a: \u200bEX:1\ufeff ! root", "odd-id"),
        ("is_a: EX\u2060:1", "odd-id"),
        ('is_a: {x="y"} EX:1', "text-behind-id"),
        ('is_a: EX:1 {a="b"} {c="d"} ! root', "text-behind-id"),
    ],
)
def test_what_clings_to_an_id_makes_no_new_id(line: str, kind: str) -> None:
    found = read(term(line))
    assert found.ids == ("EX:1", "EX:2")
    assert found.term("EX:2").parents == ("EX:1",)
    assert only_warning(found) == (kind, (10,))


def test_a_comma_inside_an_id_belongs_to_it() -> None:
    found = read(
        term("is_a: CHEM:1,2-x", r"is_a: EX\,1") + "[Term]\nid: CHEM:1,2-x\nname: c\n\n[Term]\nid: EX,1\nname: d\n"
    )
    assert found.term("EX:2").parents == ("CHEM:1,2-x", "EX,1")
    assert len(found.report) == 0


def test_ids_never_come_from_a_qualifier_block() -> None:
    found = read(
        term('relationship: part_of {x="y"} EX:1', "relationship: part_of {x=y EX:1") + "[Typedef]\nid: part_of\n"
    )
    assert found.term("EX:2").relations == (("part_of", "EX:1"),)
    assert found.ids == ("EX:1", "EX:2")
    assert [(e.kind, e.lines) for e in found.report] == [("text-behind-id", (10,)), ("missing-id", (11,))]


def test_a_list_of_replacements_is_read_whole_and_so_not_followed() -> None:
    found = read(
        term("name: two")
        + term("is_obsolete: true", "replaced_by: EX:1, EX:2", number=3)
        + term("is_obsolete: true", 'consider: EX:1 "EX:2"', number=4)
        + term("is_obsolete: true", "replaced_by: EX:1 the root", number=5)
    )
    assert found.resolve("EX:3").status == "retired"
    assert found.resolve("EX:3").candidates == found.resolve("EX:4").candidates == ("EX:1", "EX:2")
    assert found.resolve("EX:5").used == "EX:1"
    assert [e.kind for e in found.report] == ["several-ids", "several-ids", "text-behind-id"]


def test_qualifier_keys_are_read_from_the_block_alone() -> None:
    assert qualifier_keys('EX:1 {a="b, c=d", e = f g , h=} ! i=j') == {"a", "e", "h"}
    assert qualifier_keys("EX:1 ! {a=b}") == qualifier_keys("EX:1 {a b}") == frozenset()
    for line in (
        'is_a: EX:1 {comment="see gci_relation docs"} ! root',
        'is_a: EX:1 {comment="x, gci_relation=y"}',
        "is_a: EX:1 {source=x} ! {gci_relation=y}",
        "is_a: EX:1 ! gci_relation {",
    ):
        found = read(term(line))
        assert found.term("EX:2").parents == ("EX:1",)
        assert len(found.report) == 0


def test_marks_where_files_were_joined() -> None:
    one, two = HEAD + ROOT, term("name: two", "is_a: EX:1")
    found = read_obo(("\ufeff\ufeff" + one + "\ufeff" + two.replace("EX:1\n", "EX:1\ufeff\n")).encode())
    assert found.header["format-version"] == ("1.4",)
    assert found.term("EX:2").parents == ("EX:1",)
    assert len(found.report) == 0


def test_invisible_characters_stay_in_names_and_go_from_ids() -> None:
    found = read("\u200b[Term]\nid:\u200bEX:2\nname: a\u200db\n\u200bis_a: EX:1\n")
    assert found.ids == ("EX:1", "EX:2")
    assert (found.term("EX:2").name, found.term("EX:2").parents) == ("a\u200db", ("EX:1",))
    assert [(e.severity, e.kind, e.lines) for e in found.report] == [
        ("warning", "stanza-head", (8,)),
        ("warning", "odd-tag", (11,)),
        ("warning", "odd-id", (9,)),
    ]


def test_nul_characters_cost_one_warning_a_line() -> None:
    found = read_obo((HEAD + ROOT + term("name: t\0w\0o", "is_a: \0EX:1")).encode())
    assert (found.term("EX:2").name, found.term("EX:2").parents) == ("two", ("EX:1",))
    assert [(e.kind, e.lines) for e in found.report] == [("encoding", (10,)), ("encoding", (11,))]


def test_tags_in_another_spelling() -> None:
    found = read_obo(
        b"Format-Version: 1.4\ndata_version: 7\n\n[Term]\nID: EX:1\nNAME: root\n\n"
        b"[Term]\nid: EX:2\nname: two\nIs_A: EX:1\nis-a: EX:1\nfrobnicate: x\n\n[Typedef]\nId: r\nName: rel\n"
    )
    assert (found.version, found.header["format-version"]) == ("7", ("1.4",))
    assert (found.term("EX:1").name, found.term("EX:2").parents) == ("root", ("EX:1",))
    assert (found.relation_ids, found.relation_names) == (("r",), ("rel",))
    assert {n for e in found.report.warnings if e.kind == "odd-tag" for n in e.lines} == {1, 2, 5, 6, 11, 12, 16, 17}
    assert [e.kind for e in found.report.notes] == ["unknown-tag"]


def test_retired_and_not_retired_in_one_stanza() -> None:
    found = read(term("is_obsolete: true", "is_obsolete: false"))
    assert found.resolve("EX:2").status == "retired"
    assert only_warning(found) == ("half-retired", (9, 10, 11))


def test_properties_that_say_what_obo_has_tags_for() -> None:
    address = "http://purl.obolibrary.org/obo/"
    found = read(
        term("is_obsolete: true", "property_value: IAO:0100001 EX:1")
        + term('property_value: owl:deprecated "true" xsd:boolean', number=3)
        + term(
            "is_obsolete: true",
            f'property_value: {address}IAO_0100001 "{address}EX_1" xsd:anyURI',
            number=4,
        )
        + term(
            'property_value: owl:deprecated "false" xsd:boolean', 'property_value: IAO:0000233 "x" xsd:string', number=5
        )
    )
    assert found.resolve("EX:2").used == found.resolve("EX:4").used == "EX:1"
    assert found.resolve("EX:3").status == "retired"
    assert found.ids == ("EX:1", "EX:5")
    assert [(e.severity, e.kind, e.lines) for e in found.report] == [
        ("note", "property", (11, 22)),
        ("note", "property", (16,)),
    ]


def test_header_macros_are_noted() -> None:
    found = read_obo(("treat-xrefs-as-is_a: EX\n" + HEAD + ROOT).encode())
    assert [(e.severity, e.kind, e.lines) for e in found.report] == [("note", "macro", (1,))]


def test_terms_without_a_name_share_one_note() -> None:
    found = read("[Term]\nid: EX:2\n\n[Term]\nid: EX:3\nname:\n\n[Term]\nid: EX:4\nis_obsolete: true\n")
    (note,) = found.report
    assert (note.severity, note.kind, note.lines, note.ids) == ("note", "nameless", (9, 12), ("EX:2", "EX:3"))


def test_a_stray_backslash_takes_no_stanza_with_it() -> None:
    found = read("[Term]\nid: EX:2\nname: path C:\\\n\n[Term]\nid: EX:3\nname: three\\\n[Term]\nid: EX:4\nname: four\n")
    assert found.ids == ("EX:1", "EX:2", "EX:3", "EX:4")
    assert tuple(found.names) == ("root", "path C:", "three", "four")
    assert len(found.report) == 0


def test_a_stanza_without_id_is_one_fault() -> None:
    found = read("[Term]\nid:\nname: x\n\n[Term]\nid: ! c\nid: EX:2\nname: y\n")
    assert [(e.kind, e.lines) for e in found.report] == [("no-id", (8, 9)), ("missing-id", (13,))]
    assert found.ids == ("EX:1", "EX:2")


@pytest.mark.slow
def test_size_alone_takes_no_time() -> None:
    # Quadratic work on any of these takes from half a minute to an hour; together they take a few seconds.
    size = 20000
    texts = [
        "".join(
            f"[Term]\nid: R:{n}\nis_obsolete: true\nreplaced_by: {f'R:{n + 1}' if n < size else 'EX:1'}\n"
            for n in range(size + 1)
        ),
        "".join(
            f"[Term]\nid: R:{n:06}\nis_obsolete: true\nreplaced_by: R:{n + 1:06}\nreplaced_by: R:{max(n, 1) - 1:06}\n"
            for n in range(size)
        ),
        term(*["is_a: EX:1"] * size),
        ROOT * size,
        term(*(f"relationship: r{n} EX:1" for n in range(size))),
        term(*(f'def: "x" [A:{n}]' for n in range(size))),
        "".join(f"[Term]\nid: R:{n}\nis_obsolete: true\nreplaced_by: EX:1\n" for n in range(size))
        + term(*(f"is_a: R:{n}" for n in range(size))),
        "".join(
            f"[Term]\nid: R:{n}\nis_obsolete: true\nreplaced_by: R:{n + 1}\nconsider: L:{n}\n[Term]\nid: L:{n}\n"
            for n in range(size // 5)
        ),
        term("name: " + "a\\\n" * size),
        term("name: " + "{" * size, "name: " + "{a=b} " * size, "name: " + '{a="b",' * size),
        term("is_a: " + "{a=b} " * size, "is_a: " + '{a="b",' * size, "is_a: " + "EX:1," * size),
        term('def: "x" ' + '{a="[' * size, 'synonym: "x" ' + '" {' * size + "[]"),
    ]
    start = time.process_time()
    for text in texts:
        assert read(text).live_count >= 1
    assert time.process_time() - start < 60


@pytest.mark.parametrize("spelled", ["owl:deprecated", r"owl\:deprecated", "deprecated"])
def test_a_deprecated_property_retires_however_it_is_escaped(spelled: str) -> None:
    text = (
        f'[Term]\nid: EX:1\nname: root\n\n[Term]\nid: EX:2\nname: old\nproperty_value: {spelled} "true" xsd:boolean\n'
    )
    assert read_obo(text.encode()).resolve("EX:2").status == "retired"


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ('seen_in "a \\"text\\"" xsd:string {source="x"} ! remark', True),
        ("seen_in EX:1", True),
        ("seen_in 2016-06-30T15:17:41Z xsd:dateTime", True),
        ("seen_in http\\://example.org/a#b", True),
        ("seen_in", False),
        ("", False),
        ("seen_in ! remark", False),
        ('seen_in "never closed', False),
        ("seen_in some free text", False),
    ],
)
def test_properties(value: str, good: bool) -> None:
    ontology = read(term(f"property_value: {value}"))
    assert [(e.kind, e.lines) for e in ontology.report] == ([] if good else [("bad-property", (10,))])
    assert ontology.live_count == 2


def test_the_mark_of_dos_for_the_end_is_no_line() -> None:
    content = (HEAD + ROOT + term("is_a: EX:1")).replace("\n", "\r\n").encode() + b"\x1a"
    ontology = read_obo(content)
    assert ontology.term("EX:2").parents == ("EX:1",)
    assert not ontology.report.entries


def test_addresses_of_ids_go_by_the_id_spaces_that_the_header_names() -> None:
    head = (
        'idspace: EFO http\\://www.ebi.ac.uk/efo/EFO_ "Factors" ! here\nidspace: XX\nidspace: YY urn:x: "no address"\n'
    )
    ontology = read_obo((head + HEAD + ROOT + "[Term]\nid: EFO:1\nname: a\n[Term]\nid: AP_SV:2\nname: b\n").encode())
    for term_id, address in (
        ("EFO:1", "http://www.ebi.ac.uk/efo/EFO_1"),
        ("AP_SV:2", "http://purl.obolibrary.org/obo/AP_SV_2"),
        ("EX:1", "http://purl.obolibrary.org/obo/EX_1"),
    ):
        assert ontology.iris.iri_of(term_id) == address
        assert ontology.resolve(address).used == term_id
    assert ontology.resolve("http://purl.obolibrary.org/obo/EFO_1").status == "unknown"
