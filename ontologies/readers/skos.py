"""SKOS concepts as an ontology: broader and narrower, written in either direction or both, are the lattice."""

from __future__ import annotations

from collections.abc import Sequence

from ..builder import OntologyBuilder
from ..drafts import known
from ..iris import BASE_TAG, IriTable
from ..ontology import Ontology
from ..report import LoadReport
from .owl_genus import genus_edges
from .owl_graph import Iri, Literal, Node, RdfGraph
from .owl_header import own_namespaces, short_name, tell_imports, version_of
from .owl_labels import choose_label, deprecation_of
from .owl_vocabulary import DCT, OWL, RDFS, SKOS, SKOSXL

__all__ = ["TOP_TAG", "has_untyped_concepts", "read_skos_graph", "typed_concepts"]

_CONCEPT = f"{SKOS}Concept"

TOP_TAG = "top-concepts"
"""Header tag whose values are the ids of the top concepts."""

_ISO = "http://purl.org/iso25964/skos-thes#"
_UP = (f"{SKOS}broader", f"{_ISO}broaderGeneric")
_DOWN = (f"{SKOS}narrower", f"{_ISO}narrowerGeneric")
_FAR_UP, _FAR_DOWN = f"{SKOS}broaderTransitive", f"{SKOS}narrowerTransitive"
# A part and an instance are no kinds of the whole and of the class: these are relations, whichever way written.
_OTHER_UP = (f"{_ISO}broaderPartitive", f"{_ISO}broaderInstantial")
_OTHER_DOWN = {f"{_ISO}narrowerPartitive": _OTHER_UP[0], f"{_ISO}narrowerInstantial": _OTHER_UP[1]}
_OTHER_ENDS = frozenset({*_OTHER_UP, *_OTHER_DOWN})
_RELATIONS = (
    f"{SKOS}related", f"{SKOS}exactMatch", f"{SKOS}closeMatch", f"{SKOS}broadMatch", f"{SKOS}narrowMatch",
    f"{SKOS}relatedMatch",
)  # fmt: skip
# What is said of concepts alone makes one of whatever it is said of, even where the type is left out.
_OF_CONCEPTS = frozenset({*_UP, *_DOWN, _FAR_UP, _FAR_DOWN, f"{SKOS}related", f"{SKOS}topConceptOf"})
_SYNONYMS = (("altLabel", "EXACT"), ("hiddenLabel", "RELATED"))


def typed_concepts(graph: RdfGraph) -> list[Iri]:
    """Returns what is a concept by its type, or by a class of concepts that the graph declares; code-point order."""
    return graph.subjects(*_below(graph, f"{RDFS}subClassOf", _CONCEPT))


def has_untyped_concepts(graph: RdfGraph) -> bool:
    """Returns whether anything in a graph has properties that concepts alone have."""
    return any(not _OF_CONCEPTS.isdisjoint(found) for found in graph.statements.values())


def _below(graph: RdfGraph, step: str, top: str) -> list[str]:
    """Returns a class or property of SKOS and all that the graph declares to be a kind of it."""
    below: dict[Node, list[Iri]] = {}
    for subject in graph.statements:
        if isinstance(subject, Iri):
            for above in graph.iris(subject, step):
                below.setdefault(above, []).append(subject)
    found: dict[str, None] = {top: None}
    waiting = [top]
    while waiting:
        fresh = [name for name in below.get(Iri(waiting.pop()), ()) if name not in found]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return list(found)


def read_skos_graph(graph: RdfGraph, report: LoadReport, sha256: str, *, language: str = "en") -> Ontology:
    """Returns the ontology of the concepts in a graph.

    Args:
        graph: the statements.
        report: where repairs and losses are told.
        sha256: SHA-256 of the content, hex.
        language: language of the names that are shown.

    Raises:
        ParseError: no concept is live.
        CycleFound: broader concepts run in a circle.
    """
    return _Reading(graph, report, language).ontology(sha256)


