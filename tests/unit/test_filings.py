"""Taxonomies and filings: arcs that are taken back, concepts of other years, statements, own concepts, the sample."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.answers import open_engine
from sma_gpu.errors import CycleFound, ParseError
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.domains import domain_files, open_domain
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.locate import SAMPLE
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.xbrl import (
    ABSTRACT,
    INFERRED,
    OWN,
    SHOWN_BELOW,
    known_replacements,
    read_xbrl,
    release_of,
)
from sma_gpu.ontologies.readers.xbrl_circles import opened, refuse_circle
from sma_gpu.ontologies.records.loading import load_records
from sma_gpu.ontologies.records.sec_filings import read_company_facts, read_filings
from sma_gpu.ontologies.records.sec_tables import read_sec
from sma_gpu.ontologies.records.xbrl_instance import read_instance

TAXONOMY = ontology_from_parents(
    {"us-gaap:AssetsAbstract": [], "us-gaap:Assets": ["us-gaap:AssetsAbstract"], "us-gaap:Cash": ["us-gaap:Assets"]}
)
PRESENTED = "http://www.xbrl.org/2003/arcrole/parent-child"
SUMMED = "https://xbrl.org/2023/arcrole/summation-item"
DEPRECATED = "http://www.xbrl.org/2009/arcrole/dep-"


def schema(prefix: str, names: list[str], *links: str, space: str = "") -> bytes:
    elements = "".join(
        f'<s:element id="{prefix}_{name}" name="{name}" abstract="{str(name.endswith("Abstract")).lower()}"/>'
        for name in names
    )
    return (
        '<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema" xmlns:l="http://www.xbrl.org/2003/linkbase" '
        f'xmlns:x="http://www.w3.org/1999/xlink" targetNamespace="{space or f"http://{prefix}.example/2026"}">'
        f"<s:annotation><s:appinfo><l:linkbase>{''.join(links)}</l:linkbase></s:appinfo></s:annotation>"
        f"{elements}</s:schema>"
    ).encode()


def link(kind: str, *arcs: tuple[str, str, str], role: str = "r") -> str:
    """One network; each arc is from, to, and more attributes."""
    ends = sorted({end for source, target, _ in arcs for end in (source, target)})
    locators = "".join(f'<l:loc x:type="locator" x:href="{e if "#" in e else f"#{e}"}" x:label="{e}"/>' for e in ends)
    drawn = "".join(
        f'<l:{kind}Arc x:type="arc" x:from="{source}" x:to="{target}" {more}/>' for source, target, more in arcs
    )
    return f'<l:{kind}Link x:type="extended" x:role="{role}">{locators}{drawn}</l:{kind}Link>'


def shown(source: str, target: str, more: str = "") -> tuple[str, str, str]:
    return source, target, f'x:arcrole="{PRESENTED}" {more}'


def parents(ontology: Ontology) -> dict[str, tuple[str, ...]]:
    return {term: ontology.term(term).parents for term in ontology.ids}


def test_an_arc_is_taken_back_by_one_of_at_least_its_priority() -> None:
    arcs = [
        shown("t_A", "t_B"), shown("t_A", "t_B", 'use="prohibited" priority="1"'),
        shown("t_A", "t_C", 'priority="2"'), shown("t_A", "t_C", 'use="prohibited" priority="1"'),
    ]  # fmt: skip
    found = read_xbrl(schema("t", ["A", "B", "C"], link("presentation", *arcs)))
    assert parents(found) == {"t:A": (), "t:B": (), "t:C": ("t:A",)}


def test_networks_that_run_in_a_circle_are_refused() -> None:
    with pytest.raises(CycleFound) as caught:
        read_xbrl(schema("t", ["A", "B"], link("presentation", shown("t_A", "t_B"), shown("t_B", "t_A"))))
    assert caught.value.cycle == ("t:A", "t:B", "t:A")
    assert "the role r runs in a circle" in str(caught.value)


def test_a_circle_of_several_networks_is_opened_where_fewest_of_them_show_it() -> None:
    def network(role: str, *arcs: tuple[str, str]) -> str:
        return link("presentation", *(shown(f"t_{above}", f"t_{below}") for above, below in arcs), role=role)

    networks = [
        network("p", ("A", "B"), ("B", "C")), network("q", ("A", "B"), ("X", "A")),
        network("r", ("C", "A"), ("C", "D")), network("s", ("D", "C")),
    ]  # fmt: skip
    found = read_xbrl(schema("t", ["A", "B", "C", "D", "X"], *networks))
    assert parents(found) == {
        "t:A": ("t:X",), "t:B": ("t:A",), "t:C": ("t:B",), "t:D": ("t:C",), "t:X": (),
    }  # fmt: skip
    assert [found.term(term).relations for term in ("t:A", "t:C")] == [
        ((SHOWN_BELOW, "t:C"),), ((SHOWN_BELOW, "t:D"),),
    ]  # fmt: skip
    told = [(e.severity, e.kind, e.ids) for e in found.report.faults]
    assert told == [("warning", "opened-circle", ("t:A", "t:C")), ("warning", "opened-circle", ("t:C", "t:D"))]
    assert "circle: t:A -> t:C -> t:B -> t:A; that t:A is shown below t:C, under 1" in found.report.faults[0].message
    again = read_xbrl(schema("t", ["X", "D", "C", "B", "A"], *networks[::-1]))
    assert parents(again) == parents(found)
    with pytest.raises(ParseError, match="several roles"):
        read_xbrl(schema("t", ["A", "B", "C", "D", "X"], *networks), strict=True)


def test_totals_that_add_to_one_another_do_not_refuse_a_taxonomy() -> None:
    def sums(role: str, total: str, part: str) -> str:
        return link("calculation", (total, part, f'x:arcrole="{SUMMED}" weight="1"'), role=role)

    found = read_xbrl(schema("t", ["A", "B"], sums("p", "t_A", "t_B"), sums("q", "t_B", "t_A")))
    assert parents(found) == {"t:A": ("t:B",), "t:B": ()}
    assert found.term("t:B").relations == (("summation-item", "t:A"),)


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg"), st.sampled_from("123")), max_size=30))
def test_what_is_left_of_any_links_runs_in_no_circle(links: list[tuple[str, str, str]]) -> None:
    roles: dict[tuple[str, str], list[str]] = {}
    for child, parent, role in links:
        roles.setdefault((child, parent), []).append(role)
    left_out = opened(roles)
    kept = {edge: found for edge, found in roles.items() if edge not in left_out and edge[0] != edge[1]}
    refuse_circle(kept, "all", "here")
    assert opened(dict(reversed(roles.items()))) == left_out
    for (child, parent), cycle in left_out.items():
        assert (cycle[0], cycle[1], cycle[-1]) == (child, parent, child)
        assert all(step in kept for step in zip(cycle[1:], cycle[2:], strict=False))


def test_faults_of_several_files_have_file_and_line() -> None:
    arcs = link("presentation", shown("t.xsd#t_A", "t.xsd#t_A"), shown("t.xsd#t_A", "t.xsd#t_Nothing"))
    pack = io.BytesIO()
    with zipfile.ZipFile(pack, "w") as archive:
        archive.writestr("x/t.xsd", schema("t", ["A"]))
        archive.writestr("x/u.xsd", b"\n\n" + schema("u", ["B"], arcs))
    found = read_xbrl(pack.getvalue(), name="/home/z")
    assert [(e.kind, e.where, e.lines) for e in found.report.warnings] == [
        ("undefined-term", "u.xsd", (3,)), ("self-loop", "u.xsd", (3,))
    ]  # fmt: skip
    assert str(found.report.warnings[1]).startswith("/home/z u.xsd:3: warning: t:A is its own parent (u.xsd line 3)")


def test_concepts_shown_nowhere_stand_below_their_totals() -> None:
    sums = link("calculation", ("t_A", "t_B", f'x:arcrole="{SUMMED}" weight="1"'))
    found = read_xbrl(schema("t", ["A", "B", "HeadAbstract"], sums))
    assert parents(found)["t:B"] == ("t:A",)
    assert found.marks == {ABSTRACT: ("t:HeadAbstract",), INFERRED: ("t:B",), OWN: ("t:A", "t:B", "t:HeadAbstract")}
    assert found.term("t:B").relations == (("summation-item", "t:A"),)
    standard = read_xbrl(schema("t", ["A", "B"], sums, space="http://fasb.org/t/2026"))
    assert parents(standard)["t:B"] == ()  # a standard taxonomy shows what it wants to show


def test_concepts_of_other_years() -> None:
    arcs = [
        ("t_New", "t_Old", f'x:arcrole="{DEPRECATED}concept-deprecatedConcept"'),
        ("t_New", "t_Part", f'x:arcrole="{DEPRECATED}partConcept-deprecatedAggregateConcept"'),
    ]
    found = read_xbrl(schema("t", ["New", "Old", "Part"], link("definition", *arcs)))
    assert found.ids == ("t:New",)
    assert found.resolve("t:Old").used == "t:New"
    assert (found.resolve("t:Part").used, found.resolve("t:Part").candidates) == (None, ("t:New",))


def test_known_replacements_name_each_concept_once() -> None:
    old = [pair[0] for pair in known_replacements()]
    assert len(set(old)) == len(old) > 5
    assert not set(old) & {pair[1] for pair in known_replacements()}


def test_locators_of_a_schema_at_hand_and_of_one_elsewhere() -> None:
    arcs = [shown("t_A", "t_Missing"), shown("t_A", "us-gaap-2025.xsd#us-gaap_Cash")]
    found = read_xbrl(schema("t", ["A"], link("presentation", *arcs)))
    assert parents(found) == {"t:A": (), "us-gaap:Cash": ("t:A",)}
    assert [(e.kind, e.ids) for e in found.report.warnings] == [("undefined-term", ("t:Missing",))]
    assert "schema-elsewhere" in {e.kind for e in found.report}
    assert found.marks == {OWN: ("t:A",)}


def test_ways_of_writing_a_concept() -> None:
    found = read_xbrl(schema("us-gaap", ["Cash", "With_Underscore"], space="http://fasb.org/us-gaap/2025"))
    for asked in ("Cash", "us-gaap_Cash", "us-gaap:Cash"):
        assert (found.resolve(asked).used, found.resolve(asked).asked) == ("us-gaap:Cash", asked)
    assert found.resolve("us-gaap_With_Underscore").used == "us-gaap:With_Underscore"
    for asked in ("cash", "other_Cash", "us-gaap:cash", "us-gaap_cash", "Cash_"):
        assert (found.resolve(asked).status, found.resolve(asked).asked) == ("unknown", asked)
    assert (found.name, found.version) == ("us-gaap", "2025")


def test_a_filing_is_no_release_of_the_taxonomy() -> None:
    standard = schema("us-gaap", ["Cash"], space="http://fasb.org/us-gaap/2025")
    assert release_of(standard, "us-gaap") == "2025"
    own = schema("toy", ["X"], link("presentation", shown("toy_X", "us-gaap-2025.xsd#us-gaap_Cash")))
    assert release_of(own, "us-gaap") is None
    assert release_of(b"<html>", "us-gaap") is None


SUB = "adsh\tcik\tname\tsic\tform\tperiod\tfy\tfp\tfiled\n1-26-1\t7\tTOY CO\t2000\t10-K\t20251231\t2025\tFY\t20260201\n"
PRE = 'adsh\treport\tline\tstmt\ttag\tversion\tplabel\n1-26-1\t2\t1\tBS\tAssets\tus-gaap/2025\tAll "assets\n'
NUM = "adsh\ttag\tversion\tddate\tvalue\tfootnote\n1-26-1\tCash\tus-gaap/2025\t20251231\t5\t\n"
NUM += "1-26-1\tOwn\t1-26-1\t\t\t\nx\n"


def test_a_quarter_of_sec_tables() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in (("num.txt", NUM), ("pre.txt", PRE), ("readme.htm", "<html>"), ("sub.txt", SUB)):
            archive.writestr(name, text)
    records = load_records(packed.getvalue(), TAXONOMY, cache=False)
    filing = records.record("1-26-1")
    assert (filing.name, filing.positive) == ("TOY CO", ("us-gaap:Assets", "us-gaap:Cash"))
    assert filing.attributes == {
        "company": ("TOY CO",), "cik": ("7",), "form": ("10-K",), "date": ("2026-02-01",), "period": ("2025-12-31",),
        "fiscal-year": ("2025",), "fiscal-period": ("FY",), "sic": ("2000",), "own-concepts": ("Own",),
    }  # fmt: skip
    assert filing.annotations[0].rows[0].evidence == "BS"
    assert [(e.kind, e.lines) for e in records.report.warnings] == [("columns", (4,))]
    assert records.version == "2026-02-01"
    with pytest.raises(ParseError, match="sub, num, pre or tag"):
        read_sec(b"a\tb\n1\t2\n", TAXONOMY)


def test_filings_a_line_with_faults() -> None:
    good = {"adsh": "2", "name": "B", "filed": 20260101, "concepts": ["Cash", "us-gaap:Cash", 5]}
    lines = [
        json.dumps(good),
        "{",
        '{"name": "x"}',
        json.dumps({"adsh": "2", "concepts": {"IS": ["us-gaap:Assets"]}}),
        "[]",
    ]
    records = read_filings("\n".join(lines).encode(), TAXONOMY)
    assert records.record("2").positive == ("us-gaap:Assets", "us-gaap:Cash")
    told = {(e.severity, e.kind): e.lines for e in records.report}
    assert told == {
        ("warning", "odd-concept"): (1,), ("error", "bad-line"): (2,), ("error", "no-key"): (5,),
        ("warning", "second-record"): (4,), ("warning", "unknown-id"): (1,),
    }  # fmt: skip
    with pytest.raises(ParseError, match="no line"):
        read_filings(b"[]", TAXONOMY)


def test_company_facts() -> None:
    fact = {"accn": "1-26-1", "fy": 2025, "fp": "FY", "form": "10-K", "filed": "2026-02-01", "val": 5}
    facts = {
        "us-gaap": {"Cash": {"units": {"USD": [fact, {**fact, "accn": "1-26-2", "form": "10-Q"}]}}},
        "dei": {"EntityPublicFloat": {"units": {"USD": [fact]}}},
    }
    records = load_records(json.dumps({"cik": 7, "entityName": "Toy", "facts": facts}).encode(), TAXONOMY, cache=False)
    assert records.keys == ("1-26-1", "1-26-2")
    assert records.record("1-26-2").attributes["form"] == ("10-Q",)
    assert records.record("1-26-1").positive == ("us-gaap:Cash",)
    assert [e.kind for e in records.report] == ["passed-over"]
    with pytest.raises(ParseError, match="facts"):
        read_company_facts(b'{"entityName": "x", "facts": 1}', TAXONOMY)


def test_facts_of_one_concept_and_of_one_period() -> None:
    fact = {"accn": "1-26-1", "fy": 2025, "fp": "FY", "form": "10-K", "filed": "2026-02-01", "val": 5}
    concept = {"cik": 7, "taxonomy": "us-gaap", "tag": "Cash", "entityName": "Toy", "units": {"USD": [fact]}}
    records = load_records(json.dumps(concept).encode(), TAXONOMY, cache=False)
    assert (records.keys, records.names[0]) == (("1-26-1",), "Toy")
    assert records.record("1-26-1").positive == ("us-gaap:Cash",)
    assert records.record("1-26-1").attributes["date"] == ("2026-02-01",)
    of_companies = [
        {"accn": "1-26-1", "cik": 7, "entityName": "Toy"},
        {"accn": "2-26-1", "cik": 8, "entityName": "Two"},
    ]
    frame = {"taxonomy": "us-gaap", "tag": "Assets", "ccp": "CY2025Q4I", "uom": "USD", "data": of_companies}
    records = load_records(json.dumps(frame, indent=1).encode(), TAXONOMY, cache=False)
    assert {key: records.record(key).attributes["cik"] for key in records.keys} == {"1-26-1": ("7",), "2-26-1": ("8",)}
    assert records.record("2-26-1").positive == ("us-gaap:Assets",)


def test_facts_of_several_companies_in_an_archive() -> None:
    pack = io.BytesIO()
    with zipfile.ZipFile(pack, "w") as archive:
        for number in (1, 2):
            facts = {"us-gaap": {"Cash": {"units": {"USD": [{"accn": f"{number}-26-1", "filed": "2026-02-01"}]}}}}
            document = {"cik": number, "entityName": f"Toy {number}", "facts": facts}
            archive.writestr(f"CIK{number}.json", json.dumps(document))
    records = load_records(pack.getvalue(), TAXONOMY, cache=False)
    assert {key: records.record(key).name for key in records.keys} == {"1-26-1": "Toy 1", "2-26-1": "Toy 2"}


def test_rows_of_sec_tables_that_end_early_and_a_supplement_of_the_taxonomy() -> None:
    num = "adsh\ttag\tversion\tddate\tvalue\na-1\tCash\tus-gaap/2025\na-1\tX\tus-gaap-sup/2022q3\t1\t2\n"
    records = read_sec(num.encode(), TAXONOMY)
    assert records.record("a-1").positive == ("us-gaap:Cash",)
    assert [(e.kind, e.lines, e.ids) for e in records.report.warnings] == [
        ("columns", (2,), ()), ("unknown-id", (3,), ("us-gaap-sup:X",))
    ]  # fmt: skip


INSTANCE = b"""<xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:u="http://fasb.org/us-gaap/2025"
 xmlns:d="http://xbrl.sec.gov/dei/2025" xmlns:t="http://toy.example/2026"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<context id="whole"><entity/></context><context id="part"><entity><segment/></entity></context>
