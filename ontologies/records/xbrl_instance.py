"""Filings in XBRL as records: the concepts that the instance reports, those of the company under what they stand below.

A concept of a company's own has no place in a standard taxonomy. Where the filing brings its presentation links, such a
concept counts as the nearest concept above it that the taxonomy has, and its evidence says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ...errors import ParseError
from ..ontology import Ontology
from ..readers.xbrl_files import INSTANCE, root_name
from ..readers.xbrl_taxonomy import Taxonomy, read_taxonomy
from ..report import LoadReport
from ..source import Source, SourceLike, read_source
from ..stream import members, reading
from ..xml_stream import XmlReader
from . import xbrl_inline
from .model import Records
from .notices import join_shown
from .tables_rows import RowCollector
from .xbrl_facts import Instance, standard_prefix

__all__ = ["INFERRED", "can_read", "read_instance", "read_instances"]

INFERRED = "inferred"
"""Evidence of a concept that stands for one of the company's own."""

_XSI_NIL = "http://www.w3.org/2001/XMLSchema-instance nil"
_COVER = frozenset({"dei", "ecd", "cyd"})  # what a filing says of itself and of its makers; no statement of accounts


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is an XBRL instance, or a web page that holds one."""
    return _is_plain(head) or xbrl_inline.can_read(head)


def _is_plain(head: bytes) -> bool:
    return root_name(head) == "xbrl" and b"http://www.xbrl.org/2003/instance" in head


def read_instance(
    source: SourceLike,
    ontology: Ontology,
    *,
    more: Sequence[SourceLike] = (),
    strict: bool = False,
    name: str | None = None,
) -> Records:
    """Returns the filings in XBRL instances as records of the concepts that they report.

    The key of a record is made of the company's number with the SEC, the form and the end of the period. Its attributes
    are ``company``, ``cik``, ``form``, ``period``, ``fiscal-year``, ``fiscal-period``, ``ticker`` and ``own-concepts``.

    Args:
        source: an archive of a filing, or an instance.
        ontology: the taxonomy, such as US-GAAP.
        more: the schema and the links of the filing, where they are files of their own; their order plays no part.
        strict: refuse the source at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: a file is damaged, there is no instance, or ``strict`` met a fault.
        DataMissing: there is no such file.
    """
    sources = [read_source(source, name=name), *(read_source(other) for other in more)]
    report = LoadReport(", ".join(s.path for s in sources))
    instances, sums = read_instances(sources, report)
    taxonomy = _own_taxonomy(sources)
    rows = RowCollector("filing")
    for path, instance in instances:
        _add(path, instance, taxonomy, ontology, rows, report)
    sha256 = sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sorted(sums)).encode("ascii")).hexdigest()
    last = max((instance.about.get("period", "") for _, instance in instances), default="")
    records = rows.records(ontology, report, name="xbrl", version=last, sha256=sha256)
    if strict:
        report.require_clean()
    return records


def read_instances(sources: Sequence[Source], report: LoadReport) -> tuple[list[tuple[str, Instance]], list[str]]:
    """Returns the instances in these sources with their names, and the SHA-256 of every file, hex.

    Web pages of one filing give one instance; where the instance itself lies beside them, they give none.

    Raises:
        ParseError: a file is damaged, or none is an instance.
    """
    found: list[tuple[str, Instance]] = []
    pages: list[tuple[str, Instance]] = []
    sums: list[str] = []
    for source in sources:
        with reading(source):
            files = sorted((member.name, member.stream.read()) for member in members(source))
        for name, data in files:
            sums.append(hashlib.sha256(data).hexdigest())
            path = f"{source.path}/{name}" if name else source.path
            if _is_plain(data[:65536]):
                reader = _InstanceReader(path)
                reader.feed(data, is_last=True)
                found.append((path, reader.instance))
            elif xbrl_inline.can_read(data[:65536]):
                pages.append((path, xbrl_inline.read_page(data, path)))
    stated = {instance.key for _, instance in found} - {""}
    for path, page in xbrl_inline.join_pages(pages):
        if page.key in stated:
            message = f"{path} shows the filing that an instance beside it reports; the instance is used"
            report.note("same-filing", message, where=path)
        else:
            found.append((path, page))
    if not found:
        paths = ", ".join(source.path for source in sources)
        raise ParseError(
            f"read {paths} as XBRL filings",
            "none of its files is an XBRL instance",
            "Give the instance (the file whose outermost element is xbrl), the web page that holds one (Inline XBRL), "
            "or an archive with either.",
            path=paths,
        )
    return found, sums


def _own_taxonomy(sources: Sequence[Source]) -> Taxonomy | None:
    """Returns what the filing says of its own concepts, or None where it brings no links. Its faults are not ours."""
    try:
        return read_taxonomy(sources, LoadReport(""))
    except ParseError:
        return None


class _InstanceReader(XmlReader):
    """One instance on its way."""

    def __init__(self, path: str) -> None:
        super().__init__(path, namespaces=True)
        self.instance = Instance()
        self.depth = 0
        self.context = ""
        self.told = "", "", 0  # attribute, context and depth of a fact whose text is wanted
        self.parts: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        self.depth += 1
        space, _, local = name.rpartition(" ")
        if space == INSTANCE and local == "context":
            self.context = attributes.get("id", "")
        elif space == INSTANCE and local in ("segment", "scenario"):
            self.instance.segmented.add(self.context)
        elif "contextRef" in attributes:  # also in a tuple
            context, is_nil = attributes["contextRef"], attributes.get(_XSI_NIL, "").strip() in ("true", "1")
            attribute = self.instance.use(space, local, context, self.line, is_nil=is_nil)
            if attribute:
                self.told, self.parts = (attribute, context, self.depth), []

    def text(self, data: str) -> None:
        """Text, perhaps a part of one."""
        if self.told[0]:
            self.parts.append(data)

    def end(self, name: str) -> None:
        """An element ends."""
        attribute, context, depth = self.told
        if attribute and self.depth == depth:
            self.instance.tell(attribute, context, "".join(self.parts))
            self.told = "", "", 0
        self.depth -= 1


def _add(
    path: str,
    instance: Instance,
    taxonomy: Taxonomy | None,
    ontology: Ontology,
    rows: RowCollector,
    report: LoadReport,
) -> None:
    """Adds one filing."""
    about = instance.about
    key = instance.key or path.rsplit("/", 1)[-1]
    own = {c.name: c.id for c in taxonomy.concepts.values() if c.is_own} if taxonomy else {}
    mine: list[str] = []
    foreign: dict[str, int] = {}
    lost: list[str] = []
    for (space, local), (line, whole) in sorted(instance.facts.items(), key=lambda fact: fact[1][0]):
        prefix = standard_prefix(space)
        extent = "whole" if whole else "segment"
        if prefix in _COVER or (prefix and prefix not in ontology.prefixes):
            foreign[prefix] = foreign.get(prefix, 0) + 1
        elif prefix:
            rows.add(key, f"{prefix}:{local}", line, evidence=extent)
        else:
            concept = own.get(local, local)
            mine.append(concept)
            above = _nearest(concept, taxonomy, ontology)
            for term in above:
                rows.add(key, term, line, evidence=INFERRED, description=f"{concept} stands below it in the filing")
            if not above:
                lost.append(concept)
    rows.open(key, about.get("company", ""), {**about, "own-concepts": sorted(mine)})
    if foreign:
        shown = ", ".join(f"{prefix} {count}" for prefix, count in sorted(foreign.items()))
        report.note("passed-over", f"concepts of {key} that are none of {ontology.label}, by prefix: {shown}")
    if lost:
        message = f"{len(lost)} concepts of the company stand below none of {ontology.label}; left out"
        report.warn("own-concepts", f"{message}: {join_shown(sorted(lost))}", ids=sorted(lost))
    if instance.elsewhere:
        count, targets = sum(instance.elsewhere.values()), join_shown(sorted(instance.elsewhere))
        report.warn("other-target", f"{count} facts of {path} are of other documents ({targets}); left out")
    if instance.empty:
        report.note("no-value", f"{instance.empty} facts of {key} are said to have no value; they do not count")


def _nearest(concept: str, taxonomy: Taxonomy | None, ontology: Ontology) -> list[str]:
    """Returns the nearest concepts above one of the company's that the taxonomy has, all those of one distance."""
    level, seen = {concept}, {concept}
    while level and taxonomy is not None:
        level = {parent for child in level for parent in taxonomy.parents.get(child, ())} - seen
        seen |= level
        found = sorted(term for term in level if ontology.resolve(term).index >= 0)
        if found:
            return found
    return []
