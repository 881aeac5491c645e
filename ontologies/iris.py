"""Ids for web addresses (IRIs) and back: ``http://purl.obolibrary.org/obo/HP_0000118`` is ``HP:0000118``.

Every prefix stands for one base address, so that an id leads back to the very address that it came from. An address
whose prefix stands for another base already keeps itself as its id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["BASE_TAG", "OBO_BASE", "PLAIN_TAG", "IriTable", "spelled_ids"]

BASE_TAG = "iri-base"
"""Header tag of an ontology whose values hold a prefix, a blank and its base each."""

PLAIN_TAG = "plain-prefix"
"""Header tag whose values are prefixes that ids may be written without, or with an underscore instead of the colon."""

OBO_BASE = "http://purl.obolibrary.org/obo/"

# The prefix may hold underscores itself (APOLLO_SV), the part behind the last one holds none.
_OBO = re.compile(r"([A-Za-z][\w.-]*)_([A-Za-z0-9.-]+)", re.ASCII)
_NUMBERED = re.compile(r"([A-Za-z][\w.-]*)_([A-Za-z]{0,4}[0-9]+)", re.ASCII)
_PREFIX = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_BETWEEN_IDS = re.compile(r"[\s,;|]+")
_ID_SHAPE = re.compile(r"<?[A-Za-z][\w.-]*:\S+|[A-Za-z][\w.-]*_[A-Za-z]{0,4}[0-9]+", re.ASCII)
_SCHEMES = frozenset({"http", "https", "urn", "file", "ftp", "mailto", "tag"})


class IriTable:
    """Base addresses by prefix.

    Args:
        bases: base address of each prefix.

    Example:
        >>> table = IriTable({"EFO": "http://www.ebi.ac.uk/efo/EFO_"})
        >>> table.id_of("http://www.ebi.ac.uk/efo/EFO_0000001")
        'EFO:0000001'
        >>> table.iri_of("EFO:0000001")
        'http://www.ebi.ac.uk/efo/EFO_0000001'
        >>> table.iri_of(table.id_of("http://purl.obolibrary.org/obo/APOLLO_SV_99"))
        'http://purl.obolibrary.org/obo/APOLLO_SV_99'
    """

    def __init__(self, bases: Mapping[str, str]) -> None:
        self.bases = dict(sorted(bases.items()))
        self._prefix_of = {base: prefix for prefix, base in sorted(self.bases.items(), reverse=True)}
        self._lengths = sorted({len(base) for base in self.bases.values()}, reverse=True)

    @classmethod
    def of(cls, iris: Iterable[str], namespaces: Iterable[tuple[str, str]] = ()) -> IriTable:
        """Returns the table for these addresses.

        Of several bases under one prefix that of the OBO Foundry is taken, else the one with the most addresses, then
        the first by code point.

        Args:
            iris: the addresses of the terms, each once.
            namespaces: prefixes that the source declares, with their addresses, as often as it does so.
        """
        declared = Counter((ns, prefix) for prefix, ns in namespaces if ns and _PREFIX.fullmatch(prefix))
        prefix_of: dict[str, str] = {}
        for (ns, prefix), _ in sorted(declared.items(), key=lambda entry: (-entry[1], entry[0])):
            prefix_of.setdefault(ns, prefix)
        votes: Counter[tuple[str, str]] = Counter()
        for iri in iris:
            parts = _parts(iri, prefix_of)
            if parts is not None and parts[0] not in _SCHEMES:
                votes[parts] += 1
        bases: dict[str, str] = {}
        for prefix, base in sorted(votes, key=lambda p: (not p[1].startswith(OBO_BASE), -votes[p], p)):
            bases.setdefault(prefix, base)
        return cls(bases)

    @classmethod
    def from_header(cls, header: Mapping[str, Iterable[str]]) -> IriTable:
        """Returns the table that the header of an ontology holds; that of the OBO Foundry alone where it holds none."""
        pairs = (line.partition(" ") for line in header.get(BASE_TAG, ()))
        return cls({prefix: base for prefix, _, base in pairs})

    def to_header(self) -> list[str]:
        """Returns the values of the header tag ``BASE_TAG``."""
        return [f"{prefix} {base}" for prefix, base in self.bases.items()]

    def id_of(self, iri: str) -> str:
        """Returns the id of an address; the address itself where no base fits."""
        for length in self._lengths:
            prefix = self._prefix_of.get(iri[:length])
            if prefix is not None and len(iri) > length:
                found = f"{prefix}:{iri[length:]}"
                return found if self.iri_of(found) == iri else iri
        match = _OBO.fullmatch(iri, len(OBO_BASE)) if iri.startswith(OBO_BASE) else None
        if match is None or match[1] in self.bases:
            return iri
        return f"{match[1]}:{match[2]}"

    def id_in(self, text: str) -> str:
        """Returns the id that a text names: an address, perhaps in angle brackets, ``obo:EX_1``, ``EX_1``, or an id.

        >>> table = IriTable({"EFO": "http://www.ebi.ac.uk/efo/EFO_"})
        >>> table.id_in(" EFO_1 "), table.id_in("obo:EX_1"), table.id_in("EX:1")
        ('EFO:1', 'EX:1', 'EX:1')
        """
        bare = text.strip().strip("<>")
        scheme, stroke, rest = bare.partition("://")
        if stroke:
            found = self.id_of(bare)
            other = {"http": "https", "https": "http"}.get(scheme)  # people write either in a text
            known = self.id_of(f"{other}://{rest}") if found == bare and other else found
            return bare if "://" in known else known
        bare = bare.removeprefix("obo:")
        if ":" in bare or "_" not in bare:
            return bare
        prefix, _, local = bare.rpartition("_")
        return f"{prefix}:{local}" if prefix in self.bases else self.id_of(f"{OBO_BASE}{bare}")

    def ids_in(self, text: str) -> list[str]:
        """Returns the ids that a text lists, other words left out; as ``id_in`` reads the whole where it lists none.

        >>> IriTable({}).ids_in("EX:1, EX_2 (a name)")
        ['EX:1', 'EX:2']
        """
        words = (word.strip("()") for word in _BETWEEN_IDS.split(text))
        return [self.id_in(word) for word in words if _ID_SHAPE.fullmatch(word)] or [self.id_in(text)]

    def iri_of(self, term: str) -> str:
        """Returns the address that an id of this table came from; an id that is none of its own comes back as it is."""
        prefix, colon, local = term.partition(":")
        if not colon or prefix in _SCHEMES:
            return term
        base = self.bases.get(prefix)
        if base is not None:
            return base + local
        return f"{OBO_BASE}{prefix}_{local}" if _OBO.fullmatch(f"{prefix}_{local}") else term


def spelled_ids(asked: str, table: IriTable, plain: Iterable[str]) -> list[str]:
    """Returns the ids that a text may stand for which is none itself: a web address, or a name without its prefix.

    >>> spelled_ids("us-gaap_Revenues", IriTable({}), ["us-gaap"])
    ['us-gaap:us-gaap_Revenues', 'us-gaap:Revenues']
    """
    if "://" in asked:
        return [table.id_of(asked)]
    prefixes = list(plain)
    if not prefixes or ":" in asked:
        return []
    prefix, underscore, name = asked.partition("_")
    return [*(f"{p}:{asked}" for p in prefixes), *([f"{prefix}:{name}"] if underscore else [])]


def _parts(iri: str, prefix_of: Mapping[str, str]) -> tuple[str, str] | None:
    """Returns the prefix and the base of an address, by its own form or by a declared namespace."""
    at = max(iri.rfind("/"), iri.rfind("#")) + 1
    numbered = (_OBO if iri[:at] == OBO_BASE else _NUMBERED).fullmatch(iri, at)
    if numbered is not None:
        return numbered[1], iri[: numbered.start(2)]
    for end in (at, iri.rfind("/") + 1):
        if end and end < len(iri) and iri[:end] in prefix_of:
            return prefix_of[iri[:end]], iri[:end]
    return None
