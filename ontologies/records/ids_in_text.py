"""Ids of terms in plain text and in tables of values, each with the line where it stands."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from .sightings import SightingList

__all__ = ["ATTACK_IDS", "IdForm", "id_column_of", "see_table", "see_text"]

_DELIMITERS = (",", ";", "\t", "|")
_TRIED_ROWS = 50  # rows by which a table is told from text
_PREFIX = re.compile(r"([A-Za-z]\w*):")
_IN_CELL = re.compile(r"[\s,;|]+")
_LONGEST_CELL = 60  # characters of a cell that are told


@dataclass(frozen=True)
class IdForm:
    """How ids of an ontology are written in other people's text.

    Attributes:
        whole: what an id is.
        search: finds what is an id or looks like one.
        prefix: what may stand before an id as part of its writing, such as the name space of a tag.
        written: what may stand in an id in the place of something else, such as of a full stop.
        several: finds what reads like several ids of which some are not written out.
    """

    whole: re.Pattern[str]
    search: re.Pattern[str]
    prefix: str = ""
    written: Mapping[str, str] = field(default_factory=dict)
    several: re.Pattern[str] | None = None

    @classmethod
    def of(cls, pattern: str) -> IdForm:
        """Returns the form of ids that ``pattern`` describes.

        Where they begin with a prefix and a colon, they are also known from addresses of the OBO Foundry, which have an
        underscore there. In another case they look like ids and are none.

        >>> [found for found, _ in IdForm.of("HP:[0-9]{7}").ids_in("HP:0001166, HP_0001083, HP:00011660")]
        ['HP:0001166', 'HP:0001083']
        """
        bounds = r"(?<![A-Za-z0-9])(?:{})(?![A-Za-z0-9])"
        prefix = _PREFIX.match(pattern)
        if prefix is None:
            return cls(re.compile(pattern), re.compile(bounds.format(pattern)))
        search = f"{prefix[1]}[:_]{pattern[prefix.end() :]}"
        return cls(re.compile(pattern), re.compile(bounds.format(search), re.IGNORECASE), written={"_": ":"})

    def ids_in(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yields what stands in ``text`` as an id, spelled as the ontology does, and whether it is one."""
        for match in self.search.finditer(text):
            found = match[0]
            if self.prefix and found.startswith(self.prefix):
                found = found[len(self.prefix) :].upper()
            for other, usual in self.written.items():
                found = found.replace(other, usual)
            yield found, self.whole.fullmatch(found) is not None


# A sub-technique is written T1059/001 in addresses of ATT&CK's pages, attack.t1059.001 in tags of Sigma rules, and
# T1059[.]001 by people who break addresses on purpose. Possessive, so that no part of a longer word passes for an id.
_STOP = r"(?:\.|\[\.\]|\(\.\))"
ATTACK_IDS = IdForm(
    whole=re.compile(r"T[0-9]{4}(?:\.[0-9]{3})?"),
    search=re.compile(
        r"(?<![A-Za-z0-9])"
        rf"(?:[Tt][0-9]{{4}}(?:{_STOP}[0-9]++|/[0-9]{{3}}(?![0-9]))?+|attack\.t[0-9]{{4}}(?:\.[0-9]++)?+)"
        r"(?![A-Za-z0-9])"
    ),
    prefix="attack.",
    written={"[.]": ".", "(.)": ".", "/": "."},
    several=re.compile(
        rf"(?<![A-Za-z0-9])(T[0-9]{{4}})(?:{_STOP}|/)[0-9]{{3}}(?![0-9])"
        r"(?:[-\u2013\u2014/][0-9]{3}(?![0-9])"
        r"|\s*(?:[-\u2013\u2014,/&]|and|or|to)?\s*\.[0-9]{3}(?![0-9])"
        rf"|\s*(?:[-\u2013\u2014]|to|through)\s*\1(?:{_STOP}|/)[0-9]{{3}}(?![0-9]))"
    ),
)


def see_text(lines: Sequence[str], form: IdForm, found: SightingList) -> None:
    """Adds the ids in ``lines``, each with its line, counted from 1."""
    for number, line in enumerate(lines, 1):
        _see(line, f"line {number}", form, found)


def see_table(lines: Sequence[str], delimiter: str, columns: Sequence[int], form: IdForm, found: SightingList) -> None:
    """Adds the ids in some columns of a table; ids in other columns are counted in a note.

    Args:
        lines: the lines of the file.
        delimiter: what parts its cells.
        columns: numbers of the columns that hold ids, counted from 0.
        form: how ids are written.
        found: what to add to.
    """
    elsewhere = 0
    for at, (first, row) in enumerate(_rows(lines, delimiter)):
        where = f"line {first}"
        for number, cell in enumerate(row):
            if number in columns:
                has_any = _see(cell, where, form, found)
                if at and cell.strip() and not has_any:  # the first row may name the columns
                    found.pass_over(cell.strip()[:_LONGEST_CELL], "malformed", "stands in a column of ids", where)
            else:
                elsewhere += sum(1 for _ in form.ids_in(cell))
    if elsewhere:
        found.notes.append(f"{elsewhere} ids outside the columns that hold ids alone were not used")


def id_column_of(lines: Sequence[str], form: IdForm) -> tuple[str, list[int]] | None:
    """Returns the delimiter of a table and the numbers of its columns of ids; None where ``lines`` are no such table.

    A column holds ids where more than half of its filled cells are ids alone, perhaps several to a cell.
    """
    head = [line for line in islice(lines, 10 * _TRIED_ROWS) if line.strip()][:_TRIED_ROWS]
    if len(head) < 2:
        return None
    for delimiter in _DELIMITERS:
        if delimiter not in head[0]:
            continue
        try:
            rows = [row for _, row in _rows(head, delimiter) if row]
            for _ in _rows(lines, delimiter):
                pass  # a fault further down makes it text
        except csv.Error:
            continue
        if len(rows) < 2 or len({len(row) for row in rows}) != 1:
            continue
        columns = [number for number in range(len(rows[0])) if _holds_ids([row[number] for row in rows[1:]], form)]
        if columns:
            return delimiter, columns
    return None


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows of a table, each with its first line, counted from 1."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    first = 1
    for row in reader:
        yield first, row
        first = reader.line_num + 1


def _holds_ids(cells: Sequence[str], form: IdForm) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and 2 * sum(_is_ids(cell, form) for cell in filled) > len(filled)


def _is_ids(cell: str, form: IdForm) -> bool:
    words = [word for word in _IN_CELL.split(cell.strip()) if word]
    return bool(words) and all(form.search.fullmatch(word) for word in words)


def _see(text: str, where: str, form: IdForm, found: SightingList) -> bool:
    """Adds what stands in a text as an id. Returns whether anything there looks like one."""
    has_any = False
    for term, is_id in form.ids_in(text):
        has_any = True
        if is_id:
            found.see(term, where)
        else:
            hint = f"; did you mean {term.upper()}?" if form.whole.fullmatch(term.upper()) else ""
            found.pass_over(term, "malformed", f"looks like an id but is none{hint}", where)
    for match in form.several.finditer(text) if form.several is not None else ():
        found.pass_over(match[0], "malformed", "reads like several ids; only those written out count", where)
    return has_any
