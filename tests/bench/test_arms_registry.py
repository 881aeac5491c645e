"""The registry of arms, and arms and scorers that other packages bring."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sma_gpu import CaseBatch, Dials, Index, Query
from sma_gpu.bench.arms.arm import Setting
from sma_gpu.bench.arms.contract import check_arm, made_up_world
from sma_gpu.bench.arms.registry import ARMS, Entry, all_arms, find
from sma_gpu.errors import DataMissing, DialError, QueryError

TOY = '''
from sma_gpu.bench.arms.similarity import Jaccard
from sma_gpu.memory import Retrieved


class ToyArm(Jaccard):
    name = "toy"


class ToyMemory:
    """The Memory protocol alone: the first items by key, to every query."""

    name = "toy-memory"

    def __init__(self, setting):
        self.keys = []

    def index(self, items):
        self.keys = sorted(item.key for item in items)

    def retrieve(self, query, k):
        return [Retrieved(key, -1.0, 0.0, i + 1) for i, key in enumerate(self.keys[:k])]

    def novelty(self, query):
        return 1.0


def no_memory(setting):
    return object()


def halves(counts, cases):
    return 0.5 * (cases - counts).clip(0)


def negative(counts, cases):
    return -1.0 - counts


def short(counts, cases):
    return counts[:-1]
'''

ENTRY_POINTS = """
[sma_gpu.arms]
toy = toy_arms_of_another:ToyArm
toy-memory = toy_arms_of_another:ToyMemory
toy-nothing = toy_arms_of_another:no_memory

[sma_gpu.scorers]
halves = toy_arms_of_another:halves
negative = toy_arms_of_another:negative
short = toy_arms_of_another:short
gone = toy_arms_of_another:gone
"""


@pytest.fixture
def another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed distribution of someone else's."""
    (tmp_path / "toy_arms_of_another.py").write_text(TOY, encoding="utf-8")
    folder = tmp_path / "toy_arms_of_another-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-arms-of-another\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("toy_arms_of_another", None)


@pytest.mark.usefixtures("another_package")
def test_an_arm_of_another_package_is_listed_built_and_checked() -> None:
    entry = find("toy")
    assert entry in all_arms()
    assert "toy-arms-of-another" in entry.words
    assert entry.build(made_up_world()[0]).name == "toy"
    assert check_arm(entry.build) == []


@pytest.mark.usefixtures("another_package")
def test_a_memory_of_another_package_is_asked_one_by_one() -> None:
    setting, items, queries = made_up_world()
    for name in ("toy-memory", "toy_arms_of_another:ToyMemory"):
        arm = find(name).build(setting)
        arm.index(items)
        found = arm.rank(queries, 2)
        assert [items[place].key for place in found.items[0].tolist()] == ["a", "b"]
        assert (found.tail == -1).all()
        assert check_arm(find(name).build) == []


@pytest.mark.usefixtures("another_package")
def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(QueryError, match="which is no memory"):
        find("toy-nothing").build(made_up_world()[0])


def test_an_unknown_arm_is_refused_with_the_known_ones() -> None:
    with pytest.raises(QueryError, match=r"there is no such arm.*structural"):
        find("toy")
    with pytest.raises(QueryError, match="cannot be imported"):
        find("no_such_module:Arm").build(made_up_world()[0])
    with pytest.raises(QueryError, match="cannot be imported"):
        find("json:Arm").build(made_up_world()[0])


def test_two_packages_with_one_name_must_be_told_apart(
    another_package: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere" / "second-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: second\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[sma_gpu.arms]\ntoy = second:Toy\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    with pytest.raises(QueryError, match="2 packages offer it: second:Toy, toy_arms_of_another:ToyArm"):
        find("toy")


def test_what_is_missing_is_named_with_the_line_that_installs_it() -> None:
    entry = Entry("x", "m:X", "words", ("no-such-package-anywhere",), "pip install it")
    assert entry.missing() == "no-such-package-anywhere not installed: pip install it"
    with pytest.raises(DataMissing, match="pip install it"):
        entry.build(made_up_world()[0])


def test_a_model_that_is_not_here_makes_the_arm_unavailable() -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (peers extra)")
    entry = find("hybrid-reranked")
    models = {"reranker": "nobody/no-such-model"}
    why = entry.missing(models)
    assert why.startswith("no weights of nobody/no-such-model on this machine: hf download")
    with pytest.raises(DataMissing, match="no weights"):
        entry.build(Setting(made_up_world()[0].mounted, models=models))


def small_index(dials: Dials) -> Index:
    mounted = made_up_world()[0].mounted
    return Index.build(CaseBatch.from_functors(["a", "b", "c"], [[4, 5], [5], [9]]), mounted, dials)


@pytest.mark.usefixtures("another_package")
def test_a_scorer_of_another_package_sets_the_costs_and_is_part_of_the_fingerprint() -> None:
    dials = Dials(scorer="toy-arms-of-another:halves")
    index = small_index(dials)
    counts = np.bincount(
        np.concatenate([np.unique(np.concatenate([index.mounted.lattice.ancestors_of(f) for f in of]))
                        for of in ([4, 5], [5], [9])]), minlength=20,
    )  # fmt: skip
    assert index.costs.tolist() == (0.5 * (3 - counts)).tolist()
    assert dials.fingerprint != Dials().fingerprint
    assert '"scorer":"toy-arms-of-another:halves"' in dials.canonical_json()
    hits = index.retrieve(CaseBatch.from_functors(["q"], [[9]]), 1)
    assert hits.keys.tolist() == [["c"]]
    assert hits.score_q[0, 0] == (1 << 16) + round(1.25 * (1 << 16))  # one entity, and 1.25 times one bit


@pytest.mark.usefixtures("another_package")
@pytest.mark.parametrize(
    "scorer, words",
    [
        ("toy-arms-of-another:negative", "below 0"),
        ("toy-arms-of-another:short", "for 20 functors"),
        ("toy-arms-of-another:gone", "cannot be imported"),
        ("toy-arms-of-another:other", "Its scorers are: toy-arms-of-another:gone, toy-arms-of-another:halves"),
        ("no-such-package-anywhere:x", "is not installed"),
    ],
)
def test_a_scorer_that_cannot_be_used_is_refused(scorer: str, words: str) -> None:
    with pytest.raises(DialError, match=words):
        small_index(Dials(scorer=scorer))


@pytest.mark.parametrize("scorer", ["bm25", "a:b:c", ":x", "x:", "a b:c", 3])
def test_a_text_that_names_no_scorer_is_no_dial(scorer: str) -> None:
    with pytest.raises(DialError, match="package:name"):
        Dials(scorer=scorer)


def test_every_arm_that_needs_nothing_answers() -> None:
    setting, items, _ = made_up_world()
    for entry in ARMS:
        if not entry.missing():
            arm = entry.build(setting)
            arm.index(items)
            assert arm.retrieve(Query(["EX:20", "EX:11"]), 1), entry.name
