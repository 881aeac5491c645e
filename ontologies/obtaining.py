"""Bringing the files of a name to this machine: fetched from their publishers, or taken in from elsewhere.

A fetched file stands in the folder of its name under a file name that holds its release, so that a newer one comes to
lie beside it. What is known of where it came from is kept in ``.fetched/FILE.json`` there.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..errors import ChecksumMismatch, DataMissing, QueryError, SmaError
from .catalog import catalog
from .fetching import Fetched, Progress, download, file_sha256, place_file
from .loading import READERS
from .locate import release_of, stated_name, user_folder
from .manifest import FileManifest, Release, manifests
from .source import peek_first, read_source

__all__ = ["Obtained", "Receipt", "add_file", "fetch_name", "parts_of", "receipt_of"]

_PACKED = (".gz", ".xz", ".zip", ".bz2")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RECEIPTS, _INCOMING = ".fetched", ".incoming"


@dataclass(frozen=True)
class Receipt:
    """Where a fetched file came from.

    Attributes:
        address: what was asked for.
        final_address: where the server sent us for it.
        version: the release that the file states.
        bytes: its size as it was sent.
        sha256: its SHA-256 as it was sent, hex.
        validator: what the server calls this state of the source.
    """

    address: str
    final_address: str
    version: str
    bytes: int
    sha256: str
    validator: str


@dataclass(frozen=True)
class Obtained:
    """What became of one file that was wanted.

    Attributes:
        part: ``ontology``, ``records``, or what goes with these, such as ``genes``.
        path: where it lies, or None where nothing came.
        version: the release that it states.
        is_new: it was not here before.
        remark: what a person should know of it.
    """

    part: str
    path: Path | None
    version: str
    is_new: bool
    remark: str


def parts_of(name: str) -> dict[str, FileManifest]:
    """Returns the files of a ready domain, and of what goes with it, or of a catalogued ontology, by part.

    Raises:
        QueryError: there is neither under this name.
    """
    if name in manifests():
        return dict(manifests()[name].parts)
    if name in catalog():
        return {"ontology": catalog()[name].ontology}
    raise QueryError(
        f"data {name}",
        f"ready domains are {', '.join(manifests())}; {len(catalog())} further ontologies are catalogued",
        "sma-gpu data list shows them all.",
    )


def fetch_name(
    name: str,
    folder: Path | None = None,
    *,
    release: str | None = None,
    progress: Callable[[str], Progress | None] | None = None,
    pause_s: float = 0.5,
) -> list[Obtained]:
    """Fetches the files of a ready domain or a catalogued ontology, each unless it is here in its newest state.

    Args:
        name: the domain or the ontology.
        folder: where to; the folder of that name in the user's own folder where it is None.
        release: release of the ontology instead of the newest; the records are fetched as they are.
        progress: makes, for the address of a file, what is told how far it is.
        pause_s: see ``download``.

    Returns:
        What became of each file. One whose address is a page has no path, and the remark names the page.

    Raises:
        QueryError: there is no such domain or ontology.
        DataMissing: there is no network, the server refuses, or no address of that release is known.
        ChecksumMismatch: what came is not what was wanted.
    """
    place = folder or user_folder() / name
    return [
        _fetch_part(part, wanted, place, release if part == "ontology" else None, progress, pause_s)
        for part, wanted in parts_of(name).items()
    ]


def _fetch_part(
    part: str,
    wanted: FileManifest,
    place: Path,
    release: str | None,
    progress: Callable[[str], Progress | None] | None,
    pause_s: float,
) -> Obtained:
    known = _known_address(part, wanted, release)
    if known is None and wanted.is_page:
        return Obtained(part, None, "", is_new=False, remark=f"choose a file on {wanted.address}, then: {_ADD}")
    address = known.address if known else wanted.address
    remark = f"newer releases may be on {wanted.address}" if known and wanted.is_page and release is None else ""
    here = _here(place, address)
    if here is not None and known is not None:
        return Obtained(part, here[0], here[1].version, is_new=False, remark="it is here already")
    size, sha256 = (known.bytes, known.sha256) if known and not _is_packed(address) else (0, "")
    incoming = place / _INCOMING / _file_name(address)
    try:
        found = download(
            address,
            incoming,
            size=size,
            sha256=sha256,
            known_as=here[1].validator if here else "",
            progress=progress(address) if progress else None,
            pause_s=pause_s,
        )
    except SmaError:
        _remove_empty(incoming.parent, place)
        raise
    if found is None and here is not None:
        _remove_empty(incoming.parent)
        return Obtained(part, here[0], here[1].version, is_new=False, remark="it is here in its newest state")
    if found is None:
        raise DataMissing(f"fetch {address}", "the server says that nothing has changed", "Try again.")
    return _settle(part, wanted, place, found, known, remark)


_ADD = "sma-gpu data add FILE"


def _known_address(part: str, wanted: FileManifest, release: str | None) -> Release | None:
    """Returns the release to fetch from an address of its own, or None for the newest from the usual address."""
    with_address = [r for r in wanted.known if r.address]
    if release is None:
        return with_address[0] if wanted.is_page and with_address else None
    found = [r for r in with_address if r.version == release]
    if not found:
        have = ", ".join(r.version for r in with_address) or "none"
        raise DataMissing(
            f"fetch {part} of release {release}",
            f"releases with an address of their own are: {have}",
            f"Get it from {wanted.address}, then: {_ADD}",
        )
    return found[0]


def _settle(
    part: str, wanted: FileManifest, place: Path, found: Fetched, known: Release | None, remark: str
) -> Obtained:
    """Gives an arrived file its name, once it is clear that it is what was wanted."""
    stated = release_of(found.path, wanted)
    if stated is None:
        begins = peek_first(found.path, 40)[1]
        found.path.unlink()
        raise ChecksumMismatch(
            f"fetch {found.address}",
            f"what came is not the {part} that was wanted; it begins with {begins!r}",
            "It was thrown away. Look at the address in a browser.",
        )
    if found.address.startswith("https:") and found.final_address.startswith("http:"):
        remark = "; ".join(filter(None, [remark, f"it came over plain http, from {found.final_address}"]))
    version = stated[0]
    checked = wanted.release(version)
    if checked is not None and checked.sha256:
        content = read_source(found.path).content_sha256
        if content != checked.sha256:
            found.path.unlink()
            raise ChecksumMismatch(
                f"fetch {found.address}",
                f"its content says it is release {version}, but its sha256 is {content}, not {checked.sha256}",
                "It was thrown away: a release does not change once it is out.",
            )
        remark = "; ".join(filter(None, [f"sha256 as stated for {version}", remark]))
    elif known is not None and version != known.version:
        found.path.unlink()
        raise ChecksumMismatch(
            f"fetch {found.address}", f"it states release {version or 'none'}, not {known.version}", "Thrown away."
        )
    path = place / _with_release(found.path.name, version)
    is_new = place_file(found.path, path)
    if not is_new:
        if file_sha256(path) != found.sha256:
            raise ChecksumMismatch(
                f"fetch {found.address}",
                f"{path} is there already with other content (the new one lies in {found.path})",
                "Neither was touched. Compare them and move one away.",
            )
        found.path.unlink()
        remark = "; ".join(filter(None, ["it is here already", remark]))
    _remove_empty(found.path.parent)
    receipt = Receipt(found.address, found.final_address, version, found.bytes, found.sha256, found.validator)
    note = _receipt_path(path)
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps(asdict(receipt), indent=1) + "\n", encoding="utf-8")
    return Obtained(part, path, version, is_new, remark)


def add_file(path: Path, name: str = "", folder: Path | None = None) -> tuple[str, str, Path, bool]:
    """Takes a copy of a file into the user's folder, under the name of what it serves.

    Args:
        path: the file.
        name: what it is for: a ready domain, a catalogued ontology, or a name of the user's own for an ontology; found
            by content where it is empty.
        folder: where to; the folder of that name in the user's own folder where it is None.

    Returns:
        The name, the part that it is, where the copy lies, and whether it is new there.

    Raises:
        DataMissing: there is no such file, or it cannot be read.
        QueryError: it serves none of the ready domains, and no name was given; or it is not for the one named.
        ChecksumMismatch: another file of that name is there.
    """
    if not path.is_file():
        raise DataMissing(f"add {path}", "there is no such file", "Give the path of an existing file.")
    name, part = _purpose(path, name)
    place = folder or user_folder() / name
    place.mkdir(parents=True, exist_ok=True)
    target = place / path.name
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=place) as scratch:
        copy = Path(scratch, path.name)
        shutil.copyfile(path, copy)
        is_new = place_file(copy, target)
        if not is_new and file_sha256(copy) != file_sha256(target):
            raise ChecksumMismatch(
                f"add {path}", f"{target} is there already with other content", "Move it away, or rename the new file."
            )
    return name, part, target, is_new


def receipt_of(path: Path) -> Receipt | None:
    """Returns where a file was fetched from, or None where that is not known."""
    try:
        return Receipt(**json.loads(_receipt_path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _purpose(path: Path, name: str) -> tuple[str, str]:
    """Returns the name that a file serves under and the part that it is."""
    if name and not _NAME.fullmatch(name):
        raise QueryError(f"the name {name!r}", "not fit for a folder", "Use letters, digits, full stops and hyphens.")
    named = [m for m in manifests().values() if name in ("", m.domain)]
    for manifest in named:
        for part, wanted in manifest.parts.items():
            if release_of(path, wanted) is not None:
                return manifest.domain, part
    if name in manifests():
        *others, last = manifests()[name].parts
        found = f"neither its {', '.join(others)} nor its {last}" if others else f"not its {last}"
        raise QueryError(f"add {path} to {name}", found, "Files are recognised by content.")
    if not name:
        name = stated if (stated := stated_name(path)) in catalog() else ""
    is_ontology = any(reader.can_read(peek_first(path)[1]) for reader in READERS)
    if not name or not is_ontology:
        found = "it is an ontology of no ready domain" if is_ontology else "it is no ontology and no known records"
        do = "Name it: --name NAME." if is_ontology else "Give one file of a format that is read here, unbroken."
        raise QueryError(f"add {path}", found, do)
    return name, "ontology"


def _here(place: Path, address: str) -> tuple[Path, Receipt] | None:
    """Returns the unharmed file that was fetched from ``address``, the latest by release, with its receipt."""
    found: list[tuple[str, Path, Receipt]] = []
    for path in place.iterdir() if place.is_dir() else ():
        receipt = receipt_of(path) if path.is_file() else None
        if receipt is not None and receipt.address == address and file_sha256(path) == receipt.sha256:
            found.append((receipt.version, path, receipt))
    return max(found, key=lambda f: (f[0], f[1].name))[1:] if found else None


def _remove_empty(*folders: Path) -> None:
    """Removes the folders that are empty; in one with something in it another file is on its way."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _receipt_path(path: Path) -> Path:
    return path.parent / _RECEIPTS / f"{path.name}.json"


def _file_name(address: str) -> str:
    """Returns a file name for an address, without a part that could lead elsewhere."""
    name = unquote(urlsplit(address).path).rsplit("/", 1)[-1]
    return name if _NAME.fullmatch(name) else "file"


def _with_release(name: str, version: str) -> str:
    """Returns a file name with the release in it.

    >>> _with_release("goa_human.gaf.gz", "2019-01-14"), _with_release("CPC-2025.zip", "2025")
    ('goa_human-2019-01-14.gaf.gz', 'CPC-2025.zip')
    """
    if not version or version in name or not _NAME.fullmatch(version):
        return name
    stem, dot, rest = name.partition(".")
    return f"{stem}-{version}{dot}{rest}"


def _is_packed(address: str) -> bool:
    return urlsplit(address).path.lower().endswith(_PACKED)
