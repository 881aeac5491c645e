"""Why a case is a hit: its canonical mapping, what it explains, what contradicts it, what it leads one to expect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..ops.matching import best_of_matrix, components
from ..scoring import PairTable
from ..scoring.grid import ENTITY_VALUE
from .corpus import Corpus

__all__ = ["Contradiction", "Explanation", "Inference", "Pairing", "canonical_matching", "explain"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pairing:
    """A matched pair of statements, by functor numbers: over which ancestor, how far, worth how many units."""

    query: int
    stored: int
    via: int
    distance: int
    value: int


@dataclass(frozen=True)
class Contradiction:
    """A functor that one side has and the other rules out; ``ruled_out_by`` is ``query`` or ``case``."""

    query: int
    stored: int
    ruled_out_by: str


@dataclass(frozen=True)
class Inference:
    """A statement that the case has and the query lacks, projected onto the query's subject; value in units."""

    functor: int
    value: int


@dataclass(frozen=True)
class Explanation:
    """The account of one query and one case.

    Attributes:
        score: units of 2^-16 bit: the values of ``mapping`` plus 2^16 for the pair of subjects; 0 without a mapping.
        mapping: pairs in the order of the query's ids.
        unexplained: functors of the query that are not matched, ascending.
        explained: share of the query's own value that the mapping covers, 0 to 1.
        contradicted: exclusions that the other side breaks.
        inferences: most telling first.
    """

    score: int
    mapping: tuple[Pairing, ...]
    unexplained: tuple[int, ...]
    explained: float
    contradicted: tuple[Contradiction, ...]
    inferences: tuple[Inference, ...]


def explain(
    corpus: Corpus,
    functors: IntArray,
    excluded: IntArray,
    case: int,
    table: PairTable | None = None,
    mapping: tuple[Pairing, ...] | None = None,
) -> Explanation:
    """Returns the account of a query and one case.

    The mapping is canonical: among all optimal ones, reading the query's statements by id, the one whose matched
    stored statements come first by id, an unmatched statement after all matched ones.

    Args:
        corpus: the stored cases.
        functors: int32, functors of the query, ascending.
        excluded: int32, functors the query excludes, ascending.
        case: number of the case.
        table: values of pairs, where they are at hand; it holds a row for each of ``functors``.
        mapping: the canonical mapping, where it is at hand.
    """
    if mapping is None:
        mapping = _canonical_mapping(corpus, functors, case, table or corpus.pairs_of_query(functors))
    matched = {p.query for p in mapping}
    total = sum(p.value for p in mapping)
    values = corpus.query_values(np.array([0, len(functors)]), functors)
    own = dict(zip(functors.tolist(), values.tolist(), strict=True))
    whole = sum(own.values())
    covered = sum(min(p.value, own[p.query]) for p in mapping)
    contradicted = _contradictions(corpus, functors, excluded, case)
    return Explanation(
        score=ENTITY_VALUE + total if mapping else 0,
        mapping=mapping,
        unexplained=tuple(functor for functor in functors.tolist() if functor not in matched),
        explained=covered / whole if whole else 0.0,
        contradicted=contradicted,
        inferences=_inferences(corpus, functors, case, mapping, contradicted),
    )


def _canonical_mapping(corpus: Corpus, functors: IntArray, case: int, table: PairTable) -> tuple[Pairing, ...]:
    row, column, at = table.between(table.rows_of(functors), corpus.kinds_in(case))
    matched = canonical_matching(row, column, table.value[at], len(functors))
    chosen = at[matched[row] == column]
    stored = corpus.kinds.functors[table.stored[chosen]]
    columns = (functors[matched >= 0], stored, table.via[chosen], table.distance[chosen], table.value[chosen])
    return tuple(Pairing(*pair) for pair in zip(*(column.tolist() for column in columns), strict=True))


def canonical_matching(row: LongArray, column: LongArray, value: LongArray, rows: int) -> LongArray:
    """Returns the canonical optimal matching of sparse pairs: for each of ``rows`` rows its column, or -1, int64.

    Rows and columns are in the order of their ids. Components do not compete for statements, so the first optimal
    vector of each makes the first of the whole.
    """
    chosen = np.full(rows, -1, np.int64)
    for component in components(row, column, value):
        chosen[component.rows] = _first_optimum(component.values, component.columns)
    return chosen


def _first_optimum(values: LongArray, columns: LongArray) -> LongArray:
    chosen = np.full(len(values), -1, np.int64)
    free = np.ones(len(columns), bool)
    wanted = best_of_matrix(values)
    for row in range(len(values)):
        for column in np.flatnonzero((values[row] > 0) & free).tolist():
            free[column] = False
            rest = best_of_matrix(values[row + 1 :][:, free])
            if values[row, column] + rest == wanted:
                chosen[row], wanted = columns[column], rest
                break
            free[column] = True
    return chosen


def _contradictions(corpus: Corpus, functors: IntArray, excluded: IntArray, case: int) -> tuple[Contradiction, ...]:
    lattice = corpus.mounted.lattice
    absent = set(excluded.tolist())
    absent_in_case = set(corpus.cases.excluded_of(case).tolist())
    found = [
        Contradiction(above, functor, "query")
        for functor in (corpus.cases.functors_of(case).tolist() if absent else ())
        for above in lattice.ancestors_of(functor).tolist()
        if above in absent
    ]
    found += [
        Contradiction(functor, above, "case")
        for functor in (functors.tolist() if absent_in_case else ())
        for above in lattice.ancestors_of(functor).tolist()
        if above in absent_in_case
    ]
    return tuple(sorted(found, key=lambda c: (c.ruled_out_by != "query", c.query, c.stored)))


def _inferences(
    corpus: Corpus,
    functors: IntArray,
    case: int,
    mapping: tuple[Pairing, ...],
    contradicted: tuple[Contradiction, ...],
) -> tuple[Inference, ...]:
    if not mapping:  # without a pair of subjects there is nothing to project onto
        return ()
    known = {p.stored for p in mapping} | {c.stored for c in contradicted if c.ruled_out_by == "query"}
    for functor in functors.tolist():
        known.update(corpus.mounted.lattice.ancestors_of(functor).tolist())
    stored = zip(corpus.cases.functors_of(case).tolist(), corpus.stored_values(case).tolist(), strict=True)
    lacking = [Inference(functor, value) for functor, value in stored if functor not in known]
    return tuple(sorted(lacking, key=lambda i: (-i.value, i.functor)))
