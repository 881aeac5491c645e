"""Bytes from a path, an open binary file or memory; compression is recognised by content, never by name."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO, Union

from ..errors import DataMissing, ParseError
from .report import LoadReport
from .unpacking import UNPACKING_FAULTS, archive_members, telling_damage, unpacked_members

__all__ = ["Source", "SourceLike", "archive_members", "decode_lines", "peek", "peek_first", "read_source"]

_LONGEST = 200  # characters of a path that a message shows


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
            ParseError: the compressed stream is damaged, compressed in a way that is not read, grows beyond reason, or
                is an archive that does not hold exactly one file.
        """
        return self._content

    @cached_property
    def _content(self) -> bytes:
        with telling_damage(self.path):
            found = unpacked_members(io.BytesIO(self.raw), len(self.raw), self.path)
            contents = [member.stream.read() for member in islice(found, 1)]
            count = len(contents) + sum(1 for _ in found)
        if count != 1:
            raise ParseError(
                f"read {self.path}",
                f"the archive holds {count or 'no'} files",
                "Give an archive with one file, or the file itself.",
                path=self.path,
            )
        return contents[0]


SourceLike = Union[str, "PathLike[str]", bytes, BinaryIO, Source]


def read_source(source: SourceLike, *, name: str | None = None) -> Source:
    """Returns the bytes behind ``source``.

    Args:
        source: a path, bytes, a file open in binary mode, or a Source, which is handed through.
        name: name for reports, where ``source`` has none of its own.

    Raises:
        DataMissing: there is no such file, it cannot be read, or it is a folder.
        TypeError: a file open in text mode, whose encoding was already guessed.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes):
        return Source(name or "<bytes>", source)
    if isinstance(source, (str, PathLike)):
        path = Path(fspath(source))
        try:
            if path.is_dir() or not path.exists():  # a pipe is no regular file, but can be read
                found = "that is a folder" if path.is_dir() else "there is no such file"
                raise DataMissing(f"read {_brief(path)}", found, "Give the path of an existing file.")
            return Source(name or str(path), path.read_bytes())
        except DataMissing:
            raise  # it is an OSError, too
        except OSError as fault:
            found = f"it cannot be read ({fault.strerror})"
            do = "Make the file readable, or give another one; text itself is given as bytes."
            raise DataMissing(f"read {_brief(path)}", found, do) from fault
    data = source.read()
    if not isinstance(data, bytes):
        raise TypeError("open the file in binary mode: its encoding is settled by its content")
    return Source(name or str(getattr(source, "name", "<stream>")), data)


def peek_first(path: Path, size: int = 65536) -> tuple[str, bytes]:
    """Returns the name and the start of the first file in the one at ``path``, which is not read further than needed.

    The name is empty where that is no archive; so is the start where it cannot be read.
    """
    try:
        with path.open("rb") as file:
            opened = unpacked_members(file, path.stat().st_size, str(path))
            first = next(opened, None)  # an archive is closed with what walks through it
            return (first.name, first.stream.read(size)) if first else ("", b"")
    except UNPACKING_FAULTS:
        return "", b""


def peek(path: Path, size: int = 65536) -> bytes:
    """Returns at most ``size`` uncompressed bytes from the start of a file; empty where it cannot be read."""
    return peek_first(path, size)[1]


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
    lines = _lines(text.removesuffix("\x1a"))  # which ends a text in DOS
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


def _brief(path: Path) -> str:
    """Returns a path for a message; somebody may have given a whole text in its place."""
    return str(path) if len(str(path)) <= _LONGEST else f"{str(path)[:_LONGEST]}..."


def _lines(text: str) -> list[str]:
    # str.splitlines would also cut at U+0085 and U+2028, which names may hold.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
