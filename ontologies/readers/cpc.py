"""Reader of the Cooperative Patent Classification: title lists and scheme files, alone or as an archive of sections."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from ..builder import OntologyBuilder
from ..magic import refusal
from ..ontology import Ontology
from ..report import FileLines, LoadReport
from ..source import SourceLike, decode_lines, read_source
from ..stream import HashedStream, Readable, Rejoined, head_of, line_blocks, members, reading
from .cpc_items import Item
from .cpc_scheme import is_scheme, read_scheme
from .cpc_titles import is_title_list, read_titles

__all__ = ["can_read", "read_cpc", "release_of", "version_in"]

_HEAD = 65536
_STATED = re.compile(rb'<class-scheme\b[^>]*?\b(?:publication|export)-date="([0-9-]{10})"')
_DAY = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12][0-9]|3[01]))?(?![0-9])")


def can_read(content: bytes) -> bool:
    r"""Returns whether uncompressed content, or its beginning, is that of a title list or a scheme file.

    >>> can_read(b"A\t\tHUMAN NECESSITIES\n")
    True
    """
    return is_scheme(content[:_HEAD]) or is_title_list(decode_lines(content[:_HEAD], LoadReport(""))[:60])


def version_in(name: str) -> str:
    """Returns the day, or the month, that the name of a file holds: a title list as published states none inside.

    >>> version_in("cpc-section-A_20250501.txt"), version_in("CPCTitleList202505.zip")
    ('2025-05-01', '2025-05')
    """
    match = _DAY.search(PurePath(name).name)
    return "-".join(part for part in match.groups() if part) if match else ""


def release_of(head: bytes, name: str) -> str:
    """Returns the day that a file states which begins with ``head``, else the one in the name of the file."""
    stated = _STATED.search(head[:_HEAD])
    if stated:
        return stated[1].decode("ascii")
    comment = head[:_HEAD].decode("utf-8", "replace").partition("\n")[0]
    return (version_in(comment) if comment.startswith("#") else "") or version_in(name)


def read_cpc(source: SourceLike, *, strict: bool = False, name: str | None = None) -> Ontology:
    r"""Returns the classification in a title list or a scheme file, or in an archive of such files.

    An entry of the scheme that only heads a run of groups and has the symbol of the first of them is no term; its
    title is kept as a note. Marks of the terms: ``not-allocatable``, ``additional-only``, ``breakdown``, ``frozen``.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        strict: refuse a file with a warning, naming the first one by line, instead of reporting and going on.
        name: name of the source in reports.

    Raises:
        ParseError: no file in it is one of CPC, one is damaged, or has a warning under ``strict``.
        CycleFound: the is-a relation has a cycle.
        DataMissing: there is no such file.

    >>> read_cpc(b"A\t\tHUMAN NECESSITIES\nA01\t\tAGRICULTURE\n").term("A01").parents
    ('A',)
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    builder = OntologyBuilder(report)
    collector = _Collector(builder)
    places = FileLines()
    sums: dict[str, str] = {}
    versions: list[str] = []
    with reading(opened):
        for member in members(opened):
            own = LoadReport(f"{opened.path}!{member.name}" if member.name else opened.path)
            hashed = HashedStream(member.stream)
            found = _read_member(hashed, own)
            if found is None:
                report.note("other-file", f"{member.name or opened.path} is no file of CPC; it was not read")
                continue
            version, items = found
            for item in items:
                collector.add(item, own, places.number(member.name, item.line) if member.name else item.line)
            report.entries += [replace(entry, path=report.path, where=member.name) for entry in own]
            sums[member.name] = hashed.sha256
            versions.append(version or version_in(member.name))
    if not sums:
        raise refusal(
            head_of(opened),
            asked=f"read {opened.path} as CPC",
            path=opened.path,
            otherwise=", which is neither a title list nor a scheme file",
            do="Give CPCTitleList or CPCSchemeXML of the Cooperative Patent Classification, or a file out of it.",
        )
    report.place_of = None if list(sums) == [""] else places.place_of
    ontology = builder.freeze(name="cpc", version=max(versions), sha256=_fingerprint(sums), note_nameless=True)
    report.place_of = None
    if strict:
        report.require_clean()
    return ontology


def _read_member(stream: Readable, report: LoadReport) -> tuple[str, Iterable[Item]] | None:
    """Returns the version that a file states and its entries, or None where it is no file of CPC."""
    head = stream.read(_HEAD)
    whole = Rejoined(head, stream)
    if is_scheme(head):
        return read_scheme(whole, report.path, report)
    if is_title_list(decode_lines(head, LoadReport(""))[:60]):
        return release_of(head, ""), read_titles(line_blocks(whole, report), report)
    while stream.read(_HEAD):  # so that its sum is that of the whole file
        pass
    return None


class _Collector:
    """Hands the entries of all files on to the builder, each symbol once.

    Scheme files repeat the entries in which they hang: a class stands in the file of its section and in its own.
    """

    def __init__(self, builder: OntologyBuilder) -> None:
        self.builder = builder
        self.taken: dict[str, Item] = {}

    def add(self, item: Item, report: LoadReport, line: int) -> None:
        """Takes one entry; ``line`` is its line, or the number of that among those of several files."""
        builder, symbol = self.builder, item.symbol
        if item.heading:
            if item.title:
                message = f"{item.title!r} heads the groups from {symbol} on; a heading is no term"
                report.note("heading", message, [item.line], [symbol])
            return
        first = self.taken.get(symbol)
        if first is None:
            self.taken[symbol] = item
            builder.define(symbol, line)
            if item.deleted:
                builder.retire(symbol, line)
            for mark in item.marks:
                builder.mark(symbol, mark)
        else:
            self._check_again(item, first, report)
        if item.title and not (first and first.title):
            builder.set_name(symbol, item.title, line)
        if item.whole and not (first and first.whole):
            builder.set_definition(symbol, item.whole, line=line)
        if item.parent and not item.deleted:
            builder.add_parent(symbol, item.parent, line)
        if first is not None:
            first.title, first.whole = first.title or item.title, first.whole or item.whole
            first.parent = first.parent or item.parent

    def _check_again(self, item: Item, first: Item, report: LoadReport) -> None:
        lines, ids = [item.line], [item.symbol]
        if item.title and first.title and item.title != first.title:
            message = f"{item.symbol} has a second title, {item.title!r}; {first.title!r} was kept"
            report.warn("second-name", message, lines, ids)
        if item.parent and first.parent and item.parent != first.parent:
            message = f"{item.symbol} stands below {item.parent} and below {first.parent}; both were kept"
            report.warn("second-parent", message, lines, [*ids, item.parent, first.parent])
        if sorted(item.marks) != sorted(first.marks):
            message = f"{item.symbol} is marked in two ways; the first was kept"
            report.warn("second-marks", message, lines, ids)


def _fingerprint(sums: dict[str, str]) -> str:
    """Returns the SHA-256 of the one file; of several, that of their names and sums."""
    if list(sums) == [""]:
        return sums[""]
    listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
    return hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()
