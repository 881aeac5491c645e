"""RDF statements out of RDF/XML, Turtle or N-Triples, by subject and predicate, as OWL and SKOS are read from.

The parsing is rdflib's, which is imported when such a file is read. Its nodes are turned into our own at once.
"""

from __future__ import annotations

import codecs
import hashlib
import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias
from xml.sax import SAXException, SAXParseException

from ...errors import DataMissing, ParseError
from ..report import FileLines, LoadReport
from ..source import Source
from ..stream import members, reading
from ..xml_guard import check_xml
from .owl_turtle_lines import turtle_lines

__all__ = ["Blank", "Iri", "Literal", "Node", "RdfGraph", "can_read", "read_graph"]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TYPE = f"{RDF}type"

# Relative addresses of a file that states no base are resolved against this, never against a path of the machine.
_NO_BASE = "http://relative.invalid/"
_SKOLEM = "/.well-known/genid/"

_XML = re.compile(rb"\s*<(?:\?xml\b|!DOCTYPE\b|!--|[A-Za-z])")
_ADDRESS_FIRST = re.compile(
    rb"\s*<(?:[A-Za-z][\w+.-]*://|urn:)[^<>\s]*>\s"
)  # as statements begin; no name of XML has strokes
_RDF_XML = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?RDF\b[^>]*\bwww\.w3\.org/1999/02/22-rdf-syntax-ns#", re.DOTALL)
_ENCODING = re.compile(r"\A(<\?xml[^>]*?)\s+encoding\s*=\s*[\"'][^\"']*[\"']")
_STATED_ENCODING = re.compile(rb"\A<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][\w.-]*)[\"']")
_RDF_ENTITY = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?RDF\b")
_TURTLE = re.compile(
    rb"^[ \t]*(?:@?(?i:prefix)\s+[^\s:]*:\s*<|@?(?i:base)\s*<"
    rb"|<[^<>\s]*>[ \t]+(?:a|<[^<>\s]*>)[ \t])",
    re.MULTILINE,
)
_OTHER_OWL = (
    (re.compile(rb"<Ontology\b[^>]*www\.w3\.org/2002/07/owl#"), "OWL in its own XML form (OWL/XML)"),
    (re.compile(rb"^\s*(?:Prefix|Ontology)\(", re.MULTILINE), "OWL in functional syntax"),
    (re.compile(rb"^\s*Prefix:\s|^\s*Ontology:\s", re.MULTILINE), "OWL in Manchester syntax"),
)
# What rdflib raises on bad content, beside its own errors, all of which are built on Exception alone.
_FAULTS = (
    SyntaxError, ValueError, LookupError, AttributeError, AssertionError, TypeError, RecursionError, ArithmeticError,
    NotImplementedError, SAXException,
)  # fmt: skip


class Iri(str):
    """A web address."""

    __slots__ = ()


class Blank(str):
    """A node without an address; its text differs from run to run and must decide nothing."""

    __slots__ = ()


class Literal(NamedTuple):
    """A text with its language tag in lower case, or the address of its datatype; each empty where there is none."""

    text: str
    language: str
    datatype: str


Node: TypeAlias = Iri | Blank | Literal


