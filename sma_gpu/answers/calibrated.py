"""An engine's answers under a calibration: how sure, whether new, and when not to answer, with the reason in words.

What a calibration says of a query is found from its first ``PLACES`` hits, however many are shown. A hit below them has
the confidence 0: that it is right is a part of "none of these".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cases import EncodedQuery
from ..retrieval.block import QueryBlock
from ..trust import Abstention
from ..trust.asking import SignalSource
from ..trust.calibration import Calibration
from ..trust.novelty import judged
from ..trust.signals import PLACES
from ..trust.thresholds import Threshold
from .restriction import Restriction

__all__ = ["NEVER", "Calibrated", "Judgement"]

NEVER = "none"
"""The rule by which an answer is never withheld."""


@dataclass(frozen=True)
class Judgement:
    """What a calibration says of one query.

    Attributes:
        cases: int32 ``[PLACES]``, numbers of the first hits, -1 for none.
        confidence: float64 ``[PLACES]``, in [0, 1]; 0 for none.
        new: chance that the query is new; None where the calibration cannot say.
    """

    cases: npt.NDArray[np.int32]
    confidence: npt.NDArray[np.float64]
    new: float | None

    @property
    def best(self) -> float:
        """Confidence of the first hit, 0 without one."""
        return float(self.confidence[0])

    def of(self, case: int) -> float:
        """Returns the confidence that ``case`` is right."""
        at = np.flatnonzero(self.cases == case)
        return float(self.confidence[at[0]]) if len(at) else 0.0


@dataclass(frozen=True)
class Calibrated:
    """A calibration in use.

    Attributes:
        calibration: made for the index that is asked.
        source: that index, as the source of the signals that the calibration takes.
        threshold: from which confidence of the best hit on to answer; None: always.
    """

    calibration: Calibration
    source: SignalSource
    threshold: Threshold | None = None

    def judgements(
        self, block: QueryBlock, queries: Sequence[EncodedQuery], backend: str, asked: tuple[str, str]
    ) -> list[Judgement]:
        """Returns what the calibration says of each query of an opened block.

        Args:
            block: the queries, bounded against the index.
            queries: the same queries, encoded.
            backend: name of the backend that serves.
            asked: which backend was asked for, and where; see ``SignalSource.of_block``.
        """
        signals, cases = self.source.of_block(block, [query.excluded for query in queries], backend, asked)
        confidence = self.calibration.confidence(signals)
        new: list[float | None] = [None] * len(queries)
        if self.calibration.new is not None:
            new = [float(chance) for chance in self.calibration.novelty(signals)]
        return [Judgement(*one) for one in zip(cases, confidence, new, strict=True)]

    def why_withheld(self, found: Judgement, key: str) -> Abstention | None:
        """Returns why an answer is withheld whose best hit has this key, or None where it is not."""
        if self.threshold is None or bool(self.threshold.answers(found.confidence[:1])[0]):
            return None
        return Abstention(
            "not-sure",
            f"not sure enough: the best hit, {key}, has confidence {found.best:.3f}; the rule {self.threshold.words}",
        )

    @property
    def fingerprint(self) -> list[str]:
        """What the lines of a batch depend on: the calibration and the rule."""
        rule = NEVER if self.threshold is None else f"{self.threshold.rule}={self.threshold.level}"
        return [self.calibration.fingerprint, rule]

    @cached_property
    def told(self) -> Mapping[str, Any]:
        """What every answer says of the calibration."""
        made, figures, further = self.calibration, self.calibration.as_dict()["figures"], self.source.further
        return {
            "fingerprint": made.fingerprint,
            "method": made.method,
            "queries": made.queries,
            "groups": made.groups,
            "folds": made.folds,
            "split_sha256": made.rests_on.split,
            "index_fingerprint": made.rests_on.index,
            "ece": figures["first"]["ece"],
            "aurc": figures["first"]["aurc"],
            "places": PLACES,
            "novelty_threshold": made.novelty_threshold,
            "separability": further.separability,
            "stability": {"runs": further.runs, "seed": further.seed} if further.runs else None,
            "generalisations": further.generalisations,
        }

    def of_answer(self, found: Judgement | None, abstention: Abstention | None) -> dict[str, Any]:
        """Returns the fields of an answer that the calibration fills.

        Args:
            found: what it says of the query; None where that could not be asked, or nothing fits.
            abstention: why there is no hit; None where there is one, also where that is withheld.
        """
        made = self.calibration
        fields: dict[str, Any] = {"threshold": self.rule(found)}
        if made.novelty_threshold is not None:
            new = 1.0 if found is None or found.new is None else found.new
            verdict = judged(new, made.novelty_threshold, abstention)
            fields |= {"novelty": verdict.probability, "novel": verdict.novel}
        return fields

    def rule(self, found: Judgement | None) -> dict[str, Any] | None:
        """Returns what an answer says of the rule by which it could be withheld; None without one."""
        if self.threshold is None:
            return None
        best = 0.0 if found is None else found.best
        is_answered = bool(self.threshold.answers(np.array([best]))[0])
        return {**self._rule, "best_confidence": best, "answered": is_answered}

    @cached_property
    def _rule(self) -> Mapping[str, Any]:
        return {} if self.threshold is None else self.threshold.as_dict()

    def notes(self, hits: Sequence[Mapping[str, Any]], restriction: Restriction | None) -> list[str]:
        """Returns what must be known to read confidences of an answer with these hits."""
        found = []
        if restriction is not None:
            found.append(
                "confidence and novelty were calibrated with all records as possible hits; among some of them they are "
                "a guide, no promise"
            )
        if any(hit["rank"] > PLACES for hit in hits):
            found.append(f"confidence is told for the first {PLACES} places; a hit below them has 0")
        return found
