"""The reader of CPC on files made here: title lists, schemes, archives of both, and symbols in any spelling."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping

import pytest

from sma_gpu.errors import ParseError
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.cpc import can_read, read_cpc, release_of, version_in
from sma_gpu.ontologies.readers.cpc_items import plain_title
from sma_gpu.ontologies.readers.cpc_symbol import join_parts, read_symbols, spell_symbol
from sma_gpu.ontologies.spelling import respell

TITLES = (
    "A\t\tHUMAN NECESSITIES",
    "A01\t\tAGRICULTURE",
    "A01B\t\tSOIL WORKING",
    "A01B1/00\t0\tHand tools (edge trimmers A01G3/06  {; machines A01B35/00})",
    "A01B1/02\t1\tSpades; Shovels",
    "A01B1/022\t2\t{Collapsible}",
    "A01B2001/024\t2\t{Indexing}",
    "A01B1/04\t2\twith teeth",
    "A01B3/00\t0\tPloughs",
    "A01B2200/00\t0\tSeries",
)


def titles(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def parents(ontology: Ontology) -> dict[str, tuple[str, ...]]:
    return {term: ontology.term(term).parents for term in ontology.ids}


def kinds(ontology: Ontology) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(e.severity, e.kind, e.lines) for e in ontology.report]


def test_levels_tell_what_stands_below_what() -> None:
    cpc = read_cpc(titles(*TITLES))
    assert parents(cpc) == {
        "A": (),
        "A01": ("A",),
        "A01B": ("A01",),
        "A01B1/00": ("A01B",),
        "A01B1/02": ("A01B1/00",),
        "A01B1/022": ("A01B1/02",),
        "A01B2001/024": ("A01B1/02",),  # not below A01B2001/00, which there is not
        "A01B1/04": ("A01B1/02",),
        "A01B3/00": ("A01B",),
        "A01B2200/00": ("A01B",),
    }
    assert cpc.marks == {"additional-only": ("A01B2001/024", "A01B2200/00")}
    assert (cpc.term("A01B1/00").name, cpc.term("A01B1/022").name) == ("Hand tools", "Collapsible")
    assert cpc.term("A01B1/00").definition == "Hand tools (edge trimmers A01G3/06  {; machines A01B35/00})"
    assert not kinds(cpc)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Toys (balls H99Q31/00)", "Toys"),
        ("Bread (A21D takes precedence); Cake", "Bread; Cake"),
        ("Vehicles (in general)", "Vehicles (in general)"),
        ("Cars (of wood (B27M takes precedence))", "Cars (of wood)"),
        ("{Tools}, e.g. {saws}", "Tools, e.g. saws"),
        ("open (B27M", "open (B27M"),
    ],
)
def test_references_are_no_part_of_a_title(text: str, shown: str) -> None:
    assert plain_title(text) == shown


def test_faults_of_a_title_list_cost_their_line() -> None:
    lines = [
        *TITLES[:5],
        "no row at all",
        "A01B1/08\tx\tbad level",
        "B9\t\tbad symbol",
        "A01B1/062\t4\tleap",
        TITLES[4],
    ]
    cpc = read_cpc(titles("SYMBOL\tLEVEL\tTITLE", "# a comment", "", *lines))
    assert kinds(cpc)[:4] == [
        ("warning", "no-row", (9,)),
        ("warning", "no-row", (10,)),
        ("warning", "no-row", (11,)),
        ("warning", "leap", (12,)),
    ]
    assert cpc.term("A01B1/062").parents == ("A01B1/02",)
    assert len(cpc) == 6
    with pytest.raises(ParseError) as refused:
        read_cpc(titles(*TITLES, "?"), strict=True)
    assert refused.value.line == 11


def test_a_symbol_never_stands_below_another_subclass() -> None:
    cpc = read_cpc(titles("A\t\tX", "A01\t\tX", "A01B\t\tX", "A01B1/00\t0\tX", "A01C1/02\t1\tfar from home"))
    assert cpc.term("A01C1/02").parents == ("A01",)
    assert kinds(cpc) == [("warning", "leap", (5,))]


def scheme(*items: str, head: str = '<class-scheme publication-date="2020-01-01">') -> bytes:
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{head}\n{''.join(items)}</class-scheme>".encode()


def item(symbol: str, title: str, *inside: str, **attributes: str) -> str:
    flags = {"level": "7", "status": "published", **{n.replace("_", "-"): v for n, v in attributes.items()}}
    written = " ".join(f'{name}="{value}"' for name, value in flags.items())
    text = f"<class-title><title-part><text>{title}</text></title-part></class-title>" if title else ""
    return (
        f"<classification-item {written}>\n<classification-symbol>{symbol}</classification-symbol>{text}"
        f"{''.join(inside)}</classification-item>"
    )


def test_a_heading_lends_its_symbol_and_is_no_term() -> None:
    group = item("A01B1/00", "Group", item("A01B1/02", "Sub"))
    cpc = read_cpc(
        scheme(item("A01B", "CLASS", item("A01B1/00", "Heading", group, item("A01B3/00", "Next"), level="6")))
    )
    assert parents(cpc) == {
        "A01B": (), "A01B1/00": ("A01B",), "A01B1/02": ("A01B1/00",), "A01B3/00": ("A01B",)
    }  # fmt: skip
    assert cpc.term("A01B1/00").name == "Group"
    assert kinds(cpc) == [("note", "heading", (4,))]
    assert cpc.version == "2020-01-01"


def test_headings_inside_headings() -> None:
    inner = item("A01", "Class", item("A01B", "SUBCLASS"))
    cpc = read_cpc(scheme(item("A", "SECTION", item("A01", "one", item("A01", "two", inner)))))
    assert parents(cpc) == {"A": (), "A01": ("A",), "A01B": ("A01",)}
    assert cpc.term("A01").name == "Class"


def test_flags_and_statuses() -> None:
    cpc = read_cpc(
        scheme(
            item("A01B", "X", item("A01B1/00", "Y", status="frozen"), item("A01B3/00", "Z", status="deleted"),
                 not_allocatable="true", breakdown_code="true")
        )
    )  # fmt: skip
    assert cpc.marks == {"breakdown": ("A01B",), "frozen": ("A01B1/00",), "not-allocatable": ("A01B",)}
    assert cpc.resolve("A01B3/00").status == "retired"


def test_titles_of_several_parts_and_notes_beside_them() -> None:
    title = (
        "<class-title><title-part><text>One <class-ref>A01C</class-ref></text><reference><text>(not this)</text>"
        "</reference></title-part><title-part><CPC-specific-text><text>two</text></CPC-specific-text></title-part>"
        "</class-title><notes-and-warnings><note><text>not this either</text></note></notes-and-warnings>"
    )
    cpc = read_cpc(scheme(item("A01B", "", title)))
    assert cpc.term("A01B").name == "One A01C; two"


def test_entries_without_a_symbol_cost_themselves() -> None:
    inside = item("A01B1/00", "kept")
    cpc = read_cpc(scheme(item("A01B", "X", item("nothing known", "Y", inside), "<classification-item level='7'/>")))
    assert parents(cpc) == {"A01B": (), "A01B1/00": ("A01B",)}
    assert [kind for _, kind, _ in kinds(cpc)] == ["odd-symbol", "no-symbol"]  # each fault once


@pytest.mark.parametrize(
    ("doctype", "found"),
    [
        ('<!DOCTYPE x [<!ENTITY a "text">]>', "declares the entity 'a', which has a text of its own"),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', "declares the entity 'a', which stands outside"),
        ('<!DOCTYPE x [<!ENTITY % a SYSTEM "http://example.org/x">%a;]>', "declares the entity 'a'"),
    ],
)
def test_entities_are_refused(doctype: str, found: str) -> None:
    with pytest.raises(ParseError, match=found):
        read_cpc(f"{doctype}<class-scheme>{item('A01B', '&a;')}</class-scheme>".encode())


def test_a_dtd_that_stands_elsewhere_is_not_fetched() -> None:
    cpc = read_cpc(
        f'<!DOCTYPE x SYSTEM "http://example.org/x.dtd"><class-scheme>{item("A01B", "a&b;c")}</class-scheme>'.encode()
    )
    assert cpc.term("A01B").name == "ac"
    assert [kind for _, kind, _ in kinds(cpc)] == ["entity"]


def test_a_scheme_that_is_cut_off_is_refused_with_its_line() -> None:
    with pytest.raises(ParseError) as refused:
        read_cpc(scheme(item("A01B", "X"))[:-20])
    assert refused.value.line == 4
    with pytest.raises(ParseError, match="deep inside one another"):
        read_cpc(b"<class-scheme>" + b"<classification-item>" * 5000)


def packed(files: Mapping[str, bytes], kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(fileobj=out, mode=f"w:{kind}") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize("kind", ["zip", "gz", "xz", ""])
def test_sections_in_an_archive_are_one_ontology(kind: str) -> None:
    files = {
        "readme.txt": b"about this release\n",
        "cpc-section-A_20250501.txt": titles(*TITLES),
        "cpc-section-B_20250501.txt": titles("B\t\tOPERATIONS", "B01\t\tPROCESSES"),
        ".hidden": b"\0",
    }
    cpc = load_ontology(packed(files, kind))
    assert cpc.roots == ("A", "B")
    assert len(cpc) == 12
    assert cpc.version == "2025-05-01"
    assert [(e.severity, e.kind) for e in cpc.report] == [("note", "other-file")]
    assert load_ontology(packed(files, kind)).report.entries == cpc.report.entries  # the second time compiled


def test_the_sum_of_an_archive_is_that_of_its_files() -> None:
    files = {"a.txt": titles("A\t\tX"), "b.txt": titles("B\t\tX")}
    turned = dict(reversed(files.items()))
    assert read_cpc(packed(files, "zip")).sha256 == read_cpc(packed(turned, "xz")).sha256
    assert read_cpc(packed(files, "zip")).sha256 != read_cpc(packed({**files, "b.txt": titles("B\t\tY")}, "zip")).sha256


def test_files_of_a_scheme_hang_together() -> None:
    files = {
        "cpc-scheme-A.xml": scheme(item("A", "NECESSITIES", item("A01", "CLASS", item("A01B", "SOIL WORKING")))),
        "cpc-scheme-A01B.xml": scheme(item("A01B", "SOIL WORKING", item("A01B1/00", "Tools"))),
    }
    cpc = read_cpc(packed(files, "zip"))
    assert parents(cpc) == {"A": (), "A01": ("A",), "A01B": ("A01",), "A01B1/00": ("A01B",)}
    assert not kinds(cpc)
    files["cpc-scheme-A01B.xml"] = scheme(item("A01B", "ANOTHER", item("A01B1/00", "Tools"), not_allocatable="true"))
    again = read_cpc(packed(files, "zip"))
    assert [(e.kind, e.where) for e in again.report] == [
        ("second-name", "cpc-scheme-A01B.xml"),
        ("second-marks", "cpc-scheme-A01B.xml"),
    ]


@pytest.mark.parametrize("content", [b"", b"some text\n", b"<html><body>", b"a\tb\tc\n"])
def test_other_files_are_refused(content: bytes) -> None:
    assert not can_read(content)
    with pytest.raises(ParseError, match="as CPC"):
        read_cpc(content)


def test_releases_by_content_and_by_name() -> None:
    assert release_of(scheme(), "x_20250501.xml") == "2020-01-01"
    assert release_of(b"# titles of 2024-08-01\nA\t\tX\n", "") == "2024-08-01"
    assert release_of(b"A\t\tX\n", "CPCTitleList202505.zip") == "2025-05"
    assert version_in("patent-20259901.txt") == ""


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("A01L 5/00", ("A01L5/00",)),
        ("A01L0005000000", ("A01L5/00",)),
        ("a01l 0005/00", ("A01L5/00",)),
        ("A01L5/0000", ("A01L5/00",)),
        ("G06F3/04166", ("G06F3/04166",)),
        ("G06F0003041660", ("G06F3/04166",)),
        ("H99S2045/14008", ("H99S2045/14008",)),
        ("A01L 5/00 (2013.01)", ("A01L5/00",)),
        ("A01L 5/00 [2013-01]; H04W 4/02", ("A01L5/00", "H04W4/02")),
        ("CPC A01L 5/00 I F 20130101", ("A01L5/00",)),
        ("A01L5/00, A01L 5/00", ("A01L5/00",)),
        ("A01L", ("A01L",)),
        ("A01L0000000000", ("A01L",)),
        ("HELLO", ()),
        ("A01L5/0", ()),
        ("I99Z1/00", ()),
    ],
)
def test_symbols_in_any_spelling(text: str, symbols: tuple[str, ...]) -> None:
    found = read_symbols(text)
    assert found.symbols == symbols
    assert bool(found.rest) != bool(symbols)


def test_parts_of_a_symbol() -> None:
    assert spell_symbol("H", "99", "Q", "31", "002") == "H99Q31/002"
    assert spell_symbol("H", "99", "Q", "", "") == "H99Q"
    assert join_parts(["A01L", "5/00", "B01D", "H04W", "4/02", "5/00"]) == ["A01L 5/00", "B01D", "H04W 4/02", "5/00"]
    assert join_parts(["A01L", "5/00,", "A01L", "7/02;", "B01D"]) == ["A01L 5/00,", "A01L 7/02;", "B01D"]


def test_what_is_written_otherwise_is_told_and_what_nobody_can_read_stays() -> None:
    cpc = read_cpc(titles(*TITLES))
    used, changed = respell("cpc", cpc, ["A01B", "1/02", "a01b3/00 (2013.01)", "A01B1/04", "A", "A01B 1/", "spade"])
    assert used == ["A01B1/02", "A01B3/00", "A01B1/04", "A", "A01B 1/", "spade"]
    assert [(c.asked, c.used) for c in changed] == [("A01B 1/02", "A01B1/02"), ("a01b3/00 (2013.01)", "A01B3/00")]
    assert "(2013.01) beside it plays no part" in changed[1].why
    assert respell("", cpc, ["a01b"]) == (["a01b"], [])


def test_a_refused_entity_is_told_once_with_its_line() -> None:
    with pytest.raises(ParseError) as caught:
        read_cpc(b'<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "b">]>\n<class-scheme/>')
    assert (caught.value.line, str(caught.value).count("as XML")) == (2, 1)
    assert "UTF-8" not in caught.value.do


def test_titles_whose_text_stands_in_no_element_of_its_own() -> None:
    title = "<class-title><title-part>bare, <i>i.e.</i> so<reference>not this</reference>!</title-part></class-title>"
    assert read_cpc(scheme(item("A01B", "", title))).term("A01B").name == "bare, i.e. so!"


def test_faults_in_an_archive_have_file_and_line() -> None:
    gone = item("B01D1/00", "gone", item("B01D1/02", "kept"), status="deleted")
    pack = io.BytesIO()
    with zipfile.ZipFile(pack, "w") as archive:
        archive.writestr("a.txt", titles(*TITLES[:4]))
        archive.writestr("b.xml", scheme(item("B01D", "X", gone)))
    (told,) = read_cpc(pack.getvalue()).report.warnings
    assert (told.kind, told.where, told.lines) == ("retired-target", "b.xml", (5,))


def test_what_stands_in_a_deleted_entry_stands_below_the_next_one_above() -> None:
    inside = item("A01B1/02", "Sub", item("A01B1/04", "Below"))
    cpc = read_cpc(scheme(item("A01B", "X", item("A01B1/00", "Gone", inside, status="deleted"))))
    assert parents(cpc) == {"A01B": (), "A01B1/02": ("A01B",), "A01B1/04": ("A01B1/02",)}
    assert kinds(cpc) == [("warning", "retired-target", (5,))]


def test_a_reference_between_two_texts_leaves_no_blank_before_a_comma() -> None:
    title = (
        "<class-title><title-part><text>Hand tools</text><reference><text>(trimmers A01G3/06)</text></reference>"
        "<CPC-specific-text><text>, e.g. forks</text></CPC-specific-text></title-part></class-title>"
    )
    assert read_cpc(scheme(item("A01B", "", title))).term("A01B").name == "Hand tools, e.g. forks"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_schemes_in_other_encodings(encoding: str) -> None:
    text = scheme(item("A01B", "Gerät")).decode().replace("'UTF-8'", f"'{encoding.removesuffix('-sig')}'")
    assert load_ontology(text.encode(encoding)).term("A01B").name == "Gerät"
