"""The grammar of one OBO line: escapes, comments, qualifier blocks, quoted strings, lists of cross-references, dates.

Nothing here raises on bad input. Each function returns what it could read and a Fault (or None), so that one bad line
costs at most itself and is named by the reader, which knows the line number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

__all__ = [
    "Fault",
    "Quoted",
    "is_iso_date",
    "logical_lines",
    "read_header_date",
    "read_ids",
    "read_quoted",
    "read_stanza_head",
    "read_text",
    "read_xref",
    "split_tail",
    "unescape",
]

# No two repetitions here can share out the same characters between them, so that a hostile line costs linear time.
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_BARE = r'[^\s",{}!]+(?:\s+[^\s",{}!]+)*'
_QUALIFIER = rf'[^\s=,{{}}"!]+\s*=(?:\s*(?:{_STRING}|{_BARE}))?'
_QUALIFIERS = rf"\{{\s*{_QUALIFIER}(?:\s*,\s*{_QUALIFIER})*\s*\}}"

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ODD_ESCAPE = re.compile(r"\\(?:\\|([A-Za-z0-9]))")
_STOP = re.compile(r"\\.|[!{]")
_QUALIFIER_BLOCK = re.compile(_QUALIFIERS)
_LOOSE_BRACES = re.compile(r"(?<!\\)\{.*(?<!\\)\}$")
_WORD = re.compile(r"(?:\\.|[^\s\\{}])+")
_PLAIN_ID = re.compile(r"([^\s\\{}!]+)(?:\s+!.*)?")
_QUOTED = re.compile(_STRING)
_XREF_ITEM = re.compile(rf'\s*((?:\\.|[^\s\\,\]"{{])+)(?:\s*{_STRING})?(?:\s*{_QUALIFIERS})?\s*(?=[,\]]|$)')
_PLAIN_QUOTED = re.compile(r'"([^"\\]*)"((?: [^\s\[\\{!"]+)*) \[([^\s,\]\\"{]+(?:, [^\s,\]\\"{]+)*)?\]')
_XREF_SKIP = re.compile(rf"(?:\\.|{_STRING}|[^,\]\\])*")
_XREF_LINE = re.compile(rf'(?:\\.|[^\s\\"{{!])+(?:\s+{_STRING})?(?:\s*{_QUALIFIERS})?\s*(?:!.*)?')
_PARTIAL_DATE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")

_STANZA = re.compile(r"\[\s*([A-Za-z_]+)\s*(\]?)\s*(.*)")
_STANZA_NAMES = {"term": "Term", "typedef": "Typedef", "instance": "Instance"}

# OBO 1.4 names these letters; before any other character the backslash only takes away a special meaning.
_ESCAPED = {"n": "\n", "t": "\t", "W": " ", "r": "\r", "f": "\f"}


class Fault(NamedTuple):
    """What is wrong with a line: a stable short name and a clause for a person."""

    kind: str
    message: str


class Quoted(NamedTuple):
    """A value that starts with a quoted string: the string, the words behind it, and its cross-references."""

    text: str
    words: tuple[str, ...]
    references: tuple[str, ...]
    fault: Fault | None


def logical_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yields ``(line number, line)``, a line that ends in an unescaped backslash joined with the next one."""
    if not any(line.endswith("\\") for line in lines):
        yield from enumerate(lines, 1)
        return
    held, held_number = "", 0
    for number, line in enumerate(lines, 1):
        if held_number:
            line, number = held + line, held_number
            held_number = 0
        if line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
            held, held_number = line[:-1], number
            continue
        yield number, line
    if held_number:
        yield held_number, held


def read_stanza_head(line: str) -> tuple[str, bool]:
    """Returns the type of the stanza that a line beginning with ``[`` opens, and whether it is well written.

    The type is empty where it opens none. A damaged head of a known type still counts as one: otherwise its lines
    would fall to the stanza before it.
    """
    match = _STANZA.match(line)
    if match is None:
        return "", False
    word, bracket, rest = match.groups()
    known = _STANZA_NAMES.get(word.lower(), "")
    clean = bool(bracket) and (not rest or rest[0] == "!")
    if not known:
        return (word, True) if clean else ("", False)
    return known, clean and word == known


def unescape(text: str) -> str:
    r"""Returns ``text`` without its escapes.

    >>> unescape(r"braces \{8\}")
    'braces {8}'
    """
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)


def split_tail(text: str) -> tuple[str, bool]:
    """Returns ``text`` without its trailing qualifier block and comment, and whether there was a comment.

    A brace that does not open a well-formed qualifier block at the end of the value is part of the text.
    """
    for stop in _STOP.finditer(text):
        if stop[0] == "!":
            return text[: stop.start()].rstrip(), True
        if stop[0] == "{":
            block = _QUALIFIER_BLOCK.match(text, stop.start())
            if block is not None:
                rest = text[block.end() :].lstrip()
                if not rest or rest[0] == "!":
                    return text[: stop.start()].rstrip(), bool(rest)
    return text, False


