"""What the evaluation of trust asks and by which rule it judges: ``plan.toml``, fixed before a run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ...errors import QueryError
from ..suites import Suite, Table
from ..tasks import registry as tasks
from ..tasks.task import STRICT

__all__ = ["TARGETS", "Plan", "TrustTask", "plan", "read_plan"]

TARGETS = ("aurc_top1", "aurc_top5", "ece", "grounding", "novelty_f1", "conformal")
"""What is judged of each task, in the order in which it is shown."""


@dataclass(frozen=True)
class TrustTask:
    """Questions that one calibration is fitted to.

    Attributes:
        name: of the task, or of several taken together.
        of: names of the tasks, all of one domain.
        seeds: of their draws, taken together; those of the task itself where empty.
        published: by figure, what was published for the domain, on other splits.
    """

    name: str
    of: tuple[str, ...]
    seeds: tuple[int, ...]
    published: Mapping[str, float]

    def draws(self, task: str) -> tuple[int, ...]:
        """Returns the seeds that one of its tasks is drawn under."""
        return self.seeds or tasks.entry(task).seeds


@dataclass(frozen=True)
class Plan:
    """All that is fixed before a run; ``plan.toml`` says what each is for.

    Attributes:
        words: what is asked, in a sentence.
        seed: of the bootstrap and of all that is drawn.
        folds: how many.
        fold_seed: what they are drawn from.
        most: questions of a task and seed that rivals are asked in a quick run.
        most_ours: up to so many are all put to ours in a quick run; of more, ``most`` are.
        ours: the arm that is judged.
        rivals: arms that it is compared with.
        variants: arms of this engine that are shown beside.
        slow: arms that a quick run leaves out, and says so.
        risk_levels: target risks.
        conformal_levels: levels of conformal risk.
        splits: how often conformal risk is looked at.
        split_ridge: how strongly weights are held down there.
        stability_runs: reruns of each question.
        stability_seed: what these are drawn from.
        generalisations_up_to: a quick run makes no generalisations of more items than this.
        targets: by name, by which rule it is met.
        limits: borders of targets.
        tasks: in the order in which they are shown.
    """

    words: str
    seed: int
    folds: int
    fold_seed: int
    most: int
    most_ours: int
    ours: str
    rivals: tuple[str, ...]
    variants: tuple[str, ...]
    slow: tuple[str, ...]
    risk_levels: tuple[float, ...]
    conformal_levels: tuple[float, ...]
    splits: int
    split_ridge: float
    stability_runs: int
    stability_seed: int
    generalisations_up_to: int
    targets: Mapping[str, str]
    limits: Mapping[str, float]
    tasks: tuple[TrustTask, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of abstention that are looked at."""
        levels = (("risk", self.risk_levels), ("conformal", self.conformal_levels))
        return ("youden", *(f"{name}={level}" for name, of in levels for level in of))

    def suite(self, task: TrustTask) -> Suite:
        """Returns the arms and draws of a task as a suite, which keeps its rows."""
        tables = tuple(Table(name, (seed,), (STRICT,), (), ()) for name in task.of for seed in task.draws(name))
        return Suite("trust", self.words, self.seed, self.ours, self.rivals, self.variants, self.slow, tables)


@cache
def plan() -> Plan:
    """Returns the plan of ``plan.toml``."""
    return read_plan(files(__package__).joinpath("plan.toml").read_text(encoding="utf-8"))


def read_plan(text: str) -> Plan:
    """Returns the plan that a text in TOML states.

    Raises:
        QueryError: it lacks something, or names a target that there is not.
    """
    told = tomllib.loads(text)
    try:
        strange = sorted(set(told["targets"]) ^ set(TARGETS))
        if strange:
            raise QueryError(
                "plan of trust", f"{strange[0]} is no target, or is not there", f"There are {', '.join(TARGETS)}."
            )
        return Plan(
            words=told["words"],
            seed=told["seed"],
            folds=told["folds"],
            fold_seed=told["fold_seed"],
            most=told["most"],
            most_ours=told["most_ours"],
            ours=told["ours"],
            rivals=tuple(told["rivals"]),
            variants=tuple(told["variants"]),
            slow=tuple(told["slow"]),
            risk_levels=tuple(told["risk_levels"]),
            conformal_levels=tuple(told["conformal_levels"]),
            splits=told["splits"],
            split_ridge=told["split_ridge"],
            stability_runs=told["stability_runs"],
            stability_seed=told["stability_seed"],
            generalisations_up_to=told["generalisations_up_to"],
            targets=dict(told["targets"]),
            limits=dict(told["limits"]),
            tasks=tuple(_task(one) for one in told["task"]),
        )
    except KeyError as missing:
        raise QueryError("plan of trust", f"it lacks {missing}", "Say it there, before the run.") from missing


def _task(told: Mapping[str, Any]) -> TrustTask:
    of = tuple(told.get("of", (told["name"],)))
    return TrustTask(told["name"], of, tuple(told.get("seeds", ())), dict(told.get("published", {})))
