"""Cases packed as CSR arrays: what indexes are built from and queries are put as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import CaseError, ShapeError
from ..lattice.arrays import distinct, expand, member, pointers
from ..ontologies.mount import Mounted
from .model import SUBJECT, Case, Predicate, Statement, flat_case
from .structure import CaseItems, Structure, join_pointers

__all__ = ["CaseBatch", "check_functors"]

IntArray = npt.NDArray[np.int32]
PtrArray = npt.NDArray[np.int64]
Data = TypeVar("Data", bound=np.generic)

_GREATEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class CaseBatch:
    """``N`` cases as CSR arrays.

    A batch of flat cases (unary statements over one subject) holds functors alone. Where ``structure`` is given, every
    case has its statements spelled out there: order, sign, weight, arguments, entities.

    Attributes:
        keys: the caller's keys, ``N`` of them; may be empty strings for queries.
        ptr: int64 ``[N + 1]``.
        functors: int32 ``[statements]``; without structure distinct and ascending within a case.
        excluded_ptr: int64 ``[N + 1]``.
        excluded: int32 ``[exclusions]``, functors looked for and absent, distinct and ascending within a case; they
            take no part in scores.
        structure: what the statements are beyond their functors, or None if all cases are flat.
        frequencies: float64 ``[statements]`` of flat cases, in which share of a case's instances (such as the patients
            with a disease) each statement holds, in (0, 1], NaN where that is not known; None where it is of none.

    Raises:
        ShapeError: the arrays do not fit together.
    """

    keys: tuple[str, ...]
    ptr: PtrArray
    functors: IntArray
    excluded_ptr: PtrArray
    excluded: IntArray
    structure: Structure | None = None
    frequencies: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        asked = f"CaseBatch of {len(self.keys)} keys"
        for name, ptr, data in (
            ("functors", self.ptr, self.functors),
            ("excluded", self.excluded_ptr, self.excluded),
        ):
            if ptr.shape != (len(self.keys) + 1,) or (np.diff(ptr) < 0).any() or ptr[0] != 0 or ptr[-1] != len(data):
                raise ShapeError(
                    asked,
                    f"{name}: pointers of shape {ptr.shape} over {len(data)} entries do not cover them in order",
                    "Give len(keys) + 1 ascending pointers from 0 to the number of entries.",
                )
            falls = np.flatnonzero(np.diff(data) <= 0) + 1
            ascending = (name == "functors" and self.structure is not None) or member(falls, ptr).all()
            if (len(data) and int(data.min()) < 0) or not ascending:
                raise ShapeError(
                    asked,
                    f"{name}: a case has negative numbers, or numbers that do not ascend",
                    "Give each case distinct functor numbers, ascending; from_functors puts them in order.",
                )
        held = self.structure
        if held is not None and (len(held.order), len(held.names)) != (len(self.functors), len(self.keys)):
            raise ShapeError(
                asked,
                f"its structure is of {len(held.order)} statements in {len(held.names)} cases",
                f"Give one of {len(self.functors)} statements in {len(self.keys)} cases.",
            )
        shares = self.frequencies
        if shares is not None and (
            held is not None or shares.shape != self.functors.shape or ((shares <= 0) | (shares > 1)).any()
        ):
            raise ShapeError(
                asked,
                f"frequencies of shape {shares.shape}" + (" beside structure" if held is not None else ""),
                f"Give {len(self.functors)} shares above 0 and at most 1, NaN where one is not known, of flat cases.",
            )
        if shares is not None and np.isnan(shares).all():  # one form for one content
            object.__setattr__(self, "frequencies", None)

    def __len__(self) -> int:
        return len(self.keys)

    def functors_of(self, case: int) -> IntArray:
        """Returns the functors stated in one case, int32, ascending."""
        return self.functors[self.ptr[case] : self.ptr[case + 1]]

    def excluded_of(self, case: int) -> IntArray:
        """Returns the functors known to be absent in one case, int32, ascending."""
        return self.excluded[self.excluded_ptr[case] : self.excluded_ptr[case + 1]]

    def items(self, case: int) -> CaseItems:
        """Returns the statements and entities of one case as numbered items; the batch must have structure."""
        if self.structure is None:
            raise ShapeError("items of a case", "the batch holds functors alone", "Ask spelled_out() for them.")
        return self.structure.items(case, self.ptr)

    def spelled_out(self) -> CaseBatch:
        """Returns the same cases with structure, also where all are flat."""
        if self.structure is not None:
            return self
        return replace(self, structure=Structure.of_flat(self.ptr), frequencies=None)

    def take(self, cases: npt.ArrayLike) -> CaseBatch:
        """Returns the batch of the given cases, in the given order.

        Raises:
            ShapeError: what is given are no numbers of cases.
        """
        numbers = self._numbers(cases)
        ptr, functors = _take(self.ptr, self.functors, numbers)
        excluded_ptr, excluded = _take(self.excluded_ptr, self.excluded, numbers)
        structure = None if self.structure is None else self.structure.take(self.ptr, numbers)
        keys = tuple(self.keys[i] for i in numbers.tolist())
        frequencies = None if self.frequencies is None else _take(self.ptr, self.frequencies, numbers)[1]
        return CaseBatch(keys, ptr, functors, excluded_ptr, excluded, structure, frequencies)

    def in_key_order(self) -> tuple[CaseBatch, tuple[str, ...]]:
        """Returns the cases that state anything, by key in code-point order, and the keys of the others, likewise.

        Raises:
            CaseError: two cases have one key.
        """
        order = sorted(range(len(self)), key=self.keys.__getitem__)
        twice = sorted({self.keys[a] for a, b in zip(order, order[1:], strict=False) if self.keys[a] == self.keys[b]})
        if twice:
            raise CaseError(
                f"index {len(self)} cases", f"more than one has the key {twice[0]}", "Give every case a key of its own."
            )
        sizes = np.diff(self.ptr)
        return self.take([i for i in order if sizes[i]]), tuple(self.keys[i] for i in order if not sizes[i])

    def _numbers(self, cases: npt.ArrayLike) -> npt.NDArray[np.int64]:
        given = np.asarray(cases)
        whole = given.dtype.kind in "iu" or not given.size
        if not whole or given.ndim != 1 or (given.size and not 0 <= int(given.min()) <= int(given.max()) < len(self)):
            raise ShapeError(
                f"cases {cases!r:.80} of a batch of {len(self)}",
                "these are no whole numbers of its cases",
                "Give a list of numbers from 0 to below the number of cases.",
            )
        return given.astype(np.int64)

    def case(self, number: int, mounted: Mounted) -> Case:
        """Returns one case in its symbolic form.

        Raises:
            ShapeError: there is no case of this number.
        """
        number = int(self._numbers([number])[0])
        ids = mounted.ids
        excluded = tuple(ids[f] for f in self.excluded_of(number))
        if self.structure is None:
            return flat_case(self.keys[number], (ids[f] for f in self.functors_of(number)), excluded)
        made = self.statements(number, mounted)
        stated = self.structure.stated[self.ptr[number] : self.ptr[number + 1]]
        given = sorted((place, i) for i, place in enumerate(stated.tolist()) if place >= 0)
        return Case(self.keys[number], tuple(made[i] for _, i in given), self.structure.names[number], excluded)

    def statements(self, number: int, mounted: Mounted) -> tuple[Statement, ...]:
        """Returns all statements of one case in symbolic form, nested ones included, in their packed order."""
        ids = mounted.ids
        whole = self.spelled_out().structure
        assert whole is not None
        return whole.statements(number, self.ptr, [ids[f] for f in self.functors_of(number)])

    @classmethod
    def from_functors(
        cls,
        keys: Sequence[str],
        present: Sequence[npt.ArrayLike],
        excluded: Sequence[npt.ArrayLike] | None = None,
    ) -> CaseBatch:
        """Returns the batch of ``len(keys)`` cases given by functor numbers; doubles within a case count once."""
        ptr, functors = _pack(present)
        excluded_ptr, out = _pack(excluded if excluded is not None else [()] * len(keys))
        return cls(tuple(keys), ptr, functors, excluded_ptr, out)

    @classmethod
    def from_csr(
        cls,
        keys: Sequence[str],
        present: tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]],
        excluded: tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]],
        frequencies: npt.NDArray[np.float64] | None = None,
    ) -> CaseBatch:
        """Returns the batch given by two pairs of (pointers, functors), such as records hold; doubles count once.

        Args:
            keys: ``N`` keys.
            present: what holds.
            excluded: what was looked for and is absent.
            frequencies: float64, beside the functors of ``present``, which then ascend within each case.
        """
        ptr, functors = _dedupe(*present)
        excluded_ptr, out = _dedupe(*excluded)
        return cls(tuple(keys), ptr, functors, excluded_ptr, out, None, frequencies)

    @classmethod
    def from_cases(cls, cases: Iterable[Case], mounted: Mounted) -> CaseBatch:
        """Returns symbolic cases in packed form, from which ``case`` gives them back.

        A batch in which all cases are flat holds functors alone.

        Raises:
            CaseError: a case names a predicate that the mounted ontology does not have.
        """
        given = list(cases)
        number = mounted.number
        for case in given:
            unknown = sorted({*(s.functor.id for s in case.walk()), *case.excluded} - number.keys())
            if unknown:
                raise CaseError(
                    f"pack case {case.key}",
                    f"{', '.join(unknown)} is not in {mounted.ontology.label}",
                    "Use ids of the mounted ontology, or mount it with these as further predicates.",
                )
        keys = tuple(c.key for c in given)
        excluded = [[number[f] for f in c.excluded] for c in given]
        if all(_is_flat(c) for c in given):
            return cls.from_functors(keys, [[number[s.functor.id] for s in c.statements] for c in given], excluded)
        ptr, functors, structure = Structure.of_cases(given, number)
        excluded_ptr, out = _pack(excluded)
        return cls(keys, ptr, functors, excluded_ptr, out, structure)

    @classmethod
    def concatenate(cls, batches: Sequence[CaseBatch], mounted: Mounted) -> CaseBatch:
        """Returns the cases of all ``batches`` in one, in their order, packed as ``from_cases`` packs them.

        The one batch has structure if a case is not flat, wherever the cases came from.

        Args:
            batches: any number of batches, with structure or without, over one mounted ontology.
            mounted: that ontology.

        Raises:
            CaseError: some cases have structure, and others frequencies.
        """
        if not batches:
            return cls.from_functors([], [])
        keys = tuple(chain.from_iterable(b.keys for b in batches))
        ptr, excluded_ptr = (join_pointers([getattr(b, n) for b in batches]) for n in ("ptr", "excluded_ptr"))
        functors, excluded = (np.concatenate([getattr(b, n) for b in batches]) for n in ("functors", "excluded"))
        shares = None
        if any(b.frequencies is not None for b in batches):
            shares = np.concatenate([_shares_of(b) for b in batches])
        if all(b.structure is None for b in batches):
            return cls(keys, ptr, functors, excluded_ptr, excluded, None, shares)
        whole = Structure.concatenate([s for b in batches if (s := b.spelled_out().structure) is not None])
        flat = whole.flat(ptr)
        if flat.all():
            order = _order(ptr, flat, functors)
            shares = None if shares is None else shares[order]
            return cls(keys, ptr, functors[order], excluded_ptr, excluded, None, shares)
        if shares is not None:
            raise CaseError(
                f"put {len(keys)} cases together",
                "some have structure and others tell how often their statements hold",
                "Leave the frequencies out, or keep the two kinds of cases apart.",
            )
        if mounted.predicates:  # with structure, statements are in the order of ids, which these numbers are not
            rank = np.argsort(np.array(sorted(range(len(mounted.ids)), key=mounted.ids.__getitem__)))
            functors = functors[_order(ptr, flat, rank[functors])]
        return cls(keys, ptr, functors, excluded_ptr, excluded, whole)


def check_functors(cases: CaseBatch, mounted: Mounted) -> None:
    """Refuses cases with functors that the ontology does not have.

    Raises:
        CaseError: there is one.
    """
    for functors in (cases.functors, cases.excluded):
        if len(functors) and int(functors.max()) >= len(mounted.lattice):
            raise CaseError(
                f"{len(cases)} cases over {mounted.ontology.label}",
                f"functor {int(functors.max())}, where the ontology has {len(mounted.lattice)}",
                "Encode the cases with the ontology that they are indexed under.",
            )


def _shares_of(batch: CaseBatch) -> npt.NDArray[np.float64]:
    return np.full(len(batch.functors), np.nan) if batch.frequencies is None else batch.frequencies


def _order(ptr: PtrArray, cases: npt.NDArray[np.bool_], by: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Returns the numbers of all statements, those of the marked ``cases`` in ascending order of ``by`` within each."""
    owner = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    place = np.where(cases[owner], by, np.arange(len(by)))
    return np.lexsort((place, owner)).astype(np.int64)


