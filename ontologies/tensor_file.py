"""Arrays in one file of the safetensors format: written whole or not at all, memory-mapped when read.

The format: the length of a header, eight bytes little-endian; the header, JSON, which names every array with its type,
shape and place, and holds a map of texts under ``__metadata__``; then the arrays, without gaps. Any reader of the
format reads these files. Beyond the format, the texts begin with a schema and end with two SHA-256: of the arrays, and
of the header itself with this last one set to zeros. Equal content gives equal bytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import mmap
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArtifactError, ShapeError

__all__ = ["Arrays", "read_tensors", "read_texts", "write_tensors"]

Arrays = Mapping[str, npt.NDArray[Any]]

_TYPES = {"F64": "<f8", "I64": "<i8", "I32": "<i4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}
_UNSIGNED = b'"header_sha256":"' + b"0" * 64 + b'"'
_SIGNED = re.compile(rb'"header_sha256":"([0-9a-f]{64})"')
_GREATEST_HEADER = 100_000_000  # what other readers of the format accept too
_WRITTEN_AT_ONCE = 1 << 24
_NEVER_HALF = "Save the index again; a save never leaves half a file, so this one was cut or copied in part."


def write_tensors(path: str | os.PathLike[str], schema: str, texts: Mapping[str, str], arrays: Arrays) -> int:
    """Returns the number of bytes written to ``path``: the arrays and texts in place of whatever was there.

    The bytes are written aside, brought to the disk, and renamed. A reader, and whoever comes after a kill or a loss of
    power, finds the old file or the new one, whole. Two writers of one path take turns.

    Args:
        path: the file; its folder must be there.
        schema: what the file is, a slash, and the number of its layout.
        texts: what people and readers should know of it.
        arrays: float64, int64, int32, uint16, uint8 or bool.

    Raises:
        ArtifactError: the file cannot be written; what was there is untouched.
        ShapeError: an array of another type.
    """
    target = Path(os.path.realpath(path))  # through a link, so that the file behind it is replaced and not the link
    # Wide types first keeps every array aligned, since the format leaves no gaps.
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    stored = [np.ascontiguousarray(arrays[name]) for name in names]
    table, at, digest = {}, 0, hashlib.sha256()
    for name, array in zip(names, stored, strict=True):
        if array.dtype not in _NAMES:
            raise ShapeError(f"save to {path}", f"array {name} is {array.dtype}", f"Give {', '.join(_TYPES)} alone.")
        place = [at, at + array.nbytes]
        table[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": place}
        digest.update(_bytes_of(array))
        at += array.nbytes
    own = {"schema": schema, **texts, "arrays_sha256": digest.hexdigest(), "header_sha256": "0" * 64}
    header = json.dumps({"__metadata__": own, **table}, separators=(",", ":")).encode("ascii")
    header += b" " * (-len(header) % 8)
    header = header.replace(_UNSIGNED, _UNSIGNED.replace(b"0" * 64, hashlib.sha256(header).hexdigest().encode()))
    parts: list[bytes | memoryview] = [struct.pack("<Q", len(header)), header, *map(_bytes_of, stored)]
    try:
        if target.is_dir():
            raise IsADirectoryError("it is a folder")
        _replace(target, parts)
    except OSError as fault:
        raise ArtifactError(
            f"save to {path}",
            f"it cannot be written ({fault.strerror or fault}); what was there is untouched",
            "Name a file in a folder that can be written, on a disk with room for it twice.",
        ) from fault
    return 8 + len(header) + at


def read_texts(path: str | os.PathLike[str], schema: str) -> dict[str, str]:
    """Returns the texts of a file, without its arrays. ``schema`` and faults: see ``read_tensors``."""
    with _opened(path) as file:
        return _header(str(path), file.read, os.fstat(file.fileno()).st_size, schema)[0]


def read_tensors(
    path: str | os.PathLike[str], schema: str, *, check: bool = True
) -> tuple[dict[str, str], dict[str, npt.NDArray[Any]]]:
    """Returns the texts of a file, and its arrays mapped into memory: they are read from the disk when first used.

    The mapping is private: writing into an array changes this process alone. It outlives a later save over the file,
    which puts another file in its place; only a program that cuts the file itself would take the ground from under it.

    Args:
        path: the file.
        schema: what it should be; a file with a higher number behind the slash is refused.
        check: compare the arrays with their SHA-256, which reads them all once.

    Raises:
        ArtifactError: the file is missing, foreign, newer, cut, longer than it should be, or damaged.
    """
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        texts, table, start = _header(str(path), file.read, size, schema)
        # Through the file and not through the mapping, whose pages would all count as memory of this process.
        if check and hashlib.file_digest(file, "sha256").hexdigest() != texts["arrays_sha256"]:
            raise ArtifactError(
                f"load {path}",
                "it is damaged: its arrays do not have the SHA-256 in its header",
                "Save the index again.",
            )
        # Private rather than read-only: compiled code and tensor libraries take writeable arrays alone without a copy
        # or a second compilation.
        whole = np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY), np.uint8)
    arrays = {}
    for name, (code, shape, lo, hi) in table.items():
        arrays[name] = whole[start + lo : start + hi].view(code).reshape(shape)
    return texts, arrays


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _replace(target: Path, parts: list[bytes | memoryview]) -> None:
    """Puts a file of ``parts`` in the place of ``target`` at once."""
    aside = target.with_name(f".{target.name}.unfinished")
    handle = _locked(aside)
    try:
        os.ftruncate(handle, 0)  # what a killed save left there
        for part in parts:
            rest = memoryview(part)
            while len(rest):
                rest = rest[os.write(handle, rest[:_WRITTEN_AT_ONCE]) :]
        os.fsync(handle)
        os.replace(aside, target)
    finally:
        with contextlib.suppress(OSError):
            if _names(aside, handle):  # something went wrong, or it would have been renamed
                os.unlink(aside)
        os.close(handle)  # and with it the lock
    # A file system that cannot be told to keep the rename keeps the old file or the new one all the same.
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _locked(aside: Path) -> int:
    """Returns a handle of the file ``aside``, which no other writer holds."""
    while True:
        handle = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _names(aside, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its writer has renamed it meanwhile: it is the finished file now


def _names(path: Path, handle: int) -> bool:
    """Returns whether ``path`` is the file behind ``handle``."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as fault:
        raise ArtifactError(
            f"load {path}", f"it cannot be read ({fault.strerror or fault})", "Name a file that was saved before."
        ) from fault


