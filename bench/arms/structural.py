"""This engine as an arm: whole batches through its index, and its first stage alone.

What they can never do: use excluded terms in the score, or, but for ``Evidence``, frequencies. Confidence is the share
of the query that the best hit explains, novelty what it leaves; neither is calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...cases import CaseBatch, encode_query
from ...memory import IndexItem, Query, Retrieved, SmaMemory
from ...ontologies.manifest import manifests
from ...ops import choose
from ...retrieval import Index, check_k
from ...retrieval.mappings import map_block
from ...retrieval.search import open_blocks
from ...retrieval.ties import count_ties
from ...scoring import Dials
from ...scoring.grid import GRID
from ...scoring.normalise import QUOTIENT_SHIFT
from ...trust import why_abstain
from .accounts import Account, account_of_terms
from .arm import LongArray, Ranking, Setting
from .held import Asked, Held
from .matrix import NO_HIT, MatrixArm

__all__ = ["AdapterV1AllCases", "Evidence", "MacOnly", "Sized", "Structural", "beyond_last"]

FloatArray = npt.NDArray[np.float64]

MANY_CELLS = 1 << 40  # a block is a part of many queries: the backend for those, whose start pays only then


class Structural:
    """Every case by its best mapping, certified, under the default dials.

    Scores are rank keys in units of 2^-24: bits over the power of the case's self-score, or the normalised score.

    Args:
        setting: ontology, domain, seed and models.
        dials: what scores depend on; the class's own where it is None.
    """

    name = "structural"
    dials = Dials()

    def __init__(self, setting: Setting, dials: Dials | None = None) -> None:
        self._memory = SmaMemory(setting.mounted, dials or self.dials)
        self._mounted = setting.mounted
        self._places: LongArray = np.zeros(0, np.int64)

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before.

        Raises:
            CaseError: two items have one key.
        """
        self._memory.index(items)
        place = {item.key: number for number, item in enumerate(items)}
        self._places = np.array([place[key] for key in self.array_index.keys], np.int64)

    @property
    def array_index(self) -> Index:
        """The index of what is remembered."""
        return self._memory.array_index

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """Returns the best ``k`` items of every query; equal scores in key order.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
        """
        check_k(k)
        shape = (len(queries), k)
        items, scores = np.full(shape, -1, np.int64), np.full(shape, np.nan)
        tail = np.zeros(len(queries), np.int64)
        confidence, novelty = np.full(len(queries), np.nan), np.full(len(queries), 1.0)
        encoded = [encode_query(self._mounted, query.term_ids, query.excluded) for query in queries]
        refused = [why_abstain(self.array_index, query) for query in encoded]
        novelty[[why is not None and why.kind == "no-information" for why in refused]] = 0.0
        rows = np.flatnonzero([why is None for why in refused])
        present, excluded = ([getattr(encoded[row], side) for row in rows.tolist()] for side in ("present", "excluded"))
        batch = CaseBatch.from_functors([""] * len(rows), present, excluded)
        backend, ops = choose(cells=MANY_CELLS)
        width = min(k, len(self.array_index))
        for block in open_blocks(self.array_index, batch, ops) if width else ():
            at, found = rows[block.numbers], block.top(width)
            held = found.cases >= 0
            items[at, :width] = np.where(held, np.append(self._places, -1)[found.cases], -1)
            scores[at, :width] = np.where(held, found.rank_keys / (1 << QUOTIENT_SHIFT), np.nan)
            tail[at] = beyond_last(found.rank_keys, held, count_ties(block, found))
            explained = map_block(block, found.cases[:, :1].astype(np.int32), backend).explained[:, 0]
            confidence[at[held[:, 0]]] = explained[held[:, 0]]
        hit = items[:, 0] >= 0 if k else np.zeros(len(queries), np.bool_)
        novelty[hit] = 1.0 - confidence[hit]
        return Ranking(items, scores, tail, confidence, novelty)

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns at most ``k`` hits, best first; scores as in ``rank``, each hit with its own confidence."""
        hits, found = self._memory.retrieve(query, k), self.rank([query], k)
        return [
            Retrieved(h.key, score, h.confidence, h.rank)
            for h, score in zip(hits, found.scores[0].tolist(), strict=False)
        ]

    def novelty(self, query: Query) -> float:
        """Returns the share of the query that the best hit leaves unexplained; 1 where nothing can be compared."""
        return self._memory.novelty(query)

    def account(self, query: Query, key: str) -> Account:
        """Returns how the terms of a query and the item ``key`` were compared.

        Raises:
            UnknownKey: no item has this key.
        """
        return account_of_terms(self.array_index, encode_query(self._mounted, query.term_ids, query.excluded), key)


class AdapterV1AllCases(Structural):
    """The published adapter's scores and normalisation, every case scored by its best mapping."""

    name = "adapter-v1-all-cases"
    dials = Dials.adapter_v1()


class Evidence(Structural):
    """Every case by its best mapping under the scorer ``evidence``: frequencies, sizes of cases, rates anywhere.

    Its dials are those of the domain, as whoever asks the domain gets them.
    """

    name = "evidence"

    def __init__(self, setting: Setting) -> None:
        of_domain = manifests().get(setting.domain)
        super().__init__(setting, Dials.from_mapping(of_domain.dials) if of_domain else Dials.evidence())


class EvidenceDrawn(Structural):
    """The same for queries that are drawn from the stored cases themselves, whatever their frequencies.

    Scale and rho were chosen on draws of all diseases under the seeds 101, 102 and 103, which no suite asks.
    """

    name = "evidence-drawn"
    dials = Dials("evidence(256,0.9)", rho=0.3)


class Sized(Structural):
    """Every case by its best mapping under the default dials, over the fourth root of the case's self-score."""

    name = "structural-sized"
    dials = Dials(normalisation="power(0.25)")


class MacOnly(MatrixArm):
    """The bound alone, in bits, over all cases: the wide stage of the engine without alignment.

    What it can never do: keep one stored statement from answering two of the query; nor has it a confidence or novelty,
    since a bound says only what a score is not above.
    """

    name = "mac-only"

    def fill(self, held: Held) -> None:
        """Builds the index."""
        keys = [item.key for item in held.items]
        batch = CaseBatch.from_functors(keys, [held.sets.members(number) for number in range(len(held))])
        self._index = Index.build(batch, held.mounted, Dials())
        number = {key: column for column, key in enumerate(keys)}
        self._columns = np.array([number[key] for key in self._index.keys], np.int64)

    def scores(self, asked: Asked) -> FloatArray:
        """Returns the bound; an item of which nothing can match is no hit."""
        found = np.full((len(asked), len(self.held)), NO_HIT)
        batch = CaseBatch.from_functors([""] * len(asked), [asked.present.members(row) for row in range(len(asked))])
        ops = choose(cells=MANY_CELLS)[1]
        for block in open_blocks(self._index, batch, ops) if len(self._index) else ():
            bounds = block.bounds / GRID
            found[np.ix_(block.numbers, self._columns)] = np.where(bounds > 0, bounds, NO_HIT)
        return found


def beyond_last(keys: LongArray, held: npt.NDArray[np.bool_], ties: LongArray) -> LongArray:
    """Returns how many cases beyond the last place have its rank key, int64 ``[B]``; 0 where a place is left over."""
    last, full = keys[:, -1:], held.all(axis=1)
    inside = (keys == last).sum(axis=1)
    return np.where(full, ties[:, -1] + 1 - inside, 0)
