"""An evaluation as text for a terminal, and as a table with a row for each case."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .aligned import aligned
from .evaluation import DEPTHS

__all__ = ["TABLE_COLUMNS", "evaluation_table", "evaluation_text", "tuning_text"]

TABLE_COLUMNS = (
    "id", "gold", "status", "rank", "optimistic", "mean", "pessimistic", "rank_merged", "seen", "group", "best",
    "best_name", "notes",
)  # fmt: skip

_WORST = 10  # cases shown whose truth stands lowest; the rest stands in --json and -f tsv
_NAME_WIDTH = 40
_MEASURES = (*(f"top{depth}" for depth in DEPTHS), "mrr")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def evaluation_text(found: Mapping[str, Any]) -> str:
    """Returns the figures, the cases whose truth stands lowest, and what must be known to read them."""
    counts, records, dials, entity = found["counts"], found["records"], found["dials"], found["records"]["entity"]
    lines = [
        f"{counts['evaluated']} solved cases of {found['slices'][0]['entities']} {entity}s against "
        f"{records['cases']} {entity}s; {dials['scorer']}, {dials['credit']} credit, {dials['normalisation']}; "
        f"backend {found['backend']}",
        *_count_lines(counts, entity),
    ]
    if counts["evaluated"]:
        lines += [
            "",
            *_figure_lines(found["slices"], entity),
            "",
            f"Intervals: {found['bootstrap']['level']:.0%}, whole {entity}s drawn {found['bootstrap']['draws']} times.",
            "Equal scores: the mean over their orders; in brackets the worst order and the best.",
        ]
    lines += _confidence_lines(found["confidence"])
    worst = _worst_lines(found["cases"], entity)
    if worst:
        lines += ["", f"{entity}s that should have stood higher, lowest first", *worst]
    lines += ["", *(f"Note: {note}" for note in found["notes"])]
    return "\n".join(lines).rstrip() + "\n"


def tuning_text(found: Mapping[str, Any]) -> str:
    """Returns which dials were chosen by solved cases, all that were tried, and what the choice is worth."""
    metric, gain = found["metric"], found["gain"]
    rows = [
        [_dials(one["dials"]), f"{one['mean']:.3f}", *(f"{value:.3f}" for value in one["by_fold"])]
        for one in found["candidates"]
    ]
    head = ["dials", metric, *(f"fold {number}" for number in range(1, found["folds"] + 1))]
    lines = [
        f"Dials tried on {found['cases']} cases; those at hand come first",
        *aligned(head, rows, right=set(range(1, len(head)))),
        "",
        f"chosen: {_dials(found['dials'])}",
        f"what choosing so is worth: {metric} {found['held_out']:.3f} on held-out folds, against "
        f"{found['held_out_before']:.3f} of the dials at hand: {gain['value']:+.3f} ({gain['low']:+.3f} to "
        f"{gain['high']:+.3f})",
    ]
    return "\n".join([*lines, "", *(f"Note: {note}" for note in found["notes"])]).rstrip() + "\n"


def _dials(dials: Mapping[str, Any]) -> str:
    told = f"{dials['scorer']}, {dials['credit']}, {dials['normalisation']}, rho {dials['rho']:g}"
    return f"{told}, gamma {dials['gamma']:g}, delta {dials['delta']}"


def evaluation_table(found: Mapping[str, Any]) -> str:
    """Returns the cases as tab-separated text, under lines ``# NAME: JSON`` with what they rest on."""
    head = [
        f"# {name}: {json.dumps(found[name], ensure_ascii=False)}"
        for name in (
            "schema",
            "dials",
            "dials_fingerprint",
            "index_fingerprint",
            "ontology",
            "records",
            "input",
            "counts",
        )
    ]
    rows = [_cells(case) for case in found["cases"]]
    rows += [
        {"id": one["id"] or one["where"], "status": one["kind"], "notes": one["why"]} for one in found["not_evaluated"]
    ]
    lines = ["\t".join(str(row.get(name, "")).translate(_ESCAPES) for name in TABLE_COLUMNS) for row in rows]
    return "\n".join([*head, "\t".join(TABLE_COLUMNS), *lines]) + "\n"


def _cells(case: Mapping[str, Any]) -> dict[str, Any]:
    strict, merged, best = case["strict"] or {}, case["merged"] or {}, case["best"] or {}
    return {
        "id": case["id"],
        "gold": ";".join(gold["key"] for gold in case["gold"]),
        "status": "ranked" if strict else "abstained" if case["reason"] else "not a hit",
        **{name: strict.get(name, "") for name in ("rank", "optimistic", "mean", "pessimistic")},
        "rank_merged": merged.get("rank", ""),
        "seen": "true" if case["seen"] else "false",
        "group": case["group"],
        "best": best.get("key", ""),
        "best_name": best.get("name", ""),
        "notes": "; ".join([*([case["reason"]] if case["reason"] else []), *case["notes"]]),
    }


