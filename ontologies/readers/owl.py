"""OWL classes as an ontology: named superclasses are the lattice, existential restrictions are typed relations.

No reasoner is run. What is asserted counts, with two steps that need none: members of an intersection that a class is a
subclass of are its superclasses, and the genus of a definition is one where nothing else leads there.
"""

from __future__ import annotations

from collections import Counter

from ..builder import OntologyBuilder
from ..iris import BASE_TAG, IriTable
from ..ontology import Ontology
from ..report import LoadReport
from .owl_genus import genus_edges
from .owl_graph import Blank, Iri, Literal, Node, RdfGraph
from .owl_header import own_namespaces, short_name, tell_imports, version_of
from .owl_labels import choose_label, deprecation_of
from .owl_vocabulary import BUILT_IN, DCT, IAO, OIO, OWL, RDFS, SKOS, TYPE, YES

__all__ = ["CLASS_TYPES", "read_owl_graph"]

CLASS_TYPES = (f"{OWL}Class", f"{RDFS}Class", f"{OWL}DeprecatedClass")

_SUBCLASS = f"{RDFS}subClassOf"
_OBSOLETE = (f"{OIO}ObsoleteClass", f"{OIO}Obsolete")
_DEFINITIONS = (f"{IAO}0000115", f"{SKOS}definition")
_SYNONYMS = (
    (f"{OIO}hasExactSynonym", "EXACT"),
    (f"{OIO}hasBroadSynonym", "BROAD"),
    (f"{OIO}hasNarrowSynonym", "NARROW"),
    (f"{OIO}hasRelatedSynonym", "RELATED"),
    (f"{OIO}hasSynonym", "RELATED"),
    (f"{SKOS}altLabel", "EXACT"),
    (f"{SKOS}hiddenLabel", "RELATED"),
    (f"{IAO}0000118", "EXACT"),
)
_REPLACED_BY = (f"{IAO}0100001", f"{OIO}replacedBy", f"{DCT}isReplacedBy")
_NAMING = (_SUBCLASS, *(f"{OWL}{name}" for name in ("onProperty", "someValuesFrom", "onClass")), *_REPLACED_BY)
_MERGED = f"{IAO}0000227"
_INTERSECTION = f"{OWL}intersectionOf"


def read_owl_graph(graph: RdfGraph, report: LoadReport, sha256: str, *, language: str = "en") -> Ontology:
    """Returns the ontology of the classes in a graph.

    Args:
        graph: the statements.
        report: where repairs and losses are told.
        sha256: SHA-256 of the content, hex.
        language: language of the names that are shown.

    Raises:
        ParseError: no class is live.
        CycleFound: named superclasses run in a circle.
    """
    return _Reading(graph, report, language).ontology(sha256)


