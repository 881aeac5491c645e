"""The command ``adapter``: freeze all that decides an answer into a folder, compare it later, print its model card."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .commands import dials_of, give

__all__ = ["adapter_card", "adapter_freeze", "adapter_verify", "register"]

FREEZE_SCHEMA = "sma-gpu/adapter-freeze/1"


def register(
    verbs: Any,
    add_output: Callable[..., None],
    add_files: Callable[[argparse.ArgumentParser], None],
    place: Callable[[str], str],
) -> None:
    """Adds the commands to those of the command line.

    Args:
        verbs: where the parsers of commands are made.
        add_output: adds the options for form and place of an answer to a parser.
        add_files: adds the options on how files are read to a parser.
        place: turns a word of the command line into a path.
    """
    words = "an adapter as a frozen bundle: freeze, verify, card"
    actions = verbs.add_parser("adapter", help=words, description=words).add_subparsers(metavar="WHAT", required=True)

    def action(name: str, run: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = actions.add_parser(name, help=words, description=words)
        parser.set_defaults(run=run)
        return parser

    freeze = action("freeze", adapter_freeze, "write a folder that answers, with adapter.lock and MODEL_CARD.md")
    freeze.add_argument(
        "domain", metavar="DOMAIN|DIR", type=place, help="a ready domain, a folder of files, or an index of your own"
    )
    freeze.add_argument(
        "-o", "--output", metavar="FOLDER", type=place, help="the folder to make; an index is frozen where it lies"
    )
    freeze.add_argument("--json", action="store_const", const="json", dest="format", help="same as -f json")
    freeze.add_argument("-f", "--format", choices=("text", "json"), default="text", help="form of what is said of it")
    freeze.add_argument("--dials", default=None, help="ic, evidence, adapter-v1, or a JSON object of dials")
    freeze.add_argument("--kind", default="", metavar="KIND", help="kind of records, where a domain has several")
    freeze.add_argument(
        "--mappings", default="auto", metavar="FILE", help="which records stand for the same: SSSOM, auto or none"
    )
    freeze.add_argument("--calibration", metavar="FILE", type=place, help="the calibration of this very index")
    freeze.add_argument("--evaluation", metavar="FILE", type=place, help="JSON of sma-gpu evaluate, for the card")
    freeze.add_argument("--backend", default="auto", help="which backend answers the fixed queries")
    add_files(freeze)

    verify = action("verify", adapter_verify, "compare every field with what is there (exit 1 on a difference)")
    verify.add_argument("lock", metavar="FOLDER|LOCK", type=place, help="the folder of an adapter, or its lock")
    verify.add_argument(
        "domain",
        metavar="DOMAIN|DIR",
        nargs="?",
        type=place,
        help="compare with what would come of these files now (default: the index beside the lock)",
    )
    verify.add_argument("--release", help="release of the ontology of that domain (default: the newest found)")
    verify.add_argument(
        "--mappings", default="auto", metavar="FILE", help="mappings to compare with those frozen: SSSOM, auto or none"
    )
    verify.add_argument("--backend", default="auto", help="which backend answers the fixed queries")
    add_output(verify)

    card = action("card", adapter_card, "print the model card that the lock gives")
    card.add_argument("lock", metavar="FOLDER|LOCK", type=place, help="the folder of an adapter, or its lock")
    card.add_argument("-o", "--output", metavar="FILE", type=place, help="write it here instead of standard output")
    card.set_defaults(format="text")


def adapter_freeze(arguments: argparse.Namespace) -> int:
    """Freezes an adapter, and says what is in it."""
    from ..answers.adapter_bundle import freeze

    lock, folder = freeze(
        arguments.domain,
        Path(arguments.output) if arguments.output else None,
        dials_of(arguments.dials),
        kind=arguments.kind,
        release=arguments.release,
        language=arguments.language,
        strict=arguments.strict_input,
        mappings=arguments.mappings,
        calibration=Path(arguments.calibration) if arguments.calibration else None,
        evaluation=Path(arguments.evaluation) if arguments.evaluation else None,
        backend=arguments.backend,
    )
    arguments.output = None  # the folder was named, not a place for what is said of it
    found = {"schema": FREEZE_SCHEMA, "folder": str(folder), "lock": lock}
    give(arguments, found, lambda: _frozen_text(str(folder), lock))
    return 0


def adapter_verify(arguments: argparse.Namespace) -> int:
    """Compares an adapter with its lock."""
    from ..answers.adapter_verification import adapter_verification, adapter_verification_text

    found = adapter_verification(
        Path(arguments.lock),
        arguments.domain,
        release=arguments.release,
        mappings=arguments.mappings,
        backend=arguments.backend,
    )
    give(arguments, found, lambda: adapter_verification_text(found))
    return 0 if found["agrees"] else 1


def adapter_card(arguments: argparse.Namespace) -> int:
    """Prints the model card of an adapter."""
    from ..answers.adapter_lock import lock_path, read_lock
    from ..answers.model_card import model_card

    card = model_card(read_lock(lock_path(Path(arguments.lock))))
    give(arguments, {}, lambda: card)
    return 0


def _frozen_text(folder: str, lock: dict[str, Any]) -> str:
    ontology, records = lock["ontology"], lock["records"]
    named = " ".join(part for part in (ontology["name"], ontology["version"]) if part)
    beside = [part for part in ("mappings", "genes") if lock[part] is not None]
    lines = [
        f"{folder}: {lock['index']['cases']} {lock['entity']}s over {ontology['terms']} terms of {named}",
        f"records {records['name']} {records['version']}".rstrip()
        + (f", with {' and '.join(beside)}" if beside else ""),
        f"calibration: {lock['calibration']['fingerprint'] if lock['calibration'] else 'none'}",
        f"lock {lock['sha256']}",
        f"Ask it: sma-gpu query {shlex.quote(folder)} ID ...",
    ]
    return "\n".join(lines) + "\n"
