"""What a file of somebody's own says was seen: ids of terms with their places, and what it names but does not affirm.

Readers of several forms fill these; a query takes the ids and accounts for all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["Passed", "Renamed", "Sighting", "SightingList", "Sightings"]


@dataclass(frozen=True)
class Sighting:
    """One mention of a term that counts.

    Attributes:
        id: the id as it is looked up.
        where: its place, such as ``line 12`` or ``techniques[3]``.
    """

    id: str
    where: str


@dataclass(frozen=True)
class Passed:
    """One mention that does not count.

    Attributes:
        asked: the id, or what stands in the place of one.
        kind: ``disabled`` (the file says that it is off, or revokes it), ``unmarked``, ``malformed`` or ``no-id``.
        why: one sentence for a person.
        where: its place.
    """

    asked: str
    kind: str
    why: str
    where: str


@dataclass(frozen=True)
class Renamed:
    """An id that the ontology lacks, of an object that it has under another id."""

    asked: str
    used: str
    why: str
    where: str


@dataclass(frozen=True)
class Sightings:
    """All that one file says was seen.

    Attributes:
        form: ``navigator``, ``stix``, ``attack-flow``, ``misp``, ``csv`` or ``text``.
        path: the file as the caller named it.
        sha256: SHA-256 of its uncompressed bytes, hex.
        title: what the file calls itself, or empty.
        mentions: what counts, in the order of the file.
        passed: what does not.
        renamed: ids looked up under another one.
        notes: what else a person should know.
    """

    form: str
    path: str
    sha256: str
    title: str
    mentions: tuple[Sighting, ...]
    passed: tuple[Passed, ...]
    renamed: tuple[Renamed, ...]
    notes: tuple[str, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids that count, each once, in the order in which they are first met."""
        return tuple(self.places)

    @cached_property
    def places(self) -> dict[str, tuple[str, ...]]:
        """Where each id that counts is mentioned."""
        found: dict[str, list[str]] = {}
        for mention in self.mentions:
            found.setdefault(mention.id, []).append(mention.where)
        return {term: tuple(dict.fromkeys(places)) for term, places in found.items()}


@dataclass
class SightingList:
    """Sightings in the making: a reader fills it while it goes through a file."""

    mentions: list[Sighting] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)
    renamed: list[Renamed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    title: str = ""

    def see(self, term: str, where: str) -> None:
        """Adds a mention that counts."""
        self.mentions.append(Sighting(term, where))

    def pass_over(self, asked: str, kind: str, why: str, where: str) -> None:
        """Adds a mention that does not count; ``why`` continues a sentence that begins with the id."""
        self.passed.append(Passed(asked, kind, f"{asked} {why}", where))

    def finish(self, form: str, path: str, sha256: str, more_notes: Iterable[str] = ()) -> Sightings:
        """Returns what was seen. What counts in one place is not passed over for another."""
        seen = {mention.id for mention in self.mentions}
        return Sightings(
            form=form,
            path=path,
            sha256=sha256,
            title=self.title,
            mentions=tuple(self.mentions),
            passed=tuple(dict.fromkeys(entry for entry in self.passed if entry.asked not in seen)),
            renamed=tuple(dict.fromkeys(self.renamed)),
            notes=(*self.notes, *more_notes),
        )
