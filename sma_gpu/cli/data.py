"""The commands ``data`` and ``cite``: what there is, where it comes from, whether it is sound, and how to cite it.

What they need is imported when they run: some of it speaks to the network, and no other command should wait for it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .commands import give

__all__ = ["cite", "register"]

ADD_SCHEMA = "sma-gpu/data-add/1"
FETCH_SCHEMA = "sma-gpu/data-fetch/1"
_MISSING = 3


def register(verbs: Any, add_output: Callable[..., None]) -> None:
    """Adds the commands to those of the command line.

    Args:
        verbs: where the parsers of commands are made.
        add_output: adds the options for form and place of an answer to a parser.
    """
    data = verbs.add_parser("data", help="ontologies and records: list, fetch, verify, add, report, diff")
    actions = data.add_subparsers(metavar="WHAT", required=True)

    def action(name: str, run: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = actions.add_parser(name, help=words, description=words)
        parser.set_defaults(run=run)
        add_output(parser)
        return parser

    action("list", list_data, "every domain and catalogued ontology: what is here, which release, under which licence")
    fetch = action("fetch", fetch_data, "fetch a domain or an ontology from its publisher (exit 3 where that fails)")
    fetch.add_argument("name", metavar="NAME", help="a ready domain or a catalogued ontology")
    fetch.add_argument("--to", metavar="DIR", help="put it here instead of the user's own folder")
    fetch.add_argument("--release", help="release of the ontology (default: the newest)")
    verify = action("verify", verify_data, "compare sums and counts with what is stated (exit 1 on a difference)")
    verify.add_argument("name", metavar="NAME", help="a ready domain, a folder of files, another ontology, or a file")
    verify.add_argument("--release", help="release of the ontology (default: the newest found)")
    add = action("add", add_data, "take a copy of a file into the user's own folder")
    add.add_argument("file", metavar="FILE")
    add.add_argument("--name", default="", help="what it is for (default: told by its content)")
    add.add_argument("--to", metavar="DIR", help="put it here instead of the user's own folder")
    report = action("report", report_data, "terms, roots, depth; obsolete, unknown, double and suspicious content")
    report.add_argument("name", metavar="NAME", help="a ready domain, a folder of files, another ontology, or a file")
    report.add_argument("--release", help="release of the ontology (default: the newest found)")
    report.add_argument("--kind", default="", help="kind of records, where a domain has several")
    report.add_argument("--language", default="", metavar="TAG", help="language of the names of terms (default: en)")
    diff = action("diff", diff_data, "what changed between two releases of an ontology")
    diff.add_argument("old", metavar="OLD", help="a file, a name, or NAME@RELEASE")
    diff.add_argument("new", metavar="NEW", help="likewise")

    words = "sources, releases, licences, sums and addresses of what an answer rests on"
    quoted: argparse.ArgumentParser = verbs.add_parser("cite", help=words, description=words)
    quoted.add_argument("name", metavar="DOMAIN", help="a ready domain, a folder of files, or another ontology")
    quoted.add_argument("--release", help="release of the ontology (default: the newest found)")
    add_output(quoted, "text", "json", "bibtex")
    quoted.set_defaults(run=cite)


def list_data(arguments: argparse.Namespace) -> int:
    """Lists what there is."""
    from ..answers.data_list import data_list, data_list_text

    listed = data_list()
    give(arguments, listed, lambda: data_list_text(listed))
    return 0


def fetch_data(arguments: argparse.Namespace) -> int:
    """Fetches the files of a name."""
    from ..ontologies.obtaining import fetch_name

    folder = Path(arguments.to) if arguments.to else None
    with _Progress() as progress:
        obtained = fetch_name(arguments.name, folder, release=arguments.release, progress=progress.of)
    found = {
        "schema": FETCH_SCHEMA,
        "name": arguments.name,
        "files": [
            {
                "part": one.part,
                "path": str(one.path) if one.path else None,
                "version": one.version,
                "new": one.is_new,
                "remark": one.remark,
            }
            for one in obtained
        ],
    }
    give(arguments, found, lambda: _fetched_text(found))
    return _MISSING if any(one.path is None for one in obtained) else 0


def verify_data(arguments: argparse.Namespace) -> int:
    """Compares the files of a name with what is stated of them."""
    from ..answers.verification import verification, verification_text

    found = verification(arguments.name, arguments.release)
    give(arguments, found, lambda: verification_text(found))
    return 0 if found["agrees"] else 1


def add_data(arguments: argparse.Namespace) -> int:
    """Takes in a file."""
    from ..ontologies.obtaining import add_file

    folder = Path(arguments.to) if arguments.to else None
    name, part, path, is_new = add_file(Path(arguments.file), arguments.name, folder)
    found = {"schema": ADD_SCHEMA, "name": name, "part": part, "path": str(path), "new": is_new}
    words = "added" if is_new else "there already"
    give(arguments, found, lambda: f"{part} of {name}, {words}: {path}\n")
    return 0


def report_data(arguments: argparse.Namespace) -> int:
    """Reports on an ontology and its records."""
    from ..answers.data_report import data_report, data_report_text

    report = data_report(arguments.name, release=arguments.release, kind=arguments.kind, language=arguments.language)
    give(arguments, report, lambda: data_report_text(report))
    return 0


def diff_data(arguments: argparse.Namespace) -> int:
    """Compares two releases."""
    from ..answers.data_diff import data_diff, data_diff_text

    diff = data_diff(arguments.old, arguments.new)
    give(arguments, diff, lambda: data_diff_text(diff))
    return 0


def cite(arguments: argparse.Namespace) -> int:
    """Says how to cite a domain."""
    from ..answers.citation import bibtex, citation, citation_text

    cited = citation(arguments.name, arguments.release)
    give(arguments, cited, lambda: bibtex(cited) if arguments.format == "bibtex" else citation_text(cited))
    return 0


def _fetched_text(found: dict[str, Any]) -> str:
    lines = []
    for file in found["files"]:
        if file["path"] is None:
            lines.append(f"{file['part']}: not fetched; {file['remark']}")
        else:
            remark = f" ({file['remark']})" if file["remark"] else ""
            lines.append(f"{file['part']} {file['version'] or 'of unknown release'}: {file['path']}{remark}")
    return "\n".join(lines) + "\n"


class _Progress:
    """A moving bar on a terminal; elsewhere a plain line when a file begins."""

    def __enter__(self) -> _Progress:
        self._bar: Any = None
        return self

    def __exit__(self, *fault: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def of(self, address: str) -> Callable[[int, int | None], None] | None:
        if not sys.stderr.isatty():
            print(f"sma-gpu: fetching {address}", file=sys.stderr)
            return None
        from tqdm import tqdm  # here, since it would add a twentieth of a second to every other command

        self.__exit__()
        bar = self._bar = tqdm(unit="B", unit_scale=True, file=sys.stderr, desc=address.rsplit("/", 1)[-1])

        def told(have: int, of: int | None) -> None:
            bar.total = of
            bar.update(have - bar.n)

        return told
