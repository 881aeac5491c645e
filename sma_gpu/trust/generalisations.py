"""Generalisations of the cases of an index, and how much of a query the best of them leaves unexplained.

A generalisation says what its members have in common: terms, each with its probability, the share of the members for
which it holds, itself or through a narrower term that it stands for. What is in none is an outlier. How they are made
is told in ``assimilation``. They are a second opinion on novelty: whether a query is of a kind that is known, where the
cases themselves tell whether it is known itself.

As a signal of novelty that opinion is weak. On drawn diseases, groups, gene products and patents it has an AUROC of .66
to .72 alone, where what the best case leaves unexplained has .80 to .95, and beside that it adds nothing: what is drawn
from a record that is not stored is of the same kinds as what is. So calibrations go without it unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..cases.batch import check_functors
from ..errors import CaseError, DialError, QueryError, ShapeError, UnknownKey
from ..lattice.arrays import distinct
from ..ops.registry import AUTO
from ..retrieval import Index
from ..retrieval.search import retrieve
from ..scoring import Dials
from .assimilation import Effort, Entries, Members, assimilate
from .probable_cases import ProbableCases, Worth

__all__ = ["POOL_DIALS", "THRESHOLD", "Generalisation", "Generalisations"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]

POOL_DIALS = Dials()
"""By which cases are compared to be generalised: information content, and the common ancestor pays."""

THRESHOLD = 0.1
"""How like an entry a case must be to be taken in: the score, over the larger of the two self-scores.

