"""The torch backend: the three ops as integer tensor code that runs unchanged on a CPU and on a GPU.

Arguments are moved in and results out; in between nothing returns to the host but counts that shapes depend on, and in
``assign`` components too large for the batched matching (see ``torch_matching``). Arrays of the index are moved once.
torch is imported where it is first needed, so that this module can be read and listed without it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import BackendUnavailable
from ..scoring import Normaliser, PairTable
from ..scoring.grid import ENTITY_VALUE, SCORE_LIMIT
from ..scoring.normalise import FACTOR_SHIFT, QUOTIENT_SHIFT
from .contract import PairBlock
from .lists import Lists, folded
from .reference import refuse_bound

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Resident", "TorchOps", "expand", "missing", "torch_ops"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

_AT_ONCE = 1 << 23  # list entries expanded at a time: about 250 MB; changes memory, never an answer
_KIND_BITS = 32  # a case and a kind share one int64


def missing() -> str:
    """Returns what this backend lacks here, or an empty string."""
    from importlib.util import find_spec

    return "" if find_spec("torch") else "torch is not installed"


@cache
def torch_ops(device: str) -> TorchOps:
    """Returns the ops on a device, the same object each time, so that what was moved there is found again.

    Args:
        device: ``cpu``, ``cuda``, or ``auto``: a GPU where torch finds one, else the CPU.

    Raises:
        BackendUnavailable: ``cuda`` was asked for, and torch finds no GPU.
    """
    import torch

    found = torch.cuda.is_available()
    if device == "cuda" and not found:
        built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built for CPUs only"
        raise BackendUnavailable(
            "backend torch on device cuda",
            f"torch {torch.__version__} finds no GPU here; it is {built}",
            "Use --device cpu, or a machine with an NVIDIA GPU, its driver, and a torch that is built for CUDA.",
        )
    return TorchOps(("cuda" if found else "cpu") if device == "auto" else device)


class Resident:
    """Arrays that stay on a device, each moved once.

    An array is known by identity, through a weak reference: while it lives and is asked for again its tensor is there,
    and when it is freed the tensor is too. So arrays of an index must not be written to; nothing in this library does.
    On the CPU a plain move takes no copy and is not kept, unless the array is read-only: torch would warn of that.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._kept: dict[tuple[object, ...], tuple[tuple[weakref.ref[Any], ...], Tensor]] = {}

    def __len__(self) -> int:
        """Returns how many tensors are kept."""
        return len(self._kept)

    def move(self, array: npt.NDArray[Any]) -> Tensor:
        """Returns an array on the device, moved for this once."""
        import torch

        array = np.ascontiguousarray(array)
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(self.device)

    def of(self, array: npt.NDArray[Any]) -> Tensor:
        """Returns an array of the index on the device."""
        if self.device == "cpu" and array.flags.writeable and array.flags.c_contiguous:
            return self.move(array)  # shares the array's memory, so keeping it would keep the array alive
        return self.made("as it is", lambda: self.move(array), array)

    def made(self, what: str, make: Callable[[], Tensor], *arrays: npt.NDArray[Any]) -> Tensor:
        """Returns what ``make`` makes out of arrays of the index; ``what`` names it."""
        key = (what, *(id(a) for a in arrays))
        kept = self._kept.get(key)
        if kept is not None and all(ref() is a for ref, a in zip(kept[0], arrays, strict=True)):
            return kept[1]
        made = make()
        refs = tuple(weakref.ref(a, lambda _: self._kept.pop(key, None)) for a in arrays)
        self._kept[key] = refs, made
        return made


