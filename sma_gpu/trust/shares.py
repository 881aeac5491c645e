"""A share out of a count, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["LEVEL", "Share", "clopper_pearson"]

LEVEL = 0.95
"""How often an interval holds the truth, at least."""


@dataclass(frozen=True)
class Share:
    """``part`` out of ``whole``.

    Attributes:
        part: how many.
        whole: of how many; a share of none has the value NaN.
    """

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share, in [0, 1]."""
        return self.part / self.whole if self.whole else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of Clopper and Pearson at ``LEVEL``."""
        return clopper_pearson(self.part, self.whole)

    def as_dict(self) -> dict[str, Any]:
        """Returns value, ends of the interval and counts; no value where the share is of none."""
        low, high = self.interval
        return {
            "value": self.value if self.whole else None, "low": low, "high": high, "part": self.part,
            "whole": self.whole,
        }  # fmt: skip


def clopper_pearson(part: int, whole: int, level: float = LEVEL) -> tuple[float, float]:
    """Returns the exact interval of a share (Clopper and Pearson 1934), (0, 1) of none.

    It never holds less often than ``level`` says, whatever the share; for questions that hang together it is too short.
    """
    from scipy.special import betaincinv  # not above: a query does without

    tail = (1 - level) / 2
    low = float(betaincinv(part, whole - part + 1, tail)) if part else 0.0
    high = float(betaincinv(part + 1, whole - part, 1 - tail)) if part < whole else 1.0
    return low, high
