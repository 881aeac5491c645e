"""One domain, indexed and ready to be asked. Follow ``query`` to follow a query from ids to answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..cases import CaseBatch, EncodedQuery, encode_query
from ..errors import QueryError
from ..ontologies.domains import open_domain
from ..ops import choose
from ..ops.registry import AUTO
from ..retrieval import explain, standing
from ..retrieval.search import tie_counts
from ..scoring import Dials
from ..trust import novelty, why_abstain
from . import answer as shape
from .indexed import IndexedDomain

__all__ = ["Engine", "open_engine"]

NOTHING_FITS = "nothing fits: no indexed case shares anything informative with the query"


class Engine(IndexedDomain):
    """An indexed domain that answers."""

    def encode(self, observed: Iterable[str], excluded: Iterable[str] = ()) -> EncodedQuery:
        """Returns a query as the index sees it, with every id that was changed or left out."""
        return encode_query(self.domain.mounted, observed, excluded)

    def query(
        self, observed: Iterable[str], excluded: Iterable[str] = (), *, k: int = 10, query_id: str | None = None
    ) -> dict[str, Any]:
        """Returns the answer object for one query: schema ``sma-gpu/answer/1``.

        Args:
            observed: ids of terms that are present.
            excluded: ids of terms that were looked for and are absent; they never score, they are held against hits.
            k: most hits wanted, 1 or more.
            query_id: the caller's name for the query.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise QueryError(f"the top k = {k!r}", "k must be a whole number above 0", "Ask for one hit or more.")
        encoded = self.encode(observed, excluded)
        reason = why_abstain(self.index, encoded)
        if reason is not None:
            return shape.answer(self, encoded, query_id, reason, hits=[], aligned=0, novelty=None)
        batch = CaseBatch.from_functors([query_id or ""], [encoded.present])
        found = self.index.retrieve(batch, min(k, len(self.index)), backend=self.backend)
        count = int((found.cases[0] >= 0).sum())
        ties = tie_counts(self.index, encoded.present, found.rank_keys[0, :count], backend=self.backend)
        hits = [self._hit(encoded, int(found.cases[0, place]), place + 1, ties[place]) for place in range(count)]
        return shape.answer(
            self,
            encoded,
            query_id,
            None if hits else NOTHING_FITS,
            hits=hits,
            aligned=int(found.aligned[0]),
            novelty=novelty(hits[0]["explained"] if hits else None),
        )

    def explain(
        self, key: str, observed: Iterable[str], excluded: Iterable[str] = (), *, query_id: str | None = None
    ) -> dict[str, Any]:
        """Returns an answer object whose one hit is the case ``key``, at its exact rank among all cases.

        A case that shares nothing informative with the query is no hit and has no rank.

        Raises:
            UnknownKey: no indexed case has this key.
        """
        number = self.number_of(key)
        encoded = self.encode(observed, excluded)
        reason = why_abstain(self.index, encoded)
        if reason is not None:
            return shape.answer(self, encoded, query_id, reason, hits=[], aligned=0, novelty=None)
        best = self.query(observed, excluded, k=1)
        place = standing(self.index, encoded.present, number, backend=self.backend)
        if place.rank is None:
            reason = f"{key} shares nothing informative with the query, so it is no hit and has no rank"
            hits = []
        else:
            hits = [self._hit(encoded, number, place.rank, place.ties)]
        return shape.answer(self, encoded, query_id, reason, hits=hits, aligned=place.aligned, novelty=best["novelty"])

    def compare(self, first: str, second: str) -> dict[str, Any]:
        """Returns what two cases share and what only one of them has, by bits: schema ``sma-gpu/comparison/1``.

        Raises:
            UnknownKey: no indexed case has one of the keys.
        """
        a, b = self.number_of(first), self.number_of(second)
        functors = self.index.cases.functors_of(a)
        account = explain(self.index, functors, self.index.cases.excluded_of(a), b)
        return shape.comparison(self, a, b, account)

    def _hit(self, encoded: EncodedQuery, case: int, rank: int, ties: int) -> dict[str, Any]:
        account = explain(self.index, encoded.present, encoded.excluded, case)
        return shape.hit(self, encoded, account, case, rank, ties)


def open_engine(
    domain: str,
    dials: Dials | None = None,
    *,
    backend: str = AUTO,
    release: str | None = None,
    strict: bool = False,
) -> Engine:
    """Returns the engine of a ready domain, or of a folder with the files of one.

    Example:
        >>> engine = open_engine("medicine")                                       # doctest: +SKIP
        >>> engine.query(["HP:0001166", "HP:0001083"], k=1)["hits"][0]["key"]      # doctest: +SKIP
        'OMIM:154700'
    """
    choose(backend)  # a backend that cannot serve is refused before any file is read
    return Engine(open_domain(domain, release=release, strict=strict), dials, backend=backend)
