"""Groups, software and campaigns of ATT&CK as records: which techniques each of them uses, on which reports.

A record is one actor; what it has are the attack patterns that it ``uses``. One kind of actor at a time: a group is not
all that its tools can do, and a campaign attributed to it is one of its cases. The others are counted in the report.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from ...errors import QueryError
from ..ontology import Ontology
from ..readers.stix import fingerprint, open_sources
from ..readers.stix_bundle import StixBundle, counted, listed, read_bundle
from ..readers.stix_object import ACTORS, GROUP, TECHNIQUE, StixObject, time_of, type_of
from ..report import LoadReport
from ..source import SourceLike
from ..strings import StringColumn
from .attributes import Attributes
from .model import EVIDENCE_FIELDS, Interned, Records
from .pool import Rows, pool

__all__ = ["read_actors"]

_TIMES = ("start_time", "stop_time")
_OF_USES = ("date", "reference", *_TIMES)  # attributes of an actor that its relationships tell

_MANY = {"group": "groups", "software": "software", "campaign": "campaigns"}


def read_actors(
    source: SourceLike,
    ontology: Ontology,
    *,
    kind: str = "group",
    more: Sequence[SourceLike] = (),
    strict: bool = False,
    name: str | None = None,
) -> Records:
    """Returns the actors of one kind in a STIX bundle with all techniques that they use, whatever their number.

    Beside what the bundle says of an actor itself, attributes are ``date``, the days on which its uses of techniques
    were written or changed, ``reference``, what these rest on, and ``start_time`` and ``stop_time`` of the uses.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the ontology of the techniques, nearly always read from the same file.
        kind: one of ``ACTORS``: group, software or campaign.
        more: further bundles to merge with it; their order plays no part.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: a file is no STIX bundle, its compression is damaged, or ``strict`` met a fault.
        DataMissing: there is no such file.
        QueryError: there is no such kind of record.
    """
    if kind not in ACTORS:
        raise QueryError(f"records of kind {kind}", f"a STIX bundle has {', '.join(ACTORS)}", "Name one of these.")
    sources = open_sources(source, more, name)
    report = LoadReport(", ".join(s.path for s in sources))
    # Faults of objects and relationships are told where the ontology is read; here they would stand a second time.
    is_same = ontology.sha256 == fingerprint(sources)
    bundle = read_bundle(sources, LoadReport(report.path) if is_same else report)
    records = _Reading(bundle, ontology, report, kind, is_same=is_same).records(fingerprint(sources))
    if strict:
        report.require_clean()
    return records


class _Reading:
    """One bundle on its way to records."""

    def __init__(self, bundle: StixBundle, ontology: Ontology, report: LoadReport, kind: str, *, is_same: bool) -> None:
        self.bundle = bundle
        self.ontology = ontology
        self.report = report
        self.kind = kind
        self.many = _MANY[kind]
        self.is_same = is_same
        self.retired: Counter[str] = Counter()
        self.unused: dict[tuple[str, str], list[str]] = {}
        self.renumbered: dict[str, str] = {}
        self.lost: list[str] = []

    def records(self, sha256: str) -> Records:
        """Returns the records and writes what was left out into the report."""
        actors = self._actors()
        keys = tuple(sorted(actors))
        number = {found.id: i for i, key in enumerate(keys) for found in actors[key]}
        texts = {name: [""] for name in EVIDENCE_FIELDS}
        codes: list[list[int]] = []
        record: list[int] = []
        term: list[int] = []
        position: list[int] = []
        coders: dict[str, dict[str, int]] = {name: {"": 0} for name in ("reference", "description", "biocuration")}
        said: list[dict[str, list[str]]] = [{name: [] for name in _OF_USES} for _ in keys]
        for link, actor, technique in self._uses(number):
            description = " ".join(link.text("description").split())
            days = [day for name in ("created", "modified") if (day := time_of(link.values.get(name))[0][:10])]
            for name, told in zip(_OF_USES, (days, link.references, *([link.text(n)] for n in _TIMES)), strict=True):
                said[actor][name] += told
            written = f"[{days[-1]}]" if days else ""
            for reference in link.references or [""]:
                row = [0] * len(EVIDENCE_FIELDS)
                texts_of = {"reference": reference, "description": description, "biocuration": written}
                for name, text in texts_of.items():
                    row[EVIDENCE_FIELDS.index(name)] = coders[name].setdefault(text, len(coders[name]))
                codes.append(row)
                record.append(actor)
                term.append(technique)
                position.append(link.position)
        texts.update({name: list(coder) for name, coder in coders.items()})
        size = len(record)
        rows = Rows(
            record=np.array(record, np.int32),
            aspect=np.zeros(size, np.uint8),
            term=np.array(term, np.int32),
            negated=np.zeros(size, np.bool_),
            low=np.full(size, np.nan),
            high=np.full(size, np.nan),
            numerator=np.full(size, -1, np.int64),
            denominator=np.full(size, -1, np.int64),
            texts=np.array(codes, np.int32).reshape(size, len(EVIDENCE_FIELDS)),
        )
        pooled = pool(rows, record_count=len(keys), term_count=len(self.ontology))
        ptr = pooled.ptr.tolist()
        self._report(keys, ptr, sum(len(rows) - 1 for rows in pooled.copies))
        self._note_equal(keys, [tuple(pooled.term[a:b].tolist()) for a, b in zip(ptr, ptr[1:], strict=False)])
        return Records(
            name=self.many,
            version=self.bundle.version,
            sha256=sha256,
            ontology_version="",
            ontology_sha256=self.ontology.sha256,
            term_ids=self.ontology.ids,
            keys=keys,
            names=StringColumn.from_strings(actors[key][0].text("name") for key in keys),
            **pooled.columns(),
            line=np.array(position, np.int32)[pooled.kept],
            evidence={
                name: Interned(rows.texts[pooled.kept, i], StringColumn.from_strings(texts[name]))
                for i, name in enumerate(EVIDENCE_FIELDS)
            },
            report=self.report,
            attributes=Attributes.of_rows([{**self._attributes(actors[key]), **said[i]} for i, key in enumerate(keys)]),
        )

    def _actors(self) -> dict[str, list[StixObject]]:
        """Returns the live actors by ATT&CK id; of several objects with one id the last changed comes first."""
        found: dict[str, list[StixObject]] = {}
        retired: list[str] = []
        nameless: list[str] = []
        for actor in (actor for kind in ACTORS[self.kind] for actor in self.bundle.of_type(kind)):
            if actor.retired:
                retired.append(actor.key)
                continue
            found.setdefault(actor.key, []).append(actor)
            if not actor.attack_ids:
                nameless.append(actor.id)
        for key, actors in found.items():
            actors.sort(key=lambda actor: actor.time, reverse=True)
            if len(actors) > 1:
                message = f"{key} is the ATT&CK id of {len(actors)} {self.many}; they count as one"
                self.report.warn("shared-id", message, ids=[key, *(a.id for a in actors)], where=actors[0].where)
        if nameless:
            message = f"{self.many} without an ATT&CK id stand under their STIX ids: {listed(nameless)}"
            self.report.note("no-attack-id", message, ids=nameless)
        if retired:
            became = [(key, self.ontology.resolve(key).used) for key in sorted(retired)]
            shown = listed([f"{key} (today {used})" if used else key for key, used in became])
            message = f"{len(retired)} {self.many} are revoked or deprecated; left out with all they use: {shown}"
            self.report.note(f"retired-{self.kind}", message, ids=sorted(retired))
        return found

    def _attributes(self, actors: Sequence[StixObject]) -> Mapping[str, Iterable[str]]:
        """Returns what the bundle says of one actor as a whole, the objects of one id taken together."""

        def texts(*names: str) -> list[str]:
            return [text for a in actors for name in names for text in (*a.texts(name), a.text(name)) if text.strip()]

        known = {actor.text("name") for actor in actors}
        return {
            "aliases": [alias.strip() for actor in actors for alias in actor.aliases if alias.strip() not in known],
            "type": [actor.type for actor in actors] if self.kind == "software" else [],
            "domain": texts("x_mitre_domains"),
            "platform": texts("x_mitre_platforms"),
            "created": texts("created"),
            "modified": texts("modified"),
            "first_seen": texts("first_seen"),
            "last_seen": texts("last_seen"),
            "attributed_to": [key for actor in actors for key in self._attribution.get(actor.id, ())],
            "references": [reference for actor in actors for reference in actor.references],
        }

    @cached_property
    def _attribution(self) -> Mapping[str, list[str]]:
        """Ids of the live groups that an actor is attributed to, by its STIX id."""
        found: dict[str, list[str]] = defaultdict(list)
        for link, source, target in self.bundle.links("attributed-to", ACTORS[self.kind], GROUP):
            group = self.bundle.objects.get(target)
            if group is not None and not group.retired and not link.retired:
                found[source].append(group.key)
        return found

    def _uses(self, number: dict[str, int]) -> list[tuple[StixObject, int, int]]:
        """Returns each relationship that counts, with the numbers of its actor and of its technique."""
        found: list[tuple[StixObject, int, int]] = []
        objects = self.bundle.objects
        for link, source, target in self.bundle.links("uses", ACTORS[self.kind], TECHNIQUE):
            actor, technique = objects.get(source), objects.get(target)
            if link.retired:
                self.retired["the relationship itself"] += 1
            elif actor is None or technique is None:
                self.lost.append(link.id)
            elif actor.retired:
                self.retired[f"the {self.kind}"] += 1
            elif technique.retired:
                self.retired["the technique"] += 1
            else:
                resolved = self.ontology.resolve(technique.key)
                if resolved.status == "unknown" and self.ontology.resolve(technique.id).used:
                    resolved = self.ontology.resolve(technique.id)  # the same object under another ATT&CK id
                    self.renumbered[technique.key] = resolved.path[-1]
                elif resolved.status != "live":  # possible where the ontology is that of another file
                    self.unused.setdefault((resolved.status, technique.key), []).append(actor.key)
                if resolved.index >= 0 and source in number:
                    found.append((link, number[source], resolved.index))
        return found

    def _report(self, keys: tuple[str, ...], ptr: list[int], copies: int) -> None:
        report = self.report
        for (status, key), actors in sorted(self.unused.items()):
            used = self.ontology.resolve(key).used
            if used:
                report.note("old-id", f"{key} is an old id of {used}, which is used instead", ids=(key, used))
            else:
                message = f"{key} is {status} in {self.ontology.label}; left out of {listed(sorted(actors))}"
                report.warn(f"{status}-id", message, ids=(key, *sorted(actors)))
        for key, today in sorted(self.renumbered.items()):
            message = (
                f"{key} is not in {self.ontology.label}, which has the same object as {today}; that is used instead"
            )
            report.note("renumbered", message, ids=(key, today))
        if self.lost and not self.is_same:
            message = f"{len(self.lost)} relationships lead from or to what is not in the file; left out"
            report.warn("lost-end", f"{message}: {listed(self.lost)}", ids=self.lost)
        if self.retired:
            message = f"uses of techniques left out because something is revoked or deprecated: {counted(self.retired)}"
            report.note("retired-use", message)
        if copies:
            message = f"{copies} reports are given twice for one {self.kind} and technique; each counts once"
            report.note("copied-row", message)
        bare = [key for i, key in enumerate(keys) if ptr[i] == ptr[i + 1]]
        if bare:
            message = f"{len(bare)} {self.many} use no technique here, so nothing can match them: {listed(bare)}"
            report.note("no-technique", message, ids=bare)
        others = Counter(
            type_of(link.text("source_ref"))
            for link in self.bundle.relationships
            if link.text("relationship_type") == "uses"
            and type_of(link.text("target_ref")) == TECHNIQUE
            and type_of(link.text("source_ref")) not in ACTORS[self.kind]
        )
        if others:
            report.note("no-record", f"uses of techniques by what is no record here, left out: {counted(others)}")

    def _note_equal(self, keys: tuple[str, ...], profiles: list[tuple[int, ...]]) -> None:
        """Tells which actors use exactly the same techniques: no query can tell them apart."""
        same: dict[tuple[int, ...], list[str]] = defaultdict(list)
        for key, profile in zip(keys, profiles, strict=True):
            if profile:
                same[profile].append(key)
        for profile, equal in same.items():
            if len(equal) > 1:
                terms = [self.ontology.ids[term] for term in profile]
                message = f"{' and '.join(equal)} use exactly the same techniques ({len(terms)}): {listed(terms)}"
                self.report.note("equal-profile", message, ids=equal)
