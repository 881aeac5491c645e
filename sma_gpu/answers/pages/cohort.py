"""The page of a cohort: a summary, a table of all cases, and a section for each, written as the answers come.

Up to ``WHOLE`` cases stand in one file. More of them make an index, which is whole in itself, and pages of ``PER_PAGE``
cases each in a folder beside it, ``NAME_cases``, so that a telephone can open what it is asked to. Sections are spooled
to a file aside; memory holds one answer and the table.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from urllib.parse import quote

from ..words import Speech, confidence_words, count
from .case import made_from
from .cohort_case import HOW_TO_READ, Row, case_section
from .cohort_table import COHORT_SCRIPT, cohort_table
from .separating import what_gain_means
from .shapes import histogram
from .style import PAGE_END, Html, details, element, facts, join, page_head, section, table

__all__ = ["PER_PAGE", "WHOLE", "CohortPage", "cohort_page"]

WHOLE = 200
PER_PAGE = 100

_REASONS = 12  # reasons for no answer shown; the table has that of every case
_OFTEN = 10  # records that are first most often
_BINS = 10
_PAGE_NAME = re.compile(r"cases-[0-9]{4,}\.html")


class CohortPage:
    """Takes answers one by one and writes the page of them all.

    Args:
        place: of the page; ``NAME_cases`` beside it is the folder of further pages.
        spool: a file for sections until all have come.
        entity: what a record describes.
        common: what all answers of the batch share, as ``head_of`` gives it.
        title: of the domain.
        notice: of the domain, which every page shows.
    """

    def __init__(
        self,
        place: Path,
        spool: IO[bytes],
        entity: str,
        common: Mapping[str, Any],
        *,
        title: str = "",
        notice: str = "",
    ) -> None:
        self._place, self._spool, self._speech, self._common = place, spool, Speech({}, entity), common
        self._title, self._notice = title, notice
        self._rows: list[Row] = []
        self._sizes: list[int] = []
        self._calibration: Mapping[str, Any] | None = None

    def add(self, line: Mapping[str, Any]) -> None:
        """Takes an answer or a failed record."""
        self._rows.append(Row(line))
        self._calibration = self._calibration or line.get("calibration")
        shown = case_section(line, len(self._rows), self._speech.entity, self._common)
        self._sizes.append(self._spool.write(f"{shown}\n".encode()))

    def finish(self, aside: Path) -> None:
        """Writes the page to ``aside``, and further pages to their folder, each whole or not at all."""
        self._spool.seek(0)
        whole = len(self._rows) <= WHOLE
        pages = (
            [] if whole else [range(i, min(i + PER_PAGE, len(self._rows))) for i in range(0, len(self._rows), PER_PAGE)]
        )
        if pages:
            self._folder.mkdir(exist_ok=True)
        for number, cases in enumerate(pages, 1):
            self._write_page(number, cases, len(pages))
        self._remove_stale(len(pages))
        with aside.open("wb") as file:
            file.write(self._head().encode())
            if whole and self._rows:
                file.write(str(element("h2", "Case by case") + _how_to_read()).encode())
                for size in self._sizes:
                    file.write(self._spool.read(size))
            file.write(self._foot().encode())

    @property
    def _folder(self) -> Path:
        return self._place.with_name(f"{self._place.stem}_cases")

    def _address(self, number: int) -> str:
        if len(self._rows) <= WHOLE:
            return f"#c{number}"
        return (
            f"{quote(self._folder.name, errors='surrogateescape')}/{_page_name((number - 1) // PER_PAGE + 1)}#c{number}"
        )

    def _write_page(self, number: int, cases: range, pages: int) -> None:
        path = self._folder / _page_name(number)
        aside = path.with_name(f"{path.name}.part")
        title = f"Cases {cases.start + 1:,} to {cases.stop:,} of {len(self._rows):,}"
        home = quote(self._place.name, errors="surrogateescape")
        links = [element("a", "All cases", href=f"../{home}")]
        links += [element("a", "before", href=_page_name(number - 1))] if number > 1 else []
        links += [element("a", "next", href=_page_name(number + 1))] if number < pages else []
        head = [page_head(title), element("h1", title), element("nav", join(links, Html(" \u00b7 ")))]
        head += [element("p", self._notice, class_="notice")] if self._notice else []
        head += [element("h2", "Case by case"), _how_to_read()]
        try:
            with aside.open("wb") as file:
                file.write(join(head).encode())
                for place in cases:
                    file.write(self._spool.read(self._sizes[place]))
                file.write(PAGE_END.encode())
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)

    def _remove_stale(self, pages: int) -> None:
        """Removes pages of an earlier and larger cohort from the folder; what else lies there stays."""
        if not self._folder.is_dir():
            return
        wanted = {_page_name(number) for number in range(1, pages + 1)}
        for path in sorted(self._folder.iterdir()):
            if _PAGE_NAME.fullmatch(path.name) and path.name not in wanted:
                path.unlink()
        if not pages and not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _head(self) -> Html:
        rows, entity = self._rows, self._speech.entity
        records = self._common["records"]
        lead = f"Asked of {count(records['cases'], entity)}{', ' + self._title if self._title else ''}."
        name = f"Cohort of {count(len(rows), 'case')}"
        parts = [
            page_head(name, script=COHORT_SCRIPT if rows else ""),
            element("header", element("h1", name), element("p", lead, class_="lead")),
        ]
        parts += [element("p", self._notice, class_="notice")] if self._notice else []
        parts.append(section("In short", *self._short(), class_="card"))
        if not rows:
            return join(parts)
        parts.append(
            section("All cases", cohort_table(rows, entity, self._address, calibrated=bool(self._calibration)))
        )
        if len(rows) > WHOLE:
            words = (
                f"With more than {WHOLE} cases, their sections stand on pages of {PER_PAGE} each, in the folder "
                f"{self._folder.name} that belongs to this page."
            )
            parts.append(element("p", words, class_="notice"))
        return join(parts)

    def _short(self) -> list[str]:
        rows = self._rows
        if not rows:
            return [element("p", "The input holds no case.", class_="said")]
        found = Counter(row.status for row in rows)
        figures = [(status, f"{found[status]:,}") for status in ("answered", "abstained", "failed")]
        tied = sum(row.ties > 0 for row in rows)
        figures.append(("first hit tied", f"{tied:,}"))
        if any(row.novel is not None for row in rows):
            figures.append(("look new", f"{sum(bool(row.novel) for row in rows):,}"))
        parts: list[str] = [
            facts(figures),
            element("p", confidence_words(self._calibration), class_="small"),
        ]
        parts.append(self._drawings())
        reasons = Counter(row.reason for row in rows if row.status != "answered")
        if reasons:
            shown = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
            cells = [[reason, f"{number:,}"] for reason, number in shown[:_REASONS]]
            parts.append(table(["why there is no answer", "cases"], cells, numbers=[1]))
            if shown[_REASONS:]:
                rest = sum(number for _, number in shown[_REASONS:])
                others = count(len(shown) - _REASONS, "other reason")
                words = f"{count(rest, 'case')} more for {others}; the table says which."
                parts.append(element("p", words, class_="small"))
        parts.append(self._often())
        return parts

    def _drawings(self) -> Html:
        measure = (
            "Confidence of the first hit" if self._calibration else "Share of the query that the first hit explains"
        )
        drawn = []
        for title, values, kind in (
            (measure, [row.confidence for row in self._rows], "match"),
            ("Novelty of the query", [row.novelty for row in self._rows], "loose"),
            ("What the second hit reaches of the first's score", [row.second for row in self._rows], "plain"),
        ):
            known = [value for value in values if value is not None]
            if known:
                whole = f"{title}, of {count(len(known), 'case')}"
                chart = histogram(_counts(known), _EDGES, whole, kind=kind)
                drawn.append(element("figure", element("figcaption", whole, class_="small"), chart))
        return element("div", *drawn, class_="charts") if drawn else Html("")

    def _often(self) -> Html:
        entity = self._speech.entity
        firsts = Counter(row.hit for row in self._rows if row.hit is not None)
        shown = sorted(((n, hit) for hit, n in firsts.items() if n > 1), key=lambda entry: (-entry[0], entry[1]))
        if not shown:
            return Html("")
        cells = [[self._speech.record({"key": key, "name": name}), f"{n:,}"] for n, (key, name) in shown[:_OFTEN]]
        title = f"First most often: {count(len(firsts), entity)} in all, {len(shown):,} more than once"
        return details(title, table([entity, "first in"], cells, numbers=[1]))

    def _foot(self) -> Html:
        parts: list[str] = []
        known = {"ontology", "dials", "records", "backend"} <= set(self._common)
        if known:
            answer = {"notes": [], **self._common, "calibration": self._calibration}
            parts.append(section("How this was made", made_from(answer, self._speech, self._notice)))
        script = [Html(f"<script>{COHORT_SCRIPT}</script>")] if self._rows else []
        return join([*parts, *script, PAGE_END])


_EDGES = [f"{100 * edge // _BINS}\u00a0%" if edge in (0, _BINS // 2, _BINS) else "" for edge in range(_BINS + 1)]


def _counts(values: Sequence[float]) -> list[int]:
    counts = [0] * _BINS
    for value in values:
        counts[min(max(int(value * _BINS), 0), _BINS - 1)] += 1
    return counts


def _how_to_read() -> Html:
    likely = "each taken to be equally likely where confidences are not calibrated"
    gain = what_gain_means("the doubt", likely)
    return details("How to read a case", element("p", HOW_TO_READ), element("p", gain))


def _page_name(number: int) -> str:
    return f"cases-{number:04d}.html"


@contextmanager
def cohort_page(
    place: Path, aside: Path, entity: str, common: Mapping[str, Any], *, title: str = "", notice: str = ""
) -> Iterator[CohortPage]:
    """Yields what takes the answers of a batch; when all have come, the page is written to ``aside``.

    Args:
        place: where the page will be put.
        aside: where it is written.
        entity: what a record describes.
        common: what all answers share.
        title: of the domain.
        notice: of the domain.
    """
    with TemporaryFile(dir=place.parent, prefix=f"{place.name}.") as spool:
        found = CohortPage(place, spool, entity, common, title=title, notice=notice)
        yield found
        found.finish(aside)
