"""The command ``bench``: arms asked tasks, what came out, and how fast retrieval is."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import bench_speed
from .commands import give

__all__ = ["register"]


def register(verbs: Any, add_output: Callable[[argparse.ArgumentParser], None]) -> None:
    """Adds the command to those of the command line.

    Args:
        verbs: where the parsers of commands are made.
        add_output: adds the options for form and place of an answer to a parser.
    """
    bench = verbs.add_parser("bench", help="swap the memory and measure: arms, tasks, reports, speed")
    actions = bench.add_subparsers(metavar="WHAT", required=True)

    words = "arms, tasks and suites, each with what it needs and whether that is here"
    action = actions.add_parser("list", help=words, description=words)
    add_output(action)
    action.set_defaults(run=list_all)

    words = "ask every arm of a suite every task; goes on where it was stopped"
    action = actions.add_parser("run", help=words, description=words)
    _add_suite(action)
    action.add_argument("--folder", metavar="DIR", help="where rows are kept (default: bench-runs/SUITE[-quick])")
    words = "only this arm, or package.module:Class for one of yours; may be repeated"
    action.add_argument("--arm", action="append", default=[], metavar="NAME", help=words)
    action.add_argument("--task", action="append", default=[], metavar="NAME", help="only this task; may be repeated")
    action.add_argument("--trec", metavar="DIR", help="also write rankings as TREC runs with their qrels into DIR")
    add_output(action)
    action.set_defaults(run=run)

    words = "the tables of a run, derived from its rows"
    action = actions.add_parser("report", help=words, description=words)
    action.add_argument("folder", metavar="DIR", help="folder of a run")
    add_output(action)
    action.set_defaults(run=report)

    words = "run a suite anew and say whether the expected figures come out; exit 1 where one differs"
    action = actions.add_parser("reproduce", help=words, description=words)
    _add_suite(action)
    action.add_argument("--folder", metavar="DIR", help="where rows are kept (default: a temporary folder)")
    add_output(action)
    action.set_defaults(run=reproduce)

    words = "the published system's headline claims, each with a verdict, its command and its time"
    action = actions.add_parser("claims", help=words, description=words)
    action.add_argument("--quick", action="store_true", help="a small draw of each task")
    action.add_argument("--folder", metavar="DIR", help="where rows are kept (default: bench-runs/claims[-quick])")
    add_output(action)
    action.set_defaults(run=judge)

    words = "check that an arm keeps the contract; exit 1 where it does not"
    action = actions.add_parser("contract", help=words, description=words)
    action.add_argument("arm", metavar="ARM", help="name of an arm, or package.module:Class")
    add_output(action)
    action.set_defaults(run=contract)

    bench_speed.register(actions, add_output)


def _add_suite(action: argparse.ArgumentParser) -> None:
    action.add_argument("suite", metavar="SUITE", help="name of a suite; `sma-gpu bench list` shows them")
    action.add_argument("--quick", action="store_true", help="a small draw of each task")


def list_all(arguments: argparse.Namespace) -> int:
    """Lists arms, tasks and suites."""
    from ..bench.listing import listing, listing_text

    found = listing()
    give(arguments, found, lambda: listing_text(found))
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Runs a suite and gives its report."""
    from ..bench.report import report_record
    from ..bench.report_text import report_text
    from ..bench.running import run_suite
    from ..bench.suites import suite

    of = suite(arguments.suite)
    folder = Path(arguments.folder or Path("bench-runs", of.name + ("-quick" if arguments.quick else "")))
    done = run_suite(
        of,
        folder,
        quick=arguments.quick,
        only_arms=arguments.arm,
        only_tasks=arguments.task,
        trec=Path(arguments.trec) if arguments.trec else None,
        progress=_progress,
    )
    found = report_record(done)
    give(arguments, found, lambda: report_text(found))
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Gives the report of a run that was made."""
    from ..bench.report import report_record
    from ..bench.report_text import report_text
    from ..bench.running import read_run

    found = report_record(read_run(Path(arguments.folder)))
    give(arguments, found, lambda: report_text(found))
    return 0


def reproduce(arguments: argparse.Namespace) -> int:
    """Runs a suite and compares its figures with those that are expected."""
    from ..bench.report import report_record
    from ..bench.reproduce import compare_reports, comparison_text, expected_report
    from ..bench.running import run_suite
    from ..bench.suites import suite

    of = suite(arguments.suite)
    expected = expected_report(of.name, quick=arguments.quick)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary)
        done = run_suite(of, folder, quick=arguments.quick, progress=_progress)
        found = compare_reports(expected, report_record(done))
    give(arguments, found, lambda: comparison_text(found))
    return 0 if found["verdict"] == "equal" else 1


def judge(arguments: argparse.Namespace) -> int:
    """Judges the claims."""
    from ..bench.claims import claims, claims_record, claims_text

    folder = Path(arguments.folder or Path("bench-runs", "claims" + ("-quick" if arguments.quick else "")))
    found = claims_record(claims(), folder, quick=arguments.quick, progress=_progress)
    give(arguments, found, lambda: claims_text(found))
    return 0


def contract(arguments: argparse.Namespace) -> int:
    """Checks an arm against the contract."""
    from ..bench.arms.contract import contract_record, contract_text

    found = contract_record(arguments.arm)
    give(arguments, found, lambda: contract_text(found))
    return 0 if found["kept"] else 1


def _progress(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