def read_text(value: str) -> tuple[str, Fault | None]:
    """Returns the text of an unquoted value such as a name, and its fault."""
    if "!" not in value and "{" not in value and "\\" not in value:
        return value, None
    body, commented = split_tail(value)
    if not commented and not body and value:
        body = value  # a block that is all there is cannot be the qualifiers of a name
    text = unescape(body)
    if commented:
        return text, Fault("comment-in-text", f"an unescaped '!' starts a comment; the text read is {text!r}")
    if _LOOSE_BRACES.search(body):
        return text, Fault("loose-braces", f"the braces at the end are no qualifier list; they stay in {text!r}")
    return text, _odd_escape(body)


def read_ids(value: str, count: int = 1) -> tuple[tuple[str, ...], Fault | None]:
    """Returns the ``count`` ids that ``value`` starts with, or none of them, and the fault."""
    if count == 1:
        plain = _PLAIN_ID.fullmatch(value)
        if plain is not None:
            return (plain[1],), None
    body, _ = split_tail(value)
    words = _WORD.findall(body)
    if len(words) < count:
        wanted = "an id is" if count == 1 else f"{count} ids are"
        return (), Fault("missing-id", f"{wanted} missing in {value!r}; the line was left out")
    ids = tuple(unescape(word) for word in words[:count])
    if len(words) > count:
        return ids, Fault("text-behind-id", f"text behind {' '.join(ids)} was left out of {value!r}")
    return ids, None


def read_quoted(value: str) -> Quoted:
    """Returns the parts of a definition or synonym: ``"text" WORDS [references] {qualifiers} ! comment``."""
    plain = _PLAIN_QUOTED.fullmatch(value)
    if plain is not None:
        return Quoted(plain[1], tuple(plain[2].split()), tuple(plain[3].split(", ")) if plain[3] else (), None)
    match = _QUOTED.match(value)
    if match is None:
        text = unescape(value.removeprefix('"'))
        return Quoted(text, (), (), Fault("unquoted-text", "the text is not between two quotation marks"))
    text = unescape(match[0][1:-1])
    rest = value[match.end() :]
    start = rest.find("[")
    if start < 0:
        body, _ = split_tail(rest)
        return Quoted(text, tuple(body.split()), (), Fault("no-references", "the list of cross-references is missing"))
    references, end, fault = _read_references(rest, start + 1)
    if fault is None and end < len(rest) and split_tail(rest[end:])[0].strip():
        fault = Fault("text-behind-list", f"text behind the list of cross-references was left out: {rest[end:]!r}")
    return Quoted(text, tuple(rest[:start].split()), references, fault or _odd_escape(match[0]))


def read_xref(value: str) -> Fault | None:
    """Returns the fault of a cross-reference line, which is an id with perhaps a quoted description behind it."""
    if _XREF_LINE.fullmatch(value):
        return None
    return Fault("loose-xref", f"{value!r} is no cross-reference: a blank must be followed by a quoted description")


def read_header_date(value: str) -> str | None:
    """Returns a header date ``dd:MM:yyyy HH:mm`` as ``yyyy-MM-dd``, or None where it is malformed."""
    try:
        return datetime.strptime(value, "%d:%m:%Y %H:%M").date().isoformat()
    except ValueError:
        return None


def is_iso_date(value: str) -> bool:
    """Returns whether ``value`` is an ISO 8601 date, perhaps with a time, perhaps only a year or a month."""
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return _PARTIAL_DATE.fullmatch(value) is not None
    return True


def _odd_escape(text: str) -> Fault | None:
    """Returns a fault where a backslash stands before a letter or digit that OBO gives no meaning."""
    if "\\" not in text:
        return None
    for match in _ODD_ESCAPE.finditer(text):
        if match[1] and match[1] not in _ESCAPED:
            return Fault("unknown-escape", f"'{match[0]}' is no OBO escape; it was read as '{match[1]}'")
    return None


def _read_references(text: str, start: int) -> tuple[tuple[str, ...], int, Fault | None]:
    """Returns the references of a list whose first item begins at ``start``, the position behind it, and a fault."""
    references: list[str] = []
    fault: Fault | None = None
    position = start
    while position < len(text):
        item = _XREF_ITEM.match(text, position)
        if item is not None:
            references.append(unescape(item[1]))
        else:
            # Kept as it stands: a free-text reference is still the author's source.
            item = _XREF_SKIP.match(text, position)
            loose = item[0].strip() if item is not None else ""
            if loose:
                references.append(unescape(loose))
                fault = fault or Fault("loose-xref", f"{loose!r} is no cross-reference")
        position = item.end() if item is not None else position
        if position >= len(text) or text[position] == "]":
            break
        position += 1
    if position >= len(text):
        fault = fault or Fault("unclosed-list", "the list of cross-references is not closed")
    return tuple(references), position + 1, fault
