"""The command ``bench trust``: confidence, novelty and abstention on held-out folds of every domain's tasks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .commands import give

__all__ = ["register"]


def register(actions: Any, add_output: Callable[[argparse.ArgumentParser], None]) -> None:
    """Adds the command to those of ``bench``.

    Args:
        actions: where the parsers of its commands are made.
        add_output: adds the options for form and place of an answer to a parser.
    """
    words = "confidence, novelty and abstention on held-out folds, beside every other arm, each target with a verdict"
    action = actions.add_parser("trust", help=words, description=words)
    words = "only this task of the plan, or all of a family such as published; several may be named (default: all)"
    action.add_argument("tasks", metavar="TASK", nargs="*", help=words)
    action.add_argument("--quick", action="store_true", help="a draw of each task, without the slow arms")
    words = "where rows of arms are kept (default: bench-runs/trust[-quick])"
    action.add_argument("--folder", metavar="DIR", help=words)
    add_output(action)
    action.set_defaults(run=trust)


def trust(arguments: argparse.Namespace) -> int:
    """Evaluates every signal of trust."""
    from ..bench.trust.plan import plan
    from ..bench.trust.record import trust_record
    from ..bench.trust.text import trust_text

    folder = Path(arguments.folder or Path("bench-runs", "trust" + ("-quick" if arguments.quick else "")))
    found = trust_record(plan(), folder, quick=arguments.quick, only=arguments.tasks, progress=_progress)
    give(arguments, found, lambda: trust_text(found))
    return 0


def _progress(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
