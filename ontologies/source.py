"""Bytes from a path, an open binary file or memory; compression is recognised by content, never by name."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import IO, BinaryIO, Union

from ..errors import DataMissing, ParseError
from .magic import packed_as
from .report import LoadReport

__all__ = [
    "BZIP2", "GZIP", "UNPACKING_FAULTS", "XZ", "ZIP", "Source", "SourceLike", "archive_members", "decode_lines",
    "is_litter", "is_tar", "peek", "read_source",
]  # fmt: skip

GZIP, XZ, BZIP2 = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh"
ZIP = b"PK\x03\x04", b"PK\x05\x06"  # the second one begins an archive without files
_TAR_AT, _TAR = 257, b"ustar"
# Beside the documented ones: bz2 raises ValueError where the stream ends early, zipfile raises RuntimeError for an
# encrypted member and NotImplementedError (one of its kinds) for an unknown method.
UNPACKING_FAULTS = (
    OSError, EOFError, ValueError, RuntimeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, tarfile.TarError
)  # fmt: skip
_LAYERS = 2  # a gzip file in a zip archive is common; more layers than that are an accident or an attack


@dataclass(frozen=True)
class Source:
    """One input file as it was found.

    Attributes:
        path: name shown in reports.
        raw: bytes as stored, perhaps compressed.
    """

    path: str
    raw: bytes

    @property
    def raw_sha256(self) -> str:
        """SHA-256 of the stored bytes, in hex: the key of a compiled file."""
        return hashlib.sha256(self.raw).hexdigest()

    @cached_property
    def content_sha256(self) -> str:
        """SHA-256 of the uncompressed bytes, in hex: what an ontology or a record set is known by."""
        return hashlib.sha256(self.content()).hexdigest()

    def content(self) -> bytes:
        """Returns the uncompressed bytes; a second call costs nothing.

        Raises:
            ParseError: the compressed stream is damaged, compressed in a way that is not read, or a zip archive that
                does not hold exactly one file.
        """
        return self._content

    @cached_property
    def _content(self) -> bytes:
        try:
            return _unpack(self.raw, self.path)
        except ParseError:
            raise
        except UNPACKING_FAULTS as fault:
            raise ParseError(
                f"read {self.path}",
                f"the compressed data is damaged or incomplete ({fault})",
                "Get the file again and compare its size and checksum with the publisher's.",
                path=self.path,
            ) from fault


SourceLike = Union[str, "PathLike[str]", bytes, BinaryIO, Source]


def read_source(source: SourceLike, *, name: str | None = None) -> Source:
    """Returns the bytes behind ``source``.

    Args:
        source: a path, bytes, a file open in binary mode, or a Source, which is handed through.
        name: name for reports, where ``source`` has none of its own.

    Raises:
        DataMissing: there is no such file, or it is a folder.
        TypeError: a file open in text mode, whose encoding was already guessed.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes):
        return Source(name or "<bytes>", source)
    if isinstance(source, (str, PathLike)):
        path = Path(fspath(source))
        if path.is_dir() or not path.exists():  # a pipe is no regular file, but can be read
            found = "that is a folder" if path.is_dir() else "there is no such file"
            raise DataMissing(f"read {path}", found, "Give the path of an existing file.")
        try:
            return Source(name or str(path), path.read_bytes())
        except OSError as fault:
            found = f"it cannot be read ({fault.strerror})"
            raise DataMissing(f"read {path}", found, "Make the file readable, or give another one.") from fault
    data = source.read()
    if not isinstance(data, bytes):
        raise TypeError("open the file in binary mode: its encoding is settled by its content")
    return Source(name or str(getattr(source, "name", "<stream>")), data)


def archive_members(archive: zipfile.ZipFile) -> list[str]:
    """Returns the names of the files in a zip archive that somebody put there on purpose, in its order.

    Folders, hidden files (a part of the name begins with a full stop) and the ``__MACOSX`` folder are passed over.
    """
    return [name for name in archive.namelist() if not is_litter(name)]


