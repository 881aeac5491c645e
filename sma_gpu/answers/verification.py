"""Whether the files of a name are what was stated, and whether their compiled files say what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..ontologies.companions import companions_of
from ..ontologies.compiled import ontology_to_arrays
from ..ontologies.domains import domain_files, is_domain
from ..ontologies.fetching import file_sha256
from ..ontologies.loading import compiled_ontology, read_ontology
from ..ontologies.locate import SAMPLE, Candidate
from ..ontologies.manifest import FileManifest, Release
from ..ontologies.named import named_ontology
from ..ontologies.obtaining import receipt_of
from ..ontologies.ontology import Ontology
from ..ontologies.records.loading import load_records
from ..ontologies.source import read_source
from .own_index import is_own_index, open_own_index, own_sources

__all__ = ["verification", "verification_text"]

VERIFY_SCHEMA = "sma-gpu/data-verify/1"


def verification(name: str, release: str | None = None) -> dict[str, Any]:
    """Returns what was compared for the files of a name, and whether all agrees: schema ``sma-gpu/data-verify/1``.

    Compared are the sum that a fetched file had when it came, the sum and the counts that are stated for its release,
    and its compiled file with a new reading. A file for which nothing is stated has nothing against it, and says so.

    Raises:
        DataMissing: a file is nowhere to be found.
        ParseError: a file cannot be read.
    """
    if is_own_index(name):
        return _verified(name, _own_files(name, release))
    about: FileManifest | None
    about_records, records_file, products = None, None, None
    beside: dict[str, tuple[Candidate, FileManifest]] = {}
    if is_domain(name):
        manifest, located = domain_files(name, release)
        file, records_file = located.ontology, located.records
        products = located.products.path if located.products else None
        about, about_records = manifest.ontology, manifest.records
        beside = {part: (one, manifest.companions[part]) for part, one in companions_of(name, manifest).items()}
    else:
        named = named_ontology(name, release)
        file, about = named.file, named.about
    ontology = read_ontology(file.path)
    files = [_file("ontology", file, ontology.sha256, _ontology_checks(file, about, ontology))]
    if records_file is not None:
        records = load_records(records_file.path, ontology, cache=False, products=products)
        stated = _stated(about_records, records_file, records.sha256)
        checks = [*_origin_checks(records_file, stated, records.sha256)]
        if stated is not None and stated.records and ontology.version == records_file.version:
            checks.append(_check("records", stated.records, len(records)))
        compiled = load_records(records_file.path, ontology, products=products)
        checks.append(_same_arrays(records.to_arrays(), compiled.to_arrays()))
        files.append(_file("records", records_file, records.sha256, checks))
    for part, (one, wanted) in beside.items():
        sha256 = read_source(one.path).content_sha256
        files.append(_file(part, one, sha256, [*_origin_checks(one, _stated(wanted, one, sha256), sha256)]))
    return _verified(name, files)


def _verified(name: str, files: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema": VERIFY_SCHEMA,
        "name": name,
        "agrees": all(check["agrees"] for file in files for check in file["checks"]),
        "files": files,
    }


def _own_files(folder: str, release: str | None) -> list[dict[str, Any]]:
    """Returns what became of the sources of an index of one's own; its own files are checked as it is opened."""
    domain = open_own_index(folder, release=release).domain
    ontology, records = domain.mounted.ontology, domain.records
    read = {"ontology": (ontology.version, ontology.sha256), "records": (records.version, records.sha256)}
    files = []
    for part, (path, was) in own_sources(folder).items():
        version, content = read[part]
        file = Candidate(path, "read when the index was made", version)
        if path.is_file():
            files.append(_file(part, file, content, [_check("sha256 when the index was made", was, file_sha256(path))]))
        else:
            gone = {"what": "the source", "expected": "a file", "found": "none there", "agrees": False}
            files.append({**_blank(part, file, content), "checks": [gone]})
    return files


def verification_text(found: dict[str, Any]) -> str:
    """Returns it as text."""
    lines = []
    for file in found["files"]:
        lines.append(f"{file['part']} {file['version'] or 'of unknown release'}: {file['path']} ({file['origin']})")
        if file["sha256"]:
            lines.append(f"  sha256 {file['sha256']}, {file['bytes']} bytes")
        if file["content_sha256"] != file["sha256"]:
            lines.append(f"  sha256 of its content {file['content_sha256']}")
        for check in file["checks"]:
            if check["agrees"]:
                lines.append(f"  agrees   {check['what']}" + (f": {check['found']}" if check["found"] != "" else ""))
            else:
                lines.append(f"  DIFFERS  {check['what']}: {check['found']}, where {check['expected']} is stated")
        if not file["stated"]:
            lines.append("  no sum and no count is stated for this release, so there is nothing to compare it with")
    lines += ["", f"{found['name']}: {'all that is stated agrees' if found['agrees'] else 'there are differences'}"]
    return "\n".join(lines) + "\n"


def _ontology_checks(file: Candidate, about: FileManifest | None, ontology: Ontology) -> list[dict[str, Any]]:
    stated = _stated(about, file, ontology.sha256)
    checks = [*_origin_checks(file, stated, ontology.sha256)]
    if stated is not None and stated.terms:
        checks.append(_check("terms", stated.terms, ontology.live_count))
        checks.append(_check("retired terms", stated.retired, ontology.retired_count))
    compiled = compiled_ontology(read_source(file.path))
    if compiled is not None:
        checks.append(_same_arrays(ontology_to_arrays(ontology), ontology_to_arrays(compiled)))
    return checks


def _stated(about: FileManifest | None, file: Candidate, content_sha256: str) -> Release | None:
    """Returns what is known of the release of a file: by the version that it states, else by the sum of its content."""
    if about is None or file.origin == SAMPLE:
        return None
    return about.release(file.version) or (None if file.version else about.release_of_sum(content_sha256))


def _origin_checks(file: Candidate, stated: Release | None, content_sha256: str) -> Iterator[dict[str, Any]]:
    receipt = receipt_of(file.path)
    if receipt is not None:
        yield _check("sha256 when it was fetched", receipt.sha256, file_sha256(file.path))
    if stated is not None and stated.sha256:
        yield _check(f"sha256 of release {stated.version}", stated.sha256, content_sha256)


def _check(what: str, expected: object, found: object) -> dict[str, Any]:
    return {"what": what, "expected": expected, "found": found, "agrees": expected == found}


def _same_arrays(fresh: Any, compiled: Any) -> dict[str, Any]:
    other = [name for name in sorted({*fresh, *compiled}) if not _equal(fresh.get(name), compiled.get(name))]
    return {
        "what": "the compiled file",
        "expected": "a new reading",
        "found": f"other {', '.join(other)}" if other else "",
        "agrees": not other,
    }


def _equal(one: Any, other: Any) -> bool:
    if one is None or other is None or one.dtype != other.dtype:
        return False
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _file(part: str, file: Candidate, content_sha256: str, checks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        **_blank(part, file, content_sha256),
        "bytes": file.path.stat().st_size,
        "sha256": file_sha256(file.path),
        "stated": any(check["what"] != "the compiled file" for check in checks),
        "checks": checks,
    }


def _blank(part: str, file: Candidate, content_sha256: str) -> dict[str, Any]:
    """Returns what is told of a file that is not there."""
    return {
        "part": part,
        "path": str(file.path),
        "origin": file.origin,
        "version": file.version,
        "bytes": 0,
        "sha256": "",
        "content_sha256": content_sha256,
        "stated": True,
    }
