"""The header of an OBO file: its tags as read, and the name and release that they state."""

from __future__ import annotations

import re

from ..report import LoadReport
from .obo_syntax import read_header_date, split_tail, unescape

__all__ = ["OboHeader"]

_KNOWN = frozenset({"format-version", "data-version", "date", "ontology", "import", "property_value"})
_RELEASE = re.compile(r"(?:^|/)releases/([^/\s]+)")
_VERSION_INFO = re.compile(r'owl:versionInfo\s+"?([^"\s]+)')


class OboHeader:
    """The header in the making.

    Attributes:
        tags: values of each tag in the order of the file, as read.
    """

    def __init__(self, report: LoadReport) -> None:
        self.tags: dict[str, list[str]] = {}
        self._report = report
        self._date = ""

    def add(self, tag: str, value: str, line: int) -> None:
        """Adds one header line. A known tag in another spelling is read as that tag."""
        spelled = tag.lower() if tag.lower() == "property_value" else tag.lower().replace("_", "-")
        if spelled != tag and spelled in _KNOWN:
            self._report.warn("odd-tag", f"tag {tag!r} was read as {spelled!r}", [line])
            tag = spelled
        self.tags.setdefault(tag, []).append(value)
        if tag == "date":
            day = read_header_date(split_tail(value)[0])
            self._date = self._date or day or ""
            if day is None:
                self._report.warn("bad-date", f"date: {value!r} is no date of the form dd:MM:yyyy HH:mm", [line])
        elif tag == "import":
            self._report.note("import", f"the import of {value} is not followed", [line])
        elif tag.startswith("treat-xrefs-as-"):
            self._report.note("macro", f"{tag} is not carried out: cross-references draw no edge", [line])

    @property
    def name(self) -> str:
        """Short name without its file ending or web address, empty where the file states none."""
        name = self._first("ontology")
        return re.sub(r"\.(?:obo|owl)$", "", name.rsplit("/", 1)[-1] if "://" in name else name)

    @property
    def version(self) -> str:
        """Release from data-version, else from owl:versionInfo, else the date as ``yyyy-MM-dd``, else empty."""
        stated = self._first("data-version")
        if not stated:
            infos = (_VERSION_INFO.match(value) for value in self.tags.get("property_value", ()))
            stated = next((info[1] for info in infos if info), "")
        release = _RELEASE.search(stated)
        return release[1] if release else stated or self._date

    @property
    def bases(self) -> list[str]:
        """Prefixes that the file gives a web address, each with that, as ``BASE_TAG`` has them."""
        words = (unescape(split_tail(value)[0]).split() for value in self.tags.get("idspace", ()))
        return sorted({f"{word[0]} {word[1]}" for word in words if len(word) > 1 and "://" in word[1]})

    def _first(self, tag: str) -> str:
        return split_tail(next(iter(self.tags.get(tag, ())), ""))[0]
