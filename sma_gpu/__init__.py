"""Exact, batched, explainable retrieval over structure.

Names exported here are stable; everything else may change between releases.
"""

from typing import TYPE_CHECKING

from .answers import Engine, open_engine
from .answers.calibrating import calibrate
from .answers.evaluation import evaluate
from .answers.solved import read_solved
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
from .trust import Calibration
from .trust.stability import separability_of, stability_of
from .version import __version__

if TYPE_CHECKING:
    from .answers.adapter_bundle import freeze as freeze_adapter
    from .answers.adapter_verification import adapter_verification as verify_adapter
    from .answers.own_index_making import write_own as write_index

__all__ = [
    "Analogy",
    "Calibration",
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
    "calibrate",
    "encode_query",
    "evaluate",
    "flat_case",
    "freeze_adapter",
    "load_ontology",
    "mount",
    "ontology_from_parents",
    "open_engine",
    "parse_case",
    "print_case",
    "read_case",
    "read_solved",
    "read_vocabulary",
    "related_case",
    "separability_of",
    "stability_of",
    "verify_adapter",
    "write_index",
]

# Imported when they are asked for, since they bring in what fetches files, which nothing else here needs.
_LATER = {
    "freeze_adapter": ("adapter_bundle", "freeze"),
    "verify_adapter": ("adapter_verification", "adapter_verification"),
    "write_index": ("own_index_making", "write_own"),
}

if not TYPE_CHECKING:  # a type checker would take any name for one that is here

    def __getattr__(name: str) -> object:
        """Returns a name that is imported late."""
        from importlib import import_module

        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, there = _LATER[name]
        found = globals()[name] = getattr(import_module(f".answers.{module}", __name__), there)
        return found

    def __dir__() -> list[str]:
        """Returns all names, those that are imported late among them."""
        return sorted({*globals(), *__all__})
