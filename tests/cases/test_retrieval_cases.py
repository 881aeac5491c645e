"""The retrieval cases, and the parts of the phenopacket cases that concern queries."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from indexes import assert_same_index
from kills import killed
from strategies import World, pack

from sma_gpu import CaseBatch, IndexItem, Query, SmaMemory, encode_query, mount, ontology_from_parents
from sma_gpu.errors import ArtifactError, QueryError, SmaError, UnknownKey
from sma_gpu.trust import why_abstain

Loaded = tuple[SmaMemory, dict[str, Any]]

LATTICE = {
    "EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"], "EX:4": ["EX:2"], "EX:5": ["EX:2"], "EX:6": ["EX:3"],
    "EX:7": ["EX:4", "EX:6"], "EX:8": ["EX:6"],
}  # fmt: skip
FOUR = {"c-alpha": ["EX:4", "EX:6"], "c-beta": ["EX:5"], "c-gamma": ["EX:7"], "c-delta": ["EX:8", "EX:5"]}


def remember(parents: dict[str, list[str]], cases: dict[str, list[str]]) -> SmaMemory:
    memory = SmaMemory(mount(ontology_from_parents(parents)))
    memory.index([IndexItem(key, terms) for key, terms in cases.items()])
    return memory


def load(folder: Path, name: str) -> Loaded:
    case = json.loads((folder / f"{name}.json").read_text())
    return remember(case["lattice"], case["cases"]), case


def found(memory: SmaMemory, terms: list[str], k: int) -> list[tuple[str, float]]:
    return [(hit.key, hit.score) for hit in memory.retrieve(Query(terms), k)]


def reason(memory: SmaMemory, terms: list[str]) -> str | None:
    abstention = why_abstain(memory.array_index, memory.encode(Query(terms)))
    return abstention.words if abstention else None


def test_the_lattice_of_these_tests_is_that_of_the_shared_cases(shared_cases: Path) -> None:
    case = json.loads((shared_cases / "P-RET-01.json").read_text())
    assert (case["lattice"], case["cases"]) == (LATTICE, FOUR)


def test_p_ret_01_empty_and_root_queries_abstain() -> None:
    memory = remember(LATTICE, FOUR)
    assert found(memory, [], 3) == []
    assert "empty query" in (reason(memory, []) or "")
    assert found(memory, ["EX:1"], 3) == []
    assert "no information" in (reason(memory, ["EX:1"]) or "")


def test_p_ret_01_a_batch_answers_as_if_each_were_asked_alone() -> None:
    memory = remember(LATTICE, FOUR)
    queries = {"a": ["EX:7"], "b": [], "c": ["EX:5"]}
    hits = memory.array_index.retrieve(pack(mount(ontology_from_parents(LATTICE)), queries), 2)
    assert hits.keys.shape == hits.score_q.shape == (3, 2)
    for row, terms in enumerate(queries.values()):
        alone = found(memory, terms, 2)
        assert [key for key in hits.keys[row] if key] == [key for key, _ in alone]
        assert [s / 65536 for s in hits.score_q[row] if s] == [score for _, score in alone]
    assert hits.aligned[1] == 0


def test_p_ret_02_unknown_ids_are_listed_never_answered_with_anything() -> None:
    memory = remember(LATTICE, FOUR)
    encoded = memory.encode(Query(["EX:999", "ZZ:1"]))
    assert found(memory, ["EX:999", "ZZ:1"], 3) == []
    assert [(o.asked, o.kind) for o in encoded.left_out] == [("EX:999", "unknown"), ("ZZ:1", "unknown")]
    assert "another ontology" in encoded.left_out[1].why
    assert "nothing usable" in (reason(memory, ["EX:999", "ZZ:1"]) or "")

    assert found(memory, ["EX:999", "EX:7"], 3) == found(memory, ["EX:7"], 3) != []
    assert [o.asked for o in memory.encode(Query(["EX:999", "EX:7"])).left_out] == ["EX:999"]

    lower = memory.encode(Query(["ex:7"]))
    assert found(memory, ["ex:7"], 3) == []
    assert lower.left_out[0].candidates == ("EX:7",)
    assert found(memory, ["Fever"], 3) == []


def test_p_ret_03_k_beyond_the_collection_and_large_k() -> None:
    memory = remember(LATTICE, FOUR)
    wide = found(memory, ["EX:7"], 10)
    assert wide[0][0] == "c-gamma"
    assert len(wide) <= 4
    assert len({key for key, _ in wide}) == len(wide)
    for k in (1, 2, 3, 4):
        assert found(memory, ["EX:7"], k) == wide[:k]

    many = remember(LATTICE, FOUR | {f"g-{i:05d}": ["EX:8"] for i in range(5001)})
    hits = found(many, ["EX:8"], 5000)
    assert len({key for key, _ in hits}) == len(hits) == 5000
    assert found(many, ["EX:8"], 7) == hits[:7]


def test_p_ret_04_ties_go_by_key_whatever_the_order_of_loading() -> None:
    cases = {
        "zeta": ["EX:7"], "alpha": ["EX:7"], "Mid": ["EX:7"], "b-other": ["EX:7", "EX:7"], "near": ["EX:4"],
        "far": ["EX:5"],
    }  # fmt: skip
    memory = remember(LATTICE, cases)
    every = found(memory, ["EX:7"], 6)
    assert [key for key, _ in every][:5] == ["Mid", "alpha", "b-other", "zeta", "near"]
    assert len({score for _, score in every[:4]}) == 1
    assert all(found(memory, ["EX:7"], k) == every[:k] for k in range(1, 7))
    assert all(found(memory, ["EX:7"], 3) == every[:3] for _ in range(100))
    order = ["far", "near", "b-other", "Mid", "alpha", "zeta"]
    assert found(remember(LATTICE, {key: cases[key] for key in order}), ["EX:7"], 6) == every


def check_p_ret_05(parents: dict[str, list[str]], cases: dict[str, list[str]], steps: list[dict[str, Any]]) -> None:
    memory, held, answers = remember(parents, cases), dict(cases), []
    for step in steps:
        before = memory.array_index
        if "query" in step:
            answers.append(found(memory, step["query"], step["k"]))
        elif "add" in step:
            memory.add([IndexItem(step["add"]["key"], step["add"]["terms"])])
            held[step["add"]["key"]] = step["add"]["terms"]
        elif "delete_all" in step:
            memory.remove(list(held))
            held.clear()
        elif step["delete"] in held:
            memory.remove([step["delete"]])
            del held[step["delete"]]
        else:
            with pytest.raises(UnknownKey, match=step["delete"]):
                memory.remove(["c-alpha", step["delete"]])
            assert memory.array_index is before
        fresh = remember(parents, held)
        assert_same_index(memory.array_index, fresh.array_index)
        for term in parents:
            assert [found(memory, [term], k) for k in (1, 4)] == [found(fresh, [term], k) for k in (1, 4)]
    first, third, fourth, sixth, ninth = answers
    assert [key for key, _ in first] == ["c-gamma"]
    assert [key for key, _ in third] == ["c-alpha"]
    assert fourth[0][0] == "c-alpha"
    assert len(fourth) <= 3
    assert "c-gamma" not in dict(fourth)
    assert sixth[0][0] == "c-alpha"
    assert dict(sixth).get("c-gamma") == dict(sixth).get("c-beta")
    assert ninth == []
    assert "no cases" in (reason(memory, ["EX:7"]) or "")


P_RET_05 = [
    {"query": ["EX:7"], "k": 1}, {"delete": "c-gamma"}, {"query": ["EX:7"], "k": 1}, {"query": ["EX:7"], "k": 4},
    {"add": {"key": "c-gamma", "terms": ["EX:5"]}}, {"query": ["EX:7"], "k": 4}, {"delete": "no-such-key"},
    {"delete_all": True}, {"query": ["EX:7"], "k": 4},
]  # fmt: skip


def test_p_ret_05_deleted_then_added_again() -> None:
    check_p_ret_05(LATTICE, FOUR, P_RET_05)


def test_p_ret_05_with_the_shared_steps(shared_cases: Path) -> None:
    case = json.loads((shared_cases / "P-RET-05.json").read_text())
    assert case["steps"] == P_RET_05
    check_p_ret_05(case["lattice"], case["cases"], case["steps"])


def test_p_ret_05_a_key_that_is_taken_is_refused_and_nothing_is_changed() -> None:
    memory = remember(LATTICE, FOUR | {"bare": []})
    before = memory.array_index
    for refused, call, items in (
        ("c-beta", memory.add, [IndexItem("new", ["EX:8"]), IndexItem("c-beta", ["EX:8", "EX:none"])]),
        ("bare", memory.add, [IndexItem("bare", ["EX:8"])]),
        ("twice", memory.add, [IndexItem("twice", ["EX:8"]), IndexItem("twice", ["EX:none"])]),
        ("new", memory.update, [IndexItem("c-beta", ["EX:none"]), IndexItem("new", ["EX:8"])]),
        ("c-beta", memory.update, [IndexItem("c-beta", ["EX:8"]), IndexItem("c-beta", ["EX:7", "EX:none"])]),
    ):  # fmt: skip
        with pytest.raises(SmaError, match=refused):
            call(items)
        assert memory.array_index is before
        assert memory.left_out == {}
    memory.update([IndexItem("bare", ["EX:8", "EX:none"])])
    assert_same_index(memory.array_index, remember(LATTICE, FOUR | {"bare": ["EX:8"]}).array_index)
    assert [o.asked for o in memory.left_out["bare"]] == ["EX:none"]
    memory.add([IndexItem("more", ["EX:8", "EX:none"])])
    assert sorted(memory.left_out) == ["bare", "more"]
    memory.remove(["bare", "more"])
    assert memory.left_out == {}
    assert_same_index(memory.array_index, remember(LATTICE, FOUR).array_index)


# The moments of the shared case. Our file is renamed while it is still open, so that no other writer comes between;
# "after close before rename" is then the moment when all bytes are on the disk and the rename has not happened.
KILLED_AT: dict[str, tuple[dict[str, Any], int]] = {
    "before first byte": ({"written": 0}, 4),
    "after 1 byte": ({"written": 1}, 4),
    "half of the bytes": ({"written": -1}, 4),
    "after last byte before close": ({"before": "fsync"}, 4),
    "after close before rename": ({"before": "replace"}, 4),
    "after rename": ({"after": "replace"}, 5),
}


@pytest.mark.parametrize("moment", KILLED_AT)
def test_p_ret_07_killed_while_saving(tmp_path: Path, moment: str) -> None:
    old, new = remember(LATTICE, FOUR), remember(LATTICE, FOUR | {"c-eps": ["EX:8"]})
    store, mounted = tmp_path / "store", mount(ontology_from_parents(LATTICE))
    old.save(store)
    grown = SmaMemory.load(store, mounted)
    grown.add([IndexItem("c-eps", ["EX:8"])])
    at, cases = KILLED_AT[moment]
    if at.get("written") == -1:
        at = {"written": new.save(tmp_path / "aside") // 2}
    assert killed(lambda: grown.save(store), **at)
    again = SmaMemory.load(store, mounted)
    whole = old if cases == 4 else new
    assert len(again) == cases
    assert_same_index(again.array_index, whole.array_index)
    assert found(again, ["EX:8"], 5) == found(whole, ["EX:8"], 5) != []

    content = store.read_bytes()
    store.write_bytes(content[: len(content) // 2])
    with pytest.raises(ArtifactError, match="incomplete") as refused:
        SmaMemory.load(store, mounted)
    assert str(store) in str(refused.value)


def test_p_ret_07_names_the_moments_that_are_tested_here(shared_cases: Path) -> None:
    case = json.loads((shared_cases / "P-RET-07.json").read_text())
    assert (case["lattice"], case["cases"]) == (LATTICE, FOUR)
    assert case["steps"][2]["kill_process_at"] == f"each of: {', '.join(KILLED_AT)}"


def test_p_ret_06_terms_that_no_case_uses() -> None:
    memory = remember(LATTICE, {"only": ["EX:5"], "other": ["EX:5", "EX:4"]})
    hits = found(memory, ["EX:7"], 2)
    assert hits[0][0] == "other"
    index = memory.array_index
    for a in LATTICE:
        for b in LATTICE:
            bits = index.similarity(a, b)
            assert math.isfinite(bits)
            assert 0 <= bits <= min(index.similarity(a, a), index.similarity(b, b))
            assert bits == index.similarity(b, a)
    assert index.similarity("EX:7", "EX:7") > 0
    assert index.similarity("EX:1", "EX:1") == index.similarity("EX:1", "EX:1") == 0
    with pytest.raises(KeyError):
        index.similarity("EX:7", "EX:999")


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", True])
def test_a_k_that_is_no_count_is_wrong_usage(k: Any) -> None:
    memory = remember(LATTICE, FOUR)
    with pytest.raises(QueryError, match="above 0"):
        memory.array_index.retrieve(CaseBatch.from_functors(["q"], [[6]]), k)


def test_shared_retrieval_files_hold_what_is_tested_here(shared_cases: Path) -> None:
    check: dict[str, Callable[[Loaded], bool]] = {
        "P-RET-03": lambda loaded: found(loaded[0], ["EX:7"], 10)[0][0] == "c-gamma",
        "P-RET-04": lambda loaded: [k for k, _ in found(loaded[0], ["EX:7"], 4)] == ["Mid", "alpha", "b-other", "zeta"],
        "P-RET-06": lambda loaded: found(loaded[0], ["EX:7"], 2)[0][0] == "other",
    }
    for name, holds in check.items():
        assert holds(load(shared_cases, name)), name


def test_p_obo_13_terms_without_a_common_ancestor_are_worth_nothing_to_each_other() -> None:
    parents = {"EX:01": [], "EX:02": ["EX:01"], "EX:10": [], "EX:11": ["EX:10"], "EX:20": []}
    memory = remember(parents, {"growth": ["EX:02"], "wall": ["EX:11"]})
    assert memory.array_index.similarity("EX:02", "EX:11") == 0
    assert [key for key, _ in found(memory, ["EX:02"], 5)] == ["growth"]


def test_p_ppk_03_a_query_is_reduced_to_its_most_specific_terms() -> None:
    world = World({"A:0": [], "A:1": ["A:0"], "A:10": ["A:1"], "A:11": ["A:10"]}, {})
    encoded = encode_query(world.mounted(), ["A:1", "A:10", "A:11", "A:11"])
    ids = world.mounted().ontology.ids
    assert [ids[f] for f in encoded.present] == ["A:11"]
    left_out = [(o.kind, o.asked) for o in encoded.left_out]
    assert left_out == [("repeat", "A:11"), ("implied", "A:1"), ("implied", "A:10")]


def test_p_ppk_03_full_and_minimal_packets_have_the_same_effect(shared_cases: Path) -> None:
    from sma_gpu.ontologies.loading import load_ontology
    from sma_gpu.ontologies.records.phenopacket import read_phenopacket

    mounted = mount(load_ontology(shared_cases / "shared" / "toy_hp.obo"))
    full, minimal = (read_phenopacket(shared_cases / "P-PPK-03" / f"{n}.json") for n in ("full", "minimal"))
    encoded = encode_query(mounted, full.observed)
    assert encoded.present.tolist() == encode_query(mounted, minimal.observed).present.tolist()
    assert [mounted.ontology.ids[f] for f in encoded.present] == ["HP:9900011"]
    kinds = [o.kind for o in encoded.left_out]
    assert (kinds.count("implied"), kinds.count("repeat"), len(encoded.changed)) == (2, 1, 1)
    assert encoded.changed[0].asked == "HP:9900910"


def test_p_ppk_02_a_record_with_nothing_to_match_on_is_named_once_and_never_returned() -> None:
    memory = remember(LATTICE, FOUR | {"bare": [], "also bare": []})
    assert memory.array_index.set_aside == ("also bare", "bare")
    for term in LATTICE:
        assert not {"bare", "also bare"} & {key for key, _ in found(memory, [term], 9)}
    assert found(memory, ["EX:7"], 9) == found(remember(LATTICE, FOUR), ["EX:7"], 9)


def test_p_obo_04_a_query_of_old_ids_runs_on_what_stands_for_them_today(shared_cases: Path) -> None:
    from sma_gpu.ontologies.loading import load_ontology

    mounted = mount(load_ontology(shared_cases / "P-OBO-04.obo"))
    encoded = encode_query(mounted, ["EX:0000021", "EX:0000024", "EX:0000028"])
    assert [mounted.ontology.ids[f] for f in encoded.present] == ["EX:0000023"]
    assert [(c.asked, c.path) for c in encoded.changed] == [("EX:0000021", ("EX:0000021", "EX:0000022", "EX:0000023"))]
    assert [(o.asked, o.candidates) for o in encoded.left_out] == [
        ("EX:0000024", ("EX:0000025", "EX:0000026")), ("EX:0000028", ()),
    ]  # fmt: skip
