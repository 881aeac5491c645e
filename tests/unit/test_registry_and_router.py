"""Ontologies by name, and routing of ids and domains to them."""

from __future__ import annotations

from pathlib import Path

import pytest
import toy

from sma_gpu import DomainRouter, IndexItem, OntologyRegistry, Query, SmaMemory
from sma_gpu.errors import DataMissing, OntologyError


@pytest.fixture
def registry(tmp_path: Path) -> OntologyRegistry:
    registry = OntologyRegistry()
    registry.register("hpo", toy.write(tmp_path) / "hp.obo")
    return registry


def test_the_published_usage_works(registry: OntologyRegistry) -> None:
    mounted = registry.get("hpo")
    assert registry.get("hpo") is mounted
    memory = SmaMemory(mounted)
    memory.index([IndexItem(key, frozenset(terms), name) for key, (name, terms) in toy.DISEASES.items()])
    hits = memory.retrieve(Query(frozenset(["HP:9910100", "HP:9930100"]), "long fingers"), k=5)
    assert hits[0].key == "OMIM:990001"
    assert hits[0].rank == 1
    assert 0 < hits[0].confidence <= 1
    assert hits[0].score > hits[-1].score
    assert 0 <= memory.novelty(Query(frozenset(["HP:9910100"]), "")) <= 1


def test_what_is_not_registered_or_not_there_is_refused(registry: OntologyRegistry, tmp_path: Path) -> None:
    with pytest.raises(OntologyError, match="registered are: hpo"):
        registry.get("go")
    registry.register("go", tmp_path / "go.obo")
    with pytest.raises(DataMissing, match="no such file"):
        registry.get("go")
    assert registry.names == ("go", "hpo")
    assert "go" in registry
    assert [e.name for e in registry.entries] == ["go", "hpo"]


def test_registering_again_replaces(registry: OntologyRegistry, tmp_path: Path) -> None:
    before = registry.get("hpo")
    other = tmp_path / "newer.obo"
    other.write_text(toy.obo("2027-01-01"), encoding="utf-8")
    registry.register("hpo", other)
    assert registry.get("hpo") is not before
    assert registry.get("hpo").ontology.version == "2027-01-01"


def test_the_longest_prefix_wins_and_a_domain_comes_first(registry: OntologyRegistry) -> None:
    for name in ("general", "special"):
        registry.register(name, f"{name}.obo")
    router = DomainRouter(registry)
    router.register_prefix("HP:", "general")
    router.register_prefix("HP:99", "special")
    router.register_domain("medicine", "hpo")
    assert router.ontology_for("HP:9910100") == "special"
    assert router.ontology_for("HP:0000001") == "general"
    assert router.ontology_for("GO:1") is None
    assert router.route(["HP:0000001", "GO:1", "HP:99", "HP:0000002"]) == ["general", "special"]
    assert router.route(["HP:99"], domain="medicine") == ["hpo", "special"]
    assert router.route(domain="law") == router.route() == []
    with pytest.raises(OntologyError, match="registered are"):
        router.register_prefix("GO:", "go")
    with pytest.raises(OntologyError, match="registered are"):
        router.register_domain("genes", "go")
