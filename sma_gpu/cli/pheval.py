"""A batch as the result tables that PhEval compares: a table for each record, in a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..answers.pheval import write_pheval
from ..errors import QueryError
from .batch_input import inputs_of, open_batch
from .commands import among_of

__all__ = ["pheval_batch"]


def pheval_batch(arguments: argparse.Namespace) -> int:
    """Writes the tables of a batch below the folder that ``-o`` names; it starts anew each time."""
    from tqdm import tqdm  # here, as for any batch

    if len(arguments.format) > 1:
        found = "its tables are many files, in a folder of their own"
        raise QueryError(f"-f {','.join(arguments.format)}", found, "Ask for -f pheval alone.")
    if arguments.compare:
        raise QueryError("-f pheval and --compare", "tables cannot be compared", "Compare lines of JSON.")
    if arguments.stability:
        raise QueryError("-f pheval and --stability", "its tables have no columns for it", "Ask for one of the two.")
    if not arguments.output:
        raise QueryError("-f pheval", "no folder is named for its tables", "Name one with -o.")
    out = Path(arguments.output)
    if out.exists() and not out.is_dir():
        raise QueryError(f"-f pheval into {out}", "that is no folder", "Name a folder with -o.")
    for path in inputs_of(arguments):
        if path != "-" and Path(path).resolve() in (out.resolve(), *out.resolve().parents):
            raise QueryError(f"-f pheval into {out}", "the input lies there", "Name a folder beside it.")
    among = among_of(arguments)
    engine, given = open_batch(arguments)
    some = engine.restrict(among, arguments.where)
    failed = abstained = 0
    lines = write_pheval(engine, given, arguments.k, out, some)
    for line in tqdm(lines, total=len(given.records), unit="query", file=sys.stderr, desc="batch"):
        if "error" in line:
            failed += 1
            error = line["error"]
            print(f"sma-gpu: {line['id']}: {error['asked']}: {error['found']}. {error['do']}", file=sys.stderr)
        else:
            abstained += bool(line["abstained"])
    print(f"sma-gpu: {len(given.records)} records: {abstained} abstained, {failed} failed", file=sys.stderr)
    if failed:
        return 4
    return 1 if abstained and arguments.fail_on_abstain else 0
