"""The immutable Ontology: interned ids, names, synonyms, definitions, is-a edges, typed relations, retired ids.

Terms are numbered in code-point order of their ids, so a smaller number is a smaller id. Placeholders (ids that the
file names as a parent or a relation's end but never defines) are numbered too, since they take part in the lattice.
Retired ids and alternative ids have no number: they only resolve to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .iris import PLAIN_TAG, IriTable, spelled_ids
from .report import LoadReport
from .strings import StringColumn

__all__ = ["SCOPES", "Ontology", "Resolution", "Retired", "Synonym", "Term"]

SCOPES = ("EXACT", "BROAD", "NARROW", "RELATED")

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Synonym:
    """Another name of a term; ``scope`` is one of ``SCOPES``, ``language`` its tag, empty where none is stated."""

    text: str
    scope: str
    language: str = ""


@dataclass(frozen=True)
class Term:
    """One term as a reader sees it; made on demand from the arrays of its ontology."""

    id: str
    name: str
    definition: str
    parents: tuple[str, ...]
    synonyms: tuple[Synonym, ...]
    relations: tuple[tuple[str, str], ...]
    is_placeholder: bool
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Retired:
    """An id that is no longer live.

    Attributes:
        id: the id itself.
        name: its last name, empty for an alternative id without a stanza.
        replacement: the live id that stands for this one today, or None.
        candidates: live ids that the file suggests, never followed by themselves.
        is_alternative: the id is an alternative id of a live term (perhaps besides its own retired stanza).
        has_stanza: the file has a stanza of its own for it; an alternative id alone has none.
        onward: the retired id that the way to ``replacement`` leads through next; None where it leads straight there.
    """

    id: str
    name: str
    replacement: str | None = None
    candidates: tuple[str, ...] = ()
    is_alternative: bool = False
    has_stanza: bool = True
    # Linked, so that a long chain is held once and not once for each of its ids. Comparing or showing it would recurse.
    onward: Retired | None = field(default=None, compare=False, repr=False)

    @property
    def path(self) -> tuple[str, ...]:
        """Ids walked from this one to today's, both ends included; just this id where there is no replacement."""
        if self.replacement is None:
            return (self.id,)
        walked = [self.id]
        step = self.onward
        while step is not None:
            walked.append(step.id)
            step = step.onward
        return (*walked, self.replacement)


@dataclass(frozen=True)
class Resolution:
    """What looking up an id gave.

    Attributes:
        asked: the id as given.
        status: ``live``, ``replaced`` (a retired or alternative id with one replacement), ``retired`` (none),
            ``placeholder`` (named but never defined) or ``unknown``.
        index: number of the live term to use, or -1.
        path: ids walked to it, ``asked`` first.
        candidates: suggestions for a retired id.
    """

    asked: str
    status: str
    index: int = -1
    path: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()

    @property
    def used(self) -> str | None:
        """The live id to use, or None."""
        return self.path[-1] if self.index >= 0 else None


