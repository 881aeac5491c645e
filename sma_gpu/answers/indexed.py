"""A domain with its index: what an answer is made from."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import UnknownKey
from ..ontologies.domains import Domain
from ..ops import choose
from ..ops.registry import AUTO
from ..retrieval import Index
from ..scoring import Dials

__all__ = ["IndexedDomain"]


class IndexedDomain:
    """A domain's records, indexed under one set of dials.

    Args:
        domain: ontology and records.
        dials: what scores depend on.
        backend: which ops to use; ``auto`` takes the best that can serve.
        strict: refuse queries with ids that cannot be used, instead of leaving these out and saying so.

    Raises:
        BackendUnavailable: ``backend`` was named and cannot serve.
    """

    def __init__(
        self, domain: Domain, dials: Dials | None = None, *, backend: str = AUTO, strict: bool = False
    ) -> None:
        self.domain = domain
        self.strict = strict
        self.backend, _ = choose(backend)
        records = domain.records
        cases = CaseBatch.from_csr(records.keys, records.phenotypes(excluded=False), records.phenotypes(excluded=True))
        self.index = Index.build(cases, domain.mounted, dials)

    def number_of(self, key: str) -> int:
        """Returns the number of the case with this key.

        Raises:
            UnknownKey: there is none; near keys are named.
        """
        try:
            return self.index.number_of(key)
        except UnknownKey:
            self.domain.records.index(key)  # a key that no record has is refused with the nearest ones
            raise

    def annotations_of(self, case: int) -> dict[int, int]:
        """Returns, for each functor that ``case`` states, the number of the record annotation that says so."""
        records = self.domain.records
        span = records.span(records.index(self.index.keys[case]), "phenotype")
        return dict(zip(records.term[span.start : span.stop].tolist(), span, strict=True))

    def ids(self, functors: Iterable[int] | npt.NDArray[np.integer]) -> list[str]:
        """Returns the ids of functors."""
        return [self.domain.mounted.ontology.ids[int(f)] for f in functors]
