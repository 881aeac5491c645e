"""The signals of queries put to an index: those of the first ``PLACES`` hits, however many an answer shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..ops import Ops
from ..retrieval import Hits, Index, open_blocks
from ..retrieval.block import QueryBlock
from ..retrieval.mappings import map_block
from ..retrieval.ties import count_ties
from .signals import PLACES, Signals, signals_of

__all__ = ["block_signals", "signals_of_queries"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]


def block_signals(
    index: Index, block: QueryBlock, excluded: Sequence[IntArray], backend: str
) -> tuple[Signals, IntArray]:
    """Returns the signals of ``B`` opened queries, and their first hits.

    Args:
        index: the indexed cases.
        block: flat queries, bounded against them; its restriction holds here too.
        excluded: what each query excludes, int32, ascending.
        backend: name of the backend that serves.

    Returns:
        The signals, and the numbers of the hits, int32 ``[B, PLACES]``, -1 where there is none.
    """
    tops = block.top(min(PLACES, len(index)))
    cases = tops.cases.astype(np.int32)
    rank = np.where(cases >= 0, np.arange(1, cases.shape[1] + 1, dtype=np.int32), np.int32(0))
    batch = block.batch.take(block.numbers)
    hits = Hits(
        batch.keys, index.key_column[cases], cases, tops.scores, tops.limits, tops.rank_keys, rank, tops.certified,
        tops.aligned, backend, map_block(block, cases, backend),
    )  # fmt: skip
    signals = signals_of(index, batch, excluded, hits, count_ties(block, tops))
    first = np.full((len(block), PLACES), -1, np.int32)
    first[:, : cases.shape[1]] = cases
    return signals, first


def signals_of_queries(
    index: Index,
    present: Sequence[IntArray],
    excluded: Sequence[IntArray],
    ops: Ops,
    backend: str,
    *,
    among: BoolArray | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> tuple[Signals, IntArray]:
    """Returns the signals of queries, one or more, and their first hits; see ``block_signals``.

    Args:
        index: the indexed cases.
        present: functors of each query, int32, ascending.
        excluded: what each excludes, likewise.
        ops: what bounds and aligns.
        backend: its name.
        among: bool ``[N]`` or ``[B, N]``, the only cases that can be hits; all where it is None.
        progress: called with the number of queries that are done.
    """
    parts, cases = [], []
    for block in open_blocks(index, CaseBatch.from_functors([""] * len(present), present), ops, among=among):
        signals, first = block_signals(index, block, [excluded[number] for number in block.numbers.tolist()], backend)
        parts.append(signals)
        cases.append(first)
        progress(len(block))
    whole = Signals(
        np.concatenate([part.held for part in parts]),
        np.concatenate([part.of_hits for part in parts]),
        np.concatenate([part.of_queries for part in parts]),
        parts[0].hit_names,
        parts[0].query_names,
    )
    return whole, np.concatenate(cases)
