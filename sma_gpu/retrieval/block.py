"""A block of queries, bounded against every case (MAC) and aligned in bound order (FAC) until proved.

A case's rank key never exceeds the key of its bound. Once the next case in bound order comes after the k-th hit so far
(key descending, then tie rank), no case left can enter the top k, and the answer equals that of aligning every case.

Plain cases (unary statements of one entity) are aligned by the op ``assign``; the others by branch and bound, which may
run out of its node budget. Then the score is the best found, its limit says what could not be ruled out, and the answer
is certified only if that could not change the top k.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..lattice.arrays import expand, pointers
from ..ops import Lists, Ops, PairBlock, PlainQueries, StructureOps, Tops, WholeOps
from ..ops.structure import StructuredCases, StructurePairs, best_mappings, number_constants
from ..scoring import PairTable
from .corpus import Corpus

__all__ = ["QueryBlock"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_SHORTEST = 64  # cases in the first shortlist; four for each place wanted where that is more
_FIRST_LOOK = 16  # cases aligned before the first look at the stopping rule


@dataclass(frozen=True)
class QueryBlock:
    """``B`` queries of one batch, to be bounded and ranked.

    Attributes:
        corpus: the stored cases.
        batch: the cases that the queries are among; with structure if the stored cases have it.
        numbers: int64 ``[B]``, numbers of the queries in ``batch``, ascending.
        table: values of pairs.
        lists: a list for each row of the table.
        rows: int64 ``[S]``, row of ``table`` of each statement of ``batch``.
        own_values: int64 ``[S]``, value of each statement with itself, units of 2^-16 bit.
        self_scores: int64 ``[B]``, score of each query against itself, units of 2^-16 bit.
        node_budget: greatest number of nodes in the search for one mapping.
        among: bool ``[B, N]``, the only cases that are looked at; all where it is None.
    """

    corpus: Corpus
    batch: CaseBatch
    numbers: LongArray
    table: PairTable
    lists: Lists
    rows: LongArray
    own_values: LongArray
    self_scores: LongArray
    node_budget: int
    among: BoolArray | None
    _ops: Ops

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def bounds(self) -> IntArray:
        """Bound of every case, int32 ``[B, N]``; 0 where nothing can match, or the case is not wanted."""
        ptr, at = self.statements
        entities = np.ones(len(self), np.int32)
        if self.batch.structure is not None:
            entities = self.batch.structure.entity_counts()[self.numbers]
        return self._ops.accumulate(self.lists, ptr, self.rows[at].astype(np.int32), entities, self.among)

    @property
    def statements(self) -> tuple[LongArray, LongArray]:
        """Pointers int64 ``[B + 1]`` and, by them, the numbers of the queries' statements in ``batch``."""
        owner, at = expand(self.batch.ptr, self.numbers)
        return pointers(owner, len(self)), at

    def take(self, queries: npt.NDArray[np.integer]) -> QueryBlock:
        """Returns the block of the given queries of this one."""
        among = None if self.among is None else self.among[queries]
        return replace(self, numbers=self.numbers[queries], self_scores=self.self_scores[queries], among=among)

    def keys(self, query: LongArray, case: LongArray, scores: LongArray) -> LongArray:
        """Returns the rank key of each score (or bound) of a query and a case, int64."""
        return self.corpus.normaliser.rank_keys(scores, self.self_scores[query], case)

    def align(self, query: LongArray, case: LongArray) -> tuple[LongArray, LongArray]:
        """Returns the score of each pair, and its limit, which is the same where the score is proved best.

        Args:
            query: int64 ``[P]``, queries of the block, ascending.
            case: int64 ``[P]``.
        """
        scores = np.zeros(len(query), np.int64)
        limits = np.zeros(len(query), np.int64)
        plain = self.corpus.plain[case] & self._plain[query]
        queries, cases = self._sorted_rows, self.corpus.sorted_kinds
        pairs = PairBlock(
            self.numbers[query[plain]], case[plain], self.batch.ptr, queries, self.corpus.cases.ptr, cases
        )
        scores[plain] = limits[plain] = self._ops.assign(self.table, pairs)
        if not plain.all():
            rest = self.structured(query[~plain], case[~plain])
            align = self._ops.best_mappings if isinstance(self._ops, StructureOps) else best_mappings
            scores[~plain], limits[~plain] = align(rest, self.node_budget)
        return scores, limits

    def structured(self, query: LongArray, case: LongArray) -> StructurePairs:
        """Returns pairs of a query of the block and a stored case, all of which must have structure."""
        return StructurePairs(self.table, self._structured, self.corpus.structured, self.numbers[query], case)

    def top(self, k: int) -> Tops:
        """Returns the certified top ``k`` of every query, ``k`` from 1 to the number of cases."""
        if isinstance(self._ops, WholeOps) and (plain := self.as_plain()) is not None:
            return self._ops.top(plain, k)
        found, proved = self._among_first(min(max(4 * k, _SHORTEST), len(self.corpus)), k)
        left = np.flatnonzero(~proved)
        if len(left):  # the shortlist was used up without proof: go on with all cases that have a bound
            rest = self.take(left)
            rest_found, _ = rest._among_first(int(np.count_nonzero(rest.bounds, axis=1).max()), k)
            for field in fields(Tops):
                getattr(found, field.name)[left] = getattr(rest_found, field.name)
        return found

    def as_plain(self) -> PlainQueries | None:
        """Returns the block for a backend that runs the loop whole; None if a query or a stored case is not plain."""
        if not (self._plain.all() and self.corpus.plain.all()):
            return None
        ptr, at = self.statements
        corpus = self.corpus
        return PlainQueries(
            self.lists, self.table, ptr, self._sorted_rows[at], self.self_scores, corpus.cases.ptr,
            corpus.sorted_kinds, corpus.normaliser, corpus.tie_rank, self.among,
        )  # fmt: skip

    def _among_first(self, limit: int, k: int) -> tuple[Tops, npt.NDArray[np.bool_]]:
        """Returns the best among the first ``limit`` cases in bound order, and which queries are proved by them."""
        able = np.count_nonzero(self.bounds, axis=1)
        short, short_keys = self._ops.select(
            self.bounds, self.corpus.normaliser, self.self_scores, self.corpus.tie_rank, limit
        )
        tie_rank = self.corpus.tie_rank
        best, everyone = _Best(len(self), k), np.arange(len(self))
        proved = able == 0
        done = 0
        while not proved.all() and done < limit:
            part = slice(done, min(limit, done + max(_FIRST_LOOK, done // 2)))
            done = part.stop
            query, column = np.nonzero(~proved[:, None] & (short[:, part] >= 0))
            case = short[query, part.start + column].astype(np.int64)
            scores, limits = self.align(query, case)
            best.add(
                query, case, scores, limits, self.keys(query, case, scores), self.keys(query, case, limits), tie_rank
            )
            proved |= able <= done
            if done < limit:
                proved |= best.ends_before(everyone, short_keys[:, done], tie_rank[short[:, done]])
        return best.tops(self._count_aligned(best, able, short, short_keys)), proved

    def _count_aligned(self, best: _Best, able: LongArray, short: IntArray, short_keys: LongArray) -> LongArray:
        """Returns how many cases have a bound that alone does not place them after the last hit, or any, [B]."""
        tie_rank = self.corpus.tie_rank
        keys, ranks = best.last_key[:, None], best.last_rank[:, None]
        not_after = (short >= 0) & ((short_keys > keys) | ((short_keys == keys) & (tie_rank[short] <= ranks)))
        count = np.where(best.full, not_after.sum(axis=1), able)
        for query in np.flatnonzero(best.full & not_after[:, -1] & (able > short.shape[1])).tolist():
            case = np.flatnonzero(self.bounds[query])
            bound_keys = self.keys(np.full(len(case), query), case, self.bounds[query, case].astype(np.int64))
            key, rank = best.last_key[query], best.last_rank[query]
            count[query] = ((bound_keys > key) | ((bound_keys == key) & (tie_rank[case] <= rank))).sum()
        return count

    @cached_property
    def _plain(self) -> npt.NDArray[np.bool_]:
        structure = self.batch.structure
        if structure is None:
            return np.ones(len(self), np.bool_)
        return structure.plain(self.batch.ptr)[self.numbers]

    @cached_property
    def _structured(self) -> StructuredCases:
        """The batch, which must have structure, as one side of pairs."""
        structure = self.batch.structure
        assert structure is not None
        constants = number_constants(structure.entities, self.corpus.constants)
        return StructuredCases(self.batch.ptr, self.rows, structure, constants)

    @cached_property
    def _sorted_rows(self) -> LongArray:
        """Rows of the batch's statements, ascending within a query."""
        if self.batch.structure is None:
            return self.rows
        owner = np.repeat(np.arange(len(self.batch)), np.diff(self.batch.ptr))
        return self.rows[np.lexsort((self.rows, owner))]


class _Best:
    """The best cases so far of ``B`` queries, ``k`` at most each: flat columns, by query, then in rank order."""

    def __init__(self, queries: int, k: int) -> None:
        self._queries, self._k = queries, k
        self._columns: list[LongArray] = [np.zeros(0, np.int64)] * 5  # query, case, score, limit, rank key
        self._loose: list[LongArray] = [np.zeros(0, np.int64)] * 3  # query, rank key of the limit, tie rank
        self.full = np.zeros(queries, np.bool_)
        self.last_key = np.zeros(queries, np.int64)  # of the k-th case, where there is one
        self.last_rank = np.zeros(queries, np.int64)

    def add(
        self,
        query: LongArray,
        case: LongArray,
        score: LongArray,
        limit: LongArray,
        key: LongArray,
        limit_key: LongArray,
        tie_rank: IntArray,
    ) -> None:
        """Takes in aligned cases."""
        loose = limit > score
        new = [query[loose], limit_key[loose], tie_rank[case[loose]].astype(np.int64)]
        self._loose = [np.concatenate([a, b]) for a, b in zip(self._loose, new, strict=True)]
        matched = score > 0  # a case with structure may have a bound and yet no mapping
        new = [c[matched] for c in (query, case, score, limit, key)]
        columns: list[LongArray] = [np.concatenate([a, b]) for a, b in zip(self._columns, new, strict=True)]
        order = np.lexsort((tie_rank[columns[1]], -columns[4], columns[0]))
        columns = [c[order] for c in columns]
        ptr = pointers(columns[0], self._queries)
        kept = np.arange(len(order)) - ptr[columns[0]] < self._k
        self._columns = [c[kept] for c in columns]
        self.full = np.diff(ptr) >= self._k
        last = ptr[:-1][self.full] + self._k - 1
        self.last_key[self.full] = columns[4][last]
        self.last_rank[self.full] = tie_rank[columns[1][last]]

    def ends_before(self, query: LongArray, key: LongArray, rank: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Returns for each entry whether the k-th case of its query comes before one with this key and tie rank."""
        last_key, last_rank = self.last_key[query], self.last_rank[query]
        found: npt.NDArray[np.bool_] = (last_key > key) | ((last_key == key) & (last_rank < rank))
        return found & self.full[query]

    def tops(self, aligned: LongArray) -> Tops:
        """Returns the outcome."""
        query, *columns = self._columns
        place = np.arange(len(query)) - pointers(query, self._queries)[query]
        case, score, limit, key = (np.zeros((self._queries, self._k), np.int64) for _ in range(4))
        case -= 1
        for to, column in zip((case, score, limit, key), columns, strict=True):
            to[query, place] = column
        certified = np.ones(self._queries, np.bool_)
        loose, limit_key, rank = self._loose
        certified[loose[~self.ends_before(loose, limit_key, rank)]] = False
        return Tops(case, score, limit, key, certified, aligned)
