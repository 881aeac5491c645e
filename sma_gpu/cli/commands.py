"""The commands: each takes the parsed arguments, writes one answer, and returns an exit code."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..answers import Engine, open_engine
from ..answers.batch import line_text
from ..answers.doctor import doctor_report, doctor_text
from ..answers.formats import TableForm, places, text_form, write_table_forms
from ..answers.navigator import layers
from ..answers.own_index import any_ontology
from ..answers.pheval import pheval_text
from ..answers.sighted import account_for
from ..answers.text import terms_text
from ..answers.tsv import head_of
from ..answers.where import parse_condition
from ..errors import DialError, QueryError
from ..ontologies.domains import Domain, term_name
from ..ontologies.records.sightings import Sightings
from ..ontologies.records.sightings_reading import read_sightings
from ..ontologies.report import LoadReport
from ..ontologies.search import by_exact_name, search
from ..ontologies.source import decode_lines, read_source
from ..scoring import Dials
from .ranking import engine_options, reruns_of

__all__ = ["among_of", "compare", "dials_of", "doctor", "engine_of", "explain", "give", "query", "terms"]

TERMS_SCHEMA = "sma-gpu/terms/1"


def query(arguments: argparse.Namespace) -> int:
    """Ranks all records, or some of them, for one query."""
    if not arguments.like:
        _need_ids(arguments)
    elif arguments.ids or arguments.exclude or arguments.source:
        raise QueryError(
            f"--like {arguments.like} and terms", "either makes a query", "Give a record or terms, not both."
        )
    targets = _targets(arguments)
    among = among_of(arguments)
    engine, steady = engine_of(arguments), reruns_of(arguments)
    if arguments.like:
        answer = engine.like(arguments.like, k=arguments.k, among=among, where=arguments.where, **steady)
    else:
        observed, excluded, seen = _asked(arguments, engine)
        answer = engine.query(observed, excluded, k=arguments.k, among=among, where=arguments.where, **steady)
        if seen is not None:
            account_for(answer, seen, strict=engine.strict)
    return _give_answer(arguments, answer, engine, targets)


def explain(arguments: argparse.Namespace) -> int:
    """Explains one record, wherever it ranks."""
    _need_ids(arguments)
    targets = _targets(arguments)
    among = among_of(arguments)
    engine = engine_of(arguments)
    observed, excluded, seen = _asked(arguments, engine)
    steady = reruns_of(arguments)
    answer = engine.explain(arguments.key, observed, excluded, among=among, where=arguments.where, **steady)
    if seen is not None:
        account_for(answer, seen, strict=engine.strict)
    return _give_answer(arguments, answer, engine, targets)


def compare(arguments: argparse.Namespace) -> int:
    """Compares two records."""
    engine = engine_of(arguments)
    found = engine.compare(arguments.first, arguments.second)
    give(arguments, found, lambda: (engine.page if arguments.format == "html" else engine.text)(found))
    return 0


def terms(arguments: argparse.Namespace) -> int:
    """Searches names and synonyms."""
    manifest, mounted = any_ontology(
        arguments.domain, release=arguments.release, strict=arguments.strict_input, language=arguments.language
    )
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
    give(arguments, found, lambda: terms_text(found))
    return 0


def doctor(arguments: argparse.Namespace) -> int:
    """Says what is installed, found and in use."""
    report = doctor_report(arguments.folder)
    give(arguments, report, lambda: doctor_text(report))
    return 0


def engine_of(arguments: argparse.Namespace) -> Engine:
    """Returns the engine that the arguments name; faults of the files beside its records are told at once."""
    for condition in getattr(arguments, "where", ()):
        parse_condition(condition)  # what is none is refused before any file is read
    engine = open_engine(
        arguments.domain,
        dials_of(arguments.dials),
        backend=arguments.backend,
        device=arguments.device,
        release=arguments.release,
        kind=arguments.kind,
        strict=arguments.strict_input,
        language=arguments.language,
        **engine_options(arguments),
    )
    for report in engine.beside:
        for fault in report.faults:
            print(f"sma-gpu: {fault}", file=sys.stderr)
    return engine


def dials_of(text: str | None) -> Dials | None:
    """Returns the dials that ``--dials`` gives; None for those of the domain, or of a saved index."""
    if text is None or text == "default":
        return None
    if text == "ic":
        return Dials()
    if text == "evidence":
        return Dials.evidence()
    if text == "adapter-v1":
        return Dials.adapter_v1()
    values = _json_of(text)
    if not isinstance(values, dict):  # no file is called like an object
        try:
            values = _json_of(Path(text).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            values = None
    if isinstance(values, dict) and isinstance(values.get("dials"), dict):  # as evaluate --tune writes them
        values = values["dials"]
    if not isinstance(values, dict):
        raise DialError(
            f"--dials {text}",
            "neither a name nor a JSON object nor a file with one",
            'Give default, ic, evidence, adapter-v1, like {"rho": 0.9}, or a file that holds that.',
        )
    return Dials.from_mapping(values)


def among_of(arguments: argparse.Namespace) -> list[str] | None:
    """Returns the keys in the file of ``--among``; None where none is named."""
    return _keys_in(arguments.among) if arguments.among else None


def _keys_in(path: str) -> list[str]:
    """Returns the keys in a file, one a line; blank lines and what follows # are left out."""
    lines = decode_lines(read_source(path).content(), LoadReport(path))
    keys = [line.split("#")[0].strip() for line in lines]
    found = list(dict.fromkeys(key for key in keys if key))
    if not found:
        raise QueryError(f"--among {path}", "the file names no record", "Give one key a line.")
    return found


