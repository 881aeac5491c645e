"""The signals of queries put to an index: those of the first ``PLACES`` hits, however many an answer shows.

Most of them come with the hits. Further ones cost further looks, and are taken where a calibration was fitted to them:
reruns with one term changed, and the generalisations of the indexed cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CalibrationError
from ..ops import Ops
from ..ops.registry import AUTO
from ..retrieval import Hits, Index, open_blocks
from ..retrieval.block import QueryBlock
from ..retrieval.mappings import map_block
from ..retrieval.ties import count_ties
from .calibration_parts import CalibrationParts
from .generalisations import Generalisations
from .signals import GENERALISED, HIT_SIGNALS, PLACES, QUERY_SIGNALS, STABILITY_SIGNALS, Signals, signals_of
from .stability import Separability, Stability, check_runs, separability_of, stability_of

__all__ = ["FurtherSignals", "SignalSource"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class FurtherSignals:
    """Which signals are taken beside those that come with the hits; none by default.

    Attributes:
        separability: with how many others of the first hits each changes places by one term; reruns say this too.
        runs: reruns of each query with one term changed; 0 for none.
        seed: what these are drawn from.
        generalisations: what the best generalisation of the indexed cases leaves unexplained.

    Raises:
        QueryError: ``runs`` or ``seed`` is no whole number of 0 or more.
    """

    separability: bool = False
    runs: int = 0
    seed: int = 0
    generalisations: bool = False

    def __post_init__(self) -> None:
        check_runs(self.runs, self.seed)

    @classmethod
    def of(cls, calibration: CalibrationParts) -> Self:
        """Returns those that a calibration takes.

        Raises:
            CalibrationError: it takes signals that this release cannot take, or not together.
        """
        rests_on, wanted = calibration.rests_on, (*calibration.hit_names, *calibration.query_names)
        separability, runs, seed = STABILITY_SIGNALS[0] in wanted, rests_on.stability_runs, rests_on.stability_seed
        found = cls(separability, runs, seed if runs else 0, rests_on.generalisations)
        if wanted != found.names:
            odd = sorted({*wanted} ^ {*found.names}) or ["their order"]
            raise CalibrationError(
                "use a calibration",
                f"it takes other signals than this release would take for it; they differ by {', '.join(odd)}",
                "Calibrate again with this release.",
            )
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all signals, those that come with the hits included: of hits, then of queries."""
        steady = STABILITY_SIGNALS if self.runs else STABILITY_SIGNALS[:1] if self.separability else ()
        return (*HIT_SIGNALS, *steady, *QUERY_SIGNALS, *((GENERALISED,) if self.generalisations else ()))


class SignalSource:
    """An index, as the source of the signals of queries put to it.

    Args:
        index: the indexed cases.
        further: which signals are taken beside those that come with the hits.

    Attributes:
        index: likewise.
        further: likewise.
    """

    def __init__(self, index: Index, further: FurtherSignals | None = None) -> None:
        self.index = index
        self.further = further or FurtherSignals()

    @cached_property
    def generalisations(self) -> Generalisations:
        """The generalisations of the indexed cases, made when they are first asked for."""
        return Generalisations.build(self.index)

    def of_block(
        self,
        block: QueryBlock,
        excluded: Sequence[IntArray],
        backend: str,
        asked: tuple[str, str] = (AUTO, AUTO),
        *,
        hidden: Sequence[IntArray] | None = None,
    ) -> tuple[Signals, IntArray]:
        """Returns the signals of ``B`` opened queries, and their first hits.

        Args:
            block: flat queries, bounded against the indexed cases; its restriction holds here too.
            excluded: what each query excludes, int32, ascending.
            backend: name of the backend that serves.
            asked: which backend was asked for, and where: that of reruns; ``auto`` chooses by the amount of work.
            hidden: for each query the cases that are no members of generalisations either; none where it is None.

        Returns:
            The signals, and the numbers of the hits, int32 ``[B, PLACES]``, -1 where there is none.
        """
        tops = block.top(min(PLACES, len(self.index)))
        cases = tops.cases.astype(np.int32)
        rank = np.where(cases >= 0, np.arange(1, cases.shape[1] + 1, dtype=np.int32), np.int32(0))
        own = block.batch.take(block.numbers)
        batch = CaseBatch.from_functors(own.keys, [own.functors_of(row) for row in range(len(own))], excluded)
        hits = Hits(
            batch.keys, self.index.key_column[cases], cases, tops.scores, tops.limits, tops.rank_keys, rank,
            tops.certified, tops.aligned, backend, map_block(block, cases, backend),
        )  # fmt: skip
        generalised = self.generalisations.unexplained(batch, hidden) if self.further.generalisations else None
        steady = self._steady(batch, cases, block.among, *asked)
        signals = signals_of(self.index, batch, None, hits, count_ties(block, tops), steady, generalised)
        first = np.full((len(block), PLACES), -1, np.int32)
        first[:, : cases.shape[1]] = cases
        return signals, first

    def _steady(
        self, batch: CaseBatch, cases: IntArray, among: BoolArray | None, backend: str, device: str
    ) -> Stability | Separability | None:
        """Returns how far the first hits rest on single terms, as far as that is wanted."""
        further, index = self.further, self.index
        if further.runs:
            runs, seed = further.runs, further.seed
            return stability_of(index, batch, cases, runs=runs, seed=seed, among=among, backend=backend, device=device)
        if further.separability:
            return separability_of(index, batch, cases, among=among, backend=backend, device=device)
        return None

    def of_queries(
        self,
        present: Sequence[IntArray],
        excluded: Sequence[IntArray],
        ops: Ops,
        backend: str,
        asked: tuple[str, str] = (AUTO, AUTO),
        *,
        among: BoolArray | None = None,
        hidden: Sequence[IntArray] | None = None,
        progress: Callable[[int], object] = lambda _: None,
    ) -> tuple[Signals, IntArray]:
        """Returns the signals of queries, one or more, and their first hits; see ``of_block``.

        Args:
            present: functors of each query, int32, ascending.
            excluded: what each excludes, likewise.
            ops: what bounds and aligns.
            backend: its name.
            asked: likewise.
            among: bool ``[N]``, the only cases that can be hits; all where it is None.
            hidden: for each query numbers of cases, int32, that are hidden from it, as if they were not indexed: no
                hits, and no members of generalisations. What terms are worth stays.
            progress: called with the number of queries that are done.
        """
        if hidden is not None:
            everywhere = np.ones(len(self.index), np.bool_) if among is None else among
            among = np.repeat(everywhere[None], len(present), axis=0)
            for row, numbers in enumerate(hidden):
                among[row, numbers] = False
        parts, cases = [], []
        batch = CaseBatch.from_functors([""] * len(present), present)
        for block in open_blocks(self.index, batch, ops, among=among):
            numbers = block.numbers.tolist()
            gone = None if hidden is None else [hidden[number] for number in numbers]
            left_out = [excluded[number] for number in numbers]
            signals, first = self.of_block(block, left_out, backend, asked, hidden=gone)
            parts.append(signals)
            cases.append(first)
            progress(len(block))
        return Signals.concatenate(parts), np.concatenate(cases)
