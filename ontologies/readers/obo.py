"""Reader of OBO 1.0 to 1.4 flat files. One bad line costs itself, not the file, and is named in the report."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import NamedTuple

from ...errors import ParseError
from ..builder import OntologyBuilder
from ..ontology import SCOPES, Ontology
from ..report import LoadReport
from ..source import SourceLike, decode_lines, read_source
from .obo_header import OboHeader
from .obo_syntax import (
    Fault,
    is_iso_date,
    logical_lines,
    read_ids,
    read_quoted,
    read_stanza_head,
    read_text,
    read_xref,
    split_tail,
)

__all__ = ["can_read", "read_obo"]

_SIGN = re.compile(r"^\s*(?:format-version\s*:|\[\s*(?:Term|Typedef|Instance)\b)", re.MULTILINE | re.IGNORECASE)
_YES = frozenset({"true", "1", "yes"})

# Tags of a term that are known and play no part here.
_PASSED_OVER = frozenset(
    {"is_anonymous", "namespace", "comment", "subset", "builtin", "property_value", "created_by", "modified_by"}
)


class _Clause(NamedTuple):
    line: int
    tag: str
    value: str


def can_read(head: bytes) -> bool:
    """Returns whether the uncompressed ``head`` of a file looks like OBO.

    >>> can_read(b"format-version: 1.4")
    True
    """
    encoding = "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    return _SIGN.search(head.decode(encoding, "replace")) is not None


def read_obo(source: SourceLike, *, strict: bool = False, name: str | None = None) -> Ontology:
    r"""Returns the ontology in an OBO file.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        strict: refuse a file with a warning, naming the first one by line, instead of reporting and going on.
        name: name of the source in reports.

    Raises:
        ParseError: the file is no OBO file, is damaged, has no live term, or has a warning under ``strict``.
        CycleFound: the is-a relation has a cycle of two or more terms.
        DataMissing: there is no such file.

    >>> read_obo(b"[Term]\nid: EX:1\nname: root\n").term("EX:1").name
    'root'
    """
    found = read_source(source, name=name)
    content = found.content()
    report = LoadReport(found.path)
    lines = decode_lines(content, report)
    if not any(line.lstrip()[:1] == "[" and read_stanza_head(line.strip())[0] for line in lines):
        start = next((line.strip() for line in lines if line.strip()), "")
        what = f"it begins with {start[:60]!r} and has no [Term] stanza" if start else "it is empty"
        raise ParseError(
            f"read {found.path} as OBO",
            what,
            "Give an OBO file (its terms begin with a line [Term]), or read it by the format it has.",
            path=found.path,
        )
    reader = _OboReader(report)
    reader.read(lines)
    ontology = reader.finish(found.content_sha256)
    if strict:
        report.require_clean()
    return ontology


class _OboReader:
    """One reading of one file: cuts it into stanzas and hands each clause to the builder."""

    def __init__(self, report: LoadReport) -> None:
        self.report = report
        self.builder = OntologyBuilder(report)
        self.header = OboHeader(report)
        self.unread: dict[tuple[str, str], list[int]] = {}
        # intersection_of, union_of, equivalent_to and disjoint_from are checked but draw no edge: a definition's
        # genus need not be a direct parent (in GO it often is an ancestor), so an edge to it would shorten hops.
        self.term_tags: dict[str, Callable[[str, _Clause], None]] = {
            "name": self._name,
            "def": self._definition,
            "synonym": self._synonym,
            "is_a": self._parent,
            "relationship": self._relation,
            "alt_id": self._alt_id,
            "is_obsolete": self._obsolete,
            "replaced_by": self._replaced_by,
            "consider": self._consider,
            "use_term": self._consider,
            "xref": self._xref,
            "xref_analog": self._xref,
            "xref_unk": self._xref,
            "creation_date": self._creation_date,
            "intersection_of": self._logical,
            "union_of": self._logical,
            "equivalent_to": self._logical,
            "disjoint_from": self._logical,
            **{f"{scope.lower()}_synonym": self._synonym for scope in SCOPES},
        }

    def read(self, lines: list[str]) -> None:
        """Reads all lines."""
        kind, opened = "", 0
        clauses: list[_Clause] = []
        for number, raw in logical_lines(lines):
            line = raw.strip()
            if not line or line[0] == "!":
                continue
            if line[0] == "[":
                found, clean = read_stanza_head(line)
                if found:
                    self._close(kind, opened, clauses)
                    kind, opened, clauses = found, number, []
                    self._stanza_head(line, kind, number, clean=clean)
                    continue
            tag, colon, value = line.partition(":")
            tag = tag.rstrip()
            if colon and tag and tag[0] != "[" and " " not in tag:
                clauses.append(_Clause(number, tag, value.strip()))
            else:
                self.report.warn("no-tag", f"line {number} is no 'tag: value' line; it was left out", [number])
        self._close(kind, opened, clauses)

    def finish(self, sha256: str) -> Ontology:
        """Returns the ontology of what was read."""
        for (kind, what), lines in sorted(self.unread.items()):
            self.report.note(kind, f"{what} ({len(lines)} times)", lines)
        header = self.header
        return self.builder.freeze(name=header.name, version=header.version, sha256=sha256, header=header.tags)

    def _stanza_head(self, line: str, kind: str, number: int, *, clean: bool) -> None:
        if not clean:
            self.report.warn("stanza-head", f"{line!r} was read as [{kind}]", [number])
        if kind not in ("Term", "Typedef"):
            self.unread.setdefault(("unread-stanza", f"stanzas of type [{kind}] were left out"), []).append(number)

    def _close(self, kind: str, opened: int, clauses: list[_Clause]) -> None:
        """Hands the clauses of one stanza (or, with an empty kind, of the header) on."""
        if not kind:
            for clause in clauses:
                self.header.add(clause.tag, clause.value, clause.line)
        elif kind in ("Term", "Typedef"):
            for term, own in self._split(opened, clauses):
                (self._term if kind == "Term" else self._typedef)(term, own)

    def _split(self, opened: int, clauses: list[_Clause]) -> list[tuple[_Clause, list[_Clause]]]:
        """Returns each id clause, its value read, with the clauses that belong to it.

        A second id in one stanza means that a stanza head is missing: what follows it would otherwise become parents
        and names of the wrong term.
        """
        frames: list[tuple[_Clause, list[_Clause]]] = []
        early: list[_Clause] = []
        for clause in clauses:
            if clause.tag != "id":
                (frames[-1][1] if frames else early).append(clause)
                continue
            ids, fault = read_ids(clause.value)
            if fault:
                self._fault(fault, clause)
            elif frames:
                repeated = frames[-1][0].value == ids[0]
                done = "the repetition was ignored" if repeated else "it was read as the start of a new stanza"
                self.report.warn("second-id", f"a second id, {ids[0]}, in one stanza; {done}", [clause.line], ids)
            if ids and not (frames and frames[-1][0].value == ids[0]):
                frames.append((_Clause(clause.line, "id", ids[0]), [] if frames else early))
        if not frames:
            self.report.warn("no-id", f"the stanza on line {opened} has no id; it was left out", [opened])
        return frames

    def _term(self, opening: _Clause, clauses: list[_Clause]) -> None:
        term = opening.value
        self.builder.define(term, opening.line)
        for clause in clauses:
            handler = self.term_tags.get(clause.tag)
            if handler is not None:
                handler(term, clause)
            elif clause.tag not in _PASSED_OVER:
                what = ("unknown-tag", f"tag {clause.tag!r} is no tag of an OBO term; its lines were left out")
                self.unread.setdefault(what, []).append(clause.line)

    def _typedef(self, opening: _Clause, clauses: list[_Clause]) -> None:
        name = next((clause.value for clause in clauses if clause.tag == "name"), "")
        self.builder.declare_relation(opening.value, read_text(name)[0])

    def _fault(self, fault: Fault, clause: _Clause, term: str = "") -> None:
        self.report.warn(fault.kind, f"{clause.tag}: {fault.message}", [clause.line], [term] if term else ())

    def _ids(self, term: str, clause: _Clause, count: int = 1) -> tuple[str, ...]:
        ids, fault = read_ids(clause.value, count)
        if fault:
            self._fault(fault, clause, term)
        return ids

    def _conditional(self, clause: _Clause) -> bool:
        """Returns whether the line is a general class inclusion, which holds of only some of the term's instances."""
        if "gci_relation" not in clause.value or "{" not in clause.value:
            return False
        what = ("conditional-edge", f"{clause.tag} lines with gci_relation hold only in part; they drew no edge")
        self.unread.setdefault(what, []).append(clause.line)
        return True

    def _name(self, term: str, clause: _Clause) -> None:
        text, fault = read_text(clause.value)
        if fault:
            self._fault(fault, clause, term)
        self.builder.set_name(term, text, clause.line)

    def _definition(self, term: str, clause: _Clause) -> None:
        quoted = read_quoted(clause.value)
        if quoted.fault:
            self._fault(quoted.fault, clause, term)
        self.builder.set_definition(term, quoted.text, quoted.references, clause.line)

    def _synonym(self, term: str, clause: _Clause) -> None:
        quoted = read_quoted(clause.value)
        fault = quoted.fault
        scope = clause.tag.removesuffix("_synonym").upper()
        if clause.tag == "synonym":
            scope = quoted.words[0] if quoted.words else "RELATED"
            if scope not in SCOPES:
                fault = fault or Fault("bad-scope", f"{scope!r} is none of {', '.join(SCOPES)}; read as RELATED")
                scope = "RELATED"
        if fault:
            self._fault(fault, clause, term)
        if quoted.text.strip() and clause.value.startswith('"'):
            self.builder.add_synonym(term, quoted.text, scope)

    def _parent(self, term: str, clause: _Clause) -> None:
        if not self._conditional(clause):
            for parent in self._ids(term, clause):
                self.builder.add_parent(term, parent, clause.line)

    def _relation(self, term: str, clause: _Clause) -> None:
        ids = self._ids(term, clause, 2)
        if not ids or self._conditional(clause):
            return
        if ids[0] == "is_a":
            self._fault(Fault("is-a-relation", "is_a has a tag of its own; read as an is_a line"), clause, term)
            self.builder.add_parent(term, ids[1], clause.line)
        else:
            self.builder.add_relation(term, ids[0], ids[1], clause.line)

    def _alt_id(self, term: str, clause: _Clause) -> None:
        for alternative in self._ids(term, clause):
            self.builder.add_alt_id(term, alternative, clause.line)

    def _replaced_by(self, term: str, clause: _Clause) -> None:
        for successor in self._ids(term, clause):
            self.builder.add_replacement(term, successor, clause.line)

    def _consider(self, term: str, clause: _Clause) -> None:
        for other in self._ids(term, clause):
            self.builder.add_suggestion(term, other, clause.line)

    def _obsolete(self, term: str, clause: _Clause) -> None:
        value = split_tail(clause.value)[0]
        retired = value.strip('"').lower() in _YES
        if value not in ("true", "false"):
            meaning = "retired" if retired else "not retired"
            self._fault(Fault("bad-boolean", f"{value!r} is neither true nor false; read as {meaning}"), clause, term)
        if retired:
            self.builder.retire(term, clause.line)

    def _xref(self, term: str, clause: _Clause) -> None:
        fault = read_xref(clause.value)
        if fault:
            self._fault(fault, clause, term)

    def _creation_date(self, term: str, clause: _Clause) -> None:
        value = clause.value
        if not is_iso_date(value) and not is_iso_date(split_tail(value)[0].strip('"')):
            self._fault(Fault("bad-date", f"{value!r} is no ISO 8601 date"), clause, term)

    def _logical(self, term: str, clause: _Clause) -> None:
        words = split_tail(clause.value)[0].split()
        self._ids(term, clause, 2 if clause.tag == "intersection_of" and len(words) != 1 else 1)
