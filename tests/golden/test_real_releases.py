"""What the manifests state of releases, and what changed between releases, on the real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sma_gpu.answers.data_report import data_report
from sma_gpu.ontologies.differences import differences
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.locate import release_of
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.obtaining import add_file


@pytest.mark.parametrize(
    ("domain", "file"),
    [
        ("medicine", "medicine/hp-2025-01-16.obo.xz"),
        ("genomics", "genomics/go-2019-01-27.obo.xz"),
        ("legal", "legal/cpc-title-list-2025.05.tar.xz"),
        ("legal", "legal/cpc-title-list-2022.08.tar.xz"),
        ("cyber-mobile", "cyber/mobile-attack-17.1.stix21.json.xz"),
        ("cyber-ics", "cyber/ics-attack-18.1.stix21.json.xz"),
    ],
)
def test_a_stated_release_is_that_of_the_file(shared_data: Path, domain: str, file: str) -> None:
    wanted = manifests()[domain].ontology
    found = release_of(shared_data / file, wanted)
    assert found is not None
    stated = wanted.release(found[0])
    assert stated is not None
    ontology = load_ontology(shared_data / file)
    assert (stated.terms, stated.retired) == (ontology.live_count, ontology.retired_count)
    if stated.sha256:
        assert stated.sha256 == ontology.sha256


def test_the_patent_classification_changed_as_stated(shared_data: Path) -> None:
    old, new = (load_ontology(shared_data / f"legal/cpc-title-list-{v}.tar.xz") for v in ("2022.08", "2025.05"))
    found = differences(old, new)
    assert (len(found.added), len(found.removed)) == (4819, 4089)
    assert (len(found.replaced), len(found.obsoleted), len(found.restored)) == (0, 0, 0)
    assert found.kept + len(found.added) == new.live_count
    assert found.kept + len(found.removed) == old.live_count


def test_every_term_of_the_gene_ontology_is_accounted_for(shared_data: Path) -> None:
    old = load_ontology(shared_data / "genomics/go-2019-01-27.obo.xz")
    new = load_ontology(shared_data / "genomics/go-basic-2021-12-15.obo.xz")
    found = differences(old, new)
    gone = [*found.replaced, *found.obsoleted, *found.removed]
    assert found.kept + len(gone) == old.live_count
    assert found.kept + len(found.added) + len(found.restored) == new.live_count
    assert len({one.id for one in gone}) == len(gone)
    for one in found.replaced:
        assert one.became is not None and not new.placeholder[new.number[one.became]]


def test_the_report_counts_what_the_file_holds(shared_data: Path) -> None:
    report = data_report(str(shared_data / "medicine/hp-2025-01-16.obo.xz"))["ontology"]
    assert (report["terms"], report["retired"], report["edges"], report["several_parents"]) == (19034, 450, 23392, 3627)
    assert [root["id"] for root in report["roots"]] == ["HP:0000001"]
    assert sum(report["terms_by_depth"]) == 19034
    report = data_report(str(shared_data / "genomics/go-2019-01-27.obo.xz"))["ontology"]
    assert [root["name"] for root in report["roots"]] == [
        "molecular_function", "cellular_component", "biological_process",
    ]  # fmt: skip
    assert report["relations"]["part_of"] == 7942


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("small/pato.obo.gz", "pato"),
        ("small/iao.owl.gz", "iao"),
        ("medicine/phenotype-2025-01-16.hpoa.xz", "medicine"),
        ("genomics/goa_mouse_2019-01.gaf.xz", "genomics"),
        ("legal/cpc-title-list-2022.08.tar.xz", "legal"),
        ("legal/us-patents-apple-2020-2025.jsonl.gz", "legal"),
        ("finance/us-gaap-2020-01-31.tar.xz", "finance"),
        ("finance/sec-fsds-filings-2009q3-2010q4.jsonl.gz", "finance"),
        ("cyber/enterprise-attack-18.1.stix20.json.xz", "cyber"),
        ("cyber/mobile-attack-17.1.stix21.json.xz", "cyber-mobile"),
        ("cyber/ics-attack-18.1.stix21.json.xz", "cyber-ics"),
    ],
)
def test_a_real_file_is_added_to_what_it_serves(shared_data: Path, tmp_path: Path, file: str, name: str) -> None:
    found, _, path, is_new = add_file(shared_data / file, folder=tmp_path)
    assert (found, path.name, is_new) == (name, Path(file).name, True)
