"""A limit on memory changes how a batch is cut, holds, and changes no answer."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields
from importlib.util import find_spec

import numpy as np
import pytest
from strategies import pack, random_declared, random_nested_case, random_world

from sma_gpu import CaseBatch, Dials, Hits, Index, mount, ontology_from_parents
from sma_gpu.errors import BackendUnavailable, CapacityError, QueryError
from sma_gpu.ops import FoldedLists, PostingLists, choose
from sma_gpu.retrieval import corpus
from sma_gpu.retrieval.budget import plan_batch
from sma_gpu.scoring import PairTable

BACKENDS = [
    "reference",
    pytest.param("cpu", marks=pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")),
]


def world(cases: int = 3000) -> tuple[Index, CaseBatch]:
    rng = np.random.default_rng(83)
    index = random_world(rng, terms=400, cases=cases, size=12).index()
    ids = index.mounted.ontology.ids
    drawn = {f"q{i}": [ids[t] for t in rng.choice(400, int(rng.integers(0, 9)), replace=False)] for i in range(60)}
    return index, pack(index.mounted, drawn)


def anew(index: Index) -> Index:
    return Index.build(index.cases, index.mounted, index.dials)


def least(index: Index, batch: CaseBatch, backend: str, k: int, *, mappings: bool = False) -> int:
    """Returns the least limit, out of the words that refuse less."""
    with pytest.raises(CapacityError, match="max_bytes") as refused:
        index.retrieve(batch, k, backend=backend, max_bytes=1, mappings=mappings)
    return int(str(refused.value).split("Give max_bytes = ")[1].split()[0])


def same_hits(found: Hits, wanted: Hits) -> None:
    for field in fields(Hits):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(wanted, field.name), err_msg=field.name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_limit_changes_no_answer(backend: str) -> None:
    index, batch = world()
    among = np.random.default_rng(1).random((len(batch), len(index))) < 0.5
    low = least(index, batch, backend, 5)
    for mask in (None, among):
        wanted = index.retrieve(batch, 5, backend=backend, among=mask)
        for limit in (low, low + 1, 2 * low, 5 * low, 1 << 40):
            same_hits(anew(index).retrieve(batch, 5, backend=backend, among=mask, max_bytes=limit), wanted)
    with pytest.raises(CapacityError, match=f"Give max_bytes = {low} or more"):
        index.retrieve(batch, 5, backend=backend, max_bytes=low - 1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_stays_within_the_limit(backend: str) -> None:
    index, batch = world(20_000)
    low = least(index, batch, backend, 5)
    peaks = []
    for limit in (low, 3 * low, 20 * low):
        fresh = anew(index)
        fresh.retrieve(batch.take([1]), 5, backend=backend, max_bytes=low)  # estimates and keys are kept
        tracemalloc.start()
        fresh.retrieve(batch, 5, backend=backend, max_bytes=limit)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert peaks[-1] <= limit
    assert peaks[0] < peaks[-1]  # and it is used


@pytest.mark.parametrize("backend", BACKENDS)
def test_mappings_stay_within_the_limit_too_and_are_the_same(backend: str) -> None:
    rng = np.random.default_rng(101)
    made = random_world(rng, terms=3000, cases=6000, size=12)
    mounted = made.mounted()
    index = Index.build(made.batch(mounted), mounted, Dials(delta=4))
    ids = mounted.ontology.ids
    batch = pack(mounted, {f"q{i}": [ids[t] for t in rng.choice(3000, 8, replace=False)] for i in range(200)})
    low = least(index, batch, backend, 5, mappings=True)
    wanted = index.retrieve(batch, 5, backend=backend, mappings=True).mappings
    assert wanted is not None
    fresh = anew(index)
    fresh.retrieve(batch.take([1]), 5, backend=backend, max_bytes=low, mappings=True)
    tracemalloc.start()
    found = fresh.retrieve(batch, 5, backend=backend, max_bytes=low, mappings=True).mappings
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found is not None
    returned = 0
    for field in fields(found):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(wanted, field.name), err_msg=field.name)
        returned += getattr(found, field.name).nbytes
    assert peak <= low + 2 * returned + (1 << 16)  # the other arrays of the hits are small


def test_the_table_of_all_functors_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    index, _ = world(300)
    wanted = index.pairs(np.arange(400))
    for at_once in (1, 40, 1000, 1 << 40):
        monkeypatch.setattr(corpus, "_PAIRS_AT_ONCE", at_once)
        found = anew(index).postings_of_all.table
        for field in fields(PairTable):
            np.testing.assert_array_equal(getattr(found, field.name), getattr(wanted, field.name))


def test_a_limit_cuts_the_batch() -> None:
    index, batch = world()
    ops = choose("reference")[1]
    low = least(index, batch, "reference", 5)
    plans = [plan_batch(index, batch, ops, 5, limit) for limit in (low, 4 * low, 1 << 40)]
    assert plans[0].part < plans[1].part < plans[2].part == len(batch)
    assert all(plan.block >= 1 and plan.spare_bytes is not None and plan.spare_bytes >= 0 for plan in plans)


def test_cases_with_structure_are_cut_too() -> None:
    rng = np.random.default_rng(89)
    declared = random_declared(rng, 10)
    mounted = mount(ontology_from_parents(declared.parents))
    drawn = [random_nested_case(rng, declared, f"c{i}", statements=5, entities=3, max_order=3) for i in range(24)]
    stored, asked = (CaseBatch.from_cases(part, mounted) for part in (drawn[:16], drawn[16:]))
    flat = CaseBatch.from_functors(["a", "b"], [[0, 1], [2]])
    for cases, batch in ((stored, asked), (stored, flat), (flat, asked)):
        index = Index.build(cases, mounted)
        wanted = index.retrieve(batch, 3, backend="reference")
        low = least(index, batch, "reference", 3)
        same_hits(index.retrieve(batch, 3, backend="reference", max_bytes=low), wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_without_cases_answers_within_a_limit(backend: str) -> None:
    stored, batch = world(50)
    index = Index.build(CaseBatch.from_functors([], []), stored.mounted)
    for asked in (batch, batch.take([])):
        hits = index.retrieve(asked, 5, backend=backend, max_bytes=1 << 30)
        assert hits.cases.shape == (len(asked), 0) and hits.certified.all()


@pytest.mark.parametrize("limit", [0, -5, 1.5, True, "1GB"])
def test_a_limit_that_is_no_number_of_bytes_is_refused(limit: object) -> None:
    index, batch = world(50)
    with pytest.raises(QueryError, match="max_bytes"):
        index.retrieve(batch, 5, max_bytes=limit)  # type: ignore[arg-type]


def test_device_goes_to_the_choice_of_the_backend() -> None:
    index, batch = world(50)
    assert index.retrieve(batch, 5, device="cpu").backend == "reference"
    with pytest.raises(BackendUnavailable, match="device tpu"):
        index.retrieve(batch, 5, device="tpu")


# --- the form of the lists


def test_lists_of_all_functors_are_folded_where_they_fit_and_are_postings_where_they_do_not() -> None:
    index, _ = world()
    every = np.arange(400, dtype=np.int32)
    form = index.lists_form()
    assert form.form == "folded" and form.list_bytes >= index.fold(index.pairs(every)).cases.nbytes * 2
    small = index.lists_form(kept_bytes=form.list_bytes - 1)
    assert small.form == "postings" and small.list_bytes == index.posting_ptr.nbytes + index.posting_cases.nbytes
    reader = choose("cpu")[1] if find_spec("numba") else choose("reference")[1]
    table, lists = index.lists_for(every, reader, kept_bytes=form.list_bytes - 1)
    if find_spec("numba"):
        assert isinstance(lists, PostingLists) and lists.table is table
    table, lists = index.lists_for(every, reader, kept_bytes=form.list_bytes)
    assert isinstance(lists, FoldedLists) and len(table.functors) == 400
    assert index.lists_for(every[:1], reader)[1] is lists  # kept, and read by who asks for little too
    assert index.lists_form().list_bytes == lists.cases.nbytes + lists.best.nbytes


def test_who_reads_no_postings_gets_folded_lists_of_what_is_asked() -> None:
    index, _ = world()
    table, lists = index.lists_for(np.array([7, 3, 7], np.int32), choose("reference")[1])
    assert isinstance(lists, FoldedLists) and table.functors.tolist() == [3, 7]


@pytest.mark.parametrize("delta", [0, 1, 2, 3, 4])
def test_estimates_are_never_too_low(delta: int) -> None:
    rng = np.random.default_rng(97)
    made = random_world(rng, terms=150, cases=200, size=10).index()
    index = Index.build(made.cases, made.mounted, type(made.dials)(delta=delta))
    table = index.pairs(np.arange(150))
    assert (index.most_pairs >= np.diff(table.ptr)).all()
    posted = np.concatenate([[0], np.cumsum(np.diff(index.posting_ptr)[table.stored])])[table.ptr]
    assert (index.most_entries >= np.diff(posted)).all()
