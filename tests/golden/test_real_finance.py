"""Published taxonomies and filings: the counts of their files, and the domain that is made of them."""

from __future__ import annotations

import tarfile
import time
from pathlib import Path

import numpy as np
import pytest

from sma_gpu.ontologies.domains import open_domain
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.xbrl import ABSTRACT, DEPRECATED, OWN
from sma_gpu.ontologies.readers.xbrl_taxonomy import read_taxonomy
from sma_gpu.ontologies.records.loading import load_records
from sma_gpu.ontologies.records.xbrl_instance import INFERRED
from sma_gpu.ontologies.report import LoadReport


def counts(ontology: Ontology) -> dict[str, int]:
    return {what: int(count) for what, count in (line.rsplit(" ", 1) for line in ontology.header["counts"])}


@pytest.fixture(scope="module")
def finance(shared_data: Path) -> Path:
    return shared_data / "finance"


@pytest.fixture(scope="module")
def taxonomy_2020(finance: Path) -> Ontology:
    return load_ontology(finance / "us-gaap-2020-01-31.tar.xz")


def test_us_gaap_2020(finance: Path) -> None:
    began = time.process_time()
    found = load_ontology(finance / "us-gaap-2020-01-31.tar.xz")
    assert time.process_time() - began < 15
    assert (found.name, found.version) == ("us-gaap", "2020-01-31")
    assert counts(found) == {
        "elements": 17281, "abstract": 5282, "labels": 17280, "definitions": 14839, "presentation": 2045,
        "presented": 1937, "calculation": 1987, "definition": 2009, "networks": 12,
    }  # fmt: skip
    assert len(found.parents) == 2045
    assert len(found.marks[ABSTRACT]) == 5282
    assert OWN not in found.marks
    assert "us-gaap:SalesRevenueNet" in found.marks[DEPRECATED]
    assets = found.term("us-gaap:AssetsCurrent")
    assert assets.name == "Assets, Current"
    assert assets.parents == ("us-gaap:AssetsCurrentAbstract",)
    assert ("summation-item", "us-gaap:Assets") in assets.relations
    assert not found.report.faults


def test_us_gaap_2025_without_its_schema(finance: Path) -> None:
    found = load_ontology(finance / "us-gaap-2025-linkbases.tar.xz")
    assert (found.name, found.version) == ("us-gaap", "2025")
    assert counts(found).items() >= {"presentation": 22062, "presented": 17483, "calculation": 6454}.items()
    assert not found.report.faults
    assert found.resolve("SalesRevenueNet").used == "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"
    # Definition links stand in files of their own, and within the schemas of the model behind the taxonomy.
    with tarfile.open(finance / "us-gaap-2025-linkbases.tar.xz") as archive:
        opened = [archive.extractfile(info) for info in archive if "-def-" in info.name]
        alone = [file.read() for file in opened if file is not None]
    networks = read_taxonomy(alone, LoadReport("")).networks
    assert len({(place.parent, place.concept) for network in networks for place in network.occurrences}) == 13370
    assert counts(found)["definition"] > 13370


def test_filings_a_line(finance: Path, taxonomy_2020: Ontology) -> None:
    records = load_records(finance / "sec-fsds-filings-2009q3-2010q4.jsonl.gz", taxonomy_2020)
    assert len(records) == 4338
    companies = {cik for i in range(len(records)) for cik in records.attributes["cik"].of(i)}
    assert len(companies) == 1509
    held = len(records.term)
    lost = sum(len({*e.lines}) for e in records.report.warnings if e.kind == "unknown-id")
    assert held + lost >= 404_764 * 0.999
    assert 0.96 < held / 404_764 < 0.975  # the share of mentions whose concept the schema of 2020 declares
    filing = records.record("0001047469-09-007342")
    assert filing.name == "EDISON MISSION ENERGY"
    assert {name: filing.attributes[name] for name in ("form", "date", "period")} == {
        "form": ("10-Q",), "date": ("2009-08-07",), "period": ("2009-06-30",),
    }  # fmt: skip
    assert "us-gaap:FuelCosts" in filing.positive
    assert np.all(np.diff(records.ptr) > 0)


def test_filing_in_xbrl(finance: Path, taxonomy_2020: Ontology) -> None:
    records = load_records(finance / "aapl-10k-2023-xbrl.tar.xz", taxonomy_2020)
    assert records.keys == ("0000320193:10-K:2023-09-30",)
    filing = records.record_at(0)
    assert filing.attributes.items() >= {"company": ("Apple Inc.",), "fiscal-year": ("2023",)}.items()
    assert len(filing.attributes["own-concepts"]) == 41
    inferred = {
        a.term: [r.description for r in a.rows if r.evidence == INFERRED]
        for a in filing.annotations
        if any(r.evidence == INFERRED for r in a.rows)
    }
    below = "aapl:DeferredTaxAssetsCapitalizedResearchAndDevelopment stands below it in the filing"
    assert below in inferred["us-gaap:DeferredTaxAssetsGrossAbstract"]
    assert "us-gaap:Assets" in filing.positive


def test_domain_out_of_the_folder(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMA_GPU_DATA", str(shared_data))
    domain = open_domain("finance")
    assert (domain.mounted.ontology.version, len(domain.records)) == ("2025", 4338)
    assert any("the newest, 2025, is used, not 2020-01-31" in note for note in domain.notes)
    assert not any("sample" in note for note in domain.notes)
    assert open_domain("finance", release="2020-01-31").mounted.ontology.version == "2020-01-31"
