"""The clauses of one OBO term: each known tag is handed to the builder, each fault to the report."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..builder import OntologyBuilder
from ..ontology import SCOPES
from ..report import LoadReport, Tally
from .obo_syntax import (
    INVISIBLE,
    Fault,
    is_iso_date,
    qualifier_keys,
    read_ids,
    read_property,
    read_quoted,
    read_text,
    read_xref,
    split_tail,
)

__all__ = ["Clause", "TermReader"]

_YES = frozenset({"true", "1", "yes"})

# Tags of a term that are known and play no part here.
_PASSED_OVER = frozenset(
    {"id", "is_anonymous", "namespace", "comment", "subset", "builtin", "created_by", "modified_by"}
)

# Properties that say in the way of OWL what OBO has a tag for.
_PROPERTY = re.compile(
    r"<?(?:http://purl\.obolibrary\.org/obo/|IAO:)(?:IAO_)?0100001>?[ \t](?P<successor>.*)"
    r"|<?(?:http://www\.w3\.org/2002/07/owl#|owl:)?deprecated>?[ \t](?P<deprecated>.*)"
)
_OBO_ADDRESS = re.compile(r"<?https?://purl\.obolibrary\.org/obo/([A-Za-z]\w*)_(\w+)>?")


class Clause(NamedTuple):
    """One line: its number, its tag, and all behind the colon."""

    line: int
    tag: str
    value: str


class TermReader:
    """Reads the clauses of terms, one after another."""

    def __init__(self, report: LoadReport, builder: OntologyBuilder, tally: Tally) -> None:
        self.report = report
        self.builder = builder
        self.tally = tally
        # intersection_of, union_of, equivalent_to and disjoint_from are checked but draw no edge: a definition's
        # genus need not be a direct parent (in GO it often is an ancestor), so an edge to it would shorten hops.
        self._handlers: dict[str, Callable[[str, Clause], None]] = {
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
            "property_value": self._property,
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
        self.tags = frozenset({*self._handlers, *_PASSED_OVER})

    def read(self, term: str, clauses: list[Clause]) -> None:
        """Reads the clauses of ``term``, which the builder knows."""
        for clause in clauses:
            handler = self._handlers.get(clause.tag)
            if handler is not None:
                handler(term, clause)
            elif clause.tag not in _PASSED_OVER:
                message = f"tag {clause.tag!r} is no tag of an OBO term; its lines were left out"
                self.tally.add("unknown-tag", message, clause.line)

    def tag(self, written: str, line: int) -> str:
        """Returns the known tag that ``written`` is another spelling of, which is reported, or ``written`` itself."""
        spelled = written.strip(INVISIBLE).lower().replace("-", "_")
        if spelled not in self.tags:
            return written
        self.report.warn("odd-tag", f"tag {written!r} was read as {spelled!r}", [line])
        return spelled

    def fault(self, fault: Fault, clause: Clause, term: str = "") -> None:
        """Reports a fault of a clause."""
        message = f"{clause.tag}: {fault.message}"
        if fault.harmless:
            self.tally.add(fault.kind, message, clause.line)
        else:
            self.report.warn(fault.kind, message, [clause.line], [term] if term else ())

    def _ids(self, term: str, clause: Clause, count: int = 1, *, several: bool = False) -> tuple[str, ...]:
        ids, fault = read_ids(clause.value, count, several=several)
        if fault:
            self.fault(fault, clause, term)
        return ids

    def _conditional(self, clause: Clause) -> bool:
        """Returns whether the line is a general class inclusion, which holds of only some of the term's instances."""
        if "gci_relation" not in clause.value or "gci_relation" not in qualifier_keys(clause.value):
            return False
        message = f"{clause.tag} lines with gci_relation hold only in part; they drew no edge"
        self.tally.add("conditional-edge", message, clause.line)
        return True

    def _name(self, term: str, clause: Clause) -> None:
        text, fault = read_text(clause.value)
        if fault:
            self.fault(fault, clause, term)
        self.builder.set_name(term, text, clause.line)

    def _definition(self, term: str, clause: Clause) -> None:
        quoted = read_quoted(clause.value)
        fault = quoted.fault
        if fault:
            kept = "; it was kept as it stands" if fault.kind == "unquoted-text" else ""
            self.fault(Fault(fault.kind, fault.message + kept), clause, term)
        self.builder.set_definition(term, quoted.text, quoted.references, clause.line)

    def _synonym(self, term: str, clause: Clause) -> None:
        quoted = read_quoted(clause.value)
        fault, words = quoted.fault, quoted.words
        if fault and fault.kind == "unquoted-text":
            self.fault(Fault(fault.kind, f"{fault.message}; the synonym {clause.value!r} was left out"), clause, term)
            return
        scope = clause.tag.removesuffix("_synonym").upper()
        if clause.tag == "synonym":
            given = words[0] if words else "RELATED"
            scope, words = given.upper(), words[1:]
            if scope not in SCOPES:
                fault = fault or Fault("bad-scope", f"{given!r} is none of {', '.join(SCOPES)}; read as RELATED")
                scope = "RELATED"
            elif given != scope:
                fault = fault or Fault("odd-scope", f"the scope {given!r} was read as {scope}")
        if words and (len(words) > 1 or words[0] in SCOPES):
            fault = fault or Fault("extra-words", f"the words {' '.join(words)!r} are no synonym type; left out")
        if fault:
            self.fault(fault, clause, term)
        if quoted.text.strip():
            self.builder.add_synonym(term, quoted.text, scope)
        else:
            self.tally.add("empty-synonym", "synonyms without text were left out", clause.line)

    def _parent(self, term: str, clause: Clause) -> None:
        if not self._conditional(clause):
            for parent in self._ids(term, clause):
                self.builder.add_parent(term, parent, clause.line)

    def _relation(self, term: str, clause: Clause) -> None:
        ids = self._ids(term, clause, 2)
        if not ids or self._conditional(clause):
            return
        if ids[0] == "is_a":
            self.fault(Fault("is-a-relation", "is_a has a tag of its own; read as an is_a line"), clause, term)
            self.builder.add_parent(term, ids[1], clause.line)
        else:
            self.builder.add_relation(term, ids[0], ids[1], clause.line)

    def _alt_id(self, term: str, clause: Clause) -> None:
        for alternative in self._ids(term, clause):
            self.builder.add_alt_id(term, alternative, clause.line)

    def _replaced_by(self, term: str, clause: Clause) -> None:
        for successor in self._ids(term, clause, several=True):
            self.builder.add_replacement(term, successor, clause.line)

    def _consider(self, term: str, clause: Clause) -> None:
        for other in self._ids(term, clause, several=True):
            self.builder.add_suggestion(term, other, clause.line)

    def _obsolete(self, term: str, clause: Clause) -> None:
        value = split_tail(clause.value)[0]
        retired = value.strip('"').lower() in _YES
        if value not in ("true", "false"):
            meaning = "retired" if retired else "not retired"
            self.fault(Fault("bad-boolean", f"{value!r} is neither true nor false; read as {meaning}"), clause, term)
        if retired:
            self.builder.retire(term, clause.line)
        else:
            self.builder.mark_live(term, clause.line)

    def _property(self, term: str, clause: Clause) -> None:
        match = _PROPERTY.match(clause.value.replace("\\:", ":"))
        if match is None:
            fault = read_property(clause.value)
            if fault:
                self.fault(fault, clause, term)
            return
        ids, _ = read_ids(match["successor"] or match["deprecated"] or "")
        for word in ids:
            if match["deprecated"] is None:
                self.builder.add_replacement(term, _OBO_ADDRESS.sub(r"\1:\2", word), clause.line)
                self.tally.add("property", "the property IAO:0100001 was read as replaced_by", clause.line)
            elif word.lower() in _YES:
                self.builder.retire(term, clause.line)
                self.tally.add("property", "the property owl:deprecated was read as is_obsolete", clause.line)

    def _xref(self, term: str, clause: Clause) -> None:
        fault = read_xref(clause.value)
        if fault:
            self.fault(fault, clause, term)

    def _creation_date(self, term: str, clause: Clause) -> None:
        value = clause.value
        if not is_iso_date(value) and not is_iso_date(split_tail(value)[0].strip('"')):
            self.fault(Fault("bad-date", f"{value!r} is no ISO 8601 date"), clause, term)

    def _logical(self, term: str, clause: Clause) -> None:
        words = split_tail(clause.value)[0].split()
        self._ids(term, clause, 2 if clause.tag == "intersection_of" and len(words) != 1 else 1)
