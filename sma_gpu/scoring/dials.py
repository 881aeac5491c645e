"""The dials: everything that changes a score, and nothing else."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..errors import DialError

__all__ = ["CREDITS", "SCORERS", "Dials"]

SCORERS = ("surprisal", "ic", "unit", "evidence")
EVIDENCE = (4.0, 0.6)
"""Scale and size power of the scorer ``evidence`` where its name says nothing of them."""
CREDITS = ("base", "ancestor")
_POWER = re.compile(r"power\((.+)\)\Z")
_EVIDENCE = re.compile(r"evidence\((.+),(.+)\)\Z")
_FOREIGN = re.compile(r"[A-Za-z0-9][\w.-]*:[\w.-]+\Z")


@dataclass(frozen=True)
class Dials:
    """What a score depends on. Search limits are not dials: they never change an answer.

    Attributes:
        scorer: worth of a statement pair: ``surprisal``, ``ic`` (information content), ``unit``, ``evidence``
            (frequencies and the size of a case against what is expected anywhere), which is ``evidence(4,0.6)`` and has
            forms of other scale and size power; or ``package:name``, the scorer of another package
            (``scoring/foreign.py``), which is looked for when an index is built.
        credit: ``base`` (the stored functor pays, as published) or ``ancestor`` (the common ancestor pays, at most what
            either functor is worth).
        normalisation: ``max``, ``min`` or ``power(p)`` with 0 <= p < 1: what a score is divided by for ranking.
        gamma: share of a statement's score lent to each of its arguments, 0 or more.
        rho: factor per is-a hop, in (0, 1].
        delta: most is-a hops between two functors, both legs together, 0 or more.

    Raises:
        DialError: a dial outside its range.

    Example:
        >>> Dials.adapter_v1().scorer
        'surprisal'
    """

    scorer: str = "ic"
    credit: str = "ancestor"
    normalisation: str = "power(0)"
    gamma: float = 0.25
    rho: float = 0.95
    delta: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "scorer", _canonical_scorer(self.scorer))
        if self.credit not in CREDITS:
            raise _refuse("credit", self.credit, f"one of {', '.join(CREDITS)}")
        if self.weighing and self.credit != "ancestor":
            raise _refuse("credit", self.credit, "ancestor: under the scorer evidence the common ancestor pays")
        object.__setattr__(self, "normalisation", _canonical_normalisation(self.normalisation))
        for name, low, high in (("gamma", 0.0, math.inf), ("rho", 0.0, 1.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise _refuse(name, value, "a finite number")
            if not low <= value <= high or (name == "rho" and value == 0):
                raise _refuse(name, value, "0 or more" if name == "gamma" else "above 0 and at most 1")
            object.__setattr__(self, name, float(value))
        if isinstance(self.delta, bool) or not isinstance(self.delta, int) or self.delta < 0:
            raise _refuse("delta", self.delta, "a whole number, 0 or more")

    @classmethod
    def adapter_v1(cls) -> Dials:
        """Returns the dials of the published adapter."""
        return cls("surprisal", "base", "max", 0.25, 0.95, 2)

    @classmethod
    def evidence(cls) -> Dials:
        """Returns the dials of the scorer ``evidence`` as they were tuned."""
        return cls("evidence", "ancestor", "power(0)", 0.25, 0.5, 2)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Dials:
        """Returns the dials named in ``values``, the rest at their defaults.

        Raises:
            DialError: a name that is no dial.
        """
        known = [f.name for f in fields(cls)]
        for name in sorted(set(values) - set(known)):
            raise DialError(f"dial {name}", "there is no such dial", f"The dials are {', '.join(known)}.")
        return cls(**values)

    @property
    def power(self) -> float | None:
        """p of ``power(p)``; None under ``max`` and ``min``."""
        match = _POWER.match(self.normalisation)
        return float(match[1]) if match else None

    @property
    def weighing(self) -> tuple[float, float] | None:
        """Scale and size power of the scorer ``evidence``; None under every other scorer."""
        if self.scorer == "evidence":
            return EVIDENCE
        match = _EVIDENCE.match(self.scorer)
        return (float(match[1]), float(match[2])) if match else None

    def as_dict(self) -> dict[str, Any]:
        """Returns the dials by name, names in code-point order."""
        return {name: getattr(self, name) for name in sorted(f.name for f in fields(self))}

    def canonical_json(self) -> str:
        """Returns the one JSON text of these dials."""
        return json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON, hex."""
        return hashlib.sha256(self.canonical_json().encode()).hexdigest()


def _canonical_scorer(text: object) -> str:
    if isinstance(text, str) and (text in SCORERS or _FOREIGN.match(text)):
        return text
    match = _EVIDENCE.match(text) if isinstance(text, str) else None
    try:
        scale, power = (float(part) for part in match.groups()) if match else (math.nan, math.nan)
    except ValueError:
        scale = power = math.nan
    if not (1e-6 <= scale <= 1e6 and 0 <= power <= 1):
        forms = (
            "evidence(scale,power) with a scale from 1e-6 to 1e6 and a power from 0 to 1, or package:name of another"
            " package's"
        )
        raise _refuse("scorer", text, f"one of {', '.join(SCORERS)}, {forms}")
    return "evidence" if (scale, power) == EVIDENCE else f"evidence({_plain(scale)},{_plain(power)})"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


def _canonical_normalisation(text: object) -> str:
    if text in ("max", "min"):
        return str(text)
    match = _POWER.match(text) if isinstance(text, str) else None
    try:
        power = float(match[1]) if match else math.nan
    except ValueError:
        power = math.nan
    if not 0 <= power < 1:
        raise _refuse("normalisation", text, "max, min, or power(p) with 0 <= p < 1")
    return f"power({_plain(power)})"


def _refuse(name: str, value: object, range_: str) -> DialError:
    return DialError(f"dial {name} = {value!r}", "a value outside its range", f"Give {range_}.")
