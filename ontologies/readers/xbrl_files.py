"""The files of an XBRL taxonomy or filing: elements of schemas, and arcs and labels of linkbases, as they are written.

Locators point at elements by file and id. They are looked up, never cut: a name may hold the underscore that joins the
prefix to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from ...errors import ParseError
from ..report import LoadReport
from ..xml_stream import XmlReader

__all__ = [
    "INSTANCE",
    "KINDS",
    "LINK",
    "Arc",
    "Element",
    "Label",
    "XbrlContent",
    "can_read_xbrl",
    "read_xbrl_file",
    "root_name",
]

LINK = "http://www.xbrl.org/2003/linkbase"
XLINK = "http://www.w3.org/1999/xlink"
SCHEMA = "http://www.w3.org/2001/XMLSchema"
INSTANCE = "http://www.xbrl.org/2003/instance"

KINDS = {"presentationLink": "presentation", "calculationLink": "calculation", "definitionLink": "definition"}
"""Kinds of networks, by the element that holds one."""

_LANG = "http://www.w3.org/XML/1998/namespace lang"
_TYPES = {"loc": "locator", "label": "resource"}  # where a file leaves the type of an element out
_STANDARD_LABEL = "http://www.xbrl.org/2003/role/label"
_HEADS = 65536
_GROWTH, _ALWAYS = 64, 1 << 16  # pairs of ends that the arcs of one link may join, for each thing in it and in any case
_POINTER = re.compile(r"element\(([^()/]+)\)")  # the long form of a pointer by id
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?(?:[^?]|\?(?!>))*\?>|<!--(?:[^-]|-(?!->))*-->"
    rb"|<!DOCTYPE[^\[>]*(?:\[[^\]]*\][^>]*)?>)*<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)",
    re.DOTALL,
)


class Element(NamedTuple):
    """One element of a schema: a concept."""

    file: str
    id: str
    name: str
    namespace: str
    is_abstract: bool
    type: str
    group: str
    period: str
    balance: str
    line: int
    prefix: str = ""  # that the schema declares for the namespace


class Arc(NamedTuple):
    """One arc of a network between two locators, each ``file#id``."""

    kind: str
    role: str
    arcrole: str
    source: str
    target: str
    order: float
    preferred: str
    priority: int
    is_prohibited: bool
    weight: str
    line: int
    file: str


class Label(NamedTuple):
    """One arc from a concept to a label; ``concept`` is a locator, ``text`` the place of the label among the texts."""

    concept: str
    text: str
    priority: int
    is_prohibited: bool


@dataclass
class XbrlContent:
    """What the files of one source say.

    Attributes:
        elements: of the schemas.
        arcs: of presentation, calculation and definition links.
        labels: of label links.
        texts: role, language and text of each label by its place: ``file#id``, or where it has no id file and number.
        schemas: names of the schema files that were read.
        namespaces: target namespace of each of them.
        odd: faults with how many there are and where the first one stands.
    """

    elements: list[Element] = field(default_factory=list)
    arcs: list[Arc] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    texts: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    schemas: dict[str, str] = field(default_factory=dict)
    odd: dict[str, tuple[int, str, int]] = field(default_factory=dict)

    def fault(self, message: str, file: str, line: int) -> None:
        """Counts one fault."""
        count, first, at = self.odd.get(message, (0, file, line))
        self.odd[message] = count + 1, first, at

    def tell(self, report: LoadReport) -> None:
        """Adds the faults to the report, one warning for each kind."""
        for message, (count, file, line) in sorted(self.odd.items()):
            times = f" ({count} times, first here)" if count > 1 else ""
            report.warn("odd-link", f"{message}{times}", [line], where=file)


def can_read_xbrl(content: bytes) -> bool:
    """Returns whether content, or its beginning, is a linkbase, or a schema that speaks of XBRL.

    >>> can_read_xbrl(b'<link:linkbase xmlns:link="http://www.xbrl.org/2003/linkbase">')
    True
    """
    root = root_name(content)
    head = content[:_HEADS].replace(b"\0", b"")  # so that names in UTF-16 can be found
    return root == "linkbase" or (root == "schema" and b"http://www.xbrl.org/2003/" in head)


