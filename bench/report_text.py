"""A report as Markdown: what a terminal shows and what RESULTS.md holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .suites import suite_names

__all__ = [
    "COMPARISON_HEAD",
    "HEAD",
    "INTERVAL_AND_P",
    "MEASURE_WORDS",
    "NOVELTY_HEAD",
    "command",
    "comparison_cells",
    "figure_cells",
    "grid",
    "novelty_cells",
    "report_text",
    "share",
    "signed",
]

HEAD = (
    "arm",
    "top-1",
    "top-5",
    "top-10",
    "MRR",
    "per-cluster top-1",
    "per-cluster top-10",
    "AURC top-1",
    "AURC top-5",
)
NOVELTY_HEAD = (
    "arm",
    "AUROC of the first score",
    "novelty AUROC",
    "AUPR",
    "F1 at a threshold from the other half",
    "F1 of calling all novel",
)
_NOVELTY = ("auroc", "aupr", "f1", "f1_everything_novel")
COMPARISON_HEAD = (
    "control",
    "measure",
    "ours",
    "theirs",
    "difference",
    "interval",
    "p (Holm)",
    "Cliff's delta",
    "win/tie/loss",
)
MEASURE_WORDS = {
    "top1": "top-1", "top5": "top-5", "top10": "top-10", "mrr": "MRR", "macro_top1": "per-cluster top-1",
    "macro_top5": "per-cluster top-5", "macro_top10": "per-cluster top-10", "macro_mrr": "per-cluster MRR",
}  # fmt: skip

INTERVAL_AND_P = (
    "An interval holds for all comparisons of a family at once (Bonferroni) and says how large a difference may be; p "
    "is corrected step by step (Holm), which is less strict, and tells arms apart: where p is just below the level, "
    "the interval may still hold 0."
)
"""Why both are shown, and may seem to disagree."""


def report_text(report: Mapping[str, Any]) -> str:
    """Returns all tables of a report."""
    lines = [f"## {report['suite']}{' (quick)' if report['quick'] else ''}", "", report["words"], ""]
    for task, reason in report["skipped"].items():
        lines += [f"Not run: {task}: {reason}", ""]
    if any(table["families"] for table in report["tables"]):
        lines += [INTERVAL_AND_P, ""]
    for table in report["tables"]:
        lines += _table(report, table)
    return "\n".join(lines)


def command(report: Mapping[str, Any], task: str = "") -> str:
    """Returns the command that makes a report, or one of its tables; nothing for a suite that was made in Python."""
    if report["suite"] not in suite_names():
        return ""
    quick = " --quick" if report["quick"] else ""
    return f"sma-gpu bench run {report['suite']}{quick}{' --task ' + task if task else ''}"


def _table(report: Mapping[str, Any], table: Mapping[str, Any]) -> list[str]:
    lines = [f"### {table['task']}", "", table["words"], ""]
    made_by = command(report, table["task"])
    lines += [f"    {made_by}", ""] if made_by else []
    counts = "; ".join(f"{count:,} {words}" for words, count in table["counts"].items())
    seeds = ", ".join(map(str, table["seeds"]))
    lines += [f"{table['items']:,} items; seeds {seeds}{'; ' + counts if counts else ''}.", ""]
    for rule in table["rules_missing"]:
        lines += [f"The rule `{rule}` is not shown: what it rests on is not here.", ""]
    for part in table["parts"]:
        lines += _part(report, part)
    for name, told in table["arm_counts"].items():
        lines += [f"{name}: {'; '.join(f'{count:,} {words}' for words, count in told.items())}.", ""]
    for name, reason in table["unavailable"].items():
        lines += [f"unavailable: {name}: {reason}", ""]
    for family in table["families"]:
        lines += _family(report, family)
    return lines


def _part(report: Mapping[str, Any], part: Mapping[str, Any]) -> list[str]:
    arms: Mapping[str, Mapping[str, Any]] = part["arms"]
    if not arms:
        return []
    some = next(iter(arms.values()))
    where = f", slice `{part['slice']}`" if part["slice"] else ""
    sizes = f"{some['answerable']:,} answerable questions in {some['clusters']:,} clusters"
    lines = [f"Rule `{part['rule']}`{where}: {sizes}.", ""]
    cells = [[_name(report, name), *figure_cells(found)] for name, found in arms.items()]
    lines += grid(HEAD, cells)
    spread = [
        f"{_name(report, name)} top-1 {share(found['ties']['pessimistic']['top1'])} to "
        f"{share(found['ties']['optimistic']['top1'])}, top-10 {share(found['ties']['pessimistic']['top10'])} to "
        f"{share(found['ties']['optimistic']['top10'])}"
        for name, found in arms.items()
        if any(
            share(found["ties"]["pessimistic"][m]) != share(found["ties"]["optimistic"][m]) for m in ("top1", "top10")
        )
    ]
    if spread:
        lines += ["Ties, put last or first instead of in the mean: " + "; ".join(spread) + ".", ""]
    cut = [f"{_name(report, name)} {found['cut']:,}" for name, found in arms.items() if found["cut"]]
    if cut:
        lines += [f"Equal scores go on beyond place {report['places']}: " + "; ".join(cut) + " questions.", ""]
    told = {name: found for name, found in arms.items() if found["novelty"] or found["grounding_auroc"] is not None}
    if told:
        rows = [[_name(report, name), *novelty_cells(found)] for name, found in told.items()]
        lines += grid(NOVELTY_HEAD, rows)
    return lines


def _family(report: Mapping[str, Any], family: Mapping[str, Any]) -> list[str]:
    where = f", slice `{family['slice']}`" if family["slice"] else ""
    best = "; ".join(f"{MEASURE_WORDS[m]}: {arm}" for m, arm in family["strongest"].items())
    lines = [
        f"`{report['ours']}` against each control, rule `{family['rule']}`{where}. Strongest control by {best}.",
        "",
    ]
    rows = [
        [
            ("**" + c["other"] + "**") if family["strongest"][c["measure"]] == c["other"] else c["other"],
            *comparison_cells(c),
        ]
        for c in family["comparisons"]
    ]
    return lines + grid(COMPARISON_HEAD, rows)


def figure_cells(found: Mapping[str, Any]) -> list[str]:
    """Returns the cells of an arm's figures, under ``HEAD`` behind the arm."""
    names = ("top1", "top5", "top10", "mrr", "macro_top1", "macro_top10", "aurc_top1", "aurc_top5")
    return [share(found[name]) for name in names]


