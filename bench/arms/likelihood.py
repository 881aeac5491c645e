"""Likelihood ratio of each term asked, by how often it holds of the item and of all items (after Robinson et al. 2020).

LIRICAL's phenotype part, made for whole blocks of queries. For a term that was seen, the first of these that applies:

1. the item excludes it, or something above it: 1/1000;
2. it, or something below it, is annotated: the greatest of their frequencies over the background's;
3. something above it is annotated: that frequency, shared out evenly among the children on each step of the way down
   (the best way, where there are several), over the background's;
4. the nearest ancestor that holds of the item, unless nearly every item has it: its frequency over the background's;
5. nothing: 1/100, which is also the least of 3 and 4.

For a term that was looked for and is absent: 1000 where the item excludes it too, or something above it; else the share
of instances without it (at least 1/100) over the background's. A frequency that is not given is 1. The background is
the mean over all items, 1/10,000 for a term that none has. The score is the sum of the logarithms to base 10; the
confidence, uncalibrated, is the probability after the test where every item was as likely before it.

What it can never do: take a term for redundant beside another one of the same query, or reckon with the size of the
sample behind a frequency.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .held import Asked, Held, askers
from .matrix import NO_HIT, MatrixArm

__all__ = ["LikelihoodRatio", "LikelihoodRatioSeen"]

FloatArray = npt.NDArray[np.float64]

_LEAST = 0.01
_SEEN_BUT_EXCLUDED, _BOTH_EXCLUDED = 0.001, 1000.0
_UNSEEN_BACKGROUND = 1e-4
_NEARLY_EVERY = 0.95  # of the items: an ancestor that so many have says nothing, as the root of the phenotypes


class LikelihoodRatio(MatrixArm):
    """Sum of logarithms of likelihood ratios, with frequencies and excluded terms."""

    name = "likelihood-ratio"
    absences = True

    def fill(self, held: Held) -> None:
        """Spreads the frequencies upwards and takes their means."""
        size = len(held.mounted.lattice)
        direct = held.sets.rows(size)
        direct.data = _frequencies(held)
        self._direct = direct.T.tocsr()
        self._spread = _greatest_above(held, direct).T.tocsr()
        self._excluded = held.excluded.rows(size).T.tocsr()
        self._background = np.full(size, _UNSEEN_BACKGROUND)
        seen = np.flatnonzero(np.diff(self._spread.indptr))
        self._background[seen] = (self._spread @ np.ones(len(held)))[seen] / max(len(held), 1)
        self._tells = np.diff(self._spread.indptr) < _NEARLY_EVERY * len(held)
        self._children = np.bincount(held.mounted.lattice.parents, minlength=size)

    def scores(self, asked: Asked) -> FloatArray:
        """Returns log10 of the product of the ratios; every item with a term is a hit, however unlikely."""
        total = np.zeros((len(asked), len(self.held)))
        for term, rows in askers(asked.present):
            total[rows] += _log10(self.ratio_seen(term))
        for term, rows in askers(asked.excluded) if self.absences else ():
            total[rows] += _log10(self.ratio_absent(term))
        total[:, self.held.sets.sizes == 0] = NO_HIT
        return total

    def confidence(self, first: FloatArray) -> FloatArray:
        """Returns the probability after the test, each item being as likely before it."""
        others = max(len(self.held) - 1, 0)
        return 1.0 / (1.0 + others * np.power(10.0, -np.clip(first, -300.0, 300.0)))

    def ratio_seen(self, term: int) -> FloatArray:
        """Returns for each item the likelihood ratio of ``term`` being seen, float64 ``[N]``."""
        found = np.full(len(self.held), _LEAST)
        closure = self.setting.mounted.lattice.closure
        span = slice(closure.ptr[term], closure.ptr[term + 1])
        above = closure.ancestors[span][np.argsort(-closure.hops[span], kind="stable")]
        for ancestor in above[above != term].tolist():  # the nearest one stays
            if self._tells[ancestor]:
                items, share = _row(self._spread, ancestor)
                found[items] = np.maximum(share / self._background[ancestor], _LEAST)
        shares = np.zeros(len(self.held))
        for ancestor, part in sorted(self._parts(term).items()):
            items, share = _row(self._direct, ancestor)
            shares[items] = np.maximum(shares[items], share * part)
        found = np.where(shares > 0, np.maximum(shares / self._background[term], _LEAST), found)
        items, share = _row(self._spread, term)
        found[items] = share / self._background[term]
        for ancestor in above.tolist():
            found[_row(self._excluded, ancestor)[0]] = _SEEN_BUT_EXCLUDED
        return found

    def ratio_absent(self, term: int) -> FloatArray:
        """Returns for each item the likelihood ratio of ``term`` being absent, float64 ``[N]``."""
        background = 1.0 - min(float(self._background[term]), 1.0 - _LEAST)
        found = np.full(len(self.held), 1.0 / background)
        items, share = _row(self._spread, term)
        found[items] = np.maximum(1.0 - share, _LEAST) / background
        for ancestor in self.setting.mounted.lattice.ancestors_of(term).tolist():
            found[_row(self._excluded, ancestor)[0]] = _BOTH_EXCLUDED
        return found

    def _parts(self, term: int) -> dict[int, float]:
        """Returns, for each term above ``term``, which part of its instances falls to it."""
        lattice = self.setting.mounted.lattice
        parts = {term: 1.0}
        waiting = [term]
        while waiting:
            child = waiting.pop()
            for parent in lattice.parents[lattice.parent_ptr[child] : lattice.parent_ptr[child + 1]].tolist():
                part = parts[child] / int(self._children[parent])
                if part > parts.get(parent, 0.0):
                    parts[parent] = part
                    waiting.append(parent)
        del parts[term]
        return parts


class LikelihoodRatioSeen(LikelihoodRatio):
    """The same by the terms that were seen alone: where a term that holds is often not annotated, absences mislead."""

    name = "likelihood-ratio-seen"
    absences = False


def _frequencies(held: Held) -> FloatArray:
    """Returns the frequency of each term of each item, in the order of ``held.sets.terms``."""
    found = np.ones(len(held.sets.terms))
    resolve = held.mounted.ontology.resolve
    for number, item in enumerate(held.items):
        given: dict[int, float] = {}
        for term_id, share in item.frequencies.items():
            term = resolve(term_id).index
            given[term] = max(given.get(term, 0.0), share)
        if given:
            lo, terms = int(held.sets.ptr[number]), held.sets.members(number).tolist()
            found[lo : lo + len(terms)] = [given.get(term, 1.0) for term in terms]
    return found


def _greatest_above(held: Held, direct: Any) -> Any:
    """Returns CSR ``[N, T]``, for each term that holds of an item the greatest frequency at or below it."""
    spread = held.closed.copy()
    spread.data[:] = 0.0
    closure = held.mounted.lattice.closure
    for number in range(len(held)):
        lo, hi = spread.indptr[number : number + 2]
        own = spread.indices[lo:hi]
        for at in range(direct.indptr[number], direct.indptr[number + 1]):
            term = direct.indices[at]
            above = closure.ancestors[closure.ptr[term] : closure.ptr[term + 1]]
            to = lo + np.searchsorted(own, above)
            spread.data[to] = np.maximum(spread.data[to], direct.data[at])
    return scipy.sparse.csr_matrix(spread)


def _row(matrix: Any, number: int) -> tuple[npt.NDArray[np.int32], FloatArray]:
    span = slice(matrix.indptr[number], matrix.indptr[number + 1])
    return matrix.indices[span], matrix.data[span]


def _log10(ratios: FloatArray) -> FloatArray:
    # One logarithm per distinct ratio, from the C library: vectorised ones differ between processors in the last bit.
    distinct, where = np.unique(ratios, return_inverse=True)
    return np.array([math.log10(ratio) for ratio in distinct.tolist()], np.float64)[where]
