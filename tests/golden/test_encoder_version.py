"""What becomes of fixed ids under each version of the encoder: a change of either without the other turns this red.

Where a query is meant to become another than before, raise ``ENCODER_VERSION`` and write the golden file anew:
``python tests/golden/test_encoder_version.py``.
"""

from __future__ import annotations

import json
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import toy_attack

from sma_gpu import Engine, open_engine
from sma_gpu.answers.own_index_making import write_own
from sma_gpu.cases.encoder import ENCODER_VERSION

GOLDEN = Path(__file__).parent / "encoded_queries.json"
OBO = """format-version: 1.2
ontology: ex

[Term]
id: EX:1
name: root
[Term]
id: EX:2
name: left
alt_id: EX:20
is_a: EX:1
[Term]
id: EX:3
name: right
is_a: EX:1
[Term]
id: EX:4
name: both
is_a: EX:2
is_a: EX:3
[Term]
id: EX:5
name: below a term that is nowhere defined
is_a: EX:99
[Term]
id: EX:6
name: gone
is_obsolete: true
replaced_by: EX:3
[Term]
id: EX:7
name: gone with suggestions
is_obsolete: true
consider: EX:2
consider: EX:3
[Term]
id: EX:8
name: gone by way of another
is_obsolete: true
replaced_by: EX:6
"""
QUERIES: dict[str, list[tuple[list[str], list[str]]]] = {
    "ex": [
        (["EX:4"], []),
        (["EX:1", "EX:2", "EX:3", "EX:4"], []),
        (["EX:3", "EX:2", "EX:2"], ["EX:4"]),
        (["EX:20"], ["EX:2"]),
        (["EX:6", "EX:8"], ["EX:7"]),
        (["EX:4"], ["EX:1", "EX:3"]),
        (["EX:99", "EX:5", "EX:100", "XE:4", "ex:4", " EX:4", "EX:2 EX:3", ""], ["EX:99"]),
        (["http://purl.obolibrary.org/obo/EX_4", "EX:4"], []),
        (["A", "B"], ["A"]),
        ([], ["EX:4", "EX:2"]),
    ],
    "attack": [
        (["T9100", "T9100.001"], []),
        (["TA9001", "T9200.001", "G9001"], ["TA9001", "T9300"]),
        (["T9001", "Toy Bear", "t9200.001"], []),
    ],
    "legal": [
        (["G06F3/0412", "g06f 3/0412", "D03D 1/0088"], []),
        (["G06F3/0412; D03D1/0088 (2013.01)", "G06F0003041200"], ["D03D1/00"]),
        (["Y02A 90/26", "nothing"], []),
    ],
}


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Engine]:
    return made(tmp_path_factory.mktemp("encoder"))


def made(folder: Path) -> dict[str, Engine]:
    (folder / "ex.obo").write_text(OBO, encoding="utf-8")
    (folder / "ex.tsv").write_text("key\tterms\nA\tEX:4\nB\tEX:2;EX:5\n", encoding="utf-8")
    write_own(str(folder / "ex.obo"), str(folder / "ex.tsv"), folder / "ex")
    attack = toy_attack.write(folder / "attack")
    sample = files("sma_gpu.ontologies") / "samples" / "legal"
    places = {"ex": folder / "ex", "attack": attack, "legal": sample}
    return {name: open_engine(str(place), backend="reference") for name, place in places.items()}


def became(engine: Engine, observed: list[str], excluded: list[str]) -> dict[str, Any]:
    query = engine.encode(observed, excluded)
    return {
        "observed": observed,
        "excluded": excluded,
        "present": engine.ids(query.present),
        "absent": engine.ids(query.excluded),
        "changed": [[one.asked, one.used] for one in query.changed],
        "left_out": [[one.asked, one.kind] for one in query.left_out],
    }


def encoded(engines: dict[str, Engine]) -> dict[str, Any]:
    queries = {name: [became(engines[name], *query) for query in asked] for name, asked in QUERIES.items()}
    return {"encoder_version": ENCODER_VERSION, "queries": queries}


@pytest.mark.parametrize("name", QUERIES)
def test_the_encoder_makes_of_fixed_ids_what_it_did_under_this_version(name: str, engines: dict[str, Engine]) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["encoder_version"] == ENCODER_VERSION
    assert encoded(engines)["queries"][name] == golden["queries"][name]


def test_the_fixed_ids_meet_every_fate() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["queries"]
    fates = {kind for queries in golden.values() for query in queries for _, kind in query["left_out"]}
    assert fates == {"unknown", "retired", "placeholder", "repeat", "implied", "conflict", "outside"}
    assert any(query["changed"] for query in golden["ex"]) and any(query["changed"] for query in golden["legal"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        text = json.dumps(encoded(made(Path(scratch))), indent=1, ensure_ascii=False)
    GOLDEN.write_text(text + "\n", encoding="utf-8")
