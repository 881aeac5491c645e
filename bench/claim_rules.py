"""Rules by which a claim is judged: comparisons that enter the correction, and a verdict out of what came of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .figures import Sample, grounding, novelty_call
from .metrics import weighted_auroc, weighted_f1
from .statistics import Resampled, resampled, resampled_statistic

__all__ = ["FAILS", "HOLDS", "ONLY_BASELINES", "RULES", "UNTESTABLE", "Claim", "Evidence", "Judged", "Test"]

HOLDS = "holds"
ONLY_BASELINES = "only against the published baselines"
FAILS = "fails"
UNTESTABLE = "not testable here"

_BINS = 10
_PLACES = 10  # of which the rule same-place looks at
_PRINTED_DIGIT = 0.0015  # means and sizes are printed to three digits

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """One claim, as ``claims.toml`` has it; what its rule does not need is empty.

    Attributes:
        id: names it.
        says: the claim.
        rule: name of a rule.
        arm: whose claim it is.
        task: what it is about.
        slice: of the questions of the task.
        measure: of ``figures.MEASURES``, or ``grounding``.
        baselines: arms that the claim was made against.
        others: arms that were left out.
        other: the one arm that it is compared with.
        margin: what may lie between.
        at_least: what the arm itself reaches.
        best: the best baseline's value as printed.
        most_seconds: CPU seconds a question.
        printed: numbers printed for it.
        figures: rows of printed numbers.
        why: why it is not judged.
    """

    id: str
    says: str
    rule: str
    arm: str
    task: str = ""
    slice: str = ""
    measure: str = ""
    baselines: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    other: str = ""
    margin: float = 0.0
    at_least: float = 0.0
    best: float = 0.0
    most_seconds: float = 0.0
    printed: Mapping[str, float] = field(default_factory=dict)
    figures: Sequence[Mapping[str, object]] = ()
    why: str = ""

    @property
    def arms(self) -> tuple[str, ...]:
        """All arms that are asked for it, its own first."""
        if not self.task:
            return ()
        compared = {
            "above": (*self.baselines, *self.others), "strongest": self.baselines, "tie": (self.other,),
            "same-place": (self.other,),
        }.get(self.rule, ())  # fmt: skip
        own = () if self.rule == "strongest" else (self.arm,)
        return (*own, *compared)


@dataclass(frozen=True)
class Evidence:
    """What the arms of a claim answered: their samples, and CPU seconds of each; ``quick`` of a small draw."""

    samples: Mapping[str, Sample]
    seconds: Mapping[str, float]
    quick: bool = False


@dataclass(frozen=True)
class Test:
    """One comparison: what with, and its bootstrap; ``ours`` and ``theirs`` are the values compared."""

    other: str
    ours: float
    theirs: float
    drawn: Resampled


@dataclass(frozen=True)
class Judged:
    """A verdict, with the reason in words and the numbers that it rests on."""

    verdict: str
    why: str
    numbers: Mapping[str, float] = field(default_factory=dict)


Tests = Callable[[Claim, Evidence, int], list[Test]]
Verdict = Callable[[Claim, Evidence, Sequence[Test], Mapping[str, float], float], Judged]


def _no_tests(claim: Claim, found: Evidence, seed: int) -> list[Test]:
    return []


def _compared(claim: Claim, found: Evidence, seed: int) -> list[Test]:
    if claim.arm not in found.samples:
        return []
    ours = found.samples[claim.arm]
    others = [name for name in claim.arms[1:] if name in found.samples]
    return [test for name in others if (test := _test(claim.measure, name, ours, found.samples[name], seed))]


def _test(measure: str, name: str, ours: Sample, theirs: Sample, seed: int) -> Test | None:
    if measure == "grounding":
        mine, other = grounding(ours), grounding(theirs)
        if mine is None or other is None:
            return None
        (first, known), (second, _) = mine, other

        def difference(weights: FloatArray) -> FloatArray:
            return weighted_auroc(first, known, weights) - weighted_auroc(second, known, weights)

        once = np.ones((1, len(ours)))
        mean, of_other = (float(weighted_auroc(score, known, once)[0]) for score in (first, second))
        return Test(name, mean, of_other, resampled_statistic(difference, ours.clusters, seed))
    asked, answered = ours.answerable, theirs.answerable
    if not len(asked):
        return None
    macro = measure.startswith("macro_")
    drawn = resampled(asked.values(measure), answered.values(measure), asked.clusters, seed, macro=macro)
    return Test(name, asked.mean(measure), answered.mean(measure), drawn)


def _above(
    claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float
) -> Judged:
    passed = {test.other for test in tests if test.drawn.difference > 0 and corrected[test.other] < alpha}
    groups = {
        name: [test for test in tests if test.other in members]
        for name, members in (("baseline", claim.baselines), ("other", claim.others))
    }
    if not groups["baseline"]:
        return Judged(UNTESTABLE, _nothing(claim, found, "baseline"))
    best = {name: max(group, key=lambda test: test.theirs) for name, group in groups.items() if group}
    numbers = {"ours": tests[0].ours} | {f"best {name}": test.theirs for name, test in best.items()}
    short, rest = ([test for test in groups[name] if test.other not in passed] for name in ("baseline", "other"))
    words = f"{tests[0].ours:.3f}; " + ", ".join(
        f"best {'baseline' if name == 'baseline' else 'arm left out'} {test.other} {test.theirs:.3f}"
        for name, test in best.items()
    )
    if short:
        return Judged(_unshown(short, found, FAILS), f"{words}; not shown to be above {_names(short)}", numbers)
    if tests[0].ours < claim.at_least:
        return Judged(FAILS, f"{words}; below {claim.at_least:.3f}", numbers)
    if rest:
        return Judged(_unshown(rest, found, ONLY_BASELINES), f"{words}; not shown to be above {_names(rest)}", numbers)
    return Judged(HOLDS, words, numbers)


def _tie(claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float) -> Judged:
    if not tests:
        return Judged(UNTESTABLE, _nothing(claim, found, "arm"))
    test = tests[0]
    of = test.drawn.interval()
    words = (
        f"{test.ours:.3f} beside {test.theirs:.3f} of {test.other}; 95 % interval of the difference {of.low:+.3f} to "
        f"{of.high:+.3f}, margin {claim.margin:.3f}"
    )
    numbers = {"ours": test.ours, test.other: test.theirs}
    if -claim.margin <= of.low and of.high <= claim.margin:
        return Judged(HOLDS, words, numbers)
    if corrected[test.other] < alpha or of.low > claim.margin or of.high < -claim.margin:
        return Judged(FAILS, words, numbers)
    return Judged(UNTESTABLE, f"too few questions to tell: {words}", numbers)


def _against_printed(claim: Claim, found: Evidence, seed: int) -> list[Test]:
    tests = []
    for name in claim.baselines:
        if name in found.samples and len(mine := found.samples[name].answerable):
            values = mine.values(claim.measure)
            drawn = resampled(values, np.full(len(values), claim.best), mine.clusters, seed)
            tests.append(Test(name, mine.mean(claim.measure), claim.best, drawn))
    return tests


def _strongest(
    claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float
) -> Judged:
    if not tests:
        return Judged(UNTESTABLE, _nothing(claim, found, "baseline"))
    above = [test for test in tests if test.drawn.difference > 0 and corrected[test.other] < alpha]
    best = max(tests, key=lambda test: test.ours)
    words = f"best printed {claim.best:.3f}; here {best.other} {best.ours:.3f}"
    numbers = {"printed": claim.best, "best here": best.ours}
    if above:
        return Judged(FAILS, f"{words}; above what is printed: {_names(above)}", numbers)
    verdict = UNTESTABLE if found.quick and best.drawn.difference > 0 else HOLDS
    return Judged(verdict, f"{words}; none is shown to be above what is printed", numbers)


def _flagged(claim: Claim, found: Evidence, seed: int) -> list[Test]:
    sample = found.samples.get(claim.arm)
    call = novelty_call(sample) if sample else None
    if sample is None or call is None:
        return []
    judged, novelty, threshold = call
    novel, said, everything = ~sample.known[judged], novelty >= threshold, np.ones(len(novelty), np.bool_)
    clusters = [name for name, taken in zip(sample.clusters, judged.tolist(), strict=True) if taken]

    def difference(weights: FloatArray) -> FloatArray:
        return weighted_f1(said, novel, weights) - weighted_f1(everything, novel, weights)

    once = np.ones((1, len(novelty)))
    reached, line = (float(weighted_f1(which, novel, once)[0]) for which in (said, everything))
    return [Test("calling everything novel", reached, line, resampled_statistic(difference, clusters, seed))]


def _flags(
    claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float
) -> Judged:
    if not tests:
        return Judged(UNTESTABLE, _nothing(claim, found, "novelty"))
    test = tests[0]
    words = f"F1 {test.ours:.3f}; calling everything novel gives {test.theirs:.3f}"
    holds = test.drawn.difference > 0 and corrected[test.other] < alpha
    verdict = HOLDS if holds else _unshown([test], found, FAILS)
    return Judged(verdict, words, {"ours": test.ours, "everything novel": test.theirs})


def _calibrated(
    claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float
) -> Judged:
    sample = found.samples.get(claim.arm)
    if sample is None or np.isnan(sample.confidence).all():
        return Judged(UNTESTABLE, _nothing(claim, found, "confidence"))
    stated = ~np.isnan(sample.confidence)
    confidence = sample.confidence[stated]
    right = np.where(sample.known, sample.values("top1"), 0.0)[stated]
    place = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    gap = np.abs(np.bincount(place, weights=confidence - right, minlength=_BINS)).sum() / len(confidence)
    sure = float((confidence == 1.0).mean())
    words = (
        f"confidence and accuracy differ by {gap:.3f}, margin {claim.margin:.3f}; confidence is exactly 1 for "
        f"{sure:.0%} of the first hits, of which {_mean(right[confidence == 1.0])} are right"
    )
    return Judged(HOLDS if gap <= claim.margin else FAILS, words, {"gap": float(gap), "exactly 1": sure})


def _same_place(
    claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float
) -> Judged:
    if claim.arm not in found.samples or claim.other not in found.samples:
        return Judged(UNTESTABLE, _nothing(claim, found, "arm"))
    places = [
        np.where((first := found.samples[name].answerable.places.first) > _PLACES, 0, first)
        for name in (claim.arm, claim.other)
    ]
    moved = int((places[0] != places[1]).sum())
    words = f"{moved} of {len(places[0])} right items have another place in the first {_PLACES} than by {claim.other}"
    numbers = {"moved": float(moved), "questions": float(len(places[0]))}
    return Judged(FAILS if moved else HOLDS, words, numbers)


def _affordable(
    claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float
) -> Judged:
    if claim.arm not in found.samples:
        return Judged(UNTESTABLE, _nothing(claim, found, "arm"))
    spent = found.seconds[claim.arm] / max(len(found.samples[claim.arm]), 1)
    most = "above" if spent > claim.most_seconds else "at most"
    words = f"CPU seconds a question without the cap, filling included: {most} {claim.most_seconds:g}"
    return Judged(HOLDS if spent > claim.most_seconds else FAILS, words)


def _printed(
    claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float
) -> Judged:
    wrong = []
    for row in claim.figures:
        ours, best, difference, delta = (float(str(row[name])) for name in ("ours", "best", "difference", "delta"))
        if abs(ours - best - difference) > _PRINTED_DIGIT:
            wrong.append(f"{row['name']}: means differ by {ours - best:+.3f}, printed {difference:+.3f}")
        if abs(ours - best - delta) > _PRINTED_DIGIT:
            wrong.append(
                f"{row['name']}: Cliff's delta is {ours - best:+.3f} for outcomes of 0 and 1, printed {delta:+.3f}"
            )
    if wrong:
        return Judged(FAILS, "; ".join(wrong), {"wrong": float(len(wrong))})
    return Judged(HOLDS, f"all {len(claim.figures)} rows reconcile", {"wrong": 0.0})


def _untestable(
    claim: Claim, found: Evidence, tests: Sequence[Test], corrected: Mapping[str, float], alpha: float
) -> Judged:
    return Judged(UNTESTABLE, claim.why)


RULES: Mapping[str, tuple[Tests, Verdict]] = {
    "above": (_compared, _above),
    "tie": (_compared, _tie),
    "strongest": (_against_printed, _strongest),
    "flags": (_flagged, _flags),
    "calibrated": (_no_tests, _calibrated),
    "same-place": (_no_tests, _same_place),
    "affordable": (_no_tests, _affordable),
    "printed": (_no_tests, _printed),
    "untestable": (_no_tests, _untestable),
}
"""By name, what a rule compares and how it judges; ``claims.toml`` says each in words."""


def _unshown(short: Sequence[Test], found: Evidence, verdict: str) -> str:
    """Returns the verdict where an arm is not shown to be above others; a small draw decides by what it lost alone."""
    lost = any(test.drawn.difference <= 0 for test in short)
    return UNTESTABLE if found.quick and not lost else verdict


def _nothing(claim: Claim, found: Evidence, what: str) -> str:
    if not found.samples:
        return "its data or all of its arms are not here"
    return f"no {what} of it could be asked here"


def _names(tests: Sequence[Test]) -> str:
    return ", ".join(f"{test.other} ({test.drawn.difference:+.3f})" for test in tests)


def _mean(values: FloatArray) -> str:
    return f"{values.mean():.0%}" if len(values) else "none"
