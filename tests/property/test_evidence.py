"""The scorer ``evidence``: every number against the exhaustive oracle, and what must not change an answer.

Of the invariants of other scorers two do not hold here, on purpose. A case asked as a query is discounted for what it
says twice, so it scores at most its self-score, and exactly that where its terms share nothing and it states them as
often as a query does (`test_a_copy_scores_at_most_its_self_score`); and its own copy can be outranked by a case that
states the same more strongly (`test_another_case_may_outrank_the_copy_of_a_query`). A statement added to both sides
makes the case larger, and each of its statements weaker, so the score may fall
(`test_a_statement_added_to_both_may_lower_the_score`).
"""

from __future__ import annotations

from dataclasses import fields, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import assert_same_hits, assert_same_index
from oracles.evidence import EvidenceOracle
from strategies import pack
from weighed import (
    EVIDENCE_DIALS,
    WeighedWorld,
    evidence_dials,
    pack_weighed,
    random_weighed_world,
    weighed_asked,
    weighed_cases,
    weighed_worlds,
)

from sma_gpu import Dials, Hits, Index
from sma_gpu.errors import CapacityError
from sma_gpu.ops import Lists, QuerywiseOps, WholeOps, choose
from sma_gpu.retrieval import block, budget, explain, mappings, open_query
from sma_gpu.retrieval.search import open_blocks

NONE = np.zeros(0, np.int32)
NEEDED = {"reference": "numpy", "cpu": "numba", "torch": "torch"}
BACKENDS = [name for name, package in NEEDED.items() if find_spec(package)]


def functors(index: Index, terms: list[str]) -> np.ndarray:
    return np.array(sorted(index.mounted.ontology.number[t] for t in set(terms)), np.int32)


@settings(max_examples=120, deadline=None)
@given(weighed_asked(max_cases=6), evidence_dials)
def test_every_pair_is_worth_what_the_definition_says(drawn: tuple[WeighedWorld, list[str]], chosen: Dials) -> None:
    world, query = drawn
    index, oracle, asks = world.index(chosen), world.oracle(chosen), sorted(query)
    ids, table = index.mounted.ontology.ids, index.pairs_of_query(functors(index, query))
    for number, key in enumerate(index.keys):
        stored = [ids[f] for f in index.cases.functors_of(number)]
        row, column, at = table.between(table.rows_of(functors(index, query)), index.kinds_in(number))
        found = {
            (asks[r], stored[c]): (int(table.value[e]), ids[table.via[e]], int(table.distance[e]))
            for r, c, e in zip(row.tolist(), column.tolist(), at.tolist(), strict=True)
        }
        pairs = {(t, b): oracle.pair(asks, t, key, b) for t in asks for b in stored}
        assert found == {at: (p.value, p.via, p.distance) for at, p in pairs.items() if p}
        assert dict(zip(stored, index.stored_values(number).tolist(), strict=True)) == oracle.stored_values(key)
        own = sum(oracle.stored_values(key).values())
        assert index.normaliser.self_scores[number] == own + (1 << 16) * (own > 0)
    values = index.query_values(np.array([0, len(query)]), functors(index, query))
    assert dict(zip(asks, values.tolist(), strict=True)) == oracle.self_values(asks)
    assert index.self_score(functors(index, query)) == sum(values.tolist()) + (1 << 16) * bool(values.any())


@settings(max_examples=100, deadline=None)
@given(weighed_asked(max_cases=6, max_size=6), evidence_dials, st.data())
def test_every_account_is_that_of_the_oracle(
    drawn: tuple[WeighedWorld, list[str]], chosen: Dials, data: st.DataObject
) -> None:
    world, query = drawn
    absent = data.draw(st.lists(st.sampled_from(sorted(world.parents)), max_size=2, unique=True), "excluded")
    absent = [t for t in absent if t not in query]
    index, oracle = world.index(chosen), world.oracle(chosen)
    ids, asks = index.mounted.ontology.ids, functors(index, query)
    for number, key in enumerate(index.keys):
        account, wanted = explain(index, asks, functors(index, absent), number), oracle.account(query, absent, key)
        mapping = [(ids[p.query], ids[p.stored], ids[p.via], p.distance, p.value) for p in account.mapping]
        assert (account.score, tuple(mapping)) == (wanted.score, wanted.mapping)
        assert tuple(ids[f] for f in account.unexplained) == wanted.unexplained
        assert account.explained == wanted.explained
        broken = tuple((ids[c.query], ids[c.stored], c.ruled_out_by) for c in account.contradicted)
        assert broken == wanted.contradicted
        assert tuple((ids[i.functor], i.value) for i in account.inferences) == wanted.inferences


