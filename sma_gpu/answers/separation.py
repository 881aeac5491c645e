"""What would tell the hits of an answer apart: statements that were not asked for, by the doubt that each would end.

Take the hits for the only candidates: each as likely as any other, or as their confidences say where these are
calibrated. Whether a statement holds splits them in two, and the answer to that question is worth the entropy of the
split (Shannon 1948): what a yes or no takes away, on average, of the doubt which hit it is. A hit has a statement if
its record states just this; what it states in broader or narrower terms does not count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Separation", "Splitting", "separation"]


@dataclass(frozen=True)
class Splitting:
    """A statement that some of the hits have and others lack.

    Attributes:
        term: its id.
        gain: what knowing whether it holds takes away of the doubt between the hits, bits, above 0.
        bits: the most that it is worth in any hit.
        places: which hits have it, by place from 0, ascending.
    """

    term: str
    gain: float
    bits: float
    places: tuple[int, ...]


@dataclass(frozen=True)
class Separation:
    """What tells the hits apart.

    Attributes:
        doubt: entropy over the hits, bits; 0 for a single one.
        calibrated: the hits are weighed by calibrated confidences, not all alike.
        statements: the greatest gain first, then the most bits, then by id.
    """

    doubt: float
    calibrated: bool
    statements: tuple[Splitting, ...]


def separation(answer: Mapping[str, Any]) -> Separation:
    """Returns which statements would tell the hits of ``answer`` apart, from the answer alone."""
    hits = answer["hits"]
    weights = [float(hit["confidence"]) for hit in hits] if answer["calibration"] else []
    calibrated = math.fsum(weights) > 0
    if not calibrated:
        weights = [1.0] * len(hits)
    asked = {used["term"] for used in answer["query"]["used"]}
    found: dict[str, tuple[list[int], float]] = {}
    for place, hit in enumerate(hits):
        for term, bits in _stated(hit).items():
            if term not in asked:
                places, most = found.get(term, ([], 0.0))
                found[term] = ([*places, place], max(most, bits))
    statements = [
        Splitting(term, gain, bits, tuple(places))
        for term, (places, bits) in found.items()
        if (gain := _entropy(_split(weights, places))) > 0
    ]
    order = sorted(statements, key=lambda s: (-s.gain, -s.bits, s.term))
    return Separation(_entropy(weights), calibrated, tuple(order))


def _stated(hit: Mapping[str, Any]) -> dict[str, float]:
    """Returns what the record of a hit is known to state, and for how many bits: what it shares, and what is beyond."""
    stated = {pair["case"]: float(pair["bits"]) for pair in hit["mapping"]}
    return stated | {inference["functor"]: float(inference["bits"]) for inference in hit["inferences"]}


def _split(weights: list[float], places: list[int]) -> list[float]:
    inside = set(places)
    have = math.fsum(weight for place, weight in enumerate(weights) if place in inside)
    lack = math.fsum(weight for place, weight in enumerate(weights) if place not in inside)
    return [have, lack]


def _entropy(weights: list[float]) -> float:
    whole = math.fsum(weights)
    return math.fsum(weight / whole * math.log2(whole / weight) for weight in weights if weight > 0)
