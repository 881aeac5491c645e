"""The integrity report: what an ontology and its records are made of, and everything odd about them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ontologies.domains import domain_files, is_domain, read_domain
from ..ontologies.languages import load_in_language
from ..ontologies.locate import Candidate
from ..ontologies.named import named_ontology
from ..ontologies.ontology import Ontology
from ..ontologies.records.model import Records
from ..ontologies.report import Entry, LoadReport
from .data_companions import companion_reports
from .own_index import is_own_index, open_own_index

__all__ = ["data_report", "data_report_text", "depths"]

REPORT_SCHEMA = "sma-gpu/data-report/1"
_SHOWN = 12  # lines of a section in the text form
_SHOWN_LINES = 5  # line numbers of an entry in the text form

_OBSOLETE = frozenset({"old-id", "renumbered", "retired-end", "retired-id", "retired-target"})
_UNKNOWN = frozenset({"unknown-id", "placeholder-id", "unknown-end", "unknown-disease", "lost-end"})
_UNKNOWN |= {"undefined-term", "undefined-replacement", "undefined-suggestion"}
_DOUBLE = frozenset(
    {"copied-row", "merged-domains", "merged-stanzas", "older-version", "repeated-header", "same-stamp"}
)
_DOUBLE |= {"second-definition", "second-element", "second-id", "second-marks", "second-name", "second-parent"}
_DOUBLE |= {"second-record", "several-ids", "several-names", "shared-alternative", "shared-id"}
_TOLD_HERE = frozenset({"equal-profile"})  # told in full below, from the records themselves


def data_report(name: str, *, release: str | None = None, kind: str = "", language: str = "") -> dict[str, Any]:
    """Returns the integrity report of what a file or a name stands for: schema ``sma-gpu/data-report/1``.

    Args:
        name: a ready domain, a folder with the files of one, or an index of one's own, whose records are reported on
            too; another name of an ontology; or its file.
        release: release of the ontology instead of the newest found.
        kind: which kind of records, where the domain has several.
        language: of the names of terms, where the ontology has them in several; English where empty.

    Raises:
        DataMissing: a file is nowhere to be found.
        ParseError: a file cannot be read.
        QueryError: the domain has no such kind of records.
    """
    records: Records | None = None
    beside: list[tuple[dict[str, Any], LoadReport]] = []
    if is_own_index(name):
        own = open_own_index(name, release=release, kind=kind, language=language).domain
        ontology, records, notes = own.mounted.ontology, own.records, list(own.notes)
        file = Candidate(Path(ontology.report.path), "read when the index was made", ontology.version)
    elif is_domain(name):
        manifest, files = domain_files(name, release)
        domain = read_domain(manifest, files, kind=kind, language=language)
        ontology, records, file = domain.mounted.ontology, domain.records, files.ontology
        notes = [note for note in domain.notes if "was read with" not in note]  # all that was noticed stands below
        beside = companion_reports(name, manifest, records)
    else:
        named = named_ontology(name, release)
        ontology, file, notes = load_in_language(named.file.path, language), named.file, list(named.notes)
    reports = [ontology.report, *([records.report] if records is not None else []), *(report for _, report in beside)]
    entries = [entry for report in reports for entry in report]
    return {
        "schema": REPORT_SCHEMA,
        "name": name,
        "notes": notes,
        "ontology": _ontology(ontology, str(file.path), file.origin),
        "records": _records(records) if records is not None else None,
        "beside": [told for told, _ in beside],
        "obsolete_in_use": [_fate(entry, ontology) for entry in entries if entry.kind in _OBSOLETE],
        "unknown_ids": [_entry(entry) for entry in entries if entry.kind in _UNKNOWN],
        "duplicates": [_entry(entry) for entry in entries if entry.kind in _DOUBLE],
        "suspicious": [_entry(e) for e in entries if e.severity != "note" and not _is_told(e)],
        "remarks": [_entry(e) for e in entries if e.severity == "note" and not _is_told(e)],
        "equal_profiles": equal_profiles(records) if records is not None else [],
        "counts": {report.path: _counts(report) for report in reports},
    }


def data_report_text(report: dict[str, Any]) -> str:
    """Returns the report as text; long sections are cut, and say so."""
    ontology = report["ontology"]
    lines = [f"{ontology['label']}: {ontology['path']} ({ontology['origin']})", f"  sha256 {ontology['sha256']}"]
    lines.append(
        f"  {ontology['terms']} terms, {ontology['retired']} retired, {ontology['alternative']} alternative ids, "
        f"{ontology['placeholders']} named but not defined"
    )
    lines.append(
        f"  {ontology['edges']} is-a edges, {ontology['several_parents']} terms with several parents; "
        f"depth {ontology['depth']}: " + ", ".join(f"{n} at {d}" for d, n in enumerate(ontology["terms_by_depth"]))
    )
    roots = ontology["roots"]
    shown = ", ".join(f"{r['id']} {r['name']}".strip() for r in roots[:_SHOWN])
    more = f" and {len(roots) - _SHOWN} more" if len(roots) > _SHOWN else ""
    lines.append(f"  {len(roots)} root{'' if len(roots) == 1 else 's'}: {shown}{more}")
    if ontology["relations"]:
        lines.append("  relations: " + ", ".join(f"{n} ({c})" for n, c in ontology["relations"].items()))
    records = report["records"]
    if records is not None:
        lines += ["", f"{records['label']}: {records['path']}", f"  sha256 {records['sha256']}"]
        lines.append(
            f"  {records['records']} records, {records['without_terms']} of them without a term that occurs; "
            f"{records['annotations']} annotations, {records['excluded']} of them of absence; "
            f"{records['terms_in_use']} terms in use"
        )
    else:
        lines += ["", "no records belong to it here"]
    for told in report["beside"]:
        lines += ["", f"{told['part']} {told['version'] or 'of unknown release'}: {told['path']} ({told['origin']})"]
        counts = ", ".join(f"{count} {what}" for what, count in told["counts"].items())
        lines += [f"  sha256 {told['sha256']}", f"  {counts}"]
    lines += _section("obsolete ids in use", [_fate_text(fate) for fate in report["obsolete_in_use"]])
    for key, title in (
        ("unknown_ids", "unknown ids"),
        ("duplicates", "duplicates"),
        ("suspicious", "suspicious rows"),
        ("remarks", "remarks of the readers"),
    ):
        lines += _section(title, [_entry_text(entry) for entry in report[key]])
    groups = [f"{len(group)} records: {', '.join(_few(group))}" for group in report["equal_profiles"]]
    lines += _section("records with equal profiles", groups)
    return "\n".join([*lines, "", *(f"Note: {note}" for note in report["notes"])]).rstrip() + "\n"


def depths(ontology: Ontology) -> npt.NDArray[np.int64]:
    """Returns, for each term, the most is-a steps that lead down to it from a term without parents, int64 ``[T]``."""
    child = np.repeat(np.arange(len(ontology)), np.diff(ontology.parent_ptr))
    found = np.zeros(len(ontology), np.int64)
    while True:  # as many rounds as the deepest term is deep; the relation is known to have no cycle
        deeper = found.copy()
        np.maximum.at(deeper, child, found[ontology.parents] + 1)
        if np.array_equal(deeper, found):
            return found
        found = deeper


def equal_profiles(records: Records) -> list[list[str]]:
    """Returns the groups of records with exactly the same terms, present and absent, which no query can tell apart.

    Records without any term are left out. Groups and the keys in them are in code-point order.
    """
    present, absent = (records.phenotypes(excluded=excluded) for excluded in (False, True))
    same: dict[tuple[bytes, bytes], list[str]] = {}
    for number, key in enumerate(records.keys):
        has = tuple(term[ptr[number] : ptr[number + 1]].tobytes() for ptr, term in (present, absent))
        if any(has):
            same.setdefault((has[0], has[1]), []).append(key)
    return [group for group in same.values() if len(group) > 1]


def _ontology(ontology: Ontology, path: str, origin: str) -> dict[str, Any]:
    live = ~ontology.placeholder
    deep = depths(ontology)[live]
    relations = Counter(ontology.relations[:, 1].tolist())
    return {
        "label": ontology.label,
        "version": ontology.version,
        "path": path,
        "origin": origin,
        "sha256": ontology.sha256,
        "terms": ontology.live_count,
        "retired": ontology.retired_count,
        "alternative": sum(not old.has_stanza for old in ontology.retired.values()),
        "placeholders": len(ontology) - ontology.live_count,
        "edges": len(ontology.parents),
        "several_parents": int((np.diff(ontology.parent_ptr) > 1).sum()),
        "roots": [{"id": root, "name": ontology.names[ontology.number[root]]} for root in ontology.roots],
        "depth": int(deep.max(initial=0)),
        "terms_by_depth": np.bincount(deep).tolist(),
        "relations": {ontology.relation_ids[number]: count for number, count in sorted(relations.items())},
    }


def _records(records: Records) -> dict[str, Any]:
    ptr, _ = records.phenotypes(excluded=False)
    return {
        "label": records.label,
        "version": records.version,
        "path": records.report.path,
        "sha256": records.sha256,
        "ontology_version": records.ontology_version,
        "records": len(records),
        "without_terms": int((np.diff(ptr) == 0).sum()),
        "annotations": len(records.term),
        "excluded": int(records.excluded.sum()),
        "terms_in_use": len(np.unique(records.term)),
    }


def _is_told(entry: Entry) -> bool:
    return entry.kind in {*_OBSOLETE, *_UNKNOWN, *_DOUBLE, *_TOLD_HERE}


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "severity": entry.severity,
        "kind": entry.kind,
        "message": entry.message,
        "path": entry.path,
        "where": entry.where,
        "uses": len(entry.lines),
        "lines": list(entry.lines),
        "ids": list(entry.ids),
    }


def _fate(entry: Entry, ontology: Ontology) -> dict[str, Any]:
    """Returns an obsolete id that is in use, what it became, and what the ontology suggests where it became nothing."""
    old = next((term for term in entry.ids if term in ontology.retired), entry.ids[0] if entry.ids else "")
    found = ontology.resolve(old)
    return {
        **_entry(entry),
        "id": found.asked,
        "became": found.used if found.used != found.asked else None,
        "path": list(found.path),
        "candidates": list(found.candidates),
    }


def _counts(report: LoadReport) -> dict[str, int]:
    return dict(sorted(Counter(entry.kind for entry in report).items()))


def _fate_text(fate: dict[str, Any]) -> str:
    now = fate["became"] or "nothing" + (
        f" (candidates: {', '.join(fate['candidates'])})" if fate["candidates"] else ""
    )
    return f"{fate['id']} became {now}{_lines_text(fate)}"


def _entry_text(entry: dict[str, Any]) -> str:
    where = f" ({entry['where']})" if entry["where"] else ""
    return f"{entry['kind']}: {entry['message']}{where}{_lines_text(entry)}"


def _lines_text(entry: dict[str, Any]) -> str:
    lines = entry["lines"]
    if not lines:
        return ""
    shown = ", ".join(str(line) for line in lines[:_SHOWN_LINES])
    return f"; line{'s' if len(lines) > 1 else ''} {shown}" + (
        f" and {len(lines) - _SHOWN_LINES} more" if len(lines) > _SHOWN_LINES else ""
    )


def _few(group: list[str]) -> list[str]:
    return [*group[:6], *([f"and {len(group) - 6} more"] if len(group) > 6 else [])]


def _section(title: str, told: list[str]) -> list[str]:
    lines = ["", f"{title} ({len(told)})", *(f"  {line}" for line in told[:_SHOWN])]
    return [*lines, f"  and {len(told) - _SHOWN} more; --json has all"] if len(told) > _SHOWN else lines
