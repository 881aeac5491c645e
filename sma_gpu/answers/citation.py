"""How to cite what an answer rests on: sources, releases, licences, sums, addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from ..ontologies.catalog import catalog
from ..ontologies.companions import companions_of
from ..ontologies.domains import domain_files, is_domain, read_domain
from ..ontologies.loading import load_ontology
from ..ontologies.locate import SAMPLE, Candidate, Located
from ..ontologies.manifest import FileManifest, Manifest
from ..ontologies.named import named_ontology
from ..ontologies.obtaining import receipt_of
from ..ontologies.source import read_source
from ..ontologies.stream import heads_of
from ..version import __version__
from .own_index import is_own_index, is_ready, open_own_index, own_sources

__all__ = ["bibtex", "citation", "citation_text"]

CITE_SCHEMA = "sma-gpu/citation/1"
_SPECIAL = re.compile(r"([&%$#_{}])")


def citation(name: str, release: str | None = None) -> dict[str, Any]:
    """Returns what to cite for a ready domain, a folder with the files of one or an index, or another ontology.

    Raises:
        DataMissing: there is no such name, or a file is nowhere to be found.
    """
    if is_own_index(name):
        return _own(name, release)
    if is_domain(name):
        manifest, files = domain_files(name, release)
        sums = partial(_sums, manifest, files)
        sources = [_source("ontology", manifest.title, manifest.ontology, files.ontology, sums)]
        if manifest.is_one_file:
            sources[0]["part"] = "ontology and records"
        else:
            title = f"{manifest.title}: annotations for each {manifest.entity}"
            sources.append(_source("records", title, manifest.records, files.records, sums))
        for part, file in companions_of(name, manifest).items():
            title = f"{manifest.title}: {part} for each {manifest.entity}"
            sources.append(_source(part, title, manifest.companions[part], file))
        return _cited(manifest.domain, manifest.title, manifest.citation, manifest.notice, sources)
    named = named_ontology(name, release)
    about = named.about or FileManifest(reader="any", address="", licence="")
    title = catalog()[named.name].title if named.name in catalog() else named.name
    sources = [_source("ontology", title, about, named.file, lambda part: load_ontology(named.file.path).sha256)]
    return _cited(named.name, title, "", "", sources)


def citation_text(cited: dict[str, Any]) -> str:
    """Returns it as text."""
    lines = [f"{cited['name']}: {cited['title']}"]
    lines += [f"  cite: {cited['citation']}"] if cited["citation"] else []
    for source in cited["sources"]:
        lines += ["", f"{source['part']}: {source['title']}", f"  release  {source['version'] or 'not stated'}"]
        lines.append(f"  address  {source['address'] or 'not known'}")
        lines.append(f"  licence  {source['licence'] or 'not known'}")
        lines.append(f"  sha256   {source['sha256']} (uncompressed content)")
        lines.append(f"  file     {source['path']} ({source['origin']})")
    lines += ["", cited["notice"]] if cited["notice"] else []
    return "\n".join([*lines, "", f"read with sma_gpu {cited['software']['version']}"]) + "\n"


def bibtex(cited: dict[str, Any]) -> str:
    """Returns it as entries for BibTeX, one for each source."""
    entries = []
    for source in cited["sources"]:
        key = re.sub(r"[^A-Za-z0-9]+", "-", f"{cited['name']}-{source['part']}-{source['version']}").strip("-")
        notes = [cited["citation"], f"Licence: {source['licence']}", f"SHA-256 {source['sha256']}"]
        fields = {
            "title": f"{{{_escaped(source['title'])}}}",
            "version": _escaped(source["version"]),
            "year": year[0] if (year := re.match(r"\d{4}(?=-\d\d)", source["version"])) else "",
            "howpublished": rf"\url{{{source['address']}}}" if source["address"] else "",
            "note": _escaped(". ".join(note.rstrip(".") for note in notes if note)),
        }
        body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
        entries.append(f"@misc{{{key},\n{body}\n}}\n")
    return "\n".join(entries)


def _own(folder: str, release: str | None) -> dict[str, Any]:
    """Returns what to cite for an index of one's own: its sources as they were when it was made."""
    domain = open_own_index(folder, release=release).domain
    manifest, ontology, records = domain.manifest, domain.mounted.ontology, domain.records
    read = {
        "ontology": (ontology.label, manifest.ontology, ontology.version, ontology.sha256),
        "records": (records.label, manifest.records, records.version, records.sha256),
    }
    sources = [
        {
            "part": part,
            "title": title,
            "version": version,
            "licence": about.licence,
            "address": about.address if is_ready(manifest) else "",
            "path": str(own_sources(folder)[part][0]),
            "origin": "read when the index was made",
            "sha256": sha256,
        }
        for part, (title, about, version, sha256) in read.items()
    ]
    return _cited(folder, "an index of one's own", manifest.citation, manifest.notice, sources)


def _cited(name: str, title: str, cite: str, notice: str, sources: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema": CITE_SCHEMA,
        "name": name,
        "title": title,
        "citation": cite,
        "notice": notice,
        "sources": sources,
        "software": {"name": "sma_gpu", "version": __version__},
    }


def _sums(manifest: Manifest, files: Located, part: str) -> str:
    """Returns the sum of all files of an archive that is the ontology or the records of a domain."""
    if part == "ontology":
        return load_ontology(files.ontology.path).sha256
    return read_domain(manifest, files).records.sha256


def _source(
    part: str, title: str, about: FileManifest, file: Candidate, sum_of: Callable[[str], str] | None = None
) -> dict[str, Any]:
    """Returns one source; ``sum_of`` gives, for a part that is an archive of several files, the sum of all of them."""
    receipt = receipt_of(file.path)
    is_several = sum_of is not None and len(list(islice(heads_of(read_source(file.path), 1), 2))) > 1
    sha256 = sum_of(part) if sum_of is not None and is_several else read_source(file.path).content_sha256
    stated = about.release(file.version) or about.release_of_sum(sha256)
    address = receipt.address if receipt else (stated.address if stated else "") or about.address
    return {
        "part": part,
        "title": f"{title} (bundled sample)" if file.origin == SAMPLE else title,
        "version": file.version or (stated.version if stated else ""),
        "licence": about.licence,
        "address": address,
        "path": str(file.path),
        "origin": file.origin,
        "sha256": sha256,
    }


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
