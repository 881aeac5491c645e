"""The scorer ``evidence`` from outside: what it refuses, the memory, answers and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import toy
from weighed import WeighedWorld

from sma_gpu import CaseBatch, Dials, Index, IndexItem, Query, SmaMemory, mount, ontology_from_parents
from sma_gpu.cases.model import Case, Entity, Predicate, Statement
from sma_gpu.cli import main
from sma_gpu.errors import CapacityError, CaseError, DialError, ShapeError, SmaError
from sma_gpu.scoring import evidence

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
SCHEMA = json.loads((files("sma_gpu.answers") / "answer-1.schema.json").read_text())
PARENTS: dict[str, list[str]] = {"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"], "EX:4": ["EX:2"]}
MOUNTED = mount(ontology_from_parents(PARENTS))
FLAT = CaseBatch.from_functors(["a", "b"], [[1], [2, 3]])
TOLD = CaseBatch(FLAT.keys, FLAT.ptr, FLAT.functors, FLAT.excluded_ptr, FLAT.excluded, None, np.array([0.5, 1, np.nan]))
NESTED = CaseBatch.from_cases([Case("n", (Statement(Predicate("EX:2"), (Entity("x"),)),), "named")], MOUNTED)


# --- what is refused


def told(*shares: float) -> Callable[[], object]:
    return lambda: CaseBatch(
        FLAT.keys, FLAT.ptr, FLAT.functors, FLAT.excluded_ptr, FLAT.excluded, None, np.array(shares, np.float64)
    )


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: Dials("evidence", "base"), DialError, "ancestor: under the scorer evidence the common ancestor pays"),
        (lambda: Dials("evidence(2,0.5)", "base"), DialError, "ancestor: under the scorer evidence"),
        (told(0.5, 1.0), ShapeError, "Give 3 shares above 0 and at most 1, NaN where one is not known"),
        (told(0.5, 1.0, 0.0), ShapeError, "Give 3 shares above 0"),
        (told(0.5, 1.0, -1.0), ShapeError, "Give 3 shares above 0"),
        (told(0.5, 1.0, 1.5), ShapeError, "Give 3 shares above 0"),
        (told(0.5, 1.0, np.inf), ShapeError, "Give 3 shares above 0"),
        (
            lambda: CaseBatch(
                NESTED.keys, NESTED.ptr, NESTED.functors, NESTED.excluded_ptr, NESTED.excluded, NESTED.structure,
                np.ones(len(NESTED.functors)),
            ),
            ShapeError,
            "beside structure",
        ),
        (lambda: Index.build(NESTED, MOUNTED, Dials.evidence()), CaseError, "it weighs flat cases alone"),
        (lambda: Index.build(TOLD, MOUNTED, Dials.evidence()).retrieve(NESTED, 1), CaseError, "it weighs flat cases"),
        (lambda: Index.build(TOLD, MOUNTED, Dials.evidence()).add(NESTED), CaseError, "how often their statements"),
        (lambda: Index.build(FLAT, MOUNTED, Dials.evidence()).add(NESTED), CaseError, "it weighs flat cases alone"),
        (lambda: CaseBatch.concatenate([TOLD, NESTED], MOUNTED), CaseError, "Leave the frequencies out"),
        (
            lambda: Index.build(FLAT, MOUNTED, Dials("evidence", gamma=1e9)),
            CapacityError,
            "scores stay below",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_weighed_is_refused_with_what_to_do(
    act: Callable[[], object], error: type[SmaError], words: str
) -> None:
    with pytest.raises(error) as found:
        act()
    assert words in str(found.value)


def test_frequencies_that_nobody_knows_are_none() -> None:
    unknown = told(np.nan, np.nan, np.nan)()
    assert isinstance(unknown, CaseBatch) and unknown.frequencies is None
    assert TOLD.take([0]).frequencies is not None
    assert TOLD.spelled_out().frequencies is None


@pytest.mark.parametrize(
    "scorer",
    [
        "evidence(1e-320,1)", "evidence(1e300,0)", "evidence(0,1)", "evidence(-1,1)", "evidence(4,1.1)",
        "evidence(4,-1)", "evidence(nan,0.6)", "evidence(4)", "evidence()", "evidence(1,2,3)", "evidence(four,0)",
        "Evidence", "evidence(4,.6",
    ],
)  # fmt: skip
def test_forms_of_the_scorer_that_there_are_not_are_refused(scorer: str) -> None:
    with pytest.raises(DialError, match="a scale from 1e-6 to 1e6 and a power from 0 to 1"):
        Dials(scorer)


@pytest.mark.parametrize("scorer", ["evidence(1e-6,1)", "evidence(1e6,0)", "evidence(1e6, 1)", "evidence(1e-6,0)"])
def test_forms_at_their_ends_answer(scorer: str) -> None:
    index = Index.build(told(0.001, 1.0, 1e-12)(), MOUNTED, Dials(scorer))  # type: ignore[arg-type]
    assert index.retrieve(CaseBatch.from_functors(["q"], [[1]]), 2).certified.all()


def test_one_form_has_one_name() -> None:
    assert Dials("evidence(4,0.6)") == Dials("evidence(4.0, 6e-1)") == Dials("evidence")
    assert Dials("evidence(2.0,1)").scorer == "evidence(2,1)"
    assert Dials("evidence(0.5,0.25)").fingerprint != Dials("evidence").fingerprint
    assert Dials.from_mapping(Dials("evidence(0.1,0)").as_dict()) == Dials("evidence(0.1,0)")


# --- the numbers of the definition


def test_a_worked_example() -> None:
    # Of two cases one states EX:2 in half of its instances, the other EX:4, below EX:2, in all.
    world = WeighedWorld(PARENTS, {"half": {"EX:2": 0.5}, "all": {"EX:4": 1.0}}, {})
    index = world.index(Dials("evidence", gamma=0.0, rho=0.5))
    hits = index.retrieve(CaseBatch.from_functors(["q"], [[1]]), 2)
    # The background of EX:2 is 1.5 of 2; a case that states f alone has the strength 4 f^0.4.
    bits = [np.log2(1 + 4 / 0.75), np.log2(1 + 2.0 ** (round(16 * np.log2(4 * 0.5**0.4)) / 16) / 0.75)]
    assert hits.keys[0].tolist() == ["all", "half"]
    assert (hits.score_q[0] / (1 << 16)).tolist() == pytest.approx([1 + b for b in bits], abs=2**-17)


def test_strengths_and_weights_lie_on_their_grids_and_weights_never_fall_below_a_half() -> None:
    rng = np.random.default_rng(11)
    ptr, stated = np.array([0, 40, 100]), rng.integers(10_486, (1 << 20) + 1, 100)
    found = evidence.strengths(ptr, stated, stated, Dials.evidence())
    assert np.allclose(16 * np.log2(found), np.rint(16 * np.log2(found)), atol=1e-9)
    lattice = MOUNTED.lattice
    weights = evidence.weights(lattice, np.array([0, 4]), np.arange(4, dtype=np.int32), np.array([0.0, 1, 2, 3]))
    assert (weights * 16 == np.rint(weights * 16)).all()
    assert weights.tolist() == [1.0, 0.5, 1.0, round(16 * (1 - 1 / 6)) / 16]


def test_an_empty_index_and_an_empty_query_have_no_hits() -> None:
    none = CaseBatch.from_functors([], [])
    for stored in (none, TOLD):
        index = Index.build(stored, MOUNTED, Dials.evidence())
        hits = index.retrieve(CaseBatch.from_functors(["", "q"], [[], [1]]), 2, mappings=True)
        assert (hits.cases[0] < 0).all() and hits.certified.all()
        assert (hits.cases[1] >= 0).any() == bool(len(stored))
        assert index.self_score(np.zeros(0, np.int32)) == 0


def test_an_account_is_the_same_whatever_was_asked_before() -> None:
    index = Index.build(TOLD, MOUNTED, Dials.evidence())
    one, two = (np.array(functors, np.int32) for functors in ([1, 2], [1, 3]))
    first = index.query_values(np.array([0, 2]), one).copy()
    index.query_values(np.array([0, 2]), two)
    changed = index.query_values(np.array([0, 2]), one)
    changed[:] = 0  # what a caller does with it is its own affair
    assert index.query_values(np.array([0, 2]), one).tolist() == first.tolist()
    assert index.query_values(np.array([0, 1, 2]), one).tolist() != first.tolist()
    values = index.values_of(one, np.array([2, 3, 1], np.int32)).tolist()
    alone = index.query_values(np.array([0, 1]), np.array([3], np.int32)).tolist()
    assert values == [first[1], *alone, first[0]]


# --- the memory


def test_items_tell_frequencies_and_what_cannot_be_used_is_told() -> None:
    memory = SmaMemory(MOUNTED, Dials.evidence())
    memory.index([
        IndexItem("often", ["EX:2"], frequencies={"EX:2": 1.0}),
        IndexItem("seldom", ["EX:2"], frequencies={"EX:2": 0.01, "EX:3": 0.5, "EX:9": 0.5}),
    ])  # fmt: skip
    assert [hit.key for hit in memory.retrieve(Query(["EX:2"]), 2)] == ["often", "seldom"]
    assert [(o.asked, o.kind) for o in memory.left_out["seldom"]] == [("EX:3", "conflict"), ("EX:9", "conflict")]
    assert "the frequency is not used" in memory.left_out["seldom"][0].why
    memory.add([IndexItem("unknown", ["EX:2", "EX:8"], frequencies={"EX:8": 0.5})])
    assert [(o.asked, o.kind) for o in memory.left_out["unknown"]] == [("EX:8", "unknown")]
    fresh = SmaMemory(MOUNTED, Dials.evidence())
    fresh.index([IndexItem("often", ["EX:2"], frequencies={"EX:2": 1.0}), IndexItem("unknown", ["EX:2"])])
    memory.remove(["seldom"])
    assert memory.array_index.fingerprint == fresh.array_index.fingerprint


@pytest.mark.parametrize("share", [0, -0.5, 1.01, float("nan"), float("inf"), True, "0.5", None])
def test_an_item_with_no_share_for_a_frequency_is_refused_and_nothing_is_changed(share: Any) -> None:
    memory = SmaMemory(MOUNTED, Dials.evidence())
    memory.index([IndexItem("a", ["EX:2"])])
    with pytest.raises(CaseError, match=r"item b: EX:3 has the frequency .*Give a share above 0 and at most 1"):
        memory.add([IndexItem("b", ["EX:3"], frequencies={"EX:3": share})])
    assert memory.array_index.keys == ("a",)


def test_a_memory_is_saved_and_loaded_with_its_frequencies(tmp_path: Path) -> None:
    memory = SmaMemory(MOUNTED, Dials.evidence())
    memory.index([IndexItem("a", ["EX:2", "EX:3"], frequencies={"EX:2": 0.2}), IndexItem("b", ["EX:4"])])
    memory.save(tmp_path / "memory")
    loaded = SmaMemory.load(tmp_path / "memory", MOUNTED, Dials.evidence())
    more = [IndexItem("c", ["EX:3"], frequencies={"EX:3": 0.7})]
    memory.add(more)
    loaded.add(more)
    assert loaded.array_index.fingerprint == memory.array_index.fingerprint
    assert loaded.retrieve(Query(["EX:2"]), 3) == memory.retrieve(Query(["EX:2"]), 3)


# --- answers and the command line


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    jsonschema.validate(answer, SCHEMA)
    return answer


@pytest.mark.parametrize("scorer", ["evidence", "evidence(1,0.5)"])
def test_an_answer_adds_up(tmp_path: Path, scorer: str) -> None:
    engine = toy.engine(tmp_path / "data", Dials(scorer, rho=0.5))
    answer = valid(engine.query(["HP:9910100", "HP:9930100", "HP:9920200"], ["HP:9920100"], k=10))
    assert answer["dials"]["scorer"] == scorer
    own = {used["term"]: used["bits"] for used in answer["query"]["used"] if not used["excluded"]}
    for hit in answer["hits"]:
        matched = {pair["query"]: pair["bits"] for pair in hit["mapping"]}
        assert hit["score_bits"] == 1 + sum(matched.values())
        assert {u["query"]: u["bits"] for u in hit["unexplained"]} == {t: own[t] for t in own.keys() - matched.keys()}
        covered = sum(min(bits, own[term]) for term, bits in matched.items())
        assert hit["explained"] == pytest.approx(covered / sum(own.values()))
        assert hit["normalised"] > 0
        alone = valid(engine.explain(hit["key"], ["HP:9910100", "HP:9930100", "HP:9920200"], ["HP:9920100"]))
        assert alone["hits"] == [hit]
    comparison = engine.compare(answer["hits"][0]["key"], answer["hits"][1]["key"])
    assert comparison["score_bits"] == 1 + sum(pair["bits"] for pair in comparison["shared"])
    assert valid(engine.query(["HP:0000001"]))["abstained"]


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SMA_GPU_DATA", str(toy.write(tmp_path / "data")))
    return "medicine"


def test_the_command_line_has_it_as_a_preset(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, *LONG, "--dials", "evidence"]) == 0
    text = capsys.readouterr().out
    assert "evidence, ancestor credit, power(0)" in text and "unexplained:" in text
    assert main(["query", domain, *LONG, "--dials", "evidence", "--json"]) == 0
    answer = valid(json.loads(capsys.readouterr().out))
    assert answer["dials"] == Dials.evidence().as_dict()
    key = answer["hits"][0]["key"]
    assert f"{answer['hits'][0]['score_bits']:.2f}" in text
    assert main(["explain", domain, key, *LONG, "--dials", "evidence", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["mapping"] == answer["hits"][0]["mapping"]
    assert main(["compare", domain, "OMIM:990001", "ORPHA:990003", "--dials", "evidence"]) == 0
    assert "shared" in capsys.readouterr().out
    assert main(["query", domain, *LONG, "--dials", "evidenc"]) == 2
    assert "Give default, ic, evidence, adapter-v1" in capsys.readouterr().err


def test_a_batch_answers_as_each_query_alone(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = {"p1": LONG, "p2": ["HP:9910200", "HP:9920200"], "p3": ["HP:9910000", "HP:9910110"]}
    lines = [json.dumps({"id": name, "observed": terms}) for name, terms in queries.items()]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert main(["batch", domain, str(tmp_path / "queries.jsonl"), "-k", "3", "--dials", "evidence"]) == 0
    answers = [valid(json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    for answer, terms in zip(answers, queries.values(), strict=True):
        assert main(["query", domain, *terms, "-k", "3", "--dials", "evidence", "--json"]) == 0
        alone = json.loads(capsys.readouterr().out)
        assert alone["hits"] == answer["hits"]


def test_an_index_of_ones_own_keeps_it(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, own = tmp_path / "data", str(tmp_path / "own")
    files_ = [str(data / "hp.obo"), str(data / "phenotype.hpoa")]
    assert main(["index", *files_, "-o", own, "--dials", "evidence"]) == 0
    capsys.readouterr()
    assert main(["query", own, *LONG, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["query", domain, *LONG, "--dials", "evidence", "--json"]) == 0
    wanted = json.loads(capsys.readouterr().out)
    scores = [[(hit["key"], hit["score_bits"]) for hit in answer["hits"]] for answer in (found, wanted)]
    assert found["dials"] == Dials.evidence().as_dict() and scores[0] == scores[1]
