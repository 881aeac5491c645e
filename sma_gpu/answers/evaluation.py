"""An engine on solved cases: where the truth stands for each, at any depth, and what that comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..retrieval import open_blocks
from ..retrieval.block import QueryBlock
from ..retrieval.reaching import Reaching, reaching
from ..trust.held_out import Outcomes
from ..trust.places import TIES, Places, hits_at, reciprocal_ranks
from ..trust.resampling import DRAWS, macro_mean, resampled_means
from ..trust.shares import Share
from .calibrating import overlaps
from .engine import Engine
from .restriction import Restriction
from .solved import SolvedCase, SolvedCases

__all__ = ["DEPTHS", "EVALUATION_SCHEMA", "CaseRank", "Place", "evaluate", "placed", "rank_cases", "rank_measures"]

LongArray = npt.NDArray[np.int64]

EVALUATION_SCHEMA = "sma-gpu/evaluation/1"
DEPTHS = (1, 5, 10)
_FEW = 30  # entities below which intervals of a bootstrap say little


@dataclass(frozen=True)
class Place:
    """Where the best of the right ones stands.

    Attributes:
        rank: in the order that answers show, where equal scores are ordered by key; 0 where none is a hit.
        first: place at which the run of equal scores begins that it is in; 0 where none is a hit.
        tied: how many that run holds.
        right: how many of them are right.
    """

    rank: int = 0
    first: int = 0
    tied: int = 0
    right: int = 0

    def as_dict(self) -> dict[str, Any] | None:
        """Returns the rank with its three ways through ties; None where none of the right ones is a hit."""
        if not self.first:
            return None
        return {
            "rank": self.rank,
            "optimistic": self.first,
            "mean": self.first - 1 + (self.tied + 1) / (self.right + 1),
            "pessimistic": self.first + self.tied - self.right,
        }


class CaseRank(NamedTuple):
    """Where the truth of one solved case stands.

    Attributes:
        strict: among all cases.
        merged: among groups of cases that stand for the same, each by its best; None where nothing says which do.
        best: number of the first hit; -1 where there is none.
        reason: why the query has no answer, or None.
    """

    strict: Place
    merged: Place | None
    best: int
    reason: str | None


def evaluate(
    engine: Engine,
    solved: SolvedCases,
    restriction: Restriction | None = None,
    *,
    seed: int = 0,
    progress: Callable[[int], object] = lambda _: None,
) -> dict[str, Any]:
    """Returns the evaluation of an engine on solved cases: schema ``sma-gpu/evaluation/1``.

    Cases that are known to be new have no truth to rank; they are counted.

    Args:
        engine: the engine.
        solved: made by ``read_solved`` for this engine and restriction.
        restriction: the only cases that can be hits; all where it is None.
        seed: of the draws of the bootstrap.
        progress: called with the number of cases that are done.
    """
    known = [case for case in solved.cases if not case.is_new]
    ranks = rank_cases(engine, known, restriction, progress=progress)
    ontology, records = engine.domain.mounted.ontology, engine.domain.records
    published = sum(bool(case.publications) for case in known)
    slices = [_slice("all", known, ranks, seed)]
    if any(case.seen for case in known):
        for name, seen in (("not seen", False), ("seen", True)):
            rows = [row for row, case in enumerate(known) if case.seen == seen]
            if rows:
                slices.append(_slice(name, [known[row] for row in rows], [ranks[row] for row in rows], seed))
    return {
        "schema": EVALUATION_SCHEMA,
        "dials": engine.index.dials.as_dict(),
        "dials_fingerprint": engine.index.dials.fingerprint,
        "index_fingerprint": engine.index.fingerprint,
        "backend": engine.backend,
        "ontology": {"name": ontology.name, "version": ontology.version, "sha256": ontology.sha256},
        "records": {
            "entity": engine.domain.manifest.entity,
            "version": records.version,
            "sha256": records.sha256,
            "cases": len(engine.index),
        },
        "input": {"sha256": solved.sha256, "form": solved.form},
        "restriction": None if restriction is None else restriction.as_dict(),
        "equivalents": None if engine.twins is None else engine.twins.as_dict(merged=engine.merge),
        "counts": {
            "records": len(solved) + len(solved.unusable),
            "evaluated": len(known),
            "without_answer": sum(rank.reason is not None for rank in ranks),
            "truth_no_hit": sum(not rank.strict.first for rank in ranks),
            "new": len(solved) - len(known),
            "published": published,
            "seen": sum(case.seen for case in known),
            "failed": solved.failed,
            "not_evaluated": solved.reasons,
        },
        "bootstrap": {"draws": DRAWS, "level": 0.95, "seed": seed, "clusters": "gold entity"},
        "slices": slices,
        "confidence": _confidence(engine, solved, restriction),
        "cases": [_row(engine, case, rank) for case, rank in zip(known, ranks, strict=True)],
        "not_evaluated": [one._asdict() for one in solved.unusable],
        "notes": [*_notes(engine, solved, known, restriction), *solved.notes, *engine.domain.notes],
    }


def rank_cases(
    engine: Engine,
    cases: Sequence[SolvedCase],
    restriction: Restriction | None = None,
    *,
    progress: Callable[[int], object] = lambda _: None,
) -> list[CaseRank]:
    """Returns where the truth of each case stands, exact among all indexed cases; none of them may be new.

    Queries are ranked in blocks; see ``reaching``.
    """
    found: list[CaseRank | None] = [None] * len(cases)
    asked: list[int] = []
    for number, case in enumerate(cases):
        abstention = engine.why_abstain(case.query, restriction)
        if abstention is None:
            asked.append(number)
        else:
            nowhere = None if engine.twins is None else Place()
            found[number] = CaseRank(Place(), nowhere, -1, abstention.words)
    progress(len(cases) - len(asked))
    batch = CaseBatch.from_functors([""] * len(asked), [cases[number].query.present for number in asked])
    among = None if restriction is None else restriction.wanted
    for block in open_blocks(engine.index, batch, engine.ops, among=among) if asked else ():
        numbers = [asked[at] for at in block.numbers.tolist()]
        for number, rank in zip(numbers, _ranks(engine, block, [cases[n].right for n in numbers]), strict=True):
            found[number] = rank
        progress(len(numbers))
    return [rank for rank in found if rank is not None]


def _ranks(engine: Engine, block: QueryBlock, right: Sequence[Sequence[int]]) -> list[CaseRank]:
    reach, best = reaching(block, right), block.top(1).cases[:, 0].tolist()
    groups = None if engine.twins is None else engine.twins.groups
    tie_rank = engine.index.tie_rank
    through_twins: dict[int, tuple[LongArray, LongArray]] = {}
    if groups is not None and len(missed := np.flatnonzero(reach.floors < 0)):
        twins = [np.flatnonzero(np.isin(groups, groups[list(right[query])])).tolist() for query in missed.tolist()]
        again = reaching(block.take(missed), twins)
        through_twins = {query: _in_order(again, at, tie_rank) for at, query in enumerate(missed.tolist())}
    found = []
    for query, gold in enumerate(right):
        ordered, keys = _in_order(reach, query, tie_rank)
        strict = _place(ordered, keys, np.array(gold, np.int64))
        merged = None
        if groups is not None:
            ordered, keys = through_twins.get(query, (ordered, keys))
            things, first = np.unique(groups[ordered], return_index=True)
            order = np.argsort(first)
            merged = _place(things[order], keys[first[order]], np.unique(groups[list(gold)]))
        reason = None if best[query] >= 0 else "nothing fits: no case shares anything informative with the query"
        found.append(CaseRank(strict, merged, best[query], reason))
    return found


def _in_order(reach: Reaching, query: int, tie_rank: npt.NDArray[np.int32]) -> tuple[LongArray, LongArray]:
    """Returns the cases that reach the floor of a query and their rank keys, in rank order."""
    span = slice(int(reach.ptr[query]), int(reach.ptr[query + 1]))
    cases, keys = reach.cases[span], reach.keys[span]
    order = np.lexsort((tie_rank[cases], -keys))
    return cases[order], keys[order]


def _place(things: npt.NDArray[np.integer], keys: LongArray, right: npt.NDArray[np.integer]) -> Place:
    """Returns where the best of ``right`` stands among ``things`` in rank order; all that reach it are there."""
    at = np.flatnonzero(np.isin(things, right))
    if not len(at):
        return Place()
    run = keys == keys[at[0]]
    return Place(
        int(at[0]) + 1, 1 + int((keys > keys[at[0]]).sum()), int(run.sum()), int(np.isin(things[run], right).sum())
    )


def rank_measures(places: Places) -> dict[str, dict[str, npt.NDArray[np.float64]]]:
    """Returns for each way through ties and each measure what every case gives, float64 ``[Q]``."""
    return {
        ties: {
            **{f"top{depth}": hits_at(places, depth, ties) for depth in DEPTHS},
            "mrr": reciprocal_ranks(places, ties),
        }
        for ties in TIES
    }


def placed(found: Sequence[Place]) -> Places:
    """Returns the places of several cases as arrays."""
    columns = (np.array([getattr(p, name) for p in found], np.int64) for name in ("first", "tied", "right"))
    return Places(*columns)


def _slice(name: str, cases: Sequence[SolvedCase], ranks: Sequence[CaseRank], seed: int) -> dict[str, Any]:
    """Returns the figures of some of the cases."""
    entities = [case.entity for case in cases]
    merged = [rank.merged for rank in ranks if rank.merged is not None]
    return {
        "name": name,
        "cases": len(cases),
        "entities": len(set(entities)),
        "strict": _figures([rank.strict for rank in ranks], entities, seed),
        "merged": _figures(merged, entities, seed) if merged else None,
    }


def _figures(found: Sequence[Place], entities: Sequence[str], seed: int) -> dict[str, Any] | None:
    """Returns the measures under one hit rule, ties three ways, each with its interval; None without a case."""
    if not found:
        return None
    measures = rank_measures(placed(found))
    names = [(ties, measure) for ties, of_ties in measures.items() for measure in of_ties]
    values = np.stack([measures[ties][measure] for ties, measure in names])
    means = resampled_means(values, entities, seed)
    figures: dict[str, Any] = {ties: {} for ties in measures}
    for at, (ties, measure) in enumerate(names):
        figures[ties][measure] = {
            "value": float(means.value[at]),
            "low": _number(means.low[at]),
            "high": _number(means.high[at]),
            "mean_over_entities": macro_mean(values[at], entities),
        }
    hits = [place for place in found if place.first]
    shown = sorted(place.rank for place in hits)
    return {**figures, "median_rank": float(np.median(shown)) if shown else None}


def _confidence(engine: Engine, solved: SolvedCases, restriction: Restriction | None) -> dict[str, Any] | None:
    """Returns how well the engine's calibration held on these cases, new ones included; None without one.

    A query without an answer has the confidence 0 and is not right.
    """
    if engine.calibrated is None:
        return None
    cases = [case for case in solved.cases if engine.why_abstain(case.query, restriction) is None]
    confidence, right = np.zeros(len(solved)), np.zeros(len(solved), np.bool_)
    if cases:
        signals, hits = engine.calibrated.source.of_queries(
            [case.query.present for case in cases],
            [case.query.excluded for case in cases],
            engine.ops,
            engine.backend,
            (engine.backend_asked, engine.device),
            among=None if restriction is None else restriction.wanted,
        )
        confidence[: len(cases)] = engine.calibrated.calibration.confidence(signals)[:, 0]
        right[: len(cases)] = [int(first[0]) in case.right for first, case in zip(hits, cases, strict=True)]
    figures = Outcomes.of(confidence, right).figures()
    threshold, answered = engine.calibrated.threshold, None
    if threshold is not None:
        given = threshold.answers(confidence)
        coverage, risk = Share(int(given.sum()), len(given)), Share(int((given & ~right).sum()), int(given.sum()))
        answered = {"coverage": coverage.as_dict(), "risk": risk.as_dict()}
    return {
        "calibration": dict(engine.calibrated.told),
        "figures": {name: _number(value) for name, value in figures.items()},
        "threshold": engine.calibrated.rule(None),
        "answered": answered,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _row(engine: Engine, case: SolvedCase, rank: CaseRank) -> dict[str, Any]:
    """Returns what is said of one case."""
    records, index = engine.domain.records, engine.index
    best = None
    if rank.best >= 0:
        key = index.keys[rank.best]
        best = {"key": key, "name": records.names[records.index(key)]}
    return {
        "id": case.id,
        "stated": list(case.stated),
        "gold": [{"key": key, "name": records.names[records.index(key)]} for key in case.keys],
        "group": case.group,
        "seen": case.seen,
        "strict": rank.strict.as_dict(),
        "merged": None if rank.merged is None else rank.merged.as_dict(),
        "best": best,
        "reason": rank.reason,
        "notes": [*case.notes, *(f"left out: {entry.why}" for entry in case.query.left_out)],
    }


def _notes(
    engine: Engine, solved: SolvedCases, known: Sequence[SolvedCase], restriction: Restriction | None
) -> list[str]:
    """Returns what must be known to read the figures."""
    entity = engine.domain.manifest.entity
    notes = [] if restriction is None else [restriction.note(entity)]
    notes += [] if engine.calibrated is None else engine.calibrated.notes([], restriction)
    seen = sum(case.seen for case in known)
    if seen:
        notes.append(
            f"{seen} of {len(known)} cases are seen: annotations of their {entity} cite the publication that describes "
            "the case itself, so their figures tell memory, not skill; read the slice of those not seen"
        )
    copied = [one for one in overlaps(engine, solved) if not solved.cases[one.place].seen]
    if copied:
        many = "1 case is" if len(copied) == 1 else f"{len(copied)} cases are"
        notes.append(
            f"{many} in the index, or may be ({copied[0].id}: {copied[0].why}): their ranks tell memory, not skill"
        )
    unpublished = sum(not case.publications for case in known)
    if engine.domain.records.name == "hpoa" and unpublished:
        notes.append(f"{unpublished} cases name no publication, so whether the annotations were made of them is open")
    if engine.twins is None:
        notes.append(f"no mappings were found, so {entity}s that stand for the same are not merged")
    if engine.calibrated is not None and engine.calibrated.calibration.rests_on.split == solved.sha256:
        notes.append("the calibration was made of these very cases, so how well it holds on them says little")
    entities = len({case.entity for case in known})
    if 0 < entities < _FEW:
        many = "1 entity is" if entities == 1 else f"{entities} entities are"
        notes.append(f"only {many} right in these cases: intervals over so few are too narrow, differences mean little")
    return notes