def _header(
    path: str, read: Callable[[int], bytes], size: int, schema: str
) -> tuple[dict[str, str], dict[str, tuple[str, list[int], int, int]], int]:
    """Returns the texts, each array's type, shape and place, and where the arrays begin."""
    kind, _, layout = schema.rpartition("/")
    foreign = ArtifactError(f"load {path}", f"it is no file of the kind {kind}", f"Name a file that holds a {kind}.")
    length = int.from_bytes(read(8), "little")
    text = read(length) if length <= _GREATEST_HEADER else b""
    if size < 8 + length:
        ours = f'{{"__metadata__":{{"schema":"{kind}/'.encode()
        if text and text[: len(ours)] == ours[: len(text)]:
            raise _cut(path, f"{size} bytes, fewer than its header alone")
        if size < 8 + len(ours):
            raise _cut(path, f"{size} bytes, fewer than any file of the kind {kind}")
        raise foreign
    try:
        found = json.loads(text)
        texts = found.pop("__metadata__")
        named, _, number = texts["schema"].rpartition("/")
        if named != kind or not number.isdecimal():
            raise foreign
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise foreign from fault
    if number != layout:
        raise ArtifactError(
            f"load {path}",
            f"it has layout {number} of {kind}, and this release reads layout {layout}",
            "Use a release that reads it, or save the index anew with this one.",
        )
    damaged = ArtifactError(f"load {path}", "it is damaged: its header does not hold together", "Save the index again.")
    try:
        signed = _SIGNED.search(text)
        if signed is None or hashlib.sha256(_SIGNED.sub(_UNSIGNED, text)).hexdigest() != signed[1].decode():
            raise damaged
        table, at = {}, 0
        for name, entry in found.items():
            code, shape, (lo, hi) = _TYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
            count = int(np.prod(shape, dtype=object)) if all(type(n) is int and n >= 0 for n in shape) else -1
            if lo != at or hi - lo != count * np.dtype(code).itemsize or not isinstance(texts["arrays_sha256"], str):
                raise damaged
            table[name], at = (code, shape, lo, hi), hi
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise damaged from fault
    start = 8 + length
    if size < start + at:
        raise _cut(path, f"{size} bytes of {start + at}")
    if size > start + at or start % 8:
        raise ArtifactError(
            f"load {path}", f"it is damaged: {size} bytes where {start + at} belong to it", "Save the index again."
        )
    return texts, table, start


def _cut(path: str, what: str) -> ArtifactError:
    return ArtifactError(f"load {path}", f"it is incomplete: {what}", _NEVER_HALF)
