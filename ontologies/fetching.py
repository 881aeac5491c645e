"""Fetching one file over HTTP: it goes on where it was cut off, and appears whole and checked or not at all.

What has arrived so far lies beside the wanted file under ``.unfinished-NAME``, with a note of where it came from and
of which state of the source it is part. It is gone on with only where the server can say that the source is still the
same (RFC 9110, 13.1.5), or where the sum of the whole is known and will tell.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from ..errors import ChecksumMismatch, DataMissing, QueryError, SmaError
from ..version import __version__

__all__ = ["Fetched", "Progress", "download", "file_sha256", "place_file"]

Progress = Callable[[int, int | None], None]
"""Told how many bytes are there and, where the server says so, how many there will be."""

_CHUNK = 1 << 16
_TIMEOUT_S = 30.0
_TRIES = 4  # connections in a row that brought nothing new
_PAUSE_S = 0.5
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # what a server may answer now and not a moment later
_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_WEAK = "W/"


@dataclass(frozen=True)
class Fetched:
    """A file that is here in full.

    Attributes:
        path: where it lies.
        address: what was asked for.
        final_address: where the server sent us for it.
        bytes: its size.
        sha256: SHA-256 of the file as it was sent, hex.
        validator: what the server calls this state of the source, to ask later whether there is another; or empty.
        is_new: it was not here before.
    """

    path: Path
    address: str
    final_address: str
    bytes: int
    sha256: str
    validator: str
    is_new: bool


@dataclass(frozen=True)
class _Beginning:
    """What is known of an unfinished file; ``total`` is -1 where the server did not say."""

    address: str
    validator: str
    total: int


def download(
    address: str,
    path: Path,
    *,
    size: int = 0,
    sha256: str = "",
    known_as: str = "",
    progress: Progress | None = None,
    timeout_s: float = _TIMEOUT_S,
    pause_s: float = _PAUSE_S,
) -> Fetched | None:
    """Returns the file at ``address``, fetched into ``path``.

    A file that is at ``path`` already is never written over: it is handed back where its sum is the one stated, and
    refused otherwise.

    Args:
        address: where it is, over http or https.
        path: where it is wanted; its folder is made.
        size: bytes it must have; 0 where that is not known.
        sha256: SHA-256 it must have, hex; empty where that is not known.
        known_as: validator of the state that the caller has already; where the source is still in it, nothing is
            fetched.
        progress: told how far it is.
        timeout_s: seconds of silence after which a connection counts as cut.
        pause_s: seconds before the second try; twice as many before each further one.

    Returns:
        The file, or None where the source is still what ``known_as`` names.

    Raises:
        DataMissing: there is no network, the server refuses, the connection is cut again and again, the file cannot
            be written, or another process is fetching it.
        ChecksumMismatch: what came is not what was stated; it is thrown away.
        QueryError: the address is not one of http or https.
    """
    asked = f"fetch {address}"
    if not address.startswith(("http://", "https://")):
        raise QueryError(asked, "no address of http or https", "Give the address of a file on the web.")
    if path.exists():
        return _at_hand(path, address, size, sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".unfinished-{path.name}")
    transfer = _Transfer(address, part, size, sha256, progress, timeout_s)
    idle, pause = 0, pause_s
    while True:
        before = transfer.have
        try:
            if not transfer.run(known_as):
                return None
            break
        except urllib.error.HTTPError as fault:
            fault.close()
            if fault.code not in _PASSING:
                raise DataMissing(asked, f"the server refuses ({fault.code} {fault.reason})", _ELSEWHERE) from fault
            last: Exception = fault
        except SmaError:
            raise
        except (urllib.error.URLError, http.client.HTTPException, OSError) as fault:
            if isinstance(fault, OSError) and (fault.filename is not None or fault.errno in _OF_THE_DISK):
                found = f"{part} cannot be written ({fault.strerror})"
                raise DataMissing(asked, found, "Make room there, or give another folder with --to.") from fault
            last = fault
        idle = 0 if transfer.have > before else idle + 1
        pause = pause_s if transfer.have > before else pause
        if idle >= _TRIES or _is_lasting(last):
            raise DataMissing(asked, *_why_not(last, transfer.have)) from last
        time.sleep(pause)
        pause *= 2
    return transfer.finish(path)


_ELSEWHERE = "Look at the address in a browser; a file got otherwise is taken in with: sma-gpu data add FILE."


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 of a file as it is stored, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def place_file(source: Path, path: Path) -> bool:
    """Moves a finished file to ``path`` of the same file system, at once and never over a file that is there.

    Returns:
        Whether it was moved; False where there was a file already, and ``source`` is left.
    """
    with source.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        os.link(source, path)  # a rename would write over what is there
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        if path.exists():
            return False
        os.rename(source, path)
        return True
    source.unlink()
    return True


class _Transfer:
    """One file on its way, over one connection or several."""

    def __init__(
        self, address: str, part: Path, size: int, sha256: str, progress: Progress | None, timeout_s: float
    ) -> None:
        self.address = address
        self.part = part
        self.note = part.with_name(f"{part.name}.json")
        self.size = size
        self.sha256 = sha256
        self.progress = progress
        self.timeout_s = timeout_s
        self.final_address = address
        self.begun = self._begun()

    @property
    def have(self) -> int:
        """Bytes that are here."""
        return self.part.stat().st_size if self.part.exists() else 0

    def run(self, known_as: str) -> bool:
        """Fetches what is missing over one connection; returns False where the source is what ``known_as`` names."""
        have = self.have if self._can_go_on() else 0
        request = urllib.request.Request(self.address, headers={"User-Agent": f"sma_gpu/{__version__}"})
        request.add_header("Accept-Encoding", "identity")  # the sum is that of the file, not of a packed copy
        if have:
            request.add_header("Range", f"bytes={have}-")
            if self.begun.validator:
                request.add_header("If-Range", self.begun.validator)
        elif known_as:
            request.add_header("If-None-Match" if known_as.startswith('"') else "If-Modified-Since", known_as)
        try:
            answer = urllib.request.urlopen(request, timeout=self.timeout_s)
        except urllib.error.HTTPError as fault:
            if fault.code == 304:
                fault.close()
                return False
            if fault.code == 416:  # nothing lies behind what is here: it is all, or it is of another state
                fault.close()
                if have in (self.begun.total, self.size or -1):
                    return True
                self.discard()
                raise http.client.IncompleteRead(b"") from fault
            raise
        with answer:
            self._take(answer, have)
        return True

    def _take(self, answer: Any, have: int) -> None:
        """Adds what ``answer`` brings to the unfinished file, or starts that anew where it brings the whole."""
        self.final_address = answer.geturl()
        start, total = _extent(answer)
        if start != have or answer.status != 206:
            if start:
                self.discard()
                raise http.client.IncompleteRead(b"")
            have = 0
        if total >= 0:
            self._check_size(total)
        expected = self.size or (total if total >= 0 else None)
        with self.part.open("ab") as file:
            self._lock(file, have)
            self.begun = _Beginning(self.address, _validator(answer), total)
            self.note.write_text(json.dumps(asdict(self.begun)), encoding="utf-8")
            file.truncate(have)
            while data := answer.read(_CHUNK):
                file.write(data)
                have += len(data)
                if self.progress:
                    self.progress(have, expected)
                if self.size and have > self.size:
                    self._check_size(have)
        if total >= 0 and have < total:
            raise http.client.IncompleteRead(b"", total - have)

    def _lock(self, file: IO[bytes], have: int) -> None:
        """Sees to it that nobody else writes to the unfinished file, and that nobody has since it was looked at."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as fault:
            asked, found = f"fetch {self.address}", f"another process is fetching it into {self.part}"
            raise DataMissing(asked, found, "Wait for that one.") from fault
        if have and os.fstat(file.fileno()).st_size != have:
            raise http.client.IncompleteRead(b"")

    def finish(self, path: Path) -> Fetched:
        """Returns the file, checked and in its place."""
        size, found = self.have, file_sha256(self.part)
        asked = f"fetch {self.address}"
        self._check_size(size)
        if self.sha256 and found != self.sha256:
            self.discard()
            raise ChecksumMismatch(asked, f"its sha256 is {found}, not {self.sha256}", _NOT_KEPT)
        validator = self.begun.validator
        is_new = place_file(self.part, path)
        self.discard()
        if not is_new:  # somebody else was faster
            return _at_hand(path, self.address, size, found)
        return Fetched(path, self.address, self.final_address, size, found, validator, is_new=True)

    def _check_size(self, size: int) -> None:
        if self.size and size != self.size:
            self.discard()
            more = "more" if size > self.size else "fewer"
            found = f"it has {more} bytes than the {self.size} stated"
            raise ChecksumMismatch(f"fetch {self.address}", found, _NOT_KEPT)

    def discard(self) -> None:
        """Removes the unfinished file and its note."""
        for path in (self.part, self.note):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        self.begun = _Beginning(self.address, "", -1)

    def _can_go_on(self) -> bool:
        return self.begun.address == self.address and bool(self.begun.validator or self.sha256)

    def _begun(self) -> _Beginning:
        try:
            found = json.loads(self.note.read_text(encoding="utf-8"))
            return _Beginning(str(found["address"]), str(found["validator"]), int(found["total"]))
        except (OSError, ValueError, KeyError, TypeError):
            return _Beginning("", "", -1)


