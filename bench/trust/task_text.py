"""One task of the evaluation of trust as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..report_text import grid, share

__all__ = ["task_lines"]

_MEASURES = {"top1": "first hit", "top5": "first five"}
_OWN = {"calibrated": "calibrated", "explained": "explained share", "raw": "raw score"}
_PARTS = {
    "stability": "reruns", "generalisations": "generalisations", "isotonic": "isotonic steps",
}  # fmt: skip
_NUMBERS = ("n", "true", "ece", "ece_by_chance", "ece_p", "brier", "log_loss", "auroc")
_NUMBERS_HEAD = ("", "questions", "right", "ECE", "by chance", "p", "Brier", "log loss", "AUROC")


def task_lines(found: Mapping[str, Any], task: Mapping[str, Any]) -> list[str]:
    """Returns the lines of one task: order, calibration, what each part adds, novelty, abstention.

    Args:
        found: the record.
        task: one of its tasks.
    """
    quick = " --quick" if found["quick"] else ""
    name = f"'{task['task']}'" if " " in task["task"] else task["task"]
    novel = f", {task['novel']} of them novel" if task["novel"] else ""
    lines = [
        f"## {task['task']}", "", f"    sma-gpu bench trust{quick} {name}", "",
        f"{task['questions']} questions{novel}, of {task['groups']} groups and {task['answers']} right answers; up to "
        f"{task['items']:,} items; seeds {', '.join(map(str, task['seeds']))}.", "",
    ]  # fmt: skip
    by_reason: dict[str, list[str]] = {}
    for arm, reason in task["unavailable"].items():
        by_reason.setdefault(reason, []).append(arm)
    lines += [f"Not asked: {', '.join(arms)}: {reason}." for reason, arms in by_reason.items()]
    lines += [""] if by_reason else []
    if task["not_fitted"]:
        return [*lines, f"Nothing can be calibrated: {task['not_fitted']}.", ""]
    return [
        *lines,
        *_order(found, task["order"]),
        *_calibration(task["calibration"]),
        *_parts(task),
        *_novelty(task["novelty"]),
        *_abstention(task),
    ]


def _order(found: Mapping[str, Any], order: Mapping[str, Any]) -> list[str]:
    if not order["questions"]:
        return []
    parts = order["measures"]
    head = ["ordered by", "top-1", "AURC", "E-AURC", "top-5", "AURC", "E-AURC"]
    rows = []
    for name, words in _OWN.items():
        cells = [
            cell
            for part in parts.values()
            for cell in (
                share(part["accuracy"]),
                share(part["ours"][name]["aurc"]),
                share(part["ours"][name]["excess"]),
            )
        ]
        rows.append([f"**{found['ours']}**, {words}", *cells])
    for arm in parts["top1"]["arms"]:
        told = [part["arms"][arm] for part in parts.values()]
        by = "/".join(dict.fromkeys(one["by"] for one in told))
        cells = [cell for one in told for cell in (share(one["accuracy"]), share(one["aurc"]), share(one["excess"]))]
        rows.append([f"{arm}, {by}", *cells])
    lines = [f"Of {order['questions']} answerable questions that every arm was asked:", "", *grid(head, rows)]
    for measure, words in _MEASURES.items():
        part = parts[measure]
        against = [
            f"{_named(name, part['best'])} {_interval(told)}"
            for name, told in part["against"].items()
            if told is not None
        ]
        lines += [f"Calibrated, {words}, less: {'; '.join(against)}.", ""]
    return lines


def _named(name: str, best: Mapping[str, Any]) -> str:
    if name in _OWN:
        return _OWN[name]
    words = {
        "rival": "the best rival",
        "arm": "the best other arm",
        "rival_by_excess": "in E-AURC, the best rival by that",
    }
    return f"{words[name]} ({best[name]})"


def _calibration(calibration: Mapping[str, Any]) -> list[str]:
    names = {"first": "first hit", "first_five": "first five", "by_answer": "first hit, folds by right answer"}
    rows = []
    for part, words in names.items():
        if (told := calibration[part]) is not None:
            rows.append([words, str(told["n"]), *(share(told[name]) for name in _NUMBERS[1:])])
    answerable = (calibration["by_answer"] or {}).get("aurc_answerable")
    last = [f"AURC with folds by right answer {share(answerable)}.", ""] if answerable is not None else []
    bins = [
        [f"{one['low']:.1f} to {one['high']:.1f}", str(one["questions"]), share(one["stated"]), share(one["right"])]
        for one in calibration["first"]["bins"]
    ]
    return [*grid(_NUMBERS_HEAD, rows), *last, *grid(["confidence", "questions", "stated", "right"], bins)]


def _parts(task: Mapping[str, Any]) -> list[str]:
    head = ["added", "ECE", "AURC", "Brier", "log loss", "what it adds"]
    rows = []
    for name, told in task["parts"].items():
        against = told["against_ours"]
        changes = [_interval(against[measure]) for measure in ("aurc", "brier", "log_loss")]
        rows.append([_PARTS[name], share(told["figures"]["ece"]), *changes, _adds(against)])
    lines = ["What each part changes, below zero being better:", "", *grid(head, rows)]
    if not task["generalised"]:
        lines += [f"Generalisations of {task['items']:,} items are left out of quick runs.", ""]
    return lines


def _adds(against: Mapping[str, Mapping[str, Any] | None]) -> str:
    words = {"aurc": "order", "brier": "Brier", "log_loss": "log loss"}
    told = {name: one for name, one in against.items() if one is not None}
    better = [words[name] for name, one in told.items() if one["high"] < 0]
    worse = [words[name] for name, one in told.items() if one["low"] > 0]
    parts = [f"better: {', '.join(better)}"] if better else []
    parts += [f"worse: {', '.join(worse)}"] if worse else []
    return "; ".join(parts) or "nothing told"


def _novelty(novelty: Mapping[str, Any]) -> list[str]:
    lines = []
    for sample, told in novelty.items():
        if told is None:
            continue
        rows = [[name, share(one["auroc"]), share(one["aupr"]), share(one["f1"])] for name, one in told["by"].items()]
        everything = told["everything_new"]
        rows.append(["everything new", share(0.5), share(everything["aupr"]), share(everything["f1"])])
        lines += [f"New against known, {sample}: {told['new']} new of {told['samples']}.", ""]
        lines += grid(["new by", "AUROC", "AUPR", "F1"], rows)
        against = [f"{name} {_interval(one)}" for name, one in told["against"].items() if one is not None]
        lines += [f"Calibrated: {'; '.join(against)}.", ""]
    return lines or ["New questions cannot be told from known ones: too few of one kind.", ""]


def _abstention(task: Mapping[str, Any]) -> list[str]:
    rows = [
        [rule, "none: " + told["none"], "", "", ""]
        if "none" in told
        else [rule, str(told["answered"]), *(_range(told[name]) for name in ("coverage", "risk", "risk_of_all"))]
        for rule, told in task["abstention"].items()
    ]
    lines = grid(["rule", "answered", "coverage", "wrong of answers", "wrong of all"], rows)
    splits = [
        [level, f"{one['mean_loss']:.3f} ± {one['standard_error']:.3f}", f"{one['splits_above']} of {one['splits']}",
         share(one["coverage"]), str(one["groups"])]
        for level, one in task["conformal"].items()
    ]  # fmt: skip
    return [*lines, *grid(["conformal level", "mean loss over splits", "splits above", "coverage", "groups"], splits)]


def _interval(one: Mapping[str, Any] | None) -> str:
    return "-" if one is None else f"{one['difference']:+.3f} ({one['low']:+.3f} to {one['high']:+.3f})"


def _range(one: Mapping[str, Any] | None) -> str:
    return "-" if one is None else f"{one['value']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