def _count_lines(counts: Mapping[str, Any], entity: str) -> list[str]:
    lines = []
    if counts["without_answer"]:
        lines.append(f"{counts['without_answer']} of them have no answer, and count as missed")
    missed = counts["truth_no_hit"] - counts["without_answer"]
    if missed > 0:
        lines.append(f"of {missed} the right {entity} shares nothing informative with the query, and counts as missed")
    if counts["new"]:
        lines.append(f"{counts['new']} more are known to be new: there is no rank to measure")
    if counts["not_evaluated"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts["not_evaluated"].items())
        lines.append(f"{sum(counts['not_evaluated'].values())} records not evaluated: {kinds}")
    return lines


def _figure_lines(slices: Sequence[Mapping[str, Any]], entity: str) -> list[str]:
    head = ["", "cases", f"{entity}s", "hits", *(name.replace("top", "top ") for name in _MEASURES), "median rank"]
    rows = [
        [
            part["name"] if rule == "strict" else "",
            str(part["cases"]) if rule == "strict" else "",
            str(part["entities"]) if rule == "strict" else "",
            rule,
            *(_figure(part[rule], measure) for measure in _MEASURES),
            "-" if part[rule]["median_rank"] is None else f"{part[rule]['median_rank']:g}",
        ]
        for part in slices
        for rule in ("strict", "merged")
        if part[rule] is not None
    ]
    lines = aligned(head, rows, right={1, 2, *range(4, 5 + len(_MEASURES))})
    lines += ["", f"each with its interval, and as a mean over {entity}s"]
    spread = [
        [part["name"] if rule == "strict" else "", rule, *(_interval(part[rule]["mean"][m]) for m in _MEASURES)]
        for part in slices
        for rule in ("strict", "merged")
        if part[rule] is not None
    ]
    return [*lines, *aligned(["", "hits", *head[4:-1]], spread, right=set(range(2, 2 + len(_MEASURES))))]


def _figure(figures: Mapping[str, Any], measure: str) -> str:
    best, mean, worst = (figures[ties][measure]["value"] for ties in ("optimistic", "mean", "pessimistic"))
    return f"{mean:.3f}" if best == worst else f"{mean:.3f} [{worst:.3f} {best:.3f}]"


def _interval(figure: Mapping[str, Any]) -> str:
    ends = "no interval" if figure["low"] is None else f"{figure['low']:.3f} to {figure['high']:.3f}"
    return f"{ends}; {figure['mean_over_entities']:.3f}"


def _confidence_lines(found: Mapping[str, Any] | None) -> list[str]:
    """Returns how well a calibration held; nothing without one."""
    if found is None:
        return []
    names = {"ece": "ECE", "ece_by_chance": "by chance", "brier": "Brier", "log_loss": "log loss", "aurc": "AURC"}
    told = ", ".join(f"{words} {found['figures'][name]:.3f}" for name, words in names.items())
    lines = ["", f"Confidence of the first hits, by {found['calibration']['queries']} solved cases: {told}"]
    if found["answered"] is not None:
        given, wrong = found["answered"]["coverage"], found["answered"]["risk"]
        lines.append(
            f"of {given['whole']} queries {given['part']} are answered, {wrong['part']} of them wrongly; the rule "
            f"{found['threshold']['words']}"
        )
    return lines


def _worst_lines(cases: Sequence[Mapping[str, Any]], entity: str) -> list[str]:
    """Returns the cases whose truth stands lowest, those without a rank first."""
    missed = [case for case in cases if case["strict"] is None or case["strict"]["rank"] > DEPTHS[-1]]
    missed.sort(key=lambda case: (case["strict"] is not None, -(case["strict"] or {}).get("rank", 0), case["id"]))
    if not missed:
        return []
    rows = [
        [
            case["id"],
            "-" if case["strict"] is None else str(case["strict"]["rank"]),
            _named(case["gold"][0]) if len(case["gold"]) == 1 else f"any of {len(case['gold'])}",
            "-" if case["best"] is None else _named(case["best"]),
        ]
        for case in missed[:_WORST]
    ]
    lines = aligned(["case", "rank", f"right {entity}", "first hit"], rows, right={1})
    more = len(missed) - len(rows)
    return [*lines, *([f"  and {more} more below place {DEPTHS[-1]}; --json and -f tsv have all"] if more else [])]


def _named(entity: Mapping[str, Any]) -> str:
    text = f"{entity['key']} {entity['name']}".strip()
    return text if len(text) <= _NAME_WIDTH else text[: _NAME_WIDTH - 3] + "..."
