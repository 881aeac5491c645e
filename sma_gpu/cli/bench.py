"""The command ``bench``: arms asked tasks, what came out, and how fast retrieval is."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import bench_speed, bench_trust
from .commands import give

__all__ = ["register"]

_WITHOUT = "leave this arm out, and say so; may be repeated"


def register(verbs: Any, add_output: Callable[..., None]) -> None:
    """Adds the command to those of the command line.

    Args:
        verbs: where the parsers of commands are made.
        add_output: adds the options for form and place of an answer to a parser, of the forms that are named.
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
    action.add_argument("--without", action="append", default=[], metavar="ARM", help=_WITHOUT)
    words = "model in place of the arms' own, as in embedding=NAME or reranker=FOLDER; may be repeated"
    action.add_argument("--model", action="append", default=[], metavar="USE=NAME", help=words)
    action.add_argument("--trec", metavar="DIR", help="also write rankings as TREC runs with their qrels into DIR")
    add_output(action, "text", "json", "html")
    action.set_defaults(run=run)

    words = "the tables of a run, derived from its rows; as html, one page with its curves and every question"
    action = actions.add_parser("report", help=words, description=words)
    action.add_argument("folder", metavar="DIR", help="folder of a run")
    add_output(action, "text", "json", "html")
    action.set_defaults(run=report)

    words = "run a suite anew and say whether the expected figures come out; exit 1 where one differs"
    action = actions.add_parser("reproduce", help=words, description=words)
    _add_suite(action)
    action.add_argument("--folder", metavar="DIR", help="where rows are kept (default: a temporary folder)")
    add_output(action)
    action.set_defaults(run=reproduce)

    words = "every question that an arm of this engine misses, with the mappings of the right item and of the wrong hit"
    action = actions.add_parser("misses", help=words, description=words)
    _add_suite(action)
    action.add_argument("--arm", default="", metavar="NAME", help="an arm of this engine (default: the suite's own)")
    action.add_argument("--task", action="append", default=[], metavar="NAME", help="only this task; may be repeated")
    add_output(action)
    action.set_defaults(run=misses)

    words = "the published system's headline claims, each with a verdict, its command and its time"
    action = actions.add_parser("claims", help=words, description=words)
    action.add_argument("--quick", action="store_true", help="a small draw of each task")
    action.add_argument("--folder", metavar="DIR", help="where rows are kept (default: bench-runs/claims[-quick])")
    action.add_argument("--without", action="append", default=[], metavar="ARM", help=_WITHOUT)
    add_output(action)
    action.set_defaults(run=judge)

    words = "check that an arm keeps the contract; exit 1 where it does not"
    action = actions.add_parser("contract", help=words, description=words)
    action.add_argument("arm", metavar="ARM", help="name of an arm, or package.module:Class")
    add_output(action)
    action.set_defaults(run=contract)

    bench_trust.register(actions, add_output)
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
    from ..bench.report_html import report_in
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
        without=arguments.without,
        models={use: name for use, _, name in (told.partition("=") for told in arguments.model)},
        trec=Path(arguments.trec) if arguments.trec else None,
        progress=_progress,
    )
    found = report_record(done)
    give(arguments, found, lambda: report_in(arguments.format, done, found))
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Gives the report of a run that was made."""
    from ..bench.report import report_record
    from ..bench.report_html import report_in
    from ..bench.running import read_run

    done = read_run(Path(arguments.folder))
    found = report_record(done)
    give(arguments, found, lambda: report_in(arguments.format, done, found))
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


def misses(arguments: argparse.Namespace) -> int:
    """Tells every miss of an arm."""
    from ..bench.misses import misses_record
    from ..bench.misses_text import misses_text
    from ..bench.suites import suite

    of, quick = suite(arguments.suite), arguments.quick
    found = misses_record(of, arguments.arm, quick=quick, only_tasks=arguments.task, progress=_progress)
    give(arguments, found, lambda: misses_text(found))
    return 0


def judge(arguments: argparse.Namespace) -> int:
    """Judges the claims."""
    from ..bench.claims import claims, claims_record, claims_text

    folder = Path(arguments.folder or Path("bench-runs", "claims" + ("-quick" if arguments.quick else "")))
    left_out = arguments.without
    found = claims_record(claims(), folder, quick=arguments.quick, without=left_out, progress=_progress)
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
