"""Options that say what is ranked, and on what: equivalents, genes, modes of inheritance, publications left out."""

from __future__ import annotations

import argparse
from typing import Any, TypedDict

__all__ = ["Reruns", "add_calibration", "add_ranking", "add_stability", "engine_options", "reruns_of", "whole_number"]


class Reruns(TypedDict):
    """How often queries are to be rerun with one term changed, and what that is drawn from."""

    stability: int
    seed: int


def add_ranking(parser: argparse.ArgumentParser, *, ranks: bool) -> None:
    """Adds the options to the parser of a command; ``ranks`` says that the command ranks all records."""
    parser.add_argument(
        "--mappings",
        default="auto",
        metavar="FILE",
        help="SSSOM file that says which records stand for the same; none for none "
        "(default: the one beside the records or in the installed package pheval, if any)",
    )
    parser.add_argument(
        "--least-confidence",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="leave out rows of --mappings that state a confidence below it, 0 to 1",
    )
    parser.add_argument(
        "--inheritance",
        action="append",
        default=[],
        metavar="MODE",
        help="rank only records with this mode of inheritance or a narrower one, by id or name, "
        "such as HP:0000006; repeat it for records with any of several",
    )
    parser.add_argument(
        "--without-source",
        action="append",
        default=[],
        metavar="PMID:...",
        help="build without the rows that name this publication, for trials; repeat it for several",
    )
    if ranks:
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--merge-equivalents", action="store_true", help="rank groups of equivalent records by their best one"
        )
        what.add_argument("--by", choices=("gene",), default="", help="rank genes by the best record that each carries")


def add_stability(parser: argparse.ArgumentParser) -> None:
    """Adds the options by which an answer says how steady its hits are."""
    parser.add_argument(
        "--stability",
        type=whole_number,
        default=0,
        metavar="N",
        help="rerun each query N times with one term dropped, climbed or added: how often a hit is first, between "
        "which ranks it stands, and with which hits it changes places without one of the terms (default: 0, none)",
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="S", help="what reruns are drawn from (default: 0)"
    )


def add_calibration(parser: argparse.ArgumentParser) -> None:
    """Adds the options by which an answer says how sure it is, and is withheld where that is not enough."""
    parser.add_argument(
        "--calibration",
        default="auto",
        metavar="FILE",
        help="calibrated confidence and novelty by the file that calibrate wrote; auto for the one saved with an index "
        "of your own, if it fits; none for none (default: auto)",
    )
    parser.add_argument(
        "--abstain",
        default="none",
        metavar="RULE",
        help="withhold an answer whose best hit is not sure enough: youden; risk=0.1: of the answers given at most a "
        "tenth wrong, on the held-out solved cases; conformal=0.1: of all queries at most a tenth expected to be "
        "answered wrongly; none (default)",
    )


def reruns_of(arguments: argparse.Namespace) -> Reruns:
    """Returns the reruns that the arguments ask for."""
    return {"stability": arguments.stability, "seed": arguments.seed}


def engine_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns what ``open_engine`` is to be given; a command without an option takes its default."""
    return {
        "mappings": getattr(arguments, "mappings", "auto"),
        "least_confidence": getattr(arguments, "least_confidence", 0.0),
        "inheritance": getattr(arguments, "inheritance", ()),
        "without_sources": getattr(arguments, "without_source", ()),
        "merge": getattr(arguments, "merge_equivalents", False),
        "by": getattr(arguments, "by", ""),
        "calibration": getattr(arguments, "calibration", "none"),
        "abstain": getattr(arguments, "abstain", "none"),
    }


def whole_number(text: str) -> int:
    """Returns the number in a word of the command line: whole, 0 or more."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return number


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return share
