"""The index: a corpus that answers batches."""

from __future__ import annotations

from ..cases import Case, CaseBatch
from ..ops.registry import AUTO
from ..ops.structure import NODE_BUDGET
from .alignment import analogy_between
from .analogy import Analogy
from .corpus import Corpus
from .hits import Hits
from .search import open_query, retrieve

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

    def analogy(self, query: Case, key: str, *, node_budget: int = NODE_BUDGET) -> Analogy:
        """Returns the analogy from the stored case ``key`` to ``query``, under the worths of this index.

        Args:
            query: a case over the mounted ontology, with structure or without.
            key: key of a stored case, a hit or not.
            node_budget: greatest number of nodes in the search for the best mapping, and again for the canonical one.

        Raises:
            UnknownKey: no indexed case has this key.
            CaseError: the query has a functor that the ontology does not have.
            CapacityError: the query's self-score would reach 2^31 units.
        """
        number = self.number_of(key)
        batch = CaseBatch.from_cases([query], self.mounted).spelled_out()
        return analogy_between(open_query(self, batch, node_budget=node_budget), number, target=query)
