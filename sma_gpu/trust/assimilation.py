"""How cases are taken into generalisations: rounds in which every waiting case asks once, all in one batch.

In a round each case that waits asks for the entry most like it, itself aside. An entry is a generalisation, or a case
that is in none (an outlier). One that is like enough takes the case in:

- a generalisation takes all that ask for it, at once;
- two waiting cases that ask for one another found a generalisation;
- an outlier that waits no more founds one with the most similar of those that ask for it.

Who found nothing like enough waits no more, and who was not taken in waits for the next round. So nothing depends on
an order of the cases: keys settle ties alone. A waiting case that asks for another one, which asks elsewhere, is at the
end of a chain of rising similarity; chains are short, and rounds few.

What is taken in is matched by the canonical mapping. A term and the terms matched with it become one term, the ancestor
under which most is kept: members times bits. A term that does not lie below it stays a term of its own.

Incremental assimilation by similarity, with probabilities of facts, is that of SEQL and SAGE (Kuehne, Forbus, Gentner
and Quinn 2000; McLure, Friedman and Forbus 2010), which take cases one by one, in the order in which they come, and
match a term with itself alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.structure import join_pointers
from ..lattice.arrays import distinct, expand, member, pointers
from ..ops import choose
from ..retrieval.search import retrieve
from ..scoring import to_grid
from ..scoring.normalise import QUOTIENT_SHIFT
from .probable_cases import ProbableCases, Worth

__all__ = ["Effort", "Entries", "Members", "assimilate"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_CASE_OVER_QUERY = 64  # so much more does a whole case take that is asked and mapped: 3 ms by the reference, of 1,000


@dataclass(frozen=True)
class Effort:
    """What assimilation took.

    Attributes:
        rounds: batches that were asked.
        asked: retrievals, all rounds together.
        aligned: cases and entries whose bound did not place them behind the hits, all retrievals together.
    """

    rounds: int = 0
    asked: int = 0
    aligned: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.rounds + other.rounds, self.asked + other.asked, self.aligned + other.aligned)


@dataclass(frozen=True)
class Members:
    """Who belongs to which generalisation, and what became of each statement.

    Attributes:
        cases: ``N`` flat cases in the order of their keys.
        leaders: int32 ``[N]``, the first member of the generalisation that each case is in; itself for an outlier.
        terms: int32 ``[S]``, the term that stands for each statement: itself or an ancestor of it.
    """

    cases: CaseBatch
    leaders: IntArray
    terms: IntArray

    @property
    def owners(self) -> LongArray:
        """The case of each statement, int64 ``[S]``."""
        return np.repeat(np.arange(len(self.cases)), np.diff(self.cases.ptr))

    def entries(self, cases: npt.NDArray[np.integer] | None = None) -> Entries:
        """Returns generalisations and outliers; of the given cases alone, ascending, where they are given."""
        chosen = np.arange(len(self.cases)) if cases is None else np.asarray(cases, np.int64)
        owner, at = expand(self.cases.ptr, chosen)
        leaders, sizes = np.unique(self.leaders[chosen], return_counts=True)
        row = np.searchsorted(leaders, self.leaders[chosen])[owner]
        width, count = int(self.terms.max(initial=0)) + 1, len(self.cases) + 1
        # A member counts once for a term, however many of its statements the term stands for.
        held = distinct((row * width + self.terms[at]) * count + chosen[owner]) // count
        first = np.flatnonzero(np.diff(held, prepend=-1))
        row, term = np.divmod(held[first], width)
        return Entries(
            leaders.astype(np.int32),
            sizes.astype(np.int64),
            pointers(row, len(leaders)),
            term.astype(np.int32),
            np.diff(first, append=len(held)),
        )


@dataclass(frozen=True)
class Entries:
    """``E`` generalisations and outliers, in the order of their first members.

    Attributes:
        leaders: int32 ``[E]``, first members, ascending.
        sizes: int64 ``[E]``, how many members each has; 1 for an outlier.
        ptr: int64 ``[E + 1]``, cuts the terms.
        terms: int32, ascending within an entry.
        counts: int64 beside ``terms``, for how many members each holds.
    """

    leaders: IntArray
    sizes: LongArray
    ptr: LongArray
    terms: IntArray
    counts: LongArray

    def __len__(self) -> int:
        return len(self.leaders)

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """Share of its members for which each term holds, float64 beside ``terms``, in (0, 1]."""
        return self.counts / np.repeat(self.sizes, np.diff(self.ptr))

    def take(self, rows: npt.NDArray[np.integer]) -> Entries:
        """Returns the entries of these rows, which ascend."""
        owner, at = expand(self.ptr, rows)
        ptr = pointers(owner, len(rows))
        return Entries(self.leaders[rows], self.sizes[rows], ptr, self.terms[at], self.counts[at])

    @classmethod
    def concatenate(cls, parts: Sequence[Entries]) -> Entries:
        """Returns the entries of all ``parts`` one behind another, which need not be in order then."""
        none = cls(np.zeros(0, np.int32), *(np.zeros(0, np.int64),) * 2, np.zeros(0, np.int32), np.zeros(0, np.int64))
        names = ("leaders", "sizes", "terms", "counts")
        leaders, sizes, terms, counts = (np.concatenate([getattr(p, n) for p in (none, *parts)]) for n in names)
        return cls(leaders, sizes, join_pointers([part.ptr for part in parts]), terms, counts)

    def batch(self, cases: CaseBatch) -> CaseBatch:
        """Returns the entries as cases with probabilities, under the keys of their first members."""
        keys = tuple(cases.keys[leader] for leader in self.leaders.tolist())
        none = np.zeros(len(self) + 1, np.int64), np.zeros(0, np.int32)
        return CaseBatch(keys, self.ptr, self.terms, *none, None, self.probabilities)


@dataclass(frozen=True)
class _Wish:
    """What the waiting cases asked for.

    Attributes:
        case: int64 ``[W]``, ascending.
        wanted: int64 ``[W]``, first member of the entry that is most like each; -1 where none is like enough.
        likeness: int64 ``[W]``, rank keys.
        ptr: int64 ``[W + 1]``, cuts the mappings.
        own: int32, terms of the case.
        other: int32, terms of the entry that they are matched with.
        via: int32, the common ancestors.
    """

    case: LongArray
    wanted: LongArray
    likeness: LongArray
    ptr: LongArray
    own: IntArray
    other: IntArray
    via: IntArray


def assimilate(
    members: Members, waiting: BoolArray, worth: Worth, threshold: float, backend: str
) -> tuple[Members, Effort]:
    """Returns the cases with all those that waited taken in where an entry is like enough, and what that took.

    Args:
        members: the cases; one that waits is in no generalisation.
        waiting: bool ``[N]``.
        worth: what terms are worth; its normalisation is ``max``.
        threshold: least share of the larger self-score that a score must come to, in (0, 1].
        backend: which ops to use; ``auto`` takes the quick one sooner than a batch of short queries does.

    Raises:
        BackendUnavailable: ``backend`` was named and cannot serve.
    """
    backend = choose(backend, cells=len(waiting) ** 2 * _CASE_OVER_QUERY)[0]
    effort, waiting = Effort(), waiting.copy()
    floor = math.ceil(threshold * (1 << QUOTIENT_SHIFT))
    while waiting.any():
        entries = members.entries()
        wish, took = _ask(members, entries, np.flatnonzero(waiting), worth, floor, backend)
        effort += took
        taken = _granted(wish, entries, waiting)
        waiting[wish.case[wish.wanted < 0]] = False
        if not taken.any():
            break
        members = _taken_in(members, entries, wish, taken, worth)
        waiting &= np.bincount(members.leaders, minlength=len(waiting))[members.leaders] == 1
    return members, effort


def _ask(
    members: Members, entries: Entries, case: LongArray, worth: Worth, floor: int, backend: str
) -> tuple[_Wish, Effort]:
    """Returns what the given waiting cases ask for, and what asking took."""
    pool = ProbableCases.under(worth, entries.batch(members.cases), worth.dials)
    hits = retrieve(pool, members.cases.take(case), 2, backend=backend, mappings=True)
    found = hits.mappings
    assert found is not None
    rows = np.arange(len(case))
    leader = np.append(entries.leaders, -1)[hits.cases].astype(np.int64)
    place = (leader[:, 0] == case).astype(np.int64)  # a case is most like itself
    if hits.cases.shape[1] == 1:
        place, leader = np.zeros(len(case), np.int64), np.full((len(case), 1), -1, np.int64)
    likeness = hits.rank_keys[rows, place]
    wanted = np.where(likeness >= floor, leader[rows, place], -1)
    spans = rows * hits.cases.shape[1] + place
    owner, at = expand(found.ptr, spans)
    wish = _Wish(case, wanted, likeness, pointers(owner, len(case)), found.query[at], found.stored[at], found.via[at])
    return wish, Effort(1, len(case), int(hits.aligned.sum()))


def _granted(wish: _Wish, entries: Entries, waiting: BoolArray) -> BoolArray:
    """Returns which of the waiting cases are taken in, bool ``[W]``; of two that found, the second joins the first."""
    able = wish.wanted >= 0
    wanted = np.where(able, wish.wanted, 0)
    size = entries.sizes[np.searchsorted(entries.leaders, wanted)]
    to_group = able & (size > 1)
    target = np.full(len(waiting), -1, np.int64)
    target[wish.case] = wish.wanted
    mutual = able & (size == 1) & (target[wanted] == wish.case) & (wish.case > wanted)
    # An outlier that waits no more takes the most similar, the first of equals.
    asking = np.flatnonzero(able & (size == 1) & ~waiting[wanted])
    order = asking[np.lexsort((wish.case[asking], -wish.likeness[asking], wanted[asking]))]
    best = np.zeros(len(able), np.bool_)
    best[order[np.diff(wanted[order], prepend=-1) != 0]] = True
    granted: BoolArray = to_group | mutual | best
    return granted


def _taken_in(members: Members, entries: Entries, wish: _Wish, taken: BoolArray, worth: Worth) -> Members:
    """Returns the members after the ``taken`` cases have joined what they asked for."""
    size = len(worth.costs)
    owner, at = expand(wish.ptr, np.flatnonzero(taken))
    joiner = wish.case[taken]
    base = wish.wanted[taken][owner]
    own, via = wish.own[at].astype(np.int64), wish.via[at].astype(np.int64)
    slot = base * size + wish.other[at]
    slots, common = _common_terms(slot, own, via, entries, worth)

    terms, statement_owner = members.terms.copy(), members.owners
    held = members.leaders[statement_owner].astype(np.int64) * size + terms
    place = np.minimum(np.searchsorted(slots, held), max(len(slots) - 1, 0))
    changed = member(held, slots)
    terms[changed] = common[place[changed]]

    shared = common[np.searchsorted(slots, slot)]
    below = _lies_below(own, shared, worth)
    statements = statement_owner * size + members.cases.functors
    terms[np.searchsorted(statements, joiner[owner[below]] * size + own[below])] = shared[below]

    first = np.arange(len(members.leaders), dtype=np.int32)
    np.minimum.at(first, wish.wanted[taken], joiner.astype(np.int32))
    leaders = members.leaders.copy()
    leaders[joiner] = wish.wanted[taken]
    return replace(members, leaders=first[leaders], terms=terms)


def _common_terms(
    slot: LongArray, own: LongArray, via: LongArray, entries: Entries, worth: Worth
) -> tuple[LongArray, LongArray]:
    """Returns the terms of entries that something was matched with, ascending, and the term that each becomes.

    Both are int64; an entry's first member times the number of all terms, plus the term, stands for a term of an entry.

    Args:
        slot: int64 ``[P]``, for each matched pair the term of an entry.
        own: int64 ``[P]``, the term of the case.
        via: int64 ``[P]``, the common ancestor.
        entries: generalisations and outliers as they are.
        worth: what terms are worth.
    """
    size = len(worth.costs)
    order = np.argsort(slot, kind="stable")
    slots = distinct(slot)
    ptr = np.append(np.searchsorted(slot[order], slots), len(slot))
    options = distinct(np.concatenate([slot, slots]) * size + np.concatenate([via, slots % size]))
    row, option = np.searchsorted(slots, options // size), options % size
    owner, at = expand(ptr, row)
    covered = _lies_below(own[order][at], option[owner], worth)
    held = np.bincount(owner[covered], minlength=len(options))
    leaders = np.repeat(entries.leaders.astype(np.int64), np.diff(entries.ptr))
    held += entries.counts[np.searchsorted(leaders * size + entries.terms, slots)][row]
    bits = to_grid(worth.costs[option])
    best = np.lexsort((option, -bits, -bits * held, row))
    return slots, option[best[np.diff(row[best], prepend=-1) != 0]]


def _lies_below(term: LongArray, ancestor: LongArray, worth: Worth) -> BoolArray:
    """Returns for each pair of terms whether the first is the second or lies below it."""
    return member(term * len(worth.costs) + ancestor, worth.above)