class TorchOps:
    """The three ops on one device. See the contract for shapes and meaning.

    Args:
        device: ``cpu`` or ``cuda``.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.resident = Resident(device)

    def accumulate(
        self,
        lists: Lists,
        query_ptr: LongArray,
        query_lists: IntArray,
        query_entities: IntArray,
        among: BoolArray | None = None,
    ) -> IntArray:
        """Returns the bound of every query with every case, int32 ``[B, N]``.

        Determinism: int64 atomic sums; any order of addition gives the same bits.
        Cost: the entries of the lists touched, and 8 bytes for each cell of ``[B, N]``.
        """
        import torch

        lists = folded(lists)
        queries, cases = len(query_ptr) - 1, len(lists.entities)
        held, best = self.resident.of(lists.cases), self.resident.of(lists.best)
        named = np.asarray(query_lists[int(query_ptr[0]) : int(query_ptr[-1])], np.int64)
        starts, ends = (np.asarray(lists.ptr, np.int64)[named + step] for step in (0, 1))
        counts = ends - starts
        owner = np.repeat(np.arange(queries, dtype=np.int64), np.diff(query_ptr))
        bounds = torch.zeros(queries * cases, dtype=torch.int64, device=self.device)
        for part in _parts(counts, _AT_ONCE):
            start, row = self.resident.move(starts[part]), self.resident.move(owner[part] * cases)
            span, at = expand(start, self.resident.move(counts[part]), int(counts[part].sum()))
            bounds.scatter_add_(0, row[span] + held[at], best[at].long())
        bounds = bounds.view(queries, cases)
        if among is not None:
            bounds.masked_fill_(~self.resident.move(among), 0)
        entities = torch.minimum(
            self.resident.move(query_entities).long()[:, None], self.resident.of(lists.entities).long()
        )
        bounds += ENTITY_VALUE * entities * (bounds > 0)
        greatest = int(bounds.max()) if bounds.numel() else 0
        if greatest >= SCORE_LIMIT:
            raise refuse_bound(query_ptr, greatest)
        found: IntArray = bounds.int().cpu().numpy()
        return found

    def select(
        self, bounds: IntArray, normaliser: Normaliser, self_query: LongArray, tie_rank: IntArray, limit: int
    ) -> tuple[IntArray, LongArray]:
        """Returns ``(cases int32 [B, L], keys int64 [B, L])`` in rank order.

        Key and tie rank are packed into one number where they fit, all different then, so that no sorting can choose
        among equals. Where they do not, columns are put in tie order and sorted stably.

        Determinism: a total order.
        Cost: ``B * N`` keys of 8 bytes, a few times, and the search for the greatest ``L`` of a row.
        """
        import torch

        queries, count = bounds.shape
        cases = np.full((queries, limit), -1, np.int32)
        keys = np.zeros((queries, limit), np.int64)
        held = min(limit, count)
        if not held or not queries:
            return cases, keys
        bound = self.resident.move(bounds)
        key = torch.where(bound > 0, self._rank_keys(bound.long(), normaliser, self_query), -1)
        rank = self.resident.of(tie_rank).long()
        by_rank = self.resident.made("cases by tie rank", lambda: torch.argsort(rank), tie_rank)
        if int(key.max()) < (1 << 62) // count:
            packed = torch.where(key >= 0, key * count + (count - 1 - rank), -1)
            packed = packed.topk(held, dim=1, sorted=True).values
            chosen = torch.div(packed, count, rounding_mode="floor")  # -1 stays -1
            case = by_rank[count - 1 - (packed - chosen * count)]
        else:
            ordered, place = key[:, by_rank].sort(dim=1, descending=True, stable=True)
            chosen, case = ordered[:, :held], by_rank[place[:, :held]]
        able = chosen >= 0
        cases[:, :held] = torch.where(able, case, -1).int().cpu().numpy()
        keys[:, :held] = torch.where(able, chosen, 0).cpu().numpy()
        return cases, keys

    def _rank_keys(self, scores: Tensor, normaliser: Normaliser, self_query: LongArray) -> Tensor:
        """Returns ``normaliser.rank_keys`` of scores int64 ``[B, N]``, in the same integers."""
        import torch

        if normaliser.dials.power is not None:
            return (scores * self.resident.of(normaliser.factors)) >> FACTOR_SHIFT
        choose = torch.maximum if normaliser.dials.normalisation == "max" else torch.minimum
        own = choose(self.resident.of(normaliser.self_scores), self.resident.move(self_query)[:, None])
        return torch.div(scores << QUOTIENT_SHIFT, own.clamp(min=1), rounding_mode="floor")

    def assign(self, table: PairTable, pairs: PairBlock) -> LongArray:
        """Returns the score of each pair, int64 ``[P]``.

        Hypotheses of all pairs come from one binary search over the cases' kinds; their matching is that of
        ``torch_matching``, which hands components with more than 64 items on the smaller side to the host's solver.

        Determinism: the optimum is unique, whichever matching attains it.
        Cost: the table entries of the queries' rows, each a binary search; then the matching.
        """
        scores = np.zeros(len(pairs), np.int64)
        lengths = np.diff(table.ptr).astype(np.int64)[pairs.query_rows]
        running = np.concatenate([[0], np.cumsum(lengths)])
        entries = (running[pairs.query_ptr[1:]] - running[pairs.query_ptr[:-1]])[pairs.query]
        sizes = np.diff(pairs.query_ptr).astype(np.int64)[pairs.query]
        for part in _parts(entries + sizes, _AT_ONCE):
            query, case = (np.asarray(side[part], np.int64) for side in (pairs.query, pairs.case))
            total = self._totals(table, pairs, query, case, int(sizes[part].sum()), int(entries[part].sum()))
            scores[part] = np.where(total > 0, ENTITY_VALUE + total, 0)
        return scores

    def _totals(
        self, table: PairTable, pairs: PairBlock, query: LongArray, case: LongArray, rows: int, entries: int
    ) -> LongArray:
        """Returns the value of the best matching of each pair, int64; ``rows`` and ``entries`` as counted by hand."""
        import torch

        from .torch_matching import best_totals

        of, move = self.resident.of, self.resident.move
        table_ptr, case_ptr = of(table.ptr).long(), of(pairs.case_ptr).long()
        kinds = self.resident.made("case and kind", lambda: _case_and_kind(self.resident, pairs), pairs.case_kinds)
        query_ptr, mine, theirs = move(pairs.query_ptr).long(), move(query), move(case)

        pair, at = expand(query_ptr[mine], query_ptr[mine + 1] - query_ptr[mine], rows)
        row = move(pairs.query_rows).long()[at]
        owner, entry = expand(table_ptr[row], table_ptr[row + 1] - table_ptr[row], entries)
        if not len(kinds) or not entries:
            return np.zeros(len(query), np.int64)
        wanted = (theirs[pair[owner]] << _KIND_BITS) | of(table.stored)[entry]
        place = torch.searchsorted(kinds, wanted).clamp(max=len(kinds) - 1)
        kept = torch.nonzero(kinds[place] == wanted).squeeze(1)
        owner, entry, place = owner[kept], entry[kept], place[kept]
        pair = pair[owner]
        held = case_ptr[theirs + 1] - case_ptr[theirs]
        before = torch.cumsum(held, 0) - held
        column = before[pair] + place - case_ptr[theirs[pair]]
        total = best_totals(owner, column, of(table.value)[entry], pair, len(query))
        found: LongArray = total.cpu().numpy()
        return found


def _case_and_kind(resident: Resident, pairs: PairBlock) -> Tensor:
    """Returns case and kind of every stored statement as one number, ascending within plain cases, int64 ``[S]``."""
    ptr = resident.of(pairs.case_ptr).long()
    owner, _ = expand(ptr[:-1], ptr[1:] - ptr[:-1], len(pairs.case_kinds))
    return (owner << _KIND_BITS) | resident.of(pairs.case_kinds)


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


def _parts(work: LongArray, at_once: int) -> Iterator[slice]:
    """Yields runs of items that cost ``at_once`` together, or a single one that costs more."""
    running = np.cumsum(work)
    start = 0
    while start < len(work):
        done = int(running[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(running, done + at_once, side="right")))
        yield slice(start, stop)
        start = stop