def _need_ids(arguments: argparse.Namespace) -> None:
    if not arguments.ids and not arguments.exclude and not arguments.source:
        raise QueryError("a query", "no term was given", "Give one term id or more; sma-gpu terms finds them.")


def _asked(arguments: argparse.Namespace, engine: Engine) -> tuple[list[str], list[str], Sightings | None]:
    """Returns the ids that are present and those that are absent, and what the file says that some of them are from."""
    observed, excluded = _ids(arguments, engine.domain)
    if not arguments.source:
        return observed, excluded, None
    source = sys.stdin.buffer if arguments.source == "-" else arguments.source
    domain = engine.domain
    seen = read_sightings(source, domain.mounted.ontology, domain.manifest)
    return [*observed, *(term for term in seen.ids if term not in observed)], excluded, seen


def _ids(arguments: argparse.Namespace, domain: Domain) -> tuple[list[str], list[str]]:
    if not arguments.names:
        return arguments.ids, arguments.exclude
    return [_id_of(n, domain) for n in arguments.ids], [_id_of(n, domain) for n in arguments.exclude]


def _id_of(name: str, domain: Domain) -> str:
    ontology = domain.mounted.ontology
    found = [match for match in by_exact_name(ontology, name) if not domain.manifest.is_aside(match.id)]
    if len(found) == 1:
        return found[0].id
    if found:
        candidates = ", ".join(f"{m.id} {m.name}" for m in found)
        raise QueryError(f"the name {name!r}", f"several terms have it: {candidates}", "Give the id you mean.")
    near = search(ontology, name, 3).matches
    hint = f"Names that contain it: {', '.join(f'{m.name} ({m.id})' for m in near)}." if near else ""
    raise QueryError(
        f"the name {name!r}",
        f"no term of {ontology.label} has this name or synonym",
        f"{hint} sma-gpu terms searches parts of names.".strip(),
    )


def _json_of(text: str) -> object:
    """Returns what a text says as JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _targets(arguments: argparse.Namespace) -> dict[str, Path | None]:
    """Returns where each form of the answer goes; a folder that is not there is refused before any work is done."""
    targets = places(arguments.format, arguments.output)
    if "pheval" in targets and arguments.stability:
        raise QueryError("-f pheval and --stability", "its tables have no columns for it", "Ask for one of the two.")
    for place in targets.values():
        if place is not None and not place.parent.is_dir():
            raise QueryError(f"write {place}", f"there is no folder {place.parent}", "Make it, or name another place.")
    return targets


def _give_answer(
    arguments: argparse.Namespace, answer: dict[str, Any], engine: Engine, targets: Mapping[str, Path | None]
) -> int:
    """Writes an answer in each form, to the place of that form."""
    manifest = engine.domain.manifest
    head = head_of(answer, k=getattr(arguments, "k", None))
    table = TableForm(head, manifest.entity, manifest.facet_name, manifest.title, manifest.notice)
    for form, place in targets.items():
        if place is not None and form in ("tsv", "parquet"):
            write_table_forms([answer], {form: place}, table)
            continue
        if form == "json":
            text = line_text(answer, indent=1) + "\n"
        elif form == "jsonl":
            text = line_text(answer) + "\n"
        elif form == "tsv":
            begin, render = text_form(form, table)
            text = begin + render(answer)
        elif form == "pheval":
            text = pheval_text(answer)
        elif form == "html":
            text = engine.page(answer)
        elif form == "navigator":
            text = json.dumps(layers(answer, manifest.entity), indent=1) + "\n"
        else:
            text = engine.text(answer)
        _put(text, place)
    return 1 if answer["abstained"] and arguments.fail_on_abstain else 0


def give(arguments: argparse.Namespace, found: dict[str, Any], as_text: Callable[[], str]) -> None:
    """Writes what was found as text or as JSON, to standard output or into the file that was named."""
    text = line_text(found, indent=1) + "\n" if arguments.format == "json" else as_text()
    _put(text, Path(arguments.output) if arguments.output else None)


def _put(text: str, place: Path | None) -> None:
    if place is None:
        sys.stdout.write(text)
    else:
        place.write_text(text, encoding="utf-8", errors="backslashreplace")
