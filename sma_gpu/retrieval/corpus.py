"""The corpus: what is computed once from the stored cases and never again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch, Entity
from ..cases.batch import check_functors
from ..errors import UnknownKey
from ..lattice import HopTable
from ..lattice.arrays import distinct, member, pointers
from ..ontologies.mount import Mounted
from ..ops import FoldedLists, Lists, Ops, PostingLists, QuerywiseOps, WholeOps
from ..ops.structure import StructuredCases, number_constants
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
)
from ..scoring.grid import ENTITY_VALUE
from ..scoring.pairs import invert
from ..scoring.scorers import closure_counts, information_content
from .self_scores import own_values, self_scores
from .weighing import WeighedQueries, stated_alone, weighed_cases

__all__ = ["KEPT_BYTES", "MADE_ENTRY_BYTES", "MADE_PAIR_BYTES", "Corpus", "ListsForm"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_FEW = 8  # a batch that asks for more than one functor in so many gets the lists of all
_KEPT_PAIRS = 1 << 25  # the table of all pairs is made and kept where it may have so many; few turn out to be distinct
_PAIRS_AT_ONCE = 1 << 22  # changes memory, never a pair
_PAIR_BYTES = 20  # of a pair in the table: stored kind, value, ancestor, distance
_ENTRY_BYTES = 8  # of an entry in a folded list: case and value
MADE_PAIR_BYTES = 128  # of a pair while a table is made: sorted by five keys
MADE_ENTRY_BYTES = 64  # of an entry while lists are folded
KEPT_BYTES = 1 << 27  # folded lists of all functors are made and kept where they take no more, 128 MiB


@dataclass(frozen=True)
class ListsForm:
    """In which form a batch that asks many functors finds the lists of all of them.

    Attributes:
        form: ``folded`` or ``postings``.
        list_bytes: what they take in that form; folded lists at most so much, until they were made.
        table_bytes: what the table of compatible pairs takes, or would take.
        kept_bytes: up to how many bytes folded lists are kept.
    """

    form: str
    list_bytes: int
    table_bytes: int
    kept_bytes: int


@dataclass(frozen=True)
class Corpus:
    """Stored cases with all that retrieval needs: counts made costs, costs made integers, postings, self-scores.

    Over flat cases a kind of statement is a functor and has its number; under the scorer ``evidence`` it is a functor
    with a strength. Over a batch with structure, the lattice is the signed one and kinds are what ``kinds_of`` finds.

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
        ordered, set_aside = cases.in_key_order()
        lattice, size, shapes = mounted.lattice, len(mounted.lattice), Shapes()
        entities = np.ones(len(ordered), np.int32)
        if dials.weighing:
            kinds, case_kinds, costs = weighed_cases(ordered, lattice, dials)
        elif ordered.structure is None:
            kinds, case_kinds, costs = Kinds.unary(np.arange(size), dials.gamma), ordered.functors, None
        else:
            lattice = lattice.signed()
            kinds, of_statement = kinds_of(ordered, size, shapes, dials.gamma)
            case_kinds, costs = of_statement.astype(np.int32), None
            entities = ordered.structure.entity_counts()
        functors = kinds.functors[case_kinds]
        near = lattice.hops_up(dials.delta)
        if costs is None:
            costs = functor_costs(dials, lattice, near, ordered.ptr, functors)
        values = own_values(dials, costs, kinds)
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
        if self.cases.structure is None:
            pairs = self._made_in_parts(distinct(self.cases.functors))
        else:
            pairs = self.pairs_of(self.kinds.take(distinct(self.case_kinds)))
        arrays = [
            self.cases.ptr, self.cases.functors, self.cases.excluded_ptr, self.cases.excluded, self.values,
            self.normaliser.self_scores, self.normaliser.factors, pairs.ptr, pairs.stored, pairs.value,
        ]  # fmt: skip
        if self.dials.weighing:
            arrays += [self.kinds.functors, self.case_kinds]
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
        """Returns the score of a flat query against itself, units of 2^-16 bit; 0 if no functor is telling."""
        total = int(self.query_values(np.array([0, len(functors)]), functors).sum())
        return ENTITY_VALUE + total if total else 0

    def query_kinds(self, ptr: LongArray, functors: IntArray) -> tuple[Kinds, LongArray]:
        """Returns the distinct kinds of the statements of flat queries, and the number of each one's, int64 ``[S]``.

        Args:
            ptr: int64 ``[B + 1]``, cuts the statements.
            functors: int32 ``[S]``.
        """
        if self.dials.weighing:
            return self._weighed.kinds(ptr, functors)
        asked = distinct(functors)
        return Kinds.unary(asked, self.dials.gamma), np.searchsorted(asked, functors).astype(np.int64)

    def pairs_of_query(self, functors: IntArray) -> PairTable:
        """Returns the values of the statements of one flat query, functors ascending, with every stored kind."""
        return self.pairs_of(self.query_kinds(np.array([0, len(functors)]), functors)[0])

    def query_values(self, ptr: LongArray, functors: IntArray) -> LongArray:
        """Returns the value of each statement of flat queries with itself, int64 ``[S]``, units of 2^-16 bit.

        Under the scorer ``evidence`` that is with a copy of the query which states all of it for certain. Arguments are
        those of ``query_kinds``.
        """
        if not self.dials.weighing:
            return self.values[functors]
        return self._weighed.values(ptr, functors)

    def values_of(self, query: IntArray, functors: IntArray) -> LongArray:
        """Returns what each of ``functors`` is worth with itself in a flat query, or, if not in it, as a query alone.

        Args:
            query: int32, functors of the query, ascending.
            functors: int32.

        Returns:
            int64, units of 2^-16 bit.
        """
        own = dict(zip(query.tolist(), self.query_values(np.array([0, len(query)]), query).tolist(), strict=True))
        others = functors[~member(functors, query)]
        own |= zip(others.tolist(), self.query_values(np.arange(len(others) + 1), others).tolist(), strict=True)
        return np.array([own[f] for f in functors.tolist()], np.int64)

    @cached_property
    def _weighed(self) -> WeighedQueries:
        information = information_content(self.holders, len(self))
        return WeighedQueries(self.mounted.lattice, self.dials, information, self.costs)

    def stored_values(self, case: int) -> LongArray:
        """Returns the value of each statement of a case with itself, int64, units of 2^-16 bit."""
        return self.values[self.kinds_in(case)]

    def kinds_in(self, case: int) -> IntArray:
        """Returns the kinds of the statements of a case, int32, in the order of its statements."""
        return self.case_kinds[self.cases.ptr[case] : self.cases.ptr[case + 1]]

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
    def constants(self) -> dict[Entity, int]:
        """A number for each constant among the entities of cases with structure, from 0."""
        structure = self.cases.structure
        held = () if structure is None else (e for e in structure.entities if e.constant)
        return {e: i for i, e in enumerate(dict.fromkeys(held))}

    @cached_property
    def structured(self) -> StructuredCases:
        """The cases, which must have structure, as one side of pairs."""
        structure = self.cases.structure
        assert structure is not None
        return StructuredCases(
            self.cases.ptr, self.case_kinds, structure, number_constants(structure.entities, self.constants)
        )

    @cached_property
    def spelled_out(self) -> Corpus:
        """The same corpus over cases with structure, which queries with structure need; itself if it is so already."""
        if self.cases.structure is not None:
            return self
        return Corpus.build(self.cases.spelled_out(), self.mounted, self.dials)

    def lists_for(
        self,
        functors: IntArray,
        ops: Ops | None = None,
        *,
        kept_bytes: int = KEPT_BYTES,
        spare_bytes: int | None = None,
    ) -> tuple[PairTable, Lists]:
        """Returns values and lists for the functors of flat queries; each row of both is of one functor.

        Folded lists of all functors are made, and kept, when a batch asks for many of them and they fit. Else a backend
        that reads postings gets these, with the table of all functors where that is small, and the others folded lists
        of the functors asked. Which it is changes time and memory, never a bound.

        Args:
            functors: int32, in any order, also more than once.
            ops: who will read them; no one who reads postings where it is None.
            kept_bytes: folded lists of all functors are made only where they take no more.
            spare_bytes: nothing is made for all functors that takes more while it is made; no limit where it is None.
        """
        if "_folded" not in self.__dict__:
            whole = isinstance(ops, WholeOps)
            asked = functors if len(functors) * _FEW <= len(self.costs) else distinct(functors)
            many = len(asked) * _FEW > len(self.costs)
            able = self._can_make_table(spare_bytes)
            if many and able and self._can_fold(kept_bytes, spare_bytes):
                fold = ops.fold if isinstance(ops, QuerywiseOps) else PostingLists.fold
                self.__dict__["_folded"] = fold(self.postings_of_all)
            elif whole and able:
                return self.postings_of_all.table, self.postings_of_all
            else:
                table = self.pairs(distinct(asked))
                return table, self.postings(table) if whole else self.fold(table)
        folded: FoldedLists = self.__dict__["_folded"]
        return self.postings_of_all.table, folded

    def _can_make_table(self, spare_bytes: int | None) -> bool:
        """Returns whether the table of all functors is there, or may be made and kept."""
        pairs = int(self.most_pairs.sum())
        takes = min(pairs, _PAIRS_AT_ONCE) * MADE_PAIR_BYTES + pairs * _PAIR_BYTES
        made = "postings_of_all" in self.__dict__
        return made or (pairs <= _KEPT_PAIRS and (spare_bytes is None or takes <= spare_bytes))

    def _can_fold(self, kept_bytes: int, spare_bytes: int | None) -> bool:
        """Returns whether the lists of all functors may be folded and kept."""
        entries = self.postings_of_all.entries
        fits = spare_bytes is None or entries * MADE_ENTRY_BYTES <= spare_bytes
        return fits and entries * _ENTRY_BYTES <= kept_bytes

    def lists_form(self, kept_bytes: int = KEPT_BYTES) -> ListsForm:
        """Returns in which form the lists of all functors are found by a batch that asks many."""
        table_bytes = int(self.most_pairs.sum()) * _PAIR_BYTES
        if table_bytes <= _KEPT_PAIRS * _PAIR_BYTES and not self.dials.weighing:  # weights are each query's own
            table_bytes = len(self.postings_of_all.table.stored) * _PAIR_BYTES
            folded = self.__dict__.get("_folded")
            entries = self.postings_of_all.entries if folded is None else len(folded.cases)
            if folded is not None or entries * _ENTRY_BYTES <= kept_bytes:
                return ListsForm("folded", entries * _ENTRY_BYTES, table_bytes, kept_bytes)
        postings = self.posting_ptr.nbytes + self.posting_cases.nbytes
        return ListsForm("postings", postings, table_bytes, kept_bytes)

    @cached_property
    def postings_of_all(self) -> PostingLists:
        """Lists of all functors of flat queries, not folded."""
        return self.postings(self._made_in_parts(np.arange(len(self.mounted.lattice), dtype=np.int32)))

    def _made_in_parts(self, functors: IntArray) -> PairTable:
        running = np.cumsum(self.most_pairs[functors])
        cuts = np.searchsorted(running, np.arange(_PAIRS_AT_ONCE, int(running[-1:].sum()), _PAIRS_AT_ONCE))
        return PairTable.concatenate([self.pairs(part) for part in np.split(functors, distinct(cuts))])

    @cached_property
    def most_pairs(self) -> LongArray:
        """At most how many stored kinds a statement of each functor is compatible with, int64 ``[T]``."""
        return self._summed_up(np.diff(self.kinds.by_functor(len(self.costs))))

    @cached_property
    def most_entries(self) -> LongArray:
        """At most how many postings the list of a statement of each functor is folded from, int64 ``[T]``."""
        running = np.concatenate([[0], np.cumsum(np.diff(self.posting_ptr))])
        ptr = self.kinds.by_functor(len(self.costs))
        return self._summed_up(running[ptr[1:]] - running[ptr[:-1]])

    def _summed_up(self, counts: LongArray) -> LongArray:
        """Returns for each functor the counts of all stored functors near it, once for each common ancestor."""
        below = np.concatenate([[0], np.cumsum(counts[self.below.ancestors])])
        near = (below[self.below.ptr[1:]] - below[self.below.ptr[:-1]])[self.near.ancestors]
        if self.dials.weighing:  # siblings do not pair
            own = np.repeat(np.arange(len(counts)), np.diff(self.near.ptr))
            near = np.where(self.near.ancestors == own, near, counts[self.near.ancestors])
        running = np.concatenate([[0], np.cumsum(near)])
        found: LongArray = running[self.near.ptr[1:]] - running[self.near.ptr[:-1]]
        return found

    @cached_property
    def key_column(self) -> npt.NDArray[np.object_]:
        """Keys of the cases by number, object ``[N + 1]``; the last is empty, and is that of case -1."""
        column = np.empty(len(self) + 1, dtype=object)
        column[:-1], column[-1] = self.keys, ""
        return column

    def postings(self, table: PairTable) -> PostingLists:
        """Returns the lists of the rows of ``table``, not folded."""
        return PostingLists(table, self.posting_ptr, self.posting_cases, self.entities)

    def fold(self, table: PairTable) -> FoldedLists:
        """Returns the folded list of every row of ``table``: the cases it can match, and the best value each gives."""
        return self.postings(table).fold()

    def similarity(self, first: str, second: str) -> float:
        """Returns what matching two terms is worth in bits, the first as query; 0.0 if they are not compatible.

        Under the scorer ``evidence`` that is between two cases that state nothing else, and for certain.

        Raises:
            KeyError: an id that is not a term of the ontology.
        """
        number = self.mounted.ontology.number
        query, stored = (Kinds.unary([number[term]], self.dials.gamma) for term in (first, second))
        if self.dials.weighing:
            stored = stated_alone(stored, self.dials)
        marked = np.zeros(len(self.costs), bool)
        marked[stored.functors] = True
        table = pair_table(self.dials, self.costs, self.near, invert(self.near, marked), query, stored)
        return to_bits(int(table.value.sum()))