@dataclass(frozen=True, eq=False)
class Ontology:
    """One release of an ontology. Everything is fixed after loading; arrays are read-only.

    Two objects are the same only by identity; equal content shows in an equal ``sha256``.

    Attributes:
        name: short name from the file's header, such as ``hp``.
        version: release from the header, such as ``2025-01-16``; may be empty.
        sha256: SHA-256 of the uncompressed file, hex.
        ids: term ids in code-point order, ``T`` of them (live terms and placeholders).
        names: name of each term; empty for a placeholder.
        definitions: definition of each term, or empty.
        references: sources of each definition, joined by line feeds.
        placeholder: bool ``[T]``.
        parent_ptr: int32 ``[T + 1]``; ``parents[parent_ptr[i]:parent_ptr[i + 1]]`` are the direct is-a parents of i.
        parents: int32 ``[edges]``, sorted within a term, each parent once, no self-loop, acyclic.
        synonym_ptr: int32 ``[T + 1]`` into the three synonym columns.
        synonym_texts: the synonyms.
        synonym_scopes: uint8 ``[synonyms]``, number in ``SCOPES``.
        synonym_languages: their language tags, or empty.
        relations: int32 ``[relations, 3]``: subject, number in ``relation_ids``, object; sorted, each once.
        relation_ids: ids of the typed relations, code-point order.
        relation_names: their names, "" where the file gives none.
        retired: retired and alternative ids.
        header: header tags and their values, as read.
        report: what the reader noticed.
        marks: what the source says of single terms, such as ``abstract``: ids of the terms so marked, code-point order.
    """

    name: str
    version: str
    sha256: str
    ids: tuple[str, ...]
    names: StringColumn
    definitions: StringColumn
    references: StringColumn
    placeholder: npt.NDArray[np.bool_]
    parent_ptr: IntArray
    parents: IntArray
    synonym_ptr: IntArray
    synonym_texts: StringColumn
    synonym_scopes: npt.NDArray[np.uint8]
    synonym_languages: StringColumn
    relations: IntArray
    relation_ids: tuple[str, ...]
    relation_names: tuple[str, ...]
    retired: Mapping[str, Retired]
    header: Mapping[str, tuple[str, ...]]
    report: LoadReport
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (
            self.placeholder, self.parent_ptr, self.parents, self.synonym_ptr, self.synonym_scopes, self.relations
        ):  # fmt: skip
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Ontology({self.label}, {self.live_count} live terms, {len(self.retired)} retired or alternative ids)"

    @property
    def label(self) -> str:
        """Name and version, for messages."""
        return f"{self.name} {self.version}".strip()

    @property
    def live_count(self) -> int:
        """Number of live terms; placeholders, retired and alternative ids do not count."""
        return len(self.ids) - int(self.placeholder.sum())

    @property
    def retired_count(self) -> int:
        """Number of retired terms; alternative ids without a stanza of their own do not count."""
        return sum(old.has_stanza for old in self.retired.values())

    @cached_property
    def number(self) -> Mapping[str, int]:
        """Number of each term id, placeholders included."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Live terms without a parent, code-point order. A term whose only parent is a placeholder is not a root."""
        bare = (np.diff(self.parent_ptr) == 0) & ~self.placeholder
        return tuple(self.ids[i] for i in np.flatnonzero(bare))

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """Prefixes of the live ids, such as ``HP``."""
        return frozenset(i.split(":", 1)[0] for i in self.ids if ":" in i)

    @cached_property
    def iris(self) -> IriTable:
        """Web addresses of the ids, and back."""
        return IriTable.from_header(self.header)

    def resolve(self, asked: str) -> Resolution:
        """Returns what an id, or its web address, stands for today. Both are case-sensitive; nothing is guessed."""
        index = self.number.get(asked)
        if index is None and asked not in self.retired:
            ids = spelled_ids(asked, self.iris, self.header.get(PLAIN_TAG, ()))
            known = next((i for i in ids if i in self.number or i in self.retired), None)
            if known is not None:
                return replace(self.resolve(known), asked=asked)
        if index is not None:
            if self.placeholder[index]:
                return Resolution(asked, "placeholder", path=(asked,))
            return Resolution(asked, "live", index, (asked,))
        old = self.retired.get(asked)
        if old is None:
            return Resolution(asked, "unknown", path=(asked,))
        if old.replacement is None:
            return Resolution(asked, "retired", path=old.path, candidates=old.candidates)
        return Resolution(asked, "replaced", self.number[old.replacement], old.path, old.candidates)

    def parents_of(self, index: int) -> IntArray:
        """Returns the numbers of the direct is-a parents of term ``index``, ascending."""
        return self.parents[self.parent_ptr[index] : self.parent_ptr[index + 1]]

    def synonyms_of(self, index: int) -> Iterator[Synonym]:
        """Yields the synonyms of term ``index`` in file order."""
        for i in range(int(self.synonym_ptr[index]), int(self.synonym_ptr[index + 1])):
            yield Synonym(self.synonym_texts[i], SCOPES[self.synonym_scopes[i]], self.synonym_languages[i])

    def term(self, id_or_index: str | int) -> Term:
        """Returns the term with the given id or number.

        Raises:
            KeyError: no live term or placeholder has this id.
        """
        index = self.number[id_or_index] if isinstance(id_or_index, str) else id_or_index
        lo, hi = np.searchsorted(self.relations[:, 0], [index, index + 1])
        return Term(
            id=self.ids[index],
            name=self.names[index],
            definition=self.definitions[index],
            parents=tuple(self.ids[p] for p in self.parents_of(index)),
            synonyms=tuple(self.synonyms_of(index)),
            relations=tuple((self.relation_ids[r], self.ids[o]) for _, r, o in self.relations[lo:hi]),
            is_placeholder=bool(self.placeholder[index]),
            references=tuple(filter(None, self.references[index].split("\n"))),
        )

    def display(self, index: int) -> str:
        """Returns the name of term ``index``, or its id where it has none."""
        return self.names[index] or self.ids[index]
