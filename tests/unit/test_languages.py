"""Names in a language that is asked for: which one is shown, where it can be asked, what is kept between runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sma_gpu.cli import main
from sma_gpu.errors import QueryError
from sma_gpu.ontologies import languages
from sma_gpu.ontologies.languages import checked_language, load_in_language
from sma_gpu.ontologies.loading import load_ontology

pytest.importorskip("rdflib", reason="rdflib, of the extra owl, is not installed")

OWL = """@prefix : <http://purl.obolibrary.org/obo/EX_> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://purl.obolibrary.org/obo/ex.owl> a owl:Ontology .
:0000001 a owl:Class ; rdfs:label "root"@en , "Wurzel"@de .
:0000002 a owl:Class ; rdfs:subClassOf :0000001 ; rdfs:label "cell"@en , "Zelle"@de , "cellule"@fr .
:0000003 a owl:Class ; rdfs:subClassOf :0000001 ; rdfs:label "wall" , "muro"@it .
:0000004 a owl:Class ; rdfs:subClassOf :0000002 ; rdfs:label "colour"@en-gb , "Farbe"@de-at , "Farb"@de-ch .
:0000005 a owl:Class ; rdfs:subClassOf :0000002 ; rdfs:label "only"@en .
"""
RECORDS = "id\tname\tterms\nA\tfirst\tEX:0000004\nB\tsecond\tEX:0000003\n"
OBO = "ontology: ex\n\n[Term]\nid: EX:1\nname: one\n"
ENGLISH = ["root", "cell", "wall", "colour", "only"]
GERMAN = ["Wurzel", "Zelle", "wall", "Farbe", "only"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    (tmp_path / "ex.ttl").write_text(OWL, encoding="utf-8")
    (tmp_path / "rows.tsv").write_text(RECORDS, encoding="utf-8")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_names_are_in_the_language_asked_for_and_all_others_are_synonyms(files: Path) -> None:
    found = {tag: load_in_language(files / "ex.ttl", tag) for tag in ("", "en", "de", "DE_at", "de-CH", "it")}
    assert list(found[""].names) == list(found["en"].names) == ENGLISH
    assert list(found["de"].names) == GERMAN  # of regional forms the first by code point
    assert list(found["DE_at"].names)[3] == "Farbe"
    assert list(found["de-CH"].names)[3] == "Farb"
    assert list(found["it"].names)[2] == "muro"
    synonyms = {(s.text, s.language) for s in found["de"].synonyms_of(found["de"].number["EX:0000002"])}
    assert synonyms == {("cell", "en"), ("cellule", "fr")}
    assert {tag: ontology.sha256 for tag, ontology in found.items()} == dict.fromkeys(found, found[""].sha256)
    assert all(ontology.ids == found[""].ids for ontology in found.values())


def test_each_language_is_compiled_by_itself(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(load_in_language(files / "ex.ttl", "de").names) == GERMAN
    assert list(load_ontology(files / "ex.ttl").names) == ENGLISH

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("read anew")

    monkeypatch.setattr(languages, "_READ", {"OWL or SKOS": refused})
    assert list(load_in_language(files / "ex.ttl", "de").names) == GERMAN
    assert list(load_in_language(files / "ex.ttl").names) == ENGLISH


@pytest.mark.parametrize("tag", ["german!", "-", "d e", "a" * 9])
def test_what_is_no_tag_is_refused(files: Path, tag: str) -> None:
    with pytest.raises(QueryError, match="no language tag"):
        checked_language(tag)
    assert main(["terms", "mine", "x", "--language", tag]) in (2, 3)


def test_a_format_with_names_in_one_language_says_so(files: Path) -> None:
    path = files / "ex.obo"
    path.write_text(OBO, encoding="utf-8")
    found = load_in_language(path, "de")
    assert [(e.severity, e.kind) for e in found.report] == [("note", "one-language")]
    assert not load_in_language(path, "en").report.entries


def test_every_command_that_opens_an_ontology_takes_it(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "add", str(files / "ex.ttl"), "--name", "mine"]) == 0
    capsys.readouterr()
    found = told(capsys, "terms", "mine", "Zelle", "--language", "de")
    assert [(m["id"], m["name"], m["scope"]) for m in found["matches"]] == [("EX:0000002", "Zelle", "NAME")]
    assert told(capsys, "terms", "mine", "Zelle")["matches"][0]["name"] == "cell"
    assert told(capsys, "data", "report", "mine", "--language", "de")["ontology"]["roots"][0]["name"] == "Wurzel"
    own = files / "own"
    made = told(capsys, "index", str(files / "ex.ttl"), str(files / "rows.tsv"), "-o", str(own), "--language", "de")
    assert made["language"] == "de"
    answer = told(capsys, "query", str(own), "EX:0000004", "-k", "1")
    assert (answer["hits"][0]["key"], answer["names"]["EX:0000004"]) == ("A", "Farbe")
    assert told(capsys, "query", str(own), "Zelle", "--names", "--language", "de")["hits"][0]["key"] == "A"
    for words in (("query", str(own), "EX:0000004"), ("terms", str(own), "Zelle"), ("data", "report", str(own))):
        assert main([*words, "--language", "fr"]) == 2
        assert "it was made with those in de" in capsys.readouterr().err
