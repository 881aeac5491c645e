"""The command ``ops``: whether the backends here give the bits of the reference, and how long each op takes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from .commands import give

__all__ = ["register"]


def register(verbs: Any, add_output: Callable[[argparse.ArgumentParser], None]) -> None:
    """Adds the command to those of the command line.

    Args:
        verbs: where the parsers of commands are made.
        add_output: adds the options for form and place of an answer to a parser.
    """
    ops = verbs.add_parser("ops", help="check and time the three ops of each backend")
    actions = ops.add_subparsers(metavar="WHAT", required=True)
    for name, run, words in (
        ("parity", parity, "compare every backend that serves here with the reference, bit for bit (exit 1 if not)"),
        ("bench", bench, "time of each op, bytes it must move, and how far that is from the floor"),
    ):
        action = actions.add_parser(name, help=words, description=words)
        action.add_argument("--backend", default="auto", help="one backend, which then must serve (default: auto)")
        action.add_argument("--device", default="auto", help="auto, cpu or cuda: where it works (default: auto)")
        action.add_argument("--seed", type=int, default=7, help="what all draws depend on (default 7)")
        if name == "bench":
            action.add_argument("--quick", action="store_true", help="the smallest problem alone")
        add_output(action)
        action.set_defaults(run=run)


def parity(arguments: argparse.Namespace) -> int:
    """Compares backends with the reference."""
    from ..bench.op_parity import parity_report, parity_text

    report = parity_report(arguments.backend, arguments.device, arguments.seed)
    give(arguments, report, lambda: parity_text(report))
    return 0 if report["green"] else 1


def bench(arguments: argparse.Namespace) -> int:
    """Times the ops of one backend."""
    from ..bench.op_speed import SIZES, speed_report, speed_text

    sizes = SIZES[:1] if arguments.quick else SIZES
    report = speed_report(arguments.backend, arguments.device, arguments.seed, sizes)
    give(arguments, report, lambda: speed_text(report))
    return 0 if report["green"] else 1
