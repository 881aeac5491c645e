"""An XBRL taxonomy, perhaps with the extension of one filing: its concepts, their labels, and its networks.

A concept may stand several times in one network, under one parent or under several, each time with an order and a
label of its own. A network keeps these occurrences; who wants a tree of concepts takes each child once.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...errors import ParseError
from ..report import LoadReport
from ..source import Source, SourceLike, read_source
from ..stream import members, reading
from .xbrl_files import Arc, Element, Label, XbrlContent, can_read_xbrl, read_xbrl_file

__all__ = ["Concept", "Network", "Occurrence", "Taxonomy", "read_taxonomy"]

_STANDARD = re.compile(r"https?://(?:[\w.-]+\.)?(?:fasb\.org|xbrl\.org|sec\.gov|ifrs\.org|xbrl\.us|w3\.org)/")
_DATED = re.compile(r"(.*?)[-_](\d{4}(?:-\d{2}-\d{2})?)(?:\.xsd|_[a-z]+\.xml)$")
_YEAR = re.compile(r"/(\d{4}(?:-\d{2}-\d{2})?)$|/(\d{8})$")


@dataclass(frozen=True)
class Concept:
    """One concept.

    Attributes:
        id: prefix and name, such as ``us-gaap:Revenues``.
        name: its name alone.
        is_abstract: it is a heading and takes no value.
        is_own: it belongs to a company and not to a standard taxonomy.
        is_declared: a schema at hand declares it; otherwise only locators speak of it.
        labels: texts by role and language, in the order of the files.
    """

    id: str
    name: str
    is_abstract: bool
    is_own: bool
    is_declared: bool
    labels: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Occurrence:
    """One place of a concept in a network: below ``parent``, at ``order``, under the label of role ``preferred``."""

    parent: str
    concept: str
    order: float
    preferred: str
    arcrole: str
    line: int
    file: str = ""  # with that line, without folders


@dataclass(frozen=True)
class Network:
    """The arcs of one kind under one role, prohibited ones taken out, by parent and order."""

    kind: str
    role: str
    occurrences: tuple[Occurrence, ...]

    def children(self, parent: str) -> list[Occurrence]:
        """Returns the children of a concept by order, each once: its occurrence with the lowest order."""
        found: dict[str, Occurrence] = {}
        for occurrence in self.occurrences:
            if occurrence.parent == parent:
                found.setdefault(occurrence.concept, occurrence)
        return list(found.values())

    def places(self, concept: str) -> list[Occurrence]:
        """Returns all occurrences of a concept, by parent and order."""
        return [occurrence for occurrence in self.occurrences if occurrence.concept == concept]

    @property
    def roots(self) -> tuple[str, ...]:
        """Concepts that are below none, code-point order."""
        below = {occurrence.concept for occurrence in self.occurrences}
        return tuple(sorted({o.parent for o in self.occurrences} - below))


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """All that a source says.

    Attributes:
        name: prefix of the taxonomy that most of it belongs to.
        version: its release.
        concepts: by id, code-point order.
        networks: by kind and role.
        sha256: SHA-256 of the file, of several files that of their sorted sums.
        lost: locators into a schema at hand that declares no such id, with the files and lines of their arcs.
        has_files: whether it is made of several files.
    """

    name: str
    version: str
    concepts: dict[str, Concept]
    networks: tuple[Network, ...]
    sha256: str
    lost: dict[str, tuple[tuple[str, int], ...]]
    has_files: bool = False

    def of_kind(self, kind: str) -> list[Network]:
        """Returns the networks of one kind: ``presentation``, ``calculation`` or ``definition``."""
        return [network for network in self.networks if network.kind == kind]

    @cached_property
    def parents(self) -> dict[str, set[str]]:
        """Concepts under which each concept is shown, in any presentation network."""
        found: dict[str, set[str]] = {}
        for network in self.of_kind("presentation"):
            for occurrence in network.occurrences:
                found.setdefault(occurrence.concept, set()).add(occurrence.parent)
        return found

    @cached_property
    def by_role(self) -> dict[tuple[str, str], Network]:
        """Networks by kind and role."""
        return {(network.kind, network.role): network for network in self.networks}


def read_taxonomy(sources: Sequence[SourceLike], report: LoadReport, *, name: str | None = None) -> Taxonomy:
    """Returns the taxonomy in these sources: schemas and linkbases, by themselves or in archives, in any order.

    Raises:
        ParseError: a file cannot be read, or none is of XBRL.
        DataMissing: there is no such file.
    """
    content = XbrlContent()
    sums: list[str] = []
    passed: list[str] = []
    for source in sources:
        opened = read_source(source, name=name)
        for inner, data in _files(opened):
            path = f"{opened.path}/{inner}" if inner else opened.path
            if not can_read_xbrl(data):
                passed.append(path)
                continue
            sums.append(hashlib.sha256(data).hexdigest())
            read_xbrl_file(data, path, path.replace("\\", "/").rsplit("/", 1)[-1], content)
    if not sums:
        raise ParseError(
            f"read {report.path} as XBRL",
            "none of its files is a schema or a linkbase" if passed else "it holds no file",
            "Give the schema of a taxonomy or filing together with its linkbases, as an archive or one by one.",
            path=report.path,
        )
    if passed:
        shown = ", ".join(sorted(passed)[:4]) + (f" and {len(passed) - 4} more" if len(passed) > 4 else "")
        report.note("other-file", f"{len(passed)} files are no schema or linkbase and were passed over: {shown}")
    sha256 = sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sorted(sums)).encode("ascii")).hexdigest()
    content.tell(report)
    return _Assembly(content, report).taxonomy(sha256, has_files=len(sums) > 1)


def _files(source: Source) -> list[tuple[str, bytes]]:
    with reading(source):
        return sorted((member.name, member.stream.read()) for member in members(source))


class _Assembly:
    """Ties locators to concepts."""

    def __init__(self, content: XbrlContent, report: LoadReport) -> None:
        self.content = content
        self.report = report
        self.by_place: dict[str, str] = {}
        self.concepts: dict[str, Concept] = {}
        self.guessed: Counter[str] = Counter()
        self.lost: dict[str, list[tuple[str, int]]] = {}

    def taxonomy(self, sha256: str, *, has_files: bool) -> Taxonomy:
        """Returns the taxonomy of the content."""
        for element in sorted(self.content.elements):
            self._declare(element)
        networks = self._networks()
        labels = self._labels()
        concepts = {
            key: Concept(c.id, c.name, c.is_abstract, c.is_own, c.is_declared, tuple(labels.get(key, ())))
            for key, c in sorted(self.concepts.items())
        }
        if self.guessed:
            shown = ", ".join(f"{file} {count}" for file, count in sorted(self.guessed.items())[:6])
            more = f" and {len(self.guessed) - 6} more" if len(self.guessed) > 6 else ""
            message = (
                f"schemas that are not at hand, with the number of their concepts that links speak of: {shown}{more}"
            )
            self.report.note("schema-elsewhere", message)
        name, version = self._about()
        lost = {key: tuple(places) for key, places in sorted(self.lost.items())}
        return Taxonomy(name, version, concepts, networks, sha256, lost, has_files=has_files)

    def _declare(self, element: Element) -> None:
        tail = f"_{element.name}"  # filings and taxonomies write ids so; where one does not, its namespace has a prefix
        prefix = element.id.removesuffix(tail) if element.id.endswith(tail) else element.prefix
        key = f"{prefix}:{element.name}" if prefix else element.name
        concept = Concept(key, element.name, element.is_abstract, _is_own(element.namespace), is_declared=True)
        known = self.concepts.setdefault(key, concept)
        if known != concept:
            message = f"{key} is declared again in {element.file} in another way; the first file by name counts"
            self.report.warn("second-element", message, [element.line], [key])
        if element.id:
            self.by_place.setdefault(f"{element.file}#{element.id}", key)

    def _concept_at(self, place: str, at: tuple[str, int]) -> str:
        """Returns the id of the concept that a locator stands for; one declared elsewhere becomes known by it."""
        found = self.by_place.get(place)
        if found is not None:
            return found
        file, _, identifier = place.partition("#")
        prefix, _, name = identifier.partition("_")  # a prefix holds no underscore where no schema says otherwise
        key = f"{prefix}:{name}" if name else identifier
        if file in self.content.schemas:
            self.lost.setdefault(key, []).append(at)
            return key
        self.by_place[place] = key
        self.guessed[file] += 1
        if key not in self.concepts:  # a filing brings its own schema, so what stands elsewhere is of a standard
            is_abstract = name.endswith("Abstract")
            self.concepts[key] = Concept(key, name or identifier, is_abstract, is_own=False, is_declared=False)
        return key

    def _networks(self) -> tuple[Network, ...]:
        best: dict[tuple[object, ...], list[Arc]] = {}
        for arc in sorted(self.content.arcs):
            same = (arc.kind, arc.role, arc.arcrole, arc.source, arc.target, arc.order, arc.preferred, arc.weight)
            best.setdefault(same, []).append(arc)
        rows: dict[tuple[str, str], list[Occurrence]] = {}
        for arcs in best.values():
            top = max(arc.priority for arc in arcs)
            if any(arc.is_prohibited for arc in arcs if arc.priority == top):
                continue
            arc = arcs[0]
            at = arc.file, arc.line
            parent, concept = self._concept_at(arc.source, at), self._concept_at(arc.target, at)
            occurrence = Occurrence(parent, concept, arc.order, arc.preferred, arc.arcrole, arc.line, arc.file)
            rows.setdefault((arc.kind, arc.role), []).append(occurrence)
        return tuple(
            Network(
                kind, role, tuple(sorted(rows[kind, role], key=lambda o: (o.parent, o.order, o.concept, o.preferred)))
            )
            for kind, role in sorted(rows)
        )

    def _labels(self) -> dict[str, list[tuple[str, str, str]]]:
        best: dict[tuple[str, str], Label] = {}
        for label in self.content.labels:  # of one priority that counts which takes the other back
            ends = label.concept, label.text
            best[ends] = max(best.get(ends, label), label, key=lambda one: (one.priority, one.is_prohibited))
        found: dict[str, set[tuple[str, str, str]]] = {}
        for label in best.values():
            role, language, text = self.content.texts.get(label.text, ("", "", ""))
            if text.strip() and not label.is_prohibited:
                key = self._concept_at(label.concept, ("", 0))
                found.setdefault(key, set()).add((role, language, " ".join(text.split())))
        return {key: sorted(labels) for key, labels in found.items()}

    def _about(self) -> tuple[str, str]:
        """Returns the prefix and the release of the taxonomy that most concepts belong to."""
        prefixes = Counter(key.partition(":")[0] for key in self.concepts if ":" in key)
        if not prefixes:
            return "", ""
        name = min(prefixes, key=lambda prefix: (-prefixes[prefix], prefix))
        files = {place.partition("#")[0] for place, key in self.by_place.items() if key.startswith(f"{name}:")}
        for file in sorted(files):
            year = _YEAR.search(self.content.schemas.get(file, ""))
            dated = _DATED.match(file)
            if year or dated:
                return name, (year[1] or year[2]) if year else dated[2] if dated else ""
        return name, ""


def _is_own(namespace: str) -> bool:
    return _STANDARD.match(namespace) is None
