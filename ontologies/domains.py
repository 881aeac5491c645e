"""Ready domains: an ontology mounted, its records read, and what an answer has to say about both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import DataMissing, QueryError
from .languages import load_in_language
from .locate import Located, data_files, find, locate
from .manifest import Manifest, manifests
from .mount import Mounted, mount
from .named import named_ontology, without_records
from .ontology import Ontology
from .records.loading import load_records
from .records.model import Records
from .report import LoadReport

__all__ = [
    "Domain",
    "domain_files",
    "domain_ontology",
    "is_domain",
    "open_domain",
    "read_domain",
    "selection_of",
    "term_name",
    "term_path",
]


@dataclass(frozen=True)
class Domain:
    """A domain ready to be indexed.

    Attributes:
        manifest: its description.
        mounted: its ontology.
        records: its annotated entities.
        notes: remarks on the choice of files, for the answer.
        selection: which of the records in their file these are: a kind of them, or the columns of a table; empty where
            there is but one way to take them.
    """

    manifest: Manifest
    mounted: Mounted
    records: Records
    notes: tuple[str, ...]
    selection: str = ""


def is_domain(name: str) -> bool:
    """Returns whether ``name`` is a ready domain, or a folder that may hold the files of one."""
    return name in manifests() or Path(name).is_dir()


def domain_files(name: str, release: str | None = None) -> tuple[Manifest, Located]:
    """Returns the manifest and the files of a domain, or of a folder that holds the files of one.

    A folder that holds the files of several domains is taken for the first of them, and a note says so.

    Raises:
        DataMissing: there is no such domain or folder, or a file is nowhere to be found.
    """
    known = manifests()
    if name in known:
        return known[name], locate(known[name], release=release)
    folder = Path(name)
    if not folder.is_dir():
        raise without_records(name) or DataMissing(
            f"domain {name}", f"ready domains are {', '.join(known)}", "Name one of them, or a folder with its files."
        )
    held = [m for m in known.values() if find(m, "ontology", folder)]
    if not held:  # a folder with records alone lacks an ontology, and hears which
        held = [m for m in known.values() if find(m, "records", folder)][:1]
    if not held:
        count = len({path for m in known.values() for path in data_files(m.domain, folder)})
        wanted = "; ".join(f"{m.domain}: {m.ontology.address}" for m in known.values())
        raise DataMissing(
            f"data folder {name}",
            f"none of the {count} files there can serve a domain",
            f"Files are recognised by content: put those of a domain there, unbroken ({wanted}).",
        )
    files = locate(held[0], folder, release)
    if len(held) > 1:
        others = ", ".join(m.domain for m in held[1:])
        note = f"{name} holds files of several domains; {held[0].domain} is used, not {others}"
        files = replace(files, notes=(*files.notes, note))
    return held[0], files


def domain_ontology(
    name: str, *, release: str | None = None, strict: bool = False, language: str = ""
) -> tuple[Manifest, Mounted]:
    """Returns the manifest and the mounted ontology of a domain, or of another name of an ontology, without records."""
    if not is_domain(name) and without_records(name) is not None:
        named = named_ontology(name, release)
        return named.as_manifest(), mount(load_in_language(named.file.path, language, strict=strict))
    manifest, files = domain_files(name, release)
    return manifest, mount(load_in_language(files.ontology.path, language, strict=strict))


def open_domain(
    name: str, *, release: str | None = None, kind: str = "", strict: bool = False, language: str = ""
) -> Domain:
    """Returns a domain with its ontology mounted and its records read.

    Args:
        name: a ready domain, or a folder that holds the files of one.
        release: release of the ontology to use instead of the newest found.
        kind: which kind of records, such as ``campaign``, where the domain has several; the usual one where empty.
        strict: refuse files that the default reads with warnings.
        language: of the names of terms, where its ontology has them in several; English where empty.

    Raises:
        DataMissing: a file is nowhere to be found.
        QueryError: the domain has no such kind of records.
        ParseError: a file cannot be read, or has faults and ``strict`` is set.
    """
    return read_domain(*domain_files(name, release), kind=kind, strict=strict, language=language)


def read_domain(
    manifest: Manifest,
    files: Located,
    *,
    kind: str = "",
    strict: bool = False,
    columns: Mapping[str, Sequence[str]] | None = None,
    language: str = "",
) -> Domain:
    """Returns the domain of these files, read; its manifest says what a record of this kind is.

    ``columns`` are those of records in a table, see ``load_records``, and ``language`` is that of the names of terms.

    Raises:
        QueryError: the domain has no such kind of records.
        ParseError: a file cannot be read, or has faults and ``strict`` is set.
    """
    kinds = manifest.records.kinds
    if kind and kind not in kinds:
        have = f"it has {', '.join(kinds)}" if kinds else "it has records of one kind alone"
        raise QueryError(f"records of kind {kind} in {manifest.domain}", have, "Name one of its kinds, or none.")
    manifest = replace(manifest, entity=kinds[kind]) if kind else manifest
    ontology = load_in_language(files.ontology.path, language, strict=strict)
    products = files.products.path if files.products else None
    records = load_records(files.records.path, ontology, kind=kind, strict=strict, columns=columns, products=products)
    notes = [*files.notes, *_reading_notes(ontology.report), *_reading_notes(records.report)]
    notes += [entry.message for entry in ontology.report if entry.kind == "one-language"]
    stated = files.records.version
    if stated and ontology.version and stated != ontology.version:
        notes.append(f"ontology release {ontology.version}, annotations of {stated}")
    return Domain(manifest, mount(ontology), records, tuple(notes), selection_of(manifest, kind, columns))


def selection_of(manifest: Manifest, kind: str, columns: Mapping[str, Sequence[str]] | None) -> str:
    """Returns in words which of the records in a file are taken: the kind, the usual one by its name, or columns."""
    if columns:
        return " ".join(f"{field}={name}" for field, names in sorted(columns.items()) for name in names or ("",))
    return kind or next(iter(manifest.records.kinds), "")


def term_path(ontology: Ontology, term: int) -> list[int]:
    """Returns the terms from a root down to term number ``term``: the fewest that there can be, the first of these."""
    ways = [[term]]
    seen = {term}
    while True:
        longer = []
        for way in ways:
            above = ontology.parents_of(way[0]).tolist()
            if not above:
                return way
            longer += [[parent, *way] for parent in above if parent not in seen]
            seen.update(above)
        ways = longer


def term_name(manifest: Manifest, ontology: Ontology, term: int) -> str:
    """Returns the name of term number ``term`` as it is shown: where the domain wants so, behind that of its parent."""
    name = ontology.names[term]
    above = [ontology.names[parent] for parent in ontology.parents_of(term)] if manifest.parent_names else []
    parents = " or ".join(parent for parent in above if parent)
    return f"{parents}: {name}" if parents and not name.startswith(f"{parents}:") else name


def _reading_notes(report: LoadReport) -> list[str]:
    """Returns one remark on what a reader repaired or left out, or none."""
    faults = report.faults
    if not faults:
        return []
    many = "1 warning" if len(faults) == 1 else f"{len(faults)} warnings"
    return [f"{Path(report.path).name} was read with {many}, the first: {faults[0].message} (sma-gpu doctor lists all)"]
