"""Options that say what is ranked, and on what: equivalents, genes, modes of inheritance, publications left out."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_ranking", "engine_options"]


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


def engine_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns what ``open_engine`` is to be given; a command without an option takes its default."""
    return {
        "mappings": getattr(arguments, "mappings", "auto"),
        "least_confidence": getattr(arguments, "least_confidence", 0.0),
        "inheritance": getattr(arguments, "inheritance", ()),
        "without_sources": getattr(arguments, "without_source", ()),
        "merge": getattr(arguments, "merge_equivalents", False),
        "by": getattr(arguments, "by", ""),
    }


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return share
