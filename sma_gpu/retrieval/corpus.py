"""The corpus: what is computed once from the stored cases and never again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.batch import check_functors
from ..errors import CapacityError, CaseError, UnknownKey
from ..lattice import HopTable
from ..lattice.arrays import distinct, expand, pointers
from ..ontologies.mount import Mounted
from ..ops import FoldedLists
from ..scoring import Dials, Normaliser, PairTable, functor_costs, pair_table, to_bits, to_grid
from ..scoring.grid import ENTITY_VALUE, GRID, SCORE_LIMIT, flat_shape
from ..scoring.pairs import invert
from ..scoring.scorers import closure_counts

__all__ = ["Corpus"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Corpus:
    """Stored cases with all that retrieval needs: counts made costs, costs made integers, postings, self-scores.

    Attributes:
        mounted: the ontology.
        dials: what scores depend on.
        cases: the indexed cases in code-point order of their keys, so that the number of a case is its tie rank.
        costs: float64 ``[T]``, cost of each functor in bits.
        values: int64 ``[T]``, value of each functor matched with itself, units of 2^-16 bit.
        normaliser: self-scores and rank factors of the cases.
        near: ancestors of each functor at most delta hops up.
        below: stored functors at most delta hops below each ancestor.
        posting_ptr: int64 ``[T + 1]``; which cases state each functor.
        posting_cases: int32 ``[statements]``.
        set_aside: keys of cases with nothing to match on; they are not indexed and never returned.
    """

    mounted: Mounted
    dials: Dials
    cases: CaseBatch
    costs: npt.NDArray[np.float64]
    values: LongArray
    normaliser: Normaliser
    near: HopTable
    below: HopTable
    posting_ptr: LongArray
    posting_cases: IntArray
    set_aside: tuple[str, ...]

    @classmethod
    def build(cls, cases: CaseBatch, mounted: Mounted, dials: Dials | None = None) -> Self:
        """Returns the corpus of ``cases``; their order does not matter.

        Raises:
            CaseError: two cases have one key, or a case has a functor that the ontology does not have.
            CapacityError: a case whose self-score reaches 2^31 units.
        """
        dials = dials or Dials()
        lattice = mounted.lattice
        size = len(lattice)
        check_functors(cases, mounted)
        ordered, set_aside = _in_key_order(cases)
        near = lattice.hops_up(dials.delta)
        costs = functor_costs(dials, lattice, near, ordered)
        _check_capacity(float(costs.max(initial=0.0)) * flat_shape(dials.gamma), dials)
        values = to_grid(costs * flat_shape(dials.gamma))
        stored = np.zeros(size, bool)
        stored[ordered.functors] = True
        owner = np.repeat(np.arange(len(ordered), dtype=np.int32), np.diff(ordered.ptr))
        by_functor = np.argsort(ordered.functors, kind="stable")
        return cls(
            mounted,
            dials,
            ordered,
            costs,
            values,
            Normaliser.build(dials, _self_scores(ordered, values)),
            near,
            invert(near, stored),
            pointers(ordered.functors[by_functor], size),
            owner[by_functor],
            set_aside,
        )

    def __len__(self) -> int:
        return len(self.cases)

    @cached_property
    def tie_rank(self) -> IntArray:
        """Place of each case among equal rank keys, int32 ``[N]``: cases are in the order of their keys already."""
        return np.arange(len(self), dtype=np.int32)

    @cached_property
    def holders(self) -> LongArray:
        """In how many cases each functor holds, itself or through a narrower one, int64 ``[T]``."""
        return closure_counts(self.mounted.lattice, self.cases)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the indexed cases, code-point order."""
        return self.cases.keys

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over dials, ontology, cases and every integer that decides an answer, hex."""
        digest = hashlib.sha256()
        for text in (self.dials.canonical_json(), self.mounted.ontology.sha256, "\0".join(self.keys)):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0\0")
        pairs = self.pairs(distinct(self.cases.functors))
        for array in (
            self.cases.ptr, self.cases.functors, self.cases.excluded_ptr, self.cases.excluded, self.values,
            self.normaliser.self_scores, self.normaliser.factors, pairs.ptr, pairs.stored, pairs.value,
        ):  # fmt: skip
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def number_of(self, key: str) -> int:
        """Returns the number of the case with this key.

        Raises:
            UnknownKey: there is none, or it has nothing to match on.
        """
        number = self._numbers.get(key)
        if number is None:
            found = "that case has nothing to match on" if key in self.set_aside else "no indexed case has that key"
            raise UnknownKey(f"case {key}", found, "Keys are case-sensitive; give one exactly as it was stored.")
        return number

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {key: number for number, key in enumerate(self.keys)}

    def self_score(self, functors: IntArray) -> int:
        """Returns the score of a set of distinct functors against itself, units of 2^-16 bit; 0 if none is telling."""
        total = int(self.values[functors].sum())
        return ENTITY_VALUE + total if total else 0

    def pairs(self, functors: npt.ArrayLike) -> PairTable:
        """Returns the values of the given query functors (distinct, ascending) with every stored functor."""
        return pair_table(self.dials, self.costs, self.near, self.below, np.asarray(functors, dtype=np.int32))

    def fold(self, table: PairTable) -> FoldedLists:
        """Returns the folded list of every row of ``table``: the cases it can match and the best value each gives."""
        row = np.repeat(np.arange(len(table.functors), dtype=np.int64), np.diff(table.ptr))
        pair, at = expand(self.posting_ptr, table.stored)
        place = row[pair] * max(len(self), 1) + self.posting_cases[at]
        value = table.value[pair]
        order = np.lexsort((-value, place))
        place, value = place[order], value[order]
        first = np.ones(len(place), bool)
        first[1:] = place[1:] != place[:-1]
        lists, cases = np.divmod(place[first], max(len(self), 1))
        ptr = pointers(lists, len(table.functors))
        return FoldedLists(ptr, cases.astype(np.int32), value[first].astype(np.int32), len(self))

    def similarity(self, first: str, second: str) -> float:
        """Returns what matching two terms is worth in bits, the first as query; 0.0 if they are not compatible.

        Raises:
            KeyError: an id that is not a term of the ontology.
        """
        number = self.mounted.ontology.number
        query, stored = number[first], number[second]
        marked = np.zeros(len(self.costs), bool)
        marked[stored] = True
        table = pair_table(self.dials, self.costs, self.near, invert(self.near, marked), np.array([query], np.int32))
        return to_bits(int(table.value.sum()))


def _check_capacity(greatest_bits: float, dials: Dials) -> None:
    if not greatest_bits * GRID < SCORE_LIMIT:
        raise CapacityError(
            f"index under the dials {dials.canonical_json()}",
            f"one statement would be worth {greatest_bits:.3g} bits, where scores stay below {SCORE_LIMIT // GRID}",
            "Lower the dial gamma.",
        )


def _in_key_order(cases: CaseBatch) -> tuple[CaseBatch, tuple[str, ...]]:
    order = sorted(range(len(cases)), key=cases.keys.__getitem__)
    doubles = sorted({cases.keys[a] for a, b in zip(order, order[1:], strict=False) if cases.keys[a] == cases.keys[b]})
    if doubles:
        raise CaseError(
            f"index {len(cases)} cases", f"more than one has the key {doubles[0]}", "Give every case a key of its own."
        )
    sizes = np.diff(cases.ptr)
    return cases.take([i for i in order if sizes[i]]), tuple(cases.keys[i] for i in order if not sizes[i])


def _self_scores(cases: CaseBatch, values: LongArray) -> LongArray:
    running = np.concatenate([[0], np.cumsum(values[cases.functors])])
    totals = running[cases.ptr[1:]] - running[cases.ptr[:-1]]
    scores = np.where(totals > 0, totals + ENTITY_VALUE, 0).astype(np.int64)
    if scores.size and int(scores.max()) >= SCORE_LIMIT:
        largest = int(scores.argmax())
        raise CapacityError(
            f"index case {cases.keys[largest]}",
            f"its self-score is {int(scores[largest])} units of 2^-16 bit, where scores stay below 2^31",
            "Split the case, or lower the dial gamma.",
        )
    return scores
