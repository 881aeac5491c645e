"""The command ``bench speed``: how fast retrieval is, beside others in the same run, and how its cost grows."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from .commands import give

__all__ = ["register"]

WORKLOADS = ("w1", "dev", "w1-200k", "w1-1m")


def register(actions: Any, add_output: Callable[[argparse.ArgumentParser], None]) -> None:
    """Adds the command to those of ``bench``.

    Args:
        actions: where the parsers of its commands are made.
        add_output: adds the options for form and place of an answer to a parser.
    """
    words = (
        "queries a CPU second, memory and accuracy, ours and others in turn; exit 1, and no speed, where a bit differs "
        "from the reference; exit 1 too below the bars"
    )
    action = actions.add_parser("speed", help=words, description=words)
    action.add_argument("--workload", choices=WORKLOADS, default="w1", help="what is asked of what (default: w1)")
    action.add_argument(
        "--peers",
        default="all",
        metavar="NAMES",
        help="other systems to measure: all, none, or names with commas between (default: all)",
    )
    action.add_argument("--hpo3", metavar="DIR", help="where hpo3 was installed: pip install --target DIR hpo3")
    action.add_argument("--quick", action="store_true", help="few queries, one round, no bars: to see that it runs")
    action.add_argument(
        "--plots", metavar="DIR", help="instead of a workload: measure how the cost grows, and draw that into DIR"
    )
    action.add_argument("--seed", type=int, default=7, help="what all draws depend on (default 7)")
    add_output(action)
    action.set_defaults(run=speed)


def speed(arguments: argparse.Namespace) -> int:
    """Measures a workload, or how cost grows."""
    if arguments.plots:
        from ..bench.growth import growth_record, growth_text, write_plots

        record = growth_record(arguments.seed, quick=arguments.quick)
        if record["green"]:
            write_plots(record, arguments.plots)
        give(arguments, record, lambda: growth_text(record))
        return 0 if record["green"] else 1
    from ..bench.speed import speed_record
    from ..bench.speed_table import speed_text

    record = speed_record(
        arguments.workload, arguments.peers, arguments.seed, hpo3=arguments.hpo3, quick=arguments.quick
    )
    give(arguments, record, lambda: speed_text(record))
    return 0 if record["green"] and record["bars_met"] else 1
