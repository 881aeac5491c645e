"""Reader of MITRE ATT&CK, and of attack patterns in general, from STIX 2.0 and 2.1 bundles.

Terms are the attack patterns (techniques) under their ATT&CK ids, and the tactics. A sub-technique is a kind of its
technique: ``subtechnique-of`` alone is is-a. A tactic is what a technique is for, not a broader kind of it, so that two
techniques of one tactic are no nearer to each other: it stays a typed relation, outside the lattice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from ..builder import OntologyBuilder
from ..ontology import Ontology
from ..report import LoadReport
from ..source import Source, SourceLike, read_source
from .stix_bundle import GROUP, TACTIC, TECHNIQUE, StixBundle, StixObject, can_read, counted, listed, read_bundle

__all__ = ["can_read", "fingerprint", "open_sources", "read_stix"]

HAS_TACTIC = "has-tactic"

_DOMAIN_OF_CHAIN = {
    "mitre-attack": "enterprise-attack",
    "mitre-mobile-attack": "mobile-attack",
    "mitre-ics-attack": "ics-attack",
}


def read_stix(
    source: SourceLike, *, more: Sequence[SourceLike] = (), strict: bool = False, name: str | None = None
) -> Ontology:
    """Returns the ontology of the attack patterns in a STIX bundle.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        more: further bundles to merge with it, such as those of other ATT&CK domains; their order plays no part.
        strict: refuse a file with a warning instead of reporting and going on.
        name: name of the source in reports.

    Raises:
        ParseError: a file is no STIX bundle, has no live attack pattern, or has a warning under ``strict``.
        CycleFound: sub-techniques run in a circle.
        DataMissing: there is no such file.

    >>> reference = '{"source_name": "mitre-attack", "external_id": "T1"}'
    >>> technique = '{"type": "attack-pattern", "id": "attack-pattern--1", "name": "A", "external_references": [%s]}'
    >>> read_stix(('{"type": "bundle", "objects": [%s]}' % technique % reference).encode()).term("T1").name
    'A'
    """
    sources = open_sources(source, more, name)
    report = LoadReport(", ".join(s.path for s in sources))
    bundle = read_bundle(sources, report)
    ontology = _Reading(bundle, report).ontology(fingerprint(sources))
    if strict:
        report.require_clean()
    return ontology


def open_sources(source: SourceLike, more: Sequence[SourceLike], name: str | None) -> list[Source]:
    """Returns the sources of one reading, opened."""
    return [read_source(source, name=name), *(read_source(other) for other in more)]


def fingerprint(sources: Sequence[Source]) -> str:
    """Returns the SHA-256 of a bundle's content, in hex; of several bundles that of their sorted fingerprints."""
    each = sorted(source.content_sha256 for source in sources)
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode("ascii")).hexdigest()


