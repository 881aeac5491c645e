"""A domain under the release of its ontology that goes with its records, and records that are not its usual ones."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import date
from pathlib import Path

from ...errors import DataMissing
from ...ontologies.domains import Domain, domain_files, read_domain
from ...ontologies.locate import Candidate, find
from ...ontologies.manifest import manifests

__all__ = ["domain_of_day", "domain_of_records", "domain_of_release"]


def domain_of_day(name: str, *, kind: str = "") -> Domain:
    """Returns a domain under the ontology released nearest to the day of its records; the newest where they say none.

    Terms that came later would only seem to be missing from the records.

    Raises:
        DataMissing: a file is nowhere to be found.
    """
    manifest, files = domain_files(name)
    return read_domain(manifest, replace(files, ontology=_nearest(name, files.records), notes=()), kind=kind)


def domain_of_records(name: str, wanted: Collection[str], *, kind: str = "") -> Domain:
    """Returns a domain with the records that hold most of ``wanted``, of all that are found for it.

    Raises:
        DataMissing: a file is nowhere to be found, or none of the records holds any of these keys.
    """
    manifest, files = domain_files(name)
    wanted = set(wanted)
    best, held = None, 0
    for records in find(manifest, "records") or [files.records]:
        domain = read_domain(manifest, replace(files, ontology=_nearest(name, records), records=records), kind=kind)
        found = sum(key in domain.records for key in wanted)
        if found > held:
            best, held = domain, found
        if held == len(wanted):
            break
    if best is None:
        example = min(wanted, default="no key")
        raise DataMissing(
            f"{manifest.entity} records of {name} with {example}",
            "no file of such records has it",
            "Put the records that the queries are about beside the others.",
        )
    return best


def domain_of_release(name: str, release: str) -> Domain:
    """Returns a domain of one file under one release, which the file states or has in its name.

    Raises:
        DataMissing: there is none, or there are several.
    """
    manifest, files = domain_files(name)
    in_name = re.compile(rf"(?<![0-9.]){re.escape(release)}(?![0-9]|\.[0-9])")
    found = find(manifest, "ontology")
    fitting = [c for c in found if c.version == release or in_name.search(c.path.name)]
    if len(fitting) != 1:
        have = ", ".join(c.path.name for c in fitting or found) or "none"
        raise DataMissing(
            f"release {release} of {manifest.name}",
            f"{'several files have it in their names' if fitting else 'no file has it in its name'}; found: {have}",
            "Keep one file of that release, with the release in its name.",
        )
    return read_domain(manifest, replace(files, ontology=fitting[0], records=fitting[0], notes=()))


def _nearest(name: str, records: Candidate) -> Candidate:
    manifest = manifests()[name]
    found = find(manifest, "ontology")
    if not found:
        return domain_files(name)[1].ontology
    if not records.date:
        return found[0]
    day = date.fromisoformat(records.date)
    dated = [c for c in found if c.date]
    if not dated:
        return found[0]
    return min(dated, key=lambda c: (abs((date.fromisoformat(c.date) - day).days), c.date, str(Path(c.path).name)))
