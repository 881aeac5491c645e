"""Manifests: what a domain is made of, where its files come from, under which licence."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["FileManifest", "Manifest", "manifests"]


@dataclass(frozen=True)
class FileManifest:
    """One file of a domain.

    Attributes:
        reader: name of its reader.
        address: where its publisher keeps it.
        licence: in words.
        package: installable package that ships a copy.
        package_path: path of the copy inside that package.
        version: release of the copy that was checked.
        bytes: its size.
        sha256: its SHA-256, hex.
        prefix: prefix of an ontology's ids; empty for records.
        id_pattern: regular expression of an ontology's ids; empty for records.
    """

    reader: str
    address: str
    licence: str
    package: str
    package_path: str
    version: str
    bytes: int
    sha256: str
    prefix: str = ""
    id_pattern: str = ""


@dataclass(frozen=True)
class Manifest:
    """One ready domain: an ontology with the records annotated with it.

    Attributes:
        name: of the ontology.
        domain: what the command line takes.
        title: of the ontology.
        entity: what a record describes, such as ``disease``.
        notice: what every answer must say.
        citation: how to cite.
        extra: the extra of this package that installs the embedded copies.
        ontology: its ontology file.
        records: its record file.
    """

    name: str
    domain: str
    title: str
    entity: str
    notice: str
    citation: str
    extra: str
    ontology: FileManifest
    records: FileManifest


@cache
def manifests() -> Mapping[str, Manifest]:
    """Returns the manifests of all ready domains, by domain name."""
    found: dict[str, Manifest] = {}
    folder = files(__package__) / "manifests"
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            values: dict[str, Any] = tomllib.loads(entry.read_text(encoding="utf-8"))
            for part in ("ontology", "records"):
                values[part] = FileManifest(**values[part])
            found[values["domain"]] = Manifest(**values)
    return found
