"""The index: a corpus that answers batches."""

from __future__ import annotations

from ..cases import CaseBatch
from ..ops.registry import AUTO
from ..ops.structure import NODE_BUDGET
from .corpus import Corpus
from .hits import Hits
from .search import retrieve

__all__ = ["Index"]


class Index(Corpus):
    """An immutable index of cases, with or without structure; ``Index.build(cases, mounted, dials)`` makes it.

    Example:
        >>> from sma_gpu import CaseBatch, Index, mount, ontology_from_parents
        >>> mounted = mount(ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"]}))
        >>> index = Index.build(CaseBatch.from_functors(["a", "b"], [[1], [2]]), mounted)
        >>> index.retrieve(CaseBatch.from_functors(["query"], [[2]]), k=1).keys.tolist()
        [['b']]
    """

    def retrieve(self, batch: CaseBatch, k: int, *, backend: str = AUTO, node_budget: int = NODE_BUDGET) -> Hits:
        """Returns the certified top ``k`` of every query in ``batch``, as arrays.

        Args:
            batch: the queries; they may have structure where the stored cases have none, and the other way round.
            k: places wanted.
            backend: which ops to use.
            node_budget: greatest number of nodes in the search for one mapping of cases with structure. Where it does
                not suffice for a proof, ``Hits.optimal`` and ``Hits.certified`` say so.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
            BackendUnavailable: ``backend`` was named and cannot serve.
            CapacityError: a bound would reach 2^31 units.
        """
        return retrieve(self, batch, k, backend=backend, node_budget=node_budget)
