"""The command ``calibrate``: confidence that means something, learned from solved cases."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..answers.batch import line_text
from ..answers.calibration_text import calibration_text
from ..answers.own_index import is_own_index
from ..answers.own_index_making import save_calibration
from ..answers.pages.solved import calibration_page
from ..errors import QueryError
from .solved import SOLVED, add_folds, add_method, calibrated_by, checked_places, open_solved, save

__all__ = ["register"]


def register(verbs: Any, add_engine: Callable[[argparse.ArgumentParser], None], place: Callable[[str], str]) -> None:
    """Adds the command to those of the command line.

    Args:
        verbs: where the parsers of commands are made.
        add_engine: adds the options on what is asked and how to a parser.
        place: turns a word of the command line into a path.
    """
    parser = verbs.add_parser("calibrate", help="calibrate confidence and novelty by your own solved cases")
    parser.add_argument("domain", metavar="DOMAIN|DIR", help="an index of your own, or a ready domain")
    parser.add_argument("input", metavar="SPLIT", type=place, help=SOLVED)
    add_method(parser)
    add_folds(parser)
    parser.add_argument("--mappings", default="auto", metavar="FILE", help="as of query: twins are hidden together")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="same as -f json")
    parser.add_argument(
        "-f", "--format", choices=("text", "json", "html"), default="text", help="form of what is said of it"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=place,
        help="write the calibration here (default: into DIR, as a part of it)",
    )
    add_engine(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Calibrates, and says how well it held."""
    place = arguments.output
    if place is None and not is_own_index(arguments.domain):
        found = "only an index of your own is saved with its calibration"
        raise QueryError(f"calibrate {arguments.domain}", found, "Name a file for it with -o.")
    checked_places(arguments, place)
    arguments.among, arguments.where = None, []
    engine, solved, _ = open_solved(arguments)
    calibration, left_out = calibrated_by(arguments, engine, solved)
    if place is None:
        save_calibration(Path(arguments.domain), calibration)
    else:
        save(calibration, place)
    if arguments.format == "json":
        sys.stdout.write(line_text(calibration.as_dict(), indent=1) + "\n")
    elif arguments.format == "html":
        sys.stdout.write(calibration_page(calibration, engine.domain.manifest.entity, left_out))
    else:
        sys.stdout.write(calibration_text(calibration, engine.domain.manifest.entity, left_out))
        sys.stdout.write(f"Written to {place}\n" if place else f"Saved with the index in {arguments.domain}\n")
    return 4 if solved.failed else 0