_NOT_KEPT = "It was thrown away. Try again; if it comes out the same, the file at this address was changed."


def _at_hand(path: Path, address: str, size: int, sha256: str) -> Fetched:
    found, have = file_sha256(path), path.stat().st_size
    if (sha256 and found != sha256) or (size and have != size):
        raise ChecksumMismatch(
            f"fetch {address}",
            f"{path} is there already, with other content than stated (sha256 {found}, {have} bytes)",
            "It was left as it is. Move it away to fetch the file anew.",
        )
    return Fetched(path, address, address, have, found, "", is_new=False)


def _extent(answer: Any) -> tuple[int, int]:
    """Returns where an answer begins in the file and how long the file is, -1 where the server does not say."""
    match = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if answer.status == 206 and match:
        return int(match[1]), -1 if match[2] == "*" else int(match[2])
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else -1


def _validator(answer: Any) -> str:
    """Returns a strong entity tag, else the day of the last change, else an empty string."""
    tag = str(answer.headers.get("ETag", ""))
    return tag if tag and not tag.startswith(_WEAK) else str(answer.headers.get("Last-Modified", ""))


def _is_lasting(fault: Exception) -> bool:
    """Returns whether trying again at once is pointless: no name server, or nobody listens."""
    reason = fault.reason if isinstance(fault, urllib.error.URLError) else fault
    return isinstance(reason, (socket.gaierror, ConnectionRefusedError, ssl.SSLCertVerificationError))


def _why_not(fault: Exception, have: int) -> tuple[str, str]:
    """Returns what was found and what to do, of an error that names the fault."""
    reason = fault.reason if isinstance(fault, urllib.error.URLError) else fault
    if isinstance(fault, urllib.error.HTTPError):
        return f"the server cannot serve now ({fault.code} {fault.reason})", "Try again later."
    if isinstance(reason, socket.gaierror):
        return f"there is no network here, or no such server ({reason.strerror})", _OFFLINE
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"the server's certificate is not trusted here ({reason.verify_message})", _OFFLINE
    kept = f"; {have} bytes are here and the next call goes on behind them" if have else ""
    if isinstance(reason, ConnectionRefusedError):
        return f"the server cannot be reached ({reason.strerror}){kept}", _OFFLINE
    return f"the connection is cut or silent ({reason}){kept}", "Call it again when the network is better."


_OFFLINE = "Connect this machine, or fetch the file on another one and take it in here with: sma-gpu data add FILE."
