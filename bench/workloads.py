"""What is asked of what when speed is measured: stored cases, queries, and the case that each query is meant to find.

``w1``: 1,000 queries of eight terms over all HPO diseases, five of a disease's own, climbed 0 to 2 levels, and three of
noise. ``w1-200k`` and ``w1-1m``: the same over so many invented cases that follow the diseases. ``dev``: published case
reports whose disease has annotations, none of them from that very report.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch, encode_query
from ..errors import DataMissing
from ..ontologies.domains import Domain, domain_files, open_domain
from ..ontologies.locate import DATA_VARIABLE, data_folders
from ..ontologies.source import read_source
from .peers.protocol import World
from .retrievals import cases_of
from .synthetic_cases import synthetic_cases, w1_queries
from .term_sets import TermSets

__all__ = ["WORKLOADS", "Workload", "make_workload", "plain_files", "world_of"]

WORKLOADS = {"w1": 0, "dev": 0, "w1-200k": 200_000, "w1-1m": 1_000_000}  # how many cases are invented

_QUERIES = 1000
_QUICK_QUERIES, _QUICK_CASES = 40, 2000
_GENES = "genes_to_phenotype.txt"
_REPORTS = "phenopacket-store-*-dev.jsonl.gz"


@dataclass(frozen=True)
class Workload:
    """Queries over stored cases.

    Attributes:
        name: one of ``WORKLOADS``.
        domain: the ontology, and the records that the cases are or follow.
        ontology_file: where the ontology was read from.
        records_file: where the records were.
        cases: ``N`` stored cases in code-point order of their keys, none without terms.
        queries: ``B`` flat queries.
        targets: int64 ``[B]``, number of the case that each query is meant to find.
        notes: what was left out.
    """

    name: str
    domain: Domain
    ontology_file: Path
    records_file: Path
    cases: CaseBatch
    queries: CaseBatch
    targets: npt.NDArray[np.int64]
    notes: tuple[str, ...] = ()


def make_workload(name: str, seed: int, *, quick: bool = False) -> Workload:
    """Returns a workload; the same seed and files give the same one.

    Raises:
        DataMissing: the files of the domain ``medicine``, or the case reports, are not on this machine.
    """
    domain, files = _medicine()
    lattice = domain.mounted.lattice
    recorded = cases_of(domain)
    sizes = np.diff(recorded.ptr)
    order = sorted(np.flatnonzero(sizes).tolist(), key=recorded.keys.__getitem__)
    cases = recorded.take(order)
    if WORKLOADS[name]:
        cases = synthetic_cases(cases, lattice, _QUICK_CASES if quick else WORKLOADS[name], seed)
    if name == "dev":
        queries, targets, notes = _patients(domain, cases)
        # Reports of one disease stand together, and some arms are asked the first queries alone.
        mixed = np.random.default_rng(seed).permutation(len(queries))[: _QUICK_QUERIES if quick else None]
        queries, targets = queries.take(mixed), targets[mixed]
        return Workload(name, domain, *files, cases, queries, targets, notes)
    queries, targets = w1_queries(cases, lattice, _QUICK_QUERIES if quick else _QUERIES, seed)
    return Workload(name, domain, *files, cases, queries, targets)


def world_of(workload: Workload) -> World:
    """Returns the ontology of a workload as arms get it."""
    ontology, closure = workload.domain.mounted.ontology, workload.domain.mounted.lattice.closure
    return World(
        tuple(ontology.ids), tuple(ontology.names), TermSets(closure.ptr, closure.ancestors), workload.ontology_file
    )


def plain_files(workload: Workload, folder: Path) -> Path:
    """Returns the ontology file in a folder with all that other systems read, under the names that they expect.

    That is where the files lie, if they lie so; else ``folder``, into which they are written, decompressed.
    """
    held = workload.ontology_file.parent
    names = {"hp.obo": workload.ontology_file, "phenotype.hpoa": workload.records_file}
    if all(path == held / name for name, path in names.items()) and (held / _GENES).is_file():
        return workload.ontology_file
    for name, path in names.items():
        (folder / name).write_bytes(read_source(path).content())
    # hpo3 wants this one too, and takes nothing from it that a similarity over diseases looks at.
    (folder / _GENES).write_text(
        "ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id\n", encoding="utf-8"
    )
    return folder / "hp.obo"


def _medicine() -> tuple[Domain, tuple[Path, Path]]:
    """Returns the domain under the ontology of the same release as its annotations, where that is found."""
    _, files = domain_files("medicine")
    try:
        release = files.records.version or None
        _, files = domain_files("medicine", release)
    except DataMissing:
        release = None
    return open_domain("medicine", release=release), (files.ontology.path, files.records.path)


def _patients(domain: Domain, cases: CaseBatch) -> tuple[CaseBatch, npt.NDArray[np.int64], tuple[str, ...]]:
    number = {key: place for place, key in enumerate(cases.keys)}
    ids, terms, targets = [], [], []
    empty = absent = 0
    for report in _reports():
        present = encode_query(domain.mounted, report["observed"]).present
        target = number.get(report["disease_id"])
        if target is None:
            absent += 1
        elif not len(present):
            empty += 1
        else:
            ids.append(report["id"])
            terms.append(present)
            targets.append(target)
    notes = [f"{many} reports left out: {why}" for many, why in (
        (absent, "their disease has no annotations here"), (empty, "none of their terms is known here")
    ) if many]  # fmt: skip
    return CaseBatch.from_functors(ids, terms), np.array(targets, np.int64), tuple(notes)


def _reports() -> Iterator[dict[str, Any]]:
    """Yields the case reports that nothing in the annotations was taken from."""
    found = [path for folder in data_folders("medicine") for path in sorted(folder.glob(_REPORTS))]
    if not found:
        raise DataMissing(
            f"the case reports {_REPORTS}",
            f"they are not in the folder that {DATA_VARIABLE} names",
            f"Set {DATA_VARIABLE} to a folder with medicine/{_REPORTS}, or measure another workload.",
        )
    with gzip.open(found[0], "rt", encoding="utf-8") as lines:
        for line in lines:
            report = json.loads(line)
            if report["disease_in_hpoa"] and not report["pmid_in_hpoa"]:
                yield report
