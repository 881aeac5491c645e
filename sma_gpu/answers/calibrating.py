"""Calibrating an engine by solved cases of its own kind that the index was not made of.

A calibration learned on cases that are in the index would be sure of itself for the wrong reason, so a case that
overlaps is refused, or left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..cases import CaseBatch
from ..errors import CalibrationError, UnknownKey
from ..trust.asking import signals_of_queries
from ..trust.calibration import Calibration
from ..trust.calibration_parts import RestsOn
from ..trust.fitting import fit
from ..trust.folds import join_alike
from .engine import Engine
from .solved import SolvedCase, SolvedCases

__all__ = ["Overlap", "calibrate", "overlaps"]

_SHOWN = 5  # overlapping cases named in an error


class Overlap(NamedTuple):
    """A solved case that the index was, or may have been, made of: its id, and why that is thought."""

    id: str
    why: str


def overlaps(engine: Engine, solved: SolvedCases) -> tuple[Overlap, ...]:
    """Returns the cases that overlap the index, in the order of the input.

    Such a case has the key of an indexed record as its id, states exactly what one of its right records states, or was
    published where the annotations of one of its right records say that they come from.
    """
    found = []
    for case in solved.cases:
        why = _why_overlapping(engine, case)
        if why:
            found.append(Overlap(case.id, why))
    return tuple(found)


def _why_overlapping(engine: Engine, case: SolvedCase) -> str:
    if case.seen:
        return "annotations of its right record cite its publication"
    if _is_key(engine, case.id):
        return "its id is the key of an indexed record"
    stored, lattice = engine.index.cases, engine.domain.mounted.lattice
    for number in case.right:
        stated = stored.functors_of(number)
        if np.array_equal(case.query.present, lattice.most_specific(stated.tolist())):
            return f"it states exactly what {engine.index.keys[number]} does"
    return ""


def _is_key(engine: Engine, name: str) -> bool:
    try:
        engine.index.number_of(name)
    except UnknownKey:
        return name in engine.index.set_aside
    return True


def calibrate(
    engine: Engine,
    solved: SolvedCases,
    *,
    method: str = "logistic",
    folds: int = 5,
    seed: int = 0,
    leave_out_overlap: bool = False,
    progress: Callable[[int], object] = lambda _: None,
) -> Calibration:
    """Returns the calibration of an engine's confidence and novelty by solved cases.

    A hit is right if it is one of the records that the case names; a twin of it is not, unless it is named too. Cases
    that cannot be asked, having no usable term, teach nothing and are left out. Novelty is learned from the cases whose
    gold is empty, and from all others asked once more with their right records, and the twins of these, hidden.

    Args:
        engine: the engine; the calibration is for its index alone.
        solved: made by ``read_solved`` for this engine, without a restriction.
        method: ``logistic`` or ``isotonic``.
        folds: two or more, each made of whole publications, or whole entities where none is named.
        seed: of the folds.
        leave_out_overlap: leave out cases that overlap the index, instead of refusing.
        progress: called with the number of cases that are done; each is asked twice.

    Raises:
        CalibrationError: a case overlaps the index, or the cases are too few or of one kind alone.
    """
    cases = _apart(engine, solved, leave_out_overlap=leave_out_overlap)
    cases = [case for case in cases if engine.why_abstain(case.query, None) is None]
    if not cases:
        raise CalibrationError("calibrate", "no solved case is left that can be asked", "Give more solved cases.")
    present, excluded = [case.query.present for case in cases], [case.query.excluded for case in cases]
    groups = engine.index.tie_rank if engine.twins is None else engine.twins.groups
    shown = np.array([~np.isin(groups, groups[list(case.right)]) for case in cases])
    asked = engine.index, present, excluded, engine.ops, engine.backend
    signals, hits = signals_of_queries(*asked, progress=progress)
    hidden, _ = signals_of_queries(*asked, among=shown, progress=progress)
    right = np.array([np.isin(first, case.right) for first, case in zip(hits, cases, strict=True)])
    return fit(
        signals,
        right,
        join_alike([case.group for case in cases], CaseBatch.from_functors([""] * len(cases), present)),
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
        ),
    )


def _apart(engine: Engine, solved: SolvedCases, *, leave_out_overlap: bool) -> list[SolvedCase]:
    """Returns the cases that do not overlap the index."""
    found = overlaps(engine, solved)
    if found and not leave_out_overlap:
        named = "; ".join(f"{one.id}: {one.why}" for one in found[:_SHOWN])
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise CalibrationError(
            f"calibrate on {len(solved)} solved cases",
            f"{len(found)} of them overlap the index ({named}{more})",
            "Give cases that the index was not made of, or leave these out with --leave-out-overlap.",
        )
    gone = {one.id for one in found}
    return [case for case in solved.cases if case.id not in gone]
