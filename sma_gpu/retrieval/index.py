"""The index: a corpus that answers batches."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Self

import numpy as np
import numpy.typing as npt

from ..cases import Case, CaseBatch
from ..errors import CaseError, UnknownKey
from ..ontologies.mount import Mounted
from ..ops.registry import AUTO
from ..ops.structure import NODE_BUDGET
from ..scoring import Dials
from .alignment import analogy_between
from .analogy import Analogy
from .corpus import Corpus
from .hits import Hits
from .on_device import DeviceHits, retrieve_on_device
from .search import open_query, retrieve
from .storage import load_index, save_index

__all__ = ["Index"]


class Index(Corpus):
    """An immutable index of cases, with or without structure; ``Index.build(cases, mounted, dials)`` makes it.

    Example:
        >>> from sma_gpu import CaseBatch, Index, mount, ontology_from_parents
        >>> mounted = mount(ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"], "EX:3": ["EX:1"]}))
        >>> index = Index.build(CaseBatch.from_functors(["a", "b"], [[1], [2]]), mounted)
        >>> index.retrieve(CaseBatch.from_functors(["query"], [[2]]), k=1).keys.tolist()
        [['b']]
    """

    def retrieve(
        self,
        batch: CaseBatch,
        k: int,
        *,
        backend: str = AUTO,
        device: str = AUTO,
        node_budget: int = NODE_BUDGET,
        among: npt.NDArray[np.bool_] | None = None,
        max_bytes: int | None = None,
        mappings: bool = False,
    ) -> Hits:
        """Returns the certified top ``k`` of every query in ``batch``, as arrays.

        Args:
            batch: the queries; they may have structure where the stored cases have none, and the other way round.
            k: places wanted.
            backend: which ops to use.
            device: where they are to work: ``cpu``, ``cuda``, or ``auto``.
            node_budget: greatest number of nodes in the search for one mapping of cases with structure. Where it does
                not suffice for a proof, ``Hits.optimal`` and ``Hits.certified`` say so.
            among: bool ``[N]`` or ``[B, N]``, the only cases that can be hits (``mask`` makes one); all where it is
                None. What a term is worth does not change: the hits are those of all cases without the others.
            max_bytes: at most so much memory is worked with, beside what is returned and what the index keeps; the
                batch is cut into smaller blocks, and the lists made for it may take another form. No answer changes.
            mappings: also give the mapping of every hit, ``Hits.mappings``; for flat queries over flat cases.

        Raises:
            ShapeError: ``among`` is of another shape or kind.
            QueryError: ``k`` is not a whole number above 0.
            CaseError: a functor that the ontology does not have; or ``mappings`` of cases with structure, for which
                there is ``analogy``.
            BackendUnavailable: ``backend`` was named and cannot serve, or not on ``device``.
            CapacityError: a bound would reach 2^31 units; or ``max_bytes`` is too little for one query.
        """
        return retrieve(
            self, batch, k, backend=backend, device=device, node_budget=node_budget, among=among, max_bytes=max_bytes,
            mappings=mappings,
        )  # fmt: skip

    def retrieve_on_device(
        self,
        batch: CaseBatch,
        k: int,
        *,
        backend: str = "torch",
        device: str = AUTO,
        among: npt.NDArray[np.bool_] | None = None,
    ) -> DeviceHits:
        """Returns what ``retrieve`` does for flat cases, as tensors that stay on the device of the backend.

        Nothing of the hits comes to the host. Any library with DLPack takes them as they are:
        ``cupy.from_dlpack(hits.score_q)``. ``queries_from_arrays`` makes a batch of arrays that live on a device.

        Args:
            batch: the queries, flat ones.
            k: places wanted.
            backend: ``torch`` or ``cuda``.
            device: ``cpu``, ``cuda``, or ``auto`` for the better one that is there.
            among: as in ``retrieve``.

        Raises:
            QueryError: ``k`` is not a whole number above 0, or a query or stored case has structure.
            BackendUnavailable: ``backend`` cannot serve here, or has no device.
            ShapeError: ``among`` is of another shape or kind.
            CapacityError: a bound would reach 2^31 units.
        """
        return retrieve_on_device(self, batch, k, backend=backend, device=device, among=among)

    def mask(self, keys: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Returns which cases have one of ``keys``, bool ``[N]``, for ``among``.

        Raises:
            UnknownKey: no indexed case has one of the keys.
        """
        found = np.zeros(len(self), np.bool_)
        found[[self.number_of(key) for key in keys]] = True
        return found

    def analogy(self, query: Case, key: str, *, node_budget: int = NODE_BUDGET) -> Analogy:
        """Returns the analogy from the stored case ``key`` to ``query``, under the worths of this index.

        Args:
            query: a case over the mounted ontology, with structure or without.
            key: key of a stored case, a hit or not.
            node_budget: greatest number of nodes in the search for the best mapping, and again for the canonical one.

        Raises:
            UnknownKey: no indexed case has this key.
            CaseError: the query has a functor that the ontology does not have.
            CapacityError: the query's self-score would reach 2^31 units.
        """
        number = self.number_of(key)
        batch = CaseBatch.from_cases([query], self.mounted).spelled_out()
        return analogy_between(open_query(self, batch, node_budget=node_budget), number, target=query)

    def add(self, batch: CaseBatch) -> Self:
        """Returns the index of these cases and those of ``batch``; this one stays as it is.

        It is what building anew from all cases gives, byte for byte: the counts of all cases decide what each term is
        worth, so a new case changes every score. Cases with and without structure go together.

        Raises:
            CaseError: a key is stored already, or given twice, or a case has a functor that the ontology does not have.
            CapacityError: a case whose self-score reaches 2^31 units.
        """
        stored = sorted(self._stored & set(batch.keys))
        if stored:
            raise CaseError(
                f"add {len(batch)} cases",
                f"the key {stored[0]} is stored already{_more(stored)}; nothing was added",
                "Give new keys, or update the stored cases.",
            )
        return self._rebuilt([], batch)

    def update(self, batch: CaseBatch) -> Self:
        """Returns the index in which the cases of ``batch`` stand for the stored ones with their keys; see ``add``.

        Raises:
            UnknownKey: a key is not stored.
            CaseError: a key is given twice, or a case has a functor that the ontology does not have.
            CapacityError: a case whose self-score reaches 2^31 units.
        """
        self._check_stored("update", batch.keys)
        return self._rebuilt(batch.keys, batch)

    def remove(self, keys: Iterable[str]) -> Self:
        """Returns the index without the cases of these keys, those with nothing to match on included; see ``add``.

        Raises:
            UnknownKey: a key is not stored.
            CaseError: ``keys`` is one text instead of a collection of keys.
        """
        if isinstance(keys, str):
            raise CaseError(f"remove the keys {keys!r}", "one text where a collection is wanted", "Put it in a list.")
        gone = tuple(keys)
        self._check_stored("remove", gone)
        return self._rebuilt(gone, CaseBatch.from_functors([], []))

    def save(self, path: str | os.PathLike[str]) -> int:
        """Returns the number of bytes of the file ``path``, which holds this index in place of whatever was there.

        A kill or a loss of power in between leaves the old file or the new one, whole. Any reader of the safetensors
        format shows its arrays and, as text, its manifest; ``read_manifest`` returns that.

        Raises:
            ArtifactError: the file cannot be written; what was there is untouched.
        """
        return save_index(self, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], mounted: Mounted, dials: Dials | None = None, *, check: bool = True
    ) -> Self:
        """Returns the index that was saved in ``path``; it answers the same bytes.

        Args:
            path: the file. It is mapped into memory and must not be changed in place; saving over it is safe.
            mounted: the ontology that the index was built under, mounted in the same way.
            dials: if given, the dials that the index must have been built under.
            check: compare the arrays with their SHA-256, which reads them all once.

        Raises:
            FingerprintMismatch: the index was built under another ontology, or other dials than those given.
            ArtifactError: the file is missing, foreign, newer, cut or damaged; nothing is loaded.
        """
        return load_index(cls, path, mounted, dials, check=check)[0]

    @property
    def _stored(self) -> set[str]:
        return {*self.keys, *self.set_aside}

    def _check_stored(self, verb: str, keys: tuple[str, ...]) -> None:
        unknown = sorted(set(keys) - self._stored)
        if unknown:
            raise UnknownKey(
                f"{verb} {len(keys)} cases",
                f"no stored case has the key {unknown[0]}{_more(unknown)}; nothing was changed",
                "Keys are case-sensitive; give each exactly as it was stored.",
            )

    def _rebuilt(self, gone: Iterable[str], new: CaseBatch) -> Self:
        out = set(gone)
        stays = self.cases.take(np.flatnonzero([key not in out for key in self.keys]))
        bare = [key for key in self.set_aside if key not in out]
        parts = [stays, CaseBatch.from_functors(bare, [()] * len(bare)), new]
        return type(self).build(CaseBatch.concatenate(parts, self.mounted), self.mounted, self.dials)


def _more(keys: list[str]) -> str:
    return f" (and {len(keys) - 1} more)" if len(keys) > 1 else ""
