"""Dials chosen by solved cases, and what such a choice is worth on cases that had no part in it.

The list of candidates is short and fixed, and holds the dials at hand. Folds keep together what belongs together:
cases of one publication, and queries that state the same. In each fold the dials that are best on the others are
judged; the figure that is reported is made of these judgements alone (nested cross-validation, Stone 1974), and not of
the best mean over all cases, which favours whatever fits them by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import QueryError
from ..scoring import Dials
from ..trust.folds import grouped_folds, join_alike
from ..trust.resampling import resampled
from .calibrating import overlaps
from .engine import Engine
from .evaluation import placed, rank_cases, rank_measures
from .restriction import Restriction
from .solved import SolvedCases, groups_of

__all__ = ["METRICS", "TUNING_SCHEMA", "candidates", "tune"]

FloatArray = npt.NDArray[np.float64]

TUNING_SCHEMA = "sma-gpu/tuning/1"
METRICS = ("mrr", "top1", "top5", "top10")
_FEW = 200  # cases below which a choice among so many dials follows chance as much as merit
_SCALES = ((1, 0.6), (4, 0.6), (16, 0.6), (64, 0.75), (256, 0.9))
_NORMALISATIONS = ("power(0.25)", "power(0.5)", "max")


def candidates(own: Dials) -> tuple[Dials, ...]:
    """Returns the dials that are tried, each once, ``own`` first: of equally good ones the first is chosen."""
    ic, evidence = Dials(), Dials.evidence()
    found = [own, *(replace(ic, rho=rho) for rho in (0.95, 0.5))]
    found += [replace(ic, normalisation=name) for name in _NORMALISATIONS]
    found += [replace(evidence, scorer=f"evidence({scale},{power})") for scale, power in _SCALES]
    found += [replace(evidence, rho=0.95), *(replace(evidence, normalisation=name) for name in _NORMALISATIONS)]
    return tuple(dict.fromkeys(found))


def tune(
    engine: Engine,
    solved: SolvedCases,
    restriction: Restriction | None = None,
    *,
    metric: str = "mrr",
    folds: int = 5,
    seed: int = 0,
    progress: Callable[[int], object] = lambda _: None,
) -> dict[str, Any]:
    """Returns the best of some dials for solved cases, and what choosing so is worth: schema ``sma-gpu/tuning/1``.

    Cases that overlap the index, such as those that annotations were made of, take no part where there are others.

    Args:
        engine: the engine, under the dials to compare with.
        solved: made by ``read_solved`` for this engine and restriction.
        restriction: the only cases that can be hits; all where it is None.
        metric: what to raise: ``mrr``, ``top1``, ``top5`` or ``top10``, ties at the mean of their orders.
        folds: two or more.
        seed: of the folds and of the draws of the interval.
        progress: called with the number of cases that are done, for each of the candidates.

    Raises:
        QueryError: there is no such metric, or no case with a right answer.
        CalibrationError: there are fewer groups than folds.
    """
    if metric not in METRICS:
        raise QueryError(f"tune {metric!r}", "there is no such metric", f"Give one of {', '.join(METRICS)}.")
    known = [case for case in solved.cases if not case.is_new]
    remembered = {overlap.place for overlap in overlaps(engine, solved)}
    fresh = [case for place, case in enumerate(solved.cases) if not case.is_new and place not in remembered]
    used = fresh or known
    if not used:
        raise QueryError("tune dials", "no case has a right answer", "Give cases whose gold is indexed.")
    batch = CaseBatch.from_functors([""] * len(used), [case.query.present for case in used])
    fold_of = grouped_folds(join_alike(groups_of(used), batch), folds, seed)
    tried = candidates(engine.index.dials)
    values = np.empty((len(tried), len(used)), np.float64)
    for row, dials in enumerate(tried):
        under = engine if row == 0 else engine.with_dials(dials)
        places = placed([rank.strict for rank in rank_cases(under, used, restriction, progress=progress)])
        values[row] = rank_measures(places)["mean"][metric]

    held_out, of_folds = np.empty(len(used), np.float64), []
    for fold in range(folds):
        inside = fold_of == fold
        best = _best(values[:, ~inside])
        held_out[inside] = values[best, inside]
        of_folds.append(
            {
                "cases": int(inside.sum()),
                "dials": tried[best].as_dict(),
                "on_the_others": float(values[best, ~inside].mean()),
                "held_out": float(values[best, inside].mean()),
                "before": float(values[0, inside].mean()),
            }
        )
    chosen = _best(values)
    gain = resampled(held_out, values[0], [case.entity for case in used], seed).interval()
    is_better = gain.low > 0
    return {
        "schema": TUNING_SCHEMA,
        "dials": tried[chosen].as_dict(),
        "dials_fingerprint": tried[chosen].fingerprint,
        "before": tried[0].as_dict(),
        "metric": metric,
        "folds": folds,
        "seed": seed,
        "input_sha256": solved.sha256,
        "records_sha256": engine.domain.records.sha256,
        "ontology_sha256": engine.domain.mounted.ontology.sha256,
        "cases": len(used),
        "entities": len({case.entity for case in used}),
        "overlap_left_out": len(known) - len(used),
        "held_out": float(held_out.mean()),
        "held_out_before": float(values[0].mean()),
        "gain": {"value": gain.difference, "low": gain.low, "high": gain.high, "level": 0.95},
        "is_better": is_better,
        "by_fold": of_folds,
        "candidates": [
            {
                "dials": dials.as_dict(),
                "mean": float(values[row].mean()),
                "by_fold": [float(values[row, fold_of == fold].mean()) for fold in range(folds)],
            }
            for row, dials in enumerate(tried)
        ],
        "notes": _notes(len(used), len(known) - len(used), len(tried), is_better=is_better, changed=chosen > 0),
    }


def _best(values: FloatArray) -> int:
    """Returns the row with the greatest mean, the first of several; sums that differ by rounding alone are equal."""
    return int(np.argmax(np.round(values.mean(axis=1), 12)))


def _notes(cases: int, remembered: int, tried: int, *, is_better: bool, changed: bool) -> list[str]:
    notes = []
    if remembered:
        notes.append(
            f"{remembered} cases that overlap the index took no part: dials that remember them best are not the best "
            "for new ones"
        )
    if not changed:
        notes.append("the dials at hand are the best of those tried; nothing is to be changed")
    elif not is_better:
        notes.append(
            "the interval of the gain holds 0: it is not shown that the chosen dials are better than those at hand"
        )
    if cases < _FEW:
        notes.append(
            f"{cases} cases are few for a choice among {tried} dials: another set of cases may choose otherwise"
        )
    return notes
