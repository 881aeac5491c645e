"""Field cases P-XBR-01 to P-XBR-03 and P-SEC-01 of the shared folder: taxonomies, networks and tables of filings."""

from __future__ import annotations

from pathlib import Path

from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.xbrl import ABSTRACT, OWN, read_xbrl
from sma_gpu.ontologies.readers.xbrl_taxonomy import Taxonomy, read_taxonomy
from sma_gpu.ontologies.records.sec_tables import read_sec, read_sec_tables
from sma_gpu.ontologies.report import LoadReport

ROLES = "http://toy.example/role/"


def case(folder: Path, number: int) -> tuple[Ontology, Taxonomy]:
    first, *others = sorted((folder / f"P-XBR-{number:02}").iterdir())
    report = LoadReport("case")
    ontology = read_xbrl(first, more=others)
    reversed_order = read_xbrl(others[-1], more=[*others[:-1], first])
    assert [reversed_order.term(t).parents for t in ontology.ids] == [ontology.term(t).parents for t in ontology.ids]
    assert not ontology.report.warnings
    return ontology, read_taxonomy([first, *others], report)


def toy(*names: str) -> tuple[str, ...]:
    return tuple(f"toy:{name}" for name in names)


def ancestors(ontology: Ontology, term: str) -> set[str]:
    parents = ontology.term(term).parents
    return {*parents, *(above for parent in parents for above in ancestors(ontology, parent))}


def test_xbr_01_one_concept_several_times(shared_cases: Path) -> None:
    found, taxonomy = case(shared_cases, 1)
    assert found.live_count == 6
    sheet = taxonomy.by_role["presentation", f"{ROLES}BalanceSheet"]
    children = sheet.children("toy:AssetsAbstract")
    assert tuple(c.concept for c in children) == toy("Cash", "PlantNet", "Depreciation")
    assert children[1].preferred.endswith("/totalLabel")
    flow = taxonomy.by_role["presentation", f"{ROLES}CashFlow"]
    places = flow.places("toy:Cash")
    assert [(p.parent, p.order, p.preferred.rsplit("/", 1)[1]) for p in places] == [
        ("toy:CashFlowAbstract", 5, "periodStartLabel"),
        ("toy:CashFlowAbstract", 6, "periodEndLabel"),
        ("toy:ExtraCashAbstract", 5, "totalLabel"),
    ]
    assert found.term("toy:Cash").parents == toy("AssetsAbstract", "CashFlowAbstract", "ExtraCashAbstract")


def test_xbr_02_a_role_with_two_roots(shared_cases: Path) -> None:
    found, taxonomy = case(shared_cases, 2)
    assert found.live_count == 5
    assert found.roots == toy("AlphaAbstract", "ZetaAbstract")
    assert taxonomy.by_role["presentation", f"{ROLES}Leases"].roots == toy("AlphaAbstract", "ZetaAbstract")
    assert {t: found.term(t).parents for t in toy("Rent", "RentNextYear", "NetIncome")} == {
        "toy:Rent": toy("AlphaAbstract"), "toy:RentNextYear": toy("Rent"), "toy:NetIncome": toy("ZetaAbstract"),
    }  # fmt: skip


def test_xbr_03_concepts_of_a_company(shared_cases: Path) -> None:
    found, _ = case(shared_cases, 3)
    own = ("acme:RevenueAxisNoteAbstract", "acme:WidgetLeasing_Revenue", "acme:WidgetRevenue")
    assert found.ids == (*own, "us-gaap:IncomeStatementAbstract", "us-gaap:OtherRevenue", "us-gaap:Revenues")
    assert not found.placeholder.any()
    assert found.term("acme:WidgetRevenue").parents == ("us-gaap:Revenues",)
    assert found.term("acme:WidgetLeasing_Revenue").parents == ("acme:WidgetRevenue",)
    assert "us-gaap:IncomeStatementAbstract" in ancestors(found, "acme:WidgetLeasing_Revenue")
    assert found.marks[ABSTRACT] == ("acme:RevenueAxisNoteAbstract", "us-gaap:IncomeStatementAbstract")
    assert found.marks[OWN] == own


def test_sec_01_quote_marks_in_tables(shared_cases: Path) -> None:
    num, tag = shared_cases / "P-SEC-01" / "num.txt", shared_cases / "P-SEC-01" / "tag.txt"
    report = LoadReport("case")
    tables = read_sec_tables([num, tag], report)
    first, second = "0009999999-26-000001", "0009999999-26-000002"
    assert tables.rows == {"num": 4, "tag": 4}
    assert not report.entries
    assert set(tables.filings) == {first, second}
    assert set(tables.filings[first]) == {
        ("Revenues", "us-gaap/2025"), ("ToyMargin", first), ("Assets", "us-gaap/2025"),
    }  # fmt: skip
    assert set(tables.filings[second]) == {("Assets", "us-gaap/2025")}
    assert tables.tags["ToyMargin", first].label == '"Toy" margin'
    assert tables.tags["ToyMargin", first].is_own
    (pipes,) = (use for use in tables.numbers if "pipes" in use.text)
    assert (pipes.adsh, pipes.tag, pipes.text, pipes.line) == (first, "Assets", 'incl. 3" pipes', 4)


def test_sec_01_as_records(shared_cases: Path) -> None:
    taxonomy, _ = case(shared_cases, 3)
    folder = shared_cases / "P-SEC-01"
    records = read_sec(folder / "num.txt", taxonomy, more=[folder / "tag.txt"])
    first = records.record("0009999999-26-000001")
    assert first.positive == ("us-gaap:Revenues",)  # the toy taxonomy has no Assets, which is told
    assert first.attributes == {"own-concepts": ("ToyMargin",)}
    assert [(e.kind, e.lines, e.ids) for e in records.report.warnings] == [
        ("unknown-id", (4, 5), ("us-gaap:Assets",))
    ]  # fmt: skip
    assert first.annotations[0].rows[0].description == '"As restated'
