"""What a loader noticed: notes, warnings and errors, each with file, line and ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace

from ..errors import ParseError

__all__ = ["Entry", "FileLines", "LoadReport", "Tally"]


@dataclass(frozen=True)
class Entry:
    """One thing a loader noticed.

    Attributes:
        severity: ``"note"`` (nothing lost), ``"warning"`` (something was repaired or left out) or ``"error"`` (one
            record could not be used).
        kind: stable short name of the fault, such as ``"self-loop"``.
        message: one sentence for a person.
        path: the file as the caller named it.
        lines: line numbers, counted from 1; empty where a line makes no sense.
        ids: ids concerned.
        where: JSON path inside the file, for formats without lines; the one file that the lines are of, of several.
    """

    severity: str
    kind: str
    message: str
    path: str
    lines: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()
    where: str = ""

    def __str__(self) -> str:
        place = self.path + (f" {self.where}" if self.where else "") + "".join(f":{n}" for n in self.lines[:1])
        return f"{place}: {self.severity}: {self.message}"


@dataclass
class LoadReport:
    """The entries of one load, in the order in which they were noticed.

    Args:
        path: file named in the entries.
        strict: when true, the first warning or error raises ParseError instead of being recorded.
        place_of: for formats without lines, and for several files read as one, what a line number given here stands
            for: a place, and a line in it or 0. Of several places the first one counts.
    """

    path: str
    strict: bool = False
    entries: list[Entry] = field(default_factory=list)
    place_of: Callable[[int], tuple[str, int]] | None = None

    def note(
        self, kind: str, message: str, lines: Iterable[int] = (), ids: Iterable[str] = (), where: str = ""
    ) -> None:
        """Records something worth knowing by which nothing was lost."""
        self._add("note", kind, message, lines, ids, where)

    def warn(
        self, kind: str, message: str, lines: Iterable[int] = (), ids: Iterable[str] = (), where: str = ""
    ) -> None:
        """Records something that was repaired or left out. Under ``strict`` this refuses the file."""
        self._add("warning", kind, message, lines, ids, where)

    def error(
        self, kind: str, message: str, lines: Iterable[int] = (), ids: Iterable[str] = (), where: str = ""
    ) -> None:
        """Records a part of the file that could not be used at all. Under ``strict`` this refuses the file."""
        self._add("error", kind, message, lines, ids, where)

    def _add(
        self, severity: str, kind: str, message: str, lines: Iterable[int], ids: Iterable[str], where: str
    ) -> None:
        entry = Entry(severity, kind, message, self.path, tuple(lines), tuple(ids), where)
        if self.place_of is not None and entry.lines:
            places = [self.place_of(number) for number in entry.lines]
            mine = tuple(line for place, line in places if line and place == places[0][0])
            entry = replace(entry, lines=mine, where=where or places[0][0])
        if self.strict and severity != "note":
            raise _refusal(entry)
        self.entries.append(entry)

    def require_clean(self) -> None:
        """Refuses a file that was read leniently where a strict reader would have.

        A reader that checks in several passes calls this at the end, so that the fault named is the first one in the
        file and not the first one met.

        Raises:
            ParseError: there is a warning or an error; the one on the smallest line is named, those without a line
                come last.
        """
        faults = [e for e in self.entries if e.severity != "note"]
        if faults:
            raise _refusal(min(faults, key=lambda e: (not e.lines, min(e.lines, default=0))))

    @property
    def notes(self) -> list[Entry]:
        """The entries by which nothing was lost."""
        return [e for e in self.entries if e.severity == "note"]

    @property
    def warnings(self) -> list[Entry]:
        """The entries about repaired or left-out content."""
        return [e for e in self.entries if e.severity == "warning"]

    @property
    def faults(self) -> list[Entry]:
        """The warnings and errors: all by which something was repaired or lost."""
        return [e for e in self.entries if e.severity != "note"]

    @property
    def errors(self) -> list[Entry]:
        """The entries about parts that could not be used."""
        return [e for e in self.entries if e.severity == "error"]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def to_json(self) -> str:
        """Returns the entries as JSON text, for a compiled file; paths are left out, since artefacts hold none."""
        rows = [{k: v for k, v in asdict(e).items() if k != "path"} for e in self.entries]
        return json.dumps(rows, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, path: str) -> LoadReport:
        """Returns the report that ``to_json`` wrote, with ``path`` (today's name of the same bytes) in every entry."""
        rows = json.loads(text)
        return cls(
            path,
            entries=[
                Entry(r["severity"], r["kind"], r["message"], path, tuple(r["lines"]), tuple(r["ids"]), r["where"])
                for r in rows
            ],
        )


class FileLines:
    """Numbers for the lines of several files that are read as one, for a report whose ``place_of`` is that of this.

    >>> lines = FileLines()
    >>> lines.place_of(lines.number("a.xml", 12))
    ('a.xml', 12)
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}

    def number(self, file: str, line: int) -> int:
        """Returns the number that stands for a line, from 1, of a file."""
        return (self._files.setdefault(file, len(self._files)) << 32) + line

    def place_of(self, number: int) -> tuple[str, int]:
        """Returns the file and the line that a number stands for."""
        return list(self._files)[number >> 32], number & 0xFFFFFFFF


class Tally:
    """Notes that many lines of a file share, told once each with all their lines."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], list[int]] = {}

    def add(self, kind: str, message: str, line: int) -> None:
        """Adds one line to the note ``message``."""
        self._lines.setdefault((kind, message), []).append(line)

    def tell(self, report: LoadReport) -> None:
        """Adds the notes to ``report``, by kind and message."""
        for (kind, message), lines in sorted(self._lines.items()):
            report.note(kind, f"{message} ({len(lines)} times)", lines)


def _refusal(entry: Entry) -> ParseError:
    """Returns the error by which a strict reader refuses a file for ``entry``."""
    line = min(entry.lines, default=None)
    at = [
        *([entry.where or entry.path] if entry.where or line is not None else []),
        *([f"line {line}"] if line else []),
    ]
    place = f" ({' '.join(at)})" if at else ""
    return ParseError(
        f"strict reading of {entry.path}",
        f"{entry.message}{place}",
        "Mend the file, or read it without strict input, which reports this and goes on.",
        path=entry.path,
        line=line,
    )
