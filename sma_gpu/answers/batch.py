"""Batches: one answer a line, written as they come, resumed where they stopped.

Beside ``OUT`` lies ``OUT.run.json``, which says what the lines were made from. A later run goes on only when dials,
ontology, records, input and k are still the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ArtifactError, FingerprintMismatch, QueryError, SmaError
from ..ontologies.records.patients import BadRecord, PatientInput, PatientRecord
from ..version import __version__
from .answer import ANSWER_SCHEMA
from .engine import Engine

__all__ = ["BatchOutcome", "answer_line", "answer_lines", "check_place", "line_text", "run_fingerprints", "write_batch"]

RUN_SCHEMA = "sma-gpu/run/1"


@dataclass(frozen=True)
class BatchOutcome:
    """What became of a batch: lines in all, of which failed and abstained, and how many an earlier run had done."""

    records: int
    failed: int
    abstained: int
    resumed: int


def answer_line(engine: Engine, record: PatientRecord | BadRecord, k: int) -> dict[str, Any]:
    """Returns the answer to one record, or ``{"id", "error": {"asked", "found", "do"}}`` for one that failed."""
    if isinstance(record, BadRecord):
        return {"id": record.id, "error": record.error.as_dict()}
    try:
        answer = engine.query(record.observed, record.excluded, k=k, query_id=record.id)
    except SmaError as error:
        return {"id": record.id, "error": error.as_dict()}
    answer["notes"] = [*(entry.message for entry in record.notes), *answer["notes"]]
    return answer


def answer_lines(engine: Engine, given: PatientInput, k: int, start: int = 0) -> Iterator[str]:
    """Yields one JSON text a record, from record number ``start`` on."""
    for record in given.records[start:]:
        yield line_text(answer_line(engine, record, k))


def line_text(line: dict[str, Any], *, indent: int | None = None) -> str:
    """Returns an object as JSON: compact on one line, or indented."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(line, ensure_ascii=False, separators=separators, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair can be written as an escape alone
        return json.dumps(line, separators=separators, indent=indent)
    return text


def check_place(out: Path, given: str) -> None:
    """Refuses to write a batch over its own input or where no regular file can stand, before any work is done.

    Raises:
        QueryError: ``out`` is the input, a folder or a special file, or its folder is not there.
    """
    found = ""
    if out.exists() and not out.is_file():
        found = "that is no regular file"
    elif any(_is_input(path, given) for path in (out, _run_file(out), _part(_run_file(out)))):
        found = "that is the input itself, or the file beside it that says what a batch was made from"
    elif os.path.isdir(given) and Path(given).resolve() in out.resolve().parents:
        found = f"that lies in the folder {given}, whose files are the input"
    elif not out.parent.is_dir():
        found = f"there is no folder {out.parent}"
    if found:
        raise QueryError(f"write the batch to {out}", found, "Give the path of a new file, or of an earlier batch.")


def run_fingerprints(engine: Engine, given: PatientInput, k: int) -> dict[str, Any]:
    """Returns all that the lines of a batch depend on."""
    return {
        "schema": RUN_SCHEMA,
        "answers": ANSWER_SCHEMA,
        "release": __version__,
        "dials": engine.index.dials.fingerprint,
        "ontology": engine.domain.mounted.ontology.sha256,
        "records": engine.domain.records.sha256,
        "input": given.sha256,
        "k": k,
        "strict": engine.strict,
        "backend": engine.backend,
    }


def write_batch(
    engine: Engine,
    given: PatientInput,
    k: int,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> BatchOutcome:
    """Writes the answers to ``out``, going on where an earlier run of the same batch stopped.

    Args:
        engine: the domain to ask.
        given: the records.
        k: most hits wanted for each.
        out: file to write; ``out`` + ``.run.json`` beside it holds the fingerprints.
        overwrite: start anew whatever is there.
        progress: called with the number of records done, after each.

    Raises:
        FingerprintMismatch: the lines there were made from something else; ``field`` names what.
        ArtifactError: ``out`` is there but was not written by a batch.
    """
    wanted = run_fingerprints(engine, given, k)
    run_file = _run_file(out)
    done = 0
    begun = out.exists() and out.stat().st_size > 0 and not overwrite
    if begun:
        _check_run(run_file, wanted, out)
        done = _keep_whole_lines(out, given)
    with out.open("a" if begun else "w", encoding="utf-8") as file:
        if not begun:  # only now: beside lines of an earlier run these fingerprints would be false
            _write_whole(run_file, json.dumps(wanted, indent=1) + "\n")
        for number, line in enumerate(answer_lines(engine, given, k, done), done + 1):
            file.write(line + "\n")
            file.flush()
            progress(number)
    return _count(out, done)


def _run_file(out: Path) -> Path:
    return out.with_name(out.name + ".run.json")


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _is_input(path: Path, given: str) -> bool:
    """Returns whether ``path`` is the file that a batch reads; ``-`` stands for standard input."""
    try:
        source = os.fstat(0) if given == "-" else os.stat(given)
        return os.path.samestat(source, path.stat())
    except OSError:  # one of them is not there
        return False


def _check_run(run_file: Path, wanted: dict[str, Any], out: Path) -> None:
    again = f"Give another -o, or start anew with --overwrite ({out} is then replaced)."
    try:
        found = json.loads(run_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise ArtifactError(
            f"go on with {out}", f"it is there, but {run_file.name}, which says what it was made from, is not", again
        ) from fault
    for field, value in wanted.items():
        if not isinstance(found, dict) or found.get(field) != value:
            have = found.get(field) if isinstance(found, dict) else None
            raise FingerprintMismatch(
                f"go on with {out}", f"{field} was {have!r} when it was begun and is {value!r} now", again, field=field
            )


def _keep_whole_lines(out: Path, given: PatientInput) -> int:
    """Cuts a torn last line off ``out`` and returns the number of whole lines.

    Raises:
        ArtifactError: a whole line is not the answer to the record in its place.
    """
    size = 0
    with out.open("rb") as file:
        for number, line in enumerate(file):
            if not line.endswith(b"\n"):
                os.truncate(out, size)
                return number
            try:
                belongs = number < len(given.records) and json.loads(line)["id"] == given.records[number].id
            except (ValueError, KeyError, TypeError):
                belongs = False
            if not belongs:
                raise ArtifactError(
                    f"go on with {out}",
                    f"line {number + 1} is not the answer to record {number + 1} of the input",
                    "Give another -o, or start anew with --overwrite.",
                )
            size += len(line)
    return number + 1 if size else 0


def _write_whole(path: Path, text: str) -> None:
    part = _part(path)
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _count(out: Path, resumed: int) -> BatchOutcome:
    records = failed = abstained = 0
    with out.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            records += 1
            failed += "error" in row
            abstained += bool(row.get("abstained"))
    return BatchOutcome(records, failed, abstained, resumed)
