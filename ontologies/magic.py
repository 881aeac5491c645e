"""What bytes look like that no reader reads, so that a refusal can say it."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import ParseError

__all__ = ["Look", "look_at", "packed_as", "refusal"]

_HEAD = 4096
_UTF_16 = b"\xff\xfe", b"\xfe\xff"
_LEAD = re.compile(rb"\A(?:\s|\xef\xbb\xbf)+")
_WEB_PAGE = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_RDF = re.compile(rb"<(?:rdf:RDF|Ontology)\b|www\.w3\.org/2002/07/owl", re.IGNORECASE)
_UNREAD = (
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x5d\x00\x00", "lzma without a container"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\x1f\x9d", "compress"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!\x1a\x07", "RAR"),
)


class Look(NamedTuple):
    """What content looks like, as a clause, and what to do about that; each empty where it is not known."""

    what: str
    do: str


def packed_as(content: bytes) -> str:
    """Returns the name of the compression that ``content`` begins with and that is not read, or an empty string."""
    return next((name for magic, name in _UNREAD if content.startswith(magic)), "")


def look_at(content: bytes) -> Look:
    """Returns what ``content`` looks like where that is known to be no text that is read here.

    >>> look_at(b"<!DOCTYPE html>").what
    'it looks like a web page (HTML)'
    """
    head = content[:_HEAD]
    packed = packed_as(head)
    if not packed and b"\0" in content and head[:2] not in _UTF_16:
        zeros = max(head[0::2].count(0), head[1::2].count(0))
        packed = "perhaps UTF-16 without a byte-order mark" if zeros > 0.3 * len(head) else "it holds NUL bytes"
    if packed:
        return Look(
            f"it is binary or compressed in a way that is not read ({packed})",
            "Unpack it first, or save it as UTF-8 text; gzip, xz, bzip2 and zip are unpacked here.",
        )
    text = _LEAD.sub(b"", head)
    if text[:1] != b"<":
        return Look("", "")
    if _WEB_PAGE.search(text):
        return Look("it looks like a web page (HTML)", "Download the file itself, not the page that shows it.")
    if _RDF.search(text):
        return Look("it looks like OWL or other RDF in XML", "")
    return Look("it looks like XML", "")


def refusal(content: bytes, *, asked: str, path: str, otherwise: str, do: str) -> ParseError:
    """Returns the error by which ``content`` is refused: what it looks like, and how it begins.

    Args:
        content: the uncompressed bytes.
        asked: what was asked.
        path: the file as the caller named it.
        otherwise: clause behind the beginning, where the content looks like nothing in particular.
        do: what to do in that case.
    """
    look = look_at(content)
    start = _LEAD.sub(b"", content[:_HEAD])[:60].decode("utf-8", "replace").strip()
    found = f"{look.what}; it begins with {start!r}" if look.what else f"it begins with {start!r}{otherwise}"
    return ParseError(asked, found if start else "it is empty", look.do or do, path=path)
