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
    "INVISIBLE",
    "Fault",
    "Quoted",
    "is_iso_date",
    "logical_lines",
    "qualifier_keys",
    "read_header_date",
    "read_ids",
    "read_property",
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
_QUALIFIERS = rf"\{{\s*(?:{_QUALIFIER}(?:\s*,\s*{_QUALIFIER})*\s*)?\}}"
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ODD_ESCAPE = re.compile(r"\\(?:\\|([A-Za-z0-9]))")
_STOP = re.compile(r"\\.|[!{]")
_QUALIFIER_BLOCK = re.compile(_QUALIFIERS)
_QUALIFIER_KEY = re.compile(rf'([^\s=,{{}}"!]+)\s*=(?:\s*(?:{_STRING}|{_BARE}))?')
_ENDS_HERE = re.compile(r"\s*(!|\Z)")
_OPEN_BRACE = re.compile(r"(?<!\\)\{")
_BRACED = re.compile(rf"(\\.)|{_QUALIFIERS}|\{{.*")
_BLANK_FREE = re.compile(r"(?:\\.|\S)+")
_WORD = re.compile(r"(?:\\.|[^\s\\{}])+")
# Quotation marks around an id, and commas behind it or before the next one. A comma elsewhere may belong to the id.
_BETWEEN_IDS = re.compile(r'\A"+|(?<!\\)"*[,;]+(?:"+|(?=[A-Za-z][\w.-]*:)|\Z)|(?<!\\)"+\Z')
_ID_SHAPE = re.compile(r"[^\s:]+:\S+")
_PLAIN_ID = re.compile(rf'([^\s\\{{}}!,;"{INVISIBLE}]+)(?:\s+!.*)?')
_NO_INVISIBLE = dict.fromkeys(map(ord, INVISIBLE))
_QUOTED = re.compile(_STRING)
_BEFORE_LIST = re.compile(rf'(?:[^\[!"{{\\]+|\\.|{_STRING}|{_QUALIFIERS}|["{{\\])*')
_XREF_ITEM = re.compile(rf'\s*((?:\\.|[^\s\\,\]"{{])+)(?:(?<!:)\s*{_STRING})?(?:\s*{_QUALIFIERS})?\s*(?=[,\]]|$)')
_PLAIN_QUOTED = re.compile(r'"([^"\\]*)"((?: [^\s\[\\{!"]+)*) \[([^\s,\]\\"{]+(?:, [^\s,\]\\"{]+)*)?\]')
_XREF_SKIP = re.compile(rf"(?:\\.|{_STRING}|[^,\]\\])*")
_XREF_LINE = re.compile(rf'(?:\\.|[^\s\\"{{!])+(?:\s+{_STRING})?(?:\s*{_QUALIFIERS})?\s*(?:!.*)?')
_PROPERTY_LINE = re.compile(rf'(?:\\.|[^\s\\"{{!])+\s+(?:{_STRING}|[^\s"{{!][^\s]*)(?:\s+[^\s"{{!]\S*)?')
_PARTIAL_DATE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")

_STANZA = re.compile(r"\[\s*([A-Za-z_]+)\s*(\]?)\s*(.*)")
_STANZA_NAMES = {"term": "Term", "typedef": "Typedef", "instance": "Instance"}

# OBO 1.4 names these letters; before any other character the backslash only takes away a special meaning.
_ESCAPED = {"n": "\n", "t": "\t", "W": " ", "r": "\r", "f": "\f"}


class Fault(NamedTuple):
    """What is wrong with a line: a stable short name, a clause for a person, and whether nothing was lost by it."""

    kind: str
    message: str
    harmless: bool = False


class Quoted(NamedTuple):
    """A value that starts with a quoted string: the string, the words behind it, and its cross-references."""

    text: str
    words: tuple[str, ...]
    references: tuple[str, ...]
    fault: Fault | None