class _Reading:
    """One bundle on its way to an ontology."""

    def __init__(self, bundle: StixBundle, report: LoadReport) -> None:
        self.bundle = bundle
        self.report = report
        self.builder = OntologyBuilder(report)
        self.left_out: Counter[str] = Counter()

    def ontology(self, sha256: str) -> Ontology:
        """Returns the ontology of what the bundle holds."""
        bundle, builder = self.bundle, self.builder
        terms = self._terms()
        builder.declare_relation(HAS_TACTIC, "has tactic")
        for term, found in terms.items():
            self._define(term, found)
        self._parents()
        self._replacements()
        self._tactics(terms)
        self._note_rest()
        return builder.freeze(
            name=bundle.domain or "attack",
            version=bundle.version,
            sha256=sha256,
            header={"release": [bundle.stated_version], "changed": [bundle.changed]},
            note_nameless=True,
        )

    def _terms(self) -> dict[str, StixObject]:
        """Returns the object that defines each term: of several with one id a live one, then the last changed."""
        claims: dict[str, list[StixObject]] = {}
        nameless: list[StixObject] = []
        for found in (*self.bundle.of_type(TECHNIQUE), *self.bundle.of_type(TACTIC)):
            claims.setdefault(found.key, []).append(found)
            ids = found.attack_ids
            if not ids:
                nameless.append(found)
            elif len(ids) > 1:
                message = f"{found.id} has the ATT&CK ids {', '.join(ids)}; the first is used"
                self.report.warn("several-ids", message, ids=[*ids, found.id], where=found.where)
        if nameless:
            ids = [found.id for found in nameless]
            count = "1 attack pattern or tactic has" if len(ids) == 1 else f"{len(ids)} attack patterns or tactics have"
            message = f"{count} no ATT&CK id and a STIX id alone, which stands for one: {listed(ids)}"
            self.report.note("no-attack-id", message, ids=ids, where=nameless[0].where)
        terms: dict[str, StixObject] = {}
        for term in sorted(claims):
            best = max(claims[term], key=lambda found: (not found.retired, found.time))  # then the smaller STIX id
            if len(claims[term]) > 1:
                ids = [term, *(found.id for found in claims[term])]
                message = f"{term} is the ATT&CK id of {len(claims[term])} objects; {best.where} is used"
                self.report.warn("shared-id", message, ids=ids, where=best.where)
            terms[term] = best
        return terms

    def _define(self, term: str, found: StixObject) -> None:
        builder = self.builder
        builder.define(term)
        builder.set_name(term, found.text("name"))
        builder.set_definition(term, found.text("description"), found.references)
        for alias in dict.fromkeys(found.texts("aliases")):
            if alias.strip() and alias.strip() != found.text("name"):
                builder.add_synonym(term, alias.strip(), "EXACT")
        for former in found.former_ids:
            builder.add_alt_id(term, former)
        if found.retired:
            builder.retire(term)

    def _ends(self, kind: str) -> list[tuple[StixObject, StixObject]]:
        """Returns the ends of all living relationships of one kind between techniques; the others are reported."""
        found: list[tuple[StixObject, StixObject]] = []
        lost: dict[str, None] = {}
        for link, source, target in self.bundle.between(kind, TECHNIQUE, TECHNIQUE):
            ends = [self.bundle.objects.get(end) for end in (source, target)]
            if link.retired:
                self.left_out[f"retired {kind}"] += 1
            elif ends[0] is None or ends[1] is None:
                lost[link.id] = None
            else:
                found.append((ends[0], ends[1]))
        if lost:
            message = f"{len(lost)} relationships {kind} lead from or to what is not in the file; left out"
            self.report.warn("lost-end", f"{message}: {listed(list(lost))}", ids=list(lost))
        return found

    def _parents(self) -> None:
        with_parent: set[str] = set()
        for child, parent in self._ends("subtechnique-of"):
            with_parent.add(child.id)
            if child.retired:
                self.left_out["subtechnique-of of a retired technique"] += 1
            else:
                self.builder.add_parent(child.key, parent.key)
        # The relationship decides, not the flag: the flag is missing on some sub-techniques and names no parent.
        marked = [
            found.key
            for found in self.bundle.of_type(TECHNIQUE)
            if found.values.get("x_mitre_is_subtechnique") is True and not found.retired and found.id not in with_parent
        ]
        if marked:
            message = f"marked as sub-techniques, but of no technique here; they have no parent: {listed(marked)}"
            self.report.note("no-parent", message, ids=marked)

    def _replacements(self) -> None:
        for old, today in self._ends("revoked-by"):
            if old.key != today.key:  # a renewed object may keep its ATT&CK id
                self.builder.add_replacement(old.key, today.key)

    def _tactics(self, terms: Mapping[str, StixObject]) -> None:
        by_name: dict[str, list[StixObject]] = {}
        for tactic in self.bundle.of_type(TACTIC):
            by_name.setdefault(tactic.text("x_mitre_shortname"), []).append(tactic)
        unknown: Counter[str] = Counter()
        for term, found in terms.items():
            if found.retired or found.type != TECHNIQUE:
                continue
            for phase in found.parts("kill_chain_phases"):
                chain, name = str(phase.get("kill_chain_name", "")), str(phase.get("phase_name", ""))
                fitting = by_name.get(name, []) if chain in _DOMAIN_OF_CHAIN else []
                if len(fitting) > 1:  # each ATT&CK domain has an initial access of its own
                    fitting = [t for t in fitting if _DOMAIN_OF_CHAIN[chain] in t.texts("x_mitre_domains")]
                if len(fitting) == 1:
                    self.builder.add_relation(term, HAS_TACTIC, fitting[0].key)
                else:
                    unknown[f"{chain} {name}".strip()] += 1
        if unknown:
            message = f"phases that are no tactic in the file, with the number of their techniques: {counted(unknown)}"
            self.report.note("no-tactic", message)

    def _note_rest(self) -> None:
        bundle, report = self.bundle, self.report
        kinds = Counter(
            f"{r.text('relationship_type')} from {r.text('source_ref').partition('--')[0]}"
            for r in bundle.relationships
            if not (
                r.text("relationship_type") in ("subtechnique-of", "revoked-by")
                and r.text("source_ref").startswith(f"{TECHNIQUE}--")
                and r.text("target_ref").startswith(f"{TECHNIQUE}--")
            )
        )
        others = Counter({**bundle.passed_over, GROUP: len(bundle.of_type(GROUP))})
        for kind, what, counts in (
            ("other-type", "objects that are no terms", +others),
            ("other-relationship", "relationships that draw no edge between techniques", kinds),
            ("retired-relationship", "relationships left out because they or their ends are retired", self.left_out),
        ):
            if counts:
                report.note(kind, f"{what}: {counted(counts)}")
        if bundle.changed and not bundle.stated_version:
            message = f"the file states no release; the day of its newest change, {bundle.changed}, stands for one"
            report.note("no-release", message)
