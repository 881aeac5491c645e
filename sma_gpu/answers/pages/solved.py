"""Pages on solved cases: where the truth stands in each, and how well a calibration held on cases not seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...trust.calibration import Calibration
from ...trust.reliability import ReliabilityBin, equal_width_bins
from ..calibration_text import FIGURES, PARTS, threshold_rows
from ..evaluation import DEPTHS
from ..words import Speech, count, dial_words, release
from .case import remarks
from .cohort_table import COHORT_SCRIPT
from .shapes import circle, drawing, label, line
from .style import Html, Page, bar, element, facts, join, page, section, share, table

__all__ = ["calibration_page", "evaluation_page"]

_PLACES = (1, 2, 3, 5, 10, 20, 50, 100)
"""Last ranks of the rows in which ranks are counted."""

_TIES = {"mean": "mean", "optimistic": "best order", "pessimistic": "worst order"}
_RULES = {"strict": "the right {entity} itself", "merged": "the right {entity}, or one that stands for the same"}
_SIDE, _LEFT, _FOOT, _EDGE = 260.0, 34.0, 36.0, 9.0  # of the diagram, px
_LEAST_DOT, _DOT = 2.0, 9.0  # radius of a dot for no case, and what all cases add


def evaluation_page(found: Mapping[str, Any], further: Iterable[str] = ()) -> Page:
    """Returns the page of an evaluation: figures, the distribution of ranks, and a row for each case.

    Args:
        found: the evaluation, schema ``sma-gpu/evaluation/1``.
        further: what was made of the same cases besides, as text for a terminal.
    """
    counts, entity = found["counts"], found["records"]["entity"]
    speech = Speech({}, entity)
    title = f"Evaluation on {count(counts['evaluated'], 'solved case')}"
    ontology, records = found["ontology"], found["records"]
    lead = f"Ranked among {count(records['cases'], entity)}"
    lead += f" of {records['version']}" if records["version"] else ""
    lead += f"; {release(ontology['name'], ontology['version'])}."
    parts = [element("header", element("h1", title), element("p", lead, class_="lead"))]
    parts.append(section("In short", *_short(found), class_="card"))
    if counts["evaluated"]:
        parts.append(section("Where the truth stands", _ranks(found["cases"])))
        parts.append(section("Figures", *_figures(found, entity)))
        parts.append(section("All cases", _cases(found["cases"], speech)))
    rows = [[one["id"] or one["where"], one["kind"], one["why"]] for one in found["not_evaluated"]]
    if rows:
        parts.append(section("Not evaluated", table(["case", "kind", "why"], rows)))
    parts += [section("Besides", element("pre", text)) for text in further]
    dials = [element("li", element("strong", name), f": {words}") for name, words in dial_words(found["dials"], entity)]
    sums = [(name, found[name]["sha256"]) for name in ("ontology", "records", "input")]
    sums += [(name.replace("_", " "), found[name]) for name in ("index_fingerprint", "dials_fingerprint")]
    told = facts([(name, element("span", value, class_="id sum")) for name, value in sums], class_="facts wide made")
    parts.append(section("How this was made", element("ul", *dials), told))
    return page(title, *parts, script=COHORT_SCRIPT if counts["evaluated"] else "")


def calibration_page(calibration: Calibration, entity: str, left_out: Mapping[str, int]) -> Page:
    """Returns the page of a calibration: its figures on held-out cases, the reliability diagram, when to abstain.

    Args:
        calibration: the calibration.
        entity: what a record describes.
        left_out: how many solved cases took no part, by reason.
    """
    title = f"Calibration by {count(calibration.queries, 'solved case')}"
    lead = (
        f"{calibration.method.capitalize()}, judged on {calibration.folds} held-out folds of "
        f"{count(calibration.groups, 'group')} of cases that belong together."
    )
    first = calibration.held_out.first
    bins = equal_width_bins(first.predicted, first.true)
    parts = [element("header", element("h1", title), element("p", lead, class_="lead"))]
    parts.append(section("In short", *_held(calibration), class_="card"))
    words = (
        f"Of the cases whose first {entity} has about this confidence, how many were right. On the diagonal confidence "
        "is true, below it too high; a dot is the larger the more cases it stands for, and its line is the interval of "
        "95 %."
    )
    parts.append(section("Is confidence true?", element("p", words), reliability_diagram(bins), _bins(bins)))
    parts.append(section("When to abstain", _rules(calibration)))
    parts.append(remarks(f"{number:,} cases took no part: {why}" for why, number in left_out.items() if number))
    rests_on = [("calibration", calibration.fingerprint), ("index", calibration.rests_on.index)]
    rests_on.append(("solved cases", calibration.rests_on.split))
    told = [(name, element("span", value, class_="id sum")) for name, value in rests_on]
    parts.append(section("What it rests on", facts(told, class_="facts wide made")))
    return page(title, *parts)


def _short(found: Mapping[str, Any]) -> list[Html]:
    counts = found["counts"]
    if not counts["evaluated"]:
        return [element("p", "No case could be ranked.", class_="said"), remarks(found["notes"])]
    first = found["slices"][0]["strict"]["mean"]
    figures: list[tuple[str, str]] = [
        (f"right one in the first {d}" if d > 1 else "right one first", bar(first[f"top{d}"]["value"])) for d in DEPTHS
    ]
    figures.append(("mean reciprocal rank", f"{first['mrr']['value']:.3f}"))
    figures.append(("without an answer", f"{counts['without_answer']:,}"))
    figures.append(("right one is no hit", f"{counts['truth_no_hit'] - counts['without_answer']:,}"))
    parts = [facts(figures)]
    if found["confidence"] is not None:
        held, made = found["confidence"]["figures"], found["confidence"]["calibration"]
        told = ", ".join(f"{FIGURES[name]} {_number(held.get(name))}" for name in FIGURES if name not in ("n", "true"))
        words = (
            f"Confidence of {held['n']:,.0f} first hits, by a calibration of {made['queries']:,} solved cases: {told}."
        )
        parts.append(element("p", words))
    return [*parts, remarks(found["notes"])]


def _ranks(cases: Sequence[Mapping[str, Any]]) -> Html:
    """Returns how many cases have their truth at which rank, and how many at this one or above."""
    ranks = [case["strict"]["rank"] for case in cases if case["strict"] is not None]
    rows, before, reached = [], 0, 0
    for last in (*_PLACES, None):
        held = sum(before < rank and (last is None or rank <= last) for rank in ranks)
        reached += held
        name = f"below {before:,}" if last is None else f"{last:,}" if last == before + 1 else f"{before + 1} to {last}"
        rows.append([name, bar(held / len(cases), f"{held:,}"), share(reached / len(cases))])
        before = last or before
    rows.append(["no hit", bar(1 - len(ranks) / len(cases), f"{len(cases) - len(ranks):,}", kind="loose"), ""])
    caption = "Rank of the right one, in the order of the answer"
    return table(["rank", "cases", "up to here"], rows, caption=caption, numbers=[2])


def _figures(found: Mapping[str, Any], entity: str) -> list[Html]:
    names = {**{f"top{d}": f"in the first {d}" if d > 1 else "first" for d in DEPTHS}, "mrr": "reciprocal rank"}
    draws = found["bootstrap"]
    words = (
        f"Of equal scores the mean over their orders, the best and the worst. Intervals of {share(draws['level'])}, by "
        f"{draws['draws']:,} draws of whole {entity}s."
    )
    parts = [element("p", words)]
    for part in found["slices"]:
        for rule, told in _RULES.items():
            if part[rule] is None:
                continue
            rows = [[shown, *(_interval(part[rule][ties][name]) for ties in _TIES)] for name, shown in names.items()]
            caption = (
                f"{part['name'].capitalize()}: {part['cases']:,} cases of {count(part['entities'], entity)}; right is "
            )
            caption += told.format(entity=entity)
            parts.append(
                table(["right one", *_TIES.values()], rows, caption=caption, numbers=[1, 2, 3], class_="named")
            )
    return parts


def _interval(figure: Mapping[str, Any]) -> str:
    if figure["low"] is None or figure["high"] is None:
        return _number(figure["value"])
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"


def _cases(cases: Sequence[Mapping[str, Any]], speech: Speech) -> Html:
    rows = []
    for case in cases:
        rank = None if case["strict"] is None else case["strict"]["rank"]
        right = join([speech.record(gold) for gold in case["gold"]], "; ")
        best = speech.record(case["best"]) if case["best"] else Html("")
        said = "; ".join([*([case["reason"]] if case["reason"] else []), *case["notes"]])
        cells = [element("th", element("bdi", case["id"]), scope="row"), element("td", right)]
        cells.append(element("td", "" if rank is None else f"{rank:,}", class_="n", data_v=rank or ""))
        remark = element("span", said, class_="small")
        rows.append(element("tr", *cells, element("td", join([best, Html(" "), remark] if said else [best]))))
    names = (("case", None), ("right", None), ("rank", "n"), ("first hit", None))
    head = element("thead", element("tr", *(element("th", name, scope="col", class_=kind) for name, kind in names)))
    shown = element("table", element("caption", "In the order in which they came"), head, element("tbody", *rows),
                    id="cases", class_="cohort")  # fmt: skip
    return element("div", shown, class_="scroll", tabindex=0, role="region", aria_label="All cases")


def _held(calibration: Calibration) -> list[Html]:
    figures = calibration.held_out.figures()
    rows = [
        [words, *(_number(figures[part].get(name), whole=name == "n") for name in FIGURES)]
        for part, words in PARTS.items()
        if part in figures
    ]
    numbers = range(1, len(FIGURES) + 1)
    shown = table(["", *FIGURES.values()], rows, caption="On held-out cases", numbers=numbers, class_="named")
    words = f"The explained share alone would give AUROC {_number(figures['first'].get('explained_auroc'))}."
    if calibration.novelty_threshold is not None:
        words += f" A query is called new from {calibration.novelty_threshold:.3f} on."
    return [shown, element("p", words)]


def _number(value: float | None, *, whole: bool = False) -> str:
    if value is None or math.isnan(value):
        return "-"
    return f"{value:,.0f}" if whole else f"{value:.3f}"


def reliability_diagram(bins: Sequence[ReliabilityBin]) -> Html:
    """Returns a drawing of what was right over what was said: a dot for each bin, with its interval."""
    wide, high = _LEFT + _SIDE + _EDGE, _EDGE + _SIDE + _FOOT
    inner = [line(_across(0), _up(0), _across(1), _up(1), class_="axis dashed")]
    for tick in (0.0, 0.5, 1.0):
        inner.append(line(_across(tick), _up(0), _across(tick), _up(1), class_="grid"))
        inner.append(line(_across(0), _up(tick), _across(1), _up(tick), class_="grid"))
        inner.append(label(_across(tick), _up(0) + 14, share(tick), text_anchor="middle", class_="small"))
        inner.append(label(_LEFT - 4, _up(tick) + 4, f"{tick:g}", text_anchor="end", class_="small"))
    inner.append(label(_across(0.5), _up(0) + 30, "confidence; upwards: share that was right", text_anchor="middle",
                       class_="small"))  # fmt: skip
    cases = sum(one.right.whole for one in bins)
    for one in bins:
        low, top = one.right.interval
        tip = f"said {one.confidence:.3f}, right {one.right.part} of {one.right.whole}"
        inner.append(line(_across(one.confidence), _up(low), _across(one.confidence), _up(top), class_="series s1"))
        radius = _LEAST_DOT + _DOT * math.sqrt(one.right.whole / cases)
        inner.append(circle(_across(one.confidence), _up(one.right.value), radius, tip=tip, class_="f1"))
    return drawing(wide, high, "Reliability diagram", *inner)


def _across(value: float) -> float:
    return _LEFT + _SIDE * value


def _up(value: float) -> float:
    return _EDGE + _SIDE * (1 - value)


def _bins(bins: Sequence[ReliabilityBin]) -> Html:
    rows = [
        [f"{one.low:.1f} to {one.high:.1f}", f"{one.right.whole:,}", f"{one.confidence:.3f}", _share(one.right.value,
         one.right.interval)]
        for one in bins
    ]  # fmt: skip
    return table(["confidence", "cases", "said", "right"], rows, caption="The same in figures", numbers=[1, 2, 3])


def _rules(calibration: Calibration) -> Html:
    rows = threshold_rows(calibration, lambda share: _share(share.value, share.interval))
    caption = "What --abstain RULE would have done on held-out cases, with intervals of 95 %"
    return table(["rule", "answers from", "answered", "wrong of these"], rows, caption=caption, numbers=[1])


def _share(value: float, interval: tuple[float, float]) -> str:
    return f"{share(value)} ({share(interval[0])} to {share(interval[1])})"
