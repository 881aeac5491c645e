"""Solved cases: queries whose answer is known, and which of the indexed cases that answer is.

What is known never enters a query: it is looked up beside it, and a gold key that cannot be used is told, not guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import BinaryIO, NamedTuple

from ..cases import EncodedQuery
from ..errors import QueryError, SmaError, UnknownKey
from ..ontologies.records.citations import cited
from ..ontologies.records.equivalents import find_equivalents, folded
from ..ontologies.records.patients import (
    IN_MEMORY,
    BadRecord,
    PatientInput,
    PatientRecord,
    patients_of,
    read_patients,
)
from ..ontologies.records.sssom import read_sssom
from .engine import Engine
from .restriction import Restriction

__all__ = ["SolvedCase", "SolvedCases", "Unusable", "groups_of", "read_solved", "solve"]


@dataclass(frozen=True)
class SolvedCase:
    """A query whose answer is known.

    Attributes:
        id: key of the record.
        where: file, with line or path inside it.
        query: as the index sees it; nothing of what is known is in it.
        stated: what the record says is right, as written; nothing where it says that none of the entities is.
        right: numbers of the indexed cases that are right, ascending; empty for a case known to be new.
        keys: their keys, in the same order.
        publications: where the case was published.
        seen: the annotations of a right entity cite one of these publications, so they were made of this very case.
        notes: what was read in another way than written, or could not be used, in words.
    """

    id: str
    where: str
    query: EncodedQuery
    stated: tuple[str, ...]
    right: tuple[int, ...]
    keys: tuple[str, ...]
    publications: tuple[str, ...] = ()
    seen: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether the case is known to be of no indexed entity."""
        return not self.right

    @property
    def entity(self) -> str:
        """What intervals are clustered by: the first right key, or for a new case its own group."""
        return self.keys[0] if self.keys else self.group

    @property
    def group(self) -> str:
        """What must stay in one fold: cases of one publication, or else of one entity; see also ``groups_of``."""
        return self.publications[0] if self.publications else self.keys[0] if self.keys else self.id


class Unusable(NamedTuple):
    """A record that could not be evaluated.

    Attributes:
        id: key of the record, or None where it cannot be told.
        where: file, with line or path inside it.
        kind: ``unreadable``, ``unsolved``, ``unknown``, ``set-aside`` or ``outside``.
        why: in words.
    """

    id: str | None
    where: str
    kind: str
    why: str


@dataclass(frozen=True)
class SolvedCases:
    """All records of a file of solved cases.

    Attributes:
        cases: those that can be evaluated, in the order of the input.
        unusable: the others, in the same order.
        sha256: SHA-256 of the input, hex.
        form: form of the input; see ``PatientInput``.
        notes: what was noticed about the input as a whole.
    """

    cases: tuple[SolvedCase, ...]
    unusable: tuple[Unusable, ...]
    sha256: str
    form: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def failed(self) -> int:
        """Number of records that could not be read."""
        return sum(one.kind == "unreadable" for one in self.unusable)

    @property
    def reasons(self) -> dict[str, int]:
        """How many records could not be evaluated, by kind, in the order of the kinds' names."""
        return dict(sorted(Counter(one.kind for one in self.unusable).items()))


def groups_of(cases: Sequence[SolvedCase]) -> list[str]:
    """Returns for each case what must stay in one fold: its group, or that of all groups that share a publication.

    A case may name several publications, in any order, and share but one of them with another case. A joined group is
    called by the first of its names by code point.
    """
    above: dict[str, str] = {}

    def first_of(name: str) -> str:
        while above.setdefault(name, name) != name:
            name = above[name]
        return name

    for case in cases:
        ends = {first_of(name) for name in (case.group, *case.publications)}
        above |= dict.fromkeys(ends, min(ends))
    return [first_of(case.group) for case in cases]


def read_solved(
    engine: Engine,
    given: str | PathLike[str] | Iterable[Mapping[str, object]],
    restriction: Restriction | None = None,
    *,
    stdin: BinaryIO | None = None,
) -> SolvedCases:
    """Returns the solved cases of a file, folder or archive, or of records in memory.

    Args:
        engine: the domain in whose index the answers are.
        given: path of JSON lines with ``gold``, a list of keys (empty: known to be none of them), or of phenopackets
            with diseases, in all forms that a batch reads; or what such lines hold, ``{"id": ..., "observed": [...],
            "gold": [...]}`` each.
        restriction: the only cases that can be hits; all where it is None.
        stdin: binary stream that ``-`` stands for.

    Raises:
        QueryError: none of the records can be evaluated, or see ``read_patients``, as for the others.
        ParseError: likewise.
        DataMissing: likewise.
    """
    if isinstance(given, str | PathLike):
        return solve(engine, read_patients(given, stdin=stdin), fspath(given), restriction)
    return solve(engine, patients_of(given), IN_MEMORY, restriction)


def solve(engine: Engine, given: PatientInput, path: str, restriction: Restriction | None = None) -> SolvedCases:
    """Returns the solved cases among records; see ``read_solved``."""
    truths = _Truths(engine, [r for r in given.records if isinstance(r, PatientRecord)], restriction)
    sources = (
        cited(engine.domain.records)
        if any(isinstance(r, PatientRecord) and r.publications for r in given.records)
        else set()
    )
    cases: list[SolvedCase] = []
    unusable: list[Unusable] = []
    for record in given.records:
        found = _solved(engine, record, truths, sources)
        if isinstance(found, Unusable):
            unusable.append(found)
        else:
            cases.append(found)
    if not cases:
        raise _nothing(engine, path, unusable)
    return SolvedCases(tuple(cases), tuple(unusable), given.sha256, given.form, tuple(map(str, given.notes)))


