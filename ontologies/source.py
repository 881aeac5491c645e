"""Bytes from a path, an open binary file or memory; compression is recognised by content, never by name."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO, Union

from ..errors import DataMissing, ParseError
from .report import LoadReport

__all__ = ["Source", "SourceLike", "decode_lines", "peek", "read_source"]


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
            ParseError: the compressed stream is damaged or a zip archive does not hold exactly one file.
        """
        return self._content

    @cached_property
    def _content(self) -> bytes:
        try:
            return _unpack(self.raw, self.path)
        except ParseError:
            raise
        # Beside the documented ones: bz2 raises ValueError where the stream ends early, zipfile raises RuntimeError
        # for an encrypted member and NotImplementedError for an unknown method.
        except (OSError, EOFError, ValueError, RuntimeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as fault:
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
        if not path.is_file():
            found = "that is a folder" if path.is_dir() else "there is no such file"
            raise DataMissing(f"read {path}", found, "Give the path of an existing file.")
        return Source(name or str(path), path.read_bytes())
    data = source.read()
    if not isinstance(data, bytes):
        raise TypeError("open the file in binary mode: its encoding is settled by its content")
    return Source(name or str(getattr(source, "name", "<stream>")), data)


def peek(path: Path, size: int = 65536) -> bytes:
    """Returns at most ``size`` uncompressed bytes from the start of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            opened: io.BufferedIOBase | BinaryIO = file
            if magic[:2] == b"\x1f\x8b":
                opened = gzip.GzipFile(fileobj=file)
            elif magic == b"\xfd7zXZ\x00":
                opened = lzma.LZMAFile(file)  # noqa: SIM115 - the file below it is closed by the with
            elif magic[:3] == b"BZh":
                opened = bz2.BZ2File(file)
            return opened.read(size)
    except (OSError, EOFError, lzma.LZMAError, zlib.error):
        return b""


def decode_lines(content: bytes, report: LoadReport) -> list[str]:
    """Returns the lines of ``content`` without their ends.

    UTF-8 unless a byte-order mark says UTF-16; the machine's own encoding plays no part. Bytes that are not UTF-8 are
    replaced, with one warning per line.
    """
    encoding, shown = ("utf-16", "UTF-16") if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8", "UTF-8")
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        return _lines(content.decode(encoding))
    except UnicodeDecodeError:
        lines = _lines(content.decode(encoding, "replace"))
        for number, line in enumerate(lines, 1):
            if "\ufffd" in line:
                report.warn("encoding", f"line {number} holds bytes that are not {shown}; they were replaced", [number])
        return lines


def _lines(text: str) -> list[str]:
    # str.splitlines would also cut at U+0085 and U+2028, which names may hold.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _unpack(raw: bytes, path: str) -> bytes:
    if raw[:2] == b"\x1f\x8b":
        return gzip.decompress(raw)
    if raw[:6] == b"\xfd7zXZ\x00":
        return lzma.decompress(raw)
    if raw[:3] == b"BZh":
        return bz2.decompress(raw)
    if raw[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = [m for m in archive.namelist() if not m.endswith("/")]
            if len(members) != 1:
                raise ParseError(
                    f"read {path}",
                    f"the zip archive holds {len(members)} files",
                    "Give an archive with one file, or the file itself.",
                    path=path,
                )
            return archive.read(members[0])
    return raw
