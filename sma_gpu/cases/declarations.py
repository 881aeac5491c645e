"""Signatures, and the plain text in which a vocabulary of one's own is declared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import CaseError, ParseError
from ..ontologies.builder import OntologyBuilder
from ..ontologies.ontology import Ontology
from ..ontologies.report import LoadReport
from ..ontologies.source import Source
from .plaintext import QUOTED, quote, read_text, unquote, visible

__all__ = ["Declared", "Signature", "read_declarations"]


@dataclass(frozen=True)
class Signature:
    """What a predicate takes.

    Attributes:
        kinds: kind of each argument: ``entity``, ``statement``, ``any``, or the type that an entity must have.
        variadic: the last kind repeats, once or more often.
        commutative: the arguments match in any order.

    Raises:
        CaseError: a kind is no text or is empty; it is variadic without a kind to repeat, or commutative over arguments
            of different kinds.

    Example:
        >>> Signature(("statement", "statement")).arity
        '2 arguments'
    """

    kinds: tuple[str, ...]
    variadic: bool = False
    commutative: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.kinds, str):
            raise CaseError(
                "signature", f"its kinds are one string, {quote(self.kinds)}", f"Give a tuple: ({quote(self.kinds)},)."
            )
        object.__setattr__(self, "kinds", tuple(self.kinds))
        for place, kind in enumerate(self.kinds, 1):
            if not isinstance(kind, str) or not kind:
                raise CaseError(
                    "signature",
                    f"kind {place} is {'empty' if kind == '' else f'{kind!r:.40}, no text'}",
                    "Give entity, statement, any, or the type that an entity must have.",
                )
        if self.variadic and not self.kinds:
            raise CaseError("signature", "it is variadic, but no kind is given", "Give the kind that repeats.")
        if self.commutative and len(set(self.kinds)) > 1:
            raise CaseError(
                "signature",
                f"it is commutative, but its arguments are of different kinds: {', '.join(self.kinds)}",
                "Give all arguments of a commutative predicate one kind, such as any.",
            )

    @property
    def arity(self) -> str:
        """How many arguments are wanted, in words."""
        count = f"{len(self.kinds)} argument{'' if len(self.kinds) == 1 else 's'}"
        return f"{count} or more" if self.variadic else count

    def takes(self, count: int) -> bool:
        """Returns whether it takes ``count`` arguments."""
        return count == len(self.kinds) or (self.variadic and count > len(self.kinds))

    def kind(self, place: int) -> str:
        """Returns the kind of the argument at ``place``, counted from 0."""
        return self.kinds[min(place, len(self.kinds) - 1)]


@dataclass(frozen=True, eq=False)
class Declared:
    """What a file of declarations says: the is-a order, signatures, and types of which each entity is a constant."""

    ontology: Ontology
    signatures: Mapping[str, Signature]
    constant_types: frozenset[str]


def read_declarations(source: Source) -> Declared:
    """Returns what the plain text in ``source`` declares; ``read_vocabulary`` describes its form.

    Raises:
        ParseError: it is no such text, or it contradicts itself.
        CycleFound: the is-a relation has a cycle.

    >>> read_declarations(Source("own.txt", b"flow is-a process")).ontology.ids
    ('flow', 'process')
    """
    reader = _Reader(source)
    for number, line in enumerate(read_text(source, wanted="a vocabulary").split("\n"), 1):
        words = reader.words(line, number)
        if words:
            reader.add(words, number)
    return reader.freeze()


_IS_A, _ARGS, _COMMUTATIVE, _CONSTANT, _COMMA, _REPEATS = "is-a", "args", "commutative", "constant", ",", "..."
_NEARLY_IS_A = ("is", "isa", "is_a", "a")
_WORD = re.compile(rf'(?P<blank>\s+)|(?P<comment>#.*)|(?P<comma>,)|(?P<quoted>{QUOTED})|(?P<bare>[^\s",]+)')


@dataclass(frozen=True)
class _Word:
    """A word of a declaration; ``mark`` is its text if it stands bare, since only bare words have a meaning."""

    text: str
    mark: str


class _Reader:
    """The declarations of one file, gathered line by line."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.parents: dict[str, dict[str, int]] = {}  # of each predicate, with the line that says so first
        self.kinds: dict[str, tuple[tuple[str, ...], bool, int]] = {}  # kinds, variadic, line
        self.commutative: dict[str, int] = {}
        self.constants: set[str] = set()

    def fault(self, line: int, found: str, do: str) -> ParseError:
        path = self.source.path
        return ParseError(f"read {path}, line {line}, as a vocabulary", visible(found), do, path=path, line=line)

    def words(self, text: str, line: int) -> list[_Word]:
        """Returns the words and commas of one line."""
        words: list[_Word] = []
        at, after_word = 0, False
        while at < len(text):
            token = _WORD.match(text, at)
            if token is None:
                raise self.fault(line, f"a quote has no end: {text[at : at + 40]}", 'Close it with ".')
            at = token.end()
            kind = token.lastgroup
            is_word = kind in ("quoted", "bare")
            if is_word and after_word and token[0] != _REPEATS:
                raise self.fault(line, f"no blank stands before {token[0]}", "Put a blank between two words.")
            after_word = is_word
            if kind == "quoted":
                try:
                    words.append(_Word(unquote(token[0]), ""))
                except ValueError as fault:
                    raise self.fault(line, str(fault), r"Escapes are \" \\ \n \t \r and \uXXXX.") from fault
            elif kind in ("bare", "comma"):
                words.append(_Word(token[0], token[0]))
        return words

    def add(self, words: list[_Word], line: int) -> None:
        """Adds the declaration on one line."""
        if words[0].mark == _CONSTANT:
            if len(words) != 2 or words[1].mark == _COMMA:
                raise self.fault(
                    line,
                    f"{_CONSTANT} is followed by {len(words) - 1} words",
                    f'Name one type on each line, as in "constant number"; a predicate {_CONSTANT} stands in quotes.',
                )
            if not words[1].text:
                raise self.fault(line, "the type of constants has an empty name", "Give it a name.")
            self.constants.add(words[1].text)
            return
        if words[0].mark in (_IS_A, _ARGS, _COMMUTATIVE, _COMMA, _REPEATS) or words[0].mark[:1] in ("(", "{"):
            raise self.fault(
                line,
                f"it begins with {quote(words[0].text)}, where a predicate is wanted",
                "Begin each line with the predicate that it declares, as in: pressure is-a quantity",
            )
        predicate = words[0].text
        if not predicate:
            raise self.fault(line, "a predicate has an empty name", "Give it a name.")
        mine = self.parents.setdefault(predicate, {})
        at, seen = 1, set()
        while at < len(words):
            word, at = words[at].mark, at + 1
            if word not in (_IS_A, _ARGS, _COMMUTATIVE):
                hint = "Write is-a, with a hyphen." if word.lower() in _NEARLY_IS_A else "Separate parents by commas."
                raise self.fault(
                    line,
                    f"{quote(words[at - 1].text)} is not known here",
                    f"After the predicate come {_IS_A}, {_ARGS} or {_COMMUTATIVE}. {hint}",
                )
            if word in seen:
                raise self.fault(line, f"{word} comes twice", "Say it once, with all that belongs to it.")
            seen.add(word)
            if word == _COMMUTATIVE:
                self.commutative.setdefault(predicate, line)
            elif word == _IS_A:
                parents, at = self._parents(words, at, line)
                if predicate in parents:
                    raise self.fault(line, f"{quote(predicate)} is its own parent", "Take it out of its parents.")
                for parent in parents:
                    mine.setdefault(parent, line)
            else:
                at = self._kinds(predicate, words, at, line)

    def _parents(self, words: list[_Word], at: int, line: int) -> tuple[list[str], int]:
        """Returns the parents that begin at word ``at``, and where they end."""
        parents: list[str] = []
        while True:
            if at >= len(words) or words[at].mark in (_COMMA, _IS_A, _ARGS, _COMMUTATIVE) or not words[at].text:
                raise self.fault(
                    line, f"a parent is missing after {quote(words[at - 1].text)}", "Name it, or take that out."
                )
            parents.append(words[at].text)
            at += 1
            if at >= len(words) or words[at].mark != _COMMA:
                return parents, at
            at += 1

    def _kinds(self, predicate: str, words: list[_Word], at: int, line: int) -> int:
        """Enters the kinds that begin at word ``at``; returns where they end."""
        kinds: list[str] = []
        variadic = False
        while at < len(words) and words[at].mark not in (_IS_A, _COMMUTATIVE, _ARGS):
            word, at = words[at], at + 1
            if variadic or word.mark == _COMMA or not word.text:
                raise self.fault(
                    line,
                    f"{quote(word.text) if word.text else 'an empty kind'} stands among the kinds of {predicate}",
                    f"Separate kinds by blanks; {_REPEATS} stands behind the last one only.",
                )
            if word.mark.endswith(_REPEATS):
                variadic = True
            kind = word.text.removesuffix(_REPEATS) if variadic else word.text
            kinds += [kind] if kind else []
        if not kinds:
            raise self.fault(
                line, f"{_ARGS} of {predicate} names no kind", "Name the kind of each argument, such as entity."
            )
        found = (tuple(kinds), variadic, line)
        known = self.kinds.setdefault(predicate, found)
        if known[:2] != found[:2]:
            raise self.fault(
                line,
                f"{predicate} takes {_spelled(kinds, variadic=variadic)} here, but "
                f"{_spelled(known[0], variadic=known[1])} on line {known[2]}",
                "Declare the arguments of a predicate once.",
            )
        return at

    def freeze(self) -> Declared:
        """Returns what all lines together declare."""
        path = self.source.path
        if not self.parents and not self.constants:
            raise ParseError(
                f"read {path} as a vocabulary",
                "it declares nothing",
                "Declare a predicate on each line, as in: pressure is-a quantity",
                path=path,
            )
        builder = OntologyBuilder(LoadReport(path))
        for term in sorted({*self.parents, *(p for above in self.parents.values() for p in above)}):
            builder.define(term)
            for parent, line in self.parents.get(term, {}).items():
                builder.add_parent(term, parent, line)
        ontology = builder.freeze(name="vocabulary", version="", sha256=self.source.content_sha256, allow_empty=True)
        return Declared(ontology, self._signatures(), frozenset(self.constants))

    def _signatures(self) -> dict[str, Signature]:
        signatures = {}
        for predicate, line in sorted(self.commutative.items()):
            if predicate not in self.kinds:
                raise self.fault(
                    line,
                    f"{predicate} is commutative, but no line says what arguments it takes",
                    f"Add them, as in: {predicate} args any any commutative",
                )
        for predicate, (kinds, variadic, line) in sorted(self.kinds.items()):
            try:
                signatures[predicate] = Signature(kinds, variadic, predicate in self.commutative)
            except CaseError as fault:
                raise self.fault(line, f"{predicate}: {fault.found}", fault.do) from fault
        return signatures


def _spelled(kinds: Sequence[str], *, variadic: bool) -> str:
    return " ".join(kinds) + (_REPEATS if variadic else "")
