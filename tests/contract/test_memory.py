"""What every memory must do, whatever is behind it. A new arm is entered in ``MEMORIES``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sma_gpu import IndexItem, Memory, Mounted, Query, Retrieved, SmaMemory, mount, ontology_from_parents
from sma_gpu.errors import ArtifactError, BackendUnavailable, CaseError, FingerprintMismatch, UnknownKey
from sma_gpu.memory import LastingMemory
from sma_gpu.ops import backends

LATTICE = {
    "EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"], "EX:4": ["EX:2"], "EX:5": ["EX:2"], "EX:6": ["EX:3"],
    "EX:7": ["EX:4", "EX:6"], "EX:8": ["EX:6"],
}  # fmt: skip
ITEMS = [
    IndexItem("alpha", ["EX:4", "EX:6"]), IndexItem("beta", ["EX:5"]), IndexItem("gamma", ["EX:7"]),
    IndexItem("delta", ["EX:8", "EX:5"]),
]  # fmt: skip


def adapter_v1(mounted: Mounted) -> Memory:
    pytest.importorskip("blake3", reason="blake3 is not installed (bench extra)")
    from sma_gpu.bench.arms.adapter_v1 import AdapterV1
    from sma_gpu.bench.arms.arm import Setting

    return AdapterV1(Setting(mounted))


LASTING: dict[str, type[SmaMemory]] = {"structural": SmaMemory}  # any class that is a LastingMemory
MEMORIES: dict[str, Callable[[Mounted], Memory]] = {"structural": SmaMemory, "adapter-v1": adapter_v1}


@pytest.fixture(params=sorted(MEMORIES))
def memory(request: pytest.FixtureRequest) -> Memory:
    filled = MEMORIES[request.param](mount(ontology_from_parents(LATTICE)))
    filled.index(ITEMS)
    return filled


def test_a_stored_item_is_found_by_its_own_terms(memory: Memory) -> None:
    for item in ITEMS:
        assert memory.retrieve(Query(item.term_ids), 1)[0].key == item.key


def test_hits_are_ranked_from_one_each_key_once(memory: Memory) -> None:
    hits = memory.retrieve(Query(["EX:7", "EX:5"]), 10)
    assert [h.rank for h in hits] == list(range(1, len(hits) + 1))
    assert len({h.key for h in hits}) == len(hits) <= len(ITEMS)
    assert all(0 <= h.confidence <= 1 for h in hits)


def test_fewer_are_the_head_of_more(memory: Memory) -> None:
    keys = [h.key for h in memory.retrieve(Query(["EX:7", "EX:5"]), 4)]
    for k in (1, 2, 3):
        assert [h.key for h in memory.retrieve(Query(["EX:7", "EX:5"]), k)] == keys[:k]


def test_the_same_question_gets_the_same_answer(memory: Memory) -> None:
    query = Query(["EX:8", "EX:4"])
    assert memory.retrieve(query, 4) == memory.retrieve(query, 4)


def test_novelty_is_in_range_and_lower_for_what_is_known(memory: Memory) -> None:
    assert memory.novelty(Query(["EX:7"])) == pytest.approx(0.0, abs=1e-9)
    assert 0 <= memory.novelty(Query(["EX:2", "EX:8"])) <= 1


def test_indexing_again_replaces_what_was_there(memory: Memory) -> None:
    memory.index([IndexItem("only", ["EX:8"]), IndexItem("other", ["EX:4"])])
    assert memory.retrieve(Query(["EX:8"]), 5)[0].key == "only"
    assert "delta" not in {h.key for h in memory.retrieve(Query(["EX:8"]), 5)}


@pytest.fixture(params=sorted(LASTING))
def lasting(request: pytest.FixtureRequest) -> LastingMemory:
    filled = LASTING[request.param](mount(ontology_from_parents(LATTICE)))
    filled.index(ITEMS)
    return filled


EVERY = [Query([term]) for term in LATTICE] + [Query(["EX:7", "EX:5"]), Query(["EX:999"]), Query([])]


def answers(memory: LastingMemory) -> list[list[Retrieved]]:
    """Returns what a memory knows, by asking it everything."""
    found = memory.retrieve_many(EVERY, 9)
    assert found == [memory.retrieve(query, 9) for query in EVERY]
    return found


def filled_at_once(memory: LastingMemory, items: list[IndexItem]) -> list[list[Retrieved]]:
    fresh = type(memory)(mount(ontology_from_parents(LATTICE)))  # type: ignore[call-arg]
    fresh.index(items)
    return answers(fresh)


def test_changes_equal_a_memory_filled_at_once(lasting: LastingMemory) -> None:
    new, other, bare = IndexItem("new", ["EX:8", "EX:4"]), IndexItem("beta", ["EX:6"]), IndexItem("bare", ["EX:999"])
    lasting.add([new, bare])
    assert answers(lasting) == filled_at_once(lasting, [*ITEMS, new])
    lasting.update([other])
    assert answers(lasting) == filled_at_once(lasting, [ITEMS[0], other, *ITEMS[2:], new])
    lasting.remove(["alpha", "new", "bare"])
    assert answers(lasting) == filled_at_once(lasting, [other, *ITEMS[2:]])
    lasting.add([IndexItem("bare", ["EX:4"])])
    assert answers(lasting) == filled_at_once(lasting, [other, *ITEMS[2:], IndexItem("bare", ["EX:4"])])


def test_a_refused_change_changes_nothing(lasting: LastingMemory) -> None:
    lasting.add([IndexItem("bare", [])])
    before = answers(lasting)
    for error, call, given in (
        (CaseError, lasting.add, [IndexItem("new", ["EX:8"]), IndexItem("beta", ["EX:8"])]),
        (CaseError, lasting.add, [IndexItem("new", ["EX:8"]), IndexItem("new", ["EX:8"])]),
        (CaseError, lasting.add, [IndexItem("bare", ["EX:8"])]),
        (UnknownKey, lasting.update, [IndexItem("beta", ["EX:8"]), IndexItem("new", ["EX:8"])]),
        (CaseError, lasting.update, [IndexItem("beta", ["EX:8"]), IndexItem("beta", ["EX:7"])]),
        (UnknownKey, lasting.remove, ["beta", "new"]),
        (CaseError, lasting.remove, "beta"),
    ):
        with pytest.raises(error):
            call(given)  # type: ignore[operator]
        assert answers(lasting) == before


def test_what_was_saved_comes_back(lasting: LastingMemory, tmp_path: Path) -> None:
    lasting.add([IndexItem("bare", ["EX:999"])])
    path, mounted = tmp_path / "memory", mount(ontology_from_parents(LATTICE))
    assert lasting.save(path) == path.stat().st_size
    again = type(lasting).load(path, mounted)
    assert answers(again) == answers(lasting)
    with pytest.raises(CaseError):
        again.add([IndexItem("bare", ["EX:4"])])
    lasting.remove(["alpha"])
    lasting.save(path)
    assert answers(type(lasting).load(path, mounted)) == filled_at_once(lasting, ITEMS[1:])
    with pytest.raises(ArtifactError):
        type(lasting).load(tmp_path / "nowhere", mounted)
    with pytest.raises(FingerprintMismatch):
        type(lasting).load(path, mount(ontology_from_parents(LATTICE | {"EX:9": ["EX:8"]})))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ArtifactError):
        type(lasting).load(path, mounted)


def test_many_queries_at_once_get_the_same_on_every_backend() -> None:
    expected = None
    for name in [b.name for b in backends() if not b.missing()]:
        memory = SmaMemory(mount(ontology_from_parents(LATTICE)), backend=name)
        memory.index(ITEMS)
        expected = expected or answers(memory)
        assert answers(memory) == expected
    assert any(expected or [])


def test_the_structural_memory_declines_what_it_cannot_know() -> None:
    memory = SmaMemory(mount(ontology_from_parents(LATTICE)))
    assert memory.retrieve(Query(["EX:7"]), 3) == []
    memory.index([*ITEMS, IndexItem("odd", ["EX:999", "EX:8"])])
    assert memory.retrieve(Query(["EX:999"]), 3) == []
    assert memory.novelty(Query(["EX:999"])) == 1.0
    assert [o.asked for o in memory.left_out["odd"]] == ["EX:999"]
    assert [s.functor.id for s in memory.case("delta").statements] == ["EX:5", "EX:8"]


def test_a_backend_that_cannot_serve_is_refused_at_once() -> None:
    with pytest.raises(BackendUnavailable, match="this release has cpu, reference"):
        SmaMemory(mount(ontology_from_parents(LATTICE)), backend="tpu")


def test_what_is_known_to_every_item_is_not_called_new() -> None:
    memory = SmaMemory(mount(ontology_from_parents(LATTICE)))
    memory.index([IndexItem("one", ["EX:7"]), IndexItem("two", ["EX:7"])])
    assert memory.retrieve(Query(["EX:7"]), 2) == []
    assert memory.novelty(Query(["EX:7"])) == 0.0
    assert memory.novelty(Query([])) == 1.0
