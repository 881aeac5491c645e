"""Scores of arms against definitions written out, and against outside implementations where they are installed."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sma_gpu import IndexItem, Mounted, Query, mount, ontology_from_parents
from sma_gpu.bench.arms.arm import Setting
from sma_gpu.bench.arms.best_match import LinBestMatch, Phenomizer, ResnikOneSided
from sma_gpu.bench.arms.bm25 import K1, B, Bm25Closure, Bm25Names
from sma_gpu.bench.arms.contract import check_arm, made_up_world
from sma_gpu.bench.arms.dense import DenseTerms, DenseText
from sma_gpu.bench.arms.hybrid import Hybrid, HybridReranked, fused
from sma_gpu.bench.arms.likelihood import LikelihoodRatio, LikelihoodRatioSeen
from sma_gpu.bench.arms.matrix import NO_HIT, MatrixArm, top_of
from sma_gpu.bench.arms.phrase_graph import PhraseGraph
from sma_gpu.bench.arms.registry import find
from sma_gpu.bench.arms.similarity import Jaccard, SimGic
from sma_gpu.bench.arms.structural import MacOnly, Structural


def random_world(seed: int) -> tuple[Mounted, list[IndexItem], list[Query]]:
    """40 terms below one root, several parents each, 25 items and 12 queries."""
    rng = random.Random(seed)
    ids = [f"EX:{number:02}" for number in range(40)]
    parents = {ids[0]: []} | {ids[n]: sorted(rng.sample(ids[:n], min(n, rng.choice([1, 1, 2])))) for n in range(1, 40)}
    items = []
    for number in range(25):
        terms = sorted(rng.sample(ids[1:], rng.randint(1, 6)))
        shares = {term: rng.choice([0.1, 0.5, 1.0]) for term in terms if rng.random() < 0.5}
        excluded = sorted(set(rng.sample(ids[1:], 2)) - set(terms)) if rng.random() < 0.4 else []
        items.append(IndexItem(f"item-{number:02}", terms, frequencies=shares, excluded=excluded))
    queries = [Query(rng.sample(ids[1:], rng.randint(1, 5)), excluded=rng.sample(ids[1:], 2)) for _ in range(12)]
    return mount(ontology_from_parents(parents)), items, queries


class World:
    """The same world in sets and dictionaries, for definitions written out."""

    def __init__(self, seed: int) -> None:
        self.mounted, self.items, self.queries = random_world(seed)
        ontology = self.mounted.ontology
        self.parents = {term: {ontology.ids[p] for p in ontology.parents_of(n)} for term, n in ontology.number.items()}
        counts = Counter(term for item in self.items for term in self.closed(item.term_ids))
        self.ic = {term: math.log2(len(self.items) / max(counts[term], 0.5)) for term in self.parents}

    def above(self, term: str) -> set[str]:
        return {term}.union(*(self.above(parent) for parent in self.parents[term]))

    def closed(self, terms: object) -> set[str]:
        return set().union(*(self.above(term) for term in terms))  # type: ignore[attr-defined]

    def specific(self, query: Query) -> list[str]:
        return sorted(t for t in query.term_ids if not any(t in self.above(o) - {o} for o in query.term_ids))

    def absent(self, query: Query) -> list[str]:
        return sorted(set(query.excluded) - set(query.term_ids))

    def resnik(self, one: str, other: str) -> float:
        return max(self.ic[term] for term in self.above(one) & self.above(other))

    def lin(self, one: str, other: str) -> float:
        both = self.ic[one] + self.ic[other]
        return 2 * self.resnik(one, other) / both if both else 0.0


def scores_of(arm: MatrixArm, world: World) -> np.ndarray:
    """Every score, [queries, items], 0 where there is no hit."""
    arm.index(world.items)
    found = arm.rank(world.queries, len(world.items))
    scores = np.zeros((len(world.queries), len(world.items)))
    row, place = np.nonzero(found.items >= 0)
    scores[row, found.items[row, place]] = found.scores[row, place]
    return scores


def means(world: World, alike: object, *, back: bool) -> np.ndarray:
    rows = []
    for query in world.queries:
        asked = world.specific(query)
        row = []
        for item in world.items:
            table = [[alike(one, other) for other in item.term_ids] for one in asked]  # type: ignore[operator]
            there = sum(max(line) for line in table) / len(asked)
            here = sum(max(line) for line in zip(*table, strict=True)) / len(item.term_ids)
            row.append((there + here) / 2 if back else there)
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_best_matches_are_those_of_the_definitions(seed: int) -> None:
    world = World(seed)
    setting = Setting(world.mounted)
    for arm, alike, back in (
        (ResnikOneSided(setting), world.resnik, False),
        (Phenomizer(setting), world.resnik, True),
        (LinBestMatch(setting), world.lin, True),
    ):
        expected = means(world, alike, back=back)
        assert np.ptp(expected) > 0.1
        np.testing.assert_allclose(scores_of(arm, world), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_set_similarities_are_those_of_the_definitions(seed: int) -> None:
    world = World(seed)
    for arm, weight in ((SimGic, world.ic), (Jaccard, dict.fromkeys(world.ic, 1.0))):
        expected = []
        for query in world.queries:
            asked = world.closed(query.term_ids)
            sets = [world.closed(item.term_ids) for item in world.items]
            expected.append([sum(map(weight.get, asked & s)) / sum(map(weight.get, asked | s)) for s in sets])
        np.testing.assert_allclose(scores_of(arm(Setting(world.mounted)), world), expected, rtol=0, atol=1e-12)


def naive_ratio(world: World, term: str, item: IndexItem, background: dict[str, float]) -> float:
    """The likelihood ratio of a term that was seen, case by case as the arm's docstring states them."""
    shares = {t: item.frequencies.get(t, 1.0) for t in item.term_ids}
    holders = Counter(t for i in world.items for t in world.closed(i.term_ids))
    if world.above(term) & set(item.excluded):
        return 0.001
    below = [share for t, share in shares.items() if term in world.above(t)]
    if below:
        return max(below) / background[term]
    children = Counter(parent for parents in world.parents.values() for parent in parents)

    def part(child: str, ancestor: str) -> float:
        if child == ancestor:
            return 1.0
        ways = [part(parent, ancestor) / children[parent] for parent in world.parents[child]]
        return max(ways, default=0.0)

    down = [share * part(term, t) for t, share in shares.items() if t in world.above(term)]
    if down:
        return max(max(down) / background[term], 0.01)
    shared = world.above(term) & world.closed(item.term_ids)
    level, seen = {term}, {term}
    while level:
        near = sorted(t for t in level & shared if holders[t] < 0.95 * len(world.items))
        if near:  # of several equally near, the last by id
            share = max(s for t, s in shares.items() if near[-1] in world.above(t))
            return max(share / background[near[-1]], 0.01)
        level = set().union(*(world.parents[t] for t in level)) - seen
        seen |= level
    return 0.01


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_likelihood_ratios_are_those_of_the_definition(seed: int) -> None:
    world = World(seed)
    background = {}
    for term in world.parents:
        spread = [
            max((i.frequencies.get(t, 1.0) for t in i.term_ids if term in world.above(t)), default=0.0)
            for i in world.items
        ]
        background[term] = sum(spread) / len(spread) or 1e-4
    expected = []
    for query in world.queries:
        row = []
        for item in world.items:
            total = sum(math.log10(naive_ratio(world, t, item, background)) for t in world.specific(query))
            for term in world.absent(query):
                if world.above(term) & set(item.excluded):
                    total += 3
                    continue
                below = [item.frequencies.get(t, 1.0) for t in item.term_ids if term in world.above(t)]
                share = max(1 - max(below), 0.01) if below else 1.0
                total += math.log10(share / (1 - min(background[term], 0.99)))
            row.append(total)
        expected.append(row)
    np.testing.assert_allclose(scores_of(LikelihoodRatio(Setting(world.mounted)), world), expected, rtol=0, atol=1e-9)


