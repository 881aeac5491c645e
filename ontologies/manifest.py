"""Manifests: what a domain is made of, where its files come from, under which licence."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["FileManifest", "Manifest", "Release", "manifests"]


@dataclass(frozen=True)
class Release:
    """One published release of a file, as far as it was checked; what is not known is empty or 0.

    Attributes:
        version: as the file states it.
        address: where its publisher keeps this very release.
        bytes: size of the file as published, uncompressed where the address is that of an uncompressed file.
        sha256: SHA-256 of the uncompressed content, hex.
        terms: live terms of an ontology.
        retired: its retired terms.
        records: records of a record file that are read with the ontology of the same release.
    """

    version: str
    address: str = ""
    bytes: int = 0
    sha256: str = ""
    terms: int = 0
    retired: int = 0
    records: int = 0


@dataclass(frozen=True)
class FileManifest:
    """One file of a domain.

    Attributes:
        reader: name of its reader.
        address: where its publisher keeps it: the newest release of the file, or a page that leads to it.
        is_page: the address is that of a page on which a person chooses, so that nothing can be fetched from it.
        licence: in words.
        package: installable package that ships a copy; empty where none is known.
        package_path: path of the copy inside that package.
        version: release of the copy that was checked.
        bytes: its size.
        sha256: its SHA-256, hex.
        terms: live terms in it, of an ontology; 0 where they were not counted.
        retired: its retired terms.
        records: its records, likewise.
        releases: other releases that were checked.
        prefix: prefix of an ontology's ids; empty for records.
        id_pattern: regular expression of an ontology's ids; empty for records.
        sure_pattern: regular expression of those among them that are ids of no other ontology by their form; empty
            where all are.
        kinds: kinds of records in the file that are asked for by name, the usual one first, each with the word for one
            such record; empty where there is but one kind.
        scope: the one of several kinds of content that is wanted, such as an ATT&CK domain; empty where there is one.
            Of mappings, the prefixes of which they must name one, with blanks between.
        scope_unstated: the scope of a file that states none; where it is empty such a file does not serve.
        sample: name of a small file beside the manifests, in the folder of samples, that shows how the domain answers
            where nothing better is found; empty for none.
    """

    reader: str
    address: str
    licence: str
    is_page: bool = False
    package: str = ""
    package_path: str = ""
    version: str = ""
    bytes: int = 0
    sha256: str = ""
    terms: int = 0
    retired: int = 0
    records: int = 0
    releases: tuple[Release, ...] = ()
    prefix: str = ""
    id_pattern: str = ""
    sure_pattern: str = ""
    scope: str = ""
    scope_unstated: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    sample: str = ""

    @property
    def known(self) -> tuple[Release, ...]:
        """All releases that were checked, that of the package first."""
        own = Release(self.version, "", self.bytes, self.sha256, self.terms, self.retired, self.records)
        return (*((own,) if self.version else ()), *self.releases)

    def release(self, version: str) -> Release | None:
        """Returns what is known of the release ``version``, or None."""
        return next((release for release in self.known if version and release.version == version), None)

    def release_of_sum(self, sha256: str) -> Release | None:
        """Returns what is known of the release whose content has this SHA-256, for files that state none; or None."""
        return next((release for release in self.known if sha256 and release.sha256 == sha256), None)

    def is_own(self, term: str) -> bool:
        """Returns whether ``term`` is an id of this ontology by its form alone."""
        pattern = self.sure_pattern or self.id_pattern
        return bool(pattern) and re.fullmatch(pattern, term) is not None


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
        extra: the extra of this package that installs the embedded copies; empty where there are none.
        ontology: its ontology file.
        records: its record file.
        companions: files that go with the records and are not needed to answer, by part: ``mappings`` say which records
            stand for the same thing, ``genes`` which genes belong to them, ``products`` what gene products are called.
        aside_pattern: regular expression of ids of terms that no record can have, such as tactics; a query leaves them
            out instead of finding them unexplained everywhere.
        facet: typed relation by whose ends the terms of a hit are grouped, such as ``has-tactic``; empty for none.
        facet_name: the word for such an end, such as ``tactic``.
        parent_names: a term is shown behind the name of its parent, since two terms may share a name.
        paths: an answer shows the way from the top down to every term, since a name says little without it.
        spelling: name of the way in which ids are written in this field, where people write them in several.
        example: ids that the bundled sample answers, for who asks it for terms that it lacks; empty without a sample.
        dials: what scores depend on where nothing else is said, by name; those not named are as everywhere.
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
    companions: Mapping[str, FileManifest] = field(default_factory=dict)
    aside_pattern: str = ""
    parent_names: bool = False
    facet: str = ""
    facet_name: str = ""
    paths: bool = False
    spelling: str = ""
    example: str = ""
    dials: Mapping[str, Any] = field(default_factory=dict)

    def is_aside(self, term: str) -> bool:
        """Returns whether no record can have ``term``."""
        return bool(self.aside_pattern) and re.fullmatch(self.aside_pattern, term) is not None

    @property
    def is_one_file(self) -> bool:
        """Whether ontology and records are read from one and the same file."""
        return (self.ontology.reader, self.ontology.package_path) == (self.records.reader, self.records.package_path)

    @property
    def parts(self) -> Mapping[str, FileManifest]:
        """All its files by part, the ontology first; records that stand in the ontology's own file are no part."""
        records = {} if self.is_one_file else {"records": self.records}
        return {"ontology": self.ontology, **records, **self.companions}


@cache
def manifests() -> Mapping[str, Manifest]:
    """Returns the manifests of all ready domains by domain name, in the order of their places."""
    found: list[Manifest] = []
    folder = files(__package__) / "manifests"
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            values: dict[str, Any] = tomllib.loads(entry.read_text(encoding="utf-8"))
            values |= {part: _file(values[part]) for part in ("ontology", "records")}
            values["companions"] = {part: _file(v) for part, v in values.get("companions", {}).items()}
            found.append(Manifest(**values))
    return {manifest.domain: manifest for manifest in sorted(found, key=lambda m: (m.place, m.domain))}


def _file(values: dict[str, Any]) -> FileManifest:
    releases = tuple(Release(**release) for release in values.get("releases", ()))
    return FileManifest(**{**values, "releases": releases})
