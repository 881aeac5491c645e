"""An index of one's own: a folder that holds an ontology, records and their index, ready to be asked.

In the folder lie three files of arrays, named by their content, and a manifest that people can read. The manifest is
put in its place last and at once, and names the three files: whoever opens the folder finds the old index or the new
one, whole, also after a kill. Answers are those that the source files would give.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt

from ..errors import ArtifactError, DialError, QueryError
from ..ontologies.catalog import catalog
from ..ontologies.compiled import ontology_from_arrays
from ..ontologies.domains import Domain, domain_ontology, open_domain, selection_of
from ..ontologies.languages import ENGLISH, checked_language
from ..ontologies.manifest import FileManifest, Manifest, manifests
from ..ontologies.mount import Mounted, mount
from ..ontologies.ontology import Ontology
from ..ontologies.records.model import Records
from ..ontologies.tensor_file import read_tensors, read_texts
from ..retrieval import Index
from ..scoring import Dials
from ..version import __version__

__all__ = [
    "MANIFEST", "OURS", "PARTS", "SCHEMA", "SCHEMAS", "UNKNOWN", "Opened", "any_ontology", "is_own_index", "is_ready",
    "open_any", "open_own_index", "own_calibration", "own_language", "own_sources", "plain_manifest",
    "read_manifest",
]  # fmt: skip

MANIFEST = "sma-gpu-index.json"
SCHEMA = "sma-gpu/own-index/1"
# Raised whenever a release would read these arrays differently; the index has a number of its own beside its code.
SCHEMAS = {"ontology": "sma-gpu/own-ontology/2", "records": "sma-gpu/own-records/2", "index": "sma-gpu/index/2"}
PARTS = ("ontology", "records", "index")
OURS = re.compile(
    r"\.?(?:ontology|records|index)-(?:[0-9a-f]{16}|new)\.safetensors(?:\.unfinished)?"
    r"|\.?calibration-[0-9a-f]{16}\.json(?:\.unfinished)?"
)
_NOTICE = "Hits are ranked by shared terms alone; what that says of these records is for their owner to judge."
_CURIE = "[A-Za-z][A-Za-z0-9_.-]*:[A-Za-z0-9_.-]*[A-Za-z0-9]"

Arrays = Mapping[str, npt.NDArray[Any]]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Opened:
    """A domain, and its index where one was saved.

    Attributes:
        domain: ontology and records.
        dials: what is asked for; None for the default.
        index: the saved index; None where there is none, or none under these dials.
    """

    domain: Domain
    dials: Dials | None
    index: Index | None


def is_own_index(folder: str) -> bool:
    """Returns whether ``folder`` holds an index of one's own; the name of a ready domain always means that domain."""
    return folder not in manifests() and os.path.isfile(os.path.join(folder, MANIFEST))


UNKNOWN = FileManifest("", "", "")


def is_ready(manifest: Manifest) -> bool:
    """Returns whether a manifest is that of a ready domain, and none that was made for files of one's own."""
    known = manifests().get(manifest.domain)
    return known is not None and known.ontology is manifest.ontology


def plain_manifest(name: str, entity: str, title: str = "") -> Manifest:
    """Returns the manifest of a domain of which nothing is known but its ontology.

    Args:
        name: its name in the catalog; empty where it is in none.
        entity: what a record describes.
        title: what it is called where it has no name.
    """
    entry = catalog().get(name)
    file = FileManifest("", title, "", id_pattern=_CURIE) if entry is None else entry.ontology
    title = title if entry is None else entry.title
    return Manifest(name, name, 0, title, entity or "record", _NOTICE, "", "", file, UNKNOWN)


def read_manifest(folder: str) -> dict[str, Any]:
    """Returns the manifest of the index in ``folder``.

    Raises:
        ArtifactError: it is damaged, or of a release with another format.
    """
    path = os.path.join(folder, MANIFEST)
    again = "Make the index again with sma-gpu index."
    try:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        kind, _, number = told["schema"].rpartition("/")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise ArtifactError(f"open the index {folder}", f"{MANIFEST} is damaged ({fault})", again) from fault
    ours, _, wanted = SCHEMA.rpartition("/")
    if kind != ours:
        raise ArtifactError(f"open the index {folder}", f"{MANIFEST} is none of {ours}, but of {kind}", again)
    if number != wanted:
        by = f", written by release {told['release']}" if isinstance(told.get("release"), str) else ""
        raise ArtifactError(
            f"open the index {folder}",
            f"it has format {number}{by}, and this release ({__version__}) reads format {wanted}",
            "Use a release that reads it, or make the index again with this one.",
        )
    return dict(told)


