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
from .citations import publication_id
from .patient_model import PatientRecord
from .structured import as_text, bare_id, parse_text, shown

__all__ = ["has_features", "is_message", "looks_like_phenopacket", "patient_from_phenopacket", "read_phenopacket"]

_FIELDS = (
    "subject", "phenotypicFeatures", "measurements", "biosamples", "interpretations", "diseases", "medicalActions",
    "genes", "variants", "files", "htsFiles", "metaData",
)  # fmt: skip


def _snake(field: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", field).lower()


_FIELD_NAMES = frozenset(_FIELDS) | frozenset(map(_snake, _FIELDS))
_OTHER_MESSAGES = {
    "proband": ("a Family message", "Give the proband's own phenopacket, each in its own file."),
    "members": ("a Cohort message", "Give the phenopacket of each member in its own file."),
    "phenopacket": ("a message around a phenopacket", "Give the phenopacket inside it as a file of its own."),
}
_FEATURES = ("phenotypicFeatures", "phenotypic_features")
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
    if not isinstance(value, dict):
        return False
    return has_features(value) or not _FIELD_NAMES.isdisjoint(value)


def has_features(value: dict[str, Any]) -> bool:
    """Returns whether an object has the list of signs that phenopackets have, rightly spelt or nearly so."""
    return any(map(_is_like_features, value))


def is_message(value: dict[str, Any]) -> bool:
    """Returns whether an object is a phenopacket, or a message around phenopackets."""
    return looks_like_phenopacket(value) or any(value.get(name) is not None for name in _OTHER_MESSAGES)


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
        if value.get(field) is not None:
            raise QueryError(f"read {where} as a phenopacket", f"it is {found} (it has {field!r})", do)
    if not looks_like_phenopacket(value):
        names = ", ".join(repr(str(n)) for n in list(value)[:5])
        raise QueryError(
            f"read {where} as a phenopacket",
            f"it has none of a phenopacket's fields, but {names or 'nothing at all'}",
            "Give a GA4GH phenopacket (id, subject, phenotypicFeatures, metaData), or patients as JSON lines.",
        )
    for name in value:
        if _is_like_features(name) and name not in _FEATURES:
            raise QueryError(
                f"read {name} of {where}",
                "phenopackets have no such field, though it reads like phenotypicFeatures",
                "Write phenotypicFeatures.",
            )
    report = LoadReport(where)
    key = value.get("id")
    if not isinstance(key, str) or not key.strip():
        found = "there is none" if "id" not in value else f"it is {shown(key)}"
        raise QueryError(f"read the id of {where}", found, "Give the phenopacket a top-level id, a text not blank.")
    key = bare_id(key, "id", report)
    observed, excluded = _features(value, where, report)
    labels, ruled_out = _diseases(value, where, report)
    published = _publications(value, where)
    return PatientRecord(key, observed, excluded, labels, ruled_out, bool(labels), published, where, tuple(report))


def _features(value: dict[str, Any], where: str, report: LoadReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    observed: list[str] = []
    excluded: list[str] = []
    for place, feature in _items(value, "phenotypicFeatures", where):
        term = _term_id(feature, "type", place, report)
        if not term:
            report.warn(*_missing("feature", "type", term), where=place)
        elif _is_excluded(feature, place, where):
            excluded.append(term)
        else:
            observed.append(term)
    return tuple(observed), tuple(excluded)


def _diseases(value: dict[str, Any], where: str, report: LoadReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    labels: dict[str, None] = {}
    ruled_out: dict[str, None] = {}
    for place, disease in _items(value, "diseases", where):
        term = _term_id(disease, "term", place, report)
        if not term:
            report.warn(*_missing("disease", "term", term), where=place)
        elif _is_excluded(disease, place, where):
            ruled_out[term] = None
        else:
            labels[term] = None
    for place, interpretation in _items(value, "interpretations", where):
        if not isinstance(interpretation, dict) or _get(interpretation, "progressStatus", where) not in _SOLVED:
            continue
        diagnosis = _get(interpretation, "diagnosis", where)
        term = _term_id(diagnosis, "disease", place, report)
        if not term:
            report.warn("no-term-id", "the solved interpretation names no disease; it gives no label", where=place)
        else:
            labels[term] = None
    for term in sorted(labels.keys() & ruled_out.keys()):
        report.warn("label-conflict", f"{term} is recorded both as a diagnosis and as ruled out", ids=[term])
    return tuple(labels), tuple(ruled_out)


def _publications(value: dict[str, Any], where: str) -> tuple[str, ...]:
    """The publications among the external references; others, such as web pages, are none."""
    meta = _get(value, "metaData", where)
    if not isinstance(meta, dict):
        return ()
    listed = _get(meta, "externalReferences", where)
    ids = [item.get("id") for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    found = (publication_id(text) for text in ids if isinstance(text, str))
    return tuple(dict.fromkeys(text for text in found if text))


def _missing(what: str, field: str, term: str | None) -> tuple[str, str]:
    """Kind and message for an entry of a list that names no term."""
    if term is None:
        return f"no-{field}-id", f"the {what} has no {field}.id; it is left out"
    return "empty-id", f"the {field}.id of the {what} is empty; it is left out"


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


def _term_id(value: Any, field: str, place: str, report: LoadReport) -> str | None:
    """The id of an ontology class without blanks around it, empty where it is blank; None where there is none."""
    ontology_class = value.get(field) if isinstance(value, dict) else None
    term = ontology_class.get("id") if isinstance(ontology_class, dict) else None
    return bare_id(term, place, report) if isinstance(term, str) else None


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


def _is_like_features(name: object) -> bool:
    text = str(name).lower()
    return "feature" in text and re.sub(r"[\W_]", "", text).removesuffix("s") == "phenotypicfeature"
