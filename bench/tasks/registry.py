"""All tasks by name: what they are, whether their data is here, and how they are loaded."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ...errors import DataMissing, QueryError
from ...ontologies.domains import domain_files
from . import attack, filings, genomics, patents, patients, published, ssb
from .entry import Entry, Request
from .evaluations import find_evaluations
from .task import Task

__all__ = ["ENTRIES", "QUICK", "available", "entry", "load"]

QUICK = 100
"""Questions of a task that is loaded quickly."""

ENTRIES: Mapping[str, Entry] = {
    entry.name: entry
    for family in (published, patients, attack, genomics, patents, filings, ssb)
    for entry in family.ENTRIES
}
"""Every task by its name."""


def entry(name: str) -> Entry:
    """Returns the entry of a task; ``name`` may have a file behind an ``@``.

    Raises:
        QueryError: there is no such task.
    """
    plain = name.partition("@")[0]
    if plain not in ENTRIES:
        family = [known for known in ENTRIES if known.split("/")[0] == plain.split("/")[0]]
        raise QueryError(f"task {plain}", "there is no such task", f"Name one of {', '.join(family or ENTRIES)}.")
    return ENTRIES[plain]


def available(name: str) -> str:
    """Returns why a task cannot be loaded on this machine, or an empty text; its files are found, not read.

    Raises:
        QueryError: there is no such task.
    """
    found = entry(name)
    try:
        _file_of(name)
        for domain in found.domains:
            domain_files(domain)
        if found.check:
            found.check()
    except DataMissing as fault:
        return str(fault)
    return ""


def load(name: str, *, quick: bool = False, seed: int | None = None, most: int = QUICK) -> Task:
    """Returns a task, checked.

    Args:
        name: of ``ENTRIES``; behind an ``@`` may stand the file of queries to use, its path or its name in a data
            folder.
        quick: draw ``most`` of its questions, always the same; what is stored stays.
        seed: what all that is drawn depends on; the first of its own where None.
        most: questions of a quick draw.

    Raises:
        QueryError: there is no such task, or it has no file of queries and one is named.
        DataMissing: a file that it needs is not there.
        ParseError: a file is broken.
    """
    found = entry(name)
    path, note = _file_of(name)
    given = found.seeds[0] if seed is None else seed
    task = found.make(Request(found.name, f"{found.words}{note}", given, path, found.shape))
    return _shortened(task, given, most) if quick else task


def _file_of(name: str) -> tuple[Path | None, str]:
    """Returns the file of queries of a task, and a sentence where there are others."""
    found, _, file = entry(name), *name.partition("@")[1:]
    if found.shape is None:
        if file:
            raise QueryError(
                f"task {name}", "it is drawn from the records of a domain and takes no file", f"Ask for {found.name}."
            )
        return None, ""
    paths = find_evaluations(found.shape, file)
    others = ", ".join(path.name for path in paths[1:])
    return paths[0], f" Of several such files {paths[0].name} is used, not {others}." if others else ""


def _shortened(task: Task, seed: int, most: int) -> Task:
    if len(task.questions) <= most:
        return task
    drawn = random.Random(f"{seed} questions").sample(range(len(task.questions)), most)
    return replace(
        task,
        questions=tuple(task.questions[at] for at in sorted(drawn)),
        counts={**task.counts, "questions not asked quickly": len(task.questions) - most},
    )
