"""Published ontologies in OWL, SKOS and OBO Graphs: the counts of their files, and one ontology in four formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.skos import TOP_TAG

pytest.importorskip("rdflib")


def counts(ontology: Ontology) -> dict[str, int]:
    return {what: int(count) for what, count in (line.rsplit(" ", 1) for line in ontology.header["counts"])}


@pytest.fixture(scope="module")
def slices(shared_data: Path) -> dict[str, Ontology]:
    """The slice of the Gene Ontology in its four formats."""
    folder = shared_data / "small"
    files = {"obo": "obo.gz", "owl": "owl.gz", "turtle": "owl.ttl.gz", "json": "json.gz"}
    return {form: load_ontology(folder / f"go-nucleus.{ending}") for form, ending in files.items()}


@pytest.mark.parametrize("form", ["owl", "turtle", "json"])
def test_four_formats_give_one_ontology(slices: dict[str, Ontology], form: str) -> None:
    obo, other = slices["obo"], slices[form]
    assert other.name == obo.name == "go"
    assert other.ids == obo.ids
    for part in ("placeholder", "parent_ptr", "parents", "synonym_ptr", "synonym_scopes"):
        assert np.array_equal(getattr(other, part), getattr(obo, part)), part
    for part in ("names", "definitions", "synonym_texts", "synonym_languages"):
        assert list(getattr(other, part)) == list(getattr(obo, part)), part
    assert other.retired == obo.retired
    assert other.relation_ids == obo.relation_ids
    assert np.array_equal(other.relations, obo.relations)
    assert not other.report.faults


def test_where_the_four_formats_differ(slices: dict[str, Ontology]) -> None:
    # The OBO file alone states its release: the others were made without a version address.
    assert {form: ontology.version for form, ontology in slices.items()} == {
        "obo": "2020-01-01", "owl": "", "turtle": "", "json": "",
    }  # fmt: skip
    # Seven relations have two labels, such as "has part" and "has_part". OBO and OWL keep both, and the first by code
    # point is shown; an OBO Graphs node has room for one, and the file holds the second.
    for form in ("owl", "turtle"):
        assert slices[form].relation_names == slices["obo"].relation_names
    pairs = zip(slices["obo"].relation_names, slices["json"].relation_names, strict=True)
    unlike = [(a, b) for a, b in pairs if a != b]
    assert len(unlike) == 7
    assert all(a.replace(" ", "_") == b for a, b in unlike)
    # References of a definition stand in the order of the file in OBO, and in that of their texts elsewhere.
    for form in ("owl", "turtle", "json"):
        mine = [sorted(text.split("\n")) for text in slices[form].references]
        assert mine == [sorted(text.split("\n")) for text in slices["obo"].references], form


@pytest.mark.parametrize(
    ("name", "wanted", "live", "retired"),
    [
        ("aeo.owl.gz", {"classes": 250, "deprecated": 1}, 249, 1),
        ("iao.owl.gz", {"classes": 245, "deprecated": 17}, 227, 17),
        (
            "go-nucleus.owl.gz",
            {"classes": 204, "subclass-of": 221, "unnamed-superclasses": 115, "deprecated": 28, "merged": 28},
            176,
            0,
        ),
        ("interneuron.owl.ttl.gz", {"classes": 1062, "subclass-of": 1421, "restrictions": 667}, 1062, 0),
    ],
)
def test_counts_of_small_files(shared_data: Path, name: str, wanted: dict[str, int], live: int, retired: int) -> None:
    found = load_ontology(shared_data / "small" / name)
    assert counts(found).items() >= wanted.items()
    assert (found.live_count, found.retired_count) == (live, retired)


def test_unesco_thesaurus(shared_data: Path) -> None:
    found = load_ontology(shared_data / "small" / "unesco-thesaurus.ttl.gz")
    assert (found.live_count, len(found.parents), len(found.relations)) == (4414, 4257, 12198)
    assert found.relation_ids == ("skos:related",)
    assert set(found.header[TOP_TAG]) - set(found.roots) == {"thesaurus:concept396"}  # on top, and below another
    assert set(found.header[TOP_TAG]) > set(found.roots)
    right = found.term("thesaurus:concept10")
    assert right.name == "Right to education"
    assert {(s.language, s.text) for s in right.synonyms} >= {("fr", "Droit à l'éducation")}
    assert not found.report.entries


def test_d3fend(shared_data: Path) -> None:
    found = load_ontology(shared_data / "cyber" / "d3fend-protege-2025-08-25.ttl.xz")
    assert counts(found).items() >= {"classes": 3496, "subclass-of": 3878, "restrictions": 1513}.items()
    assert (found.live_count, found.retired_count) == (3352, 144)
    assert found.resolve("http://d3fend.mitre.org/ontologies/d3fend.owl#AccessToken").used == "d3fend:AccessToken"
    assert ("d3fend:analyzes", "d3fend:File") in found.term("d3fend:FileAnalysis").relations


def test_fibo_of_many_files(shared_data: Path) -> None:
    found = load_ontology(shared_data / "finance" / "fibo-2026-07-17-owl.tar.xz")
    assert len(found.header["ontology"]) == 178
    wanted = {"classes": 2782, "subclass-of": 3077, "unnamed-superclasses": 2839}
    assert counts(found).items() >= wanted.items()
    assert (found.name, found.live_count, found.retired_count) == ("fibo", 2742, 40)
    # 66 classes of ontologies that FIBO imports from elsewhere are named here as parents or ends of relations.
    assert len([e for e in found.report.warnings if e.kind == "undefined-term"]) == int(found.placeholder.sum()) == 66
    assert [len(e.ids) for e in found.report if e.kind == "import"] == [28]
    corporation = "https://spec.edmcouncil.org/fibo/ontology/BE/LegalEntities/CorporateBodies/StockCorporation"
    term = found.term(found.resolve(corporation).used or "")
    assert (term.id, term.name) == ("fibo-be-le-cb:StockCorporation", "stock corporation")
    assert found.iris.iri_of(term.id) == corporation
