"""Items and queries as arrays of term numbers, the same for every arm: what the engine sees of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...cases import encode_query, encode_stored
from ...errors import CaseError
from ...lattice.arrays import distinct
from ...memory import IndexItem, Query
from ...ontologies.mount import Mounted
from ...scoring.scorers import information_content
from ..term_sets import TermSets

__all__ = ["Asked", "Held", "askers"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Held:
    """The items of an arm in the order of their keys.

    Attributes:
        mounted: the ontology.
        items: ``N`` items.
        places: int64 ``[N]``, where each stood in the list that was indexed.
        sets: terms of each as annotated.
        excluded: terms known not to hold of each.
    """

    mounted: Mounted
    items: tuple[IndexItem, ...]
    places: LongArray
    sets: TermSets
    excluded: TermSets

    @classmethod
    def of(cls, mounted: Mounted, items: Sequence[IndexItem]) -> Held:
        """Returns the items as arrays.

        Raises:
            CaseError: two items have one key.
        """
        places = sorted(range(len(items)), key=lambda place: items[place].key)
        ordered = tuple(items[place] for place in places)
        for one, other in zip(ordered, ordered[1:], strict=False):
            if one.key == other.key:
                raise CaseError(
                    f"index {len(items)} items", f"two have the key {one.key}", "Give each item a key of its own."
                )
        return cls(
            mounted,
            ordered,
            np.array(places, np.int64),
            TermSets.of(encode_stored(mounted, item.term_ids)[0] for item in ordered),
            TermSets.of(encode_stored(mounted, item.excluded)[0] for item in ordered),
        )

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def closed(self) -> Any:
        """CSR ``[N, T]``: which terms hold of each item, itself annotated or by what is below; float64 ones."""
        return self.sets.closed(self.mounted)

    @cached_property
    def information(self) -> FloatArray:
        """Information content of each term among the items in bits, float64 ``[T]`` (Resnik 1995).

        A term that no item has counts as half an item, so that it is rarer than any that was seen.
        """
        counts = np.bincount(self.closed.indices, minlength=len(self.mounted.lattice)).astype(np.int64)
        return information_content(counts, len(self))


@dataclass(frozen=True)
class Asked:
    """Queries as the engine sees them.

    Attributes:
        queries: ``B`` queries as they were asked.
        present: the most specific terms of each.
        excluded: terms stated to be absent from each.
    """

    queries: tuple[Query, ...]
    present: TermSets
    excluded: TermSets

    @classmethod
    def of(cls, mounted: Mounted, queries: Sequence[Query]) -> Asked:
        """Returns the queries as arrays; ids that cannot be used take no part."""
        encoded = [encode_query(mounted, query.term_ids, query.excluded) for query in queries]
        return cls(tuple(queries), TermSets.of(e.present for e in encoded), TermSets.of(e.excluded for e in encoded))

    def __len__(self) -> int:
        return len(self.queries)


def askers(sets: TermSets) -> list[tuple[int, LongArray]]:
    """Returns each term of any set, ascending, with the sets that have it, ascending.

    What is summed in this order is summed for each set in the order of its own terms, whatever other sets there are.
    """
    order = np.argsort(sets.terms, kind="stable")
    terms, rows = sets.terms[order], np.repeat(np.arange(len(sets)), sets.sizes)[order]
    found = distinct(terms)
    ends = np.searchsorted(terms, found, "right")
    return [(int(term), part) for term, part in zip(found, np.split(rows, ends[:-1]), strict=False)]