@settings(max_examples=50, deadline=None)
@given(weighed_asked(max_cases=8), evidence_dials, st.data())
def test_the_certified_top_k_is_that_of_scoring_every_case(
    drawn: tuple[WeighedWorld, list[str]], chosen: Dials, data: st.DataObject
) -> None:
    world, query = drawn
    index = world.index(chosen)
    among = np.array([data.draw(st.booleans()) for _ in range(len(index))], np.bool_)
    check_hits(world.oracle(chosen), index, query, None)
    check_hits(world.oracle(chosen), index, query, among)


def check_hits(oracle: EvidenceOracle, index: Index, query: list[str], among: np.ndarray | None) -> None:
    """Holds bounds, scores, order, aligned and standing on all backends against the oracle."""
    batch, every = pack(index.mounted, {"q": query}), np.arange(len(index))
    wanted = np.ones(len(index), np.bool_) if among is None else among
    scores = np.array([oracle.account(query, [], key).score for key in index.keys], np.int64)
    bounds = np.array([oracle.bound(query, key) for key in index.keys], np.int64)
    own = index.self_score(functors(index, query))
    keys, bound_keys = (index.normaliser.rank_keys(of, own, every) for of in (scores, bounds))
    assert (bounds >= scores).all() and (bound_keys >= keys).all()
    order = [int(i) for i in np.lexsort((every, -keys)) if scores[i] > 0 and wanted[i]]
    for backend in BACKENDS:
        opened = open_query(index, batch, backend=backend, among=among)
        assert opened.bounds.tolist() == np.where(wanted, bounds, 0).tolist()
        for place, case in enumerate(order):
            standing = opened.standing(case)
            ties = sum(keys[i] == keys[case] for i in order) - 1
            assert (standing.score, standing.rank, standing.ties) == (scores[case], place + 1, ties)
        for k in (1, 3, 50):
            hits = index.retrieve(batch, k, backend=backend, among=among, mappings=True)
            assert hits.certified.all()
            assert hits.cases[0][hits.cases[0] >= 0].tolist() == order[:k]
            assert hits.score_q[0][: len(order[:k])].tolist() == scores[order[:k]].tolist()
            assert hits.rank_keys[0][: len(order[:k])].tolist() == keys[order[:k]].tolist()
            able = [i for i in every.tolist() if bounds[i] and wanted[i]]
            if index and len(order) >= k:
                last = (-keys[order[k - 1]], order[k - 1])
                able = [i for i in able if (-bound_keys[i], i) <= last]
            assert hits.aligned[0] == (len(able) if len(index) else 0)
            assert hits.mappings is not None
            for place, case in enumerate(order[:k]):
                assert hits.mappings.pairs(0, place) == explain(index, functors(index, query), NONE, case).mapping


