"""The structural memory: this engine behind the Memory protocol."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..cases import Case, CaseBatch, EncodedQuery, LeftOut, encode_query, encode_stored
from ..errors import ArtifactError, CaseError
from ..lattice.arrays import member
from ..ontologies.mount import Mounted
from ..ops import choose
from ..ops.registry import AUTO
from ..retrieval import Index, check_k
from ..retrieval.storage import load_index, save_index
from ..scoring import Dials, to_bits
from ..trust import NOTHING_FITS, confidence, novelty, why_abstain
from ..trust.asking import FurtherSignals, SignalSource
from ..trust.calibration import Calibration
from ..trust.signals import PLACES, Signals
from .protocol import IndexItem, Query, Retrieved

__all__ = ["SmaMemory"]


class SmaMemory:
    """An exact structural memory over one mounted ontology.

    Args:
        mounted: the ontology of all term ids.
        dials: what scores depend on.
        backend: which ops to use; ``auto`` takes the best that can serve, for many queries at once perhaps another one
            than for few. It changes no answer.
        device: where they work: ``cpu``, ``cuda`` or ``auto``.
        calibration: made for an index of the very items that will be remembered, under the same dials: confidence and
            novelty are then calibrated chances. Whoever asks while other items are remembered is refused.

    Raises:
        BackendUnavailable: ``backend`` was named and cannot serve, or not on ``device``.
        CalibrationError: the calibration takes signals that this release cannot take.

    Attributes:
        left_out: by item key, the term ids that could not be used, each with the reason.

    Example:
        >>> from sma_gpu import IndexItem, Query, SmaMemory, mount, ontology_from_parents
        >>> memory = SmaMemory(mount(ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"]})))
        >>> memory.index([IndexItem("a", ["EX:2"]), IndexItem("b", ["EX:3"])])
        >>> [hit.key for hit in memory.retrieve(Query(["EX:3"]), k=1)]
        ['b']
    """

    name = "structural"

    def __init__(
        self,
        mounted: Mounted,
        dials: Dials | None = None,
        *,
        backend: str = AUTO,
        device: str = AUTO,
        calibration: Calibration | None = None,
    ) -> None:
        choose(backend, device)  # what cannot serve is refused now
        self._mounted = mounted
        self._dials = dials or Dials()
        self._asked = backend, device
        self._calibration = calibration
        self._further = None if calibration is None else FurtherSignals.of(calibration)
        self._source: SignalSource | None = None
        self._index = Index.build(CaseBatch.from_functors([], []), mounted, self._dials)
        self.left_out: dict[str, tuple[LeftOut, ...]] = {}

    def __len__(self) -> int:
        return len(self._index)

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Keys of items with nothing to match on; they are never returned."""
        return self._index.set_aside

    @property
    def array_index(self) -> Index:
        """The index behind this memory, for batches as arrays."""
        return self._index

    def index(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of whatever was remembered before.

        Raises:
            CaseError: two items have one key.
        """
        cases, left_out = self._encode_items(items)
        self._index = Index.build(cases, self._mounted, self._dials)
        self.left_out = left_out

    def add(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` beside what is remembered, as if all had been indexed at once.

        What a term is worth depends on all that is remembered, so an item more changes every score. Ids that cannot be
        used are told in ``left_out``; an item with none that can is remembered too and never returned.

        Raises:
            CaseError: a key is remembered already, or given twice; nothing is changed.
        """
        cases, left_out = self._encode_items(items)
        self._index = self._index.add(cases)
        self.left_out = self.left_out | left_out

    def update(self, items: Sequence[IndexItem]) -> None:
        """Remembers ``items`` in place of those with the same keys, as if all had been indexed at once.

        Raises:
            UnknownKey: nothing is remembered under a key; nothing is changed.
            CaseError: a key is given twice; nothing is changed.
        """
        cases, left_out = self._encode_items(items)
        self._index = self._index.update(cases)
        self.left_out = self._left_out_without(cases.keys) | left_out

    def remove(self, keys: Iterable[str]) -> None:
        """Forgets the items of these keys, those never returned included, as if they had never been indexed.

        Raises:
            UnknownKey: nothing is remembered under a key; nothing is changed.
            CaseError: ``keys`` is one text instead of a collection of keys.
        """
        gone = keys if isinstance(keys, str) else tuple(keys)
        self._index = self._index.remove(gone)
        self.left_out = self._left_out_without(gone)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Returns the number of bytes of the file ``path``, which holds this memory in place of whatever was there.

        A kill or a loss of power in between leaves the old file or the new one, whole. ``Index.load`` reads it too.

        Raises:
            ArtifactError: the file cannot be written; what was there is untouched.
        """
        left_out = {key: [[o.asked, o.kind, o.why, o.candidates] for o in ids] for key, ids in self.left_out.items()}
        return save_index(self._index, path, {"left_out": left_out})

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        mounted: Mounted,
        dials: Dials | None = None,
        *,
        backend: str = AUTO,
        device: str = AUTO,
        check: bool = True,
        calibration: Calibration | None = None,
    ) -> Self:
        """Returns the memory that was saved in ``path``, with its dials; it answers the same bytes.

        Args:
            path: the file. It is mapped into memory and must not be changed in place; saving over it is safe.
            mounted: the ontology of all term ids, as it was when the memory was filled.
            dials: if given, the dials that the memory must have been filled under.
            backend: which ops to use; ``auto`` takes the best that can serve.
            device: where they work: ``cpu``, ``cuda`` or ``auto``.
            check: compare the stored arrays with their SHA-256, which reads them all once.
            calibration: see the class.

        Raises:
            FingerprintMismatch: the memory was filled under another ontology, or other dials than those given.
            ArtifactError: the file is missing, foreign, newer, cut or damaged; nothing is loaded.
            BackendUnavailable: ``backend`` was named and cannot serve, or not on ``device``.
        """
        index, notes = load_index(Index, path, mounted, dials, check=check)
        memory = cls(mounted, index.dials, backend=backend, device=device, calibration=calibration)
        memory._index, memory.left_out = index, _left_out(path, notes)
        return memory

    def encode(self, query: Query) -> EncodedQuery:
        """Returns the query as the index sees it, with every id that was changed or left out."""
        return encode_query(self._mounted, query.term_ids, query.excluded)

    def retrieve(self, query: Query, k: int) -> list[Retrieved]:
        """Returns at most ``k`` hits, best first, scores in bits. Nothing usable in the query gives an empty list.

        Args:
            query: what to look for, by its term ids.
            k: most hits wanted, 1 or more.

        Raises:
            QueryError: ``k`` is not a whole number above 0, or the query's ids are no collection of strings.
        """
        return self.retrieve_many([query], k)[0]

    def retrieve_many(self, queries: Sequence[Query], k: int) -> list[list[Retrieved]]:
        """Returns for each query what ``retrieve`` returns for it alone, in their order; the queries share the work.

        Args:
            queries: what to look for; one with nothing usable gets an empty list.
            k: most hits wanted for each, 1 or more.

        Raises:
            QueryError: ``k`` is not a whole number above 0, or a query's ids are no collection of strings.
            FingerprintMismatch: the calibration was made for other items, or under other dials.
        """
        check_k(k)
        encoded = [self.encode(query) for query in queries]
        asked = [i for i, query in enumerate(encoded) if why_abstain(self._index, query) is None]
        batch = CaseBatch.from_functors([""] * len(asked), [encoded[i].present for i in asked])
        backend, device = self._asked
        hits = self._index.retrieve(batch, k, backend=backend, device=device, mappings=True)
        assert hits.mappings is not None
        found: list[list[Retrieved]] = [[] for _ in queries]
        sure = hits.mappings.explained
        if self._calibration is not None and asked:
            sure = np.zeros_like(sure)  # a hit below the places that are calibrated is one of "none of these"
            chances = self._calibration.confidence(self._signals([encoded[i] for i in asked]))
            sure[:, :PLACES] = chances[:, : sure.shape[1]]
        for row, place in np.argwhere(hits.rank > 0).tolist():
            share = confidence(float(sure[row, place]))
            hit = Retrieved(hits.keys[row, place], to_bits(int(hits.score_q[row, place])), share, place + 1)
            found[asked[row]].append(hit)
        return found

    def novelty(self, query: Query) -> float:
        """Returns the share of the query that the best hit leaves unexplained, in [0, 1], or its calibrated chance.

        1 where nothing fits or nothing can be compared, 0 where every term of the query holds for every item.

        Raises:
            CalibrationError: there is a calibration, but it was made without anything new to learn from.
        """
        encoded = self.encode(query)
        if self._calibration is not None and why_abstain(self._index, encoded) is None:
            return float(self._calibration.novelty(self._signals([encoded]))[0])
        best = self.retrieve(query, 1)
        if best:
            return 1.0 - best[0].confidence
        found = novelty(None, why_abstain(self._index, encoded) or NOTHING_FITS)
        return 1.0 if found is None else found  # the protocol has no null

    def _signals(self, queries: Sequence[EncodedQuery]) -> Signals:
        """Returns the signals of queries that can be asked, one or more, for the calibration, which must fit."""
        assert self._calibration is not None
        index = self._index
        self._calibration.check_made_for(dials=index.dials.fingerprint)
        self._calibration.check_made_for(index=index.fingerprint)
        backend, ops = choose(*self._asked, cells=len(queries) * len(index))
        if self._source is None or self._source.index is not index:
            self._source = SignalSource(index, self._further)
        present, excluded = [query.present for query in queries], [query.excluded for query in queries]
        return self._source.of_queries(present, excluded, ops, backend, self._asked)[0]

    def case(self, key: str) -> Case:
        """Returns a remembered case in its symbolic form.

        Raises:
            UnknownKey: nothing is remembered under this key.
        """
        return self._index.cases.case(self._index.number_of(key), self._mounted)

    def _encode_items(self, items: Sequence[IndexItem]) -> tuple[CaseBatch, dict[str, tuple[LeftOut, ...]]]:
        present, absent, frequencies = [], [], []
        left_out: dict[str, tuple[LeftOut, ...]] = {}
        for item in items:
            functors, _, unusable = encode_stored(self._mounted, item.term_ids)
            excluded, _, unusable_too = encode_stored(self._mounted, item.excluded)
            both = [self._mounted.ontology.ids[f] for f in excluded[member(excluded, functors)].tolist()]
            conflicts = [
                LeftOut(term, "conflict", f"{term} is given as held and as excluded; it is kept as held")
                for term in both
            ]
            present.append(functors)
            absent.append(excluded[~member(excluded, functors)])
            told, unheld = self._frequencies(item, functors)
            frequencies.append(told)
            conflicts += [
                LeftOut(term, "conflict", f"{term} has a frequency and is not given as held; the frequency is not used")
                for term in sorted(unheld - {u.asked for u in unusable})
            ]
            if unusable or unusable_too or conflicts:
                left_out[item.key] = (*unusable, *unusable_too, *conflicts)
        cases = CaseBatch.from_functors([item.key for item in items], present, absent)
        if frequencies:
            cases = replace(cases, frequencies=np.concatenate(frequencies))
        return cases, left_out

    def _frequencies(
        self, item: IndexItem, functors: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.float64], set[str]]:
        """Returns the frequency of each functor of an item, NaN where it is not told, and the terms not among these.

        Where two ids are of one functor the greater frequency counts.
        """
        found, unheld = np.full(len(functors), np.nan), set()
        for term, share in sorted(item.frequencies.items()):
            if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < share <= 1:
                raise CaseError(
                    f"item {item.key}", f"{term} has the frequency {share!r}", "Give a share above 0 and at most 1."
                )
            at = np.flatnonzero(functors == self._mounted.ontology.resolve(term).index)
            found[at] = np.fmax(found[at], share)
            unheld |= set() if len(at) else {term}
        return found, unheld

    def _left_out_without(self, keys: Iterable[str]) -> dict[str, tuple[LeftOut, ...]]:
        gone = set(keys)
        return {key: ids for key, ids in self.left_out.items() if key not in gone}


def _left_out(path: str | os.PathLike[str], notes: Mapping[str, Any]) -> dict[str, tuple[LeftOut, ...]]:
    try:
        return {
            key: tuple(LeftOut(asked, kind, why, tuple(candidates)) for asked, kind, why, candidates in ids)
            for key, ids in notes.get("left_out", {}).items()  # an index saved by itself has no such notes
        }
    except (AttributeError, TypeError, ValueError) as fault:
        raise ArtifactError(
            f"load {path}", f"its account of ids left out cannot be read ({fault})", "Save the memory again."
        ) from fault
