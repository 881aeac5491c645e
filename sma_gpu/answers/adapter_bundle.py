"""An adapter frozen into a folder: an index of one's own, the files that go with it, its lock and its model card."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ArtifactError, DataMissing, FingerprintMismatch, QueryError
from ..ontologies.companions import companion
from ..ontologies.domains import domain_files
from ..ontologies.locate import find_file
from ..ontologies.manifest import Manifest, manifests
from ..ontologies.source import read_source
from ..ops.registry import AUTO
from ..scoring import Dials
from ..trust.calibration import Calibration
from .adapter_lock import CARD, LOCK, adapter_of, canonical_json, evaluation_part, lock_text, read_lock, sealed
from .choosing_calibration import read_calibration
from .engine import Engine
from .evaluation import EVALUATION_SCHEMA
from .model_card import model_card
from .opening import open_engine
from .own_index import is_own_index, is_ready, open_own_index, own_calibration, own_language
from .own_index_making import put_text, save_calibration, write_own

__all__ = ["freeze"]

PARTS = ("mappings", "genes")
"""Files that go with the records and that an index takes up by itself where they lie in its folder."""

_NONE = "none"


def freeze(
    name: str,
    out: Path | None = None,
    dials: Dials | None = None,
    *,
    kind: str = "",
    release: str | None = None,
    language: str = "",
    strict: bool = False,
    mappings: str = AUTO,
    calibration: Path | None = None,
    evaluation: Path | None = None,
    backend: str = AUTO,
) -> tuple[dict[str, Any], Path]:
    """Returns the lock of an adapter that was frozen, and the folder in which it lies.

    Args:
        name: a ready domain, a folder with the files of one, or an index of one's own, which is frozen where it lies.
        out: the folder to make of a domain; an index in it is replaced.
        dials: what scores depend on; those of the domain, or those an index was built under, where it is None.
        kind: which kind of records, where the domain has several.
        release: release of the ontology.
        language: of the names of terms.
        strict: refuse files that otherwise load with warnings.
        mappings: which records stand for the same: an SSSOM file, ``auto`` for the one found, ``none``.
        calibration: file of a calibration; where it is None the one saved with an index of one's own, if any.
        evaluation: file of an evaluation of this very index, for the model card; where it is None the one in the lock
            that was there stays, if it is of the same index and mappings.
        backend: which ops answer the fixed queries.

    Raises:
        DataMissing: a file is nowhere to be found.
        ParseError: a file cannot be read, or has faults and ``strict`` is set.
        QueryError: no folder is named for a domain, or an index of one's own is to be made into another.
        FingerprintMismatch: the calibration or the evaluation is that of another index.
        ArtifactError: the folder cannot be written, or holds mappings or genes that would be taken for those frozen.
    """
    beside: dict[str, Path | None]
    if is_own_index(name):
        folder = _frozen_where_it_lies(name, out, dials, kind=kind, release=release, language=language, strict=strict)
        beside = {}
    elif out is None:
        raise QueryError(f"freeze {name}", "no folder is named to freeze it into", "Name one with -o.")
    else:
        folder = out
        beside = _frozen_anew(name, out, dials, kind=kind, release=release, language=language, strict=strict)
    if mappings != AUTO:
        beside["mappings"] = None if mappings == _NONE else Path(mappings)
    place = os.path.abspath(folder)  # a folder that is called like a domain is none
    _put_beside(Path(place), open_own_index(place).domain.manifest, beside)
    engine = open_engine(place, backend=backend, strict=strict)
    calibrated = _calibrated(Path(place), calibration)
    content = adapter_of(place, engine, language=own_language(place), calibration=calibrated)
    if evaluation is not None:
        content["evaluation"] = evaluation_of(evaluation, engine)
    else:
        content["evaluation"] = _evaluation_before(folder, content)
    lock = sealed(content)
    put_text(folder / LOCK, lock_text(lock))
    put_text(folder / CARD, model_card(lock))
    return lock, folder


def _calibrated(folder: Path, given: Path | None) -> Calibration | None:
    """Returns the calibration of the index in ``folder``, saved with it if it was given; None where there is none.

    Raises:
        DataMissing: the file that was given is not there.
        ArtifactError: it is damaged, newer, or no calibration.
        FingerprintMismatch: it was made for another index.
    """
    if given is not None:
        save_calibration(folder, read_calibration(given))
    saved = own_calibration(str(folder))
    return None if saved is None else Calibration.from_dict(saved)


def evaluation_of(path: Path, engine: Engine) -> dict[str, Any]:
    """Returns what a lock says of the evaluation in the file ``path``: its figures, and nothing of single cases.

    Raises:
        DataMissing: there is no such file.
        ArtifactError: it is no evaluation, or one of another release.
        FingerprintMismatch: another index was evaluated.
    """
    asked = f"read the evaluation {path}"
    again = "Give what sma-gpu evaluate wrote with --json for this very folder."
    try:
        found = json.loads(read_source(path).content())
        schema = found["schema"]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise ArtifactError(asked, f"it is damaged or no evaluation ({fault!r})", again) from fault
    if schema != EVALUATION_SCHEMA:
        raise ArtifactError(asked, f"it is {schema}, not {EVALUATION_SCHEMA}", again)
    try:
        of, mapped = found["index_fingerprint"], found["equivalents"] and found["equivalents"]["sha256"]
        sha256, restricted = (
            hashlib.sha256(canonical_json(found).encode()).hexdigest(),
            found["restriction"] is not None,
        )
        told = evaluation_part({**found, "sha256": sha256, "restricted": restricted})
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise ArtifactError(asked, f"it has not the form of an evaluation ({fault!r})", again) from fault
    if of != engine.index.fingerprint:
        what = f"it is of the index {of}, and this one is {engine.index.fingerprint}"
        raise FingerprintMismatch(asked, what, again, field="index")
    if mapped != (engine.twins and engine.twins.equivalents.sha256):
        what = f"it was made with {'other' if mapped else 'no'} mappings"
        raise FingerprintMismatch(asked, what, again, field="mappings")
    return told


def _frozen_where_it_lies(
    folder: str, out: Path | None, dials: Dials | None, *, kind: str, release: str | None, language: str, strict: bool
) -> Path:
    """Returns the folder of an index of one's own that is what was asked for."""
    do = "Leave that out, or make another index with sma-gpu index."
    if out is not None and out.resolve() != Path(folder).resolve():
        raise QueryError(f"freeze {folder} into {out}", "an index of one's own is frozen where it lies", do)
    opened = open_own_index(folder, release=release, kind=kind, strict=strict, language=language)
    if dials is not None and dials != opened.dials:
        built = opened.dials and opened.dials.canonical_json()
        raise QueryError(f"freeze {folder} under {dials.canonical_json()}", f"it was built under {built}", do)
    return Path(folder)


