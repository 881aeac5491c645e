"""The OntologyBuilder: readers fill it line by line, and it freezes into the immutable Ontology.

The rules that every format shares live here: what a missing parent, a self-loop, a doubled stanza or a chain of
replacements means. Whatever is repaired or left out gets an entry in the report. Results depend on the content alone,
never on the order of a hash table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import CycleFound, OntologyError, ParseError
from .draft_checks import check_stanzas, note_unnamed
from .drafts import Draft, Lines, known, with_line
from .graph import circle, components, is_circular, spell
from .ontology import SCOPES, IntArray, Ontology, Retired
from .replacements import resolve_retired
from .report import LoadReport
from .strings import StringColumn

__all__ = ["OntologyBuilder", "ontology_from_parents"]


class OntologyBuilder:
    """A mutable ontology in the making.

    Lines count from 1; 0 means that none is known. Every ``add`` needs its term to be opened by ``define``
    first, which may happen more than once (the stanzas are merged).

    Args:
        report: where repairs and losses are told.

    >>> builder = OntologyBuilder(LoadReport("example"))
    >>> builder.define("EX:1", 1)
    >>> builder.define("EX:2", 4)
    >>> builder.add_parent("EX:2", "EX:1", 5)
    >>> builder.freeze(name="ex", version="", sha256="").term("EX:2").parents
    ('EX:1',)
    """

    def __init__(self, report: LoadReport) -> None:
        self.report = report
        self._drafts: dict[str, Draft] = {}
        self._relation_names: dict[str, str] = {}
        self._marks: dict[str, dict[str, None]] = {}

    def define(self, term: str, line: int = 0) -> None:
        """Opens ``term``; ``line`` is where its id stands."""
        draft = self._drafts.get(term)
        if draft is None:
            draft = self._drafts[term] = Draft()
        draft.lines.append(line)

    def set_name(self, term: str, name: str, line: int = 0) -> None:
        """Gives ``term`` its name. The first name stays; another one is reported."""
        draft = self._drafts[term]
        if draft.name and draft.name != name:
            self.report.warn(
                "second-name", f"{term} has a second name, {name!r}; {draft.name!r} was kept", _at(line), [term]
            )
        draft.name = draft.name or name

    def set_definition(self, term: str, text: str, references: Sequence[str] = (), line: int = 0) -> None:
        """Gives ``term`` its definition and the references of that. The first one stays; another one is reported."""
        draft = self._drafts[term]
        if draft.definition and draft.definition != text:
            self.report.warn(
                "second-definition", f"{term} has a second definition; the first was kept", _at(line), [term]
            )
            return
        draft.definition = text
        for reference in references:
            draft.references = with_line(draft.references, reference, line)

    def add_synonym(self, term: str, text: str, scope: str, line: int = 0, *, language: str = "") -> None:
        """Adds another name of ``term``; ``scope`` is one of ``SCOPES``, ``language`` a tag such as ``fr``."""
        draft = self._drafts[term]
        draft.synonyms = with_line(draft.synonyms, (text, SCOPES.index(scope), language), line)

    def add_parent(self, term: str, parent: str, line: int = 0) -> None:
        """Adds a direct is-a parent."""
        draft = self._drafts[term]
        draft.parents = with_line(draft.parents, parent, line)

    def add_relation(self, term: str, relation: str, target: str, line: int = 0) -> None:
        """Adds a typed relation, which is never a lattice edge."""
        draft = self._drafts[term]
        draft.relations = with_line(draft.relations, (relation, target), line)

    def add_alt_id(self, term: str, alternative: str, line: int = 0) -> None:
        """Adds an id that was merged into ``term``."""
        draft = self._drafts[term]
        draft.alt_ids = with_line(draft.alt_ids, alternative, line)

    def retire(self, term: str, line: int = 0) -> None:
        """Marks ``term`` as retired."""
        draft = self._drafts[term]
        draft.retired = with_line(draft.retired, len(draft.lines), line)

    def mark_live(self, term: str, line: int = 0) -> None:
        """Says outright that ``term`` is not retired, which counts only against another line that retires it."""
        draft = self._drafts[term]
        draft.kept = with_line(draft.kept, len(draft.lines), line)

    def add_replacement(self, term: str, successor: str, line: int = 0) -> None:
        """Says that ``successor`` stands for the retired ``term``."""
        draft = self._drafts[term]
        draft.replaced_by = with_line(draft.replaced_by, successor, line)

    def add_suggestion(self, term: str, other: str, line: int = 0) -> None:
        """Says that a person should consider ``other`` instead of the retired ``term``. It is never followed."""
        draft = self._drafts[term]
        draft.consider = with_line(draft.consider, other, line)

    def mark(self, term: str, mark: str) -> None:
        """Marks ``term`` with a word, such as ``abstract``, that says what it may not be used for."""
        self._marks.setdefault(mark, {})[term] = None

    def declare_relation(self, relation: str, name: str = "") -> None:
        """Declares a typed relation with its name."""
        self._relation_names[relation] = self._relation_names.get(relation) or name

    def freeze(
        self,
        *,
        name: str,
        version: str,
        sha256: str,
        header: Mapping[str, Sequence[str]] | None = None,
        allow_empty: bool = False,
        note_nameless: bool = False,
    ) -> Ontology:
        """Returns the ontology, after the shared rules were applied.

        Args:
            name: short name; where it is empty, the most frequent prefix of the ids in lower case.
            version: release, or empty.
            sha256: SHA-256 of the content, hex.
            header: header tags and their values.
            allow_empty: whether an ontology without a live term is one.
            note_nameless: whether live terms without a name deserve a note.

        Raises:
            CycleFound: the is-a relation has a cycle of two or more terms.
            ParseError: there is no live term.
        """
        self._drafts = {term: self._drafts[term] for term in sorted(self._drafts)}
        check_stanzas(self._drafts, self.report)
        live = {term: draft for term, draft in self._drafts.items() if not draft.retired}
        if not live and not allow_empty:
            raise ParseError(
                f"read {self.report.path}",
                f"it has no live terms ({len(self._drafts)} retired ones)",
                "Give an ontology file with at least one term that is not retired.",
                path=self.report.path,
            )
        note_unnamed(live, self._relation_names, self.report, terms=note_nameless)
        retired = resolve_retired(self._drafts, live, self.report)
        parents, relations, missing = self._edges(live, retired)
        for term in sorted(missing):
            lines = known(missing[term])
            self.report.warn(
                "undefined-term",
                f"{term} is used but never defined{self._on(lines)}; it stands as a placeholder without a name",
                lines,
                [term],
            )
        ids = tuple(sorted([*live, *missing]))
        number = {term: i for i, term in enumerate(ids)}
        parent_rows = [sorted(number[p] for p in parents.get(term, ())) for term in ids]
        self._refuse_cycle(ids, parent_rows, parents)
        blank = Draft()
        drafts = [live.get(term, blank) for term in ids]
        synonyms = [synonym for draft in drafts for synonym in draft.synonyms]
        relation_ids = tuple(sorted({*self._relation_names, *(r for _, r, _ in relations)}))
        relation_number = {relation: i for i, relation in enumerate(relation_ids)}
        triples = sorted({(number[s], relation_number[r], number[o]) for s, r, o in relations})
        return Ontology(
            name=name or _usual_prefix(live) or "unnamed",
            version=version,
            sha256=sha256,
            ids=ids,
            names=StringColumn.from_strings(draft.name for draft in drafts),
            definitions=StringColumn.from_strings(draft.definition for draft in drafts),
            references=StringColumn.from_strings("\n".join(draft.references) for draft in drafts),
            placeholder=np.array([term in missing for term in ids], dtype=np.bool_),
            parent_ptr=_ptr([len(row) for row in parent_rows]),
            parents=np.array([p for row in parent_rows for p in row], dtype=np.int32),
            synonym_ptr=_ptr([len(draft.synonyms) for draft in drafts]),
            synonym_texts=StringColumn.from_strings(text for text, _, _ in synonyms),
            synonym_scopes=np.array([scope for _, scope, _ in synonyms], dtype=np.uint8),
            synonym_languages=StringColumn.from_strings(language for _, _, language in synonyms),
            relations=np.array(triples, dtype=np.int32).reshape(-1, 3),
            relation_ids=relation_ids,
            relation_names=tuple(self._relation_names.get(relation, "") for relation in relation_ids),
            retired=retired,
            header={tag: tuple(values) for tag, values in (header or {}).items()},
            report=self.report,
            marks={mark: tuple(t for t in sorted(self._marks[mark]) if t in live) for mark in sorted(self._marks)},
        )

    def _edges(
        self, live: Mapping[str, Draft], retired: Mapping[str, Retired]
    ) -> tuple[dict[str, Lines[str]], list[tuple[str, str, str]], dict[str, list[int]]]:
        """Returns the parents with their lines, the typed relations, and the ids never defined with their lines."""
        parents: dict[str, Lines[str]] = {}
        relations: list[tuple[str, str, str]] = []
        missing: dict[str, list[int]] = {}
        for term, draft in live.items():
            mine: dict[str, Sequence[int]] = {}
            parents[term] = mine
            for parent, lines in draft.parents.items():
                today = self._today(term, "parent", parent, lines, live, retired)
                if today == term:
                    self.report.warn(
                        "self-loop",
                        f"{term} is its own parent{self._on(lines)}; that edge was cut",
                        known(lines),
                        [term],
                    )
                elif today is not None:
                    for line in lines:
                        with_line(mine, today, line)
                    if today not in live:
                        missing.setdefault(today, []).extend(lines)
            for (relation, target), lines in draft.relations.items():
                today = self._today(term, f"{relation} target", target, lines, live, retired)
                if today is not None:
                    relations.append((term, relation, today))
                    if today not in live:
                        missing.setdefault(today, []).extend(lines)
        return parents, relations, missing

    def _today(
        self,
        term: str,
        role: str,
        target: str,
        lines: Sequence[int],
        live: Mapping[str, Draft],
        retired: Mapping[str, Retired],
    ) -> str | None:
        """Returns the id to draw an edge to: ``target``, what stands for it today, or None where nothing does."""
        if target in live or target not in retired:
            return target
        today = retired[target].replacement
        done = f"today's id {today} is used" if today else "it has no replacement and the edge was cut"
        self.report.warn(
            "retired-target",
            f"{target}, {role} of {term}, is no longer live; {done}",
            known(lines),
            dict.fromkeys([term, target, *([today] if today else [])]),
        )
        return today

    def _refuse_cycle(
        self, ids: Sequence[str], rows: Sequence[Sequence[int]], parents: Mapping[str, Lines[str]]
    ) -> None:
        """Raises CycleFound where the is-a relation has a cycle; of several, that with the smallest id is named."""
        circular = [component for component in components(rows) if is_circular(component, rows)]
        if not circular:
            return
        cycle = tuple(ids[i] for i in circle(min(circular), rows))
        lines = known(*(parents[a][b] for a, b in zip(cycle, cycle[1:], strict=False)))
        raise CycleFound(
            f"read {self.report.path}",
            f"the is-a relation runs in a circle: {spell(cycle)}{self._on(lines)}",
            "Take one of these is-a lines out; which one is wrong cannot be told from the file.",
            cycle=cycle,
        )

    def _on(self, lines: Iterable[int]) -> str:
        """Returns `` (lines 3, 7)``, or the places that these stand for, or nothing without lines."""
        numbers = [n for n in lines if n]
        if not numbers:
            return ""
        more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
        if self.report.place_of is None:
            return f" (line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers[:5]))}{more})"
        places = [self.report.place_of(n) for n in numbers[:5]]
        return f" ({', '.join(place + (f' line {line}' if line else '') for place, line in places)}{more})"


def ontology_from_parents(
    parents: Mapping[str, Iterable[str]],
    *,
    names: Mapping[str, str] | None = None,
    name: str = "in-memory",
    version: str = "",
) -> Ontology:
    """Returns an ontology from a mapping of each term to its direct parents, for notebooks and tests.

    The rules are those of a file: a parent that is no key is a placeholder, with a warning in the report. The SHA-256
    is that of the canonical JSON of ids, names and parents, so equal content has an equal one.

    Args:
        parents: direct parents of each term.
        names: names of terms; a term without one is shown by its id.
        name: short name of the ontology.
        version: its release.

    Raises:
        CycleFound: the parents run in a circle.
        OntologyError: ``names`` names an id that is no key of ``parents``.
        TypeError: the parents of a term are a string instead of a collection of ids.

    >>> ontology_from_parents({"animal": [], "cat": ["animal"]}).roots
    ('animal',)
    """
    names = names or {}
    strangers = sorted(set(names) - set(parents))
    if strangers:
        raise OntologyError(
            f"build the ontology {name}",
            f"names are given for {', '.join(strangers[:5])}, without parents",
            "List every term as a key of parents, with an empty list where it is a root.",
        )
    builder = OntologyBuilder(LoadReport(f"<{name}>"))
    for term, above in parents.items():
        if isinstance(above, str):
            raise TypeError(f"the parents of {term} are the string {above!r}; give a list of ids")
        builder.define(term)
        builder.set_name(term, names.get(term, ""))
        for parent in above:
            builder.add_parent(term, parent)
    ontology = builder.freeze(name=name, version=version, sha256="", allow_empty=True)
    content = {
        term: [ontology.names[i], [ontology.ids[p] for p in ontology.parents_of(i)]]
        for i, term in enumerate(ontology.ids)
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return replace(ontology, sha256=hashlib.sha256(canonical.encode("ascii")).hexdigest())


def _ptr(lengths: Sequence[int]) -> IntArray:
    """Returns the row pointer of rows with these lengths, int32 ``[rows + 1]``."""
    ptr = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=ptr[1:])
    return ptr


def _usual_prefix(ids: Iterable[str]) -> str:
    """Returns the most frequent prefix of ``ids`` in lower case, ties by code point, or an empty string."""
    counts: dict[str, int] = {}
    for term in ids:
        prefix, colon, _ = term.partition(":")
        if colon and "://" not in term:
            counts[prefix] = counts.get(prefix, 0) + 1
    return min(counts, key=lambda prefix: (-counts[prefix], prefix)).lower() if counts else ""


def _at(line: int) -> list[int]:
    """Returns the line as a list, empty where there is none."""
    return [line] if line else []
