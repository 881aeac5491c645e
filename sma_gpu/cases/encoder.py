"""From ids as people write them to functors of the lattice, with an account of every id that was changed or left out.

A query is reduced to its most specific terms: a broader term beside a narrower one says nothing new. Stored records are
kept as annotated, because their annotations are evidence, each for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import QueryError, UnknownTerm
from ..ontologies.belonging import belonging, foreign_owners, namesakes, split_notes
from ..ontologies.mount import Mounted
from ..ontologies.ontology import Resolution
from ..ontologies.search import nearest_ids

__all__ = ["ENCODER_VERSION", "Changed", "EncodedQuery", "LeftOut", "encode_query", "encode_stored", "id_list"]

ENCODER_VERSION = 1
"""Raised by one whenever the same ids over the same ontology become another query; sentences alone do not count."""

IntArray = npt.NDArray[np.int32]
_BETWEEN = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class Changed:
    """An id that was replaced by today's id; ``path`` holds the ids walked."""

    asked: str
    used: str
    path: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class LeftOut:
    """An id that takes no part.

    Attributes:
        asked: the id as given, or today's id for a term that is implied.
        kind: ``unknown``, ``retired``, ``placeholder``, ``repeat``, ``implied``, ``conflict`` or ``outside``
            (a kind of term that no record of the domain can have).
        why: one sentence for a person.
        candidates: ids to try instead; never used by themselves.
    """

    asked: str
    kind: str
    why: str
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class EncodedQuery:
    """A query ready for the index.

    Attributes:
        present: int32, most specific functors of the query, ascending.
        excluded: int32, functors stated to be absent, ascending.
        changed: ids that were replaced.
        left_out: ids that take no part.
        notes: other remarks, such as an excluded term above an observed one.
        asked: number of observed ids given.
    """

    present: IntArray
    excluded: IntArray
    changed: tuple[Changed, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    asked: int


def encode_query(
    mounted: Mounted, observed: Iterable[str], excluded: Iterable[str] = (), *, strict: bool = False
) -> EncodedQuery:
    """Returns the most specific functors of a query and what became of every id given.

    Args:
        mounted: the ontology the ids belong to.
        observed: ids of terms that are present; any order, doubles allowed.
        excluded: ids of terms that were looked for and are absent.
        strict: refuse an id that cannot be used, instead of leaving it out and saying so.

    Raises:
        QueryError: the ids are not given as a collection of strings.
        UnknownTerm: under ``strict``, for the first id that cannot be used.
    """
    ontology, lattice = mounted.ontology, mounted.lattice
    changed: list[Changed] = []
    left_out: list[LeftOut] = []
    notes: list[str] = []
    observed = id_list(observed)
    present = _resolve_all(mounted, observed, changed, left_out)
    of_observed = len(left_out)
    absent = _resolve_all(mounted, id_list(excluded), changed, left_out)
    unknown, unknown_absent = (
        [entry.asked for entry in part if entry.kind == "unknown"]
        for part in (left_out[:of_observed], left_out[of_observed:])
    )
    notes += split_notes(ontology, unknown, unknown_absent, len(present | absent))

    for functor in sorted(present & absent):
        term = ontology.ids[functor]
        left_out.append(
            LeftOut(term, "conflict", f"{term} is given as observed and as excluded; it is kept as observed")
        )
    absent -= present

    specific = lattice.most_specific(sorted(present))
    below: dict[int, int] = {}  # the first of the most specific functors below each functor
    for functor in specific.tolist():
        for above in lattice.ancestors_of(functor).tolist():
            below.setdefault(above, functor)
    for functor in sorted(present - set(specific.tolist())):
        term, by = ontology.ids[functor], ontology.ids[below[functor]]
        left_out.append(LeftOut(term, "implied", f"{term} is implied by the narrower {by}, which is in the query"))
    for functor in sorted(absent & below.keys()):
        notes.append(
            f"{ontology.ids[functor]} is excluded although the narrower {ontology.ids[below[functor]]} is observed; "
            "both are kept as given"
        )
    if strict:
        _refuse_unusable(mounted, left_out)
    return EncodedQuery(
        specific, np.array(sorted(absent), np.int32), tuple(changed), tuple(left_out), tuple(notes), len(observed)
    )


def encode_stored(
    mounted: Mounted, term_ids: Iterable[str]
) -> tuple[IntArray, tuple[Changed, ...], tuple[LeftOut, ...]]:
    """Returns the functors of a stored record as annotated (int32, ascending), and what became of the rest."""
    changed: list[Changed] = []
    left_out: list[LeftOut] = []
    present = _resolve_all(mounted, sorted(id_list(term_ids)), changed, left_out)
    return np.array(sorted(present), np.int32), tuple(changed), tuple(left_out)


def id_list(term_ids: Iterable[str]) -> list[str]:
    """Returns the ids as a list.

    Raises:
        QueryError: they are not given as a collection of strings.
    """
    asked = f"terms {term_ids!r:.80}"
    if isinstance(term_ids, (str, bytes)):
        raise QueryError(asked, "one string, where a collection of ids is wanted", "Give a list, such as ['EX:1'].")
    if not isinstance(term_ids, Iterable):
        raise QueryError(asked, f"{type(term_ids).__name__} is no collection of ids", "Give a list, such as ['EX:1'].")
    listed = list(term_ids)
    for term in listed:
        if not isinstance(term, str):
            raise QueryError(asked, f"{term!r} is no string", "Give ids as strings.")
    return listed


def _refuse_unusable(mounted: Mounted, left_out: list[LeftOut]) -> None:
    for entry in left_out:
        if entry.kind in ("unknown", "retired", "placeholder"):
            raise UnknownTerm(
                f"strict input: term {entry.asked}",
                entry.why,
                f"Use an id of {mounted.ontology.label}, or read without strict input, which leaves it out.",
                nearest=entry.candidates,
            )


def _resolve_all(
    mounted: Mounted, term_ids: Iterable[str], changed: list[Changed], left_out: list[LeftOut]
) -> set[int]:
    found: set[int] = set()
    seen: set[str] = set()
    for asked in term_ids:
        if asked in seen:
            left_out.append(LeftOut(asked, "repeat", f"{asked} is given more than once; it counts once"))
            continue
        seen.add(asked)
        resolution = mounted.ontology.resolve(asked)
        if resolution.index < 0:
            left_out.append(_why_left_out(mounted, resolution))
            continue
        found.add(resolution.index)
        if resolution.status == "replaced":
            used = resolution.path[-1]
            changed.append(Changed(asked, used, resolution.path, f"{asked} is an old id; today it is {used}"))
    return found


def _why_left_out(mounted: Mounted, resolution: Resolution) -> LeftOut:
    ontology, asked = mounted.ontology, resolution.asked
    if resolution.status == "retired":
        hint = f" Consider {', '.join(resolution.candidates)}." if resolution.candidates else ""
        why = f"{asked} is retired in {ontology.label} without one replacement; left out.{hint}"
        return LeftOut(asked, "retired", why, resolution.candidates)
    if resolution.status == "placeholder":
        return LeftOut(asked, "placeholder", f"{asked} is named in {ontology.label} but not defined there; left out.")
    nearest = nearest_ids(ontology, asked)
    prefix = asked.split(":", 1)[0].strip() if ":" in asked else ""
    owners = foreign_owners(ontology, asked)
    foreign = ""
    if owners or (prefix and not _is_own(ontology.prefixes, prefix)):
        ids = f"{prefix}: ids" if prefix else "Ids of this form"
        foreign = f" {ids} belong to another ontology{f', {belonging(owners)}' if owners else ''}."
    elif others := namesakes(ontology, asked):
        foreign = f" Ids of this form are also those of {belonging(others)}."
    hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
    parts = [part for part in _BETWEEN.split(asked) if part]
    if len(parts) > 1 and all(ontology.resolve(part).index >= 0 for part in parts):
        hint = f" Give each id as a word of its own: {' '.join(parts)}."
    shown = asked if asked.strip() else repr(asked)
    return LeftOut(asked, "unknown", f"{shown} is not in {ontology.label}; left out.{foreign}{hint}", nearest)


def _is_own(prefixes: frozenset[str], prefix: str) -> bool:
    return prefix.casefold() in {p.casefold() for p in prefixes}
