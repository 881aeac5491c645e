"""Scorers that other packages bring: functions from counts to costs, named ``package:name`` in the dials.

A package offers one under the entry points ``sma_gpu.scorers``. The dial is a part of the dials' canonical JSON and so
of every fingerprint; a package whose scorer gives other costs than before must give it another name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DialError

__all__ = ["GROUP", "foreign_costs", "package_of"]

GROUP = "sma_gpu.scorers"

FloatArray = npt.NDArray[np.float64]
CountArray = npt.NDArray[np.int64]


def foreign_costs(scorer: str, counts: CountArray, cases: int) -> FloatArray:
    """Returns what the scorer ``package:name`` says each functor is worth, in bits, float64 ``[T]``.

    Args:
        scorer: name of an installed distribution, a colon, and the name of its entry point, which is called with the
            two that follow.
        counts: int64 ``[T]``, in how many cases each functor holds, itself or through a narrower one.
        cases: number of indexed cases.

    Raises:
        DialError: the package is not installed, offers no such scorer, or its costs are not ``T`` finite numbers of 0
            or more.
    """
    costs = np.asarray(_load(scorer)(counts.copy(), cases))
    if costs.shape != counts.shape or costs.dtype.kind not in "fiu":
        raise _refuse(scorer, f"it gave {costs.dtype} {costs.shape} for {len(counts)} functors")
    found = costs.astype(np.float64)
    if not np.isfinite(found).all() or (found < 0).any():
        raise _refuse(scorer, "it gave costs that are below 0 or not finite")
    return found


def package_of(scorer: str) -> tuple[str, str] | None:
    """Returns the package that brings a scorer and its version, empty where it is not installed; None for one of ours.

    >>> package_of("ic") is None
    True
    """
    package, colon, _ = scorer.partition(":")
    if not colon:
        return None
    try:
        return package, version(package)
    except PackageNotFoundError:
        return package, ""


def _load(scorer: str) -> Callable[[CountArray, int], Any]:
    package, _, name = scorer.partition(":")
    try:
        points = distribution(package).entry_points.select(group=GROUP)
    except PackageNotFoundError as fault:
        raise DialError(
            f"dial scorer = {scorer!r}", f"the package {package} is not installed", f"Run: pip install {package}"
        ) from fault
    for point in points:
        if point.name == name:
            try:
                found: Callable[[CountArray, int], Any] = point.load()
            except (ImportError, AttributeError) as fault:
                raise _refuse(scorer, f"{point.value} cannot be imported ({fault})") from fault
            return found
    offered = ", ".join(sorted(f"{package}:{point.name}" for point in points)) or "none"
    raise DialError(
        f"dial scorer = {scorer!r}", f"{package} offers no scorer of this name", f"Its scorers are: {offered}."
    )


def _refuse(scorer: str, found: str) -> DialError:
    return DialError(
        f"dial scorer = {scorer!r}", found, "A scorer returns one number of bits for each functor, finite, 0 or more."
    )
