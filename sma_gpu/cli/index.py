"""The command ``index``: an ontology and records made into a folder that answers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..answers.own_index_making import write_own
from ..errors import QueryError
from ..ontologies.domains import Domain
from ..ontologies.records.tables import TableColumns
from .commands import dials_of, give

__all__ = ["index", "register"]

_SHOWN = 20  # warnings in the text form
_FIELDS = tuple(field.name for field in fields(TableColumns))
_SEVERAL = ("term_columns", "attributes")


def register(
    verbs: Any,
    add_files: Callable[[argparse.ArgumentParser], None],
    place: Callable[[str], str],
) -> None:
    """Adds the command to those of the command line.

    Args:
        verbs: where the parsers of commands are made.
        add_files: adds the options on how files are read to a parser.
        place: turns a word of the command line into a path.
    """
    parser = verbs.add_parser("index", help="make a folder that answers from an ontology and records of your own")
    parser.add_argument("ontology", metavar="ONTOLOGY", type=place, help="a file in any known format, or a domain")
    parser.add_argument(
        "records", metavar="RECORDS", type=place, help="annotations, or a table (TSV, CSV, JSON lines, Parquet)"
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=place, required=True, help="the folder to make")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="same as -f json")
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text", help="form of what is said of it")
    parser.add_argument(
        "--columns",
        nargs="+",
        action="extend",
        default=[],
        metavar="FIELD=COLUMN",
        help="RECORDS is a table, and these are its columns, up to the next option; the others are told by their "
        f"names. Fields: {', '.join(_FIELDS)}; term_columns and attributes may be repeated. FIELD= without a column "
        "says that there is none",
    )
    parser.add_argument("--entity", default="", metavar="WORD", help="what a record is, such as patient")
    parser.add_argument("--kind", default="", metavar="KIND", help="kind of records, where RECORDS holds several")
    parser.add_argument("--dials", default=None, help="ic, evidence, adapter-v1, or a JSON object of dials")
    add_files(parser)
    parser.set_defaults(run=index)


def index(arguments: argparse.Namespace) -> int:
    """Makes an index, and says what is in it."""
    told, domain = write_own(
        arguments.ontology,
        arguments.records,
        Path(arguments.output),
        dials_of(arguments.dials),
        columns=_columns(arguments.columns),
        entity=arguments.entity,
        kind=arguments.kind,
        release=arguments.release,
        strict=arguments.strict_input,
        language=arguments.language,
    )
    found = {**told, "folder": arguments.output, "warnings": _warnings(domain)}
    arguments.output = None  # the folder was named, not a place for what is said of it
    give(arguments, found, lambda: _text(found))
    return 0


def _columns(words: list[str]) -> dict[str, list[str]]:
    """Returns columns by field, of words such as ``key=case_id``."""
    found: dict[str, list[str]] = {}
    for word in words:
        field, equals, column = word.partition("=")
        if not equals or field not in _FIELDS:
            what = f"{field} is no field" if equals else "it has no ="
            raise QueryError(f"--columns {word}", what, f"Write FIELD=COLUMN with one of {', '.join(_FIELDS)}.")
        columns = found.setdefault(field, [])
        if columns and field not in _SEVERAL:
            raise QueryError(f"--columns {word}", f"{field} was given as {columns[0]} before", "Give one column.")
        columns += [column] if column else []
    return found


def _warnings(domain: Domain) -> list[str]:
    reports = (domain.mounted.ontology.report, domain.records.report)
    return list(dict.fromkeys(str(entry) for report in reports for entry in report.faults))


def _text(found: dict[str, Any]) -> str:
    ontology, records, entity = found["ontology"], found["records"], found["entity"]
    lines = [
        f"{found['folder']}: {records['cases']} {entity}s over {ontology['terms']} terms of "
        f"{' '.join(part for part in (ontology['name'], ontology['version']) if part)}",
    ]
    if records["set_aside"]:
        lines.append(f"{records['set_aside']} more of RECORDS set aside, with no term to match on")
    size = sum(file["bytes"] for file in found["files"].values())
    lines.append(f"{size / 2**20:.1f} MiB, fingerprint {found['fingerprint']}")
    lines += found["warnings"][:_SHOWN]
    if len(found["warnings"]) > _SHOWN:
        lines.append(f"and {len(found['warnings']) - _SHOWN} more warnings; --json lists all")
    return "\n".join([*lines, f"Ask it: sma-gpu query {shlex.quote(found['folder'])} ID ..."]) + "\n"
