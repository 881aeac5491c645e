"""Batches: one answer a line, written as they come, resumed where they stopped.

Queries are ranked in blocks and answered one by one, so each line is what the query alone would get.

Beside ``OUT`` lies ``OUT.run.json``, which says what the lines were made from. A later run goes on only when all of it
is still the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ..cases import EncodedQuery
from ..errors import ArtifactError, FingerprintMismatch, QueryError, SmaError
from ..ontologies.records.patients import BadRecord, PatientInput, PatientRecord
from ..version import __version__
from .answer import ANSWER_SCHEMA
from .engine import Engine
from .restriction import Restriction
from .sighted import SightedRecord, account_for

__all__ = [
    "BatchOutcome", "answer_lines", "check_place", "line_text", "read_lines", "remove_lines", "replaces",
    "run_fingerprints", "write_batch", "write_lines",
]  # fmt: skip

RUN_SCHEMA = "sma-gpu/run/1"

_BLOCK = 256  # records ranked together; changes speed, and how soon a line is written, never an answer

_Asked = Callable[[Sequence[tuple[str | None, EncodedQuery]]], Iterator[dict[str, Any]]]
"""Yields the answer to each query."""


@dataclass(frozen=True)
class BatchOutcome:
    """What became of a batch: lines in all, of which failed and abstained, and how many an earlier run had done."""

    records: int
    failed: int
    abstained: int
    resumed: int


def answer_lines(
    engine: Engine,
    records: Sequence[PatientRecord | BadRecord],
    k: int,
    restriction: Restriction | None = None,
    *,
    stability: int = 0,
    seed: int = 0,
) -> Iterator[dict[str, Any]]:
    """Yields the answer to each record, or ``{"id", "error": {"asked", "found", "do"}}`` for one that failed.

    Args:
        engine: the domain to ask.
        records: what to answer.
        k: most hits wanted for each.
        restriction: the only cases that can be hits; all where it is None.
        stability: distinct reruns of each with one term changed; see ``Engine.query``.
        seed: what these are drawn from.
    """

    def asked(queries: Sequence[tuple[str | None, EncodedQuery]]) -> Iterator[dict[str, Any]]:
        return engine.answers(queries, k, restriction, stability=stability, seed=seed)

    for start in range(0, len(records), _BLOCK):
        yield from _block_lines(engine, records[start : start + _BLOCK], asked)


def _block_lines(
    engine: Engine, records: Sequence[PatientRecord | BadRecord], asked: _Asked
) -> Iterator[dict[str, Any]]:
    encoded = [_encoded(engine, record) for record in records]
    queries = [(r.id, query) for r, query in zip(records, encoded, strict=True) if not isinstance(query, SmaError)]
    answers = _answers(queries, asked)
    for record, query in zip(records, encoded, strict=True):
        line = query if isinstance(query, SmaError) else next(answers)
        if isinstance(line, SmaError):
            yield {"id": record.id, "error": line.as_dict()}
            continue
        assert isinstance(record, PatientRecord)  # a bad one has no query
        line["notes"] = [*(entry.message for entry in record.notes), *line["notes"]]
        if isinstance(record, SightedRecord):
            try:
                account_for(line, record.sightings, strict=engine.strict)
            except SmaError as error:
                line = {"id": record.id, "error": error.as_dict()}
        yield line


def _answers(queries: Sequence[tuple[str | None, EncodedQuery]], asked: _Asked) -> Iterator[dict[str, Any] | SmaError]:
    """Yields the answer to each query, or why it has none."""
    done = 0
    try:
        for answer in asked(queries):
            yield answer
            done += 1
    except SmaError:  # one query of those that are ranked together; each is asked by itself, to find which
        for query in queries[done:]:
            try:
                yield next(asked([query]))
            except SmaError as error:
                yield error


def _encoded(engine: Engine, record: PatientRecord | BadRecord) -> EncodedQuery | SmaError:
    if isinstance(record, BadRecord):
        return record.error
    try:
        return engine.encode(record.observed, record.excluded)
    except SmaError as error:
        return error


def write_lines(
    engine: Engine,
    records: Sequence[PatientRecord | BadRecord],
    k: int,
    file: TextIO,
    progress: Callable[[], object] = lambda: None,
    restriction: Restriction | None = None,
    render: Callable[[dict[str, Any]], str] = lambda line: line_text(line) + "\n",
    *,
    stability: int = 0,
    seed: int = 0,
) -> tuple[int, int]:
    """Writes the answers to ``records``, a line each, and returns how many failed and how many abstained.

    Args:
        engine: the domain to ask.
        records: what to answer.
        k: most hits wanted for each.
        file: where to write; flushed after each line.
        progress: called after each line.
        restriction: the only cases that can be hits; all where it is None.
        render: what is written of each; a line of JSON unless another form is given.
        stability: see ``answer_lines``.
        seed: likewise.
    """
    failed = abstained = 0
    for line in answer_lines(engine, records, k, restriction, stability=stability, seed=seed):
        file.write(render(line))
        file.flush()
        failed, abstained = failed + _failed(line), abstained + _abstained(line)
        progress()
    return failed, abstained


def _failed(line: dict[str, Any]) -> bool:
    return "error" in line


def _abstained(line: dict[str, Any]) -> bool:
    return bool(line.get("abstained"))


def line_text(line: dict[str, Any], *, indent: int | None = None) -> str:
    """Returns an object as JSON: compact on one line, or indented."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(line, ensure_ascii=False, separators=separators, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair can be written as an escape alone
        return json.dumps(line, separators=separators, indent=indent)
    return text


