"""What the commands on solved cases share: how these are read, held out, and calibrated by."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..answers import Engine
from ..answers.batch import replaces
from ..answers.calibrating import Split, calibrate, split_of
from ..answers.own_index_making import put_text
from ..answers.restriction import Restriction
from ..answers.solved import SolvedCases, solve
from ..errors import QueryError
from ..ontologies.records.patients import read_patients
from ..trust.asking import FurtherSignals
from ..trust.calibration import Calibration
from ..trust.calibration_parts import METHODS
from ..trust.fitting import check_groups
from .commands import among_of, engine_of
from .ranking import whole_number

__all__ = [
    "SOLVED", "add_folds", "add_method", "calibrated_by", "check_split", "checked_places",
    "open_solved", "save",
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
        "--seed",
        type=whole_number,
        default=0,
        metavar="S",
        help="what folds, intervals and reruns are drawn from (default: 0)",
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
    parser.add_argument(
        "--stability",
        type=whole_number,
        default=0,
        metavar="N",
        help="also learn from N reruns of each case with one term changed, which every answer under the calibration "
        "then makes too (default: 0, none)",
    )
    parser.add_argument(
        "--separability",
        action="store_true",
        help="also learn from which hits change places without one of the terms; reruns say this too",
    )
    parser.add_argument(
        "--generalisations",
        action="store_true",
        help="also learn from how well generalisations of the records explain a case; they are made again wherever the "
        "calibration is used",
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


def checked_places(arguments: argparse.Namespace, *places: str | None) -> None:
    """Refuses files that cannot be written, or would replace what is read or each other, before any work is done.

    Raises:
        QueryError: a place is a folder, in none, that of something read, or named twice.
    """
    options = ("input", "among", "mappings", "calibration", "dials")
    read = [word for word in (getattr(arguments, option, None) for option in options) if isinstance(word, str)]
    written: list[Path] = []
    for place in filter(None, places):
        path, found = Path(place), ""
        if not path.parent.is_dir():
            found = f"there is no folder {path.parent}"
        elif path.is_dir():
            found = "that is a folder"
        elif any(replaces(path, word) for word in read):
            found = "that would replace what is read"
        elif Path(arguments.input).resolve() in path.resolve().parents:
            found = f"that lies in the folder {arguments.input}, whose files are the input"
        elif path.resolve() in written:
            found = "that is named for two things"
        if found:
            raise QueryError(f"write {place}", found, "Name the path of a new file.")
        written.append(path.resolve())


def _further(arguments: argparse.Namespace) -> FurtherSignals:
    """Returns the signals that a calibration is to take beside those that come with the hits."""
    runs = arguments.stability
    return FurtherSignals(arguments.separability or runs > 0, runs, arguments.seed, arguments.generalisations)


def calibrated_by(
    arguments: argparse.Namespace, engine: Engine, solved: SolvedCases
) -> tuple[Calibration, dict[str, int]]:
    """Returns the calibration that solved cases give, with a bar of progress, and how many took no part, by reason."""
    from tqdm import tqdm  # here, since it would add a twentieth of a second to every other command

    split = check_split(arguments, engine, solved)
    with tqdm(total=2 * len(split.cases), unit="query", file=sys.stderr, desc="calibrate") as bar:
        calibration = calibrate(
            engine,
            solved,
            method=arguments.method,
            folds=arguments.folds,
            seed=arguments.seed,
            leave_out_overlap=arguments.leave_out_overlap,
            further=_further(arguments),
            progress=bar.update,
        )
    return calibration, split.left_out


def check_split(arguments: argparse.Namespace, engine: Engine, solved: SolvedCases) -> Split:
    """Returns what a calibration is to be learned from, if it can be, before any other work is done.

    Raises:
        CalibrationError: see ``calibrate``.
    """
    split = split_of(engine, solved, leave_out_overlap=arguments.leave_out_overlap)
    check_groups(split.groups, method=arguments.method, folds=arguments.folds, seed=arguments.seed)
    return split


def save(calibration: Calibration, place: str) -> None:
    """Writes a calibration into a file of its own, whole or not at all."""
    put_text(Path(place), calibration.to_json() + "\n")
