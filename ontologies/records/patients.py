"""What a batch reads: patients as JSON lines, phenopackets, families or cohorts, or a folder or archive of either.

One line or file that cannot be used becomes one BadRecord and the rest goes on. Only two records with one id refuse the
whole input, since nobody could tell their answers apart.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...errors import QueryError, SmaError
from ..report import LoadReport
from ..source import Source, archive_members, peek, read_source
from ..stream import members, reading
from .patient_model import BadRecord, PatientInput, PatientRecord
from .patient_text import PatientLine, may_hold_records, patients_from_content, patients_from_member

__all__ = ["IN_MEMORY", "BadRecord", "PatientInput", "PatientRecord", "patients_of", "read_patients"]

IN_MEMORY = "<memory>"
"""What records in memory are called in the place of a file."""

_RECORD_NAME = re.compile(r"\.(jsonl?|ndjson|ya?ml)(\.(gz|xz|bz2|zip))?\Z", re.IGNORECASE)
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # the second is an archive without files


class Member(NamedTuple):
    """One file of a folder or an archive: its name inside it, its first bytes and its content, unpacked."""

    name: str
    head: Callable[[], bytes]
    read: Callable[[], bytes]


def read_patients(path: str | PathLike[str], *, stdin: BinaryIO | None = None) -> PatientInput:
    """Returns the patients of a batch; the form of the input is told by its content, not by its name.

    Args:
        path: a file of JSON lines (``{"id": ..., "observed": [...], "excluded": [...]}``, other keys are ignored unless
            they look like one of these misspelt, or a phenopacket a line), a phenopacket, a Cohort (its members) or
            a Family (its proband), each perhaps compressed, a folder or archive of such files, or ``-``.
        stdin: binary stream that ``-`` stands for.

    Raises:
        QueryError: two records have one id, a folder or archive holds no patient, or ``-`` comes without a stream.
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


def patients_of(lines: Iterable[Mapping[str, object]]) -> PatientInput:
    """Returns the patients of a batch that is in memory, read as the same in a file of JSON lines would be.

    Args:
        lines: what each line of the file would hold.

    Raises:
        QueryError: two records have one id, or one is nothing that JSON can hold.

    >>> patients_of([{"id": "a", "observed": ["HP:1"]}]).records[0].observed
    ('HP:1',)
    """
    try:
        content = "".join(f"{json.dumps(line)}\n" for line in lines)
    except (TypeError, ValueError, RecursionError) as fault:
        found = f"one of them is nothing that JSON can hold ({fault})"
        raise QueryError("read patients in memory", found, 'Give {"id": ..., "observed": [...]} each.') from fault
    read = patients_from_content(content.encode(), IN_MEMORY)
    _refuse_repeats(read.records)
    return read


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
    with reading(source):
        files = [(member.name, member.stream.read()) for member in members(source)]
    if len(files) == 1:
        return patients_from_content(files[0][1], source.path)
    return _from_members([_held(*file) for file in files], "tar", LoadReport(source.path))


def _held(name: str, content: bytes) -> Member:
    return Member(name, lambda: content, lambda: content)


def _from_folder(folder: Path, name: str) -> PatientInput:
    def refuse(fault: OSError) -> None:
        raise QueryError(f"read the folder {name}", f"a part of it cannot be listed ({fault})", "Mend its permissions.")

    report = LoadReport(name)
    members: list[Member] = []
    hidden = 0
    for place, folders, files in os.walk(folder, onerror=refuse):
        folders.sort()  # the order of the notes must not depend on that of the disk
        linked = {f for f in folders if Path(place, f).is_symlink()}
        for file in sorted([*files, *linked]):
            full = Path(place, file)
            inside = full.relative_to(folder).as_posix()
            if any(part.startswith(".") or part == "__MACOSX" for part in inside.split("/")):
                hidden += file not in linked
            elif file in linked:
                message = f"{_printable(inside)} is a link to a folder; it is not followed"
                report.note("linked-folder", message, where=_printable(inside))
            elif os.path.exists(full) and not os.path.isfile(full):
                _note_other(inside, "is no regular file", report)
            else:
                members.append(_file_member(inside, full))
    _note_hidden(hidden, report)
    return _from_members(members, "folder", report)


def _file_member(name: str, path: Path) -> Member:
    def read() -> bytes:
        try:
            return read_source(path).content()
        except OSError as fault:
            if isinstance(fault, SmaError):
                raise
            raise QueryError(
                f"read {_printable(str(path))}", str(fault), "Mend its permissions, or leave it out."
            ) from fault

    return Member(name, lambda: peek(path), read)


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
    report = LoadReport(source.path)
    with archive:
        wanted = set(archive_members(archive))
        files = [info for info in archive.infolist() if not info.is_dir()]
        readers = {info: reader(archive, info) for info in files if info.filename in wanted}
        _note_hidden(len(files) - len(readers), report)
        members = [Member(info.filename, _quietly(read), read) for info, read in readers.items()]
        if len(members) == 1:
            try:
                alone = patients_from_content(members[0].read(), source.path)
            except SmaError as error:
                return PatientInput([BadRecord(None, members[0].name, error)], source.raw_sha256, "zip", tuple(report))
            if alone.form == "jsonl":
                return replace(alone, notes=(*report, *alone.notes))
        return _from_members(members, "zip", report)


def _quietly(read: Callable[[], bytes]) -> Callable[[], bytes]:
    def head() -> bytes:
        try:
            return read()
        except SmaError:
            return b""

    return head


def _from_members(members: list[Member], form: str, report: LoadReport) -> PatientInput:
    digest = hashlib.sha256()
    records: list[PatientLine] = []
    for member in sorted(members, key=lambda member: member.name):
        if not (_RECORD_NAME.search(member.name) or may_hold_records(member.head())):
            _note_other(member.name, "holds no record of a patient", report)
            continue
        content, found = _read_member(member)
        encoded = os.fsencode(member.name)
        # Lengths keep apart inputs whose paths and contents run together to the same bytes.
        digest.update(b"%d %d\n" % (len(encoded), len(content)) + encoded + content)
        records.extend(found)
    if not records:
        seen = "".join(f" ({entry.message})" for entry in report.entries[:3])
        raise QueryError(
            f"read patients from the {form} {report.path}",
            f"none of its {len(members)} files holds a record of a patient{seen}",
            "Give a folder or archive of phenopackets (.json, .yaml, .yml) or of JSON lines (.jsonl).",
        )
    return PatientInput(records, digest.hexdigest(), form, tuple(report))


def _read_member(member: Member) -> tuple[bytes, list[PatientLine]]:
    name = _printable(member.name)
    try:
        content = member.read()
    except SmaError as error:
        return b"", [BadRecord(None, name, error)]
    return content, patients_from_member(content, name)


def _note_hidden(count: int, report: LoadReport) -> None:
    if count:
        many = "1 hidden file is" if count == 1 else f"{count} hidden files are"
        report.note("hidden", f"{many} passed over")


def _note_other(name: str, why: str, report: LoadReport) -> None:
    report.note("other-file", f"{_printable(name)} {why}; it is passed over", where=_printable(name))


def _printable(name: str) -> str:
    """The name of a file as text that can be written, also where its bytes are no text."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
