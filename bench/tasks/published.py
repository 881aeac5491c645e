"""The published protocol over all five domains, as published and with its limits lifted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ...errors import DataMissing
from ...memory import IndexItem, Query
from ...ontologies.domains import Domain
from ..arms.arm import Setting
from .domain_at import domain_of_day
from .entry import Entry, Request
from .published_draw import Draw, draw
from .task import Question, Task
from .wording import counted

__all__ = ["BANDS", "ENTRIES", "SEEDS", "entities_of", "parents_of"]

SEEDS = (7, 17, 23)

_PROCESS = "GO:0008150"  # the published genomics arm reads annotations of biological processes alone
_ALL = 1 << 30


@dataclass(frozen=True)
class _Variant:
    """How a variant draws: fewest and most terms of an entity, and what ``draw`` takes."""

    least: int
    most: int
    stored: int = 2000
    queries: int = 120
    novel: float = 0.1
    at_random: bool = False
    negated: bool = True
    band: tuple[int, int] | None = None


BANDS = {"medicine": (7, 30), "cyber": (7, 30), "genomics": (7, 30), "legal": (7, 30), "finance": (10, 40)}
_OURS = {
    "medicine": "Diseases of phenotype.hpoa; rows with NOT or a frequency of none are read as present, as published.",
    "cyber": "Groups of ATT&CK, by name, and the techniques that they use.",
    "genomics": "Gene products and their biological processes; rows with NOT are read as present, as published.",
    "legal": "Patents and their CPC symbols. Published on one week of grants; here on the patents that are at hand.",
    "finance": "Filings and their US-GAAP concepts. Published on the amounts of 2024q1 and a tree of its own making; "
    "here on the filings and the taxonomy that are at hand, most of which have more concepts than the band allows.",
}


def parents_of(domain: Domain) -> dict[str, list[str]]:
    """Returns the is-a parents of every term that has some, by id."""
    ontology = domain.mounted.ontology
    ids, ptr, parents = ontology.ids, ontology.parent_ptr.tolist(), ontology.parents.tolist()
    return {
        ids[term]: [ids[parent] for parent in parents[ptr[term] : ptr[term + 1]]]
        for term in range(len(ontology))
        if ptr[term + 1] > ptr[term]
    }


def entities_of(domain: Domain, *, negated: bool) -> dict[str, list[str]]:
    """Returns the terms of every entity that has some, by the key that the published arms give it.

    Args:
        domain: ontology and records.
        negated: whether a term that is said not to hold counts as one that does, as the published readers have it.
    """
    records, ids = domain.records, domain.mounted.ontology.ids
    wanted = (records.aspect == 0) & (negated | ~records.excluded)
    if domain.manifest.domain == "genomics":
        wanted &= _below(domain, _PROCESS)[records.term]
    keys = records.names if domain.manifest.domain == "cyber" else records.keys
    owner = np.repeat(np.arange(len(records)), np.diff(records.ptr))[wanted]
    found: dict[str, set[str]] = defaultdict(set)
    for record, term in zip(owner.tolist(), records.term[wanted].tolist(), strict=True):
        found[keys[record]].add(ids[term])
    return {key: sorted(found[key]) for key in sorted(found)}


def _below(domain: Domain, root: str) -> npt.NDArray[np.bool_]:
    """Returns which terms have ``root`` above them, or are it."""
    closure = domain.mounted.lattice.closure
    at = domain.mounted.ontology.number.get(root, -1)
    owner = np.repeat(np.arange(len(domain.mounted.ontology)), np.diff(closure.ptr))
    found = np.zeros(len(domain.mounted.ontology), np.bool_)
    found[owner[closure.ancestors == at]] = True
    return found


def _make(request: Request, *, name: str, variant: _Variant) -> Task:
    domain = domain_of_day(name)
    every = entities_of(domain, negated=variant.negated)
    held = {key: terms for key, terms in every.items() if variant.least <= len(terms) <= variant.most}
    able = None
    if variant.band:
        able = frozenset(key for key, terms in held.items() if variant.band[0] <= len(terms) <= variant.band[1])
    drawn = draw(
        held,
        parents_of(domain),
        request.seed,
        most=variant.stored,
        queries=variant.queries,
        novel=variant.novel,
        at_random=variant.at_random,
        able=able,
    )
    if not drawn.queries:
        raise DataMissing(
            f"queries of task {request.name}",
            f"none of the {len(every)} records has a number of terms that fits",
            f"Put the records of a whole release there; those that are at hand make no task of {name}.",
        )
    items = _items(domain, held, drawn, negated=variant.negated)
    return Task(
        name=request.name,
        words=request.words,
        setting=Setting(domain.mounted, name, request.seed),
        items=items,
        questions=tuple(_questions(domain, drawn)),
        rules=_equal_profiles(items),
        counts=counted({_outside(variant): len(every) - len(held)}),
    )


def _outside(variant: _Variant) -> str:
    most = f" or more than {variant.most}" if variant.most < _ALL else ""
    return f"entities with fewer than {variant.least}{most} terms"


def _items(domain: Domain, held: Mapping[str, list[str]], drawn: Draw, *, negated: bool) -> tuple[IndexItem, ...]:
    excluded = {} if negated else _excluded(domain)
    return tuple(
        IndexItem(key, tuple(held[key]), _text(domain, held[key]), excluded=excluded.get(key, ()))
        for key in drawn.stored
    )


def _excluded(domain: Domain) -> dict[str, tuple[str, ...]]:
    records, ids = domain.records, domain.mounted.ontology.ids
    ptr, terms = records.phenotypes(excluded=True)
    return {
        key: tuple(ids[term] for term in terms[ptr[at] : ptr[at + 1]].tolist()) for at, key in enumerate(records.keys)
    }


def _questions(domain: Domain, drawn: Draw) -> Iterator[Question]:
    for number, one in enumerate(drawn.queries):
        yield Question(
            id=f"{number:04d} {one.entity}",
            query=Query(tuple(sorted(set(one.terms))), _text(domain, one.terms)),
            gold=() if one.is_novel else (one.entity,),
            cluster=one.entity,
            slices=("tail",) if one.is_tail else (),
        )


def _text(domain: Domain, terms: list[str] | tuple[str, ...]) -> str:
    """Returns the names of terms as the published harness joins them."""
    ontology = domain.mounted.ontology
    return " ".join(ontology.display(ontology.number[term]) for term in terms)


def _equal_profiles(items: tuple[IndexItem, ...]) -> dict[str, dict[str, str]]:
    """Returns the rule under which entities with the very same terms are one; none where all differ."""
    first: dict[tuple[str, ...], str] = {}
    groups = {item.key: first.setdefault(tuple(sorted(item.term_ids)), item.key) for item in items}
    return {"equal": groups} if len(first) < len(items) else {}


def _entries() -> Iterator[Entry]:
    for name, (least, most) in BANDS.items():
        band = f"{least} to {most} terms, 2,000 drawn, a tenth held out as novel"
        asked = "Five terms of an entity, climbed 0 to 2 levels, and three of noise"
        capped = _Variant(least, most)
        variants = {
            "": (capped, f"{asked}; the first 108 by key and 12 novel ones are asked about, as published; {band}"),
            "-random": (
                _Variant(least, most, at_random=True),
                f"{asked}; 108 stored entities and 12 novel ones at random; {band}",
            ),
            "-uncapped": (
                _Variant(least, _ALL),
                f"{asked}; as published but for the cap: {least} terms and more, 2,000 drawn, a tenth held out",
            ),
        }
        if name == "medicine":
            variants["-corrected"] = (
                _Variant(least, most, negated=False),
                f"{asked}; as published, but what is said not to occur is excluded; {band}",
            )
            variants["-all"] = (
                _Variant(1, _ALL, _ALL, 200, 0.0, at_random=True, band=(least, most)),
                f"{asked}; all diseases are stored, none held out, and 200 of those with {least} to {most} terms are "
                "asked about at random",
            )
        for suffix, (variant, words) in variants.items():
            yield Entry(
                f"published/{name}{suffix}",
                f"{words}. {_OURS[name]}" if variant.negated else f"{words}.",
                (name,),
                partial(_make, name=name, variant=variant),
                seeds=SEEDS,
            )


ENTRIES = tuple(_entries())
