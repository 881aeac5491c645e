"""One object of a STIX bundle: its properties by type, its ids, its age, and whether it is retired."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = [
    "ACTORS", "ATTACK_ID_SOURCES", "GROUP", "KINDS", "MATRIX", "TACTIC", "TECHNIQUE", "UNKNOWN_TIME", "StixObject",
    "Time", "is_true", "time_of", "type_of",
]  # fmt: skip

TECHNIQUE, TACTIC, GROUP, MATRIX = "attack-pattern", "x-mitre-tactic", "intrusion-set", "x-mitre-matrix"

ACTORS: Mapping[str, tuple[str, ...]] = {
    "group": (GROUP,),
    "software": ("malware", "tool"),
    "campaign": ("campaign",),
}
"""What may use techniques, by the word for it, with its types of objects."""

KINDS = frozenset(
    {
        TECHNIQUE, TACTIC, GROUP, "campaign", "course-of-action", "malware", "tool", "x-mitre-asset",
        "x-mitre-data-component", "x-mitre-detection-strategy",
    }
)  # fmt: skip
"""Types of the objects that relationships of an attack library join."""

# The name of the source decides, not the place in the list: the first reference is often a report, or CAPEC's id.
ATTACK_ID_SOURCES = frozenset({"mitre-attack", "mitre-ics-attack", "mitre-mobile-attack", "mitre-pre-attack"})
_CAPEC_ID_SOURCES = frozenset({"capec"})
_CAPEC_MARK = "x_capec_version"  # on every object of CAPEC itself; techniques that only cite a pattern lack it
_CAPEC_RETIRED = frozenset({"Deprecated", "Obsolete"})

_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
UNKNOWN_TIME = ("", "")

Time = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StixObject:
    """One object of a bundle.

    Attributes:
        id: its STIX id.
        type: such as ``attack-pattern``.
        values: its properties as read.
        where: its place, such as ``objects[3]``, counted from 0.
        position: the number in it.
        former_ids: ATT&CK ids that older versions of it had and this one has not.
    """

    id: str
    type: str
    values: Mapping[str, Any]
    where: str
    position: int
    former_ids: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """Returns a property that is a text, without blanks around it; empty where there is none."""
        value = self.values.get(name)
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Returns the texts in a property that is a list; none where there is no list."""
        value = self.values.get(name)
        return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []

    def parts(self, name: str) -> list[Mapping[str, Any]]:
        """Returns the objects in a property that is a list; none where there is no list."""
        value = self.values.get(name)
        return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []

    @property
    def retired(self) -> bool:
        """Whether it is revoked, deprecated or obsolete."""
        return (
            is_true(self.values.get("revoked"))
            or is_true(self.values.get("x_mitre_deprecated"))
            or self.text("x_capec_status") in _CAPEC_RETIRED
        )

    @property
    def time(self) -> Time:
        """When it was last changed, as a pair that sorts by time."""
        return time_of(self.values.get("modified"))

    @property
    def _id_sources(self) -> frozenset[str]:
        return _CAPEC_ID_SOURCES if _CAPEC_MARK in self.values else ATTACK_ID_SOURCES

    @property
    def attack_ids(self) -> list[str]:
        """The ids that ATT&CK gives it, or CAPEC its own patterns, each once; nearly always one."""
        sources = self._id_sources
        found: dict[str, None] = {}
        for reference in self.parts("external_references"):
            name, given = reference.get("source_name"), reference.get("external_id")
            if isinstance(name, str) and name in sources and isinstance(given, str) and given.strip():
                found[given.strip()] = None
        return list(found)

    @property
    def key(self) -> str:
        """Its first ATT&CK id, or its STIX id where it has none."""
        return next(iter(self.attack_ids), self.id)

    @property
    def aliases(self) -> list[str]:
        """Its other names, and often its name among them; software has them under a name of ATT&CK's own."""
        return self.texts("aliases") or self.texts("x_mitre_aliases")

    @property
    def references(self) -> list[str]:
        """Name and address of each external reference that gives it no id of its own, each once."""
        sources = self._id_sources
        found: dict[str, None] = {}
        for reference in self.parts("external_references"):
            name = reference.get("source_name")
            if not isinstance(name, str) or name not in sources:
                words = (reference.get(part) for part in ("source_name", "external_id", "url"))
                found[" ".join(" ".join(word.split()) for word in words if isinstance(word, str))] = None
        return [reference for reference in found if reference]


def time_of(stamp: object) -> Time:
    """Returns a time stamp as a pair that sorts by time: seconds, then the decimals, of which there may be any."""
    parts = _STAMP.fullmatch(stamp) if isinstance(stamp, str) else None
    if parts is None:
        return UNKNOWN_TIME
    seconds, decimals, zone = parts[1], (parts[2] or "").rstrip("0"), parts[3]
    if zone != "Z":
        try:
            seconds = datetime.fromisoformat(seconds + zone).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        except (ValueError, OverflowError):
            return UNKNOWN_TIME
    return seconds, decimals


def type_of(stix_id: str) -> str:
    """Returns the type that a STIX id begins with."""
    return stix_id.partition("--")[0]


def is_true(value: object) -> bool:
    """Returns whether a mark is set, also where it is written as text."""
    return value is True or (value is not None and str(value).strip().lower() in ("true", "1"))
