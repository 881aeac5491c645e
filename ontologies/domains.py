"""Ready domains: an ontology mounted, its records read, and what an answer has to say about both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import DataMissing
from .loading import load_ontology
from .locate import Located, locate
from .manifest import Manifest, manifests
from .mount import Mounted, mount
from .records.loading import load_records
from .records.model import Records
from .report import LoadReport

__all__ = ["Domain", "domain_files", "domain_ontology", "open_domain"]


@dataclass(frozen=True)
class Domain:
    """A domain ready to be indexed.

    Attributes:
        manifest: its description.
        mounted: its ontology.
        records: its annotated entities.
        notes: remarks on the choice of files, for the answer.
    """

    manifest: Manifest
    mounted: Mounted
    records: Records
    notes: tuple[str, ...]


def domain_files(name: str, release: str | None = None) -> tuple[Manifest, Located]:
    """Returns the manifest and the files of a domain, or of a folder that holds the files of one.

    Raises:
        DataMissing: there is no such domain or folder, or a file is nowhere to be found.
    """
    known = manifests()
    if name in known:
        return known[name], locate(known[name], release=release)
    if Path(name).is_dir():
        for manifest in known.values():
            try:
                return manifest, locate(manifest, Path(name), release)
            except DataMissing:
                if len(known) == 1 or release:
                    raise
        raise DataMissing(f"data folder {name}", "it holds the files of no known domain", "See sma-gpu doctor.")
    raise DataMissing(
        f"domain {name}", f"ready domains are {', '.join(known)}", "Name one of them, or a folder with its files."
    )


def domain_ontology(name: str, *, release: str | None = None, strict: bool = False) -> tuple[Manifest, Mounted]:
    """Returns the manifest and the mounted ontology of a domain, without its records."""
    manifest, files = domain_files(name, release)
    return manifest, mount(load_ontology(files.ontology.path, strict=strict))


def open_domain(name: str, *, release: str | None = None, strict: bool = False) -> Domain:
    """Returns a domain with its ontology mounted and its records read.

    Args:
        name: a ready domain, or a folder that holds the files of one.
        release: release of the ontology to use instead of the newest found.
        strict: refuse files that the default reads with warnings.

    Raises:
        DataMissing: a file is nowhere to be found.
        ParseError: a file cannot be read, or has faults and ``strict`` is set.
    """
    manifest, files = domain_files(name, release)
    ontology = load_ontology(files.ontology.path, strict=strict)
    records = load_records(files.records.path, ontology, strict=strict)
    notes = [*files.notes, *_reading_notes(ontology.report), *_reading_notes(records.report)]
    stated = files.records.version
    if stated and ontology.version and stated != ontology.version:
        notes.append(f"ontology release {ontology.version}, annotations of {stated}")
    return Domain(manifest, mount(ontology), records, tuple(notes))


def _reading_notes(report: LoadReport) -> list[str]:
    """Returns one remark on what a reader repaired or left out, or none."""
    faults = report.faults
    if not faults:
        return []
    many = "1 warning" if len(faults) == 1 else f"{len(faults)} warnings"
    return [f"{Path(report.path).name} was read with {many}, the first: {faults[0].message} (sma-gpu doctor lists all)"]
