"""A toy task whose answers this engine can rank, and a small plan for it: to see how trust is evaluated."""

from __future__ import annotations

import random

from sma_gpu import IndexItem, mount, ontology_from_parents
from sma_gpu.bench.arms.arm import Setting
from sma_gpu.bench.tasks.entry import Entry, Request
from sma_gpu.bench.tasks.task import Question, Task
from sma_gpu.bench.trust.plan import Plan, read_plan
from sma_gpu.memory import Query

PLAN = """
words = "A toy."
seed = 5
folds = 3
fold_seed = 0
most = 30
most_ours = 50
ours = "structural"
rivals = ["jaccard", "no-such-weights", "phenomizer", "random"]
variants = ["structural-sized"]
slow = ["no-such-weights"]
risk_levels = [0.2]
conformal_levels = [0.2, 0.4]
splits = 6
split_ridge = 3.0
stability_runs = 3
stability_seed = 0
generalisations_up_to = 100

[targets]
aurc_top1 = "below every rival's"
aurc_top5 = "likewise"
ece = "below .05"
grounding = "above that of score over self"
novelty_f1 = "above that of everything new"
conformal = "within each level"

[limits]
ece = 0.05

[[task]]
name = "toy/trust"
seeds = [1, 2]
published = { grounding = 0.7, novelty_f1 = 0.6 }

[[task]]
name = "toy/not-here"
"""
ITEMS, WIDTH = 24, 6


def plan() -> Plan:
    """Returns the small plan."""
    return read_plan(PLAN)


def trust_task(request: Request) -> Task:
    """Returns 24 items of four terms each and 40 questions: three terms, each kept, moved to a sibling, or random."""
    drawn = random.Random(f"toy {request.seed}")
    parents = {"T:root": []}
    for family in range(WIDTH * 2):
        parents[f"T:{family:02d}"] = ["T:root"]
        parents |= {f"T:{family:02d}-{leaf}": [f"T:{family:02d}"] for leaf in range(WIDTH)}
    leaves = sorted(term for term in parents if "-" in term)
    profiles = [sorted(drawn.sample(leaves, 4)) for _ in range(ITEMS + 6)]
    items = tuple(IndexItem(f"k{n:02d}", profiles[n], " ".join(profiles[n])) for n in range(ITEMS))
    questions = []
    for number in range(40):
        about = number % len(profiles)
        terms = {_moved(drawn, leaves, term) for term in drawn.sample(profiles[about], 3)}
        gold = (f"k{about:02d}",) if about < ITEMS else ()
        query = Query(tuple(sorted(terms)), " ".join(sorted(terms)))
        questions.append(Question(f"q{number:02d}", query, gold, cluster=f"c{about:02d}", group=f"g{number // 2:02d}"))
    setting = Setting(mount(ontology_from_parents(parents)), "toy", request.seed)
    return Task(request.name, "A toy task.", setting, items, tuple(questions))


def _moved(drawn: random.Random, leaves: list[str], term: str) -> str:
    chance = drawn.random()
    if chance < 0.45:
        return term
    if chance < 0.7:
        return f"{term.partition('-')[0]}-{drawn.randrange(WIDTH)}"
    return drawn.choice(leaves)


ENTRY = Entry("toy/trust", "A toy task.", (), trust_task, seeds=(1, 2))
