"""Groups of ATT&CK as records: which techniques each group uses, on which reports.

A record is an intrusion set; what it has are the attack patterns that it ``uses``. Campaigns and software use
techniques too but are no records here: a group is not all that its tools can do. They are counted in the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..ontology import Ontology
from ..readers.stix import fingerprint, open_sources
from ..readers.stix_bundle import GROUP, TECHNIQUE, StixBundle, StixObject, counted, listed, read_bundle
from ..report import LoadReport
from ..source import SourceLike
from ..strings import StringColumn
from .model import EVIDENCE_FIELDS, Interned, Records
from .pool import Rows, pool

__all__ = ["read_groups"]


def read_groups(
    source: SourceLike,
    ontology: Ontology,
    *,
    more: Sequence[SourceLike] = (),
    strict: bool = False,
    name: str | None = None,
) -> Records:
    """Returns the groups in a STIX bundle with the techniques that they use, all of them, whatever their number.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the ontology of the techniques, nearly always read from the same file.
        more: further bundles to merge with it; their order plays no part.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: a file is no STIX bundle, its compression is damaged, or ``strict`` met a fault.
        DataMissing: there is no such file.
    """
    sources = open_sources(source, more, name)
    report = LoadReport(", ".join(s.path for s in sources))
    # The versions of objects are told where the ontology is read; here their faults would stand a second time.
    bundle = read_bundle(sources, LoadReport(report.path) if ontology.sha256 == fingerprint(sources) else report)
    records = _Reading(bundle, ontology, report).records(fingerprint(sources))
    if strict:
        report.require_clean()
    return records


class _Reading:
    """One bundle on its way to records."""

    def __init__(self, bundle: StixBundle, ontology: Ontology, report: LoadReport) -> None:
        self.bundle = bundle
        self.ontology = ontology
        self.report = report
        self.retired: Counter[str] = Counter()
        self.unused: dict[tuple[str, str], list[str]] = {}
        self.lost: list[str] = []

    def records(self, sha256: str) -> Records:
        """Returns the records and writes what was left out into the report."""
        groups = self._groups()
        keys = tuple(sorted(groups))
        number = {found.id: i for i, key in enumerate(keys) for found in groups[key]}
        texts = {name: [""] for name in EVIDENCE_FIELDS}
        codes: list[list[int]] = []
        record: list[int] = []
        term: list[int] = []
        position: list[int] = []
        coders: dict[str, dict[str, int]] = {name: {"": 0} for name in ("reference", "description")}
        for link, group, technique in self._uses(number):
            description = " ".join(link.text("description").split())
            for reference in link.references or [""]:
                row = [0] * len(EVIDENCE_FIELDS)
                for name, text in (("reference", reference), ("description", description)):
                    row[EVIDENCE_FIELDS.index(name)] = coders[name].setdefault(text, len(coders[name]))
                codes.append(row)
                record.append(group)
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
        self._report(keys, pooled.ptr.tolist(), sum(len(group) - 1 for group in pooled.copies))
        return Records(
            name="groups",
            version=self.bundle.version,
            sha256=sha256,
            ontology_version="",
            ontology_sha256=self.ontology.sha256,
            term_ids=self.ontology.ids,
            keys=keys,
            names=StringColumn.from_strings(groups[key][0].text("name") for key in keys),
            **pooled.columns(),
            line=np.array(position, np.int32)[pooled.kept],
            evidence={
                name: Interned(rows.texts[pooled.kept, i], StringColumn.from_strings(texts[name]))
                for i, name in enumerate(EVIDENCE_FIELDS)
            },
            report=self.report,
        )

    def _groups(self) -> dict[str, list[StixObject]]:
        """Returns the live groups by ATT&CK id; of several objects with one id the last changed comes first."""
        found: dict[str, list[StixObject]] = {}
        retired: list[str] = []
        nameless: list[str] = []
        for group in self.bundle.of_type(GROUP):
            if group.retired:
                retired.append(group.key)
                continue
            found.setdefault(group.key, []).append(group)
            if not group.attack_ids:
                nameless.append(group.id)
        for key, groups in found.items():
            groups.sort(key=lambda group: group.time, reverse=True)
            if len(groups) > 1:
                message = f"{key} is the ATT&CK id of {len(groups)} groups; they count as one"
                self.report.warn("shared-id", message, ids=[key, *(g.id for g in groups)], where=groups[0].where)
        if nameless:
            message = f"groups without an ATT&CK id stand under their STIX ids: {listed(nameless)}"
            self.report.note("no-attack-id", message, ids=nameless)
        if retired:
            retired.sort()
            message = f"{len(retired)} groups are revoked or deprecated; left out with all they use: {listed(retired)}"
            self.report.note("retired-group", message, ids=retired)
        return found

    def _uses(self, number: dict[str, int]) -> list[tuple[StixObject, int, int]]:
        """Returns each relationship that counts, with the numbers of its group and of its technique."""
        found: list[tuple[StixObject, int, int]] = []
        objects = self.bundle.objects
        for link, source, target in self.bundle.between("uses", GROUP, TECHNIQUE):
            group, technique = objects.get(source), objects.get(target)
            if link.retired:
                self.retired["the relationship itself"] += 1
            elif group is None or technique is None:
                self.lost.append(link.id)
            elif group.retired:
                self.retired["the group"] += 1
            elif technique.retired:
                self.retired["the technique"] += 1
            else:
                resolved = self.ontology.resolve(technique.key)
                if resolved.status != "live":  # possible where the ontology is that of another file
                    self.unused.setdefault((resolved.status, technique.key), []).append(group.key)
                if resolved.index >= 0:
                    found.append((link, number[source], resolved.index))
        return found

    def _report(self, keys: tuple[str, ...], ptr: list[int], copies: int) -> None:
        report = self.report
        for (status, key), groups in sorted(self.unused.items()):
            used = self.ontology.resolve(key).used
            if used:
                report.note("old-id", f"{key} is an old id of {used}, which is used instead", ids=(key, used))
            else:
                message = f"{key} is {status} in {self.ontology.label}; left out of {listed(sorted(groups))}"
                report.warn(f"{status}-id", message, ids=(key, *sorted(groups)))
        if self.lost:
            message = f"{len(self.lost)} relationships lead from or to what is not in the file; left out"
            report.warn("lost-end", f"{message}: {listed(self.lost)}", ids=self.lost)
        if self.retired:
            message = f"uses of techniques left out because something is revoked or deprecated: {counted(self.retired)}"
            report.note("retired-use", message)
        if copies:
            report.note("copied-row", f"{copies} reports are given twice for one group and technique; each counts once")
        bare = [key for i, key in enumerate(keys) if ptr[i] == ptr[i + 1]]
        if bare:
            message = f"{len(bare)} groups use no technique here, so nothing can match them: {listed(bare)}"
            report.note("no-technique", message, ids=bare)
        others = Counter(
            link.text("source_ref").partition("--")[0]
            for link in self.bundle.relationships
            if link.text("relationship_type") == "uses"
            and link.text("target_ref").startswith(f"{TECHNIQUE}--")
            and not link.text("source_ref").startswith(f"{GROUP}--")
        )
        if others:
            report.note("no-record", f"uses of techniques by what is no record, left out: {counted(others)}")