@pytest.mark.parametrize("chosen", EVIDENCE_DIALS, ids=lambda d: f"{d.normalisation}-{d.delta}")
def test_all_backends_blocks_lists_and_limits_give_the_same_bits(
    chosen: Dials, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(31)
    world = random_weighed_world(rng, terms=150, cases=300, size=20)
    index, ids = world.index(chosen), sorted(world.parents)
    sizes = [0, *rng.integers(1, 12, 30).tolist()]
    drawn = {f"q{i}": [ids[t] for t in rng.choice(150, size, replace=False)] for i, size in enumerate(sizes)}
    batch = pack(index.mounted, drawn)
    among = rng.random((len(batch), len(index))) < 0.4

    def ask(**how: Any) -> list[Hits]:
        return [index.retrieve(batch, 7, mappings=True, among=mask, **how) for mask in (None, among)]

    def same(found: list[Hits]) -> None:
        for one, other in zip(found, wanted, strict=True):
            assert_same_hits(replace(one, backend=""), replace(other, backend=""))

    wanted = ask(backend="reference")
    oracle = world.oracle(chosen)
    for row, query in list(enumerate(drawn.values()))[:6]:
        for place, key in enumerate(k for k in wanted[0].keys[row] if k):
            assert wanted[0].score_q[row, place] == oracle.account(query, [], key).score
    for backend in BACKENDS:
        same(ask(backend=backend))
        with pytest.raises(CapacityError, match="one query works with up to") as refused:
            ask(backend=backend, max_bytes=1)
        least = int(str(refused.value).split("up to ")[1].split()[0])
        for max_bytes in (least, 2 * least):
            same(ask(backend=backend, max_bytes=max_bytes))
        with monkeypatch.context() as patch:
            patch.setattr(budget, "_BLOCK_CELLS", 301)
            patch.setattr(budget, "_TABLE_PAIRS", 1000)
            patch.setattr(block, "_FIRST_LOOK", 1)
            same(ask(backend=backend))
        for row in range(0, len(batch), 7):
            alone = index.retrieve(batch.take([row]), 7, backend=backend)
            assert alone.score_q[0].tolist() == wanted[0].score_q[row].tolist()
            assert alone.cases[0].tolist() == wanted[0].cases[row].tolist()
            assert alone.aligned[0] == wanted[0].aligned[row]
        ops = choose(backend)[1]
        assert index.lists_form().form == "postings"
        for opened in open_blocks(index, batch, ops):
            assert len(opened.table.stored) <= index.most_pairs[batch.functors].sum()
            postings = index.postings(opened.table)
            forms: list[Lists] = [postings.fold()]
            forms += [postings] if isinstance(ops, WholeOps) else []
            forms += [ops.fold(postings)] if isinstance(ops, QuerywiseOps) else []
            for lists in forms:
                tops = replace(opened, lists=lists).top(7)
                assert tops.cases.tolist() == wanted[0].cases[opened.numbers].tolist()
                assert tops.rank_keys.tolist() == wanted[0].rank_keys[opened.numbers].tolist()
    if "torch" in BACKENDS:
        on_device = index.retrieve_on_device(batch, 7, device="cpu")
        assert on_device.cases.tolist() == wanted[0].cases.tolist()
        assert on_device.rank_keys.tolist() == wanted[0].rank_keys.tolist()


@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed (the extra cpu brings it)")
@settings(max_examples=60, deadline=None)  # the first call compiles
@given(weighed_asked(max_size=6), evidence_dials)
def test_both_forms_of_mapping_give_the_same_arrays(drawn: tuple[WeighedWorld, list[str]], chosen: Dials) -> None:
    world, query = drawn
    index = world.index(chosen)
    batch = pack(index.mounted, {"one": query, "none": [], "two": query[:2]})
    cases = np.array([[*range(len(index)), -1]] * 3, np.int32)
    ours, wanted = (mappings.map_hits(index, batch, cases, compiled=how) for how in (True, False))
    for field in fields(mappings.Mappings):
        np.testing.assert_array_equal(getattr(ours, field.name), getattr(wanted, field.name), err_msg=field.name)
    for place, key in enumerate(index.keys):
        assert wanted.explained[0, place] == world.oracle(chosen).account(query, [], key).explained


@settings(max_examples=100, deadline=None)
@given(weighed_asked(max_cases=8), evidence_dials, st.randoms(use_true_random=False))
def test_the_order_in_which_cases_arrive_changes_no_byte(
    drawn: tuple[WeighedWorld, list[str]], chosen: Dials, rng: Any
) -> None:
    world, query = drawn
    keys = list(world.cases)
    rng.shuffle(keys)
    cases = {key: dict(reversed(world.cases[key].items())) for key in keys}
    first, second = world.index(chosen), replace(world, cases=cases).index(chosen)
    assert_same_index(first, second)
    batch = pack(first.mounted, {"q": query})
    assert_same_hits(first.retrieve(batch, 5), second.retrieve(batch, 5))


@settings(max_examples=60, deadline=None)
@given(weighed_asked(max_cases=8), evidence_dials)
def test_renaming_keys_changes_only_the_order_inside_ties(drawn: tuple[WeighedWorld, list[str]], chosen: Dials) -> None:
    world, query = drawn
    renamed = {key: f"{i:03d}-{key}" for i, key in enumerate(reversed(world.cases))}
    other = WeighedWorld(
        world.parents,
        {new: world.cases[old] for old, new in renamed.items()},
        {new: world.excluded[old] for old, new in renamed.items()},
    )
    found = []
    for each, name in ((world, renamed), (other, {})):
        index = each.index(chosen)
        hits = index.retrieve(pack(index.mounted, {"q": query}), 50)
        rows = zip(hits.rank_keys[0].tolist(), hits.score_q[0].tolist(), hits.keys[0].tolist(), strict=True)
        found.append([(rank_key, score, name.get(key, key)) for rank_key, score, key in rows if key])
    assert sorted(found[0]) == sorted(found[1])
    assert [row[0] for row in found[0]] == [row[0] for row in found[1]]


@settings(max_examples=100, deadline=None)
@given(weighed_worlds(max_cases=6), evidence_dials)
def test_a_copy_scores_at_most_its_self_score(world: WeighedWorld, chosen: Dials) -> None:
    index, oracle = world.index(chosen), world.oracle(chosen)
    for number, key in enumerate(index.keys):
        query = sorted(world.cases[key])
        score = explain(index, index.cases.functors_of(number), NONE, number).score
        assert score <= index.normaliser.self_scores[number]
        if all(oracle.weight(query, t) == 1 for t in query):
            assert score == index.normaliser.self_scores[number]


def test_another_case_may_outrank_the_copy_of_a_query() -> None:
    parents = {"EX:0": [], "EX:1": ["EX:0"], "EX:2": ["EX:0"]}
    world = WeighedWorld(parents, {"copy": {"EX:1": 0.1, "EX:2": None}, "often": {"EX:1": 1.0}}, {})
    index = world.index(Dials.evidence())
    hits = index.retrieve(pack(index.mounted, {"q": ["EX:1"]}), 2)
    assert hits.keys[0].tolist() == ["often", "copy"]
    assert hits.score_q[0, 0] > hits.score_q[0, 1] > 0


def test_a_statement_added_to_both_may_lower_the_score() -> None:
    rare = [f"EX:{i:02d}" for i in range(41)]  # one more of these, and their strength is a step lower on its grid
    parents: dict[str, list[str]] = {"EX:root": [], **{term: ["EX:root"] for term in [*rare, "EX:common"]}}
    others: dict[str, dict[str, float | None]] = {f"other-{i:02d}": {"EX:common": None} for i in range(60)}
    scores = []
    for terms in (rare, [*rare, "EX:common"]):
        index = WeighedWorld(parents, {**others, "a": dict.fromkeys(terms)}, {}).index(Dials.evidence())
        scores.append(explain(index, functors(index, terms), NONE, 0).score)
    assert 0 < scores[1] < scores[0]


@settings(max_examples=60, deadline=None)
@given(st.data(), weighed_worlds(max_cases=5), evidence_dials)
def test_any_sequence_of_changes_equals_a_fresh_build(data: st.DataObject, world: WeighedWorld, chosen: Dials) -> None:
    mounted = world.mounted()
    terms = st.lists(st.sampled_from(sorted(world.parents)), max_size=4, unique=True)
    held = dict(world.cases)
    index = Index.build(world.batch(mounted), mounted, chosen)
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        key = data.draw(st.sampled_from(["new", "é", *sorted(held)]), "key")
        if key in held and data.draw(st.booleans(), "remove"):
            index = index.remove([key])
            del held[key]
        else:
            case = {key: data.draw(weighed_cases(data.draw(terms, "terms")), "case")}
            batch = pack_weighed(mounted, case, world.excluded)
            index = index.update(batch) if key in held else index.add(batch)
            held |= case
        fresh = Index.build(pack_weighed(mounted, dict(reversed(held.items())), world.excluded), mounted, chosen)
        assert_same_index(index, fresh)


@settings(max_examples=80, deadline=None)
@given(weighed_asked(max_cases=8), evidence_dials, st.booleans())
def test_a_loaded_index_answers_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[WeighedWorld, list[str]], chosen: Dials, check: bool
) -> None:
    world, query = drawn
    built, path = world.index(chosen), tmp_path_factory.mktemp("index") / "weighed.index"
    built.save(path)
    found = Index.load(path, world.mounted(), check=check)
    del found.__dict__["fingerprint"]  # what was stored, so that it is computed from what was loaded
    assert_same_index(found, built)
    batch = pack(built.mounted, {"q": query, "all": sorted(world.parents)})
    assert_same_hits(found.retrieve(batch, 4, mappings=True), built.retrieve(batch, 4, mappings=True))
    again = path.with_name("again")
    found.save(again)
    assert again.read_bytes() == path.read_bytes()
    more = pack_weighed(built.mounted, {"another": {query[0]: 0.25}}, {})
    if "another" not in world.cases:
        assert_same_index(found.add(more), built.add(more))


@settings(max_examples=60, deadline=None)
@given(weighed_worlds(max_cases=5), evidence_dials)
def test_similarity_is_that_of_two_cases_that_state_nothing_else(world: WeighedWorld, chosen: Dials) -> None:
    index, oracle = world.index(chosen), world.oracle(chosen)
    rarities = {term: oracle.rarity(term) for term in world.parents}
    oracle.weight = lambda query, term: 1.0  # type: ignore[method-assign]
    oracle.rarity = rarities.__getitem__  # type: ignore[method-assign]
    for first in sorted(world.parents):
        for second in sorted(world.parents):
            oracle.taken["alone"] = {second: 1 << 20}
            pair = oracle.pair([first], first, "alone", second)
            assert index.similarity(first, second) == (pair.value / (1 << 16) if pair else 0.0)
