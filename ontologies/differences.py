"""What changed from one release of an ontology to the next: terms added, lost, renamed, replaced, moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .ontology import Ontology, Resolution

__all__ = ["Differences", "Gone", "Moved", "Renamed", "differences"]


@dataclass(frozen=True)
class Gone:
    """A live term of the old release that is none in the new one.

    Attributes:
        id: its id.
        name: its name in the old release.
        became: the live term that stands for it now, or None.
        candidates: what the new release suggests instead, never followed by itself.
    """

    id: str
    name: str
    became: str | None = None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Renamed:
    """A term with another name than before."""

    id: str
    old: str
    new: str


@dataclass(frozen=True)
class Moved:
    """A term with other parents than before: ids that are parents no more, and new ones."""

    id: str
    name: str
    lost: tuple[str, ...]
    gained: tuple[str, ...]


@dataclass(frozen=True)
class Differences:
    """All changes, each list by id in code-point order; every live term of either release is counted once.

    Attributes:
        kept: number of terms that are live in both.
        added: terms that are live only in the new release, and that the old one did not know: id and name.
        restored: terms that are live now and were retired, alternative or undefined before: id and name.
        replaced: terms gone with one replacement.
        obsoleted: terms that the new release knows as retired, without one replacement.
        removed: terms that the new release does not know at all, or only by name.
        renamed: terms with another name.
        moved: terms with other parents.
    """

    kept: int
    added: tuple[tuple[str, str], ...]
    restored: tuple[tuple[str, str], ...]
    replaced: tuple[Gone, ...]
    obsoleted: tuple[Gone, ...]
    removed: tuple[Gone, ...]
    renamed: tuple[Renamed, ...]
    moved: tuple[Moved, ...]


def differences(old: Ontology, new: Ontology) -> Differences:
    r"""Returns what changed from ``old`` to ``new``.

    A parent that was replaced counts as another parent: the edge is written anew. Synonyms, definitions and typed
    relations are not compared.

    >>> from .loading import load_ontology
    >>> old = load_ontology(b"[Term]\nid: EX:1\nname: one\n\n[Term]\nid: EX:2\nname: two\n")
    >>> new = load_ontology(b"[Term]\nid: EX:1\nname: uno\nalt_id: EX:2\n")
    >>> found = differences(old, new)
    >>> found.renamed, found.replaced
    ((Renamed(id='EX:1', old='one', new='uno'),), (Gone(id='EX:2', name='two', became='EX:1', candidates=()),))
    """
    before, after = dict(_live(old)), dict(_live(new))
    gone = [(Gone(term, name), new.resolve(term)) for term, name in before.items() if term not in after]
    both = [term for term in before if term in after]
    came = [(term, name, old.resolve(term).status) for term, name in after.items() if term not in before]
    return Differences(
        kept=len(both),
        added=tuple((term, name) for term, name, status in came if status == "unknown"),
        restored=tuple((term, name) for term, name, status in came if status != "unknown"),
        replaced=tuple(_with_fate(g, r) for g, r in gone if r.status == "replaced"),
        obsoleted=tuple(_with_fate(g, r) for g, r in gone if r.status == "retired"),
        removed=tuple(g for g, r in gone if r.status not in ("replaced", "retired")),
        renamed=tuple(Renamed(t, before[t], after[t]) for t in both if before[t] != after[t]),
        moved=tuple(_moved(both, old, new)),
    )


def _live(ontology: Ontology) -> Iterator[tuple[str, str]]:
    for number, term in enumerate(ontology.ids):
        if not ontology.placeholder[number]:
            yield term, ontology.names[number]


def _with_fate(gone: Gone, resolution: Resolution) -> Gone:
    return Gone(gone.id, gone.name, resolution.used, resolution.candidates)


def _moved(terms: list[str], old: Ontology, new: Ontology) -> Iterator[Moved]:
    for term in terms:
        before = {old.ids[p] for p in old.parents_of(old.number[term])}
        after = {new.ids[p] for p in new.parents_of(new.number[term])}
        if before != after:
            name = new.names[new.number[term]]
            yield Moved(term, name, tuple(sorted(before - after)), tuple(sorted(after - before)))
