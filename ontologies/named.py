"""Ontologies as people name them: a file, a ready domain, one of the catalog, one of their own; NAME@RELEASE too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import DataMissing
from .catalog import catalog
from .locate import Candidate, find_file, locate, user_folder
from .manifest import FileManifest, Manifest, manifests

__all__ = ["NamedOntology", "found_releases", "named_ontology", "own_names", "without_records"]


@dataclass(frozen=True)
class NamedOntology:
    """An ontology that was found.

    Attributes:
        name: as it was given, without a release.
        title: its full name, empty where only its file is known.
        file: where it lies.
        about: what is known of its file in general; None for the user's own.
        manifest: the ready domain that it is part of, or None.
        notes: remarks on the choice of the file.
    """

    name: str
    title: str
    file: Candidate
    about: FileManifest | None
    manifest: Manifest | None
    notes: tuple[str, ...] = ()

    def as_manifest(self) -> Manifest:
        """Returns the manifest of the domain, or one that says that there are no records."""
        nothing = FileManifest(reader="", address="", licence="")
        return self.manifest or Manifest(
            name=self.name,
            domain=self.name,
            place=0,
            title=self.title,
            entity="record",
            notice="",
            citation="",
            extra="",
            ontology=self.about or nothing,
            records=nothing,
        )


def without_records(name: str) -> DataMissing | None:
    """Returns why nothing can be ranked by a catalogued ontology or one of the user's own; None for other names."""
    if name not in catalog() and name not in own_names():
        return None
    title = catalog()[name].title if name in catalog() else "an ontology of your own"
    found = found_releases(name)
    fetch = "" if found else f"sma-gpu data fetch {name}, which says where the file lies; then: "
    do = f"{fetch}sma-gpu index {found[0].path if found else 'FILE'} RECORDS -o DIR"
    return DataMissing(
        f"records for {name}",
        f"{name} is {title}, an ontology for which no records are known here, so there is nothing to rank",
        f"Records are needed, such as a table with a key and its terms. {do}; then: sma-gpu query DIR ...",
    )


def own_names() -> list[str]:
    """Returns the names that the user gave to ontologies of his own, code-point order."""
    folder = user_folder()
    known = {*manifests(), *catalog()}
    return sorted(f.name for f in folder.iterdir() if f.is_dir() and f.name not in known) if folder.is_dir() else []


def found_releases(name: str) -> list[Candidate]:
    """Returns the files that could serve as a catalogued ontology or one of the user's own, the newest first.

    Raises:
        DataMissing: a folder cannot be read.
    """
    own = FileManifest(reader="any", address="", licence="", scope=name)
    return find_file(name, catalog()[name].ontology if name in catalog() else own)


def named_ontology(text: str, release: str | None = None) -> NamedOntology:
    """Returns the ontology that a file or a name stands for.

    Args:
        text: path of a file; or a name, perhaps with ``@`` and a release behind it.
        release: the release, where ``text`` names none.

    Raises:
        DataMissing: there is no such file or name, or it is not here in that release.
    """
    if Path(text).is_file():
        return NamedOntology(text, "", Candidate(Path(text), "as given", ""), None, None)
    name, _, stated = text.partition("@")
    release = stated or release
    if name in manifests():
        manifest = manifests()[name]
        located = locate(manifest, release=release)
        return NamedOntology(name, manifest.title, located.ontology, manifest.ontology, manifest, located.notes)
    entry = catalog().get(name)
    if entry is None and name not in own_names():
        have = [*manifests(), *own_names()]
        raise DataMissing(
            f"ontology {text}",
            f"no file of this name; names are {', '.join(have)} and the {len(catalog())} of the catalog",
            "Give a file or a name; sma-gpu data list shows all names.",
        )
    found = found_releases(name)
    if not found:
        do = f"sma-gpu data fetch {name}, or sma-gpu data add FILE --name {name}"
        raise DataMissing(f"ontology {name}", "no file of it is here", do)
    fitting = [c for c in found if release in (None, c.version)]
    if not fitting:
        have = [c.version or "unknown" for c in found]
        raise DataMissing(f"release {release} of {name}", f"found are {', '.join(have)}", "Choose one of these.")
    others = ", ".join(c.version or c.path.name for c in fitting[1:])
    notes = (f"several releases: {fitting[0].version or fitting[0].path.name} is used, not {others}",) if others else ()
    title, about = (entry.title, entry.ontology) if entry else ("", None)
    return NamedOntology(name, title, fitting[0], about, None, notes)
