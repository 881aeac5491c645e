"""Reader of OBO Graphs JSON, the form in which the OBO Foundry releases its ontologies for programs.

Like the OWL reader it takes ``is_a`` edges as the lattice and all other edges as typed relations; a genus becomes a
parent only where the asserted edges do not lead to it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import ParseError
from ..builder import OntologyBuilder
from ..iris import BASE_TAG, IriTable
from ..json_source import json_of
from ..ontology import Ontology
from ..report import LoadReport
from ..source import SourceLike, read_source
from ..stream import members, reading
from .owl_genus import genus_edges
from .owl_header import short_name, version_in
from .owl_vocabulary import BUILT_IN, DCT, IAO, OIO, OWL, RDFS, YES

__all__ = ["can_read", "read_obograph"]

_SCOPES = {
    "hasExactSynonym": "EXACT",
    "hasBroadSynonym": "BROAD",
    "hasNarrowSynonym": "NARROW",
    "hasRelatedSynonym": "RELATED",
}
_REPLACED_BY = (f"{IAO}0100001", f"{OIO}replacedBy", f"{DCT}isReplacedBy")
_IS_A = frozenset({"is_a", "subClassOf", f"{RDFS}subClassOf"})
_NO_RELATION = frozenset({"subPropertyOf", "inverseOf", "type"})  # edges between properties, or to individuals


def can_read(content: bytes) -> bool:
    """Returns whether uncompressed content, or its beginning, looks like OBO Graphs JSON.

    >>> can_read(b'{"graphs": [{"nodes": []}]}')
    True
    """
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    head = content.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
    return head[:1] == "{" and '"graphs"' in head and '"@context"' not in head[:4096]


def read_obograph(
    source: SourceLike, *, more: Sequence[SourceLike] = (), strict: bool = False, name: str | None = None
) -> Ontology:
    """Returns the ontology in an OBO Graphs JSON document.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        more: further documents to read with it; their order plays no part.
        strict: refuse a file with a warning instead of reporting and going on.
        name: name of the source in reports.

    Raises:
        ParseError: a file is no OBO Graphs document, is damaged, has no live class, or has a warning under ``strict``.
        CycleFound: the is-a edges run in a circle.
        DataMissing: there is no such file.

    >>> read_obograph(b'{"graphs": [{"nodes": [{"id": "EX:1", "lbl": "root", "type": "CLASS"}]}]}').term("EX:1").name
    'root'
    """
    sources = [read_source(source, name=name), *(read_source(other) for other in more)]
    report = LoadReport(", ".join(s.path for s in sources))
    graphs: list[tuple[str, dict[str, Any]]] = []
    sums: list[str] = []
    for opened in sources:
        with reading(opened):
            found = sorted((m.name, m.stream.read()) for m in members(opened))
        for inner, content in found:
            path = f"{opened.path}/{inner}" if inner else opened.path
            shown = path if more else inner  # what is kept of a reading names no folder of the machine
            prefix = f"{shown} " if shown else ""
            graphs.extend((f"{prefix}{where}", graph) for where, graph in _graphs(content, path, report))
            sums.append(hashlib.sha256(content).hexdigest())
    sha256 = sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sorted(sums)).encode("ascii")).hexdigest()
    graph_reading = _Reading(graphs, report)
    report.place_of = graph_reading.place_of
    ontology = graph_reading.ontology(sha256)
    report.place_of = None
    if strict:
        report.require_clean()
    return ontology


def _graphs(content: bytes, path: str, report: LoadReport) -> list[tuple[str, dict[str, Any]]]:
    """Returns the graphs of a document, each with its JSON path."""
    found = json_of(content, path, report, asked=f"read {path} as OBO Graphs JSON")
    graphs = found.get("graphs") if isinstance(found, dict) else None
    if not isinstance(graphs, list) or not all(isinstance(graph, dict) for graph in graphs):
        raise ParseError(
            f"read {path} as OBO Graphs JSON",
            "it has no list of graphs",
            "Give an OBO Graphs document: an object whose graphs hold nodes and edges.",
            path=path,
        )
    return [(f"$.graphs[{i}]", graph) for i, graph in enumerate(graphs)]


class _Reading:
    """The graphs on their way to an ontology."""

    def __init__(self, graphs: Sequence[tuple[str, dict[str, Any]]], report: LoadReport) -> None:
        self.graphs = graphs
        self.report = report
        self.builder = OntologyBuilder(report)
        self.odd: dict[str, list[str]] = {}
        self.passed: Counter[str] = Counter()
        self.merged: list[tuple[str, str, int]] = []
        self._defined: set[str] = set()
        self._places: list[str] = []
        self.nodes = [(where, node) for place, graph in graphs for where, node in self._parts(place, graph, "nodes")]
        self.table = IriTable.of(sorted({_text(node, "id") for _, node in self.nodes}))
        self.relations = {
            _text(node, "id"): self._short(node) for _, node in self.nodes if _text(node, "type") == "PROPERTY"
        }
        self.edges = [(where, edge) for place, graph in graphs for where, edge in self._parts(place, graph, "edges")]
        self.linked = {_text(edge, end) for _, edge in self.edges for end in ("sub", "obj")}
        self.used = {_text(edge, "pred") for _, edge in self.edges}
        self.class_level = {_text(node, "id") for _, node in self.nodes if self._says(node, f"{OIO}is_class_level")}

    def place_of(self, line: int) -> tuple[str, int]:
        """Returns the JSON path that the builder knows by a number in the stead of a line."""
        return self._places[line - 1], 0

    def _line(self, where: str) -> int:
        self._places.append(where)
        return len(self._places)

    def ontology(self, sha256: str) -> Ontology:
        """Returns the ontology of what the graphs hold."""
        for where, node in self.nodes:
            self._node(where, node)
        parents: dict[str, set[str]] = {}
        genera: dict[str, set[str]] = {}
        for where, edge in self.edges:
            self._edge(where, edge, parents)
        for place, graph in self.graphs:
            for _, axiom in self._parts(place, graph, "logicalDefinitionAxioms"):
                found = {self._id(text) for text in _texts(axiom, "genusIds") if not text.startswith(BUILT_IN)}
                genera.setdefault(self._id(_text(axiom, "definedClassId")), set()).update(found)
        for term, genus in genus_edges(parents, {t: g for t, g in genera.items() if t in self._defined}):
            self.builder.add_parent(term, genus)
        self._tell()
        addresses = [_text(graph, "id") for _, graph in self.graphs if _text(graph, "id")]
        return self.builder.freeze(
            name=short_name(addresses),
            version=max((self._version(graph) for _, graph in self.graphs), default=""),
            sha256=sha256,
            header={"ontology": addresses, BASE_TAG: self.table.to_header()},
            note_nameless=True,
        )

    def _parts(self, place: str, parent: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields the objects of a list with their JSON paths; what is no object is counted."""
        found = parent.get(name)
        for i, part in enumerate(found if isinstance(found, list) else ()):
            if isinstance(part, dict):
                yield f"{place}.{name}[{i}]", part
            else:
                self.odd.setdefault(f"entries of {name} that are no objects", []).append(f"{place}.{name}[{i}]")

    def _node(self, where: str, node: dict[str, Any]) -> None:
        address, kind = _text(node, "id"), _text(node, "type")
        label, meta = " ".join(_text(node, "lbl").split()), _object(node, "meta")
        if not address:
            self.odd.setdefault("nodes without an id", []).append(where)
        elif kind == "PROPERTY":
            if self._is_relation(address, node):
                self.builder.declare_relation(self.relations[address], label)
        elif (
            kind in ("CLASS", "") and (kind or (label and address in self.linked)) and not address.startswith(BUILT_IN)
        ):
            self._class(self._id(address), label, meta, where)
        else:
            self.passed[kind or "node without type and label"] += 1

    def _is_relation(self, address: str, node: dict[str, Any]) -> bool:
        """Whether a property relates classes. Documents that do not say so (propertyType) show it by its use."""
        kind = _text(node, "propertyType")
        if kind:
            return kind == "OBJECT" or address in self.class_level
        has_short_name = self.relations[address] != self._id(address)
        return has_short_name or address in self.linked or address in self.used or address in self.class_level

    def _says(self, node: dict[str, Any], pred: str) -> bool:
        parts = _objects(_object(node, "meta"), "basicPropertyValues")
        return any(_text(part, "pred") == pred and _text(part, "val").lower() in YES for part in parts)

    def _class(self, term: str, label: str, meta: dict[str, Any], where: str) -> None:
        builder = self.builder
        pairs = [(_text(p, "pred"), _text(p, "val")) for p in _objects(meta, "basicPropertyValues")]
        replaced = [i for pred, value in pairs if pred in _REPLACED_BY and value for i in self.table.ids_in(value)]
        stated = meta.get("deprecated")
        deprecated = False if stated is None else stated
        line = self._line(where)
        if deprecated and not label and len(replaced) == 1 and (f"{IAO}0000231", f"{IAO}0000227") in pairs:
            self.merged.append((term, replaced[0], line))
            return
        builder.define(term, line)
        self._defined.add(term)
        if label:
            builder.set_name(term, label, line)
        definition = _object(meta, "definition")
        if _text(definition, "val"):
            builder.set_definition(term, _text(definition, "val"), sorted(_texts(definition, "xrefs")), line)
        synonyms = [(_text(s, "val"), _SCOPES.get(_text(s, "pred"), "RELATED")) for s in _objects(meta, "synonyms")]
        for text, scope in sorted(synonyms, key=lambda s: (s[0].lower(), s)):
            if text:
                builder.add_synonym(term, text, scope)
        if not isinstance(deprecated, bool):
            meaning = "retired" if str(deprecated).lower() in YES else "not retired"
            message = f"{term}: deprecated is {deprecated!r}, no boolean; read as {meaning}"
            self.report.warn("bad-boolean", message, ids=[term], where=where)
            deprecated = str(deprecated).lower() in YES
        for text in (value for pred, value in pairs if pred == f"{OWL}deprecated"):
            if text not in ("true", "false"):
                meaning = "retired" if text.lower() in YES else "not retired"
                message = f"{term}: owl:deprecated is {text!r}, neither true nor false; read as {meaning}"
                self.report.warn("bad-boolean", message, ids=[term], where=where)
            deprecated = deprecated or text.lower() in YES
        if deprecated:
            builder.retire(term, line)
        for successor in replaced:
            builder.add_replacement(term, successor, line)
        for pred, value in pairs:
            if pred == f"{OIO}consider":
                for other in self.table.ids_in(value):
                    builder.add_suggestion(term, other, line)
            elif pred == f"{OIO}hasAlternativeId":
                for alternative in self.table.ids_in(value):
                    builder.add_alt_id(term, alternative, line)
            elif pred in self.class_level and value:
                builder.add_relation(term, self.relations[pred], self._id(value), line)

    def _edge(self, where: str, edge: dict[str, Any], parents: dict[str, set[str]]) -> None:
        subject, pred, target = (_text(edge, key) for key in ("sub", "pred", "obj"))
        if not (subject and pred and target):
            self.odd.setdefault("edges without all of sub, pred and obj", []).append(where)
            return
        term, other = self._id(subject), self._id(target)
        if pred in _NO_RELATION or subject in self.relations or target.startswith(BUILT_IN):
            self.passed[f"edge {pred}" if pred in _NO_RELATION else "edge of a property"] += 1
        elif term not in self._defined:
            self.passed["edge of what is no class here"] += 1
        elif pred in _IS_A:
            self.builder.add_parent(term, other, self._line(where))
            parents.setdefault(term, set()).add(other)
        else:
            self.builder.add_relation(term, self.relations.get(pred) or self._id(pred), other, self._line(where))

    def _tell(self) -> None:
        for term, target, line in sorted(self.merged):
            if target in self._defined:
                self.builder.add_alt_id(target, term, line)
            else:
                self.builder.define(term, line)
                self.builder.retire(term, line)
                self.builder.add_replacement(term, target, line)
        for what, places in sorted(self.odd.items()):
            self.report.warn("odd-part", f"{len(places)} {what} were left out", where=places[0])
        if self.passed:
            counts = ", ".join(f"{kind} {count}" for kind, count in sorted(self.passed.items()))
            self.report.note("unread-part", f"parts that say nothing of classes: {counts}")

    def _version(self, graph: dict[str, Any]) -> str:
        meta = _object(graph, "meta")
        stated = [_text(meta, "version")]
        pairs = [(_text(p, "pred"), _text(p, "val")) for p in _objects(meta, "basicPropertyValues")]
        stated += [value for pred, value in pairs if pred == f"{OWL}versionInfo"]
        return next((version_in(text) for text in stated if text), "")

    def _short(self, node: dict[str, Any]) -> str:
        """Returns the id of a property: its OBO short name where it has one."""
        for part in _objects(_object(node, "meta"), "basicPropertyValues"):
            if _text(part, "pred") == f"{OIO}shorthand" and _text(part, "val"):
                return _text(part, "val")
        return self._id(_text(node, "id"))

    def _id(self, text: str) -> str:
        return self.table.id_of(text) if "://" in text else text


def _text(parent: dict[str, Any], name: str) -> str:
    value = parent.get(name)
    return value.strip() if isinstance(value, str) else ""


def _texts(parent: dict[str, Any], name: str) -> list[str]:
    value = parent.get(name)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _object(parent: dict[str, Any], name: str) -> dict[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _objects(parent: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = parent.get(name)
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
