"""Content as a stream: files in an archive one after another, lines in blocks; nothing is held whole.

Like ``source.py`` this goes by content alone: gzip, xz, bzip2, zip and tar, in two layers at most.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from ..errors import ParseError, SmaError
from .magic import packed_as
from .report import LoadReport
from .source import (
    BZIP2,
    GZIP,
    UNPACKING_FAULTS,
    XZ,
    ZIP,
    Source,
    archive_members,
    decode_lines,
    is_litter,
    is_tar,
)

__all__ = [
    "HashedStream",
    "Member",
    "Readable",
    "Rejoined",
    "head_of",
    "line_blocks",
    "members",
    "only_member",
    "reading",
]

_CHUNK = 1 << 20
_LAYERS = 2


class Member(NamedTuple):
    """One file: its name in the archive (empty where there is no archive), and its uncompressed bytes."""

    name: str
    stream: IO[bytes]


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


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turns what a damaged stream raises into a ParseError that names the file."""
    try:
        yield
    except UNPACKING_FAULTS as fault:
        if isinstance(fault, SmaError):
            raise
        raise ParseError(
            f"read {source.path}",
            f"the compressed data is damaged or incomplete ({fault})",
            "Get the file again and compare its size and checksum with the publisher's.",
            path=source.path,
        ) from fault


def members(source: Source) -> Iterator[Member]:
    """Yields the files in a source, each to be read before the next is asked for; one where it is no archive.

    Folders, links, hidden files and the ``__MACOSX`` folder are passed over. Nothing is written anywhere, so the names
    inside an archive can do no harm. Read within ``reading``.

    Raises:
        ParseError: something is compressed in a way that is not read, or in more than two layers.
    """
    yield from _members(io.BytesIO(source.raw), "", source.path, _LAYERS)


@contextmanager
def only_member(source: Source) -> Iterator[IO[bytes]]:
    """Gives the uncompressed bytes of the one file in a source, as a stream; what is damaged is told as by ``reading``.

    Raises:
        ParseError: there is none, or more than one.
    """
    with reading(source):
        count = sum(1 for _ in members(source)) if _is_archive(source) else 1
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


def peek_first(path: Path, size: int = 65536) -> tuple[str, bytes]:
    """Returns the name and the start of the first file in the one at ``path``, which is not read further than needed.

    The name is empty where that is no archive; so is the start where it cannot be read.
    """
    try:
        with path.open("rb") as file:
            opened = _members(file, "", str(path), _LAYERS)
            first = next(opened, None)
            return (first.name, first.stream.read(size)) if first else ("", b"")
    except UNPACKING_FAULTS:
        return "", b""


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


def _is_archive(source: Source) -> bool:
    stream, _ = _unpacked(io.BytesIO(source.raw), _LAYERS)
    return _is_zip(stream) or _is_tar(stream)


def _members(stream: IO[bytes], name: str, path: str, layers: int) -> Iterator[Member]:
    stream, layers = _unpacked(stream, layers)
    if layers and _is_zip(stream):
        with zipfile.ZipFile(stream) as archive:
            for inner in archive_members(archive):
                with archive.open(inner) as opened:
                    yield from _members(_buffered(opened), inner, path, layers - 1)
    elif layers and _is_tar(stream):
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for info in tar:
                opened_file = tar.extractfile(info) if info.isreg() and not is_litter(info.name) else None
                if opened_file is not None:
                    yield from _members(opened_file, info.name, path, layers - 1)
    else:
        head = _head(stream)
        packed = packed_as(head) or ("more than two layers of compression" if _is_packed(head) else "")
        if packed:
            raise ParseError(
                f"read {path}",
                f"{name or 'it'} is binary or compressed in a way that is not read ({packed})",
                "Unpack it first; gzip, xz, bzip2, zip and tar are unpacked here.",
                path=path,
            )
        yield Member(name, stream)


def _unpacked(stream: IO[bytes], layers: int) -> tuple[IO[bytes], int]:
    """Returns the stream without its compression, and how many more layers there may be."""
    while layers:
        head = _head(stream)
        opened: gzip.GzipFile | lzma.LZMAFile | bz2.BZ2File
        if head[:2] == GZIP:
            opened = gzip.GzipFile(fileobj=stream, mode="rb")
        elif head[:6] == XZ:
            opened = lzma.LZMAFile(stream)  # noqa: SIM115 - it lives as long as what is read from it
        elif head[:3] == BZIP2:
            opened = bz2.BZ2File(stream)
        else:
            break
        stream, layers = _buffered(opened), layers - 1
    return stream, layers


def _buffered(stream: Any) -> IO[bytes]:
    return io.BufferedReader(stream)


def _head(stream: IO[bytes]) -> bytes:
    if isinstance(stream, io.BufferedReader):
        return stream.peek(512)[:512]
    at = stream.tell()
    head = stream.read(512)
    stream.seek(at)
    return head


def _is_zip(stream: IO[bytes]) -> bool:
    return _head(stream)[:4] in ZIP


def _is_tar(stream: IO[bytes]) -> bool:
    return is_tar(_head(stream))


def _is_packed(head: bytes) -> bool:
    return head[:2] == GZIP or head[:6] == XZ or head[:3] == BZIP2 or head[:4] in ZIP
