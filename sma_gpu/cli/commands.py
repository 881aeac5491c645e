"""The commands: each takes the parsed arguments, writes one answer, and returns an exit code."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..answers import Engine, open_engine
from ..answers.batch import check_place, line_text, write_batch, write_lines
from ..answers.doctor import doctor_report, doctor_text
from ..answers.text import comparison_text, query_text, terms_text
from ..errors import DialError, QueryError
from ..ontologies.domains import domain_ontology, term_name
from ..ontologies.mount import Mounted
from ..ontologies.records.patients import read_patients
from ..ontologies.report import LoadReport
from ..ontologies.search import by_exact_name, search
from ..ontologies.source import decode_lines, read_source
from ..scoring import Dials

__all__ = ["batch", "compare", "doctor", "explain", "query", "terms"]

TERMS_SCHEMA = "sma-gpu/terms/1"


def query(arguments: argparse.Namespace) -> int:
    """Ranks all records, or some of them, for one query."""
    if not arguments.like:
        _need_ids(arguments)
    elif arguments.ids or arguments.exclude:
        raise QueryError(
            f"--like {arguments.like} and terms", "either makes a query", "Give a record or terms, not both."
        )
    among = _keys_in(arguments.among) if arguments.among else None
    engine = _engine(arguments)
    if arguments.like:
        answer = engine.like(arguments.like, k=arguments.k, among=among)
    else:
        observed, excluded = _ids(arguments, engine.domain.mounted)
        answer = engine.query(observed, excluded, k=arguments.k, among=among)
    return _give_answer(arguments, answer, engine)


def explain(arguments: argparse.Namespace) -> int:
    """Explains one record, wherever it ranks."""
    _need_ids(arguments)
    engine = _engine(arguments)
    observed, excluded = _ids(arguments, engine.domain.mounted)
    answer = engine.explain(arguments.key, observed, excluded)
    return _give_answer(arguments, answer, engine)


def batch(arguments: argparse.Namespace) -> int:
    """Answers many queries, a line each."""
    from tqdm import tqdm  # here, since it would add a twentieth of a second to every other command

    out = Path(arguments.output) if arguments.output else None
    if out:
        check_place(out, arguments.input)
    given = read_patients(arguments.input, stdin=getattr(sys.stdin, "buffer", None))
    for entry in given.notes:
        print(f"sma-gpu: {entry}", file=sys.stderr)
    engine = _engine(arguments)
    pause_s = 0.1 if sys.stderr.isatty() else 10  # a log file wants a line now and then, not a moving bar
    with tqdm(total=len(given.records), unit="query", file=sys.stderr, desc="batch", mininterval=pause_s) as bar:
        if out:
            outcome = write_batch(engine, given, arguments.k, out, overwrite=arguments.overwrite, progress=bar.update)
            failed, abstained = outcome.failed, outcome.abstained
        else:
            failed, abstained = write_lines(engine, given.records, arguments.k, sys.stdout, bar.update)
    summary = f"{len(given.records)} records: {abstained} abstained, {failed} failed"
    print(f"sma-gpu: {summary}", file=sys.stderr)
    if failed:
        return 4
    return 1 if abstained and arguments.fail_on_abstain else 0


def compare(arguments: argparse.Namespace) -> int:
    """Compares two records."""
    engine = _engine(arguments)
    found = engine.compare(arguments.first, arguments.second)
    _give(arguments, found, lambda: comparison_text(found, engine.domain.manifest.entity))
    return 0


def terms(arguments: argparse.Namespace) -> int:
    """Searches names and synonyms."""
    manifest, mounted = domain_ontology(arguments.domain, release=arguments.release, strict=arguments.strict_input)
    ontology = mounted.ontology
    result = search(ontology, arguments.text, arguments.k)
    shown = {m.id: term_name(manifest, ontology, ontology.number[m.id]) for m in result.matches}
    found = {
        "schema": TERMS_SCHEMA,
        "ontology": ontology.label,
        "text": arguments.text,
        "total": result.total,
        "matches": [
            {
                "id": m.id,
                "name": shown[m.id],
                "matched": shown[m.id] if m.scope == "NAME" else m.matched,
                "scope": m.scope,
            }
            for m in result.matches
        ],
    }
    _give(arguments, found, lambda: terms_text(found))
    return 0


def doctor(arguments: argparse.Namespace) -> int:
    """Says what is installed, found and in use."""
    report = doctor_report(arguments.folder)
    _give(arguments, report, lambda: doctor_text(report))
    return 0


def _engine(arguments: argparse.Namespace) -> Engine:
    return open_engine(
        arguments.domain,
        _dials(arguments.dials),
        backend=arguments.backend,
        device=arguments.device,
        release=arguments.release,
        strict=arguments.strict_input,
    )


def _dials(text: str) -> Dials:
    if text == "default":
        return Dials()
    if text == "adapter-v1":
        return Dials.adapter_v1()
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise DialError(
            f"--dials {text}", "neither a name nor a JSON object", 'Give default, adapter-v1, or like {"rho": 0.9}.'
        )
    return Dials.from_mapping(values)


def _keys_in(path: str) -> list[str]:
    """Returns the keys in a file, one a line; blank lines and what follows # are left out."""
    lines = decode_lines(read_source(path).content(), LoadReport(path))
    keys = [line.split("#")[0].strip() for line in lines]
    found = list(dict.fromkeys(key for key in keys if key))
    if not found:
        raise QueryError(f"--among {path}", "the file names no record", "Give one key a line.")
    return found


def _need_ids(arguments: argparse.Namespace) -> None:
    if not arguments.ids and not arguments.exclude:
        raise QueryError("a query", "no term was given", "Give one term id or more; sma-gpu terms finds them.")


def _ids(arguments: argparse.Namespace, mounted: Mounted) -> tuple[list[str], list[str]]:
    if not arguments.names:
        return arguments.ids, arguments.exclude
    return [_id_of(n, mounted) for n in arguments.ids], [_id_of(n, mounted) for n in arguments.exclude]


def _id_of(name: str, mounted: Mounted) -> str:
    found = by_exact_name(mounted.ontology, name)
    if len(found) == 1:
        return found[0].id
    if found:
        candidates = ", ".join(f"{m.id} {m.name}" for m in found)
        raise QueryError(f"the name {name!r}", f"several terms have it: {candidates}", "Give the id you mean.")
    near = search(mounted.ontology, name, 3).matches
    hint = f"Names that contain it: {', '.join(f'{m.name} ({m.id})' for m in near)}." if near else ""
    raise QueryError(
        f"the name {name!r}",
        f"no term of {mounted.ontology.label} has this name or synonym",
        f"{hint} sma-gpu terms searches parts of names.".strip(),
    )


def _give_answer(arguments: argparse.Namespace, answer: dict[str, Any], engine: Engine) -> int:
    _give(arguments, answer, lambda: query_text(answer, engine.domain.manifest.entity))
    return 1 if answer["abstained"] and arguments.fail_on_abstain else 0


def _give(arguments: argparse.Namespace, found: dict[str, Any], as_text: Callable[[], str]) -> None:
    text = line_text(found, indent=1) + "\n" if arguments.format == "json" else as_text()
    if arguments.output:
        Path(arguments.output).write_text(text, encoding="utf-8", errors="backslashreplace")
    else:
        sys.stdout.write(text)
