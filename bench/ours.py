"""Our own retrieval as an arm of a measurement, through the protocol that peers have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..cases import CaseBatch
from ..ontologies.loading import load_ontology
from ..ontologies.mount import Mounted, mount
from ..ops import PostingLists, choose
from ..retrieval import Index
from ..retrieval.search import open_blocks
from ..scoring import Dials
from .peers.protocol import LongArray, World
from .term_sets import TermSets

__all__ = ["CREDITS", "NORMALISATIONS", "Ours", "build", "ready"]

NORMALISATIONS = ("power(0)", "power(0.5)", "max", "min")
CREDITS = ("ancestor", "base")

_SHORTLIST = 64
_CELLS = 1 << 22  # bounds held at a time


def ready(world: World) -> None:
    """Compiles the ontology where that was not done before, as any later use of it finds it."""
    load_ontology(world.ontology_file)


def build(world: World, cases: TermSets, *, backend: str = "auto", dials: dict[str, Any] | None = None) -> Ours:
    """Returns an index of all cases, under the default dials unless others are given."""
    return Ours(world, cases, backend, Dials.from_mapping(dials or {}))


class Ours:
    """An index, and the ways to ask it that are measured.

    ``search`` gives the certified top k with mappings for the hits. ``modes`` are that; ``scores``, the same without
    mappings; and ``selection``, bounds of all cases and the 64 best by them, which proves nothing yet.
    """

    def __init__(self, world: World, cases: TermSets, backend: str, dials: Dials) -> None:
        width = len(str(max(len(cases) - 1, 0)))
        self._cases = CaseBatch(
            tuple(f"{number:0{width}d}" for number in range(len(cases))),
            cases.ptr, cases.terms, np.zeros(len(cases) + 1, np.int64), np.zeros(0, np.int32),
        )  # fmt: skip
        self._mounted = mount(load_ontology(world.ontology_file))
        self.index = Index.build(self._cases, self._mounted, dials)
        self.backend, self._ops = choose(backend, cells=1 << 40)
        self.modes: dict[str, Callable[[CaseBatch, int], LongArray]] = {
            "mappings": self.search,
            "scores": self._scores,
            "selection": self._selection,
        }

    def prepare(self, queries: TermSets) -> CaseBatch:
        """Returns the queries packed."""
        keys = ("",) * len(queries)
        nothing = np.zeros(len(queries) + 1, np.int64), np.zeros(0, np.int32)
        return CaseBatch(keys, queries.ptr, queries.terms, *nothing)

    def search(self, queries: CaseBatch, k: int) -> LongArray:
        """Returns the certified top ``k``; the mapping of every hit is made too."""
        return self.index.retrieve(queries, k, backend=self.backend, mappings=True).cases.astype(np.int64)

    def _scores(self, queries: CaseBatch, k: int) -> LongArray:
        return self.index.retrieve(queries, k, backend=self.backend).cases.astype(np.int64)

    def _selection(self, queries: CaseBatch, k: int) -> LongArray:
        index, limit = self.index, min(_SHORTLIST, len(self.index))
        step = max(1, _CELLS // len(index))
        whole = open_blocks(index, queries, self._ops)
        blocks = (b.take(np.arange(at, min(at + step, len(b)))) for b in whole for at in range(0, len(b), step))
        found = []
        for block in blocks:
            short, _ = self._ops.select(block.bounds, index.normaliser, block.self_scores, index.tie_rank, limit)
            found.append(short[:, :k].astype(np.int64))
        return np.concatenate(found)

    def facts(self, queries: CaseBatch, k: int) -> dict[str, Any]:
        """Returns how many answers are certified, which lists serve, their entries for a query, and bytes a case."""
        hits = self.index.retrieve(queries, k, backend=self.backend)
        table, lists = self.index.lists_for(queries.functors, self._ops)
        if isinstance(lists, PostingLists):
            ends = np.concatenate([[0], np.cumsum(np.diff(lists.ptr)[table.stored])])[table.ptr]
        else:
            ends = lists.ptr
        seen: dict[int, Any] = {}  # postings are arrays of the index and not counted again
        return {
            "queries": len(queries),
            "certified": int(hits.certified.sum()),
            "lists": "postings" if isinstance(lists, PostingLists) else "folded",
            "entries_added": int(np.diff(ends)[table.rows_of(queries.functors)].sum()) / max(len(queries), 1),
            "index_bytes_a_case": sum(_arrays(self.index, seen)) / max(len(self.index), 1),
            "list_bytes_a_case": sum(_arrays(lists, seen)) / max(len(self.index), 1),
        }

    def aligned(self, queries: CaseBatch, k: int) -> list[dict[str, Any]]:
        """Returns, for each normalisation and credit, how many cases an answer's proof had to align."""
        found = []
        for normalisation in NORMALISATIONS:
            for credit in CREDITS:
                index = Index.build(self._cases, self._mounted, Dials(credit=credit, normalisation=normalisation))
                hits = index.retrieve(queries, k, backend=self.backend)
                median, p90, p99 = np.percentile(hits.aligned, [50, 90, 99]).tolist()
                found.append(
                    {
                        "normalisation": normalisation, "credit": credit, "median": median, "p90": p90, "p99": p99,
                        "max": int(hits.aligned.max()), "certified": int(hits.certified.sum()),
                    }
                )  # fmt: skip
        return found


def _arrays(part: Any, seen: dict[int, Any]) -> Iterator[int]:
    """Yields the bytes of each array that a dataclass holds, itself or in its parts, the ontology's left out."""
    if isinstance(part, np.ndarray):
        if id(part) not in seen:
            seen[id(part)] = part
            yield part.nbytes
    elif is_dataclass(part) and not isinstance(part, Mounted | type):
        for field in fields(part):
            yield from _arrays(getattr(part, field.name), seen)
