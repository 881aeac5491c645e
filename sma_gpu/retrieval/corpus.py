"""The corpus: what is computed once from the stored cases and never again."""

from __future__ import annotations

import hashlib
import math
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
from ..ops import FoldedLists, PostingLists
from ..scoring import (
    Dials,
    Kinds,
    Normaliser,
    PairTable,
    Shapes,
    functor_costs,
    kinds_of,
    pair_table,
    to_bits,
    to_grid,
)
from ..scoring.grid import ENTITY_VALUE, GRID, SCORE_LIMIT
from ..scoring.pairs import invert
from ..scoring.scorers import closure_counts

__all__ = ["Corpus", "own_values", "self_scores", "supported"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_FEW = 8  # a batch that asks for more than one functor in so many gets the lists of all
_KEPT_ENTRIES = 1 << 27  # at most so many entries, 1 GiB, are kept


@dataclass(frozen=True)
class Corpus:
    """Stored cases with all that retrieval needs: counts made costs, costs made integers, postings, self-scores.

    Over flat cases a kind of statement is a functor and has its number. Over a batch with structure, the lattice is the
    signed one and kinds are what ``kinds_of`` finds.

    Attributes:
        mounted: the ontology.
        dials: what scores depend on.
        cases: the indexed cases in code-point order of their keys, so that the number of a case is its tie rank.
        costs: float64 ``[T]``, cost of each (signed) functor in bits.
        shapes: numbers of the shapes of the stored statements.
        kinds: ``K`` kinds of statements.
        case_kinds: int32 ``[S]``, kind of each stored statement.
        entities: int32 ``[N]``, number of entities of each case.
        values: int64 ``[K]``, value of a statement of each kind matched with itself, units of 2^-16 bit.
        normaliser: self-scores and rank factors of the cases.
        near: ancestors of each functor at most delta hops up.
        below: stored functors at most delta hops below each ancestor.
        posting_ptr: int64 ``[K + 1]``; which cases have a statement of each kind.
        posting_cases: int32 ``[S]``.
        set_aside: keys of cases with nothing to match on; they are not indexed and never returned.
    """

    mounted: Mounted
    dials: Dials
    cases: CaseBatch
    costs: npt.NDArray[np.float64]
    shapes: Shapes
    kinds: Kinds
    case_kinds: IntArray
    entities: IntArray
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
        check_functors(cases, mounted)
        ordered, set_aside = _in_key_order(cases)
        lattice, size, shapes = mounted.lattice, len(mounted.lattice), Shapes()
        if ordered.structure is None:
            kinds, case_kinds = Kinds.unary(np.arange(size), dials.gamma), ordered.functors
            entities = np.ones(len(ordered), np.int32)
        else:
            lattice = lattice.signed()
            kinds, of_statement = kinds_of(ordered, size, shapes, dials.gamma)
            case_kinds = of_statement.astype(np.int32)
            entities = ordered.structure.entity_counts()
        functors = kinds.functors[case_kinds]
        near = lattice.hops_up(dials.delta)
        costs = functor_costs(dials, lattice, near, ordered.ptr, functors)
        values = own_values(costs, kinds)
        stored = np.zeros(len(lattice), bool)
        stored[functors] = True
        owner = np.repeat(np.arange(len(ordered), dtype=np.int32), np.diff(ordered.ptr))
        by_kind = np.argsort(case_kinds, kind="stable")
        return cls(
            mounted,
            dials,
            ordered,
            costs,
            shapes,
            kinds,
            case_kinds,
            entities,
            values,
            Normaliser.build(dials, self_scores(ordered, values[case_kinds])),
            near,
            invert(near, stored),
            pointers(case_kinds[by_kind], len(kinds)),
            owner[by_kind],
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
        """In how many flat cases each functor holds, itself or through a narrower one, int64 ``[T]``."""
        return closure_counts(self.mounted.lattice, self.cases.ptr, self.cases.functors)

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
        pairs = self.pairs_of(self.kinds.take(distinct(self.case_kinds)))
        arrays = [
            self.cases.ptr, self.cases.functors, self.cases.excluded_ptr, self.cases.excluded, self.values,
            self.normaliser.self_scores, self.normaliser.factors, pairs.ptr, pairs.stored, pairs.value,
        ]  # fmt: skip
        structure = self.cases.structure
        if structure is not None:
            arrays += [
                self.kinds.functors, self.kinds.weights, self.kinds.trickle, self.case_kinds, structure.commutative,
                structure.arg_ptr, structure.args, structure.entity_ptr,
                np.array([e.constant for e in structure.entities], np.bool_),
            ]  # fmt: skip
            digest.update("\0".join(f"{e.name}\0{e.type}" for e in structure.entities).encode("utf-8", "surrogatepass"))
        for array in arrays:
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
        """Returns the score of a flat case against itself, units of 2^-16 bit; 0 if no functor is telling."""
        total = int(self.values[functors].sum())
        return ENTITY_VALUE + total if total else 0

    def pairs(self, functors: npt.ArrayLike) -> PairTable:
        """Returns the values of the given functors of a flat query (distinct, ascending) with every stored kind."""
        return self.pairs_of(Kinds.unary(functors, self.dials.gamma))

    def pairs_of(self, kinds: Kinds) -> PairTable:
        """Returns the values of the given query kinds with every stored kind."""
        return pair_table(self.dials, self.costs, self.near, self.below, kinds, self.kinds)

    @cached_property
    def plain(self) -> npt.NDArray[np.bool_]:
        """Whether each case has but unary statements of one entity that is no constant, bool ``[N]``."""
        structure = self.cases.structure
        return np.ones(len(self), bool) if structure is None else structure.plain(self.cases.ptr)

    @cached_property
    def sorted_kinds(self) -> IntArray:
        """Kinds of the stored statements, ascending within a case, int32 ``[S]``."""
        if self.cases.structure is None:
            return self.case_kinds
        owner = np.repeat(np.arange(len(self)), np.diff(self.cases.ptr))
        return self.case_kinds[np.lexsort((self.case_kinds, owner))]

    @cached_property
    def spelled_out(self) -> Corpus:
        """The same corpus over cases with structure, which queries with structure need; itself if it is so already."""
        if self.cases.structure is not None:
            return self
        return Corpus.build(self.cases.spelled_out(), self.mounted, self.dials)

    def lists_for(self, functors: IntArray) -> tuple[PairTable, FoldedLists]:
        """Returns values and folded lists for the functors of flat queries; each row of both is of one functor.

        The lists of all functors are made, and kept, when a batch asks for many of them and they fit; else only those
        asked for are made. Which it is changes time and memory, never a list.

        Args:
            functors: int32, distinct, ascending.
        """
        if "_every" in self.__dict__ or (
            len(functors) * _FEW > len(self.costs) and self.postings(self._every_pair).entries <= _KEPT_ENTRIES
        ):
            return self._every
        table = self.pairs(functors)
        return table, self.fold(table)

    @cached_property
    def _every(self) -> tuple[PairTable, FoldedLists]:
        return self._every_pair, self.fold(self._every_pair)

    @cached_property
    def _every_pair(self) -> PairTable:
        return self.pairs(np.arange(len(self.mounted.lattice)))

    def postings(self, table: PairTable) -> PostingLists:
        """Returns the lists of the rows of ``table``, not folded."""
        return PostingLists(table, self.posting_ptr, self.posting_cases, self.entities)

    def fold(self, table: PairTable) -> FoldedLists:
        """Returns the folded list of every row of ``table``: the cases it can match, and the best value each gives."""
        return self.postings(table).fold()

    def similarity(self, first: str, second: str) -> float:
        """Returns what matching two terms is worth in bits, the first as query; 0.0 if they are not compatible.

        Raises:
            KeyError: an id that is not a term of the ontology.
        """
        number = self.mounted.ontology.number
        query, stored = (Kinds.unary([number[term]], self.dials.gamma) for term in (first, second))
        marked = np.zeros(len(self.costs), bool)
        marked[stored.functors] = True
        table = pair_table(self.dials, self.costs, self.near, invert(self.near, marked), query, stored)
        return to_bits(int(table.value.sum()))


def own_values(costs: npt.NDArray[np.float64], kinds: Kinds) -> LongArray:
    """Returns the value of a statement of each kind matched with itself, int64, units of 2^-16 bit.

    Raises:
        CapacityError: one reaches 2^31.
    """
    greatest = float(kinds.trickle.max(initial=0.0))
    bits = costs[kinds.functors] * kinds.weights * (kinds.trickle if math.isfinite(greatest) else 0.0)
    greatest = max(float(bits.max(initial=0.0)), 0.0 if math.isfinite(greatest) else greatest)
    if not greatest * GRID < SCORE_LIMIT:
        raise CapacityError(
            f"the value of {len(kinds)} kinds of statements",
            f"one would be worth {greatest:.3g} bits, where scores stay below {SCORE_LIMIT // GRID}",
            "Lower the dial gamma, or split statements that rest on very many others.",
        )
    return to_grid(bits)


def _in_key_order(cases: CaseBatch) -> tuple[CaseBatch, tuple[str, ...]]:
    order = sorted(range(len(cases)), key=cases.keys.__getitem__)
    doubles = sorted({cases.keys[a] for a, b in zip(order, order[1:], strict=False) if cases.keys[a] == cases.keys[b]})
    if doubles:
        raise CaseError(
            f"index {len(cases)} cases", f"more than one has the key {doubles[0]}", "Give every case a key of its own."
        )
    sizes = np.diff(cases.ptr)
    return cases.take([i for i in order if sizes[i]]), tuple(cases.keys[i] for i in order if not sizes[i])


def self_scores(cases: CaseBatch, own: LongArray) -> LongArray:
    """Returns the score of each case against itself, int64 ``[N]``, units of 2^-16 bit.

    A statement counts if it is worth something and so are all statements it is made of: a hypothesis of value 0 does
    not exist, and supports nothing.

    Args:
        cases: ``N`` cases.
        own: int64 ``[S]``, value of each statement with itself.

    Raises:
        CapacityError: one reaches 2^31.
    """
    structure = cases.structure
    counted, entities = own, np.ones(len(cases), np.int64)
    if structure is not None:
        counted = np.where(supported(cases, own > 0), own, 0)
        entities = structure.entity_counts().astype(np.int64)
    running = np.concatenate([[0], np.cumsum(counted)])
    totals = running[cases.ptr[1:]] - running[cases.ptr[:-1]]
    scores = np.where(totals > 0, totals + entities * ENTITY_VALUE, 0).astype(np.int64)
    if scores.size and int(scores.max()) >= SCORE_LIMIT:
        largest = int(scores.argmax())
        raise CapacityError(
            f"case {cases.keys[largest] or largest}",
            f"its self-score is {int(scores[largest])} units of 2^-16 bit, where scores stay below 2^31",
            "Split the case, or lower the dial gamma.",
        )
    return scores


def supported(cases: CaseBatch, held: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Returns for each statement of a batch with structure whether it and all statements below it are held, [S]."""
    structure = cases.structure
    assert structure is not None
    start, size = (np.repeat(a, np.diff(cases.ptr)) for a in (cases.ptr[:-1], np.diff(cases.ptr)))
    sound = held.copy()
    for order in range(2, int(structure.order.max(initial=0)) + 1):
        level = np.flatnonzero(structure.order == order)
        owner, at = expand(structure.arg_ptr, level)
        argument = structure.args[at]
        inner = argument < size[level][owner]
        broken = ~sound[(start[level][owner] + argument)[inner]]
        sound[level[owner[inner][broken]]] = False
    return sound
