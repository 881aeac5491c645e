"""Exact, batched, explainable retrieval over structure.

Names exported here are stable; everything else may change between releases.
"""

from .answers import Engine, open_engine
from .cases import Case, CaseBatch, Entity, Predicate, Statement, encode_query, flat_case
from .errors import SmaError
from .memory import DomainRouter, IndexItem, Memory, Query, Retrieved, SmaMemory
from .ontologies.builder import ontology_from_parents
from .ontologies.loading import load_ontology
from .ontologies.mount import Mounted, mount
from .ontologies.ontology import Ontology
from .ontologies.registry import OntologyRegistry
from .retrieval import Hits, Index
from .scoring import Dials
from .version import __version__

__all__ = [
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
    "SmaError",
    "SmaMemory",
    "Statement",
    "__version__",
    "encode_query",
    "flat_case",
    "load_ontology",
    "mount",
    "ontology_from_parents",
    "open_engine",
]
