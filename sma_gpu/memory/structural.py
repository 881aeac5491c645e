"""The structural memory: this engine behind the Memory protocol."""

from __future__ import annotations

from collections.abc import Sequence

from ..cases import Case, CaseBatch, EncodedQuery, LeftOut, encode_query, encode_stored
from ..errors import QueryError
from ..ontologies.mount import Mounted
from ..ops.registry import AUTO
from ..retrieval import Hits, Index, explain
from ..scoring import Dials, to_bits
from ..trust import confidence, novelty, why_abstain
from .protocol import IndexItem, Query, Retrieved

__all__ = ["SmaMemory"]


class SmaMemory:
    """An exact structural memory over one mounted ontology.

    Args:
        mounted: the ontology of all term ids.
        dials: what scores depend on.
        backend: which ops to use; ``auto`` takes the best that can serve.

    Attributes:
        left_out: by item key, the term ids that could not be used, each with the reason.

    Example:
        >>> from sma_gpu import IndexItem, Query, SmaMemory, mount, ontology_from_parents
        >>> memory = SmaMemory(mount(ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"]})))
        >>> memory.index([IndexItem("a", ["EX:2"]), IndexItem("b", ["EX:3"])])
        >>> [hit.key for hit in memory.retrieve(Query(["EX:3"]), k=1)]
        ['b']
    """

    name = "structural"

    def __init__(self, mounted: Mounted, dials: Dials | None = None, *, backend: str = AUTO) -> None:
        self._mounted = mounted
        self._dials = dials or Dials()
        self._backend = backend
        self._index = Index.build(CaseBatch.from_functors([], []), mounted, self._dials)
        self.left_out: dict[str, tuple[LeftOut, ...]] = {}

    def __len__(self) -> int:
        return len(self._index)

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Keys of items with nothing to match on; they are never returned."""
        return self._index.set_aside

    @property
    def array_index(self) -> Index:
        """The index behind this memory, for batches as arrays."""
        return self._index

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before.

        Raises:
            CaseError: two items have one key.
        """
        encoded = [encode_stored(self._mounted, item.term_ids) for item in items]
        cases = CaseBatch.from_functors([item.key for item in items], [e[0] for e in encoded])
        self._index = Index.build(cases, self._mounted, self._dials)
        self.left_out = {item.key: e[2] for item, e in zip(items, encoded, strict=True) if e[2]}

    def encode(self, query: Query) -> EncodedQuery:
        """Returns the query as the index sees it, with every id that was changed or left out."""
        return encode_query(self._mounted, query.term_ids)

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns at most ``k`` hits, best first, scores in bits. Nothing usable in the query gives an empty list.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
        """
        encoded, hits = self._search(query, k)
        if hits is None:
            return []
        found = []
        for place in range(int((hits.cases[0] >= 0).sum())):
            account = explain(self._index, encoded.present, encoded.excluded, int(hits.cases[0, place]))
            score = to_bits(int(hits.score_q[0, place]))
            found.append(Retrieved(hits.keys[0, place], score, confidence(account.explained), place + 1))
        return found

    def novelty(self, query: Query) -> float:
        """Returns the share of the query that the best hit leaves unexplained, in [0, 1]; 1 without a hit."""
        best = self.retrieve(query, 1)
        return novelty(best[0].confidence if best else None)

    def case(self, key: str) -> Case:
        """Returns a remembered case in its symbolic form.

        Raises:
            UnknownKey: nothing is remembered under this key.
        """
        return self._index.cases.case(self._index.number_of(key), self._mounted)

    def _search(self, query: Query, k: int) -> tuple[EncodedQuery, Hits | None]:
        if isinstance(query.term_ids, str):
            raise QueryError(f"query {query.term_ids!r}", "term_ids is one string", "Give a collection of ids.")
        encoded = self.encode(query)
        batch = CaseBatch.from_functors(["query"], [encoded.present])
        hits = self._index.retrieve(batch, min(k, max(len(self), 1)), backend=self._backend)
        return encoded, None if why_abstain(self._index, encoded) else hits
