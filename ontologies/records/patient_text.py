"""One file of patients, by its content: records one a line, or one record over the whole file."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

from ...errors import QueryError, SmaError
from ..report import LoadReport
from .citations import publication_id
from .patient_model import BadRecord, PatientInput, PatientRecord
from .phenopacket import has_features, is_message, looks_like_phenopacket, patient_from_phenopacket
from .structured import as_text, bare_id, parse_json, parse_text, shown

__all__ = ["PatientLine", "may_hold_records", "patients_from_content", "patients_from_member"]

PatientLine = PatientRecord | BadRecord

_SIGNS = ("observed", "excluded")
# One word, perhaps with what kind of thing it lists: "exclude", "Excluded", "negated_terms"; not "observation_date".
_LIKE_SIGNS = re.compile(
    r"\W*(?:(observ(?:e|ed|es|ations?))|not[\W_]*observed|exclu(?:de|ded|des|sions?)|negat(?:ed|ives?)|absent)"
    r"(?:[\W_]*(?:terms?|signs?|features?|phenotypes?|findings?|hpo|ids?|list))*\W*",
    re.IGNORECASE,
)
_IN_JSON = re.compile(r'"(observed|excluded|phenotypicFeatures|phenotypic_features)"\s*:')
_IN_YAML = re.compile(r"^(phenotypicFeatures|phenotypic_features)\s*:", re.MULTILINE)


def patients_from_content(content: bytes, path: str) -> PatientInput:
    """Returns the patients of one file.

    Args:
        content: its uncompressed bytes.
        path: its name, for reports.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    text = _text(content)
    if _is_lines(text):
        records = _from_lines(content, path)
        report = LoadReport(path)
        if not records:
            report.note("empty", "the input holds no record")
        return PatientInput(records, sha256, "jsonl", tuple(report))
    form = "jsonl" if _is_plain_record(_try_json(text)) else "phenopacket"
    return PatientInput(_from_whole(content, path), sha256, form)


def patients_from_member(content: bytes, name: str) -> list[PatientLine]:
    """Returns the patients of one file among several, at least one: a lone line is named by its file alone."""
    text = _text(content)
    return _from_lines(content, name) if len(_filled(text)) > 1 and _is_lines(text) else _from_whole(content, name)


def may_hold_records(head: bytes) -> bool:
    """Returns whether ``head``, the start of a file, has a key that only records of patients have."""
    text = _text(head)
    return bool(_IN_JSON.search(text) if text.lstrip().startswith("{") else _IN_YAML.search(text))


def _text(content: bytes) -> str:
    """The content as text, whatever is wrong with it, with line feeds alone between lines."""
    text = content.decode(json.detect_encoding(content), "replace")
    return text if "\n" in text else text.replace("\r", "\n")


