"""Catalogued ontologies: public ones that can be fetched and read, though no records are known for them here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .manifest import FileManifest, manifests

__all__ = ["Catalogued", "Owner", "catalog", "owners_of"]

_OBO_PURL = "https://purl.obolibrary.org/obo/{name}.{end}"


@dataclass(frozen=True)
class Catalogued:
    """An ontology of the catalog.

    Attributes:
        name: what ``sma-gpu data fetch`` takes.
        title: its full name.
        ontology: its file.
        iri: how the addresses of its modules begin, where it is made of several and none has its name.
    """

    name: str
    title: str
    ontology: FileManifest
    iri: str = ""


@dataclass(frozen=True)
class Owner:
    """An ontology that ids of a form belong to.

    Attributes:
        title: its full name.
        domain: the ready domain that has records for it, or an empty string.
        name: its short name.
    """

    title: str
    domain: str
    name: str


@cache
def catalog() -> Mapping[str, Catalogued]:
    """Returns the catalogued ontologies by name, in the order of the catalog.

    >>> catalog()["mondo"].ontology.address
    'https://purl.obolibrary.org/obo/mondo.obo'
    """
    text = (files(__package__) / "catalog.toml").read_text(encoding="utf-8")
    found: dict[str, Catalogued] = {}
    for name, entry in tomllib.loads(text).items():
        end, prefix = entry["end"], entry.get("prefix", "")
        ontology = FileManifest(
            reader="any",
            address=entry.get("address") or _OBO_PURL.format(name=name, end=end),
            is_page=entry.get("is_page", False),
            licence=entry["licence"],
            prefix=prefix,
            id_pattern=entry.get("id_pattern") or f"{prefix}:[0-9]+",
            scope=name,
        )
        found[name] = Catalogued(name, entry["title"], ontology, entry.get("iri", ""))
    return found


def owners_of(term: str) -> list[Owner]:
    """Returns the ontologies whose ids have the form of ``term``, ready domains first; none where its form tells none.

    >>> [owner.domain for owner in owners_of("GO:0005634")], owners_of("arachnodactyly")
    (['genomics'], [])
    """
    found = [Owner(m.title, m.domain, m.name) for m in manifests().values() if m.ontology.is_own(term)]
    entries = (entry for entry in catalog().values() if re.fullmatch(entry.ontology.id_pattern, term))
    return [*found, *(Owner(entry.title, "", entry.name) for entry in entries)]
