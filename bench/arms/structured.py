"""This engine over whole cases: statements between things and about statements, not the terms alone.

An item or a query that brings a case is taken as that case; any other is the flat case of its terms. Scores are rank
keys in units of 2^-24. Confidence is the score of the best hit over that of the query with itself, novelty what is
missing to 1; neither is calibrated.

What it can never do: prove every order. Where the search for a mapping runs out of its budget, the best one found
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...cases import Case, CaseBatch, EncodedQuery, encode_query, encode_stored, flat_case
from ...memory import IndexItem, Query, Retrieved
from ...ontologies.mount import Mounted
from ...ops import choose
from ...retrieval import Index, check_k
from ...retrieval.search import open_blocks
from ...retrieval.ties import count_ties
from ...scoring import Dials
from ...scoring.normalise import QUOTIENT_SHIFT
from ...trust import why_abstain
from .accounts import Account, account_of_case
from .arm import LongArray, Ranking, Setting
from .structural import beyond_last

__all__ = ["StructuralCases"]

FloatArray = npt.NDArray[np.float64]

_STORED, _ASKED = "statements of relations stored", "statements of relations asked"
_UNPROVED = "questions whose order is not proved"
_BOUNDS_A_MAPPING = 1000  # that take as long as a search for one mapping: compiled ops pay for fewer cells


class StructuralCases:
    """Every case by its best structural mapping, under the default dials.

    Args:
        setting: ontology, domain, seed and models.

    Attributes:
        counts: by words, what was counted since the items were indexed.
    """

    name = "structural-cases"
    dials = Dials()

    def __init__(self, setting: Setting) -> None:
        self._flat = setting.mounted
        self._mounted = self.mounted(setting.mounted)
        self.index(())

    def mounted(self, mounted: Mounted) -> Mounted:
        """Returns the lattice of all functors that cases can have."""
        return mounted

    def case_of(self, key: str, terms: Sequence[str]) -> Case:
        """Returns the case of something that brings none, by the ids of its terms."""
        return flat_case(key, terms)

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before.

        Raises:
            CaseError: two items have one key.
        """
        cases = [self._case(item.key, item, encode_stored(self._flat, item.term_ids)[0]) for item in items]
        self._index = Index.build(CaseBatch.from_cases(cases, self._mounted), self._mounted, self.dials)
        self.counts = {_STORED: _relations(cases), _ASKED: 0, _UNPROVED: 0}
        place = {item.key: number for number, item in enumerate(items)}
        self._places: LongArray = np.array([place[key] for key in self._index.keys], np.int64)

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """Returns the best ``k`` items of every query; equal scores in key order.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
        """
        return self._rank(queries, k)[0]

    def _rank(self, queries: Sequence[Query], k: int) -> tuple[Ranking, FloatArray]:
        """Returns the ranking, and how sure each hit is, float64 ``[B, k]``."""
        check_k(k)
        shape = (len(queries), k)
        items, scores, sure = np.full(shape, -1, np.int64), np.full(shape, np.nan), np.full(shape, np.nan)
        tail, novelty = np.zeros(len(queries), np.int64), np.full(len(queries), 1.0)
        encoded = [encode_query(self._flat, query.term_ids) for query in queries]
        refused = [self._refused(query) for query in encoded]
        novelty[[why == "no-information" for why in refused]] = 0.0
        rows = np.flatnonzero([not why for why in refused])
        cases = [self._case("", queries[row], encoded[row].present) for row in rows.tolist()]
        self.counts[_ASKED] += _relations(cases)
        batch = CaseBatch.from_cases(cases, self._mounted)
        structured = batch.structure is not None or self._index.cases.structure is not None
        ops = choose(cells=len(batch) * len(self._index) * (_BOUNDS_A_MAPPING if structured else 1))[1]
        width = min(k, len(self._index))
        for block in open_blocks(self._index, batch, ops) if width and len(batch) else ():
            at, found = rows[block.numbers], block.top(width)
            held = found.cases >= 0
            self.counts[_UNPROVED] += int((~found.certified).sum())
            items[at, :width] = np.where(held, np.append(self._places, -1)[found.cases], -1)
            scores[at, :width] = np.where(held, found.rank_keys / (1 << QUOTIENT_SHIFT), np.nan)
            share = np.minimum(found.scores / block.self_scores[:, None], 1.0)
            sure[at, :width] = np.where(held, share, np.nan)
            tail[at] = beyond_last(found.rank_keys, held, count_ties(block, found))
        hit = items[:, 0] >= 0
        novelty[hit] = 1.0 - sure[hit, 0]
        return Ranking(items, scores, tail, sure[:, 0].copy(), novelty), sure

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns at most ``k`` hits, best first; scores as in ``rank``, each hit with its own confidence."""
        found, sure = self._rank([query], k)
        keys = dict(zip(self._places.tolist(), self._index.keys, strict=True))
        columns = zip(found.items[0].tolist(), found.scores[0].tolist(), sure[0].tolist(), strict=True)
        return [
            Retrieved(keys[item], score, share, rank)
            for rank, (item, score, share) in enumerate(columns, 1)
            if item >= 0
        ]

    def novelty(self, query: Query) -> float:
        """Returns the share of the query's own score that the best hit leaves; 1 where nothing can be compared."""
        return float(self.rank([query], 1).novelty[0])

    def account(self, query: Query, key: str) -> Account:
        """Returns how a query and the item ``key`` were compared, by the analogy between the two.

        Raises:
            UnknownKey: no item has this key.
        """
        present = encode_query(self._flat, query.term_ids).present
        return account_of_case(self._index, self._case("", query, present), key)

    def _refused(self, query: EncodedQuery) -> str:
        """Returns the kind of reason not to ask, or an empty text."""
        if self._index.cases.structure is None:
            why = why_abstain(self._index, query)
            return why.kind if why else ""
        return "" if len(query.present) and len(self._index) else "unusable"  # what terms are worth hangs on their use

    def _case(self, key: str, given: IndexItem | Query, functors: npt.NDArray[np.int32]) -> Case:
        case: Case | None = getattr(given, "case", None)
        if case is None:
            return self.case_of(key, [self._flat.ids[functor] for functor in functors.tolist()])
        return replace(case, key=key)


def _relations(cases: Sequence[Case]) -> int:
    """Returns how many statements hold between two things or more, over all cases."""
    return sum(len(said.args) > 1 for case in cases for said in case.walk())
