"""Hits as Navigator layers: the published form, what each colour says, and that a layer reads back as its query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import toy_attack as toy
from toy_attack import bundle, objects, technique

from sma_gpu.answers.engine import Engine
from sma_gpu.answers.navigator import layers
from sma_gpu.cli import main
from sma_gpu.errors import QueryError
from sma_gpu.ontologies.domains import Domain
from sma_gpu.ontologies.manifest import manifests
from sma_gpu.ontologies.mount import mount
from sma_gpu.ontologies.readers.stix import read_stix
from sma_gpu.ontologies.records.sightings_reading import read_sightings
from sma_gpu.ontologies.records.stix import read_actors

TEXT = {"type": "string"}
# The property tables of layer format 4.5, layers/spec/v4.5/layerformat.md of mitre-attack/attack-navigator.
LAYER = {
    "type": "object",
    "required": ["name", "domain"],
    "additionalProperties": False,
    "properties": {
        "name": TEXT,
        "domain": {"enum": ["enterprise-attack", "mobile-attack", "ics-attack"]},
        "versions": {
            "type": "object",
            "required": ["navigator", "layer"],
            "additionalProperties": False,
            "properties": {"attack": TEXT, "navigator": TEXT, "layer": {"const": "4.5"}},
        },
        "description": TEXT,
        "sorting": {"enum": [0, 1, 2, 3]},
        "layout": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "layout": {"enum": ["side", "flat", "mini"]},
                "showID": {"type": "boolean"},
                "showName": {"type": "boolean"},
                "expandedSubtechniques": {"enum": ["none", "all", "annotated"]},
            },
        },
        "hideDisabled": {"type": "boolean"},
        "techniques": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["techniqueID"],
                "additionalProperties": False,
                "properties": {
                    "techniqueID": {"type": "string", "pattern": r"^T[0-9]{4}(\.[0-9]{3})?$"},
                    "tactic": TEXT,
                    "comment": TEXT,
                    "enabled": {"type": "boolean"},
                    "score": {"type": "number"},
                    "color": {"type": "string", "pattern": "^(#[0-9a-f]{6})?$"},
                    "metadata": {"$ref": "#/$defs/metadata"},
                    "links": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["label", "url"],
                            "additionalProperties": False,
                            "properties": {"label": TEXT, "url": {"type": "string", "pattern": "^https?://"}},
                        },
                    },
                    "showSubtechniques": {"type": "boolean"},
                },
            },
        },
        "gradient": {
            "type": "object",
            "required": ["colors", "minValue", "maxValue"],
            "additionalProperties": False,
            "properties": {
                "colors": {"type": "array", "items": TEXT, "minItems": 2},
                "minValue": {"type": "number"},
                "maxValue": {"type": "number"},
            },
        },
        "legendItems": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["label", "color"],
                "additionalProperties": False,
                "properties": {"label": TEXT, "color": TEXT},
            },
        },
        "metadata": {"$ref": "#/$defs/metadata"},
    },
    "$defs": {
        "metadata": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "value"],
                "additionalProperties": False,
                "properties": {"name": TEXT, "value": TEXT},
            },
        }
    },
}


@pytest.fixture(scope="module")
def engine() -> Engine:
    content = bundle(*objects())
    ontology = read_stix(content)
    return Engine(Domain(manifests()["cyber"], mount(ontology), read_actors(content, ontology), ()))


def roles(layer: dict[str, Any]) -> dict[str, str]:
    return {t["techniqueID"]: t["metadata"][0]["value"] for t in layer["techniques"]}


def read_back(engine: Engine, made: Any) -> tuple[str, ...]:
    domain = engine.domain
    return read_sightings(json.dumps(made).encode(), domain.mounted.ontology, domain.manifest).ids


def test_a_layer_says_what_is_shared_and_what_one_side_alone_has(engine: Engine) -> None:
    answer = engine.query(["T9100.001", "T9200", "T9300"], k=1)
    layer = layers(answer, "group")
    assert isinstance(layer, dict)
    jsonschema.validate(layer, LAYER)
    assert answer["hits"][0]["key"] == "G9001"
    # The group has T9100.001, T9200.001 and T9300.001.
    assert roles(layer) == {
        "T9100.001": "shared", "T9200": "near", "T9200.001": "near", "T9300": "near", "T9300.001": "near",
    }  # fmt: skip
    by_id = {t["techniqueID"]: t for t in layer["techniques"]}
    assert by_id["T9200"]["comment"] == "matched with T9200.001 Scripting: Shell"
    assert by_id["T9200.001"]["comment"] == "matched with T9200 Scripting"
    assert (by_id["T9200"]["score"] > 0, by_id["T9200.001"]["score"]) == (True, 0)
    assert by_id["T9100.001"]["links"] == [{"label": "A report", "url": "https://example.org/report"}]
    assert {"name": "used by", "value": "1 of 3 groups"} in by_id["T9100.001"]["metadata"]
    colours = {item["color"] for item in layer["legendItems"]}
    assert len(colours) == 4
    assert {t["color"] for t in layer["techniques"]} <= colours
    assert layer["name"] == "1. G9001 Toy Bear"


def test_what_only_one_side_has_stands_apart(engine: Engine) -> None:
    layer = layers(engine.explain("G9002", ["T9100.002", "T9300"], ["T9200", "T9001"]), "group")
    assert isinstance(layer, dict)
    jsonschema.validate(layer, LAYER)
    assert roles(layer) == {"T9100.002": "shared", "T9200": "stored", "T9300": "asked", "T9200.001": "stored"}
    by_id = {t["techniqueID"]: t for t in layer["techniques"]}
    assert [by_id[t]["enabled"] for t in ("T9100.002", "T9200", "T9200.001")] == [True, False, False]
    assert by_id["T9200"]["comment"] == "excluded by the query"
    assert by_id["T9200.001"]["color"] == ""  # neither side has it


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(
    "query", [["T9100.001"], ["T9100.001", "T9200", "T9300"], ["T9100.002", "T9300.001", "T9200.001"], ["T9001"]]
)
def test_a_layer_reads_back_as_its_query(engine: Engine, query: list[str], k: int) -> None:
    answer = engine.query(query, k=k)
    made = layers(answer, "group")
    for layer in made if isinstance(made, list) else [made]:
        jsonschema.validate(layer, LAYER)
    ids = read_back(engine, made)
    assert sorted(ids) == sorted(used["term"] for used in answer["query"]["used"])
    assert engine.query(ids, k=k)["hits"] == answer["hits"]


def test_no_hit_gives_a_layer_of_the_query(engine: Engine) -> None:
    layer = layers(engine.query(["T7777"]), "group")
    assert isinstance(layer, dict)
    jsonschema.validate(layer, LAYER)
    assert (layer["name"], layer["techniques"]) == ("No hit", [])
    assert "nothing usable" in layer["description"]


def test_terms_without_an_id_are_named_instead(engine: Engine) -> None:
    content = bundle(*objects(), technique(40, name="Own way"), toy.link(41, "uses", toy.BEAR, technique(40)))
    ontology = read_stix(content)
    other = Engine(Domain(manifests()["cyber"], mount(ontology), read_actors(content, ontology), ()))
    layer = layers(other.query(["T9100.001"], k=1), "group")
    assert isinstance(layer, dict)
    jsonschema.validate(layer, LAYER)
    assert f"{technique(40)['id']} Own way" in layer["description"]


def test_layers_are_for_attack_alone(engine: Engine) -> None:
    answer = engine.query(["T9100.001"])
    with pytest.raises(QueryError):
        layers({**answer, "ontology": {**answer["ontology"], "name": "hp"}}, "disease")


def test_facets_say_who_else_has_a_technique(engine: Engine) -> None:
    answer = engine.query(["T9100.001", "T9300"], k=2)
    assert [(u["term"], u["holders"]) for u in answer["query"]["used"]] == [
        ("T9100.001", ["G9001"]), ("T9300", ["G9001", "G9005"]),
    ]  # fmt: skip
    first = next(hit for hit in answer["hits"] if hit["key"] == "G9001")
    (facet,) = first["facets"]
    assert facet == {
        "facet": "TA9001",
        "shared": [{"term": "T9100.001", "held_by": 1}],
        "only_case": [{"term": "T9200.001", "held_by": 1}, {"term": "T9300.001", "held_by": 1}],
        "only_query": [{"term": "T9300", "held_by": 2}],
    }
    assert answer["names"]["TA9001"] == "Toy Access"


def test_facets_come_in_the_order_of_the_matrix_and_terms_without_one_last() -> None:
    tactics = [toy.thing("x-mitre-tactic", i, f"TA{i}", f"Tactic {i}", x_mitre_shortname=f"t{i}") for i in (91, 92)]
    matrix = toy.thing("x-mitre-matrix", 95, "enterprise-attack", "M", tactic_refs=[t["id"] for t in reversed(tactics)])

    def of(number: int, term: str, *names: str) -> dict[str, Any]:
        phases = [{"kill_chain_name": "mitre-attack", "phase_name": name} for name in names]
        return technique(number, term, term, kill_chain_phases=phases)

    both, none, one = of(1, "T1", "t91", "t92"), of(2, "T2"), of(3, "T3", "t91")
    bear, cat = toy.group(4, "G1", "Bear"), toy.group(5, "G2", "Cat")
    pairs = [(bear, both), (bear, none), (bear, one), (cat, none)]
    content = bundle(
        *tactics, matrix, both, none, one, bear, cat, *(toy.link(10 + i, "uses", *p) for i, p in enumerate(pairs))
    )
    ontology = read_stix(content)
    engine = Engine(Domain(manifests()["cyber"], mount(ontology), read_actors(content, ontology), ()))
    facets = engine.query(["T1"], k=1)["hits"][0]["facets"]
    assert [(f["facet"], [t["term"] for t in f["shared"]], [t["term"] for t in f["only_case"]]) for f in facets] == [
        ("TA92", ["T1"], []), ("TA91", ["T1"], ["T3"]), (None, [], ["T2"]),
    ]  # fmt: skip


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SMA_GPU_DATA", str(toy.write(tmp_path / "data" / "cyber").parent))
    return "cyber"


def test_from_the_command_line_and_back(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "layers.json"
    assert main(["query", domain, "T9100.001", "T9200", "-f", "navigator", "-k", "2", "-o", str(place)]) == 0
    made = json.loads(place.read_text())
    assert [layer["name"][:2] for layer in made] == ["1.", "2."]
    assert main(["query", domain, "--from", str(place), "-k", "2"]) == 0
    out = capsys.readouterr().out
    assert "from layers.json (navigator '1. G9001 Toy Bear, 2. G9002 Toy Cat'): 4 mentions of 2 ids" in out
    assert "T9100.001 Phishing: Attachment (layers[0] techniques[0], layers[1] techniques[0])" in out
    assert "tactic by tactic; in brackets how many of 3 groups have it" in out
    assert "shared: T9100.001 Phishing: Attachment (this group alone)" in out
    assert "known of G9001 alone: T9200.001 Scripting: Shell, T9300.001 Scouting: Link" in out