class RdfGraph:
    """The statements of one or more files.

    Attributes:
        statements: objects by subject and predicate.
        namespaces: declared prefixes with their addresses, as often as files declare them.
        files: names of the files read.
        sums: SHA-256 of the uncompressed bytes of each file, hex.
        lines: line on which the description of a subject begins, from 1; of several files its number in ``places``.
        places: numbers of lines, where there are several files.
    """

    def __init__(self) -> None:
        self.statements: dict[Iri | Blank, dict[str, list[Node]]] = {}
        self.namespaces: list[tuple[str, str]] = []
        self.files: list[str] = []
        self.sums: list[str] = []
        self.lines: dict[str, int] = {}
        self._begins: list[tuple[str, dict[str, int]]] = []
        self.places: FileLines | None = None

    def add(self, subject: Iri | Blank, predicate: str, value: Node) -> None:
        """Adds one statement."""
        values = self.statements.setdefault(subject, {}).setdefault(predicate, [])
        values.append(value)

    @property
    def sha256(self) -> str:
        """SHA-256 of the file, of several files that of their sorted sums."""
        if len(self.sums) == 1:
            return self.sums[0]
        return hashlib.sha256("\n".join(sorted(self.sums)).encode("ascii")).hexdigest()

    def add_file(self, path: str, raw: bytes, begins: dict[str, int]) -> None:
        """Adds the name, the sum and the beginnings of descriptions of a file that was read."""
        self.files.append(path)
        self.sums.append(hashlib.sha256(raw).hexdigest())
        self._begins.append((path, begins))

    def finish(self) -> None:
        """Takes repeated statements out, and puts values that are no blank nodes into an order of their own."""
        self.places = FileLines() if len(self._begins) > 1 else None
        for path, begins in sorted(self._begins, key=lambda entry: entry[0]):
            for address, line in begins.items():
                if address in self.statements and address not in self.lines:
                    self.lines[address] = self.places.number(path, line) if self.places else line
        self._begins = []
        for predicates in self.statements.values():
            for predicate, values in predicates.items():
                if len(values) > 1:
                    named = sorted({v for v in values if not isinstance(v, Blank)}, key=_order)
                    predicates[predicate] = [*named, *dict.fromkeys(v for v in values if isinstance(v, Blank))]

    def subjects(self, *types: str) -> list[Iri]:
        """Returns the subjects with an address that have one of these types, code-point order."""
        wanted = set(types)
        return sorted(
            subject
            for subject, predicates in self.statements.items()
            if isinstance(subject, Iri) and not wanted.isdisjoint(predicates.get(TYPE, ()))
        )

    def values(self, subject: Node, *predicates: str) -> list[Node]:
        """Returns the objects of a subject under these predicates, by predicate."""
        found = self.statements.get(subject, {}) if not isinstance(subject, Literal) else {}
        return [value for predicate in predicates for value in found.get(predicate, ())]

    def iris(self, subject: Node, *predicates: str) -> list[Iri]:
        """Returns those objects that are addresses."""
        return [value for value in self.values(subject, *predicates) if isinstance(value, Iri)]

    def literals(self, subject: Node, *predicates: str) -> list[Literal]:
        """Returns those objects that are literals."""
        return [value for value in self.values(subject, *predicates) if isinstance(value, Literal)]

    def list_of(self, head: Node) -> list[Node]:
        """Returns the members of an RDF list; what follows a member met twice is left out."""
        found: list[Node] = []
        seen: set[Node] = set()
        while head != f"{RDF}nil" and head not in seen:
            seen.add(head)
            found.extend(self.values(head, f"{RDF}first")[:1])
            rest = self.values(head, f"{RDF}rest")
            if not rest:
                break
            head = rest[0]
        return found


def can_read(content: bytes) -> bool:
    """Returns whether uncompressed content, or its beginning, looks like RDF/XML, Turtle or N-Triples.

    >>> can_read(b"@prefix owl: <http://www.w3.org/2002/07/owl#> .")
    True
    """
    content = _decoded(content)
    return bool(_syntax(content)) or any(sign.search(content) for sign, _ in _OTHER_OWL)


def read_graph(sources: Sequence[Source], report: LoadReport) -> RdfGraph:
    """Returns the statements of all RDF files in the sources; other files in an archive are passed over with a note.

    Raises:
        ParseError: a file cannot be read, or there is none.
        DataMissing: rdflib is not installed.
    """
    graph = RdfGraph()
    passed: list[str] = []
    for source in sources:
        with reading(source):
            found = sorted((member.name, member.stream.read()) for member in members(source))
        for name, raw in found:
            content = _decoded(raw)
            syntax = _syntax(content)
            path = f"{source.path}/{name}" if name else source.path
            if not syntax:
                _refuse_other(content, path)
                passed.append(name or source.path)
                continue
            begins = check_xml(content, path) if syntax == "xml" else {}
            shown = name if len(sources) == 1 else path  # what is kept of a reading names no folder of the machine
            prefixes = _parse(content, syntax, path, shown, graph, report)
            graph.add_file(shown, raw, begins or turtle_lines(content, prefixes))
    if not graph.files:
        raise ParseError(
            f"read {report.path} as RDF",
            "none of its files is RDF/XML, Turtle or N-Triples" if passed else "it holds no file",
            "Give an ontology in OWL or SKOS in one of these forms.",
            path=report.path,
        )
    if passed:
        shown = ", ".join(sorted(passed)[:5]) + (f" and {len(passed) - 5} more" if len(passed) > 5 else "")
        report.note("other-file", f"{len(passed)} files are no RDF and were passed over: {shown}")
    graph.finish()
    return graph


