"""The catalog, whose ids are whose, and queries with ids of several ontologies."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import toy
import toy_attack

from sma_gpu import DomainRouter, OntologyRegistry, open_engine
from sma_gpu.cli import main
from sma_gpu.errors import OntologyError
from sma_gpu.ontologies.belonging import belonging, foreign_owners, split_notes
from sma_gpu.ontologies.catalog import catalog, owners_of
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.manifest import manifests

HP = load_ontology(toy.obo().encode())


def test_the_catalog_is_complete_and_its_patterns_are_told_apart() -> None:
    assert len(catalog()) >= 40
    assert not catalog().keys() & manifests().keys()
    for name, entry in catalog().items():
        assert re.fullmatch("[a-z]+", name)
        assert entry.title and entry.ontology.licence
        assert entry.ontology.address.startswith("https://")
        if not entry.ontology.is_page:
            assert entry.ontology.address.rsplit(".", 1)[-1] in {"obo", "owl", "json", "ttl"}
        assert entry.ontology.scope == name
        re.compile(entry.ontology.id_pattern)
    assert [name for name, entry in catalog().items() if entry.ontology.is_page] == ["fibo"]
    prefixes = [entry.ontology.prefix for entry in catalog().values() if entry.ontology.prefix]
    assert len(set(prefixes)) == len(prefixes)
    assert not set(prefixes) & {manifest.ontology.prefix for manifest in manifests().values()}


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("HP:0001166", ["hpo"]),
        ("GO:0005634", ["go"]),
        ("T1059.001", ["enterprise-attack", "mobile-attack"]),
        ("T0800", ["ics-attack"]),
        ("G06F 3/0412", ["cpc"]),
        ("us-gaap:Assets", ["us-gaap"]),
        ("MONDO:0005015", ["mondo"]),
        ("NCIT:C12345", ["ncit"]),
        ("PR:P12345-1", ["pr"]),
        ("Assets", []),
        ("arachnodactyly", []),
        ("HP:1", []),
        ("", []),
    ],
)
def test_the_form_of_an_id_tells_its_ontology(term: str, names: list[str]) -> None:
    assert [owner.name for owner in owners_of(term)] == names


def test_what_is_foreign_is_told_by_prefix_and_by_form() -> None:
    assert foreign_owners(HP, "HP:0000000") == []
    assert foreign_owners(HP, "hp:0000000") == []
    assert [owner.domain for owner in foreign_owners(HP, "GO:0005634")] == ["genomics"]
    assert belonging(foreign_owners(HP, "GO:0005634")) == "Gene Ontology (domain genomics)"
    assert belonging(foreign_owners(HP, "MONDO:1")) == "Mondo Disease Ontology (mondo)"
    assert belonging(owners_of("T1059")).count("(domain ") == 2


def test_one_note_for_each_foreign_ontology() -> None:
    notes = split_notes(HP, ["GO:0000001", "FOO:1", "GO:0000003"], ["GO:0000002", "MONDO:1"], used=2)
    assert notes == [
        "the query holds ids of several ontologies and is split: 2 of hp are answered here, 3 of Gene Ontology are "
        "for: sma-gpu query genomics GO:0000001 GO:0000003 --exclude GO:0000002",
        "the query holds ids of several ontologies and is split: 2 of hp are answered here, 1 of Mondo Disease "
        "Ontology (mondo), for which no records are known: MONDO:1",
    ]
    assert split_notes(HP, ["HP:0000000", "FOO:1", "word"], [], used=0) == []


def test_a_query_says_which_domain_its_foreign_ids_are_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMA_GPU_DATA", str(toy.write(tmp_path)))
    words = ["query", "medicine", "HP:9910100", "GO:0005634", "T1059", "--exclude", "GO:0000002"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "GO: ids belong to another ontology, Gene Ontology (domain genomics)." in out
    assert "1 of hp is answered here, 2 of Gene Ontology are for: sma-gpu query genomics GO:0005634 --exclude" in out
    assert "Ids of this form belong to another ontology, MITRE ATT&CK for enterprises (domain cyber) or MITRE" in out
    assert "for: sma-gpu query cyber T1059" in out
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert sum("is split" in note for note in answer["notes"]) == 2
    alone = open_engine(str(tmp_path)).query(["HP:9910100"])
    assert [hit["key"] for hit in answer["hits"]] == [hit["key"] for hit in alone["hits"]]
    assert not any("is split" in note for note in alone["notes"])


def test_a_catalogued_ontology_says_what_a_query_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["query", "mondo", "MONDO:0005015"]) == 3
    err = capsys.readouterr().err
    for part in ("Mondo Disease Ontology", "Records are needed", "sma-gpu data fetch mondo", "sma-gpu index"):
        assert part in err
    assert main(["terms", "mondo", "diabetes"]) == 3
    assert "sma-gpu data fetch mondo" in capsys.readouterr().err
    (tmp_path / "sma_gpu" / "mondo").mkdir(parents=True)
    path = tmp_path / "sma_gpu" / "mondo" / "mondo.obo"
    path.write_text("ontology: mondo\n\n[Term]\nid: MONDO:0005015\nname: diabetes mellitus\n", encoding="utf-8")
    assert main(["terms", "mondo", "diabetes"]) == 0
    assert "MONDO:0005015" in capsys.readouterr().out
    assert main(["query", "mondo", "MONDO:0005015"]) == 3
    assert f"sma-gpu index {path} RECORDS -o DIR" in capsys.readouterr().err


def test_a_mixed_query_is_split_by_the_router(tmp_path: Path) -> None:
    registry = OntologyRegistry()
    registry.register("hpo", toy.write(tmp_path) / "hp.obo")
    for manifest in manifests().values():
        if manifest.name != "hpo":
            registry.register(manifest.name, f"{manifest.name}.file")
    router = DomainRouter(registry)
    for manifest in reversed(manifests().values()):  # the first of several that fit is to win
        router.register_pattern(manifest.ontology.sure_pattern or manifest.ontology.id_pattern, manifest.name)
    mixed = ["GO:0005634", "HP:9910100", "T1059", "HP:9920100", "MONDO:1", "A01B 1/02"]
    found = router.split(mixed)
    assert found.parts == {
        "go": ("GO:0005634",), "hpo": ("HP:9910100", "HP:9920100"), "enterprise-attack": ("T1059",),
        "cpc": ("A01B 1/02",),
    }  # fmt: skip
    assert found.unrouted == ("MONDO:1",)
    assert found.note == (
        "the query is split: 1 id of go, 2 ids of hpo, 1 id of enterprise-attack, 1 id of cpc, "
        "1 id of no registered ontology"
    )
    assert sorted([*(i for ids in found.parts.values() for i in ids), *found.unrouted]) == sorted(mixed)
    assert router.route(mixed) == list(found.parts)
    assert router.split(["HP:9910100"]).note == ""
    assert router.split([]).parts == {}


def test_a_pattern_comes_before_a_prefix(tmp_path: Path) -> None:
    registry = OntologyRegistry()
    for name in ("one", "two", "three"):
        registry.register(name, f"{name}.obo")
    router = DomainRouter(registry)
    router.register_prefix("EX:12", "one")
    router.register_pattern("EX:[0-9]{4}", "two")
    assert [router.ontology_for(i) for i in ("EX:1234", "EX:12345", "EX:1")] == ["two", "one", None]
    router.register_pattern("EX:1[0-9]+", "three")
    assert router.ontology_for("EX:1234") == "three"
    with pytest.raises(OntologyError, match="no regular expression"):
        router.register_pattern("(", "one")
    with pytest.raises(OntologyError, match="registered are"):
        router.register_pattern("X", "four")


def test_ids_that_several_ontologies_write_alike_name_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMA_GPU_DATA", str(toy_attack.write(tmp_path / "data" / "cyber").parent))
    assert main(["query", "cyber", "T9100.001", "T0800", "T1404"]) == 0
    out = capsys.readouterr().out
    assert "T0800 is not in enterprise-attack 2031-01-02; left out. Ids of this form belong to another ontology" in out
    assert "1 of MITRE ATT&CK for industrial control systems is for: sma-gpu query cyber-ics T0800" in out
    assert "Ids of this form are also those of MITRE ATT&CK for phones and tablets (domain cyber-mobile)." in out


def test_ids_in_one_word_are_told_how_to_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(toy.write(tmp_path))
    assert main(["query", folder, "HP:9910100,HP:9930100", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["query"]["left_out"]
    assert entry["why"].endswith("left out. Give each id as a word of its own: HP:9910100 HP:9930100.")
    assert main(["query", folder, "HP:9910100,HP:9939999", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["query"]["left_out"]
    assert "word of its own" not in entry["why"]


def test_bundles_of_all_domains_of_a_field_may_lie_in_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = toy_attack.write(tmp_path / "data" / "cyber")
    objects = [{**one, "x_mitre_domains": ["ics-attack"]} for one in toy_attack.objects()]
    (folder / "plants.json").write_bytes(toy_attack.bundle(*objects))
    monkeypatch.setenv("SMA_GPU_DATA", str(folder.parent))
    assert main(["query", "cyber-ics", "T9100.001", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ontology"]["name"] == "ics-attack"
    assert answer["hits"]
