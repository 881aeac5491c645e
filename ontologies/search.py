"""Terms by name: search over names and synonyms, exact look-up, and suggestions for an id that is not there."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import QueryError
from .ontology import SCOPES, Ontology

__all__ = ["Match", "SearchResult", "by_exact_name", "nearest_ids", "search"]

_EXACT_NAME, _EXACT_SYNONYM, _NAME_PREFIX, _WORD_PREFIX, _SUBSTRING = range(5)
_ID_PARTS = re.compile(r"([^\W\d_]+)[:_.\-]?([0-9]+)")
_DIGITS = "0123456789"
_ODD_BLANKS = ("  ", " \n", "\n ", "\t", "\r", "\xa0", "\u2003", "\u2009", "\u3000")
_LONGEST = 100  # characters of an id; what is longer is a pasted text


@dataclass(frozen=True)
class Match:
    """A term found by name.

    Attributes:
        id: its id.
        name: its primary name.
        matched: the name or synonym that was found.
        scope: ``NAME``, or the scope of the synonym.
    """

    id: str
    name: str
    matched: str
    scope: str


@dataclass(frozen=True)
class SearchResult:
    """The first matches of a search and how many terms match in all."""

    matches: tuple[Match, ...]
    total: int


class _NameIndex:
    """The folded names and ids of one ontology, each part made on first use."""

    def __init__(self, ontology: Ontology) -> None:
        self._columns = (ontology.names, ontology.synonym_texts)
        self.holder = np.repeat(np.arange(len(ontology)), np.diff(ontology.synonym_ptr)).tolist()
        live = [ontology.ids[i] for i in np.flatnonzero(~ontology.placeholder).tolist()]
        self.known_ids = (*live, *ontology.retired)
        self.live = frozenset(live)

    @cached_property
    def names(self) -> list[str]:
        """Folded name of each term."""
        return _fold_all(self._columns[0])

    @cached_property
    def synonyms(self) -> list[str]:
        """Folded synonyms."""
        return _fold_all(self._columns[1])

    @cached_property
    def by_name(self) -> Mapping[str, list[int]]:
        """Numbers of the terms with each folded name."""
        return _invert((name, i) for i, name in enumerate(self.names))

    @cached_property
    def by_synonym(self) -> Mapping[str, list[int]]:
        """Numbers of the synonyms with each folded text."""
        return _invert((text, s) for s, text in enumerate(self.synonyms))

    @cached_property
    def by_folded_id(self) -> Mapping[str, list[str]]:
        """Ids, live before retired, with each spelling under case folding."""
        found: dict[str, list[str]] = {}
        for term in self.known_ids:
            found.setdefault(term.casefold(), []).append(term)
        return found

    @cached_property
    def digit_counts(self) -> Mapping[str, int]:
        """The usual number of digits behind each folded prefix, the most frequent pair of these first."""
        parts = (term.partition(":") for term in self.live)
        counts = Counter((prefix, len(digits)) for prefix, _, digits in parts if digits.isdecimal())
        usual: dict[str, int] = {}
        for prefix, digits in sorted(counts, key=lambda pair: (-counts[pair], pair)):
            usual.setdefault(prefix.casefold(), digits)
        return usual


# An ontology's folded names live as long as the ontology itself; its content is fixed, so they cannot grow stale.
_INDEXES: WeakKeyDictionary[Ontology, _NameIndex] = WeakKeyDictionary()


def search(ontology: Ontology, text: str, limit: int) -> SearchResult:
    """Returns the terms whose name or synonym contains ``text``, upper and lower case alike.

    Order: exact name, exact synonym, name that begins with it, a word that begins with it, anywhere; then the shorter
    name, then the id. Each term comes once, with its best match.

    Args:
        ontology: where to search.
        text: what to search for; blanks around it are ignored, and an empty text finds nothing.
        limit: most matches to return.

    Raises:
        QueryError: ``limit`` is below 1.

    >>> from sma_gpu import ontology_from_parents
    >>> animals = ontology_from_parents({"EX:1": [], "EX:2": ["EX:1"]}, names={"EX:1": "animal", "EX:2": "wild cat"})
    >>> search(animals, "CAT", 5).matches[0].id
    'EX:2'
    """
    if limit < 1:
        raise QueryError(f"search for {text!r}", f"the limit is {limit}", "Give a limit of 1 or more.")
    wanted = _fold(text)
    if not wanted:
        return SearchResult((), 0)
    index = _index(ontology)
    best: dict[int, tuple[int, int]] = {}
    for i, name in enumerate(index.names):
        if wanted in name:
            best[i] = (_rank(name, wanted, _EXACT_NAME, _NAME_PREFIX), -1)
    for s, synonym in enumerate(index.synonyms):
        if wanted in synonym:
            found = (_rank(synonym, wanted, _EXACT_SYNONYM, _WORD_PREFIX), s)
            term = index.holder[s]
            if term not in best or found[0] < best[term][0]:
                best[term] = found
    names = ontology.names
    order = sorted(best, key=lambda i: (best[i][0], len(index.names[i]), i))
    matches = tuple(
        _name_match(ontology, i) if best[i][1] < 0 else _synonym_match(ontology, names[i], i, best[i][1])
        for i in order[:limit]
    )
    return SearchResult(matches, len(order))


def by_exact_name(ontology: Ontology, name: str) -> tuple[Match, ...]:
    """Returns the terms called ``name``, upper and lower case alike, in the order of their ids.

    Primary names win over synonyms: these are looked at only where no term has ``name`` as its primary name. More than
    one match means that the name is ambiguous, which the caller has to refuse.
    """
    index = _index(ontology)
    wanted = _fold(name)
    if not wanted:
        return ()
    primary = index.by_name.get(wanted)
    if primary:
        return tuple(_name_match(ontology, i) for i in primary)
    found: dict[int, Match] = {}
    for s in index.by_synonym.get(wanted, ()):
        term = index.holder[s]
        found.setdefault(term, _synonym_match(ontology, ontology.names[term], term, s))
    return tuple(found.values())


def nearest_ids(ontology: Ontology, asked: str, limit: int = 3) -> tuple[str, ...]:
    """Returns at most ``limit`` ids that an unknown id may have been meant to be, the likeliest first.

    First other spellings of an id: case, blanks, ``_`` or nothing for ``:``, an IRI, lost or spare leading zeros. Where
    there are none: live ids one swap of neighbouring digits away, then one digit away, then a digit more or less, then
    the terms that are called ``asked``.
    """
    if len(asked) > _LONGEST:
        return tuple(match.id for match in by_exact_name(ontology, asked))[:limit]
    index = _index(ontology)
    spelled = list(_spellings(asked, index.digit_counts))
    found: dict[str, None] = {}
    for spelling in spelled:
        found.update(dict.fromkeys(index.by_folded_id.get(spelling, ())))
    found.pop(asked, None)
    if found:
        return tuple(found)[:limit]
    for edit in (_swaps, _substitutions, _insertions_and_deletions):
        near = {t for s in spelled for e in edit(s) for t in index.by_folded_id.get(e, ()) if t in index.live}
        found.update(dict.fromkeys(sorted(near)))
    if _ID_PARTS.fullmatch(spelled[0]) is None:  # what looks like an id is nobody's name
        found.update(dict.fromkeys(match.id for match in by_exact_name(ontology, asked)))
    return tuple(found)[:limit]


def _index(ontology: Ontology) -> _NameIndex:
    index = _INDEXES.get(ontology)
    if index is None:
        index = _INDEXES[ontology] = _NameIndex(ontology)
    return index


def _fold(text: str) -> str:
    """Returns ``text`` for comparison: composed, case-folded, single blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.casefold().split())


