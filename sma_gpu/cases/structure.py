"""What the statements of packed cases say beyond their functors, as CSR arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import numpy as np
import numpy.typing as npt

from ..errors import CaseError, ShapeError
from ..lattice.arrays import expand, pointers
from .model import SUBJECT, Case, Entity, Predicate, Statement

__all__ = ["CaseItems", "Structure", "join_pointers"]

IntArray = npt.NDArray[np.int32]
PtrArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_GREATEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class CaseItems:
    """The items of one case: its statements ``0 .. n - 1``, then its entities ``n .. n + e - 1``.

    Attributes:
        args: int32 ``[n, width]``, items that each statement is applied to, -1 behind the last one.
        order: int32 ``[n]``; ascending, so that arguments stand before what is said of them.
        commutative: bool ``[n]``.
        entities: the entities, by name.
    """

    args: IntArray
    order: IntArray
    commutative: BoolArray
    entities: tuple[Entity, ...]

    def __len__(self) -> int:
        return len(self.args)


@dataclass(frozen=True)
class Structure:
    """Structure of ``S`` statements in ``N`` cases.

    Within a case statements are ordered by order, then functor id, sign, weight, and arguments; entities by name. So
    equal content has equal arrays, and arguments stand before the statements they are in.

    Attributes:
        order: int32 ``[S]``, 1 + greatest order among the arguments, entities having 0.
        negated: bool ``[S]``.
        weight: float64 ``[S]``, in (0, 1].
        commutative: bool ``[S]``, the functor's arguments match in any order.
        variadic: bool ``[S]``, the functor takes different numbers of arguments.
        stated: int32 ``[S]``, place among the statements that the case was given with; -1 for one that stands only
            inside others.
        arg_ptr: int64 ``[S + 1]``.
        args: int32 ``[arguments]``, item numbers within the case: a statement's place, or the number of the case's
            statements plus an entity's place.
        entity_ptr: int64 ``[N + 1]``.
        entities: the entities of all cases.
        names: names of the cases.
    """

    order: IntArray
    negated: BoolArray
    weight: npt.NDArray[np.float64]
    commutative: BoolArray
    variadic: BoolArray
    stated: IntArray
    arg_ptr: PtrArray
    args: IntArray
    entity_ptr: PtrArray
    entities: tuple[Entity, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        size = len(self.order)
        wrong = [f.name for f in fields(self)[:6] if np.shape(getattr(self, f.name)) != (size,)]
        wrong += [] if _covers(self.arg_ptr, size, len(self.args)) else ["arg_ptr"]
        wrong += [] if _covers(self.entity_ptr, len(self.names), len(self.entities)) else ["entity_ptr"]
        if wrong:
            raise ShapeError(
                f"Structure of {size} statements in {len(self.names)} cases",
                f"{', '.join(wrong)} does not fit",
                "Give one entry a statement, and ascending pointers that cover arguments and entities.",
            )

    @classmethod
    def of_flat(cls, ptr: PtrArray) -> Structure:
        """Returns the structure of flat cases: unary statements over the one subject, cut by ``ptr`` [N + 1]."""
        size, count = int(ptr[-1]), len(ptr) - 1
        owner = np.repeat(np.arange(count), np.diff(ptr))
        return cls(
            np.ones(size, np.int32),
            np.zeros(size, bool),
            np.ones(size),
            np.zeros(size, bool),
            np.zeros(size, bool),
            (np.arange(size) - ptr[owner]).astype(np.int32),
            np.arange(size + 1, dtype=np.int64),
            (ptr[owner + 1] - ptr[owner]).astype(np.int32),
            np.arange(count + 1, dtype=np.int64),
            (SUBJECT,) * count,
            ("",) * count,
        )

    @classmethod
    def of_cases(cls, cases: list[Case], number: Mapping[str, int]) -> tuple[PtrArray, IntArray, Structure]:
        """Returns pointers int64 ``[N + 1]``, functors int32 ``[S]`` by ``number``, and the structure of ``cases``."""
        rows: list[tuple[int, int, bool, float, bool, bool, int]] = []
        args: list[int] = []
        arity: list[int] = []
        sizes: list[int] = []
        entity_rows: list[int] = []
        entities: list[Entity] = []
        for case in cases:
            ordered, own = _in_order(case)
            place: dict[Statement | Entity, int] = {s: i for i, s in enumerate(ordered)}
            place.update((e, i) for i, e in enumerate(own, len(ordered)))
            stated = {s: i for i, s in enumerate(dict.fromkeys(case.statements))}
            for s in ordered:
                f = s.functor
                head = (number[f.id], s.order, bool(s.negated), float(s.weight), f.commutative, f.variadic)
                rows.append((*head, stated.get(s, -1)))
                args.extend(place[a] for a in s.args)
                arity.append(len(s.args))
            sizes.append(len(ordered))
            entities.extend(own)
            entity_rows.append(len(own))
        columns: list[list[float]] = [list(c) for c in zip(*rows, strict=True)] if rows else [[] for _ in range(7)]
        structure = cls(
            np.array(columns[1], np.int32),
            np.array(columns[2], np.bool_),
            np.array(columns[3], np.float64),
            np.array(columns[4], np.bool_),
            np.array(columns[5], np.bool_),
            np.array(columns[6], np.int32),
            _sums(arity),
            np.array(args, np.int32),
            _sums(entity_rows),
            tuple(entities),
            tuple(c.name for c in cases),
        )
        return _sums(sizes), np.array(columns[0], np.int32), structure

    def entity_counts(self) -> IntArray:
        """Returns the number of entities of each case, int32 ``[N]``."""
        return np.diff(self.entity_ptr).astype(np.int32)

    def plain(self, ptr: PtrArray) -> BoolArray:
        """Returns for each case whether all its statements are unary ones of one entity that is no constant, [N]."""
        owner = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        constant = np.array([e.constant for e in self.entities], np.bool_)
        alone: BoolArray = np.diff(self.entity_ptr) == 1
        alone[alone] = ~constant[self.entity_ptr[:-1][alone]]
        nested = (self.order != 1) | (np.diff(self.arg_ptr) != 1)
        alone[owner[nested]] = False
        return alone

    def items(self, case: int, ptr: PtrArray) -> CaseItems:
        """Returns the items of one case, its statements cut by ``ptr`` [N + 1]."""
        lo, hi = int(ptr[case]), int(ptr[case + 1])
        starts, arity = self.arg_ptr[lo:hi], np.diff(self.arg_ptr[lo : hi + 1])
        args = np.full((hi - lo, int(arity.max(initial=0))), -1, np.int32)
        owner, at = expand(self.arg_ptr, np.arange(lo, hi))
        args[owner, at - starts[owner]] = self.args[at]
        entities = self.entities[self.entity_ptr[case] : self.entity_ptr[case + 1]]
        return CaseItems(args, self.order[lo:hi], self.commutative[lo:hi], entities)

    def statements(self, case: int, ptr: PtrArray, functor_ids: Iterable[str]) -> tuple[Statement, ...]:
        """Returns the statements of one case in symbolic form, in their packed order."""
        items = self.items(case, ptr)
        made: list[Statement] = []
        lo = int(ptr[case])
        for i, functor in enumerate(functor_ids):
            held = [int(a) for a in items.args[i] if a >= 0]
            args = tuple(made[a] if a < len(items) else items.entities[a - len(items)] for a in held)
            predicate = Predicate(functor, bool(self.commutative[lo + i]), bool(self.variadic[lo + i]))
            made.append(Statement(predicate, args, bool(self.negated[lo + i]), float(self.weight[lo + i])))
        return tuple(made)

    def take(self, ptr: PtrArray, cases: npt.NDArray[np.int64]) -> Structure:
        """Returns the structure of the given cases, in the given order; ``ptr`` cuts the statements."""
        _, at = expand(ptr, cases)
        owner, arg_at = expand(self.arg_ptr, at)
        entity_owner, entity_at = expand(self.entity_ptr, cases)
        return Structure(
            self.order[at],
            self.negated[at],
            self.weight[at],
            self.commutative[at],
            self.variadic[at],
            self.stated[at],
            pointers(owner, len(at)),
            self.args[arg_at],
            pointers(entity_owner, len(cases)),
            tuple(self.entities[i] for i in entity_at.tolist()),
            tuple(self.names[i] for i in cases.tolist()),
        )

    def flat(self, ptr: PtrArray) -> BoolArray:
        """Returns for each case whether its functors alone say all there is to it, bool ``[N]``; ``ptr`` cuts [N + 1].

        That is: distinct unary statements over the one subject, unweighted, not negated, stated in their packed order,
        in a case without a name. A case without statements is flat.
        """
        sizes = np.diff(ptr)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        odd = (self.order != 1) | (np.diff(self.arg_ptr) != 1) | self.negated | (self.weight != 1.0)
        odd |= self.commutative | self.variadic | (self.stated != np.arange(len(owner)) - ptr[owner])
        found: BoolArray = np.diff(self.entity_ptr) == 1
        alone = [self.entities[i] == SUBJECT for i in self.entity_ptr[:-1][found].tolist()]
        found[found] = np.array(alone, np.bool_)
        found &= np.array([not name for name in self.names], np.bool_)
        found[owner[odd]] = False
        found |= sizes == 0
        return found

    @classmethod
    def concatenate(cls, parts: Sequence[Structure]) -> Structure:
        """Returns the structure of the cases of all ``parts``, of which there is one at least, in their order."""
        joined = {f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)[:6]}
        return cls(
            **joined,
            arg_ptr=join_pointers([p.arg_ptr for p in parts]),
            args=np.concatenate([p.args for p in parts]),
            entity_ptr=join_pointers([p.entity_ptr for p in parts]),
            entities=tuple(chain.from_iterable(p.entities for p in parts)),
            names=tuple(chain.from_iterable(p.names for p in parts)),
        )


def join_pointers(parts: Sequence[PtrArray]) -> PtrArray:
    """Returns the CSR pointers of the rows of all ``parts``, of which there is one at least, in their order."""
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(p) for p in parts]))]).astype(np.int64)


def _in_order(case: Case) -> tuple[list[Statement], tuple[Entity, ...]]:
    """Returns the distinct statements of a case in packed order, and its entities by name."""
    entities = case.entities()
    rank: dict[Statement | Entity, tuple[int, int]] = {e: (0, i) for i, e in enumerate(entities)}
    by_order: dict[int, list[Statement]] = {}
    for statement in case.walk():
        by_order.setdefault(statement.order, []).append(statement)
    ordered: list[Statement] = []
    for level in sorted(by_order):
        within = sorted(
            by_order[level], key=lambda s: (s.functor.id, s.negated, s.weight, tuple(rank[a] for a in s.args))
        )
        rank.update((s, (level, i)) for i, s in enumerate(within))
        ordered += within
    return ordered, entities


def _sums(counts: list[int]) -> PtrArray:
    if sum(counts) > _GREATEST:
        raise CaseError(
            f"pack {len(counts)} rows",
            f"{sum(counts)} entries, where int32 numbers them",
            "Pack fewer cases at a time.",
        )
    return np.concatenate([[0], np.cumsum(np.array(counts, np.int64))]).astype(np.int64)


def _covers(ptr: PtrArray, rows: int, entries: int) -> bool:
    return ptr.shape == (rows + 1,) and ptr[0] == 0 and ptr[-1] == entries and bool((np.diff(ptr) >= 0).all())