def open_any(
    name: str,
    dials: Dials | None = None,
    *,
    release: str | None = None,
    kind: str = "",
    strict: bool = False,
    language: str = "",
) -> Opened:
    """Returns a ready domain, the files in a folder, or an index of one's own, opened.

    Arguments and faults are those of ``open_domain`` and ``open_own_index``.
    """
    if is_own_index(name):
        return open_own_index(name, dials, release=release, kind=kind, strict=strict, language=language)
    domain = open_domain(name, release=release, kind=kind, strict=strict, language=language)
    return Opened(domain, dials, None)


def any_ontology(
    name: str, *, release: str | None = None, strict: bool = False, language: str = ""
) -> tuple[Manifest, Mounted]:
    """Returns the manifest and the mounted ontology of what ``open_any`` opens, without its records."""
    if is_own_index(name):
        return _own_ontology(name, release=release, strict=strict, language=language)
    return domain_ontology(name, release=release, strict=strict, language=language)


def _own_ontology(folder: str, *, release: str | None, strict: bool, language: str) -> tuple[Manifest, Mounted]:
    def opened(told: dict[str, Any]) -> tuple[Manifest, Mounted]:
        _check_language(folder, told, language)
        return _manifest_of(folder, told), mount(_ontology_of(folder, told, release=release, strict=strict))

    return _at_peace(folder, opened)


def open_own_index(
    folder: str,
    dials: Dials | None = None,
    *,
    release: str | None = None,
    kind: str = "",
    strict: bool = False,
    language: str = "",
) -> Opened:
    """Returns the index in ``folder``, opened.

    Args:
        folder: where ``write_own`` put it.
        dials: what scores depend on; None for the dials that the index was built under.
        release: if given, the release that its ontology must be of.
        kind: if given, the kind that its records must be of.
        strict: refuse an index whose sources were read with warnings.
        language: if given, the language that the names of its terms must be in.

    Raises:
        ArtifactError: a file of the index is missing, foreign, newer, cut or damaged.
        QueryError: its ontology is of another release or in another language, or its records are of another kind.
        ParseError: a source was read with warnings, and ``strict`` is set.
    """

    def opened(told: dict[str, Any]) -> Opened:
        manifest = _manifest_of(folder, told)
        made_of = told["kind"] or next(iter(manifest.records.kinds), "")
        if kind and kind != made_of:
            have = f"its records are of kind {made_of}" if made_of else "it has records of one kind alone"
            raise QueryError(f"records of kind {kind} in {folder}", have, "Make an index of those with --kind.")
        _check_language(folder, told, language)
        ontology = _ontology_of(folder, told, release=release, strict=strict)
        records = _records_of(folder, told, ontology, strict=strict)
        built_under = Dials.from_mapping(told["dials"])
        notes = (*map(str, told["notes"]), *_changes(folder, told))
        selection = selection_of(manifest, told["kind"], told["columns"])
        domain = Domain(manifest, mount(ontology), records, notes, selection)
        index = None
        if dials is None or dials == built_under:
            name = _name_of(folder, told, "index")
            index = Index.load(name, domain.mounted, built_under)
            if index.fingerprint != told["fingerprint"]:
                raise _damaged(folder, "its manifest has the fingerprint of another index")
        return Opened(domain, dials or built_under, index)

    return _at_peace(folder, opened)


def own_sources(folder: str) -> dict[str, tuple[Path, str]]:
    """Returns where each source of the index in ``folder`` lay, and the SHA-256 of the file then, by part.

    Raises:
        ArtifactError: the manifest of the index is damaged, foreign or newer.
    """

    def opened(told: dict[str, Any]) -> dict[str, tuple[Path, str]]:
        return {
            part: (Path(_told_path(folder, told, part)), str(was["sha256"])) for part, was in told["sources"].items()
        }

    return _at_peace(folder, opened)


def own_calibration(folder: str) -> dict[str, Any] | None:
    """Returns the calibration saved with the index in ``folder``, in the form of JSON; None where there is none.

    Raises:
        ArtifactError: it is missing or not the one meant, or the manifest of the index is damaged, foreign or newer.
    """
    return _at_peace(folder, lambda told: _calibration_of(folder, told))


def own_language(folder: str) -> str:
    """Returns the language of the names of terms in the index in ``folder``.

    Raises:
        ArtifactError: the manifest of the index is damaged, foreign or newer.
    """
    return _at_peace(folder, lambda told: str(told.get("language", ENGLISH)))