def _decoded(content: bytes) -> bytes:
    """Returns ``content`` in UTF-8 without a byte-order mark; XML may state another encoding."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if content.startswith(mark):
            text = content.decode(encoding, "replace").lstrip("\ufeff")
            return _ENCODING.sub(r"\1", text).encode()
    content = content.removeprefix(codecs.BOM_UTF8)
    stated = _STATED_ENCODING.match(content)
    if stated and not stated[1].lower().startswith(b"utf"):  # rdflib reads XML as UTF-8 whatever it states
        try:
            return _ENCODING.sub(r"\1", content.decode(stated[1].decode("ascii"))).encode()
        except (LookupError, UnicodeDecodeError):
            return content  # which the parser of XML then refuses, saying why
    return content


def _syntax(content: bytes) -> str:
    """Returns the syntax of a file as rdflib calls it, or an empty string for none that is read."""
    content = content.removeprefix(codecs.BOM_UTF8)
    if _XML.match(content) and not _ADDRESS_FIRST.match(content):
        is_rdf = _RDF_XML.search(content) or (b"22-rdf-syntax-ns#" in content and _RDF_ENTITY.search(content))
        return "xml" if is_rdf else ""
    return "turtle" if _TURTLE.search(content) else ""


def _refuse_other(content: bytes, path: str) -> None:
    for sign, name in _OTHER_OWL:
        if sign.search(content[:65536]):
            raise ParseError(
                f"read {path}",
                f"it is {name}, which is not read",
                "Save it as RDF/XML or Turtle (ROBOT and Protégé do).",
                path=path,
            )


def _parse(content: bytes, syntax: str, path: str, shown: str, graph: RdfGraph, report: LoadReport) -> dict[str, str]:
    """Adds the statements of one file, which the report calls ``shown``, and returns its prefixes."""
    try:
        import rdflib
    except ImportError as fault:
        raise DataMissing(
            f"read {path}",
            "the package rdflib, which reads OWL and SKOS, is not installed",
            'Run: pip install "sma_gpu[owl]". Or give the OBO or OBO Graphs JSON release of the ontology.',
        ) from fault

    if syntax == "turtle":
        try:
            content.decode()
        except UnicodeDecodeError as fault:
            line = content.count(b"\n", 0, fault.start) + 1
            report.warn("encoding", f"line {line} holds bytes that are not UTF-8; replaced", [line], where=shown)
            content = content.decode("utf-8", "replace").encode()
    found = rdflib.Graph(bind_namespaces="none")
    try:
        with _plain(rdflib):
            found.parse(data=content, format=syntax, publicID=_NO_BASE)
            given: Iterable[tuple[Any, Any, Any]] = found
            for subject, predicate, value in given:
                graph.add(_subject(subject, rdflib), str(predicate), _node(value, rdflib))
    except (*_FAULTS, rdflib.exceptions.Error) as fault:
        at, why = _place(fault)
        if isinstance(fault, AssertionError) and why.startswith("Quote expected"):  # so rdflib tells the end of a file
            at, why = content.count(b"\n") + 1, "a text in quotes is not closed before the end of the file"
        raise ParseError(
            f"read {path} as {'RDF/XML' if syntax == 'xml' else 'Turtle'}",
            why + (f" (line {at})" if at else ""),
            "Mend the file there, or get it again; it may have been cut off.",
            path=path,
            line=at,
        ) from fault
    prefixes = {str(prefix): str(address) for prefix, address in found.namespaces()}
    graph.namespaces.extend(prefixes.items())
    return prefixes


def _subject(node: Any, rdflib: Any) -> Iri | Blank:
    # RDF 1.1 has addresses that stand for nodes without one, so that these can be exchanged.
    if isinstance(node, rdflib.URIRef) and _SKOLEM not in node:
        return Iri(node)
    return Blank(f"_:{node}")  # never equal to an address


def _node(node: Any, rdflib: Any) -> Node:
    if isinstance(node, rdflib.Literal):
        return Literal(str(node), (node.language or "").lower(), str(node.datatype or ""))
    return _subject(node, rdflib)


def _order(node: Node) -> tuple[int, tuple[str, ...]]:
    return (1, tuple(node)) if isinstance(node, Literal) else (0, (str(node),))


def _place(fault: BaseException) -> tuple[int | None, str]:
    """Returns the line that an error of the parser names, and its reason in one line."""
    if isinstance(fault, SAXParseException):
        return fault.getLineNumber(), str(fault.getMessage())
    if isinstance(fault, RecursionError):
        return None, "it is nested too deeply"
    text = " ".join(str(fault).split())
    at = re.search(r"at line (\d+) of", text)
    reason = re.search(r"Bad syntax \((.*?)\) at", text)
    return (int(at[1]) if at else None), (reason[1] if reason else text[:200] or type(fault).__name__)


@contextmanager
def _plain(rdflib: Any) -> Iterator[None]:
    """Lets rdflib take literals as they are written, and say nothing of those that do not fit their datatype.

    Written anew, a decimal of twelve characters could become one of gigabytes; what matters here is reported.
    """
    logger = logging.getLogger("rdflib")
    level, normalizes = logger.level, rdflib.NORMALIZE_LITERALS
    logger.setLevel(logging.CRITICAL + 1)
    rdflib.NORMALIZE_LITERALS = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
        rdflib.NORMALIZE_LITERALS = normalizes
