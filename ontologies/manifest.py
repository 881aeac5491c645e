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
        scope: the one of several kinds of content that is wanted, such as an ATT&CK domain; empty where there is one.
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
    scope: str = ""


@dataclass(frozen=True)
class Manifest:
    """One ready domain: an ontology with the records annotated with it.

    Attributes:
        name: of the ontology.
        domain: what the command line takes.
        place: where it stands among the ready domains; a folder with the files of several is taken for the first.
        title: of the ontology.
        entity: what a record describes, such as ``disease``.
        notice: what every answer must say.
        citation: how to cite.
        extra: the extra of this package that installs the embedded copies.
        ontology: its ontology file.
        records: its record file.
        aside_pattern: regular expression of ids of terms that no record can have, such as tactics; a query leaves them
            out instead of finding them unexplained everywhere.
        parent_names: a term is shown behind the name of its parent, since two terms may share a name.
    """

    name: str
    domain: str
    place: int
    title: str
    entity: str
    notice: str
    citation: str
    extra: str
    ontology: FileManifest
    records: FileManifest
    aside_pattern: str = ""
    parent_names: bool = False

    @property
    def is_one_file(self) -> bool:
        """Whether ontology and records are read from one and the same file."""
        return (self.ontology.reader, self.ontology.package_path) == (self.records.reader, self.records.package_path)


@cache
def manifests() -> Mapping[str, Manifest]:
    """Returns the manifests of all ready domains by domain name, in the order of their places."""
    found: list[Manifest] = []
    folder = files(__package__) / "manifests"
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            values: dict[str, Any] = tomllib.loads(entry.read_text(encoding="utf-8"))
            for part in ("ontology", "records"):
                values[part] = FileManifest(**values[part])
            found.append(Manifest(**values))
    return {manifest.domain: manifest for manifest in sorted(found, key=lambda m: (m.place, m.domain))}
