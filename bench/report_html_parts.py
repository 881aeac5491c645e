"""One part of a table on the page of a bench run: all arms under one rule in one slice, as tables and as curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..answers.pages.style import Html, details, element, escape, join
from .report_curves import WITHIN
from .report_panels import Panel, Scale, bound, curve_panels, reliability_panels
from .report_plots import novelty_plot
from .report_text import HEAD, NOVELTY_HEAD, figure_cells, novelty_cells, share

__all__ = ["LOWER_IS_BETTER", "figures_table", "part_section", "part_words"]

LOWER_IS_BETTER = ("AURC top-1", "AURC top-5")
_PLACES = Scale(1.0, float(WITHIN), tuple((float(k), str(k)) for k in (1, 5, 10, 50)), logarithmic=True)
_SHARE = bound([1.0])

Mapped = Mapping[str, Any]


def part_words(part: Mapped) -> str:
    """Returns what a part is of: its rule and its slice."""
    return f"rule {part['rule']}, {'slice ' + part['slice'] if part['slice'] else 'all questions'}"


def part_section(report: Mapped, part: Mapped, curves: Mapped, name: str, *, folded: bool) -> Html:
    """Returns all of one part, its table first.

    Args:
        report: see ``report.report_record``.
        part: one of its parts.
        curves: the same part of ``report_curves.curves_record``.
        name: begins the ids within.
        folded: the curves unfold when they are asked for.
    """
    arms: Mapping[str, Mapped] = part["arms"]
    if not arms:
        return element("p", "No arm was asked.")
    some = next(iter(arms.values()))
    words = f"{some['answerable']:,} answerable of {some['questions']:,} questions, in {some['clusters']:,} clusters."
    drawn = [
        _within(report, curves, f"{name}w"),
        _risk(report, arms, curves, f"{name}c"),
        _reliability(report, part, curves, f"{name}r"),
        *_novelty(report, arms),
    ]
    shown = [details("Curves of this part", *drawn)] if folded else drawn
    return join([element("p", words), figures_table(report, part, name), *_ties(report, part), *shown])


def figures_table(report: Mapped, part: Mapped, name: str) -> Html:
    """Returns the figures of all arms, in the order of the suite; the best of each column is underlined."""
    rows = [(arm, figure_cells(found)) for arm, found in part["arms"].items()]
    caption = "All arms, in the order of the suite. The best of each column is underlined, whoever has it."
    return _arms_table(report, HEAD, rows, caption, marked=HEAD, lower=LOWER_IS_BETTER, id=f"{name}-figures")


def _arms_table(
    report: Mapped, head: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], caption: str,
    *, marked: Sequence[str] = (), lower: Sequence[str] = (), id: str | None = None,
) -> Html:  # fmt: skip
    """Returns a table with a row for each arm; ours is marked, and the best of the columns in ``marked``."""
    best = [
        _best([cells[place] for _, cells in rows], min if name in lower else max) if name in marked else None
        for place, name in enumerate(head[1:])
    ]
    body = []
    for arm, cells in rows:
        shown = [
            element("td", element("span", cell, class_="best") if cell == top else cell, class_="n")
            for cell, top in zip(cells, best, strict=True)
        ]
        ours = "is-ours" if arm == report["ours"] else None
        body.append(element("tr", element("th", arm, scope="row"), *shown, class_=ours))
    top_row = [element("th", name, scope="col", class_="n" if place else None) for place, name in enumerate(head)]
    inner = [element("caption", caption), element("thead", element("tr", *top_row)), element("tbody", *body)]
    drawn = element("table", *inner, class_="figures", id=id)
    return element("div", drawn, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _best(cells: Sequence[str], better: Callable[[Iterator[float]], float]) -> str | None:
    """Returns the best cell of a column as it is printed; None where all are the same or there is none."""
    told = [cell for cell in cells if cell != share(None)]
    if len(set(told)) < 2:
        return None
    best = better(float(cell) for cell in told)
    return next(cell for cell in told if float(cell) == best)


def _ties(report: Mapped, part: Mapped) -> list[Html]:
    """Returns what ties do to the figures, and where equal scores go on beyond the last place."""
    head = ("arm", "top-1, ties last", "top-1, ties first", "top-10, ties last", "top-10, ties first", "cut")
    rows = [
        (
            arm,
            [
                *(share(found["ties"][ties][m]) for m in ("top1", "top10") for ties in ("pessimistic", "optimistic")),
                f"{found['cut']:,}",
            ],
        )
        for arm, found in part["arms"].items()
    ]
    words = (
        f"Equal scores put last or first instead of in the mean; cut: questions whose equal scores go on beyond place "
        f"{report['places']}."
    )
    return [details("Ties and cuts", _arms_table(report, head, rows, words))]


def _within(report: Mapped, curves: Mapped, name: str) -> Html:
    arms: Mapping[str, Mapped] = curves["arms"]
    told = {arm: found["within"] for arm, found in arms.items() if found["within"][0] is not None}
    if not told:
        return join([])
    panels = [
        Panel(
            arm,
            tuple((float(k), value) for k, value in enumerate(within, 1)),
            f"{share(within[0])} first, {share(within[-1])} in {WITHIN}",
            "; ".join(f"within {k}: {share(within[k - 1])}" for k in (1, 5, 10, 20, WITHIN)),
        )
        for arm, within in told.items()
    ]
    words = (
        f"Share of the answerable questions with a right item among the first 1 to {WITHIN} places (places by powers "
        "of ten), equal scores in random order."
    )
    up = bound([value for within in told.values() for value in within])
    return _figure("Places of the right answer", words, curve_panels(name, _PLACES, up, panels, report["ours"]))


def _risk(report: Mapped, figures: Mapping[str, Mapped], curves: Mapped, name: str) -> Html:
    arms: Mapping[str, Mapped] = curves["arms"]
    told = {arm: found for arm, found in arms.items() if found["answered"] is not None}
    if not told:
        return join([])
    silent = [arm for arm in arms if arm not in told]
    drawn = []
    for measure, text in (("top1", "top-1"), ("top5", "top-5")):
        panels = [
            Panel(
                arm,
                tuple(zip(found["answered"], found[f"risk_{measure}"], strict=True)),
                f"AURC {share(figures[arm][f'aurc_{measure}'])}",
                _risk_words(found["answered"], found[f"risk_{measure}"]),
            )
            for arm, found in told.items()
        ]
        up = bound([value for found in told.values() for value in found[f"risk_{measure}"]])
        multiples = curve_panels(f"{name}{measure}", _SHARE, up, panels, report["ours"])
        drawn += [element("h5", text), multiples]
    words = (
        "Across: the share of the answerable questions that is answered, most confident first, equal confidence at "
        "once. Up: the share of wrong ones among them. Lower is better, and a curve that rises to the right says that "
        "the confidence knows something; AURC is the area under it, over every question."
    )
    return _figure("Risk over coverage", words, *drawn, *_silent(silent))


def _risk_words(answered: Sequence[float], risk: Sequence[float]) -> str:
    at = [min(range(len(answered)), key=lambda i: abs(answered[i] - aim)) for aim in (0.1, 0.25, 0.5, 0.75, 1.0)]
    return "; ".join(f"answered {share(answered[i])}: wrong {share(risk[i])}" for i in dict.fromkeys(at))


def _silent(arms: Sequence[str]) -> list[Html]:
    if not arms:
        return []
    return [element("p", f"These arms state no confidence: {', '.join(arms)}.", class_="small soft")]


def _reliability(report: Mapped, part: Mapped, curves: Mapped, name: str) -> Html:
    arms: Mapping[str, Mapped] = curves["arms"]
    told = {arm: found["reliability"] for arm, found in arms.items() if found["reliability"] is not None}
    if not told:
        return element("p", "No arm states a confidence here, so there is no risk over coverage and no reliability.")
    panels = [
        Panel(
            arm,
            tuple(zip(found["stated"], found["right"], strict=True)),
            f"ECE {share(found['ece'])} of {found['questions']:,}",
            "; ".join(
                f"stated {share(s)}: right {share(r)} of {n}"
                for s, r, n in zip(found["stated"], found["right"], found["counts"], strict=True)
            ),
        )
        for arm, found in told.items()
    ]
    novel = (
        "Of all questions with a stated confidence; an answer to one that has none is wrong."
        if part["rule"] == "strict"
        else "Of the answerable questions with a stated confidence."
    )
    words = (
        "Across: the confidence in the first hit. Up: the share of first hits that are right, a dot for each bin, its "
        f"area by its questions; on the dashed line the confidence is true, below it too high. {novel} A score over "
        "the score of the query itself is a confidence too, and its ECE says how far it is from a probability."
    )
    drawn = reliability_panels(name, panels, [found["counts"] for found in told.values()], report["ours"])
    return _figure("Reliability", words, drawn, *_silent([a for a in arms if a not in told]), _bins(report, told))


def _bins(report: Mapped, told: Mapping[str, Mapped]) -> Html:
    """Returns the bins of all arms: the share that is right, and of how many."""
    highest = {low: high for found in told.values() for low, high in zip(found["low"], found["high"], strict=True)}
    rows = []
    for arm, found in told.items():
        at = {low: place for place, low in enumerate(found["low"])}
        cells = [
            f"{share(found['right'][at[low]])} ({found['counts'][at[low]]:,})" if low in at else ""
            for low in sorted(highest)
        ]
        rows.append((arm, [share(found["ece"]), share(found["ece_by_chance"]), *cells]))
    head = ("arm", "ECE", "by chance", *(f"to {highest[low]:g}" for low in sorted(highest)))
    words = (
        "By bins of the stated confidence, the share that is right and of how many questions. By chance: the ECE that "
        "these bins would show if every confidence was true."
    )
    return details("Bins and counts", _arms_table(report, head, rows, words))


def _novelty(report: Mapped, arms: Mapping[str, Mapped]) -> list[Html]:
    told = {arm: found for arm, found in arms.items() if found["novelty"] or found["grounding_auroc"] is not None}
    if not told:
        return []
    rows = [(arm, novelty_cells(found)) for arm, found in told.items()]
    counted = next((found["novelty"] for found in told.values() if found["novelty"]), None)
    of = f"{counted['novel']:,} questions have no right item in the index. " if counted else ""
    words = (
        f"{of}A novelty that does not lift F1 above calling everything novel tells nothing; the threshold is chosen on "
        "one half of the questions and judged on the other."
    )
    inner = [
        _arms_table(
            report, NOVELTY_HEAD, rows, "How what cannot be answered is told from what can.", marked=NOVELTY_HEAD
        )
    ]
    judged = {arm: found["novelty"] for arm, found in told.items() if (found["novelty"] or {}).get("f1") is not None}
    if judged:
        inner.append(novelty_plot("F1 of novelty (of calling everything novel)", judged, report["ours"]))
    silent = [arm for arm, found in arms.items() if not found["novelty"]]
    if silent:
        text = f"These arms state no novelty, which is not a novelty of 0: {', '.join(silent)}."
        inner.append(element("p", text, class_="small soft"))
    return [_figure("Novelty", words, *inner)]


def _figure(heading: str, words: str, *inner: Html) -> Html:
    return element("section", element("h4", heading), element("p", escape(words), class_="small soft"), *inner)
