"""Confidence and novelty that mean something: chances fitted to solved cases, checked on ones held out.

``fitting.fit`` makes a ``Calibration``. It is a small table of numbers with a name, its fingerprint, and the record of
what it said of cases that it had not seen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import CalibrationError, FingerprintMismatch
from .calibration_json import SCHEMA, canonical_json, parts_as_dict, parts_from_dict
from .calibration_parts import METHODS, CalibrationParts, RestsOn
from .conditional_logit import Choices
from .signals import Signals
from .thresholds import Threshold, threshold_by

__all__ = ["METHODS", "Calibration", "RestsOn", "novelty_choices", "with_first_at"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Calibration(CalibrationParts):
    """A fitted model of which hits are right and which queries are new; ``CalibrationParts`` says what it holds."""

    def confidence(self, signals: Signals) -> FloatArray:
        """Returns the chance that each hit is right and none before it, float64 ``[B, P]``, 0 where there is none.

        Those of one query add up to at most 1, but for rounding, and those of its first few to the chance that one of
        these is right.

        Raises:
            CalibrationError: these are other signals than those that it was fitted to.
        """
        self._check(signals)
        chances = self.right.chances(Choices(signals.held, signals.of_hits, signals.of_queries))
        return chances if self.steps is None else with_first_at(self.steps(chances[:, 0]), chances)

    def novelty(self, signals: Signals) -> FloatArray:
        """Returns the chance that each query is new, float64 ``[B]``; 1 where there is no hit.

        It is a chance at the odds of the solved cases, of which each known one was asked as it is and again with what
        is right hidden: about even. Where new queries are rarer it is too high, though their order stays.

        Raises:
            CalibrationError: these are other signals, or there was nothing new to learn from.
        """
        self._check(signals)
        if self.new is None:
            raise CalibrationError(
                f"novelty of {len(signals)} queries",
                "the calibration was made without new queries and without hiding what is right",
                "Calibrate again with solved cases that can be hidden, or with some whose gold is empty.",
            )
        found = self.new.chances(novelty_choices(signals))[:, 0]
        return np.where(signals.held[:, 0], found, 1.0)

    def threshold(self, rule: str) -> Threshold:
        """Returns when to abstain, by ``youden``, ``risk=LEVEL`` or ``conformal=LEVEL``, from the held-out record.

        Raises:
            QueryError: there is no such rule, or the level is not between 0 and 1.
            CalibrationError: the rule has no threshold for this record.
        """
        first = self.held_out.first
        return threshold_by(rule, first.predicted, first.true, self.held_out.weights)

    def check_made_for(self, **stated: str) -> None:
        """Refuses to be used with anything else than what it was made from.

        Args:
            stated: by field of ``RestsOn``, what is at hand.

        Raises:
            FingerprintMismatch: one of them is another.
        """
        for name, at_hand in stated.items():
            made_from = getattr(self.rests_on, name)
            if made_from != at_hand:
                raise FingerprintMismatch(
                    f"calibration {self.fingerprint[:12]}",
                    f"it was made with the {name} {made_from[:12] or '(not stated)'}, and {at_hand[:12]} is at hand",
                    "Use the index it was made with, or calibrate again.",
                    field=name,
                )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON without the fingerprint, hex."""
        return hashlib.sha256(canonical_json(self._content()).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Returns all of it in the form of JSON, figures for people included; numbers come back from it exactly."""
        return {**self._content(), "fingerprint": self.fingerprint}

    def to_json(self) -> str:
        """Returns the one JSON text of it."""
        return canonical_json(self.as_dict())

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Returns the calibration from its JSON form.

        Raises:
            ArtifactError: it is damaged, of a newer release, or no calibration.
        """
        parts = parts_from_dict(found)
        return cls(**{field.name: getattr(parts, field.name) for field in fields(parts)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Returns the calibration from its JSON text.

        Raises:
            ArtifactError: it is damaged, of a newer release, or no calibration.
        """
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        return cls.from_dict(found)

    def _content(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **parts_as_dict(self)}

    def _check(self, signals: Signals) -> None:
        given = *signals.hit_names, *signals.query_names
        wanted = *self.hit_names, *self.query_names
        if given != wanted:
            other = sorted({*given} ^ {*wanted})
            raise CalibrationError(
                f"confidence of {len(signals)} queries",
                f"the calibration takes other signals than these; one alone has {', '.join(other)}",
                "Ask with stability and generalisations as they were when it was made, or calibrate again.",
            )


def with_first_at(confidence: FloatArray, chances: FloatArray) -> FloatArray:
    """Returns ``chances`` with those of the first hits put at ``confidence``; the others keep their shares of the rest.

    Args:
        confidence: float64 ``[B]``.
        chances: float64 ``[B, P]``.
    """
    rest = 1.0 - chances[:, 0]
    ratio = np.divide(1.0 - confidence, rest, out=np.zeros(len(rest)), where=rest > 0)
    found = chances * ratio[:, None]
    found[:, 0] = np.where(chances[:, 0] > 0, confidence, 0.0)
    return np.asarray(found, np.float64)


def novelty_choices(signals: Signals) -> Choices:
    """Returns what the logit of novelty sees: one alternative a query, "new", with its signals and its first hit's."""
    seen = np.concatenate([signals.of_hits[:, 0], signals.of_queries], axis=1)
    return Choices(np.ones((len(signals), 1), np.bool_), seen[:, None], np.zeros((len(signals), 0)))