def test_frequencies_and_excluded_terms_change_likelihoods() -> None:
    setting = made_up_world()[0]
    arm = LikelihoodRatio(setting)
    arm.index(
        [
            IndexItem("often", ["EX:12"], frequencies={"EX:12": 0.9}),
            IndexItem("seldom", ["EX:12"], frequencies={"EX:12": 0.1}),
            IndexItem("never", ["EX:13"], excluded=["EX:12"]),
        ]
    )
    assert [hit.key for hit in arm.retrieve(Query(["EX:12"]), 3)] == ["often", "seldom", "never"]
    assert [hit.key for hit in arm.retrieve(Query(["EX:13"], excluded=["EX:12"]), 3)] == ["never", "seldom", "often"]
    seen = LikelihoodRatioSeen(setting)
    seen.index(arm.held.items)
    assert seen.retrieve(Query(["EX:13"], excluded=["EX:12"]), 3) == seen.retrieve(Query(["EX:13"]), 3)
    assert seen.retrieve(Query(["EX:13"]), 3) == arm.retrieve(Query(["EX:13"]), 3)


def direct_bm25(documents: list[list[str]], words: list[str]) -> list[float]:
    """Lucene's BM25 in a few lines."""
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        total = 0.0
        for word in words:
            holders = sum(word in other for other in documents)
            if word in document:
                idf = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
                times = document.count(word)
                total += idf * times / (times + K1 * (1 - B + B * len(document) / mean))
        scores.append(total)
    return scores


