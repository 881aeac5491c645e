"""Compressed files and archives as streams, in any order and some layers deep; nothing is held whole.

Compression is recognised by content, never by name. What a file unpacks to is bounded by its stored size: compression
alone makes a few bytes into gigabytes, and no text does.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from ..errors import ParseError, SmaError
from .magic import packed_as

__all__ = ["UNPACKING_FAULTS", "Member", "archive_members", "telling_damage", "unpacked_members"]

_GZIP, _XZ, _BZIP2 = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh"
_ZIP = b"PK\x03\x04", b"PK\x05\x06"  # the second one begins an archive without files
_TAR_AT, _TAR = 257, b"ustar"
_TAR_BLOCK = 512  # an archive without files is some blocks of zeros
# Beside the documented ones: bz2 raises ValueError where the stream ends early, zipfile raises RuntimeError for an
# encrypted member and NotImplementedError (one of its kinds) for an unknown method.
UNPACKING_FAULTS = (
    OSError, EOFError, ValueError, RuntimeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, tarfile.TarError
)  # fmt: skip
_LAYERS = 4  # a gzip file in a tar archive in an xz file makes three
_CHUNK = 1 << 20
_GROWTH = 256  # times its stored size that a file may unpack to, all layers together; texts come to some 30 times
_ALWAYS = 1 << 26  # bytes that any file may unpack to


class Member(NamedTuple):
    """One file: its name in the archive (empty where there is no archive), and its uncompressed bytes."""

    name: str
    stream: IO[bytes]


def unpacked_members(stream: IO[bytes], size: int, path: str) -> Iterator[Member]:
    """Yields the files in a stream, each to be read before the next is asked for; one where it is no archive.

    Folders, links, hidden files and the ``__MACOSX`` folder are passed over. Nothing is written anywhere, so the names
    inside an archive can do no harm. What is damaged raises one of ``UNPACKING_FAULTS``.

    Args:
        stream: the bytes as stored, to be sought in.
        size: how many there are.
        path: the file named in errors.

    Raises:
        ParseError: something is compressed in a way that is not read, in too many layers, or grows beyond reason; the
            last is found when it is read.
    """
    yield from _members(stream, "", _LAYERS, _Budget(path, max(_ALWAYS, _GROWTH * size)))


@contextmanager
def telling_damage(path: str) -> Iterator[None]:
    """Turns what a damaged stream raises into a ParseError that names the file."""
    try:
        yield
    except UNPACKING_FAULTS as fault:
        if isinstance(fault, SmaError):
            raise
        raise ParseError(
            f"read {path}",
            f"the compressed data is damaged or incomplete ({fault})",
            "Get the file again and compare its size and checksum with the publisher's.",
            path=path,
        ) from fault


def archive_members(archive: zipfile.ZipFile) -> list[str]:
    """Returns the names of the files in a zip archive that somebody put there on purpose, in its order.

    Folders, hidden files (a part of the name begins with a full stop) and the ``__MACOSX`` folder are passed over.
    """
    return [name for name in archive.namelist() if not _is_litter(name)]


class _Budget:
    """What a file may still unpack to."""

    def __init__(self, path: str, most: int) -> None:
        self.path = path
        self.most = self.left = most

    def take(self, count: int) -> None:
        """Counts bytes that were unpacked.

        Raises:
            ParseError: they are more than are left.
        """
        self.left -= count
        if self.left < 0:
            raise ParseError(
                f"read {self.path}",
                f"it unpacks to more than {self.most:,} bytes, beyond all measure for its stored size",
                "Such files can stall a machine; if this one is sound, unpack it and give the file itself.",
                path=self.path,
            )


class _Counted(io.RawIOBase):
    """A stream whose bytes are taken from a budget as they come."""

    def __init__(self, stream: Any, budget: _Budget) -> None:
        self._stream = stream
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._budget.take(len(data))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        parts: list[bytes] = []
        while data := self._stream.read(_CHUNK):
            self._budget.take(len(data))
            parts.append(data)
        return b"".join(parts)


def _members(stream: IO[bytes], name: str, layers: int, budget: _Budget) -> Iterator[Member]:
    head = _head(stream)
    while layers and _is_packed(head) and not _is_archive(head):
        stream, layers = _counted(_decompressed(stream, head), budget), layers - 1
        head = _head(stream)
    if layers and head[:4] in _ZIP:
        # A zip archive is read from its end.
        with zipfile.ZipFile(stream if stream.seekable() else io.BytesIO(stream.read())) as archive:
            for inner in archive_members(archive):
                with archive.open(inner) as opened:
                    yield from _members(_counted(opened, budget), inner, layers - 1, budget)
    elif layers and _is_tar(head):
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for info in tar:
                opened_file = tar.extractfile(info) if info.isreg() and not _is_litter(info.name) else None
                if opened_file is not None:
                    yield from _members(_counted(opened_file, budget), info.name, layers - 1, budget)
    else:
        packed = packed_as(head) or ("more than four layers of compression" if _is_packed(head) else "")
        if packed:
            raise ParseError(
                f"read {budget.path}",
                f"{name or 'it'} is binary or compressed in a way that is not read ({packed})",
                "Unpack it first; gzip, xz, bzip2, zip and tar are unpacked here.",
                path=budget.path,
            )
        yield Member(name, stream)


def _decompressed(stream: IO[bytes], head: bytes) -> Any:
    if head[:2] == _GZIP:
        return gzip.GzipFile(fileobj=stream, mode="rb")
    return lzma.LZMAFile(stream) if head[:6] == _XZ else bz2.BZ2File(stream)


def _counted(stream: Any, budget: _Budget) -> IO[bytes]:
    return io.BufferedReader(_Counted(stream, budget), 1 << 16)


def _head(stream: IO[bytes]) -> bytes:
    if isinstance(stream, io.BufferedReader):
        return stream.peek(_TAR_BLOCK)[:_TAR_BLOCK]
    at = stream.tell()
    head = stream.read(_TAR_BLOCK)
    stream.seek(at)
    return head


def _is_tar(head: bytes) -> bool:
    return head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR or head[:_TAR_BLOCK] == bytes(_TAR_BLOCK)


def _is_litter(name: str) -> bool:
    return name.endswith("/") or any(p == "__MACOSX" or p[:1] == "." for p in name.split("/") if p not in (".", ".."))


def _is_packed(head: bytes) -> bool:
    return head[:2] == _GZIP or head[:6] == _XZ or head[:3] == _BZIP2 or _is_archive(head)


def _is_archive(head: bytes) -> bool:
    return head[:4] in _ZIP or _is_tar(head)
