"""Hits that stay on a device, and queries that come from one: exchanged by DLPack, equal to ``retrieve``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from parity.torch_here import DEVICES, no_torch, one_thread, require
from strategies import pack, random_declared, random_nested_case, random_world

from sma_gpu import CaseBatch, Dials, Index, mount, ontology_from_parents
from sma_gpu.errors import BackendUnavailable, CaseError, QueryError, ShapeError
from sma_gpu.retrieval import budget, queries_from_arrays
from sma_gpu.retrieval.on_device import DeviceHits

pytestmark = no_torch

__all__ = ["one_thread"]  # a fixture that pytest finds by its name here


def world(cases: int = 80) -> tuple[Index, CaseBatch]:
    rng = np.random.default_rng(30)
    made = random_world(rng, terms=60, cases=cases, size=9)
    index, ids = made.index(Dials(normalisation="max")), sorted(made.parents)
    asks = {f"q{i}": [ids[t] for t in rng.choice(60, 5, replace=False)] for i in range(12)}
    return index, pack(index.mounted, asks)


def arrays(hits: DeviceHits) -> dict[str, np.ndarray]:
    return {name: getattr(hits, name).cpu().numpy() for name in ("cases", "score_q", "rank_keys", "aligned")}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("k", [1, 7, 200])
def test_hits_are_those_of_retrieve(device: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    index, batch = world()
    monkeypatch.setattr(budget, "_BLOCK_CELLS", 5 * len(index))  # several blocks
    among = np.random.default_rng(31).random((len(batch), len(index))) < 0.4
    for chosen in (None, among, among[0]):
        found = index.retrieve_on_device(batch, k, device=require(device), among=chosen)
        wanted = index.retrieve(batch, k, backend="reference", among=chosen)
        assert len(found) == len(batch)
        assert found.backend == "torch"
        for name, array in arrays(found).items():
            assert array.dtype == np.int64
            np.testing.assert_array_equal(array, getattr(wanted, name))


def test_any_library_takes_the_hits_without_a_copy() -> None:
    import torch

    index, batch = world()
    hits = index.retrieve_on_device(batch, 3, device="cpu")
    for array in (hits.cases, hits.score_q, hits.rank_keys, hits.aligned):
        taken, again = np.from_dlpack(array), torch.from_dlpack(array)  # type: ignore[attr-defined, unused-ignore]
        assert taken.ctypes.data == array.data_ptr() == again.data_ptr()
        assert taken.flags.c_contiguous


class Elsewhere:
    """An array that says it lies on a GPU, and counts how often it is exchanged."""

    def __init__(self, tensor: Any) -> None:
        self.tensor, self.exchanged = tensor, 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **named: Any) -> Any:
        self.exchanged += 1
        return self.tensor.__dlpack__()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_queries_may_be_arrays_of_any_library(dtype: type) -> None:
    import torch

    index, batch = world()
    ptr, functors = batch.ptr.astype(dtype), batch.functors.astype(dtype)
    tensors = torch.from_numpy(ptr), torch.from_numpy(functors)
    wanted = index.retrieve(batch, 4, backend="reference")
    for given in ((ptr, functors), tensors):
        taken = queries_from_arrays(*given, keys=batch.keys)
        assert taken.keys == batch.keys
        for name in ("ptr", "functors", "excluded_ptr", "excluded"):
            np.testing.assert_array_equal(getattr(taken, name), getattr(batch, name))
        found = index.retrieve_on_device(taken, 4, device="cpu")
        np.testing.assert_array_equal(found.score_q.numpy(), wanted.score_q)
    assert queries_from_arrays(ptr, functors).keys == ("",) * len(batch)


def test_an_array_that_lies_elsewhere_is_fetched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from torch.utils import dlpack

    exchange = dlpack.from_dlpack
    monkeypatch.setattr(dlpack, "from_dlpack", lambda array: exchange(array.__dlpack__()))
    sides = [Elsewhere(torch.tensor([0, 2, 3])), Elsewhere(torch.tensor([5, 4, 4], dtype=torch.int32))]
    batch = queries_from_arrays(*sides)
    assert [batch.functors_of(0).tolist(), batch.functors_of(1).tolist()] == [[4, 5], [4]]
    assert [side.exchanged for side in sides] == [1, 1]


@pytest.mark.parametrize(
    ("ptr", "functors"),
    [
        ([0, 2], [1]),
        ([1, 2], [1, 2]),
        ([0, 2, 1], [1]),
        ([], [1]),
        ([0.0, 1.0], [1]),
        ([[0, 1]], [1]),
        ([0, 1], [-1]),
        ([0, 1], [1 << 31]),
    ],
    ids=str,
)
def test_arrays_that_are_no_queries_are_refused(ptr: list[Any], functors: list[int]) -> None:
    with pytest.raises(ShapeError):
        queries_from_arrays(np.array(ptr), np.array(functors))


def test_what_cannot_be_exchanged_is_refused() -> None:
    with pytest.raises(ShapeError, match="no __dlpack__"):
        queries_from_arrays([0, 1], [1])  # type: ignore[arg-type]


def test_functors_that_the_ontology_lacks_are_refused() -> None:
    index, _ = world()
    with pytest.raises(CaseError):
        index.retrieve_on_device(queries_from_arrays(np.array([0, 1]), np.array([60])), 3, device="cpu")


def test_who_has_no_device_says_so() -> None:
    index, batch = world()
    with pytest.raises(BackendUnavailable, match="no device of its own"):
        index.retrieve_on_device(batch, 3, backend="reference")
    with pytest.raises(QueryError, match="above 0"):
        index.retrieve_on_device(batch, 0)


def test_cases_with_structure_are_left_to_the_host() -> None:
    rng = np.random.default_rng(32)
    declared = random_declared(rng, 10)
    mounted = mount(ontology_from_parents(declared.parents))
    cases = CaseBatch.from_cases([random_nested_case(rng, declared, f"c{i}", 5) for i in range(9)], mounted)
    index = Index.build(cases.spelled_out(), mounted)
    with pytest.raises(QueryError, match="structure"):
        index.retrieve_on_device(index.cases, 3, device="cpu")


def test_an_index_or_a_batch_of_nothing() -> None:
    index, batch = world()
    none = index.remove(index.keys)
    found = none.retrieve_on_device(batch, 3, device="cpu")
    assert found.cases.shape == (len(batch), 0)
    assert len(found) == len(batch)
    nobody = index.retrieve_on_device(batch.take([]), 3, device="cpu")
    assert nobody.cases.shape == (0, 3)
    assert nobody.score_q.shape == (0, 3)
