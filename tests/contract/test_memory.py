"""What every memory must do, whatever is behind it. A new arm is entered in ``MEMORIES``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sma_gpu import IndexItem, Memory, Mounted, Query, SmaMemory, mount, ontology_from_parents
from sma_gpu.errors import BackendUnavailable

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

    return AdapterV1(mounted)


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
