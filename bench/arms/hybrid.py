"""Hybrid retrieval: BM25 and dense by reciprocal rank fusion, and the head of that reordered by a cross-encoder.

What they can never do: use excluded terms, frequencies or the hierarchy; or be sure: a sum of reciprocal ranks says
nothing of how good the best item is, so there is no confidence and no novelty.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .arm import Setting
from .bm25 import Bm25Names
from .dense import DenseText
from .held import Asked, Held
from .matrix import NO_HIT, MatrixArm, top_of
from .texts import texts_of

__all__ = ["CROSS_ENCODER", "Hybrid", "HybridReranked", "fused"]

FloatArray = npt.NDArray[np.float64]

CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L6-v2"
"""What reorders where ``Setting.models["reranker"]`` names nothing else."""

_RANK_OFFSET = 60  # Cormack et al. 2009
_DEPTH = 50  # items of the head that are reordered; no more are returned


class Hybrid(MatrixArm):
    """BM25 over texts and dense over texts, fused by the sum of 1 / (60 + rank) over their whole lists."""

    name = "hybrid-rrf"

    def __init__(self, setting: Setting) -> None:
        self._members: tuple[MatrixArm, ...] = (Bm25Names(setting), DenseText(setting))
        super().__init__(setting)

    def fill(self, held: Held) -> None:
        """Fills both."""
        for member in self._members:
            member.held = held
            member.fill(held)

    def askable(self, asked: Asked) -> npt.NDArray[np.bool_]:
        """Returns which queries either can be asked."""
        found = np.zeros(len(asked), np.bool_)
        for member in self._members:
            found |= member.askable(asked)
        return found

    def scores(self, asked: Asked) -> FloatArray:
        """Returns the sum of reciprocal ranks; an item in neither list is no hit."""
        return fused([member.scores(asked) for member in self._members])


class HybridReranked(Hybrid):
    """The first 50 of the hybrid, ordered by a cross-encoder that reads query and item together.

    The score is the encoder's own. The pairs of a query make up one batch, so that no other query changes them.
    """

    name = "hybrid-reranked"

    def fill(self, held: Held) -> None:
        """Fills both, and keeps the texts."""
        super().fill(held)
        self._texts = texts_of(self.setting.mounted, held.items, held.sets)

    def scores(self, asked: Asked) -> FloatArray:
        """Returns what the cross-encoder says of the first 50; all others are no hits."""
        columns = top_of(super().scores(asked), _DEPTH)[0]
        found = np.full((len(asked), len(self.held)), NO_HIT)
        for row, text in enumerate(texts_of(self.setting.mounted, asked.queries, asked.present)):
            head = columns[row][columns[row] >= 0]
            if text and len(head):
                model = _cross_encoder(self.setting.models.get("reranker", CROSS_ENCODER))
                pairs = [(text, self._texts[item]) for item in head.tolist()]
                found[row, head] = model.predict(pairs, batch_size=_DEPTH, show_progress_bar=False)
        return found


def fused(lists: list[FloatArray]) -> FloatArray:
    """Returns the sum over ``lists`` of 1 / (60 + rank), float64 ``[B, N]``; equal scores are ranked in key order."""
    total = np.zeros(lists[0].shape)
    for scores in lists:
        order = np.argsort(-scores, axis=1, kind="stable")
        gain = 1.0 / (_RANK_OFFSET + 1 + np.arange(scores.shape[1]))
        gains = np.empty(scores.shape)
        np.put_along_axis(gains, order, np.broadcast_to(gain, scores.shape), axis=1)
        total += np.where(scores > NO_HIT, gains, 0.0)
    return np.where(total > 0, total, NO_HIT)


@cache
def _cross_encoder(model: str) -> Any:
    from sentence_transformers import CrossEncoder

    return CrossEncoder(model, device="cpu", local_files_only=True)
