"""The evaluation of trust as Markdown: what a terminal shows and what TRUST.md holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..report_text import grid, share
from .plan import TARGETS
from .task_text import task_lines
from .verdicts import MISSED, UNDEFINED

__all__ = ["TARGET_WORDS", "trust_text", "verdict_words"]

TARGET_WORDS = {
    "aurc_top1": "AURC, first hit", "aurc_top5": "AURC, first five", "ece": "ECE", "grounding": "grounding AUROC",
    "novelty_f1": "novelty F1", "conformal": "conformal risk",
}  # fmt: skip


def trust_text(found: Mapping[str, Any]) -> str:
    """Returns all of it: verdicts, what fell short, the figures of each target, then every task in whole."""
    lines = ["## Targets", "", *_summary(found["tasks"])]
    for name, reason in found["skipped"].items():
        lines += [f"Not run: {name}: {reason}", ""]
    lines += ["## Where it falls short", "", *_shortfalls(found["tasks"]), "## Figures against targets", ""]
    for target in TARGETS:
        lines += [f"### {TARGET_WORDS[target]}", "", f"Met where: {found['targets'][target]}.", ""]
        lines += _target(found["tasks"], target)
    for task in found["tasks"]:
        lines += task_lines(found, task)
    return "\n".join(lines).rstrip("\n") + "\n"


def verdict_words(one: Mapping[str, Any]) -> str:
    """Returns a verdict in words."""
    told = "" if one["told_apart"] in (True, None) else ", not told apart"
    return f"{one['verdict']}{told}"


def _summary(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    head = ["task", "questions", "top-1", *TARGET_WORDS.values()]
    rows = [
        [task["task"], str(task["questions"]), share(task["top1"]), *(verdict_words(one) for one in task["verdicts"])]
        for task in tasks
    ]
    counts = []
    for at, words in enumerate(TARGET_WORDS.values()):
        of = [task["verdicts"][at] for task in tasks]
        defined = [one for one in of if one["verdict"] != UNDEFINED]
        met = [one for one in defined if one["verdict"] != MISSED]
        clear = sum(bool(one["told_apart"]) for one in met)
        counts.append(f"{words} met on {len(met)} of {len(defined)} tasks, on {clear} of these told apart")
    return [*grid(head, rows), "; ".join(counts) + ".", ""]


def _shortfalls(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for task in tasks:
        for one in task["verdicts"]:
            if one["verdict"] == MISSED:
                lines.append(
                    f"- {task['task']}: {TARGET_WORDS[one['target']]} {share(one['ours'])} against "
                    f"{share(one['border'])} ({one['beside']}){'' if one['told_apart'] else ', not told apart'}"
                )
        if task["not_fitted"]:
            lines.append(f"- {task['task']}: nothing can be calibrated: {task['not_fitted']}")
        lines += _silent(task)
    return [*(lines or ["- nowhere"]), ""]


def _silent(task: Mapping[str, Any]) -> list[str]:
    """Returns where novelty does not tell new from known: its AUROC is not told apart from that of chance."""
    if task["not_fitted"]:
        return []
    found = []
    for sample, told in task["novelty"].items():
        if told is None:
            continue
        one = told["against"]["auroc over chance"]
        if one is not None and one["low"] <= 0:
            found.append(
                f"- {task['task']}: novelty does not tell new from known ({sample}): AUROC "
                f"{share(told['by']['calibrated']['auroc'])}, no better than chance"
            )
    return found


def _target(tasks: Sequence[Mapping[str, Any]], target: str) -> list[str]:
    at = TARGETS.index(target)
    of = [(task["task"], task["verdicts"][at]) for task in tasks]
    published = any(one["published"] is not None for _, one in of)
    head = ["task", "ours", "held against", "which is", *(["published, other split"] if published else []), "verdict"]
    rows = [
        [
            name, share(one["ours"]), share(one["border"]), one["why"] or one["beside"],
            *([share(one["published"])] if published else []), verdict_words(one),
        ]
        for name, one in of
    ]  # fmt: skip
    return grid(head, rows)
