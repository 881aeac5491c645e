"""Which targets are met, by the rules of ``plan.toml``: a target missed goes through the same lines as one met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .novelty import AS_ASKED, EVEN
from .plan import TARGETS, Plan

__all__ = ["MET", "MISSED", "UNDEFINED", "Verdict", "verdicts"]

MET, MISSED, UNDEFINED = "met", "not met", "not defined"
_ALPHA = 0.05
_ERRORS = 2.0  # standard errors of a mean over splits


@dataclass(frozen=True)
class Verdict:
    """What came of one target.

    Attributes:
        target: of ``TARGETS``.
        verdict: ``MET``, ``MISSED`` or ``UNDEFINED``.
        told_apart: the figure lies clearly on its side of the border; None where nothing is defined.
        ours: the figure.
        border: what it is held against.
        beside: what that is.
        published: what was published for the domain, on other splits, if anything.
        why: why nothing is defined, or empty.
    """

    target: str
    verdict: str
    told_apart: bool | None = None
    ours: float | None = None
    border: float | None = None
    beside: str = ""
    published: float | None = None
    why: str = ""


def verdicts(of: Plan, told: Mapping[str, Any], published: Mapping[str, float]) -> list[dict[str, Any]]:
    """Returns the verdict on each target of one task, in order, ready for JSON.

    Args:
        of: the plan.
        told: the figures of the task.
        published: by target, what was published for the domain.
    """
    if told["not_fitted"]:
        return [asdict(Verdict(target, UNDEFINED, why=told["not_fitted"])) for target in TARGETS]
    sample = AS_ASKED if told["novelty"][AS_ASKED] else EVEN
    found = [
        _order("aurc_top1", told["order"], "top1"),
        _order("aurc_top5", told["order"], "top5"),
        _ece(of, told["calibration"]["first"]),
        _grounding(told["novelty"][sample], sample, published.get("grounding")),
        _novelty_f1(told["novelty"][EVEN], published.get("novelty_f1")),
        _conformal(told["conformal"]),
    ]
    return [asdict(one) for one in found]


def _order(target: str, order: Mapping[str, Any], measure: str) -> Verdict:
    if not order["questions"] or order["measures"][measure]["best"]["rival"] is None:
        return Verdict(target, UNDEFINED, why="no rival answered")
    part = order["measures"][measure]
    rival, against = part["best"]["rival"], part["against"]["rival"]
    ours, theirs = part["ours"]["calibrated"]["aurc"], part["arms"][rival]["aurc"]
    apart = against is not None and (against["high"] < 0 or against["low"] > 0)
    return Verdict(target, MET if ours < theirs else MISSED, apart, ours, theirs, rival)


def _ece(of: Plan, first: Mapping[str, Any]) -> Verdict:
    limit = of.limits["ece"]
    met = first["ece"] < limit
    # Below the limit by chance alone: a true confidence shows as much more often than not where bins are full.
    apart = first["ece_by_chance"] < limit if met else first["ece_p"] < _ALPHA
    return Verdict("ece", MET if met else MISSED, apart, first["ece"], limit, f"by chance {first['ece_by_chance']:.3f}")


def _grounding(novelty: Mapping[str, Any] | None, sample: str, published: float | None) -> Verdict:
    if novelty is None:
        return Verdict("grounding", UNDEFINED, published=published, why="too few questions of one kind")
    ours, theirs = novelty["by"]["calibrated"]["auroc"], novelty["by"]["over self"]["auroc"]
    against = novelty["against"]["auroc over over self"]
    apart = against is not None and (against["low"] > 0 or against["high"] < 0)
    return Verdict(
        "grounding", MET if ours > theirs else MISSED, apart, ours, theirs, f"score over self, {sample}", published
    )


def _novelty_f1(novelty: Mapping[str, Any] | None, published: float | None) -> Verdict:
    if novelty is None:
        return Verdict("novelty_f1", UNDEFINED, published=published, why="too few questions of one kind")
    ours, theirs = novelty["by"]["calibrated"]["f1"], novelty["everything_new"]["f1"]
    against = novelty["against"]["f1 over everything new"]
    apart = against is not None and (against["low"] > 0 or against["high"] < 0)
    return Verdict("novelty_f1", MET if ours > theirs else MISSED, apart, ours, theirs, "everything new", published)


def _conformal(splits: Mapping[str, Mapping[str, Any]]) -> Verdict:
    above = {level: one["mean_loss"] - float(level) for level, one in splits.items()}
    worst = max(splits, key=lambda level: above[level] - _ERRORS * splits[level]["standard_error"])
    one = splits[worst]
    room = _ERRORS * one["standard_error"]
    met, apart = above[worst] <= room, abs(above[worst]) > room
    return Verdict("conformal", MET if met else MISSED, apart, one["mean_loss"], float(worst), f"level {worst}")
