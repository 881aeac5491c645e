"""The head of a phenotype.hpoa file: its comment lines, its column header, and what a file is that has none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ...errors import ParseError

__all__ = ["REQUIRED", "check_columns", "describe", "find_header", "find_repeats", "made_with", "read_meta"]

_COLUMNS = {
    "databaseid": "key",
    "diseasename": "name",
    "qualifier": "qualifier",
    "hpoid": "term",
    "reference": "reference",
    "dbreference": "reference",
    "evidence": "evidence",
    "onset": "onset",
    "frequency": "frequency",
    "sex": "sex",
    "modifier": "modifier",
    "aspect": "aspect",
    "biocuration": "biocuration",
    "biocurationby": "biocuration",
}
REQUIRED = ("key", "qualifier", "term", "frequency", "aspect")
"""Columns that a file must have."""

_TELLING = 3  # as many of them make a line a header: one that misses the others is told so, and other tables have two

_META = re.compile(r'"?#\s*([\w -]+?)\s*:\s*(.*)')
_RELEASE = re.compile(r"/releases/([^/]+)/")


def find_header(lines: Sequence[str]) -> tuple[int, list[str]]:
    """Returns the position of the column header in ``lines`` (-1 if there is none) and our name of each column.

    A column that is not known has an empty name. Only comments and blank lines may stand before the header.
    """
    for at, line in enumerate(lines):
        if columns := _columns(line):
            return at, columns
        if line.strip() and not line.lstrip('"').startswith("#"):
            break
    return -1, []


def _columns(line: str) -> list[str]:
    """Our name of each column where ``line`` is a column header, in whatever order and dress; else nothing."""
    names = [re.sub(r"[\W_]+", "", cell).lower() for cell in line.rstrip().split("\t")]
    columns = [_COLUMNS.get(name, "") for name in names]
    return columns if len({*REQUIRED} & {*columns}) >= _TELLING else []


def find_repeats(lines: Sequence[str], first: int, columns: list[str], path: str) -> list[int]:
    """Returns the positions from ``first`` on at which the column header stands once more, as in joined files.

    Raises:
        ParseError: a later header has other columns, so that the rows below it would be read wrongly.
    """
    found = []
    for at in [at for at, line in enumerate(lines) if "requency" in line or "REQUENCY" in line]:
        again = _columns(lines[at]) if at >= first else []
        if again and again != columns:
            raise ParseError(
                f"read {path} as phenotype.hpoa",
                f"line {at + 1} is a second column header, with other columns than the first",
                "Give each file by itself; files of different releases cannot be joined as they are.",
                path=path,
                line=at + 1,
            )
        if again:
            found.append(at)
    return found


def check_columns(columns: list[str], line: int, path: str) -> None:
    """Returns nothing where every needed column is there once.

    Without a qualifier or frequency column a sign that is ruled out would count as present, so they are needed.

    Raises:
        ParseError: a column is missing or doubled.
    """
    missing = [c for c in REQUIRED if c not in columns]
    doubled = sorted({c for c in columns if c and columns.count(c) > 1})
    if missing or doubled:
        parts = [f"there is no {c} column" for c in missing] + [f"there are two {c} columns" for c in doubled]
        raise ParseError(
            f"read {path} as phenotype.hpoa",
            f"in the column header, line {line}, {' and '.join(parts)}",
            "Give the phenotype.hpoa of an HPO release, unaltered.",
            path=path,
            line=line,
        )


def describe(lines: Sequence[str], content: bytes) -> str:
    """Returns what a file without the column header seems to be."""
    first = next((line.strip() for line in lines if line.strip()), "")
    known = {
        "<": "it is an HTML or XML page, perhaps the answer of a web server",
        "{": "it is JSON",
        "[": "it is JSON or an OBO stanza",
        "format-version:": "it is an OBO ontology",
        "!": "it is a GAF or GPAD file, perhaps of gene annotations",
    }
    if not first:
        return "it is empty"
    if b"\x00" in content[:1024] and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return "it is a binary file"
    for start, what in known.items():
        if first.startswith(start):
            return what
    body = next((line for line in lines if line.strip() and not line.lstrip('"').startswith("#")), "")
    if not body:
        return "it holds comments only and no column header"
    return f"its first line that is no comment is no column header but {body[:60]!r}"


def read_meta(lines: Iterable[str]) -> dict[str, str]:
    """Returns the fields of the comment lines, names in lower case; the first of a name counts."""
    found: dict[str, str] = {}
    for line in lines:
        if match := _META.match(line.strip()):
            found.setdefault(match[1].lower(), match[2].strip().strip('"'))
    return found


def made_with(meta: Mapping[str, str]) -> str:
    """Returns the release of the ontology that the header names: its date where it gives a release address."""
    text = meta.get("hpo-version", "")
    match = _RELEASE.search(text)
    return match[1] if match else text
