"""The contract of arms: every arm keeps it but for what it declares, and each check finds an arm that breaks it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sma_gpu import IndexItem, Memory, Query
from sma_gpu.bench.arms.arm import Ranking, Setting
from sma_gpu.bench.arms.contract import CHECKS, check_arm, contract_record, contract_text, made_up_world
from sma_gpu.bench.arms.held import Asked
from sma_gpu.bench.arms.registry import ARMS, Entry, find
from sma_gpu.bench.arms.similarity import Jaccard
from sma_gpu.memory import Retrieved


@pytest.mark.parametrize("entry", ARMS, ids=[entry.name for entry in ARMS])
def test_every_arm_keeps_the_contract_but_for_what_it_declares(entry: Entry) -> None:
    if why := entry.missing():
        pytest.skip(f"{entry.name}: {why}")
    findings = check_arm(entry.build)
    assert {f.check for f in findings} == set(entry.deviates), findings


def test_names_are_unique_and_deviations_are_checks() -> None:
    assert len({entry.name for entry in ARMS}) == len(ARMS)
    for entry in ARMS:
        assert set(entry.deviates) <= set(CHECKS)
        assert entry.words
        assert bool(entry.packages) == bool(entry.install)


def changed(look: Callable[[Ranking, Jaccard, Sequence[Query], int], Ranking]) -> type[Jaccard]:
    """Returns an arm whose rankings, and with them its single answers, are changed by ``look``."""

    class Broken(Jaccard):
        name = "broken"

        def rank(self, queries: Sequence[Query], k: int) -> Ranking:
            return look(super().rank(queries, k), self, queries, k)

    return Broken


def copied(array: np.ndarray) -> np.ndarray:
    return array.copy()


def doubled(found: Ranking, arm: Jaccard, queries: Sequence[Query], k: int) -> Ranking:
    items = copied(found.items)
    if k > 1:
        items[:, 1] = np.where(items[:, 1] >= 0, items[:, 0], -1)
    return replace(found, items=items)


def rising(found: Ranking, arm: Jaccard, queries: Sequence[Query], k: int) -> Ranking:
    return replace(found, scores=-found.scores)


def turned_ties(found: Ranking, arm: Jaccard, queries: Sequence[Query], k: int) -> Ranking:
    items = copied(found.items)
    for row, scores in enumerate(found.scores):
        for at in range(1, k):
            if scores[at] == scores[at - 1]:
                items[row, [at - 1, at]] = items[row, [at, at - 1]]
                break
    return replace(found, items=items)


def no_tail(found: Ranking, arm: Jaccard, queries: Sequence[Query], k: int) -> Ranking:
    return replace(found, tail=np.zeros_like(found.tail))


def too_many(found: Ranking, arm: Jaccard, queries: Sequence[Query], k: int) -> Ranking:
    return Jaccard.rank(arm, queries, k + 1)


def too_sure(found: Ranking, arm: Jaccard, queries: Sequence[Query], k: int) -> Ranking:
    return replace(found, confidence=found.confidence * 2)


def of_the_batch(found: Ranking, arm: Jaccard, queries: Sequence[Query], k: int) -> Ranking:
    return replace(found, novelty=np.full_like(found.novelty, 1.0 / (1 + len(queries))))


class AnotherRetrieve(Jaccard):
    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        return [replace(hit, score=hit.score / 2) for hit in super().retrieve(query, k)]


class Forgetful(Jaccard):
    """Counts how often it was asked."""

    asked = 0

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        self.asked += 1
        found = super().rank(queries, k)
        return replace(found, novelty=np.full_like(found.novelty, 1.0 / self.asked))


class AnswersAnything(Jaccard):
    def askable(self, asked: Asked) -> np.ndarray:
        return np.ones(len(asked), bool)

    def scores(self, asked: Asked) -> np.ndarray:
        return np.where(asked.present.sizes[:, None] > 0, super().scores(asked), 0.5)


class OneOfEqualContent(Jaccard):
    def index(self, items: Sequence[IndexItem]) -> None:
        content = {tuple(sorted(item.term_ids)): item for item in sorted(items, key=lambda item: item.key)}
        kept = {item.key for item in content.values()}
        super().index([item if item.key in kept else replace(item, term_ids=()) for item in items])


class LooksAtKeys(Jaccard):
    def scores(self, asked: Asked) -> np.ndarray:
        favoured = np.array([item.key.startswith("t") for item in self.held.items], bool)
        found = super().scores(asked)
        return np.where(favoured & (found > 0), found + 1, found)


class LooksAtPlaces(Jaccard):
    def scores(self, asked: Asked) -> np.ndarray:
        return super().scores(asked) - self.held.places / 100


class Keeps(Jaccard):
    def index(self, items: Sequence[IndexItem]) -> None:
        before = {item.key: item for item in self.held.items if item.key not in {i.key for i in items}}
        super().index([*items, *before.values()])


BROKEN: dict[str, type[Jaccard]] = {
    "keys": changed(doubled),
    "scores": changed(rising),
    "tie-order": changed(turned_ties),
    "tail": changed(no_tail),
    "k": changed(too_many),
    "retrieve": AnotherRetrieve,
    "batches": changed(of_the_batch),
    "again": Forgetful,
    "nothing-usable": AnswersAnything,
    "equal-content": OneOfEqualContent,
    "certainty": changed(too_sure),
    "unseen": LooksAtKeys,
    "item-order": LooksAtPlaces,
    "replaces": Keeps,
}


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_each_check_finds_an_arm_that_breaks_it(check: str) -> None:
    assert check_arm(Jaccard) == []
    assert check in {finding.check for finding in check_arm(BROKEN[check])}


class OnlyMemory:
    """The Memory protocol alone, first come first served."""

    name = "only-memory"

    def __init__(self, setting: Setting) -> None:
        self._arm = Jaccard(setting)

    def index(self, items: Sequence[IndexItem]) -> None:
        self._arm.index(items)

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        return self._arm.retrieve(query, k)

    def novelty(self, query: Query) -> float:
        return self._arm.novelty(query)


def test_a_memory_that_cannot_rank_is_checked_one_query_at_a_time() -> None:
    assert check_arm(OnlyMemory) == []


def test_what_an_arm_raises_is_a_finding() -> None:
    def broken(setting: Setting) -> Memory:
        raise OSError("no disk")

    assert {f.check for f in check_arm(broken)} == set(CHECKS)
    assert all("OSError: no disk" in f.words for f in check_arm(broken))


DIGEST = """
import hashlib
from sma_gpu.bench.arms.contract import made_up_world
from sma_gpu.bench.arms.registry import ARMS
setting, items, queries = made_up_world()
for entry in ARMS:
    if not entry.packages:
        arm = entry.build(setting)
        arm.index(items)
        found = arm.rank(queries, 20)
        print(entry.name, hashlib.sha256(found.items.tobytes() + found.scores.tobytes()).hexdigest())
