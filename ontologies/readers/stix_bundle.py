"""STIX bundles as objects: parsed as plain JSON, one version of each object, with the place where it stands.

Bundles of STIX 2.0 and 2.1 differ here in nothing that matters: the mark of the version is read nowhere, so that it may
stand on the bundle, on its objects or on both. Types and properties that are not known are passed over and counted.

Plain JSON and not the object store of the ``stix2`` package: that store needs some twenty times as long for a bundle of
ATT&CK, refuses bundles with a stray property, and keeps several versions of one object side by side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...errors import ParseError
from ..json_source import json_of
from ..magic import refusal
from ..report import LoadReport
from ..source import Source
from .stix_object import KINDS, MATRIX, TECHNIQUE, UNKNOWN_TIME, StixObject, is_true, time_of, type_of

__all__ = ["StixBundle", "can_read", "counted", "listed", "read_bundle"]

_RELATIONSHIP, _COLLECTION = "relationship", "x-mitre-collection"
_READ = KINDS | {_RELATIONSHIP, _COLLECTION, MATRIX}
_DOMAINS = "x_mitre_domains"

_SIGN = re.compile(
    r"[\s\ufeff]*\{(?=.*?(?:\"type\"\s*:\s*\"bundle\"|\"bundle--|\"[a-z][a-z0-9-]*--[0-9a-f]{8}-))", re.DOTALL
)
_HEAD_BYTES = 65536
_SHOWN = 8  # ids spelled out in a message; the entry holds all


@dataclass(frozen=True)
class StixBundle:
    """The objects of one bundle, or of several merged ones, that are read here; one version of each.

    Attributes:
        objects: by STIX id, in code-point order.
        counts: number of objects of each type as they stand, all versions, also of types that are not read.
        passed_over: the same of the types that are not read.
        changed: day of the newest change of any object, empty where no stamp can be read.
    """

    objects: Mapping[str, StixObject]
    counts: Mapping[str, int]
    passed_over: Mapping[str, int]
    changed: str

    def of_type(self, kind: str) -> list[StixObject]:
        """Returns the objects of one type, by STIX id."""
        return [found for found in self.objects.values() if found.type == kind]

    @cached_property
    def relationships(self) -> list[StixObject]:
        """The relationships, by STIX id."""
        return self.of_type(_RELATIONSHIP)

    def links(self, kind: str, sources: Collection[str], target: str) -> Iterator[tuple[StixObject, str, str]]:
        """Yields the relationships of one kind from some types of objects to one, with the STIX ids of their ends."""
        for found in self.relationships:
            ends = found.text("source_ref"), found.text("target_ref")
            if found.text("relationship_type") == kind and type_of(ends[0]) in sources and type_of(ends[1]) == target:
                yield found, *ends

    @cached_property
    def domain(self) -> str:
        """The ATT&CK domain of most of its techniques, ties by code point; empty where none states one."""
        counts = Counter(domain for found in self.of_type(TECHNIQUE) for domain in found.texts(_DOMAINS))
        return min(counts, key=lambda domain: (-counts[domain], domain)) if counts else ""

    @cached_property
    def stated_version(self) -> str:
        """The release that its collection object states, or an empty text."""
        stated = {found.text("x_mitre_version") for found in self.of_type(_COLLECTION)} - {""}
        return ", ".join(sorted(stated))

    @property
    def version(self) -> str:
        """The release that it states, or else the day of its newest change."""
        return self.stated_version or self.changed


def can_read(content: bytes) -> bool:
    """Returns whether uncompressed content, or its beginning, looks like a STIX bundle.

    >>> can_read(b'{"type": "bundle", "objects": []}')
    True
    """
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return _SIGN.match(content.decode(encoding, "replace")) is not None


def read_bundle(sources: Sequence[Source], report: LoadReport, *, also: Collection[str] = ()) -> StixBundle:
    """Returns the objects of one bundle or more; the order of the bundles plays no part.

    Of several versions of one object the newest counts, by time and not by text. Copies that differ in nothing but
    their ATT&CK domains are one object of all these domains.

    Args:
        sources: the bundles.
        report: where faults are told.
        also: types of objects to read beside those of an attack library.

    Raises:
        ParseError: a source is no STIX bundle, or its compression is damaged.
    """
    wanted = _READ.union(also)
    versions: dict[str, list[StixObject]] = {}
    counts: Counter[str] = Counter()
    newest = ""
    several = len(sources) > 1
    for source in sorted(sources, key=lambda s: s.content_sha256) if several else sources:
        for number, item in enumerate(_items(source, report)):
            where = f"{source.path} objects[{number}]" if several else f"objects[{number}]"
            kind = item.get("type") if isinstance(item, dict) else None
            if not isinstance(item, dict) or not isinstance(kind, str):
                report.warn("no-object", f"{where} is no STIX object with a type; it was left out", where=where)
                continue
            newest = max(newest, time_of(item.get("modified"))[0][:10])
            counts[kind] += 1
            if kind not in wanted:
                continue
            if isinstance(item.get("id"), str) and item["id"]:
                found = StixObject(item["id"], kind, item, where, number)
                _check_marks(found, report)
                versions.setdefault(found.id, []).append(found)
            else:
                report.warn("no-id", f"{where}, of type {kind}, has no id; it was left out", where=where)
    objects = {stix_id: _newest(versions[stix_id], report) for stix_id in sorted(versions)}
    passed_over = {kind: counts[kind] for kind in sorted(counts) if kind not in wanted}
    return StixBundle(objects, dict(sorted(counts.items())), passed_over, newest)


def counted(counts: Mapping[str, int]) -> str:
    """Returns the names and numbers of ``counts`` as words, by name."""
    return ", ".join(f"{name} ({counts[name]})" for name in sorted(counts))


def listed(ids: Sequence[str]) -> str:
    """Returns ids as words, the rest counted where there are many."""
    more = len(ids) - _SHOWN
    return ", ".join(ids[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _items(source: Source, report: LoadReport) -> list[Any]:
    """Returns what the list of objects of one bundle holds."""
    asked, content = f"read {source.path} as STIX", source.content()
    if not can_read(content[:_HEAD_BYTES]) and not can_read(content):
        raise refusal(
            content,
            asked=asked,
            path=source.path,
            otherwise=", which is no STIX bundle",
            do="Give a STIX 2.0 or 2.1 bundle: one JSON object with a list of objects.",
        )
    bundle = json_of(content, source.path, report, asked=asked)
    if not (isinstance(bundle, dict) and isinstance(bundle.get("objects"), list)):
        found = "it is JSON without a list of objects, so no STIX bundle"
        raise ParseError(asked, found, "Give a STIX bundle.", path=source.path)
    if bundle.get("type") != "bundle":
        report.warn("no-bundle", f"the type of {source.path} is {bundle.get('type')!r}; it was read as a bundle")
    objects: list[Any] = bundle["objects"]
    return objects


def _newest(versions: list[StixObject], report: LoadReport) -> StixObject:
    """Returns the version of one object that counts, and reports the others."""
    if len(versions) == 1:
        return versions[0]
    latest = max(found.time for found in versions)
    distinct: list[StixObject] = []
    older: list[StixObject] = []
    for found in versions:
        if found.time != latest:
            older.append(found)
        elif all(_content(found) != _content(other) for other in distinct):
            distinct.append(found)
    first = distinct[0]
    ids = list(dict.fromkeys([first.key, first.id]))
    label = first.id if first.key == first.id else f"{first.key} ({first.id})"
    if older:
        former = dict.fromkeys(old for found in older for old in found.attack_ids if old not in first.attack_ids)
        first = replace(first, former_ids=tuple(sorted(former)))
        message = f"{label} has {len(older) + len(distinct)} versions; the newest, {first.where}, is used"
        report.note("older-version", message, ids=[*ids, *first.former_ids], where=first.where)
    if len(distinct) == 1:
        return first
    places = " and ".join(found.where for found in distinct)
    if all(_without_domains(found) == _without_domains(first) for found in distinct):
        domains = sorted({domain for found in distinct for domain in found.texts(_DOMAINS)})
        message = f"copies of {label} at {places} differ in their ATT&CK domains; it is in {' and '.join(domains)}"
        report.note("merged-domains", message, ids=ids, where=first.where)
        return replace(first, values={**first.values, _DOMAINS: domains})
    same = "no time stamp that can be read" if latest == UNKNOWN_TIME else "the same time stamp"
    message = f"{label} stands at {places} with {same} but other content; {first.where} is used"
    report.warn("same-stamp", message, ids=ids, where=first.where)
    return first


def _content(found: StixObject) -> dict[str, Any]:
    """Returns the properties of an object, its stamps as times: one time has many spellings."""
    times = {name: time_of(found.values.get(name)) for name in ("created", "modified")}
    return {**found.values, **{name: time for name, time in times.items() if time != UNKNOWN_TIME}}


def _without_domains(found: StixObject) -> dict[str, Any]:
    return {name: value for name, value in _content(found).items() if name != _DOMAINS}


def _check_marks(found: StixObject, report: LoadReport) -> None:
    for name in ("revoked", "x_mitre_deprecated"):
        value = found.values.get(name)
        if value is not None and not isinstance(value, bool):
            meaning = "retired" if is_true(value) else "not retired"
            message = f"{name} of {found.key} is {value!r:.40}, neither true nor false; read as {meaning}"
            report.warn("bad-boolean", message, ids=[found.key], where=found.where)
