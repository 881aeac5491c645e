"""Arrays on a device: moved once, and read there in spans. torch is imported where it is first needed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..scoring import Normaliser
from ..scoring.grid import SCORE_LIMIT
from ..scoring.normalise import FACTOR_SHIFT, QUOTIENT_SHIFT

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Resident", "expand", "greatest_key", "parts", "rank_keys"]

LongArray = npt.NDArray[np.int64]
Made = TypeVar("Made")


class Resident:
    """Arrays that stay on a device, each moved once.

    An array is known by identity, through a weak reference: while it lives and is asked for again its tensor is there,
    and when it is freed the tensor is too. So arrays of an index must not be written to; nothing in this library does.
    On the CPU a plain move takes no copy and is not kept, unless the array is read-only: torch would warn of that.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._kept: dict[tuple[object, ...], tuple[tuple[weakref.ref[Any], ...], Any]] = {}

    def __len__(self) -> int:
        """Returns how many things are kept."""
        return len(self._kept)

    def move(self, array: npt.NDArray[Any]) -> Tensor:
        """Returns an array on the device, moved for this once."""
        import torch

        array = np.ascontiguousarray(array)
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(self.device)

    def of(self, array: npt.NDArray[Any]) -> Tensor:
        """Returns an array of the index, or of a batch that is at work, on the device."""
        if self.device == "cpu" and array.flags.writeable and array.flags.c_contiguous:
            return self.move(array)  # shares the array's memory, so keeping it would keep the array alive
        return self.made("as it is", lambda: self.move(array), array)

    def mask(self, among: npt.NDArray[np.bool_]) -> Tensor:
        """Returns a mask bool ``[B, N]`` on the device; one that is the same for all queries is moved as one row."""
        if len(among) > 1 and among.strides[0] == 0:
            return self.move(among[:1]).expand(*among.shape).contiguous()
        return self.move(among)

    def made(self, what: str, make: Callable[[], Made], *arrays: npt.NDArray[Any]) -> Made:
        """Returns what ``make`` makes out of arrays of the index; ``what`` names it. It must not hold the arrays."""
        found: Made | None = self.found(what, *arrays)
        if found is not None:
            return found
        made = make()
        key = (what, *(id(a) for a in arrays))
        refs = tuple(weakref.ref(a, lambda _: self._kept.pop(key, None)) for a in arrays)
        self._kept[key] = refs, made
        return made

    def found(self, what: str, *arrays: npt.NDArray[Any]) -> Any:
        """Returns what was made out of these arrays under this name, or None."""
        kept = self._kept.get((what, *(id(a) for a in arrays)))
        if kept is not None and all(ref() is a for ref, a in zip(kept[0], arrays, strict=True)):
            return kept[1]
        return None


def rank_keys(
    resident: Resident, normaliser: Normaliser, scores: Tensor, self_query: Tensor, cases: Tensor | None = None
) -> Tensor:
    """Returns ``Normaliser.rank_keys`` of scores or bounds, in the same integers, int64 ``[B, .]``.

    Args:
        resident: where the normaliser's arrays are kept.
        normaliser: turns a score into a rank key.
        scores: int64 ``[B, .]``.
        self_query: int64 ``[B]``.
        cases: int64, of the shape of ``scores``, the cases that they belong to; all in their order where it is None.
    """
    import torch

    by_factor = normaliser.dials.power is not None
    held = resident.of(normaliser.factors if by_factor else normaliser.self_scores)
    if cases is not None:
        held = held[cases]
    if by_factor:
        return (scores * held) >> FACTOR_SHIFT
    choose = torch.maximum if normaliser.dials.normalisation == "max" else torch.minimum
    own = choose(held, self_query[:, None])
    return torch.div(scores << QUOTIENT_SHIFT, own.clamp(min=1), rounding_mode="floor")


def greatest_key(resident: Resident, normaliser: Normaliser, self_query: LongArray) -> int:
    """Returns a number that no rank key of a bound exceeds, without a look at the bounds."""
    factors, selves = normaliser.factors, normaliser.self_scores
    if normaliser.dials.power is not None:
        most = resident.made("greatest", lambda: int(factors.max(initial=0)), factors)
        return (SCORE_LIMIT - 1) * most >> FACTOR_SHIFT
    theirs = resident.made("least", lambda: int(selves.min(initial=SCORE_LIMIT)), selves)
    own = int(self_query.min(initial=SCORE_LIMIT))
    divisor = max(own, theirs) if normaliser.dials.normalisation == "max" else min(own, theirs)
    return ((SCORE_LIMIT - 1) << QUOTIENT_SHIFT) // max(divisor, 1)


def expand(starts: Tensor, counts: Tensor, total: int) -> tuple[Tensor, Tensor]:
    """Returns for each span all its entries: (number of the span, position in the data), int64 ``[total]``.

    Args:
        starts: int64 ``[spans]``.
        counts: int64 ``[spans]``.
        total: the sum of ``counts``, which the host knows, so that it need not wait for the device.
    """
    import torch

    numbers = torch.arange(len(starts), device=starts.device)
    span = torch.repeat_interleave(numbers, counts, output_size=total)
    before = torch.cumsum(counts, 0) - counts
    return span, torch.arange(total, device=starts.device) - before[span] + starts[span]


def parts(work: LongArray, at_once: int, most: int | None = None) -> Iterator[slice]:
    """Yields runs of at most ``most`` items that cost ``at_once`` together, or a single one that costs more."""
    running = np.cumsum(work)
    start = 0
    while start < len(work):
        done = int(running[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(running, done + at_once, side="right")))
        stop = min(stop, len(work) if most is None else start + most)
        yield slice(start, stop)
        start = stop
