"""Queries that come from files: what each file says, where, and what of it the query could not use."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import DataMissing, QueryError, SmaError, UnknownTerm
from ..ontologies.domains import Domain
from ..ontologies.records.patients import BadRecord, PatientInput, PatientRecord
from ..ontologies.records.sightings import Sightings
from ..ontologies.records.sightings_reading import read_sightings
from ..ontologies.report import LoadReport

__all__ = ["SightedRecord", "account_for", "read_sighted"]


@dataclass(frozen=True)
class SightedRecord(PatientRecord):
    """A record of a batch that is a file of what was seen; its terms are those that count in the file."""

    sightings: Sightings = field(kw_only=True)


def read_sighted(paths: Sequence[str], domain: Domain, *, stdin: BinaryIO | None = None) -> PatientInput:
    """Returns one record for each file of what was seen; its id is the path as given, or that inside a folder given.

    Args:
        paths: files, folders whose files are all read but for hidden ones, or ``-``.
        domain: whose terms they name.
        stdin: binary stream that ``-`` stands for.

    Raises:
        DataMissing: one of the paths is not there.
        QueryError: two files would have one id, a folder holds no file or cannot be listed, or ``-`` comes without a
            stream.
    """
    report = LoadReport(", ".join(paths))
    records: dict[str, SightedRecord | BadRecord] = {}
    digest = hashlib.sha256()
    for path in paths:
        for name, place in _files_of(path, report):
            where = str(place)
            if name in records:
                found = f"{records[name].where} and {where} are both called so"
                raise QueryError(f"a query of the file {name!r}", found, "Name their folder, or ask in two batches.")
            record: SightedRecord | BadRecord
            try:
                seen = read_sightings(
                    _stream(stdin) if path == "-" else place, domain.mounted.ontology, domain.manifest, name=where
                )
                record = SightedRecord(name, seen.ids, where=where, sightings=seen)
                said = seen.sha256
            except SmaError as error:
                record, said = BadRecord(name, where, error), str(error)
            except OSError as fault:
                unread = QueryError(f"read {where}", str(fault.strerror), "Mend its permissions, or leave it out.")
                record, said = BadRecord(name, where, unread), str(unread)
            records[name] = record
            digest.update(f"{len(name)} {len(said)}\n{name}{said}".encode("utf-8", "surrogateescape"))
    return PatientInput(list(records.values()), digest.hexdigest(), "folder", tuple(report))


def _files_of(path: str, report: LoadReport) -> Iterator[tuple[str, Path]]:
    """Yields the files that ``path`` stands for, sorted, each with its name."""

    def refuse(fault: OSError) -> None:
        raise QueryError(f"read the folder {path}", f"a part of it cannot be listed ({fault})", "Mend its permissions.")

    if path != "-" and not os.path.exists(path):
        raise DataMissing(f"read {path}", "there is no such file or folder", "Give the path of an existing one.")
    if not os.path.isdir(path):
        yield path, Path(path)
        return
    found, hidden = [], 0
    for place, folders, files in os.walk(path, onerror=refuse):
        folders[:] = [folder for folder in folders if not folder.startswith(".")]
        for file in files:
            if file.startswith(".") or not os.path.isfile(os.path.join(place, file)):
                hidden += 1
            else:
                full = Path(place, file)
                found.append((full.relative_to(path).as_posix(), full))
    if hidden:
        report.note("hidden", f"{path}: {hidden} files that are hidden, or no regular ones, were not read")
    if not found:
        raise QueryError(f"read the folder {path}", "it holds no file", "Put files of what was seen there.")
    yield from sorted(found)


def _stream(stdin: BinaryIO | None) -> BinaryIO:
    if stdin is None:
        raise QueryError("read what was seen from -", "there is no standard input", "Give the path of a file instead.")
    return stdin


def account_for(answer: dict[str, Any], sightings: Sightings, *, strict: bool = False) -> None:
    """Adds to ``answer``, whose query was made of the ids in ``sightings``, what became of all that the file says.

    Every term used, changed or left out gets the places where the file has it; what the file names but does not affirm
    joins what is left out.

    Args:
        answer: changed in place.
        sightings: what the file says.
        strict: refuse what looks like an id and is none, instead of leaving it out.

    Raises:
        UnknownTerm: under ``strict``, for the first such id.
    """
    malformed = [entry for entry in sightings.passed if entry.kind in ("malformed", "no-id")]
    if strict and malformed:
        raise UnknownTerm(f"strict input: {sightings.path}", malformed[0].why, "Mend the file, or take that part out.")
    query, places = answer["query"], sightings.places
    came_from: dict[str, list[str]] = {}
    for entry in query["changed"]:
        entry["where"] = list(places.get(entry["asked"], ()))
        came_from.setdefault(entry["used"], []).append(entry["asked"])
    for entry in query["used"]:
        asked = dict.fromkeys([entry["term"], *came_from.get(entry["term"], ())])
        entry["where"] = (
            [] if entry["excluded"] else list(dict.fromkeys(p for term in asked for p in places.get(term, ())))
        )
    for entry in query["left_out"]:
        entry["where"] = list(places.get(entry["asked"], ()))
    query["changed"] += [
        {"asked": r.asked, "used": r.used, "path": [r.asked, r.used], "why": r.why, "where": [r.where]}
        for r in sightings.renamed
    ]
    query["left_out"] += [
        {"asked": p.asked, "kind": p.kind, "why": p.why, "candidates": [], "where": [p.where]} for p in sightings.passed
    ]
    query["from"] = {
        "file": Path(sightings.path).name,
        "form": sightings.form,
        "title": sightings.title,
        "sha256": sightings.sha256,
        "mentions": len(sightings.mentions),
        "terms": len(sightings.ids),
    }
    answer["notes"] = [*(f"{query['from']['file']}: {note}" for note in sightings.notes), *answer["notes"]]
