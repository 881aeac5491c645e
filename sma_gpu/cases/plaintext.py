"""Text files of our own: strict decoding, and words that stand bare or in double quotes.

Nothing is repaired here, unlike in published ontologies and records: these files are written by hand or by us, and a
repaired name would be another name.
"""

from __future__ import annotations

import re

from ..errors import CaseError, ParseError
from ..ontologies.magic import look_at
from ..ontologies.report import LoadReport
from ..ontologies.source import Source, decode_lines

__all__ = ["QUOTED", "UNSEEN", "quote", "read_text", "refuse_half_characters", "unquote", "visible"]

# Possessive, so that a quote without an end is known after one pass.
QUOTED = r'"(?:[^"\\\n]++|\\.)*+"'

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_NAMES = {text: name for name, text in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
# What editors and line readers change or drop, what a terminal obeys, and what turns or hides the text around it. The
# two joiners U+200C and U+200D are part of how words of several scripts are written.
UNSEEN = r"\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
_UNSAFE = re.compile(rf'["\\{UNSEEN}]')
_UNSEEN = re.compile(f"[{UNSEEN}]")
_HALF = re.compile(r"[\ud800-\udfff]")


def read_text(source: Source, *, wanted: str) -> str:
    r"""Returns the text in ``source``, its lines ended by line feeds alone.

    Args:
        source: the file.
        wanted: what the file should be, for the error message, such as ``a case``.

    Raises:
        ParseError: it is empty, binary, markup, or has bytes that are no text.

    >>> read_text(Source("a.case", b"(hot (entity sun))\r\n"), wanted="a case")
    '(hot (entity sun))\n'
    """
    content = source.content()
    asked = f"read {source.path} as {wanted}"
    found = look_at(content).what if content.strip() else "it is empty"
    if found:
        raise ParseError(asked, found, f"Give a file that holds {wanted} as UTF-8 text.", path=source.path)
    report = LoadReport(source.path)
    lines = decode_lines(content, report)
    for fault in report.faults:
        found = fault.message.partition(";")[0]  # without the clause on repair
        raise ParseError(asked, found, "Save the file as UTF-8 text.", path=source.path, line=min(fault.lines))
    return "\n".join(lines)


def quote(text: str) -> str:
    r"""Returns ``text`` in double quotes, with escapes for what would not survive an editor.

    >>> print(quote('the "hot" one'))
    "the \"hot\" one"
    """
    return f'"{_UNSAFE.sub(_escaped, text)}"'


def visible(text: str) -> str:
    r"""Returns ``text`` for people to see on one line: what would act on a terminal or hide stands as an escape.

    >>> print(visible("red \x1b[31malert"))
    red \u001b[31malert
    """
    return _UNSEEN.sub(_escaped, text)


def unquote(quoted: str) -> str:
    r"""Returns what stands in double quotes.

    Raises:
        ValueError: an escape is none of ours, or gives half a character; the message says which.

    >>> unquote(r'"a\tb"')
    'a\tb'
    """

    def meant(found: re.Match[str]) -> str:
        escape = found[1]
        if escape in _ESCAPES:
            return _ESCAPES[escape]
        mark = chr(int(escape[1:], 16)) if len(escape) == 5 else ""
        if not mark or _HALF.match(mark):
            raise ValueError(f"{found[0]} is no escape" if not mark else f"{found[0]} is half a character")
        return mark

    return _ESCAPE.sub(meant, quoted[1:-1])


def refuse_half_characters(text: str, asked: str) -> str:
    """Returns ``text`` if it can be written to a file.

    Raises:
        CaseError: it holds half a character (a surrogate by itself), which no encoding can write.
    """
    half = _HALF.search(text)
    if half:
        raise CaseError(
            asked,
            f"a name holds half a character, U+{ord(half[0]):04X}",
            "Give names of whole characters; this one was decoded wrongly.",
        )
    return text


def _escaped(found: re.Match[str]) -> str:
    mark = found[0]
    return f"\\{_NAMES[mark]}" if mark in _NAMES else f"\\u{ord(mark):04x}"
