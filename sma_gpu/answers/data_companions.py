"""What goes with the records of a domain, reported on: which records a mapping file joins, and which have genes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ontologies.companions import companions_of
from ..ontologies.locate import Candidate
from ..ontologies.manifest import Manifest
from ..ontologies.records.equivalents import read_equivalents
from ..ontologies.records.genes import read_genes
from ..ontologies.records.gpad_products import read_products
from ..ontologies.records.model import Records
from ..ontologies.report import LoadReport

__all__ = ["companion_reports"]


def companion_reports(name: str, manifest: Manifest, records: Records) -> list[tuple[dict[str, Any], LoadReport]]:
    """Returns what each file beside the records of a domain is made of, and what was noticed when it was read.

    Args:
        name: what was opened: the domain, or a folder with its files.
        manifest: the domain.
        records: its records.

    Raises:
        DataMissing: a file cannot be read.
        ParseError: a file is damaged.
    """
    found = companions_of(name, manifest)
    return [_READ[manifest.companions[part].reader](part, file, records) for part, file in found.items()]


def _mappings(part: str, file: Candidate, records: Records) -> tuple[dict[str, Any], LoadReport]:
    read = read_equivalents(file.path, records.keys)
    counts = {"records mapped": read.mapped, "groups of several records": read.joined}
    return _told(part, file, file.version or read.version, read.sha256, counts), read.report


def _genes(part: str, file: Candidate, records: Records) -> tuple[dict[str, Any], LoadReport]:
    read = read_genes(file.path, records.keys)
    counts = {
        "genes": len(read.keys),
        "records with genes": int(np.count_nonzero(np.diff(read.ptr))),
        "diseases that are no record": read.unknown,
    }
    return _told(part, file, file.version, read.sha256, counts), read.report


def _products(part: str, file: Candidate, records: Records) -> tuple[dict[str, Any], LoadReport]:
    read = read_products(file.path)
    counts = {"gene products": len(read.row), "records among them": sum(key in read.row for key in records.keys)}
    is_told = records.name == "gpad"  # by the reader of the records, which took their names from here
    told = _told(part, file, file.version, read.sha256, counts)
    return told, LoadReport(read.path) if is_told else read.report


_READ = {"sssom": _mappings, "genes": _genes, "gpi": _products}


def _told(part: str, file: Candidate, version: str, sha256: str, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "part": part,
        "path": str(file.path),
        "origin": file.origin,
        "version": version,
        "sha256": sha256,
        "counts": counts,
    }
