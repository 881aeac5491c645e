"""Reader of OBO 1.0 to 1.4 flat files. One bad line costs itself, not the file, and is named in the report."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from ..builder import OntologyBuilder
from ..iris import BASE_TAG
from ..magic import refusal
from ..ontology import Ontology
from ..report import LoadReport, Tally
from ..source import SourceLike, decode_lines, read_source
from .obo_header import OboHeader
from .obo_syntax import INVISIBLE, Fault, logical_lines, read_ids, read_stanza_head, read_text
from .obo_term import Clause, TermReader

__all__ = ["can_read", "read_obo", "release_of"]

# Begins at line ends alone, not at each blank, so that a long run of blanks costs linear time.
_SIGN = re.compile(
    rf"(?:\A|[\r\n])(?:[^\S\r\n]|[{INVISIBLE}])*(?:format-version\s*:|\[\s*(?:Term|Typedef|Instance)\b)", re.IGNORECASE
)
_MARKUP = re.compile(rf"(?:\s|[{INVISIBLE}])*<")


def can_read(content: bytes) -> bool:
    """Returns whether uncompressed content, or its beginning, looks like OBO.

    >>> can_read(b"format-version: 1.4")
    True
    """
    encoding = "utf-16" if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"
    text = content.decode(encoding, "replace")
    return _SIGN.search(text) is not None and _MARKUP.match(text) is None


def release_of(lines: Sequence[str]) -> str:
    """Returns the release that the header in the first ``lines`` of a file states, or an empty string."""
    header = OboHeader(LoadReport(""))
    for _, line in logical_lines(lines):
        if line.lstrip()[:1] == "[":
            break
        tag, colon, value = line.partition(":")
        if colon:
            header.add(tag.strip(), value.strip(), 0)
    return header.version


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
    reader = _OboReader(report)
    if not can_read(content) or not reader.read(decode_lines(content, report)):
        raise refusal(
            content,
            asked=f"read {found.path} as OBO",
            path=found.path,
            otherwise=" and has no [Term] stanza",
            do="Give an OBO file (its terms begin with a line [Term]), or read it by the format it has.",
        )
    ontology = reader.finish(found.content_sha256)
    if strict:
        report.require_clean()
    return ontology


class _OboReader:
    """One reading of one file: cuts it into stanzas and hands their clauses on."""

    def __init__(self, report: LoadReport) -> None:
        self.report = report
        self.builder = OntologyBuilder(report)
        self.header = OboHeader(report)
        self.tally = Tally()
        self.terms = TermReader(report, self.builder, self.tally)

    def read(self, lines: list[str]) -> int:
        """Reads all lines. Returns the number of stanzas."""
        kind, opened, stanzas = "", 0, 0
        clauses: list[Clause] = []
        known = self.terms.tags
        for number, raw in logical_lines(lines):
            line = raw.strip()
            bare = line.lstrip(INVISIBLE)
            if not bare or bare[0] == "!":
                continue
            if bare[0] == "[":
                found, clean = read_stanza_head(bare)
                if found:
                    self._close(kind, opened, clauses)
                    kind, opened, clauses = found, number, []
                    stanzas += 1
                    self._stanza_head(line, kind, number, clean=clean and bare == line)
                    continue
            tag, colon, value = line.partition(":")
            tag = tag.rstrip()
            if colon and tag and tag[0] != "[" and " " not in tag:
                if tag not in known and kind in ("Term", "Typedef"):
                    tag = self.terms.tag(tag, number)
                clauses.append(Clause(number, tag, value.strip()))
            else:
                self.report.warn("no-tag", f"line {number} is no 'tag: value' line; it was left out", [number])
        self._close(kind, opened, clauses)
        return stanzas

    def finish(self, sha256: str) -> Ontology:
        """Returns the ontology of what was read."""
        self.tally.tell(self.report)
        header = self.header
        tags = {**header.tags, BASE_TAG: header.bases} if header.bases else header.tags
        return self.builder.freeze(
            name=header.name, version=header.version, sha256=sha256, header=tags, note_nameless=True
        )

    def _stanza_head(self, line: str, kind: str, number: int, *, clean: bool) -> None:
        if not clean:
            self.report.warn("stanza-head", f"{line!r} was read as [{kind}]", [number])
        if kind not in ("Term", "Typedef"):
            self.tally.add("unread-stanza", f"stanzas of type [{kind}] were left out", number)

    def _close(self, kind: str, opened: int, clauses: list[Clause]) -> None:
        """Hands the clauses of one stanza (or, with an empty kind, of the header) on."""
        if not kind:
            for clause in clauses:
                self.header.add(clause.tag, clause.value, clause.line)
        elif kind in ("Term", "Typedef"):
            for term, own in self._split(opened, clauses):
                (self._term if kind == "Term" else self._typedef)(term, own)

    def _split(self, opened: int, clauses: list[Clause]) -> list[tuple[Clause, list[Clause]]]:
        """Returns each id clause, its value read, with the clauses that belong to it.

        A second id in one stanza means that a stanza head is missing: what follows it would otherwise become parents
        and names of the wrong term.
        """
        frames: list[tuple[Clause, list[Clause]]] = []
        early: list[Clause] = []
        faults: list[tuple[Fault, Clause]] = []
        for clause in clauses:
            if clause.tag != "id":
                (frames[-1][1] if frames else early).append(clause)
                continue
            ids, fault = read_ids(clause.value)
            if fault:
                faults.append((fault, clause))
            elif frames:
                repeated = frames[-1][0].value == ids[0]
                done = "the repetition was ignored" if repeated else "it was read as the start of a new stanza"
                self.report.warn("second-id", f"a second id, {ids[0]}, in one stanza; {done}", [clause.line], ids)
            if ids and not (frames and frames[-1][0].value == ids[0]):
                frames.append((Clause(clause.line, "id", ids[0]), [] if frames else early))
        if not frames:  # that lines of its id are empty is the same fault
            lines = [opened, *(clause.line for _, clause in faults)]
            self.report.warn("no-id", f"the stanza on line {opened} has no id; it was left out", lines)
            return []
        for fault, clause in faults:
            self.terms.fault(fault, clause)
        return frames

    def _term(self, opening: Clause, clauses: list[Clause]) -> None:
        self.builder.define(opening.value, opening.line)
        self.terms.read(opening.value, clauses)

    def _typedef(self, opening: Clause, clauses: list[Clause]) -> None:
        name = next((clause.value for clause in clauses if clause.tag == "name"), "")
        self.builder.declare_relation(opening.value, read_text(name)[0])
