"""Blocks of queries over invented cases, for the parity and the speed of the ops."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..lattice.arrays import distinct, pointers
from ..ops import FoldedLists, PairBlock, PlainQueries, PostingLists
from ..scoring import Dials, Normaliser, PairTable
from ..scoring.grid import SCORE_LIMIT

__all__ = ["NORMALISATIONS", "Problem", "invented", "mask", "pairs_all", "pairs_of"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

NORMALISATIONS = ("power(0)", "power(0.5)", "max", "min")


@dataclass(frozen=True)
class Problem:
    """``B`` queries over ``N`` cases.

    Attributes:
        postings: a list for each row of ``table``, not folded.
        lists: the same lists, folded.
        table: values of pairs.
        query_ptr: int64 ``[B + 1]``.
        query_rows: int64 ``[.]``, rows of ``table`` of the statements of each query, ascending.
        query_entities: int32 ``[B]``.
        case_ptr: int64 ``[N + 1]``.
        case_kinds: int32 ``[.]``, ascending within a case.
        self_query: int64 ``[B]``, units of 2^-16 bit.
        self_scores: int64 ``[N]``, likewise.
        tie_rank: int32 ``[N]``.
    """

    postings: PostingLists
    lists: FoldedLists
    table: PairTable
    query_ptr: LongArray
    query_rows: LongArray
    query_entities: IntArray
    case_ptr: LongArray
    case_kinds: IntArray
    self_query: LongArray
    self_scores: LongArray
    tie_rank: IntArray

    @property
    def query_lists(self) -> IntArray:
        """Numbers of the lists of each query's statements, int32."""
        return self.query_rows.astype(np.int32)

    def normaliser(self, normalisation: str) -> Normaliser:
        """Returns the normaliser of these cases."""
        return Normaliser.build(Dials(normalisation=normalisation), self.self_scores)

    def plain(self, normalisation: str, among: BoolArray | None = None) -> PlainQueries:
        """Returns the same for a backend that runs the whole loop; all entities of a query or a case are one to it."""
        return PlainQueries(
            self.lists, self.table, self.query_ptr, self.query_rows, self.self_query, self.case_ptr, self.case_kinds,
            self.normaliser(normalisation), self.tie_rank, among,
        )  # fmt: skip

    def first(self, queries: int) -> Problem:
        """Returns the problem of the first of the queries."""
        ptr = self.query_ptr[: queries + 1]
        return replace(
            self,
            query_ptr=ptr,
            query_rows=self.query_rows[: ptr[-1]],
            query_entities=self.query_entities[:queries],
            self_query=self.self_query[:queries],
        )

    def __len__(self) -> int:
        return len(self.query_entities)


def invented(
    rng: np.random.Generator,
    queries: int,
    cases: int,
    *,
    kinds: int = 400,
    asked: int = 60,
    query_size: int = 8,
    case_size: int = 15,
    near: int = 4,
    greatest: int = 20 << 16,
    most_entities: int = 1,
    repeats: bool = False,
) -> Problem:
    """Returns a problem whose lists, table and cases belong together.

    Args:
        rng: where all numbers come from.
        queries: ``B``.
        cases: ``N``.
        kinds: how many kinds stored statements have; the first are the most frequent.
        asked: how many of them, at most, queries name.
        query_size: greatest number of statements of a query; sizes vary from 0.
        case_size: mean number of statements of a case; some have none.
        near: how many other kinds each kind of a query can match.
        greatest: greatest value of a pair, units of 2^-16 bit; few values differ, so that ties are many.
        most_entities: greatest number of entities of a case.
        repeats: a query may have several statements of one kind.
    """
    chance = 1 / (np.arange(kinds) + 10)
    chance /= chance.sum()
    sizes = rng.integers(0, 2 * case_size + 1, cases)
    drawn = rng.choice(kinds, int(sizes.sum()), p=chance)
    places = distinct(np.repeat(np.arange(cases, dtype=np.int64), sizes) * kinds + drawn)
    case_kinds, case_ptr = (places % kinds).astype(np.int32), pointers(places // kinds, cases)

    functors = distinct(rng.choice(kinds, min(asked, kinds), replace=False, p=chance))
    row = np.repeat(np.arange(len(functors)), near + 1)
    stored = rng.choice(kinds, len(row))
    stored[:: near + 1] = functors
    value = rng.integers(1, 9, len(row)) * max(greatest // 8, 1)
    place, first = np.unique(row * np.int64(kinds) + stored, return_index=True)
    row, stored, value = place // kinds, (place % kinds).astype(np.int32), value[first]
    nothing = np.zeros(len(row), np.int32)
    ptr = pointers(row, len(functors))
    table = PairTable(functors.astype(np.int32), ptr, stored, value.astype(np.int64), nothing, nothing)

    wanted = rng.integers(0, query_size + 1, queries)
    asks = rng.integers(0, max(len(functors), 1), int(wanted.sum()))
    order = np.repeat(np.arange(queries, dtype=np.int64), wanted) * max(len(functors), 1) + asks
    order = np.sort(order) if repeats else distinct(order)
    query_rows, query = order % max(len(functors), 1), order // max(len(functors), 1)
    own = rng.integers(1, 9, kinds) * max(greatest // 8, 1)
    entities = rng.integers(1, most_entities + 1, cases).astype(np.int32)
    self_scores = np.bincount(np.repeat(np.arange(cases), np.diff(case_ptr)), own[case_kinds], cases)
    self_query = np.bincount(query, own[functors[query_rows]] if len(functors) else None, queries)
    holder = np.repeat(np.arange(cases, dtype=np.int32), np.diff(case_ptr))[np.argsort(case_kinds, kind="stable")]
    postings = PostingLists(table, pointers(np.sort(case_kinds), kinds), holder, entities)
    return Problem(
        postings,
        postings.fold(),
        table,
        pointers(query, queries),
        query_rows,
        rng.integers(1, most_entities + 1, queries).astype(np.int32),
        case_ptr,
        case_kinds,
        np.minimum(self_query, SCORE_LIMIT - 1).astype(np.int64),
        np.minimum(self_scores, SCORE_LIMIT - 1).astype(np.int64),
        rng.permutation(cases).astype(np.int32),
    )


def mask(rng: np.random.Generator, problem: Problem) -> BoolArray:
    """Returns a mask of cases for each query, bool ``[B, N]``: here and there a query has none, or all."""
    share = rng.choice([0.0, 0.5, 1.0], len(problem), p=[0.1, 0.8, 0.1])
    found: BoolArray = rng.random((len(problem), len(problem.tie_rank))) < share[:, None]
    return found


def pairs_of(problem: Problem, query: LongArray, case: LongArray) -> PairBlock:
    """Returns these pairs; ``query`` ascending."""
    return PairBlock(query, case, problem.query_ptr, problem.query_rows, problem.case_ptr, problem.case_kinds)


def pairs_all(problem: Problem) -> PairBlock:
    """Returns every query with every case."""
    query, case = np.divmod(np.arange(len(problem) * len(problem.tie_rank)), max(len(problem.tie_rank), 1))
    return pairs_of(problem, query, case)
