"""Exact, batched, explainable retrieval over structure.

Names exported here are stable; everything else may change between releases.
"""

from .answers import Engine, open_engine
from .cases import (
    Case,
    CaseBatch,
    Entity,
    Predicate,
    Signature,
    Statement,
    Vocabulary,
    encode_query,
    flat_case,
    parse_case,
    print_case,
    read_case,
    read_vocabulary,
    related_case,
)
from .errors import SmaError
from .memory import DomainRouter, IndexItem, Memory, Query, Retrieved, SmaMemory
from .ontologies.builder import ontology_from_parents
from .ontologies.loading import load_ontology
from .ontologies.mount import Mounted, mount
from .ontologies.ontology import Ontology
from .ontologies.registry import OntologyRegistry
from .retrieval import Analogy, Hits, Index, align
from .scoring import Dials
from .version import __version__

__all__ = [
    "Analogy",
    "Case",
    "CaseBatch",
    "Dials",
    "DomainRouter",
    "Engine",
    "Entity",
    "Hits",
    "Index",
    "IndexItem",
    "Memory",
    "Mounted",
    "Ontology",
    "OntologyRegistry",
    "Predicate",
    "Query",
    "Retrieved",
    "Signature",
    "SmaError",
    "SmaMemory",
    "Statement",
    "Vocabulary",
    "__version__",
    "align",
    "encode_query",
    "flat_case",
    "load_ontology",
    "mount",
    "ontology_from_parents",
    "open_engine",
    "parse_case",
    "print_case",
    "read_case",
    "read_vocabulary",
    "related_case",
]
