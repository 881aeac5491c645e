"""The command ``batch``: many queries answered, in one form or in several at once, or compared with earlier answers."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..answers.batch import (
    answer_lines,
    check_place,
    line_text,
    read_lines,
    remove_lines,
    replaces,
    write_batch,
    write_lines,
)
from ..answers.comparison import asking_again, compare_batches
from ..answers.comparison_lines import read_earlier
from ..answers.comparison_text import batch_comparison_text
from ..answers.formats import TableForm, check_free, places, text_form, write_table_forms
from ..answers.tsv import empty_answer, head_of
from ..errors import QueryError
from .batch_input import inputs_of, open_batch
from .commands import among_of
from .pheval import pheval_batch
from .ranking import reruns_of

__all__ = ["batch"]


def batch(arguments: argparse.Namespace) -> int:
    """Answers many queries; under ``--compare``, says how the answers differ from earlier ones."""
    from tqdm import tqdm  # here, since it would add a twentieth of a second to every other command

    if "pheval" in arguments.format:
        return pheval_batch(arguments)
    targets = _targets(arguments)
    out = _lines_of(targets, arguments.output)
    if out:
        for place in {out, *(path for path in targets.values() if path)}:
            _check(place, arguments)
        if not arguments.overwrite:
            check_free(targets, out)
    earlier = read_earlier(Path(arguments.compare)) if arguments.compare else None
    among = among_of(arguments)
    engine, given = open_batch(arguments)
    k, some, manifest = arguments.k, engine.restrict(among, arguments.where), engine.domain.manifest
    steady = reruns_of(arguments)
    head = head_of(empty_answer(engine, some, **steady), k=k, sha256=given.sha256)
    table = TableForm(head, manifest.entity, manifest.facet_name, manifest.title, manifest.notice)
    pause_s = 0.1 if sys.stderr.isatty() else 10  # a log file wants a line now and then, not a moving bar
    found: dict[str, Any] | None = None

    def compared(lines: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
        keys = frozenset(engine.genes.links.keys if engine.genes else engine.domain.records.keys)
        again = asking_again(engine, given, k, some)
        if earlier is None:
            return None
        return compare_batches(earlier, lines, k, sha256=given.sha256, keys=keys, under=again)

    with tqdm(total=len(given.records), unit="query", file=sys.stderr, desc="batch", mininterval=pause_s) as bar:
        if out:
            done = write_batch(
                engine, given, k, out, overwrite=arguments.overwrite, progress=bar.update, restriction=some, **steady
            )
            failed, abstained = done.failed, done.abstained
        elif earlier:
            counts: Counter[str] = Counter()
            found = compared(_counted(answer_lines(engine, given.records, k, some, **steady), counts, bar.update))
            failed, abstained = counts["failed"], counts["abstained"]
        elif "jsonl" in targets:
            failed, abstained = write_lines(engine, given.records, k, sys.stdout, bar.update, some, **steady)
        else:
            begin, render = text_form(next(iter(targets)), table)
            sys.stdout.write(begin)
            failed, abstained = write_lines(engine, given.records, k, sys.stdout, bar.update, some, render, **steady)
    if out:
        write_table_forms(read_lines(out), {f: p for f, p in targets.items() if p and p != out}, table)
        found = compared(read_lines(out))
        if out not in targets.values():
            remove_lines(out)
    if found:
        as_json = "json" in arguments.format
        sys.stdout.write(line_text(found, indent=1) + "\n" if as_json else batch_comparison_text(found))
    summary = f"{len(given.records)} records: {abstained} abstained, {failed} failed"
    print(f"sma-gpu: {summary}", file=sys.stderr)
    if failed:
        return 4
    return 1 if abstained and arguments.fail_on_abstain else 0


def _targets(arguments: argparse.Namespace) -> dict[str, Path | None]:
    """Returns where each form of the answers goes; under ``--compare``, JSON and text are forms of the comparison."""
    if "html" in arguments.format and not arguments.output:
        asked, found = "-f html", "the page of a batch begins with what its last answer decides"
        raise QueryError(asked, found, "Name a file with -o.")
    if not arguments.compare:
        return places(tuple(dict.fromkeys("jsonl" if f == "json" else f for f in arguments.format)), arguments.output)
    forms = tuple(form for form in arguments.format if form not in ("json", "text"))
    if arguments.output:
        return places(forms or ("jsonl",), arguments.output)
    if set(forms) - {"jsonl"}:
        asked, found = f"--compare and -f {','.join(forms)}", "standard output has the comparison"
        raise QueryError(asked, found, "Name a place for the answers with -o.")
    return {}


def _check(place: Path, arguments: argparse.Namespace) -> None:
    """Refuses a place that is that of the input, or of what is compared with."""
    check_place(place, inputs_of(arguments))
    if arguments.compare and replaces(place, arguments.compare):
        asked, found = f"write the batch to {place}", "that would replace the answers to compare with"
        raise QueryError(asked, found, "Give the path of a new file.")


def _counted(
    lines: Iterable[dict[str, Any]], counts: Counter[str], progress: Callable[[], object]
) -> Iterator[dict[str, Any]]:
    for line in lines:
        counts["failed"] += "error" in line
        counts["abstained"] += bool(line.get("abstained"))
        progress()
        yield line


def _lines_of(targets: Mapping[str, Path | None], output: str | None) -> Path | None:
    """Returns where the lines of JSON go, by which a batch goes on; beside the other forms where they are not asked."""
    return targets["jsonl"] if "jsonl" in targets else Path(f"{output}.lines") if output else None