Of .1, .2, .3 and .45 the one whose signal told drawn novel queries best in three of four domains (in the fourth .2, by
.01); at .45 most cases stay outliers."""

_FEWEST = 2  # members; of fewer there is nothing to generalise
_BLOCK = 1 << 10  # queries with cases that do not count, at a time; changes memory, never a share


@dataclass(frozen=True)
class Generalisation:
    """What some cases have in common.

    Attributes:
        members: their keys, in code-point order, two or more.
        terms: ids by number, so that the first is the smallest.
        probabilities: of each term, the share of the members for which it holds, in (0, 1].
    """

    members: tuple[str, ...]
    terms: tuple[str, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Generalisations:
    """Generalisations of the flat cases of an index; ``Generalisations.build(index)`` makes them.

    They depend on the cases alone: not on the order in which these were given, nor on batches or threads. Cases that
    are added later find what is there already, so ``add`` need not equal building anew from all; what depends on the
    order is which cases came together, and nothing else.

    Attributes:
        worth: what terms are worth, counted from the cases.
        threshold: least likeness, in (0, 1].
        members: who belongs to which generalisation.
        effort: what all assimilation so far took.
    """

    worth: Worth
    threshold: float
    members: Members
    effort: Effort

    @classmethod
    def build(
        cls, index: Index, *, threshold: float = THRESHOLD, dials: Dials = POOL_DIALS, backend: str = AUTO
    ) -> Self:
        """Returns the generalisations of the cases of ``index``, whose own dials play no part.

        Args:
            index: flat cases.
            threshold: least share of the larger of two self-scores that a score must come to, above 0 and at most 1.
            dials: by which cases are compared; the normalisation is ``max`` whatever they say.
            backend: which ops to use; it changes nothing that comes out.

        Raises:
            CaseError: the cases have structure.
            QueryError: ``threshold`` is outside its range.
            DialError: ``dials`` of the scorer evidence, or under which the stored term pays.
            BackendUnavailable: ``backend`` was named and cannot serve.
        """
        if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
            raise QueryError(
                f"generalisations at the threshold {threshold!r}", "it is no share", "Give a number in (0, 1]."
            )
        if dials.weighing or dials.credit != "ancestor":
            raise DialError(
                f"generalisations under {dials.scorer} and {dials.credit} credit",
                "two cases would not be as like to each other both ways round",
                "Give dials of another scorer than evidence, with ancestor credit.",
            )
        cases = _flat_cases(index)
        worth = Worth.counted(cases, index.mounted, replace(dials, normalisation="max"))
        alone = Members(cases, np.arange(len(cases), dtype=np.int32), cases.functors)
        members, effort = assimilate(alone, np.ones(len(cases), np.bool_), worth, threshold, backend)
        return cls(worth, float(threshold), members, effort)

    def add(self, index: Index, *, backend: str = AUTO) -> Self:
        """Returns the generalisations with the cases of ``index`` taken in that are not there yet.

        ``index`` is that of all cases, those that are there already included, such as ``Index.add`` returns; terms are
        worth what it says. The new cases are taken in together, whatever their order, and outliers may be joined by
        them; what was generalised stays so. Added to those of an empty index it is what ``build`` gives.

        Raises:
            UnknownKey: ``index`` lacks a case that is there already.
            CaseError: the cases of ``index`` have structure, or a case that is there already states other terms now.
            BackendUnavailable: ``backend`` was named and cannot serve.
        """
        cases, old = _flat_cases(index), self.members.cases
        if gone := sorted(set(old.keys) - set(cases.keys)):
            raise UnknownKey(
                f"add to the generalisations of {len(old)} cases",
                f"the index lacks {gone[0]}, which is generalised already",
                "Build the generalisations anew.",
            )
        number = {key: at for at, key in enumerate(cases.keys)}
        at = np.array([number[key] for key in old.keys], np.int64)
        held = np.zeros(len(cases), np.bool_)
        held[at] = True
        stated = cases.take(at)
        if not (np.array_equal(stated.ptr, old.ptr) and np.array_equal(stated.functors, old.functors)):
            raise CaseError(
                f"add to the generalisations of {len(old)} cases",
                "a case that is generalised already states other terms in the index",
                "Build the generalisations anew.",
            )
        leaders, terms = np.arange(len(cases), dtype=np.int32), cases.functors.copy()
        leaders[at] = at[self.members.leaders]
        terms[np.repeat(held, np.diff(cases.ptr))] = self.members.terms
        worth = Worth.counted(cases, index.mounted, self.worth.dials)
        members, effort = assimilate(Members(cases, leaders, terms), ~held, worth, self.threshold, backend)
        return replace(self, worth=worth, members=members, effort=self.effort + effort)

    def __len__(self) -> int:
        return len(self._general)

    def __iter__(self) -> Iterator[Generalisation]:
        """Yields the generalisations in the order of their first members."""
        entries, keys, ids = self._general, self.members.cases.keys, self.worth.mounted.ids
        order = np.argsort(self.members.leaders, kind="stable")
        leaders = self.members.leaders[order]
        for row, leader in enumerate(entries.leaders.tolist()):
            first, end = np.searchsorted(leaders, [leader, leader + 1]).tolist()
            span = slice(int(entries.ptr[row]), int(entries.ptr[row + 1]))
            yield Generalisation(
                tuple(keys[case] for case in order[first:end].tolist()),
                tuple(ids[term] for term in entries.terms[span].tolist()),
                tuple(entries.probabilities[span].tolist()),
            )

    @property
    def outliers(self) -> tuple[str, ...]:
        """Keys of the cases that are in no generalisation, in code-point order."""
        entries = self.members.entries()
        return tuple(self.members.cases.keys[case] for case in entries.leaders[entries.sizes < _FEWEST].tolist())

    def unexplained(self, batch: CaseBatch, without: Sequence[npt.ArrayLike] | None = None) -> FloatArray:
        """Returns the share of each query's bits that its best generalisation leaves unexplained, float64 ``[B]``.

        A term of the query is explained by what it is worth with the term that it is matched with, times the
        probability of that; the best generalisation explains most. 1 where there is none that fits, 0 where the query
        has no bits. It depends on no other query.

        Args:
            batch: flat queries.
            without: for each query the numbers of cases, as the index numbers them, that do not count as members: what
                a generalisation says is then what the others say, under the terms that it has.

        Raises:
            CaseError: the queries have structure, or a term that the ontology does not have.
            ShapeError: ``without`` is not of as many queries, or holds no numbers of cases.
        """
        if batch.structure is not None:
            raise CaseError(f"generalisations for {len(batch)} queries", "these have structure", "Give flat queries.")
        check_functors(batch, self.worth.mounted)
        if without is None:
            best = _explained(self._pool, batch, None)
        else:
            hidden = _hidden(without, len(batch), len(self.members.cases))
            parts = [np.arange(start, min(start + _BLOCK, len(batch))) for start in range(0, len(batch), _BLOCK)]
            found = [self._explained_without(batch.take(part), hidden[part[0] : part[-1] + 1]) for part in parts]
            best = np.concatenate([np.zeros(0), *found])
        own = np.concatenate([[0], np.cumsum(self.worth.values[batch.functors])])
        return np.where(own[batch.ptr[1:]] > own[batch.ptr[:-1]], 1.0 - best, 0.0)

    @cached_property
    def _general(self) -> Entries:
        entries = self.members.entries()
        return entries.take(np.flatnonzero(entries.sizes >= _FEWEST))

    @cached_property
    def _pool(self) -> ProbableCases:
        return self._asked_for_most(self._general)

    def _asked_for_most(self, entries: Entries) -> ProbableCases:
        """Returns entries as a corpus in which the best case of a query is the one that explains most of it."""
        dials = replace(self.worth.dials, normalisation="power(0)")
        return ProbableCases.under(self.worth, entries.batch(self.members.cases), dials)

    def _explained_without(self, batch: CaseBatch, hidden: Sequence[IntArray]) -> FloatArray:
        """Returns the share of each query that its best generalisation explains if some cases are no members."""
        leaders = self.members.leaders
        among = np.ones((len(batch), len(self._general)), np.bool_)
        smaller, owner = [], []
        for query, gone in enumerate(hidden):
            touched = np.isin(leaders, leaders[gone])
            touched[gone] = False
            among[query, np.isin(self._general.leaders, leaders[gone])] = False
            rest = self.members.entries(np.flatnonzero(touched))
            rest = rest.take(np.flatnonzero(rest.sizes >= _FEWEST))
            smaller.append(rest)
            owner.append(np.full(len(rest), query))
        best = _explained(self._pool, batch, among)
        rest = Entries.concatenate(smaller)
        own = np.arange(len(batch))[:, None] == np.concatenate([np.zeros(0, np.int64), *owner])
        return np.maximum(best, _explained(self._asked_for_most(rest), batch, own))


def _explained(pool: ProbableCases, batch: CaseBatch, among: npt.NDArray[np.bool_] | None) -> FloatArray:
    """Returns the share of each query that its best case in ``pool`` explains, float64 ``[B]``; 0 without one."""
    if not len(pool) or not len(batch):
        return np.zeros(len(batch))
    found = retrieve(pool, batch, 1, among=among, mappings=True).mappings
    assert found is not None
    return found.explained[:, 0]


def _flat_cases(index: Index) -> CaseBatch:
    cases = index.cases
    if cases.structure is not None:
        raise CaseError(f"generalisations of {len(cases)} cases", "they have structure", "Give an index of flat cases.")
    return cases


def _hidden(without: Sequence[npt.ArrayLike], queries: int, cases: int) -> list[IntArray]:
    found = [np.asarray(one) for one in without]
    if len(found) != queries:
        raise ShapeError(
            f"cases that do not count for {queries} queries",
            f"they are given for {len(found)}",
            "Give a list for each query, empty where all count.",
        )
    for one in found:
        if one.size and not (one.dtype.kind in "iu" and 0 <= int(one.min()) <= int(one.max()) < cases):
            raise ShapeError(
                f"cases {one!r:.80} that do not count",
                f"there are {cases} cases",
                "Give numbers of cases, as the index has them.",
            )
    return [distinct(one.astype(np.int32).ravel()) for one in found]
