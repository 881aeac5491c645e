"""A suite of two toy arms on a toy task, to see how the bench runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sma_gpu import IndexItem, mount, ontology_from_parents
from sma_gpu.bench.arms.arm import Ranking, Setting
from sma_gpu.bench.tasks.entry import Request
from sma_gpu.bench.tasks.task import Question, Task
from sma_gpu.memory import Query, Retrieved

ITEMS = 7
SUITE = """
words = "A toy."
seed = 5
ours = "toy_suite:Near"
controls = ["toy_suite:Far"]
others = ["no-such-weights"]

[[table]]
task = "toy/plain"
slices = ["tail"]
rules = ["strict", "pairs", "not-there"]

[[table.family]]
measures = ["top1", "top5"]
"""
asked: dict[str, int] = {}
"""By name of an arm, how many queries it was asked."""


class Near:
    """Items by how near their number is to that of the query's term; one of equal distance before another by key."""

    name = "near"
    sign = -1.0

    def __init__(self, setting: Setting) -> None:
        self._numbers = np.zeros(0)

    def index(self, items: Sequence[IndexItem]) -> None:
        self._numbers = np.array([_number(item) for item in items])

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        asked[self.name] = asked.get(self.name, 0) + len(queries)
        wide = np.full((len(queries), k), -1, np.int64)
        scores = np.full((len(queries), k), np.nan)
        for row, query in enumerate(queries):
            of_all = self.sign * np.abs(self._numbers - _number(query))
            order = np.argsort(-of_all, kind="stable")[:k]
            wide[row, : len(order)], scores[row, : len(order)] = order, of_all[order]
        sure = 1.0 / (1.0 + np.abs(scores[:, 0]))
        return Ranking(wide, scores, np.zeros(len(queries), np.int64), sure, 1.0 - sure)

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        raise AssertionError("the bench asks whole blocks")

    def novelty(self, query: Query) -> float:
        raise AssertionError("the bench asks whole blocks")


class Far(Near):
    """The farthest first."""

    name = "far"
    sign = 1.0

    def index(self, items: Sequence[IndexItem]) -> None:
        super().index(items)
        self.counts = {"items, farthest first": len(items)}


def _number(one: IndexItem | Query) -> int:
    return int(next(iter(one.term_ids)).removeprefix("EX:"))


def toy_task(request: Request, *, most: int = 9) -> Task:
    """Returns seven items and up to nine questions: half a step beside the item, and two that nothing answers."""
    mounted = mount(ontology_from_parents({f"EX:{n}": [] for n in range(40)}))
    items = tuple(IndexItem(f"k{n}", [f"EX:{3 * n}"]) for n in range(ITEMS))
    questions = tuple(
        Question(
            f"q {n}", Query([f"EX:{3 * n + (n + request.seed) % 3}"]), (f"k{n}",) if n < ITEMS else (),
            cluster=f"c{n % 4}", slices=("tail",) if n % 2 else (),
        )
        for n in range(most)
    )  # fmt: skip
    rules = {"pairs": {f"k{n}": f"k{n - n % 2}" for n in range(ITEMS)}}
    return Task(request.name, "A toy task.", Setting(mounted, "toy", request.seed), items, questions, rules)
