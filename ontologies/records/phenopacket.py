"""Reader of GA4GH phenopackets, version 2 (``excluded``) and version 1 (``negated``), in JSON or YAML.

Field names are taken in camelCase and in snake_case, as protobuf's JSON form allows. A flag that is misread would turn
a sign that was ruled out into one that was seen, so a flag that is not plainly true or false costs the record.
"""

from __future__ import annotations

import re
from typing import Any

from ...errors import QueryError
from ..report import LoadReport
from ..source import SourceLike, read_source
from .patient_model import PatientRecord
from .structured import as_text, parse_text, shown

__all__ = ["looks_like_phenopacket", "patient_from_phenopacket", "read_phenopacket"]

_FIELDS = (
    "subject", "phenotypicFeatures", "measurements", "biosamples", "interpretations", "diseases", "medicalActions",
    "genes", "variants", "files", "htsFiles", "metaData",
)  # fmt: skip
_OTHER_MESSAGES = {
    "proband": ("a Family message", "Give the proband's own phenopacket, each in its own file."),
    "members": ("a Cohort message", "Give the phenopacket of each member in its own file."),
    "phenopacket": ("a message around a phenopacket", "Give the phenopacket inside it as a file of its own."),
}
_FLAG_LIKE = re.compile(r"exclu|negat|absent", re.IGNORECASE)
_SOLVED = ("SOLVED", 3)  # name and number of the value in the ProgressStatus enumeration


def read_phenopacket(source: SourceLike, name: str | None = None) -> PatientRecord:
    """Returns the patient of one phenopacket file.

    Args:
        source: path, bytes or binary file, perhaps compressed, in JSON or YAML.
        name: name for reports, where ``source`` has none.

    Raises:
        QueryError: the content is no phenopacket, has no id, or contradicts itself.
        ParseError: its compression is damaged.
        DataMissing: there is no such file, or it is YAML and PyYAML is not installed.

    >>> read_phenopacket(b'{"id": "a", "phenotypicFeatures": [{"type": {"id": "HP:1"}, "excluded": true}]}').excluded
    ('HP:1',)
    """
    opened = read_source(source, name=name)
    return patient_from_phenopacket(parse_text(as_text(opened.content(), opened.path), opened.path), opened.path)


def looks_like_phenopacket(value: object) -> bool:
    """Returns whether a parsed value has a field that phenopackets have and other patient records have not."""
    return isinstance(value, dict) and any(name in value or _snake(name) in value for name in _FIELDS)


def patient_from_phenopacket(value: Any, where: str) -> PatientRecord:
    """Returns the patient that a parsed phenopacket describes.

    Args:
        value: the parsed JSON or YAML.
        where: name of the file, for messages.

    Raises:
        QueryError: the value is no phenopacket, has no id, or contradicts itself.
    """
    if not isinstance(value, dict):
        found = f"a list of {len(value)} values" if isinstance(value, list) else shown(value)
        raise QueryError(
            f"read {where} as a phenopacket", f"it is {found}", "Give one phenopacket, a JSON or YAML object, a file."
        )
    for field, (found, do) in _OTHER_MESSAGES.items():
        if field in value:
            raise QueryError(f"read {where} as a phenopacket", f"it is {found} (it has {field!r})", do)
    if not looks_like_phenopacket(value):
        names = ", ".join(repr(str(n)) for n in list(value)[:5])
        raise QueryError(
            f"read {where} as a phenopacket",
            f"it has none of a phenopacket's fields, but {names or 'nothing at all'}",
            "Give a GA4GH phenopacket (id, subject, phenotypicFeatures, metaData), or patients as JSON lines.",
        )
    report = LoadReport(where)
    key = value.get("id")
    if not isinstance(key, str) or not key.strip():
        found = "there is none" if "id" not in value else f"it is {shown(key)}"
        raise QueryError(f"read the id of {where}", found, "Give the phenopacket a top-level id, a text not blank.")
    observed, excluded = _features(value, where, report)
    labels, ruled_out = _diseases(value, where, report)
    return PatientRecord(key, observed, excluded, labels, ruled_out, where, tuple(report))


