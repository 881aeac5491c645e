"""Calibrating an engine by solved cases of its own kind that the index was not made of.

A calibration learned on cases that are in the index would be sure of itself for the wrong reason, so a case that
overlaps is refused, or left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

import numpy as np

from ..cases import CaseBatch
from ..errors import CalibrationError
from ..trust.asking import FurtherSignals, SignalSource
from ..trust.calibration import Calibration
from ..trust.calibration_parts import RestsOn
from ..trust.fitting import check_groups, fit
from ..trust.folds import join_alike
from .engine import Engine
from .solved import SolvedCase, SolvedCases, groups_of

__all__ = ["Overlap", "Split", "calibrate", "overlaps", "split_of"]

_SHOWN = 5  # overlapping cases named in an error


class Overlap(NamedTuple):
    """A solved case that the index was, or may have been, made of.

    Attributes:
        place: where it stands among the solved cases, from 0.
        id: its id.
        why: why that is thought, in words.
    """

    place: int
    id: str
    why: str


class Split(NamedTuple):
    """What of some solved cases a calibration is learned from.

    Attributes:
        cases: one or more, in the order of the input.
        groups: of each, what must stay in one fold: its publications, or else its entity; those of cases that state the
            same are one.
        left_out: how many take no part, by reason in words.
    """

    cases: tuple[SolvedCase, ...]
    groups: tuple[str, ...]
    left_out: dict[str, int]


def overlaps(engine: Engine, solved: SolvedCases) -> tuple[Overlap, ...]:
    """Returns the cases that overlap the index, in the order of the input.

    Such a case has the key of an indexed record as its id, states exactly what one of its right records states, or was
    published where the annotations of one of its right records say that they come from.
    """
    keys = {*engine.index.keys, *engine.index.set_aside}
    whys = ((case.id, _why_overlapping(engine, case, keys)) for case in solved.cases)
    return tuple(Overlap(place, name, why) for place, (name, why) in enumerate(whys) if why)


def _why_overlapping(engine: Engine, case: SolvedCase, keys: Container[str]) -> str:
    if case.seen:
        return "annotations of its right record cite its publication"
    if case.id in keys:
        return "its id is the key of an indexed record"
    stored, lattice = engine.index.cases, engine.domain.mounted.lattice
    for number in case.right:
        stated = stored.functors_of(number)
        if np.array_equal(case.query.present, lattice.most_specific(stated.tolist())):
            return f"it states exactly what {engine.index.keys[number]} does"
    return ""


def split_of(engine: Engine, solved: SolvedCases, *, leave_out_overlap: bool = False) -> Split:
    """Returns the cases that a calibration is learned from, with the number of those that are left out, by reason.

    Cases that cannot be asked, having no usable term, teach nothing and are left out.

    Args:
        engine: the engine.
        solved: made by ``read_solved`` for this engine, without a restriction.
        leave_out_overlap: leave out cases that overlap the index, instead of refusing.

    Raises:
        CalibrationError: a case overlaps the index, or none is left with a right record.
    """
    overlap = overlaps(engine, solved)
    if overlap and not leave_out_overlap:
        named = "; ".join(f"{one.id}: {one.why}" for one in overlap[:_SHOWN])
        more = f"; and {len(overlap) - _SHOWN} more" if len(overlap) > _SHOWN else ""
        raise CalibrationError(
            f"calibrate on {len(solved)} solved cases",
            f"{len(overlap)} of them overlap the index ({named}{more})",
            "Give cases that the index was not made of, or leave these out with --leave-out-overlap.",
        )
    gone = {one.place for one in overlap}
    apart = [case for place, case in enumerate(solved.cases) if place not in gone]
    cases = tuple(case for case in apart if engine.why_abstain(case.query, None) is None)
    if not any(case.right for case in cases):
        found = "none of those left that can be asked has a right record" if cases else "none is left that can be asked"
        raise CalibrationError(f"calibrate on {len(solved)} solved cases", found, "Give more solved cases.")
    stated = CaseBatch.from_functors([""] * len(cases), [case.query.present for case in cases])
    left_out = {"they overlap the index": len(gone), "they have no usable term": len(apart) - len(cases)}
    left_out |= {f"their gold is {kind}": count for kind, count in solved.reasons.items()}
    return Split(cases, join_alike(groups_of(cases), stated), left_out)


def calibrate(
    engine: Engine,
    solved: SolvedCases,
    *,
    method: str = "logistic",
    folds: int = 5,
    seed: int = 0,
    leave_out_overlap: bool = False,
    further: FurtherSignals | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> Calibration:
    """Returns the calibration of an engine's confidence and novelty by solved cases.

    A hit is right if it is one of the records that the case names; a twin of it is not, unless it is named too. Novelty
    is learned from the cases whose gold is empty, and from all others asked once more with their right records, and the
    twins of these, hidden.

    Args:
        engine: the engine; the calibration is for its index alone.
        solved: made by ``read_solved`` for this engine, without a restriction.
        method: ``logistic`` or ``isotonic``.
        folds: three or more, each made of whole publications, or whole entities where none is named.
        seed: of the folds.
        leave_out_overlap: leave out cases that overlap the index, instead of refusing.
        further: signals to take beside those that come with the hits; every answer under the calibration then takes
            them too.
        progress: called with the number of cases that are done; each is asked twice.

    Raises:
        CalibrationError: a case overlaps the index, or the cases are too few or of one kind alone.
    """
    split = split_of(engine, solved, leave_out_overlap=leave_out_overlap)
    check_groups(split.groups, method=method, folds=folds, seed=seed)
    source = SignalSource(engine.index, further)
    cases = split.cases
    groups = engine.index.tie_rank if engine.twins is None else engine.twins.groups
    gone = [np.flatnonzero(np.isin(groups, groups[list(case.right)])).astype(np.int32) for case in cases]
    queries = [case.query.present for case in cases], [case.query.excluded for case in cases]
    asked = *queries, engine.ops, engine.backend, (engine.backend_asked, engine.device)
    signals, hits = source.of_queries(*asked, progress=progress)
    hidden, _ = source.of_queries(*asked, hidden=gone, progress=progress)
    return fit(
        signals,
        np.array([np.isin(first, case.right) for first, case in zip(hits, cases, strict=True)]),
        split.groups,
        hidden=hidden,
        novel=np.array([case.is_new for case in cases], np.bool_),
        method=method,
        folds=folds,
        seed=seed,
        rests_on=RestsOn(
            index=engine.index.fingerprint,
            dials=engine.index.dials.fingerprint,
            ontology=engine.domain.mounted.ontology.sha256,
            records=engine.domain.records.sha256,
            split=solved.sha256,
            stability_runs=source.further.runs,
            stability_seed=source.further.seed if source.further.runs else 0,
            generalisations=source.further.generalisations,
        ),
    )
