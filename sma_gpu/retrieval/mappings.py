"""Mappings of all hits of a batch, as arrays: what ``explain`` says of one hit, for many.

The definition is ``canonical_matching``, hit by hit. Beside it stands a compiled form with the same outcome for those
who have numba; it pays where hits are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CaseError
from ..lattice.arrays import expand_spans
from ..scoring import PairTable
from .block import QueryBlock
from .corpus import Corpus
from .explain import Pairing, canonical_matching

__all__ = ["Mappings", "check_flat", "map_block", "map_hits"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_WORTH_COMPILING = 1 << 12  # hits: seconds by the definition, longer than numba takes to start


@dataclass(frozen=True)
class Mappings:
    """The canonical mappings of the ``[B, K]`` hits of a batch of flat cases, in CSR form.

    Pairs of the hit at place ``p`` of query ``b`` are those from ``ptr[b * K + p]`` to the next pointer, in the order
    of the query's ids; a place without a hit has none.

    Attributes:
        ptr: int64 ``[B * K + 1]``.
        query: int32 ``[pairs]``, functors of the query.
        stored: int32 ``[pairs]``, the functors of the case that they are matched with.
        via: int32 ``[pairs]``, the common ancestor of the two that pays.
        distance: int32 ``[pairs]``, is-a hops over it, both legs together.
        value_q: int64 ``[pairs]``, value of each pair in units of 2^-16 bit.
        explained: float64 ``[B, K]``, share of the query's own value that the mapping covers, 0 to 1.
    """

    ptr: LongArray
    query: IntArray
    stored: IntArray
    via: IntArray
    distance: IntArray
    value_q: LongArray
    explained: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def concatenate(cls, parts: Sequence[Mappings]) -> Mappings:
        """Returns the mappings of all ``parts``, one or more, each of some queries and all of as many places."""
        if len(parts) == 1:
            return parts[0]
        sizes = np.concatenate([np.diff(part.ptr) for part in parts])
        names = ("query", "stored", "via", "distance", "value_q", "explained")
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return cls(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), *columns)

    def of(self, query: int, place: int) -> slice:
        """Returns where the pairs of one hit stand."""
        at = query * self.explained.shape[1] + place
        return slice(int(self.ptr[at]), int(self.ptr[at + 1]))

    def pairs(self, query: int, place: int) -> tuple[Pairing, ...]:
        """Returns the pairs of one hit, as ``explain`` gives them."""
        span = self.of(query, place)
        columns = (self.query, self.stored, self.via, self.distance, self.value_q)
        return tuple(Pairing(*pair) for pair in zip(*(column[span].tolist() for column in columns), strict=True))


def check_flat(corpus: Corpus, batch: CaseBatch) -> None:
    """Refuses to map cases with structure, whose mappings are more than pairs of terms.

    Raises:
        CaseError: the queries or the stored cases have structure.
    """
    if corpus.cases.structure is not None or batch.structure is not None:
        side = "queries" if batch.structure is not None else "stored cases"
        raise CaseError(
            f"mappings of the hits of {len(batch)} queries",
            f"the {side} have structure, and arrays hold mappings of flat cases alone",
            "Ask Index.analogy for the mapping of one hit.",
        )


def map_block(block: QueryBlock, cases: IntArray, backend: str) -> Mappings:
    """Returns the mappings of the hits ``cases`` int32 ``[B, K]`` of a block of flat queries that ``backend`` found."""
    batch = block.batch.take(block.numbers)
    known = block.table, block.rows[block.statements[1]]
    return map_hits(block.corpus, batch, cases, known=known, compiled=backend == "cpu" or None)


def map_hits(
    corpus: Corpus,
    batch: CaseBatch,
    cases: IntArray,
    *,
    known: tuple[PairTable, LongArray] | None = None,
    compiled: bool | None = None,
) -> Mappings:
    """Returns the mappings of the hits of a batch.

    Args:
        corpus: the stored cases, flat ones.
        batch: the queries, flat ones.
        cases: int32 ``[B, K]``, numbers of the hits, -1 where there is none.
        known: values of pairs, and the row of each statement of the queries there, where they are at hand.
        compiled: whether by the compiled form; where it is None, if numba is there and hits are many.
    """
    if compiled is None:
        compiled = int((cases >= 0).sum()) >= _WORTH_COMPILING and find_spec("numba") is not None
    if known is None:
        kinds, rows = corpus.query_kinds(batch.ptr, batch.functors)
        known = corpus.pairs_of(kinds), rows
    table, rows = known
    entry = (_entries_compiled if compiled else _entries)(corpus, batch, cases, table, rows)

    places = cases.shape[1]
    sizes = np.repeat(np.diff(batch.ptr), places)
    place, at = expand_spans(np.repeat(batch.ptr[:-1], places), sizes)
    held = entry >= 0
    place, functors, entry = place[held], batch.functors[at[held]], entry[held]
    value = table.value[entry]
    # Sums of whole numbers below 2^53 are exact in float64.
    own = corpus.query_values(batch.ptr, batch.functors)
    covered = np.bincount(place, np.minimum(value, own[at[held]]), cases.size).reshape(cases.shape)
    owner = np.repeat(np.arange(len(batch)), np.diff(batch.ptr))
    whole = np.bincount(owner, own, len(batch))[:, None]
    return Mappings(
        np.concatenate([[0], np.cumsum(np.bincount(place, minlength=cases.size), dtype=np.int64)]),
        functors,
        corpus.kinds.functors[table.stored[entry]],
        table.via[entry],
        table.distance[entry],
        value,
        np.divide(covered, whole, out=np.zeros(cases.shape), where=whole > 0),
    )


def _entries(corpus: Corpus, batch: CaseBatch, cases: IntArray, table: PairTable, rows: LongArray) -> LongArray:
    """Returns the entry of the table for each statement of each place, query by query and place by place, or -1."""
    found = [np.zeros(0, np.int64)]
    for query, hits in enumerate(cases.tolist()):
        asked = rows[batch.ptr[query] : batch.ptr[query + 1]]
        for case in hits:
            entry = np.full(len(asked), -1, np.int64)
            if case >= 0:
                row, column, at = table.between(asked, corpus.kinds_in(case))
                matched = canonical_matching(row, column, table.value[at], len(asked))
                chosen = matched[row] == column
                entry[row[chosen]] = at[chosen]
            found.append(entry)
    return np.concatenate(found)


def _entries_compiled(
    corpus: Corpus, batch: CaseBatch, cases: IntArray, table: PairTable, rows: LongArray
) -> LongArray:
    """Returns what ``_entries`` does."""
    from ..ops.cpu import CpuOps  # imports numba

    return CpuOps().map_pairs(table, batch.ptr, rows, cases, corpus.cases.ptr, corpus.case_kinds)
