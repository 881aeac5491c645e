"""The structural memory: this engine behind the Memory protocol."""

from __future__ import annotations

from collections.abc import Sequence

from ..cases import Case, CaseBatch, EncodedQuery, LeftOut, encode_query, encode_stored
from ..ontologies.mount import Mounted
from ..ops import choose
from ..ops.registry import AUTO
from ..retrieval import Index, check_k, explain, open_query
from ..scoring import Dials, to_bits
from ..trust import NOTHING_FITS, confidence, novelty, why_abstain
from .protocol import IndexItem, Query, Retrieved

__all__ = ["SmaMemory"]


class SmaMemory:
    """An exact structural memory over one mounted ontology.

    Args:
        mounted: the ontology of all term ids.
        dials: what scores depend on.
        backend: which ops to use; ``auto`` takes the best that can serve.

    Raises:
        BackendUnavailable: ``backend`` was named and cannot serve.

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
        self._backend, _ = choose(backend)
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
            QueryError: ``k`` is not a whole number above 0, or the query's ids are no collection of strings.
        """
        places = check_k(k)
        encoded = self.encode(query)
        if why_abstain(self._index, encoded) is not None:
            return []
        opened = open_query(self._index, encoded.present, backend=self._backend)
        top = opened.top(min(places, len(self)))
        found = []
        for rank, (case, score) in enumerate(zip(top.cases.tolist(), top.scores.tolist(), strict=True), 1):
            account = explain(self._index, encoded.present, encoded.excluded, case, opened.table)
            found.append(Retrieved(self._index.keys[case], to_bits(score), confidence(account.explained), rank))
        return found

    def novelty(self, query: Query) -> float:
        """Returns the share of the query that the best hit leaves unexplained, in [0, 1].

        1 where nothing fits or nothing can be compared, 0 where every term of the query holds for every item.
        """
        best = self.retrieve(query, 1)
        if best:
            return 1.0 - best[0].confidence
        found = novelty(None, why_abstain(self._index, self.encode(query)) or NOTHING_FITS)
        return 1.0 if found is None else found  # the protocol has no null

    def case(self, key: str) -> Case:
        """Returns a remembered case in its symbolic form.

        Raises:
            UnknownKey: nothing is remembered under this key.
        """
        return self._index.cases.case(self._index.number_of(key), self._mounted)
