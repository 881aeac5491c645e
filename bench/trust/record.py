"""The held-out evaluation of every signal of trust, on the tasks of the bench: confidence, novelty, abstention.

``plan.toml`` fixes what is asked and by which rule each target is met. Rows of all arms are kept as those of suites
are; our own signals are asked anew, and every figure of ours comes from models that saw nothing of a question's fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import DataMissing, QueryError
from ..figures import Sample
from ..running import Progress, run_suite
from .abstention import conformal_splits, rules_held_out
from .asking import Asked, ask_task
from .confidence import calibration_figures, fit_ours, parts_of_confidence
from .fits import why_not_fitted
from .novelty import knows_what_is_new
from .order import order_of_answers, samples_of_arms
from .plan import Plan, TrustTask
from .verdicts import verdicts

__all__ = ["SCHEMA", "trust_record"]

SCHEMA = "sma-gpu/bench-trust/1"


def trust_record(
    of: Plan,
    folder: Path,
    *,
    quick: bool,
    only: Sequence[str] = (),
    progress: Progress = lambda words: None,
) -> dict[str, Any]:
    """Returns all figures and verdicts, ready for JSON; nothing in it depends on when or where it was made.

    Args:
        of: the plan.
        folder: where rows of arms are kept; made if need be.
        quick: on a draw of each task, without the slow arms.
        only: only these tasks, or all of a family such as ``published``; all where empty.
        progress: is told what is being done.

    Raises:
        QueryError: no task has one of the names.
        DataMissing: the data of no task are here.
    """
    chosen = [task for task in of.tasks if not only or task.name in only or task.name.partition("/")[0] in only]
    for name in only:
        if not any(name in (task.name, task.name.partition("/")[0]) for task in of.tasks):
            raise QueryError(
                f"trust on {name}", "no such task is in the plan", f"There are {'; '.join(t.name for t in of.tasks)}."
            )
    found: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for task in chosen:
        try:
            found.append(_task(of, task, folder, quick=quick, progress=progress))
        except DataMissing as missing:
            skipped[task.name] = str(missing)
    if not found:
        raise DataMissing("evaluate trust", "; ".join(skipped.values()) or "no task is left", "Bring the data.")
    return {
        "schema": SCHEMA,
        "words": of.words,
        "quick": quick,
        "most": of.most,
        "most_ours": of.most_ours,
        "ours": of.ours,
        "seed": of.seed,
        "folds": of.folds,
        "stability_runs": of.stability_runs,
        "splits": of.splits,
        "targets": dict(of.targets),
        "tasks": found,
        "skipped": skipped,
    }


def _task(of: Plan, task: TrustTask, folder: Path, *, quick: bool, progress: Progress) -> dict[str, Any]:
    run = run_suite(of.suite(task), folder, quick=quick, most=of.most, written=False, progress=progress)
    if run.skipped:
        raise DataMissing(f"trust on {task.name}", "; ".join(run.skipped.values()), "Bring the data.")
    samples, unavailable = samples_of_arms(run, task)
    asked = ask_task(of, task, quick=quick, progress=progress)
    progress(f"{task.name}: figures")
    told: dict[str, Any] = {
        "task": task.name,
        "of": list(task.of),
        "seeds": sorted({cell.seed for cell in run.cells}),
        "items": asked.items,
        "questions": len(asked),
        "novel": int((~asked.known).sum()),
        "groups": len(set(asked.groups)),
        "answers": len(set(asked.clusters)),
        "top1": float(asked.right[asked.known, 0].mean()) if asked.known.any() else None,
        "unavailable": unavailable,
        "generalised": asked.generalised,
        "not_fitted": why_not_fitted(asked.right[:, 0], asked.groups, of.folds),
    }
    if not told["not_fitted"]:
        told |= _figures(of, asked, samples)
    return {**told, "verdicts": verdicts(of, told, task.published)}


def _figures(of: Plan, asked: Asked, samples: Mapping[str, Sample]) -> dict[str, Any]:
    ours, fold = fit_ours(of, asked)
    return {
        "order": order_of_answers(of, asked, samples, ours),
        "calibration": calibration_figures(of, asked, ours),
        "parts": parts_of_confidence(of, asked, ours, fold),
        "novelty": knows_what_is_new(of, asked, fold),
        "abstention": rules_held_out(of, asked, ours, fold),
        "conformal": conformal_splits(of, asked),
    }
