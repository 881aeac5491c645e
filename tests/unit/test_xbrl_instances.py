"""XBRL instances: contexts behind their facts, tuples; instances inside web pages (Inline XBRL), alone or in sets."""

from __future__ import annotations

import io
import zipfile

import pytest

from sma_gpu.errors import ParseError
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.records.loading import load_records
from sma_gpu.ontologies.records.model import Records
from sma_gpu.ontologies.records.sec_names import written_day

TAXONOMY = ontology_from_parents(
    {"us-gaap:AssetsAbstract": [], "us-gaap:Assets": ["us-gaap:AssetsAbstract"], "us-gaap:Cash": ["us-gaap:Assets"]}
)
SPACES = (
    'xmlns:xbrli="http://www.xbrl.org/2003/instance" xmlns:us-gaap="http://fasb.org/us-gaap/2024" '
    'xmlns:dei="http://xbrl.sec.gov/dei/2024" xmlns:toy="http://toy.example/20231231" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)
WHOLE = '<xbrli:context id="w"><xbrli:entity/><xbrli:period/></xbrli:context>'
PART = '<xbrli:context id="p"><xbrli:entity><xbrli:segment><x/></xbrli:segment></xbrli:entity></xbrli:context>'
COVER = (
    '<ix:nonNumeric name="dei:EntityCentralIndexKey" contextRef="w">0000000007</ix:nonNumeric>'
    '<ix:nonNumeric name="dei:DocumentType" contextRef="w">10-K</ix:nonNumeric>'
)
DAY = (
    '<ix:nonNumeric name="dei:DocumentPeriodEndDate" contextRef="w" format="ixt:date-monthname-day-year-en">'
    "<b>December&#160;31</b>, 2023</ix:nonNumeric>"
)


def load(data: bytes, *, name: str = "filing") -> Records:
    return load_records(data, TAXONOMY, cache=False, name=name)


def packed(**files: str) -> bytes:
    pack = io.BytesIO()
    with zipfile.ZipFile(pack, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return pack.getvalue()


def plain(body: str) -> str:
    return f"<xbrli:xbrl {SPACES}>{body}</xbrli:xbrl>"


def page(body: str, *, hidden: str = "", resources: str = WHOLE + PART, version: str = "2013") -> str:
    header = f"<ix:header><ix:hidden>{hidden}</ix:hidden><ix:resources>{resources}</ix:resources></ix:header>"
    return (
        '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "xhtml1.dtd">'
        f'<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/{version}/inlineXBRL" {SPACES}>'
        f"<head><title>us-gaap</title></head><body>{header}{body}</body></html>"
    )


def extents(records: Records, key: str) -> dict[str, set[str]]:
    return {a.term: {row.evidence for row in a.rows} for a in records.record(key).annotations}


def test_contexts_may_stand_behind_the_facts() -> None:
    facts = '<us-gaap:Cash contextRef="p">1</us-gaap:Cash><us-gaap:Assets contextRef="w">1</us-gaap:Assets>'
    cover = "".join(
        f'<dei:DocumentType contextRef="{c}">{f}</dei:DocumentType>' for c, f in (("p", "8-K"), ("w", "10-K"))
    )
    records = load(plain(facts + cover + WHOLE + PART).encode())
    assert records.keys == ("10-K",)
    assert extents(records, "10-K") == {"us-gaap:Assets": {"whole"}, "us-gaap:Cash": {"segment"}}


def test_facts_in_tuples_count() -> None:
    inside = '<toy:Row><us-gaap:Cash contextRef="w">1</us-gaap:Cash></toy:Row>'
    assert load(plain(WHOLE + inside).encode(), name="a.xml").record("a.xml").positive == ("us-gaap:Cash",)


def test_an_instance_inside_a_web_page() -> None:
    body = (
        f"<p>{COVER}{DAY}</p>"
        '<ix:nonNumeric name="dei:EntityRegistrantName" contextRef="w" continuedAt="c1">TOY '
        "<ix:exclude>page 2</ix:exclude></ix:nonNumeric>"
        '<ix:continuation id="c2">&amp; Co</ix:continuation>'
        '<ix:continuation id="c1" continuedAt="c2">Works </ix:continuation>'
        '<ix:nonNumeric name="toy:PolicyTextBlock" contextRef="w">We hold '
        '<ix:nonFraction name="us-gaap:Cash" contextRef="p" unitRef="u" scale="6" format="ixt:num-dot-decimal">5'
        "</ix:nonFraction></ix:nonNumeric>\n"
        '<ix:nonFraction name="us-gaap:Assets" contextRef="w" unitRef="u" xsi:nil="true"/>'
    )
    records = load(
        page(body, hidden='<ix:nonFraction name="us-gaap:Assets" contextRef="w">9</ix:nonFraction>').encode()
    )
    (key,) = records.keys
    assert key == "0000000007:10-K:2023-12-31"
    assert records.record(key).name == "TOY Works & Co"
    assert extents(records, key) == {"us-gaap:Assets": {"whole"}, "us-gaap:Cash": {"segment"}}
    assert records.record(key).attributes["own-concepts"] == ("PolicyTextBlock",)
    assert [row.line for a in records.record(key).annotations for row in a.rows] == [1, 1]
    assert [(e.severity, e.kind) for e in records.report] == [
        ("note", "passed-over"), ("warning", "own-concepts"), ("note", "no-value")
    ]  # fmt: skip


def test_the_older_form_and_other_targets() -> None:
    other = '<ix:nonFraction name="us-gaap:Assets" contextRef="w" target="tax">1</ix:nonFraction>'
    cash = '<ix:nonFraction name="us-gaap:Cash" contextRef="w">1</ix:nonFraction>'
    records = load(page(COVER + cash + other, version="2008").encode())
    assert records.record("0000000007:10-K").positive == ("us-gaap:Cash",)
    (told,) = records.report.warnings
    assert (told.kind, told.message) == ("other-target", "1 facts of filing are of other documents (tax); left out")


def test_pages_of_one_set_are_one_filing_and_those_of_two_are_two() -> None:
    cash = '<ix:nonFraction name="us-gaap:Cash" contextRef="p">1</ix:nonFraction>'
    assets = '<ix:nonFraction name="us-gaap:Assets" contextRef="w">1</ix:nonFraction>'
    of_set = load(packed(a_htm=page(COVER + assets), b_htm=page(cash, resources=""), readme_txt="no page"))
    assert extents(of_set, "0000000007:10-K") == {"us-gaap:Assets": {"whole"}, "us-gaap:Cash": {"segment"}}
    assert of_set.keys == ("0000000007:10-K",)

    second = COVER.replace("10-K", "10-Q")
    both = load(packed(a_htm=page(COVER + assets), b_htm=page(second + cash), c_htm=page(cash)))
    assert {key: both.record(key).positive for key in both.keys} == {
        "0000000007:10-K": ("us-gaap:Assets",), "0000000007:10-Q": ("us-gaap:Cash",), "c.htm": ("us-gaap:Cash",)
    }  # fmt: skip


def test_an_instance_drawn_out_of_its_page_counts_alone() -> None:
    cover = '<dei:DocumentType contextRef="w">10-K</dei:DocumentType>'
    extracted = plain(f'{WHOLE}{cover}<us-gaap:Cash contextRef="w">1</us-gaap:Cash>')
    inline = page('<ix:nonNumeric name="dei:DocumentType" contextRef="w">10-K</ix:nonNumeric>')
    records = load(packed(a_htm=inline, a_xml=extracted))
    assert records.keys == ("10-K",)
    assert [(e.kind, e.message) for e in records.report if e.kind == "same-filing"] == [
        ("same-filing", "filing/a.htm shows the filing that an instance beside it reports; the instance is used")
    ]


def test_a_page_that_reaches_out_of_itself_is_refused() -> None:
    hostile = page(COVER).replace('"xhtml1.dtd">', '"xhtml1.dtd" [<!ENTITY a SYSTEM "file:///etc/passwd">]>')
    with pytest.raises(ParseError, match="declares the entity 'a'"):
        load(hostile.encode())


@pytest.mark.parametrize(
    ("text", "form", "day"),
    [
        ("2023-12-31", "", "2023-12-31"), ("20231231", "", "2023-12-31"),
        ("December 31, 2023", "ixt:datemonthdayyearen", "2023-12-31"), ("30 Sept 2023", "", "2023-09-30"),
        ("12/31/2023", "ixt:date-month-day-year", "2023-12-31"), ("31.12.2023", "ixt:datedoteu", "2023-12-31"),
        ("1/2/2023", "", "1/2/2023"), ("February 30, 2023", "", "February 30, 2023"), ("soon", "", "soon"),
    ],
)  # fmt: skip
def test_days_as_a_page_writes_them(text: str, form: str, day: str) -> None:
    assert written_day(text, form) == day
