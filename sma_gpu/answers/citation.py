"""How to cite what an answer rests on: sources, releases, licences, sums, addresses."""

from __future__ import annotations

import re
from typing import Any

from ..ontologies.catalog import catalog
from ..ontologies.domains import domain_files, is_domain
from ..ontologies.locate import SAMPLE, Candidate
from ..ontologies.manifest import FileManifest
from ..ontologies.named import named_ontology
from ..ontologies.obtaining import receipt_of
from ..ontologies.source import read_source
from ..version import __version__

__all__ = ["bibtex", "citation", "citation_text"]

CITE_SCHEMA = "sma-gpu/citation/1"
_SPECIAL = re.compile(r"([&%$#_{}])")


def citation(name: str, release: str | None = None) -> dict[str, Any]:
    """Returns what to cite for a ready domain, a folder with the files of one, or another ontology, as it is here.

    Raises:
        DataMissing: there is no such name, or a file is nowhere to be found.
    """
    if is_domain(name):
        manifest, files = domain_files(name, release)
        sources = [_source("ontology", manifest.title, manifest.ontology, files.ontology)]
        if manifest.is_one_file:
            sources[0]["part"] = "ontology and records"
        else:
            title = f"{manifest.title}: annotations for each {manifest.entity}"
            sources.append(_source("records", title, manifest.records, files.records))
        return _cited(manifest.domain, manifest.title, manifest.citation, manifest.notice, sources)
    named = named_ontology(name, release)
    about = named.about or FileManifest(reader="any", address="", licence="")
    title = catalog()[named.name].title if named.name in catalog() else named.name
    return _cited(named.name, title, "", "", [_source("ontology", title, about, named.file)])


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


def _source(part: str, title: str, about: FileManifest, file: Candidate) -> dict[str, Any]:
    receipt = receipt_of(file.path)
    stated = about.release(file.version)
    address = receipt.address if receipt else (stated.address if stated else "") or about.address
    return {
        "part": part,
        "title": f"{title} (bundled sample)" if file.origin == SAMPLE else title,
        "version": file.version,
        "licence": about.licence,
        "address": address,
        "path": str(file.path),
        "origin": file.origin,
        "sha256": read_source(file.path).content_sha256,
    }


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
