"""Which ontologies and records there are: what of them is here, in which release, under which licence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import DataMissing, SmaError
from ..ontologies.catalog import catalog
from ..ontologies.loading import compiled_ontology
from ..ontologies.locate import DATA_VARIABLE, Candidate, find_file, user_folder
from ..ontologies.manifest import FileManifest, Manifest, Release, manifests
from ..ontologies.named import found_releases, own_names
from ..ontologies.obtaining import parts_of
from ..ontologies.source import read_source

__all__ = ["data_list", "data_list_text"]

LIST_SCHEMA = "sma-gpu/data-list/1"


def data_list() -> dict[str, Any]:
    """Returns all ready domains, catalogued ontologies and the user's own as a plain object; nothing is read but heads.

    The number of terms stands where an ontology was compiled before.
    """
    return {
        "schema": LIST_SCHEMA,
        "folders": {"named": os.environ.get(DATA_VARIABLE), "own": str(user_folder())},
        "domains": [_domain(manifest) for manifest in manifests().values()],
        "catalog": [_ontology(entry.name, entry.title, entry.ontology) for entry in catalog().values()],
        "own": [_ontology(name, "", None) for name in own_names()],
    }


def data_list_text(listed: dict[str, Any]) -> str:
    """Returns the list as text."""
    folders = listed["folders"]
    lines = [f"{DATA_VARIABLE} {folders['named'] or 'not set'}", f"own folder {folders['own']}"]
    for domain in listed["domains"]:
        lines += ["", f"{domain['name']}: {domain['title']}, for each {domain['entity']}"]
        for part in domain["parts"]:
            lines += [*_found_lines(part["part"], part), f"  {'':9} {part['licence']}"]
    here = [entry for entry in (*listed["catalog"], *listed["own"]) if entry["found"] or entry["error"]]
    others = [entry for entry in listed["catalog"] if not entry["found"] and not entry["error"]]
    if here:
        lines += ["", "further ontologies that are here, without records"]
        for entry in here:
            lines += [*_found_lines(entry["name"], entry), f"  {'':9} {entry['title']}; {entry['licence'] or 'own'}"]
    lines += ["", "further ontologies that can be fetched: sma-gpu data fetch NAME"]
    lines += [f"  {entry['name']:12} {entry['title']} ({_short(entry['licence'])})" for entry in others]
    return "\n".join(lines) + "\n"


def _found_lines(word: str, part: dict[str, Any]) -> list[str]:
    if part["error"]:
        return [f"  {word:9} {part['error']}"]
    if not part["found"]:
        return [f"  {word:9} not here; {part['do']}"]
    lines = []
    for place, file in enumerate(part["found"]):
        use = "used" if place == 0 else "also there"
        terms = f", {file['terms']} terms" if file["terms"] is not None else ""
        version = file["version"] or "unknown"
        lines.append(f"  {word:9} {version:12} {use:10} {file['path']} ({file['origin']}{terms})")
        word = ""
    return lines


def _short(licence: str) -> str:
    return licence.partition(":")[0]


def _domain(manifest: Manifest) -> dict[str, Any]:
    parts = []
    for part, wanted in parts_of(manifest.domain).items():
        try:
            found, fault = find_file(manifest.domain, wanted), None
        except DataMissing as missing:
            found, fault = [], str(missing)
        parts.append({"part": part, **_part(wanted, found, fault, _how(manifest.domain, wanted))})
    return {
        "name": manifest.domain,
        "title": manifest.title,
        "entity": manifest.entity,
        "one_file": manifest.is_one_file,
        "parts": parts,
    }


def _ontology(name: str, title: str, wanted: FileManifest | None) -> dict[str, Any]:
    about = wanted or FileManifest(reader="any", address="", licence="")
    try:
        found, fault = found_releases(name), None
    except DataMissing as missing:
        found, fault = [], str(missing)
    return {"name": name, "title": title, **_part(about, found, fault, _how(name, about))}


def _part(wanted: FileManifest, found: list[Candidate], fault: str | None, do: str) -> dict[str, Any]:
    return {
        "licence": wanted.licence,
        "address": wanted.address,
        "id_pattern": wanted.id_pattern,
        "package": wanted.package or None,
        "releases": [_release(release) for release in wanted.known],
        "found": [_file(candidate, wanted) for candidate in found],
        "do": do,
        "error": fault,
    }


def _release(known: Release) -> dict[str, Any]:
    """Returns what is stated of one release; what is not known is null."""
    return {
        "version": known.version,
        "address": known.address or None,
        "bytes": known.bytes or None,
        "sha256": known.sha256 or None,
    }


def _how(name: str, wanted: FileManifest) -> str:
    if wanted.is_page and not any(release.address for release in wanted.known):
        return f"get a file from {wanted.address}, then: sma-gpu data add FILE"
    return f"sma-gpu data fetch {name}"


def _file(candidate: Candidate, wanted: FileManifest) -> dict[str, Any]:
    return {
        "path": str(candidate.path),
        "origin": candidate.origin,
        "version": candidate.version,
        "bytes": candidate.path.stat().st_size,
        "terms": _terms(candidate.path) if wanted.id_pattern or wanted.reader == "any" else None,
    }


def _terms(path: Path) -> int | None:
    """Returns the number of live terms of an ontology that was compiled before, else None."""
    try:
        ontology = compiled_ontology(read_source(path))
    except SmaError:
        return None
    return ontology.live_count if ontology else None