def novelty_cells(found: Mapping[str, Any]) -> list[str]:
    """Returns the cells of how an arm tells what it cannot answer, under ``NOVELTY_HEAD`` behind the arm."""
    novelty = found["novelty"] or {}
    return [share(found["grounding_auroc"]), *(share(novelty.get(f)) for f in _NOVELTY)]


def comparison_cells(one: Mapping[str, Any]) -> list[str]:
    """Returns the cells of one comparison, under ``COMPARISON_HEAD`` behind the control."""
    return [
        MEASURE_WORDS[one["measure"]],
        share(one["ours"]),
        share(one["theirs"]),
        signed(one["ours"], one["theirs"]),
        f"{one['low']:+.3f} to {one['high']:+.3f}",
        _p(one["corrected_p"]),
        f"{one['delta']:+.3f}",
        f"{one['wins']}/{one['ties']}/{one['losses']}",
    ]


def _name(report: Mapping[str, Any], name: str) -> str:
    return f"**{name}**" if name == report["ours"] else name


def share(value: float | None) -> str:
    """Returns a figure with three digits, or a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"


def signed(ours: float, theirs: float) -> str:
    """Returns the difference of two figures as they are printed."""
    # Of what is printed beside it, so that a reader's subtraction comes out.
    return f"{round(ours, 3) - round(theirs, 3):+.3f}"


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the lines of a table, a blank one behind it."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (head, *rows)
    ]
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return [lines[0], rule, *lines[1:], ""]
