"""Structure mapping of pairs of cases: hypotheses, kernel mappings, optimistic bounds, branch and bound."""

from .canonical import first_of_best
from .hypotheses import Hypotheses, hypotheses
from .pairs import (
    PairedUp,
    StructuredCases,
    StructurePairs,
    best_mappings,
    entity_pairs,
    number_constants,
    pair_up,
    scores_of,
)
from .search import NODE_BUDGET, Found, best_mapping, most_nodes

__all__ = [
    "NODE_BUDGET",
    "Found",
    "Hypotheses",
    "PairedUp",
    "StructurePairs",
    "StructuredCases",
    "best_mapping",
    "best_mappings",
    "entity_pairs",
    "first_of_best",
    "hypotheses",
    "most_nodes",
    "number_constants",
    "pair_up",
    "scores_of",
]