def _fold_all(texts: Sequence[str]) -> list[str]:
    """Returns ``texts``, each folded."""
    joined = "\n".join(texts)
    # One long text folds ten times faster than many short ones, and no fold reaches across a line feed. Where the
    # blanks are not single ones, each text goes its own way.
    if joined.count("\n") == len(texts) - 1 and not any(odd in joined for odd in _ODD_BLANKS):
        return unicodedata.normalize("NFC", joined).casefold().split("\n")
    return [_fold(text) for text in texts]


def _invert(pairs: Iterator[tuple[str, int]]) -> dict[str, list[int]]:
    """Returns the numbers that go with each text, ascending."""
    found: dict[str, list[int]] = {}
    for text, number in pairs:
        if text:
            found.setdefault(text, []).append(number)
    return found


def _rank(text: str, wanted: str, exact: int, prefix: int) -> int:
    """Returns how well ``text``, which contains ``wanted``, matches it."""
    if text == wanted:
        return exact
    at = text.find(wanted)
    if at == 0:
        return prefix
    while at > 0:
        if not text[at - 1].isalnum():
            return _WORD_PREFIX
        at = text.find(wanted, at + 1)
    return _SUBSTRING


def _name_match(ontology: Ontology, term: int) -> Match:
    name = ontology.names[term]
    return Match(ontology.ids[term], name, name, "NAME")


def _synonym_match(ontology: Ontology, name: str, term: int, synonym: int) -> Match:
    scope = SCOPES[ontology.synonym_scopes[synonym]]
    return Match(ontology.ids[term], name, ontology.synonym_texts[synonym], scope)


def _spellings(asked: str, digit_counts: Mapping[str, int]) -> Iterator[str]:
    """Yields folded spellings of ``asked``, as it stands first."""
    folded = "".join(asked.split()).casefold()
    folded = re.split(r"[/#]", folded)[-1] or folded
    yield folded
    yield folded.replace("_", ":")
    parts = _ID_PARTS.fullmatch(folded)
    prefix, digits = (parts[1], parts[2]) if parts else ("", folded)
    if not (digits.isascii() and digits.isdecimal()):
        return
    if not prefix:
        prefix = next(iter(digit_counts), "")
    padded = (digits.lstrip("0") or "0").zfill(digit_counts.get(prefix, len(digits)))
    for between in (":", ""):
        yield f"{prefix}{between}{digits}"
        yield f"{prefix}{between}{padded}"


def _swaps(text: str) -> Iterator[str]:
    for i in range(len(text) - 1):
        if text[i] != text[i + 1] and text[i] in _DIGITS and text[i + 1] in _DIGITS:
            yield f"{text[:i]}{text[i + 1]}{text[i]}{text[i + 2 :]}"


def _substitutions(text: str) -> Iterator[str]:
    for i, mark in enumerate(text):
        if mark in _DIGITS:
            yield from (f"{text[:i]}{digit}{text[i + 1 :]}" for digit in _DIGITS if digit != mark)


def _insertions_and_deletions(text: str) -> Iterator[str]:
    for i, mark in enumerate(text):
        if mark in _DIGITS:
            yield text[:i] + text[i + 1 :]
            yield from (f"{text[:i]}{digit}{text[i:]}" for digit in _DIGITS)
            yield from (f"{text[: i + 1]}{digit}{text[i + 1 :]}" for digit in _DIGITS)
