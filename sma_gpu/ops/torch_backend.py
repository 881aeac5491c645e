"""The torch backend: the three ops as integer tensor code that runs unchanged on a CPU and on a GPU.

Arguments are moved in and results out; in between nothing returns to the host but counts that shapes depend on, and in
``assign`` components too large for the batched matching (see ``torch_matching``). Arrays of the index are moved once.
torch is imported where it is first needed, so that this module can be read and listed without it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import BackendUnavailable, CapacityError
from ..scoring import Normaliser, PairTable
from ..scoring.grid import ENTITY_VALUE, SCORE_LIMIT
from . import device_loop
from .contract import PairBlock, PlainQueries, Tops
from .device_arrays import Resident, expand, greatest_key, parts, rank_keys
from .device_lists import hold
from .device_loop import DeviceTops
from .lists import Lists
from .reference import refuse_bound
from .structure import StructurePairs
from .torch_beam import align_pairs

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["TorchOps", "missing", "torch_ops"]

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


class TorchOps:
    """The three ops on one device, and the loop over them whole. See the contract for shapes and meaning.

    Args:
        device: ``cpu`` or ``cuda``.

    Attributes:
        solved_on_host: components of ``assign`` so far that were too large for the batched matching; for each of them
            a matrix went to the host, whose solver gives the same total.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.resident = Resident(device)
        self.solved_on_host = 0

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
        Cost: the entries of the lists touched, and 8 bytes for each cell of ``[B, N]``; of postings, also their folding
        on the device, a sort of those entries.
        """
        entities = self.resident.move(query_entities).long()
        bounds = self._bounds(lists, query_ptr, query_lists, entities, among)
        greatest = int(bounds.max()) if bounds.numel() else 0
        if greatest >= SCORE_LIMIT:
            raise refuse_bound(query_ptr, greatest)
        found: IntArray = bounds.int().cpu().numpy()
        return found

    def _bounds(
        self,
        lists: Lists,
        query_ptr: LongArray,
        query_lists: npt.NDArray[np.integer],
        entities: Tensor | None,
        among: BoolArray | None,
    ) -> Tensor:
        """Returns bounds int64 ``[B, N]``; ``entities`` int64 ``[B]``, one for each query where it is None."""
        import torch

        queries, cases = len(query_ptr) - 1, len(lists.entities)
        named = query_lists[int(query_ptr[0]) : int(query_ptr[-1])]
        held = hold(self.resident, lists, named)
        number = held.numbers(named)
        starts, ends = held.ptr[number], held.ptr[number + 1]
        counts = ends - starts
        owner = np.repeat(np.arange(queries, dtype=np.int64), np.diff(query_ptr))
        bounds = torch.zeros(queries * cases, dtype=torch.int64, device=self.device)
        for part in parts(counts, _AT_ONCE):
            start, row = self.resident.move(starts[part]), self.resident.move(owner[part] * cases)
            span, at = expand(start, self.resident.move(counts[part]), int(counts[part].sum()))
            bounds.scatter_add_(0, row[span] + held.cases[at], held.best[at].long())
        bounds = bounds.view(queries, cases)
        if among is not None:
            bounds.masked_fill_(~self.resident.mask(among), 0)
        own = self.resident.of(lists.entities).long()
        own = own.clamp(max=1) if entities is None else torch.minimum(entities[:, None], own)
        bounds += ENTITY_VALUE * own * (bounds > 0)
        return bounds

    def select(
        self, bounds: IntArray, normaliser: Normaliser, self_query: LongArray, tie_rank: IntArray, limit: int
    ) -> tuple[IntArray, LongArray]:
        """Returns ``(cases int32 [B, L], keys int64 [B, L])`` in rank order.

        Determinism: a total order.
        Cost: ``B * N`` keys of 8 bytes, a few times, and the search for the greatest ``L`` of a row.
        """
        queries, count = bounds.shape
        cases = np.full((queries, limit), -1, np.int32)
        keys = np.zeros((queries, limit), np.int64)
        held = min(limit, count)
        if held and queries:
            own = self.resident.move(self_query)
            found = self._shortlists(self.resident.move(bounds), normaliser, self_query, own, tie_rank, held)
            cases[:, :held], keys[:, :held] = (side.cpu().numpy() for side in found)
        return cases, keys

    def _shortlists(
        self,
        bounds: Tensor,
        normaliser: Normaliser,
        self_query: LongArray,
        own: Tensor,
        tie_rank: IntArray,
        limit: int,
    ) -> tuple[Tensor, Tensor]:
        """Returns what ``select`` does; ``limit`` is at most ``N``, and ``own`` is ``self_query`` on the device.

        Key and tie rank are packed into one number where they fit, all different then, so that no sorting can choose
        among equals. Where they do not, columns are put in tie order and sorted stably.
        """
        import torch

        of, count = self.resident.of, bounds.shape[1]
        key = rank_keys(self.resident, normaliser, bounds.long(), own)
        key = torch.where(bounds > 0, key, -1)
        rank = of(tie_rank).long()
        by_rank: Tensor = self.resident.made("cases by tie rank", lambda: torch.argsort(rank), tie_rank)
        if greatest_key(self.resident, normaliser, self_query) < (1 << 62) // max(count, 1):
            packed = torch.where(key >= 0, key * count + (count - 1 - rank), -1)
            packed = packed.topk(limit, dim=1, sorted=True).values
            chosen = torch.div(packed, max(count, 1), rounding_mode="floor")  # -1 stays -1
            case = by_rank[count - 1 - (packed - chosen * count)]
        else:
            ordered, place = key[:, by_rank].sort(dim=1, descending=True, stable=True)
            chosen, case = ordered[:, :limit], by_rank[place[:, :limit]]
        able = chosen >= 0
        return torch.where(able, case, -1).int(), torch.where(able, chosen, 0)

    def assign(self, table: PairTable, pairs: PairBlock) -> LongArray:
        """Returns the score of each pair, int64 ``[P]``.

        Hypotheses of all pairs come from one binary search over the cases' kinds; their matching is that of
        ``torch_matching``, which hands components with more than 64 items on the smaller side to the host's solver,
        after all others of their part; ``solved_on_host`` counts them.

        Determinism: the optimum is unique, whichever matching attains it.
        Cost: the table entries of the queries' rows, each a binary search; then the matching.
        """
        query, case = np.asarray(pairs.query, np.int64), self.resident.move(np.asarray(pairs.case, np.int64))
        found: LongArray = self._scores(table, pairs, query, case).cpu().numpy()
        return found

    def _scores(self, table: PairTable, pairs: PairBlock | PlainQueries, query: LongArray, case: Tensor) -> Tensor:
        """Returns the score of each pair, int64 ``[P]``; 0 where the case is -1.

        Args:
            table: values of pairs.
            pairs: queries and cases.
            query: int64 ``[P]``, on the host, where sizes are counted.
            case: int64 ``[P]``, on the device.
        """
        import torch

        lengths = np.diff(table.ptr).astype(np.int64)[pairs.query_rows]
        running = np.concatenate([[0], np.cumsum(lengths)])
        entries = (running[pairs.query_ptr[1:]] - running[pairs.query_ptr[:-1]])[query]
        sizes = np.diff(pairs.query_ptr).astype(np.int64)[query]
        totals = [torch.zeros(0, dtype=torch.int64, device=self.device)]
        for part in parts(entries + sizes, _AT_ONCE):
            mine = self.resident.move(query[part])
            totals.append(
                self._totals(table, pairs, mine, case[part], int(sizes[part].sum()), int(entries[part].sum()))
            )
        total = torch.cat(totals)
        return torch.where(total > 0, ENTITY_VALUE + total, 0)

    def _totals(
        self, table: PairTable, pairs: PairBlock | PlainQueries, mine: Tensor, theirs: Tensor, rows: int, entries: int
    ) -> Tensor:
        """Returns the value of the best matching of each pair, int64; ``rows`` and ``entries`` as counted by hand."""
        import torch

        from .torch_matching import best_totals

        of = self.resident.of
        table_ptr, case_ptr, query_ptr = (of(p).long() for p in (table.ptr, pairs.case_ptr, pairs.query_ptr))
        case_kinds = pairs.case_kinds
        kinds = self.resident.made(
            "case and kind", lambda: _case_and_kind(case_ptr, of(case_kinds)), pairs.case_ptr, case_kinds
        )
        if not len(kinds) or not entries:
            return torch.zeros_like(mine)
        pair, at = expand(query_ptr[mine], query_ptr[mine + 1] - query_ptr[mine], rows)
        row = of(pairs.query_rows).long()[at]
        owner, entry = expand(table_ptr[row], table_ptr[row + 1] - table_ptr[row], entries)
        wanted = (theirs[pair[owner]] << _KIND_BITS) | of(table.stored)[entry]  # below 0, and so not found, for case -1
        place = torch.searchsorted(kinds, wanted).clamp(max=len(kinds) - 1)
        kept = torch.nonzero(kinds[place] == wanted).squeeze(1)
        owner, entry, place = owner[kept], entry[kept], place[kept]
        pair = pair[owner]
        theirs = theirs.clamp(min=0)
        held = case_ptr[theirs + 1] - case_ptr[theirs]
        before = torch.cumsum(held, 0) - held
        column = before[pair] + place - case_ptr[theirs[pair]]
        total, on_host = best_totals(owner, column, of(table.value)[entry], pair, len(mine))
        self.solved_on_host += on_host
        return total

    def best_mappings(self, pairs: StructurePairs, node_budget: int) -> tuple[LongArray, LongArray]:
        """Returns score and limit of each pair of cases with structure, int64 ``[P]`` each.

        Determinism: what the beam proves is one number; all else is the host's search.
        Cost: hypotheses are made on the host; see ``torch_beam``.
        """
        return align_pairs(pairs, node_budget, self.device)

    def top(self, queries: PlainQueries, k: int) -> Tops:
        """Returns the certified top ``k`` of every query; see ``WholeOps.top``.

        Bounds, shortlists and scores stay on the device; what comes back before the hits are counts that shapes depend
        on, and components that the host solves.
        """
        return device_loop.top(self, queries, k)

    def top_on_device(self, queries: PlainQueries, k: int) -> DeviceTops:
        """Returns the same as tensors; see ``OnDevice.top_on_device``."""
        return device_loop.top_on_device(self, queries, k)

    def bounds_of(self, queries: PlainQueries) -> tuple[Tensor, Tensor]:
        """Returns bounds int32 ``[B, N]``, and the greatest of a query that has one of 2^31 or more, int64 ``[B]``."""
        import torch

        bounds = self._bounds(queries.lists, queries.query_ptr, queries.query_rows, None, queries.among)
        greatest = bounds.amax(dim=1)
        return bounds.int(), torch.where(greatest >= SCORE_LIMIT, greatest, 0)

    def shortlists_of(self, queries: PlainQueries, bounds: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        """Returns ``(cases int32 [B, limit], keys int64 [B, limit])``, ``limit`` at most ``N``."""
        own = self.resident.of(queries.self_query)
        return self._shortlists(bounds, queries.normaliser, queries.self_query, own, queries.tie_rank, limit)

    def scores_of(self, queries: PlainQueries, cases: Tensor) -> Tensor:
        """Returns the score of each query with each of its ``cases`` int32 ``[B, L]``, int64; 0 where that is -1."""
        query = np.repeat(np.arange(len(queries), dtype=np.int64), cases.shape[1])
        return self._scores(queries.table, queries, query, cases.reshape(-1).long()).view(cases.shape)

    def refusal(self, queries: PlainQueries, found: int) -> CapacityError:
        """Returns the error for queries whose greatest bound is ``found``."""
        return refuse_bound(queries.query_ptr, found)


def _case_and_kind(case_ptr: Tensor, case_kinds: Tensor) -> Tensor:
    """Returns case and kind of every stored statement as one number, ascending within plain cases, int64 ``[S]``."""
    owner, _ = expand(case_ptr[:-1], case_ptr[1:] - case_ptr[:-1], len(case_kinds))
    return (owner << _KIND_BITS) | case_kinds
