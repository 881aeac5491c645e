"""The command ``align``: two case files in, their analogy out as text, JSON or a drawing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from ..answers.analogy_answer import analogy_answer, analogy_names, lattice_notes
from ..answers.analogy_drawing import analogy_svg
from ..answers.analogy_text import analogy_text, case_title
from ..answers.batch import line_text
from ..cases import Case, Vocabulary, read_case, read_vocabulary
from ..errors import CaseError, DialError, QueryError
from ..retrieval.alignment import ALIGN_DIALS
from ..retrieval.alignment import align as align_cases
from ..scoring import Dials

__all__ = ["align"]


def align(arguments: argparse.Namespace) -> int:
    """Aligns two cases and tells what corresponds, what follows and what differs."""
    _check_places(arguments)
    dials = _dials(arguments.dials)
    lattice = read_vocabulary(arguments.lattice, strict=arguments.strict_input) if arguments.lattice else None
    words = lattice or Vocabulary.plain()
    base, target = read_case(arguments.base, words), read_case(arguments.target, words)
    if lattice is not None and arguments.strict_input:
        _refuse_missing(base, target, lattice, arguments.lattice)
    limit = {} if arguments.nodes is None else {"node_budget": arguments.nodes}
    analogy = align_cases(base, target, lattice, dials, **limit)
    notes = lattice_notes(base, target, lattice)
    if arguments.format == "json":
        text = line_text(analogy_answer(analogy, lattice, notes), indent=1) + "\n"
    elif arguments.format == "svg":
        text = analogy_svg(analogy)
    elif arguments.format == "html":
        from ..answers.pages.compared import analogy_page  # here, since no other form needs what makes pages

        told = analogy_text(analogy, analogy_names(analogy, lattice), notes)
        text = analogy_page(f"{case_title(base)} and {case_title(target)}", analogy_svg(analogy), told)
    else:
        text = analogy_text(analogy, analogy_names(analogy, lattice), notes)
    if arguments.svg:
        Path(arguments.svg).write_text(analogy_svg(analogy), encoding="utf-8", errors="backslashreplace")
    if arguments.output:
        Path(arguments.output).write_text(text, encoding="utf-8", errors="backslashreplace")
    else:
        sys.stdout.write(text)
    return 0


def _check_places(arguments: argparse.Namespace) -> None:
    """Refuses to read standard input, to write over an input, two things into one file, or where no file can stand."""
    read = [p for p in (arguments.base, arguments.target, arguments.lattice) if p]
    if "-" in read:
        raise QueryError(
            f"align {' '.join(read)}",
            "- means standard input, and align reads files alone",
            "Write the case into a file and name that; a file that is called - is named ./-",
        )
    taken = {Path(p).resolve() for p in read}
    for option, place in (("--svg", arguments.svg), ("-o", arguments.output)):
        if not place:
            continue
        if Path(place).resolve() in taken:
            raise QueryError(
                f"{option} {place}", "that file is read, or written by --svg too", "Name a file of its own."
            )
        taken.add(Path(place).resolve())
        found = _unusable(Path(place))
        if found:
            raise QueryError(f"{option} {place}", found, "Name a file that can be written.")


def _unusable(place: Path) -> str:
    """Returns why nothing can be written to ``place``, as far as that can be told beforehand, or nothing."""
    if place.is_dir():
        return "that is a folder"
    if not place.exists() and not place.parent.is_dir():
        return f"there is no folder {place.parent}"
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        return "that cannot be written"
    return ""


def _dials(text: str) -> Dials:
    """Returns the dials of an alignment, those named in ``text`` changed."""
    if text == "adapter-v1":
        return Dials.adapter_v1()
    try:
        values = {} if text == "default" else json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise DialError(
            f"--dials {text}", "neither a name nor a JSON object", 'Give default, adapter-v1, or like {"rho": 0.9}.'
        )
    return Dials.from_mapping({**ALIGN_DIALS.as_dict(), **values})


def _refuse_missing(base: Case, target: Case, lattice: Vocabulary, path: str) -> None:
    missing = lattice.missing([base, target])
    if missing:
        raise CaseError(
            "strict input: the predicates of both cases",
            f"{path} lacks {', '.join(missing)}",
            "Declare them in the lattice, a line each, or leave --strict-input out to match them by equality alone.",
        )
