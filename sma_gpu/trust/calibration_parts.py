"""What a calibration is made of."""

from __future__ import annotations

from dataclasses import dataclass

from .cross_fitting import ScaledLogit
from .held_out import HeldOut
from .isotonic import Steps

__all__ = ["METHODS", "CalibrationParts", "RestsOn"]

METHODS = ("logistic", "isotonic")
"""How the confidence of the first hit is found: by the conditional logit as it is, or through rising steps on top."""


@dataclass(frozen=True)
class RestsOn:
    """What a calibration was made from; what it is used with must be the same.

    Attributes:
        index: fingerprint of the index.
        dials: fingerprint of its dials.
        ontology: SHA-256 of the ontology.
        records: SHA-256 of the records.
        split: SHA-256 of the solved cases.
        stability_runs: reruns of each query that the signals took in; 0 where they took in none.
        stability_seed: what these were drawn from.
        generalisations: whether the signals took in generalisations.
    """

    index: str = ""
    dials: str = ""
    ontology: str = ""
    records: str = ""
    split: str = ""
    stability_runs: int = 0
    stability_seed: int = 0
    generalisations: bool = False


@dataclass(frozen=True)
class CalibrationParts:
    """The fields of a calibration.

    Attributes:
        method: of ``METHODS``.
        hit_names: names of the signals of hits that it takes, in order.
        query_names: of those of queries.
        queries: how many solved cases it was fitted to.
        groups: how many groups they were of.
        folds: how many folds it was checked on.
        seed: what the folds were drawn from.
        right: which hit is right, if any.
        steps: for ``isotonic``, from the chance of the first hit to its confidence.
        new: whether the query is new; None where there was nothing new to learn from.
        novelty_threshold: from which chance on a query is called new; None likewise.
        held_out: what it said of solved cases that it had not seen.
        rests_on: what it was made from.
    """

    method: str
    hit_names: tuple[str, ...]
    query_names: tuple[str, ...]
    queries: int
    groups: int
    folds: int
    seed: int
    right: ScaledLogit
    steps: Steps | None
    new: ScaledLogit | None
    novelty_threshold: float | None
    held_out: HeldOut
    rests_on: RestsOn
