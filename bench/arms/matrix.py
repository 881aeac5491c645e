"""The base of arms that score every item: a block of queries by all items at a time, then an exact top k.

A score of one query and one item never depends on which other queries are in the block: sums run in a fixed order, a
row at a time (products of sparse rows), or over numbers whose sum is exact. So any cut gives the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...memory import IndexItem, Query, Retrieved
from ...retrieval import check_k
from .arm import Ranking, Setting
from .held import Asked, Held

__all__ = ["NO_HIT", "MatrixArm", "top_of"]

LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

NO_HIT = -np.inf
_CELLS = 1 << 23  # scores held at a time; changes memory, never a score


class MatrixArm(ABC):
    """An arm that gives every item a score; ``fill`` and ``scores`` make it one.

    Args:
        setting: ontology, domain, seed and models.
    """

    name = ""
    similarity = False
    """Scores are in [0, 1]; then the first is the confidence, and what is missing to 1 the novelty."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.held = Held.of(setting.mounted, ())
        self.index(())

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before.

        Raises:
            CaseError: two items have one key.
        """
        self.held = Held.of(self.setting.mounted, items)
        self.fill(self.held)

    @abstractmethod
    def fill(self, held: Held) -> None:
        """Prepares what scores are made of; ``held`` stays at hand as ``self.held``."""

    @abstractmethod
    def scores(self, asked: Asked) -> FloatArray:
        """Returns the score of every item, float64 ``[B, N]``, items in key order; ``NO_HIT`` for one that is none."""

    def askable(self, asked: Asked) -> npt.NDArray[np.bool_]:
        """Returns which queries can be compared with anything, bool ``[B]``; the others get no hit."""
        return asked.present.sizes > 0

    def confidence(self, first: FloatArray) -> FloatArray:
        """Returns the confidence in hits with the given scores, float64 in [0, 1], or NaN where there is none."""
        return np.clip(first, 0.0, 1.0) if self.similarity else np.full(first.shape, np.nan)

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """Returns the best ``k`` items of every query; equal scores in key order.

        Raises:
            QueryError: ``k`` is not a whole number above 0.
        """
        check_k(k)
        step = max(1, _CELLS // max(len(self.held), 1))
        parts = [self._rank_block(queries[start : start + step], k) for start in range(0, len(queries), step)]
        parts = parts or [self._rank_block((), k)]
        return Ranking(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _rank_block(
        self, queries: Sequence[Query], k: int
    ) -> tuple[LongArray, FloatArray, LongArray, FloatArray, FloatArray]:
        asked = Asked.of(self.setting.mounted, queries)
        scores = self.scores(asked)
        askable = self.askable(asked)
        scores[~askable] = NO_HIT
        columns, best, tail = top_of(scores, k)
        items = np.append(self.held.places, -1)[columns]  # column -1 is no item
        confidence = self.confidence(best[:, 0])
        novelty = 1.0 - confidence
        novelty[askable & (columns[:, 0] < 0)] = 1.0 if self.similarity else np.nan
        novelty[~askable] = 1.0 if self.similarity else np.nan
        return items, best, tail, confidence, novelty

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns at most ``k`` hits, best first; confidence is NaN where the arm has none."""
        found = self.rank([query], k)
        keys = {place: item.key for place, item in zip(self.held.places.tolist(), self.held.items, strict=True)}
        sure = self.confidence(found.scores[0]).tolist()
        return [
            Retrieved(keys[item], score, sure[place], place + 1)
            for place, (item, score) in enumerate(zip(found.items[0].tolist(), found.scores[0].tolist(), strict=True))
            if item >= 0
        ]

    def novelty(self, query: Query) -> float:
        """Returns how new the query is, in [0, 1]; NaN where the arm has no measure of it."""
        return float(self.rank([query], 1).novelty[0])


def top_of(scores: FloatArray, k: int) -> tuple[LongArray, FloatArray, LongArray]:
    """Returns the best ``k`` columns of every row, equal scores in column order.

    Args:
        scores: float64 ``[B, N]``, ``NO_HIT`` where a column is no hit.
        k: places.

    Returns:
        Columns int64 ``[B, k]`` (-1 for places left over), their scores float64 ``[B, k]`` (NaN), and how many columns
        beyond the last place have exactly its score, int64 ``[B]``.
    """
    columns, best = np.full((len(scores), k), -1, np.int64), np.full((len(scores), k), np.nan)
    tail = np.zeros(len(scores), np.int64)
    for row, of in enumerate(scores):
        able = np.flatnonzero(of > NO_HIT)
        values = of[able]
        if len(able) > k:
            last = np.partition(values, len(able) - k)[len(able) - k]
            above, level = np.flatnonzero(values > last), np.flatnonzero(values == last)
            kept = np.sort(np.concatenate([above, level[: k - len(above)]]))
            tail[row] = len(above) + len(level) - k
            able, values = able[kept], values[kept]
        order = np.argsort(-values, kind="stable")
        columns[row, : len(able)], best[row, : len(able)] = able[order], values[order]
    return columns, best, tail