class _Reading:
    """One graph on its way to an ontology."""

    def __init__(self, graph: RdfGraph, report: LoadReport, language: str) -> None:
        self.graph = graph
        self.report = report
        self.language = language
        self.builder = OntologyBuilder(report)
        self.schemes = graph.subjects(f"{SKOS}ConceptScheme")
        self.up, self.down = (
            tuple(p for known in names for p in _below(graph, f"{RDFS}subPropertyOf", known) if p not in _OTHER_ENDS)
            for names in (_UP, _DOWN)
        )
        told = [s for s, found in graph.statements.items() if isinstance(s, Iri) and not _OF_CONCEPTS.isdisjoint(found)]
        # So does standing at the other end of these (their range, too, is a concept), if the file says more of it.
        ends = (*self.up, *self.down, _FAR_UP, _FAR_DOWN, f"{SKOS}related", f"{SKOS}hasTopConcept")
        named = [v for subject in graph.statements for v in graph.iris(subject, *ends) if v in graph.statements]
        self.concepts = sorted({*typed_concepts(graph), *told, *named} - {*self.schemes})
        fixed = [("skos", SKOS), ("isothes", _ISO)]  # relations have one id whatever a file calls these
        given = [pair for pair in own_namespaces(graph, self.schemes) if pair[1] not in (SKOS, _ISO)]
        namespaces = [*given, *fixed]
        self.table = IriTable.of([*self.concepts, *_RELATIONS, *_OTHER_UP], namespaces)
        self.edges: set[tuple[str, str]] = set()

    def ontology(self, sha256: str) -> Ontology:
        """Returns the ontology of what the graph holds."""
        graph, table = self.graph, self.table
        about = [*graph.subjects(f"{OWL}Ontology"), *self.schemes]
        tell_imports(graph, about, self.report)
        for concept in self.concepts:
            self._concept(concept)
        self._hierarchy()
        counts = [f"concepts {len(self.concepts)}", f"edges {len(self.edges)}"]
        return self.builder.freeze(
            name=short_name(self.schemes or about),
            version=version_of(graph, about),
            sha256=sha256,
            header={
                "scheme": list(self.schemes),
                TOP_TAG: self._scheme(),
                BASE_TAG: table.to_header(),
                "counts": counts,
            },
        )

    def _concept(self, concept: Iri) -> None:
        graph, builder, term = self.graph, self.builder, self.table.id_of(concept)
        line = self._line(concept)
        builder.define(term, line)
        self._names(term, concept)
        definitions = graph.literals(concept, f"{SKOS}definition") or graph.literals(concept, f"{SKOS}scopeNote")
        chosen = choose_label(definitions, self.language)
        if chosen.label:
            builder.set_definition(term, chosen.label.text, line=line)
        for value in graph.values(concept, f"{OWL}deprecated"):
            retired, odd = deprecation_of(value)
            (builder.retire if retired else builder.mark_live)(term, line)
            if odd:
                self.report.warn("bad-boolean", f"{term}: {odd}", known([line]), [term])
        for successor in graph.values(concept, f"{DCT}isReplacedBy"):
            for other in (
                self.table.ids_in(successor.text) if isinstance(successor, Literal) else [self.table.id_in(successor)]
            ):
                builder.add_replacement(term, other, line)
        for relation in _RELATIONS:
            for other in graph.iris(concept, relation):
                builder.declare_relation(self.table.id_of(relation), relation.removeprefix(SKOS))
                builder.add_relation(term, self.table.id_of(relation), self.table.id_of(other), line)

    def _names(self, term: str, concept: Iri) -> None:
        graph, builder = self.graph, self.builder
        labels = self._labels(concept, "prefLabel")
        chosen = choose_label(labels, self.language, graph.literals(concept, f"{RDFS}label"))
        notations = [value.text.strip() for value in graph.literals(concept, f"{SKOS}notation") if value.text.strip()]
        name = chosen.label.text if chosen.label else notations[0] if notations else ""
        if not chosen.label:
            shown = f"its notation {name!r}" if name else "its id"
            message = f"{term} has no label and is shown by {shown}"
            self.report.note("nameless", message, known([self._line(concept)]), [term])
        elif chosen.remark:
            self.report.note("label-choice", f"{term} {chosen.remark}", known([self._line(concept)]), [term])
        if name:
            builder.set_name(term, name)
        for label in chosen.others:
            builder.add_synonym(term, label.text, "EXACT", language=label.language)
        for kind, scope in _SYNONYMS:
            for label in self._labels(concept, kind):
                if label.text.strip():
                    builder.add_synonym(term, label.text, scope, language=label.language)
        for notation in notations:
            if notation != name:
                builder.add_synonym(term, notation, "EXACT")

    def _labels(self, concept: Iri, kind: str) -> list[Literal]:
        """Returns the labels of one kind, also those that stand as nodes of their own (SKOS-XL)."""
        graph = self.graph
        found = graph.literals(concept, f"{SKOS}{kind}")
        for node in graph.values(concept, f"{SKOSXL}{kind}"):
            found.extend(graph.literals(node, f"{SKOSXL}literalForm"))
        return found

    def _hierarchy(self) -> None:
        """Draws each edge once, whichever way the file writes it."""
        graph, concepts = self.graph, set(self.concepts)
        subjects = sorted(s for s in graph.statements if isinstance(s, Iri))
        for subject in subjects:
            for other in graph.iris(subject, *self.up):
                self._edge(subject, other, concepts, self._line(subject))
            for other in graph.iris(subject, *self.down):
                self._edge(other, subject, concepts, self._line(subject))
            for predicate in _OTHER_UP:
                for other in graph.iris(subject, predicate):
                    self._other(subject, predicate, other, concepts, self._line(subject))
            for predicate, upward in _OTHER_DOWN.items():
                for other in graph.iris(subject, predicate):
                    self._other(other, upward, subject, concepts, self._line(subject))

        self._far_edges(subjects, concepts)

    def _far_edges(self, subjects: Sequence[Iri], concepts: set[Iri]) -> None:
        """Draws an edge for what is said to be broader at some distance, where nothing else leads there."""
        pairs = {(subject, other) for subject in subjects for other in self.graph.iris(subject, _FAR_UP)}
        pairs |= {(other, subject) for subject in subjects for other in self.graph.iris(subject, _FAR_DOWN)}
        near: dict[str, list[str]] = {}
        far: dict[str, list[str]] = {}
        for narrow, broad in self.edges:
            near.setdefault(narrow, []).append(broad)
        named: dict[str, Iri] = {}
        for narrow, broad in sorted(pairs):
            ids = self.table.id_of(narrow), self.table.id_of(broad)
            named.update(zip(ids, (narrow, broad), strict=True))
            far.setdefault(ids[0], []).append(ids[1])
        for term, genus in genus_edges(near, far):
            self._edge(named[term], named[genus], concepts, self._line(named[term]))

    def _edge(self, narrow: Iri, broad: Iri, concepts: set[Iri], line: int) -> None:
        pair = self.table.id_of(narrow), self.table.id_of(broad)
        if self._is_known(narrow, broad, concepts, line) and pair not in self.edges:
            self.edges.add(pair)
            self.builder.add_parent(*pair, line)

    def _other(self, narrow: Iri, predicate: str, broad: Iri, concepts: set[Iri], line: int) -> None:
        if self._is_known(narrow, broad, concepts, line):
            relation = self.table.id_of(predicate)
            self.builder.declare_relation(relation, predicate.removeprefix(_ISO))
            self.builder.add_relation(self.table.id_of(narrow), relation, self.table.id_of(broad), line)

    def _line(self, concept: Iri) -> int:
        return self.graph.lines.get(concept, 0)

    def _is_known(self, narrow: Iri, broad: Iri, concepts: set[Iri], line: int) -> bool:
        """Whether an edge can start at its narrower end, which must be a concept of the file; reports it if not."""
        if narrow in concepts:
            return True
        ids = [self.table.id_of(narrow), self.table.id_of(broad)]
        message = f"{ids[0]}, narrower than {ids[1]}, is no concept here; left out"
        self.report.warn("undefined-term", message, known([line]), ids)
        return False

    def _scheme(self) -> list[str]:
        """Returns the top concepts, and reports the concepts that no scheme reaches."""
        graph, table = self.graph, self.table
        inside: set[Node] = {c for c in self.concepts if graph.iris(c, f"{SKOS}inScheme", f"{SKOS}topConceptOf")}
        top: set[Node] = {c for c in self.concepts if graph.iris(c, f"{SKOS}topConceptOf")}
        top.update(t for scheme in self.schemes for t in graph.iris(scheme, f"{SKOS}hasTopConcept"))
        reached = {table.id_of(str(c)) for c in inside | top}
        below: dict[str, list[str]] = {}
        for narrow, broad in sorted(self.edges):
            below.setdefault(broad, []).append(narrow)
        waiting = list(reached)
        while waiting:
            for term in below.get(waiting.pop(), ()):
                if term not in reached:
                    reached.add(term)
                    waiting.append(term)
        outside = [table.id_of(c) for c in self.concepts if table.id_of(c) not in reached]
        if self.schemes and outside:
            shown = ", ".join(outside[:5]) + (f" and {len(outside) - 5} more" if len(outside) > 5 else "")
            lines = known([self._line(c) for c in self.concepts if table.id_of(c) not in reached])
            self.report.note("outside-scheme", f"{len(outside)} concepts are in no scheme: {shown}", lines, outside)
        if not top:
            narrower = {narrow for narrow, _ in self.edges}
            return [t for t in map(table.id_of, self.concepts) if t not in narrower and t not in outside]
        return sorted(table.id_of(str(c)) for c in top)
