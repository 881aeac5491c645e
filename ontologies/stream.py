"""Content as a stream: files in an archive one after another, lines in blocks; nothing is held whole.

What is compressed is recognised and bounded by ``unpacking.py``.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Protocol

from ..errors import ParseError
from .report import LoadReport
from .source import Source, decode_lines
from .unpacking import Member, telling_damage, unpacked_members

__all__ = [
    "HashedStream",
    "Member",
    "Readable",
    "Rejoined",
    "head_of",
    "heads_of",
    "line_blocks",
    "members",
    "only_member",
    "reading",
]

_CHUNK = 1 << 20


class Readable(Protocol):
    """Whatever gives bytes: all that is left where no size is given, and none at its end."""

    def read(self, size: int = -1, /) -> bytes:
        """Returns the next bytes, ``size`` at most."""
        ...


class HashedStream:
    """A stream that keeps the SHA-256 of what was read from it."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._sum = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """Returns the next bytes, ``size`` at most."""
        data = self._stream.read(size)
        self._sum.update(data)
        return data

    @property
    def sha256(self) -> str:
        """SHA-256 of all that was read, hex."""
        return self._sum.hexdigest()


class Rejoined:
    """A stream whose first bytes were read already, put before the rest again."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """Returns the next bytes, ``size`` at most."""
        if not self._head:
            return self._stream.read(size)
        if size < 0:
            head, self._head = self._head, b""
            return head + self._stream.read()
        head, self._head = self._head[:size], self._head[size:]
        return head


def reading(source: Source) -> AbstractContextManager[None]:
    """Turns what a damaged stream raises into a ParseError that names the file."""
    return telling_damage(source.path)


def members(source: Source) -> Iterator[Member]:
    """Yields the files in a source, as ``unpacked_members`` does. Read within ``reading``.

    Raises:
        ParseError: something is compressed in a way that is not read, in too many layers, or grows beyond reason.
    """
    return unpacked_members(io.BytesIO(source.raw), len(source.raw), source.path)


@contextmanager
def only_member(source: Source) -> Iterator[IO[bytes]]:
    """Gives the uncompressed bytes of the one file in a source, as a stream; what is damaged is told as by ``reading``.

    Raises:
        ParseError: there is none, or more than one.
    """
    with reading(source):
        count = sum(1 for _ in members(source))
        if count != 1:
            raise ParseError(
                f"read {source.path}",
                f"the archive holds {count or 'no'} files",
                "Give an archive with one file, or the file itself.",
                path=source.path,
            )
        opened = members(source)  # held until the end: an archive is closed with what walks through it
        yield next(opened).stream


def heads_of(source: Source, size: int = 65536) -> Iterator[bytes]:
    """Yields at most ``size`` uncompressed bytes from the start of each file in a source.

    Raises:
        ParseError: it is damaged, or compressed in a way that is not read.
    """
    with reading(source):
        for member in members(source):
            yield member.stream.read(size)


def head_of(source: Source, size: int = 65536) -> bytes:
    """Returns at most ``size`` uncompressed bytes from the start of a source, or of the first file in an archive.

    Raises:
        ParseError: it is damaged, or compressed in a way that is not read.
    """
    return next(heads_of(source, size), b"")


def line_blocks(stream: Readable, report: LoadReport) -> Iterator[tuple[int, list[str]]]:
    """Yields ``(position of the first line from 0, lines)`` as ``decode_lines`` gives them, about 1 MiB at a time."""
    start, rest = 0, b""
    while True:
        data = stream.read(_CHUNK)
        if start == 0 and not rest and data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # in UTF-16 a line end is two bytes
            yield 0, decode_lines(data + stream.read(), report)
            return
        piece = rest + data if rest else data
        if not data:
            yield start, decode_lines(piece, report, first=start + 1)
            return
        # A lone carriage return ends a line too; one at the very end may belong to a line feed not yet read.
        cut = max(piece.rfind(b"\n"), piece.rfind(b"\r", 0, len(piece) - 1)) + 1
        rest = piece[cut:]
        if cut:
            lines = decode_lines(piece[:cut], report, first=start + 1)[:-1]
            yield start, lines
            start += len(lines)
