"""One domain, indexed and ready to be asked. Follow ``query`` to follow a query from ids to answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cases import EncodedQuery, encode_query
from ..cases.encoder import LeftOut
from ..errors import UnknownTerm
from ..ontologies.domains import open_domain
from ..ops import choose
from ..ops.registry import AUTO
from ..retrieval import OpenQuery, check_k, explain, open_query
from ..scoring import Dials
from ..trust import NOTHING_FITS, Abstention, novelty, why_abstain
from . import answer as shape
from .indexed import IndexedDomain

__all__ = ["Engine", "open_engine"]


class Engine(IndexedDomain):
    """An indexed domain that answers."""

    def encode(self, observed: Iterable[str], excluded: Iterable[str] = ()) -> EncodedQuery:
        """Returns a query as the index sees it, with every id that was changed or left out.

        Raises:
            QueryError: the ids are not given as a collection of strings.
            UnknownTerm: the engine is strict, and an id cannot be used.
        """
        encoded = encode_query(self.domain.mounted, observed, excluded, strict=self.strict)
        return self._without_aside(encoded) if self.domain.manifest.aside_pattern else encoded

    def _without_aside(self, encoded: EncodedQuery) -> EncodedQuery:
        """Returns the query without the terms that no record of the domain can have."""
        manifest, ontology = self.domain.manifest, self.domain.mounted.ontology
        is_aside = re.compile(manifest.aside_pattern).fullmatch
        left_out: list[LeftOut] = []
        kept: list[npt.NDArray[np.int32]] = []
        for functors in (encoded.present, encoded.excluded):
            aside = np.array([is_aside(term) is not None for term in self.ids(functors)], np.bool_)
            for functor in functors[aside].tolist():
                term = ontology.ids[functor]
                shown = f"{term} {ontology.names[functor]}".strip()
                why = f"{shown} is in {ontology.label}, but no {manifest.entity} has terms of its kind; left out"
                if self.strict:
                    raise UnknownTerm(f"strict input: term {term}", why, "Leave it out of the query.")
                left_out.append(LeftOut(term, "outside", why))
            kept.append(functors[~aside])
        return replace(encoded, present=kept[0], excluded=kept[1], left_out=(*encoded.left_out, *left_out))

    def query(
        self,
        observed: Iterable[str],
        excluded: Iterable[str] = (),
        *,
        k: int = 10,
        query_id: str | None = None,
        among: Iterable[str] | None = None,
    ) -> dict[str, Any]:
        """Returns the answer object for one query: schema ``sma-gpu/answer/1``.

        Args:
            observed: ids of terms that are present.
            excluded: ids of terms that were looked for and are absent; they never score, they are held against hits.
            k: most hits wanted, 1 or more.
            query_id: the caller's name for the query.
            among: keys of the only cases that can be hits; all where it is None. What a term is worth stays the same.

        Raises:
            QueryError: ``k`` is not a whole number above 0, or the ids are not given as a collection of strings.
            UnknownTerm: the engine is strict, and an id cannot be used.
            UnknownKey: no indexed case has one of the keys in ``among``.
        """
        return self._ranked(self.encode(observed, excluded), k, query_id, self._wanted(among))

    def like(
        self, key: str, *, k: int = 10, query_id: str | None = None, among: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """Returns the answer object for a stored case as query, as it is annotated; it is itself no hit.

        Raises:
            UnknownKey: no indexed case has this key, or one of the keys in ``among``.
            QueryError: ``k`` is not a whole number above 0.
        """
        number = self.number_of(key)
        cases = self.index.cases
        present, absent = cases.functors_of(number), cases.excluded_of(number)
        note = f"the query is {key} as it is annotated; it is itself left out of the hits"
        wanted = self._wanted(among)
        wanted = np.ones(len(self.index), np.bool_) if wanted is None else wanted
        wanted[number] = False
        return self._ranked(EncodedQuery(present, absent, (), (), (note,), len(present)), k, query_id, wanted)

    def _wanted(self, among: Iterable[str] | None) -> npt.NDArray[np.bool_] | None:
        if among is None:
            return None
        found = np.zeros(len(self.index), np.bool_)
        found[[self.number_of(key) for key in among]] = True
        return found

    def _ranked(
        self, encoded: EncodedQuery, k: int, query_id: str | None, wanted: npt.NDArray[np.bool_] | None
    ) -> dict[str, Any]:
        places = min(check_k(k), len(self.index))
        if wanted is not None:
            sought = f"hits are sought among {int(wanted.sum())} of {len(self.index)} {self.domain.manifest.entity}s"
            encoded = replace(encoded, notes=(*encoded.notes, sought))
        abstention = why_abstain(self.index, encoded)
        if abstention is not None:
            return self._without_hits(encoded, query_id, abstention)
        opened = open_query(self.index, encoded.present, backend=self.backend, among=wanted)
        top = opened.top(places)
        ties = opened.ties(top.rank_keys)
        hits = [
            self._hit(encoded, opened, case, rank, ties[rank - 1]) for rank, case in enumerate(top.cases.tolist(), 1)
        ]
        if not hits:
            return self._without_hits(encoded, query_id, NOTHING_FITS)
        return shape.answer(
            self,
            encoded,
            query_id,
            None,
            hits=hits,
            certified=top.certified,
            aligned=top.aligned,
            novelty=novelty(hits[0]["explained"], None),
        )

    def explain(
        self, key: str, observed: Iterable[str], excluded: Iterable[str] = (), *, query_id: str | None = None
    ) -> dict[str, Any]:
        """Returns an answer object whose one hit is the case ``key``, at its exact rank among all cases.

        A case that shares nothing informative with the query is no hit and has no rank.

        Raises:
            UnknownKey: no indexed case has this key.
            QueryError: the ids are not given as a collection of strings.
            UnknownTerm: the engine is strict, and an id cannot be used.
        """
        number = self.number_of(key)
        encoded = self.encode(observed, excluded)
        abstention = why_abstain(self.index, encoded)
        if abstention is not None:
            return self._without_hits(encoded, query_id, abstention)
        opened = open_query(self.index, encoded.present, backend=self.backend)
        best = opened.top(1)
        if not len(best.cases):
            return self._without_hits(encoded, query_id, NOTHING_FITS)
        best_explained = explain(
            self.index, encoded.present, encoded.excluded, int(best.cases[0]), opened.table
        ).explained
        place = opened.standing(number)
        reason, hits = None, []
        if place.rank is None:
            reason = f"{key} shares nothing informative with the query, so it is no hit and has no rank"
        else:
            hits = [self._hit(encoded, opened, number, place.rank, place.ties)]
        return shape.answer(
            self,
            encoded,
            query_id,
            reason,
            hits=hits,
            certified=True,  # every case that could stand before this one was aligned
            aligned=place.aligned,
            novelty=novelty(best_explained, None),
        )

    def compare(self, first: str, second: str) -> dict[str, Any]:
        """Returns what two cases share and what only one of them has, by bits: schema ``sma-gpu/comparison/1``.

        Raises:
            UnknownKey: no indexed case has one of the keys.
        """
        a, b = self.number_of(first), self.number_of(second)
        functors = self.index.cases.functors_of(a)
        account = explain(self.index, functors, self.index.cases.excluded_of(a), b)
        return shape.comparison(self, a, b, account)

    def _hit(self, encoded: EncodedQuery, opened: OpenQuery, case: int, rank: int, ties: int) -> dict[str, Any]:
        account = explain(self.index, encoded.present, encoded.excluded, case, opened.table)
        return shape.hit(self, encoded, account, case, rank, ties)

    def _without_hits(self, encoded: EncodedQuery, query_id: str | None, abstention: Abstention) -> dict[str, Any]:
        return shape.answer(
            self,
            encoded,
            query_id,
            abstention.words,
            hits=[],
            certified=True,  # that nothing can be a hit needs no alignment
            aligned=0,
            novelty=novelty(None, abstention),
        )


def open_engine(
    domain: str,
    dials: Dials | None = None,
    *,
    backend: str = AUTO,
    device: str = AUTO,
    release: str | None = None,
    strict: bool = False,
) -> Engine:
    """Returns the engine of a ready domain, or of a folder with the files of one.

    Args:
        domain: a ready domain, or a folder.
        dials: what scores depend on.
        backend: which ops to use; ``auto`` takes the best that can serve.
        device: where that backend works: ``cpu``, ``cuda`` or ``auto``.
        release: release of the ontology to use instead of the newest found.
        strict: refuse files that otherwise load with warnings, and queries with ids that cannot be used.

    Example:
        >>> engine = open_engine("medicine")                                       # doctest: +SKIP
        >>> engine.query(["HP:0001166", "HP:0001083"], k=1)["hits"][0]["key"]      # doctest: +SKIP
        'OMIM:121050'
    """
    name, _ = choose(backend, device)  # what cannot serve is refused before any file is read
    return Engine(open_domain(domain, release=release, strict=strict), dials, backend=name, strict=strict)