class _Reading:
    """One graph on its way to an ontology."""

    def __init__(self, graph: RdfGraph, report: LoadReport, language: str) -> None:
        self.graph = graph
        self.report = report
        self.language = language
        self.builder = OntologyBuilder(report)
        self.ontologies = graph.subjects(f"{OWL}Ontology")
        typed = graph.subjects(*CLASS_TYPES)
        heirs = [s for s, found in graph.statements.items() if isinstance(s, Iri) and _SUBCLASS in found]
        self.classes = sorted(
            c for c in {*typed, *heirs} if not (c.startswith(BUILT_IN) or c in _OBSOLETE or self._is_restriction(c))
        )
        self.properties = graph.subjects(f"{OWL}ObjectProperty")
        self.class_level = [
            p
            for p in graph.subjects(f"{OWL}AnnotationProperty")
            if any(v.text.lower() in YES for v in graph.literals(p, f"{OIO}is_class_level"))
        ]
        addresses = {*self.classes, *self.properties, *self.class_level}
        for found in graph.statements.values():  # what is named without being declared has a prefix, too
            addresses.update(v for p in _NAMING for v in found.get(p, ()) if isinstance(v, Iri))
        self.table = IriTable.of(sorted(addresses), own_namespaces(graph, self.ontologies))
        self.merged = {c for c in self.classes if self._is_merged(c)}
        self.xrefs = self._references()
        self.relation_ids: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self.parents: dict[str, set[str]] = {}
        self.relations: dict[str, set[tuple[str, str]]] = {}
        self.genera: dict[str, set[str]] = {}
        self.line_of = {self.table.id_of(cls): graph.lines.get(cls, 0) for cls in self.classes}

    def ontology(self, sha256: str) -> Ontology:
        """Returns the ontology of what the graph holds."""
        tell_imports(self.graph, self.ontologies, self.report)
        for prop in sorted({*self.properties, *self.class_level}):
            chosen = choose_label(self.graph.literals(prop, f"{RDFS}label"), self.language)
            self.builder.declare_relation(self._relation(prop), chosen.label.text if chosen.label else "")
        for cls in self.classes:
            self._class(cls)
        self._definitions()
        self.counts["classes"] = len({*self.classes, *(self.graph.statements.keys() & set(_OBSOLETE))})
        if self.unread:
            many = ", ".join(f"{kind} {count}" for kind, count in sorted(self.unread.items()))
            self.report.note("unread-axiom", f"axioms that draw no edge, by form: {many}")
        return self.builder.freeze(
            name=short_name(self.ontologies),
            version=version_of(self.graph, self.ontologies),
            sha256=sha256,
            header={
                "ontology": list(self.ontologies),
                BASE_TAG: self.table.to_header(),
                "counts": [f"{what} {count}" for what, count in sorted(self.counts.items())],
            },
            note_nameless=True,
        )

    def _class(self, cls: Iri) -> None:
        term, graph, builder, line = self.table.id_of(cls), self.graph, self.builder, self._line(cls)
        if cls in self.merged:  # a stub that stands for an id merged into another term, as an alternative id does
            target = self.table.id_of(graph.iris(cls, *_REPLACED_BY)[0])
            if target != term:
                self.counts["deprecated"] += 1
                self.counts["merged"] += 1
                return
        builder.define(term, line)
        self._names(term, cls)
        self._state(term, cls)
        for alternative in self._ids_in(cls, f"{OIO}hasAlternativeId"):
            builder.add_alt_id(term, alternative, line)
        for successor in self._ids_in(cls, *_REPLACED_BY):
            builder.add_replacement(term, successor, line)
        for other in self._ids_in(cls, f"{OIO}consider"):
            builder.add_suggestion(term, other, line)
        for above in graph.values(cls, _SUBCLASS):
            self._superclass(term, above)
        for prop in self.class_level:
            for value in graph.iris(cls, prop):
                self.relations.setdefault(term, set()).add((self._relation(prop), self.table.id_of(value)))
        for parent in sorted(self.parents.get(term, ())):  # unnamed nodes come in another order each time
            builder.add_parent(term, parent, line)
        for relation, target in sorted(self.relations.get(term, ())):
            builder.add_relation(term, relation, target, line)
        for same in (*graph.values(cls, f"{OWL}equivalentClass"), *([cls] if graph.values(cls, _INTERSECTION) else [])):
            self._definition_of(term, same)

    def _line(self, cls: Iri) -> int:
        return self.graph.lines.get(cls, 0)

    def _lines(self, cls: Iri) -> list[int]:
        return [line for line in (self._line(cls),) if line]

    def _names(self, term: str, cls: Iri) -> None:
        graph, builder = self.graph, self.builder
        chosen = choose_label(
            graph.literals(cls, f"{RDFS}label"), self.language, graph.literals(cls, f"{SKOS}prefLabel")
        )
        if chosen.remark:
            self.report.note("label-choice", f"{term} {chosen.remark}", self._lines(cls), [term])
        if chosen.label:
            builder.set_name(term, chosen.label.text)
        self._text(term, cls)
        found = [(v.text, scope, v.language) for prop, scope in _SYNONYMS for v in graph.literals(cls, prop)]
        found += [(label.text, "EXACT", label.language) for label in chosen.others]
        for text, scope, tag in sorted(found, key=lambda s: (s[0].lower(), s)):  # in the order that OBO files have
            if text.strip():
                builder.add_synonym(term, text, scope, language=tag)

    def _text(self, term: str, cls: Iri) -> None:
        """Reads the definition."""
        graph = self.graph
        found = graph.literals(cls, *_DEFINITIONS)
        if not found:
            mine = graph.statements.get(cls, {})
            found = [
                v for p in sorted(mine) if p.endswith(("#definition", "/definition")) for v in graph.literals(cls, p)
            ]
        if not found:
            return
        chosen = min(found, key=lambda v: (v.language != self.language, bool(v.language), v.language, v.text))
        if len({value.text for value in found if value.language == chosen.language}) > 1:
            message = f"{term} has several definitions; the first by code point was kept"
            self.report.warn("second-definition", message, self._lines(cls), [term])
        xrefs = sorted(self.xrefs.get((cls, chosen.text), ()))
        self.builder.set_definition(term, chosen.text, xrefs, self._line(cls))

    def _state(self, term: str, cls: Iri) -> None:
        """Reads whether the class is deprecated, in any of the ways in which people write that."""
        graph, builder = self.graph, self.builder
        before = self.counts["deprecated"]
        for value in graph.values(cls, f"{OWL}deprecated"):
            retired, odd = deprecation_of(value)
            if odd:
                self.report.warn("bad-boolean", f"{term}: {odd}", self._lines(cls), [term])
            if retired:
                builder.retire(term, self._line(cls))
                self.counts["deprecated"] = before + 1
            else:
                builder.mark_live(term, self._line(cls))
        obsolete = any(above in _OBSOLETE for above in graph.iris(cls, _SUBCLASS))
        if obsolete or f"{OWL}DeprecatedClass" in graph.iris(cls, TYPE):
            builder.retire(term, self._line(cls))
            self.counts["deprecated"] = before + 1

    def _superclass(self, term: str, above: Node) -> None:
        if isinstance(above, Iri) and not self._is_restriction(above):
            if above.startswith(BUILT_IN) or above in _OBSOLETE:
                return  # owl:Thing is above everything and says nothing
            self.counts["subclass-of"] += 1
            self._parent(term, above)
        elif not isinstance(above, Literal):
            self.counts["unnamed-superclasses"] += 1
            members = self._members(above)
            for member in members:
                if isinstance(member, Iri) and not self._is_restriction(member):
                    self._parent(term, member)
                else:
                    self._restriction(term, member)
            if not members:
                self._restriction(term, above)

    def _parent(self, term: str, above: Iri) -> None:
        self.parents.setdefault(term, set()).add(self.table.id_of(above))

    def _members(self, node: Node) -> list[Node]:
        """Returns the members of the intersection that a node is, those of intersections in it among them."""
        found: list[Node] = []
        waiting, seen = self.graph.values(node, _INTERSECTION), set[Node]()
        while waiting:
            head = waiting.pop()
            if head in seen:
                continue
            seen.add(head)
            for member in self.graph.list_of(head):
                inner = self.graph.values(member, _INTERSECTION) if isinstance(member, Blank) else []
                if inner:
                    waiting.extend(inner)
                else:
                    found.append(member)
        return found

    def _is_restriction(self, node: Node) -> bool:
        """Whether a node is a restriction, which some programs give an address of its own."""
        return bool(self.graph.values(node, f"{OWL}onProperty"))

    def _restriction(self, term: str, node: Node) -> None:
        """Reads a restriction: that some value is of a class is a relation to it."""
        graph = self.graph
        props, some = graph.iris(node, f"{OWL}onProperty"), graph.iris(node, f"{OWL}someValuesFrom")
        form = "someValuesFrom"
        if props:
            self.counts["restrictions"] += 1
        if not some and graph.values(node, f"{OWL}onClass"):
            form, some = self._counted(node)
        targets = [target for target in some if not target.startswith(BUILT_IN)]
        if props and targets:
            for target in targets:
                self.relations.setdefault(term, set()).add((self._relation(props[0]), self.table.id_of(target)))
            return
        self.unread[self._form(node) if form == "someValuesFrom" else form] += 1

    def _counted(self, node: Node) -> tuple[str, list[Iri]]:
        """Returns the form of a cardinality, and its class where at least one value must be of it."""
        for form in ("minQualifiedCardinality", "qualifiedCardinality", "maxQualifiedCardinality"):
            for value in self.graph.literals(node, f"{OWL}{form}"):
                at_least_one = form != "maxQualifiedCardinality" and value.text.strip().lstrip("+0").isdigit()
                return form, self.graph.iris(node, f"{OWL}onClass") if at_least_one else []
        return "cardinality", []

    def _form(self, node: Node) -> str:
        """Returns the name of what a node is, for a count of what is not read."""
        if not isinstance(node, Blank):
            return "value"
        mine = self.graph.statements.get(node, {})
        words = sorted(p.removeprefix(OWL) for p in mine if p.startswith(OWL) and p != f"{OWL}onProperty")
        return " ".join(words[:2]) or "unnamed class"

    def _definition_of(self, term: str, same: Node) -> None:
        """Reads a definition: the named members of an intersection are genera, nothing else draws an edge."""
        members = self._members(same)
        named = [m for m in members if isinstance(m, Iri) and not (m.startswith(BUILT_IN) or self._is_restriction(m))]
        genera = {self.table.id_of(m) for m in named}
        if genera:
            self.genera.setdefault(term, set()).update(genera)
        elif not members:
            form = "another class" if isinstance(same, Iri) else self._form(same)
            self.unread[f"equivalent to {form}"] += 1

    def _definitions(self) -> None:
        """Draws the edges to genera, and hands merged ids on as alternative ids."""
        for term, genus in genus_edges(self.parents, self.genera):
            self.builder.add_parent(term, genus, self.line_of.get(term, 0))
            self.counts["genus-edges"] += 1
        defined = {self.table.id_of(cls) for cls in self.classes if cls not in self.merged}
        for cls in sorted(self.merged):
            term, target = self.table.id_of(cls), self.table.id_of(self.graph.iris(cls, *_REPLACED_BY)[0])
            line = self._line(cls)
            if target == term:
                continue
            if target in defined:
                self.builder.add_alt_id(target, term, line)
            else:
                self.builder.define(term, line)
                self.builder.retire(term, line)
                self.builder.add_replacement(term, target, line)

    def _is_merged(self, cls: Iri) -> bool:
        """Whether the class says nothing but that its id was merged into one other."""
        graph = self.graph
        return (
            _MERGED in graph.iris(cls, f"{IAO}0000231")
            and len(graph.values(cls, *_REPLACED_BY)) == len(graph.iris(cls, *_REPLACED_BY)) == 1
            and not graph.values(cls, f"{RDFS}label")
        )

    def _references(self) -> dict[tuple[str, str], list[str]]:
        """Returns the sources of definitions, which stand in axioms about axioms, by class and text."""
        found: dict[tuple[str, str], list[str]] = {}
        graph = self.graph
        for node, said in graph.statements.items():
            properties = [str(p) for p in said.get(f"{OWL}annotatedProperty", ())]
            if not set(properties) & set(_DEFINITIONS):
                continue
            for source in graph.iris(node, f"{OWL}annotatedSource"):
                for target in graph.literals(node, f"{OWL}annotatedTarget"):
                    xrefs = [v.text if isinstance(v, Literal) else str(v) for v in said.get(f"{OIO}hasDbXref", ())]
                    found.setdefault((source, target.text), []).extend(xrefs)
        return found

    def _relation(self, prop: Iri) -> str:
        """Returns the id of a property: its OBO short name where it has one."""
        found = self.relation_ids.get(prop)
        if found is None:
            short = [v.text for v in self.graph.literals(prop, f"{OIO}shorthand") if v.text and not _has_blank(v.text)]
            found = self.relation_ids[prop] = short[0] if short else self.table.id_of(prop)
        return found

    def _ids_in(self, cls: Iri, *properties: str) -> list[str]:
        """Returns the ids that values name: links, and addresses or ids as text, perhaps as ``EX_1``."""
        found: list[str] = []
        for value in self.graph.values(cls, *properties):
            if not isinstance(value, Literal):
                found.append(self.table.id_in(value))
            elif value.text.strip():
                ids = self.table.ids_in(value.text)
                found += ids
                if ids != [self.table.id_in(value.text)]:
                    term = self.table.id_of(cls)
                    message = f"{term} has {value.text!r} in the place of an id; read as {' and '.join(ids)}"
                    self.report.warn("several-ids", message, self._lines(cls), [term, *ids])
        return found


def _has_blank(text: str) -> bool:
    return any(character.isspace() for character in text)
