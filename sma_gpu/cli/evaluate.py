"""The command ``evaluate``: where the truth stands for solved cases, and what that comes to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..answers import Engine
from ..answers.batch import line_text
from ..answers.calibration_text import calibration_text
from ..answers.evaluation import evaluate
from ..answers.evaluation_text import evaluation_table, evaluation_text, tuning_text
from ..answers.own_index_making import put_text
from ..answers.pages.solved import evaluation_page
from ..answers.restriction import Restriction
from ..answers.solved import SolvedCases
from ..answers.tuning import METRICS, tune
from ..errors import QueryError, SmaError
from .commands import give
from .solved import (
    SOLVED,
    add_folds,
    add_method,
    calibrated_by,
    check_split,
    checked_places,
    open_solved,
    save,
)

__all__ = ["register"]


def register(verbs: Any, add_engine: Callable[[argparse.ArgumentParser], None], place: Callable[[str], str]) -> None:
    """Adds the command to those of the command line.

    Args:
        verbs: where the parsers of commands are made.
        add_engine: adds the domain, and the options on what is ranked and how, to a parser.
        place: turns a word of the command line into a path.
    """
    parser = verbs.add_parser("evaluate", help="rank of the truth in your own solved cases, and what that comes to")
    add_engine(parser)
    parser.add_argument("input", metavar="INPUT", type=place, help=SOLVED)
    parser.add_argument(
        "--tune",
        metavar="OUT",
        type=place,
        help="also choose dials by these cases, judged on held-out folds, and write them here, for --dials OUT",
    )
    parser.add_argument("--metric", choices=METRICS, default=METRICS[0], help="what --tune is to raise (default: mrr)")
    parser.add_argument(
        "--calibrate",
        metavar="OUT",
        type=place,
        help="also calibrate confidence and novelty by these cases, and write that here, for --calibration OUT",
    )
    add_method(parser)
    add_folds(parser)
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="same as -f json")
    parser.add_argument(
        "-f",
        "--format",
        choices=("text", "json", "tsv", "html"),
        default="text",
        help="form; tsv has a row for each case, html is one page",
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=place, help="write here instead of standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Evaluates an engine on solved cases."""
    from tqdm import tqdm  # here, since it would add a twentieth of a second to every other command

    checked_places(arguments, arguments.output, arguments.tune, arguments.calibrate)
    how = arguments.leave_out_overlap, arguments.stability, arguments.separability, arguments.generalisations
    if any(how) and not arguments.calibrate:
        asked = "evaluate with --leave-out-overlap, --stability, --separability or --generalisations"
        raise QueryError(asked, "they say how to calibrate", "Add --calibrate OUT, or leave them out.")
    engine, solved, some = open_solved(arguments)
    if arguments.calibrate and some is not None:
        do = "Leave out --among, --where and --inheritance, or --calibrate."
        raise QueryError("calibrate on some of the records", "answers of all of them would be called as sure", do)
    if arguments.calibrate:
        check_split(arguments, engine, solved)
    known = sum(not case.is_new for case in solved.cases)
    pause_s = 0.1 if sys.stderr.isatty() else 10
    with tqdm(total=known, unit="case", file=sys.stderr, desc="evaluate", mininterval=pause_s) as bar:
        found = evaluate(engine, solved, some, seed=arguments.seed, progress=bar.update)
    more: list[str] = []
    try:
        if arguments.calibrate:
            calibration, left_out = calibrated_by(arguments, engine, solved)
            save(calibration, arguments.calibrate)
            more.append(calibration_text(calibration, engine.domain.manifest.entity, left_out))
        tuned = _tuned(arguments, engine, solved, some)
        if tuned:
            more.append(tuning_text(tuned))
    except SmaError:
        _give(arguments, found, more)  # what was found stands, whatever failed behind it
        raise
    _give(arguments, found, more)
    return 4 if solved.failed else 0


def _give(arguments: argparse.Namespace, found: dict[str, Any], more: list[str]) -> None:
    """Writes an evaluation, and as text what followed it."""
    if arguments.format == "tsv":
        table = evaluation_table(found)
        if arguments.output:
            Path(arguments.output).write_text(table, encoding="utf-8", errors="backslashreplace")
        else:
            sys.stdout.write(table)
    elif arguments.format == "html":
        give(arguments, found, lambda: evaluation_page(found, more))
    else:
        give(arguments, found, lambda: "\n".join([evaluation_text(found), *more]))


def _tuned(
    arguments: argparse.Namespace, engine: Engine, solved: SolvedCases, some: Restriction | None
) -> dict[str, Any] | None:
    """Returns what tuning dials came to, written to its place; None where it was not asked for."""
    from tqdm import tqdm

    if not arguments.tune:
        return None
    with tqdm(unit="case", file=sys.stderr, desc="tune") as bar:
        found = tune(
            engine,
            solved,
            some,
            metric=arguments.metric,
            folds=arguments.folds,
            seed=arguments.seed,
            progress=bar.update,
        )
    put_text(Path(arguments.tune), line_text(found, indent=1) + "\n")
    return found
