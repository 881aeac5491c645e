"""Reader of XBRL taxonomies, such as US-GAAP, and of the taxonomies that filings extend them by.

The lattice is the union of the presentation networks: a concept stands below all concepts under which it is shown
anywhere. Where networks of several roles together would run in a circle, the links that fewest of them show are kept as
relations. Calculation and definition networks are typed relations. A concept of a company that is shown nowhere stands
below the total that it adds to, and is marked so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from ..builder import OntologyBuilder
from ..graph import spell
from ..iris import PLAIN_TAG
from ..ontology import Ontology
from ..report import FileLines, LoadReport
from ..source import SourceLike
from .xbrl_circles import opened, refuse_circle
from .xbrl_files import can_read_xbrl
from .xbrl_taxonomy import Concept, Taxonomy, read_taxonomy

__all__ = ["ABSTRACT", "DEPRECATED", "INFERRED", "OWN", "SHOWN_BELOW", "can_read", "read_xbrl", "release_of"]

ABSTRACT, OWN, INFERRED, DEPRECATED = "abstract", "own", "inferred-parent", "deprecated"
"""Marks of concepts: headings, those of a company, those placed by a calculation, those a label calls deprecated."""

SHOWN_BELOW = "shown-below"
"""Relation of a link of a presentation network that is not in the lattice, since it would close a circle there."""

_ROLE = "http://www.xbrl.org/2003/role/"
_SUMMATION = "summation-item"
_REPLACED = "dep-concept-deprecatedConcept"  # from today's concept to the old one; other "dep-" arcs are suggestions
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|\d+")
_TARGET = re.compile(rb"\btargetNamespace\s*=\s*[\"']([^\"']*)")
_DEPRECATED = re.compile(r"\(Deprecated\b[^)]*\)")

can_read = can_read_xbrl


def release_of(head: bytes, prefix: str) -> str | None:
    """Returns the release of the standard taxonomy ``prefix`` that a file begins, or None where it is of another.

    The schema and the links of a filing, which build on a taxonomy, are none of it.

    >>> head = b"<schema xmlns='http://www.xbrl.org/2003/x' targetNamespace='http://fasb.org/us-gaap/2025'>"
    >>> release_of(head, "us-gaap")
    '2025'
    """
    if not can_read_xbrl(head):
        return None
    target = _TARGET.search(head)
    near = re.search(
        rb"[\"'](?:\.\./)*(?:elts/)?%b-(?:all-|std-)?(\d{4}(?:-\d{2}-\d{2})?)\.xsd" % re.escape(prefix).encode(), head
    )
    dated = re.search(rb"/%b(?:-std|-all)?/(\d{4}(?:-\d{2}-\d{2})?)[\"']" % re.escape(prefix).encode(), head)
    if target is not None:
        is_standard = re.match(rb"https?://(?:[\w.-]+\.)?(?:fasb|xbrl|ifrs)\.org/", target[1]) is not None
        return dated[1].decode() if dated and is_standard else None
    return near[1].decode() if near else None


def read_xbrl(
    source: SourceLike,
    *,
    more: Sequence[SourceLike] = (),
    strict: bool = False,
    name: str | None = None,
    language: str = "en",
) -> Ontology:
    """Returns the ontology of the concepts in an XBRL taxonomy or in the taxonomy of a filing.

    Args:
        source: an archive of schemas and linkbases, or one such file.
        more: the others, where they are files of their own; their order plays no part.
        strict: refuse a source with a warning instead of reporting and going on.
        name: name of the source in reports.
        language: language of the names that are shown.

    Raises:
        ParseError: a file cannot be read, there is no concept, or ``strict`` met a fault.
        CycleFound: a presentation network runs in a circle.
        DataMissing: there is no such file.

    >>> schema = b'''<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema" xmlns:x="http://www.xbrl.org/2003/instance"
    ...   targetNamespace="http://toy.example/2026"><s:element id="toy_Cash" name="Cash"/></s:schema>'''
    >>> read_xbrl(schema).term("toy:Cash").name
    'Cash'
    """
    report = LoadReport(", ".join([name or _shown(source), *map(_shown, more)]))
    ontology = _Reading(read_taxonomy([source, *more], report, name=name), report, language).ontology()
    report.place_of = None
    if strict:
        report.require_clean()
    return ontology


class _Reading:
    """One taxonomy on its way to an ontology."""

    def __init__(self, taxonomy: Taxonomy, report: LoadReport, language: str) -> None:
        self.taxonomy = taxonomy
        self.report = report
        self.language = language
        self.builder = OntologyBuilder(report)
        self.places = FileLines()
        if taxonomy.has_files:
            report.place_of = self.places.place_of

    def ontology(self) -> Ontology:
        """Returns the ontology of the taxonomy."""
        taxonomy = self.taxonomy
        unlabelled = [c.id for c in taxonomy.concepts.values() if not self._concept(c)]
        if unlabelled:
            message = f"{len(unlabelled)} concepts have no label here; the words of their element names stand for one"
            self.report.note("no-label", message, ids=unlabelled)
        counts = self._networks()
        self._replacements()
        return self.builder.freeze(
            name=taxonomy.name,
            version=taxonomy.version,
            sha256=taxonomy.sha256,
            header={PLAIN_TAG: [taxonomy.name] if taxonomy.name else [], "counts": counts},
        )

    def _concept(self, concept: Concept) -> bool:
        """Adds a concept. Returns whether it has a label."""
        builder, term = self.builder, concept.id
        builder.define(term)
        by_role: dict[str, list[tuple[int, str, str]]] = {}
        for role, language, text in concept.labels:
            by_role.setdefault(role, []).append((*self._distance(language), text))
        standard = sorted(by_role.pop(f"{_ROLE}label", []))
        documentation = sorted(by_role.pop(f"{_ROLE}documentation", []))
        if standard:
            builder.set_name(term, standard[0][2])
        else:
            builder.set_name(term, " ".join(_WORD.findall(concept.name)) or concept.name)
        if documentation:
            builder.set_definition(term, documentation[0][2])
        for _, language, text in standard[1:]:
            builder.add_synonym(term, text, "EXACT", language=language)
        builder.add_synonym(term, concept.name, "EXACT")
        for role in sorted(by_role):
            for _, language, text in sorted(by_role[role]):
                builder.add_synonym(term, text, "RELATED", language=language)
        for mark, holds in (
            (ABSTRACT, concept.is_abstract),
            (OWN, concept.is_own),
            (DEPRECATED, bool(standard) and _DEPRECATED.search(standard[0][2]) is not None),
        ):
            if holds:
                builder.mark(term, mark)
        return bool(standard)

    def _line(self, file: str, line: int) -> int:
        return self.places.number(file, line) if self.taxonomy.has_files else line

    def _distance(self, language: str) -> tuple[int, str]:
        """Returns how far a language is from the one wanted, and its tag: a regional form comes before all others."""
        wanted = self.language.lower()
        return (0 if language == wanted else 1 if language.startswith(f"{wanted}-") else 2), language

    def _networks(self) -> list[str]:
        """Draws the edges and relations of all networks. Returns the counts of each kind, for the header."""
        pairs: dict[str, set[tuple[str, str]]] = {"presentation": set(), "calculation": set(), "definition": set()}
        concepts = self.taxonomy.concepts
        unknown: dict[str, None] = {}
        totals: dict[str, set[str]] = {}
        left_out = self._left_out()
        for network in self.taxonomy.networks:
            for place in network.occurrences:
                parent, concept = place.parent, place.concept
                if concept not in concepts:
                    unknown[concept] = None
                    continue
                short = place.arcrole.rsplit("/", 1)[-1]
                pairs[network.kind].add((parent, concept))
                if network.kind == "presentation" and (concept, parent) in left_out:
                    self.builder.add_relation(concept, SHOWN_BELOW, parent, self._line(place.file, place.line))
                elif network.kind == "presentation":
                    self.builder.add_parent(concept, parent, self._line(place.file, place.line))
                elif not short.startswith("dep-"):
                    self.builder.declare_relation(short, short.replace("-", " "))
                    self.builder.add_relation(concept, short, parent, self._line(place.file, place.line))
                    if short == _SUMMATION:
                        totals.setdefault(concept, set()).add(parent)
        for term in unknown:
            lines = [self._line(*at) for at in self.taxonomy.lost.get(term, ()) if at[1]]
            message = f"links place {term}, which the schema at hand does not declare; left out there"
            self.report.warn("undefined-term", message, lines, [term])
        shown = {concept for _, concept in pairs["presentation"]} | {parent for parent, _ in pairs["presentation"]}
        self._infer(totals, shown)
        return [
            *(f"{kind} {len(found)}" for kind, found in sorted(pairs.items())),
            f"abstract {sum(c.is_abstract for c in concepts.values())}",
            f"elements {sum(c.is_declared for c in concepts.values())}",
            f"labels {sum(any(r == f'{_ROLE}label' for r, _, _ in c.labels) for c in concepts.values())}",
            f"definitions {sum(any(r == f'{_ROLE}documentation' for r, _, _ in c.labels) for c in concepts.values())}",
            f"presented {len(shown)}",
            f"networks {len(self.taxonomy.networks)}",
        ]

    def _left_out(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Returns the links that would close a circle of several networks, and tells of them."""
        roles: dict[tuple[str, str], set[str]] = {}
        lines: dict[tuple[str, str], list[int]] = {}
        for network in self.taxonomy.of_kind("presentation"):
            places = [place for place in network.occurrences if place.concept in self.taxonomy.concepts]
            edges = [(place.concept, place.parent) for place in places]
            refuse_circle(edges, network.role, self.report.path)
            for edge, place in zip(edges, places, strict=True):
                roles.setdefault(edge, set()).add(network.role)
                lines.setdefault(edge, []).append(self._line(place.file, place.line))
        found = opened(roles)
        if found:
            self.builder.declare_relation(SHOWN_BELOW, "shown below")
        for (concept, parent), cycle in sorted(found.items()):
            message = (
                f"networks of several roles together run in a circle: {spell(cycle)}; that {concept} is shown below "
                f"{parent}, under {len(roles[concept, parent])} of them, is kept as the relation {SHOWN_BELOW}"
            )
            self.report.warn("opened-circle", message, sorted(lines[concept, parent]), [concept, parent])
        return found

    def _infer(self, totals: dict[str, set[str]], shown: set[str]) -> None:
        """Places concepts of a company that are shown nowhere below the totals that they add to."""
        placed = sorted(t for t in totals if t not in shown and self.taxonomy.concepts[t].is_own)
        closing = opened({(term, total): [""] for term in placed for total in totals[term]})
        for term in placed:
            for total in sorted(totals[term]):
                if (term, total) not in closing:
                    self.builder.add_parent(term, total)
            self.builder.mark(term, INFERRED)
        if placed:
            self.report.note(
                "inferred-parent", f"{len(placed)} concepts are shown nowhere and stand below their totals", ids=placed
            )

    def _replacements(self) -> None:
        """Hands on what stands for concepts of other years."""
        concepts, builder = self.taxonomy.concepts, self.builder
        told: set[str] = set()
        for network in self.taxonomy.of_kind("definition"):
            for place in network.occurrences:
                short = place.arcrole.rsplit("/", 1)[-1]
                if not short.startswith("dep-"):
                    continue
                old, today = place.concept, place.parent
                if old not in told:
                    told.add(old)
                    if old not in concepts:
                        builder.define(old)
                    builder.retire(old)
                (builder.add_replacement if short == _REPLACED else builder.add_suggestion)(old, today)
        used: Counter[str] = Counter()
        for old, today in known_replacements():
            if old in told or today not in concepts:
                continue
            if old not in concepts:
                builder.define(old)
                builder.retire(old)
                builder.add_replacement(old, today)
                used["replaced"] += 1
        if used:
            message = f"{used['replaced']} concepts of other years resolve to those that took their place"
            self.report.note("other-years", message)


@cache
def known_replacements() -> tuple[tuple[str, str], ...]:
    """Returns pairs (concept of another year, concept that took its place), from the table of this package."""
    text = (files("sma_gpu.ontologies") / "manifests" / "us-gaap-replacements.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple((f"us-gaap:{old}", f"us-gaap:{today}") for old, today in rows)


def _shown(source: SourceLike) -> str:
    return (
        source if isinstance(source, str) else str(getattr(source, "path", None) or getattr(source, "name", "<bytes>"))
    )
