"""A calibration as text for a terminal: how well it held on cases that it had not seen, and where to abstain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import CalibrationError
from ..trust.asking import FurtherSignals
from ..trust.calibration import Calibration
from ..trust.reliability import ReliabilityBin, equal_width_bins
from ..trust.shares import Share
from ..trust.thresholds import Threshold
from .aligned import aligned

__all__ = [
    "FIGURES", "NOVELTY_ODDS", "PARTS", "RULES", "calibration_text", "reliability_lines", "threshold_rows",
    "trust_lines",
]  # fmt: skip

RULES = ("youden", "risk=0.05", "risk=0.1", "risk=0.2", "conformal=0.05", "conformal=0.1", "conformal=0.2")
"""The rules that the text shows; any level can be asked for."""

NOVELTY_ODDS = "a chance at about even odds of new and known queries: where new ones are rarer it is too high"
"""What must be known to read a calibrated novelty: each solved case taught it twice, with its answer and without."""

_WIDTH = 40  # characters from confidence 0 to 1
_FEW = 200  # solved cases below which figures are rough
PARTS = {"first": "first hit right", "first_five": "right among the first 5", "novelty": "query is new"}
FIGURES = {
    "n": "cases", "true": "true", "ece": "ECE", "ece_by_chance": "by chance", "brier": "Brier", "log_loss": "log loss",
    "aurc": "AURC", "auroc": "AUROC",
}  # fmt: skip
"""Figures of each part of a held-out record, with their names in tables."""


def calibration_text(calibration: Calibration, entity: str, left_out: Mapping[str, int]) -> str:
    """Returns how well a calibration held, in words, figures and a diagram.

    Args:
        calibration: the calibration.
        entity: what a record describes.
        left_out: how many solved cases took no part, by reason.
    """
    held_out = calibration.held_out.first
    groups = "publications, or entities where none is named"
    lines = [
        f"{calibration.method} calibration by {calibration.queries} solved cases of {calibration.groups} groups "
        f"({groups}), judged on {calibration.folds} held-out folds; fingerprint {calibration.fingerprint[:12]}",
        *_further_lines(FurtherSignals.of(calibration)),
        *(
            f"{count} {'case' if count == 1 else 'cases'} took no part: {why}"
            for why, count in left_out.items()
            if count
        ),
        "",
        *_figure_lines(calibration),
        "",
        f"Of the cases whose first {entity} has about this confidence, how many were right (#), and how many should be "
        "(|)",
        *reliability_lines(equal_width_bins(held_out.predicted, held_out.true)),
        "",
        "When to abstain, by --abstain RULE; intervals of 95 %",
        *_threshold_lines(calibration),
        "",
        "risk is the share of wrong answers among those given; conformal levels bound those answered wrongly among all",
    ]
    if calibration.novelty_threshold is not None:
        lines.append(f"a query is called new from {calibration.novelty_threshold:.3f} on")
    if calibration.queries < _FEW:
        lines.append(f"Note: {calibration.queries} cases are few: figures and thresholds are rough")
    return "\n".join(lines) + "\n"


def trust_lines(answer: Mapping[str, Any]) -> list[str]:
    """Returns what an answer says of how sure it is and whether the query is new; nothing without a calibration."""
    made, rule = answer["calibration"], answer["threshold"]
    if made is None:
        return []
    error = "" if made["ece"] is None else f", off by {made['ece']:.3f} on average on held-out ones"
    lines = [f"confidence: the chance that a hit is right and none before it, by {made['queries']} solved cases{error}"]
    if answer["novel"] is not None:
        verdict = "new" if answer["novel"] else "not new"
        lines.append(
            f"novelty: {answer['novelty']:.3f} that no record is right; {verdict}, by the threshold "
            f"{made['novelty_threshold']:.3f}; {NOVELTY_ODDS}"
        )
    if rule is not None and not rule["answered"] and (answer["hits"] or rule["best_confidence"]):
        lines.append(f"not sure enough to be answered: {rule['best_confidence']:.3f}; the rule {rule['words']}")
    return ["", *lines]


def reliability_lines(bins: Sequence[ReliabilityBin]) -> list[str]:
    """Returns a reliability diagram in characters: for each bin its cases, what was said, and what was right."""
    rows = []
    for one in bins:
        filled, said = round(one.right.value * _WIDTH), min(int(one.confidence * _WIDTH), _WIDTH - 1)
        drawn = [*("#" * filled), *("." * (_WIDTH - filled))]
        drawn[said] = "|"
        numbers = [f"{one.low:.1f} to {one.high:.1f}", str(one.right.whole), f"{one.confidence:.3f}"]
        rows.append([*numbers, f"{one.right.value:.3f}", "".join(drawn)])
    return aligned(["confidence", "cases", "said", "right", "0" + " " * (_WIDTH - 2) + "1"], rows, right={1, 2, 3})


def _thresholds_of(calibration: Calibration) -> dict[str, Threshold | str]:
    """Returns the threshold of each of ``RULES``, or why it has none."""
    found: dict[str, Threshold | str] = {}
    for rule in RULES:
        try:
            found[rule] = calibration.threshold(rule)
        except CalibrationError as error:
            found[rule] = error.found
    return found


def _further_lines(further: FurtherSignals) -> list[str]:
    """Returns which signals are taken beside those that come with the hits; nothing where there are none."""
    parts = [f"{further.runs} reruns of each query with one term changed (seed {further.seed})"] if further.runs else []
    parts += ["which hits change places without one term"] if further.separability else []
    parts += ["generalisations of the records"] if further.generalisations else []
    return [f"it takes in {', '.join(parts)}; so does every answer under it, which takes longer"] if parts else []


def _figure_lines(calibration: Calibration) -> list[str]:
    head = ["", *FIGURES.values()]
    figures = calibration.held_out.figures()
    rows = [
        [
            words,
            *(
                "-" if math.isnan(v := figures[part].get(name, math.nan)) else f"{v:.0f}" if name == "n" else f"{v:.3f}"
                for name in FIGURES
            ),
        ]
        for part, words in PARTS.items()
        if part in figures
    ]
    lines = aligned(head, rows, right=set(range(1, len(head))))
    first = figures["first"]
    lines.append(
        f"  by the explained share instead, which stands for confidence without a calibration: AURC "
        f"{first['explained_aurc']:.3f}, AUROC {first['explained_auroc']:.3f}"
    )
    if "novelty" in figures:
        new = figures["novelty"]
        lines.append(f"  calling queries new: F1 {new['f1']:.3f}, against {new['f1_all_new']:.3f} of calling all new")
    return lines


def threshold_rows(calibration: Calibration, told: Callable[[Share], str]) -> list[list[str]]:
    """Returns a row a rule: its name, from which confidence it answers, the share answered and the share of it wrong.

    Args:
        calibration: what has the held-out record.
        told: a share with its interval, in words.
    """
    rows = []
    for rule, found in _thresholds_of(calibration).items():
        if isinstance(found, str):
            rows.append([rule, "none", found, ""])
        elif found.value is None:
            rows.append([rule, "none", "always abstains: no threshold keeps to it", ""])
        else:
            shares = [told(share) if share.whole else "-" for share in (found.coverage, found.risk)]
            rows.append([rule, f"{found.value:.3f}", *shares])
    return rows


def _threshold_lines(calibration: Calibration) -> list[str]:
    def told(share: Share) -> str:
        low, high = share.interval
        return f"{share.value:.1%} ({low:.1%} to {high:.1%})"

    rows = threshold_rows(calibration, told)
    return aligned(["rule", "from", "answered", "wrong of these"], rows, right={1})