def _features(value: dict[str, Any], where: str, report: LoadReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    observed: list[str] = []
    excluded: list[str] = []
    for place, feature in _items(value, "phenotypicFeatures", where):
        term = _term_id(feature, "type")
        if term is None:
            report.warn("no-type-id", "the feature has no type.id; it is left out", where=place)
        elif _is_excluded(feature, place, where):
            excluded.append(term)
        else:
            observed.append(term)
    return tuple(observed), tuple(excluded)


def _diseases(value: dict[str, Any], where: str, report: LoadReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    labels: dict[str, None] = {}
    ruled_out: dict[str, None] = {}
    for place, disease in _items(value, "diseases", where):
        term = _term_id(disease, "term")
        if term is None:
            report.warn("no-term-id", "the disease has no term.id; it is left out of the labels", where=place)
        elif _is_excluded(disease, place, where):
            ruled_out[term] = None
        else:
            labels[term] = None
    for place, interpretation in _items(value, "interpretations", where):
        if not isinstance(interpretation, dict) or _get(interpretation, "progressStatus", where) not in _SOLVED:
            continue
        diagnosis = _get(interpretation, "diagnosis", where)
        term = _term_id(diagnosis, "disease")
        if term is None:
            report.warn("no-term-id", "the solved interpretation names no disease; it gives no label", where=place)
        else:
            labels[term] = None
    for term in sorted(labels.keys() & ruled_out.keys()):
        report.warn("label-conflict", f"{term} is recorded both as a diagnosis and as ruled out", ids=[term])
    return tuple(labels), tuple(ruled_out)


def _items(value: dict[str, Any], field: str, where: str) -> list[tuple[str, Any]]:
    """The entries of a list field, each with its JSON path; a field that is absent or null is an empty list."""
    found = _get(value, field, where)
    if found is None:
        return []
    name = field if field in value else _snake(field)
    if not isinstance(found, list):
        raise QueryError(f"read {name} of {where}", f"it is {shown(found)}", f"Give {name} as a list.")
    return [(f"{name}[{i}]", item) for i, item in enumerate(found)]


def _get(value: dict[str, Any], field: str, where: str) -> Any:
    """The value of a field under its camelCase or snake_case name; None where it has neither."""
    snake = _snake(field)
    if snake != field and field in value and snake in value and value[field] != value[snake]:
        raise QueryError(
            f"read {field} of {where}", f"{field} and {snake} are both given and differ", "Keep one of the two."
        )
    return value[field] if field in value else value.get(snake)


def _term_id(value: Any, field: str) -> str | None:
    ontology_class = value.get(field) if isinstance(value, dict) else None
    term = ontology_class.get("id") if isinstance(ontology_class, dict) else None
    return term if isinstance(term, str) and term.strip() else None


def _is_excluded(value: dict[str, Any], place: str, where: str) -> bool:
    for name in value:
        if name not in ("excluded", "negated") and _FLAG_LIKE.search(str(name)):
            raise QueryError(
                f"read {place}.{name} of {where}",
                "phenopackets have no such field, though it reads like a negation",
                "Give excluded (version 2) or negated (version 1).",
            )
    flags: dict[str, bool] = {}
    for name in ("excluded", "negated"):
        flag = value.get(name)
        if flag is None:
            continue
        if not isinstance(flag, bool):
            raise QueryError(
                f"read {place}.{name} of {where}", f"it is {shown(flag)}", f"Give {name} as true or false, unquoted."
            )
        flags[name] = flag
    if len(set(flags.values())) > 1:
        raise QueryError(
            f"read {place} of {where}",
            f"excluded is {str(flags['excluded']).lower()} and negated is {str(flags['negated']).lower()}",
            "Keep excluded alone (version 2), or negated alone (version 1).",
        )
    return any(flags.values())


def _snake(field: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", field).lower()
