"""A backend that is wrong by the least there is, in the place of the one that an automatic choice prefers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sma_gpu.ops import Backend, registry
from sma_gpu.ops.reference import ReferenceOps

__all__ = ["mutate"]


class _OneLess(ReferenceOps):
    """The reference, but that every score is one unit too low."""

    def assign(self, *arguments: Any) -> Any:
        scores = super().assign(*arguments)
        return scores - (scores > 0)


class _TooLow(ReferenceOps):
    """The reference, but that every bound is one unit too low."""

    def accumulate(self, *arguments: Any) -> Any:
        bounds = super().accumulate(*arguments)
        return bounds - (bounds > 0).astype(np.int32)


class _Swapped(ReferenceOps):
    """The reference, but that two equal cases trade places."""

    def select(self, *arguments: Any) -> Any:
        cases, keys = super().select(*arguments)
        if cases.shape[1] > 1:
            tied = (keys[:, 0] == keys[:, 1]) & (cases[:, 1] >= 0)
            cases[tied, :2] = cases[tied, 1::-1]
        return cases, keys


MUTANTS = {"assign": _OneLess, "accumulate": _TooLow, "select": _Swapped}


def mutate(monkeypatch: pytest.MonkeyPatch, op: str) -> None:
    """Puts the mutant of one op in front of all backends, under the name ``mutant``."""
    mutant = Backend("mutant", ("cpu",), missing=lambda: "", load=MUTANTS[op])
    monkeypatch.setattr(registry, "_BACKENDS", (mutant, *registry.backends()))