def logical_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yields ``(line number, line)``, a line that ends in an unescaped backslash joined with the next one.

    A blank line and the head of a stanza are never joined to the line before: a stray backslash costs itself.
    """
    if not any(line.endswith("\\") for line in lines):
        yield from enumerate(lines, 1)
        return
    held: list[str] = []
    first = 0
    for number, line in enumerate(lines, 1):
        if held and (not line.strip() or read_stanza_head(line.strip())[0]):
            yield first, "".join(held)
            held = []
        first = first if held else number
        if line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
            held.append(line[:-1])
            continue
        yield first, "".join([*held, line])
        held = []
    if held:
        yield first, "".join(held)


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
            end = _ENDS_HERE.match(text, block.end()) if block is not None else None
            if end is not None:
                return text[: stop.start()].rstrip(), end[1] == "!"
    return text, False


def qualifier_keys(value: str) -> frozenset[str]:
    """Returns the keys of the qualifier block at the end of ``value``, none where there is no well-formed one.

    >>> sorted(qualifier_keys('EX:1 {source="a", comment="b=c"} ! d=e'))
    ['comment', 'source']
    """
    block = _QUALIFIER_BLOCK.match(value[len(split_tail(value)[0]) :].lstrip())
    return frozenset(_QUALIFIER_KEY.findall(block[0])) if block is not None else frozenset()


def read_text(value: str) -> tuple[str, Fault | None]:
    """Returns the text of an unquoted value such as a name, and its fault."""
    if "!" not in value and "{" not in value and "\\" not in value:
        return value, None
    body, commented = split_tail(value)
    if not commented and not body and value:
        body = value  # a block that is all there is cannot be the qualifiers of a name
    text = unescape(body)
    if commented and body and value[len(body)] == "!":
        return text, Fault("comment-in-text", f"an unescaped '!' starts a comment; the text read is {text!r}")
    if body.endswith("}") and not body.endswith("\\}") and _OPEN_BRACE.search(body):
        return text, Fault("loose-braces", f"the braces at the end are no qualifier list; they stay in {text!r}")
    fault = _odd_escape(body)
    if commented and fault is None:
        fault = Fault("comment", "a comment behind the text was left out", harmless=True)
    return text, fault


def read_ids(value: str, count: int = 1, *, several: bool = False) -> tuple[tuple[str, ...], Fault | None]:
    """Returns the ids that ``value`` starts with, and the fault.

    They are ``count`` ids, or none where fewer are there. With ``several``, whatever else looks like an id comes too.
    """
    if count == 1:
        plain = _PLAIN_ID.fullmatch(value)
        if plain is not None:
            return (plain[1],), None
    body, _ = split_tail(value)
    words = _WORD.findall(_BRACED.sub(lambda match: match[1] or " ", body))
    found = [unescape(part).translate(_NO_INVISIBLE) for word in words for part in _BETWEEN_IDS.split(word)]
    found = [part for part in found if part]
    if len(found) < count:
        wanted = "an id is" if count == 1 else f"{count} ids are"
        return (), Fault("missing-id", f"{wanted} missing in {value!r}; the line was left out")
    more = [part for part in found[count:] if several and _ID_SHAPE.fullmatch(part)]
    ids = tuple(dict.fromkeys([*found[:count], *more])) if several else tuple(found[:count])
    if more:
        return ids, Fault("several-ids", f"{value!r} names several ids; {' and '.join(ids)} were read")
    if [unescape(word) for word in _BLANK_FREE.findall(body)] == list(ids):
        return ids, None
    kind = "text-behind-id" if len(found) > count or "{" in body else "odd-id"
    return ids, Fault(kind, f"{value!r} was read as {' '.join(ids)}; the rest was left out")


def read_quoted(value: str) -> Quoted:
    """Returns the parts of a definition or synonym: ``"text" WORDS [references] {qualifiers} ! comment``."""
    plain = _PLAIN_QUOTED.fullmatch(value)
    if plain is not None:
        return Quoted(plain[1], tuple(plain[2].split()), tuple(plain[3].split(", ")) if plain[3] else (), None)
    match = _QUOTED.match(value)
    if match is None:
        text = unescape(value.removeprefix('"'))
        which = "has no closing quotation mark" if value[:1] == '"' else "is not in quotation marks"
        return Quoted(text, (), (), Fault("unquoted-text", f"the text {which}"))
    text = unescape(match[0][1:-1])
    rest = value[match.end() :]
    before = _BEFORE_LIST.match(rest)
    start = before.end() if before is not None else 0
    words = tuple(_BRACED.sub(lambda block: block[1] or " ", rest[:start]).split())
    if rest[start : start + 1] != "[":
        return Quoted(text, words, (), Fault("no-references", "the list of cross-references is missing"))
    references, end, fault = _read_references(rest, start + 1)
    if fault is None and end < len(rest) and split_tail(rest[end:])[0].strip():
        fault = Fault("text-behind-list", f"text behind the list of cross-references was left out: {rest[end:]!r}")
    return Quoted(text, words, references, fault or _odd_escape(match[0]))


def read_xref(value: str) -> Fault | None:
    """Returns the fault of a cross-reference line, which is an id with perhaps a quoted description behind it."""
    if _XREF_LINE.fullmatch(value):
        return None
    if not value:
        return Fault("loose-xref", "the cross-reference is empty")
    return Fault("loose-xref", f"{value!r} is no cross-reference: a blank must be followed by a quoted description")


def read_property(value: str) -> Fault | None:
    """Returns the fault of a property, which is a relation and an id or a text, perhaps with a datatype behind it."""
    body = split_tail(value)[0].rstrip()
    if _PROPERTY_LINE.fullmatch(body):
        return None
    return Fault("bad-property", f"{value!r} is no property: a relation, then an id or a quoted text")


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
