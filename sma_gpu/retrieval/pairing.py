"""A query and one stored case with structure, paired up: their hypotheses, and the score of their best mapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cases import Entity
from ..cases.structure import CaseItems
from ..lattice.arrays import distinct, expand, pointers
from ..ops.structure import Found, Hypotheses, best_mapping, hypotheses
from ..scoring import PairTable
from ..scoring.grid import ENTITY_VALUE
from .corpus import Corpus

__all__ = ["PairedUp", "entity_pairs", "pair_up"]

LongArray = npt.NDArray[np.int64]


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


def pair_up(corpus: Corpus, table: PairTable, rows: LongArray, query: CaseItems, case: int) -> PairedUp:
    """Returns the hypotheses of a query and the stored case number ``case``.

    Args:
        corpus: stored cases with structure.
        table: values of pairs.
        rows: int64, row of the table of each statement of the query.
        query: items of the query.
        case: number of the case.
    """
    stored = corpus.cases.items(case)
    kinds = corpus.case_kinds[corpus.cases.ptr[case] : corpus.cases.ptr[case + 1]]
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


def entity_pairs(first: Sequence[Entity], second: Sequence[Entity]) -> int:
    """Returns how many pairs of entities a one-to-one mapping can hold.

    Constants pair with themselves alone, all others with each other; no statement is needed to pair two entities, so
    every best mapping has this many pairs.
    """
    constants = {e for e in first if e.constant} & {e for e in second if e.constant}
    return len(constants) + min(sum(not e.constant for e in side) for side in (first, second))