def _is_flat(case: Case) -> bool:
    """Returns whether the case is what ``flat_case`` makes, so that its functors alone give it back."""
    functors = [s.functor.id for s in case.statements]
    return (
        not case.name
        and functors == sorted(set(functors))
        and all(s == Statement(Predicate(s.functor.id), (SUBJECT,)) for s in case.statements)
    )


def _pack(rows: Sequence[npt.ArrayLike]) -> tuple[PtrArray, IntArray]:
    packed = [distinct(_whole_numbers(row)) for row in rows]
    ptr = np.zeros(len(packed) + 1, np.int64)
    np.cumsum([len(row) for row in packed], out=ptr[1:])
    return ptr, np.concatenate(packed) if packed else np.zeros(0, np.int32)


def _whole_numbers(row: npt.ArrayLike) -> IntArray:
    given = np.asarray(row)
    if given.size and given.dtype.kind not in "iu":
        raise ShapeError(
            f"a case given as {given.dtype} numbers", "functors are whole numbers", "Give the numbers of terms, or ids."
        )
    if given.size and not 0 <= int(given.min()) <= int(given.max()) <= _GREATEST:
        raise ShapeError(
            f"a case with the functors {int(given.min())} to {int(given.max())}",
            f"functors run from 0 to at most {_GREATEST}",
            "Give the numbers of terms, or ids.",
        )
    return given.astype(np.int32)


def _take(ptr: PtrArray, data: npt.NDArray[Data], rows: npt.NDArray[np.int64]) -> tuple[PtrArray, npt.NDArray[Data]]:
    owner, at = expand(ptr, rows)
    return pointers(owner, len(rows)), data[at]


def _dedupe(ptr: npt.NDArray[np.integer], data: npt.NDArray[np.integer]) -> tuple[PtrArray, IntArray]:
    counts = np.diff(ptr)
    width = int(data.max()) + 1 if len(data) else 1
    pairs = distinct(np.repeat(np.arange(len(counts), dtype=np.int64), counts) * width + data)
    owner, functors = np.divmod(pairs, width)
    return pointers(owner, len(counts)), functors.astype(np.int32)