def _nothing(engine: Engine, path: str, unusable: Sequence[Unusable]) -> QueryError:
    """Returns the error that no record can be evaluated; it names the reasons, and an example of the keys there are."""
    entity, example = engine.domain.manifest.entity, next(iter(engine.index.keys), "")
    found = "it holds no record"
    if unusable:
        found = f"none of its {len(unusable)} records can be evaluated; the first, "
        found += f"{unusable[0].id or unusable[0].where}: {unusable[0].why.rstrip('.')}"
    keys = f" such as {example}" if example else ""
    do = f'Give JSON lines with "gold", a list of keys of {entity}s{keys}, or phenopackets with diseases.'
    return QueryError(f"evaluate {path}", found, do)


def _solved(
    engine: Engine, record: PatientRecord | BadRecord, truths: _Truths, sources: set[tuple[str, str]]
) -> SolvedCase | Unusable:
    if isinstance(record, BadRecord):
        return Unusable(record.id, record.where, "unreadable", str(record.error))
    faults = [entry.message for entry in record.notes if entry.kind == "gold"]
    if not record.solved:
        why = faults[0] if faults else "the record does not say what is right"
        return Unusable(record.id, record.where, "unreadable" if faults else "unsolved", why)
    stated = tuple(key for key in record.labels if key not in record.ruled_out)
    notes = [*faults, *(f"{key} is recorded as ruled out too; not used" for key in record.labels if key not in stated)]
    found = [truths.of(key) for key in stated]
    right = sorted({number for truth in found for number in truth.right})
    notes += [truth.told for truth in found if truth.told]
    if record.labels and not right:
        kind = found[0].kind if found else "unsolved"
        return Unusable(record.id, record.where, kind, "; ".join(notes))
    try:
        query = engine.encode(record.observed, record.excluded)
    except SmaError as error:
        return Unusable(record.id, record.where, "unreadable", str(error))
    keys = tuple(engine.index.keys[number] for number in right)
    seen = any((key, publication) in sources for key in keys for publication in record.publications)
    return SolvedCase(
        record.id, record.where, query, stated, tuple(right), keys, record.publications, seen, tuple(notes)
    )


class _Truth(NamedTuple):
    """What a gold key stands for: numbers of cases, or none and of which kind that is; and a remark."""

    right: tuple[int, ...]
    kind: str = ""
    told: str = ""


class _Truths:
    """Gold keys looked up in an index, each once."""

    def __init__(self, engine: Engine, records: Sequence[PatientRecord], restriction: Restriction | None) -> None:
        self._engine = engine
        self._restriction = restriction
        self._found: dict[str, _Truth] = {}
        self._keys = frozenset(engine.index.keys)
        self._folded = {folded(key): number for number, key in reversed(list(enumerate(engine.index.keys)))}
        stated = sorted({key for record in records for key in record.labels})
        self._mapped = self._through_mappings([key for key in stated if not self._known(key)])

    def of(self, key: str) -> _Truth:
        """Returns what ``key`` stands for."""
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._wanted(key, self._look_up(key))
        return found

    def _wanted(self, key: str, truth: _Truth) -> _Truth:
        """Returns the truth as far as it can be a hit."""
        if self._restriction is None or not truth.right:
            return truth
        left = tuple(number for number in truth.right if self._restriction.wanted[number])
        if left:
            return truth._replace(right=left)
        return _Truth((), "outside", f"{key} is none of the {self._engine.domain.manifest.entity}s that are sought")

    def _look_up(self, key: str) -> _Truth:
        index, entity = self._engine.index, self._engine.domain.manifest.entity
        if key in index.set_aside:
            return _Truth((), "set-aside", f"{key} is a {entity} without a term to match on; it is never a hit")
        number, today = self._number(key), self._engine.domain.mounted.ontology.resolve(key).used
        if number is not None:
            used = index.keys[number]
            return _Truth((number,), told="" if used == key else f"{key} is read as {used}")
        if today is not None and today != key and today in index.keys:
            return _Truth((index.number_of(today),), told=f"{key} is retired; it is read as {today}")
        if folded(key) in self._folded:
            number = self._folded[folded(key)]
            return _Truth((number,), told=f"{key} is read as {index.keys[number]}")
        if key in self._mapped:
            right = self._mapped[key]
            return _Truth(right, told=f"{key} is read as {' and '.join(index.keys[n] for n in right)}")
        try:
            self._engine.aliases.key_of(key)
        except UnknownKey as error:  # several are called so
            return _Truth((), "unknown", f"{key} is no key: {error.found}")
        return _Truth((), "unknown", f"{key} is no {entity} here")

    def _number(self, key: str) -> int | None:
        engine = self._engine
        try:
            return engine.index.number_of(key if key in self._keys else engine.aliases.key_of(key) or key)
        except UnknownKey:
            return None

    def _known(self, key: str) -> bool:
        index = self._engine.index
        return self._number(key) is not None or key in index.set_aside or folded(key) in self._folded

    def _through_mappings(self, unknown: list[str]) -> dict[str, tuple[int, ...]]:
        """Returns the cases of which the mappings say that they are the same as each of the ``unknown`` keys."""
        twins, index = self._engine.twins, self._engine.index
        if twins is None or not unknown:
            return {}
        keys = (*index.keys, *unknown)
        group = find_equivalents(read_sssom(twins.equivalents.path), keys, least=twins.equivalents.least).group
        members: dict[int, list[int]] = {}
        for number, at in enumerate(group[: len(index)].tolist()):
            members.setdefault(at, []).append(number)
        same = zip(unknown, group[len(index) :].tolist(), strict=True)
        return {key: tuple(members[at]) for key, at in same if at in members}
