"""Forms of answers: which there are, where each goes, and answers written in several at once.

The lines of JSON of a batch are the answers; every other form is made of them once they are complete, so that all say
the same whatever was interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ArtifactError, QueryError
from .formats_parquet import ParquetFile, need_parquet
from .text import query_text
from .tsv import tsv_head, tsv_lines

__all__ = ["SUFFIXES", "TableForm", "check_free", "parse_forms", "places", "text_form", "write_table_forms"]

SUFFIXES: Mapping[str, str] = {
    "json": ".json",
    "jsonl": ".jsonl",
    "tsv": ".tsv",
    "parquet": ".parquet",
    "text": ".txt",
    "html": ".html",
    "navigator": ".navigator.json",
    "pheval": ".pheval.tsv",
}
"""What the name of a file gets, where one place is named for several forms."""


@dataclass(frozen=True)
class TableForm:
    """What the forms need to know beside the answers.

    Attributes:
        head: made by ``head_of``.
        entity: what a record describes.
        facet: what a facet of the terms is called, where the domain has any.
        title: of the domain.
        notice: of the domain, which every page shows.
    """

    head: Mapping[str, Any]
    entity: str
    facet: str = ""
    title: str = ""
    notice: str = ""


def parse_forms(text: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Returns the forms in a list with commas, each once.

    Raises:
        ValueError: one of them is not in ``allowed``.

    >>> parse_forms("jsonl,tsv", ("jsonl", "tsv", "text"))
    ('jsonl', 'tsv')
    """
    forms = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for form in forms:
        if form not in allowed:
            raise ValueError(f"{form!r} is none of {', '.join(allowed)}")
    return forms


def places(forms: Sequence[str], output: str | None) -> dict[str, Path | None]:
    """Returns where each form goes; None stands for standard output.

    One form goes to ``output`` itself, each of several to ``output`` and a suffix: ``ranked`` gives ``ranked.jsonl``
    and ``ranked.tsv``.

    Raises:
        QueryError: several forms, or Parquet, are to go to standard output.
    """
    if output is None:
        if len(forms) > 1:
            asked, found = f"-f {','.join(forms)}", "standard output takes one form alone"
            raise QueryError(
                asked, found, f"Name a place with -o: -o ranked gives ranked{SUFFIXES[forms[0]]}, and so on."
            )
        if forms[0] == "parquet":
            raise QueryError("-f parquet", "Parquet is no text", "Name a file with -o.")
        found_places: dict[str, Path | None] = {forms[0]: None}
    elif len(forms) == 1:
        found_places = {forms[0]: Path(output)}
    else:
        found_places = {form: Path(output + SUFFIXES[form]) for form in forms}
    if "parquet" in forms:
        need_parquet("write Parquet")
    return found_places


def check_free(targets: Mapping[str, Path | None], lines: Path) -> None:
    """Refuses to write over files that are there, unless an unfinished or finished batch of this place made them.

    Args:
        targets: where each form goes.
        lines: where the lines of JSON go, of which the others are made.

    Raises:
        ArtifactError: a file is there, and the lines are not.
    """
    there = [path for path in targets.values() if path is not None and path != lines and path.exists()]
    if there and not lines.exists():
        raise ArtifactError(
            f"write the batch to {there[0]}",
            "that file is there already, and no lines of JSON beside it to go on from",
            "Give another -o, or replace it with --overwrite.",
        )


def write_table_forms(lines: Iterable[Mapping[str, Any]], targets: Mapping[str, Path], form: TableForm) -> None:
    """Writes answers in the forms TSV, Parquet, text and HTML; each file appears whole or not at all.

    Args:
        lines: the answers and failed records.
        targets: the file for each form; what is there is replaced.
        form: what they need to know.
    """
    with ExitStack() as stack:
        sinks = [stack.enter_context(_sink(path, name, form)) for name, path in sorted(targets.items())]
        for line in lines:
            for add in sinks:
                add(line)


def _batch_text(line: Mapping[str, Any], form: TableForm) -> str:
    """Returns an answer or a failed record as text, under the name of the query."""
    if "error" in line:
        error = line["error"]
        return f"== {line['id']}\n{error['asked']}: {error['found']}. {error['do']}\n\n"
    return f"== {line['id']}\n{query_text(dict(line), form.entity, form.facet)}\n"


@contextmanager
def _sink(path: Path, name: str, form: TableForm) -> Iterator[Callable[[Mapping[str, Any]], object]]:
    """Yields what adds an answer to a file that is written aside, and put in its place when all was written."""
    aside = path.with_name(f"{path.name}.part")
    try:
        if name == "parquet":
            with ParquetFile(aside, form.head) as table:
                yield table.add
        elif name == "html":
            from .pages.cohort import cohort_page  # here, since no other form needs what makes pages

            with cohort_page(path, aside, form.entity, form.head, title=form.title, notice=form.notice) as pages:
                yield pages.add
        else:
            begin, render = _TEXTS[name]
            with aside.open("w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(begin(form))
                yield lambda line: file.write(render(line, form))
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


# How a file in a form of text begins, and what an answer adds to it.
_TEXTS: Mapping[str, tuple[Callable[[TableForm], str], Callable[[Mapping[str, Any], TableForm], str]]] = {
    "tsv": (lambda form: tsv_head(form.head), lambda line, form: tsv_lines(line, form.head)),
    "text": (lambda form: "", _batch_text),
}


def text_form(name: str, form: TableForm) -> tuple[str, Callable[[Mapping[str, Any]], str]]:
    """Returns how standard output begins in the form TSV or text, and what each answer adds to it."""
    begin, render = _TEXTS[name]
    return begin(form), lambda line: render(line, form)
