"""What a batch reads: records, or under ``--from`` files of what was seen, and the engine that they are put to."""

from __future__ import annotations

import argparse
import sys

from ..answers import Engine
from ..answers.sighted import read_sighted
from ..errors import QueryError
from ..ontologies.records.patients import PatientInput, read_patients
from .commands import engine_of

__all__ = ["inputs_of", "open_batch"]


def inputs_of(arguments: argparse.Namespace) -> list[str]:
    """Returns the files and folders that a batch reads.

    Raises:
        QueryError: none is named, or both records and files of what was seen.
    """
    if (arguments.input is None) == (not arguments.source):
        found = "there are records and --from" if arguments.source else "there is nothing to read"
        raise QueryError("a batch", found, "Give a file of records, or files and folders of what was seen with --from.")
    return list(arguments.source) or [arguments.input]


def open_batch(arguments: argparse.Namespace) -> tuple[Engine, PatientInput]:
    """Returns the engine with the backend for the whole batch, and the records; remarks on them are told at once.

    The backend is that for all records, those of an earlier run included: the lines of a batch come from one backend.
    """
    inputs, stdin = inputs_of(arguments), getattr(sys.stdin, "buffer", None)
    if arguments.source:
        engine = engine_of(arguments)
        given = read_sighted(inputs, engine.domain, stdin=stdin)
    else:
        given = read_patients(inputs[0], stdin=stdin)  # what cannot be read is refused before the engine is opened
        engine = engine_of(arguments)
    for entry in given.notes:
        print(f"sma-gpu: {entry}", file=sys.stderr)
    return engine.for_batch(len(given.records)), given
