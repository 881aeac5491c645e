"""Reader of ontologies in RDF (RDF/XML, Turtle, N-Triples): OWL or SKOS, whichever the statements are."""

from __future__ import annotations

from collections.abc import Sequence

from ..ontology import Ontology
from ..report import LoadReport
from ..source import SourceLike, read_source
from .owl import CLASS_TYPES, read_owl_graph
from .owl_graph import can_read, read_graph
from .skos import has_untyped_concepts, read_skos_graph, typed_concepts

__all__ = ["can_read", "read_rdf"]


def read_rdf(
    source: SourceLike,
    *,
    more: Sequence[SourceLike] = (),
    strict: bool = False,
    name: str | None = None,
    language: str = "en",
) -> Ontology:
    r"""Returns the ontology in an OWL or SKOS source, which may be an archive of many files.

    Imports are not fetched; files that are given together are read as one.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        more: further files, such as those that the first one imports; their order plays no part.
        strict: refuse a source with a warning instead of reporting and going on.
        name: name of the source in reports.
        language: language of the names that are shown; other labels are synonyms.

    Raises:
        ParseError: a file cannot be read, holds neither classes nor concepts, or has a warning under ``strict``.
        CycleFound: the classes or concepts run in a circle.
        DataMissing: there is no such file, or rdflib is not installed.

    >>> found = read_rdf(b'@prefix owl: <http://www.w3.org/2002/07/owl#> . <http://example.org/a#B> a owl:Class .')
    >>> found.ids
    ('http://example.org/a#B',)
    """
    sources = [read_source(source, name=name), *(read_source(other) for other in more)]
    report = LoadReport(", ".join(s.path for s in sources))
    graph = read_graph(sources, report)
    concepts, classes = typed_concepts(graph), graph.subjects(*CLASS_TYPES)
    # A vocabulary may leave the types out: what has broader and narrower terms is of SKOS.
    is_skos = len(concepts) > len(classes) or (not classes and has_untyped_concepts(graph))
    read = read_skos_graph if is_skos else read_owl_graph
    report.place_of = graph.places.place_of if graph.places else None
    ontology = read(graph, report, graph.sha256, language=language)
    report.place_of = None
    if strict:
        report.require_clean()
    return ontology
