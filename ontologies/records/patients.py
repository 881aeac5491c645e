"""What a batch reads: patients as JSON lines, one phenopacket, or a folder or zip archive of phenopackets.

One line or file that cannot be used becomes one BadRecord and the rest goes on. Only two records with one id refuse the
whole input, since nobody could tell their answers apart.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import QueryError, SmaError
from ..report import LoadReport
from ..source import Source, read_source
from .patient_model import BadRecord, PatientInput, PatientRecord
from .phenopacket import looks_like_phenopacket, patient_from_phenopacket
from .structured import as_text, parse_json, parse_text, shown

__all__ = ["BadRecord", "PatientInput", "PatientRecord", "read_patients"]

_PHENOPACKET_NAME = re.compile(r"\.(json|ya?ml)(\.(gz|xz|bz2|zip))?\Z", re.IGNORECASE)
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # the second is an archive without files
_UTF16 = (b"\xff\xfe", b"\xfe\xff")

PatientLine = PatientRecord | BadRecord
Member = tuple[str, Callable[[], bytes]]


def read_patients(path: str | PathLike[str], *, stdin: BinaryIO | None = None) -> PatientInput:
    """Returns the patients of a batch; the form of the input is told by its content, not by its name.

    Args:
        path: a file of JSON lines (``{"id": ..., "observed": [...], "excluded": [...]}``, other keys are ignored), a
            phenopacket, either perhaps compressed, a folder or zip archive of phenopackets, or ``-``.
        stdin: binary stream that ``-`` stands for.

    Raises:
        QueryError: two records have one id, a folder or archive holds no phenopacket, or ``-`` comes without a stream.
        ParseError: the compression of a single file is damaged.
        DataMissing: there is no such file or folder.

    >>> from io import BytesIO
    >>> read_patients("-", stdin=BytesIO(b'{"id": "a", "observed": ["HP:1"]}')).records[0].observed
    ('HP:1',)
    """
    name = fspath(path)
    if name == "-":
        if stdin is None:
            raise QueryError("read patients from -", "there is no standard input", "Give the path of a file instead.")
        found = _from_source(read_source(stdin, name="<stdin>"))
    elif Path(name).is_dir():
        found = _from_folder(Path(name), name)
    else:
        found = _from_source(read_source(name))
    _refuse_repeats(found.records)
    return found


def _refuse_repeats(records: Iterable[PatientLine]) -> None:
    seen: dict[str, str] = {}
    for record in records:
        if record.id is None:
            continue
        if record.id in seen:
            raise QueryError(
                f"read the patient {record.id!r}",
                f"two records have this id, {seen[record.id]} and {record.where}",
                "Give every record an id of its own.",
            )
        seen[record.id] = record.where


def _from_source(source: Source) -> PatientInput:
    if source.raw.startswith(_ZIP_STARTS):
        return _from_zip(source)
    return _from_content(source.content(), source.path)


def _from_content(content: bytes, path: str) -> PatientInput:
    sha256 = hashlib.sha256(content).hexdigest()
    text = content.decode("utf-16" if content.startswith(_UTF16) else "utf-8-sig", "replace")
    if _is_lines(text):
        records = [
            line
            for number, raw in enumerate(_raw_lines(content, path), 1)
            if (line := _from_line(raw, f"{path}:{number}"))
        ]
        report = LoadReport(path)
        if not records:
            report.note("empty", "the input holds no record")
        return PatientInput(records, sha256, "jsonl", tuple(report))
    form = "jsonl" if _is_plain_record(_try_json(text)) else "phenopacket"
    return PatientInput([_from_phenopacket(content, path)], sha256, form)


def _is_lines(text: str) -> bool:
    """Whether the text is one record a line, perhaps with broken lines, rather than one value over many lines."""
    lines = [line for line in text.split("\n") if line.strip()]
    first = _try_json(lines[0]) if lines else None
    if first is not None:
        return len(lines) > 1 or (isinstance(first, dict) and (_is_plain_record(first) or not _is_message(first)))
    if not lines or (len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines)):
        return True
    if text.lstrip()[:1] in ("{", "[") and _try_json(text) is not None:
        return False
    return any(_is_plain_record(_try_json(line)) for line in lines if line.lstrip().startswith("{"))


def _is_message(value: dict[str, Any]) -> bool:
    return looks_like_phenopacket(value) or any(name in value for name in ("proband", "members", "phenopacket"))


def _is_plain_record(value: object) -> bool:
    # Keys such as diseases may stand in either form; these tell them apart.
    return (
        isinstance(value, dict)
        and ("observed" in value or "excluded" in value)
        and not ("phenotypicFeatures" in value or "phenotypic_features" in value)
    )


def _try_json(text: str) -> Any:
    try:
        return parse_json(text, "")
    except QueryError:
        return None


def _raw_lines(content: bytes, path: str) -> list[bytes]:
    """Lines as bytes, so that bad bytes cost one line only. JSON text may hold any other line separator."""
    if content.startswith(_UTF16):
        content = as_text(content, path).encode("utf-8")
    return content.removeprefix(b"\xef\xbb\xbf").split(b"\n")


def _from_line(raw: bytes, where: str) -> PatientLine | None:
    if not raw.strip():
        return None
    value: Any = None
    try:
        value = parse_json(as_text(raw, where), where)
        return _plain_record(value, where)
    except SmaError as error:
        return BadRecord(_readable_id(value), where, error)


def _plain_record(value: Any, where: str) -> PatientRecord:
    if not isinstance(value, dict):
        raise QueryError(
            f"read {where}", f"it is {shown(value)}", 'Give an object such as {"id": "a", "observed": []}.'
        )
    if "observed" not in value and "excluded" not in value:
        if _is_message(value):
            found, do = "it looks like a phenopacket", "Give each phenopacket as a file of its own, in a folder or zip."
        else:
            found, do = "it has neither observed nor excluded", "Give the signs as lists of term ids under these names."
        raise QueryError(f"read {where}", found, do)
    key = value.get("id")
    if not isinstance(key, str) or not key.strip():
        found = "there is none" if "id" not in value else f"it is {shown(key)}"
        raise QueryError(f"read the id of {where}", found, "Give every record an id, a text that is not blank.")
    return PatientRecord(key, _terms(value, "observed", where), _terms(value, "excluded", where), where=where)


def _terms(value: dict[str, Any], field: str, where: str) -> tuple[str, ...]:
    found = value.get(field, [])
    do = f"Give {field} as a list of term ids, each a text."
    if not isinstance(found, list):
        raise QueryError(f"read {field} of {where}", f"it is {shown(found)}", do)
    for place, item in enumerate(found):
        if not isinstance(item, str):
            raise QueryError(f"read {field}[{place}] of {where}", f"it is {shown(item)}", do)
    return tuple(found)


def _readable_id(value: object) -> str | None:
    key = value.get("id") if isinstance(value, dict) else None
    return key if isinstance(key, str) and key.strip() else None


def _from_phenopacket(content: bytes, where: str) -> PatientLine:
    value: Any = None
    try:
        value = parse_text(as_text(content, where), where)
        if _is_plain_record(value):
            return _plain_record(value, where)
        return patient_from_phenopacket(value, where)
    except SmaError as error:
        return BadRecord(_readable_id(value), where, error)


def _from_folder(folder: Path, name: str) -> PatientInput:
    def refuse(fault: OSError) -> None:
        raise QueryError(f"read the folder {name}", f"a part of it cannot be listed ({fault})", "Mend its permissions.")

    members: list[Member] = []
    for place, _, files in os.walk(folder, onerror=refuse):
        for file in files:
            full = Path(place, file)
            members.append((full.relative_to(folder).as_posix(), _file_reader(full)))
    return _from_members(members, name, "folder")


def _file_reader(path: Path) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            return read_source(path).content()
        except OSError as fault:
            if isinstance(fault, SmaError):
                raise
            raise QueryError(f"read {path}", str(fault), "Mend its permissions, or leave it out.") from fault

    return read


def _from_zip(source: Source) -> PatientInput:
    def reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            try:
                return Source(info.filename, archive.read(info)).content()
            except (RuntimeError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as fault:
                if isinstance(fault, SmaError):
                    raise
                raise QueryError(
                    f"read {info.filename} in {source.path}", str(fault), "Pack the archive again, without a password."
                ) from fault

        return read

    try:
        archive = zipfile.ZipFile(BytesIO(source.raw))
    except zipfile.BadZipFile as fault:
        raise QueryError(
            f"read the archive {source.path}", f"it is damaged or incomplete ({fault})", "Get it or pack it again."
        ) from fault
    with archive:
        members = [(info.filename, reader(archive, info)) for info in archive.infolist() if not info.is_dir()]
        if len(members) == 1:
            try:
                content = members[0][1]()
            except SmaError as error:
                return PatientInput([BadRecord(None, members[0][0], error)], source.raw_sha256, "zip")
            alone = _from_content(content, source.path)
            if alone.form == "jsonl":
                return alone
        return _from_members(members, source.path, "zip")


def _from_members(members: list[Member], path: str, form: str) -> PatientInput:
    report = LoadReport(path)
    digest = hashlib.sha256()
    records: list[PatientLine] = []
    for name, read in sorted(members, key=lambda member: member[0]):
        if not _is_phenopacket_name(name):
            report.note("other-file", f"{name} is not named as JSON or YAML; it is passed over", where=name)
            continue
        content, record = _read_member(name, read)
        encoded = os.fsencode(name)
        # Lengths keep apart inputs whose paths and contents run together to the same bytes.
        digest.update(b"%d %d\n" % (len(encoded), len(content)) + encoded + content)
        records.append(record)
    if not records:
        raise QueryError(
            f"read patients from the {form} {path}",
            f"none of its {len(members)} files is named as JSON or YAML",
            "Give a folder or archive of phenopackets (.json, .yaml, .yml), or a file of JSON lines itself.",
        )
    return PatientInput(records, digest.hexdigest(), form, tuple(report))


def _read_member(name: str, read: Callable[[], bytes]) -> tuple[bytes, PatientLine]:
    try:
        content = read()
    except SmaError as error:
        return b"", BadRecord(None, name, error)
    return content, _from_phenopacket(content, name)


def _is_phenopacket_name(name: str) -> bool:
    parts = name.split("/")
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return not hidden and _PHENOPACKET_NAME.search(parts[-1]) is not None