def check_place(out: Path, inputs: Iterable[str]) -> None:
    """Refuses to write a batch over its own input or where no regular file can stand, before any work is done.

    Args:
        out: file to write.
        inputs: files and folders that are read; ``-`` stands for standard input.

    Raises:
        QueryError: ``out`` is the input, a folder or a special file, or its folder is not there.
    """
    found = ""
    if out.exists() and not out.is_file():
        found = "that is no regular file"
    else:
        for given in inputs:
            if replaces(out, given):
                found = "that is the input itself, or a batch there would write over the input"
            elif os.path.isdir(given) and Path(given).resolve() in out.resolve().parents:
                found = f"that lies in the folder {given}, whose files are the input"
        if not found and not out.parent.is_dir():
            found = f"there is no folder {out.parent}"
    if found:
        raise QueryError(f"write the batch to {out}", found, "Give the path of a new file, or of an earlier batch.")


def replaces(out: Path, other: str) -> bool:
    """Returns whether a batch to ``out`` would write over the file ``other``; ``-`` stands for standard input."""
    return any(_is_input(path, other) for path in _written(out))


def run_fingerprints(
    engine: Engine,
    given: PatientInput,
    k: int,
    restriction: Restriction | None = None,
    *,
    stability: int = 0,
    seed: int = 0,
) -> dict[str, Any]:
    """Returns all that the lines of a batch depend on; the seed only where it makes a difference."""
    return {
        "schema": RUN_SCHEMA,
        "answers": ANSWER_SCHEMA,
        "release": __version__,
        "dials": engine.index.dials.fingerprint,
        "ontology": engine.domain.mounted.ontology.sha256,
        "records": engine.domain.records.sha256,
        "entity": engine.domain.manifest.entity,
        "selection": engine.domain.selection,
        "input": given.sha256,
        "k": k,
        "strict": engine.strict,
        "backend": engine.backend,
        **engine.made_with,
        "restriction": None if restriction is None else restriction.fingerprint(engine.index.keys),
        "stability": stability,
        "seed": seed if stability else None,
    }


def write_batch(
    engine: Engine,
    given: PatientInput,
    k: int,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Callable[[], object] = lambda: None,
    restriction: Restriction | None = None,
    stability: int = 0,
    seed: int = 0,
) -> BatchOutcome:
    """Writes the answers to ``out``, going on where an earlier run of the same batch stopped.

    Args:
        engine: the domain to ask.
        given: the records.
        k: most hits wanted for each.
        out: file to write; ``out`` + ``.run.json`` beside it holds the fingerprints.
        overwrite: start anew whatever is there.
        progress: called for each record that is done, those of an earlier run included.
        restriction: the only cases that can be hits; all where it is None.
        stability: see ``answer_lines``.
        seed: likewise.

    Raises:
        FingerprintMismatch: the lines there were made from something else; ``field`` names what.
        ArtifactError: ``out`` is there but was not written by a batch.
    """
    wanted = run_fingerprints(engine, given, k, restriction, stability=stability, seed=seed)
    run_file = _run_file(out)
    done = failed = abstained = 0
    begun = out.exists() and out.stat().st_size > 0 and not overwrite
    if begun:
        _check_run(run_file, wanted, out)
        done, failed, abstained = _keep_whole_lines(out, given)
        for _ in range(done):
            progress()
    with out.open("a" if begun else "w", encoding="utf-8") as file:
        if not begun:  # only now: beside lines of an earlier run these fingerprints would be false
            _write_whole(run_file, json.dumps(wanted, indent=1) + "\n")
        new_failed, new_abstained = write_lines(
            engine, given.records[done:], k, file, progress, restriction, stability=stability, seed=seed
        )
    return BatchOutcome(len(given.records), failed + new_failed, abstained + new_abstained, done)


def read_lines(out: Path) -> Iterator[dict[str, Any]]:
    """Yields what ``write_batch`` wrote to ``out``."""
    with out.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def remove_lines(out: Path) -> None:
    """Removes what ``write_batch`` wrote, once other forms were made of it."""
    out.unlink()
    _run_file(out).unlink(missing_ok=True)


def _run_file(out: Path) -> Path:
    return out.with_name(out.name + ".run.json")


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _written(out: Path) -> tuple[Path, ...]:
    """Returns all files that a batch to ``out`` may write."""
    return (out, _part(out), _run_file(out), _part(_run_file(out)))


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


def _keep_whole_lines(out: Path, given: PatientInput) -> tuple[int, int, int]:
    """Cuts a torn last line off ``out`` and returns how many whole lines stay, how many failed, how many abstained.

    Raises:
        ArtifactError: a whole line is not the answer to the record in its place.
    """
    done = failed = abstained = size = 0
    with out.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                os.truncate(out, size)
                break
            row: dict[str, Any] = {}
            try:
                row = json.loads(line)
                belongs = done < len(given.records) and row["id"] == given.records[done].id
            except (ValueError, KeyError, TypeError):
                belongs = False
            if not belongs:
                raise ArtifactError(
                    f"go on with {out}",
                    f"line {done + 1} is not the answer to record {done + 1} of the input",
                    "Give another -o, or start anew with --overwrite.",
                )
            done, size = done + 1, size + len(line)
            failed, abstained = failed + _failed(row), abstained + _abstained(row)
    return done, failed, abstained


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
