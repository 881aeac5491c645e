"""Several releases side by side: the newest by its header is used, the notes say so, and --release chooses another."""

from __future__ import annotations

import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import toy_attack

import sma_gpu.ontologies.locate
from sma_gpu.cli import main
from sma_gpu.errors import DataMissing
from sma_gpu.ontologies.domains import domain_ontology
from sma_gpu.ontologies.locate import locate
from sma_gpu.ontologies.manifest import manifests

SAMPLES = Path(sma_gpu.ontologies.locate.__file__).parent / "samples"


def sample(path: str, old: str, new: str) -> bytes:
    content = lzma.decompress((SAMPLES / path).read_bytes())
    assert old.encode() in content
    return content.replace(old.encode(), new.encode())


def attack(day: str) -> bytes:
    objects = [{**one, "x_mitre_domains": ["enterprise-attack"]} for one in toy_attack.objects()]
    return toy_attack.bundle(*objects).replace(b"2031-01-02", day.encode())


# By domain: a file of one release, made from its name, and three releases, the newest in the middle of the file names.
FILES: dict[str, tuple[Callable[[str], bytes], tuple[str, str, str]]] = {
    "genomics": (
        lambda v: sample("genomics/go-slice.obo.xz", "releases/2019-01-27", f"releases/{v}"),
        ("2019-01-27", "2026-03-02", "2021-12-15"),
    ),
    "legal": (
        lambda v: sample("legal/cpc-slice.txt.xz", "2025-05-01", v),
        ("2025-05-01", "2026-01-01", "2022-08-01"),
    ),
    "finance": (
        lambda v: sample("finance/us-gaap-slice.xsd.xz", "fasb.org/us-gaap/2023", f"fasb.org/us-gaap/{v}"),
        ("2023", "2025", "2020-01-31"),
    ),
    "cyber": (attack, ("2031-01-02", "2032-01-01", "2030-05-05")),
}
RECORDS = {
    "genomics": "genomics/goa-human-slice.gaf.xz",
    "legal": "legal/patents.jsonl.xz",
    "finance": "finance/filings.jsonl.xz",
}
TERMS = {
    "genomics": "GO:0031720",
    "legal": "G06F3/0412",
    "finance": "us-gaap:OtherComprehensiveIncomeLossNetOfTaxPortionAttributableToParent",
    "cyber": "T9100.001",
}


@pytest.fixture(params=sorted(FILES))
def domain(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    make, versions = FILES[name]
    for number, version in enumerate(versions):
        (tmp_path / f"file-{number}").write_bytes(make(version))
    if name in RECORDS:
        (tmp_path / "records").write_bytes((SAMPLES / RECORDS[name]).read_bytes())
    monkeypatch.setenv("SMA_GPU_DATA", str(tmp_path))
    return name


def test_the_newest_by_header_is_used_and_the_others_are_named(domain: str, tmp_path: Path) -> None:
    first, newest, other = FILES[domain][1]
    files = locate(manifests()[domain])
    assert (files.ontology.path, files.ontology.version) == (tmp_path / "file-1", newest)
    (note,) = (note for note in files.notes if "ontology" in note)
    assert note.startswith(f"several ontology releases in {tmp_path}: the newest, {newest}, is used, not ")
    assert {first, other} == set(note.rpartition("not ")[2].split(", "))


def test_another_release_is_used_on_request(domain: str, tmp_path: Path) -> None:
    for number, version in enumerate(FILES[domain][1]):
        files = locate(manifests()[domain], release=version)
        assert files.ontology.path == tmp_path / f"file-{number}"
        assert not any("several ontology" in note for note in files.notes)
        assert domain_ontology(domain, release=version)[1].ontology.version == version
    with pytest.raises(DataMissing, match="Choose one of these"):
        locate(manifests()[domain], release="1999-01-01")


def test_an_answer_says_which_release_it_rests_on(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    newest = FILES[domain][1][1]
    for words, version in ((), newest), (("--release", FILES[domain][1][2]), FILES[domain][1][2]):
        assert main(["query", domain, TERMS[domain], *words, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["ontology"]["version"] == version
        assert answer["hits"]
        assert any("several ontology releases" in note for note in answer["notes"]) == (not words)


def test_a_taxonomy_package_is_told_by_its_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = sample("finance/us-gaap-slice.xsd.xz", "fasb.org/us-gaap/2023", "fasb.org/us-gaap/2025")
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        archive.writestr("us-gaap-2025/META-INF/catalog.xml", "<?xml version='1.0'?><catalog/>")
        archive.writestr("us-gaap-2025/elts/us-gaap-2025.xsd", schema)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.xml", "<?xml version='1.0'?><a/>")
        archive.writestr("b.xml", "<?xml version='1.0'?><b/>")
    (tmp_path / "records").write_bytes((SAMPLES / RECORDS["finance"]).read_bytes())
    monkeypatch.setenv("SMA_GPU_DATA", str(tmp_path))
    files = locate(manifests()["finance"])
    assert (files.ontology.path.name, files.ontology.version) == ("package.zip", "2025")
    assert files.notes == ()


def test_of_several_records_the_newest_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "go").write_bytes((SAMPLES / "genomics/go-slice.obo.xz").read_bytes())
    for number, day in enumerate(("2019-01-14", "2024-02-03", "2020-01-01")):
        content = sample("genomics/goa-human-slice.gaf.xz", "date-generated: 2019-01-14", f"date-generated: {day}")
        (tmp_path / f"gaf-{number}").write_bytes(content)
    monkeypatch.setenv("SMA_GPU_DATA", str(tmp_path))
    files = locate(manifests()["genomics"])
    assert files.records.path == tmp_path / "gaf-1"
    assert any("the newest, 2024-02-03, is used, not 2020-01-01, 2019-01-14" in note for note in files.notes)
    (tmp_path / "gaf-3").write_bytes((tmp_path / "gaf-1").read_bytes())
    notes = locate(manifests()["genomics"]).notes
    assert any("some of one release: gaf-1 of 2024-02-03 is used, not gaf-3" in note for note in notes)
