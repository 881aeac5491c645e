"""What an OWL or SKOS source says of itself: its name, its release, what it imports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..report import LoadReport
from .owl_graph import Iri, RdfGraph
from .owl_vocabulary import DCT, OIO, OWL

__all__ = ["own_namespaces", "short_name", "tell_imports", "version_in", "version_of"]

_RELEASE = re.compile(r"/(?:releases|versions?)/([^/\s]+)|/(\d{4}-\d{2}-\d{2})(?:/|$)")
_SUFFIX = re.compile(r"\.(?:owl|rdf|ttl|xml|obo|json|skos|nt)$", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DULL = frozenset({"ontology", "ontologies", "owl", "rdf", "obo", "vocabulary", "vocab", "core", "master", "latest"})


def short_name(addresses: Sequence[str]) -> str:
    """Returns a short name out of the address of an ontology, or out of what the addresses of several share.

    >>> short_name(["http://purl.obolibrary.org/obo/hp.owl"])
    'hp'
    >>> short_name(["https://spec.example.org/fibo/ontology/BE/A/", "https://spec.example.org/fibo/ontology/FND/"])
    'fibo'
    """
    if not addresses:
        return ""
    paths = [address.partition("://")[2].rstrip("/#").split("/")[1:] for address in addresses]
    shared: list[str] = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    for part in reversed(shared):
        name = _SUFFIX.sub("", part)
        if name and name.lower() not in _DULL and not _DATE.fullmatch(name):
            return name
    return ""


def version_in(text: str) -> str:
    """Returns the release that a text names, such as the address of a version; the text itself where it names none.

    >>> version_in("http://purl.obolibrary.org/obo/hp/releases/2025-01-16/hp.owl")
    '2025-01-16'
    """
    release = _RELEASE.search(text)
    return (release[1] or release[2]) if release else " ".join(text.split())[:60]


def version_of(graph: RdfGraph, ontologies: Sequence[Iri]) -> str:
    """Returns the release that the ontologies state; of several the last by code point.

    It is the release in the address of the version, else the version information, else what that address has in a way
    of its own, else the date of the last change.
    """
    for predicate in (f"{OWL}versionIRI", f"{OWL}versionInfo", f"{DCT}modified", f"{OIO}date", f"{DCT}issued"):
        found: list[str] = []
        for ontology in ontologies:
            for value in graph.values(ontology, predicate):
                text = value if isinstance(value, str) else value.text
                if _RELEASE.search(text):
                    found.append(version_in(text))
                elif predicate != f"{OWL}versionIRI" and text.strip():
                    day = _DATE.match(text.strip()) if predicate != f"{OWL}versionInfo" else None
                    found.append(day[0] if day else version_in(text))
        if not found and predicate == f"{OWL}versionInfo":
            found = [part for o in ontologies for part in _own_parts(o, graph.iris(o, f"{OWL}versionIRI"))]
        if found:
            return max(found)
    return ""


def _own_parts(ontology: Iri, versions: Iterable[Iri]) -> list[str]:
    """Returns the part of each address of a version that holds a digit and no part of the ontology's own."""
    shared = set(re.split("[/#]", ontology))
    parts = [[p for p in re.split("[/#]", v) if p not in shared and re.search(r"\d", p)] for v in versions]
    return [own[-1] for own in parts if own]


def own_namespaces(graph: RdfGraph, ontologies: Iterable[Iri]) -> list[tuple[str, str]]:
    """Returns the declared prefixes, and one for the namespace of each ontology that declares none for its own."""
    found = list(graph.namespaces)
    declared = {address for prefix, address in found if prefix}
    for ontology in ontologies:
        name = short_name([ontology])
        for address in dict.fromkeys((f"{ontology.rstrip('/#')}#", f"{ontology.rstrip('/#')}/")):
            if name and address not in declared:
                found.append((name, address))
    return found


def tell_imports(graph: RdfGraph, ontologies: Sequence[Iri], report: LoadReport) -> None:
    """Notes the imports that no file at hand provides; none is fetched."""
    here = {address.rstrip("/#") for o in ontologies for address in (o, *graph.iris(o, f"{OWL}versionIRI"))}
    wanted = {imported for o in ontologies for imported in graph.iris(o, f"{OWL}imports")}
    missing = sorted(address for address in wanted if address.rstrip("/#") not in here)
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        report.note("import", f"{len(missing)} imports are not at hand and were not fetched: {shown}", ids=missing)