def test_bm25_is_that_of_the_formula_and_of_bm25s() -> None:
    bm25s = pytest.importorskip("bm25s", reason="bm25s is not installed (peers extra)")
    setting, items, queries = made_up_world()
    ontology = setting.mounted.ontology
    for arm in (Bm25Names(setting), Bm25Closure(setting)):
        arm.index(items)
        documents, asked = arm.documents(arm.held), [["bone", "bone", "heart", "nowhere"], ["EX:05", "EX:01", "EX:02"]]
        for query in queries[:6]:
            numbers = sorted(ontology.number[term] for term in query.term_ids)
            names = [word for number in numbers for word in ontology.names[number].split() if word != "of"]
            closed = {a for n in numbers for a in setting.mounted.lattice.ancestors_of(n).tolist()}
            words = names if type(arm) is Bm25Names else [ontology.ids[a] for a in sorted(closed)]
            asked.append(words)
            hits = {hit.key: hit.score for hit in arm.retrieve(query, 20)}
            expected = dict(zip([i.key for i in arm.held.items], direct_bm25(documents, words), strict=True))
            assert hits.keys() == {key for key, score in expected.items() if score}
            assert all(abs(hits[key] - expected[key]) < 1e-5 for key in hits)
            theirs = bm25s.BM25(k1=K1, b=B, method="lucene")
            theirs.index(documents, show_progress=False)
            outside = theirs.get_scores([word for word in words if word in theirs.vocab_dict])
            np.testing.assert_allclose(outside, list(expected.values()), atol=1e-5)


def test_the_walk_is_the_solution_of_its_equations() -> None:
    setting, items, queries = made_up_world()
    arm = PhraseGraph(setting)
    arm.index(items)
    lattice, size = setting.mounted.lattice, len(setting.mounted.lattice)
    joined = np.zeros((size + len(items), size + len(items)))
    for child in range(size):
        joined[child, lattice.parents[lattice.parent_ptr[child] : lattice.parent_ptr[child + 1]]] = 1
    for number, item in enumerate(arm.held.items):
        joined[size + number, [setting.mounted.number[term] for term in item.term_ids]] = 1
    joined = np.maximum(joined, joined.T)
    steps = joined / joined.sum(axis=0)
    terms = [setting.mounted.number[term] for term in queries[3].term_ids]
    carried = [sum(setting.mounted.ids[term] in item.term_ids for item in items) for term in terms]
    start = np.zeros(len(joined))
    start[terms] = [1 / max(count, 1) for count in carried]
    start /= start.sum()
    solved = np.linalg.solve(np.eye(len(joined)) - 0.5 * steps, 0.5 * start)
    assert solved.sum() == pytest.approx(1)
    hits = {hit.key: hit.score for hit in arm.retrieve(queries[3], 20)}
    expected = dict(zip([item.key for item in arm.held.items], solved[size:], strict=True))
    assert hits == pytest.approx(expected, abs=1e-11)


def test_fusion_is_that_of_the_formula() -> None:
    lists = [np.array([[3.0, 1.0, NO_HIT, 3.0]]), np.array([[NO_HIT, 0.2, 0.9, NO_HIT]])]
    expected = [1 / 61, 1 / 63 + 1 / 62, 1 / 61, 1 / 62]
    assert fused(lists)[0].tolist() == pytest.approx(expected, abs=1e-15)
    assert fused([np.array([[NO_HIT, 1.0]])])[0, 0] == NO_HIT


