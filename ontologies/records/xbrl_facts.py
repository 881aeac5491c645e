"""What one XBRL instance reports, in whatever form it was written: concepts with their contexts, and its cover."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .sec_names import written_day

__all__ = ["Instance", "standard_prefix"]

_STANDARD = re.compile(
    r"https?://(?:[\w.-]+\.)?(?:fasb\.org|xbrl\.sec\.gov|xbrl\.us|xbrl\.ifrs\.org)/(?:taxonomy/)?(.+)"
)
_DATE = re.compile(r"\d{4}(?:-\d{2}-\d{2})?")
_DEI = {
    "EntityRegistrantName": "company", "EntityCentralIndexKey": "cik", "DocumentType": "form",
    "DocumentPeriodEndDate": "period", "DocumentFiscalYearFocus": "fiscal-year",
    "DocumentFiscalPeriodFocus": "fiscal-period", "TradingSymbol": "ticker",
}  # fmt: skip


@dataclass
class Instance:
    """What one instance reports. Contexts may be described behind the facts, so that these are told at the end.

    Attributes:
        uses: the first line of each concept in each context, by namespace, name and context.
        segmented: contexts of a part of the company.
        told: what the filing says of itself: attribute, context, text.
        empty: number of facts that are said to have no value.
        elsewhere: number of facts that a page shows for another instance, by its name.
    """

    uses: dict[tuple[str, str, str], int] = field(default_factory=dict)
    segmented: set[str] = field(default_factory=set)
    told: list[tuple[str, str, str]] = field(default_factory=list)
    empty: int = 0
    elsewhere: dict[str, int] = field(default_factory=dict)

    def use(self, space: str, local: str, context: str, line: int, *, is_nil: bool) -> str:
        """Adds a fact. Returns which attribute of the filing its text is, or an empty string."""
        if is_nil:
            self.empty += 1
            return ""
        self.uses.setdefault((space, local, context), line)
        return _DEI.get(local, "") if standard_prefix(space) == "dei" else ""

    def tell(self, attribute: str, context: str, text: str, form: str = "") -> None:
        """Adds what the filing says of itself; ``form`` is how a page says that the text is written."""
        text = " ".join(text.split())
        self.told.append((attribute, context, written_day(text, form) if attribute == "period" else text))

    @property
    def about(self) -> dict[str, str]:
        """What the filing says of itself as a whole, by attribute."""
        found: dict[str, str] = {}
        for attribute, context, text in self.told:
            if context not in self.segmented:
                found.setdefault(attribute, text)
        return found

    @property
    def key(self) -> str:
        """Number of the company, form and end of the period, as far as the filing states them."""
        about = self.about
        return ":".join(about[part] for part in ("cik", "form", "period") if about.get(part))

    @property
    def facts(self) -> dict[tuple[str, str], tuple[int, bool]]:
        """The first line of each concept, by namespace and name, and whether it is told of the whole company."""
        found: dict[tuple[str, str], tuple[int, bool]] = {}
        for (space, local, context), line in self.uses.items():
            first, whole = found.get((space, local), (line, False))
            found[space, local] = min(first, line), whole or context not in self.segmented
        return found

    def take(self, other: Instance) -> None:
        """Adds what another page of the same filing shows."""
        self.uses = {**other.uses, **self.uses}
        self.segmented |= other.segmented
        self.told += other.told
        self.empty += other.empty
        for target, count in other.elsewhere.items():
            self.elsewhere[target] = self.elsewhere.get(target, 0) + count


def standard_prefix(space: str) -> str:
    """Returns the usual prefix of a standard namespace, empty for that of a company.

    >>> standard_prefix("http://fasb.org/us-gaap/2024"), standard_prefix("http://toy.example/2024")
    ('us-gaap', '')
    """
    match = _STANDARD.match(space)
    if match is None:
        return ""
    return next((part for part in match[1].split("/") if part and not _DATE.fullmatch(part)), "")
