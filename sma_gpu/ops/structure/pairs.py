"""Pairs of cases with structure, one by one: what of them competes, and the score of the best mapping of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...cases.model import Entity
from ...cases.structure import CaseItems, Structure
from ...lattice.arrays import distinct, expand, pointers
from ...scoring import PairTable
from ...scoring.grid import ENTITY_VALUE
from .hypotheses import Hypotheses, hypotheses
from .search import Found, best_mapping

__all__ = [
    "PairedUp",
    "StructurePairs",
    "StructuredCases",
    "best_mappings",
    "entity_pairs",
    "number_constants",
    "pair_up",
    "scores_of",
]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StructuredCases:
    """Cases with structure, as one side of pairs.

    Attributes:
        ptr: int64 ``[N + 1]``, statements by case.
        kinds: int32 or int64 ``[S]``, what the table of pair values knows each statement by: its row for a query, its
            stored kind for a stored case.
        structure: of the same statements.
        constants: int64 ``[entities]``, the same number for the same constant on either side, -1 for what is none.
    """

    ptr: LongArray
    kinds: npt.NDArray[np.integer]
    structure: Structure
    constants: LongArray

    def items(self, case: int) -> tuple[npt.NDArray[np.integer], CaseItems]:
        """Returns the kinds and the items of one case."""
        return self.kinds[self.ptr[case] : self.ptr[case + 1]], self.structure.items(case, self.ptr)


@dataclass(frozen=True)
class StructurePairs:
    """``P`` pairs of a query and a stored case, both with structure, to be aligned.

    Attributes:
        table: values of pairs of statements.
        queries: the queries; their kinds are rows of the table.
        cases: the stored cases; their kinds are what the table holds.
        query: int64 ``[P]``, numbers of queries.
        case: int64 ``[P]``, numbers of stored cases.
    """

    table: PairTable
    queries: StructuredCases
    cases: StructuredCases
    query: LongArray
    case: LongArray

    def __len__(self) -> int:
        return len(self.query)

    def paired(self, place: int) -> PairedUp:
        """Returns the pair at ``place``, paired up."""
        rows, query = self.queries.items(int(self.query[place]))
        kinds, stored = self.cases.items(int(self.case[place]))
        return pair_up(self.table, rows.astype(np.int64), query, kinds.astype(np.int32), stored)


@dataclass(frozen=True)
class PairedUp:
    """The hypotheses of a query and one stored case.

    Attributes:
        made: the hypotheses.
        entry: int64 ``[H]``, entry of the pair table that each stems from; -1 for pairs of entities.
        entity_pairs: number of entity pairs in any best mapping.
    """

    made: Hypotheses
    entry: LongArray
    entity_pairs: int

    def best(self, node_budget: int) -> Found:
        """Returns the best mapping, or the best found within ``node_budget`` nodes."""
        return best_mapping(self.made, node_budget)

    def score(self, total: int) -> int:
        """Returns the score of mappings whose statement pairs are worth ``total``; 0 if there are none."""
        return total + ENTITY_VALUE * self.entity_pairs if total else 0


def pair_up(table: PairTable, rows: LongArray, query: CaseItems, kinds: IntArray, stored: CaseItems) -> PairedUp:
    """Returns the hypotheses of a query and a stored case.

    Args:
        table: values of pairs.
        rows: int64, row of the table of each statement of the query.
        query: items of the query.
        kinds: int32, kind of each statement of the stored case.
        stored: items of the stored case.
    """
    held = distinct(kinds)
    mine, column, at = table.between(rows, held)
    by_kind = np.argsort(kinds, kind="stable")
    pair, place = expand(pointers(np.searchsorted(held, kinds[by_kind]), len(held)), column)
    mine, at, theirs = mine[pair], at[pair], by_kind[place]
    order = np.lexsort((theirs, mine))
    mine, at, theirs = mine[order], at[order], theirs[order]
    made, origin = hypotheses(query, stored, (mine, theirs, table.value[at]))
    entry = np.full(len(origin), -1, np.int64)
    entry[origin >= 0] = at[origin[origin >= 0]]
    return PairedUp(made, entry, entity_pairs(query.entities, stored.entities))


def best_mappings(pairs: StructurePairs, node_budget: int) -> tuple[LongArray, LongArray]:
    """Returns the score of each pair and the limit of it, int64 ``[P]`` each, in units of 2^-16 bit.

    This is the definition; a backend may do it otherwise, for many pairs at once, and gives the same numbers.

    Args:
        pairs: the pairs.
        node_budget: greatest number of nodes in the search of one pair.
    """
    scores, limits = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    for place in range(len(pairs)):
        pair = pairs.paired(place)
        found = pair.best(node_budget)
        scores[place], limits[place] = pair.score(found.total), pair.score(found.bound)
    return scores, limits


def scores_of(totals: LongArray, entity_pairs: LongArray) -> LongArray:
    """Returns the scores of mappings of many pairs, int64 ``[P]``; see ``PairedUp.score``."""
    return np.where(totals > 0, totals + ENTITY_VALUE * entity_pairs, 0)


def entity_pairs(first: Sequence[Entity], second: Sequence[Entity]) -> int:
    """Returns how many pairs of entities a one-to-one mapping can hold.

    Constants pair with themselves alone, all others with each other; no statement is needed to pair two entities, so
    every best mapping has this many pairs.
    """
    constants = {e for e in first if e.constant} & {e for e in second if e.constant}
    return len(constants) + min(sum(not e.constant for e in side) for side in (first, second))


def number_constants(entities: Iterable[Entity], known: Mapping[Entity, int]) -> LongArray:
    """Returns the number of each entity that is a constant, -1 for those that are none.

    Args:
        entities: of any number of cases.
        known: numbers, from 0, of the constants that may meet these; others share one more number.
    """
    return np.array([known.get(e, len(known)) if e.constant else -1 for e in entities], np.int64)