def _at_peace(folder: str, opened: Callable[[dict[str, Any]], Found]) -> Found:
    """Returns what ``opened`` makes of the manifest, once more where another index came in its place meanwhile."""
    told = read_manifest(folder)
    try:
        return opened(told)
    except (KeyError, TypeError, AttributeError, DialError) as fault:
        raise _damaged(folder, f"{MANIFEST} is damaged ({fault!r})") from fault
    except ArtifactError:
        now = read_manifest(folder)
        if now == told:
            raise
        return opened(now)


def _damaged(folder: str, what: str) -> ArtifactError:
    return ArtifactError(f"open the index {folder}", what, "Make the index again with sma-gpu index.")


def _name_of(folder: str, told: dict[str, Any], part: str) -> str:
    """Returns the path of one of the files, which is the one that the manifest means."""
    entry = told["files"][part]
    name = str(entry["name"])
    if not OURS.fullmatch(name):
        raise _damaged(folder, f"{MANIFEST} names {name}, which is no file of an index")
    path = os.path.join(folder, name)
    if read_texts(path, SCHEMAS[part])["arrays_sha256"] != entry["arrays_sha256"]:
        raise _damaged(folder, f"{name} is not the file that its manifest means")
    return path


def _manifest_of(folder: str, told: dict[str, Any]) -> Manifest:
    if told["domain"] is None:
        file = os.path.basename(str(told["sources"]["ontology"]["path"]))
        return plain_manifest(told["catalogued"] or "", str(told["entity"]), file)
    known = manifests().get(told["domain"])
    if known is None:
        raise _damaged(folder, f"it is of the domain {told['domain']}, which this release does not have")
    # Records of another kind than the domain's own have neither its licence nor its kinds of records.
    records = known.records if told["records"].get("of_domain", True) else UNKNOWN
    return replace(known, entity=str(told["entity"]), records=records)


def _ontology_of(folder: str, told: dict[str, Any], *, release: str | None, strict: bool) -> Ontology:
    arrays = read_tensors(_name_of(folder, told, "ontology"), SCHEMAS["ontology"])[1]
    try:
        ontology = ontology_from_arrays(arrays, path=_told_path(folder, told, "ontology"))
    except ValueError as fault:
        raise _damaged(folder, str(fault)) from fault
    if release is not None and release != ontology.version:
        have = f"it was made of release {ontology.version or 'unknown'}"
        raise QueryError(f"release {release} in {folder}", have, "Leave --release out, or make another index.")
    if strict:
        ontology.report.require_clean()
    return ontology


def _records_of(folder: str, told: dict[str, Any], ontology: Ontology, *, strict: bool) -> Records:
    arrays = read_tensors(_name_of(folder, told, "records"), SCHEMAS["records"])[1]
    records = Records.from_arrays(arrays, ontology, path=_told_path(folder, told, "records"))
    if strict:
        records.report.require_clean()
    return records


def _check_language(folder: str, told: dict[str, Any], language: str) -> None:
    made_in = str(told.get("language", ENGLISH))
    if language and checked_language(language) != made_in:
        do = "Leave --language out, or make another index with it."
        raise QueryError(f"names in the language {language} from {folder}", f"it was made with those in {made_in}", do)


def _told_path(folder: str, told: dict[str, Any], part: str) -> str:
    return os.path.normpath(os.path.join(folder, str(told["sources"][part]["path"])))


def _calibration_of(folder: str, told: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the calibration that the manifest names, None where it names none."""
    entry = told.get("calibration")
    if entry is None:
        return None
    name = str(entry["name"])
    if not OURS.fullmatch(name):
        raise _damaged(folder, f"{MANIFEST} names {name}, which is no file of an index")
    asked, do = f"open the calibration of the index {folder}", "Calibrate it again with sma-gpu calibrate."
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as fault:
        raise ArtifactError(asked, f"its {name} cannot be read ({fault})", do) from fault
    if not isinstance(found, dict) or found.get("fingerprint") != entry["fingerprint"]:
        raise ArtifactError(asked, f"{name} is not the calibration that its manifest means", do)
    return found


def _changes(folder: str, told: dict[str, Any]) -> Iterator[str]:
    """Yields a note for each source that is still there, but not as it was; one that is gone says nothing."""
    for part in dict.fromkeys(told["sources"]):
        path, was = Path(_told_path(folder, told, part)), told["sources"][part]
        with contextlib.suppress(OSError):
            changed = path.stat().st_size != was["bytes"]
            if not changed:
                with path.open("rb") as file:
                    changed = hashlib.file_digest(file, "sha256").hexdigest() != was["sha256"]
            if changed:
                yield (
                    f"{path.name} has changed since this index was made of it, and the answer is of what it was then; "
                    "sma-gpu index makes it anew"
                )