"""


def test_hash_seeds_change_nothing(tmp_path: Path) -> None:
    answers = []
    for seed in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "SMA_GPU_CACHE": str(tmp_path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        answers.append(run.stdout)
    assert answers[0] == answers[1]
    assert answers[0].count("\n") > 5


def test_the_made_up_world_has_what_the_checks_look_for() -> None:
    _, items, queries = made_up_world()
    keys = [item.key for item in items]
    assert keys != sorted(keys)
    assert any(query.excluded for query in queries)
    assert any(item.excluded and item.frequencies for item in items)


def test_a_record_says_whether_the_contract_is_kept() -> None:
    record = contract_record("jaccard")
    assert record == {"arm": "jaccard", "checks": list(CHECKS), "findings": [], "kept": True}
    assert contract_text(record).endswith("The contract is kept.\n")
    broken = contract_record(f"{__name__}:AnotherRetrieve")
    assert [found["check"] for found in broken["findings"]] == ["retrieve"] * len(broken["findings"])
    assert not broken["kept"]
    assert "retrieve: query 0: retrieve and rank give different scores" in contract_text(broken)


def test_what_an_arm_is_known_to_fail_does_not_break_its_contract() -> None:
    entry = find("adapter-v1-peer-exact")
    if why := entry.missing():
        pytest.skip(why)
    record = contract_record(entry.name)
    assert record["kept"]
    assert {found["known"] for found in record["findings"]} == set(entry.deviates.values())
