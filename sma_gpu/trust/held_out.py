"""What a calibration said of solved cases that it had not seen, and how well that held.

The record keeps confidences with their outcomes, in ascending order: thresholds can be derived from it, but nothing of
a query, its terms or its key can be read out of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from .measures import aupr, aurc, auroc, f1
from .reliability import brier, ece, ece_by_chance, equal_mass_bins, equal_width_bins, log_loss

__all__ = ["FIRST", "HeldOut", "Outcomes"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FIRST = 5
"""Beside the first hit, so many first hits together are judged."""


@dataclass(frozen=True)
class Outcomes:
    """Predictions with what came true, in ascending order of both.

    Attributes:
        predicted: float64 ``[Q]``, in [0, 1].
        true: bool ``[Q]``.
    """

    predicted: FloatArray
    true: BoolArray

    @classmethod
    def of(cls, predicted: FloatArray, true: BoolArray) -> Self:
        """Returns the outcomes in their order."""
        order = np.lexsort((true, predicted))
        return cls(predicted[order], true[order])

    def __len__(self) -> int:
        return len(self.predicted)

    def figures(self) -> dict[str, float]:
        """Returns how well the predictions held, by name; NaN where a figure is not defined.

        ``n`` predictions, the share that was ``true``, ``ece`` of ten bins of equal width and ``ece_equal_mass`` of ten
        of equal mass, beside each what chance alone would give; ``brier``, ``log_loss`` in nats, ``aurc`` and
        ``auroc``.
        """
        width, mass = (make(self.predicted, self.true) for make in (equal_width_bins, equal_mass_bins))
        return {
            "n": len(self),
            "true": float(self.true.mean()) if len(self) else float("nan"),
            "ece": ece(width),
            "ece_by_chance": ece_by_chance(width),
            "ece_equal_mass": ece(mass),
            "ece_equal_mass_by_chance": ece_by_chance(mass),
            "brier": brier(self.predicted, self.true),
            "log_loss": log_loss(self.predicted, self.true),
            "aurc": aurc(self.predicted, self.true.astype(np.float64)),
            "auroc": auroc(self.predicted, self.true),
        }


@dataclass(frozen=True)
class HeldOut:
    """The record of a calibration.

    Attributes:
        first: confidence of the first hit, 0 where there is none, and whether it is right.
        weights: float64 ``[Q]``, for each of ``first`` one over the number of questions in its group.
        first_five: confidence of the first ``FIRST`` hits together, and whether one of them is right.
        explained_aurc: ``aurc`` of the first hit by its explained share, which is what stands for confidence without a
            calibration.
        explained_auroc: ``auroc``, likewise.
        novelty: chance that a query is new, and whether it was or was asked as if it was; None where there was nothing
            new to learn from. Queries without any hit are not among them.
        novelty_f1: F1 of calling new what reaches the threshold, each fold by the threshold of the others.
    """

    first: Outcomes
    weights: FloatArray
    first_five: Outcomes
    explained_aurc: float
    explained_auroc: float
    novelty: Outcomes | None
    novelty_f1: float | None

    def figures(self) -> dict[str, dict[str, float]]:
        """Returns the figures of the first hit, the first five together, and novelty, by name.

        Of novelty also ``aupr`` and ``f1``, and beside them ``aupr_by_chance`` and ``f1_all_new``: what calling
        everything new gives.
        """
        first = {
            **self.first.figures(), "explained_aurc": self.explained_aurc, "explained_auroc": self.explained_auroc,
        }  # fmt: skip
        found = {"first": first, "first_five": self.first_five.figures()}
        if self.novelty is not None and self.novelty_f1 is not None:
            predicted, new = self.novelty.predicted, self.novelty.true
            figures = self.novelty.figures()
            del figures["aurc"]  # nobody abstains from calling a query new
            found["novelty"] = {
                **figures,
                "aupr": aupr(predicted, new),
                "aupr_by_chance": float(new.mean()),
                "f1": self.novelty_f1,
                "f1_all_new": f1(np.ones(len(new), np.bool_), new),
            }
        return found