def is_tar(content: bytes) -> bool:
    """Returns whether ``content``, or its beginning, is that of a tar archive."""
    return content[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR


def is_litter(name: str) -> bool:
    """Returns whether a name in an archive is that of a folder, a hidden file or the ``__MACOSX`` folder."""
    return name.endswith("/") or any(p == "__MACOSX" or p[:1] == "." for p in name.split("/") if p not in (".", ".."))


def peek(path: Path, size: int = 65536) -> bytes:
    """Returns at most ``size`` uncompressed bytes from the start of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            opened: io.BufferedIOBase | BinaryIO | IO[bytes] = file
            if magic[:2] == GZIP:
                opened = gzip.GzipFile(fileobj=file)
            elif magic == XZ:
                opened = lzma.LZMAFile(file)  # noqa: SIM115 - the file below it is closed by the with
            elif magic[:3] == BZIP2:
                opened = bz2.BZ2File(file)
            elif magic[:4] in ZIP:
                with zipfile.ZipFile(file) as archive:
                    names = archive_members(archive)
                    return archive.open(names[0]).read(size) if names else b""
            return opened.read(size)
    except UNPACKING_FAULTS:
        return b""


def decode_lines(content: bytes, report: LoadReport, *, first: int = 1) -> list[str]:
    """Returns the lines of ``content`` without their ends.

    UTF-8 unless a byte-order mark says UTF-16; the machine's own encoding plays no part. Bytes that are not UTF-8 are
    replaced and NUL characters are left out, with one warning per line. Byte-order marks go wherever they begin or end
    a line, as they do where files were joined. ``first`` is the number of the first line in the file.
    """
    is_wide = first == 1 and content[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding, shown = ("utf-16", "UTF-16") if is_wide else ("utf-8", "UTF-8")
    try:
        text, faulty = content.decode(encoding), False
    except UnicodeDecodeError:
        text, faulty = content.decode(encoding, "replace"), True
    lines = _lines(text)
    if "\ufeff" in text:
        lines = [line.strip("\ufeff") for line in lines]
    if faulty or "\0" in text:
        for number, line in enumerate(lines, first):
            if faulty and "\ufffd" in line:
                report.warn("encoding", f"line {number} holds bytes that are not {shown}; they were replaced", [number])
            if "\0" in line:
                report.warn("encoding", f"line {number} holds NUL characters; they were left out", [number])
        lines = [line.replace("\0", "") for line in lines]
    return lines


def _lines(text: str) -> list[str]:
    # str.splitlines would also cut at U+0085 and U+2028, which names may hold.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _unpack(raw: bytes, path: str) -> bytes:
    for _ in range(_LAYERS):
        inner = _unpack_once(raw, path)
        if inner is raw:
            break
        raw = inner
    packed = packed_as(raw) or ("more than two layers of compression" if _is_packed(raw) else "")
    if packed:
        raise ParseError(
            f"read {path}",
            f"it is binary or compressed in a way that is not read ({packed})",
            "Unpack it first; gzip, xz, bzip2, zip and tar are unpacked here.",
            path=path,
        )
    return raw


def _is_packed(raw: bytes) -> bool:
    return raw[:2] == GZIP or raw[:6] == XZ or raw[:3] == BZIP2 or raw[:4] in ZIP or is_tar(raw)


def _unpack_once(raw: bytes, path: str) -> bytes:
    """Returns ``raw`` with one layer of compression taken off, or ``raw`` itself where there is none."""
    if raw[:2] == GZIP:
        return gzip.decompress(raw)
    if raw[:6] == XZ:
        return lzma.decompress(raw)
    if raw[:3] == BZIP2:
        return bz2.decompress(raw)
    if raw[:4] in ZIP:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive_members(archive)
            if len(members) != 1:
                raise _not_one("zip", len(members), path)
            return archive.read(members[0])
    if is_tar(raw):
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            files = [info for info in tar if info.isreg() and not is_litter(info.name)]
            opened = tar.extractfile(files[0]) if len(files) == 1 else None
            if opened is None:
                raise _not_one("tar", len(files), path)
            return opened.read()
    return raw


def _not_one(kind: str, count: int, path: str) -> ParseError:
    return ParseError(
        f"read {path}",
        f"the {kind} archive holds {count or 'no'} files",
        "Give an archive with one file, or the file itself.",
        path=path,
    )
