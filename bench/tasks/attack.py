"""Techniques that were seen, to the group of ATT&CK (or program, or campaign) that used them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...cases import Case, Predicate, Statement
from ...cases.model import SUBJECT
from ...errors import DataMissing, ParseError
from ...memory import IndexItem
from ...ontologies.domains import Domain, domain_files, read_domain, term_name
from ...ontologies.mount import mount
from ..arms.arm import Setting
from .domain_at import domain_of_day, domain_of_release
from .entry import Entry, Request
from .evaluations import Row, Shape
from .task import Question, Task
from .telling import item_of, query_of
from .wording import Wording, counted

__all__ = ["ENTRIES", "PRECEDES"]

PRECEDES = "precedes"
"""The relation between a step of an attack and the next one."""

_SIGHTINGS = Shape("techniques with whom they are ascribed to", "cyber", ("source", "id"), ("techniques",))
_GAINED = re.compile(r"group-delta-(?P<old>\d+(?:\.\d+)*)-to-")
_EVERYONE = ("group", "software", "campaign")


@dataclass(frozen=True)
class _Choice:
    """Which lines of a file a task asks about, and what is stored: all of these kinds."""

    source: str
    kinds: tuple[str, ...] = ("group",)


def _make(request: Request, *, choice: _Choice) -> Task:
    rows = _rows(request, choice.source)
    first = domain_of_day("cyber")
    wording = Wording(first)
    others = [_of_kind(kind) for kind in choice.kinds if kind != "group"]
    items = [*wording.items(), *(item for domain in others for item in _items(domain, wording))]
    return _task(request, rows, first, wording, sorted(items, key=lambda item: item.key))


def _make_gained(request: Request, *, longest: bool) -> Task:
    spans = {match["old"]: row for row in request.rows() if (match := _GAINED.match(row["source"]))}
    if not spans:
        raise _none(request, "group-delta-OLD-to-NEW")
    old = sorted(spans, key=lambda release: [int(part) for part in release.split(".")])[0 if longest else -1]
    domain = domain_of_release("cyber", old)
    wording = Wording(domain)
    return _task(request, _rows(request, f"group-delta-{old}-to-"), domain, wording, wording.items())


def _task(request: Request, rows: Sequence[Row], domain: Domain, wording: Wording, items: Sequence[IndexItem]) -> Task:
    terms = {item.key: item.term_ids for item in items}
    ascribed: dict[str, set[str]] = defaultdict(set)
    first: dict[str, Row] = {}  # what is ascribed to several stands in several lines, and is one question
    for row in rows:
        ascribed[row["id"]].update(_ascribed(request, row))
        if first.setdefault(row["id"], row)["techniques"] != row["techniques"]:
            raise _broken(request, f"{row['id']} stands twice, with different techniques")
    questions = []
    for row in first.values():
        gold = tuple(sorted(ascribed[row["id"]] & terms.keys()))
        if not gold:
            what = "whoever they are ascribed to is not stored" if ascribed[row["id"]] else "nobody is named"
            wording.counts[f"queries left out because {what}"] += 1
            continue
        query = wording.query(row["techniques"])
        if query is None:
            wording.counts["queries without a known technique"] += 1
            continue
        shared = {term for key in gold for term in terms[key]} & set(query.term_ids)
        slices = () if shared else ("nothing-shared",)
        questions.append(Question(row["id"], query, gold, cluster=" ".join(gold), slices=slices))
    if not questions:
        raise _none(request, "one of a group that is stored")
    return _made(request, domain, items, questions, wording)


def _made(
    request: Request, domain: Domain, items: Iterable[IndexItem], questions: Iterable[Question], wording: Wording
) -> Task:
    return Task(
        name=request.name,
        words=request.words,
        setting=Setting(domain.mounted, "cyber", request.seed),
        items=tuple(items),
        questions=tuple(questions),
        counts=counted(wording.counts),
    )


def _make_flows(request: Request, *, ordered: bool) -> Task:
    """Returns the task in which attacks of one actor are found among all attacks of which the steps are known."""
    rows = [row for row in request.rows() if row.get("sequence")]
    domain = domain_of_day("cyber")
    if ordered:
        domain = replace(domain, mounted=mount(domain.mounted.ontology, [PRECEDES]))
    wording = Wording(domain)
    ontology = domain.mounted.ontology

    def name(functor: str) -> str:
        return functor if functor == PRECEDES else term_name(domain.manifest, ontology, ontology.number[functor])

    steps = {row["id"]: wording.functors(row["sequence"]) for row in sorted(rows, key=lambda row: str(row["id"]))}
    steps = {key: found for key, found in steps.items() if found}
    actors = {row["id"]: set(_ascribed(request, row)) for row in rows}
    items: list[IndexItem] = []
    for key, sequence in steps.items():
        if ordered:
            items.append(item_of(_in_order(key, sequence), name))
        else:
            terms = sorted({ontology.number[step] for step in sequence})
            items.append(IndexItem(key, tuple(ontology.ids[term] for term in terms), wording.text(terms)))
    questions = []
    for item in items:
        gold = tuple(key for key in steps if key != item.key and actors[key] & actors[item.key])
        if not gold:
            wording.counts["attacks of whose actor no other is known, stored but not asked"] += 1
            continue
        query = query_of(_in_order(item.key, steps[item.key]), name) if ordered else wording.query(item.term_ids)
        if query is not None:
            cluster = " ".join(sorted(actors[item.key]))
            questions.append(Question(item.key, query, gold, cluster=cluster, without=(item.key,)))
    if not questions:
        raise _none(request, "two attacks of one actor with their sequence")
    return _made(request, domain, items, questions, wording)


def _in_order(key: str, sequence: Sequence[str]) -> Case:
    """Returns the steps of an attack as a case: what was done, and what came right after what."""
    done = {step: Statement(Predicate(step), (SUBJECT,)) for step in sequence}
    after = [
        Statement(Predicate(PRECEDES), (done[first], done[second]))
        for first, second in zip(sequence, sequence[1:], strict=False)
        if first != second
    ]
    return Case(key, (*done.values(), *after))


def _rows(request: Request, source: str) -> list[Row]:
    rows = [row for row in request.rows() if row["source"].startswith(source)]
    if not rows:
        raise _none(request, source)
    return rows


def _ascribed(request: Request, row: Row) -> list[str]:
    """Returns the ids of whom a line is ascribed to, perhaps none.

    Raises:
        ParseError: they are not a list of objects with an id.
    """
    named = row.get("gold")
    ids = [one.get("id") if isinstance(one, dict) else None for one in named] if isinstance(named, list) else [None]
    found = [one for one in ids if isinstance(one, str)]
    if len(found) < len(ids):
        raise _broken(request, f"gold is no list of objects with an id in {row['id']}")
    return found


def _broken(request: Request, found: str) -> ParseError:
    path = str(request.path)
    return ParseError(f"read {Path(path).name} for task {request.name}", found, "Mend that line.", path=path)


def _none(request: Request, source: str) -> DataMissing:
    where = request.path.name if request.path else "the file"
    return DataMissing(f"queries of task {request.name}", f"{where} has none from {source}", "Name another file.")


def _of_kind(kind: str) -> Domain:
    return read_domain(*domain_files("cyber"), kind=kind)


def _items(domain: Domain, wording: Wording) -> list[IndexItem]:
    own = Wording(domain)
    found = own.items()
    wording.counts.update(own.counts)
    return found


def _entries() -> Iterator[Entry]:
    groups = "Stored are the groups of the newest release."
    everyone = "Stored are groups, programs and campaigns."
    overlap = "ATT&CK and those who made these sets overlap, so that they are not wholly independent."
    told = {
        "attack/campaigns": (_Choice("attack-campaign"), f"Campaigns to the group that they are ascribed to. {groups}"),
        "attack/emulation-plans": (
            _Choice("ctid-emulation-plan"),
            f"Emulation plans (CTID) to the group whose ways they follow. {groups}",
        ),
        "attack/reports": (
            _Choice("tram2-report"),
            f"Techniques marked in threat reports (TRAM) to the group that the title names. {groups}",
        ),
        "attack/reports-anyone": (
            _Choice("tram2-report", _EVERYONE),
            f"Techniques marked in threat reports (TRAM) to whomever or whatever the title names. {everyone}",
        ),
        "attack/flows": (_Choice("ctid-attack-flow"), f"Attack flows (CTID) to the group that they tell of. {groups}"),
        "attack/flows-anyone": (
            _Choice("ctid-attack-flow", _EVERYONE),
            f"Attack flows (CTID) to whomever or whatever they tell of. {everyone}",
        ),
    }
    for name, (choice, words) in told.items():
        yield Entry(name, f"{words} {overlap}", ("cyber",), partial(_make, choice=choice), _SIGHTINGS)
    for span, longest in (("long", True), ("short", False)):
        yield Entry(
            f"attack/gained-{span}",
            f"Techniques that a group gained over the {span}est span of releases at hand; stored are the groups of the "
            "old release, under the techniques of that release.",
            ("cyber",),
            partial(_make_gained, longest=longest),
            _SIGHTINGS,
        )
    among = (
        "Attack flows (CTID) to other flows of the same actor, among all flows, without titles; the flow's own takes "
    )
    among += "no place. Few: read it beside its twin as a look at whether order helps, no more."
    yield Entry(
        "attack/flow-to-flow",
        f"{among} By techniques alone.",
        ("cyber",),
        partial(_make_flows, ordered=False),
        _SIGHTINGS,
    )
    yield Entry(
        "attack/flow-to-flow-ordered",
        f"{among} By techniques and by which came right after which.",
        ("cyber",),
        partial(_make_flows, ordered=True),
        _SIGHTINGS,
    )


ENTRIES = tuple(_entries())
