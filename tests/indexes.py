"""Whether two indexes, or two answers, are the same to the last byte."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from sma_gpu import Hits, Index, Mounted
from sma_gpu.scoring import Shapes


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Returns the places in which two values differ: every field of every part, arrays by type, shape and bytes."""
    if type(one) is not type(other):
        return [f"{where}: {type(one).__name__} and {type(other).__name__}"]
    if isinstance(one, Mounted):
        return []
    if isinstance(one, Shapes):
        return differences(sorted(vars(one).items()), sorted(vars(other).items()), where)
    if is_dataclass(one):
        found = [differences(getattr(one, f.name), getattr(other, f.name), f"{where}.{f.name}") for f in fields(one)]
        return [line for lines in found for line in lines]
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return differences(one.tolist(), other.tolist(), where)
        same = (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        return [] if same else [f"{where}: {one!r} and {other!r}"]
    return [] if one == other else [f"{where}: {one!r} and {other!r}"]


def assert_same_index(one: Index, other: Index) -> None:
    assert differences(one, other) == []
    assert one.fingerprint == other.fingerprint


def assert_same_hits(one: Hits, other: Hits) -> None:
    assert differences(one, other) == []
