"""Cases as S-expressions, the form that people write.

    (case solar "the solar system")
    (causes (attracts (entity sun) (entity planet)) (revolves (entity planet) (entity sun)))
    (weight 0.5 (not (hot (entity planet))))        ; a comment runs to the end of the line
    (mass (entity sun) (entity 2e30 number))
    (excluded charged)

A statement is a functor and its arguments, each a statement or an entity. What is not plain stands in double quotes,
among it a functor named as one of the words that have a meaning here. No nesting is too deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .drafts import CaseDraft, EntityDraft, StatementDraft
from .model import Case, Entity
from .plaintext import QUOTED, quote, unquote
from .spelling import RESERVED, print_case, short_text, statement_text
from .vocabulary import Vocabulary

__all__ = ["parse_case", "print_case", "short_text", "statement_text"]

_TOKEN = re.compile(
    rf'(?P<blank>\s+)|(?P<comment>;[^\n]*)|(?P<open>\()|(?P<close>\))|(?P<quoted>{QUOTED})|(?P<bare>[^\s()";]+)'
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SHOWN = 40


def parse_case(text: str, vocabulary: Vocabulary, *, path: str = "<text>", key: str = "") -> Case:
    """Returns the case that ``text`` writes in S-expressions.

    An entity may be given with its type in one place and without it in others. A statement that is given twice counts
    once. A functor that the vocabulary lacks is read all the same (``Vocabulary.missing``).

    Args:
        text: the text.
        vocabulary: what it is written in.
        path: name of the text in messages.
        key: key of the case; where it is empty, that of its header.

    Raises:
        ParseError: the text is no case; its line is named.
        ArityMismatch: a predicate has a wrong number of arguments.
        CaseError: an argument is of another kind than declared.

    Example:
        >>> parse_case("(case solar) (hot (entity sun))", Vocabulary.plain()).statements[0].args
        (Entity(name='sun', type='entity', constant=False),)
    """
    reader = _Reader(CaseDraft(path, vocabulary))
    reader.read(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    return reader.draft.freeze(key)


@dataclass(eq=False, slots=True)
class _Word:
    """A word; ``mark`` is its text if it stands bare, since only bare words have a meaning."""

    text: str
    mark: str
    line: int


_Item = _Word | EntityDraft | StatementDraft


class _List:
    """What stands between two parentheses."""

    __slots__ = ("items", "line")

    def __init__(self, line: int) -> None:
        self.line = line
        self.items: list[_Item] = []


class _Reader:
    """Reads one text into a draft. Its own stack, not that of Python, holds the open parentheses."""

    def __init__(self, draft: CaseDraft) -> None:
        self.draft = draft
        self._began = False  # something stands before what is being read

    def read(self, text: str) -> None:
        opened: list[_List] = []
        for kind, token, line in self._tokens(text):
            if kind == "open":
                opened.append(_List(line))
            elif kind == "close":
                if not opened:
                    raise self.draft.fault(line, "a parenthesis is closed that was never opened", "Take it out.")
                closed = opened.pop()
                item = self._item(closed, top=not opened)
                if opened and item is not None:
                    opened[-1].items.append(item)
                elif isinstance(item, EntityDraft):
                    raise self.draft.fault(
                        closed.line,
                        f"entity {item.name[:_SHOWN]} stands by itself",
                        f"Say something of it, as in: (hot {_entity(item.name)})",
                    )
                elif item is not None:
                    self.draft.roots.append(item)
                self._began = True
            elif opened:
                opened[-1].items.append(self._word(kind, token, line))
            else:
                raise self.draft.fault(
                    line,
                    f"{token[:_SHOWN]} stands outside all parentheses",
                    "Write statements, such as: (hot (entity sun))",
                )
        if opened:
            raise self.draft.fault(
                opened[0].line, "the parenthesis that opens here is never closed", "Close it, or take it out."
            )

    def _tokens(self, text: str) -> Iterator[tuple[str, str, int]]:
        """Yields kind, text and line of each parenthesis and word."""
        at, line, after_word = 0, 1, False
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                raise self.draft.fault(
                    line,
                    f"a quote has no end on its line: {text[at : at + _SHOWN].splitlines()[0]}",
                    r'Close it with "; a line feed inside it is written \n.',
                )
            kind = token.lastgroup or ""
            is_word = kind in ("quoted", "bare")
            if is_word and after_word:
                raise self.draft.fault(
                    line, f"no blank stands before {token[0][:_SHOWN]}", r"Put a blank there; inside quotes write \"."
                )
            if kind == "blank":
                line += text.count("\n", at, token.end())
            elif kind != "comment":
                yield kind, token[0], line
            at, after_word = token.end(), is_word

    def _word(self, kind: str, token: str, line: int) -> _Word:
        if kind == "bare":
            return _Word(token, token, line)
        try:
            return _Word(unquote(token), "", line)
        except ValueError as fault:
            raise self.draft.fault(line, str(fault), r"Escapes are \" \\ \n \t \r and \uXXXX.") from fault

    def _item(self, closed: _List, *, top: bool) -> EntityDraft | StatementDraft | None:
        """Returns what a closed list says, or None where it speaks of the case as a whole."""
        head = closed.items[0] if closed.items else None
        if not isinstance(head, _Word):
            found = "a parenthesis is empty" if head is None else "a parenthesis begins with another one"
            raise self.draft.fault(closed.line, found, "Begin it with a functor, as in: (hot (entity sun))")
        rest = closed.items[1:]
        if head.mark not in RESERVED:
            return self._statement(head, rest, closed.line)
        if head.mark == "entity":
            return self._entity(rest, closed.line)
        if head.mark == "not":
            return self._negated(rest, closed.line)
        if head.mark == "weight":
            return self._weighted(rest, closed.line)
        if not top:
            raise self.draft.fault(
                closed.line, f"{head.mark} stands inside a statement", f"Move it out; {_quoted(head.mark)}."
            )
        if head.mark == "case":
            self._header(rest, closed.line)
        else:
            self._excluded(rest, closed.line)
        return None

    def _statement(self, head: _Word, rest: list[_Item], line: int) -> StatementDraft:
        args: list[EntityDraft | StatementDraft] = []
        for argument in rest:
            if isinstance(argument, _Word):
                raise self.draft.fault(
                    argument.line,
                    f"{argument.text[:_SHOWN]} stands bare among the arguments of {head.text[:_SHOWN]}",
                    f"For an entity write {_entity(argument.text)}.",
                )
            args.append(argument)
        statement = StatementDraft(head.text, args, line)
        self.draft.statements.append(statement)
        return statement

    def _entity(self, rest: list[_Item], line: int) -> EntityDraft:
        words = self._texts(rest)
        if words is None or not 1 <= len(words) <= 2:
            raise self.draft.fault(
                line,
                "an entity is more or less than a name and perhaps a type",
                f"Write (entity NAME) or (entity NAME TYPE), words with blanks in quotes; {_quoted('entity')}.",
            )
        entity = EntityDraft(words[0], words[1] if len(words) > 1 else None, line)
        self.draft.entities.append(entity)
        return entity

    def _negated(self, rest: list[_Item], line: int) -> StatementDraft:
        if len(rest) != 1 or not isinstance(rest[0], StatementDraft):
            raise self.draft.fault(
                line, "not holds something else than one statement", f"Write (not STATEMENT); {_quoted('not')}."
            )
        if rest[0].negated:
            raise self.draft.fault(line, "a statement is negated twice", "Take both away, or one.")
        rest[0].negated = True
        return rest[0]

    def _weighted(self, rest: list[_Item], line: int) -> StatementDraft:
        if len(rest) != 2 or not isinstance(rest[0], _Word) or not isinstance(rest[1], StatementDraft):
            raise self.draft.fault(
                line,
                "weight holds something else than a number and one statement",
                f"Write (weight 0.5 STATEMENT); {_quoted('weight')}.",
            )
        number, statement = rest[0], rest[1]
        weight = float(number.mark) if _NUMBER.fullmatch(number.mark) else 0.0
        if not 0 < weight <= 1:
            raise self.draft.fault(
                line, f"{number.text[:_SHOWN]} is no weight", "Give a number above 0 and at most 1, such as 0.5."
            )
        if statement.weight is not None:
            raise self.draft.fault(line, "a statement has two weights", "Give it one; weights are not multiplied.")
        statement.weight = weight
        return statement

    def _header(self, rest: list[_Item], line: int) -> None:
        words = self._texts(rest)
        if words is None or not 1 <= len(words) <= 2:
            raise self.draft.fault(
                line,
                "the header is more or less than a key and perhaps a name",
                f"Write (case KEY) or (case KEY NAME), words with blanks in quotes; {_quoted('case')}.",
            )
        if self._began:
            raise self.draft.fault(
                line, "a header stands behind other things", "Put one header first; give each case a file of its own."
            )
        self.draft.key, self.draft.name = words[0], words[1] if len(words) > 1 else ""

    def _excluded(self, rest: list[_Item], line: int) -> None:
        words = self._texts(rest)
        if not words:
            raise self.draft.fault(
                line,
                "excluded holds something else than ids",
                f"Write (excluded ID ...), ids alone, or take it out; {_quoted('excluded')}.",
            )
        for word in words:
            self.draft.exclude(word, line)

    @staticmethod
    def _texts(rest: list[_Item]) -> list[str] | None:
        """Returns the texts of words, or None where something else is among them."""
        texts = [item.text for item in rest if isinstance(item, _Word)]
        return texts if len(texts) == len(rest) else None


def _entity(name: str) -> str:
    """Returns how an entity is written, for a hint."""
    return statement_text(Entity(name[:_SHOWN]))


def _quoted(word: str) -> str:
    """Returns the hint for those who meant a functor of this name."""
    return f"a functor of that name is written {quote(word)}"