def _filled(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _is_lines(text: str) -> bool:
    """Whether the text is one record a line, perhaps with broken lines, rather than one value over many lines."""
    lines = _filled(text)
    first = _try_json(lines[0]) if lines else None
    if first is not None:
        return len(lines) > 1 or (isinstance(first, dict) and (_is_plain_record(first) or not is_message(first)))
    if all(line.lstrip().startswith("{") for line in lines):
        return True
    if text.lstrip()[:1] in ("{", "[") and _try_json(text) is not None:
        return False
    values = (_try_json(line) for line in lines if line.lstrip().startswith("{"))
    return any(_is_plain_record(value) or looks_like_phenopacket(value) for value in values)


def _is_plain_record(value: object) -> bool:
    # Keys such as diseases may stand in either form; these tell them apart.
    if not isinstance(value, dict) or has_features(value):
        return False
    if any(name in value for name in _SIGNS):
        return True
    return not is_message(value) and any(_LIKE_SIGNS.fullmatch(str(name)) for name in value)


def _try_json(text: str) -> Any:
    try:
        return parse_json(text, "")
    except QueryError:
        return None


def _from_lines(content: bytes, path: str) -> list[PatientLine]:
    numbered = enumerate(_raw_lines(content), 1)
    return [patient for number, raw in numbered if raw.strip() for patient in _from_line(raw, f"{path}:{number}")]


def _raw_lines(content: bytes) -> list[bytes]:
    """Lines as bytes of UTF-8, so that bad bytes cost one line only. JSON text may hold any other line separator."""
    encoding = json.detect_encoding(content)
    if not encoding.startswith("utf-8"):
        try:
            content = content.decode(encoding).encode()
        except UnicodeDecodeError:  # what is no text stays a byte that is none
            content = content.decode(encoding, "replace").encode().replace("\ufffd".encode(), b"\xff")
    content = content.removeprefix(b"\xef\xbb\xbf")
    return content.split(b"\n") if b"\n" in content else content.split(b"\r")


def _from_line(raw: bytes, where: str) -> list[PatientLine]:
    try:
        value = parse_json(as_text(raw, where), where)
    except SmaError as error:
        return [BadRecord(None, where, error)]
    return _from_value(value, where)


def _from_whole(content: bytes, where: str) -> list[PatientLine]:
    try:
        value = parse_text(as_text(content, where), where)
        if isinstance(value, list):
            raise QueryError(
                f"read {where}",
                f"it is a list of {len(value)} values",
                "Give one object per line (JSON lines), without brackets around them and commas between them.",
            )
    except SmaError as error:
        return [BadRecord(None, where, error)]
    return _from_value(value, where)


def _from_value(value: Any, where: str) -> list[PatientLine]:
    """The patients of one value: those of a Cohort message are its members, that of a Family message its proband."""
    if isinstance(value, dict) and not _is_plain_record(value):
        members, proband = value.get("members"), value.get("proband")
        if isinstance(members, list) and members:
            return [_guarded(member, f"{where} members[{i}]") for i, member in enumerate(members)]
        if isinstance(proband, dict):
            return [_guarded(proband, f"{where} proband", relatives=value.get("relatives"))]
    return [_guarded(value, where)]


def _guarded(value: Any, where: str, *, relatives: Any = None) -> PatientLine:
    """The patient in a value, or why there is none."""
    try:
        patient = _patient(value, where)
    except SmaError as error:
        return BadRecord(_readable_id(value), where, error)
    if isinstance(relatives, list) and relatives:
        report = LoadReport(where)
        are = "1 relative is" if len(relatives) == 1 else f"{len(relatives)} relatives are"
        report.note("relatives", f"{are} no patients here; give their phenopackets by themselves")
        patient = replace(patient, notes=(*patient.notes, *report))
    return patient


def _patient(value: Any, where: str) -> PatientRecord:
    """The patient of a record in either form."""
    if not isinstance(value, dict):
        raise QueryError(
            f"read {where}", f"it is {shown(value)}", 'Give an object such as {"id": "a", "observed": []}.'
        )
    if not _is_plain_record(value) and is_message(value):
        return patient_from_phenopacket(value, where)
    for name in value:
        # A sign under a name that is passed over would be lost in silence, and one that was ruled out with it.
        if name not in _SIGNS and (like := _LIKE_SIGNS.fullmatch(str(name))):
            right = "observed" if like[1] else "excluded"
            raise QueryError(
                f"read {name} of {where}", f"there is no such field, though it reads like {right}", f"Write {right}."
            )
    if not any(name in value for name in _SIGNS):
        found, do = "it has neither observed nor excluded", "Give the signs as lists of term ids under these names."
        raise QueryError(f"read {where}", found, do)
    key = value.get("id")
    if not isinstance(key, str) or not key.strip():
        found = "there is none" if "id" not in value else f"it is {shown(key)}"
        raise QueryError(f"read the id of {where}", found, "Give every record an id, a text that is not blank.")
    report = LoadReport(where)
    key = bare_id(key, "id", report)
    observed, excluded = (_terms(value, field, where, report) for field in _SIGNS)
    gold = _gold(value, report)
    published = _publications(value, report)
    return PatientRecord(
        key, observed, excluded, gold or (), solved=gold is not None, publications=published, where=where,
        notes=tuple(report),
    )  # fmt: skip


def _terms(value: dict[str, Any], field: str, where: str, report: LoadReport) -> tuple[str, ...]:
    found = value.get(field, [])
    if found is None and field == "excluded":
        return ()
    do = f"Give {field} as a list of term ids, each a text."
    if not isinstance(found, list):
        raise QueryError(f"read {field} of {where}", f"it is {shown(found)}", do)
    terms: list[str] = []
    for i, item in enumerate(found):
        place = f"{field}[{i}]"
        if not isinstance(item, str):
            raise QueryError(f"read {place} of {where}", f"it is {shown(item)}", do)
        if term := bare_id(item, place, report):
            terms.append(term)
        else:
            report.warn("empty-id", f"{place} is empty; it is left out", where=place)
    return tuple(terms)


def _gold(value: dict[str, Any], report: LoadReport) -> tuple[str, ...] | None:
    """The keys that are right; None where the record does not say. Queries do without them, so faults are warnings."""
    found = value.get("gold")
    if found is None:
        return None
    if isinstance(found, str):
        report.note("gold", "gold is one text instead of a list; it is taken as one key", where="gold")
        found = [found]
    if not isinstance(found, list) or not all(isinstance(item, str) and item.strip() for item in found):
        what = "a list of something else than keys" if isinstance(found, list) else f"{shown(found)}, no list of keys"
        report.warn("gold", f"gold is {what}; what is right is not known", where="gold")
        return None
    return tuple(dict.fromkeys(bare_id(item, "gold", report) for item in found))


def _publications(value: dict[str, Any], report: LoadReport) -> tuple[str, ...]:
    found = value.get("publications", [])
    listed = [found] if isinstance(found, str) else found
    ids = [publication_id(item) if isinstance(item, str) else "" for item in listed] if isinstance(listed, list) else []
    if not isinstance(listed, list) or not all(ids):
        report.warn("publications", f"publications is {shown(found)}, no list of ids like PMID:1", where="publications")
    return tuple(dict.fromkeys(text for text in ids if text))


def _readable_id(value: object) -> str | None:
    key = value.get("id") if isinstance(value, dict) else None
    return bare_id(key, "id", LoadReport("")) or None if isinstance(key, str) else None
