"""What the commands on solved cases share: how these are read, held out, and calibrated by."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..answers import Engine
from ..answers.calibrating import calibrate, overlaps
from ..answers.own_index_making import put_text
from ..answers.restriction import Restriction
from ..answers.solved import SolvedCases, solve
from ..errors import QueryError
from ..ontologies.records.patients import read_patients
from ..trust.calibration import Calibration
from ..trust.calibration_parts import METHODS
from .commands import among_of, engine_of

__all__ = [
    "SOLVED", "add_folds", "add_method", "calibrated_by", "checked_places", "left_out_of", "open_solved", "save",
]  # fmt: skip

SOLVED = (
    'JSONL with {"id","observed","excluded","gold"} a line, gold a list of keys (empty: known to be none of them), or '
    "phenopackets with diseases (file, folder, zip), or -"
)
_AS_MUCH_WORK = 4  # looking for a truth as far down as it stands, to one top k


def add_folds(parser: argparse.ArgumentParser) -> None:
    """Adds the options on how cases are drawn and held out."""
    parser.add_argument(
        "--folds", type=int, default=5, metavar="N", help="folds that cases are held out in (default: 5)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="what folds and intervals are drawn from (default: 0)"
    )


def add_method(parser: argparse.ArgumentParser) -> None:
    """Adds the options on how a calibration is made."""
    parser.add_argument(
        "--method",
        choices=METHODS,
        default=METHODS[0],
        help="logistic, or isotonic, which takes nothing for granted and needs more cases (default: logistic)",
    )
    parser.add_argument(
        "--leave-out-overlap",
        action="store_true",
        help="leave out solved cases that the index was made of, and count them, instead of refusing to calibrate",
    )


def open_solved(arguments: argparse.Namespace) -> tuple[Engine, SolvedCases, Restriction | None]:
    """Returns the engine, the solved cases and what hits are sought among; remarks on the cases are told at once."""
    given = read_patients(arguments.input, stdin=getattr(sys.stdin, "buffer", None))  # refused before the engine opens
    among = among_of(arguments)
    engine = engine_of(arguments)
    some = engine.restrict(among, arguments.where)
    solved = solve(engine, given, arguments.input, some)
    for entry in given.notes:
        print(f"sma-gpu: {entry}", file=sys.stderr)
    for one in solved.unusable:
        if one.kind == "unreadable":
            print(f"sma-gpu: {one.id or one.where} is left out: {one.why}", file=sys.stderr)
    return engine.for_batch(_AS_MUCH_WORK * len(solved)), solved, some


def checked_places(*places: str | None) -> None:
    """Refuses a file in a folder that is not there, before any work is done.

    Raises:
        QueryError: there is no such folder.
    """
    for place in places:
        if place and not Path(place).parent.is_dir():
            found = f"there is no folder {Path(place).parent}"
            raise QueryError(f"write {place}", found, "Make it, or name another place.")


def calibrated_by(arguments: argparse.Namespace, engine: Engine, solved: SolvedCases) -> Calibration:
    """Returns the calibration that solved cases give, with a bar of progress."""
    from tqdm import tqdm  # here, since it would add a twentieth of a second to every other command

    with tqdm(unit="query", file=sys.stderr, desc="calibrate") as bar:
        return calibrate(
            engine,
            solved,
            method=arguments.method,
            folds=arguments.folds,
            seed=arguments.seed,
            leave_out_overlap=arguments.leave_out_overlap,
            progress=bar.update,
        )


def left_out_of(arguments: argparse.Namespace, engine: Engine, solved: SolvedCases) -> dict[str, int]:
    """Returns how many solved cases took no part in a calibration, by reason."""
    found = overlaps(engine, solved) if arguments.leave_out_overlap else ()
    gone = {one.id for one in found}
    unasked = sum(engine.why_abstain(c.query, None) is not None for c in solved.cases if c.id not in gone)
    counts = {"they overlap the index": len(found), "they have no usable term": unasked}
    return {**counts, **{f"their gold is {kind}": count for kind, count in solved.reasons.items()}}


def save(calibration: Calibration, place: str) -> None:
    """Writes a calibration into a file of its own, whole or not at all."""
    put_text(Path(place), calibration.to_json() + "\n")
