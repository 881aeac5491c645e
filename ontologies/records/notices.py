"""What a reader of a table has to say, kept until all is known, so that it is told in the order of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..ontology import Ontology, Resolution
from ..report import LoadReport
from .columns import Int32
from .pool import Pooled
from .tab import Table

__all__ = ["Notices", "TermNotice", "its_rows", "join_shown", "told_of_term"]

_SHOWN = 6  # groups spelled out in a message


class Notices:
    """Entries for a report, and the lines of a table that they are about.

    Args:
        table: the table that is being read.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._entries: list[tuple[str, str, str, Sequence[int], tuple[str, ...]]] = []
        self._sorted: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def note(self, kind: str, message: str, lines: Sequence[int] = (), ids: tuple[str, ...] = ()) -> None:
        """Keeps something by which nothing was lost."""
        self._entries.append(("note", kind, message, lines, ids))

    def warn(self, kind: str, message: str, lines: Sequence[int] = (), ids: tuple[str, ...] = ()) -> None:
        """Keeps something that was repaired or left out."""
        self._entries.append(("warning", kind, message, lines, ids))

    def tell(self, report: LoadReport) -> None:
        """Adds the entries to ``report``, those without lines first."""
        for severity, kind, message, lines, ids in sorted(self._entries, key=lambda e: list(e[3][:1])):
            (report.note if severity == "note" else report.warn)(kind, message, lines, ids)

    def lines(self, column: str, code: int) -> list[int]:
        """Returns the lines whose field in ``column`` has this code, ascending."""
        if column not in self._sorted:  # so that a file whose every row is at fault takes no quadratic time
            codes = self.table.codes[column]
            order = np.argsort(codes, kind="stable")
            self._sorted[column] = order, np.searchsorted(codes[order], np.arange(len(self.table.values[column]) + 1))
        order, ptr = self._sorted[column]
        found: list[int] = self.table.line[order[ptr[code] : ptr[code + 1]]].tolist()
        return found

    def by_text(self, column: str, numbers: Sequence[int]) -> Int32:
        """Returns, for each row, the number that stands in ``numbers`` for the text of its field in ``column``."""
        return np.array([*numbers, -1], np.int32)[self.table.codes[column]]

    def widths(self, width: int, least: int) -> None:
        """Warns of lines that have other columns than ``width``; those with at least ``least`` lack nothing."""
        short = [b for b in self.table.uneven if b.found < least]
        far = [b for b in self.table.uneven if b.found > width]
        for uneven, what in (
            (self.table.broken, "left out"),
            (short, "what is missing counts as empty"),
            (far, "the columns beyond are ignored"),
        ):
            for found in sorted({line.found for line in uneven}):
                lines = [line.line for line in uneven if line.found == found]
                have = "the line has" if len(lines) == 1 else f"{len(lines)} lines have"
                columns = "1 column" if found == 1 else f"{found} columns"
                self.warn("columns", f"{have} {columns} instead of {width}; {what}", lines)

    def equal_profiles(self, keys: Sequence[str], pooled: Pooled, many: str) -> None:
        """Notes which records have exactly the same terms, present and excluded: no query can tell them apart."""
        same: dict[bytes, list[str]] = {}
        profile = pooled.term.astype(np.int64) * 2 + pooled.excluded
        for key, start, end in zip(keys, pooled.ptr[:-1].tolist(), pooled.ptr[1:].tolist(), strict=True):
            if end > start:
                same.setdefault(profile[start:end].tobytes(), []).append(key)
        groups = [group for group in same.values() if len(group) > 1]
        if groups:
            count = sum(map(len, groups))
            shown = "; ".join(join_shown(group) for group in groups[:_SHOWN])
            more = f"; and {len(groups) - _SHOWN} groups more" if len(groups) > _SHOWN else ""
            message = f"{count} {many} have exactly the terms of others, in {len(groups)} groups: {shown}{more}"
            self.note("equal-profile", message, (), tuple(key for group in groups[:_SHOWN] for key in group))

    def resolve(self, column: str, ontology: Ontology) -> list[int]:
        """Returns the term that each text of ``column`` stands for today, -1 for none, and keeps what is to be told."""
        numbers: list[int] = []
        for code, asked in enumerate(self.table.values[column]):
            found = ontology.resolve(asked)
            numbers.append(found.index)
            if not asked or found.status == "live":
                continue
            lines = self.lines(column, code)
            told = told_of_term(asked, found, ontology, lines)
            (self.note if told.severity == "note" else self.warn)(told.kind, told.message, lines, told.ids)
        return numbers


class TermNotice(NamedTuple):
    """What is to be told of an id that is not live."""

    severity: str
    kind: str
    message: str
    ids: tuple[str, ...]


def told_of_term(asked: str, found: Resolution, ontology: Ontology, lines: Sequence[int]) -> TermNotice:
    """Returns what is to be told of ``asked``, an id on ``lines`` that is not that of a live term."""
    if found.used is not None:
        message = f"{asked} is an old id of {found.used}, which is used instead"
        return TermNotice("note", "old-id", message, (asked, found.used))
    if found.status == "retired":
        hint = f"; candidates: {', '.join(found.candidates)}" if found.candidates else ""
        message = f"{asked} is retired without one replacement{hint}; {its_rows(lines)} left out"
        return TermNotice("warning", "retired-id", message, (asked, *found.candidates))
    why = "named but never defined" if found.status == "placeholder" else "unknown"
    message = f"{asked} is {why} in {ontology.label}; {its_rows(lines)} left out"
    return TermNotice("warning", "unknown-id", message, (asked,))


def its_rows(lines: Sequence[int]) -> str:
    """Returns the rows on ``lines`` as the subject of a clause."""
    return f"its {len(lines)} rows are" if len(lines) != 1 else "its row is"


def join_shown(things: Sequence[object], most: int = 6) -> str:
    """Returns ``things`` as a list in words, those beyond ``most`` counted."""
    shown = [str(thing) for thing in things[:most]]
    if len(things) > len(shown):
        return f"{', '.join(shown)} and {len(things) - len(shown)} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
