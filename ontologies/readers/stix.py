"""Reader of MITRE ATT&CK, of CAPEC, and of attack patterns in general, from STIX 2.0 and 2.1 bundles.

Terms are the attack patterns (techniques) under their ATT&CK or CAPEC ids, the tactics, and whatever relationships tie
to them: groups, software, campaigns, mitigations, detections, data components, assets. A sub-technique is a kind of its
technique: ``subtechnique-of`` alone (``child-of`` in CAPEC) is is-a. All else stays a typed relation outside the
lattice. A tactic, too, is what a technique is for and not a broader kind of it: two techniques of one tactic are no
nearer to each other.

The STIX id of an attack pattern is an alternative id of its term, since its ATT&CK id may change and that one may not.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from ..builder import OntologyBuilder
from ..ontology import Ontology
from ..report import LoadReport
from ..source import Source, SourceLike, read_source
from .stix_bundle import StixBundle, can_read, counted, listed, read_bundle
from .stix_integrity import note_integrity
from .stix_object import KINDS, MATRIX, TACTIC, TECHNIQUE, StixObject, type_of

__all__ = ["FACET_ORDER", "HAS_TACTIC", "can_read", "fingerprint", "open_sources", "read_stix"]

HAS_TACTIC = "has-tactic"
FACET_ORDER = "facet-order"  # header tag

_PATTERNS = frozenset({TECHNIQUE, TACTIC})
_IS_A, _REPLACED = "subtechnique-of", "revoked-by"
_DOMAIN_OF_CHAIN = {
    "mitre-attack": "enterprise-attack",
    "mitre-mobile-attack": "mobile-attack",
    "mitre-ics-attack": "ics-attack",
}
_CAPEC_PARENTS = "x_capec_child_of_refs"
_CAPEC_RELATIONS = {"x_capec_can_precede_refs": "can-precede", "x_capec_peer_of_refs": "peer-of"}


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
    reading = _Reading(bundle, report)
    report.place_of = reading.place_of
    ontology = reading.ontology(fingerprint(sources))
    report.place_of = None
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
        self.lost: dict[str, list[tuple[StixObject, str]]] = {}  # objects, and the end that is not there, by kind
        self.term_of: dict[str, str] = {}  # by STIX id
        self._places: list[str] = []

    def place_of(self, line: int) -> tuple[str, int]:
        """Returns the place of the object that the builder knows by a number in the stead of a line."""
        return self._places[line - 1], 0

    def _line(self, found: StixObject) -> int:
        self._places.append(found.where)
        return len(self._places)

    def ontology(self, sha256: str) -> Ontology:
        """Returns the ontology of what the bundle holds."""
        bundle, builder = self.bundle, self.builder
        terms = self._terms()
        builder.declare_relation(HAS_TACTIC, "has tactic")
        for term, found in terms.items():
            self._define(term, found)
        for stix_id, term in self.term_of.items():
            if type_of(stix_id) == TECHNIQUE and stix_id != term:
                builder.add_alt_id(term, stix_id)
        self._relationships()
        self._capec()
        self._tactics(terms)
        self._note_rest()
        is_capec = any(_CAPEC_PARENTS in found.values for found in bundle.of_type(TECHNIQUE))
        ontology = builder.freeze(
            name=bundle.domain or ("capec" if is_capec else "attack"),
            version=bundle.version,
            sha256=sha256,
            header={"release": [bundle.stated_version], "changed": [bundle.changed], FACET_ORDER: self._tactic_order()},
            note_nameless=True,
        )
        note_integrity(bundle, ontology, self.report)
        return ontology

    def _terms(self) -> dict[str, StixObject]:
        """Returns the object that defines each term: of several with one id a live one, then the last changed."""
        replaced = {link.text("source_ref") for link in self.bundle.relationships if self._says(link, _REPLACED)}
        claims: dict[str, list[StixObject]] = {}
        nameless: list[StixObject] = []
        for found in self.bundle.objects.values():
            is_pattern = found.type in _PATTERNS
            # What is gone for good and no pattern is no term: nobody asks for it, and old mitigations bear the ids of
            # techniques.
            if found.type not in KINDS or (found.retired and not is_pattern and found.id not in replaced):
                continue
            claims.setdefault(found.key, []).append(found)
            ids = found.attack_ids
            if not ids and is_pattern:
                nameless.append(found)
            elif len(ids) > 1:
                message = f"{found.id} has the ATT&CK ids {', '.join(ids)}; the first is used"
                self.report.warn("several-ids", message, ids=[*ids, found.id], where=found.where)
        if nameless:
            ids = [found.id for found in nameless]
            count = "1 attack pattern or tactic has" if len(ids) == 1 else f"{len(ids)} attack patterns or tactics have"
            message = f"{count} no ATT&CK id and a STIX id alone, which stands for one: {listed(ids)}"
            self.report.note("no-attack-id", message, ids=ids, where=nameless[0].where)
        return {term: self._best(term, claims[term]) for term in sorted(claims)}

    def _best(self, term: str, claims: Sequence[StixObject]) -> StixObject:
        """Returns the object that defines ``term``, and settles what the others mean."""
        # Of equal ones the smaller STIX id, since ``claims`` are in that order.
        best = max(claims, key=lambda found: (found.type in _PATTERNS, not found.retired, found.time))
        self.term_of.update((f.id, term) for f in claims if (f.type in _PATTERNS) == (best.type in _PATTERNS))
        if len(claims) > 1:
            ids = [term, *(found.id for found in claims)]
            message = f"{term} is the ATT&CK id of {len(claims)} objects; {best.where} is used"
            self.report.warn("shared-id", message, ids=ids, where=best.where)
        return best

    @staticmethod
    def _says(link: StixObject, kind: str) -> bool:
        return not link.retired and link.text("relationship_type") == kind

    def _define(self, term: str, found: StixObject) -> None:
        builder, line = self.builder, self._line(found)
        builder.define(term, line)
        builder.set_name(term, found.text("name"), line)
        builder.set_definition(term, found.text("description"), found.references, line)
        aliases = dict.fromkeys(alias.strip() for alias in found.aliases)
        for alias in aliases:
            if alias and alias != found.text("name"):
                builder.add_synonym(term, alias, "EXACT", line)
        for former in found.former_ids:
            builder.add_alt_id(term, former, line)
        if found.retired:
            builder.retire(term, line)

    def _relationships(self) -> None:
        """Draws is-a edges, replacements and typed relations from the relationships that live and whose ends do."""
        with_parent: set[str] = set()
        for link in self.bundle.relationships:
            kind, ends = link.text("relationship_type"), (link.text("source_ref"), link.text("target_ref"))
            types = tuple(type_of(end) for end in ends)
            if not kind or not KINDS.issuperset(types):
                continue
            objects = [self.bundle.objects.get(end) for end in ends]
            source, target = (self.term_of.get(end) for end in ends)
            if link.retired:
                self.left_out[f"retired {kind}"] += 1
            elif objects[0] is None or objects[1] is None:
                self.lost.setdefault(kind, []).extend(
                    (link, end) for end, there in zip(ends, objects, strict=True) if there is None
                )
            elif kind == _IS_A and types == (TECHNIQUE, TECHNIQUE):
                with_parent.add(ends[0])
                if objects[0].retired:
                    self.left_out["subtechnique-of of a retired technique"] += 1
                elif source is not None and target is not None:
                    self.builder.add_parent(source, target, self._line(link))
            elif kind == _REPLACED:
                if source is not None and target is not None and source != target:  # a renewed one may keep its id
                    self.builder.add_replacement(source, target, self._line(link))
            else:
                self._relate(kind, objects[0], objects[1], link)
        # The relationship decides, not the flag: the flag is missing on some sub-techniques and names no parent.
        marked = [
            found.key
            for found in self.bundle.of_type(TECHNIQUE)
            if found.values.get("x_mitre_is_subtechnique") is True and not found.retired and found.id not in with_parent
        ]
        if marked:
            message = f"marked as sub-techniques, but of no technique here; they have no parent: {listed(marked)}"
            self.report.note("no-parent", message, ids=marked)

    def _relate(self, kind: str, source: StixObject, target: StixObject, link: StixObject) -> None:
        """Draws one typed relation where both of its ends live."""
        ends = self.term_of.get(source.id), self.term_of.get(target.id)
        if source.retired or target.retired or ends[0] is None or ends[1] is None:
            self.left_out[f"{kind} of or to what is retired"] += 1
        else:
            self.builder.declare_relation(kind, kind.replace("-", " "))
            self.builder.add_relation(ends[0], kind, ends[1], self._line(link))

    def _capec(self) -> None:
        """Draws the edges that CAPEC keeps inside its patterns."""
        for found in self.bundle.of_type(TECHNIQUE):
            for name in (_CAPEC_PARENTS, *_CAPEC_RELATIONS):
                kind = _CAPEC_RELATIONS.get(name, "child-of")
                for end in found.texts(name):
                    other = self.bundle.objects.get(end)
                    if other is None or other.type != TECHNIQUE:
                        self.lost.setdefault(kind, []).append((found, end))
                    elif name != _CAPEC_PARENTS:
                        self._relate(kind, found, other, found)
                    elif found.retired:
                        self.left_out["child-of of a retired pattern"] += 1
                    else:
                        self.builder.add_parent(self.term_of[found.id], self.term_of[end], self._line(found))

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
                fitting = [t for t in fitting if not t.retired] or fitting  # an old tactic may share the name
                if len(fitting) > 1:  # each ATT&CK domain has an initial access of its own
                    fitting = [t for t in fitting if _DOMAIN_OF_CHAIN[chain] in t.texts("x_mitre_domains")]
                if len(fitting) == 1:
                    self.builder.add_relation(term, HAS_TACTIC, fitting[0].key, self._line(found))
                else:
                    unknown[f"{chain} {name}".strip()] += 1
        if unknown:
            message = f"phases that are no tactic in the file, with the number of their techniques: {counted(unknown)}"
            self.report.note("no-tactic", message)

    def _tactic_order(self) -> list[str]:
        """Returns the ids of the tactics as the matrices of the file order them, which is that of an attack."""
        matrices = sorted(self.bundle.of_type(MATRIX), key=lambda found: (found.retired, found.position))
        ends = (end for matrix in matrices for end in matrix.texts("tactic_refs"))
        return list(dict.fromkeys(self.term_of[end] for end in ends if end in self.term_of))

    def _note_rest(self) -> None:
        bundle, report = self.bundle, self.report
        kinds = Counter(
            f"{link.text('relationship_type')} from {type_of(link.text('source_ref'))}"
            for link in bundle.relationships
            if not KINDS.issuperset((type_of(link.text("source_ref")), type_of(link.text("target_ref"))))
        )
        for kind, what, counts in (
            ("other-type", "objects that are no terms", bundle.passed_over),
            ("other-relationship", "relationships between objects that are no terms", kinds),
            ("retired-relationship", "relationships left out because they or their ends are retired", self.left_out),
        ):
            if counts:
                report.note(kind, f"{what}: {counted(counts)}")
        if self.lost:
            counts = {kind: len({link.id for link, _ in found}) for kind, found in self.lost.items()}
            all_lost = sorted((link.position, link.where, end) for found in self.lost.values() for link, end in found)
            missing = sorted({end for _, _, end in all_lost})
            message = f"relationships that lead from or to what is not in the file, left out: {counted(counts)}"
            message += f"; first {all_lost[0][1]}; the file lacks {listed(missing)}"
            report.warn("lost-end", message, ids=missing, where=all_lost[0][1])
        if bundle.changed and not bundle.stated_version:
            message = f"the file states no release; the day of its newest change, {bundle.changed}, stands for one"
            report.note("no-release", message)
