"""Dials where none are given: those of the domain, or of the saved index, shown in the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import toy
from oracles.evidence import EvidenceOracle

from sma_gpu import Dials, open_engine
from sma_gpu.cli import main
from sma_gpu.errors import DataMissing, DialError
from sma_gpu.ontologies.manifest import manifests

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
SCORERS = {
    "medicine": "evidence",
    "genomics": "evidence",
    "legal": "evidence",
    "cyber": "evidence(",
    "cyber-mobile": "evidence(",
    "cyber-ics": "evidence(",
    "finance": "evidence(",
}
NAMED = {
    "ic": Dials(),
    "evidence": Dials.evidence(),
    "adapter-v1": Dials.adapter_v1(),
    '{"delta": 1}': Dials(delta=1),
}


@pytest.fixture
def domain(tmp_path: Path) -> str:
    return str(toy.write(tmp_path / "data"))


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["query", *words, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_every_ready_domain_has_dials_of_its_own() -> None:
    assert set(manifests()) == set(SCORERS)
    for name, manifest in manifests().items():
        dials = Dials.from_mapping(manifest.dials)
        assert dials.scorer.startswith(SCORERS[name]) and (dials.scorer == "evidence") == (SCORERS[name] == "evidence")
        assert dials == Dials(scorer=dials.scorer, rho=0.5)
        assert dials != Dials()


@pytest.mark.parametrize("name", ["medicine", "genomics", "legal", "cyber", "cyber-mobile", "cyber-ics", "finance"])
def test_a_ready_domain_is_asked_under_the_dials_of_its_manifest(name: str) -> None:
    try:
        engine = open_engine(name, backend="reference")
    except DataMissing as missing:
        pytest.skip(f"the files of {name} are not here: {missing}")
    dials = Dials.from_mapping(manifests()[name].dials)
    assert engine.index.dials == dials
    assert engine.query(engine.ids(engine.index.cases.functors_of(0)[:3]), k=1)["dials"] == dials.as_dict()


def test_the_command_line_names_dials(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = asked(capsys, domain, *LONG)
    assert plain["dials"] == Dials.from_mapping(manifests()["medicine"].dials).as_dict()
    assert asked(capsys, domain, *LONG, "--dials", "default") == plain
    for word, dials in NAMED.items():
        answer = asked(capsys, domain, *LONG, "--dials", word)
        assert answer["dials"] == dials.as_dict()
        assert answer == json.loads(json.dumps(open_engine(domain, dials).query(LONG)))
    assert asked(capsys, domain, *LONG, "--dials", "ic")["hits"] != plain["hits"]


def test_an_index_of_ones_own_keeps_its_dials(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"{domain}/hp.obo", f"{domain}/phenotype.hpoa"]
    kept = {(): None, ("--dials", "ic"): Dials(), ("--dials", '{"rho": 0.7}'): Dials(rho=0.7)}
    for i, (words, dials) in enumerate(kept.items()):
        own = str(tmp_path / f"own{i}")
        assert main(["index", *files, "-o", own, *words]) == 0
        capsys.readouterr()
        told = asked(capsys, own, *LONG)
        assert told["dials"] == (dials or Dials.from_mapping(manifests()["medicine"].dials)).as_dict()
        assert asked(capsys, own, *LONG, "--dials", "default") == told
        assert asked(capsys, own, *LONG, "--dials", "evidence")["dials"] == Dials.evidence().as_dict()


def test_answers_under_the_default_are_those_of_the_definition(domain: str) -> None:
    engine = open_engine(domain)
    stated = {key: dict.fromkeys(terms, 3 / 7) for key, (_, terms) in toy.DISEASES.items()}
    dials = engine.index.dials
    assert dials.weighing is not None
    oracle = EvidenceOracle(
        {term: parents for term, (_, parents) in toy.TERMS.items()},
        stated, toy.EXCLUDED, dials.gamma, dials.rho, dials.delta, *dials.weighing,
    )  # fmt: skip
    answer = engine.query(LONG, k=9)
    expected = {key: oracle.account(LONG, (), key).score for key in stated}
    assert {hit["key"]: hit["score_bits"] * 65536 for hit in answer["hits"]} == {
        key: score for key, score in expected.items() if score
    }
    ranked = sorted((-score, key) for key, score in expected.items() if score)
    assert [hit["key"] for hit in answer["hits"]] == [key for _, key in ranked]


@pytest.mark.parametrize("dials", [*NAMED.values(), Dials(scorer="unit"), Dials(scorer="evidence(256,0.9)")])
def test_what_holds_for_every_case_is_no_information_under_any_scorer(domain: str, dials: Dials) -> None:
    engine = open_engine(domain, dials)
    for terms in (["HP:0000001"], ["HP:0000118"]):
        answer = engine.query(terms)
        assert answer["abstained"] and answer["reason"].startswith("no information")
        assert answer["hits"] == []
    assert not engine.query(["HP:0000118", "HP:9910110"])["abstained"]


def test_unknown_dials_are_refused(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, *LONG, "--dials", "evidenc"]) == 2
    assert "Give default, ic, evidence, adapter-v1" in capsys.readouterr().err
    with pytest.raises(DialError, match="there is no such dial"):
        Dials.from_mapping({"scale": 4})
