"""Making an index of one's own: files found, read, indexed, and written so that a kill never leaves half of it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ArtifactError, DataMissing, QueryError, SmaError
from ..ontologies.catalog import catalog
from ..ontologies.compiled import ontology_to_arrays
from ..ontologies.domains import Domain, read_domain
from ..ontologies.languages import checked_language
from ..ontologies.locate import Candidate, Located, candidate, find_file, locate, products_of
from ..ontologies.manifest import Manifest, manifests
from ..ontologies.tensor_file import Arrays, read_texts, write_tensors
from ..retrieval import Index
from ..scoring import Dials
from ..trust.calibration import Calibration
from ..version import __version__
from .indexed import IndexedDomain
from .own_index import MANIFEST, OURS, PARTS, SCHEMA, SCHEMAS, UNKNOWN, is_ready, plain_manifest, read_manifest

__all__ = ["put_text", "save_calibration", "write_own"]


def write_own(
    ontology: str,
    records: str,
    out: Path,
    dials: Dials | None = None,
    *,
    columns: Mapping[str, Sequence[str]] | None = None,
    entity: str = "",
    kind: str = "",
    release: str | None = None,
    strict: bool = False,
    language: str = "",
) -> tuple[dict[str, Any], Domain]:
    """Returns the manifest of the index that was written into the folder ``out``, and what it was made of.

    Args:
        ontology: a file in any format that ontologies are read from, or a ready domain or a name in the catalog, whose
            ontology is taken.
        records: a file of records, or a ready domain, whose records are taken.
        out: the folder; made where it is not there. An index in it is replaced, other files are left alone.
        dials: what scores depend on.
        columns: the records are a table, and these are its columns; see ``guess_columns``.
        entity: the word for what a record describes; chosen by the files where it is empty.
        kind: which kind of records, where the file holds several.
        release: release of the ontology, where a ready domain has several.
        strict: refuse files that otherwise load with warnings.
        language: of the names of terms, where the ontology has them in several; English where empty.

    Raises:
        DataMissing: a file is nowhere to be found.
        ParseError: a file cannot be read, or has faults and ``strict`` is set.
        QueryError: the file has no such kind of records, or columns cannot be found.
        ArtifactError: the folder cannot be written; an index that was there is untouched.
    """
    manifest, files = _files_of(ontology, records, release, entity)
    domain = read_domain(manifest, files, kind=kind, strict=strict, columns=columns, language=language)
    if not len(domain.records):
        raise QueryError(f"an index of {records}", "there is no record in it", "Give a file with records.")
    index = IndexedDomain(domain, dials, backend="reference").index
    told = {
        "schema": SCHEMA,
        "release": __version__,
        "domain": manifest.domain if is_ready(manifest) else None,
        "catalogued": manifest.domain if manifest.domain and not is_ready(manifest) else None,
        "entity": domain.manifest.entity,
        "kind": kind,
        "language": checked_language(language),
        "columns": {field: list(names) for field, names in columns.items()} if columns else None,
        "dials": index.dials.as_dict(),
        "dials_fingerprint": index.dials.fingerprint,
        "ontology": {
            "name": domain.mounted.ontology.name,
            "version": domain.mounted.ontology.version,
            "sha256": domain.mounted.ontology.sha256,
            "terms": domain.mounted.ontology.live_count,
        },
        "records": {
            "name": domain.records.name,
            "version": domain.records.version,
            "sha256": domain.records.sha256,
            "cases": len(index),
            "set_aside": len(index.set_aside),
            "of_domain": manifest.records is not UNKNOWN,
        },
        "fingerprint": index.fingerprint,
        "notes": list(domain.notes),
        "sources": {
            "ontology": _source(files.ontology.path, out),
            "records": _source(files.records.path, out),
        },
    }
    return _write(out, told, domain, index), domain


def _files_of(ontology: str, records: str, release: str | None, entity: str) -> tuple[Manifest, Located]:
    """Returns the files, and the domain that they are of: a ready one where the ontology is that of one."""
    manifest, of_terms, notes = _ontology_file(ontology, release, entity)
    known = manifests()
    if records in known and not os.path.isfile(records):
        own, of_records = records == manifest.domain, locate(known[records]).records
    else:
        path = _existing(records, "records")
        fitting = candidate(manifest, "records", path) if is_ready(manifest) else None
        own, of_records = fitting is not None, fitting or Candidate(path, str(path.parent), "")
    if not own:
        manifest = replace(manifest, entity="record", records=UNKNOWN)
    manifest = replace(manifest, entity=entity or manifest.entity)
    remarks: tuple[str, ...] = notes if records == ontology else ()
    products = None
    if own:
        products, told = products_of(manifest, of_records, None if records in known else of_records.path.parent)
        remarks = (*remarks, *told)
    return manifest, Located(of_terms, of_records, remarks, products)


def _ontology_file(ontology: str, release: str | None, entity: str) -> tuple[Manifest, Candidate, tuple[str, ...]]:
    """Returns the domain of an ontology, its file, and remarks on how that was chosen."""
    known = manifests()
    if ontology in known and not os.path.isfile(ontology):
        found = locate(known[ontology], release=release)
        return known[ontology], found.ontology, found.notes
    if ontology in catalog() and not os.path.isfile(ontology):
        entry = catalog()[ontology]
        lying = [file for file in find_file(ontology, entry.ontology) if release in (None, file.version)]
        if not lying:
            asked = f"ontology {ontology}" + (f" of release {release}" if release else "")
            raise DataMissing(asked, "it is in the catalog, but not here", f"Run: sma-gpu data fetch {ontology}")
        return plain_manifest(ontology, entity), lying[0], ()
    path = _existing(ontology, "ontology")
    if release is not None:
        raise QueryError(f"release {release} of {ontology}", "that is a file, of one release", "Leave it out.")
    for manifest in known.values():
        fitting = candidate(manifest, "ontology", path)
        if fitting is not None:
            return manifest, fitting, ()
    return plain_manifest("", entity, path.name), Candidate(path, str(path.parent), ""), ()


def _existing(name: str, part: str) -> Path:
    path = Path(name)
    if not path.is_file():
        found = "that is a folder" if path.is_dir() else "there is no such file"
        domains = ", ".join(manifests())
        raise DataMissing(f"{part} {name}", found, f"Give a file, or a ready domain ({domains}).")
    return path


def _source(path: Path, out: Path) -> dict[str, Any]:
    """Returns what is told of a source: its path as seen from the folder of the index, its size, its SHA-256."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as fault:
        raise DataMissing(f"read {path}", f"it cannot be read ({fault.strerror})", "Make it readable.") from fault
    seen = os.path.relpath(path.resolve(), out.resolve())
    return {"path": seen, "bytes": path.stat().st_size, "sha256": digest}