def test_the_top_of_a_row_has_its_ties_in_order_and_counts_what_is_left() -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 4, (50, 12)).astype(np.float64)
    scores[rng.random(scores.shape) < 0.2] = NO_HIT
    for k in (1, 3, 12, 15):
        columns, best, tail = top_of(scores, k)
        for row, values in enumerate(scores):
            ordered = sorted((-v, column) for column, v in enumerate(values) if v > NO_HIT)
            held = columns[row][columns[row] >= 0].tolist()
            assert held == [column for _, column in ordered[:k]]
            assert best[row, : len(held)].tolist() == [-v for v, _ in ordered[:k]]
            assert tail[row] == sum(v == ordered[k - 1][0] for v, _ in ordered[k:])


@pytest.fixture(scope="module")
def encoder() -> None:
    if why := find("dense-text").missing():
        pytest.skip(f"dense arms: {why}")


@pytest.mark.usefixtures("encoder")
def test_dense_order_is_that_of_a_flat_faiss_index() -> None:
    faiss = pytest.importorskip("faiss", reason="faiss is not installed (peers extra)")
    setting, items, queries = made_up_world()
    for arm in (DenseText(setting), DenseTerms(setting)):
        arm.index(items)
        vectors = arm.vectors(arm.held, arm.held.sets).astype(np.float32)
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
        for query in queries[:10]:
            from sma_gpu.bench.arms.held import Asked

            asked = Asked.of(setting.mounted, [query])
            theirs = flat.search(arm.vectors(asked, asked.present).astype(np.float32), len(items))[0][0]
            ours = arm.rank([query], len(items)).scores[0]
            np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.usefixtures("encoder")
def test_a_text_of_its_own_is_read_in_place_of_names() -> None:
    setting = made_up_world()[0]
    arm = DenseText(setting)
    arm.index([IndexItem("a", [], text="a cat on a mat"), IndexItem("b", [], text="the rate of interest")])
    assert arm.retrieve(Query([], text="a kitten on a carpet"), 1)[0].key == "a"


@pytest.fixture(scope="module")
def tiny_reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder with random weights, written in the form of a downloaded one."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed (peers extra)")
    torch = pytest.importorskip("torch", reason="torch is not installed (torch extra)")
    folder = tmp_path_factory.mktemp("reranker")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "finding", "bone", "heart", "eye", "opaque", "lens", "dry"]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, num_labels=1,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    return folder


@pytest.mark.usefixtures("encoder")
def test_a_cross_encoder_reorders_the_head_of_the_hybrid(tiny_reranker: Path) -> None:
    entry = find("hybrid-reranked")
    models = {"reranker": str(tiny_reranker)}
    if why := entry.missing(models):
        pytest.skip(why)

    def make(setting: Setting) -> HybridReranked:
        return HybridReranked(Setting(setting.mounted, setting.domain, setting.seed, models))

    assert check_arm(make) == []
    setting, items, queries = made_up_world()
    plain, arm = Hybrid(setting), make(setting)
    plain.index(items)
    arm.index(items)
    first = {hit.key for hit in plain.retrieve(queries[0], 50)}
    hits = arm.retrieve(queries[0], 50)
    assert {hit.key for hit in hits} == first
    model = pytest.importorskip("sentence_transformers").CrossEncoder(str(tiny_reranker), device="cpu")
    text = " ".join(setting.mounted.ontology.display(setting.mounted.number[t]) for t in sorted(queries[0].term_ids))
    of = {item.key: item for item in items}
    for hit in hits:
        names = [setting.mounted.ontology.display(setting.mounted.number[t]) for t in sorted(of[hit.key].term_ids)]
        assert hit.score == pytest.approx(float(model.predict([(text, " ".join(names))])[0]), abs=1e-5)


def test_the_bound_alone_is_never_below_the_score() -> None:
    world = World(4)
    setting = Setting(world.mounted)
    whole = Structural(setting)
    whole.index(world.items)
    found = whole.rank(world.queries, len(world.items))
    bounds = scores_of(MacOnly(setting), world)
    row, place = np.nonzero(found.items >= 0)
    assert len(row) > 20
    assert (bounds[row, found.items[row, place]] >= found.scores[row, place]).all()
