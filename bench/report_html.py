"""A run of the bench as one HTML page that holds all it needs: tables, curves, and every question on demand.

It is made of three records that derive from the rows alone: ``report``, ``report_curves`` and ``report_drill``; only
the times are of the machine that made the rows. A win, a loss and a null go through the same code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ..answers.pages.style import Html, details, element, facts, page, section, table
from .report_curves import curves_record
from .report_drill import MOST_BYTES, Gap, Gaps, drill_record, gaps
from .report_html_parts import part_section, part_words
from .report_plots import Difference, Timed, differences_plot, fastest_so_far, speed_plot, time_words
from .report_text import COMPARISON_HEAD, INTERVAL_AND_P, MEASURE_WORDS, command, comparison_cells, report_text, share
from .results_page import ABOVE, ALPHA, BELOW, NOT_TOLD, STANDINGS_HEAD, standings
from .running import Run

__all__ = ["bench_page", "report_in"]

Mapped = Mapping[str, Any]
_CLASSES = {ABOVE: "above", BELOW: "below", NOT_TOLD: "soft"}
_LEAST_S = 0.001  # CPU time is kept to the millisecond


def report_in(form: str, run: Run, report: Mapped) -> str:
    """Returns a report in the form ``html`` or as text."""
    return bench_page(run, report) if form == "html" else report_text(report)


def bench_page(run: Run, report: Mapped, most_bytes: int = MOST_BYTES) -> Html:
    """Returns the page of a run; the same rows give the same bytes.

    Args:
        run: with its rows.
        report: its ``report.report_record``.
        most_bytes: what its list of questions may take, see ``report_drill.drill_record``.
    """
    curves, questions = curves_record(run), drill_record(run, most_bytes)
    tables = [table for table in run.suite.tables if table.task in run.told]
    parts = [
        _table(report, told, of_curves, gaps(run, table), questions["tables"][place], place)
        for place, (table, told, of_curves) in enumerate(zip(tables, report["tables"], curves["tables"], strict=True))
    ]
    title = f"{report['suite']}{' (quick)' if report['quick'] else ''}"
    inner = [
        element("h1", title),
        element("p", report["words"], class_="lead"),
        *_skipped(report),
        _size(report),
        *_command(report),
        _contents(report),
        _glance(report),
        _reading(report),
        *parts,
        _data(questions),
    ]
    return page(f"sma_gpu bench: {title}", *inner, style=_asset("report_html.css"), script=_asset("report_html.js"))


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


def _data(questions: Mapped) -> Html:
    text = json.dumps(questions, separators=(",", ":"), ensure_ascii=False)
    # What could end the script, or begin a comment in it, is spelled out; JSON reads the same.
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Html(f'<script type="application/json" id="questions">{safe}</script>')


def _command(report: Mapped, task: str = "") -> list[Html]:
    made_by = command(report, task)
    return [element("p", element("code", made_by), class_="small")] if made_by else []


def _skipped(report: Mapped) -> list[Html]:
    if not report["skipped"]:
        return []
    lines = [element("li", element("b", task), f": {reason}") for task, reason in report["skipped"].items()]
    return [element("div", element("p", element("b", "Not run")), element("ul", *lines), class_="notice")]


def _size(report: Mapped) -> Html:
    asked = sorted({arm for told in report["tables"] for part in told["parts"] for arm in part["arms"]})
    absent = sorted({arm for told in report["tables"] for arm in told["unavailable"]} - set(asked))
    questions = sum(
        max((f["questions"] for f in told["parts"][0]["arms"].values()), default=0) if told["parts"] else 0
        for told in report["tables"]
    )
    return facts(
        [
            ("tables", f"{len(report['tables'])}"),
            ("questions", f"{questions:,}"),
            ("arms asked", f"{len(asked)}"),
            ("arms unavailable", f"{len(absent)}"),
            ("ours", report["ours"]),
            ("places looked at", f"{report['places']}"),
        ]
    )


def _contents(report: Mapped) -> Html:
    links = [
        element("li", element("a", told["task"], href=f"#t{place}")) for place, told in enumerate(report["tables"])
    ]
    return element("nav", element("ul", *links), class_="contents", aria_label="tables")


def _glance(report: Mapped) -> Html:
    rows = standings({**report, "quick": False})  # the heading of the page says so already
    if not rows:
        return section("Against the strongest control", element("p", "This run compares no arms."))
    outcomes = [row[-1] for row in rows]
    counts = "; ".join(f"{words}: {outcomes.count(words)}" for words in (ABOVE, NOT_TOLD, BELOW))
    shown = [[*row[:-1], element("span", row[-1], class_=_CLASSES[row[-1]])] for row in rows]
    plotted = [
        _difference(found, f"{told['task']}{_slice(family)} {MEASURE_WORDS[measure]}")
        for told in report["tables"]
        for family in told["families"]
        for measure in family["measures"]
        for found in family["comparisons"]
        if (found["other"], found["measure"]) == (family["strongest"][measure], measure)
    ]
    words = (
        "Strongest is the control with the highest mean on that very row, chosen after the fact and against us. "
        f"{counts}."
    )
    return section(
        "Against the strongest control",
        element("p", words),
        element("p", INTERVAL_AND_P, class_="small soft"),
        table(
            STANDINGS_HEAD,
            shown,
            caption="Each family of comparisons and each of its measures.",
            numbers=(3, 5, 6),
            class_="figures",
        ),
        details("The same as a drawing", differences_plot("ours less strongest", plotted, over=True)),
    )


def _slice(family: Mapped) -> str:
    told = [*([family["rule"]] if family["rule"] != "strict" else []), *([family["slice"]] if family["slice"] else [])]
    return f" ({', '.join(told)})" if told else ""


def _reading(report: Mapped) -> Html:
    terms = [
        ("top-k", "expected share of questions with a right item among the first k, equal scores in random order"),
        ("per cluster", "mean over right answers of each one's own mean"),
        ("AURC", "area under risk over coverage; lower is better"),
        ("interval", "whole right answers drawn anew 10,000 times; simultaneous over the comparisons of a family"),
        ("p", f"corrected for the whole family (Holm); told apart below {ALPHA:g}"),
        ("unavailable", "could not be run here; nothing stands in for it"),
    ]
    marks = (
        f"Ours, {report['ours']}, is blue and a circle; other arms are amber and a square. In curves the arm named "
        "above a drawing is the bold line, ours the dashed one, and all others are thin and grey."
    )
    return details("How to read this page", facts(terms, class_="terms"), element("p", marks))


def _table(
    report: Mapped, told: Mapped, curves: Mapped, far: Gaps | None, questions: Mapped,
    place: int,
) -> Html:  # fmt: skip
    counts = "; ".join(f"{count:,} {words}" for words, count in told["counts"].items())
    seeds = ", ".join(map(str, told["seeds"]))
    found = [
        element("p", told["words"]),
        element("p", f"{told['items']:,} items; seeds {seeds}{'; ' + counts if counts else ''}.", class_="small soft"),
        *_command(report, told["task"]),
    ]
    for rule in told["rules_missing"]:
        found.append(element("p", f"The rule {rule} is not shown: what it rests on is not here.", class_="notice"))
    found += _unavailable(told)
    for number, (part, of_curves) in enumerate(zip(told["parts"], curves["parts"], strict=True)):
        words = part_words(part)
        inner = part_section(report, part, of_curves, f"t{place}p{number}", folded=number > 0)
        found.append(section(words[0].upper() + words[1:], inner, level=3))
    found += _counted(told)
    found += [_family(report, family) for family in told["families"]]
    found += _speed(report, told, curves)
    found.append(_questions(report, far, questions, place))
    return section(told["task"], *found, id=f"t{place}")


def _unavailable(told: Mapped) -> list[Html]:
    if not told["unavailable"]:
        return []
    rows = list(told["unavailable"].items())
    lines = table(("arm", "why"), rows, caption="Arms that could not be run here.")
    return [details(f"{len(rows)} arms unavailable", lines)]


def _counted(told: Mapped) -> list[Html]:
    rows = [
        [arm, "; ".join(f"{count:,} {words}" for words, count in counts.items())]
        for arm, counts in told["arm_counts"].items()
    ]
    if not rows:
        return []
    return [details("What arms counted meanwhile", table(("arm", "counts"), rows, caption="Over all seeds."))]


def _difference(found: Mapped, name: str) -> Difference:
    told = found["corrected_p"] < ALPHA
    return Difference(name, found["difference"], found["low"], found["high"], told)


def _family(report: Mapped, family: Mapped) -> Html:
    best = "; ".join(f"{MEASURE_WORDS[m]}: {arm}" for m, arm in family["strongest"].items())
    drawn = []
    for measure in family["measures"]:
        rows = [c for c in family["comparisons"] if c["measure"] == measure]
        title = f"{report['ours']} less each control by {MEASURE_WORDS[measure]}"
        plot = differences_plot(title, [_difference(c, c["other"]) for c in rows])
        drawn.append(element("div", element("h4", MEASURE_WORDS[measure]), plot))
    body = []
    for one in family["comparisons"]:
        strongest = family["strongest"][one["measure"]] == one["other"]
        kind = BELOW if one["difference"] < 0 else ABOVE
        told = one["corrected_p"] < ALPHA
        name = element("span", one["other"], element("b", " strongest")) if strongest else one["other"]
        cells = comparison_cells(one)
        cells[3] = element("span", cells[3], class_=_CLASSES[kind] if told else "soft")
        body.append([name, *cells])
    where = f"rule {family['rule']}, {'slice ' + family['slice'] if family['slice'] else 'all questions'}"
    return section(
        f"Against each control: {where}",
        element("p", f"Strongest control by {best}."),
        element(
            "p",
            "Filled circle: ours is above; filled square: below; hollow: not told apart after the correction.",
            class_="small soft",
        ),
        element("div", *drawn, class_="two"),
        table(
            COMPARISON_HEAD, body, caption=f"{report['ours']} against each control, {where}.",
            numbers=(2, 3, 4, 5, 6, 7, 8), class_="figures",
        ),
        level=3,
    )  # fmt: skip


def _speed(report: Mapped, told: Mapped, curves: Mapped) -> list[Html]:
    if not told["parts"]:
        return []
    part = told["parts"][0]
    asked = [arm for arm in part["arms"] if arm in curves["spent"] and part["arms"][arm]["top1"] is not None]
    if not asked:
        return []
    arms = [
        Timed(
            arm,
            max(curves["spent"][arm]["cpu_s"], _LEAST_S) / curves["spent"][arm]["questions"],
            part["arms"][arm]["top1"],
        )
        for arm in asked
    ]
    front = set(fastest_so_far(arms))
    rows = [
        [
            f"{number + 1}", arm.name, time_words(arm.seconds), share(arm.accuracy),
            "yes" if number in front else "",
        ]
        for number, arm in enumerate(arms)
    ]  # fmt: skip
    words = (
        "CPU time of indexing and asking together, all threads, shared out over the questions, on the machine that "
        f"made these rows; across by powers of ten. Up: top-1, {part_words(part)}. The dashed line joins the arms that "
        "no other beats in both. What took less than a millisecond in all stands at one. "
        "Speed proper, with machines and batches, is measured by sma-gpu bench speed."
    )
    drawn = [
        speed_plot("top-1 over CPU time for each question", arms, report["ours"]),
        table(
            ("", "arm", "CPU", "top-1", "on the line"),
            rows,
            caption="The arms by their numbers in the drawing.",
            numbers=(2, 3),
            class_="figures",
        ),
    ]
    return [
        section(
            "Accuracy against speed", element("p", words, class_="small soft"), element("div", *drawn, class_="two"),
            level=3,
        )
    ]  # fmt: skip


def _questions(report: Mapped, far: Gaps | None, questions: Mapped, place: int) -> Html:
    found: list[Html] = []
    if far is not None:
        words = f"Where {report['ours']} and {far.other}, the strongest control, are furthest apart by reciprocal rank."
        found.append(element("p", words))
        sides = (("below", far.below, far.all_below), ("above", far.above, far.all_above))
        drawn = [_gaps_table(report, far.other, rows, side, count) for side, rows, count in sides]
        found.append(element("div", *drawn, class_="two"))
    held, of = len(questions["questions"]), questions["of"]
    if held < of:
        words = (
            f"The list holds {held:,} of {of:,} questions, chosen by a hash of their ids, so that the page stays "
            "within its size. All are in the rows."
        )
        found.append(element("p", words, class_="notice"))
    rows_words = (
        "The list is drawn by a script in this page. Without it every question stands in the rows of the run: "
        "one CSV for each arm, in the folder that this page was made of."
    )
    drill = element(
        "div", element("noscript", element("p", rows_words)), class_="drill", data_table=place,
        data_beside=far.other if far else None,
    )  # fmt: skip
    found.append(details(f"All questions, arm by arm ({held:,})", drill, class_="questions"))
    return section("Question by question", *found, level=3)


def _gaps_table(report: Mapped, other: str, rows: Sequence[Gap], side: str, count: int) -> Html:
    heading = element("h4", f"Ours {side} {other}: {len(rows):,} of {count:,}" if rows else f"Ours {side} {other}")
    if not rows:
        return element("div", heading, element("p", f"On no question is ours {side}.", class_="soft"))
    cells = [[gap.question, gap.ours, gap.theirs, f"{gap.difference:+.3f}"] for gap in rows]
    caption = f"Place of the right answer; difference of reciprocal ranks, ours {side}."
    head = ("question", report["ours"], other, "difference")
    return element("div", heading, table(head, cells, caption=caption, numbers=(1, 2, 3)))