def _write(out: Path, told: dict[str, Any], domain: Domain, index: Index) -> dict[str, Any]:
    """Writes the three files, then the manifest that names them, and removes those of an index that was there."""
    arrays: dict[str, Arrays] = {
        "ontology": ontology_to_arrays(domain.mounted.ontology),
        "records": domain.records.to_arrays(),
    }
    with _locked(out):
        files = {}
        for part in PARTS:
            new = out / f"{part}-new.safetensors"
            if part == "index":
                index.save(new)
            else:
                write_tensors(new, SCHEMAS[part], {}, arrays[part])
            sha256 = read_texts(new, SCHEMAS[part])["arrays_sha256"]
            name = f"{part}-{sha256[:16]}.safetensors"
            os.replace(new, out / name)
            files[part] = {"name": name, "bytes": (out / name).stat().st_size, "arrays_sha256": sha256}
        told = {**told, "files": files}
        put_text(out / MANIFEST, json.dumps(told, indent=1) + "\n")
        _remove_others(out, {str(file["name"]) for file in files.values()})
    return told


def save_calibration(folder: Path, calibration: Calibration) -> Path:
    """Returns the file in which a calibration was saved as a part of the index in ``folder``; an earlier one goes.

    The manifest of the index names it, and is put in its place last: whoever opens the folder finds the index with the
    old calibration or the new one, also after a kill. A new index in the folder has none.

    Raises:
        FingerprintMismatch: it was made for another index than the one that is there.
        ArtifactError: the folder cannot be written, or holds no index.
    """
    with _locked(folder):
        told = read_manifest(str(folder))
        calibration.check_made_for(dials=told["dials_fingerprint"], index=told["fingerprint"])
        name = f"calibration-{calibration.fingerprint[:16]}.json"
        put_text(folder / name, calibration.to_json() + "\n")
        told["calibration"] = {"name": name, "fingerprint": calibration.fingerprint}
        put_text(folder / MANIFEST, json.dumps(told, indent=1) + "\n")
        _remove_others(folder, {name, *(str(file["name"]) for file in told["files"].values())})
    return folder / name


def _remove_others(folder: Path, kept: set[str]) -> None:
    """Removes the files of an index that are not its own any more."""
    for old in sorted(folder.iterdir()):
        if OURS.fullmatch(old.name) and old.name not in kept:
            old.unlink()


@contextlib.contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Makes the folder where it is not there, and keeps other writers out of it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as fault:
        raise _unwritable(out, fault) from fault
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    except OSError as fault:
        if isinstance(fault, SmaError):
            raise
        raise _unwritable(out, fault) from fault
    finally:
        os.close(handle)


def _unwritable(out: Path, fault: OSError) -> ArtifactError:
    what = f"it cannot be written ({fault.strerror or fault})"
    return ArtifactError(f"write an index into {out}", what, "Name a folder, on a disk with room for it twice.")


def put_text(path: Path, text: str) -> None:
    """Writes ``text`` into ``path``, whole or not at all; a loss of power leaves the old file or the new one.

    Raises:
        ArtifactError: the file cannot be written.
    """
    aside = path.with_name(f".{path.name}.unfinished")
    try:
        with aside.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as fault:
        with contextlib.suppress(OSError):
            aside.unlink()
        what = f"it cannot be written ({fault.strerror or fault}); what was there is untouched"
        raise ArtifactError(f"write {path}", what, "Name a folder that can be written, on a disk with room.") from fault