def root_name(content: bytes) -> str:
    """Returns the name of the outermost element without its prefix, or an empty string for what is no XML.

    >>> root_name(b"<?xml version='1.0'?><!-- a comment --><x:xbrl>")
    'xbrl'
    """
    match = _ROOT.match(content[:_HEADS].removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff").replace(b"\0", b""))
    return match[1].decode("ascii", "replace") if match else ""


def read_xbrl_file(data: bytes, path: str, file: str, content: XbrlContent) -> None:
    """Adds what one schema or linkbase says.

    Args:
        data: its bytes.
        path: its name in errors.
        file: its name in locators, without folders.
        content: where it is added.

    Raises:
        ParseError: it is no well-formed XML, or declares entities.
    """
    reader = _FileReader(path, file, content)
    reader.feed(data, is_last=True)


class _FileReader(XmlReader):
    """One file on its way."""

    def __init__(self, path: str, file: str, content: XbrlContent) -> None:
        super().__init__(path, namespaces=True)
        self.file = file
        self.content = content
        self.namespace = ""
        self.prefixes: dict[str, str] = {}
        self.schema_depth = 0
        self.depth = 0
        self.kind = ""
        self.role = ""
        self.locators: dict[str, list[str]] = {}
        self.resources: dict[str, list[str]] = {}
        self.arcs: list[tuple[Mapping[str, str], int]] = []
        self.label: tuple[str, str, str, str] | None = None
        self.parts: list[str] = []
        self.declares_prefixes(self._prefix)

    def _prefix(self, prefix: str | None, namespace: str | None) -> None:
        if prefix and namespace:
            self.prefixes.setdefault(namespace, prefix)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        self.depth += 1
        space, _, local = name.rpartition(" ")
        if space == SCHEMA:
            self._schema(local, attributes)
        elif space == LINK and (local in KINDS or local == "labelLink"):
            self.kind, self.role = local, _x(attributes, "role")
            self.locators, self.resources, self.arcs = {}, {}, []
        elif self.kind:
            self._part(local, attributes)

    def _schema(self, local: str, attributes: Mapping[str, str]) -> None:
        if local == "schema":
            self.namespace = attributes.get("targetNamespace", "")
            self.content.schemas[self.file] = self.namespace
            self.schema_depth = self.depth
        elif local == "element" and self.depth == self.schema_depth + 1 and attributes.get("name"):
            name = attributes["name"]
            self.content.elements.append(
                Element(
                    file=self.file,
                    id=attributes.get("id", ""),
                    name=name,
                    namespace=self.namespace,
                    is_abstract=attributes.get("abstract", "false").strip() in ("true", "1"),
                    type=attributes.get("type", ""),
                    group=attributes.get("substitutionGroup", ""),
                    period=attributes.get(f"{INSTANCE} periodType", ""),
                    balance=attributes.get(f"{INSTANCE} balance", ""),
                    line=self.line,
                    prefix=self.prefixes.get(self.namespace, ""),
                )
            )

    def _part(self, local: str, attributes: Mapping[str, str]) -> None:
        kind = _x(attributes, "type") or _TYPES.get(local, "arc" if local.endswith("Arc") else "")
        if kind == "locator":
            href = _x(attributes, "href")
            if href.partition("#")[2]:
                self.locators.setdefault(_x(attributes, "label"), []).append(href)
            else:
                self.content.fault("locators that name no element were left out", self.file, self.line)
        elif kind == "arc":
            self.arcs.append((dict(attributes), self.line))
        elif kind == "resource" and local == "label":
            role = _x(attributes, "role") or _STANDARD_LABEL  # as the specification has it
            self.label = _x(attributes, "label"), role, attributes.get(_LANG, "").lower(), attributes.get("id", "")
            self.parts = []

    def text(self, data: str) -> None:
        """Text, perhaps a part of one."""
        if self.label is not None:
            self.parts.append(data)

    def end(self, name: str) -> None:
        """An element ends."""
        self.depth -= 1
        space, _, local = name.rpartition(" ")
        if space != LINK:
            return
        if local == "label" and self.label is not None:
            label, role, language, identifier = self.label
            place = f"{self.file}#{identifier}" if identifier else f"{self.file} {len(self.content.texts)}"
            self.resources.setdefault(label, []).append(place)
            self.content.texts[place] = role, language, "".join(self.parts)
            self.label = None
        elif local == self.kind:
            self._close()
            self.kind = ""

    def _close(self) -> None:
        """Ties the arcs of one link to the ends that their labels stand for."""
        content = self.content
        said = len(self.arcs) + sum(map(len, (*self.locators.values(), *self.resources.values())))
        left = _ALWAYS + _GROWTH * said
        for attributes, line in self.arcs:
            sources = self.locators.get(_x(attributes, "from"), [])
            end = _x(attributes, "to")
            targets = [*map(self._place, self.locators.get(end, []))]
            if self.kind == "labelLink":  # a label here, or one of another file, which an extension takes back so
                targets += self.resources.get(end, [])
            what = "label" if self.kind == "labelLink" else "locator"
            if not sources or not targets:
                content.fault(f"arcs from or to a {what} that is not there were left out", self.file, line)
            left -= len(sources) * len(targets)
            if left < 0:
                raise ParseError(
                    f"read {self.path} as XBRL",
                    f"its arcs join so many ends that share a label that they come to millions (line {line})",
                    "Such files can stall a machine; give a file as published.",
                    path=self.path,
                    line=line,
                )
            for source in map(self._place, sources):
                for target in targets:
                    if self.kind == "labelLink":
                        content.labels.append(Label(source, target, *self._use(attributes, line)))
                    else:
                        content.arcs.append(self._arc(attributes, source, target, line))

    def _use(self, attributes: Mapping[str, str], line: int) -> tuple[int, bool]:
        """Returns the priority of an arc, and whether it takes back those of no greater one."""
        return int(self._number(attributes.get("priority", "0"), line)), attributes.get("use") == "prohibited"

    def _arc(self, attributes: Mapping[str, str], source: str, target: str, line: int) -> Arc:
        priority, is_prohibited = self._use(attributes, line)
        return Arc(
            kind=KINDS[self.kind],
            role=self.role,
            arcrole=_x(attributes, "arcrole"),
            source=source,
            target=target,
            order=self._number(attributes.get("order", "1"), line),
            preferred=attributes.get("preferredLabel", ""),
            priority=priority,
            is_prohibited=is_prohibited,
            weight=attributes.get("weight", ""),
            line=line,
            file=self.file,
        )

    def _number(self, text: str, line: int) -> float:
        try:
            found = float(text)
        except ValueError:
            found = float("nan")
        if abs(found) <= 1e15:  # false for what is no number, too
            return found
        self.content.fault("orders or priorities that are no number were read as 1", self.file, line)
        return 1.0

    def _place(self, href: str) -> str:
        """Returns a locator without folders: the file, or this one, and the id."""
        file, _, fragment = href.partition("#")
        pointer = _POINTER.fullmatch(fragment)
        fragment = pointer[1] if pointer else fragment
        return f"{unquote(file.rsplit('/', 1)[-1]) or self.file}#{unquote(fragment)}"


def _x(attributes: Mapping[str, str], name: str) -> str:
    return attributes.get(f"{XLINK} {name}", "").strip()