<u:Cash contextRef="part">1</u:Cash><u:Assets contextRef="whole" xsi:nil="true"/><t:Vault contextRef="whole">2</t:Vault>
<d:EntityCentralIndexKey contextRef="whole">0007</d:EntityCentralIndexKey><t:Loose contextRef="whole">2</t:Loose>
<d:DocumentType contextRef="whole">10-K</d:DocumentType></xbrl>"""


def test_an_instance_with_concepts_of_the_company() -> None:
    arcs = [shown("us-gaap-2025.xsd#us-gaap_Cash", "t_VaultAbstract"), shown("t_VaultAbstract", "t_Vault")]
    own = schema("t", ["Vault", "VaultAbstract", "Loose"], link("presentation", *arcs))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in (("toy.xml", INSTANCE), ("toy.xsd", own)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    records = load_records(packed.getvalue(), TAXONOMY, cache=False)
    filing = records.record("0007:10-K")
    assert filing.positive == ("us-gaap:Cash",)
    rows = {(row.evidence, row.description) for row in filing.annotations[0].rows}
    assert rows == {("segment", ""), ("inferred", "t:Vault stands below it in the filing")}
    assert filing.attributes["own-concepts"] == ("t:Loose", "t:Vault")
    assert [(e.kind, e.ids) for e in records.report.warnings] == [("own-concepts", ("t:Loose",))]
    alone = read_instance(INSTANCE, TAXONOMY)
    assert [e.ids for e in alone.report.warnings] == [("Loose", "Vault")]


def test_the_bundled_sample_answers_and_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    files = domain_files("finance")[1]
    assert (files.ontology.origin, files.records.origin) == (SAMPLE, SAMPLE)
    domain = open_domain("finance")
    assert len(domain.records) == 270
    assert not domain.mounted.ontology.report.faults
    assert not domain.records.report.faults
    (note,) = [note for note in domain.notes if "sample" in note]
    assert manifests()["finance"].ontology.address in note
    assert "SMA_GPU_DATA" in note
    inventory = domain.mounted.ontology.term("us-gaap:InventoryNet")
    assert inventory.parents == ("us-gaap:AssetsCurrentAbstract", "us-gaap:InventoryNetAbstract")


def test_a_query_in_any_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    engine = open_engine("finance")
    plain, prefixed, joined = (
        engine.query(
            [f"{prefix}{name}" for name in ("PaymentsOfDividends", "OtherAssetsCurrent", "CostOfGoodsSold")], k=3
        )
        for prefix in ("", "us-gaap:", "us-gaap_")
    )
    assert [hit["key"] for hit in plain["hits"]] == [hit["key"] for hit in prefixed["hits"]]
    assert [hit["score_bits"] for hit in plain["hits"]] == [hit["score_bits"] for hit in joined["hits"]]
    assert plain["paths"]["us-gaap:OtherAssetsCurrent"] == [
        "us-gaap:StatementOfFinancialPositionAbstract", "us-gaap:AssetsAbstract", "us-gaap:AssetsCurrentAbstract",
        "us-gaap:OtherAssetsCurrent",
    ]  # fmt: skip
    assert any("sample" in note for note in plain["notes"])


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "anything.bin").write_bytes(schema("us-gaap", ["Cash", "Assets"], space="http://fasb.org/us-gaap/2024"))
    (tmp_path / "more.txt").write_text('{"adsh": "1", "name": "A", "concepts": ["Cash"]}\n', encoding="utf-8")
    domain = open_domain(str(tmp_path))
    assert domain.manifest.domain == "finance"
    assert domain.mounted.ontology.version == "2024"
    assert domain.records.record("1").positive == ("us-gaap:Cash",)
    assert load_ontology(tmp_path / "anything.bin").marks == {}


def test_blanks_around_the_key_of_a_filing() -> None:
    lines = b'{"adsh": " a-1 ", "concepts": ["us-gaap:Cash"]}\n{"adsh": "a-1", "concepts": ["us-gaap:Assets"]}\n'
    records = read_filings(lines, TAXONOMY)
    assert records.keys == ("a-1",)
    assert [(e.kind, e.lines) for e in records.report.warnings] == [("second-record", (2,))]


def test_ids_of_elements_without_their_prefix() -> None:
    text = (
        b'<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema" xmlns:x="http://www.xbrl.org/2003/instance" '
        b'xmlns:toy="http://toy.example/2026" targetNamespace="http://toy.example/2026">'
        b'<s:element id="e1" name="Cash_Flow"/><s:element name="Assets"/></s:schema>'
    )
    assert read_xbrl(text).ids == ("toy:Assets", "toy:Cash_Flow")


def test_arcs_that_do_not_say_that_they_are_arcs() -> None:
    data = schema("t", ["A", "B"], link("presentation", shown("t_A", "t_B")))
    assert b'x:type="arc"' in data
    assert parents(read_xbrl(data.replace(b'x:type="arc"', b"")))["t:B"] == ("t:A",)


def test_locators_are_addresses() -> None:
    arc = ("#toy_Assets%41bstract", "#toy_Cash", f'x:arcrole="{PRESENTED}"')
    found = read_xbrl(schema("toy", ["AssetsAbstract", "Cash"], link("presentation", arc)))
    assert found.term("toy:Cash").parents == ("toy:AssetsAbstract",)
    assert not found.report.faults


def test_labels_without_a_role_and_in_other_languages() -> None:
    def label(text: str, language: str, role: str = "") -> str:
        return f'<l:label x:type="resource" x:label="t" xml:lang="{language}" {role}>{text}</l:label>'

    labels = (
        '<l:labelLink x:type="extended"><l:loc x:type="locator" x:href="#toy_Cash" x:label="c"/>'
        + label("Kasse", "de") + label("Zzz", "enm") + label("Money", "en-US")
        + '<l:labelArc x:type="arc" x:from="c" x:to="t"/></l:labelLink>'
    )  # fmt: skip
    found = read_xbrl(schema("toy", ["Cash", "Own"], labels))
    assert found.term("toy:Cash").name == "Money"
    assert [e.ids for e in found.report if e.kind == "no-label"] == [("toy:Own",)]


def test_a_schema_with_entities_is_refused_as_such() -> None:
    data = b'<!DOCTYPE s [<!ENTITY a "b">]>\n' + schema("toy", ["Cash"])
    with pytest.raises(ParseError, match="declares the entity 'a'") as caught:
        read_xbrl(data)
    assert caught.value.line == 1


def test_sec_rows_without_a_number_and_rows_that_contradict_others() -> None:
    pack = io.BytesIO()
    with zipfile.ZipFile(pack, "w") as archive:
        rows = "a-1\tCash\tus-gaap/2025\t1\t2\n\tCash\tus-gaap/2025\t1\t2\na-1\t\tus-gaap/2025\t1\t2\n"
        archive.writestr("num.txt", "adsh\ttag\tversion\tddate\tvalue\n" + rows)
        tag = "tag\tversion\tcustom\tabstract\ttlabel\tdoc\n"
        archive.writestr("tag.txt", f"{tag}T\ta-1\t1\t0\tOne\t\nT\ta-1\t1\t0\tOne\t\nT\ta-1\t1\t0\tTwo\t\n")
        sub = "adsh\tcik\tname\tform\n"
        archive.writestr("sub.txt", f"{sub}a-1\t1\tToy\t10-K\na-1\t1\tToy\t10-Q\n")
    records = read_sec(pack.getvalue(), TAXONOMY)
    assert records.keys == ("a-1",)
    assert [(e.kind, e.lines) for e in records.report.warnings] == [
        ("empty-id", (3,)), ("empty-id", (4,)), ("second-tag", (2, 4)), ("second-submission", (3,))
    ]  # fmt: skip


def labelled(*parts: str) -> str:
    locators = "".join(
        f'<l:loc x:type="locator" x:href="{href}" x:label="{href}"/>' for href in ("t.xsd#t_A", "x#lab_1")
    )
    return (
        '<l:linkbase xmlns:l="http://www.xbrl.org/2003/linkbase" xmlns:x="http://www.w3.org/1999/xlink">'
        f'<l:labelLink x:type="extended">{locators}{"".join(parts)}</l:labelLink></l:linkbase>'
    )


def test_labels_that_are_taken_back_by_the_link_that_gives_them_or_by_another() -> None:
    texts = "".join(
        f'<l:label x:type="resource" id="lab_{i}" x:label="{i}" xml:lang="en">{text}</l:label>'
        f'<l:labelArc x:type="arc" x:from="t.xsd#t_A" x:to="{i}"/>'
        for i, text in ((1, "An old one"), (2, "A new one"))
    )
    gone = '<l:labelArc x:type="arc" x:from="t.xsd#t_A" x:to="{}" use="prohibited" priority="1"/>'
    files = {"t.xsd": schema("t", ["A"]), "x": labelled(texts), "y": labelled(gone.format("x#lab_1"))}
    for labels in (files, {**files, "x": labelled(texts, gone.format("1")), "y": labelled()}):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in labels.items():
                archive.writestr(name, content)
        found = read_xbrl(out.getvalue())
        assert (found.term("t:A").name, [s.text for s in found.term("t:A").synonyms]) == ("A new one", ["A"])
        assert not found.report.warnings


def test_pointers_by_id_in_their_long_form_and_locators_that_point_nowhere() -> None:
    found = read_xbrl(schema("t", ["A", "B", "C"], link("presentation", shown("#t_A", "#element(t_B)"))))
    assert parents(found) == {"t:A": (), "t:B": ("t:A",), "t:C": ()}
    found = read_xbrl(schema("t", ["A", "B"], link("presentation", shown("t_A", "elsewhere#"))))
    assert parents(found) == {"t:A": (), "t:B": ()}
    assert {e.kind for e in found.report.warnings} == {"odd-link"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_schemas_in_other_encodings(encoding: str) -> None:
    text = schema("t", ["A"]).decode()
    content = (b"\xfe\xff" if encoding == "utf-16-be" else b"") + text.encode(encoding)
    assert load_ontology(content).ids == ("t:A",)


def test_arcs_that_join_millions_of_ends_are_refused() -> None:
    ends = "".join(
        f'<l:loc x:type="locator" x:href="#t_{side}{i}" x:label="{side}"/>' for i in range(3000) for side in "ab"
    )
    links = f'<l:presentationLink x:type="extended">{ends}<l:presentationArc x:from="a" x:to="b"/></l:presentationLink>'
    with pytest.raises(ParseError, match="come to millions"):
        read_xbrl(schema("t", ["A"], links))