def _frozen_anew(
    name: str, out: Path, dials: Dials | None, *, kind: str, release: str | None, language: str, strict: bool
) -> dict[str, Path | None]:
    """Writes the index of a domain, and returns the files that go with its records, by part."""
    if name in manifests():
        manifest, ontology, records, named = manifests()[name], name, name, release
    else:
        manifest, located = domain_files(name, release)
        ontology, records, named = str(located.ontology.path), str(located.records.path), None
    write_own(ontology, records, out, dials, kind=kind, release=named, strict=strict, language=language)
    found = {part: companion(name, manifest.domain, part) for part in PARTS if part in manifest.companions}
    return {part: None if file is None else file.path for part, file in found.items()}


def _put_beside(folder: Path, manifest: Manifest, beside: Mapping[str, Path | None]) -> None:
    """Makes the files ``beside`` those that an index in ``folder`` takes, in the place of those frozen before.

    Raises:
        QueryError: no such file goes with these records, or the file is none.
        DataMissing: a file cannot be read.
        ArtifactError: another file in the folder would be taken.
    """
    frozen = _frozen_before(folder)
    for part, path in beside.items():
        wanted = manifest.companions.get(part) if is_ready(manifest) else None
        if wanted is None:
            if path is None:
                continue
            what = f"no {part} are taken up by themselves with {manifest.entity}s of no ready domain"
            raise QueryError(f"freeze {folder} with {path}", what, f"Give them to each query with --{part}.")
        sum_wanted = None if path is None else read_source(path).content_sha256
        lying = {file.path: read_source(file.path).content_sha256 for file in find_file("", wanted, folder)}
        for old in [old for old, sha256 in lying.items() if sha256 == frozen.get(part) != sum_wanted]:
            old.unlink()
        copy = None
        if path is not None and sum_wanted not in lying.values():
            copy = _copied(path, folder)
        taken = find_file("", wanted, folder)
        found = read_source(taken[0].path).content_sha256 if taken else None
        if found == sum_wanted:
            continue
        if copy is not None:
            copy.unlink()
        if found is None:
            raise QueryError(
                f"freeze {folder} with {path}", f"it is no file of {part}", f"Give one of {wanted.reader}."
            )
        what = f"{taken[0].path.name} lies in it and would be taken for its {part}"
        raise ArtifactError(f"freeze into {folder}", what, "Remove that file, or name another folder.")


def _evaluation_before(folder: Path, content: Mapping[str, Any]) -> Any:
    """Returns the evaluation in the lock that was there, where it is of the same index and mappings; or None."""
    before = _lock_before(folder)
    same = before is not None and all(before[part] == content[part] for part in ("index", "mappings"))
    return before["evaluation"] if before is not None and same else None


def _frozen_before(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file that the lock in ``folder`` says lies beside the index; empty without a lock."""
    before = _lock_before(folder) or {}
    return {part: before[part]["sha256"] for part in PARTS if before.get(part) is not None}


def _lock_before(folder: Path) -> dict[str, Any] | None:
    """Returns the lock that lies in ``folder``, None where there is none to be read."""
    try:
        return read_lock(folder / LOCK)
    except (DataMissing, ArtifactError):
        return None


def _copied(path: Path, folder: Path) -> Path:
    """Returns the copy of a file in ``folder``, which is there whole or not at all."""
    target = folder / path.name
    if target.exists():
        what = f"a file {path.name} with another content lies in it"
        raise ArtifactError(f"freeze into {folder}", what, "Remove that file, or name another folder.")
    aside = folder / f".{path.name}.unfinished"
    try:
        shutil.copyfile(path, aside)
        os.replace(aside, target)
    except OSError as fault:
        what = f"{path.name} cannot be copied into it ({fault.strerror or fault})"
        raise ArtifactError(f"freeze into {folder}", what, "Name a folder on a disk with room for it.") from fault
    return target
